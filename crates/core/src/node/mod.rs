//! A node: its parts, and the path of packets through the parts. The path is the same in every runtime.
//!
//! A runtime moves packets between nodes. The packet engine uses slots and a calendar of events, lockstep moves bytes,
//! and a live runtime uses rings and a real clock. The runtime passes events to a [`Node`]: a packet [has
//! arrived](Node::arrived), a flow [starts](Node::start), the clock [has reached](Node::woken) the requested time. The
//! node queries its parts, and passes the requests of the parts to the runtime through [`Runtime`]. The runtime owns
//! the ports, with their queues, agents and flow control. If the runtime must drop a packet, it [returns](Node::lose)
//! the packet to the node. It also [passes](Node::send) packets of agents and of flow control to the node.
//!
//! A program above the host ([`Application`]) is polled each time before the host.
//!
//! A node may detect by itself which links are down ([`Discovery`]). Such a node sends hellos, absorbs link states from
//! other nodes, and tells its forwarder and its host which links went down or came up.
//!
//! A host is polled after an input, when the node has handled all consequences of the input. Some methods leave the
//! poll to their caller: they return true if the host is due a poll.

mod program;
mod runtime;

pub use runtime::Runtime;

use crate::discovery::{Discovery, Effect};
use crate::{
    Application, Bytes, Credit, DropReason, Flow, FlowId, Forwarder, HoldKey, Host, Input, LinkId, Output,
    Packet, Parts, PortId, Report, Time, Verdict,
};
use program::Program;

/// One node of a fabric.
pub struct Node<R: Runtime> {
    host: Option<Box<dyn Host>>,
    forwarder: Option<Box<dyn Forwarder>>,
    program: Option<Box<Program>>,
    discovery: Option<Box<Discovery>>,
    place: R::Place,
    /// The requested wake-up time; a wake-up before this time is outdated.
    wake: Time,
    /// The requested time of the next tick of the forwarder or of topology discovery; a tick before this time
    /// is outdated.
    tick: Time,
    /// Packets that the forwarder holds, in order of arrival.
    held: Vec<Held<R::Slot>>,
    /// True if the forwarder must be told of packets that leave the node.
    hears_of_departures: bool,
}

/// A packet that the forwarder holds until a credit or a change of a link.
struct Held<S> {
    key: HoldKey,
    arrival: Option<PortId>,
    slot: S,
}

impl<R: Runtime> Node<R> {
    /// Creates a node. The runtime must [wake](Self::woken) the node at the time [`wake`](Self::wake), and let the node
    /// [tick](Self::ticked) at the time [`tick`](Self::tick), unless these times are [`Time::NEVER`].
    pub fn new(parts: Parts, place: R::Place) -> Self {
        let Parts { host, forwarder, application, discovery } = parts;
        let mut node = Self {
            wake: application.as_ref().map_or(Time::NEVER, |application| application.begins()),
            tick: Time::NEVER,
            hears_of_departures: forwarder.as_ref().is_some_and(|part| part.hears_of_departures()),
            host,
            forwarder,
            program: application.map(|application| Box::new(Program::new(application))),
            discovery,
            place,
            held: Vec::new(),
        };
        node.tick = node.next_tick();
        node
    }

    /// The runtime's data about the node.
    #[inline]
    pub fn place(&self) -> &R::Place {
        &self.place
    }

    /// Replaces the runtime's data about the node, for instance when the node moves to another thread. `rename`
    /// replaces the slot of each packet that the forwarder holds.
    pub fn move_to(&mut self, place: R::Place, rename: impl FnMut(&mut R::Slot)) {
        self.place = place;
        self.held.iter_mut().map(|held| &mut held.slot).for_each(rename);
    }

    /// Time at which the node asks to be woken; [`Time::NEVER`] if it does not ask.
    pub fn wake(&self) -> Time {
        self.wake
    }

    /// Time of the next tick of the node's forwarder or topology discovery; [`Time::NEVER`] if neither needs one.
    pub fn tick(&self) -> Time {
        self.tick
    }

