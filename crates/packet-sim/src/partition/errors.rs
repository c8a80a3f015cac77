//! Links that lose and damage packets.

use super::Partition;
use super::fabric::Fabric;
use raddle_core::{DropReason, Fate, Node, Packet};
use raddle_topology::Link;

impl Partition {
    /// Passes an arriving packet through the link's noise and to the agent of its ingress port, before the node sees
    /// it. Returns false if the packet was lost or cannot be read.
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
    /// Returns true if the packet arrives and can be read. If the packet is damaged and cannot be read, the host at the
    /// link's far end is told.
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
            *self.topology.link(self.links.ids[link]).expect("the topology must have the link");
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
