//! Port choice and credits, which are one decision.

use super::queue::flow_of;
use raddle_core::{
    DropReason, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Signal, Stream, Time, Verdict,
};
use raddle_topology::routing::Routing;
use std::sync::Arc;

/// How a packet finds its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At each hop uniform among the ports one hop closer with credit.
    Adaptive,
    /// By the path drawn at its source.
    Strict {
        /// Bits a hop in the source route.
        hop_bits: u32,
    },
}

/// A node's credits for the buffers at the far ends of its links.
pub struct PfqForwarder {
    id: NodeId,
    routing: Arc<Routing>,
    mode: Mode,
    /// Packet buffers of a flow at the far end of each port's link.
    buffers: Vec<u32>,
    /// By port: flows with credits in use, and how many. A port has few, the packets of a round trip.
    in_use: Vec<Vec<(u32, u32)>>,
    choices: Stream,
    productive: Vec<PortId>,
}

impl PfqForwarder {
    /// The forwarder of node `id`; packets of `packet_bytes` at most.
    #[must_use]
    pub fn new(id: NodeId, routing: &Arc<Routing>, mode: Mode, packet_bytes: u32, seed: u64) -> Self {
        let topology = routing.topology();
        let buffers = (0..topology.port_count(id))
            .map(|port| {
                topology.link_at(id, PortId::of(port)).map_or(0, |link| {
                    let round_trip = link.rate.bytes_in(link.delay * 2).0;
                    let packets = round_trip.div_ceil(packet_bytes.into()) + 2;
                    u32::try_from(packets.max(4)).expect("a link holds fewer than 2^32 packets")
                })
            })
            .collect::<Vec<u32>>();
        Self {
            id,
            routing: Arc::clone(routing),
            mode,
            buffers,
            in_use: vec![Vec::new(); topology.port_count(id)],
            choices: Stream::new(seed, id.0.into(), "pfq/choices"),
            productive: Vec::new(),
        }
    }

    /// Packets of all flows that this node has put into its neighbours' buffers.
    #[must_use]
    pub fn credits_in_use(&self) -> u32 {
        self.in_use.iter().flatten().map(|&(_, used)| used).sum()
    }

    fn has_credit(&self, flow: u32, port: PortId) -> bool {
        let used = self.in_use[port.index()].iter().find(|of| of.0 == flow);
        used.is_none_or(|&(_, used)| used < self.buffers[port.index()])
    }

    /// The next hop of a packet that is not at its end, if there is room for it.
    fn adaptive(&mut self, flow: u32, dst: NodeId, ports: &Ports<'_>) -> Option<PortId> {
        let mut productive = std::mem::take(&mut self.productive);
        self.routing.productive(self.id, dst, &mut productive);
        productive.retain(|&port| ports.get(port).up && self.has_credit(flow, port));
        let chosen = match productive.len() {
            0 => None,
            1 => Some(productive[0]),
            count => Some(productive[self.choices.below(count as u64) as usize]),
        };
        self.productive = productive;
        chosen
    }
}

impl Forwarder for PfqForwarder {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let Header::R2c2Data(data) = &mut packet.header else { return Verdict::Drop(DropReason::NoRoute) };
        let port = match self.mode {
            Mode::Adaptive if NodeId(data.dst.into()) == self.id => return Verdict::Deliver,
            Mode::Adaptive => match self.adaptive(data.flow, NodeId(data.dst.into()), ports) {
                Some(port) => port,
                None => return Verdict::Hold(data.flow.into()),
            },
            Mode::Strict { .. } if data.ridx == data.rlen => return Verdict::Deliver,
            Mode::Strict { hop_bits } => {
                let port = PortId(data.route.port(data.ridx, hop_bits));
                if port.index() >= ports.0.len() {
                    return Verdict::Drop(DropReason::NoRoute);
                }
                if !ports.get(port).up || !self.has_credit(data.flow, port) {
                    return Verdict::Hold(data.flow.into());
                }
                data.ridx += 1;
                port
            }
        };
        let in_use = &mut self.in_use[port.index()];
        match in_use.iter_mut().find(|of| of.0 == data.flow) {
            Some((_, used)) => *used += 1,
            None => in_use.push((data.flow, 1)),
        }
        Verdict::Forward(port)
    }

    fn hears_of_departures(&self) -> bool {
        true
    }

    fn departed(&mut self, packet: &Packet, _: PortId) -> Option<Signal> {
        flow_of(packet).map(|flow| Signal(flow.into()))
    }

    /// Only a port that had no credit left can have kept a packet waiting.
    fn signal(&mut self, port: PortId, Signal(flow): Signal) -> Option<u64> {
        let in_use = &mut self.in_use[port.index()];
        let place = in_use.iter().position(|of| u64::from(of.0) == flow)?;
        let used = &mut in_use[place].1;
        let was_full = *used == self.buffers[port.index()];
        *used -= 1;
        if *used == 0 {
            in_use.swap_remove(place);
        }
        was_full.then_some(flow)
    }

    /// Failures are outside what PFQ idealises: packets for a dead link wait.
    fn link(&mut self, _: LinkId, _: bool) {}
}
