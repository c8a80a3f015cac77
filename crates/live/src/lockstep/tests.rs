#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::{
    Bytes, DropReason, Duration, Flow, FlowId, Forwarder, Header, Input, Output, Packet, Ports, Verdict,
};
use raddle_topology::{Builder, Shape};
use raddle_wire::r2c2::{Data, Route};
use std::sync::Mutex;

/// An event at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Arrived { node: u32, seq: u32, ridx: u8, port: u16 },
    Woke { node: u32 },
    Started { node: u32, flow: u32 },
    Dropped { node: u32, port: u16, reason: DropReason },
    Corrupted { node: u32, port: u16 },
}

type Log = Arc<Mutex<Vec<(u64, Seen)>>>;

/// A host that sends one packet of 1,500 bytes per flow and records all events. The host sends through the port that
/// its forwarder chooses, or through port 0 if the node has no forwarder.
struct Toy {
    node: u32,
    route: Vec<u16>,
    outbox: Vec<Packet>,
    wake: Option<Time>,
    log: Log,
}

impl Toy {
    fn write(&self, now: Time, seen: Seen) {
        self.log.lock().unwrap().push((now.as_ps() / 1_000, seen));
    }
}

impl Host for Toy {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        let node = self.node;
        match input {
            Input::Flow(flow) => {
                self.write(now, Seen::Started { node, flow: flow.id.0 });
                self.outbox.push(packet(&self.route, flow.id.0));
            }
            Input::Packet { packet, port } => {
                let Header::R2c2Data(data) = packet.header else { panic!("toys speak R2C2") };
                self.write(now, Seen::Arrived { node, seq: data.seq, ridx: data.ridx, port: port.0 });
            }
            Input::Dropped { port, reason, .. } => {
                self.write(now, Seen::Dropped { node, port: port.0, reason });
            }
            Input::Corrupted { port } => self.write(now, Seen::Corrupted { node, port: port.0 }),
            Input::Append { .. } | Input::Close { .. } | Input::Sent(_) | Input::Link { .. } => {
                panic!("lockstep says no such thing")
            }
        }
    }

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        if let Some(packet) = self.outbox.pop() {
            return Output::Send { packet, port: None };
        }
        match self.wake {
            Some(at) if at > now => Output::WakeAt(at),
            Some(_) => {
                self.write(now, Seen::Woke { node: self.node });
                self.wake = None;
                Output::Idle
            }
            None => Output::Idle,
        }
    }
}

/// Forwards packets along their source route.
struct Relay;

impl Forwarder for Relay {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let Header::R2c2Data(data) = &mut packet.header else { panic!("toys speak R2C2") };
        if data.ridx == data.rlen {
            return Verdict::Deliver;
        }
        data.ridx += 1;
        Verdict::Forward(PortId(data.route.port(data.ridx - 1, 5)))
    }
}

fn packet(route: &[u16], seq: u32) -> Packet {
    let data = Data {
        flow: 0,
        src: 0,
        dst: 0,
        seq,
        plen: 1_464,
        rlen: route.len() as u8,
        ridx: 0,
        flags: 0,
        route: Route::from_ports(route.iter().copied(), 5).unwrap(),
    };
    Packet::new(1_500, Header::R2c2Data(data))
}

fn flow(id: u32, src: u32, start_ns: u64) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(0), Bytes(1_464), Time::ZERO + Duration::from_ns(start_ns))
}

/// A star with node 0 in the center and nodes 1 to `leaves` around it. Links have a rate of 10 Gbps and a propagation
/// delay of 100 ns. A packet of 1,500 bytes takes 1,300 ns per link.
fn star(leaves: u32) -> Arc<Topology> {
    let mut builder = Builder::default();
    let hub = builder.host(0);
    for _ in 0..leaves {
        let leaf = builder.host(0);
        builder.join(hub, leaf, Rate::from_gbps(10), Duration::from_ns(100));
    }
    Arc::new(builder.build(Shape::General))
}

struct Run {
    log: Vec<(u64, Seen)>,
    totals: Totals,
}

