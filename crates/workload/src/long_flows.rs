//! Long-lived flows: one per pair, each with a rate, from the start of the run.

use crate::per_host::{check_load, check_process, share};
use crate::{Pairs, WorkloadError, facts};
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Process, Rate, Stream, Time};
use raddle_topology::Topology;
use std::collections::BTreeMap;

/// One flow for each of a pattern's pairs. The flow's application produces bytes at a constant mean rate for
/// a given time.
#[derive(Debug, Clone, PartialEq)]
pub struct LongFlows {
    /// The pairs of senders and receivers.
    pub pairs: Pairs,
    /// Rate that each sender offers, as a share of the rate of its fastest link: more than 0 and at most 1. A sender of
    /// several pairs divides this rate equally among the pairs.
    pub load: f64,
    /// Time for which applications produce bytes.
    pub duration: Duration,
    /// The process by which applications produce frames.
    pub process: Process,
    /// Weight of each flow's share of the bandwidth, relative to other flows of its class: 1 to 255.
    pub weight: u8,
    /// Each flow's priority class, 0 to 15. Class 0 is served first.
    pub priority: u8,
}

impl LongFlows {
    /// Generates the flows. All start at time 0, in the pattern's order.
    ///
    /// # Errors
    /// If a parameter is out of range, a sender has no link, or the pairs are impossible on this topology.
    pub fn generate(&self, topology: &Topology, seed: u64) -> Result<Vec<Flow>, WorkloadError> {
        check_load(self.load)?;
        check_process(self.process)?;
        let pairs = self.pairs.each(topology, &mut Stream::new(seed, 0, "workload/pairs"))?;
        let mut flows_of = BTreeMap::<NodeId, u32>::new();
        for &(src, _) in &pairs {
            *flows_of.entry(src).or_default() += 1;
        }
        let flow = |(i, (src, dst))| -> Result<Flow, WorkloadError> {
            let rate = link_share(topology, src, self.load / f64::from(flows_of[&src]))?;
            let from = Span { start: Time::ZERO, length: self.duration };
            let flow = from.flow(src, dst, rate, self.process)?;
            Ok(Flow { id: FlowId::of(i), weight: self.weight, priority: self.priority, ..flow })
        };
        pairs.into_iter().enumerate().map(flow).collect()
    }
}

/// The time in which an application produces bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// Time from which the application produces bytes.
    pub(crate) start: Time,
    /// Time for which the application produces bytes.
    pub(crate) length: Duration,
}

impl Span {
    /// Returns a flow of an application that produces bytes at `rate` during this span. The flow's size is the number
    /// of these bytes. The caller must set the flow's id.
    pub(crate) fn flow(
        self,
        src: NodeId,
        dst: NodeId,
        rate: Rate,
        process: Process,
    ) -> Result<Flow, WorkloadError> {
        let size = rate.bytes_in(self.length);
        if size == Bytes(0) {
            return Err(WorkloadError::parameter("duration", &self.length, "long enough to send 1 byte"));
        }
        Ok(Flow { app_rate: Some(rate), process, ..Flow::new(FlowId(0), src, dst, size, self.start) })
    }
}

/// Returns the rate of the host's fastest link, multiplied by `load`.
pub(crate) fn link_share(topology: &Topology, host: NodeId, load: f64) -> Result<Rate, WorkloadError> {
    let link = facts::fastest_link(topology, host).ok_or(WorkloadError::NoLink { host: host.0 })?;
    Ok(share(link, load))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::star;
    use raddle_topology::{Builder, Shape};

    fn long(pairs: Pairs, load: f64) -> LongFlows {
        let duration = Duration::from_ms(10);
        LongFlows { pairs, load, duration, process: Process::Poisson, weight: 2, priority: 3 }
    }

    #[test]
    fn a_permutation_is_one_flow_a_host_at_its_share_of_the_link() {
        let flows = long(Pairs::Stride { by: 1 }, 0.9).generate(&star(8), 1).unwrap();
        assert_eq!(flows.len(), 8);
        for (i, flow) in flows.iter().enumerate() {
            assert_eq!((flow.id.index(), flow.src.index(), flow.start), (i, i, Time::ZERO));
            assert_eq!(flow.app_rate, Some(Rate::from_gbps(9)));
            // The size is the number of bytes that 9 Gbps carry in 10 ms: 11,250,000 B.
            assert_eq!((flow.size, flow.process), (Bytes(11_250_000), Process::Poisson));
            assert_eq!((flow.weight, flow.priority), (2, 3));
        }
    }

    #[test]
    fn a_sender_of_several_pairs_shares_its_load_among_them() {
        let flows = long(Pairs::Uniform, 0.7).generate(&star(8), 1).unwrap();
        assert_eq!(flows.len(), 56);
        assert!(flows.iter().all(|flow| flow.app_rate == Some(Rate::from_gbps(1))));
    }

    #[test]
    fn impossible_long_flows_are_refused() {
        let error = |long: &LongFlows| long.generate(&star(4), 1).unwrap_err().to_string();
        let pairs = || Pairs::Stride { by: 1 };
        assert_eq!(error(&long(pairs(), 1.1)), "the load must be more than 0 and at most 1 (got 1.1)");
        let short = LongFlows { duration: Duration::from_ps(1), ..long(pairs(), 0.5) };
        assert_eq!(error(&short), "the duration must be long enough to send 1 byte (got 1 ps)");
        let mut fabric = Builder::default();
        fabric.host(1);
        fabric.host(1);
        let apart = long(pairs(), 0.5).generate(&fabric.build(Shape::General), 1);
        assert_eq!(apart, Err(WorkloadError::NoLink { host: 0 }));
    }
}
