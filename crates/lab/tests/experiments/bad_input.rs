//! Golden texts of the messages that users see for wrong experiments. A text has one section for each
//! mistake.

use miette::{GraphicalReportHandler, GraphicalTheme};
use raddle_lab::Error;
use raddle_lab::experiment::Document;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const GOOD: &str = r#"[topology]
kind = "torus"
dims = [4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "1 us" }
sizes = { kind = "pareto", shape = 1.05, mean = "100 KB" }
pairs = "uniform"
flows = 1_000

[scheme]
transport = "r2c2"
routing = "rps"
queue = { kind = "fifo" }

[scheme.r2c2]
headroom = "5%"

[engine]
seed = 1
"#;

/// An experiment with a flow list in place of the generated workload.
const LISTED: &str = r#"[topology]
kind = "torus"
dims = [4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
list = [{ src = 0, dst = 5, size = "1 MB" }]

[scheme]
transport = "r2c2"
"#;

/// The flows of [`LISTED`].
const LIST: &str = "list = [{ src = 0, dst = 5, size = \"1 MB\" }]";

/// Mistakes that a single edit of [`GOOD`] makes: (mistake, old text, new text).
const MISTAKES: &[(&str, &str, &str)] = &[
    ("invalid TOML", "dims = [4, 4]", "dims = [4, 4"),
    ("key given twice", "kind = \"torus\"", "kind = \"torus\"\nkind = \"mesh\""),
    ("unknown key", "link_delay", "link_dealy"),
    ("unknown table", "[engine]", "[engin]"),
    (
        "Jellyfish without hosts",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"jellyfish\"\nswitches = 8\nports = 4\nnetwork_ports = 4",
    ),
    (
        "Jellyfish with too few switches",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"jellyfish\"\nswitches = 16\nports = 24\nnetwork_ports = 16",
    ),
    (
        "Jellyfish that is not connected",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"jellyfish\"\nswitches = 8\nports = 2\nnetwork_ports = 1",
    ),
    ("BCube without neighbours", "kind = \"torus\"\ndims = [4, 4]", "kind = \"bcube\"\nn = 1\nk = 2"),
    ("BCube with too many servers", "kind = \"torus\"\ndims = [4, 4]", "kind = \"bcube\"\nn = 64\nk = 4"),
    ("key of another kind of topology", "kind = \"torus\"", "kind = \"dumbbell\"\nleft = 2\nright = 2"),
    ("missing key", "link_rate = \"10 Gbps\"\n", ""),
    (
        "missing table",
        "[scheme]\ntransport = \"r2c2\"\nrouting = \"rps\"\nqueue = { kind = \"fifo\" }\n\n[scheme.r2c2]\nheadroom = \"5%\"\n",
        "",
    ),
    ("flows after the end of time", "mean_gap = \"1 us\"", "load = 1e-12"),
    (
        "imbalance without switches that have several uplinks",
        "[engine]",
        "[record]\nimbalance = \"1 ms\"\n\n[engine]",
    ),
    ("capture of a link that does not exist", "[engine]", "[record]\npcap = \"0->1, 0->5\"\n\n[engine]"),
    ("capture from a node that does not exist", "[engine]", "[record]\npcap = \"16->1\"\n\n[engine]"),
    ("capture of a link number that does not exist", "[engine]", "[record]\npcap = \"3, 64\"\n\n[engine]"),
    ("capture of a word that is not a link", "[engine]", "[record]\npcap = \"uplinks\"\n\n[engine]"),
    ("capture of a node that is not a number", "[engine]", "[record]\npcap = \"0->b\"\n\n[engine]"),
    (
        "capture with a snap length of 0",
        "[engine]",
        "[record]\npcap = \"all\"\npcap_snap = \"0 B\"\n\n[engine]",
    ),
    ("queue samples with an interval of 0", "[engine]", "[record]\nqueue_lengths = \"0 us\"\n\n[engine]"),
    (
        "queue samples of a link that does not exist",
        "[engine]",
        "[record]\nqueue_lengths = \"1 us\"\nqueue_links = \"0->5\"\n\n[engine]",
    ),
    (
        "links for queue samples without an interval",
        "[engine]",
        "[record]\nqueue_links = \"all\"\n\n[engine]",
    ),
    ("snap length without a capture", "[engine]", "[record]\npcap_snap = \"64 B\"\n\n[engine]"),
    ("wrong type", "flows = 1_000", "flows = \"many\""),
    ("number in place of a quantity", "link_rate = \"10 Gbps\"", "link_rate = 10"),
    ("missing unit", "\"100 ns\"", "\"100\""),
    ("misspelt unit", "\"10 Gbps\"", "\"10 Gbs\""),
    ("unit of another type of quantity", "\"100 ns\"", "\"100 KB\""),
    ("not a number", "\"100 ns\"", "\"fast\""),
    ("negative time", "\"100 ns\"", "\"-100 ns\""),
    ("inexact quantity", "\"100 ns\"", "\"0.0001 ns\""),
    ("date", "seed = 1", "seed = 2026-01-01"),
    ("number too large", "flows = 1_000", "flows = 5_000_000_000"),
    ("zero rate", "\"10 Gbps\"", "\"0 Gbps\""),
    ("zero gap", "\"1 us\"", "\"0 us\""),
    ("no flows", "flows = 1_000", "flows = 0"),
    ("number of flows missing", "flows = 1_000\n", ""),
    ("number of flows given twice", "flows = 1_000", "flows = 1_000\nduration = \"50 ms\""),
    ("number of flows, and one flow per pair", "flows = 1_000", "flows = 1_000\nonce = true"),
    ("arrivals with a duration of 0", "flows = 1_000", "duration = \"0 ms\""),
    ("gap and load", "mean_gap = \"1 us\"", "mean_gap = \"1 us\", load = 0.5"),
    ("load of 0", "mean_gap = \"1 us\"", "load = 0"),
    ("load with a mean flow size of 0", "mean_gap = \"1 us\"", "load = 0.5, mean_size = \"0 B\""),
    ("mean size without load", "mean_gap = \"1 us\"", "mean_gap = \"1 us\", mean_size = \"1 MB\""),
    ("unknown sizes", "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }", "\"facebook\""),
    (
        "packet size of 0",
        "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }",
        "{ kind = \"web_search\", unit = \"0 B\" }",
    ),
    (
        "unit of a distribution in bytes",
        "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }",
        "{ kind = \"hadoop\", unit = \"1000 B\" }",
    ),
    ("traffic between pods, with only one pod", "\"uniform\"", "{ kind = \"inter_pod\", pods = [1] }"),
    (
        "sum of the staggered probabilities above 1",
        "\"uniform\"",
        "{ kind = \"staggered\", edge = 0.5, pod = 0.6 }",
    ),
    ("radix of 1", "\"uniform\"", "{ kind = \"bit_reversal\", radix = 1 }"),
    ("exchange of a host with itself", "\"uniform\"", "{ kind = \"exchange\", by = 0 }"),
    (
        "sizes in addition to the size of frames",
        "{ kind = \"poisson\", mean_gap = \"1 us\" }",
        "{ kind = \"bernoulli\", load = 0.5 }",
    ),
    (
        "load above the rate of the link",
        "{ kind = \"poisson\", mean_gap = \"1 us\" }",
        "{ kind = \"bernoulli\", load = 1.1 }",
    ),
    (
        "frame size of 0",
        "{ kind = \"poisson\", mean_gap = \"1 us\" }",
        "{ kind = \"cbr\", load = 0.5, frame = \"0 B\" }",
    ),
    (
        "burst length missing",
        "{ kind = \"poisson\", mean_gap = \"1 us\" }",
        "{ kind = \"on_off\", load = 0.5 }",
    ),
    ("process without a rate", "flows = 1_000", "flows = 1_000\nprocess = \"poisson\""),
    ("unknown process", "flows = 1_000", "flows = 1_000\napp_rate = \"1 Gbps\"\nprocess = \"poison\""),
    (
        "burst length of 0",
        "flows = 1_000",
        "flows = 1_000\napp_rate = \"1 Gbps\"\nprocess = { kind = \"on_off\", burst = 0 }",
    ),
    ("load in addition to arrivals", "flows = 1_000", "load = 0.9\nduration = \"1 ms\""),
    ("infinite mean", "shape = 1.05", "shape = 1.0"),
    ("dimension with only one node", "[4, 4]", "[4, 1]"),
    ("too many nodes", "[4, 4]", "[100_000, 100_000]"),
    (
        "fat-tree with an odd number of ports per switch",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"fat_tree\"\nk = 7",
    ),
    ("fat-tree with 0 ports per switch", "kind = \"torus\"\ndims = [4, 4]", "kind = \"fat_tree\"\nk = 0"),
    ("fat-tree with too many nodes", "kind = \"torus\"\ndims = [4, 4]", "kind = \"fat_tree\"\nk = 1_000"),
    ("fat-tree with a key for the size of a torus", "kind = \"torus\"", "kind = \"fat_tree\"\nk = 4"),
    (
        "core rate of zero",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"fat_tree\"\nk = 4\ncore_rate = \"0 Gbps\"",
    ),
    (
        "several pods without core switches",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"clos\"\npods = 2\nedges_per_pod = 2\naggregations_per_pod = 2\ncores_per_plane = 0\nhosts_per_edge = 2",
    ),
    (
        "tree with different numbers of levels",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"xgft\"\nchildren = [4, 4]\nparents = [1, 2, 2]",
    ),
    (
        "tree with 0 parents on a level",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"xgft\"\nchildren = [4, 4]\nparents = [1, 0]",
    ),
    (
        "tree without levels",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"xgft\"\nchildren = []\nparents = []",
    ),
    ("tree with too many nodes", "kind = \"torus\"\ndims = [4, 4]", "kind = \"k_ary_n_tree\"\nk = 4\nn = 12"),
    (
        "tree with too many levels",
        "kind = \"torus\"\ndims = [4, 4]",
        "kind = \"k_ary_n_tree\"\nk = 4\nn = 25",
    ),
    ("slow link without a rate", "[workload]", "[[topology.slow]]\nfrom = 0\nto = 1\n\n[workload]"),
    (
        "slow link with two rates",
        "[workload]",
        "[[topology.slow]]\nfrom = 0\nto = 1\nrate = \"1 Gbps\"\nshare = 0.1\n\n[workload]",
    ),
    (
        "slow link without a first node",
        "[workload]",
        "[[topology.slow]]\nto = 1\nrate = \"1 Gbps\"\n\n[workload]",
    ),
    (
        "slow link that is both named and random",
        "[workload]",
        "[[topology.slow]]\nto = 1\nrandom = { level = 1, links = 1 }\nshare = 0.1\n\n[workload]",
    ),
    (
        "number of random slow links of 0",
        "[workload]",
        "[[topology.slow]]\nrandom = { level = 1, links = 0 }\nshare = 0.1\n\n[workload]",
    ),
    ("unknown topology", "\"torus\"", "\"tors\""),
    ("unknown transport", "\"r2c2\"", "\"r2d2\""),
    ("unknown routing", "\"rps\"", "\"shortest\""),
    ("unknown pairs", "\"uniform\"", "\"everyone\""),
    ("unknown parameter", "headroom", "head_room"),
    ("fraction above 1", "\"5%\"", "\"105%\""),
    ("parameter out of range", "headroom = \"5%\"", "hop_bits = 9"),
    ("negative seed", "seed = 1", "seed = -1"),
    ("queue with a limit of 0 packets", "\"fifo\" }", "\"fifo\", packets = 0 }"),
    (
        "missing file",
        "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }",
        "{ kind = \"cdf\", file = \"absent.cdf\" }",
    ),
    (
        "repair before the failure",
        "[engine]",
        "[[failure]]\nat = \"2 ms\"\nrepair = \"1 ms\"\nlink = [0, 1]\n\n[engine]",
    ),
    ("failure without a link or node", "[engine]", "[[failure]]\nat = \"2 ms\"\n\n[engine]"),
    (
        "failure of both a link and a node",
        "[engine]",
        "[[failure]]\nat = \"2 ms\"\nlink = [0, 1]\nnode = 3\n\n[engine]",
    ),
    (
        "random failure of an unknown tier",
        "[engine]",
        "[[failure]]\nat = \"0 ns\"\nrandom = { tier = \"spine\", links = 1 }\n\n[engine]",
    ),
    (
        "random failure of 0 links",
        "[engine]",
        "[[failure]]\nat = \"0 ns\"\nrandom = { tier = \"core\", links = 0 }\n\n[engine]",
    ),
    ("link with three nodes", "[engine]", "[errors]\nlinks = [[0, 1, 2]]\n\n[engine]"),
    (
        "sum of the error probabilities above 1",
        "[engine]",
        "[errors]\nloss = 0.5\ncorruption = 0.6\n\n[engine]",
    ),
    ("loss above one", "[engine]", "[errors]\nloss = 1.5\n\n[engine]"),
    ("frequency without unit", "[engine]", "[faults]\nnode_failures = \"1.2\"\n\n[engine]"),
    (
        "misspelt frequency",
        "[engine]",
        "[faults]\nlink_failures = \"3 / yaer\"\nrepair = \"1 ms\"\nuntil = \"9 ms\"\n\n[engine]",
    ),
    ("number in place of a frequency", "[engine]", "[faults]\nnode_failures = 7\n\n[engine]"),
    (
        "faults without a repair time",
        "[engine]",
        "[faults]\nnode_failures = \"1 / ms\"\nuntil = \"9 ms\"\n\n[engine]",
    ),
    (
        "repair time of 0",
        "[engine]",
        "[faults]\nnode_failures = \"1 / ms\"\nuntil = \"9 ms\"\nrepair = \"0 ms\"\n\n[engine]",
    ),
    ("cut-through in lockstep", "seed = 1", "kind = \"lockstep\"\ncut_through = true"),
    (
        "two sweeps with the same name",
        "[engine]",
        "[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [1, 2]\n\n[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [3]\n\n[engine]",
    ),
    (
        "sweep of seeds with another name",
        "[engine]",
        "[[sweep]]\nname = \"replica\"\nkey = \"engine.seed\"\nvalues = [1, 2]\n\n[engine]",
    ),
    (
        "label given twice",
        "[engine]",
        "[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [1, 1]\n\n[engine]",
    ),
    (
        "sweep without values",
        "[engine]",
        "[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = []\n\n[engine]",
    ),
    (
        "sweep of values without a key",
        "[engine]",
        "[[sweep]]\nname = \"routing\"\nvalues = [\"rps\", \"vlb\"]\n\n[engine]",
    ),
    ("number with an exponent for an integer", "flows = 1_000", "flows = 1e12"),
    ("transport of another simulator", "transport = \"r2c2\"", "transport = \"ndp\""),
    (
        "sweep to a bad value",
        "[engine]",
        "[[sweep]]\nname = \"rate\"\nkey = \"topology.link_rate\"\nvalues = [\"1 Gbps\", \"10 Gpbs\"]\n\n[engine]",
    ),
];

/// Edits of [`GOOD`] that make settings contradict each other: (mistake, edits).
const CONTRADICTIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "throughput of flows between kernels",
        &[
            ("\"r2c2\"\nrouting = \"rps\"", "\"tcp-cubic\"\nrouting = \"ecmp\""),
            ("[scheme.r2c2]\nheadroom = \"5%\"", "[record]\nthroughput = \"1 ms\""),
            ("[engine]", "[engine]\nkind = \"live\"\nhosts = \"namespaces\""),
        ],
    ),
    (
        "routing that the topology does not support",
        &[("torus", "mesh"), ("routing = \"rps\"", "routing = \"wlb\"")],
    ),
    (
        "queue samples in lockstep",
        &[("[engine]", "[record]\nqueue_lengths = \"1 us\"\n\n[engine]\nkind = \"lockstep\"")],
    ),
    ("more ports than the header can name", &[("[4, 4]", "[2, 2, 2, 2, 2]")]),
    (
        "traffic pattern that the topology does not support",
        &[("\"torus\"\ndims = [4, 4]", "\"single_switch\"\nhosts = 4"), ("uniform", "nearest_neighbour")],
    ),
    (
        "random failure on a torus",
        &[("[engine]", "[[failure]]\nat = \"0 ns\"\nrandom = { tier = \"core\", links = 1 }\n\n[engine]")],
    ),
    (
        "random failure of more links than allowed",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"fat_tree\"\nk = 4"),
            (
                "[engine]",
                "[[failure]]\nat = \"0 ns\"\nrandom = { tier = \"core\", pod = 1, links = 3, most_a_switch = 1 }\n\n[engine]",
            ),
        ],
    ),
    (
        "random failure in a pod that does not exist",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"fat_tree\"\nk = 4"),
            (
                "[engine]",
                "[[failure]]\nat = \"0 ns\"\nrandom = { tier = \"core\", pod = 4, links = 1 }\n\n[engine]",
            ),
        ],
    ),
    (
        "number of hosts that is not a power of the radix",
        &[("[4, 4]", "[4, 3]"), ("\"uniform\"", "\"bit_reversal\"")],
    ),
    (
        "slow link that does not exist",
        &[("[workload]", "[[topology.slow]]\nfrom = 0\nto = 2\nshare = 0.5\n\n[workload]")],
    ),
    (
        "slow link with more than its own rate",
        &[("[workload]", "[[topology.slow]]\nfrom = 0\nto = 1\nrate = \"11 Gbps\"\n\n[workload]")],
    ),
    (
        "slow link with a rate of 0",
        &[("[workload]", "[[topology.slow]]\nfrom = 0\nto = 1\nshare = 0\n\n[workload]")],
    ),
    (
        "random slow link on a torus",
        &[("[workload]", "[[topology.slow]]\nrandom = { level = 1, links = 1 }\nshare = 0.1\n\n[workload]")],
    ),
    (
        "random slow link above the roots",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"k_ary_n_tree\"\nk = 2\nn = 3"),
            ("[workload]", "[[topology.slow]]\nrandom = { level = 3, links = 1 }\nshare = 0.1\n\n[workload]"),
        ],
    ),
    (
        "more random slow links than links",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"k_ary_n_tree\"\nk = 2\nn = 3"),
            ("[workload]", "[[topology.slow]]\nrandom = { level = 1, links = 9 }\nshare = 0.1\n\n[workload]"),
        ],
    ),
    (
        "flow control with routes that can deadlock",
        &[
            ("\"r2c2\"\nrouting = \"rps\"\nqueue = { kind = \"fifo\" }", "\"udp\"\nflow_control = \"pfc\""),
            ("[scheme.r2c2]\nheadroom = \"5%\"\n", ""),
        ],
    ),
    (
        "flow control with routes of unknown deadlock behaviour",
        &[("queue = { kind = \"fifo\" }", "flow_control = \"pfc\"")],
    ),
    ("traffic pattern of pods on a torus", &[("\"uniform\"", "\"bijection\"")]),
    (
        "traffic pattern of pods on a single leaf",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"folded_clos\"\nleaves = 1\nspines = 1\nhosts_per_leaf = 4"),
            ("\"uniform\"", "\"random_other_pod\""),
        ],
    ),
    (
        "pod that does not exist",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"fat_tree\"\nk = 4"),
            ("\"uniform\"", "{ kind = \"inter_pod\", pods = [0, 4] }"),
        ],
    ),
    (
        "duration for flows that all start at once",
        &[
            ("{ kind = \"poisson\", mean_gap = \"1 us\" }", "\"all_at_once\""),
            ("flows = 1_000", "duration = \"1 ms\""),
        ],
    ),
    ("duration in which no flow starts", &[("flows = 1_000", "duration = \"1 ps\"")]),
    ("duration with too many flows", &[("flows = 1_000", "duration = \"10_000 s\"")]),
    (
        "failure of a link that does not exist",
        &[("[engine]", "[[failure]]\nat = \"2 ms\"\nlink = [0, 2]\n\n[engine]")],
    ),
    (
        "failure of a node that does not exist",
        &[("[engine]", "[[failure]]\nat = \"2 ms\"\nnode = 16\n\n[engine]")],
    ),
    (
        "errors on a link that does not exist",
        &[("[engine]", "[errors]\nloss = 0.1\nlinks = [[0, 1], [0, 2]]\n\n[engine]")],
    ),
    (
        "more faults than supported",
        &[(
            "[engine]",
            "[faults]\nlink_failures = \"1 / us\"\nuntil = \"100 ms\"\nrepair = \"1 us\"\n\n[engine]",
        )],
    ),
    (
        "faults in lockstep",
        &[(
            "[engine]",
            "[faults]\nlink_failures = \"1 / ms\"\nuntil = \"9 ms\"\nrepair = \"1 us\"\n\n[engine]\nkind = \"lockstep\"",
        )],
    ),
    (
        "queue limit for a transport with its own queues",
        &[("\"r2c2\"", "\"pfq\""), ("\"fifo\" }", "\"fifo\", limit = \"9 KB\" }")],
    ),
    (
        "priority above Ethernet's highest priority",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"single_switch\"\nhosts = 4"),
            ("flows = 1_000", "flows = 1_000\npriority = 9"),
            ("\"r2c2\"", "\"cee\""),
            ("routing = \"rps\"", "routing = \"ecmp\""),
            ("[scheme.r2c2]\nheadroom = \"5%\"\n", ""),
        ],
    ),
    ("watchdog without flow control", &[("seed = 1", "seed = 1\nwatchdog = \"1 ms\"")]),
    ("unknown kind of discovery", &[("seed = 1", "seed = 1\ndiscovery = \"hallo\"")]),
    ("hello period without hello messages", &[("seed = 1", "seed = 1\nhello_period = \"1 ms\"")]),
    ("hello period of 0", &[("seed = 1", "seed = 1\ndiscovery = \"hello\"\nhello_period = \"0 ms\"")]),
    (
        "hello period too short for the links",
        &[("seed = 1", "seed = 1\ndiscovery = \"hello\"\nhello_period = \"1 us\"")],
    ),
    (
        "hello messages in the flow engine",
        &[("seed = 1", "seed = 1\nkind = \"flow\"\ndiscovery = \"hello\"")],
    ),
    ("watchdog period of 0", &[("seed = 1", "seed = 1\nwatchdog = \"0 ms\"")]),
    (
        "hosts that need marks, without congestion points",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"single_switch\"\nhosts = 4"),
            ("\"r2c2\"", "\"dcqcn\""),
            ("routing = \"rps\"", "routing = \"ecmp\""),
        ],
    ),
    (
        "watchdog in lockstep",
        &[
            ("\"torus\"\ndims = [4, 4]", "\"single_switch\"\nhosts = 4"),
            (
                "\"r2c2\"\nrouting = \"rps\"\nqueue = { kind = \"fifo\" }",
                "\"udp\"\nrouting = \"ecmp\"\nflow_control = \"pfc\"",
            ),
            ("[scheme.r2c2]\nheadroom = \"5%\"\n", ""),
            ("seed = 1", "seed = 1\nkind = \"lockstep\"\nwatchdog = \"1 ms\""),
        ],
    ),
];

