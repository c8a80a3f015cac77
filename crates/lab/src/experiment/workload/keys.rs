//! The keys of `[workload]`.

use super::hotspot::Degree;
use super::ranks::{Eager, Placement};
use crate::experiment::frequency::Frequency;
use crate::experiment::keys::{Choices, Inner, Key, Kind, Kinded, Name, Tables, key, keys};
use crate::experiment::section::Fraction;
use raddle_core::{Bytes, Duration, Rate};
use raddle_schemes::registry::Registry;
use raddle_workload::PUBLISHED;
use raddle_workload::mpi::KNOWN;
use raddle_workload::mpi::collectives::ALGORITHMS;
use raddle_workload::mpi::nas::Class;

keys! {
    /// The flows, described in one of these ways: drawn flows (`arrivals`, `sizes`, `pairs`), long flows at a `load`, a
    /// `hotspot`, a `list`, a `file`, or the messages of a program (`goal`, `skeleton`, `collective`). A `hotspot` may
    /// also be added to drawn flows or to long flows.
    pub(crate) WORKLOAD = "workload" {
        /// Start times of drawn flows.
        ARRIVALS: Kinded = Key::new("arrivals").table(&ARRIVALS_KEYS).example("{ kind = \"poisson\", mean_gap = \"1 us\" }");
        /// Sizes of drawn flows.
        SIZES: Kinded = Key::new("sizes").table(&SIZES_KEYS).example("{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }");
        /// Sources and destinations of drawn flows and of long flows.
        PAIRS: Kinded = Key::new("pairs").table(&PAIRS_KEYS).example("\"uniform\"");
        /// Number of drawn flows. Drawn flows need exactly one of `flows`, `duration` and `once`.
        FLOWS: u32 = Key::new("flows").above_zero().example("1000");
        /// Drawn flows start before this time. Long flows and the victims of a hotspot send until this time.
        DURATION: Duration = Key::new("duration").above_zero().example("\"10 ms\"");
        /// If true, each pair has one flow.
        ONCE: bool = Key::new("once").computed("`false`").example("true");
        /// Deadlines of drawn flows. If left out, flows have no deadlines.
        DEADLINES: Kinded = Key::new("deadlines").table(&DEADLINES_KEYS).example("{ kind = \"fixed\", deadline = \"1 ms\" }");
        /// If given, one long flow per pair sends from time 0 on. The sum of the rates of a sender's long flows is this
        /// share of the rate of the sender's fastest link.
        LOAD: f64 = Key::new("load").example("0.9").such(SHARE_OF_A_LINK, is_share_of_a_link);
        /// Hosts that send to the same host, and victim flows. A hotspot can be the only traffic, or be added to the
        /// flows of `pairs`.
        HOTSPOT: Inner = Key::new("hotspot").table(&HOTSPOT_KEYS).example("{ type = \"input\" }");
        /// A list of flows.
        LIST: Tables = Key::new("list").table(&FLOW_KEYS).example("[{ src = 0, dst = 1, size = \"1 MB\" }]");
        /// Path of a file of flows, relative to the experiment's file.
        FILE: String = Key::new("file").example("\"trace.txt\"");
        /// Format of the file. If left out, the format is `hpcc` if the file's name ends in `.txt`, and `htsim` if it
        /// ends in `.cm`. Files with other names need this key.
        FORMAT: Name = Key::new("format").of("format", &[
            Kind { name: "hpcc", words: "flow file of HPCC's simulator", keys: &[] },
            Kind { name: "htsim", words: "connection matrix of htsim", keys: &[] },
        ]);
        /// A GOAL file, which may be compressed (`.zst`): a program whose ranks send messages.
        GOAL: String = Key::new("goal").example("\"is.B.64.goal\"");
        /// A collective operation of all ranks.
        COLLECTIVE: Name = Key::new("collective").example("\"allreduce\"").registered("collective operation", collectives);
        /// Bytes that each rank contributes to a collective operation, or receives from the root. With `alltoall`,
        /// bytes that each rank sends to every other rank. A `barrier` has no `size`.
        SIZE: Bytes = Key::new("size").above_zero().example("\"1 MB\"");
        /// Messages of at least this size, after scaling, are sent by rendezvous: the sender first asks the receiver.
        /// With `always`, no message uses rendezvous.
        EAGER: Eager = Key::new("eager").or("\"16 KB\"");
        /// Number of statements that each rank reads ahead in its program.
        LOOKAHEAD: u64 = Key::new("lookahead").or("4096").above_zero();
        /// The rule that assigns ranks to hosts.
        PLACEMENT: Placement = Key::new("placement").or("\"random\"");
        ..&SKELETON_KEYS, &FLOW_TRAITS;
    }

    /// Start times of drawn flows. A string stands for a table with that `kind` and no other keys.
    pub(super) ARRIVALS_KEYS = "workload.arrivals" {
        /// The kind of arrivals.
        ARRIVALS_KIND: Name = Key::new("kind").required().of("kind of arrivals", ARRIVALS_KINDS);
    }

    /// Sizes of drawn flows. A string stands for a table with that `kind` and no other keys.
    pub(super) SIZES_KEYS = "workload.sizes" {
        /// The kind of sizes, or the name of a published distribution.
        SIZES_KIND: Name = Key::new("kind").required().of("kind of sizes", SIZES_KINDS).registered("kind of sizes", sizes);
        /// Size of a packet, for published distributions that give sizes in packets.
        UNIT: Bytes = Key::new("unit").computed("the published value").above_zero().example("\"1460 B\"");
        /// Share of the flows that is left out of the distribution. The largest flows are left out.
        TRUNCATE: Fraction = Key::new("truncate").example("\"1%\"").such("less than 1", |share: &Fraction| share.0 < 1.0);
    }

    /// Pairs of sources and destinations. A string stands for a table with that `kind` and no other keys.
    pub(crate) PAIRS_KEYS = "workload.pairs" {
        /// The kind of pairs.
        PAIRS_KIND: Name = Key::new("kind").required().of("kind of pairs", PAIRS_KINDS).also(&[
            ("all2all", "all_to_all"),
            ("nearest_neighbor", "nearest_neighbour"),
            ("complement", "bit_complement"),
            ("bit_reverse", "bit_reversal"),
            ("bit_rotate", "bit_rotation"),
            ("shuffle", "perfect_shuffle"),
        ]);
    }

    /// Deadlines of drawn flows. A string stands for a table with that `kind` and no other keys.
    pub(super) DEADLINES_KEYS = "workload.deadlines" {
        /// The kind of deadlines.
        DEADLINES_KIND: Name = Key::new("kind").required().of("kind of deadlines", DEADLINES_KINDS);
    }

    /// Process that determines when an application produces frames. A string stands for a table with that `kind` and no
    /// other keys.
    pub(super) PROCESS_KEYS = "workload.process" {
        /// The kind of process.
        PROCESS_KIND: Name = Key::new("kind").required().of("kind of process", PROCESS_KINDS);
    }

    /// A hotspot, as in the paper on Switch Adaptive Routing: sources that send to one destination, and victim flows
    /// that share links with this traffic. With type `output`, slow links cause the congestion.
    pub(super) HOTSPOT_KEYS = "workload.hotspot" {
        /// The type of hotspot: `input` if hosts send more than the destination's link can carry, or `output` if links
        /// of the topology are slow. The type sets the defaults of the other keys.
        HOTSPOT_TYPE: Name = Key::new("type").or("\"input\"").of("type of hotspot", &[
            Kind {
                name: "input",
                words: "hosts send more traffic to one host than the link of this host can carry",
                keys: &[],
            },
            Kind { name: "output", words: "slow links of the topology cause the congestion", keys: &[] },
        ]);
        /// The host to which the sources send.
        DESTINATION: u32 = Key::new("destination").computed("depends on `type`").example("31");
        /// The hosts that send.
        SOURCES: Vec<u32> = Key::new("sources").example("[0, 8]");
        /// Number of hosts that send, or their share of all hosts, in place of `sources`.
        DEGREE: Degree = Key::new("degree").computed("depends on `type`").example("4");
        /// Sum of the sources' rates, divided by the rate of the destination's fastest link.
        SEVERITY: f64 = Key::new("severity").computed("depends on `type`").above_zero().example("1.8");
        /// Time at which the sources begin to send.
        HOTSPOT_START: Duration = Key::new("start").computed("depends on `type`").example("\"10 ms\"");
        /// Time for which the sources send.
        HOTSPOT_DURATION: Duration = Key::new("duration").computed("depends on `type`").above_zero().example("\"20 ms\"");
        /// Flows that share links with the hotspot.
        VICTIMS: Tables = Key::new("victims")
            .computed("depends on `type`")
            .table(&VICTIM_KEYS)
            .example("[{ src = 1, dst = 30, load = 0.95 }]");
    }

    /// A flow that shares links with a hotspot.
    pub(super) VICTIM_KEYS = "workload.hotspot.victims" {
        /// Source of the victim flow.
        VICTIM_SRC: u32 = Key::new("src").required().example("1");
        /// Destination of the victim flow.
        VICTIM_DST: u32 = Key::new("dst").required().example("30");
        /// Rate of the victim flow, as a share of the rate of its sender's fastest link.
        VICTIM_LOAD: f64 =
            Key::new("load").required().example("0.95").such(SHARE_OF_A_LINK, is_share_of_a_link);
    }

    /// One flow.
    pub(super) FLOW_KEYS = "workload.list" {
        /// The source.
        SRC: u32 = Key::new("src").required().example("0");
        /// The destination.
        DST: u32 = Key::new("dst").required().example("1");
        /// The size.
        FLOW_SIZE: Bytes = Key::new("size").required().above_zero().example("\"1 MB\"");
        /// Time at which the flow starts.
        START: Duration = Key::new("start").or("\"0 ns\"");
        /// Time after the start by which the flow should be complete. If left out, there is no deadline.
        FLOW_DEADLINE: Duration = Key::new("deadline").above_zero().example("\"1 ms\"");
        ..&FLOW_TRAITS;
    }

    /// The keys of a skeleton. Some of them also apply to collective operations and GOAL files.
    pub(crate) SKELETON_KEYS = "workload" {
        /// The communication pattern of a known program, or of neighbors on a grid (`halo`).
        SKELETON: Name = Key::new("skeleton").example("\"cg\"").registered("skeleton", skeletons);
        /// Number of ranks of a collective operation, or of a skeleton other than `halo`. A host runs one rank at most.
        RANKS: u32 = Key::new("ranks").above_zero().example("64");
        /// Algorithm of the collective operation, or of the all-reduce in the skeleton `is`.
        ALGORITHM: Name = Key::new("algorithm")
            .computed("the operation's first algorithm in `raddle list workloads`")
            .example("\"ring\"")
            .registered("algorithm", algorithms);
        /// Problem size class of the NAS Parallel Benchmarks.
        CLASS: Name = Key::new("class").computed("the published value").example("\"D\"").registered("class", classes);
        /// Number of ranks of `halo` in each dimension of the grid: one to three numbers.
        GRID: Vec<u32> = Key::new("grid").example("[16, 16]").such("one to three numbers above 0", |dims: &Vec<u32>| {
            (1..=3).contains(&dims.len()) && !dims.contains(&0)
        });
        /// Message sizes of `halo`: one size for each exchange in an iteration.
        HALO_SIZES: Vec<Bytes> =
            Key::new("sizes").example("[\"97 KB\"]").such("one or more sizes", |sizes: &Vec<Bytes>| !sizes.is_empty());
        /// If true, the grid of `halo` wraps around.
        WRAPS: bool = Key::new("wraps").or("false");
        /// If true, ranks of `halo` also send to neighbors across the edges and corners of their blocks.
        CORNERS: bool = Key::new("corners").or("false");
        /// Number of iterations of a skeleton or a collective operation.
        ITERATIONS: u32 = Key::new("iterations").computed("the program's own").above_zero().example("10");
        /// Time for which ranks compute in each iteration.
        COMPUTE: Duration = Key::new("compute").example("\"10 ms\"").computed(
            "the measured or assumed compute time of the skeleton's program; 0 for `halo` and collective \
             operations",
        );
        /// If true, the sizes of messages are multiplied by the published factor of the skeleton.
        SCALED: bool = Key::new("scaled").or("false");
        /// The sizes of messages are multiplied by this factor.
        SCALE: u64 = Key::new("scale").or("1").above_zero();
    }

    /// Properties that applications choose for their flows.
    pub(super) FLOW_TRAITS = "workload" {
        /// Rate at which the application of each flow produces bytes. If left out, all bytes are available at the
        /// flow's start.
        APP_RATE: Rate = Key::new("app_rate").above_zero();
        /// Process that determines when an application produces frames. This key needs `app_rate`, `load` or `hotspot`.
        PROCESS: Kinded = Key::new("process").computed("`\"constant\"`").table(&PROCESS_KEYS).example("\"poisson\"");
        /// Weight of each flow in the allocation of rates.
        WEIGHT: u64 = Key::new("weight").or("1").within(1.0, 255.0);
        /// Priority of each flow. Priority 0 is served first.
        PRIORITY: u64 = Key::new("priority").or("0").within(0.0, 15.0);
    }
}

