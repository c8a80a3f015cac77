//! DCQCN in the packet engine. Flows converge to fair shares of a bottleneck, with a short queue and, after the start,
//! without pauses. An incast loses no packet, and its pauses hardly slow a flow to another destination.

use crate::converged::{Converged, DELAY, ENDLESS, RATE};
use raddle_core::{Duration, Flow, FlowKey, LinkErrors, NodeId, PortId, Rate, Time};
use raddle_packet_sim::{Change, Config, Reached};
use raddle_schemes::parameter::Value;
use raddle_testkit::{flow, us};
use raddle_topology::{Topology, builders};
use rustc_hash::FxHashMap;

/// Hosts on a single switch.
fn star(hosts: u32) -> Topology {
    builders::single_switch(hosts, RATE, DELAY).expect("a star")
}

/// Hosts 0 to `senders` - 1 each send an endless flow to host `senders`. Each flow starts 100 us after the previous
/// flow.
fn fan_in(senders: u32) -> Converged {
    let flows = (0..senders).map(|n| flow(n, n, senders, ENDLESS, us(100 * u64::from(n)))).collect();
    Converged::new(star(senders + 1), "dcqcn", Some("red"), flows)
}

/// Zhu et al., §6.1: flows that begin at line rate converge to their fair shares of the link. The mean queue is between
/// 5 KB and 100 KB, and 95% of the samples are at most 200 KB, the upper ECN threshold. No pauses are sent after the
/// first 20 ms.
#[test]
fn flows_converge_to_fair_shares_of_a_bottleneck() {
    const STEPS: u64 = 1_000;
    for senders in [2, 4, 8] {
        let mut fabric = fan_in(senders);
        fabric.run(us(20_000));
        let pauses = fabric.pauses();
        let links: Vec<_> = (0..senders).map(|n| fabric.uplink(n)).collect();
        let down = fabric.downlink(senders);
        let mut shares = vec![0.0; senders as usize];
        let mut queues = Vec::new();
        for step in 1..=STEPS {
            let now = fabric.shares(&links, us(20_000 + 100 * step));
            shares.iter_mut().zip(now).for_each(|(sum, share)| *sum += share / STEPS as f64);
            queues.push(fabric.simulation.queued(down));
        }
        let fair = 1.0 / f64::from(senders);
        assert!(shares.iter().all(|share| (share / fair - 1.0).abs() < 0.1), "{shares:?}");
        assert!(shares.iter().sum::<f64>() > 0.97, "{shares:?}");
        let mean = queues.iter().sum::<u64>() / STEPS;
        assert!((5_000..100_000).contains(&mean), "{mean} B for {senders} senders");
        let within = queues.iter().filter(|&&queue| queue <= 200_000).count();
        assert!(within as u64 > STEPS * 19 / 20, "{within} of {STEPS}");
        fabric.assert_lossless();
        assert_eq!(fabric.pauses(), pauses, "{senders} senders, after the first {pauses}");
    }
}

/// A flow without competition gets no ECN mark. It sends 1,000 packets of 1,084 B back to back at 40 Gb/s. The last
/// packet is serialized once more at the switch and crosses two links of 1 us.
#[test]
fn a_flow_alone_goes_at_line_rate() {
    let mut fabric =
        Converged::new(star(2), "dcqcn", Some("red"), vec![flow(0, 0, 1, 1_024_000, Time::ZERO)]);
    assert_eq!(fabric.run(Time::NEVER), Reached::End);
    let heard = fabric.simulation.observer();
    let packet = Duration::from_ps(216_800);
    assert_eq!(heard.delivered, [Time::ZERO + packet * 1_001 + DELAY * 2]);
    assert!(heard.notifications.is_empty());
}

/// Zhu et al., §3.1: each flow causes at most one notification in 50 us, and the notification reaches the sender.
#[test]
fn notifications_are_50_us_apart() {
    let mut fabric = fan_in(8);
    fabric.run(us(5_000));
    let receiver = fabric.uplink(8);
    let (mut last, mut gaps): (FxHashMap<Option<FlowKey>, Time>, Vec<Duration>) = Default::default();
    let notifications = &fabric.simulation.observer().notifications;
    for &(at, _, flow) in notifications.iter().filter(|of| of.1 == receiver) {
        gaps.extend(last.insert(flow, at).map(|before| at.since(before)));
    }
    assert_eq!(last.len(), 8, "every flow was marked");
    // Gaps may differ a little from 50 us, because a notification may wait for other notifications and for the packet
    // that is being sent.
    let least = gaps.iter().min().expect("gaps");
    assert!((Duration::from_us(49)..Duration::from_us(55)).contains(least), "{least:?}");
    for host in 0..8 {
        let arrived = notifications.iter().filter(|of| of.1 == fabric.downlink(host)).count();
        let sent = notifications
            .iter()
            .filter(|of| of.1 == receiver && of.2 == Some(FlowKey(u64::from(host) << 32)))
            .count();
        assert!(arrived == sent || arrived + 1 == sent, "host {host}: {arrived} of {sent}");
    }
}

/// Four leaves with eight hosts each, and four spines.
fn leaf_spine() -> Topology {
    builders::folded_clos(4, 8, 4, RATE, RATE, DELAY).expect("a folded Clos")
}

