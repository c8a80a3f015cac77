//! The keys of `[compute]`.

use crate::experiment::keys::{Any, Inner, Key, Kind, Kinded, Name, Tables, key, keys};
use crate::experiment::{Fraction, PAIRS_KEYS, SKELETON_KEYS, TOPOLOGY, WORKLOAD};
use raddle_core::{Bytes, Duration, Rate};
use raddle_topology::routing::{Pattern, Protocol};

keys! {
    /// A computation whose results a figure shows in place of the results of runs.
    pub(crate) COMPUTE = "compute" {
        /// The kind of computation.
        KIND: Name = Key::new("kind").required().of("computation", KINDS);
    }

    /// A fabric with a label.
    pub(super) FABRIC = "compute.fabrics" {
        /// Label of the fabric.
        FABRIC_LABEL: String = Key::new("label").required().example("\"k = 4\"");
        /// The fabric.
        FABRIC_TOPOLOGY: Inner =
            Key::new("topology").required().table(&TOPOLOGY).example("{ kind = \"fat_tree\", k = 4, … }");
        /// Seed of the random choices in the topology.
        FABRIC_SEED: u64 = Key::new("seed").or("1");
    }

    /// A torus or a mesh with a label.
    pub(super) GRID_FABRIC = "compute.fabrics" {
        /// Label of the fabric.
        GRID_LABEL: String = Key::new("label").required().example("\"3D torus\"");
        /// The kind of fabric.
        GRID_KIND: Name = Key::new("fabric").required().of("fabric", &[
            Kind { name: "torus", words: "wrap-around grid", keys: &[] },
            Kind { name: "mesh", words: "grid without wrap-around", keys: &[] },
        ]);
        /// The routing protocol of data. If left out, data takes shortest paths.
        GRID_PROTOCOL: Name = Key::new("protocol").example("\"rps\"").registered("routing protocol", |_| protocols());
        ..&GRID;
    }

    /// A grid of nodes.
    pub(super) GRID = "compute" {
        /// Number of nodes in each dimension.
        DIMS: Vec<u32> = Key::new("dims")
            .required()
            .example("[8, 8]")
            .such("one or more numbers above 0", |dims: &Vec<u32>| !dims.is_empty() && !dims.contains(&0));
    }

    /// A routing protocol with a label.
    pub(super) SCHEME = "compute.schemes" {
        /// Label of the protocol.
        SCHEME_LABEL: String = Key::new("label").required().example("\"RPS\"");
        /// The routing protocol.
        PROTOCOL: Name =
            Key::new("protocol").required().example("\"rps\"").registered("routing protocol", |_| protocols());
    }

    /// A traffic pattern with a label.
    pub(super) PATTERN_KEYS = "compute.patterns" {
        /// Label of the pattern.
        PATTERN_LABEL: String = Key::new("label").required().example("\"UR\"");
        /// The traffic pattern.
        PATTERN: Name = Key::new("pattern").required().example("\"uniform\"").registered("pattern", |_| {
            PATTERNS.iter().map(|&(name, _)| (name.to_owned(), "")).collect()
        });
    }

    /// A link of an example.
    pub(super) LINK = "compute.links" {
        /// Label of the link.
        LINK_LABEL: String = Key::new("label").required().example("\"1->4\"");
        /// Capacity of the link. Rates of flows are in the same unit.
        CAPACITY: f64 = Key::new("capacity").required().example("1");
    }

    /// An example: flows that share the links.
    pub(super) CASE = "compute.cases" {
        /// Label of the example.
        CASE_LABEL: String = Key::new("label").required().example("\"a\"");
        /// Flows of the example.
        CASE_FLOWS: Tables = Key::new("flows")
            .required()
            .table(&CASE_FLOW)
            .example("[{ label = \"f1\", split = { \"1->4\" = 1 } }]");
    }

    /// A flow of an example.
    pub(super) CASE_FLOW = "compute.cases.flows" {
        /// Label of the flow.
        FLOW_LABEL: String = Key::new("label").required().example("\"f1\"");
        /// Weight of the flow.
        WEIGHT: f64 = Key::new("weight").or("1.0");
        /// Links that the flow crosses, each with the share of the flow that crosses it.
        SPLIT: Any = Key::new("split").required().example("{ \"1->4\" = 1 }");
        /// Other splits that the flow can have. If any flow of the example has some, a genetic search chooses the split of
        /// each flow that maximises the sum of all rates. It begins with `split`.
        OTHERS: Any = Key::new("others").example("[{ \"1->3\" = 1, \"3->4\" = 1 }]");
    }

    /// A trace of flows.
    pub(super) TRACE = "compute.traces" {
        /// Label of the trace.
        TRACE_LABEL: String = Key::new("label").required().example("\"10 MB\"");
        /// The fabric of the trace. If left out, `compute.topology`.
        TRACE_FABRIC: Inner = Key::new("topology").table(&TOPOLOGY).example("{ kind = \"torus\", dims = [4, 4, 4] }");
        /// Maximum number of ticks at which the reference algorithm, which is slow, also computes the rates.
        REFERENCE_TICKS: u32 = Key::new("reference_ticks").computed("`ticks`").example("10");
        /// The workload that generates the flows.
        TRACE_WORKLOAD: Inner =
            Key::new("workload").required().table(&WORKLOAD).example("{ pairs = \"uniform\", … }");
    }

    /// A torus and its long flows.
    pub(super) FLOW_SET = "compute.workloads" {
        /// Label of the workload.
        SET_LABEL: String = Key::new("label").required().example("\"half of the nodes\"");
        /// Sources and destinations of the flows: one flow for each pair.
        SET_PAIRS: Kinded =
            Key::new("pairs").required().table(&PAIRS_KEYS).example("{ kind = \"permutation\", fraction = 0.5 }");
        ..&GRID;
    }

    /// A search for the protocol of each flow.
    pub(super) SEARCH_TABLE = "compute.searches" {
        /// Label of the search. Searches of one label differ in their `setting`.
        SEARCH_LABEL: String = Key::new("label").required().example("\"annealing\"");
        /// Label of the search's parameters.
        SETTING: String = Key::new("setting").or("\"\"").example("\"hot\"");
        /// The search.
        SEARCH: Name = Key::new("search").required().of("search", SEARCHES);
        /// True if all flows use the first protocol at the start of the search. Otherwise, the protocols are random.
        FROM_FIRST: bool = Key::new("from_first").or("false");
        /// Maximum number of assignments that the search evaluates. If left out, the search runs to its end.
        EVALUATIONS: u64 = Key::new("evaluations").above_zero().example("5000");
    }

    /// The file's own experiment with other values of some keys.
    pub(super) RUN_CASE = "compute.cases" {
        /// Label of the case.
        RUN_LABEL: String = Key::new("label").required().example("\"load 0.5\"");
        /// Keys with their values, as `--set` of `raddle run` takes them.
        CASE_SET: Vec<String> = Key::new("set").or("[]").example("[\"workload.arrivals.load=0.5\"]");
    }

    /// A program with a label. Its keys other than `label` and `rendezvous` are the keys of a skeleton.
    pub(super) PROGRAM = "compute.programs" {
        /// Label of the program.
        PROGRAM_LABEL: String = Key::new("label").required().example("\"CG\"");
        /// Messages of at least this size, before scaling, count as three in `mean with requests`: the sender's
        /// request, the receiver's answer, and the message.
        RENDEZVOUS: Bytes = Key::new("rendezvous").example("\"16 KB\"");
        ..&SKELETON_KEYS;
    }
}

