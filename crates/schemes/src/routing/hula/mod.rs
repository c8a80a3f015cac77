//! HULA: hop-by-hop load balancing in Clos networks, based on probes from edge switches (Katta et al., SOSR 2016;
//! specifications/expeditus.md §6.5).
//!
//! An edge switch (ToR) periodically sends probes by all its uplinks. A switch that receives a probe raises the probe's
//! utilisation to the utilisation of the link towards the ToR, if the link's utilisation is greater. The switch keeps
//! the next hop with the least utilisation for each ToR. Then it passes on the probe, with the utilisation of this next
//! hop: a probe from below goes to all other neighboring switches, a probe from above only to the switches below. Each
//! switch thus knows, for each ToR, one next hop and the utilisation of the busiest link on the path through this next
//! hop, but not the path itself. A flowlet takes the next hop that is best when the flowlet begins.
//!
//! A ToR stops probing when it has forwarded no packets other than probes for the time `ageing`. The next such packet
//! triggers probes at once. An idle fabric therefore has no events.

mod best;
mod switch;
mod utilisation;

use crate::fluid::Spread;
use crate::parameters;
use crate::routing::flowlets;
use crate::routing::next_hops::ShortestPaths;
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::{Duration, Forwarder};
use raddle_topology::{Clos, Shape};
use switch::Switch;

/// HULA.
pub const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::LeastLoaded, hold: |_| None };

const INFO: Info = Info {
    name: "hula",
    summary: "Each flowlet takes, at every hop, the port with the least utilised path to the destination's edge \
              switch, measured by probes",
    source: "HULA (SOSR 2016) §3; specifications/expeditus.md §6.5",
    differs: &[
        "an edge switch that has forwarded only probes for the time `ageing` stops probing until a packet \
         other than a probe passes; an idle network thus has no events",
        "if no probe has confirmed the best next hop for the time `ageing`, flowlets take shortest paths by \
         hash, as in ECMP; the paper's switches keep the old next hop until another probe arrives",
        "a probe is a packet of 46 bytes, the payload of a 64-byte frame; utilisation has 8 bits, and 255 is line \
         rate",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    /// HULA's parameters.
    struct Parameters {
        /// interval between the probes of an edge switch
        probe_period: Duration = Duration::from_us(200), Duration::from_ns(1)..=Duration::from_ms(1_000_000_000);
        /// time constant of the estimate of a link's utilisation; twice the probe period in the paper
        tau: Duration = Duration::from_us(400), Duration::from_ns(1)..=Duration::from_ms(1_000_000_000);
        /// time without a probe after which a next hop is no longer used; also the time without packets other than
        /// probes after which an edge switch stops probing
        ageing: Duration = Duration::from_us(600), Duration::from_ns(1)..=Duration::from_ms(1_000_000_000);
        t_fl: Duration = flowlets::gap(Duration::from_us(100));
        flowlets: usize = flowlets::SLOTS;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let Shape::Clos(size) = *plan.topology.shape() else {
        return Err(Unfit {
            key: "scheme.routing".into(),
            problem: "`hula` needs a Clos network, and this topology is not a Clos network".into(),
            hint: "choose topology.kind = \"folded_clos\", \"clos\" or \"fat_tree\", or another routing such as \
                   `letflow`"
                .into(),
        });
    };
    let (clos, paths) = (Clos::new(size), ShortestPaths::new(plan.topology));
    let (parameters, seed) = (Parameters::of(plan.settings), plan.seed);
    Ok(Box::new(move |node| {
        (clos.level(node) > 0).then(|| {
            let switch = Switch::new(node, &clos, size.hosts, &paths, &parameters, seed);
            Box::new(switch) as Box<dyn Forwarder>
        })
    }))
}

#[cfg(test)]
mod tests;
