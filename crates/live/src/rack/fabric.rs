//! The fabric of a polling thread's nodes: slots of shared memory, rings between nodes, and the clock.
//!
//! A node forwards a packet by putting the number of the packet's slot into a ring. A relay whose ring is full drops
//! the packet and counts the drop. A relay never waits for room, so a cycle of full rings cannot deadlock
//! (specifications/live.md §2).

use super::clock::Clock;
use super::events::{Event, Events};
use super::failures::Trouble;
use super::fidelity::Meter;
use super::ip::Interfaces;
use super::payload;
use super::pool::{FreeList, LINE, Slots};
use super::ports::MayServe;
use super::ring::{Consumer, Entry, Producer};
use super::shared::Words;
use super::streams::Streams;
use super::told::Teller;
use crate::fifo::Fifo;
use crate::flow_control::ControlLinks;
use crate::served::{Queued, Serve};
use raddle_core::{
    Bytes, Credit, Decoders, DropReason, Duration, HeaderInfo, LinkId, LinkStats, Node, NodeId, Packet,
    PortId, PortState, Ports, Report, Runtime, Shim, Time, Totals,
};
use raddle_topology::Topology;
use std::sync::Arc;

/// If the first cache line is not enough to decode a packet, a node tries this number of bytes (two cache lines).
const LONG_FRONT: usize = 2 * LINE;

/// A node, and the links that leave it: `ports` links from the index `first_link` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) id: NodeId,
    /// Index of the node's first port in the per-link vectors.
    pub(super) first_link: usize,
    pub(super) ports: usize,
}

impl Place {
    pub(super) fn link(self, port: PortId) -> usize {
        self.first_link + port.index()
    }
}

/// A packet that a node is handling, and the slot that holds its bytes. A packet that the node has just made has no
/// slot yet.
pub(super) struct Inside {
    pub(super) packet: Packet,
    pub(super) slot: Option<Held>,
}

/// Offset of the first payload byte of a packet.
fn payload_begin(Packet { shim, header, .. }: &Packet) -> usize {
    shim.wire_len() + header.wire_len() - header.trailer_len()
}

/// A slot that holds a packet, and the size of the packet in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) slot: u32,
    pub(super) len: u32,
}

/// The sending end of a link.
pub(super) struct Outgoing {
    pub(super) ring: Producer<Words>,
    pub(super) delay: Duration,
    /// Index of the link among the thread's incoming links, if the same thread serves the receiving end.
    pub(super) incoming: Option<usize>,
    /// The tag of the entries that the port puts into the ring. It counts the failures of the link.
    pub(super) tag: u8,
    /// True while the port prevents its node's host from sending. This state begins when the node sends a packet of its
    /// own and at least half of the ring is then full.
    pub(super) holds_back: bool,
}

