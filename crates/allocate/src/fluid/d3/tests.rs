//! Tests worked examples, and compares the rates with both passes of D3 (grants, then shares of the unreserved
//! capacity) computed from scratch.

use super::*;
use crate::fluid::run::{Job, run, time};
use crate::{Allocate, Flows, Reference};
use proptest::prelude::*;

/// Computes both passes (grants, then shares of the unreserved capacity) by their definition from the flows' requests.
/// Returns each flow's slot and its correct rate in bit/s.
fn from_scratch(policy: &Reservation, rows: &[(usize, Vec<(u32, f32)>)]) -> Vec<(usize, f64)> {
    let mut left: Vec<f64> = policy.links.iter().map(|link| policy.bps(link.capacity)).collect();
    let mut live: Vec<&(usize, Vec<(u32, f32)>)> = rows.iter().collect();
    live.sort_by_key(|(slot, _)| policy.flows[*slot].order);
    let mut granted = Vec::new();
    let mut flows = Flows::default();
    for (slot, row) in live {
        let flow = &policy.flows[*slot];
        let fits = row.iter().map(|&(link, share)| left[link as usize].max(0.0) / f64::from(share));
        let asked = if flow.is_urgent() { flow.asked_bps } else { 0.0 };
        let grant = fits.fold(asked, f64::min);
        for &(link, share) in row {
            left[link as usize] -= grant * f64::from(share);
        }
        granted.push((*slot, grant));
        flows.push(1.0, 0, flow.demand_bps - grant, row.iter().copied());
    }
    let mut shares = Vec::new();
    let left: Vec<f64> = left.into_iter().map(|left| left.max(0.0)).collect();
    Reference.allocate(&flows, &left, &mut shares);
    granted.into_iter().zip(shares).map(|((slot, grant), share)| (slot, grant + share)).collect()
}

/// Runs jobs on links. Checks all rates, and checks which flows update their requests. Returns the time at
/// which each job ends, in seconds; `None` for a job that gives up.
fn ends(links: &[f64], jobs: &[Job]) -> Vec<Option<f64>> {
    let largest = links.iter().copied().fold(0.0, f64::max);
    // Flow state at the previous settle, indexed by slot.
    let mut before: Vec<Member> = Vec::new();
    let mut asked_at: Vec<Time> = Vec::new();
    run(&mut Reservation::new(links), jobs, |policy, now, rates| {
        let live: Vec<usize> = (0..rates.len()).filter(|&slot| !rates[slot].is_nan()).collect();
        let rows: Vec<_> = live.iter().map(|&slot| (slot, policy.flows[slot].row.clone())).collect();
        for (slot, expected) in from_scratch(policy, &rows) {
            assert!(
                (rates[slot] - expected).abs() <= 1e-9 * largest,
                "{slot} at {now}: {} {expected}",
                rates[slot]
            );
        }
        let same = |slot: usize| {
            let has = |flows: &[Member]| flows.get(slot).map(|flow| (flow.order, flow.row.clone()));
            has(&before).filter(|flow| !flow.1.is_empty())
                == has(&policy.flows).filter(|flow| !flow.1.is_empty())
        };
        // Links of flows that arrived or left.
        let changed = (0..policy.flows.len()).filter(|&slot| !same(slot));
        let rows = changed.flat_map(|slot| before.get(slot).into_iter().chain([&policy.flows[slot]]));
        let disturbed: Vec<u32> = rows.flat_map(|flow| flow.row.iter().map(|&(link, _)| link)).collect();
        asked_at.resize(policy.flows.len(), Time::ZERO);
        for slot in live.into_iter().filter(|&slot| policy.flows[slot].is_urgent()) {
            let flow = &policy.flows[slot];
            let needs_bps = {
                let mut work = flow.work.clone();
                work.advance(now);
                work.needs_bps()
            };
            let needed = (flow.asked_bps - needs_bps).abs() <= 1e-9 * largest;
            let is_beside = flow.row.iter().any(|(link, _)| disturbed.contains(link));
            assert!(
                needed || !is_beside,
                "slot {slot} at {now}: a flow on a common link came or went, so this flow must update its request"
            );
            if needed || flow.is_steady() {
                asked_at[slot] = now;
            }
            assert!(
                now.since(asked_at[slot]) <= REFRESH,
                "slot {slot} at {now}: the flow must update its request"
            );
        }
        before.clone_from(&policy.flows);
    })
}

#[test]
fn oracle_13_6_the_order_of_arrival_decides() {
    let jobs = [(1.0, 1.0), (2.0, 4.0), (3.0, 6.0)].map(|(size, due)| Job::new(size, &[0]).due(due));
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let ends = ends(&[1.0], &order.map(|job| jobs[job].clone()));
        let met = |job: usize| {
            let at = order.iter().position(|&other| other == job).expect("a permutation");
            ends[at].is_some_and(|end| end <= jobs[job].due.as_secs_f64() + 1e-6)
        };
        match order {
            [0, 1, 2] => assert!(met(0) && met(1) && met(2), "{ends:?}"),
            [0, 2, 1] => assert!(met(0) && !met(1) && met(2), "{ends:?}"),
            _ => assert!(!met(0), "{ends:?}"),
        }
    }
}

#[test]
fn flows_share_the_unreserved_rate() {
    // The link's capacity is 9 bit/s. The first flow reserves 2 bit/s, and each flow gets half of the remaining 7
    // bit/s.
    let mut rates_at_first = None;
    let jobs = [Job::new(4.0, &[0]).due(2.0), Job::new(100.0, &[0])];
    run(&mut Reservation::new(&[9.0]), &jobs, |_, _, rates| {
        rates_at_first.get_or_insert(rates.to_vec());
    });
    assert_eq!(rates_at_first, Some(vec![5.5, 3.5]));
}

