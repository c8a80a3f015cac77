//! R2C2's entry in the registry.

use super::outgoing::HEADER;
use super::selection::LASTING_TICKS;
use super::{Doubt, Fabric, Params, Policy, R2c2Node, Selecting, Selection, SourceRoute, StartPolicy, setup};
use crate::fluid::Sharing;
use crate::parameter::{Parameter, Settings, Value};
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use raddle_allocate::selection::Utility;
use raddle_core::{Duration, Parts};
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// R2C2.
pub const TRANSPORT: Transport = Transport {
    info: INFO,
    make: Make::Whole { routings: setup::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::With("reliable"),
};

const INFO: Info = Info {
    name: "r2c2",
    summary: "Rack-scale stack: flow events are broadcast, every node computes all rates, packets are source-routed",
    source: "Costa, Ballani, Razavi, Kash: R2C2: A Network Stack for Rack-scale Computers, SIGCOMM 2015",
    differs: &[
        "byte layouts, broadcast trees, recovery of lost broadcasts and the start policy are reconstructions",
        "the start policy and the flows that a rate computation counts are calibrated on the paper's Figure 10",
        "demand is estimated from bytes released rather than from the allocation, which could never fall",
        "a node that owns no eligible flow skips the rate computation, whose result it would not install",
        "reliability, which the paper leaves for later, is an option; checksums cover packets, not whole flows",
    ],
    view: View::Local,
    parameters: &[
        Parameter::new(
            "rho",
            Value::Duration(Duration::from_us(500)),
            "interval between rate computations; 0 recomputes at every event",
        ),
        setup::HEADROOM,
        setup::ONLY_LASTING,
        setup::SYNCHRONOUS,
        Parameter::choice(
            "policy",
            &["weights", "deadline", "tenant"],
            "what decides a flow's share: its own weight, its deadline, its tenant",
        ),
        Parameter::new("tenants", Value::Count(2), "tenants; node n belongs to tenant n modulo their number")
            .within(1.0, 65_535.0),
        Parameter::choice(
            "start",
            &["local", "line", "residual"],
            "what a flow may send before its first computation",
        ),
        setup::MTU,
        setup::NIC_PACKETS,
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
        setup::HOP_BITS,
        Parameter::new(
            "reliable",
            Value::Flag(false),
            "receivers acknowledge, and senders repeat what is lost",
        ),
        Parameter::new(
            "window",
            Value::Count(65_535),
            "packets that a receiver of reliable flows takes from the first missing one on",
        )
        .within(1.0, 65_535.0),
    ],
};

fn params(plan: &Plan<'_>) -> Params {
    let settings = plan.settings;
    Params {
        policy: match settings.choice("policy") {
            "deadline" => Policy::Deadline,
            "tenant" => {
                Policy::Tenant(u16::try_from(settings.count("tenants")).expect("the parameter's range"))
            }
            _ => Policy::Weights,
        },
        selection: selection(settings),
        start: match settings.choice("start") {
            "line" => StartPolicy::Line,
            "residual" => StartPolicy::Residual,
            _ => StartPolicy::Local,
        },
        doubt: match settings.choice("doubt") {
            "always" => Doubt::Always,
            _ => Doubt::AfterFaults,
        },
        digest_period: settings.duration("digest_period"),
        resends: u8::try_from(settings.count("resends")).expect("the parameter's range"),
        trees: u8::try_from(settings.count("trees")).expect("the parameter's range"),
        reliable: settings.flag("reliable"),
        window: u16::try_from(settings.count("window")).expect("the parameter's range"),
        streams: plan.streams,
        ..setup::params(plan)
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

/// R2C2 as a fluid: the rates that its nodes compute, at once and for all flows.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let params = params(plan);
    let unfit = |key: &str, problem: &str, hint: &str| {
        let (key, problem, hint) = (key.to_owned(), problem.to_owned(), hint.to_owned());
        Err(Unfit { key, problem, hint })
    };
    if params.selection.is_some() {
        let problem = "flows that change their routes on the way are no fluids";
        return unfit(
            "scheme.r2c2.select",
            problem,
            "leave `select` off, or choose kind = \"packet\" in [engine]",
        );
    }
    if params.policy != Policy::Weights {
        let problem = "weights that change on the way are not known to the flow engine";
        return unfit("scheme.r2c2.policy", problem, "choose `weights`, or kind = \"packet\" in [engine]");
    }
    Ok(setup::fluid(plan, &params))
}

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let params = params(plan);
    setup::check(plan, INFO.name, &params)?;
    if params.streams && params.policy == Policy::Deadline {
        let problem =
            "a weight that follows from a deadline needs the size of the flow, which streams do not have";
        let (key, hint) = ("scheme.r2c2.policy".to_owned(), "choose `weights` or `tenant`".to_owned());
        return Err(Unfit { key, problem: problem.to_owned(), hint });
    }
    if let Some(selection) = params.selection {
        let unfit = |key: &str, problem: String, hint: String| Unfit { key: key.into(), problem, hint };
        let (protocol, routing) = (params.protocol, Routing::new(Arc::clone(plan.topology)));
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
            setup::check_route(&routing, &params, protocol, "scheme.r2c2.select_among")?;
        }
    }
    let fabric = Fabric::new(plan.topology, params);
    let seed = plan.seed;
    Ok(Built {
        node: Box::new(move |id| Parts {
            host: Some(Box::new(R2c2Node::new(&fabric, id, seed))),
            forwarder: Some(Box::new(SourceRoute::new(params.hop_bits))),
            ..Parts::default()
        }),
        queue: Box::new(|_| None),
        agent: Box::new(|_| None),
        header_bytes: HEADER as u32,
        mtu: params.mtu.into(),
        handshake: false,
        hear_of_departures: false,
    })
}
