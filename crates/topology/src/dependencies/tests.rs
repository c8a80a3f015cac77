use super::{cycle, describe};
use crate::builders::{self, ClosRates};
use crate::routing::Routing;
use crate::{Builder, ClosSize, Grid, Shape, Topology, XgftSize};
use proptest::prelude::*;
use raddle_core::{Duration, LinkId, NodeId, PortId, Rate};
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(50);

fn torus(dims: &[u32]) -> Topology {
    builders::torus(dims, RATE, DELAY).expect("a torus")
}

/// Checks the buffer cycle of shortest paths and returns it as text; `None` if shortest paths have no buffer
/// cycle.
fn of_shortest_paths(topology: Topology) -> Option<String> {
    let topology = Arc::new(topology);
    let routing = Routing::new(Arc::clone(&topology));
    let cycle = routing.buffer_cycle()?;
    check(&topology, &routing, &cycle);
    Some(describe(&topology, &cycle))
}

/// Asserts that each link of a cycle waits for the next link: a shortest path between two hosts crosses both
/// links in succession.
fn check(topology: &Topology, routing: &Routing, cycle: &[LinkId]) {
    assert!(cycle.len() > 1);
    for (i, &id) in cycle.iter().enumerate() {
        let [link, next] = [id, cycle[(i + 1) % cycle.len()]].map(|id| topology.link(id).expect("a link"));
        assert_eq!(link.to, next.from, "{}", describe(topology, cycle));
        let distance = |from, to| routing.distance(from, to);
        let both_on_a_way = topology.hosts().any(|src| {
            topology.hosts().any(|dst| {
                let parts = distance(src, link.from).zip(distance(next.to, dst));
                let around = parts.map(|(before, after)| before + 2 + after);
                src != dst && around.is_some() && around == distance(src, dst)
            })
        });
        assert!(both_on_a_way, "{id} and the next of {}", describe(topology, cycle));
    }
}

#[test]
fn trees_have_none() {
    for (k, n) in [(2, 3), (2, 5), (3, 3), (4, 2)] {
        let tree = builders::xgft(XgftSize::k_ary_n_tree(k, n), RATE, DELAY).expect("a tree");
        assert_eq!(of_shortest_paths(tree), None);
    }
    // In this tree, each host has two links.
    let size = XgftSize { children: vec![2, 3, 2], parents: vec![2, 1, 3] };
    assert_eq!(of_shortest_paths(builders::xgft(size, RATE, DELAY).expect("a tree")), None);
    let rates = ClosRates::all(RATE);
    for size in [ClosSize::fat_tree(4), ClosSize::leaf_spine(4, 3, 2)] {
        assert_eq!(of_shortest_paths(builders::clos(size, rates, DELAY).expect("a Clos network")), None);
    }
    assert_eq!(of_shortest_paths(builders::single_switch(70, RATE, DELAY).expect("a switch")), None);
    assert_eq!(of_shortest_paths(builders::dumbbell(3, 2, RATE, RATE, DELAY).expect("a dumbbell")), None);
    assert_eq!(of_shortest_paths(builders::mesh(&[6], RATE, DELAY).expect("a line")), None);
}

/// A ring has a buffer cycle if some shortest paths have two hops. In a ring of three nodes, no shortest path
/// has two hops.
#[test]
fn rings_have_one_as_soon_as_packets_pass_through() {
    assert_eq!(of_shortest_paths(torus(&[3])), None);
    assert_eq!(of_shortest_paths(torus(&[4])).as_deref(), Some("0->1->2->3->0"));
    assert_eq!(of_shortest_paths(torus(&[5])).as_deref(), Some("0->1->2->3->4->0"));
    assert_eq!(of_shortest_paths(torus(&[2, 2])).as_deref(), Some("0->1->3->2->0"));
    for dims in [&[3, 3][..], &[4, 4], &[3, 4, 5], &[2, 2, 2]] {
        assert!(of_shortest_paths(torus(dims)).is_some(), "{dims:?}");
    }
    assert!(of_shortest_paths(builders::mesh(&[3, 3], RATE, DELAY).expect("a mesh")).is_some());
}

/// In a ring of three switches with one host each, no packet crosses two links between switches. In a ring of
/// four switches, some packets do.
#[test]
fn switches_in_a_ring_are_like_hosts_in_a_ring() {
    let ring = |count: usize| {
        let mut builder = Builder::default();
        let switches: Vec<NodeId> = (0..count).map(|_| builder.switch(0)).collect();
        for i in 0..count {
            let host = builder.host(0);
            builder.join(host, switches[i], RATE, DELAY);
            builder.join(switches[i], switches[(i + 1) % count], RATE, DELAY);
        }
        builder.build(Shape::General)
    };
    assert_eq!(of_shortest_paths(ring(3)), None);
    assert_eq!(of_shortest_paths(ring(4)).as_deref(), Some("0->1->2->3->0"));
}

