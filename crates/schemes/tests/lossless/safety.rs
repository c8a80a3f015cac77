//! Lossless fabrics lose no packet, and no flow waits for ever unless links form a cycle of dependencies.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::ethernet::{
    Counted, Lossless, RATE, assert_lossless, carried, change, crossbar, flow, pause, run, scripted, shares,
    stream, tree,
};
use raddle_core::{
    Duration, Flow, FlowControlAccount, Forwarder, LinkId, NodeId, Packet, Parts, PortId, Ports, Process,
    Rate, Report, Stream, Time, Verdict,
};
use raddle_packet_sim::{Config, Observer, Reached, Threads};
use raddle_schemes::link::pfc;
use raddle_schemes::parameter::Value;
use raddle_testkit::{link, ns, us};
use raddle_topology::builders::{self, ClosRates};
use raddle_topology::{Builder, Shape, Topology, XgftSize};

/// The greatest headroom of any link, in bytes: `buffer` must be greater than `xoff` by at least this number.
fn headroom(topology: &Topology) -> u64 {
    let of = |(id, link): (LinkId, &raddle_topology::Link)| {
        let back = topology.link(topology.reverse(id)).expect("links go both ways");
        pfc::headroom(link, back, 1_500)
    };
    topology.links().map(of).max().expect("a fabric has links")
}

/// Pairs of source and destination. Pattern 0 is a shift, pattern 1 a random permutation, pattern 2 an incast, and
/// other patterns are random pairs.
fn pairs(pattern: usize, hosts: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut draw = |below: u32| stream.below(below.into()) as u32;
    match pattern {
        0 => {
            let shift = 1 + draw(hosts - 1);
            (0..hosts).map(|src| (src, (src + shift) % hosts)).collect()
        }
        1 => {
            let mut to: Vec<u32> = (0..hosts).collect();
            (1..hosts).rev().for_each(|last| to.swap(last as usize, draw(last) as usize));
            (0..hosts).zip(to).collect()
        }
        2 => {
            let sink = draw(hosts);
            (0..hosts).filter(|&src| src != sink).map(|src| (src, sink)).collect()
        }
        _ => {
            let mut pair = |src: u32| (src, (src + 1 + draw(hosts - 1)) % hosts);
            (0..2 * hosts).map(|i| pair(i % hosts)).collect()
        }
    }
}

/// Flows of 1 to 24,000 bytes with various priorities, rates and arrival processes. All flows begin within 10 us.
fn flows(pairs: &[(u32, u32)], stream: &mut Stream) -> Vec<Flow> {
    let mut all: Vec<Flow> = Vec::new();
    for &(src, dst) in pairs {
        let mut flow = flow(0, src, dst, 1 + stream.below(24_000));
        flow.start = Time::from_ps(stream.below(10_000_000));
        flow.priority = [0, 3, 5][stream.index(3)];
        flow.app_rate = (stream.below(3) == 0).then(|| Rate::from_gbps(1 + stream.below(9)));
        flow.process = [Process::Constant, Process::Poisson, Process::Bernoulli, Process::OnOff { burst: 5 }]
            [stream.index(4)];
        all.push(flow);
    }
    all.sort_by_key(|flow| flow.start);
    (0..).zip(&mut all).for_each(|(id, flow)| flow.id = raddle_core::FlowId(id));
    all
}

