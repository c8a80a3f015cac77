//! The drop notice, in which a relay informs a broadcast's source that the relay dropped a copy of the broadcast.

use super::{Data, Event};
use crate::field::{get16, put16};
use crate::{Ends, Error, FlowKey, HeaderInfo, PacketKind};

/// The reason why a broadcast was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeReason {
    /// The queue was full (0 on the wire).
    QueueFull,
    /// The link was down (1 on the wire).
    LinkDown,
}

/// A drop notice: a data header of type 0x41 with a 20-byte payload that describes the dropped broadcast and the place
/// of the drop.
///
/// | payload bytes | field |
/// |---|---|
/// | 0-15 | the dropped event, with its own checksum |
/// | 16-17 | node |
/// | 18 | port |
/// | 19 | reason |
///
/// The header's checksum covers the payload if the header has [`FLAG_PAYLOAD_COVERED`](super::FLAG_PAYLOAD_COVERED).
/// Otherwise no checksum covers the last four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropNotice {
    /// The header for the path to the broadcast's source. Its `plen` is 20.
    pub data: Data,
    /// The event that was dropped.
    pub dropped: Event,
    /// The node that dropped the event.
    pub node: u16,
    /// The egress port that dropped the event.
    pub port: u8,
    /// The reason for the drop.
    pub reason: NoticeReason,
}

impl DropNotice {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x41;
    /// The value of `data.plen`.
    pub const PAYLOAD_LEN: u16 = 20;
    /// Length on the wire, in bytes.
    pub const LEN: usize = Data::LEN + Self::PAYLOAD_LEN as usize;

    /// Returns the notice's bytes.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` is not 20, or if a field of the event is out of its range.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        debug_assert_eq!(self.data.plen, Self::PAYLOAD_LEN);
        let mut bytes = [0; Self::LEN];
        let (header, payload) = bytes.split_at_mut(Data::LEN);
        payload[..Event::LEN].copy_from_slice(&self.dropped.encode());
        put16(payload, 16, self.node);
        payload[18] = self.port;
        payload[19] = self.reason as u8;
        header.copy_from_slice(&self.data.encode_as(Self::TYPE, payload));
        bytes
    }

    /// Decodes the notice at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a drop notice.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (data, payload) = Data::decode_as(Self::TYPE, bytes)?;
        if data.plen != Self::PAYLOAD_LEN {
            return Err(Error::Invalid { field: "plen", value: data.plen.into() });
        }
        let reason = match payload[19] {
            0 => NoticeReason::QueueFull,
            1 => NoticeReason::LinkDown,
            other => return Err(Error::Invalid { field: "reason", value: other.into() }),
        };
        let dropped = Event::decode(payload)?;
        Ok(Self { data, dropped, node: get16(payload, 16), port: payload[18], reason })
    }
}

impl HeaderInfo for DropNotice {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    /// Returns the flow whose event was dropped.
    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.dropped.flow().into()))
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
