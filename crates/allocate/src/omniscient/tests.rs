//! Tests against a search over all subsets, worked examples, and the Monte Carlo tables of the specification.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::MaxMin;
use crate::fluid::run::{Job, run};
use proptest::prelude::*;
use raddle_core::Stream;

/// Returns the largest number of tasks that can be on time. Tries all subsets of the tasks, and serves the
/// tasks of each subset in order of deadlines.
fn most_of_all_subsets(tasks: &[Task]) -> u32 {
    let mut order: Vec<Task> = tasks.to_vec();
    order.sort_by(|a, b| a.due.total_cmp(&b.due));
    let on_time = |subset: u32| {
        let mut end = 0.0;
        let chosen = order.iter().enumerate().filter(|&(i, _)| subset >> i & 1 == 1);
        chosen.into_iter().all(|(_, task)| {
            end += task.work;
            end <= task.due
        })
    };
    (0..1_u32 << tasks.len()).filter(|&subset| on_time(subset)).map(u32::count_ones).max().unwrap_or(0)
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    // Whole numbers make sums exact and ties frequent.
    let task = (1..12_u8, 1..40_u8).prop_map(|(work, due)| Task { work: work.into(), due: due.into() });
    proptest::collection::vec(task, 0..=8)
}

proptest! {
    #[test]
    fn no_subset_has_more_on_time(tasks in tasks()) {
        let on_time = most_on_time(&tasks);
        prop_assert_eq!(on_time.iter().filter(|&&yes| yes).count() as u32, most_of_all_subsets(&tasks));
        let mut chosen: Vec<Task> = tasks.iter().zip(&on_time).filter(|(_, yes)| **yes).map(|(task, _)| *task).collect();
        chosen.sort_by(|a, b| a.due.total_cmp(&b.due));
        let mut end = 0.0;
        for task in chosen {
            end += task.work;
            prop_assert!(end <= task.due, "{tasks:?}");
        }
    }

    /// The policy meets as many deadlines as the best subset, although it learns of a flow only when the flow
    /// engine inserts the flow.
    #[test]
    fn the_policy_meets_as_many(tasks in tasks()) {
        let jobs: Vec<Job> = tasks.iter().map(|task| Job::new(task.work, &[0, 1]).due(task.due)).collect();
        let ends = run(&mut Omniscient::new(&[1.0, 2.0]), &jobs, |_, _, _| {});
        let met = ends.iter().zip(&tasks).filter(|(end, task)| end.is_some_and(|end| end <= task.due + 1e-6));
        prop_assert_eq!(met.count() as u32, most_of_all_subsets(&tasks));
    }

    #[test]
    fn the_policy_is_srpt_on_one_link(mut tasks in proptest::collection::vec((0.0..20.0_f64, 0.1..9.0_f64), 1..12)) {
        tasks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let jobs: Vec<Job> = tasks.iter().map(|&(arrival, work)| Job::new(work, &[0]).at(arrival)).collect();
        let ends = run(&mut Omniscient::new(&[1.0]), &jobs, |_, _, _| {});
        for (end, expected) in ends.into_iter().zip(shortest_remaining_first(&tasks)) {
            prop_assert!((end.expect("complete") - expected).abs() < 1e-6);
        }
    }
}

#[test]
fn shortest_remaining_first_interrupts() {
    assert_eq!(
        shortest_remaining_first(&[(0.0, 7.0), (1.0, 2.0), (2.0, 4.0), (20.0, 1.0)]),
        [13.0, 3.0, 7.0, 21.0]
    );
    assert!((least_mean_completion(&[3.0, 1.0, 2.0]) - 10.0 / 3.0).abs() < 1e-12);
    assert!(shortest_remaining_first(&[]).is_empty());
}

/// The flows of specifications/pdq.md §10 on a link of 1 Gbps: sizes are uniform, and deadlines are
/// exponential with a minimum of 3 ms.
struct Queries {
    mean_kb: f64,
    mean_due_ms: f64,
}

impl Queries {
    fn draw(&self, count: usize, stream: &mut Stream) -> Vec<Task> {
        const MS_PER_KB: f64 = 8e-3;
        let mut task = || {
            let work = self.mean_kb * (0.02 + 1.96 * stream.unit()) * MS_PER_KB;
            Task { work, due: stream.exponential(self.mean_due_ms).max(3.0) }
        };
        (0..count).map(|_| task()).collect()
    }

    /// Returns the mean share of flows on time over `DRAWS` draws.
    fn share(&self, count: usize, on_time: impl Fn(&[Task]) -> usize) -> f64 {
        let mut stream = Stream::new(1, count as u64, "test");
        let met: usize = (0..DRAWS).map(|_| on_time(&self.draw(count, &mut stream))).sum();
        met as f64 / (DRAWS * count) as f64
    }
}

const DRAWS: usize = 20_000;

/// Tolerance for the share of flows on time. Between draws, this share has a standard deviation of up to 0.18
/// (25 flows served in order of deadlines). The standard error of the mean is therefore up to 0.0013. The
/// specification's values come from fewer draws and have a larger error.
const NEAR: f64 = 0.006;

/// Returns the number of tasks on time if all tasks are served in order of deadlines and no task is
/// discarded. Many tasks have the minimum deadline. Among tasks with equal deadlines, the shortest task is
/// served first.
fn earliest_due_first(tasks: &[Task]) -> usize {
    let mut order = tasks.to_vec();
    order.sort_by(|a, b| a.due.total_cmp(&b.due).then(a.work.total_cmp(&b.work)));
    let mut end = 0.0;
    let met = order.iter().filter(|task| {
        end += task.work;
        end <= task.due
    });
    met.count()
}

