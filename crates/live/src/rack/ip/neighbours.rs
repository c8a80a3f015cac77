//! Answers to a host that asks for another host's hardware address. Hosts use the address resolution protocol (ARP,
//! RFC 826) for IPv4, and neighbour discovery (RFC 4861 §7.2) for IPv6.

use super::{ARP, ETHERNET, IPV6, node_of, node_of_v6};
use raddle_core::NodeId;
use raddle_wire::Mac;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The ARP header fields for Ethernet and IPv4: hardware type, protocol type, and address lengths of 6 and 4 bytes.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
const REPLY: [u8; 2] = [0, 2];

/// The answer to `frame`. `None` if the frame does not ask for the hardware address of one of the rack's `nodes` nodes.
pub(super) fn answer(frame: &[u8], nodes: u32) -> Option<Vec<u8>> {
    let (header, packet) = frame.split_at_checked(ETHERNET)?;
    match [header[12], header[13]] {
        ARP => answer_arp(packet, |address| node_of(address, nodes)),
        IPV6 => {
            answer_solicitation(packet, header[6..12].try_into().ok()?, |address| node_of_v6(address, nodes))
        }
        _ => None,
    }
}

/// The frame that answers an ARP request, if the request asks for the hardware address of a node.
pub(super) fn answer_arp(request: &[u8], node_of: impl Fn(Ipv4Addr) -> Option<NodeId>) -> Option<Vec<u8>> {
    let request: &[u8; 28] = request.first_chunk()?;
    let (kind, rest) = request.split_first_chunk::<6>()?;
    let (operation, rest) = rest.split_first_chunk::<2>()?;
    let (sender, target) = rest.split_at(10);
    if *kind != KIND || *operation != REQUEST {
        return None;
    }
    let asked: [u8; 4] = *target.last_chunk()?;
    let Mac(mac) = Mac::host(node_of(Ipv4Addr::from(asked))?.0);
    Some([&sender[..6], &mac, &ARP, &KIND, &REPLY, &mac, &asked, sender].concat())
}

const ICMPV6: u8 = 58;
const SOLICITATION: [u8; 2] = [135, 0];
const ADVERTISEMENT: [u8; 2] = [136, 0];
/// Flags: the answer was solicited, and overrides the cached address.
const SOLICITED_OVERRIDE: [u8; 4] = [0x60, 0, 0, 0];
/// The option with the hardware address: the option's type, and its length in units of 8 bytes.
const TARGET_ADDRESS: [u8; 2] = [2, 1];
/// Size of the neighbour advertisement in bytes, including the option.
const MESSAGE: u8 = 32;
/// The hop limit that proves that a packet has crossed no router.
const HOP_LIMIT: u8 = 255;

/// The frame that answers a neighbour solicitation, if the solicitation asks for the hardware address of a node.
/// `asker` is the hardware address of the host that asks.
fn answer_solicitation(
    packet: &[u8],
    asker: [u8; 6],
    node_of: impl Fn(Ipv6Addr) -> Option<NodeId>,
) -> Option<Vec<u8>> {
    let packet: &[u8; 64] = packet.first_chunk()?;
    let (header, message) = packet.split_first_chunk::<40>()?;
    let is_solicitation =
        header[0] >> 4 == 6 && header[6..8] == [ICMPV6, HOP_LIMIT] && message.starts_with(&SOLICITATION);
    let asks: [u8; 16] = *header[8..24].first_chunk()?;
    // A host without an address asks whether its intended address is already in use. Such a request gets no answer.
    if !is_solicitation || Ipv6Addr::from(asks).is_unspecified() {
        return None;
    }
    let target: [u8; 16] = *message.last_chunk()?;
    let Mac(mac) = Mac::host(node_of(Ipv6Addr::from(target))?.0);
    let pseudo_header = [&target[..], &asks, &[0, 0, 0, MESSAGE, 0, 0, 0, ICMPV6]].concat();
    let rest = [&SOLICITED_OVERRIDE[..], &target, &TARGET_ADDRESS, &mac].concat();
    let sum = checksum(&[&pseudo_header, &ADVERTISEMENT[..], &[0; 2], &rest].concat());
    let header = [&[0x60, 0, 0, 0, 0, MESSAGE, ICMPV6, HOP_LIMIT][..], &target, &asks].concat();
    Some([&asker[..], &mac, &IPV6, &header, &ADVERTISEMENT, &sum, &rest].concat())
}

