"""Routings in Python: the same records as their twins in Rust, errors, and the manifests of their results."""

import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import small
from drill import Drill

import raddle
from raddle import errors
from raddle._routing import Definition


class Ecmp(raddle.Routing):
    """Each flow takes one shortest path, chosen by hash."""

    name = "ecmp-py"

    def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
        return candidates[(packet.hash >> 32) * len(candidates) >> 32].port


class Failing(Ecmp):
    """Raises an exception for its tenth packet."""

    name = "failing"

    def __init__(self, node: raddle.Node) -> None:
        super().__init__(node)
        self.left = 10

    def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
        self.left -= 1
        1 // self.left
        return super().forward(packet, candidates)


def fabric(routing: Any, **scheme: Any) -> raddle.Experiment:
    """A leaf-spine with a choice of four spines, and queues at them."""
    return small(
        topology={"kind": "folded_clos", "leaves": 3, "spines": 4, "hosts_per_leaf": 4,
                  "link_rate": "10 Gbps", "link_delay": "1 us"},
        workload={"flows": 200, "arrivals": {"kind": "poisson", "load": 0.8},
                  "sizes": {"kind": "fixed", "size": "60 KB"}, "pairs": "uniform"},
        scheme={"transport": "tcp-newreno", "routing": routing, "queue": {"kind": "fifo", "packets": 20}, **scheme},
    )


def answering(answer: Any) -> type[raddle.Routing]:
    """A routing whose `forward` returns this object."""

    class Answering(raddle.Routing):
        name = "answering"

        def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
            return answer

    return Answering


TWINS = pytest.mark.parametrize(("twin", "routing"), [("ecmp", Ecmp), ("drill", Drill)])


@TWINS
def test_records_are_those_of_the_twin_in_rust(twin: str, routing: type[raddle.Routing]) -> None:
    rust, python = fabric(twin).run(), fabric(routing).run()
    assert python.digest == rust.digest
    assert python.flows["fct_ps"] == rust.flows["fct_ps"]


@TWINS
@pytest.mark.parametrize("threads", [2, 4])
def test_records_do_not_depend_on_the_number_of_threads(
    twin: str, routing: type[raddle.Routing], threads: int
) -> None:
    callers = set()

    class Called(routing):  # type: ignore[valid-type, misc]
        def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
            callers.add(threading.get_ident())
            return super().forward(packet, candidates)

    assert fabric(Called)._native.digest(threads) == fabric(twin).run(threads=1).digest
    assert len(callers) > 1


def test_parameters_are_those_of_the_experiment() -> None:
    set_in_rust = fabric("drill").set("scheme.drill.samples=4", "scheme.drill.hold=0 us").run()
    experiment = fabric(Drill, **{"drill-py": {"samples": 4}}).set("scheme.drill-py.hold=0 us")
    assert experiment.run().digest == set_in_rust.digest != fabric(Drill).run().digest
    assert experiment.resolved()["scheme"]["drill-py"] == {"samples": 4, "memory": 1, "hold": "0 ps"}
    with pytest.raises(errors.WrongTypeError):
        experiment.set("scheme.drill-py.samples=many")
    with pytest.raises(errors.UnknownKeyError):
        experiment.set("scheme.drill-py.sample=3")


def test_objects_see_their_node_and_their_packets() -> None:
    seen: list[Any] = []

    class Looking(Ecmp):
        name = "looking"
        parameters = {"time": "1 us", "rate": "1 Gbps", "size": "1 KB", "share": 0.5, "is_on": True}

        def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
            seen.append((self.node, self.node.now_ps, packet, candidates))
            return super().forward(packet, candidates)

    fabric(Looking).run(threads=1)
    node, _, _, _ = seen[0]
    assert dict(node.parameters) == {"time": 1_000_000, "rate": 10**9, "size": 1_000, "share": 0.5, "is_on": True}
    assert {node.id for node, *_ in seen} == {12, 13, 14} and node.ports == 8
    times = [now for _, now, _, _ in seen]
    assert times == sorted(times) and times[0] < times[-1]
    data = [packet for _, _, packet, _ in seen if packet.payload_bytes > 0]
    assert {packet.flow is None for packet in data} == {False} and len({packet.flow for packet in data}) > 50
    assert all(packet.source != packet.destination and packet.arrival in range(4) for packet in data)
    assert max(packet.sequence for packet in data) > 50_000 and max(packet.size_bytes for packet in data) >= 1500
    ports = [[candidate.port for candidate in candidates] for *_, candidates in seen]
    assert ports.count([4, 5, 6, 7]) == len(ports)
    assert max(candidate.queue_bytes for *_, candidates in seen for candidate in candidates) > 3_000
    assert {candidate.rate_bps for *_, candidates in seen for candidate in candidates} == {10**10}


def test_an_exception_ends_the_run_with_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(raddle.RunError) as caught:
        fabric(Failing).run(tmp_path / "out")
    text = str(caught.value)
    assert "`Failing` raised an exception at node 1" in text
    assert "Traceback (most recent call last)" in text and "1 // self.left" in text
    assert text.endswith("ZeroDivisionError: integer division or modulo by zero")
    assert not (tmp_path / "out").exists()


