//! Compares computed link weights with sampled paths, and throughputs with tables (R2C2, Figure 2, and the 8-ary
//! 3-cube). On tori, compares the routing code for tori with the routing code for general graphs.

use super::*;
use crate::builders;
use raddle_core::{Duration, Rate};

fn torus(dims: &[u32]) -> Topology {
    builders::torus(dims, Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims")
}

fn routing(topology: Topology) -> Routing {
    Routing::new(Arc::new(topology))
}

fn sorted(routing: &Routing, protocol: Protocol, src: NodeId, dst: NodeId) -> Vec<(LinkId, f32)> {
    let mut row = Vec::new();
    routing.weights(protocol, src, dst, 7, &mut row);
    row.sort_by_key(|&(link, _)| link);
    row
}

/// Follows a path. Returns its links and its last node.
fn links(topology: &Topology, src: NodeId, path: &[PortId]) -> (Vec<LinkId>, NodeId) {
    let mut at = src;
    let links = path
        .iter()
        .map(|&port| {
            let id = topology.link_id(at, port);
            at = topology.link(id).expect("each port of a path has a link").to;
            id
        })
        .collect();
    (links, at)
}

/// Returns random pairs of different hosts. Calls with the same arguments return the same pairs.
fn pairs(topology: &Topology, count: usize) -> Vec<(NodeId, NodeId)> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let mut rng = Stream::new(1, 0, "test/pairs");
    let mut pick = || hosts[rng.index(hosts.len())];
    let mut pairs = Vec::new();
    while pairs.len() < count {
        let (src, dst) = (pick(), pick());
        if src != dst {
            pairs.push((src, dst));
        }
    }
    pairs
}

fn fabrics() -> Vec<Topology> {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(100));
    vec![
        torus(&[4, 4, 4]),
        torus(&[8, 5]),
        torus(&[2, 3, 2]),
        builders::mesh(&[4, 3, 2], rate, delay).expect("valid"),
        builders::folded_clos(4, 4, 3, rate, rate, delay).expect("valid"),
        torus(&[4, 4]).surviving(|link| link != LinkId(0) && link != LinkId(5)),
    ]
}

#[test]
fn oracle_o1_weights_conserve_flow_and_sum_to_mean_hops() {
    for topology in fabrics() {
        let routing = routing(topology.clone());
        for protocol in Protocol::all().filter(|&protocol| routing.supports(protocol).is_ok()) {
            for (src, dst) in pairs(&topology, 20) {
                let mut balance = vec![0.0; topology.node_count()];
                let mut hops = 0.0;
                for (link, weight) in sorted(&routing, protocol, src, dst) {
                    assert!(weight > 0.0);
                    hops += f64::from(weight);
                    let link = topology.link(link).expect("weights are on links");
                    balance[link.from.index()] -= f64::from(weight);
                    balance[link.to.index()] += f64::from(weight);
                }
                balance[src.index()] += 1.0;
                balance[dst.index()] -= 1.0;
                assert!(balance.iter().all(|x| x.abs() < 1e-5), "{protocol} {src} {dst}: {balance:?}");
                let expected = mean_hops(&routing, protocol, src, dst);
                assert!((hops - expected).abs() < 1e-4, "{protocol} {src} {dst}: {hops} for {expected}");
            }
        }
    }
}

/// Returns the mean number of hops of a packet's path, computed without link weights.
fn mean_hops(routing: &Routing, protocol: Protocol, src: NodeId, dst: NodeId) -> f64 {
    let topology = routing.topology();
    let distance = |a, b| f64::from(routing.distance(a, b).expect("connected"));
    match (protocol, topology.shape()) {
        (Protocol::Vlb, _) => {
            let sum: f64 = topology.hosts().map(|m| distance(src, m) + distance(m, dst)).sum();
            sum / topology.hosts().count() as f64
        }
        (Protocol::Wlb | Protocol::WlbHop, Shape::Torus(dims)) => {
            let grid = crate::Grid::new(dims, true);
            let part = |(i, &k): (usize, &u32)| {
                let apart = grid.coordinate(src, i).abs_diff(grid.coordinate(dst, i));
                // In a dimension of size 2, only one link connects the two nodes, so both directions are the
                // same.
                if k == 2 { f64::from(apart) } else { f64::from(2 * apart * (k - apart)) / f64::from(k) }
            };
            dims.iter().enumerate().map(part).sum()
        }
        _ => distance(src, dst),
    }
}

