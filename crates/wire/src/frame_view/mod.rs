//! Whole Ethernet frames of other systems, such as the kernel of a host: what a fabric needs to know of a frame, and the one
//! field that it may change.
//!
//! A [`FrameView`] is read from a frame without check sequence between hosts' [addresses](crate::Mac::host), whatever the
//! frame holds: VLAN tags, IPv4 and IPv6 with any options and extension headers, TCP, UDP, ICMP, ARP, or an EtherType that
//! nobody here knows. The frame itself is the packet's payload, which the runtime keeps; encoding the packet with it gives
//! the frame back, changed in the ECN field if a queue has marked the packet (IPv4's checksum incrementally, RFC 1624), and
//! in nothing else. Tags of schemes stand in front of the frame.
//!
//! Frames have no check sequence here and begin as those of converged Ethernet, so that runtimes read them only if they are
//! told that there are any: [`Decoders::with_frames`](crate::Decoders::with_frames).

use crate::ethernet::{ADDRESSES, HEADER};
use crate::field::{first, get16, put16};
use crate::{
    Class, Ecn, Ends, Error, FiveTuple, Framing, HeaderInfo, Mac, Opening, cee, checksum, cnm, frame, tcp,
};

/// What a fabric needs to know of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameView {
    ends: Ends,
    /// Bytes of the frame.
    len: u32,
    /// 802.1Q's priority, of the first tag; 0 without a tag.
    priority: u8,
    packet: Option<IpView>,
}

/// What a fabric needs to know of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IpView {
    protocol: u8,
    /// Source and destination port; 0 of protocols without ports, and of fragments, so that all fragments of a packet are
    /// told apart from other flows alike.
    ports: (u16, u16),
    ecn: Ecn,
    opening: Option<Opening>,
    /// Bytes that TCP or UDP carries.
    data_len: u16,
}

const VLAN_TAGS: [u16; 2] = [frame::VLAN, 0x88A8];
const IPV6: u16 = 0x86DD;
const IPV6_HEADER: usize = 40;
const IPV4_HEADER: usize = 20;
const IPV4_CHECKSUM: usize = 10;

impl FrameView {
    /// The view of a whole frame.
    ///
    /// # Errors
    /// [`Error`], if the frame lacks some of its header, or an address in it is not a host's.
    ///
    /// # Panics
    /// If the frame has 4 GiB.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let header: &[u8; HEADER] = first(bytes)?;
        let (dst, src) = (frame::host(header, 0, "destination")?, frame::host(header, 6, "source")?);
        let (priority, at) = vlan(bytes);
        Ok(Self {
            ends: Ends::new(src, dst),
            len: u32::try_from(bytes.len()).expect("a frame's length fits 32 bits"),
            priority,
            packet: IpView::read(bytes, at),
        })
    }
}

/// The priority of a frame, and where its last EtherType is: behind its VLAN tags.
fn vlan(frame: &[u8]) -> (u8, usize) {
    let is_tagged = |at| frame.len() >= at + 6 && VLAN_TAGS.contains(&get16(frame, at));
    let mut at = ADDRESSES;
    let priority = if is_tagged(at) { frame[at + 2] >> 5 } else { 0 };
    while is_tagged(at) {
        at += 4;
    }
    (priority, at)
}

