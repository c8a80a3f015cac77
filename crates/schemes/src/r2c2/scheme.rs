//! R2C2's entry in the registry.

use super::outgoing::HEADER;
use super::selection::LASTING_TICKS;
use super::{Doubt, Fabric, Params, Policy, R2c2Node, Selecting, Selection, SourceRoute, StartPolicy};
use crate::parameter::{Parameter, Settings, Value};
use crate::registry::{Info, Parts, Plan, Scheme, Unfit, View};
use raddle_allocate::selection::Utility;
use raddle_core::{Duration, Node};
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// R2C2.
pub const SCHEME: Scheme = Scheme { info: INFO, build };

const INFO: Info = Info {
    name: "r2c2",
    summary: "Rack-scale stack: flow events are broadcast, every node computes all rates, packets are source-routed",
    source: "Costa, Ballani, Razavi, Kash: R2C2: A Network Stack for Rack-scale Computers, SIGCOMM 2015",
    differs: &[
        "byte layouts, broadcast trees, recovery of lost broadcasts and the start policy are reconstructions",
        "demand is estimated from bytes released rather than from the allocation, which could never fall",
        "a node that owns no eligible flow skips the rate computation, whose result it would not install",
    ],
    view: View::Local,
    routings: &["rps", "rps_path", "dor", "dor_parity", "dor_plus", "vlb", "wlb", "wlb_hop", "romm", "ecmp"],
    parameters: &[
        Parameter::new(
            "rho",
            Value::Duration(Duration::from_us(500)),
            "interval between rate computations; 0 recomputes at every event",
        ),
        Parameter::new("headroom", Value::Fraction(0.05), "share of each link that rates leave free")
            .within(0.0, 0.99),
        Parameter::new("only_lasting", Value::Flag(true), "count only flows known for a whole interval"),
        Parameter::new("synchronous", Value::Flag(false), "all nodes compute at the same instants"),
        Parameter::choice(
            "policy",
            &["weights", "deadline", "tenant"],
            "what decides a flow's share: its own weight, its deadline, its tenant",
        ),
        Parameter::new("tenants", Value::Count(2), "tenants; node n belongs to tenant n modulo their number")
            .within(1.0, 65_535.0),
        Parameter::choice(
            "start",
            &["line", "local", "residual"],
            "what a flow may send before its first computation",
        ),
        Parameter::new("mtu", Value::Bytes(1_500), "payload bytes of a full packet").within(1.0, 9_000.0),
        Parameter::new(
            "nic_packets",
            Value::Count(2),
            "packets an unlimited flow may leave waiting at its first hop",
        )
        .within(1.0, 1_000.0),
        Parameter::choice(
            "select",
            &["off", "one", "random", "token"],
            "who chooses routing protocols for long flows: nobody, the lowest host, hosts at random times, a token's holder",
        ),
        Parameter::new(
            "select_period",
            Value::Duration(Duration::from_ms(1_000)),
            "time between two selections",
        ),
        Parameter::choice("select_among", &["rps_vlb", "rps_vlb_wlb"], "the protocols to choose from"),
        Parameter::choice(
            "utility",
            &["aggregate", "minimum", "tenant"],
            "what selection makes as large as it can",
        ),
        Parameter::new(
            "select_evaluations",
            Value::Count(5_000),
            "assignments that one selection may evaluate",
        )
        .within(1.0, 1e9),
        Parameter::choice(
            "doubt",
            &["after_faults", "always"],
            "when nodes compare the flows they know: after failures and noticed drops, or always (for lossy links)",
        ),
        Parameter::new(
            "digest_period",
            Value::Duration(Duration::from_ms(10)),
            "how often they do so while in doubt; 0 is never",
        ),
        Parameter::new(
            "resends",
            Value::Count(8),
            "last broadcasts of a link that a neighbour says again when one arrives damaged",
        )
        .within(0.0, 255.0),
        Parameter::new("trees", Value::Count(6), "broadcast trees a source").within(1.0, 64.0),
        Parameter::new("hop_bits", Value::Count(3), "bits a hop in the source route").within(3.0, 5.0),
    ],
};

