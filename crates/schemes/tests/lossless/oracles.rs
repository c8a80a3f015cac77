//! Required behaviour of lossless fabrics, exact or within the bounds of fluid models (specifications/cee.md §8).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::ethernet::{
    Counted, Lossless, RATE, assert_lossless, carried, crossbar, flow, pause, run, scripted, shares, stream,
    tree,
};
use raddle_core::{Duration, Flow, Header, LinkId, NodeId, Packet, Process, Rate, Stream, Time};
use raddle_packet_sim::{Observer, Reached};
use raddle_testkit::{link, ns, us};
use raddle_topology::{Topology, Xgft, XgftSize, builders};
use raddle_wire::pfc::Pause;

const FULL: Process = Process::Constant;

/// The default upper watermark plus the headroom, in bytes.
const MOST_MEMORY: u64 = 85_000 + 8_529;

/// A flow that always has data to send.
fn greedy(id: u32, src: u32, dst: u32) -> Flow {
    stream(id, src, dst, 100, FULL)
}

#[test]
fn oracle_8_5_a_frame_alone() {
    let latency = |topology: Topology, dst| {
        let mut simulation = Lossless::new(topology, "d-mod-k").counted(vec![flow(0, 0, dst, 1_500)]);
        assert_eq!(run(&mut simulation, Time::NEVER), Reached::End);
        simulation.observer().delivered[0].as_ps()
    };
    let latencies: Vec<u64> = (0..5).map(|level| latency(tree(2, 5), 1 << level)).collect();
    assert_eq!(latencies, [1_351_200, 1_553_600, 1_756_000, 1_958_400, 2_160_800]);
    assert_eq!(latency(crossbar(8), 5), latencies[0]);
}

/// The time of the first pause on each link.
#[derive(Default)]
struct FirstPauses(Vec<(LinkId, Time)>);

impl Observer for FirstPauses {
    const FORWARDED: bool = true;

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        if let Header::Pfc(Pause { quanta, .. }) = &packet.header
            && quanta.iter().any(|&quanta| quanta > 0)
            && self.0.iter().all(|&(other, _)| other != link)
        {
            self.0.push((link, sent));
        }
    }
}

/// Fig. 2: three senders at line rate overload a host that receives at only a fifth of the link rate. Another flow, the
/// cold flow, goes to a host that is not overloaded.
#[test]
fn oracle_8_3_saturation_tree() {
    let size = XgftSize::k_ary_n_tree(2, 3);
    let xgft = Xgft::new(size);
    let cold = |routing: &'static str, in_order: bool| {
        let topology = tree(2, 3);
        let drain = link(&topology, NodeId(11), NodeId(7));
        let fabric = Lossless::new(topology.slowed(drain, Rate::from_gbps(2)), routing);
        let mut flows: Vec<Flow> = (0..3).map(|src| greedy(src, src, 7)).collect();
        flows.push(stream(3, 3, 4, 50, FULL));
        let mut simulation = fabric.simulation(flows, |_, node| node, FirstPauses::default());
        let share = shares(&mut simulation, &[fabric.link(10, 4)], us(2_000), us(5_000))[0];
        assert_lossless(&simulation, MOST_MEMORY, routing);
        // The stage of a paused link is its position on the way from the sink back to the sources, from 0. `link` is
        // the reverse of the paused link, because it carries the pause. The stage follows from the level of the switch
        // that sends the pause, and from whether the paused link leads up or down.
        let stage = |&(link, at): &(LinkId, Time)| {
            let link = *fabric.topology.link(link).expect("a link");
            let (at_switch, before) = (xgft.level(link.from), xgft.level(link.to));
            let stage = if before > at_switch { at_switch - 1 } else { 6 - 1 - at_switch };
            (stage, at)
        };
        let pauses: Vec<(usize, Time)> = simulation.observer().0.iter().map(stage).collect();
        let first = |stage| pauses.iter().filter(|pause| pause.0 == stage).map(|pause| pause.1).min();
        let order: Vec<Time> = (0..5).filter_map(first).collect();
        assert_eq!(order.len(), 5, "{routing}: pauses reach the sources: {pauses:?}");
        // With D-mod-k, two sources share an uplink. Because of this bottleneck, they are paused before the saturation
        // tree reaches them.
        assert!(!in_order || order.is_sorted(), "{routing}: from the sink backwards: {order:?}");
        assert_eq!(order.iter().min(), order.first(), "{routing}: at the sink first");
        share
    };
    let (fixed, random) = (cold("d-mod-k", false), cold("random-up", true));
    assert!((fixed - 0.5).abs() < 0.002, "the cold flow meets no hot one: {fixed}");
    assert!(random < 0.4, "the cold flow suffers from hot ones: {random}");
}

