//! A switch's congestion table: the loads of its uplinks in both directions (Expeditus §3.2;
//! specifications/expeditus.md §2).
//!
//! Uplinks are numbered from 0 in the order of their ports. The j-th uplink of an edge switch leads to the j-th
//! aggregation switch of its pod. The k-th uplink of an aggregation switch leads to the k-th core of its plane.

use super::multiplier::{Multiplier, Scaling};
use crate::choices;
use raddle_core::{Dre, DreRegister, LinkId, NodeId, Packet, PortId, Ports, Rate, Time};
use raddle_topology::{LinkLayer, Topology};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

choices! {
    /// The instant at which a packet counts as sent.
    pub(crate) enum Counted {
        /// When the switch passes the packet to the queue, so that the load includes the backlog at once. A packet that
        /// the queue drops counts as well.
        Enqueue = "enqueue",
        /// When the packet's first bit is expected to leave, according to the queue at the packet's arrival. A packet
        /// that the queue drops counts as well.
        TxStart = "tx_start",
    }
}

/// The uplinks of one switch.
#[derive(Debug)]
pub(crate) struct Uplinks {
    dre: Arc<Dre>,
    layer: LinkLayer,
    /// The port of the first uplink.
    first: u16,
    registers: Box<[Registers]>,
    /// For each uplink, the id and the rate of its upward link, then of its downward link.
    links: Box<[[(LinkId, Rate); 2]]>,
    /// True if the length of the egress queue counts as load.
    counts_queues: bool,
    /// Under [`Counted::TxStart`], for each uplink: the waiting packets, each with the time at which it begins to leave
    /// and its size in bytes.
    waiting: Option<Vec<VecDeque<(Time, u32)>>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Registers {
    egress: DreRegister,
    ingress: DreRegister,
}

/// The scaling of a load before it enters a tag or a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// The factor by which the load is multiplied.
    pub(crate) by: Multiplier,
    /// The way in which the factor is applied.
    pub(crate) how: Scaling,
}

impl Scale {
    /// No scaling.
    pub(crate) const NONE: Self = Self { by: Multiplier::ONE, how: Scaling::Off };
}

impl Uplinks {
    /// The uplinks of `node`, which are at `ports`.
    pub(crate) fn new(
        topology: &Topology,
        node: NodeId,
        ports: Range<u16>,
        dre: &Arc<Dre>,
        counted: Counted,
        counts_queues: bool,
    ) -> Self {
        let links = ports.clone().map(|port| both_ways(topology, topology.link_id(node, PortId(port))));
        Self {
            dre: Arc::clone(dre),
            layer: topology.link_layer(),
            first: ports.start,
            counts_queues,
            registers: vec![Registers::default(); ports.len()].into(),
            waiting: (counted == Counted::TxStart).then(|| vec![VecDeque::new(); ports.len()]),
            links: links.collect(),
        }
    }

    /// Number of load values: one for each direction of each uplink.
    pub(crate) fn values(&self) -> usize {
        self.registers.len() * size_of::<Registers>() / size_of::<DreRegister>()
    }

    /// Number of uplinks.
    pub(crate) fn len(&self) -> usize {
        self.registers.len()
    }

    /// The index of the uplink at a port; `None` if the port is not an uplink.
    #[inline]
    pub(crate) fn at(&self, port: PortId) -> Option<usize> {
        port.0.checked_sub(self.first).map(usize::from)
    }

    /// The port of an uplink.
    #[allow(clippy::cast_possible_truncation, reason = "port numbers are of type `u16`")]
    pub(crate) fn port(&self, uplink: usize) -> PortId {
        PortId(self.first + uplink as u16)
    }

    /// The uplink to which a link belongs, in either direction; `None` if the link belongs to no uplink.
    pub(crate) fn with_link(&self, link: LinkId) -> Option<usize> {
        self.links.iter().position(|ways| ways.iter().any(|&(way, _)| way == link))
    }

    /// Counts a packet that arrived at an uplink.
    #[inline]
    pub(crate) fn received(&mut self, now: Time, uplink: usize, packet: &Packet) {
        self.dre.count(&mut self.registers[uplink].ingress, now, self.layer.frame_of(packet));
    }

