//! Schedulers that know all flows and send without latency or headers: the "Optimal" of PDQ's evaluation
//! (specification of PDQ, §9; Pinedo, Scheduling, algorithm 3.3.1; Schrage 1968 for SRPT).
//!
//! The functions are for one bottleneck, where a flow is a task of size over capacity. [`Omniscient`] is the same as a
//! policy of the flow engine, in any network.

mod policy;

pub use policy::Omniscient;

/// A flow on one bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task {
    /// How long it takes alone, in any unit of time.
    pub work: f64,
    /// When it should be complete, in the same unit; infinity if that does not matter.
    pub due: f64,
}

/// Which of the tasks, all there at time 0, are complete in time when as many are as can be: the others are discarded,
/// and these served in order of their deadlines (Moore and Hodgson). Of tasks that are equal in this, the earlier stay.
#[must_use]
pub fn most_on_time(tasks: &[Task]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|&a, &b| tasks[a].due.total_cmp(&tasks[b].due).then(a.cmp(&b)));
    let mut on_time = vec![false; tasks.len()];
    // The longest of those taken, on top.
    let mut taken = std::collections::BinaryHeap::new();
    let mut end = 0.0;
    for next in order {
        let Task { work, due } = tasks[next];
        on_time[next] = true;
        // The bits of a number that is not negative have its order.
        taken.push((work.to_bits(), next));
        end += work;
        // What rounding adds makes nobody late.
        if end > due * (1.0 + crate::NOTHING)
            && let Some((_, longest)) = taken.pop()
        {
            on_time[longest] = false;
            end -= tasks[longest].work;
        }
    }
    on_time
}

/// The least mean of the times at which tasks are complete that are all there at time 0: the shortest first.
/// 0 if there is none.
#[must_use]
pub fn least_mean_completion(works: &[f64]) -> f64 {
    let mut works = works.to_vec();
    works.sort_by(f64::total_cmp);
    let mut end = 0.0;
    let sum: f64 = works
        .iter()
        .map(|work| {
            end += work;
            end
        })
        .sum();
    sum / works.len().max(1) as f64
}

/// When tasks are complete that come at different times, as (arrival, work) in any order, if the one with the least
/// work left is served: their mean is the least that there is.
#[must_use]
pub fn shortest_remaining_first(tasks: &[(f64, f64)]) -> Vec<f64> {
    let mut arrivals: Vec<usize> = (0..tasks.len()).collect();
    arrivals.sort_by(|&a, &b| tasks[a].0.total_cmp(&tasks[b].0).then(a.cmp(&b)));
    let mut arrivals = arrivals.into_iter().peekable();
    let mut ends = vec![0.0; tasks.len()];
    // By work left, the least first.
    let mut here: Vec<(f64, usize)> = Vec::new();
    let mut now = 0.0_f64;
    loop {
        while let Some(next) = arrivals.next_if(|&next| tasks[next].0 <= now) {
            let work = tasks[next].1;
            here.insert(here.partition_point(|&(left, _)| left <= work), (work, next));
        }
        let until = arrivals.peek().map_or(f64::INFINITY, |&next| tasks[next].0);
        match here.first_mut() {
            Some((left, task)) if now + *left <= until => {
                now += *left;
                ends[*task] = now;
                here.remove(0);
            }
            Some((left, _)) => {
                *left -= until - now;
                now = until;
            }
            None if until.is_finite() => now = until,
            None => return ends,
        }
    }
}

#[cfg(test)]
mod tests;
