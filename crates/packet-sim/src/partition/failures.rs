//! Failures and repairs at run time.

use super::Partition;
use crate::port::{Coming, InService};
use crate::slab::NOWHERE;
use raddle_core::{Bytes, Change, DropReason, NodeId, Paused, PortId};
use raddle_topology::Link;

/// A change of links is processed in numbered steps, which order the entries of the log. Steps below this number belong
/// to links, in order of link. The other steps belong to nodes, in order of node. The order does not depend on the
/// division into partitions.
const FIRST_NODE_STEP: u64 = 1 << 32;

impl Partition {
    /// Processes the change with this index: takes links down or up. Packets that are queued for a failed link, or
    /// travel on it, are dropped. Under cut-through, a packet whose first bits have already passed the far end is not
    /// dropped.
    pub(super) fn change(&mut self, index: usize) {
        let changes = std::sync::Arc::clone(&self.changes);
        let Change { links, up, .. } = &changes[index];
        let mut here: Vec<usize> = links.iter().filter_map(|&link| self.fabric.links.index(link)).collect();
        here.sort_unstable();
        for &link in &here {
            self.fabric.links.states[link].up = *up;
            self.fabric.links.ports[link].up = *up;
        }
        if !up {
            for &link in &here {
                self.cut(link);
            }
            let ends = |&link: &usize| {
                let links = &self.fabric.links;
                let port = &links.ports[link];
                let far = port.wire.to_node;
                let near = links.ports[port.reverse as usize].wire.to_node;
                let Link { from, to, .. } =
                    *self.fabric.topology.link(links.ids[link]).expect("the topology must have the link");
                [(self.is_here(from), near), (self.is_here(to), far)]
            };
            let mut nodes: Vec<u32> =
                here.iter().flat_map(ends).filter(|&(is_here, _)| is_here).map(|(_, node)| node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            for node in nodes {
                let node = &mut self.nodes[node as usize];
                self.fabric.log.step = FIRST_NODE_STEP + u64::from(node.place().id.0);
                node.poll(&mut self.fabric);
            }
        }
        if *up {
            self.restore(&here);
        }
        self.fabric.log.step = 0;
    }

    /// Restarts flow control at both ends of links that have come up again, because flow control frames from before the
    /// failure have no effect any more.
    fn restore(&mut self, here: &[usize]) {
        let both = |&link: &usize| [link, self.fabric.links.ports[link].reverse as usize];
        let mut ports: Vec<usize> = here.iter().flat_map(both).collect();
        ports.sort_unstable();
        ports.dedup();
        for link in ports {
            let id = self.fabric.links.ids[link];
            let from = self.fabric.topology.link(id).expect("the topology must have the link").from;
            if self.is_here(from) && self.fabric.links.ports[link].up {
                self.fabric.log.step = 2 * u64::from(id.0);
                let owner = self.fabric.owner(u32::try_from(link).expect("a link index must fit `u32`"));
                self.fabric.restart_flow_control(&mut self.nodes[owner], link);
            }
        }
    }

    /// Drops the packets that travel on a failed link or wait for it, for each end of the link that is in this
    /// partition.
    fn cut(&mut self, link: usize) {
        let id = self.fabric.links.ids[link];
        let Link { from, from_port, to, .. } =
            *self.fabric.topology.link(id).expect("the topology must have the link");
        let mut waiting = Vec::new();
        self.fabric.log.step = 2 * u64::from(id.0);
        if self.is_here(to) {
            self.cut_far_end(link, from, from_port, &mut waiting);
        }
        self.fabric.log.step += 1;
        if self.is_here(from) {
            self.cut_near_end(link, from_port, waiting);
        }
    }

    /// Processes a failure at the link's far end: drops the packets that have left the near end's port. If that port is
    /// in this partition too, adds the packets that have not left it to `waiting`.
    fn cut_far_end(&mut self, link: usize, from: NodeId, out: PortId, waiting: &mut Vec<u32>) {
        let from_is_here = self.is_here(from);
        let Self { nodes, fabric, .. } = self;
        let port = &mut fabric.links.ports[link];
        let (to_node, to_port) = (port.wire.to_node, port.to_port);
        let left_by_now = fabric.now + fabric.links.classes[port.class as usize].delay;
        for packet in port.wire.clear() {
            // Under cut-through, `arrives` may be the time at which the packet's header arrives. The slab has the
            // arrival time of the last bit.
            let tail = if fabric.header.is_some() { fabric.slab.tail(packet.slot) } else { packet.arrives };
            if tail <= left_by_now {
                fabric.lose_on_link(from, Some(out), link, packet.slot, DropReason::LinkDown);
            } else if from_is_here {
                waiting.push(packet.slot);
            } else {
                fabric.slab.remove(packet.slot); // the port's partition has a copy and drops it
            }
        }
        if let Some(special) = &mut fabric.links.specials[link] {
            special.credits.clear();
            if let Some(Coming { slot, .. }) = special.coming.take() {
                nodes[to_node as usize].lose(fabric, slot, Some(to_port), None, DropReason::LinkDown);
            }
        }
    }

    /// Processes a failure at the link's near end: drops the packets that have not left the port.
    fn cut_near_end(&mut self, link: usize, out: PortId, mut waiting: Vec<u32>) {
        let Self { nodes, fabric, .. } = self;
        let node = &mut nodes[fabric.owner(u32::try_from(link).expect("a link index must fit `u32`"))];
        let now = fabric.now;
        // Class, size and ingress port of each dropped packet that waited in the port's queue.
        let mut inside = Vec::new();
        let mut past = None;
        let port = &mut fabric.links.ports[link];
        let (is_remote, keeps_origins) = (port.is_remote, port.is_served);
        if is_remote {
            let left_by_now = now + fabric.links.classes[port.class as usize].delay;
            for packet in port.wire.clear() {
                if packet.arrives > left_by_now {
                    waiting.push(packet.slot);
                } else {
                    fabric.slab.remove(packet.slot); // this is a copy: the packet itself is on the link
                }
            }
        }
        port.free_at = now;
        port.queued = 0;
        fabric.links.states[link].set_drains_at(now);
        fabric.links.states[link].set_waiting(Bytes(0));
        if let Some(special) = &mut fabric.links.specials[link] {
            for packet in special.ledger.drain(..).filter(|packet| is_remote && packet.slot != NOWHERE) {
                if packet.sent > now && packet.arrives >= now {
                    waiting.push(packet.slot);
                } else {
                    fabric.slab.remove(packet.slot); // a copy: the packet itself is on the link or has arrived
                }
            }
            if let Some(served) = &mut special.served {
                served.free_at = now;
                served.is_due = false;
                served.is_heard = false;
                served.waiting = 0;
                if let Some(InService { packet, class, size, arrival }) = served.serving.take() {
                    if let Some(agent) = &mut served.agent {
                        agent.left(now, class, size);
                    }
                    // Under cut-through, the packet's first bits may already have passed the far end. The whole packet
                    // is then forwarded.
                    past = packet.filter(|_| waiting.is_empty()).map(|packet| (packet, arrival));
                }
                while let Some(slot) = served.queue.pop(now, Paused::NONE) {
                    let packet = fabric.slab.get(slot);
                    inside.push((packet.class(), packet.size, fabric.slab.origin(slot).port));
                    waiting.push(slot);
                }
            }
        }
        for (class, size, arrival) in inside {
            fabric.release(node, link, class, size, arrival);
        }
        for slot in waiting {
            let arrival = if keeps_origins { fabric.slab.origin(slot).port } else { None };
            node.lose(fabric, slot, arrival, Some(out), DropReason::LinkDown);
        }
        if let Some((packet, arrival)) = past {
            node.left(fabric, &packet, arrival);
        }
    }

    /// Tells every node of this partition of the change with this index.
    pub(super) fn discover(&mut self, index: usize) {
        let Change { links, up, .. } = &self.changes[index];
        for node in &mut self.nodes {
            self.fabric.log.step = FIRST_NODE_STEP + u64::from(node.place().id.0);
            node.discovered(&mut self.fabric, links, *up);
        }
        self.fabric.log.step = 0;
    }
}
