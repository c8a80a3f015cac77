//! Tests of the packet pipeline on fabrics small enough for calculation by hand.

use raddle_core::{
    Admit, Bytes, Credit, DropReason, Duration, Forwarder, HoldKey, LinkErrors, LinkId, NodeId, Packet,
    Parts, Paused, PortAgent, PortId, PortState, Ports, Queue, Time, Verdict,
};
use raddle_packet_sim::{Change, Config, Observer, PortSetup, Simulation, Switching};
use raddle_testkit::flow;
use raddle_testkit::toy::{Log, Rightward, Toy, chain, packet};
use raddle_topology::Topology;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

struct Run {
    received: Log,
    simulation: Simulation<Losses>,
}

#[derive(Default)]
struct Losses(Vec<(Time, NodeId, DropReason)>);

impl Observer for Losses {
    fn dropped(&mut self, now: Time, node: NodeId, _: Option<PortId>, _: &Packet, why: DropReason) {
        self.0.push((now, node, why));
    }
}

fn run(
    topology: &Arc<Topology>,
    port: impl FnMut(LinkId) -> PortSetup,
    flows: Vec<raddle_core::Flow>,
    config: Config,
) -> Run {
    let received = Log::default();
    let node = |id| Parts {
        host: Some(Box::new(Toy { received: Arc::clone(&received), ..Toy::default() })),
        forwarder: Some(Box::new(Rightward(id))),
        ..Parts::default()
    };
    let mut simulation = Simulation::new(topology, node, port, flows, config, Losses::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    let totals = simulation.totals();
    assert_eq!(totals.sent_bytes, totals.delivered_bytes + totals.dropped_bytes, "bytes are conserved");
    assert_eq!(totals.sent, totals.delivered + totals.dropped, "packets are conserved");
    assert_eq!(simulation.packets_inside(), 0);
    Run { received, simulation }
}

fn arrivals(run: &Run) -> Vec<(Time, u32)> {
    run.received.lock().expect("no panic").clone()
}

fn fifo(_: LinkId) -> PortSetup {
    PortSetup::default()
}

#[test]
fn store_and_forward_waits_for_the_last_bit_at_every_hop() {
    let flows = vec![flow(0, 0, 3, 1_500, Time::ZERO), flow(1, 0, 3, 1_500, Time::ZERO)];
    let run = run(&chain(4), fifo, flows, Config { queue_depths: true, ..Config::default() });
    assert_eq!(arrivals(&run), [(ns(3 * 1_300), 0), (ns(3 * 1_300 + 1_200), 1)]);
    // Queue lengths include the arriving packet. At the first packet the length is 1,500 B, which is below 2^11. At the
    // second packet it is 3,000 B, which is below 2^12.
    let depths = run.simulation.queue_depths()[0].1.0;
    assert_eq!((depths[11], depths[12], depths.iter().sum()), (1, 1, 2_u64));
    assert_eq!(run.simulation.totals().packet_hops, 6);
    assert_eq!(run.simulation.link_stats()[0].peak_queue, 3_000);
    // One event per packet-hop, and one per flow.
    assert_eq!(run.simulation.totals().events, 8);
}

#[test]
fn cut_through_waits_for_the_header_only_and_delivers_whole_packets() {
    let flows = vec![flow(0, 0, 3, 1_500, Time::ZERO), flow(1, 0, 3, 1_500, Time::ZERO)];
    let switching = Switching::CutThrough { header: 50 };
    let run = run(&chain(4), fifo, flows, Config { switching, ..Config::default() });
    let first = 3 * 100 + 2 * 40 + 1_200;
    assert_eq!(arrivals(&run), [(ns(first), 0), (ns(first + 1_200), 1)]);
}

#[test]
fn a_full_queue_drops_the_newcomer() {
    for setup in [
        PortSetup { limit_packets: Some(2), ..PortSetup::default() },
        PortSetup { limit_bytes: Some(3_100), ..PortSetup::default() },
    ] {
        let (packets, bytes) = (setup.limit_packets, setup.limit_bytes);
        let setup = move |_| PortSetup { limit_packets: packets, limit_bytes: bytes, ..PortSetup::default() };
        let flows = vec![
            flow(0, 0, 1, 1_500, Time::ZERO),
            flow(1, 0, 1, 1_500, Time::ZERO),
            flow(2, 0, 1, 1_500, Time::ZERO),
            flow(3, 0, 1, 1_500, ns(1_200)),
        ];
        let run = run(&chain(2), setup, flows, Config::default());
        assert_eq!(arrivals(&run).iter().map(|&(_, seq)| seq).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(run.simulation.observer().0, [(Time::ZERO, NodeId(0), DropReason::QueueFull)]);
        assert_eq!(run.simulation.link_stats()[0].drops, 1);
    }
}

/// A forwarder that forwards to the right. For each packet that its own host sends, it records how many bytes wait at
/// port 0, and how many more bytes fit there.
struct Looks {
    rightward: Rightward,
    seen: Arc<Mutex<Vec<(Bytes, Bytes)>>>,
}

impl Forwarder for Looks {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        from: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let port = ports.get(PortId(0));
        if from.is_none() {
            self.seen.lock().expect("no panic").push((port.waiting(now), port.room(now)));
        }
        self.rightward.forward(now, packet, from, ports)
    }
}

#[test]
fn ports_report_queued_bytes_and_free_space() {
    let seen_with = |port: fn(LinkId) -> PortSetup| {
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let node = |id| Parts {
            host: Some(Box::new(Undecided(Toy::default()))),
            forwarder: Some(Box::new(Looks { rightward: Rightward(id), seen: Arc::clone(&seen) })),
            ..Parts::default()
        };
        // The third packet arrives when half of the first packet has left the port.
        let flows = [(0, 0), (1, 0), (2, 600)].map(|(id, at)| flow(id, 0, 1, 1_500, ns(at))).to_vec();
        let mut simulation = Simulation::new(&chain(2), node, port, flows, Config::default(), ());
        simulation.run(|_| ControlFlow::Continue(()));
        seen.lock().expect("no panic").clone()
    };
    let limited = |_| PortSetup { limit_bytes: Some(10_000), ..PortSetup::default() };
    let expected = [(0, 10_000), (1_500, 8_500), (2_250, 7_750)];
    assert_eq!(seen_with(limited), expected.map(|(waiting, room)| (Bytes(waiting), Bytes(room))));
    let of_its_own = |_| PortSetup { queue: Some(Box::new(Plain::default())), ..PortSetup::default() };
    let unlimited = u64::MAX;
    let expected = [(0, unlimited), (1_500, unlimited), (2_250, unlimited)];
    assert_eq!(seen_with(of_its_own), expected.map(|(waiting, room)| (Bytes(waiting), Bytes(room))));
}

/// A forwarder that forwards to the right. From `due` until 6 us, it also originates a packet to the right every 2 us.
struct Beacon {
    rightward: Rightward,
    due: Time,
    sends: bool,
}

impl Forwarder for Beacon {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        from: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        self.rightward.forward(now, packet, from, ports)
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        let packet = packet(self.rightward.0, NodeId(1), 7, 500);
        std::mem::take(&mut self.sends).then_some((packet, PortId(0)))
    }

    fn next_tick(&self) -> Time {
        self.due
    }

    fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        assert_eq!((now, ports.0.len()), (self.due, 1));
        self.sends = true;
        self.due = if now < ns(6_000) { now + Duration::from_us(2) } else { Time::NEVER };
    }
}

