use super::*;
use crate::testing::{BASELINE, clos, star, torus};
use proptest::prelude::*;

const BIT_COMPLEMENT: Pairs = Pairs::Digits { pattern: Digits::Complement, radix: None };
const TRANSPOSE: Pairs = Pairs::Digits { pattern: Digits::Transpose, radix: None };

fn take(pairs: &Pairs, topology: &Topology, random: bool, flows: usize) -> Vec<(u32, u32)> {
    let mut stream = Stream::new(1, 0, "workload/pairs");
    let source = pairs.source(topology, &mut stream).unwrap();
    let drawn = source.draw(random, stream).take(flows);
    drawn.map(|(src, dst)| (src.0, dst.0)).collect()
}

fn error(pairs: &Pairs, topology: &Topology) -> String {
    pairs.source(topology, &mut Stream::new(1, 0, "test")).unwrap_err().to_string()
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
    let pairs = take(&Pairs::Permutation { fraction: 0.25, times: 1 }, &topology, false, 16);
    let ends = |end: fn(&(u32, u32)) -> u32| {
        let mut ends: Vec<u32> = pairs.iter().map(end).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    };
    assert_eq!(ends(|pair| pair.0).len(), 16);
    assert_eq!(ends(|pair| pair.0), ends(|pair| pair.1));
    assert!(pairs.iter().all(|(src, dst)| src != dst));
    let again = take(&Pairs::Permutation { fraction: 0.25, times: 1 }, &topology, false, 32);
    assert_eq!(again[..16], again[16..], "regular arrivals take the pairs in turn");
}

/// specifications/pdq.md §12: ten flows per server are ten independent derangements (permutations without fixed
/// points).
#[test]
fn oracle_12_several_permutations_are_drawn_one_by_one() {
    let topology = torus(&[4, 4]);
    let pairs = each(&Pairs::Permutation { fraction: 1.0, times: 10 }, &topology, 1);
    let permutations: Vec<_> = pairs.chunks(16).collect();
    assert_eq!(permutations.len(), 10);
    for permutation in &permutations {
        let mut to: Vec<u32> = permutation.iter().map(|pair| pair.1).collect();
        to.sort_unstable();
        assert!(to.into_iter().eq(0..16) && permutation.iter().all(|(src, dst)| src != dst));
    }
    assert_ne!(permutations[0], permutations[1]);
    assert!(
        error(&Pairs::Permutation { fraction: 1.0, times: 0 }, &topology)
            .contains("draws of the pairs must be at least 1 (got 0)")
    );
}

#[test]
fn each_pair_of_a_pattern_can_be_had_once() {
    let each = |pairs: &Pairs, topology: &Topology| pairs.each(topology, &mut Stream::new(1, 0, "test"));
    let uniform = each(&Pairs::Uniform, &star(5)).unwrap();
    assert_eq!(uniform.iter().collect::<std::collections::BTreeSet<_>>().len(), 20);
    assert!(uniform.len() == 20 && uniform.iter().all(|(src, dst)| src != dst));
    let torus = torus(&[4, 4, 4]);
    assert_eq!(each(&Pairs::Permutation { fraction: 0.25, times: 1 }, &torus).unwrap().len(), 16);
    assert_eq!(each(&Pairs::Tornado, &torus).unwrap().len(), 64);
    assert!(each(&Pairs::Permutation { fraction: 1.5, times: 1 }, &torus).is_err());
}

/// Compares the patterns of specifications/r2c2.md §2.3 on the 8-ary 2-cube, for the sender at node (2, 1).
#[test]
fn grid_patterns_map_coordinates_as_specified() {
    let topology = torus(&[8, 8]);
    let from = 2 + 8;
    let to = |pairs: &Pairs| {
        let all = take(pairs, &topology, false, 64);
        all.iter().find(|pair| pair.0 == from).unwrap().1
    };
    assert_eq!(to(&BIT_COMPLEMENT), 5 + 8 * 6);
    assert_eq!(to(&TRANSPOSE), 1 + 8 * 2);
    assert_eq!(to(&Pairs::Tornado), 5 + 8);
    assert_eq!(to(&Pairs::Stride { by: 3 }), 13);
    let mut near = take(&Pairs::NearestNeighbour, &topology, false, 256);
    near.retain(|pair| pair.0 == from);
    near.sort_unstable();
    assert_eq!(near, [2, 9, 11, 18].map(|to| (from, to)));
}

