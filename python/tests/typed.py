"""Checked by mypy, not run: the types accept what is right and refuse what is wrong.

`warn_unused_ignores` makes mypy fail if a line marked with `type: ignore` has no error.
"""

import raddle

experiment = raddle.Experiment(
    topology={"kind": "folded_clos", "leaves": 2, "spines": 2, "link_rate": "10 Gbps"},
    scheme={"transport": "dctcp", "dctcp": {"min_rto": "1 ms"}},
    engine={"seed": 1},
)
raddle.Experiment(topology={"kind": "folded_klos"})  # type: ignore[typeddict-item]
raddle.Experiment(engine={"sede": 1})  # type: ignore[typeddict-unknown-key]
raddle.Experiment(engine={"seed": "one"})  # type: ignore[typeddict-item]
raddle.list("shemes")  # type: ignore[arg-type]

run: raddle.Run = experiment.run()
rows: int = len(run.flows)
names: list[str] = [parameter.name for parameter in raddle.parameters("dctcp")]

verdicts: list[str] = [claim.verdict for claim in raddle.reproduce("pdq/fig6a").claims]
raddle.reproduce("pdq/fig6a", scale="small")  # type: ignore[arg-type]

class Shortest(raddle.Routing):
    name = "shortest"

    def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
        return min(candidates, key=lambda candidate: candidate.queue_bytes).port


raddle.Experiment(scheme={"transport": "dctcp", "routing": Shortest}).set(scheme__routing=Shortest)
raddle.Experiment(scheme={"routing": "shortest"})  # type: ignore[typeddict-item]
raddle.Experiment(scheme={"routing": raddle.Run})  # type: ignore[typeddict-item]
