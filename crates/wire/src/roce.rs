//! RoCEv2, InfiniBand's transport over UDP and IPv4 (InfiniBand Architecture, Annex A17), to the extent that DCQCN and
//! go-back-N need it.
//!
//! | byte | bits | field | here |
//! |---|---|---|---|
//! | 0 | 160 | IPv4 | the priority is the class selector (RFC 2474 §4.2.2); standard ECN |
//! | 20 | 64 | UDP to port 4791 | source port for load balancers; no checksum, as the annex advises |
//! | 28 | 8 | opcode | RDMA WRITE Only 0x0A, acknowledgement 0x11, or congestion notification 0x81 |
//! | 29 | 8 | solicited event, migration, pad count, version | pad count: number of padding bytes after the payload; other bits 0 |
//! | 30 | 16 | partition key | 0xFFFF, the default |
//! | 32 | 8 | FECN, BECN, reserved | BECN is 1 in a congestion notification; all other bits 0 |
//! | 33 | 24 | destination queue pair | the flow's number at its source, in both directions |
//! | 36 | 8 | acknowledge request, reserved | first bit: a WRITE requests an acknowledgement; other bits 0 |
//! | 37 | 24 | packet sequence number | packet's number in its flow, or see below; 0 in a congestion notification |
//! | 40 | 64 | RETH: virtual address | offset of the first payload byte in the flow |
//! | 48 | 32 | RETH: remote key | upper 32 bits of the flow's size in bytes |
//! | 52 | 32 | RETH: DMA length | lower 32 bits of the flow's size in bytes |
//! | 56 | .. | payload, padded to four bytes | |
//! | last 4 | 32 | invariant CRC | computed |
//!
//! An acknowledgement has four bytes of AETH in place of RETH (InfiniBand Architecture, volume 1, §9.7.5): the syndrome
//! and the message sequence number. The message sequence number is 0, since every flow is one message. The syndrome is
//! 0x1F (ACK without a credit count) or 0x60 (NAK, packet sequence error). An ACK has the number of the last packet
//! that arrived in order. A NAK has the number of the packet that the receiver expects.
//!
//! A congestion notification has 16 reserved zero bytes in place of RETH. According to the
//! standard, a flow would begin with a WRITE First. Only this packet would have a RETH, and the DMA
//! length in the RETH would be the length of the whole message. Here every data packet is a WRITE
//! Only with a RETH, so that each packet alone states which bytes it carries. The DMA length in each
//! packet still describes the whole message, not the packet.

use crate::field::{first, get16, get32, get64, part, put16, put32, put64};
use crate::ipv4::{self, Ipv4};
use crate::{
    Class, Ecn, Ends, Error, FiveTuple, FlowKey, FlowRange, Framing, HeaderInfo, PacketKind, Position,
};

/// A packet's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Sending node (24 bits).
    pub src: u32,
    /// Receiving node (24 bits).
    pub dst: u32,
    /// 802.1Q's priority, 0 to 7.
    pub priority: u8,
    /// ECN field: tells whether queues may mark the packet and whether a queue has marked it.
    pub ecn: Ecn,
    /// UDP's source port.
    pub src_port: u16,
    /// The flow's number at its source, which is the queue pair's number (24 bits).
    pub flow: u32,
    /// The packet's purpose.
    pub kind: Kind,
}

/// A packet's purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Writes some of a flow's bytes.
    Write {
        /// The packet's number in its flow, modulo 2^24.
        psn: u32,
        /// Payload bytes.
        plen: u16,
        /// Offset of the first payload byte in the flow.
        offset: u64,
        /// Size of the flow in bytes, at least `offset + plen`.
        size: u64,
        /// True if the receiver must acknowledge the packet at once.
        ack_request: bool,
    },
    /// Informs a flow's source which packets have arrived in order.
    Acknowledgement {
        /// Number of the next packet that the receiver accepts (24 bits). All packets before it have arrived.
        expected: u32,
        /// True if a later packet arrived instead of the expected packet and was discarded (NAK, packet sequence
        /// error).
        refused: bool,
    },
    /// Informs a flow's source that one of the flow's packets was marked (CNP).
    Notification,
}