/// The fabrics, each with the routings to test on the fabric.
fn fabrics(delay: Duration) -> Vec<(&'static str, Topology, &'static [&'static str])> {
    const IN_TREES: &[&str] = &["d-mod-k", "s-mod-k", "hashed", "random-up", "switch-ar", "spray"];
    let xgft = |children: &[u32], parents: &[u32]| {
        let size = XgftSize { children: children.to_vec(), parents: parents.to_vec() };
        builders::xgft(size, RATE, delay).expect("a valid size")
    };
    let slow_up = {
        let tree = xgft(&[2, 2, 2], &[1, 2, 2]);
        let up = link(&tree, NodeId(8), NodeId(12));
        tree.slowed(up, Rate::from_gbps(3))
    };
    let clos = builders::fat_tree(4, ClosRates::all(RATE), delay).expect("an even k");
    let leaves = builders::folded_clos(3, 2, 4, RATE, Rate::from_gbps(20), delay).expect("a valid size");
    vec![
        ("2-ary 3-tree", xgft(&[2, 2, 2], &[1, 2, 2]), IN_TREES),
        ("4-ary 2-tree", xgft(&[4, 4], &[1, 4]), IN_TREES),
        ("slimmed tree", xgft(&[3, 2, 2], &[1, 2, 1]), IN_TREES),
        ("one link up slowed", slow_up, IN_TREES),
        ("crossbar", xgft(&[8], &[1]), &["d-mod-k", "ecmp"]),
        ("fat-tree", clos, &["ecmp", "spray"]),
        ("two levels", leaves, &["ecmp", "spray", "drill"]),
    ]
}

/// For many topologies, patterns, routings, rate limiters, watermarks, delays and seeds: no packet is lost, and all
/// packets arrive.
#[test]
fn oracle_8_4_nothing_is_lost() {
    let (mut runs, mut pauses) = (0, 0);
    for (delay, seeds) in [(50, 4), (1_000, 3), (5_000, 2)] {
        for (name, topology, routings) in fabrics(Duration::from_ns(delay)) {
            let hosts = topology.hosts().count() as u32;
            let headroom = headroom(&topology);
            for (&routing, (xon, xoff)) in routings.iter().flat_map(|routing| {
                [(1_500, 1_500), (2_000, 6_000), (70_000, 85_000)].map(|marks| (routing, marks))
            }) {
                let mut fabric =
                    Lossless::new(topology.clone(), routing).with_memory(xon, xoff, xoff + headroom);
                for (pattern, limited) in (0..4).flat_map(|pattern| [(pattern, false), (pattern, true)]) {
                    for seed in 0..seeds {
                        let what = format!(
                            "{name}, {routing}, {xoff} B, {delay} ns, pattern {pattern}, {limited}, {seed}"
                        );
                        fabric.seed = seed;
                        fabric.points = limited || routing == "switch-ar";
                        fabric.transport = vec![("rate_limiters", Value::Flag(limited))];
                        let mut stream = Stream::new(seed, runs, "test/lossless");
                        let flows = flows(&pairs(pattern, hosts, &mut stream), &mut stream);
                        let all = flows.len();
                        let mut simulation = fabric.counted(flows);
                        run(&mut simulation, us(20));
                        assert_lossless(&simulation, xoff + headroom, &what);
                        assert_eq!(simulation.pause_cycle(), None, "{what}");
                        assert_eq!(run(&mut simulation, Time::NEVER), Reached::End, "{what}");
                        assert_eq!(simulation.pause_cycle(), None, "{what}");
                        assert_lossless(&simulation, xoff + headroom, &what);
                        assert_eq!(simulation.packets_inside(), 0, "{what}");
                        let Counted { delivered, reordered, dropped } = simulation.observer();
                        assert_eq!((delivered.len(), *dropped), (all, 0), "{what}");
                        if ["d-mod-k", "s-mod-k", "hashed", "ecmp"].contains(&routing) {
                            assert_eq!(*reordered, 0, "{what}");
                        }
                        runs += 1;
                        pauses += simulation.flow_control().iter().map(|of| of.1.pauses).sum::<u64>();
                    }
                }
            }
        }
    }
    assert!(runs > 2_000 && pauses > 10 * runs, "{runs} runs, {pauses} pauses");
}

/// Forwards packets clockwise in a ring of switches. Port 0 leads to the host, port 1 to the right, port 2 to the left.
struct Clockwise {
    host: NodeId,
}

impl Forwarder for Clockwise {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        Verdict::Forward(PortId(u16::from(packet.dst() != self.host)))
    }
}

