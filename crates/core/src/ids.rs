//! Ids: small integers, each with its own type. [`NodeId`](crate::NodeId) is the wire's.

use raddle_wire::id;

id! {
    /// A port of one node. Packets leave by it, and packets of the reverse direction arrive by it.
    PortId(u16)
}
id! {
    /// A directed link, which is the same as the egress port it starts at, numbered over the whole fabric.
    LinkId(u32)
}
id! {
    /// A flow of the workload, in order of start. Known to the sender's host and to the records, not to the wire.
    FlowId(u32)
}
