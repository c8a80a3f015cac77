//! Segments from another implementation, and segments that nodes never send.

use super::*;
use crate::Header;
use crate::tests::{bytes_of, hex, segment};

/// Bytes made by scapy 2: `IP(src="10.0.0.1", dst="10.2.3.4", id=0, flags="DF", ttl=64) / TCP(sport=1000, dport=80,
/// seq=0x01020304, window=64, ..)`, first with `flags=0` and four bytes of payload, then as an ACK of 7 with
/// `options=[("NOP", None), ("NOP", None), ("SAck", (1, 2, 5, 9))]`.
#[test]
fn tcp_segments_are_those_of_another_implementation() {
    let plain = hex("45 00 00 2c 00 00 40 00 40 06 23 c6 0a 00 00 01 0a 02 03 04 \
                     03 e8 00 50 01 02 03 04 00 00 00 00 50 00 00 40 90 5c 00 00 00 00 00 00");
    assert_eq!(bytes_of(&Header::Tcp(segment())), plain);
    let sacked =
        Segment { ack: 7, flags: ACK, sack_count: 2, plen: 0, sack: [(1, 2), (5, 9), (0, 0)], ..segment() };
    let expected = hex("45 00 00 3c 00 00 40 00 40 06 23 b6 0a 00 00 01 0a 02 03 04 \
                        03 e8 00 50 01 02 03 04 00 00 00 07 a0 10 00 40 3a 11 00 00 \
                        01 01 05 12 00 00 00 01 00 00 00 02 00 00 00 05 00 00 00 09");
    assert_eq!(bytes_of(&Header::Tcp(sacked)), expected);
}

/// Checks a SYN that negotiates ECN (RFC 3168 §6.1.1) against independently computed checksums, and its bytes
/// after an ECN mark.
#[test]
fn queues_mark_the_segments_that_can_be_marked() {
    let capable = Segment { flags: SYN | ECE | CWR, plen: 0, ecn: Ecn::Ect0, ..segment() };
    let mut header = Header::Tcp(capable);
    let expected = hex("45 02 00 28 00 00 40 00 40 06 23 c8 0a 00 00 01 0a 02 03 04 \
                        03 e8 00 50 01 02 03 04 00 00 00 00 50 c2 00 40 8f 9e 00 00");
    assert_eq!(bytes_of(&header), expected);
    assert!(header.mark_congestion());
    assert_eq!(header, Header::Tcp(Segment { ecn: Ecn::Ce, ..capable }));
    assert_eq!(bytes_of(&header)[..2], [0x45, 0x03]);
    assert!(header.mark_congestion(), "by every queue on the way");

    let mut plain = Header::Tcp(segment());
    assert!(!plain.mark_congestion());
    assert_eq!(plain, Header::Tcp(segment()));
}

#[test]
fn both_ends_of_a_tcp_flow_name_it_alike() {
    let data = segment();
    let reply = Segment { src: data.dst, dst: data.src, src_port: 80, dst_port: 1_000, ..data };
    let key = Some(FlowKey((1 << 32) + (1_000 << 16) + 80));
    for sent in [data, Segment { plen: 0, flags: SYN, ..data }, Segment { plen: 0, flags: FIN | ACK, ..data }]
    {
        assert_eq!(Header::Tcp(sent).flow_key(), key);
    }
    for returned in [Segment { plen: 0, flags: ACK, ..reply }, Segment { plen: 0, flags: SYN | ACK, ..reply }]
    {
        assert_eq!(Header::Tcp(returned).flow_key(), key);
    }
}

/// Decodes a segment after writing `new` at byte `at` and correcting the checksums.
fn decode_with(segment: Segment, at: usize, new: &[u8]) -> Result<(Header, usize), Error> {
    let mut bytes = bytes_of(&Header::Tcp(segment));
    bytes[at..at + new.len()].copy_from_slice(new);
    for at in [10, 11, 36, 37] {
        bytes[at] = 0;
    }
    let (ip, tcp) = bytes.split_at(20);
    let pseudo = checksum::sum(&ip[12..]) + 6 + tcp.len() as u64;
    let sums = [(10, checksum::sum(ip)), (36, pseudo + checksum::sum(tcp))];
    for (at, sum) in sums {
        bytes[at..at + 2].copy_from_slice(&(!checksum::fold(sum)).to_be_bytes());
    }
    Header::decode(&bytes)
}

#[test]
fn foreign_tcp_options_are_skipped_and_broken_ones_refused() {
    let bare = Segment { flags: ACK, ..segment() };
    let sacked = Segment { sack_count: 1, sack: [(1, 2), (0, 0), (0, 0)], ..bare };
    let options = |new: [u8; 12]| decode_with(sacked, 40, &new);
    let timestamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(options(timestamp), Ok((Header::Tcp(bare), 52)));
    for length in [0, 1, 11] {
        let value = length.into();
        let broken = options([1, 1, 8, length, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(broken, Err(Error::Invalid { field: "option length", value }));
    }
    let odd_blocks = options([1, 1, 5, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(odd_blocks, Err(Error::Invalid { field: "sack length", value: 7 }));
}

#[test]
fn ip_packets_that_nodes_do_not_send_are_refused() {
    let invalid = |field, value| Err(Error::Invalid { field, value });
    assert_eq!(decode_with(segment(), 0, &[0x45]), Ok((Header::Tcp(segment()), 40)), "resealed alone");
    assert_eq!(decode_with(segment(), 3, &[39]), invalid("total length", 39));
    assert_eq!(decode_with(segment(), 3, &[45]), Err(Error::Truncated { have: 44, need: 45 }));
    assert_eq!(decode_with(segment(), 6, &[0x20]), invalid("fragment", 0x2000));
    assert_eq!(decode_with(segment(), 9, &[1]), invalid("protocol", 1));
    assert_eq!(decode_with(segment(), 12, &[11]), invalid("source address", 0x0b00_0001));
    assert_eq!(decode_with(segment(), 16, &[11]), invalid("destination address", 0x0b02_0304));
    assert_eq!(decode_with(segment(), 32, &[0x40]), invalid("data offset", 4));
    assert_eq!(decode_with(segment(), 32, &[0x70]), invalid("data offset", 7));
}
