//! R2C2's packets (Costa et al., SIGCOMM 2015, §3 and Fig. 6; the byte layout is a reconstruction).
//!
//! All multi-byte fields are big-endian. A flow handle is `src << 16 | lid`, where `lid` is the sender's own
//! 16-bit number for the flow.

/// Most hops a route of 3 bits a hop can hold in its 128 bits.
pub const MAX_HOPS_3_BITS: usize = 42;

/// A source route: up to 128 bits of egress ports, the first hop in the most significant bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Route([u8; 16]);

/// Data flag: the checksum covers the payload as well.
pub const FLAG_PAYLOAD_COVERED: u8 = 1;
/// Data flag: the last packet of its flow.
pub const FLAG_LAST: u8 = 2;

/// The header of a data packet, 36 bytes on the wire (type 0x10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Flow handle.
    pub flow: u32,
    /// Source node.
    pub src: u16,
    /// Destination node.
    pub dst: u16,
    /// Packet number within the flow, from 0; wraps.
    pub seq: u32,
    /// Payload bytes.
    pub plen: u16,
    /// Hops in the route.
    pub rlen: u8,
    /// Hops already taken; each relay adds one. Not covered by the checksum.
    pub ridx: u8,
    /// [`FLAG_PAYLOAD_COVERED`] and [`FLAG_LAST`].
    pub flags: u8,
    /// The ports to leave by.
    pub route: Route,
}

/// What a broadcast event announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A flow starts.
    Start,
    /// A flow has sent its last byte.
    Finish,
    /// A flow's demand changed.
    Demand,
    /// A flow's routing protocol changed.
    Route,
    /// A flow that is still alive, said again after a failure; never shortens its age.
    Refresh,
}

/// Demand field: unlimited.
pub const UNLIMITED_KBPS: u32 = u32::MAX;

/// A broadcast event, 16 bytes on the wire (types 0x21 to 0x25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What is announced.
    pub kind: EventKind,
    /// Broadcast tree.
    pub tree: u8,
    /// Source node of the flow, and of the broadcast.
    pub src: u16,
    /// Destination node of the flow.
    pub dst: u16,
    /// Allocation weight, 1 to 255.
    pub weight: u8,
    /// Priority class, 0 to 15, 0 served first.
    pub priority: u8,
    /// Routing protocol's number, 0 to 15.
    pub protocol: u8,
    /// Demand in Kbit/s; [`UNLIMITED_KBPS`] means unlimited.
    pub demand_kbps: u32,
    /// The sender's own number for the flow.
    pub lid: u16,
}

/// Why a broadcast was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeReason {
    /// The queue was full.
    QueueFull,
    /// The link was down.
    LinkDown,
}

/// A drop notice (type 0x41): a data header whose 20-byte payload says which broadcast was lost where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropNotice {
    /// The header that carries it to the broadcast's source; `plen` is 20.
    pub data: Data,
    /// The event that was dropped.
    pub dropped: Event,
    /// The node that dropped it.
    pub node: u16,
    /// The egress port it was dropped at.
    pub port: u8,
    /// Why.
    pub reason: NoticeReason,
}