/// A ring of n switches, numbered n to 2n - 1, with one of the hosts 0 to n - 1 on each.
fn ring(n: u32) -> Topology {
    let mut builder = Builder::default();
    let hosts: Vec<NodeId> = (0..n).map(|_| builder.host(1)).collect();
    let switches: Vec<NodeId> = (0..n).map(|_| builder.switch(3)).collect();
    for (i, (&host, &switch)) in hosts.iter().zip(&switches).enumerate() {
        builder.link((host, PortId(0)), (switch, PortId(0)), RATE, crate::ethernet::DELAY);
        let right = switches[(i + 1) % switches.len()];
        builder.link((switch, PortId(1)), (right, PortId(2)), RATE, crate::ethernet::DELAY);
    }
    builder.build(Shape::General)
}

fn clockwise(n: u32) -> impl FnMut(NodeId, Parts) -> Parts {
    move |id, node| match id.0.checked_sub(n) {
        None => Parts { host: node.host, forwarder: None, ..Parts::default() },
        Some(host) => Parts {
            host: None,
            forwarder: Some(Box::new(Clockwise { host: NodeId(host) })),
            ..Parts::default()
        },
    }
}

/// A ring is a cycle of links. If every flow crosses most of the ring, all links of the ring wait for ever, and the
/// watchdog reports the cycle.
#[test]
fn a_ring_deadlocks_and_the_watchdog_names_it() {
    let fabric = Lossless::new(ring(4), "ecmp");
    let around: Vec<LinkId> = (4..8).map(|switch| fabric.link(switch, 4 + (switch + 1 - 4) % 4)).collect();
    let flows = (0..4).map(|src| stream(src, src, (src + 3) % 4, 100, Process::Constant)).collect();
    let mut simulation = fabric.simulation(flows, clockwise(4), Counted::default());
    let mut found = None;
    for ms in 1..10 {
        run(&mut simulation, us(ms * 1_000));
        found = found.or_else(|| simulation.pause_cycle());
    }
    let mut cycle = found.expect("a deadlock");
    let first = cycle.iter().position(|&link| link == around[0]).expect("a link of the ring");
    cycle.rotate_left(first);
    assert_eq!(cycle, around);
    let before: Vec<u64> = around.iter().map(|&link| carried(&simulation, link)).collect();
    run(&mut simulation, us(20_000));
    assert_eq!(around.iter().map(|&link| carried(&simulation, link)).collect::<Vec<_>>(), before, "for ever");
    assert_lossless(&simulation, 85_000 + 8_529, "a ring");
}

/// If each flow crosses only one link of the ring, links cannot wait for each other in a cycle, even if hosts stop
/// their senders. In a tree, links never wait in a cycle.
#[test]
fn the_watchdog_is_silent_where_something_may_yet_go() {
    let stopped = |host| (0..40).map(|i| (us(50 + 1_000 * i), pause(host, 0xFFFF))).collect::<Vec<_>>();
    let ring_of = Lossless::new(ring(4), "ecmp");
    let in_tree = Lossless::new(tree(2, 3), "random-up");
    let greedy = |n: u32, shift: u32| -> Vec<Flow> {
        (0..n).map(|src| stream(src, src, (src + shift) % n, 100, Process::Constant)).collect()
    };
    let mut parts = clockwise(4);
    let mut script = scripted(1, stopped(1));
    let on_ring =
        ring_of.simulation(greedy(4, 1), |id, node| script(id, parts(id, node)), Counted::default());
    let to_one =
        (0..8).filter(|&src| src != 5).map(|src| stream(src, src, 5, 100, Process::Constant)).collect();
    let to_one = in_tree.simulation(to_one, scripted(5, stopped(5)), Counted::default());
    let all = in_tree.simulation(greedy(8, 3), scripted(5, stopped(5)), Counted::default());
    for mut simulation in [on_ring, to_one, all] {
        for ms in 1..12 {
            run(&mut simulation, us(ms * 500));
            assert_eq!(simulation.pause_cycle(), None);
        }
        assert_lossless(&simulation, 85_000 + 8_529, "a stopped sink");
    }
}

