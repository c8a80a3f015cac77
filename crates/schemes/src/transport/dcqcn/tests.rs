//! Tests of two DCQCN hosts on a link that loses packets. With go-back-N, every flow is delivered once, and in the end
//! no event remains.

use super::Params;
use super::params::Recovery;
use super::protocol::Dcqcn;
use crate::transport::adapter::Adapter;
use proptest::prelude::*;
use raddle_core::{
    Bytes, Duration, Flow, FlowId, FlowKey, Header, HeaderInfo, Host, Input, NodeId, Output, Packet,
    PacketKind, PortId, PortState, Ports, Process, Rate, Report, Time,
};
use raddle_wire::roce;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(40);
const DELAY: Duration = Duration::from_us(2);

/// Hosts 0 and 1, and the packets in flight between them.
struct Pair {
    now: Time,
    hosts: [Adapter<Dcqcn>; 2],
    port: PortState,
    /// For each host: the wake-up time that the host last returned; `NEVER` if it was idle.
    wakes: [Time; 2],
    /// For each host: the time at which the transmission of its current data packet ends, and this packet.
    leaving: [Option<(Time, Packet)>; 2],
    under_way: Vec<(Time, usize, Packet)>,
    /// Returns true if the link loses a packet. The arguments are the sending host, the packet's number among all
    /// packets of that host, and the packet.
    lost: fn(usize, usize, &Packet) -> bool,
    sent: [usize; 2],
    acknowledgements: usize,
    reports: Vec<(Time, Report)>,
}

impl Pair {
    fn new(params: Params, lost: fn(usize, usize, &Packet) -> bool) -> Self {
        let params = Arc::new(params);
        let host = |node| {
            let protocol = Dcqcn::new(Arc::clone(&params), RATE);
            Adapter::new(NodeId(node), protocol, params.mtu, RATE, 1, None)
        };
        Self {
            now: Time::ZERO,
            hosts: [0, 1].map(host),
            port: PortState::idle(RATE),
            wakes: [Time::ZERO; 2],
            leaving: [None, None],
            under_way: Vec::new(),
            lost,
            sent: [0; 2],
            acknowledgements: 0,
            reports: Vec::new(),
        }
    }

    /// Host 0 starts a flow of `size` bytes to host 1.
    fn open(&mut self, id: u32, size: u64, app_rate: Option<Rate>) {
        let flow = Flow::new(FlowId(id), NodeId(0), NodeId(1), Bytes(size), self.now);
        let flow = Flow { app_rate, process: Process::Constant, ..flow };
        self.hosts[0].handle(self.now, Input::Flow(&flow));
    }

    /// Polls a host until it has no more output. The link transmits data packets one after another, and other packets
    /// without waiting.
    fn poll(&mut self, host: usize) {
        loop {
            match self.hosts[host].poll(self.now, &Ports(std::slice::from_ref(&self.port))) {
                Output::Send { packet, .. } => {
                    let is_data = packet.header.kind() == PacketKind::Data;
                    self.acknowledgements += usize::from(packet.header.kind() == PacketKind::Ack);
                    let lost = (self.lost)(host, self.sent[host], &packet);
                    self.sent[host] += 1;
                    let left = self.now + RATE.time_for(Bytes(packet.size.into()));
                    if !lost {
                        self.under_way.push((left + DELAY, 1 - host, packet.clone()));
                    }
                    if is_data {
                        assert!(
                            self.leaving[host].replace((left, packet)).is_none(),
                            "one data packet at a time"
                        );
                    }
                }
                Output::Report(report) => self.reports.push((self.now, report)),
                Output::WakeAt(at) => {
                    self.wakes[host] = at;
                    return;
                }
                Output::Idle => {
                    self.wakes[host] = Time::NEVER;
                    return;
                }
            }
        }
    }

    /// Runs until no event remains.
    fn run(&mut self) {
        loop {
            [0, 1].into_iter().for_each(|host| self.poll(host));
            let leaving = self.leaving.iter().flatten().map(|leaving| leaving.0);
            let arriving = self.under_way.iter().map(|arriving| arriving.0);
            let next = leaving.chain(arriving).chain(self.wakes).min().expect("two wakes");
            if next == Time::NEVER {
                return;
            }
            self.now = next;
            for host in 0..2 {
                if let Some((_, packet)) = self.leaving[host].take_if(|leaving| leaving.0 <= next) {
                    self.hosts[host].handle(next, Input::Sent(&packet));
                }
            }
            let (come, rest) = std::mem::take(&mut self.under_way).into_iter().partition(|of| of.0 <= next);
            self.under_way = rest;
            let come: Vec<_> = come;
            for (_, host, packet) in come {
                self.hosts[host].handle(next, Input::Packet { packet: &packet, port: PortId(0) });
                self.poll(host);
            }
        }
    }

    /// The time of delivery of each delivered flow.
    fn delivered(&self) -> Vec<Time> {
        let of = |&(at, report): &(Time, Report)| matches!(report, Report::Delivered { .. }).then_some(at);
        self.reports.iter().filter_map(of).collect()
    }

