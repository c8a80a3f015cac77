//! The keys of `[topology]`.

use super::super::keys::{Key, Kind, Name, Named, Tables, key, keys};
use super::slow::SLOW;
use super::{MOST_NODES, names};
use raddle_core::{Duration, Rate};
use raddle_topology::LinkLayer;

keys! {
    /// The fabric.
    pub(crate) TOPOLOGY = "topology" {
        /// The kind of fabric.
        KIND: Name = Key::new("kind").required().example("\"torus\"").of("kind of topology", KINDS).registered("kind of topology", names).also(&[
            ("leaf_spine", "folded_clos"),
            ("spine_leaf", "folded_clos"),
            ("three_tier_clos", "clos"),
            ("star", "single_switch"),
        ]);
        /// Rate of each link. In Clos networks and dumbbells, rate of the links of hosts. Required for every built-in
        /// kind except `file`.
        LINK_RATE: Rate = Key::new("link_rate").above_zero();
        /// Propagation delay of each link. Required for every built-in kind except `file`.
        LINK_DELAY: Duration = Key::new("link_delay");
        /// Extra bytes of each packet on a link: `none`, or the preamble, header, checksum and gap of Ethernet. The
        /// header is not added to frames of Linux hosts, which have one.
        FRAMING: LinkLayer = Key::new("framing").or("\"none\"");
        /// Links with a reduced rate.
        SLOW_LINKS: Tables = Key::new("slow").table(&SLOW).example("[{ from = 0, to = 1, rate = \"2.5 Gbps\" }]");
    }
}

impl Named for LinkLayer {
    const WHAT: &'static str = "framing";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("none", Self::BARE, "packets without extra bytes"),
        ("ethernet", Self::ETHERNET, "preamble, header, checksum and gap of Ethernet"),
    ];
}

/// A required key for a number of nodes or ports. The number must fit the 24 bits of an address.
const fn nodes(name: &'static str) -> Key<u32> {
    Key::new(name).required().within(1.0, MOST_NODES as f64 - 1.0)
}

key! {
    /// Number of nodes in each dimension.
    pub(super) DIMS: Vec<u32> = Key::new("dims").required().example("[8, 8, 8]").such(
        "one or more numbers of at least 2, with a product of at most 2^24",
        |dims: &Vec<u32>| {
            let nodes = dims.iter().try_fold(1_u64, |nodes, &k| nodes.checked_mul(k.into()));
            !dims.is_empty() && dims.iter().all(|&k| k >= 2) && nodes.is_some_and(|n| n <= MOST_NODES)
        },
    );
    /// Number of dimensions, n. The fabric has 2^n nodes.
    pub(super) DIMENSIONS: u32 = Key::new("dimensions").required().example("9").within(1.0, 24.0);
    /// Number of leaves.
    pub(super) LEAVES: u32 = nodes("leaves").example("32");
    /// Number of spines. Each leaf has a link to each spine.
    pub(super) SPINES: u32 = nodes("spines").example("16");
    /// Number of hosts of each leaf.
    pub(super) HOSTS_PER_LEAF: u32 = nodes("hosts_per_leaf").example("16");
    /// Rate of the links between edge and aggregation switches, or between leaves and spines.
    pub(super) UPLINK_RATE: Rate = Key::new("uplink_rate").computed("`link_rate`").above_zero();
    /// Rate of the links between aggregation switches and cores.
    pub(super) CORE_RATE: Rate = Key::new("core_rate").computed("`uplink_rate`").above_zero();
    /// Number of ports of each switch. The fat-tree has k^3 / 4 hosts.
    pub(super) PORTS_K: u32 = nodes("k").example("8").such("an even number from 2 to 2^24 - 2", |&k| {
        k > 0 && k.is_multiple_of(2) && u64::from(k) < MOST_NODES
    });
    /// Number of pods.
    pub(super) PODS: u32 = nodes("pods").example("12");
    /// Number of edge switches of each pod.
    pub(super) EDGES_PER_POD: u32 = nodes("edges_per_pod").example("6");
    /// Number of aggregation switches of each pod.
    pub(super) AGGREGATIONS_PER_POD: u32 = nodes("aggregations_per_pod").example("6");
    /// Number of cores of each plane. The n-th aggregation switch of each pod has a link to each core of the n-th plane.
    /// May be 0 with a single pod.
    pub(super) CORES_PER_PLANE: u32 = Key::new("cores_per_plane").required().example("3");
    /// Number of hosts of each edge switch.
    pub(super) HOSTS_PER_EDGE: u32 = nodes("hosts_per_edge").example("6");
    /// Number of children of a switch: one number for each level of switches, the lowest level first.
    pub(super) CHILDREN: Vec<u32> =
        Key::new("children").required().example("[16, 16]").such("one or more numbers above 0", |numbers: &Vec<u32>| !numbers.is_empty() && !numbers.contains(&0));
    /// Number of parents of a node: one number for hosts, one for switches of level 1, and so on.
    pub(super) PARENTS: Vec<u32> =
        Key::new("parents").required().example("[1, 10]").such("one or more numbers above 0", |numbers: &Vec<u32>| !numbers.is_empty() && !numbers.contains(&0));
    /// Number of children of each switch, and of parents of each switch below the roots.
    pub(super) ARITY: u32 = nodes("k").example("2");
    /// Number of levels of switches.
    pub(super) LEVELS: u32 = Key::new("n").required().example("5").within(1.0, 24.0);
    /// Number of ports of each switch.
    pub(super) SWITCH_PORTS: u32 = nodes("n").example("4").such("at least 2", |&n| n >= 2);
    /// Number of levels of switches, minus 1. Each server has k + 1 ports.
    pub(super) BCUBE_K: u32 = Key::new("k").required().example("1");
    /// Number of switches.
    pub(super) SWITCHES: u32 = nodes("switches").example("17");
    /// Number of ports of each switch.
    pub(super) PORTS: u32 = nodes("ports").example("24");
    /// Number of ports of each switch that lead to other switches. The other ports lead to hosts.
    pub(super) NETWORK_PORTS: u32 = nodes("network_ports").example("16");
    /// Number of hosts of the first switch.
    pub(super) LEFT: u32 = nodes("left").example("4");
    /// Number of hosts of the second switch.
    pub(super) RIGHT: u32 = nodes("right").example("4");
    /// Rate of the link between the two switches.
    pub(super) BOTTLENECK_RATE: Rate = Key::new("bottleneck_rate").computed("`link_rate`").above_zero();
    /// Number of hosts of the switch.
    pub(super) HOSTS: u32 = nodes("hosts").example("16");
    /// The file of the graph, relative to the experiment's file.
    pub(super) FILE: String = Key::new("file").required().example("\"rack.graphml\"");
    /// Format of the file. If left out, the format is `graphml` if the file's name ends in `.graphml`, `node_link` if
    /// it ends in `.json`, and `hpcc` if it ends in `.txt`. Files with other names need this key.
    pub(super) FORMAT: Name = Key::new("format").of("format", &[
        Kind { name: "graphml", words: "GraphML", keys: &[] },
        Kind { name: "node_link", words: "node-link JSON", keys: &[] },
        Kind { name: "hpcc", words: "topology file of HPCC's simulator", keys: &[] },
    ]);
}

