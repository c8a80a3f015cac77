//! ECMP: each flow takes one shortest path, chosen by a hash (RFC 2992's idea; R2C2's TCP baseline, §5.1).
//!
//! At each hop the packet leaves by one of the ports that lie on a shortest path to its destination. Which of them, a
//! hash of the flow's identity, the node and the seed decides: packets of a flow stay together, flows spread evenly,
//! and the choices of successive hops are independent (no polarisation). Acknowledgements are hashed by their own
//! identity, so they need not return along the path of the data.
//!
//! Cost a hop: [`LocalRouting::choose`], which is arithmetic on tori and Clos networks, and where there is a choice two
//! multiplicative mixes.
//!
//! Between a failure and its discovery, packets bound for the dead link are lost; from then on paths are those of
//! the surviving fabric.

use raddle_core::{DropReason, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::Topology;
use raddle_topology::routing::{LocalRouting, Routing};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Shortest paths of a fabric, shared by its nodes, and those of each state after failures that some node still goes by.
#[derive(Debug)]
pub struct ShortestPaths {
    topology: Arc<Topology>,
    surviving: Mutex<FxHashMap<Vec<LinkId>, Weak<Routing>>>,
}

impl ShortestPaths {
    /// Of this fabric.
    #[must_use]
    pub fn new(topology: &Arc<Topology>) -> Arc<Self> {
        Arc::new(Self { topology: Arc::clone(topology), surviving: Mutex::default() })
    }

    /// Without the links in `down`.
    fn without(&self, down: &BTreeSet<LinkId>) -> Arc<Routing> {
        let key: Vec<LinkId> = down.iter().copied().collect();
        let mut surviving = self.surviving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = surviving.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let topology = if down.is_empty() {
            Arc::clone(&self.topology)
        } else {
            Arc::new(self.topology.surviving(|link| !down.contains(&link)))
        };
        let routing = Arc::new(Routing::new(topology));
        surviving.retain(|_, routing| routing.strong_count() > 0);
        surviving.insert(key, Arc::downgrade(&routing));
        routing
    }
}

/// The forwarder of one node; what a packet needs is on one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub struct Ecmp {
    /// Of the seed and the node.
    salt: u64,
    /// By what the node knows; none if it has heard of a failure or a repair since it last looked.
    routing: Option<LocalRouting>,
    known: Box<Known>,
}

/// What a node knows of the fabric.
#[derive(Debug)]
struct Known {
    node: NodeId,
    paths: Arc<ShortestPaths>,
    down: BTreeSet<LinkId>,
}

impl Known {
    #[cold]
    fn routing(&self) -> LocalRouting {
        LocalRouting::new(self.paths.without(&self.down), self.node)
    }
}

impl Ecmp {
    /// The forwarder of `node`.
    #[must_use]
    pub fn new(node: NodeId, paths: &Arc<ShortestPaths>, seed: u64) -> Self {
        let known = Box::new(Known { node, paths: Arc::clone(paths), down: BTreeSet::new() });
        Self { salt: mix(mix(seed) ^ u64::from(node.0)), routing: Some(known.routing()), known }
    }
}

impl Forwarder for Ecmp {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let routing = self.routing.get_or_insert_with(|| self.known.routing());
        if packet.dst() == routing.node() {
            return Verdict::Deliver;
        }
        match choose(routing, packet, self.salt) {
            Some(port) => Verdict::Forward(port),
            None => Verdict::Drop(DropReason::NoRoute),
        }
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let routing = self.routing.as_ref().filter(|routing| packet.dst() != routing.node())?;
        choose(routing, packet, self.salt)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        if up {
            self.known.down.remove(&link);
        } else {
            self.known.down.insert(link);
        }
        self.routing = None;
    }
}

/// The port for a packet on its way.
#[inline]
fn choose(routing: &LocalRouting, packet: &Packet, salt: u64) -> Option<PortId> {
    // The upper half of the hash, as a fraction of 2^32, picks among the ports.
    routing.choose(packet.dst(), |ports| ((flow_hash(packet, salt) >> 32) as usize * ports) >> 32)
}

/// A hash of the flow that a packet belongs to: TCP's addresses and ports, R2C2's flow handle.
fn flow_hash(packet: &Packet, salt: u64) -> u64 {
    let (src, dst, within) = match &packet.header {
        Header::Tcp(segment) => {
            (segment.src, segment.dst, u32::from(segment.src_port) << 16 | u32::from(segment.dst_port))
        }
        Header::R2c2Data(data) => (data.src.into(), data.dst.into(), data.flow),
        _ => (packet.src().0, packet.dst().0, 0),
    };
    let ends = u64::from(src) << 32 | u64::from(dst);
    mix(mix(ends ^ salt) ^ u64::from(within))
}

/// SplitMix64's output function: a bijection of 64 bits in which each depends on all.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests;