/// Mistakes that a single edit of [`LISTED`] makes: (mistake, old text, new text).
const LISTED_MISTAKES: &[(&str, &str, &str)] = &[
    ("flow to itself", "dst = 5", "dst = 0"),
    ("unreachable pair", "[scheme]", "[[failure]]\nat = \"0 ns\"\nnode = 5\n\n[scheme]"),
    ("node that does not exist", "dst = 5", "dst = 16"),
    ("flow of too many bytes", "1 MB", "18446744073709551615 B"),
    ("flow to a switch", "kind = \"torus\"\ndims = [4, 4]", "kind = \"single_switch\"\nhosts = 5"),
    (
        "route longer than the header",
        "dims = [4, 4]\nlink_rate = \"10 Gbps\"\nlink_delay = \"100 ns\"\n\n[workload]\nlist = [{ src = 0, dst = 5, size = \"1 MB\" }]\n\n[scheme]\n",
        "dims = [16, 32]\nlink_rate = \"10 Gbps\"\nlink_delay = \"100 ns\"\n\n[workload]\nlist = [{ src = 0, dst = 5, size = \"1 MB\" }]\n\n[scheme]\nrouting = \"vlb\"\n",
    ),
    ("empty flow", "\"1 MB\"", "\"0 B\""),
    ("process of a flow without a rate", "\"1 MB\" }", "\"1 MB\", process = \"poisson\" }"),
    ("hotspot in addition to a list", "[scheme]", "hotspot = {}\n\n[scheme]"),
    ("long flows without a time", LIST, "pairs = \"uniform\"\nload = 0.9"),
    ("hotspot at a host that does not exist", LIST, "hotspot = {}"),
    ("hotspot with a severity of 0", LIST, "hotspot = { severity = 0 }"),
    ("hotspot of unknown type", LIST, "hotspot = { type = \"inputs\" }"),
    ("hotspot without sources", LIST, "hotspot = { degree = \"0%\" }"),
    ("sources given twice", LIST, "hotspot = { degree = 4, sources = [1] }"),
    ("more sources than hosts", LIST, "hotspot = { destination = 5, degree = 16, victims = [] }"),
    (
        "hotspot whose source is its destination",
        LIST,
        "hotspot = { destination = 5, sources = [5], victims = [] }",
    ),
    ("hotspot too severe", LIST, "hotspot = { destination = 5, degree = 2, severity = 3, victims = [] }"),
    ("victim that sends to itself", LIST, "hotspot = { victims = [{ src = 1, dst = 1, load = 0.5 }] }"),
    ("victim without a load", LIST, "hotspot = { victims = [{ src = 1, dst = 2 }] }"),
    ("hotspot with a duration of 0", LIST, "hotspot = { duration = \"0 ms\" }"),
    ("hotspot with a load", LIST, "hotspot = {}\nload = 0.9"),
    ("empty list", "{ src = 0, dst = 5, size = \"1 MB\" }", ""),
];

