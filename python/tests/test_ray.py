"""A sweep on a Ray cluster of three nodes, of which one is killed."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import small

from raddle import cluster

ray = pytest.importorskip("ray")


def test_cells_of_a_killed_node_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.cluster_utils import Cluster

    experiment = small(sweep=[{"name": "routing", "key": "scheme.routing", "values": ["ecmp", "drill", "spray"]}])
    experiment = experiment.set(workload__flows=60_000)
    begun = tmp_path / "begun"
    begun.mkdir()
    original = cluster.cell

    def noted(experiment: Any, index: int, count: int, seeds: int) -> Any:
        node = ray.get_runtime_context().get_node_id()
        (begun / f"{index} {node} {time.monotonic_ns()}").touch()
        time.sleep(3)
        return original(experiment, index, count, seeds)

    monkeypatch.setattr(cluster, "cell", noted)
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        victim, _ = nodes.add_node(num_cpus=1), nodes.add_node(num_cpus=1)
        ray.init(address=nodes.address)

        def kill() -> None:
            while not any(victim.node_id in file.name for file in begun.iterdir()):
                time.sleep(0.1)
            nodes.remove_node(victim, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        sweep = experiment.sweep(tmp_path / "out", on="ray")
        killer.join()
    finally:
        ray.shutdown()
        nodes.shutdown()
    starts = [int(file.name.split()[0]) for file in begun.iterdir()]
    assert set(starts) == {0, 1, 2} and len(starts) > 3
    assert sweep.complete and len(sweep.runs) == 3
    local = experiment.sweep(tmp_path / "local")
    assert [run.digest for run in sweep.runs.values()] == [run.digest for run in local.runs.values()]
