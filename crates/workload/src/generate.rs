//! A workload, and the generation of its flows.

use crate::hotspot::in_order;
use crate::pairs::Source;
use crate::per_host::{Draft, check_process};
use crate::{Arrivals, Deadlines, Pairs, Sizes, WorkloadError, facts};
use raddle_core::{Bytes, Duration, Flow, FlowId, Flows, Process, Rate, Stream, Time};
use raddle_topology::Topology;
use std::sync::Arc;

/// The number of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A fixed number of flows.
    Flows(usize),
    /// All flows that start before this time.
    Within(Duration),
    /// One flow for each of the pattern's pairs, in random order.
    OnePerPair,
}

/// A workload: the parameters from which flows are generated.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// The process that gives the start times of flows.
    pub arrivals: Arrivals,
    /// Flow sizes.
    pub sizes: Sizes,
    /// The pairs of senders and receivers.
    pub pairs: Pairs,
    /// The number of flows.
    pub amount: Amount,
    /// The rate at which applications produce the bytes; `None` if all bytes are available at the start.
    pub app_rate: Option<Rate>,
    /// The process by which applications with an `app_rate` produce frames.
    pub process: Process,
    /// Weight of each flow's share of the bandwidth, relative to other flows of its class: 1 to 255.
    pub weight: u8,
    /// Each flow's priority class, 0 to 15. Class 0 is served first.
    pub priority: u8,
    /// Deadlines of the flows.
    pub deadlines: Deadlines,
    /// Flows of this size or more have no deadline; `None` if `deadlines` apply to flows of every size.
    pub deadlines_below: Option<Bytes>,
}

impl Workload {
    /// Creates a workload of `flows` flows over `pairs` as in set-up S (specifications/r2c2.md §10): Poisson
    /// arrivals with a mean gap of 1 us, Pareto sizes with shape 1.05 and mean 100 KB, all bytes available at the
    /// start, one class.
    #[must_use]
    pub fn new(pairs: Pairs, flows: usize) -> Self {
        Self {
            arrivals: Arrivals::Poisson { mean_gap: Duration::from_us(1) },
            sizes: Sizes::Pareto { shape: 1.05, mean: Bytes(100_000) },
            pairs,
            amount: Amount::Flows(flows),
            app_rate: None,
            process: Process::Constant,
            weight: 1,
            priority: 0,
            deadlines: Deadlines::None,
            deadlines_below: None,
        }
    }

    /// Generates the flows, in order of start and numbered in this order.
    ///
    /// # Errors
    /// If a parameter is out of range, two parameters exclude each other, no flow starts in the given time, or the
    /// pairs are impossible on this topology.
    pub fn generate(&self, topology: &Topology, seed: u64) -> Result<Flows, WorkloadError> {
        self.check()?;
        let mut pairs = Stream::new(seed, 0, "workload/pairs");
        let source = self.pairs.source(topology, &mut pairs)?;
        let capacity = self.capacity(topology, &source);
        let gap_ps = self.arrivals.mean_gap_ps(|| capacity, self.sizes.mean())?;
        if let Arrivals::PerHost(per_host) = self.arrivals {
            let Sizes::Fixed(frame) = self.sizes else { return Err(WorkloadError::FramesOfSizes) };
            return self.first(seed, gap_ps, per_host.flows(topology, &source, frame, seed));
        }
        let starts = self.arrivals.starts(gap_ps, Stream::new(seed, 0, "workload/arrivals"));
        let mut sizes = Stream::new(seed, 0, "workload/sizes");
        let distribution = Arc::new(self.sizes.clone());
        let sizes = std::iter::repeat_with(move || distribution.draw(&mut sizes));
        let draft = |((start, ends), size)| (start, ends, size);
        if self.amount == Amount::OnePerPair {
            let mut each = source.each()?;
            pairs.shuffle(&mut each);
            let each: Arc<[_]> = each.into();
            let count = each.len();
            let each = (0..count).map(move |i| each[i]);
            return Ok(self.exact(self.flows(seed, count, starts.zip(each).zip(sizes).map(draft)), capacity));
        }
        let ends = source.draw(self.arrivals.random(), pairs);
        let flows = self.first(seed, gap_ps, starts.zip(ends).zip(sizes).map(draft))?;
        Ok(self.exact(flows, capacity))
    }

