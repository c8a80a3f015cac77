"""The types of an experiment's tables, generated from the declared keys. Do not edit.

`RADDLE_WRITE=1 cargo test -p raddle-python --test keys` writes this file.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from ._routing import Routing


class Agree(TypedDict, total=False):
    """Largest allowed distances between the results of the packet engine and the flow engine (`raddle agree`)."""

    fct_distance: float | str
    """Wasserstein-1 distance between the FCTs of both engines, divided by the packet engine's mean FCT."""

    fct_mean: float | str
    """relative difference of the flow engine's mean FCT from the mean FCT of the packet engine."""

    fct_p50: float | str
    """relative difference of the flow engine's FCT p50 from the FCT p50 of the packet engine."""

    fct_p90: float | str
    """relative difference of the flow engine's FCT p90 from the FCT p90 of the packet engine."""

    fct_p99: float | str
    """relative difference of the flow engine's FCT p99 from the FCT p99 of the packet engine."""

    link_load: float | str
    """sum over links of the absolute difference between the data bytes of both engines, divided by the packet engine's data bytes on all links."""


class ClaimDeviates(TypedDict, total=False):
    """The known reason why the claim does not hold, and the experiment that shows the cause."""

    cause: str
    """The cause."""

    shown_by: str
    """The figure that shows the cause: none of its claims fails. Or one of its claims, which holds."""


ClaimMeasure = TypedDict(
    "ClaimMeasure",
    {
        # A congestion period is the time for which a port's queue is longer than this. Only with the quantity `congestion_period`. (default: `"0 B"`)
        "above": str,
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is replaced by its absolute difference from the value in that run, divided by the value in that run.
        "against": Any,
        # Labels that the runs must have.
        "at": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic of that run is subtracted.
        "beyond": Any,
        # A statistic whose contrast is subtracted from the contrast of `stat`.
        "beyond_stat": Literal["mean", "total", "count", "variation", "p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99", "p999", "max", "share"],
        # The sweep whose labels the contrast compares. (default: `"scheme"`)
        "by": str,
        # Labels. The number at a point is the absolute difference between the contrast at this point and the contrast at these labels.
        "difference_to": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The number is the Kolmogorov-Smirnov distance between the distributions of the two runs.
        "distance_to": Any,
        # Start of the window of simulated time that is measured. (default: the start of the run)
        "from": str,
        # Labels: the number at the first label divided by the greatest number at the other labels.
        "lead": list[str],
        # Smallest value that counts with `stat = "share"`.
        "least": float,
        # Lists of labels. Every number in the contrast is the mean over the runs with these labels.
        "mean_over": Any,
        # Largest value that counts with `stat = "share"`.
        "most": float,
        # The quantity that is measured. (default: `"value"`)
        "of": Literal["fct", "sender_fct", "met", "slowdown", "unfinished", "goodput", "assigned_rate", "reorder_peak", "peak_queue", "data_bytes", "control_bytes", "paused", "active_flows", "active_flows_of_source", "active_flows_of_link", "imbalance", "throughput", "in_order", "late_share", "port_changes", "jitter", "throughput_of_interval", "queue_length", "congestion_period", "ports_in_use", "makespan", "lateness", "value"],
        # Labels in the order in which their numbers should decrease: the smallest ratio of a number to the next number.
        "order": list[str],
        # Lists of labels: the points of other sweeps at which the contrast is computed.
        "over": Any,
        # Two labels: the number at the first label divided by the number at the second label.
        "ratio": list[str],
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is divided by the value in that run.
        "ratio_to": Any,
        # Two labels: the share by which the number at the first label is below the number at the second label.
        "reduction": list[str],
        # Labels of another run, which has this run's labels in all other sweeps. The statistic is divided by the statistic of that run.
        "relative": Any,
        # The statistic is divided by the same statistic of the flows, links or tier that this condition selects in the same run.
        "relative_where": str,
        # The quantities `throughput` and `in_order` are given as shares of this rate. Other quantities do not accept this key.
        "share_of": str,
        # The statistic that is computed from the values of flows, links or samples. (default: `"mean"`)
        "stat": Literal["mean", "total", "count", "variation", "p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99", "p999", "max", "share"],
        # The rule that turns the contrasts at several points into one number. (default: `"least"`)
        "take": Literal["least", "second_least", "most", "mean", "median", "rise", "fall"],
        # End of the window of simulated time that is measured. Required for the quantities `throughput` and `in_order`, except in a plot of kind `series`. (default: the end of the run)
        "to": str,
        # The flows, links or tiers that are measured: `size < 100 KB`, `100 KB <= size <= 1 MB`, `flow = 4`, `src = 0`, `dst = 31`, `link = 16->14` (`*` stands for any node, `16..19` for four nodes), `tier = tor`, `tier = leaf` or `tier = aggregation`.
        "where": str,
    },
    total=False,
)


class Claim(TypedDict, total=False):
    """A statement, the number that judges it, and the range of this number in which the claim holds."""

    accept: list[float]
    """The range in which the claim holds: two numbers, the smaller first. (default: at least 0 if `take` is `rise` or `fall`; at least 1 if the measure has `order` or `lead` and `take` is `least`)"""

    calibrated: bool
    """True if parameters that the paper does not give were chosen so that the claim holds. (default: `false`)"""

    changed: str
    """The part of the claim that was changed after results were seen, with the day and the reason."""

    deviates: ClaimDeviates
    """The known reason why the claim does not hold, and the experiment that shows the cause."""

    id: str
    """Name of the claim within its figure."""

    measure: ClaimMeasure
    """The number that judges the claim."""

    ours: bool
    """True for a claim of our own, which judges no statement of the paper. (default: `false`)"""

    paper: float
    """The paper's number, if the paper gives a number."""

    says: str
    """The statement of the paper in our words, or our own statement."""

    section: str
    """Section of the paper."""

    why: str
    """The reason for the range."""

    widest: float
    """Largest accepted half-width of the 95% confidence interval over seeds, in the unit of the claim's number. If the number combines several points, this holds for each point. A claim with a larger half-width, or without an interval, is not measured. Without this key, a claim is not measured if the interval contains a bound of `accept` and its half-width is more than 5% of the number. A fifth of the range is allowed, too, if the range is narrower than the number."""


class EngineHosts2(TypedDict, total=False):
    """The hosts of a live run. A string stands for a table with that `kind` and no other keys: `hosts = "namespaces"`."""

    congestion_control: str
    """Congestion control of the kernel's TCP, by its name in Linux. If left out, the congestion control that is most like the transport."""

    kind: Literal["scheme", "namespaces"]
    """The kind of hosts."""

    queue: int
    """Length of the send queue of a host's interface, in frames (`txqueuelen`). (default: `1000`)"""

    rto_min: str
    """Least retransmission timeout of the kernel's TCP, in real time. If left out, the kernel's default."""


class Engine(TypedDict, total=False):
    """The engine and its settings."""

    cut_through: bool
    """If true, a node forwards a packet as soon as its header has arrived. (default: `false`)"""

    dilation: int
    """Ratio of real time to virtual time in a live run. (default: 1)"""

    discovery: Literal["oracle", "hello"]
    """The way in which nodes learn of failed links: with `oracle`, the engine informs every node; with `hello`, nodes exchange hello messages. (default: `"oracle"`)"""

    grid: str
    """The flow engine computes rates only at multiples of this time. If left out, it computes them at every event."""

    header: str
    """Number of bytes of a packet that must have arrived before a node forwards the packet. If left out, the length of the transport's headers, or 64 B if headers are part of the payload. Only with `cut_through = true`."""

    hello_period: str
    """Time between two hello messages. Only with `discovery = "hello"`. (default: 1 ms)"""

    hosts: Literal["scheme", "namespaces"] | EngineHosts2
    """The hosts of a live run: the scheme's own hosts, or Linux network namespaces."""

    kind: Literal["packet", "flow", "lockstep", "live"]
    """The engine: `packet` simulates every packet, `flow` simulates flows as fluids, `lockstep` moves encoded bytes under a virtual clock, `live` moves bytes in real time. (default: `"packet"`)"""

    polling_threads: int
    """Number of polling threads of a live run. Each thread needs its own core. (default: 1)"""

    provider: Literal["tcp", "shm", "verbs"]
    """The libfabric provider for packets between the processes of a live run, if the processes connect at a TCP address. (default: `tcp`)"""

    seed: int
    """Seed from which all random streams derive. (default: `1`)"""

    time_limit: str
    """Simulated time at which the run stops even if flows are unfinished. If left out, the run ends with its last flow."""

    watchdog: str
    """Simulated time between two searches for links that wait for each other in a cycle. If left out, 10 ms. Only with `flow_control`."""


class Errors(TypedDict, total=False):
    """Links that lose and corrupt packets."""

    corruption: float | str
    """Probability that one bit of a packet is flipped on a link. (default: `0.0`)"""

    links: list[list[int]]
    """Links that lose and corrupt packets, each as a pair of nodes. If left out, all links lose and corrupt packets."""

    loss: float | str
    """Probability that a link loses a packet. (default: `0.0`)"""

    until: str
    """Time after which no errors happen. If left out, errors happen until the run ends."""


class FailureRandom(TypedDict, total=False):
    """Random links of a Clos network, which fail together. The seed determines the links."""

    links: int
    """Number of links that fail."""

    most_a_switch: int
    """Maximum number of links that fail at any one switch. (default: `links`)"""

    pod: int
    """Pod of the links. If left out, links of all pods can fail."""

    tier: Literal["uplink", "core"]
    """Tier of the links."""


class Failure(TypedDict, total=False):
    """A failure at a stated time: of the links between two nodes, of a node, or of random links."""

    at: str
    """Time of the failure, since the start of the run."""

    discovery: str
    """Time that topology discovery takes to inform every node of a failure or a repair. Not used with `discovery = "hello"` in `[engine]`. (default: `"1 ms"`)"""

    link: list[int]
    """The two nodes between which all links fail, in both directions."""

    node: int
    """The node whose links all fail."""

    random: FailureRandom
    """Random links of a Clos network, which fail together. The seed determines the links."""

    repair: str
    """Time of the repair, since the start of the run. If left out, there is no repair."""


class Faults(TypedDict, total=False):
    """Failures at random times."""

    discovery: str
    """Time that topology discovery takes to inform every node of a failure or a repair. Not used with `discovery = "hello"` in `[engine]`. (default: `"1 ms"`)"""

    link_failures: str
    """Mean frequency at which one working link fails. (default: `"0 / s"`)"""

    node_failures: str
    """Mean frequency at which one working node fails. (default: `"0 / s"`)"""

    repair: str
    """Mean time from a failure to its repair."""

    until: str
    """Time after which no failures happen."""


