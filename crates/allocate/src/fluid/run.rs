//! A small flow engine for tests of policies: it updates all flows at each event.

use crate::{Changes, Fluid, FluidFlow};
use raddle_core::{Duration, Time};

/// A flow of a test.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) arrival: Time,
    pub(crate) size_bits: f64,
    pub(crate) due: Time,
    pub(crate) demand_bps: f64,
    pub(crate) rtt: Duration,
    pub(crate) row: Vec<(u32, f32)>,
}

impl Job {
    /// Creates a flow that arrives at time 0 and has no deadline.
    pub(crate) fn new(size_bits: f64, links: &[u32]) -> Self {
        Self {
            arrival: Time::ZERO,
            size_bits,
            due: Time::NEVER,
            demand_bps: f64::INFINITY,
            rtt: Duration::from_us(150),
            row: links.iter().map(|&link| (link, 1.0)).collect(),
        }
    }

    pub(crate) fn at(mut self, seconds: f64) -> Self {
        self.arrival = time(seconds);
        self
    }

    pub(crate) fn due(mut self, seconds: f64) -> Self {
        self.due = time(seconds);
        self
    }
}

/// Converts a number of seconds to a time.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(crate) fn time(seconds: f64) -> Time {
    Time::from_ps((seconds * 1e12).round() as u64)
}

/// A flow that has arrived and has not ended.
struct Live {
    job: usize,
    slot: usize,
    left_bits: f64,
    rate_bps: f64,
}

/// Runs all jobs and returns each job's completion time, in seconds; `None` for jobs that gave up. Jobs are in order of
/// arrival. `check` is called with the policy and the rates of its slots after each settle. The rate of a free slot is
/// NaN.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(crate) fn run<P: Fluid>(
    policy: &mut P,
    jobs: &[Job],
    mut check: impl FnMut(&P, Time, &[f64]),
) -> Vec<Option<f64>> {
    let mut ends = vec![None; jobs.len()];
    let mut live: Vec<Live> = Vec::new();
    let mut rates: Vec<f64> = Vec::new();
    let (mut now, mut next, mut look) = (Time::ZERO, 0, None);
    let mut changes = Changes::default();
    while next < jobs.len() || !live.is_empty() {
        let end =
            |flow: &Live| now + Duration::from_ps((flow.left_bits / flow.rate_bps * 1e12).ceil() as u64);
        let ends_at = live.iter().filter(|flow| flow.rate_bps > 0.0).map(end).min();
        let then = jobs.get(next).map(|job| job.arrival).into_iter().chain(ends_at).chain(look).min();
        let then = then.expect("there must be a next event: an arrival, a flow's end or a policy check");
        assert!(then >= now, "time must not run backward");
        for flow in &mut live {
            flow.left_bits -= flow.rate_bps * then.since(now).as_secs_f64();
        }
        now = then;
        live.retain(|flow| {
            let done = flow.left_bits <= 1e-9 * jobs[flow.job].size_bits;
            if done {
                ends[flow.job] = Some(now.as_secs_f64());
                policy.remove(now, flow.slot);
                rates[flow.slot] = f64::NAN;
            }
            !done
        });
        while let Some(job) = jobs.get(next).filter(|job| job.arrival <= now) {
            let &Job { size_bits, due, demand_bps, rtt, ref row, .. } = job;
            let order = next as u64;
            let flow = FluidFlow { order, weight: 1.0, class: 0, demand_bps, size_bits, due, rtt, row };
            let slot = policy.insert(now, flow);
            rates.resize(rates.len().max(slot + 1), 0.0);
            rates[slot] = 0.0;
            live.push(Live { job: next, slot, left_bits: size_bits, rate_bps: 0.0 });
            next += 1;
        }
        look = policy.settle(now, &mut changes);
        assert!(look.is_none_or(|look| look > now), "the policy's next check must be later than now");
        live.retain(|flow| !changes.given_up.contains(&flow.slot));
        for &slot in &changes.given_up {
            rates[slot] = f64::NAN;
        }
        for &(slot, rate) in &changes.rates {
            assert_ne!(rates[slot].to_bits(), rate.to_bits(), "the policy must report only changed rates");
            rates[slot] = rate;
        }
        changes.clear();
        for flow in &mut live {
            flow.rate_bps = rates[flow.slot];
        }
        check(policy, now, &rates);
    }
    ends
}
