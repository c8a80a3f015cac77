//! A workload, and the flows it stands for.

use crate::{Arrivals, Deadlines, Pairs, Sizes, WorkloadError};
use raddle_core::{Bytes, Duration, Flow, FlowId, Rate, Stream};
use raddle_topology::Topology;

/// What the fabric is asked to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// When flows start.
    pub arrivals: Arrivals,
    /// How large they are.
    pub sizes: Sizes,
    /// Between whom they run.
    pub pairs: Pairs,
    /// How many there are.
    pub flows: usize,
    /// The rate at which applications produce the bytes; `None` if all are there at the start.
    pub app_rate: Option<Rate>,
    /// Each flow's share relative to others of its class, 1 to 255.
    pub weight: u8,
    /// Each flow's priority class, 0 to 15, 0 served first.
    pub priority: u8,
    /// By when each should be complete.
    pub deadlines: Deadlines,
}

impl Workload {
    /// `flows` flows over `pairs` as set-up S has them (specs/r2c2.md §10): Poisson arrivals 1 us apart, Pareto
    /// sizes of shape 1.05 and mean 100 KB, all bytes there at the start, one class.
    #[must_use]
    pub fn new(pairs: Pairs, flows: usize) -> Self {
        Self {
            arrivals: Arrivals::Poisson { mean_gap: Duration::from_us(1) },
            sizes: Sizes::Pareto { shape: 1.05, mean: Bytes(100_000) },
            pairs,
            flows,
            app_rate: None,
            weight: 1,
            priority: 0,
            deadlines: Deadlines::None,
        }
    }

    /// The flows, in order of start, which is the order of their ids.
    ///
    /// # Errors
    /// If a parameter is out of range, or the pairs are impossible on this topology.
    pub fn generate(&self, topology: &Topology, seed: u64) -> Result<Vec<Flow>, WorkloadError> {
        self.check()?;
        let starts = self.arrivals.starts(Stream::new(seed, 0, "workload/arrivals"))?;
        let mut sizes = Stream::new(seed, 0, "workload/sizes");
        let mut deadlines = Stream::new(seed, 0, "workload/deadlines");
        let pairs =
            self.pairs.draw(topology, self.arrivals.random(), Stream::new(seed, 0, "workload/pairs"))?;
        let flow = |(i, (start, (src, dst)))| Flow {
            app_rate: self.app_rate,
            weight: self.weight,
            priority: self.priority,
            deadline: self.deadlines.draw(&mut deadlines),
            ..Flow::new(FlowId::of(i), src, dst, self.sizes.draw(&mut sizes), start)
        };
        let flows = starts.zip(pairs).take(self.flows).enumerate().map(flow);
        Ok(flows.collect())
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let bad = WorkloadError::parameter;
        self.sizes.check()?;
        self.deadlines.check()?;
        if self.weight == 0 {
            return Err(bad("weight", &0, "1 to 255"));
        }
        if self.priority > 15 {
            return Err(bad("priority", &self.priority, "0 to 15"));
        }
        if self.app_rate == Some(Rate::ZERO) {
            return Err(bad("application rate", &Rate::ZERO, "more than 0"));
        }
        if u32::try_from(self.flows).is_err() {
            return Err(bad("number of flows", &self.flows, "less than 2^32"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::torus;
    use proptest::prelude::*;

    fn rows(flows: &[Flow]) -> Vec<(u64, u32, u32, u64)> {
        flows.iter().map(|flow| (flow.start.as_ps(), flow.src.0, flow.dst.0, flow.size.0)).collect()
    }

    #[test]
    fn golden_first_flows_of_set_up_s() {
        let flows = Workload::new(Pairs::Uniform, 4).generate(&torus(&[8, 8, 8]), 1).unwrap();
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
        let flows = base.generate(&topology, 7).unwrap();
        let same = |other: &Workload, part: fn(&Flow) -> u64| {
            let others = other.generate(&topology, 7).unwrap();
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
        let other = Workload { pairs: Pairs::Permutation { fraction: 1.0 }, ..base.clone() };
        assert!(same(&other, start) && same(&other, size) && !same(&other, pair));
    }

    #[test]
    fn class_and_rate_are_handed_on_and_checked() {
        let topology = torus(&[4, 4]);
        let base = Workload::new(Pairs::Uniform, 1);
        let rate = Some(Rate::from_gbps(2));
        let flow = Workload { weight: 3, priority: 2, app_rate: rate, ..base.clone() };
        let flow = flow.generate(&topology, 1).unwrap()[0];
        assert_eq!((flow.weight, flow.priority, flow.app_rate), (3, 2, rate));
        for bad in [
            Workload { weight: 0, ..base.clone() },
            Workload { priority: 16, ..base.clone() },
            Workload { app_rate: Some(Rate::ZERO), ..base.clone() },
            Workload { flows: 1 << 32, ..base },
        ] {
            assert!(bad.generate(&topology, 1).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn flows_are_in_order_and_run_between_distinct_hosts(seed: u64, flows in 0_usize..50) {
            let topology = torus(&[3, 4]);
            let flows = Workload::new(Pairs::Uniform, flows).generate(&topology, seed).unwrap();
            for (i, flow) in flows.iter().enumerate() {
                prop_assert_eq!(flow.id.index(), i);
                prop_assert!(flow.src != flow.dst && flow.size.0 >= 1);
                prop_assert!(i == 0 || flows[i - 1].start <= flow.start);
            }
        }
    }
}
