//! Runs experiments on the lockstep runtime, whose nodes exchange encoded bytes.

use crate::Error;
use crate::observe::gather::{Gather, Sampled};
use crate::observe::lossless;
use crate::run::prepare::Prepared;
use crate::run::{Ended, Watch, refuse_imbalance, retransmissions, waiting};
use raddle_core::{Duration, Progress, Time, Totals};
use raddle_live::lockstep::Lockstep;
use std::sync::Arc;

/// Simulated time between two progress checks of a run.
const SLICE: Duration = Duration::from_us(100);

/// Runs an experiment on the lockstep runtime.
pub(crate) fn run<'a>(
    prepared: &mut Prepared,
    gather: Gather<'a>,
    watch: &mut Watch<'_>,
) -> Result<Ended<'a>, Error> {
    let topology = Arc::clone(&prepared.topology);
    let node = |id| (prepared.parts.node)(id);
    let runtime = Lockstep::new(&topology, node, prepared.flows.clone(), Sampled(gather))
        .with_decoders(prepared.errors.decoders.clone());
    let runtime = runtime.with_limits(prepared.limits());
    let runtime = runtime.with_queues(|link| prepared.queue(link));
    let runtime = runtime.with_agents(|link| prepared.agent(link));
    let runtime = runtime.with_flow_control(|link| prepared.flow_control(link));
    let mut runtime = runtime.with_errors(&prepared.errors);
    let limit = prepared.experiment.engine.time_limit.unwrap_or(Time::NEVER);
    let mut complete = true;
    let mut until = Time::ZERO;
    while until < limit {
        until = limit.min(until + SLICE);
        let rest = runtime.run(until);
        if rest {
            break;
        }
        let Totals { packet_hops, flows_delivered, .. } = *runtime.totals();
        if watch.look(Progress { now: runtime.now(), packet_hops, flows_delivered }).is_break() {
            complete = false;
            break;
        }
    }
    let (now, totals, links) = (runtime.now(), *runtime.totals(), runtime.link_stats().to_vec());
    refuse_imbalance(&totals, runtime.packets_inside() as u64)?;
    let waiting = waiting(&topology, |node| runtime.application(node));
    let retransmissions = retransmissions(&topology, |node| runtime.host(node));
    let flow_control = lossless::records(&runtime.flow_control(), &topology, now);
    lossless::refuse_losses(&flow_control, &links, &totals.drops, &topology)?;
    let gather = runtime.into_observer().into();
    let ended = Ended::new(gather, totals, links, now, complete);
    Ok(Ended { flow_control, waiting, retransmissions, ..ended })
}
