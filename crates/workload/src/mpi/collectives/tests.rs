use super::{Group, binomial, bruck, dissemination, pairwise, recursive_doubling, ring};
use crate::mpi::step::Steps;
use crate::mpi::testing::{play, sent};
use std::collections::BTreeSet;

const SIZES: [u32; 9] = [1, 2, 3, 4, 5, 7, 8, 12, 16];

fn all(ranks: u32) -> Vec<BTreeSet<u32>> {
    vec![(0..ranks).collect(); ranks as usize]
}

/// Returns a function that runs a collective among a given number of ranks, and returns the result of [`play`].
fn everybody(steps: impl Fn(Group) -> Steps) -> impl Fn(u32) -> Vec<BTreeSet<u32>> {
    move |ranks| play(ranks, |rank| steps(Group::world(rank, ranks)))
}

#[test]
fn every_rank_receives_the_data_of_every_rank() {
    let collectives: [fn(Group) -> Steps; 8] = [
        |group| Box::new(dissemination::barrier(group)),
        |group| Box::new(recursive_doubling::allreduce(group, 100)),
        |group| Box::new(ring::allreduce(group, 100)),
        |group| Box::new(ring::allgather(group, 100)),
        |group| Box::new(bruck::allgather(group, 100)),
        |group| Box::new(bruck::alltoall(group, 100)),
        |group| Box::new(pairwise::alltoall(group, 100)),
        |group| {
            let second = binomial::broadcast(group, 0, 100);
            Box::new(binomial::reduce(group, 0, 100).chain(second))
        },
    ];
    for (i, collective) in collectives.into_iter().enumerate() {
        for ranks in SIZES {
            assert_eq!(everybody(collective)(ranks), all(ranks), "collective {i} of {ranks}");
        }
    }
    for ranks in [1, 2, 4, 8, 16] {
        let doubling = everybody(|group| Box::new(recursive_doubling::allgather(group, 100)));
        assert_eq!(doubling(ranks), all(ranks));
    }
}

#[test]
fn trees_lead_to_and_from_any_root() {
    for ranks in SIZES {
        for root in 0..ranks {
            let down: [fn(Group, u32) -> Steps; 2] = [
                |group, root| Box::new(binomial::broadcast(group, root, 5)),
                |group, root| Box::new(binomial::scatter(group, root, 5)),
            ];
            for tree in down {
                let heard = play(ranks, |rank| tree(Group::world(rank, ranks), root));
                assert!(heard.iter().all(|heard| heard.contains(&root)), "{heard:?}");
            }
            let up: [fn(Group, u32) -> Steps; 2] = [
                |group, root| Box::new(binomial::reduce(group, root, 5)),
                |group, root| Box::new(binomial::gather(group, root, 5)),
            ];
            for tree in up {
                let heard = play(ranks, |rank| tree(Group::world(rank, ranks), root));
                assert_eq!(heard[root as usize], (0..ranks).collect(), "to {root}");
            }
        }
    }
}

/// In a gather or a scatter, each member's data travel once along every tree edge between the member and the root. In a
/// reduction, one message travels along every edge. The test compares the total number of bytes that all members send.
#[test]
fn gathering_moves_each_share_once_an_edge() {
    for ranks in SIZES {
        let depths: u64 = (0..ranks).map(|rank| u64::from(rank.count_ones())).sum();
        let total = |steps: fn(Group) -> Steps| -> u64 {
            (0..ranks).map(|rank| sent(steps(Group::world(rank, ranks))).1).sum()
        };
        assert_eq!(total(|group| Box::new(binomial::gather(group, 0, 7))), 7 * depths);
        assert_eq!(total(|group| Box::new(binomial::scatter(group, 0, 7))), 7 * depths);
        assert_eq!(total(|group| Box::new(binomial::reduce(group, 0, 7))), 7 * u64::from(ranks - 1));
    }
}

#[test]
fn messages_and_bytes_of_a_member_are_those_of_the_algorithm() {
    let member = |rank, ranks| Group::world(rank, ranks);
    assert_eq!(sent(Box::new(dissemination::barrier(member(3, 12)))), (4, 4));
    assert_eq!(sent(Box::new(recursive_doubling::allreduce(member(5, 8), 100))), (3, 300));
    // With 12 members, the first 8 members are folded into 4, so 8 members take part in the exchanges.
    assert_eq!(sent(Box::new(recursive_doubling::allreduce(member(2, 12), 100))), (1, 100));
    assert_eq!(sent(Box::new(recursive_doubling::allreduce(member(3, 12), 100))), (4, 400));
    assert_eq!(sent(Box::new(recursive_doubling::allreduce(member(9, 12), 100))), (3, 300));
    assert_eq!(sent(Box::new(ring::allreduce(member(5, 8), 1000))), (14, 2 * 7 * 125));
    assert_eq!(sent(Box::new(ring::allgather(member(5, 8), 100))), (7, 700));
    assert_eq!(sent(Box::new(recursive_doubling::allgather(member(5, 8), 100))), (3, 700));
    assert_eq!(sent(Box::new(bruck::allgather(member(5, 12), 100))), (4, 1100));
    assert_eq!(sent(Box::new(bruck::alltoall(member(5, 8), 100))), (3, 1200));
    assert_eq!(sent(Box::new(pairwise::alltoall(member(5, 12), 100))), (11, 1100));
}

/// In each of 12 rounds, the 7 members together send all 1,000 bytes, although 1,000 is not
/// divisible by 7.
#[test]
fn the_parts_on_a_ring_add_up_to_the_whole_message() {
    let total: u64 = (0..7).map(|rank| sent(Box::new(ring::allreduce(Group::world(rank, 7), 1000))).1).sum();
    assert_eq!(total, 2 * 6 * 1000);
}

#[test]
fn a_row_of_a_grid_is_a_group() {
    let row = Group::every(1, 8, 4, 2);
    let column = Group::every(4, 2, 3, 2);
    assert_eq!([row.rank(0), row.rank(row.me()), row.after(2), row.before(3)], [8, 10, 8, 11]);
    assert_eq!([column.rank(0), column.rank(column.me()), column.after(1), column.before(1)], [2, 10, 2, 6]);
}