/// Returns the number of tasks on time if all tasks share the capacity equally. Tasks end in order of size.
/// When a task ends, every remaining task has received the same amount of service as this task.
fn fair_sharing(tasks: &[Task]) -> usize {
    let mut order = tasks.to_vec();
    order.sort_by(|a, b| a.work.total_cmp(&b.work));
    let (mut end, mut had) = (0.0, 0.0);
    let mut left = tasks.len();
    let met = order.iter().filter(|task| {
        end += (task.work - had) * left as f64;
        (had, left) = (task.work, left - 1);
        end <= task.due
    });
    met.count()
}

fn optimum(tasks: &[Task]) -> usize {
    most_on_time(tasks).into_iter().filter(|&yes| yes).count()
}

/// Returns the largest number of tasks on time if packet headers take capacity, and if set-up and
/// acknowledgement add 0.37 ms to each flow (specifications/pdq.md §13, oracle 13).
fn optimum_after_start_up(tasks: &[Task]) -> usize {
    const LATENCY_MS: f64 = 0.37;
    const EFFICIENCY: f64 = 1_460.0 / 1_500.0;
    let late = |task: &Task| Task { work: task.work / EFFICIENCY, due: task.due - LATENCY_MS };
    optimum(&tasks.iter().map(late).collect::<Vec<_>>())
}

#[test]
fn oracle_13_12_moore_hodgson_by_monte_carlo() {
    let queries = Queries { mean_kb: 100.0, mean_due_ms: 20.0 };
    let table = [
        (5, [0.998, 0.998, 0.906]),
        (10, [0.990, 0.986, 0.778]),
        (15, [0.979, 0.961, 0.683]),
        (20, [0.964, 0.916, 0.602]),
        (25, [0.948, 0.843, 0.536]),
    ];
    for (count, expected) in table {
        let measured = [optimum, earliest_due_first, fair_sharing].map(|how| queries.share(count, how));
        for (measured, expected) in measured.iter().zip(expected) {
            assert!((measured - expected).abs() < NEAR, "{count} flows: {measured}, not {expected}");
        }
    }
}

#[test]
fn oracle_13_13_flows_at_99_percent() {
    // At the specification's number of flows, the share of flows on time is close to 0.99. With `margin`
    // flows fewer, the share is at least 0.99. With `margin` flows more, the share is below 0.99.
    type OnTime = fn(&[Task]) -> usize;
    let optima =
        [(optimum as OnTime, [10, 17, 25, 34, 44]), (optimum_after_start_up as OnTime, [7, 12, 18, 26, 35])];
    for (how, numbers) in optima {
        for (mean_due_ms, flows) in [20.0, 30.0, 40.0, 50.0, 60.0].into_iter().zip(numbers) {
            let queries = Queries { mean_kb: 100.0, mean_due_ms };
            let margin = 1 + flows / 10;
            let [fewer, more] = [flows - margin, flows + margin].map(|count| queries.share(count, how));
            assert!(fewer >= 0.99, "{mean_due_ms} ms: {flows} flows are too many, {fewer}");
            assert!(more < 0.99, "{mean_due_ms} ms: {flows} flows are too few, {more}");
        }
    }
    for (mean_due_ms, flows) in [(20.0, 2), (30.0, 2), (40.0, 2), (50.0, 3), (60.0, 3)] {
        let queries = Queries { mean_kb: 100.0, mean_due_ms };
        assert!(
            queries.share(flows, fair_sharing) >= 0.985 && queries.share(flows + 1, fair_sharing) < 0.995
        );
    }
}

#[test]
fn oracle_13_14_three_flows_of_growing_size() {
    for (mean_kb, expected) in [(100.0, [1.000, 0.976]), (200.0, [0.975, 0.862]), (350.0, [0.893, 0.745])] {
        let queries = Queries { mean_kb, mean_due_ms: 20.0 };
        let measured = [optimum, fair_sharing].map(|how| queries.share(3, how));
        for (measured, expected) in measured.iter().zip(expected) {
            assert!((measured - expected).abs() < NEAR, "{mean_kb} KB: {measured}, not {expected}");
        }
    }
}

#[test]
fn oracle_13_11_fair_sharing_over_shortest_first() {
    // If the sizes of n flows are uniform in [0, 2m], shortest first has a mean completion time of m (n + 2) / 3. The
    // mean completion time of fair sharing is (2n + 1) / (n + 2) times as long.
    const SETS: usize = 400;
    for (count, expected) in [(1, 1.0), (3, 1.40), (5, 1.57), (10, 1.75), (25, 1.89)] {
        let mut stream = Stream::new(2, count, "test");
        let (mut shared, mut shortest) = (0.0, 0.0);
        for _ in 0..SETS {
            let works: Vec<f64> = (0..count).map(|_| stream.unit() * 2.0 + 1e-9).collect();
            let jobs: Vec<Job> = works.iter().map(|&work| Job::new(work, &[0])).collect();
            let ends = run(&mut MaxMin::new(&[1.0]), &jobs, |_, _, _| {});
            shared += ends.into_iter().map(|end| end.expect("complete")).sum::<f64>() / count as f64;
            shortest += least_mean_completion(&works);
        }
        // Within one set of flows, the ratio of the mean completion times of fair sharing and of shortest first is
        // almost always within 0.3 of its mean, because both times depend on the same sizes. Over 400 sets, the
        // standard error of the ratio is therefore at most 0.3 / 20. The mean completion time of shortest first has a
        // relative standard deviation of at most 0.6 (with one flow).
        assert!((shared / shortest - expected).abs() < 0.03, "{count}: {}", shared / shortest);
        let mean = (count as f64 + 2.0) / 3.0;
        assert!((shortest / SETS as f64 / mean - 1.0).abs() < 0.12, "{count}: {shortest}");
    }
}
