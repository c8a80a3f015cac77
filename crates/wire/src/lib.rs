//! Byte-exact headers: typed structs, their encoding, decoding and checksums. This crate contains no
//! behaviour.
//!
//! `header.rs` lists the headers of packets. Each of these headers implements the trait [`HeaderInfo`]. A header is a
//! small struct. The simulator passes the struct from node to node. The live runtime and pcapng captures use the
//! header's bytes, which have the same meaning. Decoding never panics: it returns an [`Error`] for a malformed packet.
//! Encoding expects that every field is within its documented range.
//!
//! Most kinds of packet have their own first byte. Where kinds share a first byte, later bytes distinguish them:
//! - 0x45: IPv4 without options, with TCP, UDP or RoCEv2. The protocol number distinguishes TCP from the other two.
//!   RoCEv2 is UDP to its own port and, unlike our UDP datagrams, has no UDP checksum.
//! - 0x10: R2C2's data; 0x21 to 0x25: its broadcast events; 0x26: its digests; 0x31: its announcements; 0x41 to 0x44
//!   and 0x47 to 0x49: its unicast control packets.
//! - 0x01: pause frames. 0x06: frames to a host, which are converged Ethernet's data frames and congestion notices; the
//!   EtherType distinguishes these two. All of them are whole frames with their frame check sequence.
//! - 0x06 also: [frames of kernels](frame_view), without a frame check sequence. Only a decoder that is configured for
//!   such frames reads them, unless they follow Expeditus's tag.
//! - 0xE0 to 0xEF: PDQ; 0xF0 to 0xFF: D3; 0x60 to 0x6F: RCP.
//! - 0x83: PFQ's credits; 0x84 and 0x87: topology discovery; 0x8E: HULA's probes.
//! - 0x99: Expeditus's tag, followed by the tagged packet; 0x5C: a [`Shim`], followed by the packet.
//! - 0x95: headers of [other crates](extension).
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
        /// Number of bytes present.
        have: usize,
        /// Number of bytes needed.
        need: usize,
    },
    /// The checksum does not match the covered bytes.
    #[error("checksum mismatch")]
    Checksum,
    /// The type byte is not one that this decoder reads.
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