#[test]
fn oracle_o1_samplers_draw_paths_with_the_computed_weights() {
    const PACKETS: u32 = 4_000;
    for topology in fabrics() {
        let routing = routing(topology.clone());
        let mut rng = Stream::new(1, 0, "test/sample");
        let mut path = Vec::new();
        for protocol in Protocol::all().filter(|&protocol| routing.supports(protocol).is_ok()) {
            for (src, dst) in pairs(&topology, 6) {
                let mut drawn = vec![0_u32; topology.link_slots()];
                for _ in 0..PACKETS {
                    routing.sample(protocol, src, dst, 7, &mut rng, &mut path);
                    assert!(path.len() <= routing.longest_route(protocol), "{protocol}");
                    let (links, end) = links(&topology, src, &path);
                    assert_eq!(end, dst, "{protocol}");
                    links.iter().for_each(|link| drawn[link.index()] += 1);
                }
                let mut expected = vec![0.0; topology.link_slots()];
                for (link, weight) in sorted(&routing, protocol, src, dst) {
                    expected[link.index()] += f64::from(weight);
                }
                for (&drawn, &weight) in drawn.iter().zip(&expected) {
                    // The bound is five standard deviations. The term `0.05 * weight` allows for Valiant packets that
                    // cross a link twice.
                    let spread = (weight.min(1.0) * (1.0 - weight.min(1.0)) + 0.05 * weight).max(0.0).sqrt();
                    let error = f64::from(drawn) / f64::from(PACKETS) - weight;
                    let bound = 5.0 * spread / f64::from(PACKETS).sqrt() + 1e-6;
                    assert!(error.abs() <= bound, "{protocol} {src}->{dst}: off by {error}, weight {weight}");
                }
            }
        }
    }
}

#[test]
fn oracle_o1_chi_square_of_rps_on_the_rack() {
    let topology = torus(&[8, 8, 8]);
    let routing = routing(topology.clone());
    let mut rng = Stream::new(2, 0, "test/sample");
    let mut path = Vec::new();
    for (src, dst) in pairs(&topology, 10) {
        let mut first = [0_u32; 6];
        for _ in 0..20_000 {
            routing.sample(Protocol::Rps, src, dst, 0, &mut rng, &mut path);
            first[path[0].index()] += 1;
        }
        let mut productive = Vec::new();
        routing.productive(src, dst, &mut productive);
        let expected = 20_000.0 / productive.len() as f64;
        let chi: f64 = productive
            .iter()
            .map(|port| (f64::from(first[port.index()]) - expected).powi(2) / expected)
            .sum();
        assert!(chi < 20.5, "5 degrees of freedom, p = 0.001: {chi}");
    }
}

#[test]
fn oracle_o2_figure_2_table() {
    use Pattern::{BitComplement, NearestNeighbour, Tornado, Transpose, Uniform, WorstCase};
    let routing = routing(torus(&[8, 8]));
    let patterns = [NearestNeighbour, Uniform, BitComplement, Transpose, Tornado, WorstCase];
    let third = 1.0 / 3.0;
    let table = [
        (Protocol::Romm, [4.0, 1.0, 0.4, 0.5970, third, 5.0 / 24.0]),
        (Protocol::Rps, [4.0, 1.0, 0.3556, 0.6136, third, 0.1826]),
        (Protocol::RpsPath, [4.0, 1.0, 0.3226, 0.6140, third, 0.1647]),
        (Protocol::Dor(Tie::Parity), [4.0, 1.0, 0.5, 0.25, third, 0.25]),
        (Protocol::Dor(Tie::Split), [4.0, 1.0, 0.5, 2.0 / 7.0, third, 2.0 / 7.0]),
        (Protocol::Dor(Tie::Plus), [4.0, 0.8, 0.5, 0.25, third, 0.25]),
        (Protocol::Vlb, [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]),
        (Protocol::Wlb, [16.0 / 7.0, 16.0 / 21.0, 8.0 / 19.0, 0.7148, 8.0 / 15.0, 0.3128]),
        (Protocol::WlbHop, [16.0 / 7.0, 16.0 / 21.0, 0.3893, 0.6863, 8.0 / 15.0, 0.2880]),
    ];
    for (protocol, row) in table {
        for (pattern, expected) in patterns.into_iter().zip(row) {
            let fraction = throughput_fraction(&routing, protocol, pattern);
            assert!((fraction - expected).abs() < 1e-4, "{protocol} {pattern:?}: {fraction} for {expected}");
        }
    }
}

