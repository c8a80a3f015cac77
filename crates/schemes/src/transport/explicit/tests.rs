//! Tests of two hosts with a switch between them. The path has only propagation delay, and each test defines the grants
//! of the switch.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::{Bytes, FlowId, Host, Input, NodeId, Output, Packet, PortState, Ports, Report};
use raddle_topology::builders::single_switch;
use raddle_topology::{Choice, Paths};
use raddle_wire::rated::Kind;
use raddle_wire::rcp;
use std::collections::BTreeMap;
use std::sync::Arc;

const GBPS: Rate = Rate::from_gbps(1);
const DELAY: Duration = Duration::from_us(50);
const FULL: u16 = 1_460;

/// A protocol in which the granted rate is the subflow's rate. If `is_ordered` is true, the flow with the fewest bytes
/// left sends first.
#[derive(Clone, Copy)]
struct Echo {
    is_ordered: bool,
}

impl Protocol for Echo {
    type Sender = Rate;

    fn open(&mut self, _: &Flow) -> Rate {
        Rate::ZERO
    }

    fn write(&mut self, _: &mut Rate, view: &View, segment: Segment) -> Header {
        let rate = (view.limit.as_bps() / 1_000) as u32;
        Header::Rcp(rcp::Packet { segment, rate, rtt: raddle_wire::Minifloat::default() })
    }

    fn read(&mut self, rate: &mut Rate, _: &View, header: &Header) {
        let Header::Rcp(packet) = header else { return };
        *rate = Rate::from_bps(u64::from(packet.rate) * 1_000);
    }

    fn rate(&self, rate: &Rate) -> Rate {
        *rate
    }

    fn probe_interval(&self, _: &Rate, _: &View) -> Duration {
        Duration::from_us(200)
    }

    fn precedence(&self, _: &Rate, view: &View) -> Option<Precedence> {
        self.is_ordered.then_some((0, view.left as u32))
    }

    fn gives_up(&self, outlook: &Outlook) -> bool {
        outlook.now + outlook.least_time() > outlook.deadline
    }

    fn answer(&self, header: &Header, segment: Segment) -> Option<Header> {
        let Header::Rcp(packet) = header else { return None };
        Some(Header::Rcp(rcp::Packet { segment, ..*packet }))
    }
}

/// Handles a packet at the switch, and returns false to drop the packet. The second argument is the number of packets
/// that have reached the switch so far, this packet included.
type Switch = Box<dyn FnMut(Time, u32, &mut Packet) -> bool>;

struct Pair {
    now: Time,
    hosts: [ExplicitHost<Echo>; 2],
    wake: [Time; 2],
    /// The state of each host's port.
    ports: [PortState; 2],
    /// Packets in flight, by arrival time and then by order of departure, with their receiver.
    wire: BTreeMap<(Time, u32), (usize, Packet)>,
    passed: u32,
    switch: Switch,
    reports: Vec<(Time, Report)>,
    /// All packets sent: departure time, kind, whether the packet is an acknowledgement, and sequence number.
    sent: Vec<(Time, Kind, bool, u32)>,
}

impl Pair {
    fn new(subflows: u32, switch: Switch) -> Self {
        Self::of(Echo { is_ordered: false }, subflows, switch)
    }