class Figure(TypedDict, total=False):
    """Title and settings of a figure."""

    by_name: bool
    """If true, the figure is reproduced only under its own name, and not with its paper. (default: `false`)"""

    dpi: int
    """Pixels per inch of the picture in PNG. (default: 96; 600 in the style `paper`, 144 in the style `slides`)"""

    number: str
    """Number of the figure in its paper."""

    paper: str
    """The paper to which the figure belongs, if any."""

    seeds: int
    """Number of runs of each cell. Their seeds are the experiment's seed and the numbers after it. Results are means over these runs. (default: `1`)"""

    size: list[float]
    """Width and height of each plot, in inches. (default: 7.9 by 5.2; 3.3 by 2.3 in the style `paper`, 13.3 by 7.5 in the style `slides`)"""

    style: Literal["screen", "paper", "slides"]
    """The purpose of the pictures, which decides their size, type and colors. (default: `"screen"`)"""

    title: str
    """Title of the figure."""

    warm_up: float | str
    """Share of all flows that measures leave out. They leave out the flows that start first. (default: `0.05`)"""


PlotEach = TypedDict(
    "PlotEach",
    {
        # A congestion period is the time for which a port's queue is longer than this. Only with the quantity `congestion_period`. (default: `"0 B"`)
        "above": str,
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is replaced by its absolute difference from the value in that run, divided by the value in that run.
        "against": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic of that run is subtracted.
        "beyond": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The number is the Kolmogorov-Smirnov distance between the distributions of the two runs.
        "distance_to": Any,
        # Start of the window of simulated time that is measured. (default: the start of the run)
        "from": str,
        # Label of the curve.
        "label": str,
        # Smallest value that counts with `stat = "share"`.
        "least": float,
        # Largest value that counts with `stat = "share"`.
        "most": float,
        # The quantity that is measured. (default: `"value"`)
        "of": Literal["fct", "sender_fct", "met", "slowdown", "unfinished", "goodput", "assigned_rate", "reorder_peak", "peak_queue", "data_bytes", "control_bytes", "paused", "active_flows", "active_flows_of_source", "active_flows_of_link", "imbalance", "throughput", "in_order", "late_share", "port_changes", "jitter", "throughput_of_interval", "queue_length", "congestion_period", "ports_in_use", "makespan", "lateness", "value"],
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is divided by the value in that run.
        "ratio_to": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic is divided by the statistic of that run.
        "relative": Any,
        # The statistic is divided by the same statistic of the flows, links or tier that this condition selects in the same run.
        "relative_where": str,
        # The quantities `throughput` and `in_order` are given as shares of this rate. Other quantities do not accept this key.
        "share_of": str,
        # The statistic that is computed from the values of flows, links or samples. (default: `"mean"`)
        "stat": Literal["mean", "total", "count", "variation", "p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99", "p999", "max", "share"],
        # End of the window of simulated time that is measured. Required for the quantities `throughput` and `in_order`, except in a plot of kind `series`. (default: the end of the run)
        "to": str,
        # The flows, links or tiers that are measured: `size < 100 KB`, `100 KB <= size <= 1 MB`, `flow = 4`, `src = 0`, `dst = 31`, `link = 16->14` (`*` stands for any node, `16..19` for four nodes), `tier = tor`, `tier = leaf` or `tier = aggregation`.
        "where": str,
    },
    total=False,
)


Plot = TypedDict(
    "Plot",
    {
        # A congestion period is the time for which a port's queue is longer than this. Only with the quantity `congestion_period`. (default: `"0 B"`)
        "above": str,
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is replaced by its absolute difference from the value in that run, divided by the value in that run.
        "against": Any,
        # Labels of the runs that are plotted.
        "at": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic of that run is subtracted.
        "beyond": Any,
        # The sweep whose labels name the curves, or the rows of a table. (default: `"scheme"`)
        "by": str,
        # Labels of another run, which has this run's labels in all other sweeps. The number is the Kolmogorov-Smirnov distance between the distributions of the two runs.
        "distance_to": Any,
        # Sets of flows or links. Each set has its own curve.
        "each": list[PlotEach],
        # Meaning of the error bars, which exist if several seeds were run. (default: `"interval"`)
        "errors": Literal["range", "interval"],
        # Start of the window of simulated time that is measured. (default: the start of the run)
        "from": str,
        # The kind of plot.
        "kind": Literal["cdf", "ccdf", "along", "bars", "by_size", "cells", "series"],
        # Smallest value that counts with `stat = "share"`.
        "least": float,
        # If true, the x axis is logarithmic. (default: true if `kind` is `by_size`, otherwise false)
        "log_x": bool,
        # If true, the y axis is logarithmic. (default: true if `kind` is `ccdf`, otherwise false)
        "log_y": bool,
        # Largest value that counts with `stat = "share"`.
        "most": float,
        # The quantity that is measured. (default: `"value"`)
        "of": Literal["fct", "sender_fct", "met", "slowdown", "unfinished", "goodput", "assigned_rate", "reorder_peak", "peak_queue", "data_bytes", "control_bytes", "paused", "active_flows", "active_flows_of_source", "active_flows_of_link", "imbalance", "throughput", "in_order", "late_share", "port_changes", "jitter", "throughput_of_interval", "queue_length", "congestion_period", "ports_in_use", "makespan", "lateness", "value"],
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is divided by the value in that run.
        "ratio_to": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic is divided by the statistic of that run.
        "relative": Any,
        # Label of a curve, a point or a bar. All values of the plot are divided by the values that have this label.
        "relative_to": str,
        # The statistic is divided by the same statistic of the flows, links or tier that this condition selects in the same run.
        "relative_where": str,
        # The quantities `throughput` and `in_order` are given as shares of this rate. Other quantities do not accept this key.
        "share_of": str,
        # The statistic that is computed from the values of flows, links or samples. (default: `"mean"`)
        "stat": Literal["mean", "total", "count", "variation", "p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99", "p999", "max", "share"],
        # Statistics. Each curve is drawn once for each statistic. Only for the kinds `along`, `bars` and `by_size`.
        "stats": list[str],
        # Title of the plot. If left out, the quantity is the title.
        "title": str,
        # End of the window of simulated time that is measured. Required for the quantities `throughput` and `in_order`, except in a plot of kind `series`. (default: the end of the run)
        "to": str,
        # The flows, links or tiers that are measured: `size < 100 KB`, `100 KB <= size <= 1 MB`, `flow = 4`, `src = 0`, `dst = 31`, `link = 16->14` (`*` stands for any node, `16..19` for four nodes), `tier = tor`, `tier = leaf` or `tier = aggregation`.
        "where": str,
        # The sweep whose labels are on the x axis, or name the columns of a table.
        "x": str,
        # Label of the x axis. If left out, the label depends on the kind of plot.
        "x_label": str,
        # Label of the y axis. If left out, the label depends on the kind of plot.
        "y_label": str,
    },
    total=False,
)


class Record(TypedDict, total=False):
    """The records that a run keeps."""

    imbalance: str
    """Length of the intervals in which the bytes on uplinks are counted. The throughput imbalance of a switch's uplinks is computed for each interval. If left out, nothing is counted."""

    links: bool
    """A row for each directed link. (default: `true`)"""

    pcap: str
    """Links whose packets are captured in `packets.pcapng`: `all`, or a list of node pairs and link numbers such as `3->12, 40`."""

    pcap_snap: str
    """Maximum number of bytes that the capture keeps of each frame, from the start of the frame. Only with `pcap`. (default: `"128 B"`)"""

    queue_lengths: str
    """Time between two samples of queue lengths."""

    queue_links: str
    """Links whose queues are sampled: `all`, or a list of node pairs and link numbers such as `3->12, 40`. Only with `queue_lengths`. (default: `"all"`)"""

    queues: bool
    """For each port, a histogram of the queue length when a packet joins the queue, this packet included. (default: `false`)"""

    series: bool
    """Time series for `raddle report`: the traffic and the queue of each link, the throughput of each sender and of the largest flows, and the times in which the ranks of a program compute, send and receive. Also the paths of the slowest flows. If left out, none of these are recorded."""

    throughput: str
    """Length of the intervals in which the bytes that hosts receive are counted, for each flow."""


class Scale(TypedDict, total=False):
    """Values of keys at quick and at full scale."""

    full: Any
    """Values at full scale."""

    quick: Any
    """Values at quick scale."""


class SchemeCee(TypedDict, total=False):
    """Lossless Ethernet: each host has a queue for each destination and priority, with or without QCN's rate limiters"""

    mtu: str
    """bytes of a full frame, headers included (default: "1500 B")"""

    priority: int
    """priority of the frames of flows whose own priority is 0 (default: 3)"""

    rate_limiters: bool
    """limit the rate of each queue (one per destination and priority) by QCN's congestion notices (default: false)"""


class SchemeClairvoyant(TypedDict, total=False):
    """In a Clos network, each flow takes the path whose maximum link load is lowest when the flow begins"""

    alpha: float | str
    """fraction that a rate estimator loses in each interval (default: 0.1)"""

    bits: int
    """number of bits that encode a load (default: 3)"""

    mode: Literal["paper", "authsim"]
    """select paths for both directions, or only for the direction of the SYN, as the authors' simulation code does (default: "paper")"""

    pst_capacity: int
    """number of entries of a path selection table (default: 65536)"""

    pst_clock: Literal["exact", "age_bit"]
    """when an idle entry expires: exactly after the timeout (exact), or after one to two timeouts (age_bit) (default: "exact")"""

    pst_lookup: Literal["exact", "hw"]
    """how flows use entries: each flow has its own entry (exact), or flows with the same lower hash bits share an entry (hw) (default: "exact")"""

    pst_timeout: str
    """idle time after which an entry of a path selection table expires (default: "100 ms")"""

    t_dre: str
    """interval at which rate estimators decay (default: "20 us")"""


class SchemeConga(TypedDict, total=False):
    """Each flowlet of a leaf-spine takes the uplink whose path to the destination leaf is least congested"""

    ageing: str
    """time without an update after which a metric counts as 0 (default: "10 ms")"""

    alpha: float | str
    """fraction that a rate estimator loses in each interval (default: 0.1)"""

    bits: int
    """number of bits that encode a load, Q (default: 3)"""

    ce: Literal["spine", "leaf_only"]
    """which switches write congestion into packets: leaves and spines (spine), or only leaves (leaf_only), as in the public simulation code (default: "spine")"""

    decision: Literal["max", "remote_only"]
    """the metric of an uplink: the greater of the uplink's own load and the load of the path that begins with the uplink (max), or only the load of the path (remote_only) (default: "max")"""

    expiry: Literal["age_bit", "exact"]
    """how long a flow must be idle until its flowlet ends: between t_fl and 2 t_fl (age_bit), or exactly t_fl (exact) (default: "age_bit")"""

    flowlets: int
    """number of slots of each switch's flowlet table (default: 65536)"""

    t_dre: str
    """interval at which rate estimators decay (default: "20 us")"""

    t_fl: str
    """idle time of a flow after which its next packet begins a new flowlet (default: "100 us")"""


