//! The hotspot benchmark (specifications/cee.md §6.3, §6.4; Crisan, Gusat and Minkenberg, Comparative Evaluation of
//! CEE-based Switch Adaptive Routing, Figures 8 and 9).
//!
//! A hotspot is *input-generated* if hosts offer more traffic to one destination than the destination's link carries.
//! It is *output-generated* if the hosts offer less than this, but a link on the path is slower than the other links of
//! the topology. The *degree* is the number of hosts that send to the destination. The *severity* is the total rate
//! that these hosts offer, as a multiple of the rate of the destination's fastest link. *Victims* are flows between
//! other hosts that suffer from the congestion without having caused it.
//!
//! # Differs from the paper
//! The paper names neither hosts nor times; specifications/cee.md §6.3 reconstructs them.

use crate::long_flows::{Span, link_share};
use crate::pairs::check_pair;
use crate::per_host::{check_load, check_process};
use crate::{WorkloadError, facts};
use raddle_core::{Duration, Flow, FlowId, NodeId, Process, Rate, Time};
use raddle_topology::Topology;

/// Hosts that send to one destination for a limited time, and the victim flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Hotspot {
    /// The receiver.
    pub destination: NodeId,
    /// The senders.
    pub sources: Sources,
    /// Total rate that the sources offer, as a multiple of the rate of the destination's fastest link. This multiple is
    /// more than 0. Each source offers an equal part.
    pub severity: f64,
    /// Time at which the sources start.
    pub start: Duration,
    /// Time for which the sources produce traffic.
    pub duration: Duration,
    /// The victim flows, which produce traffic from time 0 on.
    pub victims: Vec<Victim>,
    /// Time for which victims produce traffic.
    pub run: Duration,
    /// The process by which sources and victims produce frames.
    pub process: Process,
    /// Weight of each flow's share of the bandwidth, relative to other flows of its class: 1 to 255.
    pub weight: u8,
    /// Each flow's priority class, 0 to 15. Class 0 is served first.
    pub priority: u8,
}

/// The senders to a hotspot.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// The listed hosts, all different.
    Named(Vec<NodeId>),
    /// The given number of hosts, spread evenly over the hosts other than the destination, in host order,
    /// starting with the host after the destination.
    Degree(usize),
    /// The given share of all hosts, more than 0 and less than 1. The number of sources is rounded, is at least 1, and
    /// must be less than the number of hosts. The sources are spread as with `Degree`.
    Share(f64),
}

/// A flow that suffers from a hotspot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Victim {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Rate that the flow offers, as a share of the rate of the sender's fastest link: more than 0 and at most 1.
    pub load: f64,
}

impl Hotspot {
    /// Returns the hotspot of Figure 8 (specifications/cee.md §6.3), for 32 hosts. Four hosts send to host 31 at
    /// 45% of a link each, from 10 ms to 30 ms of a 50 ms run. Host 1 sends to host 30 at 95% for the whole run.
    #[must_use]
    pub fn input_generated() -> Self {
        Self {
            destination: NodeId(31),
            sources: Sources::Degree(4),
            severity: 1.8,
            start: Duration::from_ms(10),
            duration: Duration::from_ms(20),
            victims: vec![Victim { src: NodeId(1), dst: NodeId(30), load: 0.95 }],
            run: Duration::from_ms(50),
            process: Process::Constant,
            weight: 1,
            priority: 0,
        }
    }

    /// Returns the hotspot of Figure 9 (specifications/cee.md §6.4), for a 2-ary 3-tree. In this tree, the links from
    /// the roots toward the destination are slower than the other links. Host 0 sends to host 4 at 90% of a link for 50
    /// ms.
    #[must_use]
    pub fn output_generated() -> Self {
        let run = Duration::from_ms(50);
        Self {
            destination: NodeId(4),
            sources: Sources::Named(vec![NodeId(0)]),
            severity: 0.9,
            start: Duration::ZERO,
            duration: run,
            victims: Vec::new(),
            run,
            process: Process::Constant,
            weight: 1,
            priority: 0,
        }
    }