#[test]
fn an_incast_of_sixteen_loses_nothing() {
    let flows: Vec<Flow> = (0..16).map(|n| flow(n, n + 8, 0, 2_000_000, Time::ZERO)).collect();
    let mut fabric = Converged::new(leaf_spine(), "dcqcn", Some("red"), flows);
    assert_eq!(fabric.run(Time::NEVER), Reached::End);
    fabric.assert_lossless();
    assert_eq!(fabric.simulation.observer().delivered.len(), 16);
    assert!(fabric.pauses() > 0, "line rate is too much in the first round trip");
}

/// Zhu et al., §2.2 and §6.1 (victim flow): without rate control, an incast's pauses slow a flow to another destination
/// to less than 30% of the link rate. With DCQCN, this flow keeps more than 90%.
#[test]
fn a_victim_of_pauses_is_spared() {
    let victim_share = |transport, points| {
        // Three hosts on each of two leaves send to one host of the third leaf. The victim flow goes from the first
        // leaf to the second.
        let senders = [0, 1, 2, 8, 9, 10];
        let mut flows: Vec<Flow> =
            (0..).zip(senders).map(|(id, src)| flow(id, src, 16, ENDLESS, Time::ZERO)).collect();
        flows.push(flow(6, 3, 11, ENDLESS, Time::ZERO));
        let spine = builders::folded_clos(3, 8, 1, RATE, Rate::from_gbps(160), DELAY).expect("a folded Clos");
        let mut fabric = Converged::new(spine, transport, points, flows);
        fabric.run(us(5_000));
        let share = fabric.shares(&[fabric.downlink(11)], us(15_000))[0];
        fabric.assert_lossless();
        share
    };
    assert!(victim_share("cee", None) < 0.3);
    assert!(victim_share("dcqcn", Some("red")) > 0.9);
}

/// Oracle 5 of specifications/transports.md §7: a flow without competition, whose first link loses the share p = 1% of
/// all packets, uses the share (1 - p) / (1 + p (w - 1)) of the link's rate. Here w is the number of packets that the
/// sender sends, from the lost packet on, until the NAK arrives. The packet after the lost one crosses two links, each
/// with 1 us of propagation and 216.8 ns of serialization. The NAK, with 9.6 ns of serialization, crosses both links
/// back. In these 4.4528 us, 20.5 packets leave, so w is 22 including the lost packet.
#[test]
fn a_lossy_link_costs_a_window_a_loss() {
    const PACKETS: u64 = 50_000;
    let star = star(2);
    let link = star.link_id(NodeId(0), PortId(0));
    let errors = LinkErrors { seed: 1, loss: 0.01, links: Some([link].into()), ..LinkErrors::default() };
    // With the default NAK interval, a packet that is lost twice would cost 500 us.
    let soon = [("nak_interval", Value::Duration(Duration::from_us(10)))];
    let flows = vec![flow(0, 0, 1, 1_024 * PACKETS, Time::ZERO)];
    let config = Config { errors, ..Config::default() };
    let mut fabric = Converged::with(star, "dcqcn", &soon, Some("red"), flows, config);
    assert_eq!(fabric.run(Time::NEVER), Reached::End);
    let heard = fabric.simulation.observer();
    let [delivered] = heard.delivered[..] else { panic!("one flow: {:?}", heard.delivered) };
    let line_rate = Duration::from_ps(216_800) * PACKETS;
    let share = line_rate.as_ps() as f64 / delivered.since(Time::ZERO).as_ps() as f64;
    let expected = 0.99 / (1.0 + 0.01 * 21.0);
    assert!((share / expected - 1.0).abs() < 0.03, "{share} of the link, {expected} expected");
    let repeated = heard.retransmissions as f64 / (0.01 / 0.99 * 22.0 * PACKETS as f64);
    assert!((repeated - 1.0).abs() < 0.1, "{} packets sent again", heard.retransmissions);
}

/// The receiver's link fails during an incast. If `repair` is given, the link is repaired at this time.
fn broken_incast(repair: Option<Time>) -> Converged {
    let star = star(5);
    let up = star.link_id(NodeId(4), PortId(0));
    let links = vec![up, star.reverse(up)];
    let change = |at, up| Change { at, links: links.clone(), up, discovery: Duration::ZERO };
    let changes = [change(us(100), false)].into_iter().chain(repair.map(|at| change(at, true))).collect();
    let flows = (0..4).map(|n| flow(n, n, 4, 1_000_000, Time::ZERO)).collect();
    let config = Config { changes, ..Config::default() };
    Converged::with(star, "dcqcn", &[], Some("red"), flows, config)
}

#[test]
fn a_link_that_is_repaired_loses_no_flow() {
    let mut fabric = broken_incast(Some(us(10_000)));
    assert_eq!(fabric.run(Time::NEVER), Reached::End);
    let heard = fabric.simulation.observer();
    assert_eq!(heard.delivered.len(), 4, "each once");
    assert!(heard.delivered.iter().all(|&at| at > us(10_000)) && heard.retransmissions > 0);
    assert!(fabric.simulation.totals().dropped > 0);
    assert!(fabric.simulation.now() < us(30_000), "at rest soon after");
}

/// Flows are given up after eight timeouts of 4 ms, counted from the first packet without an acknowledgement.
#[test]
fn flows_over_a_link_that_stays_down_are_given_up() {
    let mut fabric = broken_incast(None);
    assert_eq!(fabric.run(Time::NEVER), Reached::End);
    assert!(fabric.simulation.observer().delivered.is_empty());
    let end = fabric.simulation.now();
    assert!((us(8 * 4_000)..us(8 * 4_000 + 1_000)).contains(&end), "{end:?}");
}