class SchemeCongaFlow(TypedDict, total=False):
    """CONGA with a flowlet gap so long that a flow hardly ever changes its path"""

    ageing: str
    """time without an update after which a metric counts as 0 (default: "10 ms")"""

    alpha: float | str
    """fraction that a rate estimator loses in each interval (default: 0.1)"""

    bits: int
    """number of bits that encode a load, Q (default: 3)"""

    ce: Literal["spine", "leaf_only"]
    """which switches write congestion into packets: leaves and spines (spine), or only leaves (leaf_only), as in the public simulation code (default: "spine")"""

    decision: Literal["max", "remote_only"]
    """the metric of an uplink: the greater of the uplink's own load and the load of the path that begins with the uplink (max), or only the load of the path (remote_only) (default: "max")"""

    expiry: Literal["age_bit", "exact"]
    """how long a flow must be idle until its flowlet ends: between t_fl and 2 t_fl (age_bit), or exactly t_fl (exact) (default: "age_bit")"""

    flowlets: int
    """number of slots of each switch's flowlet table (default: 65536)"""

    t_dre: str
    """interval at which rate estimators decay (default: "20 us")"""

    t_fl: str
    """idle time of a flow after which its next packet begins a new flowlet (default: "13 ms")"""


class SchemeDModK(TypedDict, total=False):
    """Each packet goes up a tree and then down; the digits of the destination's number select the up ports"""

    divisor: Literal["parents", "children"]
    """the divisor of a host's number at a switch of level l: w1 * .. * wl, the parents per node of the levels below l, or m1 * .. * m(l-1), the children per switch of the levels below l; both are equal in k-ary n-trees (default: "parents")"""


class SchemeD3(TypedDict, total=False):
    """D3: switches grant flows the rates that meet their deadlines, first come, first served, and share the rest fairly"""

    alpha: float | str
    """fraction of a link's spare rate that is added to the capacity for grants per round trip (default: 0.1)"""

    beta: float | str
    """fraction of a link's standing queue that should drain per round trip (default: 1)"""

    clamp: bool
    """if the desired rates of all flows together exceed a link's capacity, the fair share is 0 instead of negative (default: true)"""

    initial_rto: str
    """timeout of a SYN; it doubles with each retransmission, at most 8 times (default: "1 ms")"""

    memory: Literal["flows", "sums"]
    """flows: routers remember the rate of each flow; sums: routers trust the previous rate that each request states (default: "flows")"""

    min_rto: str
    """lower bound of the timeout of packets other than SYNs; the timeout is two round trips, and doubles each time it expires, at most 8 times (default: "300 us")"""

    mss: str
    """payload bytes of a full packet (default: "1460 B")"""

    paths: int
    """with routing = "k-shortest": number of shortest paths from which each flow or subflow draws its path (default: 8)"""

    quench: bool
    """end flows that can no longer meet their deadline (default: true)"""

    rtt: str
    """round-trip time that links assume, since requests do not carry it (default: "200 us")"""


class SchemeDcqcn(TypedDict, total=False):
    """RDMA writes over RoCEv2, with rate control by ECN marks"""

    ack_interval: int
    """number of packets per requested acknowledgement; the last packet of a flow always requests an acknowledgement (default: 16)"""

    ack_priority: int
    """priority of acknowledgements (default: 6)"""

    alpha_timer: str
    """time without a notification after which the estimate of congestion is reduced (default: "55 us")"""

    byte_limit: str
    """number of bytes in a byte cycle of the rate's recovery (default: "10 MB")"""

    cnp_interval: str
    """shortest time between two congestion notifications of a flow (default: "50 us")"""

    cnp_priority: int
    """priority of congestion notifications (default: 6)"""

    fr_thr: int
    """number of the first cycle, of either kind, that also raises the target rate; the cycles before it are fast recovery (default: 5)"""

    gain: float | str
    """weight of the newest notification in the estimate of congestion (default: 0.00390625)"""

    min_rate: str
    """lowest rate of a rate limiter (default: "100 Mbps")"""

    mtu: str
    """payload bytes of a full packet (default: "1024 B")"""

    nak_interval: str
    """shortest time between two negative acknowledgements of a flow for the same packet (default: "500 us")"""

    priority: int
    """priority of the packets of flows whose own priority is 0 (default: 3)"""

    r_ai: str
    """increase of the target rate per cycle of additive increase (default: "40 Mbps")"""

    r_hai: str
    """step of hyper increase: the i-th cycle of hyper increase adds i times this rate to the target rate (default: "200 Mbps")"""

    recovery: Literal["go-back-n", "none"]
    """method of recovering lost packets (default: "go-back-n")"""

    retries: int
    """number of successive timeouts without progress at which the sender goes back; at the next timeout, it gives up the flow (default: 7)"""

    rto: str
    """time without progress after which a sender goes back to the first unacknowledged packet (default: "4 ms")"""

    timer: str
    """duration of a time cycle of the rate's recovery (default: "55 us")"""


class SchemeDctcp(TypedDict, total=False):
    """DCTCP with selective acknowledgements; queues must mark packets"""

    delayed_ack: str
    """time after which a single segment is acknowledged; every second segment is acknowledged at once; with 0, every segment is acknowledged at once (default: "0 ps")"""

    handshake: bool
    """open each flow with SYN and SYN-ACK (default: false)"""

    initial_rto: str
    """retransmission timeout of data before the first round trip has been measured (default: "5 ms")"""

    initial_ssthresh: str
    """initial slow-start threshold (default: "4294967295 B")"""

    initial_window: int
    """number of segments that may be sent before the first acknowledgement (default: 10)"""

    limited_transmit: bool
    """send a new segment at each of the first two duplicate acknowledgements; always on with `sack` (default: true)"""

    min_rto: str
    """lower bound of the retransmission timeout (default: "1 ms")"""

    mss: str
    """payload bytes of a full segment (default: "1460 B")"""

    receive_window: str
    """window that the receiver advertises (default: "67107840 B")"""

    sack: bool
    """receivers send selective acknowledgements, and loss recovery uses them (default: true)"""

    syn_timeout: str
    """timeout of a SYN; it doubles with each retransmission (default: "5 ms")"""

    syn_tries: int
    """number of unanswered SYNs after which the flow is given up (default: 6)"""


class SchemeDrill(TypedDict, total=False):
    """Each packet joins the shortest queue among random next hops and next hops remembered from the previous packet"""

    hold: str
    """longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all segments to TCP at once (default: "100 us")"""

    memory: int
    """number of next hops that a switch remembers for each set of next hops with equal capacity behind them: those with the shortest queues for the previous packet (default: 1)"""

    samples: int
    """number of next hops drawn at random for each packet (default: 2)"""


class SchemeEts(TypedDict, total=False):
    """Serves strict traffic classes first, and divides the remaining rate among the other classes by percentages; respects pauses; the queue has no size limit"""

    classes: list[int]
    """traffic class of each priority (default: [0, 1, 2, 3, 4, 5, 6, 7])"""

    shares: list[int]
    """for each traffic class, its percentage of the rate that strict classes leave; 0 makes a class strict; the sum must be 100, or 0 if all classes are strict (default: [13, 13, 13, 13, 12, 12, 12, 12])"""


class SchemeExpeditus(TypedDict, total=False):
    """In a Clos network, each flow takes the path that was least congested when the flow began: first the aggregation switch is selected, then the core"""

    alpha: float | str
    """fraction that a rate estimator loses in each interval (default: 0.1)"""

    bits: int
    """number of bits that encode a load (default: 3)"""

    dre_egress: Literal["enqueue", "tx_start"]
    """when an uplink counts an outgoing packet: when the packet is queued, or when the first bit of the packet leaves (default: "enqueue")"""

    mode: Literal["paper", "authsim"]
    """the paper's protocol, or the protocol of the authors' simulation code. With `authsim`, loads travel in SYN and SYN-ACK, and a connection selects its path once; if the transport has no handshake, all flows use ECMP. `authsim` does not change `alpha`, which is 0.3 in the authors' code (default: "paper")"""

    multipliers: Literal["auto", "literal", "prescale", "off"]
    """how an uplink's load is scaled if the switch above has lost capacity: after rounding (literal), before rounding (prescale), either way depending on the multiplier (auto), or not at all (off) (default: "auto")"""

    pst_capacity: int
    """number of entries of a path selection table (default: 65536)"""

    pst_clock: Literal["exact", "age_bit"]
    """when an idle entry expires: exactly after the timeout (exact), or after one to two timeouts (age_bit) (default: "exact")"""

    pst_lookup: Literal["exact", "hw"]
    """how flows use entries: each flow has its own entry (exact), or flows with the same lower hash bits share an entry (hw) (default: "exact")"""

    pst_timeout: str
    """idle time after which an entry of a path selection table expires (default: "100 ms")"""

    queue_counts: bool
    """include the egress queue in the upward load of an uplink: a queue that takes t_dre to drain is full load (the method of the paper's testbed) (default: false)"""

    reselect_on_syn: bool
    """let a retransmitted SYN or SYN-ACK begin a new selection while the answer to the earlier request is pending (no effect with mode `authsim`) (default: false)"""

    t_dre: str
    """interval at which rate estimators decay (default: "20 us")"""

    ties: Literal["random", "lowest", "hash"]
    """how a switch chooses among equally loaded uplinks (default: "random")"""


class SchemeHashed(TypedDict, total=False):
    """Each packet goes up a tree and then down; the digits of a hash of the flow select the up ports"""

    key: Literal["pair", "flow", "frame"]
    """the input of the hash. pair: source and destination. flow: also the flow's number or ports. frame: also the frame's position in the flow (only converged Ethernet, whose adapters put frames back in order) (default: "pair")"""


class SchemeHula(TypedDict, total=False):
    """Each flowlet takes, at every hop, the port with the least utilised path to the destination's edge switch, measured by probes"""

    ageing: str
    """time without a probe after which a next hop is no longer used; also the time without packets other than probes after which an edge switch stops probing (default: "600 us")"""

    flowlets: int
    """number of slots of each switch's flowlet table (default: 65536)"""

    probe_period: str
    """interval between the probes of an edge switch (default: "200 us")"""

    t_fl: str
    """idle time of a flow after which its next packet begins a new flowlet (default: "100 us")"""

    tau: str
    """time constant of the estimate of a link's utilisation; twice the probe period in the paper (default: "400 us")"""


