//! The acknowledgement, in which a receiver informs a source which packets of a flow have arrived.

use super::Data;
use crate::field::{get16, get32, put16, put32};
use crate::{Ends, Error, FlowKey, HeaderInfo};

/// An acknowledgement: a data header of type 0x48 with a 16-byte payload that describes which packets have
/// arrived.
///
/// | payload bytes | field |
/// |---|---|
/// | 0-3 | next |
/// | 4-5 | window |
/// | 6-7 | from |
/// | 8-15 | arrived |
///
/// The packet is sent from the flow's destination to its source and names the flow. Its `seq` is the
/// number of the packet that the acknowledgement answers. The checksum covers the payload if the header
/// has [`FLAG_PAYLOAD_COVERED`](super::FLAG_PAYLOAD_COVERED).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The header for the path to the flow's source. Its `plen` is 16.
    pub data: Data,
    /// All packets before this number have arrived.
    pub next: u32,
    /// Number of packets from `next` on that the receiver accepts.
    pub window: u16,
    /// Distance from `next` to the first packet that `arrived` describes.
    pub from: u16,
    /// One bit each for packets `next + from`, `next + from + 1`, …, the most significant bit first: 1 if the packet
    /// has arrived.
    pub arrived: [u8; 8],
}

impl Acknowledgement {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x48;
    /// The value of `data.plen`.
    pub const PAYLOAD_LEN: u16 = 16;
    /// Length on the wire, in bytes.
    pub const LEN: usize = Data::LEN + Self::PAYLOAD_LEN as usize;
    /// Number of packets that `arrived` describes.
    pub const SPAN: u16 = 64;

    /// Returns the numbers of the packets that have arrived according to `arrived`, in order.
    pub fn packets(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, bits) = (self.next.wrapping_add(self.from.into()), u64::from_be_bytes(self.arrived));
        (0..u32::from(Self::SPAN)).filter(move |&i| bits << i >> 63 == 1).map(move |i| first.wrapping_add(i))
    }

    /// Returns the acknowledgement's bytes.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` is not 16.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        debug_assert_eq!(self.data.plen, Self::PAYLOAD_LEN);
        let mut bytes = [0; Self::LEN];
        let (header, payload) = bytes.split_at_mut(Data::LEN);
        put32(payload, 0, self.next);
        put16(payload, 4, self.window);
        put16(payload, 6, self.from);
        payload[8..].copy_from_slice(&self.arrived);
        header.copy_from_slice(&self.data.encode_as(Self::TYPE, payload));
        bytes
    }

    /// Decodes the acknowledgement at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not an acknowledgement.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (data, payload) = Data::decode_as(Self::TYPE, bytes)?;
        if data.plen != Self::PAYLOAD_LEN {
            return Err(Error::Invalid { field: "plen", value: data.plen.into() });
        }
        let mut arrived = [0; 8];
        arrived.copy_from_slice(&payload[8..16]);
        Ok(Self {
            data,
            next: get32(payload, 0),
            window: get16(payload, 4),
            from: get16(payload, 6),
            arrived,
        })
    }
}

impl HeaderInfo for Acknowledgement {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.data.flow.into()))
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}