/// An agent that schedules two ticks when a packet joins the queue and no tick is scheduled. The ticks come 1 us and 2
/// us after this packet.
struct Twice {
    due: Time,
    log: Arc<Mutex<Vec<Time>>>,
}

impl PortAgent for Twice {
    fn enqueue(&mut self, now: Time, _: &mut Packet, _: &PortState) -> Option<Packet> {
        if self.due == Time::NEVER {
            self.due = now + Duration::from_us(1);
        }
        None
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_tick(&self) -> Time {
        self.due
    }

    fn tick(&mut self, now: Time, port: &PortState) {
        assert!(port.up && now == self.due);
        let mut log = self.log.lock().expect("no panic");
        log.push(now);
        self.due = if log.len() % 2 == 1 { now + Duration::from_us(1) } else { Time::NEVER };
    }
}

#[test]
fn forwarders_and_agents_tick_when_they_want_to_and_no_longer() {
    let (received, log) = (Log::default(), Arc::<Mutex<Vec<Time>>>::default());
    let node = |id| Parts {
        host: Some(Box::new(Toy { received: Arc::clone(&received), ..Toy::default() })),
        forwarder: Some(Box::new(Beacon {
            rightward: Rightward(id),
            due: if id == NodeId(0) { ns(2_000) } else { Time::NEVER },
            sends: false,
        })),
        ..Parts::default()
    };
    let agent = |link| (link == LinkId(0)).then(|| Twice { due: Time::NEVER, log: Arc::clone(&log) });
    let port = |link| PortSetup {
        agent: agent(link).map(|agent| Box::new(agent) as Box<dyn PortAgent>),
        ..PortSetup::default()
    };
    let mut simulation = Simulation::new(&chain(2), node, port, vec![], Config::default(), ());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    let arrivals = [2_500, 4_500, 6_500].map(|at| (ns(at), 7));
    assert_eq!(*received.lock().expect("no panic"), arrivals);
    // When the packet sent at 4 us joins the queue, the agent has just used its last scheduled tick: at equal times, an
    // agent's tick comes before a packet that a node sends. The agent therefore schedules two new ticks.
    let ticks = [3_000, 4_000, 5_000, 6_000, 7_000, 8_000].map(ns);
    assert_eq!(*log.lock().expect("no panic"), ticks);
    // Three ticks of the node, six of the agent, three arrivals and three ends of transmissions.
    assert_eq!(simulation.totals().events, 15);
}

#[test]
fn a_link_loses_packets_in_flight_and_new_packets_while_it_is_down() {
    let change = |at, up| Change { at: ns(at), links: vec![LinkId(0)], up, discovery: Duration::ZERO };
    let changes = vec![change(2_450, false), change(9_000, true)];
    // The first packet is delivered at 1,300 ns. At 2,450 ns the second packet is on the link, and the third packet is
    // in transmission.
    let mut flows: Vec<_> = (0..3).map(|id| flow(id, 0, 1, 1_500, Time::ZERO)).collect();
    flows.push(flow(3, 0, 1, 1_500, ns(5_000)));
    flows.push(flow(4, 0, 1, 1_500, ns(9_000)));
    let run = run(&chain(2), fifo, flows, Config { changes, ..Config::default() });
    // Changes of links come before other events of the same time, so the link is up for the last packet.
    assert_eq!(arrivals(&run), [(ns(1_300), 0), (ns(10_300), 4)]);
    assert_eq!(run.simulation.totals().dropped, 3);
}

#[test]
fn a_noisy_link_loses_some_packets_and_damages_others_and_nothing_else_does() {
    let flows = || (0..2_000).map(|id| flow(id, 0, 2, 100, Time::ZERO)).collect::<Vec<_>>();
    let errors = LinkErrors {
        seed: 1,
        loss: 0.1,
        corruption: 0.2,
        links: Some([LinkId(0)].into()),
        ..LinkErrors::default()
    };
    let run = run(&chain(3), fifo, flows(), Config { errors, ..Config::default() });
    let losses = &run.simulation.observer().0;
    let of =
        |node, why| losses.iter().filter(|&&(_, at, reason)| (at, reason) == (NodeId(node), why)).count();
    let (lost, damaged) = (of(0, DropReason::Lost), of(1, DropReason::Malformed));
    assert!(lost.abs_diff(200) < 40 && damaged.abs_diff(400) < 60, "{lost} {damaged}");
    assert_eq!(lost + damaged, losses.len());
    assert_eq!(arrivals(&run).len(), 2_000 - losses.len());
    let links = run.simulation.link_stats();
    assert_eq!(links[0].drops, losses.len() as u64);
    assert!(links[1..].iter().all(|link| link.drops == 0));
    // A lost packet is not counted as a packet-hop, but a damaged packet is counted.
    assert_eq!(run.simulation.totals().packet_hops, (2_000 - lost + 2_000 - losses.len()) as u64);
}

/// A queue that serves the packet with the highest sequence number first.
#[derive(Default)]
struct HighestFirst(Vec<(u32, u32, u32)>);

impl Queue for HighestFirst {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let raddle_core::Header::Tcp(segment) = &packet.header else {
            panic!("toy hosts send only TCP packets")
        };
        self.0.push((segment.seq, slot, packet.size));
        self.0.sort_unstable();
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.0.pop().map(|(_, slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.0.iter().map(|&(_, _, size)| u64::from(size)).sum())
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.0.iter_mut().for_each(|(_, slot, _)| visit(slot));
    }
}

#[test]
fn a_queue_of_its_own_decides_the_order_of_service() {
    let port = |_| PortSetup { queue: Some(Box::new(HighestFirst::default())), ..PortSetup::default() };
    let flows = (0..4).map(|id| flow(id, 0, 1, 1_500, Time::ZERO)).collect();
    let run = run(&chain(2), port, flows, Config::default());
    let times = [1_300, 2_500, 3_700, 4_900].map(ns);
    assert_eq!(arrivals(&run), times.into_iter().zip([0, 3, 2, 1]).collect::<Vec<_>>());
    assert_eq!(run.simulation.link_stats()[0].peak_queue, 6_000);
}

/// A forwarder that forwards to the right with one credit per link. A packet leaves only after the previous packet has
/// left the next node.
struct OneCredit {
    rightward: Rightward,
    credit: bool,
}

impl Forwarder for OneCredit {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        from: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let verdict = self.rightward.forward(now, packet, from, ports);
        match verdict {
            Verdict::Forward(_) if self.credit => self.credit = false,
            Verdict::Forward(_) => return Verdict::Hold(HoldKey(0)),
            _ => {}
        }
        verdict
    }

