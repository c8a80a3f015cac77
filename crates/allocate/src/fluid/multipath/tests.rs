//! Worked examples, and properties that hold for all flows.

use super::*;
use crate::Probing;
use crate::fluid::run::{Job, run, time};
use proptest::prelude::*;

const PLAIN: Rules = Rules {
    measure: crate::Measure::Remaining,
    gives_up: true,
    probing: Probing::Free,
    probe_bits: 320.0,
    least_share: 0.01,
};

/// Start node of each link: links 0 to 3 start at node 0, and each later link starts at a different node.
const FROM: [u32; 8] = [0, 0, 0, 0, 1, 2, 3, 4];

fn ends(links: &[f64; 8], jobs: &[Job]) -> Vec<Option<f64>> {
    run(&mut Subflows::new(links, FROM.to_vec(), PLAIN), jobs, |_, _, _| {})
}

fn assert_ends(jobs: &[Job], expected: &[f64]) {
    let ends = ends(&[1.0; 8], jobs);
    for (end, expected) in ends.iter().zip(expected) {
        assert!((end.expect("complete") - expected).abs() < 1e-6, "{ends:?} for {expected:?}");
    }
}

#[test]
fn a_flow_alone_has_all_its_paths() {
    assert_ends(&[Job::new(6.0, &[0, 4, 1, 5, 2, 6])], &[2.0]);
    // Two subflows that both use link 0 send no faster together than one subflow.
    assert_ends(&[Job::new(6.0, &[0, 4, 0, 5])], &[6.0]);
}

#[test]
fn bytes_of_paused_subflows_go_to_a_sending_subflow() {
    // The short flow uses link 1 until 1 s. The long flow sends all of its 6 bits on link 0, even after link
    // 1 becomes idle.
    assert_ends(&[Job::new(6.0, &[0, 1]), Job::new(1.0, &[1])], &[6.0, 1.0]);
    // If short flows occupy both links, both subflows of the long flow keep their bits until one link is free.
    assert_ends(&[Job::new(6.0, &[0, 1]), Job::new(1.0, &[1]), Job::new(2.0, &[0])], &[7.0, 1.0, 2.0]);
}

#[test]
fn subflows_of_unlike_paths_end_apart() {
    let mut links = [1.0; 8];
    links[1] = 0.5;
    // Each subflow sends 3 bits: one subflow at 1 bit/s, the other subflow at 1/2 bit/s.
    let ends = ends(&links, &[Job::new(6.0, &[0, 1])]);
    assert!((ends[0].expect("complete") - 6.0).abs() < 1e-6, "{ends:?}");
}

#[test]
fn a_deadline_counts_all_paths_together() {
    // Sending 6 bits by 3.5 s needs two paths of 1 bit/s.
    assert_eq!(ends(&[1.0; 8], &[Job::new(6.0, &[0]).due(3.5)]), [None]);
    let ends_of = |jobs: &[Job]| ends(&[1.0; 8], jobs);
    assert!(ends_of(&[Job::new(6.0, &[0, 1]).due(3.5)])[0].is_some());
    // A flow with an earlier deadline uses one of the two paths at first, so the larger flow would complete at least
    // half a second late.
    let jobs = [Job::new(2.0, &[1]).due(2.0), Job::new(6.0, &[0, 1]).due(3.5)];
    let ends = ends_of(&jobs);
    assert!(ends[0].is_some() && ends[1].is_none(), "{ends:?}");
}

fn job() -> impl Strategy<Value = Job> {
    let path = (0..4_u32, 4..8_u32).prop_map(|(first, second)| [first, second]);
    let row = proptest::collection::vec(path, 1..5).prop_map(|paths| paths.concat());
    let due = prop_oneof![2 => Just(None), 1 => (0.001..0.05_f64).prop_map(Some)];
    let arrival = prop_oneof![2 => Just(0.0), 1 => 0.0..0.03_f64];
    (arrival, 1e5..2e7_f64, due, row).prop_map(|(arrival, size, due, row)| Job {
        arrival: time(arrival),
        due: due.map_or(Time::NEVER, |due| time(arrival + due)),
        ..Job::new(size, &row)
    })
}

proptest! {
    /// Every flow ends or gives up, and no link carries more than its capacity. A flow's rate and its
    /// remaining bits are the sums over its subflows.
    #[test]
    fn flows_end_and_links_are_not_overrun(mut jobs in proptest::collection::vec(job(), 1..16)) {
        jobs.sort_by_key(|job| job.arrival);
        let mut policy = Subflows::new(&[1e9; 8], FROM.to_vec(), PLAIN);
        let ends = run(&mut policy, &jobs, |policy, now, rates| {
            let mut load = [0.0; 8];
            for (slot, &rate) in rates.iter().enumerate().filter(|(_, rate)| !rate.is_nan()) {
                let of_subflows = || policy.flows[slot].subflows.iter();
                let sum: f64 = of_subflows().map(|&of| policy.schedule.rate_bps(of)).sum();
                assert_eq!(rate.to_bits(), sum.to_bits());
                let mut work = policy.flows[slot].work.clone();
                work.advance(now);
                let left: f64 = of_subflows().map(|&of| policy.schedule.remaining_bits(now, of)).sum();
                assert!((work.remaining_bits - left).abs() < 0.1, "{slot} at {now}: {left} bits are left");
                let paused = policy.flows[slot].subflows.iter().any(|&of| policy.schedule.rate_bps(of) == 0.0);
                assert!(!paused || rate == 0.0, "slot {slot} at {now}: paused subflows keep bits");
                for &of in &policy.flows[slot].subflows {
                    for &(link, _) in policy.schedule.row(of) {
                        load[link as usize] += policy.schedule.rate_bps(of);
                    }
                }
            }
            assert!(load.iter().all(|&load| load <= 1e9 * (1.0 + 1e-9)), "{load:?} at {now}");
        });
        for (job, end) in jobs.iter().zip(ends) {
            prop_assert!(end.is_some() || job.due != Time::NEVER);
        }
    }
}
