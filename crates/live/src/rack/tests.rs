#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::ring::{Entry, Producer};
use super::*;
use raddle_core::{Bytes, FlowId, Observer, Rate, Report, Stream, Totals};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::{Link, builders};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::thread;

#[derive(Default)]
struct Heard {
    delivered: usize,
    closed: usize,
}

impl Observer for Heard {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.delivered += usize::from(matches!(report, Report::Delivered { .. }));
        self.closed += usize::from(matches!(report, Report::Closed { .. }));
    }
}

fn flows(nodes: u64, count: u32, bytes: u64) -> Vec<Flow> {
    let mut random = Stream::new(1, 0, "flows");
    let flow = |id: u32| {
        let src = random.below(nodes);
        let dst = (src + 1 + random.below(nodes - 1)) % nodes;
        let start = Time::ZERO + Duration::from_us(20) * u64::from(id);
        Flow::new(FlowId(id), NodeId(src as u32), NodeId(dst as u32), Bytes(bytes), start)
    };
    (0..count).map(flow).collect()
}

fn rack(name: &str, routing: &str, flows: &[Flow], config: &Config) -> Rack {
    build(name, routing, flows, config, &[], false)
}

/// Builds a rack that runs reliable R2C2 and carries the streams of programs.
fn rack_of_programs(config: &Config) -> Rack {
    build("r2c2", "rps", &[], config, &[("reliable", Value::Flag(true))], true)
}

/// A 4x4 torus of 5 Gbps links.
fn torus() -> Arc<Topology> {
    let topology = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100));
    Arc::new(topology.expect("a 4x4 torus"))
}