impl IpView {
    /// The view of the IP packet in a frame behind the EtherType at byte `at`; `None` if the frame holds none that is whole.
    fn read(frame: &[u8], at: usize) -> Option<Self> {
        let packet = &frame[at + 2..];
        match get16(frame, at) {
            Framing::IPV4 => Self::read_v4(packet),
            IPV6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let header: &[u8; IPV4_HEADER] = packet.first_chunk()?;
        let len = usize::from(header[0] & 0xF) * 4;
        if header[0] >> 4 != 4 || len < IPV4_HEADER {
            return None;
        }
        // Behind the packet there may be padding.
        let body = packet.get(len..get16(header, 2).into())?;
        let is_fragment = get16(header, 6) & 0x3FFF != 0;
        Some(Self::of(header[9], Ecn::of(header[1]), body, is_fragment))
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let header: &[u8; IPV6_HEADER] = packet.first_chunk()?;
        if header[0] >> 4 != 6 {
            return None;
        }
        let mut body = packet.get(IPV6_HEADER..IPV6_HEADER + usize::from(get16(header, 4)))?;
        let mut protocol = header[6];
        let mut is_fragment = false;
        // Extension headers (RFC 8200 §4) begin with the next header's number and their own length.
        while let Some(len) = extension_len(protocol, body) {
            is_fragment |= protocol == FRAGMENT && get16(body, 2) & 0xFFF9 != 0;
            protocol = body[0];
            body = body.get(len..)?;
        }
        Some(Self::of(protocol, Ecn::of(header[1] >> 4), body, is_fragment))
    }

    fn of(protocol: u8, ecn: Ecn, body: &[u8], is_fragment: bool) -> Self {
        let nothing = Self { protocol, ports: (0, 0), ecn, opening: None, data_len: 0 };
        let headers = match protocol {
            FiveTuple::TCP if body.len() >= 20 => usize::from(body[12] >> 4) * 4,
            FiveTuple::UDP if body.len() >= 8 => 8,
            _ => return nothing,
        };
        if is_fragment {
            return nothing;
        }
        let opening = (protocol == FiveTuple::TCP).then(|| tcp::opening(body[13])).flatten();
        let data_len = u16::try_from(body.len().saturating_sub(headers)).unwrap_or(u16::MAX);
        Self { ports: (get16(body, 0), get16(body, 2)), opening, data_len, ..nothing }
    }
}

const FRAGMENT: u8 = 44;

/// Bytes of the extension header of IPv6 in front of `body`, if it is one and whole.
fn extension_len(protocol: u8, body: &[u8]) -> Option<usize> {
    let [_, len, ..] = *body else { return None };
    let len = match protocol {
        0 | 43 | 60 | 135 => (usize::from(len) + 1) * 8,
        FRAGMENT => 8,
        51 => (usize::from(len) + 2) * 4,
        _ => return None,
    };
    (body.len() >= len).then_some(len)
}

/// Writes the ECN field of a frame with an IP packet. Other frames stay as they are.
pub fn write_ecn(frame: &mut [u8], ecn: Ecn) {
    if frame.len() < HEADER {
        return;
    }
    let (_, at) = vlan(frame);
    let is = get16(frame, at);
    let packet = &mut frame[at + 2..];
    match (is, packet.len()) {
        (Framing::IPV4, IPV4_HEADER..) => {
            let old = get16(packet, 0);
            packet[1] = packet[1] & !3 | ecn as u8;
            // RFC 1624, eq. 3.
            let sum =
                u64::from(!get16(packet, IPV4_CHECKSUM)) + u64::from(!old) + u64::from(get16(packet, 0));
            if old != get16(packet, 0) {
                put16(packet, IPV4_CHECKSUM, !checksum::fold(sum));
            }
        }
        (IPV6, 2..) => packet[1] = packet[1] & !0x30 | (ecn as u8) << 4,
        _ => {}
    }
}

impl HeaderInfo for FrameView {
    #[inline]
    fn ends(&self) -> Ends {
        self.ends
    }

    #[inline]
    fn class(&self) -> Class {
        Class(self.priority)
    }

    /// Of any IP packet, with ports of 0 if there are none.
    #[inline]
    fn five_tuple(&self) -> Option<FiveTuple> {
        let Ends { src, dst } = self.ends;
        let IpView { protocol, ports: (src_port, dst_port), .. } = self.packet?;
        Some(FiveTuple { src, dst, src_port, dst_port, protocol })
    }

    #[inline]
    fn opening(&self) -> Option<Opening> {
        self.packet?.opening
    }

    #[inline]
    fn mark_congestion(&mut self) -> bool {
        self.packet.as_mut().is_some_and(|packet| packet.ecn.mark())
    }

    /// Bytes that TCP or UDP carries.
    #[inline]
    fn data_len(&self) -> u32 {
        self.packet.map_or(0, |packet| packet.data_len.into())
    }

    /// The whole frame.
    fn payload_len(&self) -> usize {
        self.len as usize
    }

    /// None: all bytes are the frame's.
    fn wire_len(&self) -> usize {
        0
    }

    fn framing(&self) -> Framing {
        Framing::Frame { tag: 0, fcs: 0 }
    }

    fn encode_header(&self, _payload: &[u8], _out: &mut Vec<u8>) {}

    /// Writes the ECN field of the frame that `out` now ends with.
    fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
        if let Some(packet) = self.packet {
            write_ecn(&mut out[start..], packet.ecn);
        }
    }

    fn is_in(bytes: &[u8]) -> bool {
        const OTHERS: [u16; 3] = [cee::Frame::ETHERTYPE, cnm::Notice::ETHERTYPE, cnm::Notice::TAG];
        bytes.len() >= HEADER && Mac::get(bytes, 0).node().is_some() && !frame::has_ethertype(bytes, &OTHERS)
    }

    /// Frames do not tell their length: this one ends where the bytes end.
    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::read(bytes)?, 0))
    }
}

#[cfg(test)]
mod tests;
