//! The name by which a switch knows a flow: a hash of its five-tuple (specs/expeditus.md §3.8).

use crate::flow_hash::{mix, pick};
use raddle_core::{Header, Packet};

/// Addresses, ports and protocol of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FiveTuple {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) protocol: u8,
}

/// The hash of a five-tuple, in which each bit depends on all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowId(pub(crate) u64);

const NETWORK: u32 = 10 << 24;
const TCP: u8 = 6;
const UDP: u8 = 17;

impl FiveTuple {
    /// Of a packet, tagged or not; ports and protocol are 0 where there are none.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Self {
        match &packet.header {
            Header::Exp(tagged) => Self::of_header(&tagged.inner, packet),
            header => Self::of_header(header, packet),
        }
    }

    #[inline]
    fn of_header(header: &Header, packet: &Packet) -> Self {
        let (ports, protocol) = match header {
            Header::Tcp(segment) => ((segment.src_port, segment.dst_port), TCP),
            Header::Udp(datagram) => ((datagram.src_port, datagram.dst_port), UDP),
            _ => ((0, 0), 0),
        };
        let address = |node: u32| NETWORK | node;
        Self {
            src: address(packet.src().0),
            dst: address(packet.dst().0),
            src_port: ports.0,
            dst_port: ports.1,
            protocol,
        }
    }

    /// The flow that an Exp-response is about, if this is the response's: its addresses are exchanged, its ports not.
    pub(crate) fn answered(self) -> Self {
        Self { src: self.dst, dst: self.src, ..self }
    }

    /// The flow that goes the other way on the same connection.
    pub(crate) fn opposite(self) -> Self {
        Self { src_port: self.dst_port, dst_port: self.src_port, ..self.answered() }
    }

    /// FNV-1a of the 13 bytes of the key, big-endian.
    #[inline]
    fn key_hash(self) -> u64 {
        let ends = u64::from(self.src) << 32 | u64::from(self.dst);
        let ports = u32::from(self.src_port) << 16 | u32::from(self.dst_port);
        let bytes = ends.to_be_bytes().into_iter().chain(ports.to_be_bytes()).chain([self.protocol]);
        bytes.fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }

    /// The choice of a switch of this salt among so many ports, as good as independent of other switches'.
    pub(crate) fn choose(self, salt: u64, among: usize) -> usize {
        pick(mix(self.key_hash() ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)), among)
    }

    /// The flow's name.
    #[inline]
    pub(crate) fn id(self) -> FlowId {
        FlowId(mix(self.key_hash()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FiveTuple =
        FiveTuple { src: 0x0A01_0101, dst: 0x0A03_0201, src_port: 40_000, dst_port: 5_001, protocol: TCP };

    /// Vectors §3.8: flow A, its reverse, and A's Exp-response.
    #[test]
    fn oracle_3_8_flow_ids() {
        for (flow, key, id, low) in [
            (A, 0xd1e2_8909_55e7_df8e, 0xbb8a_24c0_b2f0_14b5, 0x14b5),
            (A.opposite(), 0xebc5_7c7a_26fb_c512, 0x8d05_d0d8_9863_58b2, 0x58b2),
            (A.answered(), 0xb6ee_a0f2_1267_e552, 0x1190_44ab_5b20_76ec, 0x76ec),
        ] {
            assert_eq!((flow.key_hash(), flow.id()), (key, FlowId(id)));
            assert_eq!(flow.id().0 as u16, low);
        }
        assert_eq!(A.answered().answered(), A);
    }

    /// Vectors §3.8: the choice among 2, 4 and 6 by switches of salts 1 and 2.
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
}