/// A line: hosts 0 and 1, attached to switches 2 and 3.
fn line() -> Topology {
    builders::dumbbell(1, 1, RATE, RATE, crate::ethernet::DELAY).expect("valid")
}

/// No pause frame crosses a link that is down. When the link is up again, both ends must send their pauses again.
#[test]
fn a_link_that_comes_up_again_is_paused_again() {
    for threads in [1, 2] {
        let mut fabric = Lossless::new(line(), "ecmp");
        // The repair comes 4 ms after the failure; by then, the pause that stops the sender has expired.
        fabric.config.changes = vec![
            change(&fabric.topology, [0, 2], us(2_000), false),
            change(&fabric.topology, [0, 2], us(6_000), true),
        ];
        fabric.config.threads = Threads::Always(threads);
        let script = (0..12).map(|i| (us(100 + i * 1_000), pause(1, 0xFFFF))).collect();
        let flows = vec![stream(0, 0, 1, 100, Process::Constant), flow(1, 1, 0, 64)];
        let mut simulation = fabric.simulation(flows, scripted(1, script), Counted::default());
        run(&mut simulation, us(10_000));
        for (link, FlowControlAccount { peak_memory, overflows, .. }) in simulation.flow_control() {
            assert_eq!(overflows, 0, "{link:?}: {peak_memory} B");
        }
        run(&mut simulation, us(16_000));
        assert!(simulation.totals().delivered_bytes > 300_000, "it goes on once the sink does");
    }
}

/// With cut-through a link can fail while one end still sends a frame that the other end already forwards. After the
/// repair, the sender continues, and the memory is released.
#[test]
fn a_sender_goes_on_after_its_link_failed_under_a_frame() {
    // The first frame begins to leave at 0, is forwarded from 101.2 ns on, and has left at 1,200 ns. The second frame
    // follows in the same way.
    for failed_at in [60, 500, 1_199, 1_200, 1_230, 1_350, 2_000] {
        for threads in [1, 2] {
            let mut fabric = Lossless::new(line(), "ecmp");
            fabric.config.changes = vec![
                change(&fabric.topology, [0, 2], ns(failed_at), false),
                change(&fabric.topology, [0, 2], us(10), true),
            ];
            fabric.config.threads = Threads::Always(threads);
            let mut simulation = fabric.counted(vec![flow(0, 0, 1, 300_000)]);
            assert_eq!(run(&mut simulation, Time::NEVER), Reached::End);
            let totals = simulation.totals();
            assert_eq!((totals.sent, totals.delivered), (200, 200 - totals.dropped), "{failed_at} ns");
            assert!(totals.dropped <= 2, "{failed_at} ns: {totals:?}");
        }
    }
}

/// A link fails while traffic is paused, and comes up again. All memory is released, and no memory overflows.
#[test]
fn failures_amid_pauses_leave_no_memory_behind() {
    for routing in ["d-mod-k", "random-up"] {
        for seed in 0..20 {
            let mut fabric = Lossless::new(tree(2, 3), routing).with_memory(2_000, 6_000, 6_000 + 8_529);
            fabric.seed = seed;
            let mut stream = Stream::new(seed, 0, "test/failures");
            let at = 5_000 + stream.below(20_000);
            let ends = [[0, 8], [8, 12], [12, 16], [11, 7]][stream.index(4)];
            fabric.config.changes = vec![
                change(&fabric.topology, ends, ns(at), false),
                change(&fabric.topology, ends, ns(at + 1 + stream.below(20_000)), true),
            ];
            let flows = flows(&pairs(3, 8, &mut stream), &mut stream);
            let mut simulation = fabric.counted(flows);
            assert_eq!(
                run(&mut simulation, Time::NEVER),
                Reached::End,
                "renewals end when memory is given back"
            );
            let totals = simulation.totals();
            assert_eq!(totals.sent, totals.delivered + totals.dropped);
            for (link, account) in simulation.flow_control() {
                assert_eq!(account.overflows, 0, "{routing}, seed {seed}, {link:?}: {account:?}");
            }
        }
    }
}

