//! The forwarder of packets with pinned paths.

use raddle_core::{DropReason, Forwarder, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::paths::Paths;
use raddle_wire::rated::Segment;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Number of paths at which a node clears its table. The value affects only speed and memory use.
const MOST: usize = 1 << 16;

/// The forwarder of one node.
#[derive(Debug)]
pub(crate) struct Pinned {
    node: NodeId,
    paths: Arc<Paths>,
    known: FxHashMap<Flow, Option<Place>>,
}

/// The key of a path: the two ends of the flow, and the [choice](raddle_topology::paths) that selects one of the paths
/// between these ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    source: u32,
    sink: u32,
    choice: u16,
}

impl Flow {
    fn of(segment: &Segment) -> Self {
        let (source, sink) =
            if segment.ack { (segment.dst, segment.src) } else { (segment.src, segment.dst) };
        Self { source, sink, choice: segment.path }
    }
}

/// The position of a node on a path.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Number of links on the path before this node.
    links: u8,
    /// The port to the next node of the path; `None` at the path's end.
    ahead: Option<PortId>,
    /// The port to the previous node of the path; `None` at the path's beginning.
    back: Option<PortId>,
}

impl Place {
    /// The port by which a packet leaves, and the number of the port's link on the path; `None` at the packet's last
    /// node. `back` is true for acknowledgements.
    fn next(self, back: bool) -> Option<(PortId, u8)> {
        if back {
            self.back.map(|port| (port, self.links - 1))
        } else {
            self.ahead.map(|port| (port, self.links))
        }
    }
}

impl Pinned {
    /// The forwarder of `node`.
    #[must_use]
    pub(crate) fn new(node: NodeId, paths: &Arc<Paths>) -> Self {
        Self { node, paths: Arc::clone(paths), known: FxHashMap::default() }
    }

    /// This node's position on the flow's path; `None` if the path does not pass the node.
    fn place(&mut self, flow: Flow) -> Option<Place> {
        if let Some(&known) = self.known.get(&flow) {
            return known;
        }
        let place = self.find(flow);
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.insert(flow, place);
        place
    }

    #[cold]
    #[allow(clippy::cast_possible_truncation, reason = "a pinned path has fewer than 256 links")]
    fn find(&self, flow: Flow) -> Option<Place> {
        let path = self.paths.path(NodeId(flow.source), NodeId(flow.sink), flow.choice.into());
        let (mut at, mut back) = (NodeId(flow.source), None);
        for (links, &port) in path.iter().enumerate() {
            if at == self.node {
                return Some(Place { links: links as u8, ahead: Some(port), back });
            }
            let link = self.paths.topology().link_at(at, port).expect("a path must follow existing links");
            (at, back) = (link.to, Some(link.to_port));
        }
        (at == self.node).then_some(Place { links: path.len() as u8, ahead: None, back })
    }
}

impl Forwarder for Pinned {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let Some(&segment) = packet.header.rated() else { return Verdict::Drop(DropReason::NoRoute) };
        if segment.dst == self.node.0 {
            return Verdict::Deliver;
        }
        let next = self.place(Flow::of(&segment)).and_then(|place| place.next(segment.ack));
        let Some((port, link)) = next else { return Verdict::Drop(DropReason::NoRoute) };
        packet.header.rated_mut().expect("as above").hop = link;
        Verdict::Forward(port)
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let segment = packet.header.rated().filter(|segment| segment.dst != self.node.0)?;
        let place = self.known.get(&Flow::of(segment)).copied().flatten()?;
        place.next(segment.ack).map(|(port, _)| port)
    }
}
