//! Runs experiments on the flow engine.

use crate::observe::gather::Gather;
use crate::run::prepare::Prepared;
use crate::run::{Ended, Watch};
use raddle_core::{Count, LinkStats, PacketKind, Totals};
use raddle_flow_sim::{Config, LinkLoad, Listener, Simulation};

/// Runs an experiment that has been prepared for the flow engine.
pub(crate) fn run<'a, L: Listener + Into<Gather<'a>>>(
    prepared: &mut Prepared,
    mut listener: L,
    watch: &mut Watch<'_>,
) -> Ended<'a> {
    let scheme = prepared.fluid.take().expect("the experiment must be prepared for the flow engine");
    let engine = &prepared.experiment.engine;
    let config = Config {
        framing: prepared.framing(),
        lookahead: prepared.lookahead(),
        handshake: prepared.parts.handshake,
        acknowledged: scheme.acknowledged,
        grid: engine.grid,
        time_limit: engine.time_limit,
    };
    let Prepared { topology, flows, .. } = &*prepared;
    let mut simulation = Simulation::new(topology, flows, scheme.sharing, scheme.split, config);
    let complete = simulation.run(&mut listener, |progress| watch.look(*progress));
    let links: Vec<LinkStats> = simulation.loads().into_iter().map(link_stats).collect();
    let sum = |of: fn(&LinkStats) -> u64| links.iter().map(of).sum();
    let mut totals = Totals { events: simulation.events(), ..Totals::default() };
    totals.kinds[PacketKind::Data as usize] =
        Count { packets: sum(|link| link.data_packets), bytes: sum(|link| link.data_bytes) };
    let now = simulation.now();
    Ended::new(listener.into(), totals, links, now, complete)
}

/// The traffic that crossed a link, rounded to whole packets and whole bytes.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn link_stats(load: LinkLoad) -> LinkStats {
    let whole = |count: f64| count.round() as u64;
    LinkStats { data_packets: whole(load.packets), data_bytes: whole(load.bytes), ..LinkStats::default() }
}
