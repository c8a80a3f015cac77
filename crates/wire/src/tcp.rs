//! TCP over IPv4 (RFC 9293, RFC 791), with selective acknowledgements (RFC 2018).
//!
//! Node `n` has the address `10.0.0.0 + n`.

/// FIN flag.
pub const FIN: u8 = 0x01;
/// SYN flag.
pub const SYN: u8 = 0x02;
/// ACK flag.
pub const ACK: u8 = 0x10;

/// A TCP segment's headers: 40 bytes of IPv4 and TCP, plus SACK blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Sending node (24 bits).
    pub src: u32,
    /// Receiving node (24 bits).
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte; wraps.
    pub seq: u32,
    /// Next byte expected, if [`ACK`] is set; wraps.
    pub ack: u32,
    /// [`FIN`], [`SYN`], [`ACK`].
    pub flags: u8,
    /// SACK blocks in use, 0 to 3.
    pub sack_count: u8,
    /// Receive window in units of 1,024 bytes (window scale 10).
    pub window: u16,
    /// Payload bytes.
    pub plen: u16,
    /// SACK blocks `[from, to)`, the most recent first.
    pub sack: [(u32, u32); 3],
}
