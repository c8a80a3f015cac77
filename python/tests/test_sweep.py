"""Sweeps: their table, shards, resumption and Ctrl-C."""

from pathlib import Path

import polars
import pyarrow
import pytest
from conftest import long, small

import raddle

SWEEP = [{"name": "routing", "key": "scheme.routing", "values": ["ecmp", "drill"]}]


def test_a_sweep_has_a_run_for_each_cell_and_a_table(tmp_path: Path) -> None:
    sweep = small(sweep=SWEEP).sweep(tmp_path / "out", seeds=2)
    assert list(sweep.runs) == small(sweep=SWEEP).cells(seeds=2)
    table = polars.DataFrame(sweep.table)
    assert table["routing"].to_list() == ["ecmp", "ecmp", "drill", "drill"]
    assert table["seed"].to_list() == [1, 2, 1, 2] and table["seed"].dtype == polars.Int64
    meanings = pyarrow.table(sweep.table).schema
    assert meanings.field("fct_p99_us").metadata[b"definition"] == b"99th percentile of the FCTs of finished flows"
    assert meanings.field("routing").metadata[b"definition"] == b"label of the cell in the sweep `routing`"
    assert table["digest"].to_list() == [run.digest for run in sweep.runs.values()]
    assert sweep.complete and "slowdown" in str(sweep)


def test_the_number_of_seeds_comes_from_the_figure(tmp_path: Path) -> None:
    experiment = small(figure={"title": "FCT", "seeds": 2})
    assert experiment.cells() == ["seed 1", "seed 2"] and experiment.cells(seeds=1) == ["run"]
    assert list(experiment.sweep(tmp_path / "out").runs) == experiment.cells()


def test_a_finished_cell_is_not_run_again(tmp_path: Path) -> None:
    first = small(sweep=SWEEP).sweep(tmp_path / "out")
    written = {name: (run.directory / "summary.json").stat().st_mtime_ns for name, run in first.runs.items()}
    again = small(sweep=SWEEP).sweep(tmp_path / "out")
    assert {name: (run.directory / "summary.json").stat().st_mtime_ns for name, run in again.runs.items()} == written


def test_shards_share_the_cells(tmp_path: Path) -> None:
    shards = [small(sweep=SWEEP).sweep(tmp_path / "out", shard=(index, 2)) for index in (1, 2)]
    assert [list(shard.runs) for shard in shards] == [["ecmp"], ["drill"]]
    assert not any(shard.complete for shard in shards)
    assert small(sweep=SWEEP).sweep(tmp_path / "out").complete


def test_a_sweep_has_pictures_in_three_formats_and_styles(tmp_path: Path) -> None:
    plot = [{"kind": "cdf", "of": "fct", "by": "routing", "title": "FCT"}]
    experiment = small(sweep=SWEEP, plot=plot)
    sweep = experiment.sweep(tmp_path / "out")
    assert sweep.svg.read_text().startswith("<svg") and sweep.pdf.read_bytes().startswith(b"%PDF")

    def width(sweep: raddle.Sweep) -> int:
        return int.from_bytes(sweep.png.read_bytes()[16:20], "big")

    written = {name: (run.directory / "summary.json").stat().st_mtime_ns for name, run in sweep.runs.items()}
    # A column of 3.3 inches at 100 pixels per inch.
    paper = experiment.sweep(tmp_path / "out", style="paper", dpi=100)
    assert width(paper) == 330
    assert {name: (run.directory / "summary.json").stat().st_mtime_ns for name, run in paper.runs.items()} == written
    with pytest.raises(ValueError, match="dpi must be from 30 to 2400"):
        experiment.sweep(tmp_path / "out", dpi=10)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_stops_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(raddle.Interrupted) as caught:
        long(sweep=SWEEP).sweep(tmp_path / "out", threads=1, progress=True)
    sweep = caught.value.result
    assert not sweep.complete and list(sweep.runs) == ["ecmp"] and not sweep.runs["ecmp"].complete
    assert sweep.table["complete"] == [False] and "unfinished cells: 2" in str(sweep)
    assert str(caught.value) == "the sweep was interrupted after 0 of 2 cells"


def test_a_cell_that_cannot_run_is_told_and_the_others_run(tmp_path: Path) -> None:
    # CONGA needs a leaf-spine.
    sweep = [{"name": "routing", "key": "scheme.routing", "values": ["ecmp", "conga"]}]
    torus = {"kind": "torus", "dims": [3, 3], "link_rate": "10 Gbps", "link_delay": "100 ns"}
    experiment = small(sweep=sweep, topology=torus)
    with pytest.warns(raddle.RaddleWarning, match="1 of 2 cells cannot run"):
        done = experiment.sweep(tmp_path / "out")
    assert list(done.runs) == ["ecmp"] and list(done.refused) == ["conga"] and not done.complete
    error = done.refused["conga"]
    assert isinstance(error, raddle.ExperimentError) and error.key == "sweep.0.values.1" and error.hint
    assert "1 of 2 cells cannot run" in str(done) and done.summary["refused"][0]["labels"] == {"routing": "conga"}
    assert len(polars.DataFrame(done.table)) == 1
    with pytest.warns(raddle.RaddleWarning, match="cannot run"):
        done = experiment.sweep(tmp_path / "fast", fail_fast=True)
    assert not done.runs and list(done.refused) == ["conga"]
    with pytest.raises(raddle.ExperimentError, match="needs a leaf-spine"):
        small(sweep=[{**sweep[0], "values": ["conga"]}], topology=torus).sweep(tmp_path / "none")
