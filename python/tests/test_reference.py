"""The book's reference of the Python package is generated from the docstrings.

`RADDLE_WRITE=1 python3 -m pytest python/tests/test_reference.py` writes the page anew.
"""

import ast
import dataclasses
import inspect
import os
import re
import textwrap
from pathlib import Path
from types import MemberDescriptorType
from typing import Any

import raddle
from raddle import errors

PAGE = Path(__file__).parents[2] / "docs" / "src" / "python-reference.md"
STUBS = Path(raddle.__file__).with_name("_raddle.pyi")

HEAD = """# Python reference

The classes, functions and exceptions of the package `raddle`, from their docstrings, which `help(raddle.Experiment)` shows too.
[From Python](python.md) is the guide. `RADDLE_WRITE=1 python3 -m pytest python/tests/test_reference.py` writes this page.
"""

PARTS: dict[str, list[Any]] = {
    "Experiments": [raddle.Experiment, raddle.from_networkx],
    "Results": [raddle.Run, raddle.Table, raddle.Sweep, raddle.Agreement],
    "Figures of papers": [raddle.reproduce, raddle.Reproduction, raddle.Figure, raddle.Claim, raddle.Spread],
    "Names": [raddle.list, raddle.Entry, raddle.explain, raddle.Explanation, raddle.parameters, raddle.Parameter],
    "Routings in Python": [raddle.Routing, raddle.Node, raddle.Packet, raddle.Candidate],
}

# The classes whose objects users make.
MADE = (raddle.Experiment, raddle.Run)


def test_the_page_is_current() -> None:
    page = reference()
    if "RADDLE_WRITE" in os.environ:
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "RADDLE_WRITE=1 python3 -m pytest python/tests/test_reference.py writes the page"


def test_the_page_has_everything_that_the_package_exports() -> None:
    shown = {thing.__name__ for part in PARTS.values() for thing in part} | {cause.__name__ for cause in causes()}
    assert set(raddle.__all__) - {"__version__"} <= shown


def test_everything_has_a_docstring() -> None:
    things = [thing for part in PARTS.values() for thing in part] + causes()
    classes = [thing for thing in things if inspect.isclass(thing)]
    silent = [thing.__name__ for thing in things if not inspect.getdoc(thing)]
    silent += [f"{thing.__name__}.{name}" for thing in classes for name in public(thing) if not described(thing, name)]
    assert not silent


def test_the_stubs_have_the_docstrings_of_the_native_module() -> None:
    for native in (raddle.Table, raddle.Node, raddle.Packet, raddle.Candidate):
        assert words(ast.get_docstring(stub(native))) == words(native.__doc__)
        # Python gives special methods docstrings of its own.
        assert set(members(native)) == {name for name in vars(native) if not name.startswith("__")}
        for name, member in members(native).items():
            assert words(ast.get_docstring(member)) == words(getattr(native, name).__doc__), name


def words(text: str | None) -> list[str]:
    return (text or "").split()


def stub(native: type) -> ast.ClassDef:
    """The declaration of a native class for type checkers."""
    body = ast.parse(STUBS.read_text()).body
    return next(part for part in body if isinstance(part, ast.ClassDef) and part.name == native.__name__)


def members(native: type) -> dict[str, ast.FunctionDef]:
    """The methods and properties of a native class, in the order of their declarations for type checkers. The order in the
    native module is not always the same."""
    found = [part for part in stub(native).body if isinstance(part, ast.FunctionDef)]
    return {member.name: member for member in found if not member.name.startswith("__")}


def causes() -> list[type]:
    """The exceptions and the warning, each after its base class."""
    return [thing for thing in vars(errors).values() if inspect.isclass(thing) and thing.__module__ == errors.__name__]


def reference() -> str:
    pieces = [HEAD]
    for title, things in PARTS.items():
        pieces.append(f"## {title}\n")
        for thing in things:
            pieces += of_class(thing) if inspect.isclass(thing) else of_function(thing, thing.__name__)
    pieces.append("## Exceptions\n\n" + markdown(inspect.getdoc(errors)) + "\n")
    for base in (raddle.RaddleError, raddle.Interrupted):
        pieces.append(f"### `{base.__name__}`\n\n{markdown(inspect.getdoc(base), base)}\n")
    rows = ["| class in `raddle.errors` | base class | means |", "|---|---|---|"]
    for cause in causes():
        if cause not in (raddle.RaddleError, raddle.Interrupted):
            rows.append(f"| `{cause.__name__}` | `{cause.__bases__[0].__name__}` | {markdown(inspect.getdoc(cause))} |")
    pieces.append("### By cause\n\n" + "\n".join(rows) + "\n")
    return "\n".join(pieces)