/// The limit that [`is_share_of_a_link`] checks, in words.
const SHARE_OF_A_LINK: &str = "above 0 and at most 1";

#[allow(clippy::trivially_copy_pass_by_ref, reason = "`Key::such` needs a function that takes a reference")]
fn is_share_of_a_link(load: &f64) -> bool {
    *load > 0.0 && *load <= 1.0
}

key! {
    /// Mean time between the starts of two successive flows, over the whole fabric.
    pub(super) MEAN_GAP: Duration = Key::new("mean_gap").above_zero().example("\"1 us\"");
    /// Mean number of flows that start per unit of time, in place of `mean_gap`.
    pub(super) RATE: Frequency = Key::new("rate").example("\"5000 / s\"").such(
        "above 0 and at most 1 per picosecond",
        |rate: &Frequency| rate.per_second() > 0.0 && rate.mean_gap_ps().round() >= 1.0,
    );
    /// Offered load as a share of the capacity, in place of `mean_gap`. The capacity is the sum of the rates of the
    /// senders' fastest links. In Clos networks, it is divided by the oversubscription.
    pub(super) ARRIVALS_LOAD: f64 = Key::new("load").above_zero().example("0.5");
    /// Mean flow size with which `load` is converted into a mean time between starts.
    pub(super) MEAN_SIZE: Bytes = Key::new("mean_size").computed("the mean of `sizes`").above_zero().example("\"100 KB\"");
    /// If true, the gaps between starts are scaled so that the offered load of the drawn flows is exactly `load`.
    pub(super) EXACT: bool = Key::new("exact").or("false");
    /// Time between the starts of two successive flows.
    pub(super) GAP: Duration = Key::new("gap").required().above_zero().example("\"1 us\"");
    /// Each flow starts at a random time between 0 and this time.
    pub(super) JITTER: Duration = Key::new("jitter").or("\"0 ns\"").example("\"1 us\"");
    /// Rate of each sender, as a share of the rate of its fastest link.
    pub(super) SENDER_LOAD: f64 =
        Key::new("load").required().example("0.9").such(SHARE_OF_A_LINK, is_share_of_a_link);
    /// Size of a frame. Each frame is a flow, except with `bursty`.
    pub(super) FRAME: Bytes = Key::new("frame").or("\"1500 B\"").above_zero();
    /// Mean number of frames in a burst.
    pub(super) BURST: u32 = Key::new("burst").required().above_zero().example("10");
    /// Size of each flow.
    pub(super) FIXED_SIZE: Bytes = Key::new("size").required().above_zero().example("\"1 MB\"");
    /// Shape of the Pareto distribution.
    pub(super) SHAPE: f64 = Key::new("shape").required().example("1.05").such(
        "greater than 1, so that the mean is finite",
        |shape: &f64| *shape > 1.0,
    );
    /// Mean flow size.
    pub(super) MEAN: Bytes = Key::new("mean").required().above_zero().example("\"100 KB\"");
    /// Smallest flow size.
    pub(super) MIN: Bytes = Key::new("min").required().above_zero().example("\"2 KB\"");
    /// Largest flow size.
    pub(super) MAX: Bytes = Key::new("max").required().example("\"198 KB\"");
    /// Path of a file of points, relative to the experiment's file. Each point is a size in bytes and a cumulative
    /// probability, from 0 to 1 or from 0 to 100 percent.
    pub(super) CDF: String = Key::new("file").required().example("\"web.cdf\"");
    /// Share of the hosts that take part in each permutation.
    pub(super) FRACTION: Fraction = Key::new("fraction").or("1.0").such("above 0", |share: &Fraction| share.0 > 0.0);
    /// Number of independent draws of the pairs. With `all_at_once`, the flows of a host use its draws in turn.
    pub(super) TIMES: u32 = Key::new("times").or("1").above_zero();
    /// The pods between which flows run. If left out, flows run between all pods.
    pub(super) PODS: Vec<u32> =
        Key::new("pods").example("[0, 1]").such("a list of at least two pods", |pods: &Vec<u32>| {
            pods.len() > 1
        });
    /// The pods that send, among the pods between which flows run. If left out, all of them send.
    pub(super) FROM: Vec<u32> = Key::new("from").example("[1]");
    /// Probability that the destination is in the source's rack.
    pub(super) EDGE: Fraction = Key::new("edge").required().example("0.2");
    /// Probability that the destination is in the source's pod, but not in its rack.
    pub(super) POD: Fraction = Key::new("pod").required().example("0.3");
    /// Radix of the digits of hosts' numbers.
    pub(super) RADIX: u32 = Key::new("radix")
        .computed("the arity of a k-ary tree; 2 for other topologies")
        .example("2")
        .such("at least 2", |&radix| radix > 1);
    /// The number that is added to a host's number (`stride`), or combined with it by xor (`exchange`).
    pub(super) BY: u32 = Key::new("by").required().above_zero().example("1");
    /// Number of senders.
    pub(super) SENDERS: u32 = Key::new("senders").required().above_zero().example("8");
    /// The receiver. If left out, the receiver is drawn.
    pub(super) RECEIVER: u32 = Key::new("receiver").example("0");
    /// Time after the start of each flow by which the flow should be complete.
    pub(super) DEADLINE: Duration = Key::new("deadline").required().above_zero().example("\"1 ms\"");
    /// Mean of the exponential distribution of deadlines. A deadline is a time after the start of a flow.
    pub(super) MEAN_DEADLINE: Duration = Key::new("mean").required().above_zero().example("\"20 ms\"");
    /// Shortest deadline: shorter drawn deadlines are raised to it.
    pub(super) MIN_DEADLINE: Duration = Key::new("min").or("\"0 ns\"").example("\"3 ms\"");
    /// Only flows below this size have deadlines. If left out, all flows have deadlines.
    pub(super) BELOW: Bytes = Key::new("below").above_zero().example("\"40 KB\"");
    /// Mean number of frames in a burst.
    pub(super) PROCESS_BURST: u32 = Key::new("burst").required().above_zero().example("10");
}

