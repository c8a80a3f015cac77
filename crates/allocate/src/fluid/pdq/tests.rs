//! Worked examples, and comparison of the maintained schedule with the schedule computed from scratch.

use super::*;
use crate::fluid::run::{Job, run, time};
use proptest::prelude::*;
use raddle_core::Duration;

/// Shortest remaining time first, without any other option.
const PLAIN: Rules = Rules {
    measure: Measure::Remaining,
    gives_up: false,
    probing: Probing::Free,
    probe_bits: 320.0,
    least_share: 0.01,
};

/// Runs jobs on links, checks all rates, and returns the time at which each job ends, in seconds; `None` for a job that
/// gives up.
fn ends(links: &[f64], rules: Rules, jobs: &[Job]) -> Vec<Option<f64>> {
    run(&mut Criticality::new(links, rules), jobs, is_right)
}

/// Checks that the rates equal the rates computed from scratch, and that as many flows wait at links as are paused.
fn is_right(policy: &Criticality, now: Time, rates: &[f64]) {
    let largest = policy.links.iter().map(|link| link.line_bps).fold(0.0, f64::max);
    for (slot, expected) in reference::rates(policy, now).into_iter().enumerate().take(rates.len()) {
        let rate = rates[slot];
        assert_eq!(policy.flows[slot].live, !rate.is_nan(), "exactly the used slots must have a rate");
        if !rate.is_nan() {
            assert!(
                (rate - expected).abs() <= 1e-9 * largest,
                "slot {slot} at {now}: {rate}, not {expected}"
            );
        }
    }
    let waiting: usize = policy.links.iter().map(|link| link.waiting.len()).sum();
    let paused = policy.flows.iter().filter(|flow| flow.live && flow.granted_bps == 0.0).count();
    assert_eq!(waiting, paused, "each flow that does not send must wait at one link");
}

fn assert_ends(links: &[f64], rules: Rules, jobs: &[Job], expected: &[f64]) {
    let ends = ends(links, rules, jobs);
    for (end, expected) in ends.iter().zip(expected) {
        let end = end.expect("complete");
        assert!((end - expected).abs() < 1e-6, "{ends:?} for {expected:?}");
    }
}

#[test]
fn oracle_13_6_three_flows_share_a_unit_link() {
    let jobs = [(1.0, 1.0), (2.0, 4.0), (3.0, 6.0)].map(|(size, due)| Job::new(size, &[0]).due(due));
    assert_ends(&[1.0], PLAIN, &jobs, &[1.0, 3.0, 6.0]);
    let jobs = [1.0, 2.0, 3.0].map(|size| Job::new(size, &[0]));
    assert_ends(&[1.0], Rules::default(), &[jobs[0].clone()], &[1.0]);
    assert_ends(&[1.0], PLAIN, &jobs, &[1.0, 3.0, 6.0]);
    let reversed = [3.0, 2.0, 1.0].map(|size| Job::new(size, &[0]));
    assert_ends(&[1.0], PLAIN, &reversed, &[6.0, 3.0, 1.0]);
}

/// One of ten flows sends, and nine paused flows probe once per round trip of 1 us. Without a limit, their probes of
/// 320 bits would need 2.88 Gbps, and the link has 1 Gbps.
#[test]
fn probes_leave_half_of_a_link() {
    let job = || Job { rtt: Duration::from_us(1), ..Job::new(1e6, &[0]) };
    let jobs: Vec<Job> = (0..10).map(|_| job()).collect();
    let rules = Rules { probing: Probing::EveryRtt, ..Rules::default() };
    let ends = ends(&[1e9], rules, &jobs);
    assert!((ends[0].expect("complete") - 2e-3).abs() < 1e-6, "{ends:?}");
    assert!(ends.iter().all(|end| end.is_some_and(|end| end <= 20e-3)), "{ends:?}");
}

#[test]
fn oracle_13_5_flows_of_a_chain_send_in_parallel_on_disjoint_links() {
    // F1 uses link 0, F2 uses links 0 and 1, and F3 uses link 1. When F1 ends, F3 has fewer bits left than F2.
    let jobs = [Job::new(8e6, &[0]), Job::new(12e6, &[0, 1]), Job::new(16e6, &[1])];
    assert_ends(&[1e9, 1e9], PLAIN, &jobs, &[0.008, 0.028, 0.016]);
}

