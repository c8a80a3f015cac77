"""The commands of two pages of the book, in order, and what the pages say that they print. `make pages` runs these tests.

A page shows a command after `$`, and then lines of its output. `…` stands for lines that are left out. Times differ between
machines, and so does the order in which the cells of a sweep end.
"""

import os
import pathlib
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable

RADDLE = pathlib.Path(os.environ["RADDLE"]).resolve()
BOOK = pathlib.Path(__file__).parents[4] / "docs" / "src"


def replace(name: str, before: str, after: str) -> Callable[[pathlib.Path], None]:
    """The edit that replaces a part of a file."""

    def edit(folder: pathlib.Path) -> None:
        text = (folder / name).read_text()
        assert text.count(before) == 1, f"{before} in {name}"
        (folder / name).write_text(text.replace(before, after))

    return edit


def fat_tree(folder: pathlib.Path) -> None:
    shutil.copy(folder / "leaf-spine.toml", folder / "fat-tree.toml")
    clos = 'kind = "folded_clos"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\n'
    replace("fat-tree.toml", clos, 'kind = "fat_tree"\nk = 4\n')(folder)


# The edits that the tutorial asks for, by the sentence that asks for them.
THREE, FOUR = 'values = ["ecmp", "conga", "drill"]', 'values = ["ecmp", "conga", "drill", "letflow"]'
EDITS = {
    "Add LetFlow to the sweep": replace("leaf-spine.toml", THREE, FOUR),
    "Copy `leaf-spine.toml` to `fat-tree.toml`": fat_tree,
    'Change the line to `values = ["ecmp", "drill", "hula"]`': replace("fat-tree.toml", FOUR, 'values = ["ecmp", "drill", "hula"]'),
}


def test_the_tutorial_prints_what_its_page_shows(tmp_path: pathlib.Path) -> None:
    follow("tutorial.md", tmp_path, EDITS)


def test_a_figure_prints_what_its_page_shows(tmp_path: pathlib.Path) -> None:
    follow("how-to/reproduce.md", tmp_path, {})


def follow(page: str, folder: pathlib.Path, edits: dict[str, Callable[[pathlib.Path], None]]) -> None:
    """Makes the edits and runs the commands of a page in their order, and compares what they print."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "raddle").symlink_to(RADDLE)
    place = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    work = folder / "work"
    work.mkdir()
    left = dict(edits)
    code = 0
    for part in parts((BOOK / page).read_text()):
        if isinstance(part, str):
            for sentence in [sentence for sentence in left if sentence in part]:
                left.pop(sentence)(work)
            continue
        command, shown = part
        if command == "echo $?":
            printed = [str(code)]
        elif command.startswith(("mkdir ", "cd ")):
            continue
        else:
            ran = subprocess.run(
                command, shell=True, cwd=work, env=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            printed, code = ran.stdout.splitlines(), ran.returncode
        compare(f"{page}: {command}", shown, printed)
    assert not left, f"{page} no longer asks for these edits: {list(left)}"


def parts(text: str) -> list[str | tuple[str, list[str]]]:
    """The page in pieces: paragraphs, and commands with the lines that follow them."""
    pieces: list[str | tuple[str, list[str]]] = []
    for index, block in enumerate(re.split(r"^ *```(.*\n)", text, flags=re.M)):
        # The text is prose, the kind of a block, the block, the end of the block, and so on.
        if index % 4 == 0:
            pieces.append(" ".join(block.split()))
        elif index % 4 == 2 and "$ " in block:
            for line in textwrap.dedent(block).splitlines():
                if line.startswith("$ "):
                    pieces.append((line[2:], []))
                else:
                    pieces[-1][1].append(line)  # type: ignore[union-attr]
    return pieces


def compare(what: str, shown: list[str], printed: list[str]) -> None:
    """Fails unless the lines between two `…` follow each other in the output, in the order of the page."""
    lines = trimmed(printed)
    at = 0
    is_exact = True
    for run in runs(trimmed(shown)):
        if run is None:
            is_exact = False
            continue
        starts = [at] if is_exact else range(at, len(lines) + 1)
        found = next((start for start in starts if lines[start : start + len(run)] == run), None)
        assert found is not None, "\n".join([f"{what}\nthe page shows:", *run, "and the command prints:", *printed])
        at, is_exact = found + len(run), True
    assert not is_exact or at == len(lines), "\n".join([f"{what}\nprints more than the page shows:", *printed[at:]])


def runs(lines: list[str]) -> list[list[str] | None]:
    """The lines, cut at each `…`, which becomes `None`."""
    pieces: list[list[str] | None] = [[]]
    for line in lines:
        if line == "…":
            pieces += [None, []]
        else:
            pieces[-1].append(line)  # type: ignore[union-attr]
    return [piece for piece in pieces if piece != []]


def trimmed(lines: list[str]) -> list[str]:
    """The lines without times, and without the empty lines before and after them."""
    return [repeatable(line.rstrip()) for line in "\n".join(lines).strip("\n").split("\n")]


def repeatable(line: str) -> str:
    """The line without the parts that differ between runs: times, and the cell that happened to end."""
    line = re.sub(r"^(\d+/\d+) .*: (done|already finished)", r"\1 CELL: \2", line)
    return re.sub(r", (about )?[\d.]+ (s|min)( in all| left)$", ", TIME", line)
