//! Adds tags to packets and removes them, and builds the Exp-response to a request.

#![allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]

use super::flow_id::five_tuple;
use raddle_core::{Header, HeaderInfo, Packet};
use raddle_wire::exp::{Tag, Tagged};
use raddle_wire::roce::{self, Kind};
use raddle_wire::tcp::Segment;
use raddle_wire::udp::Datagram;
use raddle_wire::{Ecn, FiveTuple, Opening};

/// The tag of a packet; `None` if the packet has no tag.
#[inline]
pub(crate) fn tag_of(packet: &Packet) -> Option<&Tag> {
    match &packet.header {
        Header::Exp(tagged) => Some(&tagged.tag),
        _ => None,
    }
}

/// Adds a tag to an untagged packet, which makes the packet longer.
pub(crate) fn put_tag(packet: &mut Packet, tag: Tag) {
    packet.size += tag.wire_len() as u32;
    let inner = std::mem::replace(&mut packet.header, Header::Tcp(Segment::default()));
    packet.header = Header::Exp(Box::new(Tagged { tag, inner }));
}

/// Removes a packet's tag and returns the tag; `None` if the packet has no tag.
pub(crate) fn take_tag(packet: &mut Packet) -> Option<Tag> {
    let &tag = tag_of(packet)?;
    packet.size -= tag.wire_len() as u32;
    if let Header::Exp(tagged) = std::mem::replace(&mut packet.header, Header::Tcp(Segment::default())) {
        packet.header = tagged.inner;
    }
    Some(tag)
}

/// Replaces the loads in a packet's tag.
pub(crate) fn write_loads(packet: &mut Packet, loads: impl IntoIterator<Item = u8>) {
    let Header::Exp(tagged) = &mut packet.header else { return };
    let old = tagged.tag.wire_len() as u32;
    tagged.tag = tagged.tag.with_loads(loads);
    packet.size = packet.size - old + tagged.tag.wire_len() as u32;
}

/// The Exp-response to a request whose tag was already removed. It has the request's five-tuple with exchanged
/// addresses, no payload, and no ECN mark. Returns `None` if the packet is not a TCP, UDP or RoCEv2 packet.
pub(crate) fn response_to(request: &Packet) -> Option<Packet> {
    let inner = match request.header {
        Header::Tcp(segment) => {
            Header::Tcp(Segment { src: segment.dst, dst: segment.src, plen: 0, ecn: Ecn::NotEct, ..segment })
        }
        Header::Udp(datagram) => Header::Udp(Datagram {
            src: datagram.dst,
            dst: datagram.src,
            plen: 0,
            ecn: Ecn::NotEct,
            ..datagram
        }),
        Header::Roce(packet) => {
            let kind = Kind::Write { psn: 0, plen: 0, offset: 0, size: 0, ack_request: false };
            Header::Roce(roce::Packet { src: packet.dst, dst: packet.src, kind, ecn: Ecn::NotEct, ..packet })
        }
        // Only switches see the response, so a default header with the response's five-tuple is enough.
        Header::Frame(view) => {
            let FiveTuple { src, dst, src_port, dst_port, protocol } = view.five_tuple()?;
            let (src, dst) = (dst.0, src.0);
            match protocol {
                FiveTuple::TCP => Header::Tcp(Segment { src, dst, src_port, dst_port, ..Segment::default() }),
                FiveTuple::UDP => {
                    Header::Udp(Datagram { src, dst, src_port, dst_port, ..Datagram::default() })
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut response = Packet::new(inner.wire_len() as u32, inner);
    put_tag(&mut response, Tag::response());
    Some(response)
}

/// The flow whose selection an Exp-response answers: the response's own five-tuple with exchanged addresses. `None` if
/// the packet is not an Exp-response.
pub(crate) fn answered(packet: &Packet) -> Option<FiveTuple> {
    tag_of(packet).filter(|tag| tag.is_response).map(|_| five_tuple(packet).answered())
}

/// The role of a packet in the opening of a connection (SYN or SYN-ACK); `None` if the packet opens no connection. The
/// packet may have a tag.
#[inline]
pub(crate) fn opening(packet: &Packet) -> Option<Opening> {
    match &packet.header {
        Header::Exp(tagged) => tagged.inner.opening(),
        header => header.opening(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Decoders;
    use raddle_wire::tcp::ACK;

    fn data() -> Packet {
        let segment =
            Segment { src: 1, dst: 2, src_port: 3, dst_port: 4, plen: 100, flags: ACK, ..Segment::default() };
        Packet::new(140, Header::Tcp(Segment { ecn: Ecn::Ce, ..segment }))
    }

    #[test]
    fn the_length_of_a_packet_equals_its_encoded_bytes_with_any_tag() {
        let mut packet = data();
        put_tag(&mut packet, Tag::request([1, 2, 3]));
        assert_eq!((packet.size, packet.payload(), packet.dst().0), (145, 100, 2));
        write_loads(&mut packet, [7; 8]);
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        assert_eq!(bytes.len(), 147);
        assert_eq!(Packet::decode(&bytes, &Decoders::BUILTIN), Ok(packet.clone()));
        assert_eq!(take_tag(&mut packet), Some(Tag::request([7; 8])));
        assert_eq!((take_tag(&mut packet), packet), (None, data()));
    }

    /// specifications/expeditus.md §4.5: an Exp-response has exchanged addresses, unchanged ports, no payload, and no
    /// ECN mark.
    #[test]
    fn oracle_4_5_responses() {
        let response = response_to(&data()).expect("TCP has ports");
        let Header::Exp(tagged) = &response.header else { panic!("{response:?}") };
        assert_eq!((response.size, tagged.tag), (43, Tag::response()));
        let Header::Tcp(segment) = tagged.inner else { panic!("{response:?}") };
        assert_eq!((segment.src, segment.dst, segment.src_port, segment.dst_port), (2, 1, 3, 4));
        assert_eq!((segment.plen, segment.ecn, segment.flags), (0, Ecn::NotEct, ACK));
    }
}