#[test]
fn a_more_critical_flow_takes_over_at_once() {
    // specifications/pdq.md §13, oracle 4, without latencies: a flow of 4 MB starts at time 0, and a flow of
    // 100 KB starts at 5 ms.
    let jobs = [Job::new(32e6, &[0]), Job::new(0.8e6, &[0]).at(0.005)];
    assert_ends(&[1e9], PLAIN, &jobs, &[0.0328, 0.0058]);
}

#[test]
fn deadlines_come_before_sizes() {
    let jobs = [Job::new(1.0, &[0]), Job::new(5.0, &[0]).due(9.0), Job::new(1.0, &[0]).due(10.0)];
    assert_ends(&[1.0], PLAIN, &jobs, &[7.0, 5.0, 6.0]);
}

#[test]
fn a_faster_flow_passes_a_slower_one_on_a_common_link() {
    let links = [3.0, 1.0];
    let mut slow = Job::new(4.0, &[0]);
    slow.demand_bps = 2.0;
    let mut fast = Job::new(2.0, &[0]);
    fast.demand_bps = 1.0;
    // Each flow takes 2 s if it is alone. The first flow is more critical because it arrived first. Both
    // flows get their maximum rates.
    assert_ends(&links, PLAIN, &[slow, fast], &[2.0, 2.0]);
    // A has 8 bits left. A sends at 1 bit/s instead of 4 bit/s, because the more critical X takes 3 of 4
    // bit/s on link 0. B has 9 bits left on link 1.
    let links = [4.0, 4.0];
    let x = Job { demand_bps: 3.0, ..Job::new(3.0, &[0]) };
    let a = Job::new(8.0, &[0, 1]);
    let b = Job::new(9.0, &[1]);
    // X ends at 1 s. At first, A sends at 1 bit/s and B at 3 bit/s. At time t, A would need 2 - t/4 s if it were alone,
    // and B would need 2.25 - 3t/4 s. These times are equal at t = 0.5 s. Then B overtakes A and sends its remaining
    // 7.5 bits at 4 bit/s while A waits. After that, A sends its remaining 7.5 bits at 4 bit/s.
    assert_ends(&links, PLAIN, &[x, a, b], &[1.0, 2.375 + 7.5 / 4.0, 2.375]);
}

#[test]
fn flows_give_up_when_they_cannot_make_it_alone() {
    // The second flow needs 4 s even if it is alone on the link. At 2 s it still waits for the first flow, so it can no
    // longer meet its deadline at 6 s and gives up.
    let jobs = [Job::new(3.0, &[0]).due(3.5), Job::new(4.0, &[0]).due(6.0)];
    let rules = Rules { gives_up: true, ..PLAIN };
    let mut given_up_at = None;
    let mut policy = Criticality::new(&[1.0], rules);
    let ends = run(&mut policy, &jobs, |policy, now, rates| {
        is_right(policy, now, rates);
        if policy.vacant == [1] && given_up_at.is_none() {
            given_up_at = Some(now);
        }
    });
    assert_eq!(ends[1], None);
    assert!((ends[0].expect("complete") - 3.0).abs() < 1e-9);
    let at = given_up_at.expect("the second flow must give up").as_secs_f64();
    assert!((at - 2.0).abs() < 1e-6, "the flow must give up at 6 - 4 s, not at {at} s");
    // specifications/pdq.md §13, oracle 10: 1 MB cannot be sent by 5 ms, so the flow does not start.
    assert_eq!(self::ends(&[1e9], Rules::default(), &[Job::new(8.22e6, &[0]).due(0.005)]), [None]);
}