#[test]
fn transpose_rotates_three_coordinates_and_skips_the_diagonal() {
    let pairs = take(&TRANSPOSE, &torus(&[4, 4, 4]), false, 60);
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
        error(&Pairs::NearestNeighbour, &star),
        "the nearest-neighbour pattern needs a torus or mesh with all links up"
    );
    assert_eq!(
        error(&TRANSPOSE, &torus(&[4, 3])),
        "all dimensions must have the same size for the transpose pattern (got [4, 3])"
    );
    assert_eq!(
        error(&Pairs::Stride { by: 4 }, &star),
        "the stride pattern has no pair of different hosts on this topology, so nothing is sent"
    );
    let listed = |src, dst| Pairs::Listed(vec![(NodeId(src), NodeId(dst))]);
    assert_eq!(error(&listed(0, 4), &star), "node 4 is not a host of the topology");
    assert_eq!(error(&listed(0, 9), &star), "node 9 is not a host of the topology");
    assert_eq!(error(&listed(3, 3), &star), "node 3 cannot send to itself");
    assert!(
        error(&Pairs::Permutation { fraction: 1.5, times: 1 }, &star)
            .contains("fraction must be more than 0 and at most 1 (got 1.5)")
    );
    assert!(error(&Pairs::Incast { senders: 4, receiver: None }, &star).contains("(got 4)"));
    assert!(error(&Pairs::Uniform, &crate::testing::star(1)).contains("has 1"));
}

const TEN_GBPS: [u64; 3] = [10_000; 3];

fn each(pairs: &Pairs, topology: &Topology, seed: u64) -> Vec<(u32, u32)> {
    let pairs = pairs.each(topology, &mut Stream::new(seed, 0, "test")).unwrap();
    pairs.into_iter().map(|(src, dst)| (src.0, dst.0)).collect()
}

fn inter_pod(pods: &[u32], from: &[u32]) -> Pairs {
    Pairs::InterPod { pods: pods.to_vec(), from: from.to_vec() }
}

#[test]
fn inter_pod_covers_all_pairs_of_different_pods_evenly() {
    // The topology has 3 pods. Each pod has one rack of 2 hosts.
    let topology = clos([3, 1, 1, 1, 2], TEN_GBPS);
    let mut counts = [[0_u32; 6]; 6];
    for (src, dst) in take(&inter_pod(&[], &[]), &topology, true, 48_000) {
        counts[src as usize][dst as usize] += 1;
    }
    for (src, row) in counts.iter().enumerate() {
        for (dst, &n) in row.iter().enumerate() {
            assert!(if src / 2 == dst / 2 { n == 0 } else { n.abs_diff(2_000) < 200 }, "{counts:?}");
        }
    }
    assert_eq!(each(&inter_pod(&[], &[]), &topology, 1).len(), 24);
    let mut between = each(&inter_pod(&[2, 0], &[]), &topology, 1);
    between.sort_unstable();
    assert_eq!(between, [(0, 4), (0, 5), (1, 4), (1, 5), (4, 0), (4, 1), (5, 0), (5, 1)]);
    let mut sent = each(&inter_pod(&[2, 0], &[2]), &topology, 1);
    sent.sort_unstable();
    assert_eq!(sent, [(4, 0), (4, 1), (5, 0), (5, 1)]);
}

#[test]
fn stride_by_a_pod_and_all_to_all_have_the_defined_pairs() {
    let topology = clos(BASELINE, TEN_GBPS);
    let stride = each(&Pairs::Stride { by: 36 }, &topology, 1);
    assert!(stride.len() == 432 && stride.iter().all(|(src, dst)| *dst == (src + 36) % 432));
    let mut all = each(&Pairs::AllToAll, &star(4), 1);
    all.sort_unstable();
    all.dedup();
    assert!(all.len() == 12 && all.iter().all(|(src, dst)| src != dst));
}

proptest! {
    #[test]
    fn patterns_of_pods_keep_to_other_pods(
        pods in 1..6_u32, racks in 1..4_u32, hosts in 1..5_u32, seed: u64
    ) {
        // If there is only one pod, the racks count as pods.
        let (racks, cores) = if pods == 1 { (racks + 1, 0) } else { (racks, 1) };
        let topology = clos([pods, racks, 1, cores, hosts], TEN_GBPS);
        let pod = if pods == 1 { hosts } else { racks * hosts };
        for pairs in [Pairs::Bijection, Pairs::RandomOtherPod] {
            let list = each(&pairs, &topology, seed);
            prop_assert!(list.iter().all(|(src, dst)| src / pod != dst / pod), "{:?} {:?}", pairs, list);
            prop_assert!(list.iter().map(|pair| pair.0).eq(0..pods * racks * hosts));
            if pairs == Pairs::Bijection {
                let mut to: Vec<u32> = list.iter().map(|pair| pair.1).collect();
                to.sort_unstable();
                prop_assert!(to.into_iter().eq(0..pods * racks * hosts));
            }
        }
    }
}