def test_an_exception_ends_a_run_on_several_threads() -> None:
    with pytest.raises(raddle.RunError, match="ZeroDivisionError"):
        fabric(Failing).set(workload__flows=100_000)._native.digest(2)


def test_an_exception_of_the_constructor_ends_the_run() -> None:
    class Broken(Ecmp):
        name = "broken"

        def __init__(self, node: raddle.Node) -> None:
            raise KeyError(node.random(1))

    with pytest.raises(raddle.RunError, match="KeyError: 0"):
        fabric(Broken).run()


@pytest.mark.parametrize("answer", [0, 99, -1, None, "4"])
def test_a_port_that_is_no_candidate_is_refused(answer: Any) -> None:
    with pytest.raises(raddle.RunError) as caught:
        fabric(answering(answer)).run()
    assert f"Answering.forward` returned {answer!r} at node 1" in str(caught.value)
    assert "but must return a candidate's port (candidates: 4, 5, 6, 7)" in str(caught.value)


def test_an_edited_class_does_not_count_as_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swept(text: str) -> raddle.Sweep:
        file = tmp_path / "edited.py"
        file.write_text(f"import raddle\nclass Edited(raddle.Routing):\n    name = 'edited'\n"
                        f"    def forward(self, packet, candidates):\n        return candidates[{text}].port\n")
        import importlib
        import linecache

        linecache.clearcache()
        importlib.invalidate_caches()
        import edited  # type: ignore[import-not-found]

        edited = importlib.reload(edited)
        experiment = fabric("ecmp")
        sweep = raddle.Experiment(
            experiment.resolved(),
            sweep=[{"name": "routing", "key": "scheme.routing", "values": ["ecmp", edited.Edited]}],
        )
        return sweep.sweep(tmp_path / "out")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)

    def written(sweep: raddle.Sweep) -> dict[str, int]:
        return {name: (run.directory / "summary.json").stat().st_mtime_ns for name, run in sweep.runs.items()}

    first, again, edited = written(swept("0")), written(swept("0")), written(swept("-1"))
    ecmp, python = first
    assert "edited" in python
    assert again == first
    assert edited[ecmp] == first[ecmp] and edited[python] > first[python]
    manifest = json.loads((tmp_path / "out" / python / "manifest.json").read_text())
    name, digest = manifest["routing"]
    assert name == "edited" and len(digest) == 64


class First:
    def choose(self, candidates: list[raddle.Candidate]) -> raddle.Candidate:
        return candidates[0]


class Last:
    def choose(self, candidates: list[raddle.Candidate]) -> raddle.Candidate:
        return candidates[-1]


def test_the_digest_of_a_class_covers_all_its_base_classes() -> None:
    def digest(base: Any) -> str:
        class Chosen(raddle.Routing, base):  # type: ignore[misc]
            name = "chosen"

            def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
                return int(self.choose(candidates).port)

        return Definition.of(Chosen).source

    assert digest(First) == digest(First) != digest(Last)


def test_experiments_with_a_class_can_be_pickled() -> None:
    experiment = fabric(Ecmp)
    assert pickle.loads(pickle.dumps(experiment)).run().digest == experiment.run().digest


def test_names_that_are_taken_are_refused() -> None:
    class Taken(Ecmp):
        name = "ecmp"

    class Same(Ecmp):
        name = "ecmp-py"

    class Key(Ecmp):
        name = "queue"

    class Spaced(Ecmp):
        name = "two words"

    with pytest.raises(ValueError, match="`ecmp` is the name of another scheme"):
        fabric(Taken)
    with pytest.raises(ValueError, match="`queue` is a key of \\[scheme\\]"):
        fabric(Key)
    with pytest.raises(ValueError, match="must be letters"):
        fabric(Spaced)
    with pytest.raises(ValueError, match="two routings are called `ecmp-py`"):
        small(sweep=[{"name": "routing", "key": "scheme.routing", "values": [Ecmp, Same]}])
    assert fabric(Ecmp).set(scheme__routing=Same).resolved()["scheme"]["routing"] == "ecmp-py"


@pytest.mark.parametrize("default", [-1, None, "soon", -0.5])
def test_defaults_without_a_kind_are_refused(default: Any) -> None:
    class Odd(Ecmp):
        name = "odd"
        parameters = {"size": default}

    with pytest.raises(ValueError, match="the parameter `size` must"):
        fabric(Odd)


def test_other_engines_refuse_a_routing_in_python() -> None:
    for engine in ("flow", "lockstep"):
        with pytest.raises(errors.ContradictionError, match="only in the packet engine"):
            fabric(Ecmp).set(engine__kind=engine).run()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_stops_a_run_that_calls_python() -> None:
    with pytest.raises(raddle.Interrupted):
        fabric(Ecmp).set(workload__flows=1_000_000).run(threads=2, progress=True)
