#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use proptest::prelude::*;

fn packet(protocol: u8, fragment: u16, body: &[u8]) -> Vec<u8> {
    let mut packet =
        vec![0x45, 0, 0, 20 + body.len() as u8, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 4];
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet.extend(body);
    packet
}

#[test]
fn a_flow_is_a_five_tuple() {
    let ports = [0x12, 0x34, 0, 80];
    assert_eq!(tuple(&packet(6, 0, &ports), 16), Some((NodeId(3), 6, ports)));
    assert_eq!(tuple(&packet(17, 0x4000, &ports), 16), Some((NodeId(3), 17, ports)), "may not be cut");
    assert_eq!(
        tuple(&packet(17, 0x2000, &ports), 16),
        Some((NodeId(3), 17, [0; 4])),
        "all pieces go one way"
    );
    assert_eq!(tuple(&packet(1, 0, &ports), 16), Some((NodeId(3), 1, [0; 4])));
    assert_eq!(tuple(&packet(6, 0, &ports), 3), None, "no such node");
}

#[test]
fn bytes_that_are_not_a_packet_are_refused() {
    let whole = packet(6, 0, &[1, 2, 3, 4]);
    for len in 0..whole.len() {
        assert_eq!(tuple(&whole[..len], 16), None, "{len} bytes");
    }
    for (at, byte) in [(0, 0x44), (0, 0x65), (0, 0x4F), (3, 255)] {
        let mut packet = whole.clone();
        packet[at] = byte;
        assert_eq!(tuple(&packet, 16), None, "{byte:#x} at {at}");
    }
}

#[test]
fn packets_come_out_of_a_stream_as_they_went_in() {
    let bytes = [0, 2, 7, 8, 0, 0, 0, 3, 9, 9];
    let (first, rest) = first_packet(&bytes).expect("a packet of two bytes");
    assert_eq!(first, [7, 8]);
    let (second, rest) = first_packet(rest).expect("one of none");
    assert_eq!((second.len(), first_packet(rest)), (0, None), "the third is not whole");
}

proptest! {
    /// Arbitrary bytes from a namespace are refused, or are a packet for an existing node.
    #[test]
    fn any_bytes_are_a_packet_for_a_node_or_none(
        head in proptest::collection::vec(any::<u8>(), 0..64),
        is_ipv4 in any::<bool>(),
        nodes in 1_u32..600,
    ) {
        let mut bytes = head;
        if is_ipv4 && bytes.len() >= 20 {
            bytes[0] = 0x45 | bytes[0] & 0xF;
            let len = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            bytes[16..18].copy_from_slice(&[10, 0]);
        }
        if let Some((to, protocol, _)) = tuple(&bytes, nodes) {
            prop_assert!(to.0 < nodes && bytes.len() >= 20 && protocol == bytes[9]);
        }
    }

    /// Arbitrary bytes of a stream are divided into packets and an incomplete rest. Two bytes before each packet give
    /// its length. No byte is lost or read twice.
    #[test]
    fn any_bytes_of_a_stream_are_packets_and_a_rest(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (mut rest, mut taken) = (&bytes[..], 0);
        while let Some((packet, behind)) = first_packet(rest) {
            taken += 2 + packet.len();
            rest = behind;
        }
        prop_assert_eq!(taken + rest.len(), bytes.len());
    }
}
