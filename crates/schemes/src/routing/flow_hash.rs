//! A hash of the flow that a packet belongs to, for nodes that send all packets of a flow along one path.

use raddle_core::{HeaderInfo, Packet};

/// A hash of a packet's flow. Each node has its own `salt`, so that the values at successive nodes are independent.
#[must_use]
#[inline]
pub fn flow_hash(packet: &Packet, salt: u64) -> u64 {
    let (ends, label) = packet.header.label();
    let ends = u64::from(ends.src.0) << 32 | u64::from(ends.dst.0);
    mix(mix(ends ^ salt) ^ u64::from(label))
}

/// The salt of a node, derived from the run's seed.
#[must_use]
pub fn salt(seed: u64, node: raddle_core::NodeId) -> u64 {
    mix(mix(seed) ^ u64::from(node.0))
}

/// The index, from 0 to `choices - 1`, that a hash selects: the upper 32 bits of the hash, divided by 2^32 and
/// multiplied by `choices`, rounded down.
#[inline]
pub(crate) fn pick(hash: u64, choices: usize) -> usize {
    ((hash >> 32) as usize * choices) >> 32
}

/// SplitMix64's output function: a bijection of 64 bits in which each output bit depends on all input bits.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
