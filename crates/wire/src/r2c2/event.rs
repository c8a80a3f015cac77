//! The broadcast event: the facts about a flow that every node needs to compute the flow's rate.

use super::flow_handle;
use crate::field::{first, get16, get32, put16, put32};
use crate::{Ends, Error, FlowKey, HeaderInfo, PacketKind, checksum};

/// The kind of a broadcast event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A flow starts.
    Start,
    /// A flow ends.
    Finish,
    /// A flow's demand changed.
    Demand,
    /// A flow's routing protocol changed.
    Route,
    /// Announces a live flow again, after a failure or after the loss of a broadcast. A refresh never resets the age of
    /// the flow.
    Refresh,
}

/// Value of the demand field for an unlimited demand.
pub const UNLIMITED_KBPS: u32 = u32::MAX;

/// A broadcast event, 16 bytes on the wire.
///
/// | bytes | field |
/// |---|---|
/// | 0 | type, 0x21 to 0x25 in the order of [`EventKind`] |
/// | 1 | tree |
/// | 2-3, 4-5 | src, dst |
/// | 6 | weight |
/// | 7 | priority in the high nibble, protocol in the low nibble |
/// | 8-11 | demand |
/// | 12-13 | lid |
/// | 14-15 | checksum |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The event's kind.
    pub kind: EventKind,
    /// Broadcast tree.
    pub tree: u8,
    /// Source node of the flow, and of the broadcast.
    pub src: u16,
    /// Destination node of the flow.
    pub dst: u16,
    /// Allocation weight, 1 to 255.
    pub weight: u8,
    /// Priority class, 0 to 15. Class 0 is served first.
    pub priority: u8,
    /// Routing protocol's number, 0 to 15.
    pub protocol: u8,
    /// Demand in Kbit/s. [`UNLIMITED_KBPS`] means unlimited.
    pub demand_kbps: u32,
    /// The sender's own number for the flow.
    pub lid: u16,
}

impl Event {
    /// Length on the wire, in bytes.
    pub const LEN: usize = 16;

    /// Returns the handle of the event's flow.
    #[must_use]
    pub const fn flow(&self) -> u32 {
        flow_handle(self.src, self.lid)
    }

    /// Returns the event's bytes.
    ///
    /// # Panics
    /// In debug builds, if weight, priority or protocol is out of its range.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        debug_assert!(self.weight > 0 && self.priority < 16 && self.protocol < 16, "{self:?}");
        let mut bytes = [0; Self::LEN];
        bytes[0] = 0x21 + self.kind as u8;
        bytes[1] = self.tree;
        put16(&mut bytes, 2, self.src);
        put16(&mut bytes, 4, self.dst);
        bytes[6] = self.weight;
        bytes[7] = self.priority << 4 | self.protocol & 0x0F;
        put32(&mut bytes, 8, self.demand_kbps);
        put16(&mut bytes, 12, self.lid);
        let sum = checksum::sum(&bytes);
        put16(&mut bytes, 14, !checksum::fold(sum));
        bytes
    }

    /// Decodes the event at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not an event.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        let kind = match bytes[0] {
            0x21 => EventKind::Start,
            0x22 => EventKind::Finish,
            0x23 => EventKind::Demand,
            0x24 => EventKind::Route,
            0x25 => EventKind::Refresh,
            other => return Err(Error::UnknownType(other)),
        };
        checksum::verify(checksum::sum(bytes))?;
        let weight = bytes[6];
        if weight == 0 {
            return Err(Error::Invalid { field: "weight", value: 0 });
        }
        Ok(Self {
            kind,
            tree: bytes[1],
            src: get16(bytes, 2),
            dst: get16(bytes, 4),
            weight,
            priority: bytes[7] >> 4,
            protocol: bytes[7] & 0x0F,
            demand_kbps: get32(bytes, 8),
            lid: get16(bytes, 12),
        })
    }
}

impl HeaderInfo for Event {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Event
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.flow().into()))
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }

    fn is_in(bytes: &[u8]) -> bool {
        matches!(bytes, [0x21..=0x25, ..])
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}
