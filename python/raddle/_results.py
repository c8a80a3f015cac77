"""The results of runs and of sweeps, in their directories."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _raddle
from ._raddle import Table
from .errors import ExperimentError


class Run:
    """The results of a run, in its directory. The tables are read when they are asked for.

    A :class:`Table` is Arrow: ``polars.DataFrame(run.flows)`` and ``pyarrow.table(run.flows)`` share the memory of its
    numbers, and ``pandas.DataFrame.from_arrow(run.flows)`` copies them. Column names end with their units, and each
    field of the Arrow schema has its definition as metadata.

    ``Run(directory)`` opens a run that was kept. Raises :class:`~raddle.errors.UsageError` if the directory holds no run.
    """

    directory: Path
    """The folder of the run."""

    summary: dict[str, Any]
    """The summary of the run, as in its file ``summary.json``."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._owner: object = None
        _raddle.check_run(self.directory)
        self.summary = json.loads((self.directory / "summary.json").read_text())

    @property
    def digest(self) -> str:
        """The digest of all records. The same experiment and seed give the same digest on every machine."""
        return str(self.summary["digest"])

    @property
    def complete(self) -> bool:
        """True if the run reached its end and was not stopped."""
        return bool(self.summary["complete"])

    @property
    def flows(self) -> Table:
        """One row for each flow: sizes in bytes, times in ps."""
        return self.table("flows")

    @property
    def links(self) -> Table:
        """One row for each directed link, if the experiment has ``record.links``."""
        return self.table("links")

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the run has."""
        return sorted(file.stem for file in self.directory.glob("*.parquet"))

    def table(self, name: str) -> Table:
        """A table of the run, such as ``flows``, ``links``, ``queues``, ``imbalance``, ``throughput`` or ``ranks``.

        Raises ``RecordsError`` if the run has no such table.
        """
        return _raddle.read_table(self.directory / f"{name}.parquet")

    def __repr__(self) -> str:
        return f"<raddle.Run in {self.directory}: digest {self.digest}>"


@dataclass(frozen=True)
class Agreement:
    """How far the flow engine is from the packet engine. ``holds`` is true if no distance exceeds its limit."""

    text: str
    data: dict[str, Any]
    holds: bool

    def __str__(self) -> str:
        return self.text


class Sweep:
    """The results of a sweep, in their folder. Printing it shows the table of groups."""

    directory: Path
    """The folder of the sweep."""

    runs: dict[str, Run]
    """The run of each cell that has results, by the name of the cell."""

    refused: dict[str, ExperimentError]
    """The error of each cell that cannot run, because its settings do not fit together, by the name of the cell."""

    summary: dict[str, Any]
    """The groups of cells that differ only in their seed, with means and 95% intervals, if all cells have ended."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        runs: dict[str, Run],
        refused: dict[str, ExperimentError],
        text: str,
        summary: dict[str, Any],
    ) -> None:
        self.directory = Path(directory)
        self._owner: object = None
        self.runs = runs
        self.refused = refused
        self._text = text
        self.summary = summary

    @property
    def complete(self) -> bool:
        """True if the sweep has the results of all cells."""
        return bool(self.summary) and not self.refused and not self.summary["unfinished"]

    @property
    def table(self) -> Table:
        """One row for each cell that ran: its labels, and all numbers of its summary, with units at the end of the names."""
        return _raddle.read_table(self.directory / "sweep_results" / "sweep.parquet")

    @property
    def svg(self) -> Path:
        """The picture of the experiment's plots (``[[plot]]``) as SVG. The file exists if there are plots and all cells
        have ended."""
        return self.directory / "sweep_results" / "figure.svg"

    @property
    def png(self) -> Path:
        """The same picture as PNG."""
        return self.directory / "sweep_results" / "figure.png"

    @property
    def pdf(self) -> Path:
        """The same picture as PDF."""
        return self.directory / "sweep_results" / "figure.pdf"

    @property
    def html(self) -> Path:
        """The same picture as an HTML page, with the numbers of its curves below it."""
        return self.directory / "sweep_results" / "figure.html"

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<raddle.Sweep of {len(self.runs)} runs in {self.directory}>"


def new_directory(out: str | os.PathLike[str] | None) -> tuple[Path, object]:
    """The directory for results, and the object that removes it if it is temporary."""
    if out is not None:
        return Path(out), None
    owner = tempfile.TemporaryDirectory(prefix="raddle-")
    return Path(owner.name) / "results", owner
