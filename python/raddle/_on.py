"""The place where runs are done: this process, or a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

from ._routing import Definition

On = Literal["here", "ray"]

Spread = Callable[[list[str]], Iterator["tuple[int, dict[str, bytes]] | None"]]


def spread_on(on: On, routings: Iterable[Definition] = ()) -> Spread | None:
    """The function that spreads runs, which can name ``routings``, or ``None`` if the runs stay in this process. Connects
    to the Ray cluster if the program is not connected yet."""
    if on == "here":
        return None
    if on != "ray":
        raise ValueError(f"on must be 'here' or 'ray' (got {on!r})")
    from . import cluster

    cluster.connect(os.environ.get("RAY_ADDRESS"))
    return partial(cluster.spread, routings=routings)
