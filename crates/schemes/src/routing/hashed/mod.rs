//! Hashed routing in trees: a hash of the flow's identity determines the whole path upwards (specifications/cee.md
//! §5.4).
//!
//! The scheme uses the hash-threshold of RFC 2992: the path is `CRC16(flow) * paths / 65536`, with one path through
//! each nearest common ancestor. The source of a converged Ethernet frame computes the hash once and writes the path
//! into the frame. Other packets have no room for the path, so each switch on the way up computes the same path again.
//! The digits of the path's number select the ports upwards. Packets with equal hash keys take the same path.
//!
//! The hash has no seed. CRC is linear, so a seed would only permute the hash values.

mod crc16;

use crate::fluid::Spread;
use crate::parameter::Settings;
use crate::routing::up_down::{self, Ascent, digit};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use crate::{choices, parameters};
use crc16::crc16;
use raddle_core::{Header, HeaderInfo, NodeId, Packet, Time};
use raddle_topology::Xgft;
use std::sync::Arc;

/// Hashed routing in trees.
pub(crate) const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread, hold: |_| None };

const INFO: Info = Info {
    name: "hashed",
    summary: "Each packet goes up a tree and then down; the digits of a hash of the flow select the up ports",
    source: "RFC 2992 (hash-threshold); Crisan et al., CEE Switch Adaptive Routing, \"Hashed\"",
    differs: &[
        "the protocol number is not hashed, because all packets of a run have the same protocol number",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The fields of a packet that are hashed.
    enum Key {
        Pair = "pair",
        Flow = "flow",
        Frame = "frame",
    }
}

parameters! {
    struct Parameters {
        /// the input of the hash. pair: source and destination. flow: also the flow's number or ports. frame: also the
        /// frame's position in the flow (only converged Ethernet, whose adapters put frames back in order)
        key: Key;
    }
}

/// With the key `frame`, each frame's offset in the flow is hashed too, so the flow uses all paths. This assumes frames
/// of converged Ethernet: other packets have no hashed offset.
fn spread(settings: &Settings) -> Spread {
    if Parameters::of(settings).key == Key::Frame { Spread::Evenly } else { Spread::AsForwarded }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let tree = up_down::tree(plan.topology, INFO.name)?;
    let Parameters { key } = Parameters::of(plan.settings);
    let of = Arc::clone(&tree);
    Ok(up_down::forwarders(plan, tree, true, move |node| Hashed::new(&of, node, key)))
}

/// Chooses the ports of one node by hash.
#[derive(Debug)]
struct Hashed {
    tree: Arc<Xgft>,
    key: Key,
    /// The divisor that extracts this node's digit from a path's number.
    divisor: u32,
}

impl Hashed {
    fn new(tree: &Arc<Xgft>, node: NodeId, key: Key) -> Self {
        Self { tree: Arc::clone(tree), key, divisor: tree.planes(tree.level(node)) }
    }

    /// The number of the packet's path. The paths lead through the nearest common ancestors of source and destination,
    /// one path through each ancestor.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the hash uses the lower half of the key and both halves of the offset; the path number is \
                  less than `paths`"
    )]
    fn path(&self, packet: &Packet) -> u32 {
        let (src, dst) = (packet.src(), packet.dst());
        let flow =
            if self.key == Key::Pair { 0 } else { packet.header.flow_key().map_or(0, |key| key.0 as u32) };
        let place = match &packet.header {
            Header::Cee(frame) if self.key == Key::Frame => frame.offset,
            _ => 0,
        };
        let hash = crc16([src.0, dst.0, flow, (place >> 32) as u32, place as u32]);
        let paths = self.tree.paths(src, dst);
        ((u64::from(hash) * u64::from(paths)) >> 16) as u32
    }
}

impl Ascent for Hashed {
    fn begin(&mut self, packet: &mut Packet) {
        if matches!(packet.header, Header::Cee(_)) {
            let path = self.path(packet);
            if let Header::Cee(frame) = &mut packet.header {
                frame.path = path;
            }
        }
    }

    #[inline]
    fn choose(&mut self, _: Time, packet: &Packet, ports: usize) -> usize {
        let path = match &packet.header {
            Header::Cee(frame) => frame.path,
            _ => self.path(packet),
        };
        digit(path, self.divisor, ports)
    }

    fn foresee(&self, packet: &Packet, ports: usize) -> Option<usize> {
        let Header::Cee(frame) = &packet.header else { return None };
        Some(digit(frame.path, self.divisor, ports))
    }
}

#[cfg(test)]
mod tests;
