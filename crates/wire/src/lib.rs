//! Byte-exact headers: typed structs, their encoding, decoding and checksums. No behaviour.
//!
//! One file a header, in which the header answers for itself by the one trait [`HeaderInfo`]; `header.rs` is the list of them. A
//! header is a small struct; the simulator passes the struct, the live runtime and pcapng
//! pass its bytes, and both mean the same. Decoding never panics on any bytes: a malformed packet is data, and
//! what is wrong with it is an [`Error`]. Encoding expects fields within their documented ranges.
//!
//! The first byte tells the packets apart: IPv4 without options begins with 0x45, so R2C2, whose unicast control
//! packets are 0x41 to 0x43 and 0x48, never uses 0x45, nor 0x99, with which Expeditus's tag begins. Converged Ethernet's
//! packets are whole frames with their check sequence: 0x01 begins the address of a pause, and 0x06 that of a host, for
//! data and congestion notices, which their EtherTypes tell apart. RoCEv2 is UDP to its port and, unlike ours, without a
//! checksum. PDQ's packets begin with 0xE, D3's with 0xF and RCP's with 0x6 in the upper half of the first byte. PFQ's
//! credits begin with 0x83, topology discovery's packets with 0x84 and 0x87. In front of a packet there may be a [`Shim`],
//! 0x5C. Headers of [other crates](extension) begin with 0x95. [Frames of kernels](frame_view) begin with 0x06, too, and are
//! read only by those who are told that there are any.
//!
//! Payload bytes are counted and not kept in simulation:
//! where none are given they are zeros, which add nothing to a checksum.

pub mod cee;
mod checksum;
pub mod cnm;
pub mod conga;
mod crc;
pub mod credit;
pub mod d3;
pub mod dcbx;
pub mod discovery;
mod ecn;
pub mod ethernet;
pub mod exp;
pub mod extension;
mod field;
mod frame;
pub mod frame_view;
mod header;
pub mod hula;
mod ids;
mod info;
mod ipv4;
mod mac;
mod minifloat;
pub mod pdq;
pub mod pfc;
pub mod r2c2;
pub mod rated;
pub mod rcp;
pub mod roce;
mod shim;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod udp;

pub use ecn::Ecn;
pub use extension::{Decoders, ExtensionHeader};
pub use frame_view::FrameView;
pub use header::Header;
pub use ids::{Class, FlowKey, NodeId};
pub use info::{Ends, FiveTuple, FlowRange, Framing, HeaderInfo, Opening, PacketKind, Position};
pub use mac::Mac;
pub use minifloat::Minifloat;
pub use shim::Shim;

/// Why bytes are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer bytes than the header and what it announces need.
    #[error("{need} bytes are needed (got {have})")]
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