    /// The node's host.
    #[inline]
    pub fn host(&self) -> Option<&dyn Host> {
        self.host.as_deref()
    }

    /// The node's forwarder.
    #[inline]
    pub fn forwarder(&self) -> Option<&dyn Forwarder> {
        self.forwarder.as_deref()
    }

    /// The program on the node's host.
    pub fn application(&self) -> Option<&dyn Application> {
        self.program.as_ref().map(|program| &*program.application)
    }

    /// The node's topology discovery; `None` if the node does not detect by itself which links are down.
    pub fn discovery(&self) -> Option<&Discovery> {
        self.discovery.as_deref()
    }

    /// True if the node does nothing but send hellos until a packet or a credit arrives, a flow starts, or a link
    /// changes.
    pub fn is_at_rest(&self) -> bool {
        let ticks = self.forwarder.as_ref().is_some_and(|part| part.next_tick() < Time::NEVER);
        self.wake == Time::NEVER && !ticks
    }

    /// True if the forwarder must be told of packets that [have left](Self::left).
    #[inline]
    pub fn hears_of_departures(&self) -> bool {
        self.hears_of_departures
    }

    /// The packets that the forwarder holds.
    pub fn held(&self) -> impl Iterator<Item = &R::Slot> {
        self.held.iter().map(|held| &held.slot)
    }

    /// A packet has arrived by a port.
    #[inline]
    pub fn arrived(&mut self, runtime: &mut R, mut slot: R::Slot, port: PortId) {
        if self.discovery.is_some() {
            match self.hear(runtime, slot, port) {
                Some(other) => slot = other,
                None => return,
            }
        }
        if self.route(runtime, slot, Some(port)) {
            self.poll(runtime);
        }
    }

    /// Bytes that are not a valid packet have arrived by a port.
    pub fn corrupted(&mut self, runtime: &mut R, port: PortId) {
        if self.tell(runtime.now(), Input::Corrupted { port }) {
            self.poll(runtime);
        }
    }

    /// A flow of the workload starts here.
    ///
    /// # Panics
    /// If the flow is a stream and the host [does not support streams](Self::carries_streams).
    pub fn start(&mut self, runtime: &mut R, flow: &Flow) {
        assert!(!flow.is_stream || self.carries_streams(), "the host must support streams");
        runtime.totals().flows_started += 1;
        self.tell(runtime.now(), Input::Flow(flow));
        self.poll(runtime);
    }

    /// Returns true if the host supports [streams](Flow::is_stream).
    pub fn carries_streams(&self) -> bool {
        self.host().is_some_and(Host::carries_streams)
    }

    /// The application appends bytes to a stream that [started](Self::start) here.
    pub fn append(&mut self, runtime: &mut R, flow: FlowId, bytes: Bytes) {
        self.tell(runtime.now(), Input::Append { flow, bytes });
        self.poll(runtime);
    }

    /// The application has no more bytes for a stream that [started](Self::start) here.
    pub fn close(&mut self, runtime: &mut R, flow: FlowId) {
        self.tell(runtime.now(), Input::Close { flow });
        self.poll(runtime);
    }

    /// The clock has reached a requested wake-up time. Outdated wake-ups are ignored.
    #[inline]
    pub fn woken(&mut self, runtime: &mut R) {
        if self.wake <= runtime.now() {
            self.wake = Time::NEVER;
            self.poll(runtime);
        }
    }

    /// The clock has reached a requested tick time. Outdated ticks are ignored.
    pub fn ticked(&mut self, runtime: &mut R) {
        let now = runtime.now();
        if self.tick > now {
            return;
        }
        self.tick = Time::NEVER;
        if let Some(forwarder) = self.forwarder.as_mut().filter(|part| part.next_tick() <= now) {
            forwarder.tick(now, &runtime.ports(&self.place));
            while let Some((port, credit)) = forwarder.next_credit() {
                runtime.credit(&self.place, port, credit);
            }
        }
        let mut due = false;
        if let Some(discovery) = self.discovery.as_mut().filter(|part| part.next_tick() <= now) {
            discovery.tick(now, &runtime.ports(&self.place));
            due = self.follow_discovery(runtime);
        }
        if self.originate(runtime) | due {
            self.poll(runtime);
        }
    }

