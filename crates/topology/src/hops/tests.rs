use super::Hops;
use crate::builders::{self, ClosRates, folded_clos, hypercube, mesh, single_switch, torus};
use crate::{Builder, ClosSize, Shape, Topology};
use raddle_core::{Duration, NodeId, Rate};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(100);

fn torus_of(dims: &[u32]) -> Topology {
    torus(dims, RATE, DELAY).unwrap()
}

fn mesh_of(dims: &[u32]) -> Topology {
    mesh(dims, RATE, DELAY).unwrap()
}

fn near(got: Option<f64>, expected: f64, tolerance: f64) -> bool {
    got.is_some_and(|got| (got - expected).abs() <= tolerance)
}

#[test]
fn oracle_o2_sizes_and_hops() {
    // Columns: name, topology, nodes, directed links, diameter, mean hops over all pairs (including pairs of a node
    // with itself), mean hops over pairs of distinct nodes. The values are exact. They come from specifications/r2c2.md
    // §1.2.
    let cube = hypercube(9, RATE, DELAY).unwrap();
    let rows = [
        ("torus 8x8x8", torus_of(&[8, 8, 8]), 512, 3072, 12, 6.0, 3072.0 / 511.0),
        ("torus 6x6x6", torus_of(&[6, 6, 6]), 216, 1296, 9, 4.5, 972.0 / 215.0),
        ("torus 4x4x4", torus_of(&[4, 4, 4]), 64, 384, 6, 3.0, 64.0 / 21.0),
        ("torus 3x3x3", torus_of(&[3, 3, 3]), 27, 162, 3, 2.0, 27.0 / 13.0),
        ("torus 10x10x10", torus_of(&[10, 10, 10]), 1000, 6000, 15, 7.5, 2500.0 / 333.0),
        ("torus 8x8", torus_of(&[8, 8]), 64, 256, 8, 4.0, 256.0 / 63.0),
        ("torus 4x4", torus_of(&[4, 4]), 16, 64, 4, 2.0, 32.0 / 15.0),
        ("torus 16x32", torus_of(&[16, 32]), 512, 2048, 24, 12.0, 6144.0 / 511.0),
        ("mesh 8x8x8", mesh_of(&[8, 8, 8]), 512, 2688, 21, 63.0 / 8.0, 576.0 / 73.0),
        ("mesh 8x8", mesh_of(&[8, 8]), 64, 224, 14, 21.0 / 4.0, 16.0 / 3.0),
        ("mesh 2x2", mesh_of(&[2, 2]), 4, 8, 2, 1.0, 4.0 / 3.0),
        ("hypercube 2^9", cube, 512, 4608, 9, 4.5, 2304.0 / 511.0),
    ];
    for (name, topology, nodes, links, diameter, with_self, mean) in rows {
        let hops = Hops::of(&topology);
        assert_eq!((topology.node_count(), topology.links().count()), (nodes, links), "{name}");
        assert_eq!((hops.diameter(), hops.unreachable()), (diameter, None), "{name}");
        assert!(near(hops.mean_with_self(), with_self, 1e-12), "{name}: {:?}", hops.mean_with_self());
        assert!(near(hops.mean(), mean, 1e-12), "{name}: {:?}", hops.mean());
    }
}

#[test]
fn oracle_o2_folded_clos() {
    let clos = folded_clos(32, 16, 16, RATE, RATE, DELAY).unwrap();
    let hops = Hops::of(&clos);
    assert_eq!((clos.node_count(), clos.hosts().count(), clos.links().count()), (560, 512, 2048));
    assert_eq!(hops.histogram(), [512, 0, 512 * 15, 0, 512 * 496]);
    assert!(near(hops.mean(), 2014.0 / 511.0, 1e-12), "{:?}", hops.mean());
    assert!(near(hops.most_paths(), 16.0, 0.0), "a path by each spine");
}

#[test]
fn oracle_o2_distance_histogram_of_8x8x8() {
    let from_one = [1, 6, 18, 38, 63, 84, 92, 84, 63, 38, 18, 6, 1];
    assert_eq!(Hops::of(&torus_of(&[8, 8, 8])).histogram(), from_one.map(|nodes| 512 * nodes));
}

