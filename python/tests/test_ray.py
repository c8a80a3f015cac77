"""Runs on a Ray cluster: from Python on three nodes, of which one is killed, and from the command line."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import long, small
from test_figures import figure
from test_routing import Ecmp, fabric

import raddle
from raddle import cluster
from raddle._routing import Definition

ray = pytest.importorskip("ray")

SWEEP = [{"name": "routing", "key": "scheme.routing", "values": ["ecmp", "drill", "spray"]}]


class Nodes:
    """A head without CPUs and two nodes of one CPU, of which one is killed when it has begun a task."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from ray.cluster_utils import Cluster

        begun = self.begun = folder / "begun"
        begun.mkdir()
        original = cluster.task

        def noted(text: str, *more: Any) -> Any:
            node = ray.get_runtime_context().get_node_id()
            (begun / f"{time.monotonic_ns()}").write_text(f"{node} {text}")
            time.sleep(3)
            return original(text, *more)

        monkeypatch.setattr(cluster, "task", noted)
        self.nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        self.victim, _ = self.nodes.add_node(num_cpus=1), self.nodes.add_node(num_cpus=1)
        ray.init(address=self.nodes.address)
        self.killer = threading.Thread(target=self.kill)
        self.killer.start()

    def kill(self) -> None:
        while not any(self.victim.node_id in file.read_text() for file in self.begun.iterdir()):
            time.sleep(0.1)
        self.nodes.remove_node(self.victim, allow_graceful=False)

    def begun_tasks(self) -> list[str]:
        """The task of each begin."""
        return [file.read_text().split(" ", 1)[1] for file in self.begun.iterdir()]


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path, monkeypatch)
    try:
        yield nodes
    finally:
        nodes.killer.join()
        ray.shutdown()
        nodes.nodes.shutdown()


def test_cells_of_a_killed_node_run_again(tmp_path: Path, nodes: Nodes) -> None:
    experiment = small(sweep=SWEEP).set(workload__flows=60_000)
    sweep = experiment.sweep(tmp_path / "out", on="ray")
    begun = nodes.begun_tasks()
    assert len(set(begun)) == 3 and len(begun) > 3
    assert sweep.complete and len(sweep.runs) == 3
    local = experiment.sweep(tmp_path / "local")
    assert [run.digest for run in sweep.runs.values()] == [run.digest for run in local.runs.values()]
    assert [run.summary["title"] for run in sweep.runs.values()] == list(sweep.runs)


def test_runs_of_figures_survive_a_killed_node_and_are_shared(tmp_path: Path, nodes: Nodes) -> None:
    names = [figure(tmp_path, "one"), figure(tmp_path, "two", most="1.0"), figure(tmp_path, "three", engine__seed=7)]
    raddle.reproduce(names[2], out=tmp_path / "out")
    done = raddle.reproduce(names, out=tmp_path / "out", on="ray")
    begun = nodes.begun_tasks()
    # Figures one and two have the same two runs, and those of figure three are there. At least one run began again.
    assert len(set(begun)) == 2 and 2 < len(begun) <= 4
    local = raddle.reproduce(names, out=tmp_path / "local")
    assert [claim.measured for claim in done.claims] == [claim.measured for claim in local.claims]
    assert done.digest == local.digest and list(done.figures) == ["own/one", "own/two", "own/three"]
    assert not list((tmp_path / "out" / "own").glob("*unfinished*"))


def is_idle(cpus: int) -> bool:
    """True if all CPUs of the cluster become free within half a minute."""
    until = time.monotonic() + 30
    while ray.available_resources().get("CPU", 0) < cpus:
        if time.monotonic() > until:
            return False
        time.sleep(0.2)
    return True