class SchemeLetflow(TypedDict, total=False):
    """Each flowlet takes a shortest path, drawn at random at every hop"""

    choice: Literal["random", "hash"]
    """how a flowlet's port is chosen: at random, or by a hash of the flow and the time (default: "random")"""

    expiry: Literal["age_bit", "exact"]
    """how long a flow must be idle until its flowlet ends: between t_fl and 2 t_fl (age_bit), or exactly t_fl (exact) (default: "age_bit")"""

    flowlets: int
    """number of slots of each switch's flowlet table (default: 65536)"""

    t_fl: str
    """idle time of a flow after which its next packet begins a new flowlet (default: "500 us")"""


class SchemeOmniscient(TypedDict, total=False):
    """An ideal scheduler that knows all flows and sets their rates without delay; for the flow engine only"""

    paths: int
    """with routing = "k-shortest": number of shortest paths from which each flow or subflow draws its path (default: 8)"""


class SchemePdq(TypedDict, total=False):
    """PDQ: switches let the most critical flows send at full rate and pause the others, to meet deadlines and to finish flows early"""

    aging: float | str
    """the expected transmission time of a flow that waits for a rate is halved this many times per 100 ms (not with ranking = "random"); 0 turns aging off (default: 0)"""

    dampening: str
    """after a link grants a rate to a flow without a rate, it grants nothing to other flows without a rate for this time (with profile = "f", more critical flows are excepted); recommended: about 0.8 round trips (default: "100 us")"""

    h_sched: str
    """bytes of the scheduling header that are added to the 40 bytes of headers; reduce `mss` by this number (default: "0 B")"""

    initial_rto: str
    """timeout of a SYN; it doubles with each retransmission, at most 8 times (default: "1 ms")"""

    initial_rtt: str
    """initial value of each link's average round-trip time, before flows report measured round-trip times (default: "200 us")"""

    k: float | str
    """Early Start treats a flow as nearly complete within this many round trips of its end (default: 2)"""

    list: int
    """largest number of flows in a link's list; other flows share the remaining capacity (default: 4096)"""

    min_rto: str
    """lower bound of the timeout of packets other than SYNs; the timeout is two round trips, and doubles each time it expires, at most 8 times (default: "300 us")"""

    mss: str
    """payload bytes of a full packet (default: "1460 B")"""

    paths: int
    """with routing = "k-shortest": number of shortest paths from which each flow or subflow draws its path (default: 8)"""

    profile: Literal["f", "l"]
    """l: the paper's rules. f: the paper's rules with four changes. A link counts a grant as used when it makes the grant, and checks the grant again when the acknowledgement returns. After a grant to a flow without a rate, dampening does not delay flows that are more critical than this flow. Senders report their smallest round-trip time. A host sends the most critical of its flows first (default: "f")"""

    ranking: Literal["exact", "random", "sent"]
    """criterion that ranks flows with equal deadlines or without deadlines: remaining transmission time (exact), a random number (random), or the bytes sent (sent); flows with earlier deadlines always come first (default: "exact")"""

    ranking_step: str
    """with ranking = "sent": number of sent bytes per step of criticality (default: "50 KB")"""

    share: float | str
    """fraction of each link's rate that PDQ may use (default: 1)"""

    subflows: int
    """largest number of subflows of a flow, each with its own choice of path (Multipath PDQ) (default: 1)"""

    syn_grants: bool
    """the SYN requests a rate; otherwise the first probe does (default: true)"""

    top_line: bool
    """the most critical flow gets line rate even if the queue is long (default: false)"""

    trim: bool
    """limit a link's list to twice the number of sending flows (default: false)"""

    variant: Literal["full", "es+et", "es", "basic"]
    """active optimisations: full is Early Start, Early Termination and Suppressed Probing; es+et is Early Start and Early Termination; es is Early Start only; basic is none (default: "full")"""

    x_sp: float | str
    """with variant = "full": the paused flow at position j of a link's list, counted from 1, probes every `x_sp` times j round trips, but at most once per round trip (default: 0.2)"""


class SchemePfc(TypedDict, total=False):
    """Priority-based flow control: a port pauses its neighbour before the port's memory is full"""

    buffer: str
    """memory of a port for each lossless priority, headroom included (default: "100 KB")"""

    drain_rate: str
    """rate at which a host takes received packets out of its port's memory; with 0, the host takes packets at once (default: "0 bps")"""

    priorities: int
    """lossless priorities as a bit mask: bit i is priority i (default: 255)"""

    xoff: str
    """buffered bytes above which the port pauses its neighbour (default: "85 KB")"""

    xon: str
    """buffered bytes at or below which the port lets its neighbour resume (default: "70 KB")"""


class SchemePfq(TypedDict, total=False):
    """Per-flow queues and hop-by-hop credits at every port, without buffer overflow: an idealised upper bound of performance"""

    hop_bits: int
    """bits per hop in the source route of strict mode (default: 3)"""

    mode: Literal["adaptive", "strict"]
    """choose a port with credit at each hop (adaptive), or follow a path drawn at the source (strict) (default: "adaptive")"""

    mtu: str
    """payload bytes of a full packet (default: "1500 B")"""


class SchemePresto(TypedDict, total=False):
    """Hosts cut flows into flowcells (64 KB by default) and send the flowcells over all end-to-end paths in turn"""

    flowcell: str
    """number of bytes of a flow that take one path before the next path is used (default: "65536 B")"""

    hold: str
    """longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all segments to TCP at once (default: "100 us")"""


class SchemeQcn(TypedDict, total=False):
    """Quantized congestion notification: queues sample frames and report their congestion to the frames' sources"""

    byte_limit: str
    """mean number of sent bytes in a byte cycle, before byte cycles are halved (default: "150 KB")"""

    efr: bool
    """notices during the first byte cycle after a notice do not change the target rate (default: true)"""

    fr_thr: int
    """number of cycles of fast recovery; with `machine = "dot1q"`, one fewer (default: 5)"""

    gd: float | str
    """fraction by which the greatest feedback reduces the rate (default: 0.5)"""

    interval: Literal["linear", "table"]
    """how feedback shortens the sampling interval (default: "linear")"""

    machine: Literal["v2.2", "dot1q"]
    """version of QCN that defines the recovery cycles (default: "v2.2")"""

    min_dec: float | str
    """smallest fraction of the rate that remains after a notice (default: 0.5)"""

    min_rate: str
    """lowest rate of a rate limiter (default: "100 Kbps")"""

    qeq: str
    """target queue length of congestion points (default: "20 KB")"""

    r_ai: str
    """increase of the target rate per cycle of active increase (default: "5 Mbps")"""

    r_hai: str
    """at the end of each cycle of hyper-active increase, the target rate grows by i times this rate; i is the smaller of the numbers of byte cycles and of time cycles since fast recovery (default: "50 Mbps")"""

    sample: str
    """mean number of bytes between samples without congestion (default: "150 KB")"""

    timer: str
    """mean duration of a time cycle, before time cycles are halved (default: "15 ms")"""

    trr: bool
    """divide the target rate by eight if it exceeds ten times the current rate (default: false)"""

    w: int
    """weight of a queue's growth relative to the queue's offset from `qeq` (default: 2)"""


class SchemeQueue2(TypedDict, total=False):
    """Egress queues. The parameters of a queue other than a FIFO have their own table, such as `[scheme.strict]`."""

    kind: Literal["fifo", "strict", "ets"]
    """The kind of queue."""

    limit: str
    """Maximum number of bytes in a FIFO. The packet in service counts, except at ports with an agent (congestion points, D3, PDQ, RCP). If left out, there is no limit."""

    mark: str
    """ECN threshold of a FIFO in bytes. An arriving packet is marked if the FIFO, including this packet, holds more bytes than the threshold. Ports with an agent (congestion points, D3, PDQ, RCP) ignore the threshold. If left out, there are no marks."""

    mark_packets: int
    """ECN threshold of a FIFO in packets. An arriving packet is marked if the FIFO, including this packet, holds more packets than the threshold. Ports with an agent (congestion points, D3, PDQ, RCP) ignore the threshold. If left out, there are no marks."""

    packets: int
    """Maximum number of packets in a FIFO. The packet in service counts, except at ports with an agent (congestion points, D3, PDQ, RCP). If left out, there is no limit."""


class SchemeR2c2(TypedDict, total=False):
    """Rack-scale network stack: flow events are broadcast, every node computes all rates, packets are source-routed"""

    digest_period: str
    """interval at which nodes compare their flow tables; 0 turns comparisons off (default: "10 ms")"""

    doubt: Literal["after_faults", "always"]
    """when nodes compare their flow tables: after failures and detected drops, or always (for lossy links) (default: "after_faults")"""

    headroom: float | str
    """fraction of each link's rate that is not allocated (default: 0.05)"""

    hop_bits: int
    """bits per hop in the source route (default: 3)"""

    mtu: str
    """payload bytes of a full packet (default: "1500 B")"""

    nic_packets: int
    """largest backlog of a port, in full packets; a flow without a rate limit adds packets to the port only up to this backlog (default: 2)"""

    only_lasting: bool
    """rate computations include only flows that have been known for at least one interval `rho` (default: false)"""

    policy: Literal["weights", "deadline", "tenant"]
    """criterion for a flow's share: its weight, its deadline, or its tenant (default: "weights")"""

    reliable: bool
    """receivers acknowledge packets, and senders retransmit lost packets (default: false)"""

    resends: int
    """number of recent broadcasts that a node sends again to a neighbour that has received a damaged packet (default: 8)"""

    rho: str
    """interval between rate computations; 0 recomputes at every event (default: "500 us")"""

    select: Literal["off", "one", "random", "token"]
    """host that selects routing protocols for long flows: none, the host with the lowest number, each host at random times, or the holder of a token (default: "off")"""

    select_among: Literal["rps_vlb", "rps_vlb_wlb"]
    """routing protocols that may be selected (default: "rps_vlb")"""

    select_evaluations: int
    """largest number of assignments of protocols to flows that one selection evaluates (default: 5000)"""

    select_period: str
    """interval between two selections of routing protocols (default: "1 s")"""

    start: Literal["local", "batch", "link", "line", "residual"]
    """rate limit of a new flow until a rate computation includes the flow (default: "local")"""

    synchronous: bool
    """all nodes compute rates at the same times; otherwise each node has a random phase (default: false)"""

    tenants: int
    """number of tenants; node n belongs to tenant n modulo this number (default: 2)"""

    trees: int
    """number of broadcast trees per source (default: 6)"""

    utility: Literal["aggregate", "minimum", "tenant"]
    """utility that the selection of routing protocols maximises (default: "aggregate")"""

    window: int
    """receive window of reliable flows: number of packets, counted from the first missing packet (default: 65535)"""


