//! The common part of PDQ's, D3's and RCP's packets: flow, direction and kind. Twenty bytes of the scheme follow. The
//! routers on the path write the rate that they grant into these bytes (specifications/pdq.md §1). The headers have
//! forty bytes in total, the same as TCP over IPv4, so that comparisons of the schemes with TCP are fair.
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 4 | scheme: 0xE PDQ, 0xF D3, 0x6 RCP |
//! | 0 | 1 | the packet asks for a rate |
//! | 0 | 1 | the packet is an acknowledgement |
//! | 0 | 2 | kind: 0 SYN, 1 data, 2 probe, 3 TERM |
//! | 1 | 24 | sender of this packet |
//! | 4 | 16 | checksum over header and payload (RFC 1071) |
//! | 6 | 24 | receiver of this packet |
//! | 9 | 24 | flow's number at its source; the last four bits are the subflow's number |
//! | 12 | 32 | number whose meaning depends on the kind: see [`Segment::seq`] |
//! | 16 | 16 | payload bytes |
//! | 18 | 4 | number of the link that the packet is on, counted from 0 at the flow's source |
//! | 18 | 12 | number of the path |
//! | 20 | 160 | the scheme's own bytes |
//!
//! Pacing and completion times are computed at the hosts. A switch reads and writes the scheme's own bytes, and writes
//! the number of the link that the packet takes next.

use crate::field::{first, get16, get32, part, put16, put32};
use crate::{Ends, Error, FlowKey, FlowRange, Header, HeaderInfo, Opening, Position, checksum, d3, pdq, rcp};

/// The common part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sender of this packet (24 bits).
    pub src: u32,
    /// Receiver of this packet (24 bits).
    pub dst: u32,
    /// `number << 4 | subflow`: the flow's number at its source, and the number of the subflow (24 bits in all).
    pub flow: u32,
    /// A number that depends on the kind of the packet. In data, it is the packet's number in its flow, from
    /// 0. In a SYN, it is the number of packets of the flow. In a probe, it is the probe's number. In a TERM,
    /// it is 1 if the whole flow ends and 0 if only the subflow ends. An acknowledgement repeats the number
    /// of the packet that it acknowledges.
    pub seq: u32,
    /// Number of payload bytes. It is 0 in acknowledgements and in packets that are not data.
    pub plen: u16,
    /// Number of the path among the paths between the two nodes (12 bits).
    pub path: u16,
    /// Position on the path of the link that the packet is crossing or takes next (4 bits). The link at the flow's
    /// source has number 0. A link has the same number for packets from the flow's source and for packets back to it.
    pub hop: u8,
    /// The packet's purpose.
    pub kind: Kind,
    /// True if the packet acknowledges a packet of the kind in the field `kind`.
    pub ack: bool,
    /// True if the packet asks the routers for a rate. Routers forward all other packets without a grant. An
    /// acknowledgement repeats the value of the packet that it acknowledges.
    pub asks: bool,
}

/// The purpose of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Kind {
    /// Opens a flow, or one of its subflows.
    Syn,
    /// Carries payload.
    #[default]
    Data,
    /// Asks for a rate and carries no payload.
    Probe,
    /// Ends a flow, or one of its subflows.
    Term,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Syn, Self::Data, Self::Probe, Self::Term];
}

/// The scheme to which the last twenty bytes of the header belong. Its value is the first byte of the
/// header with 0 in the lower half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// [`pdq`].
    Pdq = 0xE0,
    /// [`d3`].
    D3 = 0xF0,
    /// [`rcp`].
    Rcp = 0x60,
}

impl Scheme {
    /// True if a packet that begins with `byte` is of this scheme.
    pub(crate) const fn is_in(self, byte: u8) -> bool {
        byte & 0xF0 == self as u8
    }
}

/// Length of the common part in bytes.
const COMMON: usize = 20;
/// Number of bytes that the scheme adds to the common part.
pub const OWN: usize = 20;

impl Segment {
    /// Length of the headers on the wire, in bytes.
    pub const LEN: usize = COMMON + OWN;
    /// Greatest number of subflows of a flow.
    pub const SUBFLOWS: u32 = 16;
    /// Number of paths that the header can distinguish.
    pub const PATHS: u32 = 1 << 12;
    /// Greatest number of links on a path.
    pub const LINKS: usize = 15;
    /// Flow numbers lie below this limit.
    pub const NUMBERS: u32 = 1 << 20;

    /// Returns the flow's source, for packets of either direction.
    #[must_use]
    pub const fn source(&self) -> u32 {
        if self.ack { self.dst } else { self.src }
    }

