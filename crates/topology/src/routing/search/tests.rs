use crate::builders::{ClosRates, clos, dumbbell, mesh, single_switch, torus};
use crate::routing::{Protocol, Routing};
use crate::{Builder, ClosSize, Shape, Topology};
use proptest::prelude::*;
use raddle_core::{Duration, LinkId, NodeId, PortId, Rate};
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(100);

/// Returns the number of hops from every node to `to`, computed by repeated relaxation of all links until no distance
/// changes.
fn relaxed(topology: &Topology, to: NodeId) -> Vec<Option<u32>> {
    let mut hops = vec![None; topology.node_count()];
    hops[to.index()] = Some(0);
    loop {
        let before = hops.clone();
        for (_, link) in topology.links() {
            if let Some(there) = hops[link.to.index()] {
                let here = &mut hops[link.from.index()];
                *here = Some(here.map_or(there + 1, |here: u32| here.min(there + 1)));
            }
        }
        if hops == before {
            return hops;
        }
    }
}

fn fabrics() -> Vec<Topology> {
    let mut pairs = Builder::default();
    let nodes: Vec<NodeId> = (0..5).map(|_| pairs.host(0)).collect();
    // Two hosts that are connected only to each other, two hosts with two parallel links, and one host
    // without links.
    pairs.join(nodes[1], nodes[0], RATE, DELAY);
    pairs.join(nodes[2], nodes[3], RATE, DELAY);
    pairs.join(nodes[2], nodes[3], RATE, DELAY);
    let three_levels = ClosSize { pods: 3, edges: 2, aggregations: 2, cores: 2, hosts: 2 };
    vec![
        clos(three_levels, ClosRates::all(RATE), DELAY).unwrap(),
        clos(ClosSize::leaf_spine(3, 2, 2), ClosRates::all(RATE), DELAY).unwrap(),
        torus(&[3, 4], RATE, DELAY).unwrap(),
        mesh(&[4, 1, 2], RATE, DELAY).unwrap().unshaped(),
        dumbbell(2, 3, RATE, RATE, DELAY).unwrap(),
        single_switch(1, RATE, DELAY).unwrap(),
        pairs.build(Shape::General),
    ]
}

proptest! {
    /// Links fail one direction at a time, so that a path may have no reverse path.
    #[test]
    fn a_damaged_fabric_routes_over_the_remaining_links(
        fabric in 0..7_usize,
        failed in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let whole = &fabrics()[fabric];
        let failed: Vec<LinkId> = failed.iter().map(|i| LinkId::of(i.index(whole.link_slots()))).collect();
        let topology = Arc::new(whole.surviving(|link| !failed.contains(&link)));
        let routing = Routing::new(Arc::clone(&topology));
        let mut ports = Vec::new();
        let mut diameter = 0;
        for to in topology.nodes() {
            let hops = relaxed(&topology, to);
            for at in topology.nodes() {
                let here = hops[at.index()];
                prop_assert_eq!(routing.distance(at, to), here, "{} {}", at, to);
                let closer = |link: &&crate::Link| here.is_some_and(|here| {
                    hops[link.to.index()].is_some_and(|there| there < here)
                });
                let links = topology.links_from(at).map(|(_, link)| link);
                let expected: Vec<PortId> = links.filter(closer).map(|link| link.from_port).collect();
                routing.productive(at, to, &mut ports);
                prop_assert_eq!(&ports, &expected, "{} {}", at, to);
                let chosen = (0..expected.len()).map(|i| routing.choose(at, to, |_| i).unwrap());
                prop_assert_eq!(chosen.collect::<Vec<_>>(), expected);
                if topology.is_host(at) && topology.is_host(to) {
                    diameter = diameter.max(here.unwrap_or(0));
                }
            }
        }
        prop_assert_eq!(routing.longest_route(Protocol::Rps), diameter as usize);
    }
}

#[test]
fn hosts_of_one_switch_share_its_searches() {
    let topology = clos(ClosSize::fat_tree(4), ClosRates::all(RATE), DELAY).unwrap().unshaped();
    let search = super::Search::new(Arc::new(topology));
    let switches = 20;
    assert_eq!((search.distances.len(), search.distances(NodeId(0)).len()), (switches, switches));
    assert!(std::ptr::eq(search.distances(NodeId(0)), search.distances(NodeId(1))));
}