#[test]
fn without_deadlines_it_is_max_min() {
    let jobs = [Job::new(4.0, &[0]), Job::new(4.0, &[0, 1]), Job::new(4.0, &[1])];
    let expected = run(&mut crate::MaxMin::new(&[1.0, 3.0]), &jobs, |_, _, _| {});
    assert_eq!(ends(&[1.0, 3.0], &jobs), expected);
}

#[test]
fn a_flow_that_would_need_more_than_there_is_gives_up() {
    // The first flow uses the whole link until 3 s. The second flow needs 2 s even if it is alone, so it
    // cannot meet its deadline at 4 s.
    let jobs = [Job::new(3.0, &[0]).due(3.0), Job::new(2.0, &[0]).due(4.0)];
    assert_eq!(ends(&[1.0], &jobs)[1], None);
    assert_eq!(ends(&[1.0], &[Job::new(3.0, &[0]).due(2.0)]), [None]);
}

/// Returns a flow of 30 bits on the given links. If `urgent` is true, the flow's deadline is at 10 s, so at time 0 the
/// flow asks for 3 bit/s.
fn flow(order: u64, urgent: bool, row: &[(u32, f32)]) -> FluidFlow<'_> {
    FluidFlow {
        order,
        weight: 1.0,
        class: 0,
        demand_bps: f64::INFINITY,
        size_bits: 30.0,
        due: if urgent { time(10.0) } else { Time::NEVER },
        rtt: Duration::from_us(1),
        row,
    }
}

/// Calls `settle` at time 0 and returns the rate that it reports for each flow; `None` if it reports no rate for the
/// flow.
fn settled<const N: usize>(policy: &mut Reservation, flows: [usize; N]) -> [Option<f64>; N] {
    let mut changes = Changes::default();
    policy.settle(Time::ZERO, &mut changes);
    flows.map(|slot| changes.rates.iter().find(|&&(other, _)| other == slot).map(|&(_, rate)| rate))
}

#[test]
fn links_that_slow_down_and_recover_are_reserved_anew() {
    let mut policy = Reservation::new(&[4.0]);
    let row = [(0, 1.0)];
    let urgent = policy.insert(Time::ZERO, flow(0, true, &row));
    let other = policy.insert(Time::ZERO, flow(1, false, &row));
    let rates = |policy: &mut Reservation| settled(policy, [urgent, other]);
    assert_eq!(rates(&mut policy), [Some(3.5), Some(0.5)]);
    policy.set_capacity(Time::ZERO, 0, 3.0);
    assert_eq!(rates(&mut policy), [Some(3.0), Some(0.0)]);
    policy.set_capacity(Time::ZERO, 0, 1.0);
    assert_eq!(rates(&mut policy), [Some(1.0), None]);
    policy.remove(Time::ZERO, urgent);
    assert_eq!(settled(&mut policy, [other]), [Some(1.0)]);
    policy.set_capacity(Time::ZERO, 0, 4.0);
    assert_eq!(settled(&mut policy, [other]), [Some(4.0)]);
}

#[test]
fn grants_on_one_link_change_those_on_the_next() {
    // The first flow uses links 0 and 1, and the other flows use only link 1. The second flow gets the capacity that
    // the first flow leaves on link 1. This capacity also depends on link 0. The third flow has no deadline and gets
    // nothing, because the other flows reserve all of link 1.
    let mut policy = Reservation::new(&[4.0, 4.0]);
    let first = policy.insert(Time::ZERO, flow(0, true, &[(0, 1.0), (1, 1.0)]));
    let second = policy.insert(Time::ZERO, flow(1, true, &[(1, 1.0)]));
    let third = policy.insert(Time::ZERO, flow(2, false, &[(1, 1.0)]));
    let rates = |policy: &mut Reservation| settled(policy, [first, second, third]);
    assert_eq!(rates(&mut policy), [Some(3.0), Some(1.0), None]);
    policy.set_capacity(Time::ZERO, 0, 1.0);
    assert_eq!(rates(&mut policy), [Some(1.0), Some(3.0), None]);
    policy.set_capacity(Time::ZERO, 0, 4.0);
    assert_eq!(rates(&mut policy), [Some(3.0), Some(1.0), None]);
}

fn job() -> impl Strategy<Value = Job> {
    let row =
        proptest::collection::btree_map(0..6_u32, prop_oneof![3 => Just(1.0_f32), 1 => 0.2..1.0_f32], 1..4);
    let due = prop_oneof![1 => Just(None), 2 => (0.001..0.04_f64).prop_map(Some)];
    let demand = prop_oneof![3 => Just(f64::INFINITY), 1 => 1e8..2e9_f64];
    let arrival = prop_oneof![2 => Just(0.0), 1 => 0.0..0.02_f64];
    (arrival, 1e5..2e7_f64, due, demand, row).prop_map(|(arrival, size_bits, due, demand_bps, row)| Job {
        arrival: time(arrival),
        due: due.map_or(Time::NEVER, |due| time(arrival + due)),
        demand_bps,
        row: row.into_iter().collect(),
        ..Job::new(size_bits, &[])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// At every event of a run, all rates equal the rates computed from scratch.
    #[test]
    fn grants_are_those_from_scratch(
        capacities in proptest::collection::vec(prop_oneof![2 => Just(1e9), 1 => 2e8..4e9_f64], 6),
        mut jobs in proptest::collection::vec(job(), 1..16),
    ) {
        jobs.sort_by_key(|job| job.arrival);
        let ends = ends(&capacities, &jobs);
        for (job, end) in jobs.iter().zip(ends) {
            prop_assert!(end.is_some() || job.due != Time::NEVER);
        }
    }
}
