use super::{Bt, Cg, Class, Ft, Is, Mg};
use crate::mpi::testing::{play, sent};
use crate::mpi::{Amount, Communication, Skeleton};

/// Returns the steps of a rank: the opening, one iteration and the closing.
fn once_round(application: &dyn Communication, rank: u32) -> crate::mpi::Steps {
    let compute = application.compute();
    let opening = application.opening(rank, compute);
    Box::new(opening.chain(application.iteration(rank, compute)).chain(application.closing(rank)))
}

#[test]
fn every_message_meets_its_receive() {
    for bits in [1, 2, 3, 4, 5, 7] {
        let ranks = 1 << bits;
        let applications: [Box<dyn Communication>; 5] = [
            Box::new(Cg::new(Class::S, ranks).unwrap()),
            Box::new(Cg::new(Class::A, ranks).unwrap()),
            Box::new(Ft::new(Class::W, ranks).unwrap()),
            Box::new(Is::new(Class::S, ranks).unwrap()),
            Box::new(Mg::new(Class::W, ranks).unwrap()),
        ];
        for application in applications {
            assert_eq!(application.ranks(), ranks);
            play(ranks, |rank| once_round(&*application, rank));
        }
    }
    for side in [2, 3, 5, 11] {
        let bt = Bt::new(Class::A, side * side).unwrap();
        play(side * side, |rank| once_round(&bt, rank));
    }
}

#[test]
fn ranks_that_a_decomposition_cannot_have_are_refused() {
    for ranks in [0, 1, 3, 48, 1 << 13] {
        assert!(Cg::new(Class::S, ranks).is_err() || ranks == 1 << 13, "{ranks}");
        assert!(Ft::new(Class::S, ranks).is_err(), "{ranks}");
        assert!(Is::new(Class::S, ranks).is_err(), "{ranks}");
        assert!(Bt::new(Class::S, ranks).is_err(), "{ranks}");
    }
    let refusal = Bt::new(Class::A, 128).unwrap_err().to_string();
    assert_eq!(refusal, "the number of ranks must be a square number, at least 4, for BT (got 128)");
}

/// Compares message sizes with values calculated from specifications/cee.md §6.5.
#[test]
fn oracle_6_5_sizes_by_arithmetic() {
    let largest = |application: &dyn Communication| {
        let ranks = 0..application.ranks();
        let sizes = ranks.flat_map(|rank| once_round(application, rank)).flat_map(|step| step.sends);
        sizes.map(|message| message.bytes).max().unwrap()
    };
    assert_eq!(largest(&Cg::new(Class::D, 128).unwrap()), 750_000);
    assert_eq!(largest(&Ft::new(Class::C, 128).unwrap()), 131_072);
    assert_eq!(largest(&Mg::new(Class::C, 128).unwrap()), 135_200);
    assert_eq!(largest(&Bt::new(Class::C, 256).unwrap()), 123_360);
}

/// Checks CG's partners on 8 rows of 16 columns (specifications/cee.md §6.5).
#[test]
fn oracle_6_5_partners_of_cg() {
    let cg = Cg::new(Class::D, 128).unwrap();
    for me in 0..128_u32 {
        let (row, column) = (me / 16, me % 16);
        let in_row = |width: u32| row * 16 + (column + width / 2) % width + column / width * width;
        let transposed = 2 * ((me / 2 % 8) * 8 + me / 2 / 8 % 8) + me % 2;
        let expected = [in_row(2), in_row(4), in_row(8), in_row(16), transposed];
        let vectors = cg.iteration(me, cg.compute()).flat_map(|step| step.sends);
        let partners: Vec<u32> =
            vectors.filter(|message| message.bytes == 750_000).map(|message| message.peer).collect();
        assert_eq!(partners, expected.repeat(26), "{me}");
    }
}

/// With more ranks than planes, FT transposes twice. In each transposition, a rank sends all its points except the part
/// that it keeps.
#[test]
fn pencils_are_transposed_twice() {
    let ft = Ft::new(Class::W, 128).unwrap();
    let points: u64 = 128 * 128 * 32 / 128;
    let bytes = |members: u64| points * 16 / members * (members - 1);
    assert_eq!(sent(ft.opening(5, ft.compute())), (31 + 3, bytes(32) + bytes(4)));
}

#[test]
fn computing_is_all_of_the_time_given_to_it() {
    let applications: [Box<dyn Communication>; 5] = [
        Box::new(Cg::new(Class::A, 16).unwrap()),
        Box::new(Ft::new(Class::A, 16).unwrap()),
        Box::new(Is::new(Class::S, 16).unwrap()),
        Box::new(Mg::new(Class::A, 16).unwrap()),
        Box::new(Bt::new(Class::A, 16).unwrap()),
    ];
    for application in applications {
        let given = application.compute().as_ps() as f64;
        let steps = application.iteration(5, application.compute());
        let computed = steps.map(|step| step.compute.as_ps()).sum::<u64>() as f64;
        assert!((computed / given - 1.0).abs() < 1e-3, "{application:?}: {computed} of {given} ps");
    }
}

/// Compares the skeletons' numbers of messages and bytes with the main loops of recorded runs (tests/recorded.rs
/// compares each pair of ranks). IS changes two keys of the first rank in each iteration. The skeleton does not
/// reproduce these changes, so its bytes differ by 220.
#[test]
fn oracle_6_5_totals_of_recorded_runs() {
    let total = |skeleton, iterations| Skeleton { iterations, ..skeleton }.traffic().total();
    let recorded = |messages, bytes| Amount { messages, bytes };
    let bt = |ranks| total(Skeleton::new(Bt::new(Class::A, ranks).unwrap()), 5);
    assert_eq!(bt(64), recorded(15_360, 221_222_400));
    assert_eq!(bt(121), recorded(39_930, 281_256_000));
    let cg = |ranks| total(Skeleton::new(Cg::new(Class::B, ranks).unwrap()), 2);
    assert_eq!(cg(64), recorded(33_664, 998_565_888));
    assert_eq!(cg(128), recorded(87_552, 1_248_442_368));
    let ft = |ranks| total(Skeleton::new(Ft::new(Class::B, ranks).unwrap()), 20);
    assert_eq!(ft(64), recorded(85_932, 11_098_148_544));
    assert_eq!(ft(128), recorded(343_916, 11_186_249_408));
    let is = |ranks| total(Skeleton::new(Is::new(Class::B, ranks).unwrap()), 10);
    assert_eq!(is(64), recorded(84_480, 1_337_130_260 + 220));
    let mg = |ranks| total(Skeleton::new(Mg::new(Class::B, ranks).unwrap()), 4);
    assert_eq!(mg(64), recorded(35_328, 224_110_592));
    assert_eq!(mg(128), recorded(66_432, 302_303_232));
}
