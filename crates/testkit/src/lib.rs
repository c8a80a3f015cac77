//! Code shared by the tests and benchmarks of several crates.

pub mod toy;

use raddle_core::{Bytes, Duration, Flow, FlowId, LinkId, NodeId, Time};
use raddle_schemes::parameter::{Parameter, Settings, Value};
use raddle_schemes::registry::Registry;
use raddle_topology::Topology;
use std::sync::LazyLock;

/// The registry of the built-in schemes.
#[must_use]
pub fn registry() -> &'static Registry {
    static BUILTIN: LazyLock<Registry> = LazyLock::new(Registry::builtin);
    &BUILTIN
}

/// The defaults of `parameters`, except for the parameters that `values` sets.
#[must_use]
pub fn settings(parameters: &'static [Parameter], values: &[(&str, Value)]) -> Settings {
    let mut settings = Settings::defaults(parameters);
    values.iter().for_each(|&(name, value)| settings.set(name, value));
    settings
}

/// A flow of `size` bytes from host `src` to host `dst`.
#[must_use]
pub fn flow(id: u32, src: u32, dst: u32, size: u64, start: Time) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), start)
}

/// The time `us` microseconds after the start of a run.
#[must_use]
pub fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// The time `ns` nanoseconds after the start of a run.
#[must_use]
pub fn ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// Returns the link from a node to its neighbour.
///
/// # Panics
/// If the two nodes are not neighbours.
#[must_use]
pub fn link(topology: &Topology, from: NodeId, to: NodeId) -> LinkId {
    topology.links_from(from).find(|(_, link)| link.to == to).expect("neighbours").0
}