/// State that the nodes of one polling thread share.
pub(super) struct Fabric {
    pub(super) clock: Clock,
    /// The due time of the event that is being handled, or the current time if that event is long overdue.
    pub(super) now: Time,
    pub(super) topology: Arc<Topology>,
    /// Indexed by [`LinkId`], like `stats` and `out`.
    pub(super) ports: Vec<PortState>,
    pub(super) stats: Vec<LinkStats>,
    pub(super) out: Vec<Option<Outgoing>>,
    pub(super) slots: Slots,
    pub(super) free: FreeList,
    /// Rings that return slots to other threads, indexed by thread among the threads that share the memory. `None` for
    /// this thread.
    pub(super) returns: Vec<Option<Producer<Words>>>,
    /// Rings in which other threads return slots of this thread.
    pub(super) returned: Vec<Consumer<Words>>,
    pub(super) decoders: Decoders,
    /// A buffer for the bytes of the packet that is being read or written.
    pub(super) buffer: Vec<u8>,
    /// A buffer for the payload of the packet that is being written.
    pub(super) body: Vec<u8>,
    /// Scheduled events.
    pub(super) events: Events,
    pub(super) totals: Totals,
    pub(super) teller: Teller,
    pub(super) meter: Meter,
    /// The programs' streams, in a rack of programs.
    pub(super) streams: Option<Streams>,
    /// The kernels' network interfaces, in a rack whose hosts run Linux.
    pub(super) interfaces: Option<Box<Interfaces>>,
    /// True if all bytes of payloads are written and checked. False if only the first bytes of payloads are written and
    /// checked.
    pub(super) fills: bool,
    /// Indexed by [`LinkId`]: the plain FIFOs of ports. Empty if only the rings limit the ports.
    pub(super) fifos: Vec<Fifo>,
    /// True if relays copy packets: [`Config::copies`](super::Config::copies).
    pub(super) copies_at_hops: bool,
    /// Number of times that a whole packet was copied: to another slot, from another machine, to decode a header for
    /// which [`LONG_FRONT`] bytes are not enough, or to rewrite a packet of more than [`LONG_FRONT`] bytes. Other
    /// copies, for example to check or deliver a packet, do not count.
    pub(super) copies: u64,
    /// Number of packets and credits that were put into rings.
    pub(super) put: u64,
    /// Number of packets and credits that were taken out of rings.
    pub(super) taken: u64,
    /// Indexed by this thread's incoming links: true if the arrival of the first packet in the link's ring is
    /// scheduled.
    pub(super) is_expected: Vec<bool>,
    /// Number of this thread's ports that prevent their node's host from sending.
    pub(super) held_back: usize,
    /// Number of scheduled wake-ups of hosts, including wake-ups that a later request has replaced.
    pub(super) wakes: usize,
    /// Indexed by [`LinkId`]: the state of ports that have an agent, a queue or flow control of their own. Empty if
    /// there are no such ports.
    pub(super) served: Vec<MayServe>,
    /// Changes and errors of links.
    pub(super) trouble: Trouble,
    /// Number of topology discovery packets that nodes of this thread have made, and number of topology discovery
    /// packets that this thread has delivered or dropped.
    pub(super) hellos: [u64; 2],
}