    /// Topology discovery tells the node that links went down or came up.
    pub fn discovered(&mut self, runtime: &mut R, links: &[LinkId], up: bool) {
        for &link in links {
            if let Some(forwarder) = &mut self.forwarder {
                forwarder.link(link, up);
            }
            self.tell(runtime.now(), Input::Link { link, up });
        }
        self.retry(runtime, |_| true);
        self.poll(runtime);
    }

    /// A credit has arrived from the neighbour at a port. Adds to `freed` the keys of packets that may now
    /// [proceed](Self::retry).
    #[inline]
    pub fn credited(&mut self, runtime: &mut R, port: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        let Some(forwarder) = &mut self.forwarder else { return };
        forwarder.credited(runtime.now(), port, credit, freed);
        if self.tick == Time::NEVER || self.discovery.is_some() {
            self.expect_tick(runtime);
        }
    }

    /// Asks the forwarder again about the packets that it holds under keys for which `is_freed` returns true, in order
    /// of arrival.
    pub fn retry(&mut self, runtime: &mut R, is_freed: impl Fn(HoldKey) -> bool) {
        let mut due = false;
        let mut next = 0;
        while let Some(held) = self.held.get(next) {
            if !is_freed(held.key) {
                next += 1;
                continue;
            }
            let Held { arrival, mut slot, .. } = self.held.remove(next);
            match self.ask(runtime, &mut slot, arrival) {
                Verdict::Hold(key) => {
                    self.held.insert(next, Held { key, arrival, slot });
                    next += 1;
                }
                verdict => due |= self.follow(runtime, verdict, slot, arrival),
            }
        }
        if due {
            self.poll(runtime);
        }
    }

    /// The last bit of a packet has left by a port. Returns true if the host was told and is due a poll. The host is
    /// told of packets that the node itself had sent, except packets of topology discovery.
    #[inline]
    pub fn left(&mut self, runtime: &mut R, packet: &Packet, arrival: Option<PortId>) -> bool {
        self.departed(runtime, packet, arrival);
        arrival.is_none() && !packet.is_of_discovery() && self.tell(runtime.now(), Input::Sent(packet))
    }

    /// Sends one of the node's own packets, by the given port or as the forwarder decides. Returns true if the host is
    /// due a poll, because it received a packet or was told of a drop.
    #[inline]
    pub fn send(&mut self, runtime: &mut R, packet: Packet, port: Option<PortId>) -> bool {
        self.send_with(runtime, packet, port, R::insert)
    }

    /// Like [`send`](Self::send), for a packet that `insert` stores, for instance with an external body.
    #[inline]
    pub fn send_with(
        &mut self,
        runtime: &mut R,
        packet: Packet,
        port: Option<PortId>,
        insert: impl FnOnce(&mut R, Packet) -> R::Slot,
    ) -> bool {
        runtime.totals().count_sent(&packet);
        let slot = insert(runtime, packet);
        match port {
            Some(port) => runtime.enqueue(self, slot, None, port),
            None => self.route(runtime, slot, None),
        }
    }

    /// Gives a packet to the host, which is then due a poll.
    pub fn deliver(&mut self, runtime: &mut R, mut slot: R::Slot, arrival: Option<PortId>) {
        let now = runtime.now();
        let port = arrival.unwrap_or(PortId(0));
        let (packet, _) = runtime.packet(&self.place, &mut slot);
        self.tell(now, Input::Packet { packet, port });
        let packet = runtime.deliver(&self.place, slot);
        runtime.totals().count_delivered(&packet);
        if let Some(arrival) = arrival {
            runtime.taken(self, arrival, &packet);
        }
        self.departed(runtime, &packet, arrival);
    }