/// Runs toy hosts that send along `route`, until no event is left. `wakes` holds pairs of a node and the time in ns at
/// which the node wakes.
fn run(
    topology: &Arc<Topology>,
    route: &[u16],
    wakes: &[(u32, u64)],
    flows: Vec<Flow>,
    observer: impl Observer,
) -> Run {
    let log = Log::default();
    let node = |id: NodeId| {
        let wake = wakes.iter().find(|wake| wake.0 == id.0);
        let wake = wake.map(|wake| Time::ZERO + Duration::from_ns(wake.1));
        let toy = Toy { node: id.0, route: route.to_vec(), outbox: Vec::new(), wake, log: Arc::clone(&log) };
        Parts { host: Some(Box::new(toy)), forwarder: Some(Box::new(Relay)), ..Parts::default() }
    };
    let mut lockstep = Lockstep::new(topology, node, flows, observer);
    assert!(lockstep.run(Time::NEVER));
    assert_eq!(lockstep.packets_inside(), 0);
    let totals = *lockstep.totals();
    assert_eq!(totals.sent, totals.delivered + totals.dropped);
    let log = log.lock().unwrap().clone();
    Run { log, totals }
}

#[test]
fn a_packet_is_stored_and_forwarded_at_every_hop() {
    let run = run(&star(2), &[0, 1], &[], vec![flow(0, 1, 50)], ());
    let expected = [
        (50, Seen::Started { node: 1, flow: 0 }),
        (50 + 2 * 1_300, Seen::Arrived { node: 2, seq: 0, ridx: 2, port: 0 }),
    ];
    assert_eq!(run.log, expected);
    let Totals { sent, packet_hops, delivered, dropped, .. } = run.totals;
    assert_eq!((sent, packet_hops, delivered, dropped), (1, 2, 1, 0));
}

#[test]
fn a_port_sends_one_packet_after_the_other() {
    let run = run(&star(2), &[0, 1], &[], vec![flow(0, 1, 0), flow(1, 1, 0)], ());
    let arrivals: Vec<u64> = run.log[2..].iter().map(|(at, _)| *at).collect();
    assert_eq!(arrivals, [2_600, 2_600 + 1_200]);
}

#[test]
fn ties_go_to_arrivals_by_link_then_wakes_by_node_then_flows() {
    // Flows 0, 1 and 2 start at nodes 3, 2 and 1, so the order of the flows is the reverse of the order of their links.
    // The packets of all three flows reach the hub at 1,300 ns.
    let flows = vec![flow(0, 3, 0), flow(1, 2, 0), flow(2, 1, 0), flow(3, 2, 1_300), flow(4, 1, 1_300)];
    let run = run(&star(3), &[0], &[(2, 1_300), (1, 1_300)], flows, ());
    let at_1300 = [
        Seen::Arrived { node: 0, seq: 2, ridx: 1, port: 0 },
        Seen::Arrived { node: 0, seq: 1, ridx: 1, port: 1 },
        Seen::Arrived { node: 0, seq: 0, ridx: 1, port: 2 },
        Seen::Woke { node: 1 },
        Seen::Woke { node: 2 },
        Seen::Started { node: 2, flow: 3 },
        Seen::Started { node: 1, flow: 4 },
    ];
    assert_eq!(run.log[3..10], at_1300.map(|seen| (1_300, seen)));
}

