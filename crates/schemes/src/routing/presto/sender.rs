//! The forwarder of the sender's host, which assigns a path to each packet.

use super::Paths;
use crate::routing::flow_hash::{flow_hash, salt};
use crate::routing::reordering::cell;
use raddle_core::{
    DropReason, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Shim, Time, Verdict,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The forwarder of a host.
#[derive(Debug)]
pub(crate) struct Sender {
    node: NodeId,
    /// Salt of the hash, derived from the seed and the node.
    salt: u64,
    /// Size of a flowcell, in bytes.
    flowcell: u32,
    paths: Arc<Paths>,
    /// Links that the host knows to be down.
    down: BTreeSet<LinkId>,
    /// For each destination edge switch, the paths that avoid the links in `down`, in the order in which cells take
    /// these paths.
    turns: FxHashMap<u32, Box<[u16]>>,
}

impl Sender {
    /// The forwarder of host `node`, with flowcells of `flowcell` bytes.
    ///
    /// # Panics
    /// If `flowcell` is zero.
    #[must_use]
    pub(crate) fn new(node: NodeId, paths: &Arc<Paths>, flowcell: u32, seed: u64) -> Self {
        assert!(flowcell > 0, "a flowcell must have at least 1 byte");
        Self {
            node,
            salt: salt(seed, node),
            flowcell,
            paths: Arc::clone(paths),
            down: BTreeSet::new(),
            turns: FxHashMap::default(),
        }
    }
}

/// A host's only port.
const UP: PortId = PortId(0);

impl Forwarder for Sender {
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        if packet.dst() == self.node {
            return Verdict::Deliver;
        }
        let Self { node, salt, flowcell, paths, down, turns } = self;
        let [from, to] = [*node, packet.dst()].map(|host| host.0 / paths.hosts());
        if from == to {
            return Verdict::Forward(UP);
        }
        let turns = turns.entry(to).or_insert_with(|| paths.without(from, to, down));
        if turns.is_empty() {
            return Verdict::Drop(DropReason::NoRoute);
        }
        let number = match &packet.header {
            Header::Tcp(segment) if segment.from_data_sender() => cell(segment.seq, *flowcell).into(),
            Header::Udp(datagram) => datagram.offset / u64::from(*flowcell),
            _ => 0,
        };
        let turn = (flow_hash(packet, *salt) >> 32) + number;
        packet.set_shim(Shim::Path(turns[(turn % turns.len() as u64) as usize]));
        Verdict::Forward(UP)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        if up {
            self.down.remove(&link);
        } else {
            self.down.insert(link);
        }
        self.turns.clear();
    }
}