impl Fabric {
    /// Decodes the packet of a ring entry. Checks the entry first, because another process may have written arbitrary
    /// values.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each hop calls this function, and inlining avoids a copy of the packet"
    )]
    pub(super) fn open(&mut self, entry: Entry) -> Result<Packet, raddle_wire::Error> {
        if self.is_slot(entry) {
            self.read(entry)
        } else {
            Err(raddle_wire::Error::Truncated { have: 0, need: 1 })
        }
    }

    /// Returns true if the entry names an existing slot and a length that fits a slot.
    #[inline]
    pub(super) fn is_slot(&self, entry: Entry) -> bool {
        entry.slot < self.slots.count() && entry.len as usize <= self.slots.bytes()
    }

    /// Decodes the packet in a slot. Reads only the first cache line if these bytes are enough to decode the packet.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each hop calls this function, and inlining avoids a copy of the packet"
    )]
    fn read(&mut self, entry: Entry) -> Result<Packet, raddle_wire::Error> {
        let front = self.slots.front(entry.slot);
        let front = &front[..LINE.min(entry.len as usize)];
        match Packet::decode_front(front, entry.len, &self.decoders) {
            Some(packet) => Ok(packet),
            None => self.read_more(entry),
        }
    }

    /// Decodes a packet for which the first cache line is not enough. Tries the first two cache lines, and then all
    /// bytes.
    #[inline(never)]
    fn read_more(&mut self, entry: Entry) -> Result<Packet, raddle_wire::Error> {
        let len = entry.len as usize;
        let mut front = [0; LONG_FRONT];
        let front = &mut front[..len.min(LONG_FRONT)];
        self.slots.read(entry.slot, front);
        if let Some(packet) = Packet::decode_front(front, entry.len, &self.decoders) {
            return Ok(packet);
        }
        self.copies += u64::from(len > LONG_FRONT);
        self.buffer.resize(len, 0);
        self.slots.read(entry.slot, &mut self.buffer);
        Packet::decode(&self.buffer, &self.decoders)
    }

    /// Number of packets that wait at ports or were put into rings, and number of packets taken out of rings. A credit
    /// counts as a packet. Both numbers exclude the packets of topology discovery. The first number minus the second,
    /// summed over all threads, is the number of packets that wait or are in flight.
    pub(super) fn moved(&self) -> [u64; 2] {
        let [made, ended] = self.hellos;
        let put = self.put + self.waiting() as u64;
        [put.wrapping_sub(made), self.taken.wrapping_sub(ended)]
    }

    /// Returns a slot to the thread that owns the slot.
    pub(super) fn free(&mut self, slot: u32) {
        if self.free.give_back(slot) {
            return;
        }
        let owner = self.free.owner(slot);
        if let Some(Some(ring)) = self.returns.get_mut(owner) {
            // The ring has room for all slots of the owner. If a hostile process has named a slot twice, the ring may
            // be full, and the slot is lost.
            let _ = ring.push(Entry { due: 0, slot, len: 0, tag: 0 });
        }
    }

    /// Lets the host of a node send again through each port whose ring is less than half full. The second half of a
    /// ring is reserved for relayed packets, so a port holds the host back while at least half of its ring is full.
    /// Even an idle port can hold the host back: its ring stays full while the thread at the other end of the link is
    /// late.
    pub(super) fn relent(&mut self, place: &Place) {
        if self.held_back == 0 {
            return;
        }
        for link in place.first_link..place.first_link + place.ports {
            let port = &mut self.ports[link];
            if let Some(outgoing) = &mut self.out[link]
                && outgoing.holds_back
                && !outgoing.ring.is_half_full()
            {
                outgoing.holds_back = false;
                self.held_back -= 1;
                port.set_waiting(Bytes(0));
            }
        }
    }

    /// Schedules the arrival of a packet at `due` on an incoming link, unless an arrival on that link is already
    /// scheduled.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "link indices fit `u32`")]
    pub(super) fn expect(&mut self, incoming: usize, due: Time) {
        if !self.is_expected[incoming] {
            self.is_expected[incoming] = true;
            self.events.push(due, Event::Arrival(incoming as u32));
        }
    }

    /// Takes back the slots that other threads have returned.
    pub(super) fn take_returned_slots(&mut self) {
        for ring in &mut self.returned {
            while let Ok(Some(entry)) = ring.peek() {
                ring.take();
                self.free.give_back(entry.slot);
            }
        }
    }

    /// Takes a free slot of this thread for a packet. Returns `None` if no slot is free.
    #[inline]
    pub(super) fn take_slot(&mut self) -> Option<u32> {
        self.free.take().or_else(|| {
            self.take_returned_slots();
            self.free.take()
        })
    }

    /// Returns the slot from which to send a packet: the slot in which the packet arrived, or a new slot. If relays
    /// copy packets, an arrived packet also gets a new slot. Returns `None` if no slot is free.
    #[inline]
    fn slot_to_send(&mut self, inside: &mut Inside) -> Option<u32> {
        match &mut inside.slot {
            None => self.take_slot(),
            Some(held) if !self.copies_at_hops => Some(held.slot),
            Some(held) => {
                let (came, len) = (held.slot, held.len);
                let slot = self.take_slot()?;
                self.slots.copy(came, slot, len as usize);
                self.copies += 1;
                self.free(came);
                inside.slot = Some(Held { slot, len });
                Some(slot)
            }
        }
    }

    /// Updates a packet in its slot: writes only the fields that a relay may change. Returns false if the whole packet
    /// must be written instead.
    #[inline]
    fn patch(&self, held: Held, packet: &Packet) -> bool {
        if packet.shim != Shim::None || held.len != packet.size {
            return false;
        }
        self.slots.patch(held.slot, |front| packet.header.patch_front(front))
    }

    /// Writes a packet into its slot. If the packet arrived in this slot, tries to [write only the fields](Self::patch)
    /// that a relay may change. Otherwise, or if this is not possible, writes the whole packet. Returns false if the
    /// slot is too small, or the header does not fit the payload.
    #[inline]
    fn write(&mut self, slot: u32, packet: &Packet, came: Option<Held>) -> bool {
        came.is_some_and(|held| self.patch(held, packet)) || self.write_anew(slot, packet, came)
    }

    /// Writes a packet into its slot. If possible, writes only the header in front of a payload that the slot already
    /// holds. If `fills` is false, may write only the first bytes of a new payload.
    fn write_anew(&mut self, slot: u32, packet: &Packet, came: Option<Held>) -> bool {
        let payload = packet.header.payload_len();
        let len = (packet.shim.wire_len() + packet.header.wire_len() + payload).max(packet.size as usize);
        if len > self.slots.bytes() {
            return false;
        }
        self.buffer.clear();
        if let (None, Some(range), Some(streams)) = (came, packet.range(), &mut self.streams) {
            self.body.clear();
            streams.fill(&range, &mut self.body);
            let is_encoded = packet.encode_with(&self.body, &mut self.buffer).is_ok();
            return is_encoded && self.write_buffer(slot);
        }
        let stands_alone = !packet.header.covers_payload() && packet.header.trailer_len() == 0;
        match (came, packet.range()) {
            (Some(held), _) if stands_alone && held.len == packet.size => {
                packet.encode_front(&mut self.buffer);
            }
            (None, Some(range)) if stands_alone => {
                packet.encode_front(&mut self.buffer);
                let begin = self.buffer.len();
                let len = if self.fills { payload } else { payload::stamped(begin, payload) };
                if begin + len > self.slots.bytes() {
                    return false;
                }
                payload::write(&range, begin, len, self.slots.words(slot));
            }
            (None, Some(range)) if self.fills => {
                self.body.clear();
                payload::append(&range, payload, &mut self.body);
                if packet.encode_with(&self.body, &mut self.buffer).is_err() {
                    return false;
                }
            }
            (None, _) => packet.encode(&mut self.buffer),
            (Some(held), _) => {
                self.copies += u64::from(held.len as usize > LONG_FRONT);
                let mut before = vec![0; held.len as usize];
                self.slots.read(slot, &mut before);
                let Ok((_, body)) = Packet::decode_with(&before, &self.decoders) else { return false };
                // A packet that was trimmed on its way has lost its payload.
                let body = &before[body];
                let body = &body[..body.len().min(payload)];
                if packet.encode_with(body, &mut self.buffer).is_err() {
                    return false;
                }
            }
        }
        self.write_buffer(slot)
    }

    /// Writes the bytes in `buffer` to the start of a slot. Returns false if the slot is too small.
    fn write_buffer(&self, slot: u32) -> bool {
        let fits = self.buffer.len() <= self.slots.bytes();
        if fits {
            self.slots.write(slot, &self.buffer);
        }
        fits
    }

    /// Returns true if a packet for this node matches its checksum.
    fn is_whole(&mut self, held: Held) -> bool {
        self.buffer.resize(held.len as usize, 0);
        self.slots.read(held.slot, &mut self.buffer);
        Packet::decode(&self.buffer, &self.decoders).is_ok()
    }

    /// Returns true if the payload of a packet in a slot has the bytes that the sender wrote. Unless `fills` is true,
    /// checks only the payload's first bytes, or none if the packet's checksum covers the payload.
    fn is_payload_right(&self, slot: u32, packet: &Packet) -> bool {
        let Some(range) = packet.range() else { return true };
        if packet.header.covers_payload() && !self.fills {
            return true; // the checksum covers the payload, and `is_whole` has verified it
        }
        let payload = packet.header.payload_len();
        let begin = payload_begin(packet);
        let checked = if self.fills { payload } else { payload::stamped(begin, payload) };
        payload::is_right(&range, begin, checked, self.slots.words(slot))
    }

    /// Drops a packet because the port's ring is full, no slot is free, or the packet cannot be written into a slot. If
    /// the node itself sent the packet, the port counts as busy for the serialization delay of one more full packet,
    /// even if the packet is smaller. So the port holds back the node's host. Otherwise the host would retry without
    /// pause while the thread at the other end of the ring is late.
    fn refuse(
        &mut self,
        node: &mut Node<Self>,
        inside: Inside,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        if arrival.is_none() {
            let port = &mut self.ports[node.place().link(out)];
            let time = port.rate.time_for(Bytes(self.slots.bytes() as u64));
            port.set_drains_at(port.free_at(self.now).max(self.now) + time);
        }
        node.lose(self, inside, arrival, Some(out), DropReason::QueueFull)
    }

    /// Writes a packet into its slot, and the slot's number into the ring of a link. The packet's last bit leaves at
    /// `sent`. The ring must have room. Returns false if the packet cannot be written.
    #[inline(never)]
    pub(super) fn transmit(
        &mut self,
        link: LinkId,
        sent: Time,
        slot: u32,
        packet: &Packet,
        came: Option<Held>,
    ) -> bool {
        if !self.write(slot, packet, came) {
            return false;
        }
        let kind = packet.kind();
        self.stats[link.index()].count(kind, packet.size);
        self.totals.count_forwarded(kind, packet.size);
        if self.teller.of_packets {
            self.tell_of(link, sent, slot, packet);
        }
        let Some(outgoing) = &mut self.out[link.index()] else { return false };
        let due = sent + outgoing.delay;
        let entry = Entry { due: due.as_ps(), slot, len: packet.size, tag: outgoing.tag };
        let pushed = outgoing.ring.push(entry);
        debug_assert_eq!(pushed, Ok(true), "the ring must have room");
        self.put += 1;
        if let Some(incoming) = outgoing.incoming {
            self.expect(incoming, due);
        }
        true
    }

    /// Reports the transmission of a packet whose bytes are in a slot.
    #[cold]
    fn tell_of(&self, link: LinkId, sent: Time, slot: u32, packet: &Packet) {
        let mut bytes = Vec::new();
        if self.decoders.reads_frames() {
            bytes.resize(packet.size as usize, 0);
            self.slots.read(slot, &mut bytes);
        }
        self.teller.forwarded(self.now, sent, link, packet, bytes);
    }
}

