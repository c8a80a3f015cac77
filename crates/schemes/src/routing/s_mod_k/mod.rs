//! S-mod-k: the source's number alone selects the ports upwards. While no link has failed, all packets of a host that
//! reach a root therefore reach the same root (specifications/cee.md §5.2; Rodriguez et al., CLUSTER 2009).
//!
//! By default, at a switch of level l the index of the parent is `source / (w1 * .. * wl) mod w(l+1)`, where `wi` is
//! the number of parents of each node of level i - 1. All packets of a flow take one path.

use crate::fluid::Spread;
use crate::routing::up_down::{self, ModK, ModKParameters};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::Packet;

/// S-mod-k.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::AsForwarded, hold: |_| None };

const INFO: Info = Info {
    name: "s-mod-k",
    summary: "Each packet goes up a tree and then down; the digits of the source's number select the up \
              ports",
    source: "Rodriguez et al., CLUSTER 2009; Crisan et al., CEE Switch Adaptive Routing",
    differs: &[],
    view: View::Local,
    parameters: &ModKParameters::LIST,
};

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let tree = up_down::tree(plan.topology, INFO.name)?;
    let ModKParameters { divisor } = ModKParameters::of(plan.settings);
    let of = tree.clone();
    Ok(up_down::forwarders(plan, tree, false, move |node| ModK::new(&of, node, divisor, Packet::src)))
}

#[cfg(test)]
mod tests;
