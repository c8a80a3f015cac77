use super::*;
use crate::testing::{star, torus};

fn take(pairs: &Pairs, topology: &Topology, random: bool, flows: usize) -> Vec<(u32, u32)> {
    let stream = Stream::new(1, 0, "workload/pairs");
    let drawn = pairs.draw(topology, random, stream).unwrap().take(flows);
    drawn.map(|(src, dst)| (src.0, dst.0)).collect()
}

fn error(pairs: &Pairs, topology: &Topology) -> String {
    pairs.draw(topology, true, Stream::new(1, 0, "test")).err().unwrap().to_string()
}

#[test]
fn uniform_covers_all_distinct_pairs_evenly() {
    let mut counts = [[0_u32; 5]; 5];
    for (src, dst) in take(&Pairs::Uniform, &star(5), true, 100_000) {
        counts[src as usize][dst as usize] += 1;
    }
    for (src, row) in counts.iter().enumerate() {
        for (dst, &n) in row.iter().enumerate() {
            assert!(if src == dst { n == 0 } else { n.abs_diff(5_000) < 300 }, "{counts:?}");
        }
    }
}

#[test]
fn a_permutation_sends_and_receives_once_a_host_and_never_to_itself() {
    let topology = torus(&[4, 4, 4]);
    let pairs = take(&Pairs::Permutation { fraction: 0.25 }, &topology, false, 16);
    let ends = |end: fn(&(u32, u32)) -> u32| {
        let mut ends: Vec<u32> = pairs.iter().map(end).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    assert_eq!(ends(|pair| pair.0).len(), 16);
    assert_eq!(ends(|pair| pair.0), ends(|pair| pair.1));
    assert!(pairs.iter().all(|(src, dst)| src != dst));
    let again = take(&Pairs::Permutation { fraction: 0.25 }, &topology, false, 32);
    assert_eq!(again[..16], again[16..], "regular arrivals take the pairs in turn");
}

#[test]
fn each_pair_of_a_pattern_can_be_had_once() {
    let each = |pairs: &Pairs, topology: &Topology| pairs.each(topology, &mut Stream::new(1, 0, "test"));
    let uniform = each(&Pairs::Uniform, &star(5)).unwrap();
    assert_eq!(uniform.iter().collect::<std::collections::BTreeSet<_>>().len(), 20);
    assert!(uniform.len() == 20 && uniform.iter().all(|(src, dst)| src != dst));
    let torus = torus(&[4, 4, 4]);
    assert_eq!(each(&Pairs::Permutation { fraction: 0.25 }, &torus).unwrap().len(), 16);
    assert_eq!(each(&Pairs::Tornado, &torus).unwrap().len(), 64);
    assert!(each(&Pairs::Permutation { fraction: 1.5 }, &torus).is_err());
}

/// The patterns of specs/r2c2.md §2.3 on the 8-ary 2-cube, from node (2, 1).
#[test]
fn grid_patterns_map_coordinates_as_specified() {
    let topology = torus(&[8, 8]);
    let from = 2 + 8;
    let to = |pairs: &Pairs| {
        let all = take(pairs, &topology, false, 64);
        all.iter().find(|pair| pair.0 == from).unwrap().1
    };
    assert_eq!(to(&Pairs::BitComplement), 5 + 8 * 6);
    assert_eq!(to(&Pairs::Transpose), 1 + 8 * 2);
    assert_eq!(to(&Pairs::Tornado), 5 + 8);
    assert_eq!(to(&Pairs::Stride { by: 3 }), 13);
    let mut near = take(&Pairs::NearestNeighbour, &topology, false, 256);
    near.retain(|pair| pair.0 == from);
    near.sort_unstable();
    assert_eq!(near, [2, 9, 11, 18].map(|to| (from, to)));
}

#[test]
fn transpose_rotates_three_coordinates_and_skips_the_diagonal() {
    let pairs = take(&Pairs::Transpose, &torus(&[4, 4, 4]), false, 60);
    assert!(pairs.contains(&(1 + 4 * 2 + 16 * 3, 2 + 4 * 3 + 16)));
    assert!(pairs.iter().all(|(src, dst)| src != dst), "the 4 nodes on the diagonal stay silent");
}

#[test]
fn incast_has_distinct_senders_and_one_receiver() {
    let incast = Pairs::Incast { senders: 4, receiver: Some(NodeId(2)) };
    let mut pairs = take(&incast, &star(5), false, 4);
    pairs.sort_unstable();
    assert_eq!(pairs, [(0, 2), (1, 2), (3, 2), (4, 2)]);
    let drawn = take(&Pairs::Incast { senders: 3, receiver: None }, &star(5), true, 100);
    assert!(drawn.iter().all(|pair| pair.1 == drawn[0].1 && pair.0 != pair.1));
}

#[test]
fn impossible_patterns_are_refused() {
    let star = star(4);
    assert_eq!(
        error(&Pairs::Tornado, &star),
        "the tornado pattern is defined on a torus or mesh only, all of whose links are up"
    );
    assert_eq!(
        error(&Pairs::Transpose, &torus(&[4, 3])),
        "the transpose pattern needs dimensions of equal size, not [4, 3]"
    );
    assert_eq!(
        error(&Pairs::Stride { by: 4 }, &star),
        "the stride pattern sends nothing here: it maps every node to itself"
    );
    let listed = |src, dst| Pairs::Listed(vec![(NodeId(src), NodeId(dst))]);
    assert_eq!(error(&listed(0, 4), &star), "node 4 is not a host of the topology");
    assert_eq!(error(&listed(0, 9), &star), "node 9 is not a host of the topology");
    assert_eq!(error(&listed(3, 3), &star), "node 3 cannot send to itself");
    assert!(error(&Pairs::Permutation { fraction: 1.5 }, &star).contains("fraction is 1.5"));
    assert!(error(&Pairs::Incast { senders: 4, receiver: None }, &star).contains("senders is 4"));
    assert!(error(&Pairs::Uniform, &crate::testing::star(1)).contains("has 1"));
}
