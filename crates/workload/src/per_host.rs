//! Flows of one frame or of one burst, which every sender produces independently (specifications/cee.md §6.1).

use crate::pairs::{Source, To};
use crate::{WorkloadError, facts};
use raddle_core::{Births, Bytes, NodeId, Process, Rate, Stream, Time};
use raddle_topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The way in which each sender produces frames, independently of other senders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerHost {
    /// The process that determines when frames are produced.
    pub process: Process,
    /// Mean rate of a sender's frames as a share of the rate of its fastest link: more than 0 and at most 1.
    pub load: f64,
    /// True if each burst is one flow to one destination, with all bytes available at the start of the burst. If false,
    /// each frame is a flow with its own destination. A process without bursts ignores this value: each frame is a flow.
    pub whole_bursts: bool,
}

/// A flow before it gets its id: start, endpoints, size.
pub(crate) type Draft = (Time, (NodeId, NodeId), Bytes);

/// A sender: its frames and their destinations.
#[derive(Clone)]
struct Sender {
    host: NodeId,
    births: Births,
    to: To,
    destinations: Stream,
}

impl PerHost {
    /// Returns an error if the load or the process is out of range.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        check_load(self.load)?;
        check_process(self.process)
    }

    /// Returns the mean number of frames per flow.
    pub(crate) fn frames_a_flow(&self) -> f64 {
        match self.process {
            Process::OnOff { burst } if self.whole_bursts => f64::from(burst),
            _ => 1.0,
        }
    }

    /// Returns an endless iterator of the flows in order of start, then of sender. Frames have `frame` bytes.
    /// Each sender draws from its own random streams, so other senders do not change its frames.
    pub(crate) fn flows(
        self,
        topology: &Topology,
        source: &Source,
        frame: Bytes,
        seed: u64,
    ) -> impl Iterator<Item = Draft> + Clone + use<> {
        let mut senders: Vec<_> = source
            .by_sender()
            .into_iter()
            .filter_map(|(host, to)| {
                let line = facts::fastest_link(topology, host)?;
                let stream = |purpose| Stream::new(seed, u64::from(host.0), purpose);
                let rate = share(line, self.load);
                let births =
                    Births::new(self.process, rate, line, frame, Time::ZERO, stream("workload/births"));
                Some(Sender { host, births, to, destinations: stream("workload/destinations") })
            })
            .collect();
        let next = move |births: &mut Births| {
            if self.whole_bursts { births.next_burst() } else { (births.next().unwrap_or(Time::NEVER), 1) }
        };
        let mut queue: BinaryHeap<_> = (0..senders.len())
            .map(|i| {
                let (start, frames) = next(&mut senders[i].births);
                Reverse((start, i, frames))
            })
            .collect();
        std::iter::from_fn(move || {
            let Reverse((start, i, frames)) = queue.pop()?;
            let sender = &mut senders[i];
            let (after, more) = next(&mut sender.births);
            queue.push(Reverse((after, i, more)));
            let ends = (sender.host, sender.to.draw(&mut sender.destinations));
            Some((start, ends, Bytes(frame.0.saturating_mul(frames))))
        })
    }
}

/// Returns `rate` multiplied by `load`, but at least 1 bit/s.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(crate) fn share(rate: Rate, load: f64) -> Rate {
    Rate::from_bps(((rate.as_bps_f64() * load).round() as u64).max(1))
}

/// Returns an error unless the load is more than 0 and at most 1.
pub(crate) fn check_load(load: f64) -> Result<(), WorkloadError> {
    if load > 0.0 && load <= 1.0 {
        Ok(())
    } else {
        Err(WorkloadError::parameter("load", &load, "more than 0 and at most 1"))
    }
}

