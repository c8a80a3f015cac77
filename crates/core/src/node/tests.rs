//! A node in a runtime that does nothing but write down what it is asked for.

use super::*;
use crate::{Bytes, Duration, FlowId, FlowKey, Header, NodeId, PortState, Rate};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::tcp::Segment;
use raddle_wire::{Ends, Error, HeaderInfo};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A header of another crate, whose packets can be trimmed.
#[derive(Debug, Clone, PartialEq)]
struct Note {
    plen: u16,
}

impl ExtensionHeader for Note {
    const NUMBER: u16 = 1;
}

impl HeaderInfo for Note {
    fn ends(&self) -> Ends {
        Ends::new(0_u32, 1_u32)
    }

    fn trim(&mut self) -> bool {
        self.plen = 0;
        true
    }

    fn payload_len(&self) -> usize {
        self.plen.into()
    }

    fn wire_len(&self) -> usize {
        PREFIX + 2
    }

    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        out.extend(self.plen.to_be_bytes());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        match bytes[PREFIX..] {
            [high, low, ..] => Ok((Self { plen: u16::from_be_bytes([high, low]) }, PREFIX + 2)),
            _ => Err(Error::Truncated { have: bytes.len(), need: PREFIX + 2 }),
        }
    }
}

/// What a packet is cut to has the bytes that it is charged for: here 2 more than the fields take.
#[test]
fn what_a_packet_is_cut_to_is_its_header() {
    let mut packet = Packet::new(1_007, Header::from(Note { plen: 1_000 }));
    assert_eq!(packet.trim(), Some(1_000));
    assert_eq!((packet.size, packet.payload()), (7, 0));
    let mut bytes = Vec::new();
    Packet { size: 5, ..packet }.encode(&mut bytes);
    assert_eq!(bytes.len(), 5);
    let segment = Packet::new(140, Header::Tcp(Segment { plen: 100, ..Segment::default() }));
    let mut other = segment.clone();
    assert_eq!(other.trim(), None);
    assert_eq!(other, segment);
}

/// What the parts hear and what the runtime is asked for. Packets are named by their numbers.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    // The host:
    Started(FlowId),
    Got(u32, PortId),
    Sent(u32),
    Dropped(u32, PortId, DropReason),
    Corrupted(PortId),
    Link(LinkId, bool),
    Polled,
    // The forwarder:
    Asked(u32, Option<PortId>),
    Departed(u32, PortId),
    Ticked,
    Told(LinkId, bool),
    // The runtime:
    Leaves(u32, Option<PortId>, PortId),
    Lost(u32, Option<PortId>, DropReason),
    Reported(Report),
    WakeAt(u64),
    Credits(PortId, Credit),
    TickAt(u64),
}
use Seen::*;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Seen>>>);

impl Log {
    fn push(&self, seen: Seen) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    }

    /// What has been seen since the last call.
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers polls by a script, and then nothing.
struct Script {
    outputs: VecDeque<Output>,
    log: Log,
}

impl Host for Script {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        self.log.push(match input {
            Input::Flow(flow) => Started(flow.id),
            Input::Packet { packet, port } => Got(number(packet), port),
            Input::Sent(packet) => Sent(number(packet)),
            Input::Dropped { packet, port, reason } => Dropped(number(packet), port, reason),
            Input::Corrupted { port } => Corrupted(port),
            Input::Link { link, up } => Link(link, up),
        });
    }

    fn poll(&mut self, _: Time, ports: &Ports<'_>) -> Output {
        assert_eq!(ports.0.len(), 3);
        self.log.push(Polled);
        self.outputs.pop_front().unwrap_or(Output::Idle)
    }

    fn begins(&self) -> Option<Time> {
        Some(ns(5))
    }
}

/// Gives verdicts by a script, and then forwards by port 0.
#[derive(Default)]
struct Verdicts {
    verdicts: VecDeque<Verdict>,
    own: VecDeque<(Packet, PortId)>,
    /// Credits that it gives when it ticks.
    credits: VecDeque<(PortId, Credit)>,
    /// When it ticks.
    ticks: VecDeque<Time>,
    hears_of_departures: bool,
    log: Log,
}

