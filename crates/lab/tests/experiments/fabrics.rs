//! The fabrics of PDQ's evaluation (specifications/pdq.md §10, §12), each in a few lines of an experiment.
//! Other transports also run on these fabrics.

use raddle_core::{Duration, NodeId, PortId, Rate};
use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Outcome, Threads};
use raddle_topology::{Hops, Topology};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const BCUBE: &str = "kind = \"bcube\"\nn = 4\nk = 1";
const BCUBE_OF_FOUR_LEVELS: &str = "kind = \"bcube\"\nn = 2\nk = 3";
const JELLYFISH: &str = "kind = \"jellyfish\"\nswitches = 8\nports = 5\nnetwork_ports = 3";

fn document(fabric: &str, scheme: &str, seed: u64) -> Document {
    let text = format!(
        "[topology]\n{fabric}\nlink_rate = \"1 Gbps\"\nlink_delay = \"25.1 us\"\n\n[workload]\n\
         arrivals = {{ kind = \"poisson\", mean_gap = \"20 us\" }}\nsizes = {{ kind = \"fixed\", size = \"40 KB\" }}\n\
         pairs = \"uniform\"\nflows = 60\n\n[scheme]\n{scheme}\n\n[engine]\nseed = {seed}\n"
    );
    Document::parse("fabric.toml", text, PathBuf::new()).unwrap_or_else(|problem| panic!("{problem}"))
}

fn topology(fabric: &str, seed: u64) -> Arc<Topology> {
    let document = document(fabric, "transport = \"udp\"", seed);
    document.topology().unwrap_or_else(|problem| panic!("{fabric}: {problem}"))
}

fn outcome(fabric: &str, scheme: &str, threads: usize) -> Outcome {
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(threads) };
    let prepared =
        document(fabric, scheme, 1).prepare().unwrap_or_else(|problem| panic!("{scheme}: {problem}"));
    run(prepared, &mut |_| Ok(()), control).unwrap_or_else(|error| panic!("{scheme}: {error}"))
}

#[test]
fn oracle_10_the_tree_of_17_nodes() {
    let tree = topology("kind = \"folded_clos\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 3", 1);
    assert_eq!((tree.node_count(), tree.hosts().count(), tree.links().count()), (17, 12, 32));
    assert_eq!(Hops::of(&tree).histogram(), [12, 0, 12 * 2, 0, 12 * 9]);
    let as_specified = |link: &raddle_topology::Link| {
        (link.rate, link.delay) == (Rate::from_gbps(1), Duration::from_ns(25_100))
    };
    assert!(tree.links().all(|(_, link)| as_specified(link)));
}

#[test]
fn a_single_bottleneck_is_the_link_to_a_host_of_one_switch() {
    let switch = topology("kind = \"single_switch\"\nhosts = 6", 1);
    assert_eq!((switch.hosts().count(), switch.node_count()), (6, 7));
    let last = switch.link_at(NodeId(6), PortId(5)).expect("a port for each host");
    assert_eq!(last.to, NodeId(5), "the receiver, to which the other five hosts send");
}

#[test]
fn the_seed_draws_jellyfish() {
    let neighbours = |seed| {
        let topology = topology(JELLYFISH, seed);
        topology.links().map(|(_, link)| (link.from.0, link.to.0)).collect::<Vec<_>>()
    };
    assert_eq!(neighbours(1), neighbours(1));
    assert_ne!(neighbours(1), neighbours(2));
}

/// Asserts that every flow is delivered on the fabric and no packet is lost.
fn assert_delivers(fabric: &str, transport: &str, routing: &str) {
    let outcome = outcome(fabric, &format!("transport = \"{transport}\"\nrouting = \"{routing}\""), 1);
    let lost = outcome.links.iter().map(|link| link.drops).sum::<u64>();
    let all = (outcome.complete, outcome.flows, outcome.delivered, lost);
    assert_eq!(all, (true, 60, 60, 0), "{transport}, {routing}: {fabric}");
}

#[test]
fn hosts_and_switches_pass_on_what_is_for_others() {
    for fabric in [BCUBE, BCUBE_OF_FOUR_LEVELS, JELLYFISH] {
        for routing in ["ecmp", "wcmp", "letflow", "drill", "spray"] {
            assert_delivers(fabric, "tcp-newreno", routing);
        }
        assert_delivers(fabric, "udp", "ecmp");
        assert_delivers(fabric, "r2c2", "rps");
    }
}

#[test]
fn flows_keep_paths_of_every_kind() {
    for transport in ["pdq", "d3", "rcp"] {
        for fabric in [BCUBE, JELLYFISH, "kind = \"fat_tree\"\nk = 4"] {
            assert_delivers(fabric, transport, "ecmp");
            assert_delivers(fabric, transport, "k-shortest");
        }
        assert_delivers(BCUBE, transport, "bcube");
    }
}

#[test]
fn servers_of_bcube_forward_and_threads_agree() {
    let scheme = "transport = \"tcp-newreno\"";
    let one = outcome(BCUBE, scheme, 1);
    // Each of the 60 flows has 28 packets. The flow's source sends each packet once. A server relays the packet if the
    // destination differs from the source in both digits of the BCube address. This is so for 9 of the 15 possible
    // destinations.
    let servers = one.links.iter().filter(|link| link.from < 16);
    let (sent, own) = (servers.map(|link| link.data_packets).sum::<u64>(), 60 * 28);
    assert!((own * 5 / 4..=own * 2).contains(&sent), "{sent} of {own}");
    assert_eq!(outcome(BCUBE, scheme, 3).digest, one.digest);
}
