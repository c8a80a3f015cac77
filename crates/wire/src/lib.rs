//! Byte-exact headers: typed structs, their encoding, decoding and checksums. No behaviour.
//!
//! One file a header. A header is a `Copy` struct; the simulator passes the struct, the live runtime and pcapng
//! pass its bytes, and both mean the same. Decoding never panics on any bytes: a malformed packet is data, and
//! what is wrong with it is an [`Error`].

pub mod r2c2;
pub mod tcp;

/// The header of a packet, whichever protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// R2C2's source-routed data header (also PFQ's, whose adaptive mode leaves the route empty).
    R2c2Data(r2c2::Data),
    /// R2C2's 16-byte broadcast event.
    R2c2Event(r2c2::Event),
    /// R2C2's notice to a source that one of its broadcasts was dropped.
    R2c2DropNotice(r2c2::DropNotice),
    /// A TCP segment in its IPv4 packet.
    Tcp(tcp::Segment),
}

/// Why bytes are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer bytes than the header and what it announces need.
    #[error("{have} bytes where {need} are needed")]
    Truncated {
        /// Bytes present.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// The checksum does not match the covered bytes.
    #[error("checksum mismatch")]
    Checksum,
    /// A type byte that names no packet.
    #[error("unknown packet type {0:#04x}")]
    UnknownType(u8),
    /// A field holds a value that the format forbids.
    #[error("field `{field}` holds the invalid value {value}")]
    Invalid {
        /// The field's name, as the format's table gives it.
        field: &'static str,
        /// What it held.
        value: u64,
    },
}