/// One sender, two switches in a line, and a receiver that stops the sender. The memory of the switch next to the
/// receiver fills first, then the memory of the other switch. The sender's frames do not move until the pause ends.
#[test]
fn oracle_8_10_a_stopped_sink_fills_the_line_hop_by_hop() {
    let topology = builders::dumbbell(1, 1, RATE, RATE, Duration::from_ns(50)).expect("valid");
    let fabric = Lossless::new(topology, "ecmp");
    // A pause lasts 3.355 ms. The script renews the pause twice and ends the pause at 8 ms.
    let script = vec![
        (us(100), pause(1, 0xFFFF)),
        (us(3_000), pause(1, 0xFFFF)),
        (us(6_000), pause(1, 0xFFFF)),
        (us(8_000), pause(1, 0)),
    ];
    let flows = vec![greedy(0, 0, 1), stream(1, 1, 0, 1, FULL)];
    let mut simulation = fabric.simulation(flows, scripted(1, script), Counted::default());
    let (near, middle, far) = (fabric.link(3, 1), fabric.link(2, 3), fabric.link(0, 2));
    let memory = |simulation: &raddle_packet_sim::Simulation<Counted>, arrival: LinkId| {
        let port = fabric.topology.reverse(arrival);
        let mut accounts = simulation.flow_control().into_iter();
        accounts.find(|&(link, _)| link == port).expect("every port").1.peak_memory
    };
    // The sender fills 85 KB in 68 us: first at the switch next to the sink, then at the other switch.
    run(&mut simulation, us(165));
    assert!(memory(&simulation, middle) > 70_000 && memory(&simulation, far) < 3_100);
    run(&mut simulation, us(300));
    let filled = [middle, far].map(|link| memory(&simulation, link));
    assert!(filled.iter().all(|&bytes| (85_001..=MOST_MEMORY).contains(&bytes)), "{filled:?}");
    let stopped = carried(&simulation, near);
    run(&mut simulation, us(7_999));
    assert_eq!(carried(&simulation, near), stopped, "nothing passes a pause that is renewed");
    assert_eq!([middle, far].map(|link| memory(&simulation, link)), filled);
    assert_eq!(simulation.pause_cycle(), None);
    let share = shares(&mut simulation, &[near], us(8_010), us(9_010))[0];
    assert!((share - 1.0).abs() < 0.002, "{share}");
    assert_lossless(&simulation, MOST_MEMORY, "a line");
}

#[test]
fn oracle_8_10_a_pause_runs_out_by_itself() {
    let topology = builders::dumbbell(1, 1, RATE, RATE, Duration::from_ns(50)).expect("valid");
    let fabric = Lossless::new(topology, "ecmp");
    let flows = vec![greedy(0, 0, 1), flow(1, 1, 0, 1_500)];
    let script = vec![(us(100), pause(1, 0xFFFF))];
    let mut simulation = fabric.simulation(flows, scripted(1, script), Counted::default());
    // The pause arrives after 51.2 ns of serialization and 50 ns of propagation, and lasts 65,535 times 51.2 ns. One
    // frame was in transmission when the pause arrived.
    let near = fabric.link(3, 1);
    run(&mut simulation, us(103));
    let stopped = carried(&simulation, near);
    let resumes = ns(100_000) + Duration::from_ps(51_200 + 50_000 + 65_535 * 51_200);
    run(&mut simulation, resumes);
    assert_eq!(carried(&simulation, near), stopped);
    run(&mut simulation, resumes + Duration::from_ps(1));
    assert_eq!(carried(&simulation, near), stopped + 1_500);
    assert_lossless(&simulation, MOST_MEMORY, "a line");
}

