use super::*;
use crate::testing::{route, segment};
use raddle_core::{DropReason, Duration, Rate};
use raddle_topology::Topology;
use raddle_topology::builders::torus;

fn fabric() -> (Arc<Topology>, Vec<Ecmp>) {
    let topology = torus(&[4, 4, 4], Rate::from_gbps(10), Duration::from_ns(100)).expect("a torus");
    let topology = Arc::new(topology);
    let paths = ShortestPaths::new(&topology);
    let nodes = topology.nodes().map(|node| Ecmp::new(node, &paths, 1)).collect();
    (topology, nodes)
}

fn packet(src: u32, dst: u32, src_port: u16) -> Packet {
    segment(src, dst, src_port, 0)
}

#[test]
fn a_flow_keeps_to_one_shortest_path() {
    let (topology, mut nodes) = fabric();
    for src_port in 0..50 {
        let path = route(&topology, &mut nodes, &mut packet(0, 42, src_port)).expect("a path");
        assert_eq!(path.len(), 6, "(0,0,0) to (2,2,2)");
        let again = route(&topology, &mut nodes, &mut packet(0, 42, src_port));
        assert_eq!(again, Ok(path));
    }
}

#[test]
fn flows_spread_evenly_at_every_hop() {
    let (topology, mut nodes) = fabric();
    let mut counts = [[0_u32; 6]; 2];
    for src_port in 0..12_000 {
        let path = route(&topology, &mut nodes, &mut packet(0, 42, src_port)).expect("a path");
        counts[0][path[0].index()] += 1;
        if path[0] == PortId(0) {
            counts[1][path[1].index()] += 1;
        }
    }
    assert!(counts[0].iter().all(|n| n.abs_diff(2_000) < 200), "{counts:?}");
    // After one step along x, the next step continues along x, or goes in either direction along y or z: five ports.
    assert_eq!(counts[1][1], 0);
    assert!(counts[1].iter().filter(|&&n| n > 0).all(|n| n.abs_diff(400) < 90), "{counts:?}");
}

#[test]
fn seeds_and_directions_choose_anew() {
    let (topology, mut nodes) = fabric();
    let paths = ShortestPaths::new(&topology);
    let mut others: Vec<_> = topology.nodes().map(|node| Ecmp::new(node, &paths, 2)).collect();
    let differ = (0..100).filter(|&src_port| {
        let mut packet = packet(0, 42, src_port);
        route(&topology, &mut nodes, &mut packet) != route(&topology, &mut others, &mut packet)
    });
    assert!(differ.count() > 90);
}

#[test]
fn paths_avoid_failed_links_once_they_are_known_and_return_after_repair() {
    let (topology, mut nodes) = fabric();
    let tell = |nodes: &mut [Ecmp], links: &[LinkId], up| {
        for node in nodes {
            for &link in links {
                node.link(link, up);
                node.link(topology.reverse(link), up);
            }
        }
    };
    let out: Vec<LinkId> = topology.links_from(NodeId(0)).map(|(id, _)| id).collect();
    let before = route(&topology, &mut nodes, &mut packet(0, 1, 7));
    assert_eq!(before.as_ref().map(Vec::len), Ok(1));
    tell(&mut nodes, &out[..1], false);
    assert_eq!(route(&topology, &mut nodes, &mut packet(0, 1, 7)).map(|path| path.len()), Ok(3));
    tell(&mut nodes, &out[1..], false);
    assert_eq!(route(&topology, &mut nodes, &mut packet(0, 1, 7)), Err(DropReason::NoRoute));
    tell(&mut nodes, &out, true);
    assert_eq!(route(&topology, &mut nodes, &mut packet(0, 1, 7)), before);
}

#[test]
fn the_data_for_one_packet_fits_a_cache_line() {
    assert_eq!(size_of::<Ecmp>(), 64);
}