static ARRIVALS_KINDS: &[Kind] = &[
    Kind {
        name: "poisson",
        words: "flows of the whole fabric start as one Poisson process",
        keys: &[&MEAN_GAP, &RATE, &ARRIVALS_LOAD, &MEAN_SIZE, &EXACT],
    },
    Kind { name: "fixed", words: "evenly spaced starts", keys: &[&GAP] },
    Kind { name: "all_at_once", words: "all flows start at time 0, or soon after", keys: &[&JITTER] },
    Kind {
        name: "cbr",
        words: "each sender sends one-frame flows at equal intervals after a random start time",
        keys: &[&SENDER_LOAD, &FRAME],
    },
    Kind {
        name: "bernoulli",
        words: "each sender sends a one-frame flow with a fixed probability in each time slot of its link",
        keys: &[&SENDER_LOAD, &FRAME],
    },
    Kind {
        name: "on_off",
        words: "each sender sends bursts of one-frame flows at its link's rate, with silences between \
                bursts; burst lengths have a geometric distribution",
        keys: &[&SENDER_LOAD, &FRAME, &BURST],
    },
    Kind {
        name: "bursty",
        words: "like `on_off`, but each burst is one flow to one destination",
        keys: &[&SENDER_LOAD, &FRAME, &BURST],
    },
];