impl Forwarder for Verdicts {
    fn forward(
        &mut self,
        _: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        assert_eq!(ports.0.len(), 3);
        self.log.push(Asked(number(packet), arrival));
        self.verdicts.pop_front().unwrap_or(Verdict::Forward(PortId(0)))
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        self.own.pop_front()
    }

    fn next_tick(&self) -> Time {
        self.ticks.front().copied().unwrap_or(Time::NEVER)
    }

    fn tick(&mut self, _: Time, ports: &Ports<'_>) {
        assert_eq!(ports.0.len(), 3);
        self.log.push(Ticked);
        self.ticks.pop_front();
    }

    fn hears_of_departures(&self) -> bool {
        self.hears_of_departures
    }

    fn departed(&mut self, _: Time, packet: &Packet, arrival: PortId) -> Option<Credit> {
        self.log.push(Departed(number(packet), arrival));
        Some(credit(number(packet)))
    }

    fn credited(&mut self, _: Time, _: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        freed.extend(credit.flows().iter().map(|&flow| HoldKey(flow.into())));
    }

    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        self.credits.pop_front()
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.log.push(Told(link, up));
    }
}

/// Three ports, of which one may be full.
struct Fake {
    now: Time,
    totals: Totals,
    ports: [PortState; 3],
    full: Option<PortId>,
    /// What the queue gives up for the next packet, and the ports by which it came.
    gives_up: Vec<(Packet, Option<PortId>)>,
    /// What the queue cuts for the next packet.
    cuts: Option<Packet>,
    /// Packets for the host that are still coming in.
    coming: Option<Vec<Packet>>,
    log: Log,
}

impl Runtime for Fake {
    type Place = ();
    type Slot = Packet;

    fn now(&self) -> Time {
        self.now
    }

    fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    fn ports(&self, (): &()) -> Ports<'_> {
        Ports(&self.ports)
    }

    fn packet<'a>(&'a mut self, (): &(), slot: &'a mut Packet) -> (&'a mut Packet, Ports<'a>) {
        (slot, Ports(&self.ports))
    }

    fn insert(&mut self, packet: Packet) -> Packet {
        packet
    }

    fn remove(&mut self, slot: Packet) -> Packet {
        slot
    }

    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        packet: Packet,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        if self.full == Some(out) {
            return node.lose(self, packet, arrival, Some(out), DropReason::QueueFull);
        }
        let mut due = false;
        for (other, came_by) in std::mem::take(&mut self.gives_up) {
            due |= node.lose(self, other, came_by, Some(out), DropReason::QueueFull);
        }
        if let Some(mut other) = self.cuts.take()
            && !node.trim(self, &mut other)
        {
            due |= node.lose(self, other, None, Some(out), DropReason::QueueFull);
        }
        self.log.push(Leaves(number(&packet), arrival, out));
        due
    }

    fn lost(&mut self, (): &(), out: Option<PortId>, packet: &Packet, why: DropReason) {
        self.log.push(Lost(number(packet), out, why));
    }

    fn reported(&mut self, (): &(), report: Report) {
        self.log.push(Reported(report));
    }

    fn wake_at(&mut self, (): &(), at: Time) {
        self.log.push(WakeAt(at.as_ps() / 1_000));
    }

    fn tick_at(&mut self, (): &(), at: Time) {
        self.log.push(TickAt(at.as_ps() / 1_000));
    }

    fn credit(&mut self, (): &(), port: PortId, credit: Credit) {
        self.log.push(Credits(port, credit));
    }

    fn whole(&mut self, (): &(), slot: Packet, _: Option<PortId>) -> Option<Packet> {
        match &mut self.coming {
            Some(coming) => {
                coming.push(slot);
                None
            }
            None => Some(slot),
        }
    }
}

fn ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// A packet of 100 bytes of payload.
fn packet(number: u32) -> Packet {
    Packet::new(140, Header::Tcp(Segment { seq: number, plen: 100, ..Segment::default() }))
}

/// A credit for one flow.
fn credit(flow: u32) -> Credit {
    Credit::new(1, 0, [flow])
}

fn number(packet: &Packet) -> u32 {
    let Header::Tcp(segment) = &packet.header else { unreachable!("all packets here are of TCP") };
    segment.seq
}

fn send(number: u32, port: Option<u16>) -> Output {
    Output::Send { packet: packet(number), port: port.map(PortId) }
}

