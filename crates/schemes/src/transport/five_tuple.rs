//! The ports by which hosts of TCP and UDP tell their flows apart.

use raddle_core::{FlowKey, NodeId};

/// The source and destination ports of a host's `number`th flow: no pair twice in 3.9 billion flows.
pub(crate) fn ports(number: u64) -> (u16, u16) {
    const FIRST_SOURCE: u64 = 1_024;
    const SOURCES: u64 = 65_536 - FIRST_SOURCE;
    const FIRST_DESTINATION: u64 = 5_001;
    const DESTINATIONS: u64 = 65_536 - FIRST_DESTINATION;
    let src = FIRST_SOURCE + number % SOURCES;
    let dst = FIRST_DESTINATION + number / SOURCES % DESTINATIONS;
    (src as u16, dst as u16)
}

/// The name on the wire of the flow that `src` sends from one port to the other.
pub(crate) fn key(src: NodeId, (src_port, dst_port): (u16, u16)) -> FlowKey {
    FlowKey(u64::from(src.0) << 32 | u64::from(src_port) << 16 | u64::from(dst_port))
}
