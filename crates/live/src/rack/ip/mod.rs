//! Linux at the hosts of a rack. Each host has a network namespace with a TAP interface. Programs in the namespace
//! reach programs at the other hosts, and know nothing of the rack (specifications/live.md §4).
//!
//! Packets that leave the interface cross the rack in one of two ways:
//!
//! - [`IpHost`]: an IP packet is a piece of a stream of the node's own transport, such as R2C2.
//! - [`FrameHost`]: an Ethernet frame goes unchanged to the forwarders of the node and of the switches. So the kernel's
//!   own transport runs over the scheme's routing.
//!
//! Host `n` has the IPv4 address 10.0.0.0 + n + 1 in the network 10.0.0.0/8. If frames cross the rack, the host may
//! also have the IPv6 address fd00:: + n + 1 in the network fd00::/64.

mod cores;
mod frames;
mod namespace;
mod neighbours;
mod routes;
mod streams;

pub(super) use cores::Cores;
pub(super) use frames::Interfaces;
pub use frames::{FrameHost, NoFrameHost};
pub use namespace::{Interface, Named, Namespace, NoNamespace, running};
pub use streams::{IpHost, SILENCE};

use raddle_core::NodeId;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicU64;

/// Size of an Ethernet header in bytes.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xDD];
const ARP: [u8; 2] = [0x08, 0x06];

/// The prefix of the IPv6 network, as a number. Host `n` has the address `NETWORK_V6 + n + 1`.
const NETWORK_V6: u128 = 0xFD00 << 112;
/// Prefix lengths of the networks, in bits.
const PREFIX_V4: u8 = 8;
const PREFIX_V6: u8 = 64;

/// The IPv4 address of a node.
#[must_use]
pub fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from_be_bytes([10, 0, 0, 0]) + node.0 + 1)
}

/// The IPv6 address of a node.
#[must_use]
pub fn address_v6(node: NodeId) -> Ipv6Addr {
    Ipv6Addr::from_bits(NETWORK_V6 + u128::from(node.0) + 1)
}

/// The node with an IPv4 address, if one of the rack's `nodes` nodes has this address.
fn node_of(address: Ipv4Addr, nodes: u32) -> Option<NodeId> {
    let number = address.to_bits().checked_sub(self::address(NodeId(0)).to_bits())?;
    (number < nodes).then_some(NodeId(number))
}

/// The node with an IPv6 address, if one of the rack's `nodes` nodes has this address.
fn node_of_v6(address: Ipv6Addr, nodes: u32) -> Option<NodeId> {
    let number = address.to_bits().checked_sub(address_v6(NodeId(0)).to_bits())?;
    u32::try_from(number).ok().filter(|&number| number < nodes).map(NodeId)
}

/// Counts of a host's packets or frames.
#[derive(Debug, Default)]
pub struct Counts {
    /// Packets or frames that entered the rack.
    pub sent: AtomicU64,
    /// Packets or frames that left the rack.
    pub received: AtomicU64,
    /// Packets or frames that the rack discards at this host, for example because of their kind or because their
    /// destination is not another host of the rack. Answered requests for hardware addresses do not count.
    pub strange: AtomicU64,
    /// Packets or frames that a stream or the interface did not accept, for example because it had no room.
    pub refused: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_nodes_and_back() {
        assert_eq!(address(NodeId(0)), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(NodeId(511)), Ipv4Addr::new(10, 0, 2, 0));
        assert_eq!(address_v6(NodeId(511)).to_string(), "fd00::200");
        for (node, of) in [(0, Some(NodeId(0))), (15, Some(NodeId(15))), (16, None)] {
            assert_eq!(node_of(address(NodeId(node)), 16), of);
            assert_eq!(node_of_v6(address_v6(NodeId(node)), 16), of);
        }
        assert_eq!(node_of(Ipv4Addr::new(10, 0, 0, 0), 16), None);
        assert_eq!(node_of(Ipv4Addr::new(9, 255, 255, 255), 16), None);
        assert_eq!(node_of_v6(Ipv6Addr::from_bits(NETWORK_V6), 16), None);
        assert_eq!(node_of_v6(Ipv6Addr::LOCALHOST, 16), None);
    }
}
