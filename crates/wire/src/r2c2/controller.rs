//! Packets between a centralised controller and the nodes (the alternative to broadcasts in R2C2's Fig. 19).

use super::{Data, Event};
use crate::field::{get16, get32};
use crate::{Ends, Error, FlowKey, HeaderInfo, PacketKind};
use std::sync::Arc;

/// A node's report of an event to the controller: a data header of type 0x42 whose payload is the 16-byte event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerEvent {
    /// The header for the path to the controller. Its `plen` is 16.
    pub data: Data,
    /// The event.
    pub event: Event,
}

impl ControllerEvent {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x42;
    /// Length on the wire, in bytes.
    pub const LEN: usize = Data::LEN + Event::LEN;

    /// Returns the packet's bytes.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` is not 16, or if a field of the event is out of its range.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        debug_assert_eq!(usize::from(self.data.plen), Event::LEN);
        let mut bytes = [0; Self::LEN];
        let (header, payload) = bytes.split_at_mut(Data::LEN);
        payload.copy_from_slice(&self.event.encode());
        header.copy_from_slice(&self.data.encode_as(Self::TYPE, payload));
        bytes
    }

    /// Decodes the packet at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not such a packet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (data, payload) = Data::decode_as(Self::TYPE, bytes)?;
        if payload.len() != Event::LEN {
            return Err(Error::Invalid { field: "plen", value: data.plen.into() });
        }
        Ok(Self { data, event: Event::decode(payload)? })
    }
}

/// The rate of one flow of the node that receives a [`ControllerRates`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRate {
    /// The node's own number for the flow.
    pub lid: u16,
    /// The flow's rate in Kbit/s.
    pub kbps: u32,
}

impl FlowRate {
    /// Length on the wire, in bytes.
    pub const LEN: usize = 6;
}

/// The rates that the controller assigns to a node's flows: a data header of type 0x43 whose payload is `plen / 6`
/// times {lid (2 bytes), rate (4 bytes)}.
///
/// Each rate carries its flow's lid, because controller and node may disagree for a while about the set of flows. The
/// paper gives no layout of this message. The total size in the paper seems to include 4 bytes per rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerRates {
    /// The header for the path to the node. Its `plen` is 6 times the number of rates.
    pub data: Data,
    /// The rates, which copies of the packet share.
    pub rates: Arc<[FlowRate]>,
}

impl ControllerRates {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x43;

    /// Appends the packet's bytes to `out`.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` is not the length of the rates.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(usize::from(self.data.plen), self.rates.len() * FlowRate::LEN);
        let start = out.len();
        let payload = start + Data::LEN;
        out.resize(payload, 0);
        for rate in &*self.rates {
            out.extend_from_slice(&rate.lid.to_be_bytes());
            out.extend_from_slice(&rate.kbps.to_be_bytes());
        }
        let header = self.data.encode_as(Self::TYPE, &out[payload..]);
        out[start..payload].copy_from_slice(&header);
    }

    /// Decodes the packet at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not such a packet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (data, payload) = Data::decode_as(Self::TYPE, bytes)?;
        let (rates, rest) = payload.as_chunks::<{ FlowRate::LEN }>();
        if !rest.is_empty() {
            return Err(Error::Invalid { field: "plen", value: data.plen.into() });
        }
        let rates = rates.iter().map(|rate| FlowRate { lid: get16(rate, 0), kbps: get32(rate, 2) });
        Ok(Self { data, rates: rates.collect() })
    }
}

impl HeaderInfo for ControllerEvent {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Event
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.event.flow().into()))
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

impl HeaderInfo for ControllerRates {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    /// Returns the handle in the data header, although the packet has the rates of several flows.
    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.data.flow.into()))
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
        let rates = Self::decode(bytes)?;
        let len = rates.wire_len();
        Ok((rates, len))
    }
}
