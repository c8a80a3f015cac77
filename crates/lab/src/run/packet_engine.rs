//! Runs experiments on the packet engine.

use crate::Error;
use crate::observe::gather::Gather;
use crate::observe::lossless;
use crate::observe::queue_lengths::QueueLengths;
use crate::observe::series::QueueSeries;
use crate::run::prepare::Prepared;
use crate::run::{Ended, Watch, refuse_imbalance, retransmissions, waiting};
use raddle_core::{Duration, LinkId, Observer, Progress, Time, Totals};
use raddle_packet_sim::{QueueDepths, Reached, Simulation, Threads};
use raddle_records::QueueRecord;
use raddle_topology::Topology;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Sets the packet engine up for a prepared experiment, but does not run it. Calls `go_on` repeatedly, and returns
/// `None` once `go_on` returns `false`.
pub(crate) fn simulation<O: Observer>(
    prepared: &mut Prepared,
    threads: Threads,
    observer: O,
    go_on: impl Fn() -> bool,
) -> Option<Simulation<O>> {
    let (topology, config) = (Arc::clone(&prepared.topology), prepared.config(threads));
    let links = (0..topology.link_slots()).map_while(|link| go_on().then(|| prepared.port(LinkId::of(link))));
    let mut setups: Vec<_> = links.collect();
    if setups.len() < topology.link_slots() {
        return None;
    }
    let node = |id| (prepared.parts.node)(id);
    let port = |link: LinkId| std::mem::take(&mut setups[link.index()]);
    Simulation::set_up(&topology, node, port, prepared.flows.clone(), config, observer, go_on)
}

/// Runs an experiment on the packet engine.
pub(crate) fn run<'a, O: Observer + Into<Gather<'a>>>(
    prepared: &mut Prepared,
    observer: O,
    mut samples: Samples<'_>,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let topology = Arc::clone(&prepared.topology);
    let stop = watch.control.stop;
    let go_on = || !stop.load(Ordering::Relaxed);
    let simulation = simulation(prepared, watch.control.threads, observer, go_on);
    let mut simulation = simulation.ok_or(Error::Interrupted)?;
    let controlled = prepared.experiment.scheme.flow_control.is_some();
    let every = prepared.experiment.engine.watchdog.unwrap_or(lossless::WATCHDOG);
    let watchdog = controlled.then_some(every);
    let complete = advance(&mut simulation, &topology, &mut samples, watchdog, watch)?;
    let totals = simulation.totals();
    refuse_imbalance(&totals, simulation.packets_inside() as u64)?;
    let (now, links) = (simulation.now(), simulation.link_stats());
    let queues = queues(&simulation.queue_depths());
    let flow_control = lossless::records(&simulation.flow_control(), &topology, now);
    let waiting = waiting(&topology, |node| simulation.application(node));
    let retransmissions = retransmissions(&topology, |node| simulation.host(node));
    lossless::refuse_losses(&flow_control, &links, &totals.drops, &topology)?;
    let gather = simulation.into_observer().into();
    let ended = Ended::new(gather, totals, links, now, complete);
    let queue_series = samples.queue_series;
    Ok(Ended { queues, queue_series, flow_control, waiting, retransmissions, ..ended })
}

/// The parts of a run that sample queues. A part is `None` if the experiment does not ask for its samples.
pub(crate) struct Samples<'a> {
    pub(crate) queue_lengths: Option<QueueLengths<'a>>,
    pub(crate) queue_series: Option<QueueSeries>,
}

impl Samples<'_> {
    /// The time of the next sample; `None` if no samples are taken.
    fn next(&self) -> Option<Time> {
        let next = (
            self.queue_lengths.as_ref().map(QueueLengths::next),
            self.queue_series.as_ref().map(QueueSeries::next),
        );
        next.0.into_iter().chain(next.1).min()
    }

    /// Takes the samples whose time is `now`.
    fn look<O: Observer>(
        &mut self,
        now: Time,
        simulation: &mut Simulation<O>,
        topology: &Topology,
    ) -> Result<(), Error> {
        if let Some(queue_series) = self.queue_series.as_mut().filter(|series| series.next() == now) {
            queue_series.look(simulation, topology);
        }
        let due = self.queue_lengths.as_mut().filter(|lengths| lengths.next() == now);
        due.map_or(Ok(()), |lengths| lengths.look(simulation))
    }
}

/// Runs a simulation until it ends or `watch` stops it. In between, samples queues and looks for deadlocks. Returns
/// true if the simulation reached its end.
fn advance<O: Observer>(
    simulation: &mut Simulation<O>,
    topology: &Topology,
    samples: &mut Samples<'_>,
    watchdog: Option<Duration>,
    watch: &mut Watch<'_>,
) -> Result<bool, Error> {
    let mut next_watch = watchdog.map(|every| Time::ZERO + every);
    loop {
        let until = samples.next().into_iter().chain(next_watch).min().unwrap_or(Time::NEVER);
        let reached = simulation.run_until(until, |progress| watch.look(*progress));
        match reached {
            Reached::End => return Ok(true),
            Reached::Stopped => return Ok(false),
            Reached::Until => {}
        }
        // The engine calls `watch` only once in many events, and there may be few events between two returns of
        // `run_until`. So `watch` is also called after each return.
        let Totals { packet_hops, flows_delivered, .. } = simulation.totals();
        if watch.look(Progress { now: until, packet_hops, flows_delivered }).is_break() {
            return Ok(false);
        }
        samples.look(until, simulation, topology)?;
        if next_watch == Some(until) {
            if let Some(cycle) = simulation.pause_cycle() {
                return Err(lossless::deadlock(&cycle, topology, until));
            }
            next_watch = watchdog.map(|every| until + every);
        }
    }
}

/// One row for each non-empty bin of the ports' histograms of queue lengths.
fn queues(depths: &[(LinkId, QueueDepths)]) -> Vec<QueueRecord> {
    let bins = |&(link, depths): &(LinkId, QueueDepths)| {
        let counted = (0_u32..).zip(depths.0).filter(|&(_, packets)| packets > 0);
        counted.map(move |(bin, packets)| QueueRecord { link: link.0, below_bytes: 1_u64 << bin, packets })
    };
    depths.iter().flat_map(bins).collect()
}
