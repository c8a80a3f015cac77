//! Ethernet frames (IEEE 802.3) as bytes: insertion and removal of Expeditus's tag, and the Exp-response to an
//! Exp-request (specifications/expeditus.md §4.5).
//!
//! A frame here consists of its addresses, its EtherType and its packet, without preamble and frame check sequence. The
//! tag follows the addresses. Insertion and removal move the bytes after the tag and do not change these bytes. The
//! functions here do not pad frames. A sender must pad a frame that, with its frame check sequence, is shorter than
//! [`MIN_FRAME`].

use crate::exp::Tag;
use crate::field::{first, get16, part, put16};
use crate::{Error, checksum};

/// Length of the two addresses in bytes.
pub const ADDRESSES: usize = 12;
/// Length in bytes of the header: the addresses and the EtherType.
pub const HEADER: usize = ADDRESSES + 2;
/// Length of the frame check sequence in bytes.
pub const FCS: usize = 4;
/// Size, in bytes, of the shortest frame, including header and frame check sequence.
pub const MIN_FRAME: usize = 64;

const IPV4: u16 = 0x0800;
const IP: usize = 20;
/// Offset of the flags and of the fragment offset in an IPv4 header.
const FRAGMENT: usize = 6;
const MORE_FRAGMENTS: u8 = 0x20;
const FRAGMENT_OFFSET: u16 = 0x1FFF;
const TIME_TO_LIVE: u8 = 64;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Length of the shortest TCP header in bytes.
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Returns the frame's tag; `None` if the frame has none.
///
/// # Errors
/// [`Error::Truncated`] if the frame's header or tag is incomplete, or if no EtherType follows the tag.
pub fn tag(frame: &[u8]) -> Result<Option<Tag>, Error> {
    let header: &[u8; HEADER] = first(frame)?;
    if get16(header, ADDRESSES) != Tag::TPID {
        return Ok(None);
    }
    let tag = Tag::decode(&frame[ADDRESSES..])?;
    part(frame, ADDRESSES + tag.wire_len(), 2)?;
    Ok(Some(tag))
}

/// Returns the EtherType of a frame's packet, and the packet. Skips a tag that precedes the EtherType.
///
/// # Errors
/// Returns the same errors as [`tag`].
pub fn packet(frame: &[u8]) -> Result<(u16, &[u8]), Error> {
    let at = ADDRESSES + tag(frame)?.map_or(0, |tag| tag.wire_len());
    Ok((get16(frame, at), &frame[at + 2..]))
}

/// Inserts a tag into a frame without a tag.
///
/// # Errors
/// [`Error::Truncated`] if the frame's header is incomplete.
pub fn insert_tag(frame: &mut Vec<u8>, tag: &Tag) -> Result<(), Error> {
    first::<HEADER>(frame)?;
    let mut bytes = Vec::with_capacity(tag.wire_len());
    tag.encode(&mut bytes);
    frame.splice(ADDRESSES..ADDRESSES, bytes);
    Ok(())
}

/// Removes and returns the frame's tag; `None` if the frame has none.
///
/// # Errors
/// Returns the same errors as [`tag`].
pub fn remove_tag(frame: &mut Vec<u8>) -> Result<Option<Tag>, Error> {
    let tag = tag(frame)?;
    if let Some(tag) = &tag {
        frame.drain(ADDRESSES..ADDRESSES + tag.wire_len());
    }
    Ok(tag)
}

/// Builds the Exp-response to an Exp-request, still without loads. The response has the request's headers without the
/// payload. The Ethernet and IPv4 addresses are exchanged, but the TCP or UDP ports are not. The time to live is set to
/// its initial value, and the ECN field is cleared.
///
/// # Errors
/// Returns an [`Error`] if the frame is not an Exp-request, or if its packet is not IPv4 or lacks some of its
/// headers. A fragment other than the first lacks the transport header.
pub fn exp_response(request: &[u8]) -> Result<Vec<u8>, Error> {
    match tag(request)? {
        Some(tag) if !tag.is_response => {}
        Some(_) => return Err(Error::Invalid { field: "SF", value: 1 }),
        None => return Err(Error::Invalid { field: "EtherType", value: get16(request, ADDRESSES).into() }),
    }
    let (ethertype, packet) = packet(request)?;
    if ethertype != IPV4 {
        return Err(Error::Invalid { field: "EtherType", value: ethertype.into() });
    }
    let (dst, src) = request[..ADDRESSES].split_at(ADDRESSES / 2);
    let mut response = [src, dst].concat();
    Tag::response().encode(&mut response);
    response.extend_from_slice(&ethertype.to_be_bytes());
    let at = response.len();
    response.extend_from_slice(headers(packet)?);
    turn_round(&mut response[at..], packet);
    Ok(response)
}

