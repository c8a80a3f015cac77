//! Switch Adaptive Routing: switches read the congestion notices that pass them. A notice can make a switch move the
//! frames for one destination to another port.
//!
//! Source: C. Minkenberg et al., "Adaptive Routing in Data Center Bridges" (HOTI 2009) and "Adaptive routing for
//! Convergence Enhanced Ethernet" (HPSR 2009), as evaluated by D. Crisan, M. Gusat and C. Minkenberg ("Comparative
//! Evaluation of CEE-based Switch Adaptive Routing"). specifications/cee.md §5.6 fills in the details that the papers
//! leave open.
//!
//! A QCN notice ([`crate::link::qcn`]) travels from the congested queue to the source of the frame that met the
//! congestion. A switch at which the notice arrives by an up port learns that frames with the same destination as this
//! frame meet congestion behind that port. For each destination the switch keeps a level per up port. By default, while
//! all up ports are usable, all frames for a destination leave by the port with the least level and are never divided
//! among ports. Among ports with equal levels, the first port in cyclic order from D-mod-k's port is taken. As long as
//! there is no congestion, frames thus stay in order. A switch is the first to learn of congestion in its own queues,
//! because the notices about these queues start at this switch. As with all up/down routing, notices take random ports
//! upwards, so that they arrive by all the paths that lead to the congested queue.
//!
//! Hosts with a single link take no part in this routing. A host with several links chooses among them as a switch
//! does, and reads the notices that arrive. Other hosts without rate limiters ignore notices.
//!
//! Cost per frame that goes up: a read of 16 bytes for each up port. Cost per notice: on the way up, a random number;
//! at a switch that reads the notice, also two or three reads of the levels of all up ports.

mod levels;
mod split;
mod switch;

use crate::fluid::Spread;
use crate::parameters;
use crate::routing::reordering::{HOLD, Hold};
use crate::routing::up_down;
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use levels::{Local, Update};
use raddle_core::Duration;
use std::sync::Arc;
use switch::SwitchAr;

/// Switch Adaptive Routing.
pub(crate) const ROUTING: Routing = Routing {
    info: INFO,
    build: Build::Compiled(build),
    spread: |_| Spread::LeastLoaded,
    hold: |settings| Hold::new(Parameters::of(settings).hold, None),
};

const INFO: Info = Info {
    name: "switch-ar",
    summary: "Packets to a destination take the up port for which congestion notices report the least congestion",
    source: "Minkenberg et al., HPSR 2009 and HOTI 2009; Crisan et al.",
    differs: &[
        "each notice adds its feedback to a port's congestion level; after a notice from the port's own \
         queue, notices from other switches no longer change this level; both rules are calibrated on \
         Figure 9 of Crisan et al. (specifications/cee.md §5.6)",
        "without congestion, frames take D-mod-k's path; the papers do not specify the path",
        "after link failures, frames take D-mod-k's choice among the remaining paths",
        "receivers put TCP segments back in order below TCP; with the transport `cee`, receivers put frames \
         back in order",
        "two parameters are our additions: with `moved`, a notice moves only a share of the frames; with \
         `keep_used`, a switch drops the notices that change its routes; the paper only discusses \
         these ideas",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        /// how a notice changes a port's congestion level; with `last`, `ewma` and `max`, traffic can stay on a
        /// congested path
        update: Update;
        /// how notices of the switch's own queues are treated: they exclude notices of other switches, count like
        /// notices of other switches, or are ignored
        local: Local;
        /// time without counted notices after which a port's congestion level for a destination is reset
        timer: Duration = Duration::from_ms(250), Duration::from_ps(1)..=Duration::from_ms(60_000);
        /// drop a notice if, for the destination of the congested frames, an up port other than the notice's port has
        /// congestion level 0
        absorb: bool = false;
        // The paper's scheme (§VII) moves all frames of a destination together (a binary split), as with the value 1.
        /// share of frames that a notice moves from its port to another port, for one destination; 1 moves all of them
        moved: f64 = 1.0, 0.001..=1.0;
        // Without this parameter, sources cannot tell whether a switch used a notice (§V-A1 of the paper).
        /// drop a notice that made another port the one with the least congestion level; with moved = 1, hosts then see
        /// only notices that moved no frames
        keep_used: bool = false;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let tree = up_down::tree(plan.topology, INFO.name)?;
    plan.congestion_points("qcn", "`switch-ar`")?;
    let (parameters, of) = (Parameters::of(plan.settings), Arc::clone(&tree));
    Ok(up_down::forwarders(plan, tree, false, move |node| SwitchAr::new(&of, node, &parameters)))
}

#[cfg(test)]
mod tests;