/// A frame from a slow link to a fast link never blocks another frame, and its transmission has no gap (pitfall 22 of
/// specifications/cee.md).
#[test]
fn a_frame_from_a_slow_link_waits_until_it_can_go_in_one_piece() {
    let topology = crossbar(3);
    let slow = link(&topology, NodeId(0), NodeId(3));
    let fabric = Lossless::new(topology.slowed(slow, Rate::from_gbps(1)), "d-mod-k")
        .with_memory(70_000, 85_000, 110_000);
    let mut late = flow(1, 1, 2, 1_500);
    late.start = ns(1_000);
    let mut simulation = fabric.counted(vec![flow(0, 0, 2, 1_500), late]);
    assert_eq!(run(&mut simulation, Time::NEVER), Reached::End);
    // The slow frame's header arrives at 562 ns and its last bit at 12,050 ns. The frame is delivered 50 ns later.
    let fast = 1_000 + 50 + 51 + 1_200 + 50;
    let delivered: Vec<u64> = simulation.observer().delivered.iter().map(|at| at.as_ps() / 1_000).collect();
    assert_eq!(delivered, [fast, 12_100]);
    assert_lossless(&simulation, 4_000, "a slow link");
}

/// Control frames cross a slowed link at the full line rate (pitfall 19 of specifications/cee.md).
#[test]
fn pauses_cross_a_slowed_link_at_its_full_rate() {
    let slow = link(&crossbar(2), NodeId(1), NodeId(2));
    let fabric = Lossless::new(crossbar(2).slowed(slow, Rate::from_gbps(1)), "d-mod-k");
    let fabric = fabric.with_memory(70_000, 85_000, 110_000);
    let script = vec![(us(10), pause(1, 0xFFFF))];
    let flows = vec![stream(0, 0, 1, 100, Process::Constant), flow(1, 1, 0, 64)];
    let mut simulation = fabric.simulation(flows, scripted(1, script), Counted::default());
    run(&mut simulation, us(100));
    let port = fabric.link(2, 1);
    let paused = simulation.flow_control().into_iter().find(|of| of.0 == port).expect("every port").1.paused;
    let since = ns(10_000) + Duration::from_ps(51_200 + 50_000);
    assert_eq!(since + paused, simulation.now());
}

/// Sends each packet back through its ingress port.
struct Mirror;

impl Forwarder for Mirror {
    fn forward(&mut self, _: Time, _: &mut Packet, from: Option<PortId>, _: &Ports<'_>) -> Verdict {
        Verdict::Forward(from.expect("switches have no hosts"))
    }
}

/// A port can be about to send a data frame when it must also send a pause. The port then sends both frames, one after
/// the other.
#[test]
fn a_pause_may_be_due_at_the_port_that_begins_to_send() {
    let back = link(&crossbar(2), NodeId(2), NodeId(0));
    let topology = crossbar(2).slowed(back, Rate::from_gbps(5));
    let fabric = Lossless::new(topology, "d-mod-k").with_memory(1_000, 1_000, 20_000);
    let mirror = |id: NodeId, node: Parts| match id {
        NodeId(2) => Parts { host: None, forwarder: Some(Box::new(Mirror)), ..Parts::default() },
        _ => Parts { forwarder: None, ..node },
    };
    let mut simulation = fabric.simulation(vec![flow(0, 0, 1, 60_000)], mirror, Counted::default());
    assert_eq!(run(&mut simulation, Time::NEVER), Reached::End);
    assert_eq!((simulation.packets_inside(), simulation.observer().delivered.len()), (0, 1));
    assert_lossless(&simulation, 20_000, "a mirror");
}

/// All reports and all forwarded packets of a run, in order.
#[derive(Default, PartialEq)]
struct Everything(Vec<String>);

impl Observer for Everything {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.0.push(format!("{now:?} {node:?} {report:?}"));
    }

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        self.0.push(format!("{sent:?} {link:?} {packet:?}"));
    }
}