static SIZES_KINDS: &[Kind] = &[
    Kind { name: "fixed", words: "all flows have the same size", keys: &[&FIXED_SIZE] },
    Kind { name: "pareto", words: "heavy-tailed", keys: &[&SHAPE, &MEAN] },
    Kind { name: "exponential", words: "exponential", keys: &[&MEAN] },
    Kind { name: "uniform", words: "uniform between `min` and `max`", keys: &[&MIN, &MAX] },
    Kind { name: "cdf", words: "a distribution in a file", keys: &[&CDF] },
];

static PAIRS_KINDS: &[Kind] = &[
    Kind { name: "uniform", words: "every ordered pair of distinct hosts is equally likely", keys: &[] },
    Kind {
        name: "permutation",
        words: "each host sends to one other host and receives from one other host",
        keys: &[&FRACTION, &TIMES],
    },
    Kind { name: "all_to_all", words: "every host sends to every other host", keys: &[] },
    Kind {
        name: "inter_pod",
        words: "Clos networks: every ordered pair of hosts in different pods is equally likely",
        keys: &[&PODS, &FROM],
    },
    Kind {
        name: "bijection",
        words: "Clos networks: each host sends to one host of another pod and receives from one host of \
                another pod",
        keys: &[],
    },
    Kind {
        name: "random_other_pod",
        words: "Clos networks: each host sends to a random host of another pod",
        keys: &[],
    },
    Kind {
        name: "staggered",
        words: "Clos networks: each host sends to a random host of its rack, of another rack in its pod, or \
                of another pod",
        keys: &[&EDGE, &POD, &TIMES],
    },
    Kind { name: "nearest_neighbour", words: "torus or mesh: each node sends to its neighbours", keys: &[] },
    Kind {
        name: "bit_complement",
        words: "on a torus or mesh without `radix`, coordinate x sends to k - 1 - x in each dimension of \
                size k; otherwise, the destination's number is the source's number with each digit \
                complemented",
        keys: &[&RADIX],
    },
    Kind {
        name: "bit_reversal",
        words: "the destination's number is the source's number with its digits reversed",
        keys: &[&RADIX],
    },
    Kind {
        name: "bit_rotation",
        words: "the destination's number is the source's number with the lowest digit moved to the front",
        keys: &[&RADIX],
    },
    Kind {
        name: "perfect_shuffle",
        words: "the destination's number is the source's number with the highest digit moved to the end",
        keys: &[&RADIX],
    },
    Kind {
        name: "transpose",
        words: "on a torus or mesh without `radix`, (x, y) sends to (y, x), and (x, y, z) sends to \
                (y, z, x); otherwise, the destination's number is the source's number with its digits \
                rotated by half their count",
        keys: &[&RADIX],
    },
    Kind {
        name: "butterfly",
        words: "the destination's number is the source's number with its lowest and highest digits swapped",
        keys: &[&RADIX],
    },
    Kind {
        name: "tornado",
        words: "host i of n sends to host i + ceil(n / 2) - 1, modulo n; on a torus or mesh, this rule \
                applies to the first coordinate",
        keys: &[],
    },
    Kind { name: "neighbor", words: "host i sends to host i + 1; the last host sends to host 0", keys: &[] },
    Kind { name: "stride", words: "host i sends to host i + `by`, modulo the number of hosts", keys: &[&BY] },
    Kind { name: "exchange", words: "host i sends to host i xor `by`", keys: &[&BY] },
    Kind {
        name: "random_permutation",
        words: "a random permutation of the hosts; a host that is mapped to itself sends nothing",
        keys: &[],
    },
    Kind { name: "incast", words: "several hosts send to one host", keys: &[&SENDERS, &RECEIVER] },
];