/// A node whose host answers polls with `outputs`, at 10 ns.
fn node(outputs: Vec<Output>, forwarder: Option<Verdicts>) -> (Node<Fake>, Fake) {
    let log = Log::default();
    let host = Script { outputs: outputs.into(), log: log.clone() };
    let forwarder =
        forwarder.map(|forwarder| Box::new(Verdicts { log: log.clone(), ..forwarder }) as Box<dyn Forwarder>);
    let port = PortState::idle(Rate::from_gbps(10));
    let parts = Parts { host: Some(Box::new(host)), forwarder };
    let runtime = Fake {
        now: ns(10),
        totals: Totals::default(),
        ports: [port; 3],
        full: None,
        gives_up: Vec::new(),
        cuts: None,
        coming: None,
        log,
    };
    (Node::new(parts, ()), runtime)
}

fn says(verdicts: impl Into<VecDeque<Verdict>>) -> Option<Verdicts> {
    Some(Verdicts { verdicts: verdicts.into(), ..Verdicts::default() })
}

/// A forwarder that has packets of its own to send: 8 by port 1, 9 by port 2.
fn answers(verdict: Verdict) -> Option<Verdicts> {
    let own = [(packet(8), PortId(1)), (packet(9), PortId(2))].into();
    Some(Verdicts { own, verdicts: [verdict].into(), ..Verdicts::default() })
}

const BY: PortId = PortId(1);

/// What is seen when packet 1 arrives at a node that does with it what `forwarder` says.
fn arrival(forwarder: Option<Verdicts>) -> (Vec<Seen>, Totals) {
    let (mut node, mut runtime) = node(vec![], forwarder);
    node.arrived(&mut runtime, packet(1), BY);
    (runtime.log.take(), runtime.totals)
}

#[test]
fn a_packet_that_is_forwarded_leaves_and_the_host_hears_nothing() {
    let (seen, totals) = arrival(says([Verdict::Forward(PortId(2))]));
    assert_eq!(seen, [Asked(1, Some(BY)), Leaves(1, Some(BY), PortId(2))]);
    assert_eq!(totals, Totals::default());
}

#[test]
fn a_packet_that_is_delivered_reaches_the_host_which_is_then_polled() {
    let (seen, totals) = arrival(says([Verdict::Deliver]));
    assert_eq!(seen, [Asked(1, Some(BY)), Got(1, BY), Polled]);
    assert_eq!((totals.delivered, totals.delivered_bytes), (1, 100));
}

#[test]
fn a_packet_that_the_forwarder_drops_is_lost_and_the_host_is_told() {
    let (seen, totals) = arrival(says([Verdict::Drop(DropReason::NoRoute)]));
    let why = DropReason::NoRoute;
    assert_eq!(seen, [Asked(1, Some(BY)), Lost(1, None, why), Dropped(1, PortId(0), why), Polled]);
    assert_eq!((totals.dropped, totals.dropped_bytes, totals.drops.no_route), (1, 100, 1));
}

#[test]
fn an_answered_packet_leaves_before_the_forwarders_own() {
    let (seen, totals) = arrival(answers(Verdict::Answer(PortId(0))));
    let leaves = [Leaves(1, Some(BY), PortId(0)), Leaves(8, None, PortId(1)), Leaves(9, None, PortId(2))];
    assert_eq!(seen[1..], leaves);
    assert_eq!((totals.sent, totals.sent_bytes), (2, 200));
}

#[test]
fn an_absorbed_packet_ends_in_the_forwarder_which_then_sends() {
    let (seen, totals) = arrival(answers(Verdict::Absorb));
    assert_eq!(seen[1..], [Leaves(8, None, PortId(1)), Leaves(9, None, PortId(2))]);
    assert_eq!((totals.sent, totals.delivered), (2, 1));
}

