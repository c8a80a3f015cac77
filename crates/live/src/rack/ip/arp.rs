//! Answers to the address resolution protocol (RFC 826), so that a host learns the hardware addresses of the others.

use raddle_core::NodeId;
use raddle_wire::Mac;
use std::net::Ipv4Addr;

/// Hardware is Ethernet, the protocol IPv4, with addresses of 6 and 4 bytes.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: [u8; 2] = [0, 1];
const REPLY: [u8; 2] = [0, 2];

/// The frame that answers a request, if it asks for an address that a node has.
pub(super) fn answer(request: &[u8], node_of: impl Fn(Ipv4Addr) -> Option<NodeId>) -> Option<Vec<u8>> {
    let request: &[u8; 28] = request.first_chunk()?;
    let (kind, rest) = request.split_first_chunk::<6>()?;
    let (operation, rest) = rest.split_first_chunk::<2>()?;
    let (sender, target) = rest.split_at(10);
    if *kind != KIND || *operation != REQUEST {
        return None;
    }
    let asked: [u8; 4] = *target.last_chunk()?;
    let Mac(mac) = Mac::host(node_of(Ipv4Addr::from(asked))?.0);
    Some([&sender[..6], &mac, &super::ARP, &KIND, &REPLY, &mac, &asked, sender].concat())
}