fn params(plan: &Plan<'_>, protocol: Protocol) -> Params {
    let settings = plan.settings;
    let small = |name| u8::try_from(settings.count(name)).expect("the parameter's range");
    Params {
        protocol,
        rho: settings.duration("rho"),
        headroom: settings.fraction("headroom"),
        only_lasting: settings.flag("only_lasting"),
        synchronous: settings.flag("synchronous"),
        policy: match settings.choice("policy") {
            "deadline" => Policy::Deadline,
            "tenant" => {
                Policy::Tenant(u16::try_from(settings.count("tenants")).expect("the parameter's range"))
            }
            _ => Policy::Weights,
        },
        selection: selection(settings),
        start: match settings.choice("start") {
            "local" => StartPolicy::Local,
            "residual" => StartPolicy::Residual,
            _ => StartPolicy::Line,
        },
        mtu: u16::try_from(settings.count("mtu")).expect("the parameter's range"),
        nic_packets: settings.count("nic_packets"),
        doubt: match settings.choice("doubt") {
            "always" => Doubt::Always,
            _ => Doubt::AfterFaults,
        },
        digest_period: settings.duration("digest_period"),
        resends: small("resends"),
        trees: small("trees"),
        hop_bits: small("hop_bits").into(),
    }
}

/// Protocols that flows may be given, by the parameter `select_among`.
fn among(settings: &Settings) -> &'static [Protocol] {
    match settings.choice("select_among") {
        "rps_vlb_wlb" => &[Protocol::Rps, Protocol::Vlb, Protocol::Wlb],
        _ => &[Protocol::Rps, Protocol::Vlb],
    }
}

fn selection(settings: &Settings) -> Option<Selection> {
    let by = match settings.choice("select") {
        "one" => Selecting::One,
        "random" => Selecting::Random,
        "token" => Selecting::Token,
        _ => return None,
    };
    let utility = match settings.choice("utility") {
        "minimum" => Utility::Minimum,
        "tenant" => Utility::PerTenant,
        _ => Utility::Aggregate,
    };
    let (period, evaluations) = (settings.duration("select_period"), settings.count("select_evaluations"));
    Some(Selection { by, period, among: among(settings), utility, evaluations })
}

/// Refuses a protocol that is not defined on the fabric, or whose routes do not fit the header.
fn check_route(routing: &Routing, params: &Params, protocol: Protocol, key: &str) -> Result<(), Unfit> {
    let unfit = |problem: String, hint: &str| Unfit { key: key.into(), problem, hint: hint.into() };
    if let Err(error) = routing.supports(protocol) {
        return Err(unfit(error.to_string(), "`rps` works on every fabric"));
    }
    let (longest, room) = (routing.longest_route(protocol), 128 / params.hop_bits as usize);
    if longest > room {
        let problem =
            format!("a route of `{protocol}` can take {longest} hops here; the header holds {room}");
        return Err(unfit(problem, "choose a protocol with shorter routes, such as `rps`"));
    }
    Ok(())
}

fn build(plan: &Plan<'_>) -> Result<Parts, Unfit> {
    let unfit = |key: &str, problem: String, hint: String| Unfit { key: key.into(), problem, hint };
    let protocol: Protocol = plan.routing.parse().expect("one of the scheme's routings");
    let params = params(plan, protocol);
    let nodes = plan.topology.node_count();
    if nodes > 1 << 16 {
        let problem = format!("R2C2 addresses 65,536 nodes; this fabric has {nodes}");
        return Err(unfit("topology", problem, "choose a smaller fabric".into()));
    }
    let routing = Routing::new(Arc::clone(plan.topology));
    let ports = plan.topology.nodes().map(|node| plan.topology.port_count(node)).max().unwrap_or(0);
    if ports > 1 << params.hop_bits {
        let problem =
            format!("{} bits a hop name {} ports; a node has {ports}", params.hop_bits, 1 << params.hop_bits);
        return Err(unfit("scheme.r2c2.hop_bits", problem, "raise `hop_bits` (at most 5: 32 ports)".into()));
    }
    check_route(&routing, &params, protocol, "scheme.routing")?;
    if let Some(selection) = params.selection {
        if !selection.among.contains(&protocol) {
            let problem = format!("flows start with `{protocol}`, which selection cannot choose");
            return Err(unfit("scheme.routing", problem, "choose `rps`, or leave `select` off".into()));
        }
        let lasting = params.rho * LASTING_TICKS;
        if selection.period < lasting || selection.period == Duration::ZERO {
            let problem =
                format!("only flows that have lasted {lasting} are selected for, longer than a period");
            return Err(unfit("scheme.r2c2.select_period", problem, "choose a longer period".into()));
        }
        for &protocol in selection.among {
            check_route(&routing, &params, protocol, "scheme.r2c2.select_among")?;
        }
    }
    let fabric = Fabric::new(plan.topology, params);
    let seed = plan.seed;
    Ok(Parts {
        node: Box::new(move |id| Node {
            host: Some(Box::new(R2c2Node::new(&fabric, id, seed))),
            forwarder: Some(Box::new(SourceRoute::new(params.hop_bits))),
        }),
        queue: Box::new(|_| None),
        header_bytes: HEADER as u32,
        mtu: params.mtu.into(),
    })
}