key! {
    /// The fabrics.
    pub(super) FABRICS: Tables = Key::new("fabrics")
        .required()
        .table(&FABRIC)
        .example("[{ label = \"k = 4\", topology = { kind = \"fat_tree\", … } }]");
    /// The fabrics.
    pub(super) GRID_FABRICS: Tables = Key::new("fabrics")
        .required()
        .table(&GRID_FABRIC)
        .example("[{ label = \"3D torus\", fabric = \"torus\", dims = [8, 8, 8] }]");
    /// The routing protocols.
    pub(super) SCHEMES: Tables =
        Key::new("schemes").required().table(&SCHEME).example("[{ label = \"RPS\", protocol = \"romm\" }]");
    /// The traffic patterns.
    pub(super) PATTERN_LIST: Tables = Key::new("patterns")
        .required()
        .table(&PATTERN_KEYS)
        .example("[{ label = \"UR\", pattern = \"uniform\" }]");
    /// The links.
    pub(super) LINKS: Tables = Key::new("links").required().table(&LINK).example("[{ label = \"1->4\", capacity = 1 }]");
    /// The examples.
    pub(super) CASES: Tables =
        Key::new("cases").required().table(&CASE).example("[{ label = \"…\", flows = […] }]");
    /// The cases.
    pub(super) RUN_CASES: Tables = Key::new("cases")
        .required()
        .table(&RUN_CASE)
        .example("[{ label = \"load 0.5\", set = [\"workload.arrivals.load=0.5\"] }]");
    /// Number of runs of each case. The seeds are the experiment's seed and the numbers after it.
    pub(super) RUN_SEEDS: u32 = Key::new("seeds").or("1").above_zero();
    /// Size of small flows.
    pub(super) SMALL: Bytes = Key::new("small").required().above_zero().example("\"10 KB\"");
    /// Size of large flows.
    pub(super) LARGE: Bytes = Key::new("large").required().above_zero().example("\"35 MB\"");
    /// Each number is the share of all data bytes that is in small flows. There is a result for each number.
    pub(super) SHARES: Vec<Fraction> = Key::new("shares").required().example("[0, 0.05, 1]");
    /// Size of a controller's message without its rates.
    pub(super) HEADER: Bytes = Key::new("header").required().example("\"16 B\"");
    /// Size of one rate in a controller's message.
    pub(super) RATE: Bytes = Key::new("rate").required().example("\"4 B\"");
    /// Time between two successive messages of the controller to a node, if the controller sends rates once in each
    /// interval.
    pub(super) INTERVAL: Duration = Key::new("interval").required().above_zero().example("\"500 us\"");
    /// Mean time between the starts of two successive flows.
    pub(super) MEAN_GAP: Duration = Key::new("mean_gap").required().example("\"1 us\"");
    /// Numbers of flows that a node sends. There are results for each number.
    pub(super) FLOWS: Vec<u32> = Key::new("flows").required().example("[1, 5, 10]");
    /// The fabric.
    pub(super) RATE_TOPOLOGY: Inner =
        Key::new("topology").required().table(&TOPOLOGY).example("{ kind = \"torus\", dims = [8, 8, 8] }");
    /// Share of each link's rate that the allocation leaves free.
    pub(super) RATE_HEADROOM: Fraction = Key::new("headroom").or("0.05").example("\"5%\"");
    /// Seed of all random streams.
    pub(super) SEED: u64 = Key::new("seed").or("1");
    /// Number of rate computations.
    pub(super) TICKS: u32 = Key::new("ticks").required().above_zero().example("100");
    /// Intervals between rate computations, or between decays of a load estimate.
    pub(super) INTERVALS: Vec<Duration> = Key::new("intervals")
        .required()
        .example("[\"500 us\"]")
        .such("times greater than 0", |intervals: &Vec<Duration>| !intervals.contains(&Duration::ZERO));
    /// Rate of the link whose load is estimated.
    pub(super) ESTIMATE_RATE: Rate = Key::new("rate").required().above_zero().example("\"10 Gbps\"");
    /// Share of its value that the estimator loses in each interval.
    pub(super) ESTIMATE_ALPHA: f64 = Key::new("alpha").or("0.1").such("from 0.001 to 1", |alpha: &f64| (0.001..=1.0).contains(alpha));
    /// Size of the packets that the link carries.
    pub(super) FRAME: Bytes = Key::new("frame").or("\"1518 B\"").above_zero();
    /// The traces.
    pub(super) TRACES: Tables =
        Key::new("traces").required().table(&TRACE).example("[{ label = \"10 MB\", workload = { … } }]");
    /// Number of nodes whose computations are replayed.
    pub(super) NODES: u32 = Key::new("nodes").or("1").above_zero();
    /// Factor by which an emulated slow core is slower than this machine's core.
    pub(super) SLOW: u32 = Key::new("slow").or("20").above_zero();
    /// The switch whose decisions are timed.
    pub(super) SWITCH: u32 = Key::new("switch").required().example("8");
    /// The routings whose decisions are timed.
    pub(super) ROUTINGS: Vec<String> = Key::new("routings")
        .required()
        .example("[\"ecmp\"]")
        .such("one or more names", |routings: &Vec<String>| !routings.is_empty());
    /// Shares of the nodes that take part in a permutation.
    pub(super) FRACTIONS: Vec<Fraction> = Key::new("fractions").required().example("[0.5]").such(
        "one or more shares above 0",
        |fractions: &Vec<Fraction>| !fractions.is_empty() && fractions.iter().all(|fraction| fraction.0 > 0.0),
    );
    /// Share of each link's rate that the allocation leaves free.
    pub(super) SELECTION_HEADROOM: Fraction = Key::new("headroom").or("0.0").example("\"5%\"").such("less than 1", |share: &Fraction| share.0 < 1.0);
    /// Number of permutations for each share.
    pub(super) INSTANCES: u64 = Key::new("instances").required().above_zero().example("10");
    /// The workloads.
    pub(super) SETS: Tables = Key::new("workloads")
        .required()
        .table(&FLOW_SET)
        .example("[{ label = \"L = 1\", dims = [4, 4], pairs = \"permutation\" }]");
    /// The searches.
    pub(super) SEARCH_LIST: Tables = Key::new("searches")
        .required()
        .table(&SEARCH_TABLE)
        .example("[{ label = \"hill climbing\", search = \"hill-climbing\" }]");
    /// Number of random starts and, with random pairs, of sets of flows, for each workload.
    pub(super) STARTS: u64 = Key::new("instances").required().above_zero().example("10");
    /// Number of individuals of a generation.
    pub(super) POPULATION: u64 = Key::new("population").or("100").above_zero();
    /// Probability that a bit of a child flips.
    pub(super) MUTATION: Fraction = Key::new("mutation").or("0.01");
    /// Number of best individuals that survive unchanged.
    pub(super) ELITE: u64 = Key::new("elite").or("10");
    /// If the utility of one protocol exceeds that of another by this share of the initial utility, a flow chooses the
    /// first protocol e (2.718) times as often.
    pub(super) TEMPERATURE: f64 = Key::new("temperature").or("3e-4").above_zero();
    /// At the start of the search, a loss of this share of the initial utility is accepted with probability 1/e.
    pub(super) HOT: f64 = Key::new("hot").or("0.01").above_zero();
    /// At the end of the search, a loss of this share of the initial utility is accepted with probability 1/e.
    pub(super) COLD: f64 = Key::new("cold").or("1e-5").above_zero();
    /// Number of generations of the genetic search.
    pub(super) GENERATIONS: u32 = Key::new("generations").or("60");
    /// Size of an announcement packet.
    pub(super) PACKET: Bytes = Key::new("packet").or("\"1500 B\"");
    /// The source of the flow.
    pub(super) SRC: u32 = Key::new("src").required().example("0");
    /// The destination of the flow.
    pub(super) DST: u32 = Key::new("dst").required().example("1");
    /// The programs.
    pub(super) PROGRAMS: Tables = Key::new("programs")
        .required()
        .table(&PROGRAM)
        .example("[{ label = \"CG\", skeleton = \"cg\", ranks = 128 }]");
}