    /// Drops a packet. `out` is the packet's egress port, if it had one. Returns true if the host was told of the drop
    /// and is due a poll. The host is not told of drops of topology discovery's packets.
    #[cold]
    pub fn lose(
        &mut self,
        runtime: &mut R,
        slot: R::Slot,
        arrival: Option<PortId>,
        out: Option<PortId>,
        reason: DropReason,
    ) -> bool {
        let packet = runtime.remove(slot);
        runtime.totals().count_dropped(&packet, reason);
        runtime.lost(&self.place, out, &packet, reason);
        self.departed(runtime, &packet, arrival);
        let port = out.unwrap_or(PortId(0));
        !packet.is_of_discovery()
            && self.tell(runtime.now(), Input::Dropped { packet: &packet, port, reason })
    }

    /// Removes the payload of a packet that waits for a port, or is about to wait for it. Returns false if the packet's
    /// transport does not support trimming. The packet must then be [lost](Self::lose).
    #[cold]
    pub fn trim(&mut self, runtime: &mut R, slot: &mut R::Slot) -> bool {
        let (packet, _) = runtime.packet(&self.place, slot);
        let Some(bytes) = packet.trim() else { return false };
        runtime.totals().count_trimmed(bytes);
        true
    }

    /// Polls the host, and the program on it, until they have no more requests for now.
    pub fn poll(&mut self, runtime: &mut R) {
        while let Some(host) = &mut self.host {
            let now = runtime.now();
            if let Some(program) = &mut self.program {
                program.advance(now, &mut **host);
            }
            let mut wake = match host.poll(now, &runtime.ports(&self.place)) {
                Output::Send { packet, port } => {
                    self.send(runtime, packet, port);
                    continue;
                }
                Output::Report(report) => {
                    self.report(runtime, report);
                    continue;
                }
                Output::WakeAt(at) => at,
                Output::Idle => Time::NEVER,
            };
            if let Some(program) = &mut self.program {
                if program.takes_leave() {
                    runtime.reported(&self.place, Report::Finished);
                    continue;
                }
                wake = wake.min(program.wake);
            }
            // A wake-up that is due now is handled within this event, so that events of an instant keep a fixed order.
            if wake <= now {
                continue;
            }
            if wake == Time::NEVER {
                self.wake = Time::NEVER;
            } else if self.wake != wake {
                self.wake = wake;
                runtime.wake_at(&self.place, wake);
            }
            return;
        }
    }

    /// Handles a report of the host.
    fn report(&mut self, runtime: &mut R, mut report: Report) {
        if let Some(program) = &mut self.program {
            report = program.hear(runtime.now(), report);
        }
        if matches!(report, Report::Delivered { .. }) {
            runtime.totals().flows_delivered += 1;
        }
        runtime.reported(&self.place, report);
    }

    /// Passes an input to the host. Returns true if there is a host.
    #[inline]
    fn tell(&mut self, now: Time, input: Input<'_>) -> bool {
        let Some(host) = &mut self.host else { return false };
        host.handle(now, input);
        true
    }

    /// Asks the forwarder about a packet and carries out its decision. Returns true if the host is due a poll.
    #[inline]
    fn route(&mut self, runtime: &mut R, mut slot: R::Slot, arrival: Option<PortId>) -> bool {
        let verdict = self.ask(runtime, &mut slot, arrival);
        self.follow(runtime, verdict, slot, arrival)
    }

    /// Asks the forwarder about a packet.
    #[inline]
    fn ask(&mut self, runtime: &mut R, slot: &mut R::Slot, arrival: Option<PortId>) -> Verdict {
        match &mut self.forwarder {
            Some(forwarder) => {
                let now = runtime.now();
                let (packet, ports) = runtime.packet(&self.place, slot);
                forwarder.forward(now, packet, arrival, &ports)
            }
            None if arrival.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        }
    }