/// Returns an error if the bursts of the process have no frames.
pub(crate) fn check_process(process: Process) -> Result<(), WorkloadError> {
    if process == (Process::OnOff { burst: 0 }) {
        return Err(WorkloadError::parameter("burst", &0, "at least 1 frame"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::star;
    use crate::{Amount, Arrivals, Pairs, Sizes, Workload};
    use raddle_core::{Duration, Flow};

    const FRAME: Bytes = Bytes(1_500);
    const ON_OFF: Process = Process::OnOff { burst: 20 };
    const ALL: [Process; 4] = [Process::Constant, Process::Poisson, Process::Bernoulli, ON_OFF];

    fn workload(per_host: PerHost, pairs: Pairs, ms: u64) -> Workload {
        let arrivals = Arrivals::PerHost(per_host);
        let amount = Amount::Within(Duration::from_ms(ms));
        Workload { arrivals, sizes: Sizes::Fixed(FRAME), amount, ..Workload::new(pairs, 0) }
    }

    fn flows(process: Process, load: f64, whole_bursts: bool, pairs: Pairs, ms: u64) -> Vec<Flow> {
        workload(PerHost { process, load, whole_bursts }, pairs, ms)
            .generate(&star(8), 1)
            .unwrap()
            .iter()
            .collect()
    }

    /// specifications/cee.md §6.1: in every process, each flow is one frame, destinations are uniform over
    /// the other hosts, and every host offers the given load.
    #[test]
    fn oracle_6_1_every_host_makes_its_load_to_all_others() {
        for process in ALL {
            let flows = flows(process, 0.6, false, Pairs::Uniform, 100);
            let mut counts = [[0_u32; 8]; 8];
            for flow in &flows {
                counts[flow.src.index()][flow.dst.index()] += 1;
                assert_eq!(flow.size, FRAME);
            }
            // In 100 ms there are 83,333 frame slots of 1.2 us (1,500 B at 10 Gbps). At a load of 0.6 each host sends
            // 50,000 frames: 7,143 frames to each of the 7 other hosts.
            let within = if process == ON_OFF { 2_500 } else { 700 };
            for (src, row) in counts.iter().enumerate() {
                assert!(row.iter().sum::<u32>().abs_diff(50_000) < within, "{process:?} {row:?}");
                for (dst, &n) in row.iter().enumerate() {
                    let even = n.abs_diff(7_143) < 500;
                    assert!(if src == dst { n == 0 } else { even }, "{process:?} {counts:?}");
                }
            }
        }
    }

    #[test]
    fn a_burst_is_one_flow_to_one_host() {
        let bursts = flows(ON_OFF, 0.4, true, Pairs::Uniform, 1_000);
        let bytes: u64 = bursts.iter().map(|flow| flow.size.0).sum();
        let frames = bytes as f64 / 1_500.0 / bursts.len() as f64;
        assert!((frames - 20.0).abs() < 0.5, "{frames}");
        // 8 hosts send at 40% of 10 Gbps for one second, so the total is 4 x 10^9 bytes.
        assert!((bytes as f64 / 4e9 - 1.0).abs() < 0.02, "{bytes}");
        // Each burst starts at the time at which its first frame starts in a run in which each frame is a flow.
        let frames = flows(ON_OFF, 0.4, false, Pairs::Uniform, 1_000);
        let of_one = |flows: &[Flow]| {
            flows.iter().filter(|flow| flow.src.0 == 3).map(|flow| flow.start).collect::<Vec<_>>()
        };
        let (bursts, frames) = (of_one(&bursts), of_one(&frames));
        assert_eq!(frames[0], bursts[0]);
        assert!(bursts.iter().all(|start| frames.binary_search(start).is_ok()));
    }

    #[test]
    fn senders_choose_destinations_of_their_own() {
        let flows = flows(Process::Constant, 0.5, false, Pairs::Uniform, 1);
        let of = |src| flows.iter().filter(move |flow| flow.src.0 == src).map(|flow| flow.dst.0);
        // If all senders drew the same random numbers, host 7's destination would always be the host before host 0's
        // destination.
        assert!(!of(0).map(|dst| dst - 1).take(100).eq(of(7).take(100)));
    }

    #[test]
    fn senders_keep_to_the_patterns_pairs() {
        let flows = flows(Process::Bernoulli, 0.9, false, Pairs::Stride { by: 3 }, 1);
        assert!(flows.len() > 5_000 && flows.iter().all(|flow| flow.dst.0 == (flow.src.0 + 3) % 8));
        let starts = flows.windows(2).all(|pair| pair[0].start <= pair[1].start);
        assert!(starts && flows.iter().enumerate().all(|(i, flow)| flow.id.index() == i));
    }

    #[test]
    fn equal_seeds_give_equal_flows_and_a_sender_is_not_shifted_by_others() {
        let per_host = PerHost { process: ON_OFF, load: 0.5, whole_bursts: false };
        let of = |hosts: usize, pairs: Pairs, seed| {
            let flows: Vec<_> =
                workload(per_host, pairs, 2).generate(&star(hosts), seed).unwrap().iter().collect();
            flows
                .into_iter()
                .filter(|flow| flow.src.0 == 0)
                .map(|flow| (flow.start, flow.dst))
                .collect::<Vec<_>>()
        };
        let alone = || Pairs::Listed(vec![(NodeId(0), NodeId(1)), (NodeId(0), NodeId(2))]);
        let mut together = vec![(NodeId(2), NodeId(1))];
        together.extend([(NodeId(0), NodeId(1)), (NodeId(0), NodeId(2))]);
        assert_eq!(of(4, alone(), 5), of(9, Pairs::Listed(together), 5));
        assert_ne!(of(4, alone(), 5), of(4, alone(), 6));
    }

    #[test]
    fn impossible_frames_are_refused() {
        let good = PerHost { process: ON_OFF, load: 0.5, whole_bursts: false };
        let error = |workload: Workload| workload.generate(&star(4), 1).unwrap_err().to_string();
        let with = |per_host| workload(per_host, Pairs::Uniform, 1);
        assert_eq!(
            error(with(PerHost { load: 1.5, ..good })),
            "the load must be more than 0 and at most 1 (got 1.5)"
        );
        assert_eq!(
            error(with(PerHost { process: Process::OnOff { burst: 0 }, ..good })),
            "the burst must be at least 1 frame (got 0)"
        );
        let sizes = Sizes::Exponential { mean: FRAME };
        assert_eq!(
            error(Workload { sizes, ..with(good) }),
            "`sizes` cannot be given for `arrivals` of kind `cbr`, `bernoulli`, `on_off` or `bursty`: all \
             frames have the same size"
        );
        assert_eq!(
            error(Workload { amount: Amount::OnePerPair, ..with(good) }),
            "`once = true` cannot be given for `arrivals` of kind `cbr`, `bernoulli`, `on_off` or `bursty`: \
             their senders never stop"
        );
    }
}
