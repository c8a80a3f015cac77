"""Spreads the cells of a sweep over a Ray cluster.

Each cell is a task of one CPU. Ray runs the task again if its node is lost. The task returns the files of the cell's
directory, whose tables are Parquet, and the driver puts them into the sweep's folder as soon as they arrive. A sweep
that was stopped continues with the cells that are missing.

All nodes need the same build of this package. Files that the experiment names must have the same path on all nodes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import RunError

if TYPE_CHECKING:
    from ._experiment import Experiment

RETRIES = 5
"""How often Ray runs a cell again whose node or process was lost."""


def cell(experiment: Experiment, index: int, count: int, seeds: int) -> tuple[str, dict[str, bytes]]:
    """Runs cell number ``index`` (from 0) of ``count``. Returns the name of its folder and its files."""
    with tempfile.TemporaryDirectory(prefix="raddle-") as folder:
        # A shard of as many shards as there are cells is one cell.
        folders, _, _ = experiment._native.sweep(
            Path(folder) / "sweep", seeds, (index + 1, count), False, False, 1, None
        )
        (ran,) = folders
        if ran is None:
            raise RunError(f"cell {index} of {count} was stopped")
        return Path(ran).name, {file.name: file.read_bytes() for file in Path(ran).iterdir()}


def run_cells(experiment: Experiment, out: Path, seeds: int) -> None:
    """Runs the cells that have no finished results in ``out``, on the cluster to which the program is connected.

    Raises ``RunError`` if the cluster's results do not count as finished here, which means that a node has another
    build of the package.
    """
    import ray

    if not ray.is_initialized():
        ray.init(address=os.environ.get("RAY_ADDRESS"))
    count = len(experiment.cells(seeds))
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(cell)
    missing = experiment._native.unfinished(out, seeds)
    pending: list[Any] = [task.remote(experiment, index, count, seeds) for index in missing]
    out.mkdir(parents=True, exist_ok=True)
    try:
        while pending:
            (done, *_), pending = ray.wait(pending, num_returns=1)
            place(out, *ray.get(done))
    finally:
        for left in pending:
            ray.cancel(left)
    if experiment._native.unfinished(out, seeds):
        raise RunError("the cluster's results are not of this build", "install the same wheel on all nodes")


def place(out: Path, name: str, files: dict[str, bytes]) -> None:
    """Writes the files of a cell, so that the folder appears with all of them or not at all."""
    with tempfile.TemporaryDirectory(prefix=".raddle-cell-", dir=out) as folder:
        whole = Path(folder) / name
        whole.mkdir()
        for file, content in files.items():
            (whole / file).write_bytes(content)
        whole.rename(out / name)