    fn of(protocol: Echo, subflows: u32, switch: Switch) -> Self {
        let fabric = Arc::new(single_switch(2, GBPS, DELAY).expect("two hosts"));
        let paths = Arc::new(Paths::new(fabric, Choice::Ecmp).expect("paths"));
        let host = |node| {
            let setup = Setup {
                node: NodeId(node),
                line_rate: GBPS,
                line_rates: GBPS,
                payload: FULL,
                header: 40,
                subflows,
                initial_timeout: Duration::from_us(600),
                least_timeout: Duration::from_us(300),
                seed: 1,
            };
            ExplicitHost::new(setup, protocol, Arc::clone(&paths))
        };
        Self {
            now: Time::ZERO,
            hosts: [host(0), host(1)],
            wake: [Time::NEVER; 2],
            ports: [PortState::idle(GBPS); 2],
            wire: BTreeMap::new(),
            passed: 0,
            switch,
            reports: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn poll(&mut self, of: usize) {
        loop {
            match self.hosts[of].poll(self.now, &Ports(&self.ports[of..=of])) {
                Output::Send { mut packet, .. } => {
                    let segment = *packet.header.rated().expect("a packet must have the protocol's header");
                    self.sent.push((self.now, segment.kind, segment.ack, segment.seq));
                    self.passed += 1;
                    let port = &mut self.ports[of];
                    let sent =
                        port.free_at(self.now).max(self.now) + GBPS.time_for(Bytes(packet.size.into()));
                    port.set_drains_at(sent);
                    if (self.switch)(self.now, self.passed, &mut packet) {
                        self.wire.insert((self.now + DELAY, self.passed), (1 - of, packet));
                    }
                }
                Output::Report(report) => self.reports.push((self.now, report)),
                Output::WakeAt(at) => {
                    self.wake[of] = at;
                    return;
                }
                Output::Idle => {
                    self.wake[of] = Time::NEVER;
                    return;
                }
            }
        }
    }

    /// Runs a flow of `size` bytes until both hosts are idle.
    fn run(&mut self, size: u64, deadline: Option<Duration>) {
        let flow = Flow { deadline, ..Flow::new(FlowId(0), NodeId(0), NodeId(1), Bytes(size), Time::ZERO) };
        self.hosts[0].handle(Time::ZERO, Input::Flow(&flow));
        self.poll(0);
        self.go_on();
    }

    /// Runs until both hosts are idle.
    fn go_on(&mut self) {
        for _ in 0..100_000 {
            let arrives = self.wire.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let at = arrives.min(self.wake[0]).min(self.wake[1]);
            if at == Time::NEVER {
                return;
            }
            self.now = at;
            if arrives == at {
                let (_, (to, packet)) = self.wire.pop_first().expect("a packet must be in flight");
                self.hosts[to].handle(at, Input::Packet { packet: &packet, port: raddle_core::PortId(0) });
                self.poll(to);
            } else {
                (0..2)
                    .filter(|&of| self.wake[of] == at)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|of| self.poll(of));
            }
        }
        panic!("the simulation does not end");
    }

    fn delivered(&self) -> Option<Time> {
        self.reports.iter().find_map(|(at, report)| matches!(report, Report::Delivered { .. }).then_some(*at))
    }

    fn closed(&self) -> Option<(Time, u32)> {
        self.reports.iter().find_map(|&(at, report)| match report {
            Report::Closed { retransmissions, .. } => Some((at, retransmissions)),
            _ => None,
        })
    }

    fn assert_forgotten(&self) {
        assert!(self.hosts[0].is_idle() && self.hosts[1].is_idle());
    }

    /// Departure times of the packets of kind `kind`, without acknowledgements.
    fn times(&self, kind: Kind) -> Vec<Time> {
        self.sent.iter().filter(|of| of.1 == kind && !of.2).map(|of| of.0).collect()
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn pass() -> Switch {
    Box::new(|_, _, _| true)
}

fn grant(packet: &mut Packet, kbps: u32) {
    if let Header::Rcp(rcp) = &mut packet.header {
        rcp.rate = rcp.rate.min(kbps);
    }
}

#[test]
fn a_flow_takes_a_round_trip_to_begin_and_its_packets_leave_at_the_rate_granted() {
    let mut pair = Pair::new(1, pass());
    pair.run(10 * 1_460, None);
    let data = pair.times(Kind::Data);
    assert_eq!(data, (0..10).map(|n| us(100) + Duration::from_us(12) * n).collect::<Vec<_>>());
    assert_eq!(pair.delivered(), Some(us(100 + 108 + 50)));
    assert_eq!(pair.closed(), Some((us(100 + 108 + 100), 0)));
    assert_eq!(pair.times(Kind::Term), [us(308)]);
    pair.assert_forgotten();
}

#[test]
fn a_new_rate_counts_from_the_last_packet() {
    // The flow has a tenth of the line rate until its first data packet is acknowledged.
    let mut pair = Pair::new(
        1,
        Box::new(|now, _, packet| {
            if now < us(100) {
                grant(packet, 100_000);
            }
            true
        }),
    );
    pair.run(4 * 1_460, None);
    // At 100 Mb/s, the second packet would leave 120 us after the first packet, at 220 us. At 200 us, the rate rises to
    // 1 Gb/s, so the second packet leaves at once.
    assert_eq!(pair.times(Kind::Data), [us(100), us(200), us(212), us(224)]);
    pair.assert_forgotten();
}

#[test]
fn paused_flows_probe_and_very_slow_flows_probe_once_per_round_trip() {
    for (kbps, gap) in [(0, 200), (1_000, 100)] {
        let mut pair = Pair::new(
            1,
            Box::new(move |now, _, packet| {
                if now < us(1_000) {
                    grant(packet, kbps);
                }
                true
            }),
        );
        pair.run(3 * 1_460, None);
        let probes = pair.times(Kind::Probe);
        assert!(probes.len() > 3, "{probes:?}");
        let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(gaps.iter().all(|&of| of == Duration::from_us(gap)), "{kbps}: {gaps:?}");
        assert!(pair.closed().is_some());
        pair.assert_forgotten();
    }
}

#[test]
fn the_most_critical_flow_of_a_host_is_served_first() {
    // Both flows are granted the full rate of the link. The long flow sends the first packet, because its SYN is
    // acknowledged first.
    for (is_ordered, short_done) in [(true, 112 + 4 * 12 + 100), (false, 100 + 4 * 12 + 100)] {
        let mut pair = Pair::of(Echo { is_ordered }, 1, pass());
        for (id, packets) in [(0, 20), (1, 5)] {
            let size = Bytes(packets * 1_460);
            let flow = Flow::new(FlowId(id), NodeId(0), NodeId(1), size, Time::ZERO);
            pair.hosts[0].handle(Time::ZERO, Input::Flow(&flow));
        }
        pair.poll(0);
        pair.go_on();
        let data = pair.times(Kind::Data);
        let gaps = data.windows(2).map(|pair| pair[1].since(pair[0]));
        let none_waits_in_the_port = gaps.min() >= Some(Duration::from_us(12));
        assert_eq!(none_waits_in_the_port, is_ordered, "{data:?}");
        assert_eq!(pair.closed(), Some((us(short_done), 0)));
        assert_eq!(data.len(), 25);
        pair.assert_forgotten();
    }
}

#[test]
fn a_flow_that_waits_for_its_host_probes_once_per_round_trip() {
    // Both flows are granted the full rate of the link, which the short flow uses for 1.2 ms. Without probes, the long
    // flow's links would reserve capacity for the long flow all that time.
    let mut pair = Pair::of(Echo { is_ordered: true }, 1, pass());
    for (id, packets) in [(0, 100), (1, 200)] {
        let flow = Flow::new(FlowId(id), NodeId(0), NodeId(1), Bytes(packets * 1_460), Time::ZERO);
        pair.hosts[0].handle(Time::ZERO, Input::Flow(&flow));
    }
    pair.poll(0);
    pair.go_on();
    let probes = pair.times(Kind::Probe);
    assert!((10..=12).contains(&probes.len()), "{probes:?}");
    let gaps: Vec<_> = probes.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps.iter().all(|&of| of >= Duration::from_us(100) && of < Duration::from_us(125)), "{gaps:?}");
    assert_eq!(pair.times(Kind::Data).len(), 300);
    pair.assert_forgotten();
}

#[test]
fn gaps_reveal_lost_packets_and_timeouts_reveal_a_lost_tail() {
    // The first transmissions of the second data packet (number 1) and of the last data packet (number 9) are lost.
    let mut lost = 0;
    let mut pair = Pair::new(
        1,
        Box::new(move |_, _, packet| {
            let segment = packet.header.rated().expect("a packet must have the protocol's header");
            let is_lost =
                segment.kind == Kind::Data && !segment.ack && [1, 9].contains(&segment.seq) && lost < 2;
            lost += u32::from(is_lost);
            !is_lost
        }),
    );
    pair.run(10 * 1_460, None);
    let repeated = |number| {
        pair.sent.iter().filter(|of| of.1 == Kind::Data && !of.2 && of.3 == number).map(|of| of.0).nth(1)
    };
    assert_eq!(repeated(1), Some(us(100 + 24 + 100)), "the third packet is acknowledged");
    assert_eq!(repeated(9), Some(us(100 + 108 + 300)), "after the least timeout");
    assert_eq!(pair.closed(), Some((us(608), 2)));
    pair.assert_forgotten();
}

#[test]
fn lost_syns_and_terms_are_sent_again_and_repeated_ones_do_no_harm() {
    for lost in [1, 2] {
        // The switch drops either the first SYN and the first TERM, or the acknowledgements of these two packets.
        let mut seen = [0; 2];
        let mut pair = Pair::new(
            1,
            Box::new(move |_, _, packet| {
                let segment = packet.header.rated().expect("a packet must have the protocol's header");
                let way = match segment.kind {
                    Kind::Syn => 0,
                    Kind::Term => 1,
                    Kind::Data | Kind::Probe => return true,
                };
                seen[way] += 1;
                seen[way] != lost
            }),
        );
        pair.run(1_000, None);
        assert_eq!(pair.times(Kind::Syn).len(), 2);
        assert_eq!(pair.times(Kind::Term).len(), 2);
        assert_eq!(pair.closed().map(|of| of.0), Some(us(600 + 100 + 100)));
        assert_eq!(pair.reports.iter().filter(|of| matches!(of.1, Report::Delivered { .. })).count(), 1);
        pair.assert_forgotten();
    }
}

#[test]
fn a_flow_that_cannot_be_in_time_is_not_begun_and_one_that_no_longer_can_ends() {
    // The flow's 100 packets take 12 us each, so the flow cannot be complete within 1,199 us.
    let mut pair = Pair::new(1, pass());
    pair.run(100 * 1_460, Some(Duration::from_us(1_199)));
    assert!(pair.sent.is_empty());
    pair.assert_forgotten();
    let mut pair = Pair::new(
        1,
        Box::new(|_, _, packet| {
            grant(packet, 500_000);
            true
        }),
    );
    pair.run(100 * 1_460, Some(Duration::from_us(2_000)));
    assert!(pair.delivered().is_none() && pair.closed().is_none());
    let term = pair.times(Kind::Term);
    assert!(term.len() == 1 && term[0] < us(2_000) && term[0] > us(1_000), "{term:?}");
    pair.assert_forgotten();
}

#[test]
fn a_paused_subflow_hands_its_bytes_to_a_sending_subflow() {
    // The first of two subflows never gets a rate.
    let mut pair = Pair::new(
        2,
        Box::new(|_, _, packet| {
            if packet.header.rated().is_some_and(|segment| segment.flow % Segment::SUBFLOWS == 0) {
                grant(packet, 0);
            }
            true
        }),
    );
    pair.run(20 * 1_460, None);
    assert_eq!(pair.times(Kind::Data).len(), 20);
    assert_eq!(pair.delivered(), Some(us(100 + 19 * 12 + 50)));
    assert_eq!(pair.times(Kind::Term).len(), 2);
    pair.assert_forgotten();
}

#[test]
fn every_flow_ends_under_any_losses() {
    for seed in 0..100 {
        let mut random = raddle_core::Stream::new(seed, 0, "test");
        let mut pair = Pair::new(
            1 + seed as u32 % 3,
            Box::new(move |_, _, packet| {
                if random.below(4) == 0 {
                    grant(packet, 0);
                }
                random.below(5) > 0
            }),
        );
        pair.run(30 * 1_460 - 7, None);
        assert!(pair.delivered().is_some() && pair.closed().is_some(), "seed {seed}");
        pair.assert_forgotten();
    }
}