class SchemeR2c2Central(TypedDict, total=False):
    """R2C2 with a central controller: one node computes all rates and sends them to the other nodes, without broadcasts"""

    controller: int
    """number of the host at which the controller runs; the host also sends and receives flows (default: 0)"""

    headroom: float | str
    """fraction of each link's rate that is not allocated (default: 0.05)"""

    hop_bits: int
    """bits per hop in the source route (default: 3)"""

    mtu: str
    """payload bytes of a full packet (default: "1500 B")"""

    nic_packets: int
    """largest backlog of a port, in full packets; a flow without a rate limit adds packets to the port only up to this backlog (default: 2)"""

    only_lasting: bool
    """rate computations include only flows that have been known for at least one interval `rho` (default: false)"""

    push: Literal["event", "tick"]
    """when the controller sends rates: at every event, or at ticks (default: "event")"""

    rho: str
    """interval between ticks; a tick ends a period of demand estimation (default: "500 us")"""

    synchronous: bool
    """all nodes compute rates at the same times; otherwise each node has a random phase (default: false)"""


class SchemeRandomUp(TypedDict, total=False):
    """Each packet goes up a tree and then down; the up ports are drawn at random for each packet"""

    at: Literal["hop", "source"]
    """which node draws the ports: each switch on the way up, or the sending host. Only frames of converged Ethernet have room for the host's choice; for other packets the switches always draw (default: "hop")"""

    hold: str
    """longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all segments to TCP at once (default: "100 us")"""


class SchemeRcp(TypedDict, total=False):
    """RCP with exact flow counts, as in the PDQ paper: switches assign rates that are close to max-min fair"""

    alpha: float | str
    """fraction of a link's spare rate that is added per round trip to the capacity that its flows share (default: 0.1)"""

    beta: float | str
    """fraction of a link's standing queue that should drain per round trip (default: 1)"""

    initial_rto: str
    """timeout of a SYN; it doubles with each retransmission, at most 8 times (default: "1 ms")"""

    initial_rtt: str
    """initial value of each link's average round-trip time, before flows report measured round-trip times (default: "200 us")"""

    min_rto: str
    """lower bound of the timeout of packets other than SYNs; the timeout is two round trips, and doubles each time it expires, at most 8 times (default: "300 us")"""

    mss: str
    """payload bytes of a full packet (default: "1460 B")"""

    paths: int
    """with routing = "k-shortest": number of shortest paths from which each flow or subflow draws its path (default: 8)"""

    restamp: bool
    """egress ports of switches and hosts also lower the rates in acknowledgements (default: true)"""


class SchemeRed(TypedDict, total=False):
    """The congestion points of DCQCN: the probability of an ECN mark rises with the queue length"""

    k_max: str
    """queue length beyond which every ECN-capable packet is marked (default: "200 KB")"""

    k_min: str
    """queue length up to which no packet is marked (default: "5 KB")"""

    p_max: float | str
    """probability of an ECN mark at `k_max` (default: 0.01)"""


class SchemeSpray(TypedDict, total=False):
    """Each packet takes one of the shortest paths, drawn at random or in turn"""

    choice: Literal["random", "round_robin"]
    """how the next hop is chosen: at random or in turn (default: "random")"""

    hold: str
    """longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all segments to TCP at once (default: "100 us")"""


class SchemeSwitchAr(TypedDict, total=False):
    """Packets to a destination take the up port for which congestion notices report the least congestion"""

    absorb: bool
    """drop a notice if, for the destination of the congested frames, an up port other than the notice's port has congestion level 0 (default: false)"""

    hold: str
    """longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all segments to TCP at once (default: "100 us")"""

    keep_used: bool
    """drop a notice that made another port the one with the least congestion level; with moved = 1, hosts then see only notices that moved no frames (default: false)"""

    local: Literal["lock", "alike", "ignore"]
    """how notices of the switch's own queues are treated: they exclude notices of other switches, count like notices of other switches, or are ignored (default: "lock")"""

    moved: float | str
    """share of frames that a notice moves from its port to another port, for one destination; 1 moves all of them (default: 1)"""

    timer: str
    """time without counted notices after which a port's congestion level for a destination is reset (default: "250 ms")"""

    update: Literal["accumulate", "count-times-feedback", "count", "last", "ewma", "max"]
    """how a notice changes a port's congestion level; with `last`, `ewma` and `max`, traffic can stay on a congested path (default: "accumulate")"""


class SchemeTcpReno(TypedDict, total=False):
    """TCP Reno with a small retransmission timeout for incast, a baseline of the PDQ paper"""

    delayed_ack: str
    """time after which a single segment is acknowledged; every second segment is acknowledged at once; with 0, every segment is acknowledged at once (default: "0 ps")"""

    handshake: bool
    """open each flow with SYN and SYN-ACK (default: true)"""

    initial_rto: str
    """retransmission timeout of data before the first round trip has been measured (default: "5 ms")"""

    initial_ssthresh: str
    """initial slow-start threshold (default: "4294967295 B")"""

    initial_window: int
    """number of segments that may be sent before the first acknowledgement (default: 2)"""

    limited_transmit: bool
    """send a new segment at each of the first two duplicate acknowledgements; always on with `sack` (default: false)"""

    min_rto: str
    """lower bound of the retransmission timeout (default: "200 us")"""

    mss: str
    """payload bytes of a full segment (default: "1460 B")"""

    receive_window: str
    """window that the receiver advertises (default: "67107840 B")"""

    sack: bool
    """receivers send selective acknowledgements, and loss recovery uses them (default: false)"""

    syn_timeout: str
    """timeout of a SYN; it doubles with each retransmission (default: "5 ms")"""

    syn_tries: int
    """number of unanswered SYNs after which the flow is given up (default: 6)"""


class SchemeUdp(TypedDict, total=False):
    """UDP: each flow is sent once, at a constant rate or as fast as the host's ports allow, and never finishes if a packet is lost"""

    payload: str
    """payload bytes of a full packet (default: "1456 B")"""

    rate: str
    """payload rate of flows whose application sets no rate; 0 sends as fast as the host's ports allow (default: "0 bps")"""


class SchemeWcmp(TypedDict, total=False):
    """Each flow takes one shortest path, chosen by hash in proportion to the capacity behind each next hop"""

    table: int
    """greatest number of table entries for one destination; each next hop has at least one entry, even beyond this limit, and entries nearly in proportion to its weight (default: 16)"""


Scheme = TypedDict(
    "Scheme",
    {
        # Lossless Ethernet: each host has a queue for each destination and priority, with or without QCN's rate limiters
        "cee": SchemeCee,
        # In a Clos network, each flow takes the path whose maximum link load is lowest when the flow begins
        "clairvoyant": SchemeClairvoyant,
        # Each flowlet of a leaf-spine takes the uplink whose path to the destination leaf is least congested
        "conga": SchemeConga,
        # CONGA with a flowlet gap so long that a flow hardly ever changes its path
        "conga-flow": SchemeCongaFlow,
        # The kind of congestion points at the ports of switches. (default: `"none"`)
        "congestion_points": Literal["none", "qcn", "red"],
        # Each packet goes up a tree and then down; the digits of the destination's number select the up ports
        "d-mod-k": SchemeDModK,
        # D3: switches grant flows the rates that meet their deadlines, first come, first served, and share the rest fairly
        "d3": SchemeD3,
        # RDMA writes over RoCEv2, with rate control by ECN marks
        "dcqcn": SchemeDcqcn,
        # DCTCP with selective acknowledgements; queues must mark packets
        "dctcp": SchemeDctcp,
        # Each packet joins the shortest queue among random next hops and next hops remembered from the previous packet
        "drill": SchemeDrill,
        # Serves strict traffic classes first, and divides the remaining rate among the other classes by percentages; respects pauses; the queue has no size limit
        "ets": SchemeEts,
        # In a Clos network, each flow takes the path that was least congested when the flow began: first the aggregation switch is selected, then the core
        "expeditus": SchemeExpeditus,
        # Flow control of links. (default: `"none"`)
        "flow_control": Literal["none", "pfc"],
        # Each packet goes up a tree and then down; the digits of a hash of the flow select the up ports
        "hashed": SchemeHashed,
        # Each flowlet takes, at every hop, the port with the least utilised path to the destination's edge switch, measured by probes
        "hula": SchemeHula,
        # Each flowlet takes a shortest path, drawn at random at every hop
        "letflow": SchemeLetflow,
        # An ideal scheduler that knows all flows and sets their rates without delay; for the flow engine only
        "omniscient": SchemeOmniscient,
        # PDQ: switches let the most critical flows send at full rate and pause the others, to meet deadlines and to finish flows early
        "pdq": SchemePdq,
        # Priority-based flow control: a port pauses its neighbour before the port's memory is full
        "pfc": SchemePfc,
        # Per-flow queues and hop-by-hop credits at every port, without buffer overflow: an idealised upper bound of performance
        "pfq": SchemePfq,
        # Hosts cut flows into flowcells (64 KB by default) and send the flowcells over all end-to-end paths in turn
        "presto": SchemePresto,
        # A published set of values for parameters that the experiment leaves out. (default: `"none"`)
        "profile": Literal["none", "dcqcn-40g", "dcqcn-100g", "dcqcn-400g"],
        # Quantized congestion notification: queues sample frames and report their congestion to the frames' sources
        "qcn": SchemeQcn,
        # The egress queues of all ports. The default is the transport's own queues. For a transport without queues of its own, the default is `strict` queues if links have flow control, and unbounded FIFOs if not.
        "queue": Literal["fifo", "strict", "ets"] | SchemeQueue2,
        # Rack-scale network stack: flow events are broadcast, every node computes all rates, packets are source-routed
        "r2c2": SchemeR2c2,
        # R2C2 with a central controller: one node computes all rates and sends them to the other nodes, without broadcasts
        "r2c2-central": SchemeR2c2Central,
        # Each packet goes up a tree and then down; the up ports are drawn at random for each packet
        "random-up": SchemeRandomUp,
        # RCP with exact flow counts, as in the PDQ paper: switches assign rates that are close to max-min fair
        "rcp": SchemeRcp,
        # The congestion points of DCQCN: the probability of an ECN mark rises with the queue length
        "red": SchemeRed,
        # The routing. If left out, the transport's default routing. (default: the transport's own)
        "routing": Literal["rps", "rps_path", "dor", "dor_parity", "dor_plus", "vlb", "wlb", "wlb_hop", "romm", "k-shortest", "bcube", "ecmp", "wcmp", "letflow", "conga", "conga-flow", "expeditus", "clairvoyant", "drill", "presto", "spray", "hula", "d-mod-k", "s-mod-k", "random-up", "hashed", "switch-ar"] | type[Routing],
        # Each packet goes up a tree and then down; the digits of the source's number select the up ports
        "s-mod-k": SchemeDModK,
        # Each packet takes one of the shortest paths, drawn at random or in turn
        "spray": SchemeSpray,
        # Packets to a destination take the up port for which congestion notices report the least congestion
        "switch-ar": SchemeSwitchAr,
        # TCP CUBIC with selective acknowledgements
        "tcp-cubic": SchemeDctcp,
        # TCP NewReno with selective acknowledgements
        "tcp-newreno": SchemeDctcp,
        # TCP Reno with a small retransmission timeout for incast, a baseline of the PDQ paper
        "tcp-reno": SchemeTcpReno,
        # The transport.
        "transport": Literal["r2c2", "r2c2-central", "pfq", "tcp-reno", "tcp-newreno", "tcp-cubic", "dctcp", "d3", "rcp", "udp", "cee", "dcqcn", "pdq", "omniscient"],
        # UDP: each flow is sent once, at a constant rate or as fast as the host's ports allow, and never finishes if a packet is lost
        "udp": SchemeUdp,
        # Each flow takes one shortest path, chosen by hash in proportion to the capacity behind each next hop
        "wcmp": SchemeWcmp,
    },
    total=False,
)