static PROCESS_KINDS: &[Kind] = &[
    Kind { name: "constant", words: "evenly spaced frames", keys: &[] },
    Kind { name: "poisson", words: "frames with exponentially distributed gaps", keys: &[] },
    Kind {
        name: "bernoulli",
        words: "a frame with a fixed probability in each time slot of the link",
        keys: &[],
    },
    Kind {
        name: "on_off",
        words: "bursts of frames at the link's rate, with silences between bursts; burst lengths have a \
                geometric distribution",
        keys: &[&PROCESS_BURST],
    },
];

static DEADLINES_KINDS: &[Kind] = &[
    Kind { name: "none", words: "flows have no deadlines", keys: &[] },
    Kind {
        name: "fixed",
        words: "flows have the same deadline, counted from the start of each flow",
        keys: &[&DEADLINE, &BELOW],
    },
    Kind {
        name: "exponential",
        words: "deadlines are exponentially distributed, counted from the start of each flow",
        keys: &[&MEAN_DEADLINE, &MIN_DEADLINE, &BELOW],
    },
];

fn sizes(_: &Registry) -> Choices {
    let kinds = SIZES_KINDS.iter().map(|kind| (kind.name.to_owned(), kind.words));
    kinds.chain(PUBLISHED.iter().map(|published| (published.name.to_owned(), published.summary))).collect()
}

fn skeletons(_: &Registry) -> Choices {
    let known = KNOWN.iter().map(|known| (known.name.to_owned(), known.summary));
    let halo = "neighbours on a grid of ranks exchange the borders of their blocks";
    known.chain([(super::skeleton::HALO.to_owned(), halo)]).collect()
}

fn collectives(_: &Registry) -> Choices {
    let mut names: Vec<_> = ALGORITHMS.iter().map(|algorithm| (algorithm.operation.to_owned(), "")).collect();
    names.dedup();
    names
}

fn algorithms(_: &Registry) -> Choices {
    ALGORITHMS.iter().map(|algorithm| (algorithm.name.to_owned(), algorithm.operation)).collect()
}

fn classes(_: &Registry) -> Choices {
    Class::ALL.iter().map(|&(letter, _)| (letter.to_owned(), "")).collect()
}