#[test]
fn the_latest_wish_to_wake_replaces_the_earlier_one() {
    /// A host that requests a wake-up at a time that depends on the started flow. Flow 3 cancels the request.
    struct Wisher {
        wish: Output,
        woken: Arc<Mutex<Vec<u64>>>,
    }
    impl Host for Wisher {
        fn handle(&mut self, _: Time, input: Input<'_>) {
            if let Input::Flow(flow) = input {
                self.wish = match flow.id.0 {
                    0 => Output::WakeAt(Time::from_ps(900_000)),
                    1 => Output::WakeAt(Time::from_ps(700_000)),
                    2 => Output::WakeAt(Time::from_ps(800_000)),
                    _ => Output::WakeAt(Time::NEVER),
                };
            }
        }
        fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
            self.woken.lock().unwrap().push(now.as_ps() / 1_000);
            std::mem::replace(&mut self.wish, Output::Idle)
        }
    }
    let woken = |flows| {
        let woken: Arc<Mutex<Vec<u64>>> = Arc::default();
        let node = |_| {
            let host = Wisher { wish: Output::Idle, woken: Arc::clone(&woken) };
            Parts { host: Some(Box::new(host)), forwarder: None, ..Parts::default() }
        };
        assert!(Lockstep::new(&star(0), node, flows, ()).run(Time::NEVER));
        woken.lock().unwrap().clone()
    };
    assert_eq!(woken(vec![flow(0, 0, 1), flow(1, 0, 2)]), [1, 2, 700]);
    assert_eq!(woken(vec![flow(1, 0, 1), flow(2, 0, 2)]), [1, 2, 800]);
    assert_eq!(woken(vec![flow(0, 0, 1), flow(3, 0, 2)]), [1, 2]);
}

#[test]
fn damaged_bytes_are_counted_and_go_no_further() {
    /// Flips a bit in the header of every second packet.
    struct BadLink(u32);
    impl Observer for BadLink {
        fn transmitted(&mut self, _: Time, _: Time, _: LinkId, bytes: &mut [u8]) {
            self.0 += 1;
            bytes[10] ^= (self.0 % 2) as u8;
        }
        fn malformed(&mut self, _: Time, _: LinkId, _: &[u8], error: raddle_wire::Error) {
            assert_eq!(error, raddle_wire::Error::Checksum);
        }
    }
    let run = run(&star(1), &[0], &[], (0..4).map(|id| flow(id, 1, 0)).collect(), BadLink(0));
    let Totals { sent, packet_hops, delivered, dropped, drops, .. } = run.totals;
    assert_eq!((sent, packet_hops, delivered, dropped, drops.malformed), (4, 4, 2, 2, 2));
    let told = Seen::Corrupted { node: 0, port: 0 };
    assert_eq!(run.log.iter().filter(|(_, seen)| *seen == told).count(), 2, "the host is told of both");
}

#[test]
fn a_port_without_a_link_loses_the_packet_and_the_host_is_told() {
    for port in [1, 31] {
        let run = run(&star(1), &[port], &[], vec![flow(0, 1, 5)], ());
        let dropped = Seen::Dropped { node: 1, port, reason: DropReason::LinkDown };
        assert_eq!(run.log[1..], [(5, dropped)]);
        let Totals { sent, packet_hops, dropped, drops, .. } = run.totals;
        assert_eq!((sent, packet_hops, dropped, drops.link_down), (1, 0, 1, 1));
    }
}

#[test]
fn a_run_stops_at_its_limit_and_goes_on_from_there() {
    let log = Log::default();
    let node = |id: NodeId| {
        let toy = Toy { node: id.0, route: vec![0], outbox: Vec::new(), wake: None, log: Arc::clone(&log) };
        Parts { host: Some(Box::new(toy)), forwarder: Some(Box::new(Relay)), ..Parts::default() }
    };
    let mut lockstep = Lockstep::new(&star(1), node, vec![flow(0, 1, 0)], ());
    assert!(!lockstep.run(Time::from_ps(1_299_999)));
    assert_eq!((lockstep.packets_inside(), lockstep.now()), (1, Time::from_ps(1_299_999)));
    assert!(lockstep.run(Time::from_ps(1_300_000)));
    assert_eq!(lockstep.totals().delivered, 1);
}

#[test]
#[should_panic(expected = "`size` must be its number of encoded bytes")]
fn a_packet_that_lies_about_its_size_is_refused() {
    struct Liar(bool);
    impl Host for Liar {
        fn handle(&mut self, _: Time, _: Input<'_>) {}
        fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
            if std::mem::replace(&mut self.0, true) {
                return Output::Idle;
            }
            Output::Send { packet: Packet { size: 1_499, ..packet(&[0], 0) }, port: None }
        }
    }
    let node = |_| Parts { host: Some(Box::new(Liar(false))), forwarder: None, ..Parts::default() };
    Lockstep::new(&star(1), node, vec![flow(0, 1, 0)], ()).run(Time::NEVER);
}
