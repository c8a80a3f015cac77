"""The names that experiments accept, and what they mean."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from . import _raddle

What = Literal["schemes", "topologies", "workloads", "keys", "figures"]


@dataclass(frozen=True)
class Entry:
    """A name with a description of one line. ``list`` is the title of its list, such as ``transports``.

    ``seconds`` has the time that a figure took at each ``scale`` at which it was recorded in Raddle's ledger.
    """

    list: str
    name: str
    summary: str
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scheme, which an experiment sets in the table ``[scheme.NAME]``.

    ``default`` is TOML with its unit. ``range`` says the allowed values in words with units, or ``choices`` lists them.
    """

    name: str
    doc: str
    default: str
    range: str | None
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """What a name means: ``text`` for people, ``data`` as tables. Printing it shows the text."""

    text: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


def list(what: What = "schemes") -> builtins.list[Entry]:
    """The names of schemes, topologies, workloads, keys or figures."""
    lists: dict[str, builtins.list[dict[str, Any]]] = json.loads(_raddle.names(what))
    return [_entry(title, entry) for title, entries in lists.items() for entry in entries]


def _entry(title: str, entry: dict[str, Any]) -> Entry:
    seconds = {scale: took for scale, took in entry.get("seconds", {}).items() if took is not None}
    return Entry(title, entry["name"], entry["summary"], seconds)


def explain(name: str) -> Explanation:
    """What a scheme, topology, workload, key, parameter or figure is. Raises ``UsageError`` for an unknown name."""
    text, data = _raddle.explain(name)
    return Explanation(text, json.loads(data))


def parameters(scheme: str) -> builtins.list[Parameter]:
    """The parameters of a scheme. Raises ``UsageError`` for an unknown name."""
    entries = explain(scheme).data.get("parameters", [])
    return [
        Parameter(entry["name"], entry["doc"], entry["default"], entry["range"], tuple(entry["choices"]))
        for entry in entries
    ]
