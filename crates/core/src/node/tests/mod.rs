//! Tests of a node in a runtime that only records the requests that it receives.

mod discovery;
mod packets;
mod program;

use super::*;
use crate::{Bytes, Duration, FlowId, FlowKey, Header, NodeId, PortState, Ports, Rate, Request, Totals};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::tcp::Segment;
use raddle_wire::{Ends, Error, HeaderInfo};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A header that is defined outside the wire crate. Its packets can be trimmed.
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

/// A trimmed packet keeps the bytes that its size counts for the header: here 7 bytes, 2 more than the encoded header.
#[test]
fn a_cut_packet_keeps_only_its_header() {
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

/// Inputs of the parts and requests to the runtime. Packets are identified by their numbers.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    // Calls to the host:
    Started(FlowId),
    Appended(FlowId, Bytes),
    Closed(FlowId),
    Got(u32, PortId),
    Sent(u32),
    Dropped(u32, PortId, DropReason),
    Corrupted(PortId),
    Link(LinkId, bool),
    Polled,
    // Calls to the program:
    Wanted,
    Heard(Report),
    // Calls to the forwarder:
    Asked(u32, Option<PortId>),
    Departed(u32, PortId),
    Ticked,
    Told(LinkId, bool),
    // Calls to the runtime:
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

    /// The events recorded since the previous call.
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A host that answers polls according to a script, and has no requests after the script has ended.
struct Script {
    outputs: VecDeque<Output>,
    log: Log,
}

impl Host for Script {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        self.log.push(match input {
            Input::Flow(flow) => Started(flow.id),
            Input::Append { flow, bytes } => Appended(flow, bytes),
            Input::Close { flow } => Closed(flow),
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
}

/// A forwarder that gives verdicts according to a script. After the script has ended, it forwards by port 0.
#[derive(Default)]
struct Verdicts {
    verdicts: VecDeque<Verdict>,
    own: VecDeque<(Packet, PortId)>,
    /// Credits that the forwarder gives when it ticks.
    credits: VecDeque<(PortId, Credit)>,
    /// Times of the forwarder's next ticks, in order.
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

/// A runtime with three ports, one of which may be full.
struct Fake {
    now: Time,
    totals: Totals,
    ports: [PortState; 3],
    full: Option<PortId>,
    /// Waiting packets that the queue drops to make room for the next packet, with their ingress ports.
    gives_up: Vec<(Packet, Option<PortId>)>,
    /// The packet that the queue trims to make room for the next packet.
    cuts: Option<Packet>,
    /// If set, packets for the host are kept here, because they have not arrived completely (cut-through).
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

/// A packet with 100 bytes of payload.
fn packet(number: u32) -> Packet {
    Packet::new(140, Header::Tcp(Segment { seq: number, plen: 100, ..Segment::default() }))
}

/// A credit for one flow.
fn credit(flow: u32) -> Credit {
    Credit::new(1, 0, [flow])
}

fn number(packet: &Packet) -> u32 {
    match &packet.header {
        Header::Tcp(segment) => segment.seq,
        Header::Hello(_) => HELLO,
        Header::LinkStates(_) => STATES,
        _ => unreachable!("no other packets are here"),
    }
}

/// The packet number under which all hellos are recorded.
const HELLO: u32 = 1_000;

/// The packet number under which all link states are recorded.
const STATES: u32 = 1_001;

fn send(number: u32, port: Option<u16>) -> Output {
    Output::Send { packet: packet(number), port: port.map(PortId) }
}

/// A node, at time 10 ns, whose host answers polls with `outputs`.
fn node(outputs: Vec<Output>, forwarder: Option<Verdicts>) -> (Node<Fake>, Fake) {
    let log = Log::default();
    let host = Script { outputs: outputs.into(), log: log.clone() };
    let forwarder =
        forwarder.map(|forwarder| Box::new(Verdicts { log: log.clone(), ..forwarder }) as Box<dyn Forwarder>);
    let port = PortState::idle(Rate::from_gbps(10));
    let parts = Parts { host: Some(Box::new(host)), forwarder, ..Parts::default() };
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

/// A forwarder with two packets of its own to send: 8 by port 1, 9 by port 2.
fn answers(verdict: Verdict) -> Option<Verdicts> {
    let own = [(packet(8), PortId(1)), (packet(9), PortId(2))].into();
    Some(Verdicts { own, verdicts: [verdict].into(), ..Verdicts::default() })
}

const BY: PortId = PortId(1);

/// The events recorded when packet 1 arrives at a node with this forwarder.
fn arrival(forwarder: Option<Verdicts>) -> (Vec<Seen>, Totals) {
    let (mut node, mut runtime) = node(vec![], forwarder);
    node.arrived(&mut runtime, packet(1), BY);
    (runtime.log.take(), runtime.totals)
}