/// Finding a bijection by rejection would take e^38 draws here (specifications/expeditus.md §8.10). All pods
/// except the host's own pod are equally likely as destinations.
#[test]
fn bijections_of_the_baseline_spread_over_all_other_pods() {
    let topology = clos(BASELINE, TEN_GBPS);
    let mut counts = [0_u32; 12];
    for seed in 0..50 {
        for (src, dst) in each(&Pairs::Bijection, &topology, seed) {
            counts[((dst / 36 + 12 - src / 36) % 12) as usize] += 1;
        }
    }
    let expected = 50 * 432 / 11;
    assert!(counts[0] == 0 && counts[1..].iter().all(|n| n.abs_diff(expected) < 200), "{counts:?}");
    // Without swaps of destinations, each host would send to a host at its own position in another pod.
    let places =
        each(&Pairs::Bijection, &topology, 1).iter().filter(|(src, dst)| src % 36 == dst % 36).count();
    assert!(places < 40, "{places} of 432 keep their place");
}

#[test]
fn staggered_hosts_stay_as_near_as_asked_for() {
    let topology = clos(BASELINE, TEN_GBPS);
    let mut near = [0_u32; 3];
    for seed in 0..50 {
        for (src, dst) in each(&Pairs::Staggered { edge: 0.2, pod: 0.3, times: 1 }, &topology, seed) {
            assert_ne!(src, dst);
            near[if src / 6 == dst / 6 {
                0
            } else if src / 36 == dst / 36 {
                1
            } else {
                2
            }] += 1;
        }
    }
    for (count, expected) in near.into_iter().zip([4_320, 6_480, 10_800]) {
        assert!(count.abs_diff(expected) < 300, "{near:?}");
    }
    let leaf_spine = clos([1, 4, 2, 0, 4], TEN_GBPS);
    let racks = each(&Pairs::Staggered { edge: 1.0, pod: 0.0, times: 3 }, &leaf_spine, 1);
    assert!(racks.iter().all(|(src, dst)| src / 4 == dst / 4));
    let senders = racks.iter().map(|(src, _)| *src);
    assert!(senders.eq((0..16).cycle().take(48)), "each draw has each host once");
    assert!(racks[..16] != racks[16..32] && racks[16..32] != racks[32..], "draws are independent");
}

#[test]
fn synchronised_incast_is_each_pair_of_one_receiver() {
    let topology = clos(BASELINE, TEN_GBPS);
    let incast = each(&Pairs::Incast { senders: 40, receiver: None }, &topology, 1);
    let senders: std::collections::BTreeSet<_> = incast.iter().map(|pair| pair.0).collect();
    assert!(senders.len() == 40 && !senders.contains(&incast[0].1));
    assert!(incast.iter().all(|pair| pair.1 == incast[0].1));
}

#[test]
fn impossible_patterns_of_pods_are_refused() {
    let tree = clos([3, 2, 1, 1, 2], TEN_GBPS);
    let one_host_racks = clos([3, 1, 1, 1, 1], TEN_GBPS);
    let staggered = |edge, pod| Pairs::Staggered { edge, pod, times: 1 };
    let cases = [
        (Pairs::Bijection, star(4), "the bijection pattern needs a Clos network with all links up"),
        (
            Pairs::RandomOtherPod,
            clos([1, 1, 1, 0, 4], TEN_GBPS),
            "the random-other-pod pattern needs at least 2 pods, or at least 2 leaves of a leaf-spine",
        ),
        (
            inter_pod(&[0, 3], &[]),
            tree.clone(),
            "the pod must be a pod of the topology, counted from 0 (got 3)",
        ),
        (inter_pod(&[1], &[]), tree.clone(), "the number of pods must be at least 2 (got 1)"),
        (
            inter_pod(&[1, 1], &[]),
            tree.clone(),
            "the pod must be named only once in the list of pods (got 1)",
        ),
        (
            inter_pod(&[0, 2], &[0, 1]),
            tree.clone(),
            "the sending pod must be one of the pods that take part (got 1)",
        ),
        (
            staggered(0.6, 0.5),
            tree,
            "the sum of staggered probabilities must be at most 1, and each probability at least 0 (got 1.1)",
        ),
        (
            staggered(0.1, 0.0),
            one_host_racks.clone(),
            "the staggered probability within the rack must be 0 if racks have only one host (got 0.1)",
        ),
        (
            staggered(0.0, 0.1),
            one_host_racks,
            "the staggered probability within the pod must be 0 if pods have only one rack (got 0.1)",
        ),
        (Pairs::AllToAll, torus(&[100, 100]), "the number of pairs must be at most 2^26 (got 99990000)"),
    ];
    for (pairs, topology, expected) in cases {
        assert_eq!(error(&pairs, &topology), expected);
    }
}
