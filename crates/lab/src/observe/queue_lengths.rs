//! Samples the backlog at ports at regular intervals.

use crate::Error;
use raddle_core::{Duration, LinkId, Time};
use raddle_packet_sim::{Observer, Simulation};
use raddle_records::QueueLengthRecord;
use raddle_topology::Topology;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Samples the queues of chosen ports at every multiple of `interval` after the start of the run, as long as events
/// remain. Each sample is passed to `take`.
pub(crate) struct QueueLengths<'a> {
    interval: Duration,
    links: BTreeSet<LinkId>,
    topology: Arc<Topology>,
    next: Time,
    take: &'a mut dyn FnMut(&QueueLengthRecord) -> Result<(), Error>,
}

impl<'a> QueueLengths<'a> {
    pub(crate) fn of(
        topology: &Arc<Topology>,
        links: BTreeSet<LinkId>,
        interval: Duration,
        take: &'a mut dyn FnMut(&QueueLengthRecord) -> Result<(), Error>,
    ) -> Self {
        Self { interval, links, topology: Arc::clone(topology), next: Time::ZERO + interval, take }
    }

    /// The time of the next sample.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Samples the queues of a simulation that has run until the time of the next sample.
    ///
    /// # Errors
    /// If `take` fails.
    pub(crate) fn look<O: Observer>(&mut self, simulation: &mut Simulation<O>) -> Result<(), Error> {
        let at_ps = self.next.as_ps();
        for &id in &self.links {
            let Some(link) = self.topology.link(id) else { continue };
            let bytes = simulation.queued(id);
            (self.take)(&QueueLengthRecord { at_ps, link: id.0, from: link.from.0, to: link.to.0, bytes })?;
        }
        self.next += self.interval;
        Ok(())
    }
}
