//! The cost of rate computations at a node (R2C2, §5.1, Fig. 8): the time of each computation, as a share of the
//! interval between computations.
//!
//! A trace of flows is replayed as one node sees it, with one tick in each interval. At a tick, each algorithm
//! ([`Algorithm`]) computes the rates of the flows that were active at the previous tick and are still active, but the
//! slowest algorithm computes only at some ticks. A computation turns a list of flows into a list of their rates. Its
//! measured time includes the computation of routing weights.

mod recorded;
mod trace;

pub use recorded::{Core, Measured, Recorded};
pub use trace::Lifetime;

use raddle_allocate::{Allocate, Flows, RateTable, Reference, WaterFill, usable};
use raddle_core::{Duration, LinkId, Rate, Time};
use raddle_records::stats;
use raddle_topology::Topology;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;
use std::time::Instant;

/// An algorithm that computes rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Progressive filling as in textbooks.
    Reference,
    /// Water-filling with a heap, computed from scratch at every tick.
    Efficient,
    /// Water-filling that updates the result of the previous tick.
    Incremental,
}

impl Algorithm {
    /// All algorithms, the slowest first.
    pub const ALL: [Self; 3] = [Self::Reference, Self::Efficient, Self::Incremental];

    /// The algorithm's name, for example `reference`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Efficient => "efficient",
            Self::Incremental => "incremental",
        }
    }
}

/// Numbers of computations to measure.
#[derive(Debug, Clone, Copy)]
pub struct Samples {
    /// Maximum number of ticks that are measured. The efficient and the incremental algorithm compute at each of these
    /// ticks.
    pub ticks: usize,
    /// Maximum number of these ticks at which the reference algorithm also computes. The reference algorithm computes
    /// at the first of these ticks, and then at evenly spaced ticks.
    pub reference: usize,
}

/// A fabric on which traces are replayed.
#[derive(Debug)]
pub struct Replay {
    routing: Routing,
    protocol: Protocol,
    usable: Vec<f64>,
}

/// The relative difference above which the rates of two algorithms disagree.
const DISAGREEMENT: f64 = 1e-9;

impl Replay {
    /// A replay on `topology` with flows routed by `protocol`. The share `headroom` of each link's rate is kept free.
    #[must_use]
    pub fn new(topology: Arc<Topology>, protocol: Protocol, headroom: f64) -> Self {
        let mut capacity = vec![Rate::ZERO; topology.link_slots()];
        for (id, link) in topology.links() {
            capacity[id.index()] = link.rate;
        }
        Self { usable: usable(&capacity, headroom), routing: Routing::new(topology), protocol }
    }

    /// Measures the time of the computations at up to `samples.ticks` ticks of a replay of `trace`. The flows of
    /// `trace` must be sorted by start. Returns one list for each algorithm, in the order of [`Algorithm::ALL`]. A list
    /// contains the algorithm's times, sorted, in percent of the interval `rho`.
    ///
    /// The replay ends when the last flow starts, or when half of the flows have ended, whichever is later. It ends
    /// earlier if `samples.ticks` ticks are measured before. The first tenth of the time from the first flow's start to
    /// the later of these two events is skipped. If the ticks of one node are too few, several nodes are replayed in
    /// turn, each with a different phase of its ticks. The first tick of each node is not counted. If the replayed time
    /// is shorter than three intervals, there may be fewer samples than requested.
    ///
    /// # Panics
    /// If the relative difference between the rates that two algorithms give a flow exceeds 1e-9, or if `rho` is zero.
    #[must_use]
    pub fn overheads(&self, trace: &[Lifetime], rho: Duration, samples: Samples) -> [Vec<f64>; 3] {
        let mut overheads = [const { Vec::new() }; 3];
        let every = samples.ticks.div_ceil(samples.reference.max(1)).max(1);
        let mut computations = Computations::new(self);
        at_ticks(trace, rho, samples.ticks, |tick, places| {
            let Some(tick) = tick else {
                computations = Computations::new(self);
                computations.tick(trace, places, true);
                return;
            };
            let times = computations.tick(trace, places, tick.is_multiple_of(every));
            for (overheads, time) in overheads.iter_mut().zip(times) {
                overheads.extend(time.map(|seconds| 100.0 * seconds / rho.as_secs_f64()));
            }
        });
        overheads.iter_mut().for_each(|sample| stats::sort(sample));
        overheads
    }
}

