//! Whole Ethernet frames of other systems, such as a host's kernel. A fabric reads only some fields of such a frame and
//! may change only the ECN field and, with it, IPv4's checksum.
//!
//! A [`FrameView`] is read from a frame without check sequence. The frame's source and destination addresses must be
//! [addresses of hosts](crate::Mac::host). The frame may contain anything: VLAN tags, IPv4 and IPv6 with any options
//! and extension headers, TCP, UDP, ICMP, ARP, or an unknown EtherType. The frame itself is the packet's payload, which
//! the runtime stores. Encoding an unmarked packet with this payload gives the same frame. If a queue has marked the
//! packet, the ECN field changes, and IPv4's checksum is updated incrementally (RFC 1624). Tags of schemes precede the
//! frame.
//!
//! Frames here have no check sequence and begin like converged-Ethernet frames. Runtimes therefore read such frames
//! only if they are configured to: [`Decoders::with_frames`](crate::Decoders::with_frames). Frames after Expeditus's
//! tag are always read.

use crate::ethernet::{ADDRESSES, HEADER};
use crate::field::{first, get16, put16};
use crate::{
    Class, Ecn, Ends, Error, FiveTuple, Framing, HeaderInfo, Mac, Opening, cee, checksum, cnm, frame, tcp,
};

/// The fields of a frame that a fabric needs.
#[derive(Debug, Clone, Copy, Eq)]
pub struct FrameView {
    ends: Ends,
    /// Length of the frame in bytes.
    len: u32,
    /// 802.1Q's priority in the first VLAN tag; 0 without a tag.
    priority: u8,
    packet: Option<IpView>,
    /// True if the view was marked after it was read, so that the frame must change.
    is_marked: bool,
}

/// Compares all fields except `is_marked`: a view that has been marked equals the view that is read from the marked
/// frame.
impl PartialEq for FrameView {
    fn eq(&self, other: &Self) -> bool {
        let facts = |view: &Self| (view.ends, view.len, view.priority, view.packet);
        facts(self) == facts(other)
    }
}

/// The fields of an IP packet that a fabric needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IpView {
    protocol: u8,
    /// Source and destination port; 0 for protocols other than TCP and UDP, and for incomplete headers. Also 0 for
    /// fragments, so that all fragments of a packet count as one flow.
    ports: (u16, u16),
    ecn: Ecn,
    opening: Option<Opening>,
    /// Number of bytes of TCP or UDP payload.
    data_len: u16,
}

const VLAN_TAGS: [u16; 2] = [frame::VLAN, 0x88A8];
const IPV6: u16 = 0x86DD;
const IPV6_HEADER: usize = 40;
const IPV4_HEADER: usize = 20;
const IPV4_CHECKSUM: usize = 10;

/// Error: the reader needs bytes of the frame that are not available.
struct NotAtHand;

/// A frame, or only its first bytes if the rest is not available.
#[derive(Clone, Copy)]
struct Front<'a> {
    at_hand: &'a [u8],
    /// Total number of bytes, including bytes that are not available.
    len: usize,
}

impl<'a> Front<'a> {
    /// Returns the first `N` bytes; `None` if the frame has fewer bytes.
    fn first<const N: usize>(self) -> Result<Option<&'a [u8; N]>, NotAtHand> {
        match self.at_hand.first_chunk() {
            None if self.len >= N => Err(NotAtHand),
            first => Ok(first),
        }
    }

    /// Returns the bytes from `from` up to, but not including, `to`; `None` if the frame ends before `to` or if `to` is
    /// less than `from`.
    fn part(self, from: usize, to: usize) -> Option<Self> {
        let at_hand = self.at_hand.get(from..to.min(self.at_hand.len())).unwrap_or_default();
        (from <= to && to <= self.len).then(|| Self { at_hand, len: to - from })
    }

    /// Returns the bytes that begin at `from`; `None` if the frame ends before `from`.
    fn behind(self, from: usize) -> Option<Self> {
        self.part(from, self.len)
    }
}

