//! Links that lose and damage packets.

use super::Partition;
use raddle_core::{DropReason, Fate, Input, Packet};
use raddle_topology::Link;

impl Partition {
    /// Looks at a packet that has come in by a link, before its node does. Returns whether it is still there.
    #[inline(never)]
    pub(super) fn inspect(&mut self, link: u32, reverse: u32, slot: u32) -> bool {
        if !self.survives(link as usize, slot) {
            return false;
        }
        self.meet_agent(reverse as usize, slot);
        true
    }

    /// Whether a packet comes out of a link as a packet. The node reads what is left of a damaged one: if that is no
    /// packet, its host hears of it.
    fn survives(&mut self, link: usize, slot: u32) -> bool {
        let Some(noise) = self.specials[link].as_mut().and_then(|special| special.noise.as_mut()) else {
            return true;
        };
        let fate = noise.fate(self.now);
        if fate == Fate::Whole {
            return true;
        }
        let Link { from, from_port, to, to_port, .. } =
            *self.topology.link(self.links[link]).expect("packets travel on links");
        if fate == Fate::Lost {
            let packet = self.slab.remove(slot);
            self.record_loss(from, Some(from_port), Some(link), &packet, DropReason::Lost);
            return false;
        }
        let packet = self.slab.get_mut(slot);
        if let Ok(read) = noise.damaged(packet) {
            *packet = Packet { size: packet.size, ..read };
            return true;
        }
        self.totals.packet_hops += 1;
        let packet = self.slab.remove(slot);
        self.record_loss(to, None, Some(link), &packet, DropReason::Malformed);
        let node = self.ports[link].wire.to_node;
        if let Some(host) = &mut self.nodes[node as usize].parts.host {
            host.handle(self.now, Input::Corrupted { port: to_port });
            self.poll(node);
        }
        false
    }
}