/// Returns the IPv4 and transport headers of a packet, without the payload.
fn headers(packet: &[u8]) -> Result<&[u8], Error> {
    let ip: &[u8; IP] = first(packet)?;
    let at = ip_len(ip);
    if ip[0] >> 4 != 4 || at < IP {
        return Err(Error::UnknownType(ip[0]));
    }
    let offset = get16(ip, FRAGMENT) & FRAGMENT_OFFSET;
    if offset != 0 {
        return Err(Error::Invalid { field: "fragment", value: offset.into() });
    }
    let transport = match ip[9] {
        TCP => match part(packet, at, TCP_HEADER)?[12] >> 4 {
            words if usize::from(words) * 4 < TCP_HEADER => {
                return Err(Error::Invalid { field: "data offset", value: words.into() });
            }
            words => usize::from(words) * 4,
        },
        UDP => UDP_HEADER,
        _ => 0,
    };
    part(packet, 0, at + transport)
}

fn ip_len(ip: &[u8]) -> usize {
    usize::from(ip[0] & 0xF) * 4
}

/// Turns the headers of the request `packet` into the headers of its response.
#[allow(clippy::cast_possible_truncation, reason = "a UDP header has 8 bytes")]
fn turn_round(headers: &mut [u8], packet: &[u8]) {
    let len = headers.len();
    let (ip, transport) = headers.split_at_mut(ip_len(packet));
    ip[1] &= !0b11; // not ECN-capable
    put16(ip, 2, u16::try_from(len).expect("the headers must have at most 65,535 bytes"));
    ip[FRAGMENT] &= !MORE_FRAGMENTS;
    ip[8] = TIME_TO_LIVE;
    put16(ip, 10, 0);
    ip[12..20].rotate_left(4);
    let sum = checksum::sum(ip);
    put16(ip, 10, !checksum::fold(sum));
    // TCP's checksum is a sum, so the exchange of addresses does not change the checksum. The checksum is right only
    // if the request had no payload, but no host verifies the checksum.
    if ip[9] == UDP {
        put16(transport, 4, UDP_HEADER as u16);
        put16(transport, 6, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hex;
    use proptest::prelude::*;

    // The test vectors of specifications/expeditus.md §4.7: a SYN from 10.1.1.1:40000 to 10.3.2.1:5001.
    const TO_DST: &str = "02 00 0a 03 02 01  02 00 0a 01 01 01";
    const TO_SRC: &str = "02 00 0a 01 01 01  02 00 0a 03 02 01";
    const SYN: &str = "08 00  45 00 00 2c 00 01 40 00 40 06 23 c6 0a 01 01 01 0a 03 02 01 \
                       9c 40 13 89 00 00 03 e8 00 00 00 00 60 02 fa f0 d2 7e 00 00 02 04 05 b4";
    const RESPONSE: &str = "08 00  45 00 00 2c 00 01 40 00 40 06 23 c6 0a 03 02 01 0a 01 01 01 \
                            9c 40 13 89 00 00 03 e8 00 00 00 00 60 02 fa f0 d2 7e 00 00 02 04 05 b4";

    fn frame(parts: &[&str]) -> Vec<u8> {
        hex(&parts.join(" "))
    }

    #[test]
    fn oracle_4_7_requests() {
        for (loads, tag, len) in [(&[3, 1][..], "99 00 02 31", 62), (&[3, 0, 7, 5], "99 00 04 30 75", 63)] {
            let original = frame(&[TO_DST, SYN]);
            let mut tagged = original.clone();
            assert_eq!(insert_tag(&mut tagged, &Tag::request(loads.iter().copied())), Ok(()));
            assert_eq!((&tagged, tagged.len()), (&frame(&[TO_DST, tag, SYN]), len));
            assert_eq!(packet(&tagged), packet(&original));
            assert_eq!(remove_tag(&mut tagged), Ok(Some(Tag::request(loads.iter().copied()))));
            assert_eq!((&tagged, tagged.len()), (&original, 58));
            assert_eq!(remove_tag(&mut tagged), Ok(None));
        }
    }

    #[test]
    fn oracle_4_7_responses() {
        let mut response = exp_response(&frame(&[TO_DST, "99 00 02 31", SYN])).expect("a request");
        assert_eq!((&response, response.len()), (&frame(&[TO_SRC, "99 00 80", RESPONSE]), 61));
        for (loads, tag, len) in [(&[1, 6][..], "99 00 82 16", 62), (&[1, 6, 0, 2], "99 00 84 16 02", 63)] {
            let old = remove_tag(&mut response).expect("a frame").expect("a tag");
            assert_eq!(insert_tag(&mut response, &old.with_loads(loads.iter().copied())), Ok(()));
            assert_eq!((&response, response.len()), (&frame(&[TO_SRC, tag, RESPONSE]), len));
        }
    }

    /// The response to a marked datagram with a low time to live has no payload, no mark and the initial time to live.
    /// Its IPv4 checksum is correct, and it has no UDP checksum.
    #[test]
    fn a_response_is_fresh_and_empty() {
        let request = frame(&[
            TO_DST,
            "99 00 02 31 08 00",
            "45 03 00 20 00 01 40 00 11 11 52 c4 0a 01 01 01 0a 03 02 01",
            "9c 40 13 89 00 0c 12 34 de ad be ef",
        ]);
        let expected = frame(&[
            TO_SRC,
            "99 00 80 08 00",
            "45 00 00 1c 00 01 40 00 40 11 23 cb 0a 03 02 01 0a 01 01 01",
            "9c 40 13 89 00 08 00 00",
        ]);
        assert_eq!(exp_response(&request), Ok(expected.clone()));
        let ip = &expected[ADDRESSES + 5..][..IP];
        assert_eq!(checksum::verify(checksum::sum(ip)), Ok(()));
    }

    #[test]
    fn only_requests_in_ipv4_are_answered() {
        let invalid = |field, value| Err(Error::Invalid { field, value });
        assert_eq!(exp_response(&frame(&[TO_SRC, "99 00 80", RESPONSE])), invalid("SF", 1));
        assert_eq!(exp_response(&frame(&[TO_DST, SYN])), invalid("EtherType", 0x0800));
        assert_eq!(exp_response(&frame(&[TO_DST, "99 00 00 86 dd 60 00"])), invalid("EtherType", 0x86dd));
        let short = Err(Error::Truncated { have: 22, need: 40 });
        assert_eq!(exp_response(&frame(&[TO_DST, "99 00 00", &SYN[..71]])), short);
        let mut small = frame(&[TO_DST, "99 00 00", SYN]);
        small[HEADER + 3 + IP + 12] = 0x40;
        assert_eq!(exp_response(&small), invalid("data offset", 4));
        let mut fragment = frame(&[TO_DST, "99 00 00", SYN]);
        let at = HEADER + 3 + FRAGMENT;
        fragment[at] = 0x20; // the first fragment; more fragments follow
        let response = exp_response(&fragment).expect("ports are in the first one");
        assert_eq!(response[at], 0, "the response is whole");
        fragment[at + 1] = 0xB9;
        assert_eq!(exp_response(&fragment), invalid("fragment", 0xB9));
        let without_type = Err(Error::Truncated { have: 15, need: 17 });
        assert_eq!(exp_response(&frame(&[TO_DST, "99 00 00"])), without_type);
    }

    proptest! {
        #[test]
        fn any_frame_is_read_or_refused(
            tagged: bool,
            ip: bool,
            mut frame in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            if tagged && frame.len() > HEADER + 6 {
                frame[ADDRESSES..HEADER].copy_from_slice(&Tag::TPID.to_be_bytes());
                if ip {
                    frame[HEADER..HEADER + 4].copy_from_slice(&[0, 8, 0, 0x45]);
                }
            }
            let _ = exp_response(&frame);
            let whole = frame.clone();
            if let (Ok(Some(tag)), Ok((_, packet))) = (remove_tag(&mut frame), packet(&whole)) {
                prop_assert_eq!(frame.len() + tag.wire_len(), whole.len());
                prop_assert_eq!(&frame[HEADER..], packet);
            }
        }
    }
}
