//! The fidelity of a live run: the lateness of packets, the CPU time that other virtual machines took, and the verdict
//! (specifications/live.md §3).

use hdrhistogram::Histogram;
use raddle_core::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Counts events that reduce the fidelity of a run. The counts need the same memory for a run of any length.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Lateness, in ns of real time, of packets that were late by [`NEAR`] ns or more, and of all
    /// [absorbed](Self::absorb) packets.
    lateness: Histogram<u64>,
    /// Number of packets that were late by less than [`NEAR`] ns, indexed by lateness in ns. An array takes fewer
    /// instructions than the histogram.
    near: [u64; NEAR],
    /// Number of packets so late that the node computed with the clock instead of the packets' due times.
    slips: u64,
    /// Number of passes of the polling thread over its links and events that took longer than [`GAP`].
    gaps: u64,
    longest_gap_ns: u64,
    /// Number of payloads whose bytes differ from the bytes that the sender wrote.
    pub(super) wrong_payloads: u64,
}

/// The counts of a [`Meter`], in the form in which processes exchange them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Readings {
    /// Pairs of a lateness in ns and the number of packets with this lateness.
    lateness: Vec<(u64, u64)>,
    slips: u64,
    gaps: u64,
    longest_gap_ns: u64,
    wrong_payloads: u64,
}

impl Readings {
    /// The counts that are summed over processes: packets by lateness, slips, gaps and wrong payloads.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let late = self.lateness.iter().map(|&(_, packets)| packets);
        late.chain([self.slips, self.gaps, self.wrong_payloads])
    }
}

/// A pass of the polling thread over its links and events is a gap if it takes more than this number of ns.
const GAP: u64 = 10_000;

/// Packets that are late by less than this number of ns are counted in an array, and all others in a histogram.
const NEAR: usize = 512;

/// Longest lateness that the histogram distinguishes: one second.
const LONGEST_NS: u64 = 1_000_000_000;

impl Meter {
    /// A meter at the start of a run.
    pub(crate) fn new() -> Self {
        let lateness = Histogram::new_with_max(LONGEST_NS, 3).expect("bounds that fit");
        Self { lateness, near: [0; NEAR], slips: 0, gaps: 0, longest_gap_ns: 0, wrong_payloads: 0 }
    }

    /// Counts a packet that was handled `ns` ns after its due time.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    pub(crate) fn late(&mut self, ns: u64) {
        match self.near.get_mut(ns as usize) {
            Some(packets) => *packets += 1,
            None => self.lateness.saturating_record(ns),
        }
    }

    /// Number of packets by lateness in ns, from the array `near` and the histogram together.
    fn latenesses(&self) -> Histogram<u64> {
        let mut all = self.lateness.clone();
        for (ns, &packets) in (0..).zip(&self.near) {
            all.saturating_record_n(ns, packets);
        }
        all
    }

    /// Counts a packet so late that the node computed with the clock instead of the packet's due time.
    #[inline]
    pub(super) fn slipped(&mut self) {
        self.slips += 1;
    }

    /// Counts a pass of the polling thread over its links and events as a gap, if `ns`, its duration in ns, is above
    /// [`GAP`].
    #[inline]
    pub(crate) fn round(&mut self, ns: u64) {
        if ns > GAP {
            self.gaps += 1;
            self.longest_gap_ns = self.longest_gap_ns.max(ns);
        }
    }

    /// The counts in the form in which processes exchange them.
    pub(super) fn readings(&self) -> Readings {
        let &Self { slips, gaps, longest_gap_ns, wrong_payloads, .. } = self;
        let latenesses = self.latenesses();
        let late = latenesses.iter_recorded().map(|late| (late.value_iterated_to(), late.count_at_value()));
        Readings { lateness: late.collect(), slips, gaps, longest_gap_ns, wrong_payloads }
    }

    /// Adds the counts of another thread of this process or of another process.
    pub(super) fn absorb(&mut self, other: &Readings) {
        for &(ns, packets) in &other.lateness {
            self.lateness.saturating_record_n(ns, packets);
        }
        self.slips += other.slips;
        self.gaps += other.gaps;
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
        self.wrong_payloads += other.wrong_payloads;
    }

    /// Computes the fidelity of the run. `packet_time` is the longest serialization delay of a packet on a link.
    /// Virtual time ran `dilation` times slower than the clock, and stood still for the share `held` of the run. Other
    /// virtual machines took the share `steal` of the CPU time.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn report(
        &self,
        packet_time: Duration,
        dilation: u64,
        copies: u64,
        steal: Option<f64>,
        held: f64,
    ) -> Fidelity {
        let latenesses = self.latenesses();
        let hops = latenesses.len();
        let at = |quantile| Duration::from_ns(latenesses.value_at_quantile(quantile));
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(at);
        let allowed = packet_time.as_ps().saturating_mul(4 * dilation).max(1);
        let slips = if hops == 0 { 0.0 } else { self.slips as f64 / hops as f64 };
        let verdict = if steal.is_some_and(|share| share > MOST_STEAL) {
            Verdict::TooBusy
        } else if p99.as_ps() > allowed || slips > MOST_SLIPS || held > MOST_SLIPS {
            let late = p99.max(if slips > MOST_SLIPS { p999 } else { p99 });
            let needed = late.as_ps().div_ceil(packet_time.as_ps().saturating_mul(4).max(1));
            // With this dilation, no thread would have been far behind, and virtual time would not have been held.
            let needed = needed.max((dilation as f64 / (1.0 - held.min(0.999))).ceil() as u64);
            Verdict::DilateTo(needed.max(dilation + 1))
        } else {
            Verdict::Faithful
        };
        Fidelity {
            hops,
            lateness: [p50, p99, p999],
            slips: self.slips,
            gaps: self.gaps,
            longest_gap: Duration::from_ns(self.longest_gap_ns),
            steal,
            held,
            copies,
            wrong_payloads: self.wrong_payloads,
            dilation,
            verdict,
        }
    }
}