    /// Number of retransmissions of each closed flow.
    fn closed(&self) -> Vec<u32> {
        let of = |(_, report): &(Time, Report)| match *report {
            Report::Closed { retransmissions, .. } => Some(retransmissions),
            _ => None,
        };
        self.reports.iter().filter_map(of).collect()
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// At 40 Gb/s, a packet of 1,084 B takes 216.8 ns and an acknowledgement of 48 B takes 9.6 ns.
#[test]
fn a_flow_without_losses_is_acknowledged_every_16_packets_and_at_its_end() {
    let mut pair = Pair::new(Params::default(), |_, _, _| false);
    pair.open(0, 100 * 1_024, None);
    pair.run();
    let all = Time::ZERO + Duration::from_ps(100 * 216_800) + DELAY;
    assert_eq!(pair.delivered(), [all]);
    assert_eq!(
        pair.reports.last(),
        Some(&(
            all + Duration::from_ps(9_600) + DELAY,
            Report::Closed { key: FlowKey(0), retransmissions: 0 }
        ))
    );
    assert_eq!(
        (pair.sent, pair.acknowledgements),
        ([100, 7], 7),
        "six acknowledgements of 16 packets, and one of the last 4"
    );
    assert_eq!(pair.now, all + Duration::from_ps(9_600) + DELAY, "no timer runs after the flow has closed");
}

/// The sender retransmits 21 packets: the lost packet, the next 19 packets, and the packet that is in transmission when
/// the negative acknowledgement arrives. The negative acknowledgement arrives 4 us + 216.8 ns + 9.6 ns (the time of
/// 19.5 packets) after the lost packet has left.
#[test]
fn a_lost_packet_is_refused_at_once_and_all_behind_it_are_sent_again() {
    let mut pair = Pair::new(Params::default(), |host, number, _| (host, number) == (0, 10));
    pair.open(0, 100 * 1_024, None);
    pair.run();
    assert_eq!((pair.delivered().len(), pair.closed()), (1, vec![21]));
    let again = Duration::from_ps(121 * 216_800);
    assert_eq!(pair.delivered(), [Time::ZERO + again + DELAY]);
}

/// No packet follows the lost last packet, so the receiver sends no negative acknowledgement.
#[test]
fn a_lost_tail_is_sent_again_after_the_timeout() {
    let mut pair = Pair::new(Params::default(), |host, number, _| (host, number) == (0, 9));
    pair.open(0, 10 * 1_024, None);
    pair.run();
    // The timer has run since the first packet, because the receiver acknowledges none of the first nine packets.
    let tail = Duration::from_ps(10 * 216_800);
    assert_eq!(pair.delivered(), [us(4_000) + tail + DELAY]);
    assert_eq!(pair.closed(), [10]);
}

/// The receiver answers retransmissions of a delivered flow, although it remembers only the flow's key.
#[test]
fn a_lost_last_acknowledgement_is_repeated_and_the_flow_is_delivered_once() {
    let mut pair = Pair::new(Params::default(), |host, number, _| (host, number) == (1, 0));
    pair.open(0, 10 * 1_024, None);
    pair.run();
    assert_eq!((pair.delivered().len(), pair.closed().len()), (1, 1));
    // The receiver answers each retransmitted packet with an acknowledgement of all packets, so the sender does not
    // retransmit the flow again and again.
    assert!(pair.closed()[0] < 25, "{:?}", pair.closed());
}

/// The retry counter of InfiniBand allows 7 retransmissions, so the packet is sent 8 times.
#[test]
fn a_flow_that_gets_no_answer_is_given_up() {
    let mut pair = Pair::new(Params::default(), |host, _, _| host == 1);
    pair.open(0, 1_024, None);
    pair.run();
    assert_eq!((pair.delivered().len(), pair.closed().len(), pair.sent[0]), (1, 0, 8));
    assert_eq!(pair.now, us(8 * 4_000), "no event remains after the flow was given up");
    assert_eq!(pair.hosts[0].retransmissions(), [(FlowKey(0), 7)]);
}

#[test]
fn an_application_that_makes_packets_at_a_rate_recovers_too() {
    let mut pair = Pair::new(Params::default(), |host, number, _| host == 0 && number % 7 == 6);
    pair.open(0, 50 * 1_024 + 5, Some(Rate::from_gbps(1)));
    pair.run();
    assert_eq!((pair.delivered().len(), pair.closed().len()), (1, 1));
}

#[test]
fn without_recovery_nothing_is_acknowledged() {
    let params = Params { recovery: Recovery::None, ..Params::default() };
    let mut pair = Pair::new(params, |host, number, _| (host, number) == (0, 10));
    pair.open(0, 100 * 1_024, None);
    pair.run();
    assert_eq!((pair.delivered().len(), pair.closed(), pair.sent), (0, vec![0], [100, 0]));
}

/// True if the link loses the packet, which happens to about 30% of all packets. The lost packets are the same in each
/// run. A packet and its retransmission have different numbers, so the link may lose one of them and deliver the other.
fn a_third(host: usize, number: usize, packet: &Packet) -> bool {
    let Header::Roce(roce::Packet { flow, .. }) = &packet.header else { panic!("a RoCEv2 packet") };
    let mut mixed = (host as u64) << 60 ^ (number as u64) << 20 ^ u64::from(*flow);
    mixed = (mixed ^ mixed >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) % 10 < 3
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each flow is delivered once and closed, although about 30% of the packets are lost in each direction.
    #[test]
    fn every_byte_arrives_once(
        sizes in prop::collection::vec(1_u64..60_000, 1..6),
        ack_interval in 1_u32..40,
        interval_us in 0_u64..1_000,
    ) {
        let nak_interval = Duration::from_us(interval_us);
        let params = Params { ack_interval, nak_interval, retries: 1_000, ..Params::default() };
        let mut pair = Pair::new(params, a_third);
        for (id, &size) in (0..).zip(&sizes) {
            pair.open(id, size, None);
        }
        pair.run();
        prop_assert_eq!((pair.delivered().len(), pair.closed().len()), (sizes.len(), sizes.len()));
    }
}