    fn hears_of_departures(&self) -> bool {
        true
    }

    fn departed(&mut self, _: Time, _: &Packet, _: PortId) -> Option<Credit> {
        Some(Credit::new(1, 0, [1]))
    }

    fn credited(&mut self, _: Time, _: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        assert_eq!(*credit, Credit::new(1, 0, [1]));
        self.credit = true;
        freed.push(HoldKey(0));
    }
}

/// A FIFO that implements [`raddle_core::Queue`], instead of the engine's plain FIFO.
#[derive(Default)]
struct Plain(VecDeque<(u32, u32)>);

impl Queue for Plain {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        self.0.push_back((slot, packet.size));
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.0.pop_front().map(|(slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.0.iter().map(|&(_, size)| u64::from(size)).sum())
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.0.iter_mut().for_each(|(slot, _)| visit(slot));
    }
}

/// A host that sends packets without a port, so that the forwarder chooses the port.
struct Undecided(Toy);

impl raddle_core::Host for Undecided {
    fn handle(&mut self, now: Time, input: raddle_core::Input<'_>) {
        self.0.handle(now, input);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> raddle_core::Output {
        match self.0.poll(now, ports) {
            raddle_core::Output::Send { packet, .. } => raddle_core::Output::Send { packet, port: None },
            other => other,
        }
    }
}

#[test]
fn credits_hold_packets_back_and_return_after_one_link_delay() {
    let topology = chain(3);
    let received: Log = Arc::new(Mutex::default());
    let node = |id| Parts {
        host: Some(Box::new(Undecided(Toy { received: Arc::clone(&received), ..Toy::default() }))),
        forwarder: Some(Box::new(OneCredit { rightward: Rightward(id), credit: true })),
        ..Parts::default()
    };
    let port = |_| PortSetup { queue: Some(Box::new(Plain::default())), ..PortSetup::default() };
    let flows: Vec<_> = (0..3).map(|id| flow(id, 0, 2, 1_500, Time::ZERO)).collect();
    let mut simulation = Simulation::new(&topology, node, port, flows, Config::default(), ());
    simulation.run(|_| ControlFlow::Continue(()));
    // Time per packet = 1,300 ns to the middle node + 1,200 ns until the packet has left it + 100 ns for the
    // credit = 2,600 ns. The middle node gets its own credit 100 ns after the delivery at 2,600 ns, before
    // the next packet arrives there at 3,900 ns.
    let log = received.lock().expect("no panic").clone();
    assert_eq!(log, [(ns(2_600), 0), (ns(5_200), 1), (ns(7_800), 2)]);
    assert_eq!(simulation.packets_inside(), 0);
}