/// Traffic patterns, by name.
pub(super) const PATTERNS: [(&str, Pattern); 6] = [
    ("nearest-neighbour", Pattern::NearestNeighbour),
    ("uniform", Pattern::Uniform),
    ("bit-complement", Pattern::BitComplement),
    ("transpose", Pattern::Transpose),
    ("tornado", Pattern::Tornado),
    ("worst-case", Pattern::WorstCase),
];

fn protocols() -> Vec<(String, &'static str)> {
    Protocol::all().map(|protocol| (protocol.to_string(), protocol.summary())).collect()
}

static SEARCHES: &[Kind] = &[
    Kind { name: "genetic", words: "genetic algorithm of R2C2", keys: &[&POPULATION, &MUTATION, &ELITE] },
    Kind { name: "hill-climbing", words: "best change of one flow, until none improves", keys: &[] },
    Kind { name: "log-linear", words: "log-linear learning", keys: &[&TEMPERATURE] },
    Kind { name: "annealing", words: "simulated annealing", keys: &[&HOT, &COLD] },
    Kind { name: "exhaustive", words: "all assignments, at most 65,536", keys: &[] },
];

static KINDS: &[Kind] = &[
    Kind {
        name: "throughput-fraction",
        words: "throughput of oblivious routing on a torus, as a fraction of the torus's capacity",
        keys: &[&DIMS, &SCHEMES, &PATTERN_LIST],
    },
    Kind { name: "allocation", words: "max-min fair rates in small examples", keys: &[&LINKS, &CASES] },
    Kind {
        name: "broadcast-overhead",
        words: "bytes that R2C2 broadcasts about flow starts and ends, per byte of data",
        keys: &[&SMALL, &LARGE, &SHARES, &GRID_FABRICS],
    },
    Kind {
        name: "broadcast-load",
        words: "mean bytes per link of R2C2's START broadcasts, on a torus with one flow for each ordered pair \
                of nodes",
        keys: &[&DIMS],
    },
    Kind {
        name: "controller-overhead",
        words: "control bytes of a central controller for each flow start or end, divided by the bytes of \
                R2C2's broadcasts",
        keys: &[&DIMS, &HEADER, &RATE, &INTERVAL, &MEAN_GAP, &FLOWS],
    },
    Kind {
        name: "rate-overhead",
        words: "time of one rate computation, as a share of the recomputation interval",
        keys: &[&RATE_TOPOLOGY, &RATE_HEADROOM, &SEED, &TICKS, &INTERVALS, &TRACES],
    },
    Kind {
        name: "counted-flows",
        words: "number of flows that one rate computation counts",
        keys: &[&RATE_TOPOLOGY, &RATE_HEADROOM, &SEED, &TICKS, &INTERVALS, &TRACES],
    },
    Kind {
        name: "rate-computations",
        words: "number of rate computations of all nodes of R2C2, or of its central controller, in the \
                experiment in this file",
        keys: &[&RUN_CASES, &RUN_SEEDS],
    },
    Kind {
        name: "rate-replay",
        words: "processor time of rate computations, and delay in handling packets and timers, in live \
                nodes that replay the experiment in this file",
        keys: &[&NODES, &INTERVALS, &SLOW],
    },
    Kind {
        name: "forwarding-cost",
        words: "processor time of each forwarding decision of a switch, in the live experiment in this file",
        keys: &[&SWITCH, &ROUTINGS],
    },
    Kind {
        name: "selection",
        words: "sum of the rates of all flows in random permutations, if a genetic search chooses each \
                flow's routing protocol, if the protocols are random, and if all flows use one protocol",
        keys: &[&DIMS, &SCHEMES, &FRACTIONS, &SELECTION_HEADROOM, &INSTANCES, &SEED, &GENERATIONS],
    },
    Kind {
        name: "searches",
        words: "sum of the rates of all flows if searches choose each flow's routing protocol, and how much \
                it depends on the searches' parameters",
        keys: &[&SCHEMES, &SETS, &STARTS, &SEED, &SEARCH_LIST],
    },
    Kind {
        name: "search-landscape",
        words: "number of local maxima over the assignments of routing protocols to a few flows",
        keys: &[&SCHEMES, &SETS, &STARTS, &SEED],
    },
    Kind { name: "header-limits", words: "largest values that fit in header fields", keys: &[&PACKET] },
    Kind {
        name: "load-estimate",
        words: "time that the load estimate of CONGA and Expeditus needs to follow a step of the link load",
        keys: &[&ESTIMATE_RATE, &INTERVALS, &ESTIMATE_ALPHA, &FRAME],
    },
    Kind {
        name: "path-selection",
        words: "how many messages and switches a path selection of Expeditus needs, and how long it takes, \
                in the experiment in this file",
        keys: &[&RUN_CASES, &RUN_SEEDS],
    },
    Kind {
        name: "flowlets",
        words: "into how many flowlets CONGA splits flows, and how recent the loads are by which it chooses \
                uplinks, in the experiment in this file",
        keys: &[&RUN_CASES, &RUN_SEEDS],
    },
    Kind { name: "paths", words: "number of shortest paths between hosts", keys: &[&FABRICS] },
    Kind {
        name: "routes",
        words: "number of hops of routes, and memory for the link weights of one host's flows",
        keys: &[&FABRICS, &SCHEMES],
    },
    Kind {
        name: "link-weights",
        words: "mean number of times that a packet of one flow crosses each link",
        keys: &[&SRC, &DST, &FABRICS, &SCHEMES],
    },
    Kind { name: "messages", words: "sizes of the messages that parallel programs send", keys: &[&PROGRAMS] },
];
