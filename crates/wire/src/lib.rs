//! Byte-exact headers: typed structs, their encoding, decoding and checksums. This crate contains no
//! behaviour.
//!
//! Each header has its own file and implements the trait [`HeaderInfo`]; `header.rs` lists the headers. A header is a
//! small struct. The simulator passes the struct from node to node. The live runtime and pcapng captures use the
//! header's bytes, which have the same meaning. Decoding never panics on any bytes: a malformed packet is data, and an
//! [`Error`] describes the problem. Encoding expects every field within its documented range.
//!
//! The first byte identifies the kind of packet:
//! - IPv4 without options begins with 0x45. R2C2's unicast control packets use 0x41 to 0x44 and 0x47 to 0x49,
//!   so they never begin with 0x45.
//! - Expeditus's tag begins with 0x99.
//! - Converged-Ethernet packets are whole frames with their frame check sequence. The address of a pause
//!   frame begins with 0x01. The address of a host begins with 0x06, in data frames and in congestion
//!   notices; the EtherType distinguishes these two.
//! - RoCEv2 is UDP to its own port and, unlike our UDP datagrams, has no UDP checksum.
//! - PDQ's packets have 0xE in the upper half of the first byte, D3's 0xF, and RCP's 0x6.
//! - PFQ's credits begin with 0x83, and topology discovery's packets with 0x84 and 0x87.
//! - A packet may be preceded by a [`Shim`], which begins with 0x5C.
//! - Headers of [other crates](extension) begin with 0x95.
//! - [Frames of kernels](frame_view) also begin with 0x06. Only a decoder that is configured for such frames
//!   reads them.
//!
//! The simulation counts payload bytes and does not store them. A missing payload counts as zeros, which do
//! not change a checksum.

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

/// The reason why bytes are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are fewer bytes than the header needs, or fewer than the length that the header states.
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
    /// The type byte belongs to no known packet.
    #[error("unknown packet type {0:#04x}")]
    UnknownType(u8),
    /// A field holds a value that the format forbids.
    #[error("field `{field}` holds the invalid value {value}")]
    Invalid {
        /// The field's name in the table of the format.
        field: &'static str,
        /// The value of the field.
        value: u64,
    },
}