#[test]
fn held_packets_go_on_in_the_order_in_which_they_came() {
    let holds = [3, 4, 3, 3].map(|key| Verdict::Hold(HoldKey(key)));
    let (mut node, mut runtime) = node(vec![], says(holds));
    for number in [1, 2, 3] {
        node.arrived(&mut runtime, packet(number), BY);
    }
    assert_eq!(runtime.log.take().len(), 3, "nothing but three questions");
    assert_eq!(node.held().map(number).collect::<Vec<_>>(), [1, 2, 3]);
    // Asked again, the forwarder holds packet 1 a second time, under the same key, and lets packet 3 go.
    let mut freed = Vec::new();
    node.credited(&mut runtime, PortId(2), &credit(3), &mut freed);
    node.retry(&mut runtime, |key| freed.contains(&key));
    assert_eq!(runtime.log.take(), [Asked(1, Some(BY)), Asked(3, Some(BY)), Leaves(3, Some(BY), PortId(0))]);
    assert_eq!(node.held().map(number).collect::<Vec<_>>(), [1, 2]);
    // A change in the fabric frees all.
    node.discovered(&mut runtime, &[LinkId(6), LinkId(7)], false);
    let told = [6, 7].map(LinkId).map(|link| [Told(link, false), Link(link, false)]).concat();
    let retried =
        [1, 2].map(|number| [Asked(number, Some(BY)), Leaves(number, Some(BY), PortId(0))]).concat();
    assert_eq!(runtime.log.take(), [told, retried, vec![Polled]].concat());
    assert_eq!(node.held().count(), 0);
}

#[test]
fn held_packets_move_with_their_node() {
    let (mut node, mut runtime) = node(vec![], says([3, 3].map(|key| Verdict::Hold(HoldKey(key)))));
    node.arrived(&mut runtime, packet(1), BY);
    node.arrived(&mut runtime, packet(2), BY);
    runtime.log.take();
    node.move_to((), |slot| *slot = packet(number(slot) + 10));
    node.retry(&mut runtime, |_| true);
    let went_on = [11, 12].map(|number| [Asked(number, Some(BY)), Leaves(number, Some(BY), PortId(0))]);
    assert_eq!(runtime.log.take(), went_on.concat());
}

#[test]
fn without_a_forwarder_all_is_delivered_and_leaves_by_port_0() {
    let (mut node, mut runtime) = node(vec![send(2, None), send(3, Some(2))], None);
    node.arrived(&mut runtime, packet(1), BY);
    let (second, third) = (Leaves(2, None, PortId(0)), Leaves(3, None, PortId(2)));
    assert_eq!(runtime.log.take(), [Got(1, BY), Polled, second, Polled, third, Polled]);
    let Totals { sent, delivered, .. } = runtime.totals;
    assert_eq!((sent, delivered), (2, 1));
}

#[test]
fn a_host_is_polled_until_it_wants_nothing_more_now() {
    let report = Report::Delivered { key: FlowKey(7), reorder_peak: 0 };
    let outputs = vec![
        Output::Report(report),
        send(1, None),
        Output::WakeAt(ns(10)),
        Output::WakeAt(ns(30)),
        send(2, None),
    ];
    let (mut node, mut runtime) = node(outputs, says([Verdict::Forward(PortId(2))]));
    let flow = Flow::new(FlowId(4), NodeId(0), NodeId(1), Bytes(1), ns(10));
    node.start(&mut runtime, &flow);
    let sends = [Polled, Reported(report), Polled, Asked(1, None), Leaves(1, None, PortId(2))];
    // A wish for now is met by another poll; one for later ends the round, before the second packet.
    let expected = [vec![Started(FlowId(4))], sends.to_vec(), vec![Polled, Polled, WakeAt(30)]].concat();
    assert_eq!(runtime.log.take(), expected);
    assert_eq!((runtime.totals.flows_started, runtime.totals.flows_delivered), (1, 1));
}

#[test]
fn a_host_hears_of_a_loss_in_its_own_round_of_polls() {
    let (mut node, mut runtime) = node(vec![send(1, Some(2))], None);
    runtime.full = Some(PortId(2));
    node.poll(&mut runtime);
    let why = DropReason::QueueFull;
    let lost = [Lost(1, Some(PortId(2)), why), Dropped(1, PortId(2), why)];
    assert_eq!(runtime.log.take(), [vec![Polled], lost.to_vec(), vec![Polled]].concat());
    assert_eq!((runtime.totals.sent, runtime.totals.drops.queue_full), (1, 1));
}

#[test]
fn a_host_is_polled_when_a_port_loses_a_packet_that_it_relays() {
    let (mut node, mut runtime) = node(vec![], says([Verdict::Forward(PortId(2))]));
    runtime.full = Some(PortId(2));
    node.arrived(&mut runtime, packet(1), BY);
    assert_eq!(runtime.log.take().last(), Some(&Polled));
}

