//! Builds a transport whose rates are set by switches: hosts, forwarders along pinned paths, and a controller at every
//! egress port. The egress ports of hosts have controllers too, so that the flows of one host share the host's link as
//! they share other links.

use super::host::{flow_key, path_hash};
use super::{ExplicitHost, Protocol, Setup};
use crate::fluid::{Sharing, Split, Ways};
use crate::halt::Halt;
use crate::parameter::{Parameter, Value};
use crate::routing::pinned;
use crate::scheme::{Built, Plan, Unfit, check_addresses};
use raddle_allocate::Fluid;
use raddle_core::{Duration, Flow, Host, LinkId, NodeId, Parts, PortAgent, Rate};
use raddle_topology::Link;
use raddle_wire::rated::Segment;
use std::sync::Arc;

/// PDQ, D3 and RCP have this parameter and the next two parameters in common.
pub(crate) const MSS: Parameter =
    Parameter::new("mss", Value::Bytes(1_460), "payload bytes of a full packet").within(1.0, 8_960.0);
pub(crate) const INITIAL_RTO: Parameter = Parameter::new(
    "initial_rto",
    Value::Duration(Duration::from_ms(1)),
    "timeout of a SYN; it doubles with each retransmission, at most 8 times",
)
.within(1e6, 6e13);
pub(crate) const MIN_RTO: Parameter = Parameter::new(
    "min_rto",
    Value::Duration(Duration::from_us(300)),
    "lower bound of the timeout of packets other than SYNs; the timeout is two round trips, and doubles each \
     time it expires, at most 8 times",
)
.within(1e6, 6e13);

/// The values in which PDQ, D3 and RCP differ, besides the protocol and the controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The transport's name, for the error message about too many nodes.
    pub(crate) name: &'static str,
    /// Number of subflows of each flow. A flow with fewer packets has one subflow per packet.
    pub(crate) subflows: u32,
    /// Bytes of a packet in addition to the payload.
    pub(crate) header: u32,
    /// Greatest number of links of a path for which the headers have room.
    pub(crate) most_links: usize,
    /// The value of [`MSS`].
    pub(crate) mss: u16,
    /// The value of [`INITIAL_RTO`].
    pub(crate) initial_rto: Duration,
    /// The value of [`MIN_RTO`].
    pub(crate) min_rto: Duration,
    /// The value of [`pinned::PATHS`].
    pub(crate) paths: u32,
}

/// The fluid model of PDQ, D3 or RCP. Flows share links according to `policy`. `subflows` returns the number of a
/// flow's subflows, and the flow's traffic takes the paths of these subflows. `paths` is the value of
/// [`pinned::PATHS`].
///
/// # Errors
/// If the fabric does not have the paths of the plan's routing, or if its shortest or parallel paths may have more than
/// `most_links` links.
pub(crate) fn fluid(
    plan: &Plan<'_>,
    policy: Box<dyn Fluid>,
    paths: u32,
    most_links: usize,
    subflows: impl Fn(&Flow) -> u32 + 'static,
) -> Result<Sharing, Unfit> {
    Ok(Sharing { policy, acknowledged: true, ways: Ways::Own(split(plan, paths, most_links, subflows)?) })
}

/// Returns the function that gives the links of each flow. Each subflow carries an equal share of the flow.
fn split(
    plan: &Plan<'_>,
    paths: u32,
    most_links: usize,
    subflows: impl Fn(&Flow) -> u32 + 'static,
) -> Result<Split, Unfit> {
    let (topology, seed) = (Arc::clone(plan.topology), plan.seed);
    let paths = pinned::paths(plan, paths, most_links)?;
    let mut sent = vec![0_u32; topology.node_count()];
    Ok(Box::new(move |flow, _, row| {
        let number = &mut sent[flow.src.index()];
        let hash = path_hash(seed, flow_key(flow.src, *number));
        *number = (*number + 1) % Segment::NUMBERS;
        let subflows = subflows(flow);
        for subflow in 0..subflows {
            let mut at = flow.src;
            row.extend(paths.path(flow.src, flow.dst, paths.choice(hash, subflow)).iter().map(|&port| {
                let id = topology.link_id(at, port);
                at = topology.link(id).expect("every port of a path must have a link").to;
                (id, 1.0 / subflows as f32)
            }));
        }
    }))
}

/// Makes the functions that build nodes and egress ports. `protocol` makes the protocol of each host, and `agent` makes
/// the controller of the egress port of each link.
///
/// # Errors
/// If the fabric has too many nodes, does not have the paths of the plan's routing, or has paths that are too long.
pub(crate) fn parts<P: Protocol + 'static>(
    plan: &Plan<'_>,
    form: Form,
    mut protocol: impl FnMut() -> P + 'static,
    mut agent: impl FnMut(LinkId, &Link) -> Box<dyn PortAgent> + 'static,
) -> Result<Built, Unfit> {
    check_addresses(plan.topology, form.name)?;
    let paths = pinned::paths(plan, form.paths, form.most_links)?;
    let mut forwarder = pinned::forwarders(plan.topology, Arc::clone(&paths));
    let (topology, seed) = (Arc::clone(plan.topology), plan.seed);
    let links = Arc::clone(plan.topology);
    let mut host = move |node: NodeId| -> Box<dyn Host> {
        let rates = || topology.links_from(node).map(|(_, link)| link.rate);
        let setup = Setup {
            node,
            line_rate: rates().max().unwrap_or(Rate::ZERO),
            line_rates: Rate::from_bps(rates().map(Rate::as_bps).sum()),
            payload: form.mss,
            header: form.header,
            subflows: form.subflows,
            initial_timeout: form.initial_rto,
            least_timeout: form.min_rto,
            seed,
        };
        Box::new(ExplicitHost::new(setup, protocol(), Arc::clone(&paths)))
    };
    let fabric = Arc::clone(plan.topology);
    Ok(Built {
        node: Box::new(move |id| Parts {
            host: fabric.is_host(id).then(|| host(id)),
            forwarder: forwarder(id),
            ..Parts::default()
        }),
        queue: Box::new(|_| None),
        agent: Box::new(move |id| Some(agent(id, links.link(id)?))),
        header_bytes: form.header,
        mtu: form.mss.into(),
        handshake: true,
        hear_of_departures: false,
        halt: Halt::default(),
    })
}