Search = TypedDict(
    "Search",
    {
        # A congestion period is the time for which a port's queue is longer than this. Only with the quantity `congestion_period`. (default: `"0 B"`)
        "above": str,
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is replaced by its absolute difference from the value in that run, divided by the value in that run.
        "against": Any,
        # A value holds if the mean of the measure over seeds is at least this number.
        "at_least": float,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic of that run is subtracted.
        "beyond": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The number is the Kolmogorov-Smirnov distance between the distributions of the two runs.
        "distance_to": Any,
        # Start of the window of simulated time that is measured. (default: the start of the run)
        "from": str,
        # The dotted key that the search varies.
        "key": str,
        # Smallest value that counts with `stat = "share"`.
        "least": float,
        # Largest value that counts with `stat = "share"`.
        "most": float,
        # The quantity that is measured. (default: `"value"`)
        "of": Literal["fct", "sender_fct", "met", "slowdown", "unfinished", "goodput", "assigned_rate", "reorder_peak", "peak_queue", "data_bytes", "control_bytes", "paused", "active_flows", "active_flows_of_source", "active_flows_of_link", "imbalance", "throughput", "in_order", "late_share", "port_changes", "jitter", "throughput_of_interval", "queue_length", "congestion_period", "ports_in_use", "makespan", "lateness", "value"],
        # The first value and an upper limit for the last value. The first value is assumed to hold and is never tried.
        "range": list[float],
        # Labels of another run, which has this run's labels in all other sweeps. The value of each flow or link is divided by the value in that run.
        "ratio_to": Any,
        # Labels of another run, which has this run's labels in all other sweeps. The statistic is divided by the statistic of that run.
        "relative": Any,
        # The statistic is divided by the same statistic of the flows, links or tier that this condition selects in the same run.
        "relative_where": str,
        # Largest number of runs at each value. Each of these runs has its own seed. (default: `1`)
        "seeds": int,
        # The quantities `throughput` and `in_order` are given as shares of this rate. Other quantities do not accept this key.
        "share_of": str,
        # The statistic that is computed from the values of flows, links or samples. (default: `"mean"`)
        "stat": Literal["mean", "total", "count", "variation", "p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p95", "p99", "p999", "max", "share"],
        # Distance between two neighboring values. Required unless the range has whole numbers. (default: 1 for whole numbers)
        "step": float,
        # End of the window of simulated time that is measured. Required for the quantities `throughput` and `in_order`, except in a plot of kind `series`. (default: the end of the run)
        "to": str,
        # Unit that follows the number in the experiment.
        "unit": str,
        # The flows, links or tiers that are measured: `size < 100 KB`, `100 KB <= size <= 1 MB`, `flow = 4`, `src = 0`, `dst = 31`, `link = 16->14` (`*` stands for any node, `16..19` for four nodes), `tier = tor`, `tier = leaf` or `tier = aggregation`.
        "where": str,
    },
    total=False,
)


class Sweep(TypedDict, total=False):
    """One dimension of a grid of experiments. The last sweep of the file varies fastest."""

    key: str
    """The dotted key that takes the values. If left out, each value has a `label` and keys to `set`."""

    name: str
    """Name of the sweep. Plots and claims refer to the sweep by this name. A sweep whose `key` is `engine.seed` is always called `seed`: its cells are replicas, and results are means over them."""

    values: list[Any]
    """The values of `key`, or tables with `label` and `set`."""


class TopologySlowRandom(TypedDict, total=False):
    """Random links of an `xgft` or a `k_ary_n_tree`, in place of `from` and `to`. The seed determines the links."""

    level: int
    """Level of the switches. Switches with links to hosts have level 1."""

    links: int
    """Number of links."""


TopologySlow = TypedDict(
    "TopologySlow",
    {
        # If true, the links in the opposite direction are slowed in the same way. (default: `false`)
        "both": bool,
        # The node from which the links lead.
        "from": int,
        # Random links of an `xgft` or a `k_ary_n_tree`, in place of `from` and `to`. The seed determines the links.
        "random": TopologySlowRandom,
        # Rate of the links.
        "rate": str,
        # Rate of the links as a share of their unreduced rate, in place of `rate`.
        "share": float | str,
        # The node to which the links lead.
        "to": int,
    },
    total=False,
)


class Topology(TypedDict, total=False):
    """The fabric."""

    aggregations_per_pod: int
    """Number of aggregation switches of each pod."""

    bottleneck_rate: str
    """Rate of the link between the two switches. (default: `link_rate`)"""

    children: list[int]
    """Number of children of a switch: one number for each level of switches, the lowest level first."""

    core_rate: str
    """Rate of the links between aggregation switches and cores. (default: `uplink_rate`)"""

    cores_per_plane: int
    """Number of cores of each plane. The n-th aggregation switch of each pod has a link to each core of the n-th plane. May be 0 with a single pod."""

    dimensions: int
    """Number of dimensions, n. The fabric has 2^n nodes."""

    dims: list[int]
    """Number of nodes in each dimension."""

    edges_per_pod: int
    """Number of edge switches of each pod."""

    file: str
    """The file of the graph, relative to the experiment's file."""

    format: Literal["graphml", "node_link", "hpcc"]
    """Format of the file. If left out, the format is `graphml` if the file's name ends in `.graphml`, `node_link` if it ends in `.json`, and `hpcc` if it ends in `.txt`. Files with other names need this key."""

    framing: Literal["none", "ethernet"]
    """Extra bytes of each packet on a link: `none`, or the preamble, header, checksum and gap of Ethernet. The header is not added to frames of Linux hosts, which have one. (default: `"none"`)"""

    hosts: int
    """Number of hosts of the switch."""

    hosts_per_edge: int
    """Number of hosts of each edge switch."""

    hosts_per_leaf: int
    """Number of hosts of each leaf."""

    k: int
    """`fat_tree`: Number of ports of each switch. The fat-tree has k^3 / 4 hosts. `k_ary_n_tree`: Number of children of each switch, and of parents of each switch below the roots. `bcube`: Number of levels of switches, minus 1. Each server has k + 1 ports."""

    kind: Literal["torus", "mesh", "hypercube", "folded_clos", "fat_tree", "clos", "xgft", "k_ary_n_tree", "bcube", "jellyfish", "dumbbell", "single_switch", "file"]
    """The kind of fabric."""

    leaves: int
    """Number of leaves."""

    left: int
    """Number of hosts of the first switch."""

    link_delay: str
    """Propagation delay of each link. Required for every built-in kind except `file`."""

    link_rate: str
    """Rate of each link. In Clos networks and dumbbells, rate of the links of hosts. Required for every built-in kind except `file`."""

    n: int
    """`k_ary_n_tree`: Number of levels of switches. `bcube`: Number of ports of each switch."""

    network_ports: int
    """Number of ports of each switch that lead to other switches. The other ports lead to hosts."""

    parents: list[int]
    """Number of parents of a node: one number for hosts, one for switches of level 1, and so on."""

    pods: int
    """Number of pods."""

    ports: int
    """Number of ports of each switch."""

    right: int
    """Number of hosts of the second switch."""

    slow: list[TopologySlow]
    """Links with a reduced rate."""

    spines: int
    """Number of spines. Each leaf has a link to each spine."""

    switches: int
    """Number of switches."""

    uplink_rate: str
    """Rate of the links between edge and aggregation switches, or between leaves and spines. (default: `link_rate`)"""


class WorkloadArrivals2(TypedDict, total=False):
    """Start times of drawn flows. A string stands for a table with that `kind` and no other keys."""

    burst: int
    """Mean number of frames in a burst."""

    exact: bool
    """If true, the gaps between starts are scaled so that the offered load of the drawn flows is exactly `load`. (default: `false`)"""

    frame: str
    """Size of a frame. Each frame is a flow, except with `bursty`. (default: `"1500 B"`)"""

    gap: str
    """Time between the starts of two successive flows."""

    jitter: str
    """Each flow starts at a random time between 0 and this time. (default: `"0 ns"`)"""

    kind: Literal["poisson", "fixed", "all_at_once", "cbr", "bernoulli", "on_off", "bursty"]
    """The kind of arrivals."""

    load: float
    """`poisson`: Offered load as a share of the capacity, in place of `mean_gap`. The capacity is the sum of the rates of the senders' fastest links. In Clos networks, it is divided by the oversubscription. `cbr`, `bernoulli`, `on_off`, `bursty`: Rate of each sender, as a share of the rate of its fastest link."""

    mean_gap: str
    """Mean time between the starts of two successive flows, over the whole fabric."""

    mean_size: str
    """Mean flow size with which `load` is converted into a mean time between starts. (default: the mean of `sizes`)"""

    rate: str
    """Mean number of flows that start per unit of time, in place of `mean_gap`."""


class WorkloadDeadlines2(TypedDict, total=False):
    """Deadlines of drawn flows. A string stands for a table with that `kind` and no other keys."""

    below: str
    """Only flows below this size have deadlines. If left out, all flows have deadlines."""

    deadline: str
    """Time after the start of each flow by which the flow should be complete."""

    kind: Literal["none", "fixed", "exponential"]
    """The kind of deadlines."""

    mean: str
    """Mean of the exponential distribution of deadlines. A deadline is a time after the start of a flow."""

    min: str
    """Shortest deadline: shorter drawn deadlines are raised to it. (default: `"0 ns"`)"""


