//! Compares TCP's segments with the rules of RFC 5681 and RFC 6298.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::fabric::{Dropping, hosts};
use crate::witness::{Case, Witness, at_most};
use raddle_core::{Duration, Header, LinkId, NodeId, Observer, Packet, PortId, Rate, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::parameter::Value;
use raddle_testkit::{flow, us};
use raddle_topology::builders;
use raddle_wire::tcp::Segment;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

const MSS: u64 = 1_460;

/// Serialization delay of a full segment on a link of 10 Gbps, in us.
const FULL_US: f64 = 1.2;
/// Serialization delay of a segment of 40 B on a link of 10 Gbps, in us.
const SMALL_US: f64 = 0.032;
/// Propagation delay of a link, in us.
const DELAY_US: f64 = 10.0;

/// Round-trip time of a full segment in us. Each direction crosses two links.
const ROUND_TRIP_US: f64 = 4.0 * DELAY_US + 2.0 * FULL_US + 2.0 * SMALL_US;
/// Round-trip time of a SYN in us.
const SYN_ROUND_TRIP_US: f64 = 4.0 * DELAY_US + 4.0 * SMALL_US;

/// Counts must be equal: the allowed relative difference is 0.
const EXACT: RangeInclusive<f64> = 0.0..=0.0;

/// Returns the allowed relative difference of times. The simulator rounds times to whole picoseconds.
fn rounded() -> RangeInclusive<f64> {
    at_most(1e-6)
}

/// The data segments that host 0 sends, each with its sending time, and the acknowledgements that host 0
/// receives, each with its arrival time. Times are in us.
struct Trace {
    links: [LinkId; 2],
    sent: Vec<(f64, Segment)>,
    acknowledged: Vec<(f64, Segment)>,
}

impl Observer for Trace {
    const FORWARDED: bool = true;

    fn forwarded(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet) {
        let Header::Tcp(segment) = packet.header else { return };
        let us = |time: Time| time.as_ps() as f64 / 1e6;
        if link == self.links[0] && segment.plen > 0 {
            self.sent.push((us(now), segment));
        } else if link == self.links[1] {
            self.acknowledged.push((us(sent) + DELAY_US, segment));
        }
    }
}

impl Trace {
    /// Returns the times at which host 0 retransmits a segment.
    fn repeated(&self) -> Vec<f64> {
        let is_old = |&n: &usize| self.sent[..n].iter().any(|of| of.1.seq == self.sent[n].1.seq);
        (0..self.sent.len()).filter(is_old).map(|n| self.sent[n].0).collect()
    }
}

/// Runs a flow from host 0 to host 1 through one switch. The switch's port to host 1 drops a packet if
/// `drops` is true for the packet's arrival number, counted from 0.
fn run(
    transport: &str,
    values: &[(&'static str, Value)],
    segments: u64,
    drops: impl Fn(u64) -> bool + Copy + Send + 'static,
) -> Trace {
    let star = builders::single_switch(2, Rate::from_gbps(10), Duration::from_us(DELAY_US as u64));
    let topology = Arc::new(star.expect("a star"));
    let up = [0, 1].map(|host| topology.link_id(NodeId(host), PortId(0)));
    let down = up.map(|link| topology.reverse(link));
    let mut parts = hosts(&topology, transport, values, None);
    let port = |link| PortSetup {
        queue: (link == down[1]).then(|| Box::new(Dropping::new(drops)) as Box<_>),
        ..PortSetup::default()
    };
    let flows = vec![flow(0, 0, 1, segments * MSS, us(0))];
    let trace = Trace { links: [up[0], down[0]], sent: Vec::new(), acknowledged: Vec::new() };
    let node = |id| (parts.node)(id);
    let config = Config { time_limit: Some(us(200_000_000)), ..Config::default() };
    let mut simulation = Simulation::new(&topology, node, port, flows, config, trace);
    simulation.run(|_| ControlFlow::Continue(()));
    simulation.into_observer()
}

fn case(name: impl Into<String>, ours: f64, theirs: f64, within: RangeInclusive<f64>) -> Case {
    Case { name: name.into(), ours, theirs, within }
}

pub(crate) fn slow_start() -> Witness {
    let window = [("initial_window", Value::Count(3))];
    let trace = run("tcp-newreno", &window, 3 + 6 + 12 + 24, |_| false);
    let round = |n: u32| {
        let from = f64::from(n) * ROUND_TRIP_US - 1e-6;
        let sent = trace.sent.iter().filter(|of| (from..from + ROUND_TRIP_US).contains(&of.0));
        let sent = sent.count() as f64;
        case(format!("round trip {}", n + 1), sent, f64::from(3 << n), EXACT)
    };
    Witness {
        quantity: "TCP, slow start: segments in a round trip",
        form: "the initial window is 3 segments for an SMSS of 1,460 B. The window grows by one SMSS for each acknowledgement, so it doubles in each round trip (RFC 5681 §3.1, eq. 2)",
        experiment: "packet engine, `tcp-newreno`, two hosts at a switch, links of 10 Gbps and 10 us, `initial_window` 3; segments are counted as they are \
                     sent. Counts are exact",
        cases: (0..4).map(round).collect(),
    }
}

pub(crate) fn fast_retransmit() -> Witness {
    let cases =
        [("tcp-reno", false), ("tcp-newreno", false), ("tcp-newreno", true)].map(|(transport, sack)| {
            let flags = [("handshake", false), ("limited_transmit", false), ("sack", sack)];
            let flags = flags.map(|(name, flag)| (name, Value::Flag(flag)));
            let values: Vec<_> = flags.into_iter().chain([("initial_window", Value::Count(10))]).collect();
            let trace = run(transport, &values, 40, |n| n == 0);
            let [at] = trace.repeated()[..] else { panic!("one retransmission: {:?}", trace.repeated()) };
            let first = trace.sent[0].1.seq;
            let is_duplicate = |&&(_, segment): &&(f64, Segment)| segment.ack == first;
            let before = trace.acknowledged.iter().filter(is_duplicate).filter(|of| of.0 < at + 1e-9).count();
            // The third duplicate acknowledgement answers the fourth segment. This segment arrives after four
            // serialization delays at the host and one at the switch.
            let ack = SMALL_US + if sack { 0.0096 } else { 0.0 };
            let third = 4.0 * FULL_US + FULL_US + 4.0 * DELAY_US + 2.0 * ack;
            let name = format!("`{transport}`{}", if sack { " with SACK" } else { "" });
            let mut cases = vec![
                case(format!("{name}: duplicates before the retransmission"), before as f64, 3.0, EXACT),
                case(format!("{name}: time of the retransmission in us"), at, third, rounded()),
            ];
            if !sack {
                let ends = trace.acknowledged.iter().find(|of| of.1.ack != first).expect("recovery ends").0;
                let from = |at: f64, to: f64| {
                    let is_in = |of: &&(f64, Segment)| of.0 > at + 1e-9 && of.0 < to - 1e-9;
                    trace.sent.iter().filter(is_in).count() as f64
                };
                cases.extend([
                    case(format!("{name}: new segments in fast recovery"), from(at, ends), 4.0, EXACT),
                    case(
                        format!("{name}: new segments at the end of fast recovery"),
                        from(ends - 2e-9, ends + FULL_US),
                        1.0,
                        EXACT,
                    ),
                ]);
            }
            cases
        });
    Witness {
        quantity: "TCP, fast retransmit of the first of 10 segments",
        form: "the third duplicate acknowledgement starts the retransmission. ssthresh is 5, half of the 10 \
             segments in flight. With 6 further duplicates, the window is ssthresh + 3 + 6 = 14, which allows 4 new \
             segments. At the end the window is ssthresh = 5 with 4 segments outstanding, which allows 1 new segment \
             (RFC 5681 §3.2, steps 2 to 6; the threshold also RFC 6675 §5)",
        experiment: "the experiment of slow start, but with `initial_window` 10 and without limited transmit; the switch drops the first segment. Counts are exact, and times are whole picoseconds",
        cases: cases.into_iter().flatten().collect(),
    }
}

pub(crate) fn retransmission_timeout() -> Witness {
    let ms = |ms| Value::Duration(Duration::from_ms(ms));
    let first = run("tcp-newreno", &[("initial_rto", ms(1_000))], 1, |n| n < 7);
    let waits: Vec<f64> = first.sent.windows(2).map(|pair| (pair[1].0 - pair[0].0) / 1e6).collect();
    assert_eq!(waits.len(), 7, "seven losses: {waits:?}");
    let wait = |(n, seconds)| {
        case(format!("without a measurement, expiry {} in s", n + 1), waits[n], seconds, rounded())
    };
    let mut cases: Vec<Case> = (0..).zip([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]).map(wait).collect();
    // The switch lets `passed` packets pass and drops the next 40. No later packet arrives before the timeout.
    let after = |handshake, passed: u64| {
        let values =
            [("initial_window", Value::Count(1)), ("min_rto", ms(0)), ("handshake", Value::Flag(handshake))];
        let trace = run("tcp-newreno", &values, 40, move |n| (passed..passed + 40).contains(&n));
        let again = trace.repeated()[0];
        let heard = trace.acknowledged.iter().map(|of| of.0).filter(|&at| at < again);
        again - heard.fold(0.0, f64::max)
    };
    for (samples, passed) in [(1, 1), (2, 3), (3, 7)] {
        let variation = ROUND_TRIP_US / 2.0 * 0.75_f64.powi(samples - 1);
        let name = format!("after {samples} equal measurements, in us");
        cases.push(case(name, after(false, passed), ROUND_TRIP_US + 4.0 * variation, rounded()));
    }
    let (syn, full) = (SYN_ROUND_TRIP_US, ROUND_TRIP_US);
    let smoothed = syn * 7.0 / 8.0 + full / 8.0;
    let variation = syn / 2.0 * 3.0 / 4.0 + (full - syn) / 4.0;
    let name = "after one measurement with a SYN and one with data, in us";
    cases.push(case(name, after(true, 2), smoothed + 4.0 * variation, rounded()));
    Witness {
        quantity: "TCP: retransmission timeout",
        form: "the RTO is 1 s without a measurement, and each expiry doubles it up to 60 s (RFC 6298 §2.1, \
             2.5, 5.5). After the first measurement R, the RTO is R + 4·R/2. Each further measurement R' sets RTTVAR \
             = 3/4 RTTVAR + 1/4 abs(SRTT - R') and SRTT = 7/8 SRTT + 1/8 R' (§2.2, 2.3). The timer starts anew with \
             the last acknowledgement of new data (§5.3)",
        experiment: "the experiment of slow start, but with `initial_rto` 1 s, and with `min_rto` 0 in place \
             of the 1 s of §2.4; the switch drops the first 7 packets, or all packets after some packet. The first \
             retransmission shows the timeout. R is 42.464 us for a full segment and 40.128 us for a SYN. Times are \
             whole picoseconds",
        cases,
    }
}