/// Number of flows that a computation counts at each of up to `ticks` ticks, sorted. The ticks are those of
/// [`Replay::overheads`].
///
/// # Panics
/// If `rho` is zero.
#[must_use]
pub fn counted(trace: &[Lifetime], rho: Duration, ticks: usize) -> Vec<f64> {
    let mut counts = Vec::new();
    at_ticks(trace, rho, ticks, |tick, places| counts.extend(tick.map(|_| places.len() as f64)));
    stats::sort(&mut counts);
    counts
}

/// Calls `compute` at up to `ticks` ticks of a replay of `trace`, with the number of the tick and the flows that count,
/// as indices into the trace. [`Replay::overheads`] describes the replay. The first tick of each node has no number.
fn at_ticks(trace: &[Lifetime], rho: Duration, ticks: usize, mut compute: impl FnMut(Option<usize>, &[u32])) {
    let (from, until) = window(trace);
    let a_node = usize::try_from(until.since(from).as_ps() / rho.as_ps()).unwrap_or(usize::MAX);
    let nodes = ticks.div_ceil(a_node.saturating_sub(2).max(1)) as u64;
    let mut numbers = 0..ticks;
    for node in 0..nodes {
        let phase = Duration::from_ps(rho.as_ps() / nodes * node);
        let mut of_node = Ticks::new(trace, from + phase, rho);
        compute(None, of_node.next_flows());
        while of_node.now + rho < until
            && let Some(number) = numbers.next()
        {
            compute(Some(number), of_node.next_flows());
        }
    }
}

/// The start and the end of the time in which ticks are replayed.
fn window(trace: &[Lifetime]) -> (Time, Time) {
    let mut ends: Vec<Time> = trace.iter().map(|flow| flow.end).collect();
    ends.sort_unstable();
    let first = trace.first().map_or(Time::ZERO, |flow| flow.start);
    let last = trace.last().map_or(first, |flow| flow.start);
    let until = ends.get(ends.len() / 2).map_or(last, |&half| half.max(last));
    (first + Duration::from_ps(until.since(first).as_ps() / 10), until)
}

/// The ticks of a node.
struct Ticks<'a> {
    trace: &'a [Lifetime],
    now: Time,
    rho: Duration,
    /// Number of flows of the trace that had started by the previous tick.
    seen: usize,
    /// The flows that are active at the latest tick and were active at the tick before, as indices into the trace.
    counted: Vec<u32>,
}

impl<'a> Ticks<'a> {
    fn new(trace: &'a [Lifetime], now: Time, rho: Duration) -> Self {
        Self { trace, now, rho, seen: 0, counted: Vec::new() }
    }

    /// Moves on to the next tick. Returns the flows that are active at that tick and at the tick before, as indices
    /// into the trace.
    fn next_flows(&mut self) -> &[u32] {
        let new = self.trace[self.seen..].iter().take_while(|flow| flow.start <= self.now).count();
        self.now += self.rho;
        let places = self.seen..self.seen + new;
        self.counted.extend(places.map(|place| u32::try_from(place).expect("an index must fit 32 bits")));
        self.seen += new;
        self.counted.retain(|&place| self.trace[place as usize].end > self.now);
        &self.counted
    }
}

/// A node's computations with each algorithm.
struct Computations<'a> {
    replay: &'a Replay,
    flows: Flows,
    row: Vec<(LinkId, f32)>,
    water_fill: WaterFill,
    table: RateTable<u32>,
    /// Rates by algorithm, in the order of [`Algorithm::ALL`].
    rates: [Vec<f64>; 3],
}

impl<'a> Computations<'a> {
    fn new(replay: &'a Replay) -> Self {
        Self {
            replay,
            flows: Flows::default(),
            row: Vec::new(),
            water_fill: WaterFill::default(),
            table: RateTable::new(&replay.usable),
            rates: Default::default(),
        }
    }

