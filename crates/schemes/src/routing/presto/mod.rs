//! Presto: hosts cut flows into flowcells, by default of 64 KB, and send the flowcells over all paths in turn (He et
//! al., SIGCOMM 2015).
//!
//! The edge of the network is a virtual switch in the sender's host (`sender.rs`). The virtual switch writes the number
//! of an end-to-end path into each packet for a host of another edge switch. Switches follow that path (`switch.rs`)
//! and choose nothing, and the last switch removes the number. The number is a [`raddle_core::Shim::Path`]; the paper
//! uses shadow MAC addresses. In a Clos network a path is a plane and a core in that plane, with the number `plane ·
//! cores + core` ([`Paths`]).
//!
//! A flow's cells take the paths in turn, starting at a path that depends on the flow. Once the sender knows that a
//! link has failed, it leaves out the paths over that link. An aggregation switch that has lost half of its cores then
//! gets half as many turns, which is the weight that the paper gives to this switch (§3.1). Receiving hosts restore the
//! order of cells and treat a gap within a cell as a loss ([`crate::routing::reordering`]; §3.2).
//!
//! Cost per packet: at the sender, a hash look-up of the destination's edge switch; at a switch, less than the cost of
//! ECMP.

mod paths;
mod sender;
mod switch;

pub(crate) use paths::Paths;
pub(crate) use sender::Sender;
pub(crate) use switch::Switch;

use crate::fluid::Spread;
use crate::parameters;
use crate::routing::reordering::{FLOWCELL, HOLD, Hold};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::Duration;
use raddle_topology::Shape;
use std::sync::Arc;

/// Presto.
pub(crate) const ROUTING: Routing = Routing {
    info: INFO,
    build: Build::Compiled(build),
    spread: |_| Spread::Evenly,
    hold: |settings| {
        let Parameters { flowcell, hold } = Parameters::of(settings);
        Hold::new(hold, Some(flowcell))
    },
};

const INFO: Info = Info {
    name: "presto",
    summary: "Hosts cut flows into flowcells (64 KB by default) and send the flowcells over all end-to-end \
              paths in turn",
    source: "He et al., Presto, SIGCOMM 2015",
    differs: &[
        "a packet's flowcell is computed from its position in the flow, so a retransmission takes the same path as \
         the original",
        "all pure acknowledgements of a flow take the same path",
        "the path number adds 4 bytes to the packet; the paper's shadow MAC addresses add no bytes",
        "a receiver waits a fixed time for a missing flowcell; the paper adapts this time to measured delays",
        "after a failure all surviving paths are used equally; there are no weights for paths of unequal rates",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        flowcell: u32 = FLOWCELL;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let unfit = |problem: &str, hint: &str| Unfit {
        key: "scheme.routing".into(),
        problem: problem.into(),
        hint: hint.into(),
    };
    let &Shape::Clos(size) = plan.topology.shape() else {
        let hint = "choose topology.kind = \"fat_tree\" or \"folded_clos\", or routing = \"spray\", which runs on \
                    any topology";
        return Err(unfit("`presto` needs a Clos network, and this topology is not a Clos network", hint));
    };
    if size.aggregations * size.cores.max(1) > 1 << 16 {
        return Err(unfit(
            "`presto` supports at most 65,536 paths between two hosts, and this topology has more",
            "choose fewer cores",
        ));
    }
    let paths = Arc::new(Paths::new(plan.topology, size));
    let (Parameters { flowcell, .. }, seed) = (Parameters::of(plan.settings), plan.seed);
    let topology = Arc::clone(plan.topology);
    Ok(Box::new(move |node| {
        Some(if topology.is_host(node) {
            Box::new(Sender::new(node, &paths, flowcell, seed))
        } else {
            Box::new(Switch::new(node, &paths))
        })
    }))
}

#[cfg(test)]
mod tests;
