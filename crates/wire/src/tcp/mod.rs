//! TCP over IPv4 (RFC 9293, RFC 791), with selective acknowledgements (RFC 2018).
//!
//! Node `n` has the address `10.0.0.0 + n`. SACK is the only TCP option that is encoded. Two no-operations precede the
//! option to align its blocks. The window scale of 10 is agreed out of band, since flows may begin without a handshake.
//! Decoding is more tolerant: it skips options other than SACK. Fields that a [`Segment`] does not store may have any
//! value for which the checksums are correct. As exceptions, IPv4 options, fragments and wrong lengths are refused.

use crate::field::{get16, get32, put16, put32};
use crate::ipv4::{self, Ipv4};
use crate::{
    Ecn, Ends, Error, FiveTuple, FlowKey, FlowRange, Framing, HeaderInfo, Opening, Position, checksum,
};

/// FIN flag.
pub const FIN: u8 = 0x01;
/// SYN flag.
pub const SYN: u8 = 0x02;
/// ACK flag.
pub const ACK: u8 = 0x10;
/// ECN-echo flag (RFC 3168 §6.1): the receiver has seen a mark.
pub const ECE: u8 = 0x40;
/// Congestion-window-reduced flag (RFC 3168 §6.1): the sender has reacted to a mark.
pub const CWR: u8 = 0x80;

/// A TCP segment's headers: 40 bytes of IPv4 and TCP, plus SACK blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sending node (24 bits).
    pub src: u32,
    /// Receiving node (24 bits).
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte, modulo 2^32.
    pub seq: u32,
    /// Sequence number of the next expected byte, modulo 2^32, if [`ACK`] is set.
    pub ack: u32,
    /// Combination of [`FIN`], [`SYN`], [`ACK`], [`ECE`] and [`CWR`].
    pub flags: u8,
    /// SACK blocks in use, 0 to 3.
    pub sack_count: u8,
    /// Receive window in units of 1,024 bytes (window scale 10).
    pub window: u16,
    /// Payload bytes.
    pub plen: u16,
    /// ECN field: tells whether queues may mark the packet and whether a queue has marked it.
    pub ecn: Ecn,
    /// SACK blocks `[from, to)`, the most recent first. Unused blocks are zero.
    pub sack: [(u32, u32); 3],
}

const TCP: usize = 20;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;

impl Segment {
    /// Header bytes on the wire without SACK blocks.
    pub const MIN_LEN: usize = ipv4::LEN + TCP;
    /// Header bytes on the wire with three SACK blocks.
    pub const MAX_LEN: usize = Self::MIN_LEN + 4 + 3 * 8;

    /// Returns the SACK blocks in use.
    ///
    /// # Panics
    /// If `sack_count` exceeds 3.
    #[must_use]
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..self.sack_count.into()]
    }

    /// Appends the headers' bytes to `out`. `payload` is the payload that follows, from which trailing zeros may be
    /// left out.
    ///
    /// # Panics
    /// If a node's number exceeds 24 bits, `sack_count` exceeds 3, or headers and payload exceed the 65,535 bytes of
    /// an IPv4 packet.
    #[allow(clippy::cast_possible_truncation, reason = "a TCP header has at most 60 bytes")]
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) {
        debug_assert!(
            payload.len() <= self.plen.into(),
            "the payload must not be longer than the header field `plen`"
        );
        let len = self.wire_len();
        let body_len = len - ipv4::LEN + usize::from(self.plen);
        let network =
            Ipv4 { src: self.src, dst: self.dst, class: 0, ecn: self.ecn, protocol: FiveTuple::TCP };
        let mut bytes = [0; Self::MAX_LEN];
        let (ip, tcp) = bytes[..len].split_at_mut(ipv4::LEN);
        ip.copy_from_slice(&network.encode(body_len));
        put16(tcp, 0, self.src_port);
        put16(tcp, 2, self.dst_port);
        put32(tcp, 4, self.seq);
        put32(tcp, 8, self.ack);
        tcp[12] = (tcp.len() as u8 / 4) << 4;
        tcp[13] = self.flags;
        put16(tcp, 14, self.window);
        if let Some(options) = tcp.get_mut(TCP..).filter(|options| !options.is_empty()) {
            let blocks = self.sack_blocks();
            options[..4].copy_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * self.sack_count]);
            for (bytes, &(from, to)) in options[4..].as_chunks_mut::<8>().0.iter_mut().zip(blocks) {
                put32(bytes, 0, from);
                put32(bytes, 4, to);
            }
        }
        let sum = network.pseudo_header(body_len) + checksum::sum(tcp) + checksum::sum(payload);
        put16(tcp, 16, !checksum::fold(sum));
        out.extend_from_slice(&bytes[..len]);
    }

    /// Decodes the segment at the start of `bytes`. Also returns the length of its headers. Only the first three SACK
    /// blocks are kept.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a TCP segment of this form, or if an address is not that of a node.
    #[allow(clippy::cast_possible_truncation, reason = "an IPv4 packet is below 64 KiB")]
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let (ip, tcp) = Ipv4::decode(bytes, FiveTuple::TCP, TCP)?;
        checksum::verify(ip.pseudo_header(tcp.len()) + checksum::sum(tcp))?;
        let offset = usize::from(tcp[12] >> 4) * 4;
        if offset < TCP || offset > tcp.len() {
            return Err(Error::Invalid { field: "data offset", value: offset as u64 / 4 });
        }
        let (sack_count, sack) = sack_option(&tcp[TCP..offset])?;
        let segment = Self {
            src: ip.src,
            dst: ip.dst,
            src_port: get16(tcp, 0),
            dst_port: get16(tcp, 2),
            seq: get32(tcp, 4),
            ack: get32(tcp, 8),
            flags: tcp[13],
            sack_count,
            window: get16(tcp, 14),
            plen: (tcp.len() - offset) as u16,
            ecn: ip.ecn,
            sack,
        };
        Ok((segment, ipv4::LEN + offset))
    }

    /// Returns true if the segment comes from the node that sends the flow's data. Flows carry data in one
    /// direction. A segment comes from the receiver if it carries no payload, acknowledges, and does not
    /// close the flow.
    #[must_use]
    pub const fn from_data_sender(&self) -> bool {
        self.plen > 0 || self.flags & ACK == 0 || self.flags & FIN != 0
    }

    /// Returns the flow's name, the same at both ends: `sender << 32 | sender's port << 16 | receiver's
    /// port`. Concurrent flows of a sender must not have the same pair of ports.
    #[must_use]
    pub const fn key(&self) -> FlowKey {
        let (sender, from, to) = if self.from_data_sender() {
            (self.src, self.src_port, self.dst_port)
        } else {
            (self.dst, self.dst_port, self.src_port)
        };
        FlowKey((sender as u64) << 32 | (from as u64) << 16 | to as u64)
    }
}

