//! The data header, which R2C2's unicast control packets share.

use super::{MAX_HOPS_3_BITS, Route};
use crate::field::{first, get16, get32, part, put16, put32};
use crate::{Ends, Error, FlowKey, FlowRange, HeaderInfo, Position, checksum};

/// Data flag: the checksum covers the payload as well.
pub const FLAG_PAYLOAD_COVERED: u8 = 1;
/// Data flag: the packet is the last packet of its flow.
pub const FLAG_LAST: u8 = 2;

/// The header of a data packet, 36 bytes on the wire.
///
/// | bytes | field |
/// |---|---|
/// | 0 | type, 0x10 |
/// | 1, 2, 3 | rlen, ridx, flags |
/// | 4-7 | flow |
/// | 8-9, 10-11 | src, dst |
/// | 12-15 | seq |
/// | 16-17 | checksum, computed with 0 in the fields checksum and ridx, so that relays need not update the checksum |
/// | 18-19 | plen |
/// | 20-35 | route |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Flow handle.
    pub flow: u32,
    /// Source node.
    pub src: u16,
    /// Destination node.
    pub dst: u16,
    /// Number of the packet within the flow, counted from 0, modulo 2^32.
    pub seq: u32,
    /// Number of payload bytes.
    pub plen: u16,
    /// Number of hops in the route.
    pub rlen: u8,
    /// Number of hops already taken. Each node that forwards the packet adds 1. The checksum does not cover this field.
    pub ridx: u8,
    /// Combination of [`FLAG_PAYLOAD_COVERED`] and [`FLAG_LAST`].
    pub flags: u8,
    /// The egress ports along the route.
    pub route: Route,
}

const CHECKSUM: usize = 16;

impl Data {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x10;
    /// Length on the wire, in bytes.
    pub const LEN: usize = 36;

    /// Returns the header's bytes. `payload` is the payload that follows, from which trailing zeros may be left
    /// out.
    #[must_use]
    pub fn encode(&self, payload: &[u8]) -> [u8; Self::LEN] {
        self.encode_as(Self::TYPE, payload)
    }

    /// Decodes the header at the start of `bytes`. Verifies the payload if the checksum covers it.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a data packet, or if the payload is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_as(Self::TYPE, bytes).map(|(data, _)| data)
    }

    /// Returns the header's bytes, with the type byte `kind`.
    pub(super) fn encode_as(&self, kind: u8, payload: &[u8]) -> [u8; Self::LEN] {
        debug_assert!(
            payload.len() <= self.plen.into(),
            "the payload must not be longer than the header field `plen`"
        );
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&[kind, self.rlen, 0, self.flags]);
        put32(&mut bytes, 4, self.flow);
        put16(&mut bytes, 8, self.src);
        put16(&mut bytes, 10, self.dst);
        put32(&mut bytes, 12, self.seq);
        put16(&mut bytes, 18, self.plen);
        bytes[20..].copy_from_slice(&self.route.0);
        let mut sum = checksum::sum(&bytes);
        if self.flags & FLAG_PAYLOAD_COVERED != 0 {
            sum += checksum::sum(payload);
        }
        put16(&mut bytes, CHECKSUM, !checksum::fold(sum));
        bytes[2] = self.ridx;
        bytes
    }

    /// Decodes the header of type `kind` at the start of `bytes`, and its payload.
    pub(super) fn decode_as(kind: u8, bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let header: &[u8; Self::LEN] = first(bytes)?;
        if header[0] != kind {
            return Err(Error::UnknownType(header[0]));
        }
        let payload = part(bytes, Self::LEN, get16(header, 18).into())?;
        Ok((Self::read(header, payload)?, payload))
    }

    /// Decodes `header` and verifies its checksum, which may also cover `payload`.
    #[inline]
    fn read(header: &[u8; Self::LEN], payload: &[u8]) -> Result<Self, Error> {
        let [_, _, ridx, flags, ..] = *header;
        let mut sum = checksum::sum(header) - (u64::from(ridx) << 8);
        if flags & FLAG_PAYLOAD_COVERED != 0 {
            sum += checksum::sum(payload);
        }
        checksum::verify(sum)?;
        Self::fields(header)
    }

    /// Decodes the fields of `header` without verifying the checksum.
    #[inline]
    fn fields(header: &[u8; Self::LEN]) -> Result<Self, Error> {
        let [_, rlen, ridx, flags, ..] = *header;
        if usize::from(rlen) > MAX_HOPS_3_BITS {
            return Err(Error::Invalid { field: "rlen", value: rlen.into() });
        }
        if ridx > rlen {
            return Err(Error::Invalid { field: "ridx", value: ridx.into() });
        }
        if flags & !(FLAG_PAYLOAD_COVERED | FLAG_LAST) != 0 {
            return Err(Error::Invalid { field: "flags", value: flags.into() });
        }
        let mut route = Route::default();
        route.0.copy_from_slice(&header[20..]);
        Ok(Self {
            flow: get32(header, 4),
            src: get16(header, 8),
            dst: get16(header, 10),
            seq: get32(header, 12),
            plen: get16(header, 18),
            rlen,
            ridx,
            flags,
            route,
        })
    }
}

impl HeaderInfo for Data {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(FlowKey(self.flow.into()))
    }

    #[inline]
    fn range(&self) -> Option<FlowRange> {
        let position = Position::Packet(self.seq);
        FlowRange::new(FlowKey(self.flow.into()), position, self.plen.into())
    }

    #[inline]
    fn label(&self) -> (Ends, u32) {
        (self.ends(), self.flow)
    }

    #[inline]
    fn data_len(&self) -> u32 {
        self.plen.into()
    }

    #[inline]
    fn payload_len(&self) -> usize {
        self.plen.into()
    }

    #[inline]
    fn wire_len(&self) -> usize {
        Self::LEN
    }

    #[inline]
    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode(payload));
    }

    #[inline]
    fn covers_payload(&self) -> bool {
        self.flags & FLAG_PAYLOAD_COVERED != 0
    }

    #[inline]
    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }

    #[inline]
    fn decode_front(front: &[u8]) -> Option<(Self, usize)> {
        let header = first::<{ Self::LEN }>(front).ok()?;
        let is_covered = header[3] & FLAG_PAYLOAD_COVERED != 0;
        let data = if is_covered { Self::fields(header) } else { Self::read(header, &[]) };
        Some((data.ok()?, Self::LEN))
    }

    #[inline]
    fn patch_front(&self, front: &mut [u8]) -> bool {
        let Some(ridx) = front.get_mut(2) else { return false };
        *ridx = self.ridx;
        true
    }
}
