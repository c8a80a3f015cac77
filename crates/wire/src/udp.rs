//! UDP over IPv4 (RFC 768, RFC 791), followed by our own stream header. The stream header states which bytes
//! of a flow a datagram carries, so that the receiver can detect that the flow is complete.
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 64 | offset of the first payload byte in the flow |
//! | 8 | 64 | size of the flow in bytes; all ones while the application may append more |

use crate::field::{first, get16, get64, put16, put64};
use crate::ipv4::{self, Ipv4};
use crate::{Ecn, Ends, Error, FiveTuple, FlowKey, FlowRange, Framing, HeaderInfo, Position, checksum, roce};

/// A datagram's headers: 28 bytes of IPv4 and UDP, and 16 bytes of the stream header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Datagram {
    /// Sending node (24 bits).
    pub src: u32,
    /// Receiving node (24 bits).
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload bytes.
    pub plen: u16,
    /// ECN field: tells whether queues may mark the packet and whether a queue has marked it.
    pub ecn: Ecn,
    /// Offset of the first payload byte in the flow.
    pub offset: u64,
    /// Size of the flow in bytes, at least `offset + plen`; [`Datagram::OPEN`] while the size is unknown.
    pub size: u64,
}

const UDP: usize = 8;
const STREAM: usize = 16;

impl Datagram {
    /// Length of the headers on the wire, in bytes.
    pub const LEN: usize = ipv4::LEN + UDP + STREAM;
    /// The [size](Self::size) of a flow whose application may still append bytes.
    pub const OPEN: u64 = u64::MAX;

    fn ip(&self) -> Ipv4 {
        Ipv4 { src: self.src, dst: self.dst, class: 0, ecn: self.ecn, protocol: FiveTuple::UDP }
    }

    /// Returns the bytes of the headers. `payload` is the payload that follows, from which trailing zeros may
    /// be left out.
    ///
    /// # Panics
    /// If a node's number exceeds 24 bits, or headers and payload exceed the 65,535 bytes of an IPv4 packet.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "an IPv4 packet is below 64 KiB")]
    pub fn encode(&self, payload: &[u8]) -> [u8; Self::LEN] {
        debug_assert!(
            payload.len() <= self.plen.into(),
            "the payload must not be longer than the header field `plen`"
        );
        let len = UDP + STREAM + usize::from(self.plen);
        let mut bytes = [0; Self::LEN];
        let (ip, udp) = bytes.split_at_mut(ipv4::LEN);
        ip.copy_from_slice(&self.ip().encode(len));
        put16(udp, 0, self.src_port);
        put16(udp, 2, self.dst_port);
        put16(udp, 4, len as u16);
        put64(udp, UDP, self.offset);
        put64(udp, UDP + 8, self.size);
        let sum = self.ip().pseudo_header(len) + checksum::sum(udp) + checksum::sum(payload);
        let sum = match !checksum::fold(sum) {
            0 => 0xFFFF, // in UDP, zero means that there is no checksum
            sum => sum,
        };
        put16(udp, 6, sum);
        bytes
    }

    /// Decodes the datagram at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a datagram of this form, if an address is not that of a node, or if the datagram
    /// has no checksum.
    #[allow(clippy::cast_possible_truncation, reason = "an IPv4 packet is below 64 KiB")]
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (ip, udp) = Ipv4::decode(bytes, FiveTuple::UDP, UDP + STREAM)?;
        checksum::verify(ip.pseudo_header(udp.len()) + checksum::sum(udp))?;
        let len = get16(udp, 4);
        if usize::from(len) != udp.len() {
            return Err(Error::Invalid { field: "length", value: len.into() });
        }
        let headers: &[u8; UDP + STREAM] = first(udp)?;
        let plen = (udp.len() - headers.len()) as u16;
        let (offset, size) = (get64(headers, UDP), get64(headers, UDP + 8));
        if offset.checked_add(plen.into()).is_none_or(|end| end > size) {
            return Err(Error::Invalid { field: "offset", value: offset });
        }
        let (src_port, dst_port) = (get16(headers, 0), get16(headers, 2));
        Ok(Self { src: ip.src, dst: ip.dst, src_port, dst_port, plen, ecn: ip.ecn, offset, size })
    }

    /// Returns the flow's name: `sender << 32 | sender's port << 16 | receiver's port`.
    #[must_use]
    pub const fn key(&self) -> FlowKey {
        FlowKey((self.src as u64) << 32 | (self.src_port as u64) << 16 | self.dst_port as u64)
    }
}

impl HeaderInfo for Datagram {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(self.key())
    }

    fn range(&self) -> Option<FlowRange> {
        FlowRange::new(self.key(), Position::Byte(self.offset), self.plen.into())
    }

    #[inline]
    fn five_tuple(&self) -> Option<FiveTuple> {
        let Ends { src, dst } = self.ends();
        let (src_port, dst_port) = (self.src_port, self.dst_port);
        Some(FiveTuple { src, dst, src_port, dst_port, protocol: FiveTuple::UDP })
    }

    #[inline]
    fn mark_congestion(&mut self) -> bool {
        self.ecn.mark()
    }

    #[inline]
    fn data_len(&self) -> u32 {
        self.plen.into()
    }

    fn payload_len(&self) -> usize {
        self.plen.into()
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn framing(&self) -> Framing {
        Framing::OF_IPV4
    }

    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode(payload));
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&ipv4::TYPE)
            && ipv4::protocol(bytes) == Some(FiveTuple::UDP)
            && !roce::Packet::is_in(bytes)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}

#[cfg(test)]
mod tests {
    use crate::Header;
    use crate::tests::{bytes_of, datagram, hex};

    /// Compares the encoding with bytes written from the formats in the RFCs. The checksums were computed
    /// independently.
    #[test]
    fn udp_vector() {
        let bytes = hex("45 00 00 30 00 00 40 00 40 11 23 b7 0a 00 00 01 0a 02 03 04 \
                         03 e8 00 50 00 1c de c6 00 00 00 00 00 00 05 b0 00 00 00 00 00 01 00 00 00 00 00 00");
        assert_eq!(bytes_of(&Header::Udp(datagram())), bytes);
        assert_eq!(Header::decode(&bytes), Ok((Header::Udp(datagram()), 44)));
    }
}
