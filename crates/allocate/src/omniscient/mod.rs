//! Schedulers that know all flows and send without latency or headers: the "Optimal" of PDQ's evaluation (specification
//! of PDQ, §9; Pinedo, Scheduling, algorithm 3.3.1; Schrage 1968 for SRPT).
//!
//! The functions apply to one bottleneck, on which the work of a flow is its size divided by the capacity.
//! [`Omniscient`] is a policy of the flow engine that combines these schedulers and works in any network.

mod policy;

pub use policy::Omniscient;

/// A flow on a single bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task {
    /// Time that the flow takes alone, in any unit of time.
    pub work: f64,
    /// Deadline of the flow, in the same unit; infinity if it has none.
    pub due: f64,
}

/// Selects a largest possible set of tasks that all meet their deadlines (Moore and Hodgson), and returns for each task
/// whether it is in the set. All tasks are available at time 0. Tasks are accepted in order of deadlines. If a task
/// would then be late, the longest accepted task is discarded. If several accepted tasks are longest, the task with the
/// highest index is discarded. The accepted tasks are served in order of deadlines.
#[must_use]
pub fn most_on_time(tasks: &[Task]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|&a, &b| tasks[a].due.total_cmp(&tasks[b].due).then(a.cmp(&b)));
    let mut on_time = vec![false; tasks.len()];
    // The accepted tasks, the longest at the top.
    let mut taken = std::collections::BinaryHeap::new();
    let mut end = 0.0;
    for next in order {
        let Task { work, due } = tasks[next];
        on_time[next] = true;
        // Non-negative floats have the same order as their bits, read as integers.
        taken.push((work.to_bits(), next));
        end += work;
        // The tolerance keeps rounding errors from making a task late.
        if end > due * (1.0 + crate::NOTHING)
            && let Some((_, longest)) = taken.pop()
        {
            on_time[longest] = false;
            end -= tasks[longest].work;
        }
    }
    on_time
}

/// Returns the smallest possible mean completion time, in the unit of `works`, of tasks that are all available at time
/// 0: the task with the least work is served first. Returns 0 if there are no tasks.
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

/// Returns the time at which each task ends. Of the tasks that have arrived, the task with the least remaining work is
/// always served. A task is (arrival, work), both in the same unit of time. The tasks may be in any order. The mean of
/// the returned times is the smallest possible.
#[must_use]
pub fn shortest_remaining_first(tasks: &[(f64, f64)]) -> Vec<f64> {
    let mut arrivals: Vec<usize> = (0..tasks.len()).collect();
    arrivals.sort_by(|&a, &b| tasks[a].0.total_cmp(&tasks[b].0).then(a.cmp(&b)));
    let mut arrivals = arrivals.into_iter().peekable();
    let mut ends = vec![0.0; tasks.len()];
    // Tasks that have arrived, in ascending order of remaining work.
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