const UDP: usize = 8;
/// Length in bytes of BTH, the base transport header: opcode to packet sequence number.
const BTH: usize = 12;
/// Length in bytes of RETH, the RDMA extended transport header, and of the reserved bytes that replace it in
/// notifications.
const EXTENDED: usize = 16;
/// Length in bytes of AETH, the ACK extended transport header.
const AETH: usize = 4;
const ICRC: usize = 4;
const WRITE_ONLY: u8 = 0x0A;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;
/// The bit of the BTH that requests an acknowledgement.
const ACK_REQUEST: u8 = 0x80;
/// The AETH's syndrome of an ACK without a valid credit count.
const ACK: u8 = 0x1F;
/// The AETH's syndrome of a NAK for a packet sequence error.
const NAK: u8 = 0x60;
/// Packet sequence numbers, which have 24 bits, lie below this limit.
const NUMBERS: u32 = 1 << 24;
const BECN: u8 = 0x40;
const DEFAULT_PARTITION: u16 = 0xFFFF;

impl Packet {
    /// The UDP destination port of every packet.
    pub const PORT: u16 = 4_791;
    /// Length in bytes of the headers before the payload, except in acknowledgements.
    pub const HEADERS: usize = ipv4::LEN + UDP + BTH + EXTENDED;
    /// Length in bytes of a notification on the wire, and of a WRITE without its payload and padding.
    pub const LEN: usize = Self::HEADERS + ICRC;
    /// Length of an acknowledgement on the wire, in bytes.
    pub const ACKNOWLEDGEMENT_LEN: usize = Self::LEN - EXTENDED + AETH;

    /// Returns the number of payload bytes.
    #[must_use]
    pub const fn plen(&self) -> u16 {
        match self.kind {
            Kind::Write { plen, .. } => plen,
            Kind::Acknowledgement { .. } | Kind::Notification => 0,
        }
    }

    /// Returns the number of bytes between the BTH and the payload.
    const fn extended(&self) -> usize {
        match self.kind {
            Kind::Acknowledgement { .. } => AETH,
            Kind::Write { .. } | Kind::Notification => EXTENDED,
        }
    }

    /// Returns the number of bytes of the headers before the payload.
    const fn header_len(&self) -> usize {
        ipv4::LEN + UDP + BTH + self.extended()
    }

    /// Returns the number of bytes of padding after the payload, which make the length of payload and padding a
    /// multiple of four.
    const fn padding(&self) -> usize {
        self.plen().wrapping_neg() as usize % 4
    }

    /// Returns the flow's name: `source of the flow << 32 | flow`. Notifications and acknowledgements return
    /// the name of the flow that they are about.
    #[must_use]
    pub const fn key(&self) -> FlowKey {
        let source = match self.kind {
            Kind::Write { .. } => self.src,
            Kind::Acknowledgement { .. } | Kind::Notification => self.dst,
        };
        FlowKey((source as u64) << 32 | self.flow as u64)
    }

