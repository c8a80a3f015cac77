//! PFQ's entry in the registry.

use super::host::HEADER;
use super::{FlowQueues, Mode, PfqForwarder, PfqHost};
use crate::fluid::{self, Sharing, Ways, max_min};
use crate::halt::Halt;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::{choices, parameters};
use raddle_core::{Bytes, Parts};
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// The transport PFQ.
pub(crate) const TRANSPORT: Transport = Transport {
    info: INFO,
    make: Make::Whole { routings: &["rps"], build },
    fluid: Some(fluid),
    streams: Streams::NOT_BUILT,
};

const INFO: Info = Info {
    name: "pfq",
    summary: "Per-flow queues and hop-by-hop credits at every port, without buffer overflow: an idealised upper \
              bound of performance",
    source: "Costa, Ballani, Razavi, Kash: R2C2, SIGCOMM 2015, §5.1",
    differs: &[
        "the paper gives no parameters; here, a flow's buffer at each link holds the bytes of 2 link delays \
         plus 2 packets, and at least 4 packets",
        "packets carry R2C2's data header, so that PFQ and R2C2 send the same number of bytes",
        "packets that are lost with a failed link are not retransmitted; lost credits are restored",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The rule that chooses the egress ports of a packet.
    enum Way {
        Adaptive = "adaptive",
        Strict = "strict",
    }
}

parameters! {
    struct Parameters {
        /// choose a port with credit at each hop (adaptive), or follow a path drawn at the source (strict)
        mode: Way;
        /// payload bytes of a full packet
        mtu: u16 = Bytes(1_500), 1..=9_000;
        /// bits per hop in the source route of strict mode
        hop_bits: u32 = 3, 3..=5;
    }
}

/// The fluid model of PFQ: flows get max-min shares. At each node, a flow splits evenly over the next hops of the
/// shortest paths.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let ways = Ways::Own(fluid::evenly(plan));
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged: false, ways })
}

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let Parameters { mode, mtu, hop_bits } = Parameters::of(plan.settings);
    let nodes = plan.topology.node_count();
    if nodes >= 1 << 16 {
        return Err(Unfit {
            key: "topology".into(),
            problem: format!("PFQ supports at most 65,535 nodes, and this topology has {nodes}"),
            hint: "choose a smaller topology".into(),
        });
    }
    let routing = Arc::new(Routing::new(Arc::clone(plan.topology)));
    let mode = match mode {
        Way::Adaptive => Mode::Adaptive,
        Way::Strict => Mode::Strict { hop_bits },
    };
    if let Mode::Strict { hop_bits } = mode {
        let (longest, room) = (routing.longest_route(Protocol::Rps), 128 / hop_bits as usize);
        let ports = plan.topology.nodes().map(|node| plan.topology.port_count(node)).max().unwrap_or(0);
        if longest > room || ports > 1 << hop_bits {
            return Err(Unfit {
                key: "scheme.pfq.hop_bits".into(),
                problem: format!(
                    "`hop_bits` = {hop_bits} allows at most {room} hops per route and {} ports per node, and \
                     this topology has routes of {longest} hops and nodes with {ports} ports",
                    1 << hop_bits
                ),
                hint: "set another `hop_bits`, or choose mode = \"adaptive\"".into(),
            });
        }
    }
    let packet_bytes = u32::from(mtu) + HEADER;
    let seed = plan.seed;
    Ok(Built {
        node: Box::new(move |id| Parts {
            host: Some(Box::new(PfqHost::new(id, &routing, mode, mtu, seed))),
            forwarder: Some(Box::new(PfqForwarder::new(id, &routing, mode, packet_bytes, seed))),
            ..Parts::default()
        }),
        queue: Box::new(move |_| Some(Box::new(FlowQueues::new(packet_bytes)))),
        agent: Box::new(|_| None),
        header_bytes: HEADER,
        mtu: mtu.into(),
        handshake: false,
        hear_of_departures: false,
        halt: Halt::default(),
    })
}