    /// Returns the flows. If the arrivals ask for an exact load, the start times are scaled so that the flows offer
    /// this load. A load of 1 corresponds to `capacity` bits per second.
    fn exact(&self, flows: Flows, capacity: f64) -> Flows {
        match self.arrivals {
            Arrivals::Load { load, exact: true, .. } => stretched(&flows, load * capacity),
            _ => flows,
        }
    }

    /// Turns the first drafts into flows, as many as `amount` specifies.
    fn first(
        &self,
        seed: u64,
        gap_ps: f64,
        drafts: impl Iterator<Item = Draft> + Clone + Send + Sync + 'static,
    ) -> Result<Flows, WorkloadError> {
        match self.amount {
            Amount::Flows(flows) => {
                check_count(flows as f64)?;
                Ok(self.flows(seed, flows, drafts.take(flows)))
            }
            Amount::Within(window) => {
                if matches!(self.arrivals, Arrivals::AllAtOnce { .. }) {
                    return Err(WorkloadError::AtOnce);
                }
                check_count(window.as_ps() as f64 / gap_ps)?;
                let within = drafts.take_while(move |&(start, ..)| start < Time::ZERO + window);
                match within.clone().count() {
                    0 => Err(WorkloadError::NoFlows { window }),
                    count => Ok(self.flows(seed, count, within)),
                }
            }
            Amount::OnePerPair => Err(WorkloadError::FramesOnce),
        }
    }

    /// Returns the rate that corresponds to a load of 1, in bits per second.
    fn capacity(&self, topology: &Topology, source: &Source) -> f64 {
        // Senders with independent frames offer a share of their own link rate, even if the fabric cannot carry the
        // total.
        let oversubscription = match self.arrivals {
            Arrivals::PerHost(_) => None,
            _ => topology.oversubscription(),
        };
        facts::bits_per_second(topology, source.senders()) / oversubscription.map_or(1.0, |of| of.total())
    }

    /// Turns `drafts` into flows by adding the remaining fields. `count` is the number of drafts.
    fn flows(
        &self,
        seed: u64,
        count: usize,
        drafts: impl Iterator<Item = Draft> + Clone + Send + Sync + 'static,
    ) -> Flows {
        let &Self { app_rate, process, weight, priority, deadlines, deadlines_below, .. } = self;
        let mut stream = Stream::new(seed, 0, "workload/deadlines");
        let in_a_hurry = move |size| deadlines_below.is_none_or(|limit| size < limit);
        let flow = move |(i, (start, (src, dst), size))| Flow {
            app_rate,
            process,
            weight,
            priority,
            // A deadline is drawn for every flow, so that the size limit does not change the deadlines of
            // other flows.
            deadline: deadlines.draw(&mut stream).filter(|_| in_a_hurry(size)),
            ..Flow::new(FlowId::of(i), src, dst, size, start)
        };
        let flows = drafts.enumerate().map(flow);
        match self.arrivals {
            Arrivals::AllAtOnce { jitter } if jitter > Duration::ZERO => in_order(flows.collect()).into(),
            _ => Flows::made(count, flows),
        }
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let bad = WorkloadError::parameter;
        self.sizes.check()?;
        self.deadlines.check()?;
        if matches!((self.arrivals, self.amount), (Arrivals::Load { exact: true, .. }, Amount::Within(_))) {
            return Err(WorkloadError::ExactWithin);
        }
        check_process(self.process)?;
        if let Arrivals::PerHost(per_host) = self.arrivals {
            per_host.check()?;
        }
        if self.weight == 0 {
            return Err(bad("weight", &0, "1 to 255"));
        }
        if self.priority > 15 {
            return Err(bad("priority", &self.priority, "0 to 15"));
        }
        if self.app_rate == Some(Rate::ZERO) {
            return Err(bad("application rate", &Rate::ZERO, "more than 0"));
        }
        Ok(())
    }
}

