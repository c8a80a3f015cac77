//! The flow keys of TCP and UDP hosts.

use raddle_core::{FlowKey, NodeId};

/// The key of a flow from host `src`. The key consists of the host's number and the flow's two ports.
pub(crate) fn key(src: NodeId, (src_port, dst_port): (u16, u16)) -> FlowKey {
    FlowKey(u64::from(src.0) << 32 | u64::from(src_port) << 16 | u64::from(dst_port))
}