#[test]
fn probes_of_paused_flows_take_their_share() {
    // specifications/pdq.md §1: a probe of 40 B every 150 us takes 40 * 8 / (150e-6 * 1e9) = 0.213 % of 1
    // Gbps.
    let rate = |probing, count: usize| {
        let mut policy = Criticality::new(&[1e9], Rules { probing, ..PLAIN });
        let jobs: Vec<Job> = (0..count).map(|i| Job::new(1e6 + i as f64, &[0])).collect();
        let mut first = 0.0;
        run(&mut policy, &jobs, |policy, now, rates| {
            is_right(policy, now, rates);
            if now == Time::ZERO {
                first = rates[0];
            }
        });
        1.0 - first / 1e9
    };
    assert!((rate(Probing::EveryRtt, 2) - 0.002_133).abs() < 1e-6);
    assert!((rate(Probing::EveryRtt, 101) - 0.213_3).abs() < 1e-4);
    // specifications/pdq.md §4.3: n = 100 paused flows send about 5 + 5 ln(n/5) = 20 probes per round trip.
    let suppressed = rate(Probing::Suppressed, 101);
    assert!((suppressed / 0.002_133 - 20.0).abs() < 1.5, "{suppressed}");
    assert!(rate(Probing::Free, 101).abs() < 1e-12);
}

#[test]
fn sizes_are_estimated_from_sent_bytes() {
    // A step has 2 bits. First A sends 2 bits. Then B, which has sent nothing, sends 2 bits. Then A continues, because
    // both flows have sent the same number of steps and A arrived first.
    let rules = Rules { measure: Measure::Sent { step_bits: 2.0 }, ..PLAIN };
    assert_ends(&[1.0], rules, &[Job::new(5.0, &[0]), Job::new(3.0, &[0])], &[8.0, 7.0]);
}

#[test]
fn random_criticality_is_drawn_once() {
    let rules = |seed| Rules { measure: Measure::Random { seed }, ..PLAIN };
    let jobs: Vec<Job> = (1..8_u32).map(|size| Job::new(size.into(), &[0])).collect();
    let orders: Vec<Vec<usize>> = (0..4)
        .map(|seed| {
            let ends = ends(&[1.0], rules(seed), &jobs);
            let mut order: Vec<usize> = (0..jobs.len()).collect();
            order.sort_by(|&a, &b| ends[a].expect("complete").total_cmp(&ends[b].expect("complete")));
            order
        })
        .collect();
    assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "{orders:?}");
}

fn job() -> impl Strategy<Value = Job> {
    let row =
        proptest::collection::btree_map(0..6_u32, prop_oneof![3 => Just(1.0_f32), 1 => 0.2..1.0_f32], 1..4);
    let due = prop_oneof![2 => Just(None), 1 => (0.001..0.05_f64).prop_map(Some), 1 => Just(Some(0.03))];
    let demand = prop_oneof![3 => Just(f64::INFINITY), 1 => 1e8..2e9_f64];
    // Some flows have equal sizes or equal arrival times.
    let size = prop_oneof![Just(1e6), 1e5..2e7_f64];
    let arrival = prop_oneof![2 => Just(0.0), 1 => 0.0..0.03_f64];
    (arrival, size, due, demand, 50..400_u64, row).prop_map(
        |(arrival, size_bits, due, demand_bps, rtt, row)| Job {
            arrival: time(arrival),
            size_bits,
            due: due.map_or(Time::NEVER, time),
            demand_bps,
            rtt: Duration::from_us(rtt),
            row: row.into_iter().collect(),
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    let measure = prop_oneof![
        4 => Just(Measure::Remaining),
        1 => any::<u64>().prop_map(|seed| Measure::Random { seed }),
        1 => Just(Measure::Sent { step_bits: 4e5 }),
    ];
    let probing = prop_oneof![Just(Probing::Free), Just(Probing::EveryRtt), Just(Probing::Suppressed)];
    (measure, any::<bool>(), probing).prop_map(|(measure, gives_up, probing)| Rules {
        measure,
        gives_up,
        probing,
        ..PLAIN
    })
}

proptest! {
    /// At every event of a run, all rates equal the rates computed from scratch.
    #[test]
    fn the_schedule_is_that_from_scratch(
        rules in rules(),
        capacities in proptest::collection::vec(prop_oneof![2 => Just(1e9), 1 => 2e8..4e9_f64], 6),
        mut jobs in proptest::collection::vec(job(), 1..24),
    ) {
        jobs.sort_by_key(|job| job.arrival);
        let ends = ends(&capacities, rules, &jobs);
        prop_assert!(rules.gives_up || ends.iter().all(Option::is_some));
    }
}
