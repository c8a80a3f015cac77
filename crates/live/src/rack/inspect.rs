//! Arrivals that are not simply given to their node: by links that lose or damage packets, by links that have failed since, at
//! ports with agents, and credits.

use super::Worker;
use super::fabric::{Fabric, Inside};
use super::failures::CREDIT;
use super::ring::Entry;
use raddle_core::{DropReason, Fate, LinkId, Packet};
use raddle_topology::Link;

impl Worker {
    /// Looks at what has come in by a link before the node does.
    #[inline(never)]
    pub(super) fn inspect(&mut self, i: usize, entry: Entry) {
        if self.incoming[i].was_cut(entry) {
            return self.lose_cut(i, entry);
        }
        let Self { incoming, fabric, nodes, first, .. } = self;
        let (link, port) = (incoming[i].link, incoming[i].port);
        let node = &mut nodes[incoming[i].to.index() - first.index()];
        if entry.tag & CREDIT != 0 {
            return fabric.credit_arrives(node, entry, link, port);
        }
        let packet = fabric.open(entry).and_then(|packet| fabric.pass(packet, entry, link));
        match packet {
            Ok(None) => {}
            Ok(Some(mut packet)) => {
                fabric.totals.packet_hops += 1;
                fabric.meet_agent(node.place(), port, &mut packet);
                node.arrived(fabric, Inside::arrived(packet, entry), port);
            }
            Err(error) => {
                fabric.totals.packet_hops += 1;
                fabric.lose_malformed(entry, link, error);
                node.corrupted(fabric, port);
            }
        }
    }
}

impl Fabric {
    /// Does to a packet what its link does. Returns what comes out of the link; nothing if the link loses the packet.
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
                    *self.topology.link(link).expect("packets travel on links");
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
