//! Converts packets to Ethernet frames for captures. The frames have no frame check sequence.

use raddle_core::{NodeId, Packet};
use raddle_wire::ethernet::ADDRESSES;
use raddle_wire::{Framing, HeaderInfo, Mac, Shim};

/// Replaces the contents of `frame` with the Ethernet frame of `packet`. `bytes` are the packet's bytes. If `bytes` is
/// `None`, the packet is encoded with a payload of zeros.
///
/// A packet with a shim gets an Ethernet header with the EtherType [`Framing::OWN`]. The first byte behind this header
/// gives the kind of shim. Of the other packets, an Ethernet frame loses its frame check sequence, if it has one, and
/// an Expeditus tag in front of the frame moves behind the frame's addresses. Any other packet gets an Ethernet header:
/// the addresses of its end nodes, its Expeditus tag if it has one, and the EtherType that its header
/// [names](HeaderInfo::framing).
pub(super) fn frame(packet: &Packet, bytes: Option<&[u8]>, frame: &mut Vec<u8>) {
    frame.clear();
    let encode = |out: &mut Vec<u8>| match bytes {
        Some(bytes) => out.extend(bytes),
        None => packet.encode(out),
    };
    let framing = match packet.shim {
        Shim::None => packet.header.framing(),
        Shim::Path(_) | Shim::Conga(_) => Framing::Packet { tag: 0, ethertype: Framing::OWN },
    };
    match framing {
        Framing::Frame { tag, fcs } => {
            encode(frame);
            frame[..ADDRESSES + tag].rotate_left(tag);
            frame.truncate(frame.len() - fcs);
        }
        Framing::Packet { tag, ethertype } => {
            addresses(packet, frame);
            let at = frame.len() + tag;
            encode(frame);
            frame.splice(at..at, ethertype.to_be_bytes());
        }
    }
}

fn addresses(packet: &Packet, frame: &mut Vec<u8>) {
    for NodeId(node) in [packet.dst(), packet.src()] {
        frame.extend(Mac::host(node).0);
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::Header;
    use raddle_wire::exp::{Tag, Tagged};
    use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
    use raddle_wire::hula::Probe;
    use raddle_wire::pfc::Pause;
    use raddle_wire::tcp::Segment;
    use raddle_wire::{Ends, Error, FrameView, cee, ethernet};

    const TO_2_FROM_1: [u8; 12] = [6, 0, 0, 0, 0, 2, 6, 0, 0, 0, 0, 1];

    fn of(packet: &Packet) -> Vec<u8> {
        let mut bytes = vec![0xAA; 9];
        frame(packet, None, &mut bytes);
        bytes
    }

    fn segment() -> Header {
        Header::Tcp(Segment { src: 1, dst: 2, plen: 8, ..Segment::default() })
    }

    fn bytes(header: &Header) -> Vec<u8> {
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        bytes
    }

    #[test]
    fn frames_of_converged_ethernet_lose_their_check_sequence_alone() {
        let data = cee::Frame { src: 1, dst: 2, plen: 1_500, size: 1_500, ..cee::Frame::default() };
        let pause = Pause { src: Mac::host(1), enabled: 1, quanta: [9; 8] };
        for (header, len) in [(Header::Cee(data), 1_496), (Header::Pfc(pause), 60)] {
            let frame = of(&Packet::new(len + 4, header.clone()));
            assert_eq!(frame, bytes(&header)[..len as usize]);
        }
    }

    #[test]
    fn ipv4_stands_between_its_nodes_and_behind_its_tag() {
        let expected = [&TO_2_FROM_1[..], &[8, 0], &bytes(&segment())].concat();
        assert_eq!(of(&Packet::new(48, segment())), expected);
        let tag = Tag::request([3, 1]);
        let tagged = Header::Exp(Box::new(Tagged { tag, inner: segment() }));
        let mut tagged = of(&Packet::new(52, tagged));
        assert_eq!(ethernet::remove_tag(&mut tagged), Ok(Some(tag)));
        assert_eq!(tagged, expected);
    }

    #[test]
    fn headers_without_an_ethertype_follow_raddles_own_ethertype() {
        let mut shimmed = Packet::new(48, segment());
        shimmed.set_shim(Shim::Path(3));
        let expected = [&TO_2_FROM_1[..], &[0x88, 0xB6, 0x5C, 1, 0, 3], &bytes(&segment())].concat();
        assert_eq!(of(&shimmed), expected);
        let probe = of(&Packet::new(46, Header::HulaProbe(Probe { tor: 1, utilisation: 7 })));
        assert_eq!(probe[6..19], [6, 0, 0, 0, 0, 1, 0x88, 0xB6, 0x8E, 0, 0, 1, 7]);
    }

    /// An extension header that another crate defines.
    #[derive(Debug, Clone, PartialEq)]
    struct Note;

    impl ExtensionHeader for Note {
        const NUMBER: u16 = 0x0102;
    }

    impl HeaderInfo for Note {
        fn ends(&self) -> Ends {
            Ends::new(1_u8, 2_u8)
        }

        fn wire_len(&self) -> usize {
            PREFIX
        }

        fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
            out.extend(prefix::<Self>());
        }

        fn is_in(bytes: &[u8]) -> bool {
            bytes == prefix::<Self>()
        }

        fn decode_header(_: &[u8]) -> Result<(Self, usize), Error> {
            Ok((Self, PREFIX))
        }
    }

    #[test]
    fn headers_of_other_crates_stand_behind_our_ethertype() {
        let expected = [&TO_2_FROM_1[..], &[0x88, 0xB6, 0x95, 1, 2]].concat();
        assert_eq!(of(&Packet::new(PREFIX as u32, Header::from(Note))), expected);
    }

    #[test]
    fn a_tag_in_front_of_a_frame_stands_behind_its_addresses() {
        let bytes = [&TO_2_FROM_1[..], &[0x12, 0x34]].concat();
        let inner = Header::Frame(FrameView::read(&bytes).expect("between hosts"));
        let tag = Tag::request([3, 1]);
        let len = (bytes.len() + tag.wire_len()) as u32;
        let mut tagged = of(&Packet::new(len, Header::Exp(Box::new(Tagged { tag, inner }))));
        assert_eq!(ethernet::tag(&tagged), Ok(Some(tag)));
        assert_eq!(ethernet::remove_tag(&mut tagged).map(|_| tagged.len()), Ok(bytes.len()));
    }
}