impl Runtime for Fabric {
    type Place = Place;
    type Slot = Inside;

    fn now(&self) -> Time {
        self.now
    }

    fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    fn ports(&self, place: &Place) -> Ports<'_> {
        Ports(&self.ports[place.first_link..place.first_link + place.ports])
    }

    fn packet<'a>(&'a mut self, place: &Place, inside: &'a mut Inside) -> (&'a mut Packet, Ports<'a>) {
        (&mut inside.packet, self.ports(place))
    }

    fn insert(&mut self, packet: Packet) -> Inside {
        self.hellos[0] += u64::from(packet.is_of_discovery());
        if let Some(streams) = &mut self.streams {
            streams.sends(&packet);
        }
        Inside { packet, slot: None }
    }

    fn remove(&mut self, inside: Inside) -> Packet {
        if let Some(held) = inside.slot {
            self.free(held.slot);
        }
        self.hellos[1] += u64::from(inside.packet.is_of_discovery());
        inside.packet
    }

    fn whole(&mut self, _: &Place, inside: Inside, _: Option<PortId>) -> Option<Inside> {
        let Some(held) = inside.slot else { return Some(inside) };
        if inside.packet.header.covers_payload() && !self.is_whole(held) {
            self.totals.count_malformed();
            self.remove(inside);
            return None;
        }
        if self.streams.is_none() && !self.is_payload_right(held.slot, &inside.packet) {
            self.meter.wrong_payloads += 1;
        }
        Some(inside)
    }

    fn deliver(&mut self, place: &Place, inside: Inside) -> Packet {
        if let (Some(held), Some(interfaces)) = (inside.slot, &mut self.interfaces) {
            interfaces.deliver(place.id, &inside.packet, held, &self.slots);
        }
        if let (Some(held), Some(range), Some(streams)) =
            (inside.slot, inside.packet.range(), &mut self.streams)
        {
            let begin = payload_begin(&inside.packet);
            let end = (begin + inside.packet.header.payload_len()).min(self.slots.bytes());
            self.buffer.resize(end, 0);
            self.slots.read(held.slot, &mut self.buffer);
            streams.arrived(self.now, &inside.packet, &range, &self.buffer[begin..]);
        }
        self.remove(inside)
    }

    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        mut inside: Inside,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        let place = *node.place();
        let link = place.link(out);
        if out.index() >= place.ports || !self.ports[link].up {
            return node.lose(self, inside, arrival, Some(out), DropReason::LinkDown);
        }
        if self.served.get(link).is_some_and(Option::is_some) {
            return self.come(node, LinkId::of(link), Queued { slot: inside, arrival });
        }
        let Some(outgoing) = &mut self.out[link] else {
            return node.lose(self, inside, arrival, Some(out), DropReason::LinkDown);
        };
        match outgoing.ring.room() {
            Ok(0) => return self.refuse(node, inside, arrival, out),
            Ok(_) => {}
            Err(_) => {
                self.ports[link].up = false;
                return node.lose(self, inside, arrival, Some(out), DropReason::LinkDown);
            }
        }
        if let Some(fifo) = self.fifos.get_mut(link) {
            if !fifo.has_room(self.now, inside.packet.size) {
                return node.lose(self, inside, arrival, Some(out), DropReason::QueueFull);
            }
            if fifo.marks(inside.packet.size) {
                inside.packet.mark_congestion();
            }
        }
        let Some(slot) = self.slot_to_send(&mut inside) else {
            return self.refuse(node, inside, arrival, out);
        };
        let packet = &inside.packet;
        let time = self.time_on(LinkId::of(link), packet);
        let sent = self.ports[link].free_at(self.now).max(self.now) + time;
        if !self.transmit(LinkId::of(link), sent, slot, packet, inside.slot) {
            if inside.slot.is_none() {
                self.free(slot);
            }
            return self.refuse(node, inside, arrival, out);
        }
        self.ports[link].set_drains_at(sent);
        let stats = &mut self.stats[link];
        let waits = match self.fifos.get_mut(link) {
            Some(fifo) => fifo.join(sent, inside.packet.size),
            None => self.ports[link].rate.bytes_in(sent.since(self.now)).0,
        };
        stats.peak_queue = stats.peak_queue.max(waits);
        if arrival.is_none()
            && let Some(outgoing) = &mut self.out[link]
            && !outgoing.holds_back
            && outgoing.ring.is_half_full()
        {
            outgoing.holds_back = true;
            self.held_back += 1;
            self.ports[link].set_waiting(PortState::UNLIMITED);
        }
        false
    }

    fn lost(&mut self, place: &Place, out: Option<PortId>, packet: &Packet, why: DropReason) {
        if let Some(out) = out.filter(|out| out.index() < place.ports) {
            self.stats[place.link(out)].drops += 1;
        }
        self.teller.dropped(self.now, place.id, out, packet, why);
    }

    fn reported(&mut self, place: &Place, report: Report) {
        if let Some(streams) = &mut self.streams {
            streams.reported(self.now, place.id, &report);
        }
        self.teller.report(self.now, place.id, report);
    }

    fn wake_at(&mut self, place: &Place, at: Time) {
        self.wakes += 1;
        self.events.push(at, Event::Wake(place.id));
    }

    fn tick_at(&mut self, place: &Place, at: Time) {
        self.events.push(at, Event::Tick(place.id));
    }

    #[inline]
    fn taken(&mut self, node: &mut Node<Self>, arrival: PortId, packet: &Packet) {
        if !self.served.is_empty() {
            self.drain(node, arrival, packet);
        }
    }

    fn credit(&mut self, place: &Place, port: PortId, credit: Credit) {
        self.send_credit(place, port, credit);
    }
}

impl Inside {
    /// A packet that arrived in a slot.
    pub(super) fn arrived(packet: Packet, entry: Entry) -> Self {
        Self { packet, slot: Some(Held { slot: entry.slot, len: entry.len }) }
    }

    /// A packet that has no slot.
    pub(super) fn bare(packet: Packet) -> Self {
        Self { packet, slot: None }
    }
}