    /// Generates the flows, in order of start. Among flows with the same start, victims come first.
    ///
    /// # Errors
    /// If a parameter is out of range, an endpoint is not a host, a host would send to itself, a sender or the
    /// hotspot's destination has no link, or a source would have to send faster than its link.
    pub fn generate(&self, topology: &Topology) -> Result<Vec<Flow>, WorkloadError> {
        check_process(self.process)?;
        let mut flows = Vec::new();
        let all_the_while = Span { start: Time::ZERO, length: self.run };
        for victim in &self.victims {
            check_pair(topology, victim.src, victim.dst)?;
            check_load(victim.load)?;
            let rate = link_share(topology, victim.src, victim.load)?;
            flows.push(all_the_while.flow(victim.src, victim.dst, rate, self.process)?);
        }
        let sources = self.sources.hosts(topology, self.destination)?;
        let hot = Span { start: Time::ZERO + self.start, length: self.duration };
        let rate = self.rate_of_each(topology, sources.len())?;
        for src in sources {
            let link = facts::fastest_link(topology, src).ok_or(WorkloadError::NoLink { host: src.0 })?;
            if rate > link {
                return Err(WorkloadError::TooSevere { host: src.0, rate, link });
            }
            flows.push(hot.flow(src, self.destination, rate, self.process)?);
        }
        let class = |flow| Flow { weight: self.weight, priority: self.priority, ..flow };
        Ok(in_order(flows.into_iter().map(class).collect()))
    }

    /// Returns the rate that each of `sources` sources offers.
    fn rate_of_each(&self, topology: &Topology, sources: usize) -> Result<Rate, WorkloadError> {
        if !(self.severity > 0.0 && self.severity.is_finite()) {
            return Err(WorkloadError::parameter("hotspot's severity", &self.severity, "more than 0"));
        }
        link_share(topology, self.destination, self.severity / sources as f64)
    }
}

impl Sources {
    /// Returns the hosts that send.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn hosts(&self, topology: &Topology, destination: NodeId) -> Result<Vec<NodeId>, WorkloadError> {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        let at =
            hosts.binary_search(&destination).map_err(|_| WorkloadError::NotAHost { node: destination.0 })?;
        let degree = match self {
            Self::Named(named) => {
                let mut sorted = named.clone();
                sorted.sort_unstable();
                if named.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    let need = "at least 1, and each source must be listed only once";
                    return Err(WorkloadError::parameter("number of sources", &named.len(), need));
                }
                for &src in named {
                    check_pair(topology, src, destination)?;
                }
                return Ok(named.clone());
            }
            Self::Degree(degree) => *degree,
            Self::Share(share) if !(*share > 0.0 && *share <= 1.0) => {
                return Err(WorkloadError::parameter(
                    "share of hosts that send to the hotspot",
                    share,
                    "more than 0 and less than 1",
                ));
            }
            Self::Share(share) => ((hosts.len() as f64 * share).round() as usize).max(1),
        };
        if degree == 0 || degree >= hosts.len() {
            let need = "at least 1, and less than the number of hosts";
            return Err(WorkloadError::parameter("hotspot's degree", &degree, need));
        }
        let after = |i: usize| hosts[(at + 1 + i * hosts.len() / degree) % hosts.len()];
        Ok((0..degree).map(after).collect())
    }
}