/// Scales the starts so that the flows offer `bits_per_second` between the first start and the last start.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn stretched(flows: &Flows, bits_per_second: f64) -> Flows {
    let (mut first, mut last, mut bits) = (Time::NEVER, Time::ZERO, 0.0);
    for flow in flows {
        (first, last) = (first.min(flow.start), flow.start);
        bits += flow.size.0 as f64 * 8.0;
    }
    // If all flows start at the same time, the load is undefined.
    if last <= first {
        return flows.clone();
    }
    let factor = bits / bits_per_second / last.since(first).as_secs_f64();
    let stretch = move |flow: Flow| Flow {
        start: Time::from_ps((flow.start.as_ps() as f64 * factor).round() as u64),
        ..flow
    };
    Flows::made(flows.len(), flows.iter().map(stretch))
}

/// Returns an error if there are more flows than flow ids.
fn check_count(expected: f64) -> Result<(), WorkloadError> {
    if expected <= f64::from(u32::MAX) {
        Ok(())
    } else {
        Err(WorkloadError::parameter("number of flows", &expected.round(), "less than 2^32"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BASELINE, clos, star, torus};
    use crate::{Facts, Published, WorkloadError};
    use proptest::prelude::*;
    use raddle_core::NodeId;
    use std::collections::BTreeSet;

    const AT_ONCE: Arrivals = Arrivals::AllAtOnce { jitter: Duration::ZERO };

    fn list(workload: &Workload, topology: &Topology, seed: u64) -> Vec<Flow> {
        workload.generate(topology, seed).unwrap().iter().collect()
    }

    fn rows(flows: &[Flow]) -> Vec<(u64, u32, u32, u64)> {
        flows.iter().map(|flow| (flow.start.as_ps(), flow.src.0, flow.dst.0, flow.size.0)).collect()
    }

    #[test]
    fn golden_first_flows_of_set_up_s() {
        let flows = list(&Workload::new(Pairs::Uniform, 4), &torus(&[8, 8, 8]), 1);
        let golden = [
            (1_536_649, 497, 269, 4_814),
            (2_239_561, 29, 373, 8_662),
            (2_658_324, 325, 384, 10_966),
            (2_874_498, 197, 455, 7_661),
        ];
        assert_eq!(rows(&flows), golden);
    }

    #[test]
    fn arrivals_sizes_and_pairs_do_not_shift_each_other() {
        let topology = torus(&[4, 4]);
        let base = Workload::new(Pairs::Uniform, 100);
        let flows = list(&base, &topology, 7);
        let same = |other: &Workload, part: fn(&Flow) -> u64| {
            let others = list(other, &topology, 7);
            flows.iter().map(part).eq(others.iter().map(part))
        };
        let start: fn(&Flow) -> u64 = |flow| flow.start.as_ps();
        let size: fn(&Flow) -> u64 = |flow| flow.size.0;
        let pair: fn(&Flow) -> u64 = |flow| u64::from(flow.src.0 << 8 | flow.dst.0);

        let arrivals = Arrivals::Poisson { mean_gap: Duration::from_ns(100) };
        let other = Workload { arrivals, ..base.clone() };
        assert!(!same(&other, start) && same(&other, size) && same(&other, pair));
        let other = Workload { sizes: Sizes::Fixed(Bytes(1)), ..base.clone() };
        assert!(same(&other, start) && !same(&other, size) && same(&other, pair));
        let other = Workload { pairs: Pairs::Permutation { fraction: 1.0, times: 1 }, ..base.clone() };
        assert!(same(&other, start) && same(&other, size) && !same(&other, pair));
    }

    #[test]
    fn class_and_rate_are_handed_on_and_checked() {
        let topology = torus(&[4, 4]);
        let base = Workload::new(Pairs::Uniform, 1);
        let rate = Some(Rate::from_gbps(2));
        let flow = Workload { weight: 3, priority: 2, app_rate: rate, ..base.clone() };
        let flow = list(&flow, &topology, 1)[0];
        assert_eq!((flow.weight, flow.priority, flow.app_rate), (3, 2, rate));
        for bad in [
            Workload { weight: 0, ..base.clone() },
            Workload { priority: 16, ..base.clone() },
            Workload { app_rate: Some(Rate::ZERO), ..base.clone() },
            Workload { amount: Amount::Flows(1 << 32), ..base },
        ] {
            assert!(bad.generate(&topology, 1).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn large_flows_are_in_no_hurry_and_leave_the_others_deadlines_as_they_were() {
        let deadlines = Deadlines::Exponential { mean: Duration::from_ms(20), min: Duration::from_ms(3) };
        let all = Workload { deadlines, ..Workload::new(Pairs::Uniform, 200) };
        let some = Workload { deadlines_below: Some(Bytes(10_000)), ..all.clone() };
        let flows = |workload: &Workload| list(workload, &star(4), 1);
        let (all, some) = (flows(&all), flows(&some));
        let expected: Vec<_> =
            all.iter().map(|flow| flow.deadline.filter(|_| flow.size < Bytes(10_000))).collect();
        assert_eq!(some.iter().map(|flow| flow.deadline).collect::<Vec<_>>(), expected);
        assert!(expected.contains(&None) && expected.iter().any(Option::is_some));
    }

    /// specifications/pdq.md §10: of f flows from n senders, each sender has floor(f / n) or ceil(f / n). All
    /// flows start within 1 us.
    #[test]
    fn oracle_10_query_aggregation() {
        let pairs = Pairs::Incast { senders: 11, receiver: Some(NodeId(3)) };
        let arrivals = Arrivals::AllAtOnce { jitter: Duration::from_us(1) };
        let flows = list(&Workload { arrivals, ..Workload::new(pairs, 25) }, &star(12), 1);
        let of = |host| flows.iter().filter(|flow| flow.src == NodeId(host)).count();
        let mut counts: Vec<usize> = (0..12).map(of).collect();
        assert_eq!(counts.remove(3), 0);
        assert!(counts.iter().all(|&count| count == 2 || count == 3), "{counts:?}");
        let starts: Vec<Time> = flows.iter().map(|flow| flow.start).collect();
        assert!(
            starts.is_sorted() && starts[24] > starts[0] && starts[24] <= Time::ZERO + Duration::from_us(1)
        );
        assert!(flows.iter().enumerate().all(|(i, flow)| flow.id.index() == i && flow.dst == NodeId(3)));
    }

    fn published(name: &str, unit: u64) -> Sizes {
        Sizes::Cdf(Published::named(name).unwrap().sizes(Bytes(unit)))
    }

    fn loaded(load: f64, sizes: Sizes, pairs: Pairs) -> Workload {
        let arrivals = Arrivals::Load { load, mean_size: None, exact: false };
        let amount = Amount::Within(Duration::from_ms(10_000));
        Workload { arrivals, sizes, amount, ..Workload::new(pairs, 0) }
    }

    /// Compares the computed numbers of flows per second with the examples in specifications/expeditus.md §8.9.
    #[test]
    fn oracle_rates_of_loads() {
        let ten = [10_000; 3];
        let (tree, leaf_spine) = (clos(BASELINE, ten), clos([1, 8, 8, 0, 16], ten));
        let testbed = clos([2, 2, 2, 2, 2], [1_000, 1_000, 250]);
        let (web, mining) = (|| published("web_search", 1460), || published("data_mining", 1460));
        let rate = |topology: &Topology, load, sizes| {
            let workload = loaded(load, sizes, Pairs::Uniform);
            let source = Pairs::Uniform.source(topology, &mut Stream::new(1, 0, "")).unwrap();
            let capacity = workload.capacity(topology, &source);
            1e12 / workload.arrivals.mean_gap_ps(|| capacity, workload.sizes.mean()).unwrap()
        };
        let near =
            |got: f64, want: f64, within: f64| assert!((got - want).abs() <= within, "{got}, not {want}");
        for (load, web_search, small_web_search, data_mining) in [
            (0.1, 16_208.0, 23_664.0, 3_614.0),
            (0.3, 48_624.0, 70_992.0, 10_843.0),
            (0.5, 81_041.0, 118_319.0, 18_072.0),
            (0.8, 129_665.0, 189_311.0, 28_915.0),
        ] {
            near(rate(&tree, load, web()), web_search, 1.0);
            near(rate(&tree, load, published("web_search", 1000)), small_web_search, 1.0);
            near(rate(&tree, load, mining()), data_mining, 1.0);
        }
        near(rate(&leaf_spine, 0.5, web()), 24_012.0, 1.0);
        for (load, web_search, data_mining) in [(0.1, 15.0, 3.3), (0.4, 60.0, 13.4), (0.7, 105.1, 23.4)] {
            near(rate(&testbed, load, web()), web_search, 0.051);
            near(rate(&testbed, load, mining()), data_mining, 0.051);
        }
    }

    /// Compares the generated flows with specifications/expeditus.md §11.8. The share of flows between leaves of the
    /// leaf-spine is from §8.9.
    #[test]
    fn oracle_load_generator() {
        let tree = clos(BASELINE, [10_000; 3]);
        let flows = list(&loaded(0.5, published("web_search", 1460), Pairs::Uniform), &tree, 1);
        let count = flows.len() as f64;
        assert!((count / 810_410.0 - 1.0).abs() < 0.004, "{count}");
        let mean = flows.iter().map(|flow| flow.size.0 as f64).sum::<f64>() / count;
        assert!((mean / 1.666e6 - 1.0).abs() < 0.01, "{mean}");
        let share = |flows: &[Flow], pod: u32| {
            let leaves = |flow: &&Flow| flow.src.0 / pod != flow.dst.0 / pod;
            flows.iter().filter(leaves).count() as f64 / flows.len() as f64
        };
        assert!((share(&flows, 36) - 0.919).abs() < 0.001, "{}", share(&flows, 36));
        let leaf_spine = clos([1, 8, 8, 0, 16], [10_000; 3]);
        let flows = list(&loaded(0.5, published("web_search", 1460), Pairs::Uniform), &leaf_spine, 1);
        assert!((share(&flows, 16) - 0.882).abs() < 0.002, "{}", share(&flows, 16));
    }

    #[test]
    fn an_exact_load_is_that_of_the_flows_drawn() {
        let testbed = clos([2, 2, 2, 2, 2], [1_000, 1_000, 250]);
        let draw = |load, exact, amount| {
            let arrivals = Arrivals::Load { load, mean_size: None, exact };
            let workload =
                loaded(load, published("data_mining", 1460), Pairs::InterPod { pods: vec![], from: vec![] });
            let flows = Workload { arrivals, amount, ..workload }.generate(&testbed, 1)?;
            Ok(flows.iter().collect::<Vec<_>>())
        };
        let of = |flows: &[Flow]| Facts::of(flows.iter().copied(), &testbed, |_, _| 6).network_load.unwrap();
        let few = Amount::Flows(300);
        let (drawn, exact) = (draw(0.7, false, few).unwrap(), draw(0.7, true, few).unwrap());
        assert!(of(&drawn) > 1.3, "300 sizes of a heavy-tailed distribution: {}", of(&drawn));
        assert!((of(&exact) - 0.7).abs() < 1e-6, "{}", of(&exact));
        let others =
            |flows: &[Flow]| -> Vec<_> { flows.iter().map(|flow| (flow.src, flow.dst, flow.size)).collect() };
        assert_eq!(others(&drawn), others(&exact), "only the starts differ");
        // At half the load, every flow starts at twice the time. Gaps are drawn in whole picoseconds, so starts may
        // differ slightly from twice the time.
        let slower = draw(0.35, true, few).unwrap();
        let twice =
            |(fast, slow): (&Flow, &Flow)| slow.start.as_ps().abs_diff(2 * fast.start.as_ps()) < 1_000;
        assert!(exact.iter().zip(&slower).all(twice));
        let refused = draw(0.7, true, Amount::Within(Duration::from_ms(10)));
        assert_eq!(refused, Err(WorkloadError::ExactWithin));
    }

    #[test]
    fn a_load_is_that_of_the_hosts_that_send() {
        // A fabric of 12 pods has 432 hosts and no oversubscription. If only two pods take part, 72 hosts send
        // (specifications/expeditus.md §9, Fig 15).
        let tree = clos([12, 6, 6, 6, 6], [10_000; 3]);
        let two = Pairs::InterPod { pods: vec![3, 8], from: vec![] };
        let flows = list(&loaded(0.5, published("web_search", 1460), two), &tree, 1);
        let expected = 0.5 * 72.0 * 10e9 / (8.0 * 1_665_831.0) * 10.0;
        assert!((flows.len() as f64 / expected - 1.0).abs() < 0.01, "{} {expected}", flows.len());
    }

    #[test]
    fn a_window_ends_where_it_says() {
        let topology = star(4);
        let gap = Duration::from_us(10);
        let within = |us| {
            let amount = Amount::Within(Duration::from_us(us));
            let workload =
                Workload { arrivals: Arrivals::Fixed { gap }, amount, ..Workload::new(Pairs::Uniform, 0) };
            workload.generate(&topology, 1).map(|flows| flows.len())
        };
        assert_eq!([within(10), within(11), within(25)], [Ok(1), Ok(2), Ok(3)]);
        assert_eq!(within(0), Err(WorkloadError::NoFlows { window: Duration::ZERO }));
        let amount = Amount::Within(gap);
        let at_once = Workload { arrivals: AT_ONCE, amount, ..Workload::new(Pairs::Uniform, 0) };
        assert_eq!(at_once.generate(&topology, 1).unwrap_err(), WorkloadError::AtOnce);
        let gap = Duration::from_ps(1);
        let endless = Workload {
            arrivals: Arrivals::Fixed { gap },
            amount: Amount::Within(Duration::from_ms(5)),
            ..at_once
        };
        let error = endless.generate(&topology, 1).unwrap_err().to_string();
        assert_eq!(error, "the number of flows must be less than 2^32 (got 5000000000)");
    }

    /// specifications/expeditus.md §8.10, the stress test: one flow per pair of the pattern, started one after another
    /// in random order.
    #[test]
    fn one_flow_a_pair_is_in_an_order_that_arrivals_do_not_change() {
        let topology = clos([4, 2, 2, 2, 2], [10_000; 3]);
        for pairs in [Pairs::Stride { by: 4 }, Pairs::Bijection, Pairs::RandomOtherPod, Pairs::AllToAll] {
            let ends = |arrivals| {
                let workload =
                    Workload { arrivals, amount: Amount::OnePerPair, ..Workload::new(pairs.clone(), 0) };
                let flows = list(&workload, &topology, 3);
                flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>()
            };
            let at_once = ends(AT_ONCE);
            assert_eq!(at_once, ends(Arrivals::Poisson { mean_gap: Duration::from_us(30) }));
            let each = pairs.each(&topology, &mut Stream::new(3, 0, "workload/pairs")).unwrap();
            assert_ne!(at_once, each, "shuffled");
            let set = |pairs: &[(NodeId, NodeId)]| pairs.iter().copied().collect::<BTreeSet<_>>();
            assert_eq!((at_once.len(), set(&at_once)), (each.len(), set(&each)));
        }
    }

    proptest! {
        #[test]
        fn flows_are_in_order_and_run_between_distinct_hosts(seed: u64, flows in 0_usize..50) {
            let topology = torus(&[3, 4]);
            let flows = list(&Workload::new(Pairs::Uniform, flows), &topology, seed);
            for (i, flow) in flows.iter().enumerate() {
                prop_assert_eq!(flow.id.index(), i);
                prop_assert!(flow.src != flow.dst && flow.size.0 >= 1);
                prop_assert!(i == 0 || flows[i - 1].start <= flow.start);
            }
        }
    }
}