    /// Returns the bytes of the headers. The headers of an acknowledgement are shorter than the result, so zeros
    /// follow.
    ///
    /// # Panics
    /// If the number of a node, flow or packet exceeds 24 bits, the priority exceeds 7, or the packet exceeds the
    /// 65,535 bytes of IPv4.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "an IPv4 packet is below 64 KiB")]
    pub fn encode(&self) -> [u8; Self::HEADERS] {
        let udp_len = UDP + BTH + self.extended() + usize::from(self.plen()) + self.trailer_len();
        let ip = Ipv4 {
            src: self.src,
            dst: self.dst,
            class: self.priority,
            ecn: self.ecn,
            protocol: FiveTuple::UDP,
        };
        let mut bytes = [0; Self::HEADERS];
        let (network, transport) = bytes.split_at_mut(ipv4::LEN);
        network.copy_from_slice(&ip.encode(udp_len));
        put16(transport, 0, self.src_port);
        put16(transport, 2, Self::PORT);
        put16(transport, 4, udp_len as u16);
        let bth = &mut transport[UDP..];
        bth[1] = (self.padding() as u8) << 4;
        put16(bth, 2, DEFAULT_PARTITION);
        put32(bth, 4, number("flow", self.flow));
        match self.kind {
            Kind::Write { psn, offset, size, ack_request, .. } => {
                bth[0] = WRITE_ONLY;
                put32(bth, 8, number("packet", psn));
                bth[8] = if ack_request { ACK_REQUEST } else { 0 };
                put64(bth, BTH, offset);
                put64(bth, BTH + 8, size);
            }
            Kind::Acknowledgement { expected, refused } => {
                bth[0] = ACKNOWLEDGE;
                let psn = if refused { expected } else { expected.wrapping_sub(1) % NUMBERS };
                put32(bth, 8, number("packet", psn));
                bth[BTH] = if refused { NAK } else { ACK };
            }
            Kind::Notification => {
                bth[0] = CNP;
                bth[4] = BECN;
            }
        }
        bytes
    }

    /// Decodes the headers at the start of `bytes`, which must reach to the end of the packet's invariant CRC.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a RoCEv2 packet of this form, or if an address is not that of a node.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (ip, udp) = Ipv4::decode(bytes, FiveTuple::UDP, UDP + BTH + AETH + ICRC)?;
        let (covered, crc) = part(bytes, 0, ipv4::LEN + udp.len())?.split_at(ipv4::LEN + udp.len() - ICRC);
        if icrc(covered) != crc {
            return Err(Error::Checksum);
        }
        let headers: &[u8; UDP + BTH] = first(udp)?;
        match (get16(headers, 2), usize::from(get16(headers, 4)), get16(headers, 6)) {
            (Self::PORT, len, 0) if len == udp.len() => {}
            (Self::PORT, _, 0) => return invalid("length", get16(headers, 4).into()),
            (Self::PORT, _, checksum) => return invalid("UDP checksum", checksum.into()),
            (port, ..) => return invalid("destination port", port.into()),
        }
        let bth = &headers[UDP..];
        let rest = &udp[headers.len()..udp.len() - ICRC];
        let (opcode, notices) = (bth[0], bth[4]);
        let kind = match (opcode, notices) {
            (WRITE_ONLY, 0) => decode_write(bth, rest)?,
            (ACKNOWLEDGE, 0) => decode_acknowledgement(bth, rest)?,
            (CNP, BECN) if rest.len() == EXTENDED => Kind::Notification,
            (CNP, BECN) => return invalid("length", udp.len() as u64),
            (WRITE_ONLY | ACKNOWLEDGE | CNP, _) => return invalid("FECN and BECN", notices.into()),
            (opcode, _) => return invalid("opcode", opcode.into()),
        };
        Ok(Self {
            src: ip.src,
            dst: ip.dst,
            priority: ip.class,
            ecn: ip.ecn,
            src_port: get16(headers, 0),
            flow: get32(bth, 4) % NUMBERS,
            kind,
        })
    }
}

fn invalid<T>(field: &'static str, value: u64) -> Result<T, Error> {
    Err(Error::Invalid { field, value })
}

/// Decodes the kind of a WRITE from its BTH and from `rest`: RETH, payload and padding.
#[allow(clippy::cast_possible_truncation, reason = "an IPv4 packet is below 64 KiB")]
fn decode_write(bth: &[u8], rest: &[u8]) -> Result<Kind, Error> {
    let padding = usize::from(bth[1] >> 4 & 3);
    let Some(payload) = rest.len().checked_sub(EXTENDED).filter(|payload| payload.is_multiple_of(4)) else {
        return invalid("length", (UDP + BTH + rest.len() + ICRC) as u64);
    };
    let Some(plen) = payload.checked_sub(padding) else {
        return invalid("pad count", padding as u64);
    };
    let (offset, size) = (get64(rest, 0), get64(rest, 8));
    if offset.checked_add(plen as u64).is_none_or(|end| end > size) {
        return invalid("virtual address", offset);
    }
    let ack_request = match bth[8] {
        0 => false,
        ACK_REQUEST => true,
        other => return invalid("acknowledge request", other.into()),
    };
    Ok(Kind::Write { psn: get32(bth, 8) % NUMBERS, plen: plen as u16, offset, size, ack_request })
}