impl FrameView {
    /// Returns the view of a whole frame.
    ///
    /// # Errors
    /// [`Error`] if the frame's header is incomplete, or if one of its addresses is not the address of a host.
    ///
    /// # Panics
    /// If the frame has 4 GiB or more.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let read = Self::read_front(bytes, bytes.len());
        read.unwrap_or(Err(Error::Truncated { have: bytes.len(), need: HEADER }))
    }

    /// Returns the view of a frame of `len` bytes that begins with `front`; `None` if more bytes of the frame are
    /// needed.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](Self::read).
    ///
    /// # Panics
    /// Panics in the same cases as [`read`](Self::read).
    #[must_use]
    pub fn read_front(front: &[u8], len: usize) -> Option<Result<Self, Error>> {
        let header: &[u8; HEADER] = match first(front) {
            Ok(header) => header,
            Err(_) if len > front.len() => return None,
            Err(error) => return Some(Err(error)),
        };
        let ends = || -> Result<_, Error> {
            let dst = frame::host(header, 0, "destination")?;
            Ok(Ends::new(frame::host(header, 6, "source")?, dst))
        };
        let ends = match ends() {
            Ok(ends) => ends,
            Err(error) => return Some(Err(error)),
        };
        let front = Front { at_hand: front, len };
        let (priority, at) = vlan(front).ok()?;
        let packet = IpView::read(front, at).ok()?;
        let len = u32::try_from(len).expect("a frame's length must fit 32 bits");
        Some(Ok(Self { ends, len, priority, packet, is_marked: false }))
    }
}

/// Returns the priority of a frame, and the position of its last EtherType, after its VLAN tags.
fn vlan(frame: Front<'_>) -> Result<(u8, usize), NotAtHand> {
    let mut at = ADDRESSES;
    let mut priority = None;
    // Each VLAN tag is followed by another EtherType.
    while let Some(tag) = frame.behind(at)
        && let Some(tag) = tag.first::<6>()?
        && VLAN_TAGS.contains(&get16(tag, 0))
    {
        priority = priority.or(Some(tag[2] >> 5));
        at += 4;
    }
    Ok((priority.unwrap_or(0), at))
}

impl IpView {
    /// Reads the IP packet after the EtherType at byte `at`. Returns `None` if there is no IP packet or if
    /// the packet is incomplete.
    fn read(frame: Front<'_>, at: usize) -> Result<Option<Self>, NotAtHand> {
        let (Some(rest), Some(packet)) = (frame.behind(at), frame.behind(at + 2)) else { return Ok(None) };
        match rest.first::<2>()?.map(|ethertype| get16(ethertype, 0)) {
            Some(Framing::IPV4) => Self::read_v4(packet),
            Some(IPV6) => Self::read_v6(packet),
            _ => Ok(None),
        }
    }

    fn read_v4(packet: Front<'_>) -> Result<Option<Self>, NotAtHand> {
        let Some(header) = packet.first::<IPV4_HEADER>()? else { return Ok(None) };
        let len = usize::from(header[0] & 0xF) * 4;
        if header[0] >> 4 != 4 || len < IPV4_HEADER {
            return Ok(None);
        }
        // Padding may follow the IP packet.
        let Some(body) = packet.part(len, get16(header, 2).into()) else { return Ok(None) };
        let is_fragment = get16(header, 6) & 0x3FFF != 0;
        Self::of(header[9], Ecn::of(header[1]), body, is_fragment).map(Some)
    }

    fn read_v6(packet: Front<'_>) -> Result<Option<Self>, NotAtHand> {
        let Some(header) = packet.first::<IPV6_HEADER>()? else { return Ok(None) };
        let body = packet.part(IPV6_HEADER, IPV6_HEADER + usize::from(get16(header, 4)));
        let Some(mut body) = body.filter(|_| header[0] >> 4 == 6) else { return Ok(None) };
        let mut protocol = header[6];
        let mut is_fragment = false;
        // An extension header (RFC 8200 §4) begins with the next header's number and, except in a
        // fragment header, its own length.
        while let Some(units) = extension_unit(protocol)
            && let Some(extension) = body.first::<4>()?
            && let Some(behind) = body.behind(units(extension[1].into()))
        {
            is_fragment |= protocol == FRAGMENT && get16(extension, 2) & 0xFFF9 != 0;
            (protocol, body) = (extension[0], behind);
        }
        Self::of(protocol, Ecn::of(header[1] >> 4), body, is_fragment).map(Some)
    }