    /// Carries out the forwarder's decision. Returns true if the host is due a poll.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "inlining avoids a copy of the packet at every hop")]
    fn follow(&mut self, runtime: &mut R, verdict: Verdict, slot: R::Slot, arrival: Option<PortId>) -> bool {
        match verdict {
            Verdict::Forward(port) => runtime.enqueue(self, slot, arrival, port),
            Verdict::Deliver => match runtime.whole(&self.place, slot, arrival) {
                Some(slot) => {
                    self.deliver(runtime, slot, arrival);
                    true
                }
                None => false,
            },
            Verdict::Hold(key) => {
                self.held.push(Held { key, arrival, slot });
                false
            }
            Verdict::Drop(reason) => self.lose(runtime, slot, arrival, None, reason),
            Verdict::Answer(port) => runtime.enqueue(self, slot, arrival, port) | self.originate(runtime),
            Verdict::Absorb => {
                let packet = runtime.remove(slot);
                runtime.totals().count_delivered(&packet);
                self.departed(runtime, &packet, arrival);
                self.originate(runtime)
            }
        }
    }

    /// Sends the forwarder's own packets, and schedules its next tick. Returns true if the host is due a poll.
    #[cold]
    fn originate(&mut self, runtime: &mut R) -> bool {
        let mut due = false;
        while let Some((packet, port)) = self.forwarder.as_mut().and_then(|part| part.originate()) {
            due |= self.send(runtime, packet, Some(port));
        }
        self.expect_tick(runtime);
        due
    }

    /// Passes an arriving packet to topology discovery. Returns the packet, unless it was for discovery.
    #[cold]
    fn hear(&mut self, runtime: &mut R, mut slot: R::Slot, port: PortId) -> Option<R::Slot> {
        let discovery = self.discovery.as_mut()?;
        let now = runtime.now();
        let (packet, _) = runtime.packet(&self.place, &mut slot);
        discovery.heard(port);
        if !discovery.take(now, &packet.header, port) {
            return Some(slot);
        }
        let packet = runtime.remove(slot);
        runtime.totals().count_delivered(&packet);
        if self.follow_discovery(runtime) {
            self.poll(runtime);
        }
        None
    }

    /// Carries out the effects of topology discovery. Returns true if the host is due a poll, because it received a
    /// packet or was told of a drop.
    fn follow_discovery(&mut self, runtime: &mut R) -> bool {
        let mut due = false;
        while let Some(effect) = self.discovery.as_mut().and_then(|part| part.next_effect()) {
            match effect {
                Effect::Send(packet, port) => due |= self.send(runtime, packet, Some(port)),
                Effect::Link { links, up } => self.discovered(runtime, &links, up),
            }
        }
        due
    }

    /// Time of the next tick of the forwarder or topology discovery.
    fn next_tick(&self) -> Time {
        let forwarder = self.forwarder.as_ref().map_or(Time::NEVER, |part| part.next_tick());
        self.discovery.as_ref().map_or(forwarder, |part| part.next_tick().min(forwarder))
    }

    /// Schedules the next tick of the forwarder and topology discovery.
    fn expect_tick(&mut self, runtime: &mut R) {
        let at = self.next_tick();
        if at < self.tick {
            debug_assert!(at > runtime.now(), "the next tick must be in the future");
            self.tick = at;
            runtime.tick_at(&self.place, at);
        }
    }

    /// If the forwarder must be told of departures, tells it that a packet that arrived by a port has left the node's
    /// buffers. Sends the resulting credit, if any, to the neighbour that sent the packet.
    #[inline]
    fn departed(&mut self, runtime: &mut R, packet: &Packet, arrival: Option<PortId>) {
        if !self.hears_of_departures {
            return;
        }
        let (Some(arrival), Some(forwarder)) = (arrival, &mut self.forwarder) else { return };
        if let Some(credit) = forwarder.departed(runtime.now(), packet, arrival) {
            runtime.credit(&self.place, arrival, credit);
        }
        if self.tick == Time::NEVER || self.discovery.is_some() {
            self.expect_tick(runtime);
        }
    }
}

#[cfg(test)]
mod tests;