def test_ctrl_c_cancels_the_tasks(tmp_path: Path) -> None:
    ray.init(num_cpus=2)
    try:
        timer = threading.Timer(8, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(raddle.Interrupted) as caught:
            long(sweep=SWEEP).sweep(tmp_path / "out", on="ray")
        assert not caught.value.result.complete
        assert is_idle(2)
    finally:
        ray.shutdown()


def test_routings_of_python_run_on_the_cluster(tmp_path: Path) -> None:
    class Elsewhere(Ecmp):
        name = "elsewhere"

    experiment = fabric(Elsewhere)
    ray.init(num_cpus=1)
    try:
        sweep = experiment.sweep(tmp_path / "out", seeds=2, on="ray")
    finally:
        ray.shutdown()
    local = experiment.sweep(tmp_path / "local", seeds=2)
    assert [run.digest for run in sweep.runs.values()] == [run.digest for run in local.runs.values()]


def test_the_modules_of_a_routing_travel_without_those_of_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "import typing, pytest, raddle\n"
        "class Mine(raddle.Routing, typing.Generic[typing.TypeVar('T')], pytest.Collector):\n"
        "    name = 'mine'\n"
        "    def forward(self, packet, candidates):\n        return candidates[0].port\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import mine  # type: ignore[import-not-found]

    with cluster._by_value([Definition.of(mine.Mine)]):
        pickled = ray.cloudpickle.dumps(mine.Mine)
    monkeypatch.undo()
    del sys.modules["mine"]
    assert pickle.loads(pickled).name == "mine"


@pytest.fixture
def command(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a cluster of one node, and the command `raddle`."""
    program = os.environ.get("RADDLE")
    if program is None:
        pytest.skip("RADDLE does not name the command")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    try:
        yield nodes.address, Path(program).resolve()
    finally:
        nodes.shutdown()


def told(program: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RADDLE_PYTHON": sys.executable, **environment}
    return subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_command_spreads_sweeps_and_figures(tmp_path: Path, command: tuple[str, Path]) -> None:
    address, program = command
    text = raddle._raddle.toml_text({**small().resolved(), "sweep": SWEEP})
    (tmp_path / "grid.toml").write_text(text)
    spread = told(program, tmp_path, "sweep", "grid.toml", "--out", "out", "--cluster", address)
    assert spread.returncode == 0, spread.stderr
    assert all(f"/3 {routing}: done" in spread.stderr for routing in ("ecmp", "drill", "spray"))
    # The same command finds the runs that the cluster did, and prints the same table.
    again = told(program, tmp_path, "sweep", "grid.toml", "--out", "out", "--format", "json")
    local = told(program, tmp_path, "sweep", "grid.toml", "--out", "local", "--format", "json")
    assert again.stderr.count("already finished") == 3
    digests = [[group["digests"] for group in json.loads(ran.stdout)["groups"]] for ran in (again, local)]
    assert digests[0] == digests[1] and again.returncode == local.returncode == 0
    assert told(program, tmp_path, "sweep", "grid.toml", "--out", "out").stdout == spread.stdout

    figure(tmp_path, "mine", most="1.0")
    spread = told(program, tmp_path, "reproduce", "mine.toml", "--out", "figures", "--cluster", address)
    local = told(program, tmp_path, "reproduce", "mine.toml", "--out", "figures")
    assert spread.returncode == local.returncode == 1, spread.stderr
    assert spread.stderr.count("2/2 own/mine: ") == 1 and spread.stdout == local.stdout


def test_ctrl_c_ends_the_command_and_its_tasks(tmp_path: Path, command: tuple[str, Path]) -> None:
    address, program = command
    text = raddle._raddle.toml_text({**long().resolved(), "sweep": SWEEP})
    (tmp_path / "grid.toml").write_text(text)
    arguments = [program, "sweep", "grid.toml", "--cluster", address]
    sweep = subprocess.Popen(arguments, cwd=tmp_path, env={**os.environ, "RADDLE_PYTHON": sys.executable})
    ray.init(address=address)
    try:
        while ray.available_resources().get("CPU", 0) > 0:
            assert sweep.poll() is None
            time.sleep(0.2)
        sweep.send_signal(signal.SIGINT)
        assert sweep.wait(30) == 130
        assert is_idle(2)
    finally:
        ray.shutdown()


def test_the_command_says_what_is_missing(tmp_path: Path, command: tuple[str, Path]) -> None:
    address, program = command
    text = raddle._raddle.toml_text({**small().resolved(), "sweep": SWEEP})
    (tmp_path / "grid.toml").write_text(text)
    sweep = ("sweep", "grid.toml", "--cluster", address)
    nowhere = told(program, tmp_path, *sweep, RADDLE_PYTHON="no-such-python")
    assert nowhere.returncode == 2 and "cannot start `no-such-python`" in nowhere.stderr
    bare = told(program, tmp_path, *sweep, RADDLE_PYTHON="/usr/bin/python3")
    assert bare.returncode == 2 and "No module named" in bare.stderr and "pip install" in bare.stderr
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "ray.py").write_text("raise ImportError")
    rayless = told(program, tmp_path, *sweep, PYTHONPATH=str(stub))
    assert rayless.returncode == 2 and "the package `ray` is not installed" in rayless.stderr
    assert "pip install ray" in rayless.stderr
    nobody = told(program, tmp_path, "sweep", "grid.toml", "--cluster", "127.0.0.1:1")
    assert nobody.returncode == 2 and "cannot connect to a Ray cluster at 127.0.0.1:1" in nobody.stderr
