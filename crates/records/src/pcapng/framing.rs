//! Packets as the Ethernet frames that a capture shows, without their check sequence.

use raddle_core::{NodeId, Packet};
use raddle_wire::ethernet::FCS;
use raddle_wire::{Header, Mac, Shim};

const IPV4: u16 = 0x0800;

/// The EtherType, for local experiments, behind which packets stand that have none of their own.
const OWN: u16 = 0x88B6;

/// Replaces `frame` by the packet's.
///
/// Frames of converged Ethernet are what they are. IPv4 packets stand between the addresses of the nodes that they name,
/// behind Expeditus's tag if they bear one. Whatever else there is, and packets behind a shim, stands between the same
/// behind the EtherType [`OWN`]: its first byte says what it is.
pub(super) fn frame(packet: &Packet, frame: &mut Vec<u8>) {
    frame.clear();
    match (&packet.header, packet.shim) {
        (Header::Cee(_) | Header::Pfc(_) | Header::Cnm(_), Shim::None) => {
            packet.header.encode(frame);
            frame.truncate(frame.len() - FCS);
        }
        (Header::Tcp(_) | Header::Udp(_) | Header::Roce(_), Shim::None) => {
            addresses(packet, frame);
            frame.extend(IPV4.to_be_bytes());
            packet.header.encode(frame);
        }
        (Header::Exp(tagged), Shim::None) => {
            addresses(packet, frame);
            tagged.tag.encode(frame);
            frame.extend(IPV4.to_be_bytes());
            tagged.inner.encode(frame);
        }
        _ => {
            addresses(packet, frame);
            frame.extend(OWN.to_be_bytes());
            packet.encode(frame);
        }
    }
}

fn addresses(packet: &Packet, frame: &mut Vec<u8>) {
    for NodeId(node) in [packet.dst(), packet.src()] {
        frame.extend(Mac::host(node).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::exp::{Tag, Tagged};
    use raddle_wire::hula::Probe;
    use raddle_wire::pfc::Pause;
    use raddle_wire::tcp::Segment;
    use raddle_wire::{cee, ethernet};

    const TO_2_FROM_1: [u8; 12] = [6, 0, 0, 0, 0, 2, 6, 0, 0, 0, 0, 1];

    fn of(packet: &Packet) -> Vec<u8> {
        let mut bytes = vec![0xAA; 9];
        frame(packet, &mut bytes);
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
    fn what_has_no_ethertype_stands_behind_our_own() {
        let mut shimmed = Packet::new(48, segment());
        shimmed.set_shim(Shim::Path(3));
        let expected = [&TO_2_FROM_1[..], &[0x88, 0xB6, 0x5C, 1, 0, 3], &bytes(&segment())].concat();
        assert_eq!(of(&shimmed), expected);
        let probe = of(&Packet::new(46, Header::HulaProbe(Probe { tor: 1, utilisation: 7 })));
        assert_eq!(probe[6..19], [6, 0, 0, 0, 0, 1, 0x88, 0xB6, 0x8E, 0, 0, 1, 7]);
    }
}