#[test]
fn oracle_o2_eight_ary_three_cube() {
    use Pattern::{BitComplement, NearestNeighbour, Tornado, Transpose, Uniform};
    let routing = routing(torus(&[8, 8, 8]));
    let patterns = [NearestNeighbour, BitComplement, Transpose, Tornado];
    let third = 1.0 / 3.0;
    let table = [
        (Protocol::Dor(Tie::Split), [6.0, 0.5, 0.125, third], (1.014, 1.0, 2.0)),
        (Protocol::Rps, [6.0, 0.2493, 0.2788, third], (2.1515, 1.0, 6.0)),
        (Protocol::RpsPath, [6.0, 0.2047, 0.2811, third], (2.409, 1.0, 6.0)),
        (Protocol::Romm, [6.0, 0.3158, 0.2775, third], (2.512, 1.0, 6.0)),
        (Protocol::Vlb, [0.5, 0.5, 0.5, 0.5], (5.775, 3.006, 6.0)),
        (Protocol::Wlb, [3.4286, 0.3516, 0.3457, 0.5333], (3.754, 1.143, 6.0)),
        (Protocol::WlbHop, [3.4286, 0.2998, 0.3951, 0.5333], (3.183, 1.143, 6.0)),
    ];
    let mut row = Vec::new();
    for (protocol, fractions, (mean, least, most)) in table {
        for (pattern, expected) in patterns.into_iter().zip(fractions) {
            let fraction = throughput_fraction(&routing, protocol, pattern);
            assert!((fraction - expected).abs() < 1e-4, "{protocol} {pattern:?}: {fraction} for {expected}");
        }
        // If a flow is alone, its rate, in units of the link rate, is 1 / (the weight of its busiest link).
        let mut peaks: Vec<f64> = (1..512)
            .map(|dst| {
                routing.weights(protocol, NodeId(0), NodeId(dst), 0, &mut row);
                1.0 / f64::from(row.iter().map(|&(_, weight)| weight).fold(0.0, f32::max))
            })
            .collect();
        peaks.sort_by(f64::total_cmp);
        let average = peaks.iter().sum::<f64>() / 511.0;
        for (measured, expected) in [(average, mean), (peaks[0], least), (peaks[510], most)] {
            assert!((measured - expected).abs() < 1e-3 * expected, "{protocol}: {measured} for {expected}");
        }
    }
    let uniform = throughput_fraction(&routing, Protocol::Rps, Uniform);
    assert!((uniform - 1.0).abs() < 1e-4, "{uniform}");
}

#[test]
fn oracle_o3_translation_and_reflection() {
    let topology = torus(&[8, 4]);
    let routing = routing(topology.clone());
    let shift = |node: NodeId| NodeId((node.0 % 8 + 3) % 8 + 8 * ((node.0 / 8 + 2) % 4));
    let mirror = |node: NodeId| NodeId((8 - node.0 % 8) % 8 + 8 * ((4 - node.0 / 8) % 4));
    let moved = |row: Vec<(LinkId, f32)>, to: &dyn Fn(NodeId) -> NodeId, flip: u16| {
        let mut row: Vec<_> = row
            .into_iter()
            .map(|(id, weight)| {
                let link = topology.link(id).expect("a link");
                (topology.link_id(to(link.from), PortId(link.from_port.0 ^ flip)), weight)
            })
            .collect();
        row.sort_by_key(|&(link, _)| link);
        row
    };
    let invariant =
        |protocol: &Protocol| !matches!(protocol, Protocol::Dor(Tie::Parity | Tie::Plus) | Protocol::Ecmp);
    for protocol in Protocol::all().filter(invariant) {
        for (src, dst) in pairs(&topology, 30) {
            let row = sorted(&routing, protocol, src, dst);
            let close = |a: &[(LinkId, f32)], b: &[(LinkId, f32)]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6)
            };
            let shifted = sorted(&routing, protocol, shift(src), shift(dst));
            assert!(close(&moved(row.clone(), &shift, 0), &shifted), "{protocol} {src} {dst}");
            let mirrored = sorted(&routing, protocol, mirror(src), mirror(dst));
            assert!(close(&moved(row, &mirror, 1), &mirrored), "{protocol} {src} {dst}");
        }
    }
}