/// Decodes the kind of an acknowledgement from its BTH and AETH.
fn decode_acknowledgement(bth: &[u8], aeth: &[u8]) -> Result<Kind, Error> {
    if aeth.len() != AETH {
        return invalid("length", (UDP + BTH + aeth.len() + ICRC) as u64);
    }
    let refused = match aeth[0] {
        ACK => false,
        NAK => true,
        syndrome => return invalid("syndrome", syndrome.into()),
    };
    let (psn, message) = (get32(bth, 8), get32(aeth, 0) % NUMBERS);
    if message != 0 {
        return invalid("message sequence number", message.into());
    }
    Ok(Kind::Acknowledgement { expected: (psn + u32::from(!refused)) % NUMBERS, refused })
}

fn number(what: &str, number: u32) -> u32 {
    assert!(number < 1 << 24, "the {what} number must fit in 24 bits (got {number})");
    number
}

/// Computes the invariant CRC over `packet`, the bytes before the CRC. The CRC covers eight bytes of 0xFF in place of a
/// link header, followed by the packet. Bytes that may change on the path count as 0xFF.
pub(crate) fn icrc(packet: &[u8]) -> [u8; ICRC] {
    const VARIANT: [usize; 7] = [1, 8, 10, 11, ipv4::LEN + 6, ipv4::LEN + 7, ipv4::LEN + UDP + 4];
    let (headers, rest) = packet
        .split_first_chunk::<{ ipv4::LEN + UDP + BTH }>()
        .expect("the packet must contain the IPv4, UDP and BTH headers");
    let mut headers = *headers;
    for at in VARIANT {
        headers[at] = 0xFF;
    }
    let mut crc = crc32fast::Hasher::new();
    for part in [&[0xFF; 8], &headers[..], rest] {
        crc.update(part);
    }
    crc.finalize().to_le_bytes()
}

impl HeaderInfo for Packet {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn kind(&self) -> PacketKind {
        match self.kind {
            Kind::Notification => PacketKind::Notice,
            Kind::Acknowledgement { .. } | Kind::Write { plen: 0, .. } => PacketKind::Ack,
            Kind::Write { .. } => PacketKind::Data,
        }
    }

    #[inline]
    fn class(&self) -> Class {
        Class(self.priority)
    }

    fn flow_key(&self) -> Option<FlowKey> {
        Some(self.key())
    }

    fn range(&self) -> Option<FlowRange> {
        match self.kind {
            Kind::Write { offset, plen, .. } => {
                FlowRange::new(self.key(), Position::Byte(offset), plen.into())
            }
            Kind::Acknowledgement { .. } | Kind::Notification => None,
        }
    }

    #[inline]
    fn five_tuple(&self) -> Option<FiveTuple> {
        let Ends { src, dst } = self.ends();
        let (src_port, dst_port) = (self.src_port, Self::PORT);
        Some(FiveTuple { src, dst, src_port, dst_port, protocol: FiveTuple::UDP })
    }

    #[inline]
    fn mark_congestion(&mut self) -> bool {
        self.ecn.mark()
    }

    #[inline]
    fn data_len(&self) -> u32 {
        self.plen().into()
    }

    fn payload_len(&self) -> usize {
        self.plen().into()
    }

    fn wire_len(&self) -> usize {
        self.header_len() + self.trailer_len()
    }

    fn trailer_len(&self) -> usize {
        self.padding() + ICRC
    }

