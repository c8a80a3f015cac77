//! Links that lose and damage packets.

use super::Partition;
use super::fabric::Fabric;
use raddle_core::{DropReason, Fate, Node, Packet};
use raddle_topology::Link;

impl Partition {
    /// Looks at a packet that has come in by a link, before its node does. Returns whether it is still there.
    #[inline(never)]
    pub(super) fn inspect(&mut self, link: u32, reverse: u32, slot: u32) -> bool {
        let to_node = self.fabric.links.ports[link as usize].wire.to_node;
        if !self.fabric.survives(&mut self.nodes[to_node as usize], link as usize, slot) {
            return false;
        }
        self.fabric.meet_agent(reverse as usize, slot);
        true
    }
}

impl Fabric {
    /// Whether a packet comes out of a link as a packet. The node reads what is left of a damaged one: if that is no
    /// packet, its host hears of it.
    fn survives(&mut self, node: &mut Node<Self>, link: usize, slot: u32) -> bool {
        let Some(noise) = self.links.specials[link].as_mut().and_then(|special| special.noise.as_mut())
        else {
            return true;
        };
        let fate = noise.fate(self.now);
        if fate == Fate::Whole {
            return true;
        }
        let Link { from, from_port, to, to_port, .. } =
            *self.topology.link(self.links.ids[link]).expect("packets travel on links");
        if fate == Fate::Lost {
            self.lose_on_link(from, Some(from_port), link, slot, DropReason::Lost);
            return false;
        }
        let packet = self.slab.get_mut(slot);
        if let Ok(read) = noise.damaged(packet) {
            *packet = Packet { size: packet.size, ..read };
            return true;
        }
        self.totals.packet_hops += 1;
        self.lose_on_link(to, None, link, slot, DropReason::Malformed);
        node.corrupted(self, to_port);
        false
    }
}
