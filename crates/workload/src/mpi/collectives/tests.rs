use super::{Group, binomial, bruck, dissemination, pairwise, recursive_doubling, recursive_halving, ring};
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
    let collectives: [fn(Group) -> Steps; 10] = [
        |group| Box::new(dissemination::barrier(group)),
        |group| Box::new(recursive_doubling::allreduce(group, 100)),
        |group| Box::new(recursive_halving::allreduce(group, 100)),
        |group| Box::new(ring::allreduce(group, 100)),
        |group| Box::new(ring::reduce_scatter(group, 100)),
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
        let halving = everybody(|group| Box::new(recursive_halving::reduce_scatter(group, 100)));
        assert_eq!([doubling(ranks), halving(ranks)], [all(ranks), all(ranks)]);
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
    assert_eq!(sent(Box::new(recursive_halving::allreduce(member(5, 8), 1000))), (6, 2 * (500 + 250 + 125)));
    assert_eq!(sent(Box::new(recursive_halving::allreduce(member(2, 12), 1000))), (1, 1000));
    assert_eq!(sent(Box::new(recursive_halving::allreduce(member(3, 12), 1000))), (7, 1000 + 2 * 875));
    assert_eq!(sent(Box::new(ring::allreduce(member(5, 8), 1000))), (14, 2 * 7 * 125));
    assert_eq!(sent(Box::new(ring::reduce_scatter(member(5, 8), 1000))), (7, 7 * 125));
    assert_eq!(sent(Box::new(recursive_halving::reduce_scatter(member(5, 8), 1000))), (3, 500 + 250 + 125));
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

/// specifications/ai.md §2.6 with four members and one byte a block: first half of the data to the member two places
/// away, a quarter to the neighbour, and back.
#[test]
fn halving_goes_from_far_to_near_and_back() {
    let steps = recursive_halving::allreduce(Group::world(1, 4), 4);
    let sends: Vec<_> = steps.map(|step| (step.sends[0].peer, step.sends[0].bytes)).collect();
    assert_eq!(sends, [(3, 2), (0, 1), (0, 1), (3, 2)]);
}

/// All members but one must hear of each byte of the result, or give their share of it. So n members together send the
/// data n - 1 times in a reduce-scatter, and twice as often in an all-reduce, also if 1,000 is not divisible by n.
#[test]
fn the_parts_by_halving_add_up_to_the_whole_message() {
    let total = |steps: fn(Group) -> Steps, ranks| -> u64 {
        (0..ranks).map(|rank| sent(steps(Group::world(rank, ranks))).1).sum()
    };
    assert_eq!(total(|group| Box::new(recursive_halving::allreduce(group, 1000)), 16), 2 * 15 * 1000);
    assert_eq!(total(|group| Box::new(recursive_halving::reduce_scatter(group, 1000)), 16), 15 * 1000);
    assert_eq!(total(|group| Box::new(ring::reduce_scatter(group, 1000)), 7), 6 * 1000);
}

/// specifications/ai.md §2.2: member r sends block r - k - 1 in step k. Blocks of 100 bytes have 14 or 15 bytes each.
#[test]
fn a_ring_ends_with_each_members_own_part() {
    let last = |me| ring::reduce_scatter(Group::world(me, 7), 100).last().map(|step| step.receives[0].bytes);
    let parts: Vec<_> = (0..7).map(last).collect();
    let own: Vec<_> = (0..7).map(|part| Some(100 * (part + 1) / 7 - 100 * part / 7)).collect();
    assert_eq!(parts, own);
}

/// specifications/ai.md §2.12, for 4 and for 6 members that have 12,000 bytes: the messages of all members, and the bytes
/// that the busiest member sends.
#[test]
fn oracle_2_12_messages_and_bytes() {
    fn share(group: Group, bytes: u64) -> u64 {
        bytes / u64::from(group.size())
    }
    type Row = (fn(Group, u64) -> Steps, [(usize, u64); 2]);
    let rows: [Row; 9] = [
        (|group, bytes| Box::new(ring::allreduce(group, bytes)), [(24, 18_000), (60, 20_000)]),
        (|group, bytes| Box::new(recursive_doubling::allreduce(group, bytes)), [(8, 24_000), (12, 36_000)]),
        (|group, bytes| Box::new(recursive_halving::allreduce(group, bytes)), [(16, 18_000), (20, 30_000)]),
        (|group, bytes| Box::new(ring::reduce_scatter(group, bytes)), [(12, 9_000), (30, 10_000)]),
        (|group, bytes| Box::new(ring::allgather(group, share(group, bytes))), [(12, 9_000), (30, 10_000)]),
        (|group, bytes| Box::new(bruck::allgather(group, share(group, bytes))), [(8, 9_000), (18, 10_000)]),
        (|group, bytes| Box::new(binomial::broadcast(group, 0, bytes)), [(3, 24_000), (5, 36_000)]),
        (
            |group, bytes| Box::new(pairwise::alltoall(group, share(group, bytes))),
            [(12, 9_000), (30, 10_000)],
        ),
        (|group, bytes| Box::new(bruck::alltoall(group, share(group, bytes))), [(8, 12_000), (18, 14_000)]),
    ];
    for (i, (steps, expected)) in rows.into_iter().enumerate() {
        let all = [4, 6].map(|ranks| {
            let members = (0..ranks).map(|rank| sent(steps(Group::world(rank, ranks), 12_000)));
            members.fold((0, 0), |(messages, most), (more, bytes)| (messages + more, most.max(bytes)))
        });
        assert_eq!(all, expected, "row {i}");
    }
}

#[test]
fn a_row_of_a_grid_is_a_group() {
    let row = Group::every(1, 8, 4, 2);
    let column = Group::every(4, 2, 3, 2);
    assert_eq!([row.rank(0), row.rank(row.me()), row.after(2), row.before(3)], [8, 10, 8, 11]);
    assert_eq!([column.rank(0), column.rank(column.me()), column.after(1), column.before(1)], [2, 10, 2, 6]);
}