def of_function(function: Any, name: str, owner: type | None = None) -> list[str]:
    level = "####" if owner else "###"
    short = name.rsplit(".", 1)[-1]
    if owner and is_native(owner):
        declared = members(owner)[short]
        declared.args.args.pop(0)
        call = f"{short}({ast.unparse(declared.args)}) -> {ast.unparse(declared.returns or ast.Constant(None))}"
    else:
        call = signature(function, short)
    return [f"{level} `{name}`\n\n```python\n{call}\n```\n\n{markdown(inspect.getdoc(function), owner)}\n"]


def of_class(thing: type) -> list[str]:
    pieces = [f"### `{thing.__name__}`\n"]
    if thing in MADE:
        pieces.append(f"```python\n{signature(thing.__init__, thing.__name__)}\n```\n")  # type: ignore[misc]
    pieces.append(markdown(inspect.getdoc(thing), thing) + "\n")
    if dataclasses.is_dataclass(thing):
        fields = [f"{field.name}: {field.type}" for field in dataclasses.fields(thing)]
        pieces.append("```python\n" + "\n".join(fields) + "\n```\n")
    names = [name for name in public(thing) if not callable(getattr(thing, name, None))]
    if names:
        rows = [f"| `{name}` | {' '.join(markdown(described(thing, name), thing).split())} |" for name in names]
        pieces.append("\n".join(["| attribute | |", "|---|---|", *rows]) + "\n")
    for name in public(thing):
        if name not in names:
            pieces += of_function(getattr(thing, name), f"{thing.__name__}.{name}", thing)
    return pieces


def public(thing: type) -> list[str]:
    """The names of the class's own methods, properties and described attributes, as they are declared."""
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    own = members(thing) if is_native(thing) else [*annotated(thing), *vars(thing)]
    return [name for name in dict.fromkeys(own) if not name.startswith("_") and name not in fields]


def is_native(thing: type) -> bool:
    return hasattr(raddle._raddle, thing.__name__)


def described(thing: type, name: str) -> str | None:
    member = vars(thing).get(name)
    if inspect.isroutine(member) or isinstance(member, property | MemberDescriptorType) or inspect.isgetsetdescriptor(member):
        return inspect.getdoc(member)
    return annotated(thing).get(name)


def annotated(thing: type) -> dict[str, str]:
    """The attributes that have a docstring of their own, below their declaration."""
    if is_native(thing):
        return {}
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    found = {}
    assert isinstance(body, ast.ClassDef)
    for declared, after in zip(body.body, body.body[1:]):
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found[declared.target.id] = inspect.cleandoc(str(after.value.value))
    return found


def signature(function: Any, name: str) -> str:
    """The call, on one line or with a line for each argument."""
    parts: list[str] = []
    kind = None
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    for each in parameters:
        if kind == each.POSITIONAL_ONLY != each.kind:
            parts.append("/")
        if each.kind == each.KEYWORD_ONLY != kind:
            parts.append("*")
        kind = each.kind
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        type_ = "" if each.annotation is each.empty else f": {each.annotation}"
        default = "" if each.default is each.empty else f" = {each.default!r}"
        parts.append(f"{stars}{each.name}{type_}{default}")
    result = inspect.signature(function).return_annotation
    arrow = "" if result in (inspect.Signature.empty, "None") else f" -> {result}"
    line = f"{name}({', '.join(parts)}){arrow}"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){arrow}"


def markdown(text: str | None, owner: type | None = None) -> str:
    """A docstring as Markdown: roles become links, literal blocks become blocks of code."""

    def link(match: re.Match[str]) -> str:
        role, target = match.groups()
        name = target.lstrip("~").split(".")[-1]
        if role == "mod":
            return f"[`{target}`](python.md#on-a-cluster)"
        anchor = name
        if role == "meth":
            anchor = "".join(target.lstrip("~").split(".")[-2:]) if "." in target else f"{owner.__name__}{name}"  # type: ignore[union-attr]
        elif hasattr(errors, name) and name not in ("RaddleError", "Interrupted"):
            anchor = "by-cause"
        return f"[`{name}`](#{anchor.lower()})"

    text = re.sub(r":(\w+):`([^`]+)`", link, text or "").replace("``", "`")
    pieces: list[str] = []
    is_code = False
    for line in text.splitlines():
        if is_code and line and not line.startswith("    "):
            pieces[len(pieces) - [not piece for piece in pieces[::-1]].index(False) :] = ["```", ""]
            is_code = False
        if line.endswith("::"):
            pieces += [line[:-1], "", "```python"]
            is_code = True
        elif is_code:
            if line or pieces[-1] != "```python":
                pieces.append(line[4:])
        else:
            pieces.append(line)
    return "\n".join(pieces + ["```"] * is_code)