#[test]
fn packets_that_give_way_are_lost_as_what_they_are_before_the_host_is_polled_once() {
    let forwarder = says([Verdict::Forward(PortId(2))]);
    let forwarder = forwarder.map(|part| Verdicts { hears_of_departures: true, ..part });
    let (mut node, mut runtime) = node(vec![], forwarder);
    runtime.gives_up = vec![(packet(7), Some(BY)), (packet(8), None)];
    node.arrived(&mut runtime, packet(1), PortId(0));
    let (out, why) = (PortId(2), DropReason::QueueFull);
    let relayed = [Lost(7, Some(out), why), Departed(7, BY), Credits(BY, credit(7)), Dropped(7, out, why)];
    let own = [Lost(8, Some(out), why), Dropped(8, out, why), Leaves(1, Some(PortId(0)), out), Polled];
    assert_eq!(runtime.log.take()[1..], [relayed, own].concat());
    assert_eq!((runtime.totals.dropped, runtime.totals.drops.queue_full), (2, 2));
}

#[test]
fn a_packet_that_is_cut_stays_and_one_that_cannot_be_cut_is_lost() {
    let (mut node, mut runtime) = node(vec![], None);
    let cut = Packet::new(1_007, Header::from(Note { plen: 1_000 }));
    assert_eq!(cut.clone().trim(), Some(1_000));
    runtime.cuts = Some(cut.clone());
    node.send(&mut runtime, packet(1), None);
    let Totals { dropped, dropped_bytes, trimmed, .. } = runtime.totals;
    assert_eq!((dropped, dropped_bytes, trimmed), (0, 1_000, 1), "the payload is lost, the packet is not");
    runtime.cuts = Some(packet(2));
    assert!(node.send(&mut runtime, packet(3), None), "the host is due a poll");
    let Totals { dropped, dropped_bytes, trimmed, .. } = runtime.totals;
    assert_eq!((dropped, dropped_bytes, trimmed), (1, 1_100, 1));
}

#[test]
fn the_latest_wish_to_wake_is_the_one_that_counts() {
    let wishes = vec![Output::WakeAt(ns(40)), Output::WakeAt(ns(20)), Output::WakeAt(ns(20)), Output::Idle];
    let (mut node, mut runtime) = node(wishes, None);
    assert_eq!(node.wake(), ns(5), "the host begins then");
    node.woken(&mut runtime);
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled, WakeAt(40), Polled, WakeAt(20)]);
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled], "the runtime knows of 20 ns");
    runtime.now = ns(15);
    node.woken(&mut runtime);
    assert_eq!(runtime.log.take(), [], "not yet");
    runtime.now = ns(21);
    node.woken(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled], "a real clock may be late");
    runtime.now = ns(40);
    node.woken(&mut runtime);
    assert_eq!((runtime.log.take(), node.wake()), (vec![], Time::NEVER), "a stale wish wakes nobody");
}

#[test]
fn a_forwarder_ticks_when_it_wants_to_and_sends_what_it_has() {
    let ticks = [20, 30].map(ns).into();
    let own = [(packet(8), PortId(1))].into();
    let credits = [(PortId(2), credit(5))].into();
    let forwarder = Verdicts { ticks, own, credits, ..Verdicts::default() };
    let (mut node, mut runtime) = node(vec![], Some(forwarder));
    assert_eq!(node.tick(), ns(20), "the runtime asks for the first tick");
    node.ticked(&mut runtime);
    assert_eq!(runtime.log.take(), [], "not yet");
    runtime.now = ns(21);
    node.ticked(&mut runtime);
    assert_eq!(
        runtime.log.take(),
        [Ticked, Credits(PortId(2), credit(5)), Leaves(8, None, PortId(1)), TickAt(30)],
        "a real clock may be late"
    );
    runtime.now = ns(30);
    node.ticked(&mut runtime);
    assert_eq!((runtime.log.take(), node.tick()), (vec![Ticked], Time::NEVER));
    node.ticked(&mut runtime);
    assert_eq!(runtime.log.take(), [], "nothing is to come");
}

