//! D-mod-k: the destination's number alone selects the ports upwards. While no link has failed, all packets that reach
//! a root on their way to a host therefore reach the same root (specifications/cee.md §5.1, "Deterministic"; Rodriguez
//! et al., CLUSTER 2009).
//!
//! By default, at a switch of level l the index of the parent is `destination / (w1 * .. * wl) mod w(l+1)`, where `wi`
//! is the number of parents of each node of level i - 1. In a k-ary tree this is the l-th digit of the destination,
//! counted from the lowest. All packets of a flow take one path. If each host of a k-ary tree sends one flow to the
//! host whose number is greater by a fixed distance (modulo the number of hosts), no two flows share a link.

use crate::fluid::Spread;
use crate::routing::up_down::{self, ModK, ModKParameters};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::Packet;

/// D-mod-k.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::AsForwarded, hold: |_| None };

const INFO: Info = Info {
    name: "d-mod-k",
    summary: "Each packet goes up a tree and then down; the digits of the destination's number select the up \
              ports",
    source: "Rodriguez et al., CLUSTER 2009; Crisan et al., CEE Switch Adaptive Routing, \"Deterministic\"",
    differs: &[],
    view: View::Local,
    parameters: &ModKParameters::LIST,
};

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let tree = up_down::tree(plan.topology, INFO.name)?;
    let ModKParameters { divisor } = ModKParameters::of(plan.settings);
    let of = tree.clone();
    Ok(up_down::forwarders(plan, tree, false, move |node| ModK::new(&of, node, divisor, Packet::dst)))
}

#[cfg(test)]
mod tests;