/// The kinds of fabric.
pub(super) static KINDS: &[Kind] = &[
    Kind { name: "torus", words: "wrap-around grid", keys: &[&DIMS] },
    Kind { name: "mesh", words: "grid without wrap-around", keys: &[&DIMS] },
    Kind { name: "hypercube", words: "2^n nodes", keys: &[&DIMENSIONS] },
    Kind {
        name: "folded_clos",
        words: "leaves and spines",
        keys: &[&LEAVES, &SPINES, &HOSTS_PER_LEAF, &UPLINK_RATE],
    },
    Kind {
        name: "fat_tree",
        words: "k-ary fat-tree with three levels of switches and k^3 / 4 hosts",
        keys: &[&PORTS_K, &UPLINK_RATE, &CORE_RATE],
    },
    Kind {
        name: "clos",
        words: "three levels of switches",
        keys: &[
            &PODS,
            &EDGES_PER_POD,
            &AGGREGATIONS_PER_POD,
            &CORES_PER_PLANE,
            &HOSTS_PER_EDGE,
            &UPLINK_RATE,
            &CORE_RATE,
        ],
    },
    Kind {
        name: "xgft",
        words: "extended generalized fat tree, given by the numbers of children and of parents at each level",
        keys: &[&CHILDREN, &PARENTS],
    },
    Kind {
        name: "k_ary_n_tree",
        words: "k^n hosts under n levels of k^(n-1) switches",
        keys: &[&ARITY, &LEVELS],
    },
    Kind {
        name: "bcube",
        words: "n^(k+1) forwarding servers with k + 1 ports each, and k + 1 levels of n-port switches",
        keys: &[&SWITCH_PORTS, &BCUBE_K],
    },
    Kind {
        name: "jellyfish",
        words: "random regular graph of switches, determined by the seed",
        keys: &[&SWITCHES, &PORTS, &NETWORK_PORTS],
    },
    Kind {
        name: "dumbbell",
        words: "two switches and a bottleneck",
        keys: &[&LEFT, &RIGHT, &BOTTLENECK_RATE],
    },
    Kind { name: "single_switch", words: "hosts around one switch", keys: &[&HOSTS] },
    Kind {
        name: "file",
        words: "a graph from a file with the rate and delay of each link",
        keys: &[&FILE, &FORMAT],
    },
];
