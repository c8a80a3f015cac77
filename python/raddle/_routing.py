"""Routings written in Python."""

from __future__ import annotations

import hashlib
import inspect
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ._raddle import Candidate, Node, Packet


class Routing(ABC):
    """A routing for prototypes: the packet engine calls :meth:`forward` for each packet that has several next hops.

    This is slow, because each call takes Python's lock. The class stands for the name of a routing in an experiment::

        class Shortest(raddle.Routing):
            \"\"\"Each packet joins the shortest queue\"\"\"

            name = "shortest"

            def forward(self, packet, candidates):
                return min(candidates, key=lambda candidate: candidate.queue_bytes).port

        raddle.Experiment(..., scheme={"transport": "tcp-newreno", "routing": Shortest})

    Each node that forwards has an object of its own, which is made when the node first needs it. For the same seed the
    records are the same at any number of threads, if an object keeps its state in itself, not in the class or in the
    module, and if it draws random numbers only with :meth:`Node.random`.
    """

    name: ClassVar[str]
    """Name of the routing: letters, digits, ``-`` and ``_``."""

    stream: ClassVar[str] = ""
    """Name of the stream of random numbers; the routing's own name if it is empty. Two routings with the same stream
    draw the same numbers, so that a routing can be compared with its twin in Rust."""

    parameters: ClassVar[Mapping[str, bool | int | float | str]] = {}
    """Parameters of the table ``scheme.<name>`` and their defaults: a number, a ``bool``, or a quantity such as
    ``"20 us"``. If there is a parameter ``hold``, receivers hold back TCP segments that overtook others for that time.
    """

    def __init__(self, node: Node) -> None:
        self.node = node

    @abstractmethod
    def forward(self, packet: Packet, candidates: list[Candidate]) -> int:
        """Returns the port of the candidate by which the packet leaves. There are at least two candidates: the ports on
        shortest paths to the packet's destination, in ascending order.

        An exception ends the run with a :class:`~raddle.RunError` that has its traceback.
        """


@dataclass(frozen=True)
class Definition:
    """A class, with the facts about it that the native module needs."""

    routing: type[Routing]
    name: str
    summary: str
    stream: str
    parameters: dict[str, bool | int | float | str]
    source: str
    """A digest of the source of the class and of its base classes."""

    @classmethod
    def of(cls, routing: type[Routing]) -> Definition:
        name = getattr(routing, "name", None)
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise ValueError(f"the `name` of {routing.__qualname__} must be letters, digits, `-` and `_` (got {name!r})")
        words = inspect.cleandoc(routing.__doc__ or "") or f"The class {routing.__qualname__}"
        return cls(routing, name, words.splitlines()[0], routing.stream or name, dict(routing.parameters), _source(routing))


def _source(routing: type[Routing]) -> str:
    digest = hashlib.sha256()
    for base in (base for base in routing.__mro__ if base not in Routing.__mro__):
        try:
            digest.update(inspect.getsource(base).encode())
        except (OSError, TypeError):
            # A class that was typed at the prompt has no source, so that its results never count as finished.
            digest.update(uuid.uuid4().bytes)
    return digest.hexdigest()


def with_names(value: Any, found: dict[str, Definition]) -> Any:
    """The value with names in place of classes, whose definitions are added to ``found``."""
    if isinstance(value, type) and issubclass(value, Routing):
        definition = Definition.of(value)
        if found.setdefault(definition.name, definition).routing is not value:
            raise ValueError(f"two routings are called `{definition.name}`: give one of them another `name`")
        return definition.name
    if isinstance(value, Mapping):
        return {key: with_names(item, found) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_names(item, found) for item in value]
    return value