/// Equal seeds give equal event logs on any number of threads, with pauses, congestion notices, rate limiters and
/// failures.
#[test]
fn oracle_8_16_determinism() {
    for (routing, fails) in [("d-mod-k", false), ("random-up", true), ("switch-ar", true)] {
        let run_on = |threads: usize, seed: u64| {
            let mut fabric = Lossless::new(tree(2, 3), routing).with_memory(10_000, 15_000, 30_000);
            fabric.points = true;
            fabric.transport = vec![("rate_limiters", Value::Flag(true))];
            fabric.seed = seed;
            let changes = if fails {
                vec![
                    change(&fabric.topology, [8, 12], us(50), false),
                    change(&fabric.topology, [8, 12], us(70), true),
                ]
            } else {
                Vec::new()
            };
            let time_limit = Some(us(120));
            fabric.config =
                Config { threads: Threads::Always(threads), changes, time_limit, ..fabric.config.clone() };
            let flows = (0..8).filter(|&src| src != 5);
            let flows =
                flows.map(|src| stream(src, src, if src < 4 { 5 } else { 7 - src }, 80, Process::Poisson));
            let script: Vec<_> = vec![(us(60), pause(5, 400))];
            let mut script = scripted(5, script);
            let around = |id: NodeId, node: Parts| script(id, node);
            let mut simulation = fabric.simulation(flows.collect(), around, Everything::default());
            run(&mut simulation, Time::NEVER);
            let accounts = simulation.flow_control();
            (simulation.totals(), accounts, simulation.link_stats().len(), simulation.into_observer())
        };
        let one = run_on(1, 7);
        assert!(one.1.iter().any(|of| of.1.pauses > 0) && one.3.0.len() > 1_000, "{routing}");
        for threads in 2..=4 {
            let many = run_on(threads, 7);
            assert_eq!((many.0, &many.1), (one.0, &one.1), "{routing} on {threads} threads");
            assert!(many.3 == one.3, "{routing} on {threads} threads");
        }
        assert!(run_on(1, 7).3 == one.3, "{routing}: equal seeds");
        assert!(run_on(1, 8).3 != one.3, "{routing}: another seed");
    }
}

#[test]
fn a_slow_sink_has_its_switch_paused_and_loses_nothing() {
    // Host 0 of a tree sends to host 7, which drains its memory at a tenth of the link rate.
    let mut fabric = Lossless::new(tree(2, 3), "d-mod-k");
    let drained = Rate::from_bps(RATE.as_bps() / 10);
    fabric.pfc = Some(vec![("drain_rate", Value::Rate(drained))]);
    let mut simulation = fabric.counted(vec![stream(0, 0, 7, 100, Process::Constant)]);
    let leaf = fabric.topology.links_from(NodeId(7)).next().expect("the sink's link").1.to;
    let last = fabric.link(leaf.0, 7);
    let carried = shares(&mut simulation, &[last], us(5_000), us(15_000))[0];
    assert!((0.095..0.105).contains(&carried), "{carried} of the link's rate gets there");
    let accounts = simulation.flow_control();
    let of = |link| accounts.iter().find(|of| of.0 == link).expect("flow control on every link").1;
    assert!(of(fabric.link(7, leaf.0)).pauses > 0, "the sink tells its switch to stop");
    assert!(of(last).paused > Duration::from_ms(5), "which does");
    let first = fabric.topology.links_from(NodeId(0)).next().expect("the source's link").0;
    assert!(of(first).paused > Duration::from_ms(5), "and pauses spread to the source");
    assert_lossless(&simulation, 100_000, "a slow sink");

    // The memory of a sink that drains at link rate never holds more than the packet that has just arrived.
    fabric.pfc = Some(vec![("drain_rate", Value::Rate(RATE))]);
    let mut simulation = fabric.counted(vec![flow(0, 0, 7, 3_000_000)]);
    assert_eq!(run(&mut simulation, Time::NEVER), Reached::End);
    let accounts = simulation.flow_control();
    let sink = accounts.iter().find(|of| of.0 == fabric.link(7, leaf.0)).expect("flow control").1;
    assert_eq!((sink.pauses, sink.peak_memory), (0, 1_500));
}