/// Sorts flows by start and numbers them in this order. Flows with the same start keep their order.
#[must_use]
pub fn in_order(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|flow| flow.start);
    for (i, flow) in flows.iter_mut().enumerate() {
        flow.id = FlowId::of(i);
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::star;
    use raddle_core::Bytes;

    fn rows(flows: &[Flow]) -> Vec<(u64, u32, u32, u64, u64)> {
        let row = |flow: &Flow| {
            let rate = flow.app_rate.map_or(0, Rate::as_bps);
            (flow.start.as_ps() / 1_000_000_000, flow.src.0, flow.dst.0, flow.size.0, rate)
        };
        flows.iter().map(row).collect()
    }

    /// Compares the flows of Figure 8 with specifications/cee.md §6.3.
    #[test]
    fn oracle_6_3_the_input_generated_hotspot() {
        let flows = Hotspot::input_generated().generate(&star(32)).unwrap();
        // The victim sends at 9.5 Gbps for 50 ms: 59,375,000 B. Each source sends at 4.5 Gbps for 20 ms: 11,250,000 B.
        let hot = |src| (10, src, 31, 11_250_000, 4_500_000_000);
        assert_eq!(rows(&flows), [(0, 1, 30, 59_375_000, 9_500_000_000), hot(0), hot(8), hot(16), hot(24)]);
        assert!(flows.iter().enumerate().all(|(i, flow)| flow.id.index() == i));
        // The destination's link needs 36 ms to carry the offered traffic. The sources start at 10 ms, so the hotspot
        // ends near 46 ms.
        let offered: Bytes = flows[1..].iter().map(|flow| flow.size).sum();
        assert_eq!(Rate::from_gbps(10).time_for(offered), Duration::from_ms(36));
    }

    /// Compares the flow of Figure 9 with specifications/cee.md §6.4.
    #[test]
    fn oracle_6_4_the_output_generated_hotspot() {
        let flows = Hotspot::output_generated().generate(&star(8)).unwrap();
        assert_eq!(rows(&flows), [(0, 0, 4, 56_250_000, 9_000_000_000)]);
    }

    #[test]
    fn sources_are_spread_over_all_but_the_destination() {
        let topology = star(12);
        let of = |sources: Sources, destination| sources.hosts(&topology, NodeId(destination)).unwrap();
        assert_eq!(of(Sources::Degree(3), 5), [6, 10, 2].map(NodeId));
        assert_eq!(of(Sources::Share(0.25), 5), of(Sources::Degree(3), 5));
        assert_eq!(of(Sources::Share(0.01), 5), [NodeId(6)]);
        for degree in 1..12 {
            for destination in 0..12 {
                let mut sources = of(Sources::Degree(degree), destination);
                assert!(!sources.contains(&NodeId(destination)));
                sources.sort_unstable();
                sources.dedup();
                assert_eq!(sources.len(), degree, "to {destination}");
            }
        }
    }

    #[test]
    fn severity_is_shared_by_the_sources() {
        let sources = Sources::Named([3, 0, 6].map(NodeId).to_vec());
        let hotspot = Hotspot { sources, severity: 1.2, victims: vec![], ..Hotspot::input_generated() };
        let flows = hotspot.generate(&star(32)).unwrap();
        assert!(flows.iter().all(|flow| flow.app_rate == Some(Rate::from_gbps(4))));
        assert_eq!(flows.iter().map(|flow| flow.src.0).collect::<Vec<_>>(), [3, 0, 6], "as they are named");
    }

    #[test]
    fn impossible_hotspots_are_refused() {
        let good = Hotspot::input_generated;
        let named = |hosts: &[u32]| Sources::Named(hosts.iter().copied().map(NodeId).collect());
        let victim = |src, dst, load| vec![Victim { src: NodeId(src), dst: NodeId(dst), load }];
        let cases = [
            (Hotspot { destination: NodeId(40), ..good() }, "node 40 is not a host of the topology"),
            (Hotspot { sources: named(&[31]), ..good() }, "node 31 cannot send to itself"),
            (
                Hotspot { sources: named(&[1, 2, 1]), ..good() },
                "the number of sources must be at least 1, and each source must be listed only once (got 3)",
            ),
            (
                Hotspot { sources: named(&[]), ..good() },
                "the number of sources must be at least 1, and each source must be listed only once (got 0)",
            ),
            (
                Hotspot { sources: Sources::Degree(32), ..good() },
                "the hotspot's degree must be at least 1, and less than the number of hosts (got 32)",
            ),
            (
                Hotspot { sources: Sources::Share(0.0), ..good() },
                "the share of hosts that send to the hotspot must be more than 0 and less than 1 (got 0)",
            ),
            (Hotspot { severity: 0.0, ..good() }, "the hotspot's severity must be more than 0 (got 0)"),
            (
                Hotspot { severity: 4.4, ..good() },
                "the hotspot's severity requires 11 Gbps from host 0, whose link has only 10 Gbps",
            ),
            (Hotspot { victims: victim(1, 1, 0.5), ..good() }, "node 1 cannot send to itself"),
            (
                Hotspot { victims: victim(1, 2, 1.5), ..good() },
                "the load must be more than 0 and at most 1 (got 1.5)",
            ),
            (
                Hotspot { duration: Duration::ZERO, ..good() },
                "the duration must be long enough to send 1 byte (got 0 ps)",
            ),
        ];
        for (hotspot, expected) in cases {
            assert_eq!(hotspot.generate(&star(32)).unwrap_err().to_string(), expected, "{hotspot:?}");
        }
    }
}
