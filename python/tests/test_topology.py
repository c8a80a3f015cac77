"""Topologies from and to networkx, and the agreement of engines."""

from pathlib import Path

from conftest import small

import raddle


def test_a_topology_comes_back_from_networkx(tmp_path: Path) -> None:
    graph = small().to_networkx()
    kinds = [kind for _, kind in graph.nodes(data="kind")]
    assert (kinds.count("host"), kinds.count("switch")) == (8, 4)
    assert {rate for _, _, rate in graph.edges(data="rate_bps")} == {10_000_000_000}
    again = small(topology=raddle.from_networkx(graph, tmp_path / "graph.json"))
    again = again.set(workload__arrivals={"kind": "poisson", "load": 0.4})
    assert sorted(again.to_networkx().edges) == sorted(graph.edges)
    assert again.run().complete


def test_engines_are_compared() -> None:
    agreement = small().agree()
    assert agreement.data and isinstance(agreement.holds, bool) and "FCT" in str(agreement)
