//! Arrivals that need work before their node receives them: packets on links that lose or damage packets, packets whose
//! link has failed since they were sent, packets at ports with agents, packets for flow control, and credits.

use super::Worker;
use super::fabric::{Fabric, Inside};
use super::failures::CREDIT;
use super::ring::Entry;
use crate::flow_control::ControlLinks;
use raddle_core::{DropReason, Fate, LinkId, Packet};
use raddle_topology::Link;

impl Worker {
    /// Handles an arrival that the node must not route: a credit, or a packet whose link has failed since the packet
    /// was sent. Returns true if the arrival was of this kind.
    #[inline(never)]
    pub(super) fn intercept(&mut self, i: usize, entry: Entry) -> bool {
        if self.incoming[i].was_cut(entry) {
            self.lose_cut(i, entry);
            return true;
        }
        let Self { incoming, fabric, nodes, first, .. } = self;
        let (link, port) = (incoming[i].link, incoming[i].port);
        let is_credit = entry.tag & CREDIT != 0;
        if is_credit {
            let node = &mut nodes[incoming[i].to.index() - first.index()];
            fabric.credit_arrives(node, entry, link, port);
        }
        is_credit
    }

    /// Processes a packet that has arrived over a link, before the node handles it. Returns the packet for the node, or
    /// `None` if no packet is left for the node.
    #[inline(never)]
    pub(super) fn inspect(&mut self, i: usize, entry: Entry, packet: Opened) -> Option<Opened> {
        let Self { incoming, fabric, nodes, first, .. } = self;
        let (link, port) = (incoming[i].link, incoming[i].port);
        let node = &mut nodes[incoming[i].to.index() - first.index()];
        let mut packet = packet.and_then(|packet| fabric.pass(packet, entry, link)).transpose()?;
        if let Ok(packet) = &mut packet {
            fabric.meet_agent(node.place(), port, packet);
            if fabric.heed(node, port, packet) {
                fabric.totals.packet_hops += 1;
                fabric.totals.count_delivered(packet);
                fabric.free(entry.slot);
                return None;
            }
        }
        Some(packet)
    }
}

/// The packet decoded from a slot, or the error.
type Opened = Result<Packet, raddle_wire::Error>;

impl Fabric {
    /// Decodes the packet of a ring's entry from all its bytes. This is slower than decoding only the packet's first
    /// cache line.
    pub(super) fn open_whole(&mut self, entry: Entry) -> Opened {
        if !self.is_slot(entry) {
            return Err(raddle_wire::Error::Truncated { have: 0, need: 1 });
        }
        self.buffer.resize(entry.len as usize, 0);
        self.slots.read(entry.slot, &mut self.buffer);
        Packet::decode(&self.buffer, &self.decoders)
    }

    /// Applies the errors of the link to a packet. Returns the packet that leaves the link, or `None` if the link loses
    /// the packet. Returns an error if the link damages the packet and the result cannot be decoded.
    fn pass(
        &mut self,
        packet: Packet,
        entry: Entry,
        link: LinkId,
    ) -> Result<Option<Packet>, raddle_wire::Error> {
        let now = self.now;
        let Some(noise) = self.trouble.noise(link) else { return Ok(Some(packet)) };
        match noise.fate(now) {
            Fate::Whole => Ok(Some(packet)),
            Fate::Lost => {
                let Link { from, from_port, .. } =
                    *self.topology.link(link).expect("the topology must have the link");
                self.lose_on_link(from, from_port, link, Inside::arrived(packet, entry), DropReason::Lost);
                Ok(None)
            }
            Fate::Damaged => {
                let mut bytes = vec![0; entry.len as usize];
                self.slots.read(entry.slot, &mut bytes);
                noise.flip(&mut bytes);
                self.slots.write(entry.slot, &bytes);
                let left = Packet::decode(&bytes, &self.decoders);
                if left.is_err() {
                    self.hellos[1] += u64::from(packet.is_of_discovery());
                }
                left.map(Some)
            }
        }
    }
}
