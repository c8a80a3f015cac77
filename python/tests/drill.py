"""The routing DRILL in Python, as the book shows it."""

# ANCHOR: drill
import raddle


class Drill(raddle.Routing):
    """Each packet joins the shortest queue among random next hops and next hops remembered from the previous packet."""

    name = "drill-py"
    stream = "drill"  # the same random numbers as the routing `drill` draws
    parameters = {"samples": 2, "memory": 1, "hold": "100 us"}

    def __init__(self, node: raddle.Node) -> None:
        self.node = node
        # For each set of next hops: the ports in the order of the last draws, and the shortest queues last time.
        self.components: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}

    def forward(self, packet: raddle.Packet, candidates: list[raddle.Candidate]) -> int:
        samples, memory = self.node.parameters["samples"], self.node.parameters["memory"]
        loads = {candidate.port: (not candidate.is_up, candidate.wait_ps) for candidate in candidates}
        ports = tuple(loads)
        deck, shortest = self.components.setdefault(ports, (list(ports), []))
        for place in range(min(samples, len(deck))):
            other = place + self.node.random(len(deck) - place)
            deck[place], deck[other] = deck[other], deck[place]
        drawn = deck[:samples]
        remembered = [port for port in shortest[:memory] if port not in drawn]
        shortest[:] = sorted(drawn + remembered, key=loads.__getitem__)
        return shortest[0]
# ANCHOR_END: drill