class WorkloadHotspotVictims(TypedDict, total=False):
    """A flow that shares links with a hotspot."""

    dst: int
    """Destination of the victim flow."""

    load: float
    """Rate of the victim flow, as a share of the rate of its sender's fastest link."""

    src: int
    """Source of the victim flow."""


class WorkloadHotspot(TypedDict, total=False):
    """Hosts that send to the same host, and victim flows. A hotspot can be the only traffic, or be added to the flows of `pairs`."""

    degree: int | float | str
    """Number of hosts that send, or their share of all hosts, in place of `sources`. (default: depends on `type`)"""

    destination: int
    """The host to which the sources send. (default: depends on `type`)"""

    duration: str
    """Time for which the sources send. (default: depends on `type`)"""

    severity: float
    """Sum of the sources' rates, divided by the rate of the destination's fastest link. (default: depends on `type`)"""

    sources: list[int]
    """The hosts that send."""

    start: str
    """Time at which the sources begin to send. (default: depends on `type`)"""

    type: Literal["input", "output"]
    """The type of hotspot: `input` if hosts send more than the destination's link can carry, or `output` if links of the topology are slow. The type sets the defaults of the other keys. (default: `"input"`)"""

    victims: list[WorkloadHotspotVictims]
    """Flows that share links with the hotspot. (default: depends on `type`)"""


class WorkloadListProcess2(TypedDict, total=False):
    """Process that determines when an application produces frames. A string stands for a table with that `kind` and no other keys."""

    burst: int
    """Mean number of frames in a burst."""

    kind: Literal["constant", "poisson", "bernoulli", "on_off"]
    """The kind of process."""


class WorkloadList(TypedDict, total=False):
    """One flow."""

    app_rate: str
    """Rate at which the application of each flow produces bytes. If left out, all bytes are available at the flow's start."""

    deadline: str
    """Time after the start by which the flow should be complete. If left out, there is no deadline."""

    dst: int
    """The destination."""

    priority: int
    """Priority of each flow. Priority 0 is served first. (default: `0`)"""

    process: Literal["constant", "poisson", "bernoulli", "on_off"] | WorkloadListProcess2
    """Process that determines when an application produces frames. This key needs `app_rate`, `load` or `hotspot`. (default: `"constant"`)"""

    size: str
    """The size."""

    src: int
    """The source."""

    start: str
    """Time at which the flow starts. (default: `"0 ns"`)"""

    weight: int
    """Weight of each flow in the allocation of rates. (default: `1`)"""


WorkloadPairs2 = TypedDict(
    "WorkloadPairs2",
    {
        # The number that is added to a host's number (`stride`), or combined with it by xor (`exchange`).
        "by": int,
        # Probability that the destination is in the source's rack.
        "edge": float | str,
        # Share of the hosts that take part in each permutation. (default: `1.0`)
        "fraction": float | str,
        # The pods that send, among the pods between which flows run. If left out, all of them send.
        "from": list[int],
        # The kind of pairs.
        "kind": Literal["uniform", "permutation", "all_to_all", "inter_pod", "bijection", "random_other_pod", "staggered", "nearest_neighbour", "bit_complement", "bit_reversal", "bit_rotation", "perfect_shuffle", "transpose", "butterfly", "tornado", "neighbor", "stride", "exchange", "random_permutation", "incast"],
        # Probability that the destination is in the source's pod, but not in its rack.
        "pod": float | str,
        # The pods between which flows run. If left out, flows run between all pods.
        "pods": list[int],
        # Radix of the digits of hosts' numbers. (default: the arity of a k-ary tree; 2 for other topologies)
        "radix": int,
        # The receiver. If left out, the receiver is drawn.
        "receiver": int,
        # Number of senders.
        "senders": int,
        # Number of independent draws of the pairs. With `all_at_once`, the flows of a host use its draws in turn. (default: `1`)
        "times": int,
    },
    total=False,
)


class WorkloadSizes2(TypedDict, total=False):
    """Sizes of drawn flows. A string stands for a table with that `kind` and no other keys."""

    file: str
    """Path of a file of points, relative to the experiment's file. Each point is a size in bytes and a cumulative probability, from 0 to 1 or from 0 to 100 percent."""

    kind: Literal["fixed", "pareto", "exponential", "uniform", "cdf", "web_search", "web_search_bytes", "web_search_opera", "data_mining", "data_mining_bytes", "data_mining_opera", "hadoop", "cache_follower", "web_server", "google_rpc", "alibaba_storage", "solar", "edu1_substitute"]
    """The kind of sizes, or the name of a published distribution."""

    max: str
    """Largest flow size."""

    mean: str
    """Mean flow size."""

    min: str
    """Smallest flow size."""

    shape: float
    """Shape of the Pareto distribution."""

    size: str
    """Size of each flow."""

    truncate: float | str
    """Share of the flows that is left out of the distribution. The largest flows are left out."""

    unit: str
    """Size of a packet, for published distributions that give sizes in packets. (default: the published value)"""


Workload = TypedDict(
    "Workload",
    {
        # Algorithm of the collective operation, or of the all-reduce in the skeleton `is`. (default: the operation's first algorithm in `raddle list workloads`)
        "algorithm": Literal["dissemination", "binomial", "binomial", "binomial", "binomial", "recursive_doubling", "recursive_halving", "ring", "ring", "bruck", "recursive_doubling", "ring", "recursive_halving", "pairwise", "bruck"],
        # Rate at which the application of each flow produces bytes. If left out, all bytes are available at the flow's start.
        "app_rate": str,
        # Start times of drawn flows.
        "arrivals": Literal["poisson", "fixed", "all_at_once", "cbr", "bernoulli", "on_off", "bursty"] | WorkloadArrivals2,
        # Problem size class of the NAS Parallel Benchmarks. (default: the published value)
        "class": Literal["S", "W", "A", "B", "C", "D"],
        # A collective operation of all ranks.
        "collective": Literal["barrier", "broadcast", "reduce", "gather", "scatter", "allreduce", "allgather", "reduce_scatter", "alltoall"],
        # If true, ranks of `halo` also send to neighbors across the edges and corners of their blocks. (default: `false`)
        "corners": bool,
        # Deadlines of drawn flows. If left out, flows have no deadlines.
        "deadlines": Literal["none", "fixed", "exponential"] | WorkloadDeadlines2,
        # Drawn flows start before this time. Long flows and the victims of a hotspot send until this time.
        "duration": str,
        # Messages of at least this size, after scaling, are sent by rendezvous: the sender first asks the receiver. With `always`, no message uses rendezvous. (default: `"16 KB"`)
        "eager": str,
        # Path of a file of flows, relative to the experiment's file.
        "file": str,
        # Number of drawn flows. Drawn flows need exactly one of `flows`, `duration` and `once`.
        "flows": int,
        # Format of the file. If left out, the format is `hpcc` if the file's name ends in `.txt`, and `htsim` if it ends in `.cm`. Files with other names need this key.
        "format": Literal["hpcc", "htsim"],
        # A GOAL file, which may be compressed (`.zst`): a program whose ranks send messages.
        "goal": str,
        # Number of ranks of `halo` in each dimension of the grid: one to three numbers.
        "grid": list[int],
        # Hosts that send to the same host, and victim flows. A hotspot can be the only traffic, or be added to the flows of `pairs`.
        "hotspot": WorkloadHotspot,
        # Number of iterations of a skeleton or a collective operation. (default: the program's own)
        "iterations": int,
        # A list of flows.
        "list": list[WorkloadList],
        # If given, one long flow per pair sends from time 0 on. The sum of the rates of a sender's long flows is this share of the rate of the sender's fastest link.
        "load": float,
        # Number of statements that each rank reads ahead in its program. (default: `4096`)
        "lookahead": int,
        # If true, each pair has one flow. (default: `false`)
        "once": bool,
        # Sources and destinations of drawn flows and of long flows.
        "pairs": Literal["uniform", "permutation", "all_to_all", "inter_pod", "bijection", "random_other_pod", "staggered", "nearest_neighbour", "bit_complement", "bit_reversal", "bit_rotation", "perfect_shuffle", "transpose", "butterfly", "tornado", "neighbor", "stride", "exchange", "random_permutation", "incast"] | WorkloadPairs2,
        # The rule that assigns ranks to hosts. (default: `"random"`)
        "placement": Literal["random", "in_order"],
        # Priority of each flow. Priority 0 is served first. (default: `0`)
        "priority": int,
        # Process that determines when an application produces frames. This key needs `app_rate`, `load` or `hotspot`. (default: `"constant"`)
        "process": Literal["constant", "poisson", "bernoulli", "on_off"] | WorkloadListProcess2,
        # Number of ranks of a collective operation, or of a skeleton other than `halo`. A host runs one rank at most.
        "ranks": int,
        # The sizes of messages are multiplied by this factor. (default: `1`)
        "scale": int,
        # If true, the sizes of messages are multiplied by the published factor of the skeleton. (default: `false`)
        "scaled": bool,
        # Bytes that each rank contributes to a collective operation, or receives from the root. With `alltoall`, bytes that each rank sends to every other rank. A `barrier` has no `size`.
        "size": str,
        # Sizes of drawn flows. Message sizes of `halo`: one size for each exchange in an iteration.
        "sizes": Literal["fixed", "pareto", "exponential", "uniform", "cdf", "web_search", "web_search_bytes", "web_search_opera", "data_mining", "data_mining_bytes", "data_mining_opera", "hadoop", "cache_follower", "web_server", "google_rpc", "alibaba_storage", "solar", "edu1_substitute"] | WorkloadSizes2 | list[str],
        # The communication pattern of a known program, or of neighbors on a grid (`halo`).
        "skeleton": Literal["bt", "cg", "ft", "is", "mg", "wrf", "namd", "liso", "airbus", "halo"],
        # Weight of each flow in the allocation of rates. (default: `1`)
        "weight": int,
        # If true, the grid of `halo` wraps around. (default: `false`)
        "wraps": bool,
        # Time for which ranks compute in each iteration. (default: the measured or assumed compute time of the skeleton's program; 0 for `halo` and collective operations)
        "compute": str,
    },
    total=False,
)


class ComputeCasesFlows(TypedDict, total=False):
    """A flow of an example."""

    label: str
    """Label of the flow."""

    others: Any
    """Other splits that the flow can have. If any flow of the example has some, a genetic search chooses the split of each flow that maximises the sum of all rates. It begins with `split`."""

    split: Any
    """Links that the flow crosses, each with the share of the flow that crosses it."""

    weight: float
    """Weight of the flow. (default: `1.0`)"""


class ComputeCases(TypedDict, total=False):
    """An example: flows that share the links."""

    flows: list[ComputeCasesFlows]
    """Flows of the example."""

    label: str
    """Label of the example."""