    /// Computes the rates of the flows at the indices `places` of the trace, and returns the seconds that each
    /// algorithm took. `None` for the reference algorithm unless `with_reference` is set.
    fn tick(&mut self, trace: &[Lifetime], places: &[u32], with_reference: bool) -> [Option<f64>; 3] {
        let Self { replay, flows, row, water_fill, table, rates: [slow, fast, kept] } = self;
        let Replay { routing, protocol, usable } = *replay;
        let weights = |place: u32, row: &mut Vec<(LinkId, f32)>| {
            let Lifetime { src, dst, .. } = trace[place as usize];
            routing.weights(*protocol, src, dst, place.into(), row);
        };
        let mut from_scratch = |algorithm: &mut dyn Allocate, rates: &mut Vec<f64>| {
            timed(|| {
                flows.clear();
                for &place in places {
                    weights(place, row);
                    flows.push(1.0, 0, f64::INFINITY, row.iter().map(|&(link, weight)| (link.0, weight)));
                }
                algorithm.allocate(flows, usable, rates);
            })
        };
        let reference = with_reference.then(|| from_scratch(&mut Reference, slow));
        let efficient = from_scratch(water_fill, fast);
        let incremental = timed(|| {
            kept.clear();
            kept.extend(table.rates(places, |&place, flows| {
                weights(place, row);
                flows.insert(1.0, 0, f64::INFINITY, row.iter().map(|&(link, weight)| (link.0, weight)))
            }));
        });
        assert_agree(fast, kept);
        if with_reference {
            assert_agree(slow, kept);
        }
        [reference, Some(efficient), Some(incremental)]
    }
}

fn assert_agree(rates: &[f64], others: &[f64]) {
    assert_eq!(rates.len(), others.len());
    for (rate, other) in rates.iter().zip(others) {
        assert!(
            (rate - other).abs() <= DISAGREEMENT * rate,
            "two algorithms give one flow different rates: {rate} and {other} bit/s"
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "this function measures the wall-clock time of computations")]
fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::NodeId;
    use raddle_topology::builders;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn lifetime(start: u64, end: u64) -> Lifetime {
        Lifetime { src: NodeId(0), dst: NodeId(3), start: at(start), end: at(end) }
    }

    #[test]
    fn ticks_count_flows_that_have_lasted_an_interval() {
        let trace = [lifetime(1, 100), lifetime(10, 25), lifetime(11, 30), lifetime(12, 31)];
        let mut ticks = Ticks::new(&trace, at(0), Duration::from_us(10));
        let counted: Vec<Vec<u32>> = (0..4).map(|_| ticks.next_flows().to_vec()).collect();
        assert_eq!(counted, [vec![], vec![0, 1], vec![0, 3], vec![0]]);
    }

    #[test]
    fn as_many_ticks_are_timed_as_asked_for() {
        let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::ZERO).expect("valid dims");
        let replay = Replay::new(Arc::new(torus), Protocol::Rps, 0.05);
        let trace: Vec<Lifetime> = (0..100).map(|i| lifetime(i, i + 40)).collect();
        let samples = Samples { ticks: 50, reference: 10 };
        for rho in [1, 7, 25] {
            let overheads = replay.overheads(&trace, Duration::from_us(rho), samples);
            assert_eq!(overheads.each_ref().map(Vec::len), [10, 50, 50], "{rho} us");
            assert!(overheads.iter().flatten().all(|&percent| percent > 0.0));
        }
    }

    #[test]
    fn longer_intervals_count_fewer_flows() {
        // A flow starts every microsecond and lasts 40 us. So 40 flows are active at any time, and those that started
        // after the previous tick do not count.
        let trace: Vec<Lifetime> = (0..1_000).map(|i| lifetime(i, i + 40)).collect();
        let counts = |rho| counted(&trace, Duration::from_us(rho), 20);
        assert_eq!(counts(10), [30.0; 20]);
        assert_eq!(counts(25), [15.0; 20]);
        assert_eq!(counts(50), [0.0; 20]);
    }
}
