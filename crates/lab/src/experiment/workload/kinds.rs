//! The kinds of arrivals, sizes, pairs and deadlines by name.

use raddle_workload::mpi::collectives::{ALGORITHMS, Algorithm};
use raddle_workload::mpi::{KNOWN, Known};
use raddle_workload::{PUBLISHED, Published};

/// The kinds of arrivals, sizes and pairs, each with a line of description.
const KINDS: &[(&str, &str)] = &[
    (
        "arrivals poisson",
        "random starts over the whole fabric: mean_gap = \"1 us\", rate = \"5000 / s\", or load = 0.5 of the senders' links over the \
         fabric's oversubscription (mean_size of the load if not that of sizes; exact = true stretches the starts until the flows drawn offer it)",
    ),
    ("arrivals fixed", "evenly spaced starts: gap = \"1 us\""),
    ("arrivals all_at_once", "every flow at time 0, or within jitter = \"1 us\" after it"),
    (
        "arrivals cbr",
        "every sender on its own, one-frame flows evenly spaced from a random phase on: load = 0.9 of its link, \
         frame = \"1500 B\"",
    ),
    (
        "arrivals bernoulli",
        "every sender on its own, one-frame flows, in each slot of its link with the same probability: load = 0.9, \
         frame = \"1500 B\"",
    ),
    (
        "arrivals on_off",
        "every sender on its own, one-frame flows in geometric bursts at its link's rate, silences between: load = 0.9, \
         burst = 10 frames in the mean, frame = \"1500 B\"",
    ),
    ("arrivals bursty", "as on_off, but each burst is one flow to one destination"),
    ("sizes fixed", "all the same: size = \"1 MB\""),
    ("sizes pareto", "heavy-tailed: shape = 1.05, mean = \"100 KB\""),
    ("sizes exponential", "mean = \"100 KB\""),
    ("sizes uniform", "min = \"2 KB\", max = \"198 KB\""),
    (
        "sizes cdf",
        "points of a file, bytes and percent: file = \"web.cdf\"; truncate = \"1%\" leaves out the largest flows, of tables by name too",
    ),
    ("pairs uniform", "every ordered pair of distinct hosts alike"),
    (
        "pairs permutation",
        "each host sends to one other and receives from one: fraction = 1.0 of the hosts; times = 10 such permutations",
    ),
    ("pairs all_to_all", "every host to every other"),
    (
        "pairs inter_pod",
        "Clos: every ordered pair of hosts of different pods alike; pods = [0, 1] for those alone",
    ),
    ("pairs bijection", "Clos: each host sends to one and receives from one of another pod"),
    ("pairs random_other_pod", "Clos: each host sends to a random one of another pod"),
    (
        "pairs staggered",
        "Clos: each host sends to a random one, edge = 0.2 in its rack, pod = 0.3 in its pod, else outside",
    ),
    ("pairs nearest_neighbour", "grids: each node to its neighbours"),
    (
        "pairs bit_complement",
        "grids: x to k - 1 - x in each dimension; else digits of hosts' numbers complemented: radix = 2, the default but \
         for k-ary trees",
    ),
    ("pairs bit_reversal", "digits of hosts' numbers reversed: radix = 2"),
    ("pairs bit_rotation", "digits of hosts' numbers rotated, the lowest to the top: radix = 2"),
    ("pairs perfect_shuffle", "digits of hosts' numbers rotated, the highest to the bottom: radix = 2"),
    (
        "pairs transpose",
        "grids: (x, y) to (y, x), (x, y, z) to (y, z, x); else digits of hosts' numbers rotated by half: radix = 2",
    ),
    ("pairs butterfly", "lowest and highest digit of hosts' numbers swapped: radix = 2"),
    (
        "pairs tornado",
        "host i of n to host i + ceil(n / 2) - 1; grids: just under half way round the first dimension",
    ),
    ("pairs neighbor", "host i to host i + 1"),
    ("pairs stride", "host i to host i + by, a shift"),
    ("pairs exchange", "host i to host i xor by"),
    ("pairs random_permutation", "a random permutation of the hosts; who is mapped to itself is silent"),
    ("pairs incast", "several to one: senders = 8, receiver = 0 (random if left out)"),
    (
        "process constant",
        "how an application with `app_rate`, `load` or a hotspot produces: evenly spaced frames",
    ),
    ("process poisson", "frames with exponential gaps"),
    ("process bernoulli", "in each slot of the link a frame with the same probability"),
    (
        "process on_off",
        "geometric bursts at the link's rate, silences between: burst = 10 frames in the mean",
    ),
    ("deadlines none", "it does not matter when flows are complete"),
    ("deadlines fixed", "the same time after the start for all: deadline = \"1 ms\""),
    ("deadlines exponential", "mean = \"20 ms\", raised to min = \"3 ms\"; of flows below = \"40 KB\" alone"),
    (
        "load",
        "one long flow a pair, from time 0 on: load = 0.9 of the sender's link, duration = \"10 ms\", process = \"poisson\"",
    ),
    (
        "hotspot",
        "alone or with what `pairs` send: hotspot = { type = \"input\", destination = 31, degree = 4, severity = 1.8, \
         start = \"10 ms\", duration = \"20 ms\", victims = [{ src = 1, dst = 30, load = 0.95 }] }, duration = \"50 ms\"; \
         sources = [0, 8] or degree = \"10%\" for other sources; type = \"output\", for slow links of the topology, has \
         other defaults",
    ),
    (
        "file",
        "flows of a file: file = \"trace.txt\"; format = \"hpcc\" or \"htsim\", after the file's ending (.txt, .cm) if \
         left out",
    ),
    (
        "goal",
        "a message-passing program, whose ranks send when they come to it: goal = \"is.B.64.goal\" (or .goal.zst); scale = 1 \
         multiplies sizes, eager = \"16 KB\" (or \"always\") is the size from which the receiver is asked first, \
         placement = \"random\" or \"in_order\", lookahead = 4096 statements",
    ),
    (
        "skeleton",
        "the communication of a known program: skeleton = \"cg\", ranks = 128; class = \"D\" of NAS's sizes, iterations, \
         compute = \"10 ms\" of each iteration (as measured if left out), scaled = true for the published factor of its \
         messages; scale, eager, placement and lookahead as for `goal`",
    ),
    (
        "skeleton halo",
        "neighbours on a grid of ranks: grid = [16, 16], sizes = [\"97 KB\"] of one exchange after another, wraps = true, \
         corners = true; else as above",
    ),
    (
        "collective",
        "all ranks together: collective = \"allreduce\", algorithm = \"ring\", ranks = 64, size = \"1 MB\", iterations = 1, \
         compute = \"0 ns\"",
    ),
    ("list", "flows one by one: list = [{ src = 0, dst = 1, size = \"1 MB\", start = \"0 ns\" }]"),
];