/// If links of a tree fail, paths around the failed links may lead down and up again.
#[test]
fn a_damaged_tree_may_have_one() {
    let size = XgftSize { children: vec![1, 3], parents: vec![1, 3] };
    let tree = builders::xgft(size, RATE, DELAY).expect("a tree");
    // Nodes 3 to 5 are leaves, and nodes 6 to 8 are roots. If each leaf loses the link to a different root, the ring
    // 3-7-5-6-4-8-3 is left, in which any two leaves share a root.
    let without = |gone: &[(u32, u32)]| {
        let pairs: Vec<_> = gone.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        tree.surviving(|id| {
            let link = tree.link(id).expect("a link");
            !pairs.contains(&(link.from.0, link.to.0))
        })
    };
    assert_eq!(of_shortest_paths(without(&[(3, 6), (4, 7), (5, 8)])), None);
    assert_eq!(of_shortest_paths(without(&[(3, 6), (3, 8), (4, 6)])), None, "a path");
    let two = XgftSize { children: vec![1, 4], parents: vec![1, 4] };
    let tree = builders::xgft(two, RATE, DELAY).expect("a tree");
    // Nodes 4 to 7 are leaves, and nodes 8 to 11 are roots. The remaining links form the ring
    // 4-8-5-9-6-10-7-11-4, in which packets between some leaves pass two roots.
    let ring: Vec<(u32, u32)> = vec![(4, 8), (5, 8), (5, 9), (6, 9), (6, 10), (7, 10), (7, 11), (4, 11)];
    let left = tree.surviving(|id| {
        let link = tree.link(id).expect("a link");
        let (low, high) = (link.from.0.min(link.to.0), link.from.0.max(link.to.0));
        low < 4 || ring.contains(&(low, high))
    });
    let cycle = of_shortest_paths(left).expect("a ring in which packets pass two roots");
    assert_eq!(cycle.split("->").count(), 9, "{cycle}");
}

/// Dimension order has no cycle on a mesh, but shortest paths do (Dally and Seitz). On a torus, dimension order has
/// cycles, because each dimension is a ring.
#[test]
fn the_ways_decide() {
    let dimension_order = |dims: &[u32], wraps| {
        let topology = if wraps { torus(dims) } else { builders::mesh(dims, RATE, DELAY).expect("a mesh") };
        let grid = Grid::new(dims, wraps);
        let ways = |at: NodeId, to: NodeId, ports: &mut Vec<PortId>| {
            let differs = |&i: &usize| grid.coordinate(at, i) != grid.coordinate(to, i);
            let Some(i) = (0..dims.len()).find(differs) else { return };
            let (k, from, to) = (dims[i], grid.coordinate(at, i), grid.coordinate(to, i));
            let up = if wraps { (to + k - from) % k <= k / 2 } else { to > from };
            ports.push(PortId::of(2 * i + usize::from(!up)));
        };
        cycle(&topology, topology.hosts(), ways).map(|cycle| describe(&topology, &cycle))
    };
    assert_eq!(dimension_order(&[4, 4, 3], false), None);
    assert_eq!(dimension_order(&[5, 4], true).as_deref(), Some("0->1->2->3->4->0"));
}

#[test]
fn a_thousand_hosts_take_no_time() {
    assert_eq!(
        of_shortest_paths(builders::fat_tree(16, ClosRates::all(RATE), DELAY).expect("k is even")),
        None
    );
    let tree = builders::xgft(XgftSize::k_ary_n_tree(2, 10), RATE, DELAY).expect("a tree");
    assert_eq!(of_shortest_paths(tree), None);
    let topology = Arc::new(torus(&[8, 8, 16]));
    assert_eq!(Routing::new(topology).buffer_cycle().map(|cycle| cycle.len()), Some(4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks, in random graphs, that each reported cycle is a real cycle, and that a tree has no cycle.
    #[test]
    fn a_cycle_is_one(
        count in 2..9_usize,
        parents in prop::collection::vec(any::<prop::sample::Index>(), 8),
        more in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..8),
    ) {
        let mut builder = Builder::default();
        let nodes: Vec<NodeId> = (0..count).map(|_| builder.host(0)).collect();
        for i in 1..count {
            builder.join(nodes[i], nodes[parents[i - 1].index(i)], RATE, DELAY);
        }
        let tree = of_shortest_paths(builder.clone().build(Shape::General));
        prop_assert_eq!(tree, None);
        for (a, b) in &more {
            let (a, b) = (a.index(count), b.index(count));
            if a != b {
                builder.join(nodes[a], nodes[b], RATE, DELAY);
            }
        }
        of_shortest_paths(builder.build(Shape::General));
    }
}