/// Returns the role of a segment with these flags in the opening of a connection; `None` if the segment opens no
/// connection.
#[inline]
pub(crate) fn opening(flags: u8) -> Option<Opening> {
    match (flags & SYN != 0, flags & ACK != 0) {
        (true, false) => Some(Opening::Syn),
        (true, true) => Some(Opening::SynAck),
        (false, _) => None,
    }
}

/// Returns the number of SACK blocks in `options`, at most three, and the blocks themselves. The number and all blocks
/// are zero if there is no SACK option.
fn sack_option(mut options: &[u8]) -> Result<(u8, [(u32, u32); 3]), Error> {
    let mut sack = (0, [(0, 0); 3]);
    while let Some((&kind, rest)) = options.split_first() {
        match kind {
            OPTION_END => break,
            OPTION_NOP => options = rest,
            _ => {
                let len = usize::from(*rest.first().unwrap_or(&0));
                let Some(body) = options.get(2..len) else {
                    return Err(Error::Invalid { field: "option length", value: len as u64 });
                };
                if kind == OPTION_SACK {
                    sack = sack_blocks(body)?;
                }
                options = &options[len..];
            }
        }
    }
    Ok(sack)
}

fn sack_blocks(body: &[u8]) -> Result<(u8, [(u32, u32); 3]), Error> {
    let (blocks, rest) = body.as_chunks::<8>();
    if blocks.is_empty() || !rest.is_empty() {
        return Err(Error::Invalid { field: "sack length", value: body.len() as u64 });
    }
    let mut sack = [(0, 0); 3];
    let mut count = 0;
    for (kept, block) in sack.iter_mut().zip(blocks) {
        *kept = (get32(block, 0), get32(block, 4));
        count += 1;
    }
    Ok((count, sack))
}

impl HeaderInfo for Segment {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(self.key())
    }

    /// The first byte of a flow has the sequence number 1, because the SYN has the number 0. All hosts use
    /// the initial sequence number 0, since flows may begin without a handshake.
    fn range(&self) -> Option<FlowRange> {
        let position = Position::WrappedByte(self.seq.wrapping_sub(1));
        FlowRange::new(self.key(), position, self.plen.into())
    }

    #[inline]
    fn five_tuple(&self) -> Option<FiveTuple> {
        let Ends { src, dst } = self.ends();
        let (src_port, dst_port) = (self.src_port, self.dst_port);
        Some(FiveTuple { src, dst, src_port, dst_port, protocol: FiveTuple::TCP })
    }

    #[inline]
    fn opening(&self) -> Option<Opening> {
        opening(self.flags)
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
        match self.sack_count {
            0 => Self::MIN_LEN,
            count => Self::MIN_LEN + 4 + 8 * usize::from(count),
        }
    }

    fn framing(&self) -> Framing {
        Framing::OF_IPV4
    }

    fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        self.encode(payload, out);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&ipv4::TYPE) && ipv4::protocol(bytes) != Some(FiveTuple::UDP)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Self::decode(bytes)
    }
}

#[cfg(test)]
mod tests;