/// The kinds of workload, each with a line of description.
pub fn kinds() -> impl Iterator<Item = (String, String)> {
    KINDS.iter().flat_map(|&(name, summary)| {
        let published = if name == "sizes cdf" { &PUBLISHED[..] } else { &[] };
        let skeletons = if name == "skeleton" { &KNOWN[..] } else { &[] };
        let collectives = if name == "collective" { &ALGORITHMS[..] } else { &[] };
        std::iter::once((name.to_owned(), summary.to_owned()))
            .chain(published.iter().map(describe))
            .chain(skeletons.iter().map(describe_skeleton))
            .chain(collectives.iter().map(describe_algorithm))
    })
}

fn describe(published: &Published) -> (String, String) {
    let mean = published.sizes(published.unit).mean();
    let unit = match published.counts_packets() {
        true => format!(" with packets of unit = \"{}\"", published.unit),
        false => String::new(),
    };
    (format!("sizes {}", published.name), format!("{}: mean {mean:.0} B{unit}", published.summary))
}

fn describe_skeleton(known: &Known) -> (String, String) {
    let scale = known.scale.map_or(String::new(), |scale| format!("; scaled by {scale}"));
    (format!("skeleton {}", known.name), format!("{}{scale}", known.summary))
}

fn describe_algorithm(algorithm: &Algorithm) -> (String, String) {
    let need = if algorithm.powers_of_two { ", of a power of two of ranks" } else { "" };
    (format!("collective {}", algorithm.operation), format!("algorithm = \"{}\"{need}", algorithm.name))
}

/// The names of the `KINDS` of a role.
pub(crate) fn names(role: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = KINDS.iter().filter_map(move |(name, _)| name.strip_prefix(role)?.strip_prefix(' '));
    kinds.map(|name| (name, name))
}
