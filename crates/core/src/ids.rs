//! Ids: small integers with a type each. [`NodeId`](crate::NodeId) is the wire's.

use raddle_wire::id;

id! {
    /// A port of one node; the port a packet leaves by is also the port the reverse direction arrives at.
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