/// Wrong overrides of [`GOOD`]: (mistake, override).
const OVERRIDES: &[(&str, &str)] = &[
    ("override without value", "scheme.transport"),
    ("override of an unknown key", "topology.radius=3"),
    ("override with a bad unit", "topology.link_rate=10 GB"),
    ("override of a key inside a value that is not a table", "topology.kind.name=torus"),
];

fn problem(mistake: &str, text: &str, overrides: &[&str]) -> String {
    let checked = || -> Result<(), Error> {
        let document = Document::parse("experiment.toml", text.to_owned(), PathBuf::new())?
            .with_overrides(overrides.iter().copied())?;
        for cell in document.cells()? {
            cell.document.prepare()?;
        }
        Ok(())
    };
    let error = checked().expect_err(mistake);
    assert_eq!(error.exit_code(), 2);
    let mut shown = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut shown, &error)
        .expect("writing to a string never fails");
    shown
}

fn edited(base: &str, before: &str, after: &str) -> String {
    assert!(base.contains(before), "{before}");
    base.replacen(before, after, 1)
}

#[test]
fn the_good_experiments_are_good() {
    for text in [GOOD, LISTED] {
        let document = Document::parse("experiment.toml", text.to_owned(), PathBuf::new()).unwrap();
        document.prepare().map_err(|problem| problem.to_string()).unwrap();
    }
}

