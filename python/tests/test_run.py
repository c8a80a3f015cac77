"""Runs: their results, their tables as Arrow, threads, progress and Ctrl-C."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import long, small

import raddle
from raddle import errors


def test_a_run_has_a_summary_and_a_row_for_each_flow(experiment: raddle.Experiment, tmp_path: Path) -> None:
    run = experiment.run(tmp_path / "out")
    assert run.complete and run.summary["delivered"] == 100
    assert len(run.flows) == 100 and set(run.flows["size_bytes"]) == {20_000}
    assert raddle.Run(tmp_path / "out").digest == run.digest == small().run(threads=1).digest
    assert small().set("engine.seed=2").run().digest != run.digest


def test_frames_of_four_libraries_hold_the_same_flows(experiment: raddle.Experiment) -> None:
    flows = experiment.run().flows
    times = flows["fct_ps"]
    arrow = pyarrow.table(flows)
    assert arrow["fct_ps"].to_pylist() == times
    assert polars.DataFrame(flows)["fct_ps"].to_list() == times
    assert pandas.DataFrame.from_arrow(flows)["fct_ps"].tolist() == times
    assert duckdb.sql("select fct_ps from arrow").fetchall() == [(time,) for time in times]
    assert duckdb.sql("select fct_ps from flows").fetchall() == [(time,) for time in times]
    definition = arrow.schema.field("fct_ps").metadata[b"definition"].decode()
    assert "delivery" in definition


def test_arrow_consumers_share_the_memory(experiment: raddle.Experiment) -> None:
    flows = experiment.run().flows

    def address(column: pyarrow.Array) -> int:
        return column.buffers()[1].address

    for name in ("fct_ps", "slowdown"):
        shared = {address(pyarrow.table(flows)[name].chunk(0)) for _ in range(2)}
        shared.add(address(polars.DataFrame(flows)[name].to_arrow()))
        assert len(shared) == 1
        copied = pandas.DataFrame.from_arrow(flows)[name].to_numpy()
        assert copied.ctypes.data not in shared
    table = pyarrow.table(flows)
    times = table["fct_ps"].to_pylist()
    del flows
    assert table["fct_ps"].to_pylist() == times


def test_a_table_that_the_run_lacks_is_an_error(experiment: raddle.Experiment) -> None:
    with pytest.raises(errors.RecordsError):
        experiment.run().table("ranks")


def test_a_directory_without_a_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="summary.json") as caught:
        raddle.Run(tmp_path / "nothere")
    assert caught.value.hint
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(errors.UsageError, match="not a summary"):
        raddle.Run(tmp_path)


def test_another_experiment_does_not_replace_results(experiment: raddle.Experiment, tmp_path: Path) -> None:
    experiment.run(tmp_path / "out")
    with pytest.raises(errors.UsageError):
        experiment.set("engine.seed=2").run(tmp_path / "out")
    assert experiment.set("engine.seed=2").run(tmp_path / "out", force=True).complete


def test_a_sweep_is_not_a_run(experiment: raddle.Experiment) -> None:
    with pytest.raises(errors.ContradictionError):
        small(sweep=[{"name": "seed", "key": "engine.seed", "values": [1, 2]}]).run()


def test_warnings_become_warnings(experiment: raddle.Experiment) -> None:
    with pytest.warns(errors.RaddleWarning) as caught:
        experiment.set(workload__flows=60).run()
    # The line is the caller's, and the text names a key, because nobody wrote a line.
    shown = [warning for warning in caught if warning.category is errors.RaddleWarning]
    assert {warning.filename for warning in shown} == {__file__}
    assert all("experiment:" not in str(warning.message) for warning in shown)


def test_other_threads_go_on_during_a_run() -> None:
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    small().set(workload__flows=20_000).run(threads=1)
    seconds = time.monotonic() - started
    over.set()
    thread.join()
    assert seconds > 0.1 and ticks > 20


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_leaves_partial_results(tmp_path: Path) -> None:
    with pytest.raises(raddle.Interrupted) as caught:
        long().run(tmp_path / "out", threads=1, progress=True)
    run = caught.value.result
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not run.complete and 0 < run.summary["delivered"] < 5_000_000
    finished = [time for time in run.flows["fct_ps"] if time is not None]
    assert len(finished) == run.summary["delivered"]


def test_progress_is_a_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    small().set(workload__flows=50_000).run(progress=True)
    shown = capsys.readouterr().err
    assert "experiment:" in shown and "packet-hops" in shown and shown.endswith("\r\x1b[K")
    small().run()
    assert capsys.readouterr().err == ""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a notebook would show on the line of progress, the newest last."""
    texts: list[str] = []

    class Shown:
        def update(self, data: dict[str, str], raw: bool) -> None:
            texts.append(data["text/plain"])

    def display(data: dict[str, str], **_: object) -> Shown:
        texts.append(data["text/plain"])
        return Shown()

    monkeypatch.setattr("raddle._progress._in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", display)
    return texts


def test_the_progress_in_a_notebook_ends_with_the_time_that_the_work_took(notebook: list[str]) -> None:
    small().set(workload__flows=20_000).run()
    assert "packet-hops" in notebook[0] and re.fullmatch(r"experiment: done in \d+\.\d s", notebook[-1])
    small().set(workload__flows=20_000).agree()
    assert "of 2 runs" in notebook[-2] and re.fullmatch(r"done in \d+\.\d s", notebook[-1])

    def press_ctrl_c() -> None:
        while "packet-hops" not in notebook[-1]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press_ctrl_c).start()
    with pytest.raises(raddle.Interrupted):
        long().run(threads=1)
    assert re.fullmatch(r"experiment: stopped after \d+\.\d s", notebook[-1])