    fn of(protocol: u8, ecn: Ecn, body: Front<'_>, is_fragment: bool) -> Result<Self, NotAtHand> {
        let nothing = Self { protocol, ports: (0, 0), ecn, opening: None, data_len: 0 };
        if is_fragment {
            return Ok(nothing);
        }
        let (ports, headers, opening) = match protocol {
            FiveTuple::TCP => {
                let Some(header) = body.first::<20>()? else { return Ok(nothing) };
                (&header[..4], usize::from(header[12] >> 4) * 4, tcp::opening(header[13]))
            }
            FiveTuple::UDP => {
                let Some(header) = body.first::<8>()? else { return Ok(nothing) };
                (&header[..4], 8, None)
            }
            _ => return Ok(nothing),
        };
        let data_len = u16::try_from(body.len.saturating_sub(headers)).unwrap_or(u16::MAX);
        Ok(Self { ports: (get16(ports, 0), get16(ports, 2)), opening, data_len, ..nothing })
    }
}

const FRAGMENT: u8 = 44;

/// Returns a function that computes the length in bytes of an IPv6 extension header from its length field;
/// `None` for other headers.
fn extension_unit(protocol: u8) -> Option<fn(usize) -> usize> {
    match protocol {
        0 | 43 | 60 | 135 => Some(|len| (len + 1) * 8),
        FRAGMENT => Some(|_| 8),
        51 => Some(|len| (len + 2) * 4),
        _ => None,
    }
}

/// Writes `ecn` into the IP header of a frame, and updates the checksum if the header is IPv4. Does not change frames
/// without an IP packet.
pub fn write_ecn(frame: &mut [u8], ecn: Ecn) {
    if frame.len() < HEADER {
        return;
    }
    let Ok((_, at)) = vlan(Front { at_hand: frame, len: frame.len() }) else { return };
    let is = get16(frame, at);
    let packet = &mut frame[at + 2..];
    match (is, packet.len()) {
        (Framing::IPV4, IPV4_HEADER..) => {
            let old = get16(packet, 0);
            packet[1] = packet[1] & !3 | ecn as u8;
            // Updates the checksum by RFC 1624, equation 3.
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

    /// Returns the five-tuple of a complete IP packet. The ports are 0 if the protocol is neither TCP nor UDP, if the
    /// packet is a fragment, or if its TCP or UDP header is incomplete.
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
        let is_capable = self.packet.as_mut().is_some_and(|packet| packet.ecn.mark());
        self.is_marked |= is_capable;
        is_capable
    }

    /// Returns true for an unmarked frame: a relay sends the bytes of such a frame unchanged.
    #[inline]
    fn patch_front(&self, _front: &mut [u8]) -> bool {
        !self.is_marked
    }

    /// Returns the number of bytes of TCP or UDP payload.
    #[inline]
    fn data_len(&self) -> u32 {
        self.packet.map_or(0, |packet| packet.data_len.into())
    }

    /// Returns the length of the whole frame, because the frame is the payload.
    fn payload_len(&self) -> usize {
        self.len as usize
    }

    /// Returns 0, because all bytes belong to the frame, which is the payload.
    fn wire_len(&self) -> usize {
        0
    }

    fn framing(&self) -> Framing {
        Framing::Frame { tag: 0, fcs: 0 }
    }

    fn encode_header(&self, _payload: &[u8], _out: &mut Vec<u8>) {}

    /// Writes the ECN field of the frame, which begins at `start` in `out`.
    fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
        if let Some(packet) = self.packet {
            write_ecn(&mut out[start..], packet.ecn);
        }
    }

    fn is_in(bytes: &[u8]) -> bool {
        const OTHERS: [u16; 3] = [cee::Frame::ETHERTYPE, cnm::Notice::ETHERTYPE, cnm::Notice::TAG];
        bytes.len() >= HEADER && Mac::get(bytes, 0).node().is_some() && !frame::has_ethertype(bytes, &OTHERS)
    }

    /// Decodes the frame. Frames do not contain their length, so the frame ends at the end of `bytes`.
    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::read(bytes)?, 0))
    }
}

#[cfg(test)]
mod tests;
