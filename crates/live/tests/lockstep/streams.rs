//! Streams in lockstep: applications append bytes at random times, and the same bytes come out in order at the other
//! end. Reliable transports deliver all bytes even if links lose and damage packets. UDP delivers no byte after a lost
//! packet.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{Bytes, Duration, Flow, FlowId, LinkErrors, NodeId, Observer, Rate, Report, Stream, Time};
use raddle_live::lockstep::{Lockstep, StreamError};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::{Built, Plan, Unfit};
use raddle_testkit::{registry, settings, us};
use raddle_topology::{Topology, builders};
use std::sync::Arc;

const SEED: u64 = 5;

const ON: Value = Value::Flag(true);

/// A transport, a routing, and the parameters that differ from their defaults.
type Case = (&'static str, &'static str, &'static [(&'static str, Value)]);

#[derive(Default)]
struct Reports(Vec<Report>);

impl Observer for Reports {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.0.push(report);
    }
}

impl Reports {
    /// Returns the number of delivered flows, and the number of retransmissions of each closed flow.
    fn ends(&self) -> (usize, Vec<u32>) {
        let delivered = self.0.iter().filter(|report| matches!(report, Report::Delivered { .. })).count();
        let closed = self.0.iter().filter_map(|report| match report {
            Report::Closed { retransmissions, .. } => Some(*retransmissions),
            _ => None,
        });
        (delivered, closed.collect())
    }
}

fn torus() -> Arc<Topology> {
    let torus = builders::torus(&[3, 3], Rate::from_gbps(10), Duration::from_ns(500));
    Arc::new(torus.expect("a 3x3 torus"))
}