    /// Counts a packet that leaves by an uplink.
    #[inline]
    pub(crate) fn sent(&mut self, now: Time, uplink: usize, packet: &Packet, ports: &Ports<'_>) {
        let bytes = self.layer.frame_of(packet);
        if self.waiting.is_some() {
            self.sent_later(now, uplink, bytes, ports);
        } else {
            self.dre.count(&mut self.registers[uplink].egress, now, bytes);
        }
    }

    fn sent_later(&mut self, now: Time, uplink: usize, bytes: u32, ports: &Ports<'_>) {
        let start = now.max(ports.get(self.port(uplink)).free_at(now));
        self.settle(now, uplink);
        if let Some(waiting) = &mut self.waiting {
            waiting[uplink].push_back((start, bytes));
        }
    }

    /// Counts the waiting packets that have begun to leave by now.
    fn settle(&mut self, now: Time, uplink: usize) {
        let Some(waiting) = &mut self.waiting else { return };
        while let Some((start, bytes)) = waiting[uplink].pop_front_if(|&mut (start, _)| start <= now) {
            self.dre.count(&mut self.registers[uplink].egress, start, bytes);
        }
    }

    /// The upward load of an uplink; the greatest possible load if the uplink's port is down.
    pub(crate) fn egress(&mut self, now: Time, uplink: usize, ports: &Ports<'_>, scale: Scale) -> u8 {
        self.settle(now, uplink);
        let load =
            self.load(&self.registers[uplink].egress, self.links[uplink][0].1, now, uplink, ports, scale);
        if !self.counts_queues {
            return load;
        }
        let port = ports.get(self.port(uplink));
        load.max(self.dre.queue_load(port.rate.time_for(port.waiting(now))))
    }

    /// The downward load of an uplink; the greatest possible load if the uplink's port is down.
    pub(crate) fn ingress(&self, now: Time, uplink: usize, ports: &Ports<'_>, scale: Scale) -> u8 {
        self.load(&self.registers[uplink].ingress, self.links[uplink][1].1, now, uplink, ports, scale)
    }

    fn load(
        &self,
        register: &DreRegister,
        rate: Rate,
        now: Time,
        uplink: usize,
        ports: &Ports<'_>,
        scale: Scale,
    ) -> u8 {
        if ports.get(self.port(uplink)).up {
            scale.by.load(scale.how, &self.dre, register, now, rate)
        } else {
            self.dre.most()
        }
    }

    /// Resets the loads of an uplink that is up again after a failure.
    pub(crate) fn forget(&mut self, uplink: usize) {
        self.registers[uplink] = Registers::default();
        if let Some(waiting) = &mut self.waiting {
            waiting[uplink].clear();
        }
    }
}

