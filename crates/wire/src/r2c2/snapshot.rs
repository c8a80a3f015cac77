//! The snapshot, with which a node sends another node a list of its own flows. The list covers a range of flow numbers.
//! Flows in the range that are missing from the list have ended.

use super::Data;
use crate::field::{get16, get32};
use crate::{Ends, Error, HeaderInfo, PacketKind};
use std::sync::Arc;

/// A flow of the snapshot's sender, with the values that the flow's latest event announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowState {
    /// The sender's own number for the flow.
    pub lid: u16,
    /// Destination node.
    pub dst: u16,
    /// Allocation weight, 1 to 255.
    pub weight: u8,
    /// Priority class, 0 to 15. Class 0 is served first.
    pub priority: u8,
    /// Routing protocol's number, 0 to 15.
    pub protocol: u8,
    /// Demand in Kbit/s. [`UNLIMITED_KBPS`](super::UNLIMITED_KBPS) means unlimited.
    pub demand_kbps: u32,
}

impl FlowState {
    /// Length on the wire, in bytes.
    pub const LEN: usize = 10;
}

/// A snapshot: a data header of type 0x49 and all flows of its source whose lids lie in a range. Flows in the range
/// that are missing from the snapshot have ended.
///
/// | payload bytes | field |
/// |---|---|
/// | 0-7 | hash of all flows of the source, as in its [`Digest`](super::Digest) |
/// | 8-9, 10-11 | first and last lid of the range |
/// | 12.. | flows: {lid (2), dst (2), weight (1), priority and protocol (a nibble each), demand (4)} |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The header for the path to the receiver. Its `plen` is the value that [`plen`](Self::plen) returns for the
    /// number of flows.
    pub data: Data,
    /// The payload, which copies of the packet share.
    pub body: Arc<SnapshotBody>,
}

/// The payload of a [`Snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotBody {
    /// Hash of all flows of the source.
    pub hash: u64,
    /// First lid of the range.
    pub first: u16,
    /// Last lid of the range.
    pub last: u16,
    /// The flows. Their lids lie in the range.
    pub flows: Vec<FlowState>,
}

const FIXED: usize = 12;

impl Snapshot {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x49;
    /// Greatest number of flows in one packet. The packet then has 1,498 bytes.
    pub const MAX_FLOWS: usize = 145;

    /// Returns the number of payload bytes of a snapshot with `flows` flows.
    ///
    /// # Panics
    /// If there are more than [`MAX_FLOWS`](Self::MAX_FLOWS) flows.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a packet has at most 1,498 bytes")]
    pub const fn plen(flows: usize) -> u16 {
        assert!(flows <= Self::MAX_FLOWS);
        (FIXED + flows * FlowState::LEN) as u16
    }

    /// Appends the snapshot's bytes to `out`.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` does not fit the flows, or if a field of a flow is out of its range.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let SnapshotBody { hash, first, last, flows } = &*self.body;
        debug_assert_eq!(self.data.plen, Self::plen(flows.len()));
        let start = out.len();
        let payload = start + Data::LEN;
        out.resize(payload, 0);
        out.extend_from_slice(&hash.to_be_bytes());
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&last.to_be_bytes());
        for flow in flows {
            debug_assert!(flow.weight > 0 && flow.priority < 16 && flow.protocol < 16, "{flow:?}");
            out.extend_from_slice(&flow.lid.to_be_bytes());
            out.extend_from_slice(&flow.dst.to_be_bytes());
            out.extend_from_slice(&[flow.weight, flow.priority << 4 | flow.protocol & 0x0F]);
            out.extend_from_slice(&flow.demand_kbps.to_be_bytes());
        }
        let header = self.data.encode_as(Self::TYPE, &out[payload..]);
        out[start..payload].copy_from_slice(&header);
    }

    /// Decodes the snapshot at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a snapshot.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (data, payload) = Data::decode_as(Self::TYPE, bytes)?;
        let invalid = |field, value: u16| Error::Invalid { field, value: value.into() };
        let (fixed, flows) = payload.split_at_checked(FIXED).ok_or(invalid("plen", data.plen))?;
        let (flows, rest) = flows.as_chunks::<{ FlowState::LEN }>();
        if !rest.is_empty() || flows.len() > Self::MAX_FLOWS {
            return Err(invalid("plen", data.plen));
        }
        let (first, last) = (get16(fixed, 8), get16(fixed, 10));
        let flow = |bytes: &[u8; FlowState::LEN]| {
            let flow = FlowState {
                lid: get16(bytes, 0),
                dst: get16(bytes, 2),
                weight: bytes[4],
                priority: bytes[5] >> 4,
                protocol: bytes[5] & 0x0F,
                demand_kbps: get32(bytes, 6),
            };
            if flow.weight == 0 {
                return Err(invalid("weight", 0));
            }
            if !(first..=last).contains(&flow.lid) {
                return Err(invalid("lid", flow.lid));
            }
            Ok(flow)
        };
        let flows = flows.iter().map(flow).collect::<Result<_, _>>()?;
        let hash = u64::from(get32(fixed, 0)) << 32 | u64::from(get32(fixed, 4));
        Ok(Self { data, body: Arc::new(SnapshotBody { hash, first, last, flows }) })
    }
}

impl HeaderInfo for Snapshot {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    fn wire_len(&self) -> usize {
        Data::LEN + usize::from(self.data.plen)
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        self.encode(out);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let snapshot = Self::decode(bytes)?;
        let len = snapshot.wire_len();
        Ok((snapshot, len))
    }
}