/// Slows some links of a tree, each to the given percentage of its rate, and sends one flow of 90% load to host `dst`.
/// Returns the utilisation of the link to this host.
fn share_of(
    topology: Topology,
    slowed: &[(u32, u32, u64)],
    routing: &'static str,
    seed: u64,
    dst: u32,
) -> f64 {
    let slow = |topology: Topology, &(from, to, percent): &(u32, u32, u64)| {
        let id = link(&topology, NodeId(from), NodeId(to));
        topology.slowed(id, Rate::from_bps(RATE.as_bps() / 100 * percent))
    };
    let fabric = Lossless::new(slowed.iter().fold(topology, slow), routing);
    // The larger memory is needed because a pause may wait for a frame on the slowest link.
    let fabric = Lossless { seed, ..fabric }.with_memory(70_000, 85_000, 110_000);
    let leaf = fabric.topology.link_at(raddle_core::NodeId(dst), raddle_core::PortId(0)).expect("a link").to;
    let mut simulation = fabric.counted(vec![stream(0, 0, dst, 90, FULL)]);
    let share = shares(&mut simulation, &[fabric.link(leaf.0, dst)], us(6_000), us(16_000))[0];
    assert_lossless(&simulation, MOST_MEMORY, routing);
    share
}

/// The links from the roots down to the half of a 2-ary 3-tree that contains host 4, and their rates in percent. Path
/// number 1 + 2a + b of specifications/cee.md §6.4 leads to parent a of the leaf, and then to parent b of this parent.
fn fig_9() -> [(u32, u32, u64); 4] {
    let xgft = Xgft::new(XgftSize::k_ary_n_tree(2, 3));
    let leaf = xgft.parent(raddle_core::NodeId(0), 0);
    let path = |(path, percent): (u32, u64)| {
        let root = xgft.parent(xgft.parent(leaf, path / 2), path % 2);
        (root.0, xgft.child(root, 1).0, percent)
    };
    [(0, 25), (1, 10), (2, 10), (3, 50)].map(path)
}

#[test]
fn oracle_8_6_fluid_bounds_of_slowed_root_links() {
    let fixed = share_of(tree(2, 3), &fig_9(), "d-mod-k", 1, 4);
    assert!((fixed - 0.25).abs() < 0.003, "{fixed}");
    let random = share_of(tree(2, 3), &fig_9(), "random-up", 1, 4);
    assert!((random - 0.40).abs() < 0.03, "{random}");
    for seed in 1..4 {
        let hashed = share_of(tree(2, 3), &fig_9(), "hashed", seed, 4);
        assert!([0.25, 0.1, 0.5].iter().any(|path| (hashed - path).abs() < 0.003), "{hashed}");
    }
    let two = share_of(tree(2, 2), &[(6, 5, 10), (7, 5, 50)], "random-up", 1, 2);
    assert!((two - 0.20).abs() < 0.01, "{two}");
}

#[test]
fn oracle_8_14_a_permutation_on_the_crossbar() {
    let fabric = Lossless::new(crossbar(16), "d-mod-k");
    let mut stream_of = Stream::new(3, 0, "test/phases");
    let offset = 1 + stream_of.below(15) as u32;
    for process in [FULL, Process::Poisson, Process::Bernoulli] {
        let flows = (0..16).map(|src| stream(src, src, (src + offset) % 16, 90, process)).collect();
        let mut simulation = fabric.counted(flows);
        let links: Vec<LinkId> = (0..16).map(|host| fabric.link(16, host)).collect();
        let shares = shares(&mut simulation, &links, us(200), us(3_200));
        let mean = shares.iter().sum::<f64>() / 16.0;
        let tolerance = if process == FULL { 0.001 } else { 0.01 };
        assert!((mean - 0.9).abs() < tolerance, "{process:?}: {shares:?}");
        assert_lossless(&simulation, MOST_MEMORY, "a crossbar");
    }
}