fn build(
    transport: &str,
    routing: &str,
    topology: &Arc<Topology>,
    changes: &[(&'static str, Value)],
) -> Result<Built, Unfit> {
    let transport = registry().transport(transport).expect("in the registry");
    let settings = settings(transport.info.parameters, changes);
    let plan = Plan { streams: true, ..Plan::new(topology, routing, &settings, SEED) };
    registry().build(transport, &plan, &registry().routing_defaults(routing))
}

fn fabric(
    transport: &str,
    routing: &str,
    changes: &[(&'static str, Value)],
    flows: Vec<Flow>,
    errors: &LinkErrors,
) -> Lockstep<Reports> {
    let topology = torus();
    let parts = build(transport, routing, &topology, changes).expect("it carries streams");
    Lockstep::new(&topology, parts.node, flows, Reports::default()).with_errors(errors)
}

fn stream(id: u32, src: u32, dst: u32) -> Flow {
    Flow::stream(FlowId(id), NodeId(src), NodeId(dst), Time::ZERO)
}

/// Random bytes. Two ranges of these bytes almost certainly differ, so a test detects bytes at a wrong position.
fn content(stream: u64, len: usize) -> Vec<u8> {
    let mut random = Stream::new(SEED, stream, "content");
    std::iter::repeat_with(|| random.below(256) as u8).take(len).collect()
}

/// Sends two streams in addition to the flows of known size. Appends pieces of many sizes. Some pieces follow while
/// many bytes are unacknowledged, others after a silence in which all bytes are acknowledged.
fn exchange(mut live: Lockstep<Reports>, name: &str) -> Reports {
    let streams = [(stream(10, 0, 8), content(0, 700_000)), (stream(11, 4, 2), content(1, 90_000))];
    let mut random = Stream::new(SEED, 0, "pieces");
    let mut rests = streams.each_ref().map(|(flow, content)| {
        live.open(flow).expect("a new stream");
        &content[..]
    });
    let mut read = [Vec::new(), Vec::new()];
    let mut before_close = 0;
    for round in 0..60 {
        for (place, (flow, _)) in streams.iter().enumerate() {
            let most = [0, 1, 50, 1_459, 1_460, 1_461, 40_000][random.index(7)];
            let (piece, rest) = rests[place].split_at(rests[place].len().min(most));
            live.append(flow.id, piece).expect("an open stream");
            rests[place] = rest;
            read[place].extend(live.read(flow.id).expect("a stream"));
        }
        // Every twentieth silence is long enough for all bytes to be acknowledged.
        let silence = if round % 20 == 19 { 60_000 } else { random.below(40) };
        let now = live.now();
        live.advance(now + Duration::from_us(silence));
    }
    for (place, (flow, _)) in streams.iter().enumerate() {
        before_close += read[place].len();
        live.append(flow.id, rests[place]).expect("an open stream");
        live.close(flow.id).expect("an open stream");
        assert_eq!(live.append(flow.id, b"more"), Err(StreamError::Closed(flow.id)), "{name}");
        assert_eq!(live.close(flow.id), Err(StreamError::Closed(flow.id)), "{name}");
    }
    assert!(before_close > 100_000, "{name}: applications read while streams are open: {before_close}");
    assert!(live.run(us(20_000_000)), "{name}: at rest within 20 s");
    for (place, (flow, content)) in streams.iter().enumerate() {
        read[place].extend(live.read(flow.id).expect("a stream"));
        assert!(read[place] == *content, "{name}: {} bytes of {}", read[place].len(), content.len());
        assert_eq!(live.unacknowledged(flow.id), Ok(0), "{name}");
    }
    assert_eq!(live.packets_inside(), 0);
    live.into_observer()
}

fn flows() -> Vec<Flow> {
    [(0, 3, 5), (1, 8, 0)]
        .map(|(id, src, dst)| Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(200_000), us(10)))
        .to_vec()
}

fn bad_links() -> LinkErrors {
    LinkErrors { seed: SEED, loss: 0.02, corruption: 0.02, ..LinkErrors::default() }
}

#[test]
fn streams_cross_links_that_lose_and_damage_packets() {
    const DELAY: Value = Value::Duration(Duration::from_us(40));
    let cases: [Case; 9] = [
        ("tcp-newreno", "ecmp", &[]),
        ("tcp-newreno", "ecmp", &[("handshake", ON), ("delayed_ack", DELAY)]),
        ("tcp-newreno", "ecmp", &[("sack", Value::Flag(false))]),
        ("tcp-newreno", "spray", &[]),
        ("tcp-reno", "ecmp", &[]),
        ("tcp-cubic", "ecmp", &[]),
        ("dctcp", "ecmp", &[]),
        ("r2c2", "rps", &[("reliable", ON)]),
        ("r2c2", "vlb", &[("reliable", ON), ("window", Value::Count(20))]),
    ];
    for (transport, routing, changes) in cases {
        let name = format!("{transport} over {routing} with {changes:?}");
        let reports = exchange(fabric(transport, routing, changes, flows(), &bad_links()), &name);
        let (delivered, retransmissions) = reports.ends();
        assert_eq!((delivered, retransmissions.len()), (4, 4), "{name}");
        assert!(retransmissions.iter().sum::<u32>() > 20, "{name}: losses are repaired");
    }
}

#[test]
fn streams_of_udp_arrive_if_nothing_is_lost() {
    for rate in [Rate::ZERO, Rate::from_gbps(2)] {
        let live = fabric("udp", "ecmp", &[("rate", Value::Rate(rate))], flows(), &LinkErrors::default());
        let (delivered, retransmissions) = exchange(live, "udp").ends();
        assert_eq!((delivered, retransmissions), (4, vec![0; 4]), "{rate:?}");
    }
}

#[test]
fn no_byte_after_a_lost_udp_packet_is_delivered() {
    let mut live =
        fabric("udp", "ecmp", &[], vec![], &LinkErrors { seed: SEED, loss: 0.05, ..LinkErrors::default() });
    let (flow, sent) = (stream(0, 0, 8), content(0, 200_000));
    live.open(&flow).expect("a new stream");
    live.append(flow.id, &sent).expect("an open stream");
    live.close(flow.id).expect("an open stream");
    assert!(live.run(us(1_000_000)));
    let read = live.read(flow.id).expect("a stream");
    assert!(read.len() < sent.len() && sent.starts_with(&read), "{} bytes", read.len());
    assert_eq!(live.unacknowledged(flow.id), Ok(0), "UDP repeats nothing");
    assert_eq!(live.observer().ends(), (0, vec![0]), "closed, and never delivered");
}

#[test]
fn a_stream_may_be_empty_and_ends_when_it_is_closed() {
    let cases: [Case; 4] = [
        ("tcp-newreno", "ecmp", &[]),
        ("tcp-newreno", "ecmp", &[("handshake", ON)]),
        ("udp", "ecmp", &[]),
        ("r2c2", "rps", &[("reliable", ON)]),
    ];
    for (transport, routing, changes) in cases {
        let mut live = fabric(transport, routing, changes, vec![], &LinkErrors::default());
        let ids = [0, 1, 2].map(FlowId);
        ids.iter().for_each(|id| live.open(&stream(id.0, 0, 8)).expect("a new stream"));
        live.append(ids[1], b"").expect("an open stream");
        live.append(ids[2], b"").expect("an open stream");
        live.append(ids[2], b"abc").expect("an open stream");
        live.append(ids[2], b"").expect("an open stream");
        live.advance(us(30_000));
        assert_eq!(live.observer().ends(), (0, vec![]), "{transport}: all are open");
        assert_eq!(live.read(ids[2]), Ok(b"abc".to_vec()), "{transport}: nobody waits for a full packet");
        ids.iter().for_each(|&id| live.close(id).expect("an open stream"));
        assert!(live.run(us(10_000_000)));
        assert_eq!(live.observer().ends(), (3, vec![0; 3]), "{transport}");
        let read = ids.map(|id| live.read(id).expect("a stream"));
        assert_eq!(read, [b""; 3].map(Vec::from), "{transport}");
        let told: Vec<_> =
            live.observer().0.iter().filter(|report| matches!(report, Report::InOrder { .. })).collect();
        assert!(matches!(told[..], [Report::InOrder { to: Bytes(3), .. }]), "{transport}: {told:?}");
    }
}

#[test]
fn impossible_streams_are_refused_with_the_reason() {
    let topology = torus();
    let refused = |transport| {
        let unfit = build(transport, "ecmp", &topology, &[]).err().expect("it is refused");
        (unfit.key, unfit.problem)
    };
    let key = "scheme.transport".to_owned();
    let sizes = |name| {
        format!(
            "`{name}` cannot carry flows of unknown size: it needs to know the size of a flow when the flow \
                 begins"
        )
    };
    assert_eq!(refused("pdq"), (key.clone(), sizes("pdq")));
    assert_eq!(refused("d3"), (key.clone(), sizes("d3")));
    let with = "`r2c2` carries flows of unknown size only with `reliable = true`".to_owned();
    assert_eq!(refused("r2c2"), ("scheme.r2c2.reliable".to_owned(), with));
    let deadline = [("reliable", Value::Flag(true)), ("policy", Value::Choice("deadline"))];
    let unfit = build("r2c2", "rps", &topology, &deadline).err().expect("it is refused");
    assert_eq!(unfit.key, "scheme.r2c2.policy");

    // A host that was not built for streams refuses to open a stream.
    let transport = registry().transport("tcp-newreno").expect("in the registry");
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(&topology, "ecmp", &settings, SEED);
    let parts = registry().build(transport, &plan, &registry().routing_defaults("ecmp")).expect("it fits");
    let mut live = Lockstep::new(&topology, parts.node, vec![], ());
    assert_eq!(live.open(&stream(0, 0, 8)), Err(StreamError::NotCarried(NodeId(0))));
    assert_eq!(live.append(FlowId(0), b"a"), Err(StreamError::Unknown(FlowId(0))));
    let mut live = fabric("udp", "ecmp", &[], vec![], &LinkErrors::default());
    live.open(&stream(0, 0, 8)).expect("a new stream");
    assert_eq!(live.open(&stream(0, 1, 8)), Err(StreamError::Taken(FlowId(0))));
}