fn build(
    name: &str,
    routing: &str,
    flows: &[Flow],
    config: &Config,
    changes: &[(&'static str, Value)],
    streams: bool,
) -> Rack {
    let topology = torus();
    Rack::new(&topology, parts(&topology, name, routing, changes, streams), flows, config).expect("memory")
}

fn parts(
    topology: &Arc<Topology>,
    name: &str,
    routing: &str,
    changes: &[(&'static str, Value)],
    streams: bool,
) -> impl FnMut(NodeId) -> Parts {
    let scheme = registry().transport(name).expect("built in");
    let mut settings = Settings::defaults(scheme.info.parameters);
    changes.iter().for_each(|&(name, value)| settings.set(name, value));
    let plan = Plan { streams, ..Plan::new(topology, routing, &settings, 1) };
    registry().build(scheme, &plan, &registry().routing_defaults(routing)).expect("it fits the torus").node
}

/// Capacity of a link's ring, in packets. The ring holds all packets of these tests, so a slow machine drops none.
const ROOMY: usize = 1 << 13;

/// Virtual time after which a test gives up. At this dilation it equals 20 s of real time.
fn patience(dilation: u32) -> Time {
    Time::ZERO + Duration::from_ms(20_000 / u64::from(dilation))
}

/// On a slow machine the flows are late, but none is lost, and the run ends.
#[test]
fn every_flow_arrives_whole() {
    for (scheme, routing) in [("r2c2", "rps"), ("tcp-newreno", "ecmp")] {
        for (dilation, threads) in [(1, 1), (20, 1), (20, 2), (5, 3)] {
            let time_limit = Some(patience(dilation));
            let config = Config { dilation, threads, time_limit, ring: ROOMY, ..Config::default() };
            let mut rack = rack(scheme, routing, &flows(16, 100, 60_000), &config);
            let mut heard = Heard::default();
            assert!(
                rack.run(&mut heard, |_| ControlFlow::Continue(())),
                "{scheme} at {dilation} in {threads}"
            );
            assert_eq!(heard.delivered, 100, "{scheme} at {dilation} in {threads}");
            assert_eq!(rack.totals().dropped, 0);
            let fidelity = rack.fidelity();
            assert_eq!((fidelity.wrong_payloads, fidelity.hops), (0, rack.totals().packet_hops));
        }
    }
}

/// R2C2's relays use only the first bytes of a packet, so they copy no payload. This is also true for reliable R2C2,
/// because only the destination checks the checksum that covers the payload.
#[test]
fn relays_copy_nothing() {
    for reliable in [false, true] {
        let config = Config { time_limit: Some(patience(1)), ring: ROOMY, ..Config::default() };
        let changes = [("reliable", Value::Flag(reliable))];
        let mut rack = build("r2c2", "rps", &flows(16, 20, 60_000), &config, &changes, false);
        let mut heard = Heard::default();
        assert!(rack.run(&mut heard, |_| ControlFlow::Continue(())));
        assert_eq!((heard.delivered, rack.fidelity().copies), (20, 0), "reliable = {reliable}");
        assert!(rack.totals().packet_hops > 1_000);
    }
}

/// With [`Config::copies`], a relay copies every packet.
#[test]
fn relays_copy_when_told_to() {
    let config = Config { copies: true, ..Config::default() };
    let mut rack = rack("r2c2", "rps", &flows(16, 20, 60_000), &config);
    let mut heard = Heard::default();
    rack.rush(&mut heard);
    let (totals, fidelity) = (rack.totals(), rack.fidelity());
    let relayed = totals.packet_hops - (totals.sent - totals.dropped);
    assert_eq!((heard.delivered, fidelity.wrong_payloads, fidelity.copies), (20, 0, relayed));
}

#[test]
fn a_rack_without_slots_loses_and_counts() {
    let mut rack = rack("r2c2", "rps", &flows(16, 50, 60_000), &Config { slots: 8, ..Config::default() });
    rack.rush(&mut ());
    let totals = rack.totals();
    let under_way: u64 = rack.workers.iter().map(|worker| worker.fabric.put - worker.fabric.taken).sum();
    assert!(totals.drops.queue_full > 0);
    assert_eq!((totals.sent, under_way), (totals.delivered + totals.dropped, 0));
}

/// The slot size is a setting of the rack, and a scheme may send larger packets.
#[test]
fn packets_that_are_too_large_for_a_slot_are_lost_and_counted() {
    for (scheme, routing) in [("tcp-newreno", "ecmp"), ("r2c2", "rps")] {
        let time_limit = Some(Time::ZERO + Duration::from_ms(2));
        let config = Config { packet_bytes: 512, time_limit, ..Config::default() };
        let mut rack = rack(scheme, routing, &flows(16, 5, 60_000), &config);
        rack.rush(&mut ());
        let Totals { drops, flows_delivered, .. } = rack.totals();
        assert!(drops.queue_full > 0, "{scheme}: {drops:?}");
        assert_eq!((drops.malformed, flows_delivered), (0, 0), "{scheme}");
    }
}

/// A polling thread uses the due time that it read first, because another process may overwrite the due time in shared
/// memory later.
#[test]
fn changes_to_shared_memory_after_the_first_read_do_not_change_the_time() {
    let (topology, config) = (torus(), Config { threads: 2, ..Config::default() });
    let all_nodes = 0..16;
    let layout = Layout::new(&topology, &config, std::slice::from_ref(&all_nodes), 0, false);
    let region = Region::new(layout.words()).expect("memory");
    let crosses = |link: &Link| layout.thread_of(link.from) == 1 && layout.thread_of(link.to) == 0;
    let crossing = topology.links().position(|(_, link)| crosses(link)).expect("threads are neighbours");
    let words = layout.link(&region, crossing);
    let parts = parts(&topology, "r2c2", "rps", &[], false);
    let mut rack = Rack::laid_out(&topology, parts, &[], &config, layout, &region, None);
    let at = Time::from_ps;
    let worker = &mut rack.workers[0];
    assert_eq!(
        Producer::new(words.clone()).push(Entry { due: 1_000, slot: u32::MAX, len: 64, tag: 0 }),
        Ok(true)
    );
    worker.round(at(500));
    let due = words.iter().find(|word| word.load(Ordering::Relaxed) == 1_000).expect("the entry");
    due.store(u64::MAX, Ordering::Relaxed);
    worker.round(at(2_000));
    assert_eq!((worker.fabric.totals.drops.malformed, worker.fabric.now), (1, at(1_000)));
}

/// In a rushed run no packet is late, and the result depends only on the experiment.
#[test]
fn a_rush_is_the_same_each_time() {
    let outcome = || {
        let mut rack = rack("r2c2", "rps", &flows(16, 100, 60_000), &Config::default());
        let mut heard = Heard::default();
        rack.rush(&mut heard);
        (heard.delivered, rack.totals(), rack.now(), rack.fidelity().slips)
    };
    let first = outcome();
    assert_eq!((first.0, first.3), (100, 0));
    assert_eq!(first, outcome());
}

/// Random bytes. Two ranges of these bytes almost certainly differ, so a test detects bytes at a wrong position.
fn content(stream: u64, len: usize) -> Vec<u8> {
    let mut random = Stream::new(7, stream, "content");
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// The program at each node sends streams to two nodes, whose numbers are higher by 1 and by 7 (modulo 16). Each stream
/// has more bytes than the window holds. Each program also receives two streams, and the test compares their bytes.
#[test]
fn programs_get_the_bytes_that_others_send() {
    for threads in [1, 2] {
        let mut rack = rack_of_programs(&Config { threads, dilation: 2, ..Config::default() });
        let endpoints: Vec<Endpoint> =
            (0..16).map(|node| rack.endpoint(NodeId(node)).expect("R2C2 carries streams")).collect();
        let len = WINDOW + 100_000;
        thread::scope(|scope| {
            for endpoint in endpoints {
                scope.spawn(move || {
                    let own = endpoint.node().0;
                    let to = [(own + 1) % 16, (own + 7) % 16];
                    let from = [(own + 15) % 16, (own + 9) % 16];
                    let streams = to.map(|to| endpoint.open(NodeId(to)).expect("a rack that runs"));
                    let sent = content(own.into(), len);
                    let (mut got, mut ends) = ([Vec::new(), Vec::new()], 0);
                    for piece in sent.chunks(70_001) {
                        streams.iter().for_each(|stream| stream.send(piece).expect("a rack that runs"));
                        while let Some(received) = endpoint.poll() {
                            ends += usize::from(received.is_end);
                            take(&mut got, from, received);
                        }
                    }
                    drop(streams);
                    while ends < 2 || got.iter().any(|got| got.len() < len) {
                        let received = endpoint.receive().expect("a rack that runs");
                        ends += usize::from(received.is_end);
                        take(&mut got, from, received);
                    }
                    for (from, got) in from.into_iter().zip(got) {
                        assert!(got == content(from.into(), len), "from {from} at {own}");
                    }
                });
            }
            assert!(rack.run(&mut (), |_| ControlFlow::Continue(())));
        });
    }
}

fn take(got: &mut [Vec<u8>; 2], from: [u32; 2], received: Received) {
    let which = from.iter().position(|&from| received.from == NodeId(from)).expect("a sender that is known");
    got[which].extend(received.bytes);
}

#[test]
fn streams_of_a_rack_that_has_ended_are_gone() {
    let mut rack = rack_of_programs(&Config {
        time_limit: Some(Time::ZERO + Duration::from_ms(5)),
        ..Config::default()
    });
    let endpoint = rack.endpoint(NodeId(3)).expect("R2C2 carries streams");
    let stream = endpoint.open(NodeId(4)).expect("a rack that is there");
    assert_eq!(stream.try_send(&vec![1; WINDOW + 1]), Ok(true));
    assert_eq!(stream.try_send(&[1]), Ok(false), "nobody polls yet");
    assert!(rack.run(&mut (), |_| ControlFlow::Continue(())), "its time is over");
    drop(rack);
    assert_eq!(
        (stream.try_send(&[1]), stream.send(&[1]), endpoint.receive()),
        (Err(Gone), Err(Gone), Err(Gone))
    );
    // The rack ends before it receives the request to open the stream.
    let mut rack = rack_of_programs(&Config::default());
    let endpoint = rack.endpoint(NodeId(3)).expect("R2C2 carries streams");
    let stream = endpoint.open(NodeId(4)).expect("a rack that is there");
    assert_eq!(stream.try_send(&vec![1; WINDOW + 1]), Ok(true));
    drop(rack);
    assert_eq!((stream.try_send(&[1]), stream.send(&[1])), (Err(Gone), Err(Gone)));
    let mut rack = rack_of_programs(&Config::default());
    assert_eq!(rack.endpoint(NodeId(16)).expect_err("16 nodes"), NoEndpoint::NoNode(NodeId(16)));
    let mut rack = self::rack("tcp-newreno", "ecmp", &[], &Config::default());
    assert_eq!(
        rack.endpoint(NodeId(1)).expect_err("it was not built for streams"),
        NoEndpoint::NotCarried(NodeId(1))
    );
}
