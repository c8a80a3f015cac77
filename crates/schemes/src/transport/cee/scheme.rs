//! The transport's entry in the registry.

use super::Cee;
use crate::fluid::{Sharing, Ways, max_min};
use crate::link::qcn;
use crate::parameters;
use crate::scheme::{Hosts, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::adapter::{Adapter, check_ports, check_priorities};
use raddle_core::{Bytes, Flow, Header, HeaderInfo, NodeId, Packet, PortId};
use raddle_wire::cee::Frame;
use std::sync::Arc;

/// The transport of converged enhanced Ethernet.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "cee",
        summary: "Lossless Ethernet: each host has a queue for each destination and priority, with or \
                  without QCN's rate limiters",
        source: "Crisan, Gusat and Minkenberg, Comparative Evaluation of CEE-based Switch Adaptive Routing",
        differs: &[
            "the receiver restores the frame order of each flow; in the paper, it restores the frame order \
             of each source",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    make: Make::Hosts(build),
    fluid: Some(fluid),
    streams: Streams::NOT_BUILT,
};

parameters! {
    struct Parameters {
        /// bytes of a full frame, headers included
        mtu: u32 = Bytes(1_500), 64..=9_216;
        /// priority of the frames of flows whose own priority is 0
        priority: u8 = 3, 0..=7;
        /// limit the rate of each queue (one per destination and priority) by QCN's congestion notices
        rate_limiters: bool = false;
    }
}

/// The fluid model of the adapter: flows get max-min shares. In the packet engine, the adapter's queues per
/// destination, with pauses or rate limiters, may come close to these shares. The fluid model leaves out that a pause
/// also holds back flows that cause no congestion.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged: false, ways: Ways::Routed(first_frame) })
}

/// The first frame of flow `number` of a host, with only the fields that routing reads.
#[allow(clippy::cast_possible_truncation, reason = "a host has fewer than 2^32 flows")]
fn first_frame(flow: &Flow, number: u64) -> Packet {
    let frame = Frame { src: flow.src.0, dst: flow.dst.0, flow: number as u32, plen: 1, ..Frame::default() };
    Packet::new(frame.wire_len() as u32, Header::Cee(frame))
}

fn build(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    check_ports(plan.topology)?;
    check_priorities(plan, "cee")?;
    let Parameters { mtu, priority, rate_limiters } = Parameters::of(plan.settings);
    let limiters = if rate_limiters {
        let of_points = plan.congestion_points("qcn", "a rate limiter of `cee`")?;
        Some(Arc::new(qcn::Params::of(of_points)))
    } else {
        None
    };
    let (topology, seed, progress) = (Arc::clone(plan.topology), plan.seed, plan.progress);
    let host = move |node: NodeId| -> Box<dyn raddle_core::Host> {
        let line_rate = topology.link_at(node, PortId(0)).map_or(raddle_core::Rate::ZERO, |link| link.rate);
        let protocol = Cee { node: node.0, limiters: limiters.clone(), line_rate, seed, priority };
        Box::new(Adapter::new(node, protocol, mtu, line_rate, seed, progress))
    };
    Ok(Hosts { host: Box::new(host), header_bytes: 0, mtu, handshake: false, hear_of_departures: true })
}
