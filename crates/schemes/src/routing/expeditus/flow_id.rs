//! The id by which a switch identifies a flow: a hash of its five-tuple (specifications/expeditus.md §3.8).

use crate::routing::flow_hash::{mix, pick};
use raddle_core::{HeaderInfo, Packet};
use raddle_wire::FiveTuple;

/// The hash of a five-tuple. Each bit depends on the whole five-tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowId(pub(crate) u64);

const NETWORK: u32 = 10 << 24;

/// The five-tuple of a packet, tagged or not. The ports and the protocol are 0 if the packet's header has no ports.
#[inline]
pub(crate) fn five_tuple(packet: &Packet) -> FiveTuple {
    packet.header.five_tuple().unwrap_or_else(|| {
        let (src, dst) = (packet.src(), packet.dst());
        FiveTuple { src, dst, src_port: 0, dst_port: 0, protocol: 0 }
    })
}

/// The hashes of a five-tuple that switches use.
pub(crate) trait FlowHash {
    /// The flow's id.
    fn id(self) -> FlowId;

    /// The index, from 0 to `among - 1`, that a switch with this salt chooses for the flow. Switches with different
    /// salts choose nearly independently.
    fn choose(self, salt: u64, among: usize) -> usize;
}

impl FlowHash for FiveTuple {
    #[inline]
    fn id(self) -> FlowId {
        FlowId(mix(key_hash(self)))
    }

    fn choose(self, salt: u64, among: usize) -> usize {
        pick(mix(key_hash(self) ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)), among)
    }
}

/// FNV-1a of the 13 bytes of the five-tuple, big-endian.
#[inline]
fn key_hash(tuple: FiveTuple) -> u64 {
    let address = |node: raddle_core::NodeId| u64::from(NETWORK | node.0);
    let ends = address(tuple.src) << 32 | address(tuple.dst);
    let bytes = ends.to_be_bytes().into_iter().chain(tuple.ports().to_be_bytes()).chain([tuple.protocol]);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use crate::routing::expeditus::tagging::put_tag;
    use raddle_core::{Header, NodeId};
    use raddle_wire::exp::Tag;
    use raddle_wire::roce;

    /// A flow from 10.1.1.1 to 10.3.2.1.
    const A: FiveTuple = FiveTuple {
        src: NodeId(0x01_01_01),
        dst: NodeId(0x03_02_01),
        src_port: 40_000,
        dst_port: 5_001,
        protocol: FiveTuple::TCP,
    };

    /// Test vectors of specifications/expeditus.md §3.8: flow A, its reverse, and A's Exp-response.
    #[test]
    fn oracle_3_8_flow_ids() {
        for (flow, key, id, low) in [
            (A, 0xd1e2_8909_55e7_df8e, 0xbb8a_24c0_b2f0_14b5, 0x14b5),
            (A.opposite(), 0xebc5_7c7a_26fb_c512, 0x8d05_d0d8_9863_58b2, 0x58b2),
            (A.answered(), 0xb6ee_a0f2_1267_e552, 0x1190_44ab_5b20_76ec, 0x76ec),
        ] {
            assert_eq!((key_hash(flow), flow.id()), (key, FlowId(id)));
            assert_eq!(flow.id().0 as u16, low);
        }
        assert_eq!(A.answered().answered(), A);
    }

    /// Test vectors of specifications/expeditus.md §3.8: the choices among 2, 4 and 6 ports by switches with salts 1
    /// and 2.
    #[test]
    fn oracle_3_8_choices() {
        for (flow, salt, choices) in [
            (A, 1, [0, 1, 1]),
            (A, 2, [0, 1, 2]),
            (A.opposite(), 1, [0, 0, 0]),
            (A.opposite(), 2, [1, 3, 5]),
            (A.answered(), 1, [0, 1, 1]),
            (A.answered(), 2, [1, 3, 5]),
        ] {
            assert_eq!([2, 4, 6].map(|among| flow.choose(salt, among)), choices, "{flow:?} {salt}");
        }
    }

    /// RoCEv2 runs over UDP. Only the UDP source port distinguishes the flows between two hosts.
    #[test]
    fn roce_flows_of_two_hosts_have_names_of_their_own() {
        let name = |src_port| {
            let kind = roce::Kind::Write { psn: 0, plen: 1_000, offset: 0, size: 1_000, ack_request: false };
            let ecn = raddle_wire::Ecn::Ect0;
            let packet = roce::Packet { src: 1, dst: 2, priority: 3, ecn, src_port, flow: 7, kind };
            let mut packet = Packet::new(1_064, Header::Roce(packet));
            let name = five_tuple(&packet).id();
            put_tag(&mut packet, Tag::request([1, 2]));
            assert_eq!(five_tuple(&packet).id(), name, "tagged or not");
            name
        };
        assert_ne!(name(0xC000), name(0xC001));
    }
}
