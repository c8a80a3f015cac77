//! A load generator that runs beside a rack. Its connections belong to the kernels of the rack's hosts, and its flows
//! are flows of the rack's run.

use super::endpoint::Shared;
use super::told::{Teller, Word};
use super::{Clock, Rack};
use crate::load::{self, Load};
use raddle_core::Report;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

/// Keeps the rack running while this value exists. Programs that use the rack's network but have no endpoint need this
/// value.
#[derive(Debug)]
pub struct Stay {
    _shared: Arc<Shared>,
}

/// A load generator, and the state of its flows.
#[derive(Debug, Default)]
pub(super) struct Generator {
    load: Option<Load>,
    /// True from the start until the generator ends. False if there is no generator.
    runs: AtomicBool,
    delivered: AtomicU64,
}

impl Rack {
    /// Keeps the rack running until the returned value is dropped.
    #[must_use]
    pub fn stay(&self) -> Stay {
        Stay { _shared: Arc::clone(&self.programs) }
    }

    /// Runs a load generator together with the rack. The generator's connections are between the rack's hosts. The rack
    /// runs until all flows are over, and reports the flows to its observer.
    #[must_use]
    pub fn with_load(mut self, load: Load) -> Self {
        self.generator = Generator { load: Some(load), runs: true.into(), delivered: 0.into() };
        self
    }
}

impl Generator {
    /// Returns true if flows are in progress or still to start.
    pub(super) fn runs(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    /// Number of flows delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Takes out the generator, if there is one, for the thread that runs it.
    pub(super) fn take(&mut self) -> Option<Load> {
        self.load.take()
    }

    /// Runs the generator to its end, or until `stop` is set, and reports its flows.
    pub(super) fn run(
        &self,
        load: &mut Load,
        clock: &Clock,
        words: Sender<Word>,
        stop: &AtomicBool,
    ) -> io::Result<load::Counts> {
        let teller = Teller { words, of_packets: false, is_shared: false };
        let ended = load.run(
            stop,
            || clock.at(clock.real_ns()),
            |at, node, report| {
                self.delivered
                    .fetch_add(u64::from(matches!(report, Report::Delivered { .. })), Ordering::Relaxed);
                teller.report(at, node, report);
            },
        );
        self.runs.store(false, Ordering::Release);
        ended
    }
}
