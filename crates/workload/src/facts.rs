//! Summary of a list of flows: their number, sizes and load. The summary is printed with the results of every run,
//! except runs of message-passing ranks.

use raddle_core::{Duration, Flow, NodeId, Rate, Time};
use raddle_topology::Topology;

/// The actual size and load of a workload. Loads count application bytes, without headers and control packets. Loads
/// are `None` if the span of the starts is 0, as when all flows start at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Number of flows.
    pub flows: usize,
    /// Sum of the flows' sizes in bytes.
    pub bytes: u128,
    /// Mean size of the flows in bytes; 0 if there are no flows. For a heavy-tailed distribution, this mean is usually
    /// well below the mean of the distribution (specifications/r2c2.md §10).
    pub mean_size: f64,
    /// Time from the start of the first flow to the start of the last flow.
    pub span: Duration,
    /// Bits offered per second of the span, divided by the sum over all hosts of the rate of the host's
    /// fastest link.
    pub host_load: Option<f64>,
    /// `host_load` times the [oversubscription](raddle_topology::Oversubscription::total) of a Clos network; `None` for
    /// other networks. If all hosts may send, this load is defined like the [load](crate::Arrivals::Load) that an
    /// experiment asks for, so the two can be compared.
    pub network_load: Option<f64>,
    /// Mean load of all directed links: the sum over all flows of bits times hops, divided by the span and by
    /// the sum of the links' rates.
    pub fabric_load: Option<f64>,
}

impl Facts {
    /// Summarizes the flows in `all` on `topology`. The flows are in order of start. `hops` returns the smallest number
    /// of links between two nodes.
    #[must_use]
    pub fn of(
        all: impl IntoIterator<Item = Flow>,
        topology: &Topology,
        mut hops: impl FnMut(NodeId, NodeId) -> u32,
    ) -> Self {
        let (mut flows, mut bytes, mut byte_hops) = (0_usize, 0_u128, 0_u128);
        let (mut first, mut last) = (None, Time::ZERO);
        for flow in all {
            flows += 1;
            bytes += u128::from(flow.size.0);
            byte_hops += u128::from(flow.size.0) * u128::from(hops(flow.src, flow.dst));
            first.get_or_insert(flow.start);
            last = flow.start;
        }
        let span = last.since(first.unwrap_or_default());
        let host_rate = bits_per_second(topology, topology.hosts());
        let fabric_rate: f64 = topology.links().map(|(_, link)| link.rate.as_bps_f64()).sum();
        let load = |bytes: u128, rate: f64| {
            (span > Duration::ZERO).then(|| bytes as f64 * 8.0 / span.as_secs_f64() / rate)
        };
        let host_load = load(bytes, host_rate);
        let oversubscription = topology.oversubscription().map(|of| of.total());
        Self {
            flows,
            bytes,
            mean_size: if flows == 0 { 0.0 } else { bytes as f64 / flows as f64 },
            span,
            host_load,
            network_load: host_load.zip(oversubscription).map(|(load, over)| load * over),
            fabric_load: load(byte_hops, fabric_rate),
        }
    }
}

/// Returns the number of bits per second that these hosts can send: the sum of the rates of each host's fastest link.
pub(crate) fn bits_per_second(topology: &Topology, hosts: impl IntoIterator<Item = NodeId>) -> f64 {
    hosts.into_iter().filter_map(|host| fastest_link(topology, host)).map(Rate::as_bps_f64).sum()
}

/// Returns the rate of a host's fastest link; `None` if the host has no link.
pub(crate) fn fastest_link(topology: &Topology, host: NodeId) -> Option<Rate> {
    topology.links_from(host).map(|(_, link)| link.rate).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::torus;
    use crate::{Arrivals, Pairs, Sizes, Workload};
    use raddle_core::Bytes;

    /// Returns a function that gives the smallest number of hops between two nodes of a torus.
    fn hops(dims: &[u32]) -> impl Fn(NodeId, NodeId) -> u32 {
        move |src, dst| {
            let (mut src, mut dst) = (src.0, dst.0);
            let mut hops = 0;
            for k in dims {
                let step = (src % k).abs_diff(dst % k);
                hops += step.min(k - step);
                (src, dst) = (src / k, dst / k);
            }
            hops
        }
    }

    /// Compares the nominal load of set-up S with specifications/r2c2.md §10: 15.7% if the mean gap (tau) is 1 us.
    #[test]
    fn oracle_nominal_load_of_set_up_s() {
        let dims = [8, 8, 8];
        let topology = torus(&dims);
        let sizes = Sizes::Fixed(Bytes(100_000));
        let workload = Workload { sizes, ..Workload::new(Pairs::Uniform, 100_000) };
        let flows = workload.generate(&topology, 1).unwrap();
        let facts = Facts::of(&flows, &topology, hops(&dims));
        assert_eq!(facts.bytes, 10_000_000_000);
        assert!((facts.host_load.unwrap() - 0.156).abs() < 0.002, "{facts:?}");
        assert!((facts.fabric_load.unwrap() - 0.157).abs() < 0.002, "{facts:?}");
    }

    /// specifications/r2c2.md §10: samples of 10^6 flows have a mean size near 48 KB instead of 100
    /// KB. The test checks that the mean is between 30 KB and 100 KB.
    #[test]
    fn oracle_realised_mean_of_set_up_s_is_far_below_nominal() {
        let topology = torus(&[8, 8, 8]);
        let flows = Workload::new(Pairs::Uniform, 1_000_000).generate(&topology, 1).unwrap();
        let facts = Facts::of(&flows, &topology, hops(&[8, 8, 8]));
        assert!((30_000.0..100_000.0).contains(&facts.mean_size), "{facts:?}");
    }

    #[test]
    fn flows_that_start_at_once_have_no_load() {
        let topology = torus(&[4, 4]);
        let workload = Workload {
            arrivals: Arrivals::AllAtOnce { jitter: Duration::ZERO },
            ..Workload::new(Pairs::Uniform, 9)
        };
        let facts = Facts::of(&workload.generate(&topology, 1).unwrap(), &topology, hops(&[4, 4]));
        assert_eq!((facts.flows, facts.host_load, facts.fabric_load), (9, None, None));
        assert_eq!(Facts::of([], &topology, hops(&[4, 4])).bytes, 0);
    }
}