    /// Returns the flow's name: `source << 32 | number`.
    #[must_use]
    pub const fn key(&self) -> FlowKey {
        FlowKey((self.source() as u64) << 32 | (self.flow / Self::SUBFLOWS) as u64)
    }

    /// Returns the subflow's name: `source << 32 | number << 4 | subflow`.
    #[must_use]
    pub const fn subflow_key(&self) -> FlowKey {
        FlowKey((self.source() as u64) << 32 | self.flow as u64)
    }

    /// Returns the acknowledgement of this packet, from the packet's receiver back to its sender.
    #[must_use]
    pub const fn acknowledgement(&self) -> Self {
        Self { src: self.dst, dst: self.src, plen: 0, ack: true, ..*self }
    }

    /// Appends the header's bytes to `out`, including the scheme's bytes `own`. `payload` is the payload that follows,
    /// from which trailing zeros may be left out.
    ///
    /// # Panics
    /// If a field exceeds its bits, or if an acknowledgement or a packet that is not data has a payload.
    pub(crate) fn encode(&self, scheme: Scheme, own: &[u8; OWN], payload: &[u8], out: &mut Vec<u8>) {
        debug_assert!(
            payload.len() <= self.plen.into(),
            "the payload must not be longer than the header field `plen`"
        );
        assert!(
            self.plen == 0 || self.may_bring_payload(),
            "only a data packet that is not an acknowledgement may have a payload"
        );
        assert!(
            self.hop < 1 << 4 && self.path < 1 << 12,
            "the hop must be below 16 (got {}), and the path must be below 4,096 (got {})",
            self.hop,
            self.path
        );
        let mut bytes = [0; Self::LEN];
        bytes[0] = scheme as u8 | u8::from(self.asks) << 3 | u8::from(self.ack) << 2 | self.kind as u8;
        put24(&mut bytes, 1, self.src);
        put24(&mut bytes, 6, self.dst);
        put24(&mut bytes, 9, self.flow);
        put32(&mut bytes, 12, self.seq);
        put16(&mut bytes, 16, self.plen);
        put16(&mut bytes, 18, u16::from(self.hop) << 12 | self.path);
        bytes[COMMON..].copy_from_slice(own);
        let sum = checksum::fold(checksum::sum(&bytes) + checksum::sum(payload));
        put16(&mut bytes, 4, !sum);
        out.extend_from_slice(&bytes);
    }

    /// Decodes the common part at the start of `bytes`, and the scheme's own bytes. `bytes` must reach to the
    /// end of the payload.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a whole packet of `scheme`.
    pub(crate) fn decode(scheme: Scheme, bytes: &[u8]) -> Result<(Self, &[u8; OWN]), Error> {
        let header: &[u8; Self::LEN] = first(bytes)?;
        if !scheme.is_in(header[0]) {
            return Err(Error::UnknownType(header[0]));
        }
        let (plen, place) = (get16(header, 16), get16(header, 18));
        checksum::verify(checksum::sum(part(bytes, 0, Self::LEN + usize::from(plen))?))?;
        let segment = Self {
            src: get24(header, 1),
            dst: get24(header, 6),
            flow: get24(header, 9),
            seq: get32(header, 12),
            plen,
            path: place & 0xFFF,
            hop: (place >> 12) as u8,
            kind: Kind::ALL[usize::from(header[0] & 3)],
            ack: header[0] >> 2 & 1 == 1,
            asks: header[0] >> 3 & 1 == 1,
        };
        if plen > 0 && !segment.may_bring_payload() {
            return Err(Error::Invalid { field: "plen", value: plen.into() });
        }
        let own = header.last_chunk().expect("the header must end with the scheme-specific bytes");
        Ok((segment, own))
    }

    const fn may_bring_payload(&self) -> bool {
        matches!(self.kind, Kind::Data) && !self.ack
    }
}

/// A packet that begins with a [`Segment`].
pub trait Rated: Sized {
    /// The scheme whose bytes follow the common part.
    const SCHEME: Scheme;

    /// True if the scheme may count more header bytes on the wire than the fields need.
    const PADDED: bool = false;

    /// Returns the common part.
    fn segment(&self) -> &Segment;

    /// Returns the scheme's own bytes.
    fn own(&self) -> [u8; OWN];

    /// Creates a packet from this common part and the scheme's own bytes.
    fn new(segment: Segment, own: &[u8; OWN]) -> Self;
}