/// A link and its reverse direction, with their rates.
///
/// # Panics
/// If there is no such link.
pub(crate) fn both_ways(topology: &Topology, id: LinkId) -> [(LinkId, Rate); 2] {
    [id, topology.reverse(id)]
        .map(|id| (id, topology.link(id).expect("the link and its reverse link must exist").rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Header, PortState};
    use raddle_topology::ClosSize;
    use raddle_topology::builders::{ClosRates, clos};
    use raddle_wire::tcp::Segment;

    /// The uplinks of an edge switch with two uplinks.
    fn uplinks(counted: Counted) -> Uplinks {
        let size = ClosSize::leaf_spine(2, 1, 2);
        let topology = clos(size, ClosRates::all(Rate::from_gbps(10)), Duration::from_us(2)).expect("a Clos");
        let topology = topology.with_link_layer(LinkLayer::ETHERNET);
        let dre = Arc::new(Dre::new(Duration::from_us(20), 0.1, 3));
        Uplinks::new(&topology, NodeId(2), 1..3, &dre, counted, false)
    }

    fn ports(free_at: Time, up: bool) -> [PortState; 3] {
        let mut port = PortState::idle(Rate::from_gbps(10)).busy_until(free_at);
        port.up = up;
        [port; 3]
    }

    fn full() -> Packet {
        Packet::new(1_500, Header::Tcp(Segment::default()))
    }

    /// specifications/expeditus.md §2.2: 20 full frames of 1,518 B leave a link's load at 0, and the 21st raises it to
    /// 1.
    #[test]
    fn oracle_2_2_twenty_frames_are_not_seen() {
        let mut uplinks = uplinks(Counted::Enqueue);
        let states = ports(Time::ZERO, true);
        let mut loads = Vec::new();
        for _ in 0..21 {
            uplinks.sent(Time::ZERO, 1, &full(), &Ports(&states));
            uplinks.received(Time::ZERO, 0, &full());
            let egress =
                [0, 1].map(|uplink| uplinks.egress(Time::ZERO, uplink, &Ports(&states), Scale::NONE));
            let ingress =
                [0, 1].map(|uplink| uplinks.ingress(Time::ZERO, uplink, &Ports(&states), Scale::NONE));
            loads.push((egress, ingress));
        }
        assert_eq!(loads[19], ([0, 0], [0, 0]));
        assert_eq!(loads[20], ([0, 1], [1, 0]));
    }

    #[test]
    fn a_queue_counts_as_uplink_load_if_queue_counts_is_set() {
        for (drains_in_us, load) in [(0, 0), (2, 0), (3, 1), (10, 4), (20, 7), (90, 7)] {
            let states = ports(Time::ZERO + Duration::from_us(drains_in_us), true);
            let mut uplinks = uplinks(Counted::Enqueue);
            assert_eq!(uplinks.egress(Time::ZERO, 0, &Ports(&states), Scale::NONE), 0);
            uplinks.counts_queues = true;
            assert_eq!(uplinks.egress(Time::ZERO, 0, &Ports(&states), Scale::NONE), load);
            assert_eq!(uplinks.ingress(Time::ZERO, 0, &Ports(&states), Scale::NONE), 0);
        }
    }

    /// specifications/expeditus.md §2.4: an uplink that is down has the greatest load, and starts with load 0 after its
    /// repair.
    #[test]
    fn oracle_2_4_a_dead_uplink_is_full_and_comes_back_empty() {
        let mut uplinks = uplinks(Counted::Enqueue);
        uplinks.received(Time::ZERO, 0, &full());
        let (up, down) = (ports(Time::ZERO, true), ports(Time::ZERO, false));
        assert_eq!(uplinks.ingress(Time::ZERO, 0, &Ports(&down), Scale::NONE), 7);
        assert_eq!(uplinks.egress(Time::ZERO, 0, &Ports(&down), Scale::NONE), 7);
        for _ in 0..100 {
            uplinks.received(Time::ZERO, 0, &full());
        }
        assert_eq!(uplinks.ingress(Time::ZERO, 0, &Ports(&up), Scale::NONE), 4);
        uplinks.forget(0);
        assert_eq!(uplinks.ingress(Time::ZERO, 0, &Ports(&up), Scale::NONE), 0);
    }

    #[test]
    fn packets_count_when_queued_or_when_sent() {
        for (counted, now, later) in [(Counted::Enqueue, 4, 3), (Counted::TxStart, 0, 3)] {
            let mut uplinks = uplinks(counted);
            for n in 0..100 {
                // The port is busy until 16 us for the first 50 packets, and until 17 us for the later packets.
                let states = ports(Time::ZERO + Duration::from_us(16 + n / 50), true);
                uplinks.sent(Time::ZERO, 0, &full(), &Ports(&states));
            }
            let states = ports(Time::ZERO, true);
            let load = |uplinks: &mut Uplinks, us| {
                uplinks.egress(Time::ZERO + Duration::from_us(us), 0, &Ports(&states), Scale::NONE)
            };
            assert_eq!(load(&mut uplinks, 1), now, "{counted:?}");
            assert_eq!(load(&mut uplinks, 16), if now == 0 { 2 } else { 4 }, "half of them have left");
            assert_eq!((load(&mut uplinks, 17), load(&mut uplinks, 45)), (4, later));
        }
    }
}