/// Returns the name of the TOML table of `base` that contains `text`.
fn table(base: &str, text: &str) -> String {
    let end = base.find(text).expect("the text") + text.len();
    let header = base[..end].lines().rfind(|line| line.starts_with('[')).expect("a table");
    header.trim_matches(['[', ']']).replace('.', "_")
}

/// Checks one golden file for each table of the experiments, one for contradictions and one for overrides. Each file
/// has one section for each mistake.
#[test]
fn every_mistake_points_into_the_text() {
    let mut goldens = BTreeMap::<String, String>::new();
    let mut add = |table: String, mistake: &str, shown: &str| {
        writeln!(goldens.entry(table).or_default(), "## {mistake}\n\n{shown}").unwrap();
    };
    for &(mistake, before, after) in MISTAKES {
        add(table(GOOD, before), mistake, &problem(mistake, &edited(GOOD, before, after), &[]));
    }
    for &(mistake, before, after) in LISTED_MISTAKES {
        add(
            format!("list_{}", table(LISTED, before)),
            mistake,
            &problem(mistake, &edited(LISTED, before, after), &[]),
        );
    }
    for &(mistake, edits) in CONTRADICTIONS {
        let text = edits.iter().fold(GOOD.to_owned(), |text, (before, after)| edited(&text, before, after));
        add("contradictions".to_owned(), mistake, &problem(mistake, &text, &[]));
    }
    for &(mistake, assignment) in OVERRIDES {
        add("overrides".to_owned(), mistake, &problem(mistake, GOOD, &[assignment]));
    }
    for (table, golden) in goldens {
        insta::assert_snapshot!(table, golden);
    }
}
