//! The parameters and checks that the schemes with R2C2's data plane have in common.

use super::outgoing::HEADER;
use super::{Fabric, Params, SourceRoute};
use crate::fluid::{Sharing, Split, Ways, max_min};
use crate::halt::Halt;
use crate::parameter::{Parameter, Value};
use crate::scheme::{Built, Plan, Unfit};
use raddle_core::{Host, NodeId, Parts};
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

pub(crate) const ROUTINGS: &[&str] =
    &["rps", "rps_path", "dor", "dor_parity", "dor_plus", "vlb", "wlb", "wlb_hop", "romm", "ecmp"];

pub(crate) const HEADROOM: Parameter =
    Parameter::new("headroom", Value::Fraction(0.05), "fraction of each link's rate that is not allocated")
        .within(0.0, 0.99);
pub(crate) const ONLY_LASTING: Parameter = Parameter::new(
    "only_lasting",
    Value::Flag(false),
    "rate computations include only flows that have been known for at least one interval `rho`",
);
pub(crate) const SYNCHRONOUS: Parameter = Parameter::new(
    "synchronous",
    Value::Flag(false),
    "all nodes compute rates at the same times; otherwise each \
                                                       node has a random phase",
);
pub(crate) const MTU: Parameter =
    Parameter::new("mtu", Value::Bytes(1_500), "payload bytes of a full packet").within(1.0, 9_000.0);
pub(crate) const NIC_PACKETS: Parameter = Parameter::new(
    "nic_packets",
    Value::Count(2),
    "largest backlog of a port, in full packets; a flow without a rate limit adds packets to the port only \
     up to this backlog",
)
.within(1.0, 1_000.0);
pub(crate) const HOP_BITS: Parameter =
    Parameter::new("hop_bits", Value::Count(3), "bits per hop in the source route").within(3.0, 5.0);

/// The routing protocol of the plan.
pub(crate) fn protocol(plan: &Plan<'_>) -> Protocol {
    plan.routing.parse().expect("the scheme must support the routing")
}

/// The fluid model: flows get max-min shares of the capacity, less the headroom. Each flow splits over links as its
/// routing protocol defines. Under [`Protocol::Ecmp`], each flow draws one path. This path may differ from the flow's
/// path in the packet engine, where the draw uses the flow's key in packet headers.
pub(crate) fn fluid(plan: &Plan<'_>, params: &Params) -> Sharing {
    let (routing, protocol) = (Routing::new(Arc::clone(plan.topology)), params.protocol);
    let split: Split = Box::new(move |flow, _, row| {
        routing.weights(protocol, flow.src, flow.dst, flow.id.0.into(), row);
    });
    let policy = max_min(plan.topology, params.headroom);
    Sharing { policy, acknowledged: params.reliable, ways: Ways::Own(split) }
}

/// A rack in which `host` makes the host of each node, and nodes forward packets by source route.
#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
pub(crate) fn build(
    plan: &Plan<'_>,
    params: Params,
    host: impl Fn(&Arc<Fabric>, NodeId) -> Box<dyn Host> + 'static,
) -> Built {
    let fabric = Fabric::new(plan.topology, params);
    Built {
        node: Box::new(move |id| Parts {
            host: Some(host(&fabric, id)),
            forwarder: Some(Box::new(SourceRoute::new(params.hop_bits))),
            ..Parts::default()
        }),
        queue: Box::new(|_| None),
        agent: Box::new(|_| None),
        header_bytes: HEADER as u32,
        mtu: params.mtu.into(),
        handshake: false,
        hear_of_departures: false,
        halt: Halt::default(),
    }
}

/// Checks that the fabric's node numbers, port numbers and routes fit R2C2's header, and that the routing protocol is
/// defined on the fabric. An error names a key of the scheme `name`, or a key common to all schemes.
pub(crate) fn check(plan: &Plan<'_>, name: &str, params: &Params) -> Result<(), Unfit> {
    let unfit =
        |key: &str, problem: String, hint: &str| Unfit { key: key.into(), problem, hint: hint.into() };
    let nodes = plan.topology.node_count();
    if nodes > 1 << 16 {
        let problem = format!("R2C2 supports at most 65,536 nodes, and this topology has {nodes}");
        return Err(unfit("topology", problem, "choose a smaller topology"));
    }
    let (bits, ports) = (params.hop_bits, plan.topology.nodes().map(|node| plan.topology.port_count(node)));
    let ports = ports.max().unwrap_or(0);
    if ports > 1 << bits {
        let problem = format!(
            "`hop_bits` = {bits} allows {} ports per node, and a node of this topology has \
                               {ports}",
            1 << bits
        );
        let key = format!("scheme.{name}.{}", HOP_BITS.name);
        return Err(unfit(&key, problem, "give a larger `hop_bits`; the largest, 5, allows 32 ports"));
    }
    check_route(&Routing::new(Arc::clone(plan.topology)), params, params.protocol, "scheme.routing")
}

/// Checks that a routing protocol is defined on the fabric, and that its routes fit the header. An error names the key
/// `key`.
pub(crate) fn check_route(
    routing: &Routing,
    params: &Params,
    protocol: Protocol,
    key: &str,
) -> Result<(), Unfit> {
    let unfit = |problem: String, hint: &str| Unfit { key: key.into(), problem, hint: hint.into() };
    if let Err(error) = routing.supports(protocol) {
        return Err(unfit(
            error.to_string(),
            "choose a protocol that works on every topology, such as `rps`",
        ));
    }
    let (longest, room) = (routing.longest_route(protocol), 128 / params.hop_bits as usize);
    if longest > room {
        let problem = format!(
            "a route of `{protocol}` has up to {longest} hops on this topology, and the header has room for \
                     {room}"
        );
        return Err(unfit(problem, "choose a protocol with shorter routes, such as `rps`"));
    }
    Ok(())
}