#[test]
fn valiant_rows_are_a_part_of_the_source_and_a_part_of_the_destination() {
    let routing = routing(torus(&[4, 4, 4]));
    let dense = |src, dst| {
        let mut row = vec![0.0; routing.topology().link_slots()];
        for (link, weight) in sorted(&routing, Protocol::Vlb, NodeId(src), NodeId(dst)) {
            row[link.index()] = weight;
        }
        row
    };
    // If w(s, d) = out(s) + in(d), the difference between the weights for two destinations does not depend on
    // the source.
    let [near, far] = [7, 50].map(|src| {
        let ends = dense(src, 33).into_iter().zip(dense(src, 12));
        ends.map(|(a, b)| a - b).collect::<Vec<f32>>()
    });
    assert!(near.iter().zip(&far).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(near.iter().any(|change| change.abs() > 1e-2), "and it does change");
}

#[test]
fn oracle_o3_the_torus_equals_the_general_graph() {
    for dims in [&[4, 4, 4][..], &[5, 3], &[2, 4]] {
        let torus_topology = torus(dims);
        let general = routing(torus_topology.unshaped());
        let arithmetic = routing(torus_topology.clone());
        for protocol in [Protocol::Rps, Protocol::RpsPath, Protocol::Vlb] {
            for (src, dst) in pairs(&torus_topology, 40) {
                assert_eq!(arithmetic.distance(src, dst), general.distance(src, dst));
                let (a, b) = (sorted(&arithmetic, protocol, src, dst), sorted(&general, protocol, src, dst));
                assert_eq!(a.len(), b.len(), "{protocol} {dims:?} {src} {dst}");
                for (a, b) in a.iter().zip(&b) {
                    assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-6, "{protocol} {a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn longest_routes() {
    let rack = routing(torus(&[8, 8, 8]));
    assert_eq!(rack.longest_route(Protocol::Rps), 12);
    assert_eq!(rack.longest_route(Protocol::Vlb), 24);
    assert_eq!(rack.longest_route(Protocol::Wlb), 21);
    let mesh = builders::mesh(&[8, 8, 8], Rate::from_gbps(10), Duration::ZERO).expect("valid");
    assert_eq!(routing(mesh).longest_route(Protocol::Vlb), 42);
    let long = routing(torus(&[16, 32]));
    assert_eq!((long.longest_route(Protocol::Vlb), long.longest_route(Protocol::Wlb)), (48, 46));
}

#[test]
fn every_protocol_has_one_name() {
    for protocol in Protocol::all() {
        assert_eq!(protocol.to_string().parse(), Ok(protocol));
    }
    assert_eq!("rsp".parse::<Protocol>(), Err(UnknownProtocol("rsp".into())));
}

#[test]
fn ecmp_gives_two_flows_of_one_pair_their_own_paths() {
    let routing = routing(torus(&[8, 8, 8]));
    let mut rng = Stream::new(1, 0, "test");
    let mut paths = std::collections::BTreeSet::new();
    for flow in 0..20 {
        let (mut path, mut again) = (Vec::new(), Vec::new());
        routing.sample(Protocol::Ecmp, NodeId(0), NodeId(292), flow, &mut rng, &mut path);
        routing.sample(Protocol::Ecmp, NodeId(0), NodeId(292), flow, &mut rng, &mut again);
        assert_eq!(path, again);
        paths.insert(path);
    }
    assert!(paths.len() > 15, "{}", paths.len());
}
