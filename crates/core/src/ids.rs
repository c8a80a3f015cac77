//! Ids: small integers, each with its own type. [`NodeId`](crate::NodeId) is defined in `raddle_wire`.

use raddle_wire::id;

id! {
    /// A port of one node. The node sends packets of a link by the port, and receives the packets of the
    /// link's reverse direction by the same port.
    PortId(u16)
}
id! {
    /// A directed link, numbered over the whole fabric. Each egress port has one such number, even a port without a
    /// link.
    LinkId(u32)
}
id! {
    /// The number of a flow. The flows of the workload are numbered in order of start. Packets do not carry this
    /// number.
    FlowId(u32)
}
