//! Setup of topology discovery (`raddle_core::discovery`) for a fabric.

use crate::Topology;
use raddle_core::discovery::{Cables, Discovery};
use raddle_core::{Duration, LinkId, NodeId, PortId, Time};

/// Returns a function that creates the topology discovery of each node. Each node sends hellos every `period`.
///
/// The hellos of all nodes are spread over the first half of a period. If a hello takes less than half a period to
/// arrive, no hello is in flight when a period ends, and an engine can detect whether other packets are in flight.
///
/// # Panics
/// If the period is zero.
pub fn discoverers(topology: &Topology, period: Duration) -> impl Fn(NodeId) -> Box<Discovery> + use<> {
    let slots = (0..topology.link_slots()).map(LinkId::of);
    let cables = Cables::new(slots.map(|id| topology.link(id).map(|_| topology.reverse(id))));
    let first_links: Vec<(LinkId, usize)> =
        topology.nodes().map(|node| (topology.link_id(node, PortId(0)), topology.port_count(node))).collect();
    move |node| {
        let (first_link, ports) = first_links[node.index()];
        let begins = Time::ZERO + period / 2 * (u64::from(node.0) + 1) / first_links.len() as u64;
        Box::new(Discovery::new(cables.clone(), first_link, ports, period, begins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::torus;
    use raddle_core::Rate;

    #[test]
    fn nodes_say_hello_one_after_the_other_in_the_first_half_of_a_period() {
        let fabric = torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100)).expect("a torus");
        let discoverer = discoverers(&fabric, Duration::from_us(320));
        let begins: Vec<u64> =
            fabric.nodes().map(|node| discoverer(node).next_tick().as_ps() / 1_000_000).collect();
        assert_eq!(begins, (1..=16).map(|node| node * 10).collect::<Vec<_>>());
    }
}
