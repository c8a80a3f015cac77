//! DCQCN's entries in the registry.

use super::Params;
use super::protocol::{Dcqcn, first_packet, wire_len};
use super::red::{Red, Thresholds};
use crate::fluid::{Sharing, Ways, max_min};
use crate::scheme::{
    Agents, CongestionPoint, Hosts, Info, Make, Plan, Streams, Transport, Unfit, View, check_addresses,
};
use crate::transport::adapter::{Adapter, check_ports, check_priorities};
use crate::transport::go_back_n::MOST_OUTSTANDING;
use raddle_core::{Bytes, Host, NodeId, PortAgent, PortId, Rate, Stream};
use std::sync::Arc;

/// DCQCN's congestion points. Every port of every switch is a congestion point.
pub(crate) const CONGESTION_POINT: CongestionPoint = CongestionPoint {
    info: Info {
        name: "red",
        summary: "The congestion points of DCQCN: the probability of an ECN mark rises with the queue length",
        source: "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, §3.1 and Figure 14",
        differs: &[],
        view: View::Local,
        parameters: &Thresholds::LIST,
    },
    build: points,
};

/// DCQCN's hosts.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "dcqcn",
        summary: "RDMA writes over RoCEv2, with rate control by ECN marks",
        source: "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015; InfiniBand Annex A17",
        differs: &[
            "each flow has its own queue pair, which begins at line rate and is removed when the flow ends",
            "hosts recover from losses by the go-back-N of InfiniBand's reliable connections; the paper \
             assumes this recovery",
            "with `recovery = \"none\"`, receivers send no acknowledgements but restore the packet order; a \
             flow that loses a packet does not finish",
            "only timeouts count as retries; after a timeout, the timer starts again with the flow's next \
             packet",
            "the i-th cycle of hyper increase raises the target rate by i steps, as in QCN; the paper does not \
             give the steps",
            "a marked packet that arrives within `cnp_interval` of the last notification causes no notification, not \
             even a delayed notification",
        ],
        view: View::Local,
        parameters: &Params::LIST,
    },
    make: Make::Hosts(hosts),
    fluid: Some(fluid),
    streams: Streams::NOT_BUILT,
};

/// The fluid model of DCQCN: flows get their max-min shares without delay, whereas the rates of DCQCN converge slowly.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let acknowledged = Params::of(plan.settings).go_back_n().is_some();
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged, ways: Ways::Routed(first_packet) })
}

fn hosts(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    check_ports(plan.topology)?;
    check_priorities(plan, "dcqcn")?;
    check_addresses(plan.topology, "RoCEv2")?;
    plan.congestion_points(CONGESTION_POINT.info.name, "`dcqcn`")?;
    let params = Arc::new(Params::of(plan.settings));
    check_numbers(plan, &params)?;
    let mtu = params.mtu;
    if !mtu.is_multiple_of(4) {
        return Err(Unfit {
            key: "scheme.dcqcn.mtu".to_owned(),
            problem: format!(
                "`mtu` must be a multiple of 4 B, because RoCE pads payloads to a multiple of 4 B (got {mtu} B)"
            ),
            hint: "set `mtu` to a multiple of 4, such as \"1024 B\"".to_owned(),
        });
    }
    let (topology, seed, progress) = (Arc::clone(plan.topology), plan.seed, plan.progress);
    let host = move |node: NodeId| -> Box<dyn Host> {
        let line_rate = topology.link_at(node, PortId(0)).map_or(Rate::ZERO, |link| link.rate);
        let protocol = Dcqcn::new(Arc::clone(&params), line_rate);
        Box::new(Adapter::new(node, protocol, mtu, line_rate, seed, progress))
    };
    Ok(Hosts {
        host: Box::new(host),
        header_bytes: wire_len(mtu) - mtu,
        mtu,
        handshake: false,
        hear_of_departures: true,
    })
}

/// Checks that no host can send [`MOST_OUTSTANDING`] packets or more within one RTO, because packet numbers have 24
/// bits.
fn check_numbers(plan: &Plan<'_>, params: &Params) -> Result<(), Unfit> {
    let Some(go_back_n) = params.go_back_n() else { return Ok(()) };
    let rates = plan.topology.hosts().filter_map(|host| plan.topology.link_at(host, PortId(0)));
    let rate = rates.map(|link| link.rate).max().unwrap_or(Rate::ZERO);
    let packet = u64::from(wire_len(params.mtu));
    let packets = rate.bytes_in(go_back_n.rto).0 / packet;
    if packets < MOST_OUTSTANDING {
        return Ok(());
    }
    let longest = rate.time_for(Bytes(MOST_OUTSTANDING * packet));
    Err(Unfit {
        key: "scheme.dcqcn.rto".into(),
        problem: format!(
            "a host with a link of {rate} can send {packets} packets within `rto` = {}; because packet \
             numbers have 24 bits, it must send fewer than {MOST_OUTSTANDING} packets in this time",
            go_back_n.rto
        ),
        hint: format!("set `rto` to less than {longest}, or set a larger `mtu`"),
    })
}

fn points(plan: &Plan<'_>) -> Result<Agents, Unfit> {
    let thresholds = Thresholds::of(plan.settings);
    if thresholds.k_min > thresholds.k_max {
        return Err(Unfit {
            key: "scheme.red.k_min".into(),
            problem: format!(
                "`k_min` must be at most `k_max` (got {} and {})",
                thresholds.k_min, thresholds.k_max
            ),
            hint: "set a smaller `k_min`, or a larger `k_max`".into(),
        });
    }
    let (topology, seed) = (Arc::clone(plan.topology), plan.seed);
    Ok(Box::new(move |id| {
        topology.link(id).filter(|link| !topology.is_host(link.from))?;
        Some(Box::new(Red::new(thresholds, Stream::new(seed, id.0.into(), "red"))) as Box<dyn PortAgent>)
    }))
}