/// The Internet checksum (RFC 1071) of an even number of bytes.
#[allow(clippy::cast_possible_truncation, reason = "the sum is folded to 16 bits")]
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|&word| u32::from(u16::from_be_bytes(word))).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::{address, address_v6};
    use super::*;
    use proptest::prelude::*;

    /// An ARP request of the host with the address 10.0.0.1.
    fn request(target: [u8; 4]) -> Vec<u8> {
        let mac = [2, 0, 0, 0, 0, 9];
        [&[0xFF; 6][..], &mac, &ARP, &KIND, &REQUEST, &mac, &[10, 0, 0, 1], &[0; 6], &target].concat()
    }

    #[test]
    fn arp_is_answered_for_nodes_alone() {
        let asker = [2, 0, 0, 0, 0, 9];
        let answered = answer(&request(address(NodeId(3)).octets()), 16).expect("node 3 has it");
        let Mac(theirs) = Mac::host(3);
        let reply = [&KIND[..], &REPLY, &theirs, &[10, 0, 0, 4], &asker, &[10, 0, 0, 1]].concat();
        assert_eq!(answered, [&asker[..], &theirs, &ARP, &reply].concat());
        assert_eq!(answer(&request([10, 0, 0, 40]), 16), None);
        assert_eq!(answer(&request([10, 0, 0, 4])[..41], 16), None, "cut short");
    }

    /// The neighbour solicitation by which host 1 asks for host 3's hardware address: as Linux sends it, but without a
    /// checksum.
    fn solicitation() -> Vec<u8> {
        let (Mac(asker), target) = (Mac::host(1), address_v6(NodeId(3)).octets());
        let to = [0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 4];
        let ip = [&[0x60, 0, 0, 0, 0, 32, 58, 255][..], &address_v6(NodeId(1)).octets(), &to].concat();
        let message = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &target, &[1, 1], &asker].concat();
        [&[0x33, 0x33, 0xFF, 0, 0, 4][..], &asker, &IPV6, &ip, &message].concat()
    }

    #[test]
    fn neighbour_discovery_is_answered_for_nodes_alone() {
        let asked = solicitation();
        let answered = answer(&asked, 16).expect("host 3 has it");
        assert_eq!(answered[..6], Mac::host(1).0);
        assert_eq!((answered.len(), &answered[54..56]), (14 + 40 + 32, &ADVERTISEMENT[..]));
        assert_eq!(answered[80..86], Mac::host(3).0);
        let (header, message) = answered[14..].split_at(40);
        let whole = [&header[8..40], &[0, 0, 0, MESSAGE, 0, 0, 0, ICMPV6], message].concat();
        assert_eq!(checksum(&whole), [0, 0], "with its checksum a message sums to nothing");
        assert_eq!(answer(&asked, 3), None, "there is no host 3");
        let mut forwarded = asked.clone();
        forwarded[21] = 254;
        assert_eq!(answer(&forwarded, 16), None, "from behind a router");
        let mut probe = asked;
        probe[22..38].fill(0);
        assert_eq!(answer(&probe, 16), None, "duplicate address detection");
    }

    proptest! {
        /// A request with some bytes changed or cut off gets no answer, or an answer of the right length.
        #[test]
        fn any_bytes_are_a_question_or_none(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            is_arp: bool,
            end: prop::sample::Index,
            nodes in 1_u32..600,
        ) {
            let mut frame = if is_arp { request([10, 0, 0, 4]) } else { solicitation() };
            for (at, value) in flips {
                let len = frame.len();
                frame[at.index(len)] = value;
            }
            frame.truncate(end.index(frame.len() + 1));
            if let Some(answered) = answer(&frame, nodes) {
                prop_assert!(matches!(answered.len(), 42 | 86));
            }
        }
    }
}