#[test]
fn oracle_o2_shortest_paths() {
    let rows: [(&[u32], _, _, _, _); 3] = [
        (&[6, 6, 6], 191.5256, 20.0, 13_440.0, 1_680.0),
        (&[8, 8, 8], 1_720.203_5, 60.0, 277_200.0, 34_650.0),
        (&[8, 8], 15.6190, 4.0, 280.0, 70.0),
    ];
    for (dims, mean, median, most, most_in_one_orthant) in rows {
        let hops = Hops::of(&torus_of(dims));
        assert!(near(hops.mean_paths(), mean, 5e-5), "{dims:?}: {:?}", hops.mean_paths());
        assert!(near(hops.median_paths(), median, 0.0), "{dims:?}: {:?}", hops.median_paths());
        assert!(near(hops.most_paths(), most, 0.0), "{dims:?}: {:?}", hops.most_paths());
        // If packets may take only one of two equally short directions in each dimension, there are at most as many
        // paths as in a mesh with k/2 + 1 nodes per dimension.
        let orthant: Vec<u32> = dims.iter().map(|k| k / 2 + 1).collect();
        let hops = Hops::of(&mesh_of(&orthant));
        assert!(near(hops.most_paths(), most_in_one_orthant, 0.0), "{dims:?}: {:?}", hops.most_paths());
    }
}

#[test]
fn in_symmetric_topologies_one_search_gives_the_result_of_all() {
    let tori = [&[2, 2, 2][..], &[4, 3], &[5], &[2, 6], &[1, 4]].map(torus_of);
    let clos = ClosSize { pods: 3, edges: 2, aggregations: 2, cores: 3, hosts: 2 };
    let clos = [clos, ClosSize::leaf_spine(3, 2, 4), ClosSize::fat_tree(4)]
        .map(|size| builders::clos(size, ClosRates::all(RATE), DELAY).unwrap());
    for known in tori.iter().chain(&clos) {
        assert_eq!(Hops::of(known), Hops::of(&known.unshaped()), "{:?}", known.shape());
    }
}

#[test]
fn hosts_of_one_switch_are_searched_once() {
    let tree = builders::fat_tree(4, ClosRates::all(RATE), DELAY).unwrap();
    let hosts: Vec<NodeId> = tree.hosts().collect();
    let sources = super::sources(&tree.unshaped(), &hosts);
    assert_eq!(sources, (0..16).step_by(2).map(|host| (NodeId(host), 2)).collect::<Vec<_>>());
    assert_eq!(Hops::of(&tree).histogram(), [16, 0, 16, 0, 32, 0, 192]);
    // A host that has lost its link counts as a separate source.
    let lost = tree.surviving(|link| link.0 != 0 && link != tree.reverse(raddle_core::LinkId(0)));
    assert_eq!(super::sources(&lost, &hosts)[..2], [(NodeId(0), 1), (NodeId(1), 1)]);
    assert_eq!(Hops::of(&lost).unreachable(), Some((NodeId(0), NodeId(1))));
}

#[test]
fn a_cut_is_found_and_its_pairs_left_out() {
    let ring = torus_of(&[4]);
    // Node 2 loses both of its links.
    let cut = ring.surviving(|link| {
        let link = ring.link(link).expect("only links are asked for");
        link.from != NodeId(2) && link.to != NodeId(2)
    });
    let hops = Hops::of(&cut);
    assert_eq!(hops.unreachable(), Some((NodeId(0), NodeId(2))));
    assert_eq!(hops.histogram(), [4, 4, 2]);
    assert_eq!(Hops::of(&ring).unreachable(), None);
}

#[test]
fn parallel_links_are_paths_of_their_own() {
    let mut builder = Builder::default();
    let (a, b) = (builder.host(0), builder.host(0));
    builder.join(a, b, RATE, DELAY);
    builder.join(a, b, Rate::from_gbps(40), DELAY);
    assert!(near(Hops::of(&builder.build(Shape::General)).most_paths(), 2.0, 0.0));
}

#[test]
fn a_lonely_host_has_no_mean() {
    let hops = Hops::of(&single_switch(1, RATE, DELAY).unwrap());
    assert_eq!(
        (hops.mean(), hops.mean_paths(), hops.median_paths(), hops.most_paths()),
        (None, None, None, None)
    );
    assert!(near(hops.mean_with_self(), 0.0, 0.0));
}
