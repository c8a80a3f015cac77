//! One run of an experiment and its results.

use crate::experiment::Document;
use crate::run::{Control, Outcome, RunState, Sinks, run_with};
use crate::{Error, Threads};
use raddle_records::{FlowRecord, QueueLengthRecord};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of packet hops after which a run is stopped.
const MOST_HOPS: u64 = 50_000;
/// Wall-clock seconds after which a run is stopped.
const MOST_SECONDS: f64 = 30.0;

/// The results of a run.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    /// The records of the flows, sorted by flow number.
    pub(super) flows: Vec<FlowRecord>,
    pub(super) queue_lengths: Vec<QueueLengthRecord>,
}

/// Runs the experiment until it ends, or is stopped after more than [`MOST_HOPS`] packet hops or [`MOST_SECONDS`]
/// seconds of wall-clock time.
pub(super) fn run(document: &Document, threads: Threads) -> Result<Ran, Error> {
    let (mut flows, mut queue_lengths) = (Vec::new(), Vec::new());
    let stop = AtomicBool::new(false);
    let mut progress = |state: &RunState| {
        if state.progress.packet_hops > MOST_HOPS || state.seconds > MOST_SECONDS {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut flow = |row: &FlowRecord| {
        flows.push(*row);
        Ok(())
    };
    let mut queue_length = |row: &QueueLengthRecord| {
        queue_lengths.push(*row);
        Ok(())
    };
    let sinks = Sinks { flow: &mut flow, queue_length: &mut queue_length, capture: None };
    let control = Control { stop: &stop, progress: &mut progress, threads };
    let outcome = run_with(document.prepare()?, sinks, control)?;
    flows.sort_by_key(|flow| flow.id);
    Ok(Ran { outcome, flows, queue_lengths })
}

impl Ran {
    /// The names of the compared tables in which the two runs differ, and `digest` if their digests differ. The tables
    /// of `record.series` are not compared.
    pub(super) fn differs(&self, other: &Self) -> Vec<&'static str> {
        let (one, two) = (&self.outcome, &other.outcome);
        let tables = [
            ("digest", one.digest == two.digest),
            ("flows", self.flows == other.flows),
            ("queue_lengths", self.queue_lengths == other.queue_lengths),
            ("links", one.links == two.links),
            ("queues", one.queues == two.queues),
            ("imbalance", one.imbalance == two.imbalance),
            ("throughput", one.throughput == two.throughput),
            ("flow_control", one.flow_control == two.flow_control),
            ("ranks", one.ranks == two.ranks),
        ];
        tables.into_iter().filter(|(_, same)| !same).map(|(table, _)| table).collect()
    }
}