const MOST_STEAL: f64 = 0.01;
/// In a faithful run, at most this share of the packets slips, and virtual time is held for at most this share of the
/// run.
pub(crate) const MOST_SLIPS: f64 = 0.001;

/// The fidelity of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fidelity {
    /// Number of packets that arrived over links. A packet counts once per link.
    pub hops: u64,
    /// Delay from a packet's due time to its handling, in real time: p50, p99, p99.9.
    pub lateness: [Duration; 3],
    /// Number of packets so late that the node computed with the clock instead of the packets' due times.
    pub slips: u64,
    /// Number of passes of a polling thread over its links and events that took longer than 10 us.
    pub gaps: u64,
    /// Duration of the longest of these passes. Zero if there were none.
    pub longest_gap: Duration,
    /// Share of the machine's CPU time that other virtual machines took, from 0 to 1; `None` if the system does not
    /// report it.
    pub steal: Option<f64>,
    /// Share of the run, from 0 to 1, in which virtual time stood still because a polling thread was far behind.
    pub held: f64,
    /// Number of times that a packet's bytes were copied on the way.
    pub copies: u64,
    /// Number of payloads whose bytes differ from the bytes that the sender wrote.
    pub wrong_payloads: u64,
    /// Seconds of real time per second of virtual time, apart from holds.
    pub dilation: u64,
    /// The verdict on the run.
    pub verdict: Verdict,
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, p999] = self.lateness;
        writeln!(f, "fidelity     {} (at dilation {})", self.verdict, self.dilation)?;
        writeln!(
            f,
            "             packets were late by {p50} (p50), {p99} (p99), {p999} (p99.9) of real time; \
             {} of {} packets slipped (they came too late to be handled at their due time)",
            self.slips, self.hops
        )?;
        let (gaps, longest) = (self.gaps, self.longest_gap);
        write!(f, "             {gaps} polling passes took more than 10 us, the longest {longest}; ")?;
        if self.held > 0.0 {
            write!(f, "virtual time stood still for {:.2}% of the run; ", self.held * 100.0)?;
        }
        match self.steal {
            Some(share) => write!(f, "other virtual machines took {:.2}% of the CPU time; ", share * 100.0)?,
            None => write!(f, "the system does not report steal time; ")?,
        }
        write!(f, "packets were copied {} times, {} payloads wrong", self.copies, self.wrong_payloads)
    }
}

/// The verdict on whether a live run's results are valid for the modeled fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The results are valid. The 99th percentile of lateness is at most four times the longest serialization delay of
    /// a packet, in virtual time. At most 0.1% of packets slipped, and virtual time was held for at most 0.1% of the
    /// run. Other virtual machines took at most 1% of the CPU time, if the system reports this share.
    Faithful,
    /// The results are not valid. They are expected to be valid if virtual time runs this many times slower than the
    /// clock.
    DilateTo(u64),
    /// Other virtual machines took more than 1% of this machine's CPU time.
    TooBusy,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faithful => f.write_str("faithful"),
            Self::DilateTo(factor) => write!(f, "dilate to {factor}"),
            Self::TooBusy => f.write_str("machine too busy"),
        }
    }
}

/// The CPU time since the machine was started, in ticks: the total, and the time that other virtual machines took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steal {
    all: u64,
    stolen: u64,
}

impl Steal {
    pub(crate) fn now() -> Option<Self> {
        Self::of(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal. User and
    /// nice time include guest time.
    fn of(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        Some(Self { all: ticks.iter().sum(), stolen: *ticks.get(7)? })
    }

    /// Share of the CPU time that other virtual machines took between two readings.
    pub(crate) fn share_until(self, later: Self) -> f64 {
        match later.all.saturating_sub(self.all) {
            0 => 0.0,
            all => later.stolen.saturating_sub(self.stolen) as f64 / all as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_other_machines_is_read() {
        let before = Steal::of("cpu  100 0 100 800 0 0 0 0 5 0\ncpu0 1").expect("a line of /proc/stat");
        let after = Steal::of("cpu  150 0 150 890 0 0 0 10 9 0").expect("a line of /proc/stat");
        assert!((before.share_until(after) - 0.05).abs() < 1e-12);
        assert!(Steal::of("intr 1").is_none() && Steal::of("cpu  1 2").is_none());
    }

    #[test]
    fn late_packets_ask_for_slower_time() {
        let packet_time = Duration::from_us(10);
        let mut meter = Meter::new();
        (0..100_000).for_each(|_| meter.late(1_000));
        assert_eq!(meter.report(packet_time, 1, 0, None, 0.0).verdict, Verdict::Faithful);
        (0..2_000).for_each(|_| meter.late(100_000));
        // The limit is four packet times of 10 us. A lateness of 100 us is within this limit if time runs at least 2.5
        // times slower, so the dilation is 3.
        assert_eq!(meter.report(packet_time, 1, 0, None, 0.0).verdict, Verdict::DilateTo(3));
        assert_eq!(meter.report(packet_time, 3, 0, None, 0.0).verdict, Verdict::Faithful);
        assert_eq!(
            meter.report(packet_time, 3, 0, None, 0.5).verdict,
            Verdict::DilateTo(6),
            "virtual time stood still for half of the run"
        );
    }
}
