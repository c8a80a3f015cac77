#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::testing::{backlogs, between, fat_tree, route, segment};
use raddle_topology::Topology;

const DRILL_2_1: Look = Look { samples: 2, memory: 1 };

fn nodes(topology: &Arc<Topology>, look: Look) -> Vec<Drill> {
    let paths = ShortestPaths::new(topology);
    topology.nodes().map(|node| Drill::new(node, &paths, look, 1)).collect()
}

fn component(ports: u16) -> Component {
    Component::new((0..ports).map(PortId).collect())
}

#[test]
fn oracle_with_all_sampled_the_shortest_queue_wins() {
    let (mut component, mut random) = (component(4), Stream::new(1, 0, "test"));
    let look = Look { samples: 4, memory: 0 };
    for (queues, shortest) in [([3, 1, 2, 4], 1), ([3, 5, 2, 4], 2), ([0, 5, 2, 4], 0)] {
        let (ports, now) = (backlogs(&queues), Time::ZERO);
        assert_eq!(component.shortest(look, now, &Ports(&ports), &mut random), PortId(shortest));
    }
}

/// With one sample and one remembered port, the switch eventually finds the shortest queue and then keeps to it.
/// Without memory, one packet in four joins the shortest queue.
#[test]
fn oracle_the_shortest_queue_is_remembered() {
    let ports = backlogs(&[3, 1, 2, 4]);
    let count = |memory| {
        let (mut component, mut random) = (component(4), Stream::new(1, 0, "test"));
        let look = Look { samples: 1, memory };
        let mut choose = || component.shortest(look, Time::ZERO, &Ports(&ports), &mut random);
        for _ in 0..100 {
            choose();
        }
        (0..1_000).filter(|_| choose() == PortId(1)).count()
    };
    assert_eq!(count(1), 1_000);
    assert!(count(0).abs_diff(250) < 55, "four standard deviations");
}

/// Two of four queues are sampled, without memory. The shortest queue is chosen when it is drawn, in 3 of 6 pairs. The
/// second shortest is chosen when it is drawn without the shortest, in 2 pairs. The third shortest is chosen in 1 pair,
/// and the longest never.
#[test]
fn oracle_two_different_queues_are_sampled() {
    let (mut component, mut random) = (component(4), Stream::new(1, 0, "test"));
    let (ports, look) = (backlogs(&[4, 3, 2, 1]), Look { samples: 2, memory: 0 });
    let mut counts = [0_u32; 4];
    for _ in 0..6_000 {
        counts[component.shortest(look, Time::ZERO, &Ports(&ports), &mut random).index()] += 1;
    }
    assert_eq!(counts[0], 0);
    assert!(
        counts[1..].iter().zip([1_000, 2_000, 3_000]).all(|(n, want)| n.abs_diff(want) < 155),
        "{counts:?}"
    );
}

#[test]
fn queues_of_remembered_ports_are_measured_again() {
    let (mut component, mut random) = (component(2), Stream::new(1, 0, "test"));
    let look = Look { samples: 1, memory: 1 };
    let mut choose = |queues: &[u64]| {
        let ports = backlogs(queues);
        (0..20).map(|_| component.shortest(look, Time::ZERO, &Ports(&ports), &mut random)).last()
    };
    assert_eq!(choose(&[1, 2]), Some(PortId(0)));
    assert_eq!(choose(&[3, 2]), Some(PortId(1)));
}

#[test]
fn a_dead_port_is_the_last_choice() {
    let (mut component, mut random) = (component(2), Stream::new(1, 0, "test"));
    let mut ports = backlogs(&[0, 50]);
    ports[0].up = false;
    for _ in 0..20 {
        let port = component.shortest(DRILL_2_1, Time::ZERO, &Ports(&ports), &mut random);
        assert_eq!(port, PortId(1));
    }
}

#[test]
fn an_idle_fabric_spreads_evenly() {
    let topology = fat_tree(8);
    let mut nodes = nodes(&topology, DRILL_2_1);
    let mut counts = [[0_i32; 4]; 4];
    for _ in 0..16_000 {
        let path = route(&topology, &mut nodes, &mut segment(0, 127, 1, 0)).expect("a path");
        counts[path[1].index() - 4][path[2].index() - 4] += 1;
    }
    assert!(counts.iter().flatten().all(|n| (n - 1_000).abs() < 123), "{counts:?}");
}

/// One aggregation switch of four has lost two of its four cores. It then gets 2 of 14 flows, with all their packets.
/// Each other flow spreads its packets over the other three aggregation switches.
#[test]
fn oracle_unequal_next_hops_share_flows_by_capacity() {
    let topology = fat_tree(8);
    let mut nodes = nodes(&topology, DRILL_2_1);
    // Hosts are nodes 0 to 127, edge switches start at 128, aggregation switches at 160, cores at 192.
    for link in [between(&topology, 160, 192), between(&topology, 160, 193)].concat() {
        nodes.iter_mut().for_each(|node| node.link(link, false));
    }
    let mut lame = 0;
    for src_port in 0..2_800 {
        let first = (0..8).map(|_| {
            let packet = &mut segment(0, 127, src_port, 0);
            route(&topology, &mut nodes, packet).expect("a path")[1].index() - 4
        });
        let first: Vec<usize> = first.collect();
        if first.contains(&0) {
            assert_eq!(first, [0; 8]);
            lame += 1_u32;
        }
    }
    assert!(lame.abs_diff(400) < 75, "{lame} of 2,800 flows; four standard deviations");
}

#[test]
fn destinations_behind_the_same_next_hops_share_a_memory() {
    let topology = fat_tree(4);
    let mut nodes = nodes(&topology, DRILL_2_1);
    for dst in 2..16 {
        route(&topology, &mut nodes, &mut segment(0, dst, 1, 0)).expect("a path");
    }
    assert_eq!(nodes[16].components.len(), 1);
}

/// On a large torus, a destination has so many shortest paths that the sum of their capacities needs more than 96 bits.
/// Here the sum is about 4 times 2^64 times 40 Gb/s.
#[test]
fn capacities_of_any_size_are_shared_out() {
    let total = u128::from(u64::MAX) * 40_000_000_000 * 4;
    let shares = [(total / 4, 7), (total, 8)];
    let share = |part: f64| share_of(&shares, (part * 2_f64.powi(64)) as u64);
    assert_eq!([0.0, 0.2499, 0.2501, 1.0].map(share), [7, 7, 8, 8]);
    assert_eq!(
        [0, 1 << 31, u32::MAX.into()].map(|half: u64| share_of(&[(1, 3), (2, 4)], half << 32)),
        [3, 4, 4]
    );
}