#[test]
fn a_forwarder_that_sends_is_asked_when_it_ticks() {
    for verdict in [Verdict::Answer(PortId(0)), Verdict::Absorb] {
        let ticks: VecDeque<Time> = [50, 90].map(ns).into();
        let forwarder = Verdicts { ticks, verdicts: [verdict, verdict].into(), ..Verdicts::default() };
        let (mut node, mut runtime) = node(vec![], Some(forwarder));
        node.tick = ns(60);
        node.arrived(&mut runtime, packet(1), BY);
        assert_eq!(runtime.log.take().last(), Some(&TickAt(50)), "sooner than the runtime knows");
        node.arrived(&mut runtime, packet(1), BY);
        assert!(!runtime.log.take().contains(&TickAt(50)), "the runtime knows");
        runtime.now = ns(60);
        node.ticked(&mut runtime);
        assert_eq!(runtime.log.take(), [Ticked, TickAt(90)]);
    }
}

#[test]
fn a_forwarder_at_rest_is_asked_when_it_ticks_after_credits() {
    let ticks = [50].map(ns).into();
    let forwarder = Verdicts { ticks, hears_of_departures: true, ..Verdicts::default() };
    let (mut node, mut runtime) = node(vec![], Some(forwarder));
    for takes in [false, true] {
        node.tick = Time::NEVER;
        if takes {
            node.credited(&mut runtime, BY, &credit(1), &mut Vec::new());
        } else {
            node.left(&mut runtime, &packet(1), Some(BY));
        }
        assert_eq!(runtime.log.take().last(), Some(&TickAt(50)));
    }
    node.credited(&mut runtime, BY, &credit(1), &mut Vec::new());
    assert_eq!(runtime.log.take(), [], "the runtime knows");
}

#[test]
fn a_packet_that_is_still_coming_in_is_delivered_when_it_is_whole() {
    let (mut node, mut runtime) = node(vec![], says([Verdict::Deliver]));
    runtime.coming = Some(Vec::new());
    node.arrived(&mut runtime, packet(1), BY);
    assert_eq!(runtime.log.take(), [Asked(1, Some(BY))]);
    let whole = runtime.coming.take().and_then(|mut coming| coming.pop()).expect("the runtime keeps it");
    node.deliver(&mut runtime, whole, Some(BY));
    assert_eq!(runtime.log.take(), [Got(1, BY)]);
}

#[test]
fn a_forwarder_hears_of_departures_and_answers_the_neighbour() {
    let answer = |number: u32| [Departed(number, BY), Credits(BY, credit(number))];
    let verdicts = [Verdict::Deliver, Verdict::Absorb, Verdict::Drop(DropReason::NoRoute)];
    for (verdict, heard) in verdicts.into_iter().zip([2, 1, 2]) {
        let forwarder = says([verdict]).map(|part| Verdicts { hears_of_departures: true, ..part });
        assert_eq!(arrival(forwarder).0[heard..heard + 2], answer(1), "{verdict:?}");
    }
    let forwarder = says([]).map(|part| Verdicts { hears_of_departures: true, ..part });
    let (mut node, mut runtime) = node(vec![], forwarder);
    assert!(!node.left(&mut runtime, &packet(1), Some(BY)));
    assert_eq!(runtime.log.take(), answer(1));
    // The node's own packets came from no neighbour, and the host waits for them.
    assert!(node.left(&mut runtime, &packet(2), None));
    assert_eq!(runtime.log.take(), [Sent(2)]);
}

#[test]
fn a_host_hears_of_bytes_that_are_no_packet() {
    let (mut node, mut runtime) = node(vec![], says([]));
    node.corrupted(&mut runtime, BY);
    assert_eq!(runtime.log.take(), [Corrupted(BY), Polled]);
}

#[test]
fn a_node_without_a_host_is_never_due() {
    let parts = Parts { host: None, forwarder: Some(Box::new(Verdicts::default())) };
    let (_, mut runtime) = node(vec![], None);
    let mut node = Node::new(parts, ());
    assert_eq!(node.wake(), Time::NEVER);
    assert!(!node.lose(&mut runtime, packet(1), None, None, DropReason::NoRoute));
    assert!(!node.left(&mut runtime, &packet(1), None));
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Lost(1, None, DropReason::NoRoute)]);
}