impl<T: Rated> HeaderInfo for T {
    fn may_be_padded(&self) -> bool {
        Self::PADDED
    }

    #[inline]
    fn ends(&self) -> Ends {
        let segment = self.segment();
        Ends::new(segment.src, segment.dst)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(self.segment().key())
    }

    fn range(&self) -> Option<FlowRange> {
        let &Segment { seq, plen, .. } = self.segment();
        FlowRange::new(self.segment().key(), Position::Packet(seq), plen.into())
    }

    fn opening(&self) -> Option<Opening> {
        match self.segment() {
            Segment { kind: Kind::Syn, ack, .. } => Some(if *ack { Opening::SynAck } else { Opening::Syn }),
            _ => None,
        }
    }

    #[inline]
    fn data_len(&self) -> u32 {
        self.segment().plen.into()
    }

    fn payload_len(&self) -> usize {
        self.segment().plen.into()
    }

    fn wire_len(&self) -> usize {
        Segment::LEN
    }

    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        self.segment().encode(Self::SCHEME, &self.own(), payload, out);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|&first| Self::SCHEME.is_in(first))
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let (segment, own) = Segment::decode(Self::SCHEME, bytes)?;
        Ok((Self::new(segment, own), Segment::LEN))
    }
}

impl Header {
    /// Returns the common part of a packet of PDQ, D3 or RCP; `None` for other packets.
    #[must_use]
    #[inline]
    pub fn rated(&self) -> Option<&Segment> {
        match self {
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => Some(segment),
            _ => None,
        }
    }

    /// Returns the same common part as [`rated`](Self::rated), so that a node on the path can change it.
    #[must_use]
    #[inline]
    pub fn rated_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => Some(segment),
            _ => None,
        }
    }
}

fn get24(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

fn put24(bytes: &mut [u8], at: usize, value: u32) {
    assert!(value < 1 << 24, "a node or flow number must fit in 24 bits (got {value})");
    bytes[at..at + 3].copy_from_slice(&value.to_be_bytes()[1..]);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The third packet of a flow, sent by the flow's second subflow, on the third link of its path.
    pub(crate) const DATA: Segment = Segment {
        src: 1,
        dst: 0x02_03_04,
        flow: 7 << 4 | 1,
        seq: 2,
        plen: 3,
        path: 0xABC,
        hop: 2,
        kind: Kind::Data,
        ack: false,
        asks: true,
    };

    pub(crate) fn any_segment() -> impl Strategy<Value = Segment> {
        let node = 0_u32..1 << 24;
        let kind = proptest::sample::select(Kind::ALL.to_vec());
        let place = (0_u16..1 << 12, 0_u8..16);
        ((node.clone(), node.clone(), node), any::<u32>(), 0_u16..9_000, place, kind, any::<(bool, bool)>())
            .prop_map(|((src, dst, flow), seq, plen, (path, hop), kind, (ack, asks))| {
                let plen = if kind == Kind::Data && !ack { plen } else { 0 };
                Segment { src, dst, flow, seq, plen, path, hop, kind, ack, asks }
            })
    }

    #[test]
    fn an_acknowledgement_names_the_same_flow_the_other_way() {
        let ack = DATA.acknowledgement();
        assert_eq!((ack.src, ack.dst, ack.seq, ack.plen, ack.hop), (DATA.dst, DATA.src, 2, 0, 2));
        assert_eq!((ack.key(), ack.subflow_key()), (DATA.key(), DATA.subflow_key()));
        assert_eq!((DATA.key(), DATA.subflow_key()), (FlowKey(1 << 32 | 7), FlowKey(1 << 32 | 0x71)));
    }

    #[test]
    fn a_payload_comes_in_data_alone() {
        let mut bytes = Vec::new();
        DATA.encode(Scheme::Rcp, &[0; OWN], &[1, 2, 3], &mut bytes);
        bytes.extend([1, 2, 3]);
        assert_eq!(Segment::decode(Scheme::Rcp, &bytes), Ok((DATA, &[0; OWN])));
        assert_eq!(Segment::decode(Scheme::D3, &bytes), Err(Error::UnknownType(0x69)));
        for wrong in [0x6D, 0x6A] {
            let mut bytes = bytes.clone();
            bytes[0] = wrong;
            put16(&mut bytes, 4, 0);
            let sum = checksum::fold(checksum::sum(&bytes));
            put16(&mut bytes, 4, !sum);
            let refused = Segment::decode(Scheme::Rcp, &bytes);
            assert_eq!(refused, Err(Error::Invalid { field: "plen", value: 3 }));
        }
    }
}