    fn framing(&self) -> Framing {
        Framing::OF_IPV4
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode()[..self.header_len()]);
    }

    fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
        out.resize(out.len() + self.padding(), 0);
        let icrc = icrc(&out[start..]);
        out.extend_from_slice(&icrc);
    }

    /// Unlike a [`udp::Datagram`](crate::udp::Datagram), a RoCEv2 packet has no UDP checksum.
    fn is_in(bytes: &[u8]) -> bool {
        bytes.len() >= ipv4::LEN + UDP
            && bytes[0] == ipv4::TYPE
            && ipv4::protocol(bytes) == Some(FiveTuple::UDP)
            && get16(bytes, ipv4::LEN + 2) == Self::PORT
            && get16(bytes, ipv4::LEN + 6) == 0
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let packet = Self::decode(bytes)?;
        Ok((packet, packet.header_len()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::{bytes_of, hex};

    pub(crate) const WRITE: Packet = Packet {
        src: 1,
        dst: 0x02_03_04,
        priority: 3,
        ecn: Ecn::Ect0,
        src_port: 0xC001,
        flow: 7,
        kind: Kind::Write { psn: 5, plen: 3, offset: 4_096, size: 0x1_0000_0000, ack_request: false },
    };
    pub(crate) const NOTIFICATION: Packet =
        Packet { src: 0x02_03_04, dst: 1, ecn: Ecn::NotEct, kind: Kind::Notification, ..WRITE };
    /// An acknowledgement after only the first packet has arrived.
    pub(crate) const ACKNOWLEDGEMENT: Packet =
        Packet { kind: Kind::Acknowledgement { expected: 1, refused: false }, ..NOTIFICATION };
    /// A negative acknowledgement: a later packet arrived instead of the sixth packet.
    const REFUSAL: Packet =
        Packet { kind: Kind::Acknowledgement { expected: 5, refused: true }, ..NOTIFICATION };

    /// Compares the encoding with bytes composed from the tables of the formats. The IPv4 checksum and the invariant
    /// CRC were computed independently.
    #[test]
    fn known_bytes() {
        let write = "45 62 00 40 00 00 40 00 40 11 23 45 0a 00 00 01 0a 02 03 04  c0 01 12 b7 00 2c 00 00 \
                     0a 10 ff ff 00 00 00 07 00 00 00 05  00 00 00 00 00 00 10 00 00 00 00 01 00 00 00 00 \
                     00 00 00 00  b9 bf 6d 53";
        let notification = "45 60 00 3c 00 00 40 00 40 11 23 4b 0a 02 03 04 0a 00 00 01  c0 01 12 b7 00 28 00 00 \
                            81 00 ff ff 40 00 00 07 00 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                            39 6a 56 46";
        let ack = "45 60 00 30 00 00 40 00 40 11 23 57 0a 02 03 04 0a 00 00 01  c0 01 12 b7 00 1c 00 00 \
                   11 00 ff ff 00 00 00 07 00 00 00 00  1f 00 00 00  32 14 1a 5b";
        let nak = "45 60 00 30 00 00 40 00 40 11 23 57 0a 02 03 04 0a 00 00 01  c0 01 12 b7 00 1c 00 00 \
                   11 00 ff ff 00 00 00 07 00 00 00 05  60 00 00 00  88 2b a6 a0";
        for (packet, text, headers, trailer) in [
            (WRITE, write, 56, 5),
            (NOTIFICATION, notification, 56, 4),
            (ACKNOWLEDGEMENT, ack, 44, 4),
            (REFUSAL, nak, 44, 4),
        ] {
            let bytes = bytes_of(&Header::Roce(packet));
            assert_eq!(bytes, hex(text));
            assert_eq!(packet.trailer_len(), trailer);
            assert_eq!(Header::decode(&bytes), Ok((Header::Roce(packet), headers)));
        }
    }

    /// An acknowledgement carries the number of the packet before the expected packet. Before packet 0, this number is
    /// 2^24 - 1.
    #[test]
    fn the_number_in_an_acknowledgement_wraps() {
        let kind = Kind::Acknowledgement { expected: 0, refused: false };
        let bytes = bytes_of(&Header::Roce(Packet { kind, ..ACKNOWLEDGEMENT }));
        assert_eq!(bytes[36..40], [0, 0xFF, 0xFF, 0xFF]);
        assert_eq!(Packet::decode(&bytes).map(|packet| packet.kind), Ok(kind));
    }

    #[test]
    fn switches_may_change_fields_outside_the_invariant_crc() {
        let mut header = Header::Roce(WRITE);
        let before = bytes_of(&header);
        assert!(header.mark_congestion());
        let after = bytes_of(&header);
        let changed: Vec<usize> = (0..before.len()).filter(|&at| before[at] != after[at]).collect();
        assert_eq!(changed, [1, 11], "only the ECN mark and the IPv4 checksum may change");
        assert!(!Header::Roce(NOTIFICATION).mark_congestion());
    }

    #[test]
    fn a_notification_names_the_flow_it_is_about() {
        assert_eq!(WRITE.key(), FlowKey(1 << 32 | 7));
        assert_eq!([NOTIFICATION, ACKNOWLEDGEMENT].map(|packet| packet.key()), [WRITE.key(); 2]);
    }

    #[test]
    fn fields_that_no_sender_writes_are_refused() {
        let refused = |packet, at: usize, value: u8| {
            let mut bytes = bytes_of(&Header::Roce(packet));
            bytes[at] = value;
            let len = bytes.len() - ICRC;
            let crc = icrc(&bytes[..len]);
            bytes[len..].copy_from_slice(&crc);
            Packet::decode(&bytes).unwrap_err()
        };
        let invalid = |field, value| Error::Invalid { field, value };
        assert_eq!(refused(WRITE, 23, 0xb8), invalid("destination port", 4_792));
        assert_eq!(refused(WRITE, 25, 0x2d), invalid("length", 45));
        assert_eq!(refused(WRITE, 27, 1), invalid("UDP checksum", 1));
        assert_eq!(refused(WRITE, 28, 0x0b), invalid("opcode", 0x0b));
        assert_eq!(refused(WRITE, 32, 0x40), invalid("FECN and BECN", 0x40));
        assert_eq!(refused(WRITE, 40, 0xff), invalid("virtual address", 0xff << 56 | 4_096));
        assert_eq!(refused(WRITE, 36, 0x81), invalid("acknowledge request", 0x81));
        assert_eq!(refused(NOTIFICATION, 32, 0), invalid("FECN and BECN", 0));
        assert_eq!(refused(NOTIFICATION, 28, ACKNOWLEDGE), invalid("FECN and BECN", 0x40));
        assert_eq!(refused(ACKNOWLEDGEMENT, 28, WRITE_ONLY), invalid("length", 28));
        assert_eq!(refused(ACKNOWLEDGEMENT, 40, 0x61), invalid("syndrome", 0x61));
        assert_eq!(refused(ACKNOWLEDGEMENT, 43, 1), invalid("message sequence number", 1));
        let empty =
            Packet { kind: Kind::Write { psn: 0, plen: 0, offset: 0, size: 0, ack_request: false }, ..WRITE };
        assert_eq!(refused(empty, 29, 0x10), invalid("pad count", 1));
    }

    #[test]
    fn a_payload_without_its_padding_is_refused() {
        let mut bytes = bytes_of(&Header::Roce(WRITE));
        bytes.truncate(bytes.len() - 1 - ICRC);
        (bytes[3], bytes[25]) = (0x3f, 0x2b);
        put16(&mut bytes, 10, 0x2346); // IPv4's checksum for a packet one byte shorter
        let crc = icrc(&bytes);
        bytes.extend_from_slice(&crc);
        assert_eq!(Packet::decode(&bytes), Err(Error::Invalid { field: "length", value: 43 }));
    }
}