class ComputeCases2(TypedDict, total=False):
    """The file's own experiment with other values of some keys."""

    label: str
    """Label of the case."""

    set: list[str]
    """Keys with their values, as `--set` of `raddle run` takes them. (default: `[]`)"""


class ComputeFabrics(TypedDict, total=False):
    """A torus or a mesh with a label."""

    dims: list[int]
    """Number of nodes in each dimension."""

    fabric: Literal["torus", "mesh"]
    """The kind of fabric."""

    label: str
    """Label of the fabric."""

    protocol: Literal["rps", "rps_path", "dor", "dor_parity", "dor_plus", "vlb", "wlb", "wlb_hop", "romm", "ecmp"]
    """The routing protocol of data. If left out, data takes shortest paths."""


class ComputeFabrics2(TypedDict, total=False):
    """A fabric with a label."""

    label: str
    """Label of the fabric."""

    seed: int
    """Seed of the random choices in the topology. (default: `1`)"""

    topology: Topology
    """The fabric."""


class ComputeLinks(TypedDict, total=False):
    """A link of an example."""

    capacity: float
    """Capacity of the link. Rates of flows are in the same unit."""

    label: str
    """Label of the link."""


class ComputePatterns(TypedDict, total=False):
    """A traffic pattern with a label."""

    label: str
    """Label of the pattern."""

    pattern: Literal["nearest-neighbour", "uniform", "bit-complement", "transpose", "tornado", "worst-case"]
    """The traffic pattern."""


ComputePrograms = TypedDict(
    "ComputePrograms",
    {
        # Algorithm of the collective operation, or of the all-reduce in the skeleton `is`. (default: the operation's first algorithm in `raddle list workloads`)
        "algorithm": Literal["dissemination", "binomial", "binomial", "binomial", "binomial", "recursive_doubling", "recursive_halving", "ring", "ring", "bruck", "recursive_doubling", "ring", "recursive_halving", "pairwise", "bruck"],
        # Problem size class of the NAS Parallel Benchmarks. (default: the published value)
        "class": Literal["S", "W", "A", "B", "C", "D"],
        # If true, ranks of `halo` also send to neighbors across the edges and corners of their blocks. (default: `false`)
        "corners": bool,
        # Number of ranks of `halo` in each dimension of the grid: one to three numbers.
        "grid": list[int],
        # Number of iterations of a skeleton or a collective operation. (default: the program's own)
        "iterations": int,
        # Label of the program.
        "label": str,
        # Number of ranks of a collective operation, or of a skeleton other than `halo`. A host runs one rank at most.
        "ranks": int,
        # Messages of at least this size, before scaling, count as three in `mean with requests`: the sender's request, the receiver's answer, and the message.
        "rendezvous": str,
        # The sizes of messages are multiplied by this factor. (default: `1`)
        "scale": int,
        # If true, the sizes of messages are multiplied by the published factor of the skeleton. (default: `false`)
        "scaled": bool,
        # Message sizes of `halo`: one size for each exchange in an iteration.
        "sizes": list[str],
        # The communication pattern of a known program, or of neighbors on a grid (`halo`).
        "skeleton": Literal["bt", "cg", "ft", "is", "mg", "wrf", "namd", "liso", "airbus", "halo"],
        # If true, the grid of `halo` wraps around. (default: `false`)
        "wraps": bool,
        # Time for which ranks compute in each iteration. (default: the measured or assumed compute time of the skeleton's program; 0 for `halo` and collective operations)
        "compute": str,
    },
    total=False,
)


class ComputeSchemes(TypedDict, total=False):
    """A routing protocol with a label."""

    label: str
    """Label of the protocol."""

    protocol: Literal["rps", "rps_path", "dor", "dor_parity", "dor_plus", "vlb", "wlb", "wlb_hop", "romm", "ecmp"]
    """The routing protocol."""


class ComputeSearches(TypedDict, total=False):
    """A search for the protocol of each flow."""

    cold: float
    """At the end of the search, a loss of this share of the initial utility is accepted with probability 1/e. (default: `1e-5`)"""

    elite: int
    """Number of best individuals that survive unchanged. (default: `10`)"""

    evaluations: int
    """Maximum number of assignments that the search evaluates. If left out, the search runs to its end."""

    from_first: bool
    """True if all flows use the first protocol at the start of the search. Otherwise, the protocols are random. (default: `false`)"""

    hot: float
    """At the start of the search, a loss of this share of the initial utility is accepted with probability 1/e. (default: `0.01`)"""

    label: str
    """Label of the search. Searches of one label differ in their `setting`."""

    mutation: float | str
    """Probability that a bit of a child flips. (default: `0.01`)"""

    population: int
    """Number of individuals of a generation. (default: `100`)"""

    search: Literal["genetic", "hill-climbing", "log-linear", "annealing", "exhaustive"]
    """The search."""

    setting: str
    """Label of the search's parameters. (default: `""`)"""

    temperature: float
    """If the utility of one protocol exceeds that of another by this share of the initial utility, a flow chooses the first protocol e (2.718) times as often. (default: `3e-4`)"""


class ComputeTraces(TypedDict, total=False):
    """A trace of flows."""

    label: str
    """Label of the trace."""

    reference_ticks: int
    """Maximum number of ticks at which the reference algorithm, which is slow, also computes the rates. (default: `ticks`)"""

    topology: Topology
    """The fabric of the trace. If left out, `compute.topology`."""

    workload: Workload
    """The workload that generates the flows."""


class ComputeWorkloads(TypedDict, total=False):
    """A torus and its long flows."""

    dims: list[int]
    """Number of nodes in each dimension."""

    label: str
    """Label of the workload."""

    pairs: Literal["uniform", "permutation", "all_to_all", "inter_pod", "bijection", "random_other_pod", "staggered", "nearest_neighbour", "bit_complement", "bit_reversal", "bit_rotation", "perfect_shuffle", "transpose", "butterfly", "tornado", "neighbor", "stride", "exchange", "random_permutation", "incast"] | WorkloadPairs2
    """Sources and destinations of the flows: one flow for each pair."""


class Compute(TypedDict, total=False):
    """A computation whose results a figure shows in place of the results of runs."""

    alpha: float
    """Share of its value that the estimator loses in each interval. (default: `0.1`)"""

    cases: list[ComputeCases] | list[ComputeCases2]
    """`allocation`: The examples. `rate-computations`, `path-selection`, `flowlets`: The cases."""

    dims: list[int]
    """Number of nodes in each dimension."""

    dst: int
    """The destination of the flow."""

    fabrics: list[ComputeFabrics] | list[ComputeFabrics2]
    """The fabrics."""

    flows: list[int]
    """Numbers of flows that a node sends. There are results for each number."""

    fractions: list[float | str]
    """Shares of the nodes that take part in a permutation."""

    frame: str
    """Size of the packets that the link carries. (default: `"1518 B"`)"""

    generations: int
    """Number of generations of the genetic search. (default: `60`)"""

    header: str
    """Size of a controller's message without its rates."""

    headroom: float | str
    """`rate-overhead`, `counted-flows`: Share of each link's rate that the allocation leaves free. (default: `0.05`) `selection`: Share of each link's rate that the allocation leaves free. (default: `0.0`)"""

    instances: int
    """`selection`: Number of permutations for each share. `searches`, `search-landscape`: Number of random starts and, with random pairs, of sets of flows, for each workload."""

    interval: str
    """Time between two successive messages of the controller to a node, if the controller sends rates once in each interval."""

    intervals: list[str]
    """Intervals between rate computations, or between decays of a load estimate."""

    kind: Literal["throughput-fraction", "allocation", "broadcast-overhead", "broadcast-load", "controller-overhead", "rate-overhead", "counted-flows", "rate-computations", "rate-replay", "forwarding-cost", "selection", "searches", "search-landscape", "header-limits", "load-estimate", "path-selection", "flowlets", "paths", "routes", "link-weights", "messages"]
    """The kind of computation."""

    large: str
    """Size of large flows."""

    links: list[ComputeLinks]
    """The links."""

    mean_gap: str
    """Mean time between the starts of two successive flows."""

    nodes: int
    """Number of nodes whose computations are replayed. (default: `1`)"""

    packet: str
    """Size of an announcement packet. (default: `"1500 B"`)"""

    patterns: list[ComputePatterns]
    """The traffic patterns."""

    programs: list[ComputePrograms]
    """The programs."""

    rate: str
    """`controller-overhead`: Size of one rate in a controller's message. `load-estimate`: Rate of the link whose load is estimated."""

    routings: list[str]
    """The routings whose decisions are timed."""

    schemes: list[ComputeSchemes]
    """The routing protocols."""

    searches: list[ComputeSearches]
    """The searches."""

    seed: int
    """Seed of all random streams. (default: `1`)"""

    seeds: int
    """Number of runs of each case. The seeds are the experiment's seed and the numbers after it. (default: `1`)"""

    shares: list[float | str]
    """Each number is the share of all data bytes that is in small flows. There is a result for each number."""

    slow: int
    """Factor by which an emulated slow core is slower than this machine's core. (default: `20`)"""

    small: str
    """Size of small flows."""

    src: int
    """The source of the flow."""

    switch: int
    """The switch whose decisions are timed."""

    ticks: int
    """Number of rate computations."""

    topology: Topology
    """The fabric."""

    traces: list[ComputeTraces]
    """The traces."""

    workloads: list[ComputeWorkloads]
    """The workloads."""


class Root(TypedDict, total=False):
    """The tables of an experiment's file. A figure's file can have further tables: `[figure]`, `[[plot]]`, `[[claim]]`, `[scale]` and `[compute]`."""

    agree: Agree
    """Largest allowed distances between the results of the packet engine and the flow engine (`raddle agree`)."""

    claim: list[Claim]
    """The claims of a figure."""

    engine: Engine
    """The engine and its settings."""

    errors: Errors
    """Links that lose and corrupt packets."""

    failure: list[Failure]
    """Failures at stated times."""

    faults: Faults
    """Failures at random times."""

    figure: Figure
    """Title and settings of a figure."""

    folder: str
    """The folder to which names of files in the experiment are relative. By default, the folder of the experiment's file. A relative `folder` is itself relative to that default folder."""

    plot: list[Plot]
    """The plots of a figure."""

    record: Record
    """The records that a run keeps."""

    scale: Scale
    """Values of keys at quick and at full scale."""

    scheme: Scheme
    """The transport, the routing and the other parts that carry the flows."""

    search: Search
    """A search for the greatest value of a key at which a measure of the flows is still large enough."""

    sweep: list[Sweep]
    """The dimensions of a grid of experiments."""

    topology: Topology
    """The fabric."""

    workload: Workload
    """The flows."""

    compute: Compute
    """A computation whose results a figure shows in place of the results of runs."""
