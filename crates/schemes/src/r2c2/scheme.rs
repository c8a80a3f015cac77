//! R2C2's entry in the registry.

use super::outgoing::HEADER;
use super::{Fabric, Params, R2c2Node, SourceRoute, StartPolicy, setup};
use crate::parameter::{Parameter, Value};
use crate::registry::{Info, Parts, Plan, Scheme, Unfit, View};
use raddle_core::{Duration, Node};

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
    routings: setup::ROUTINGS,
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
            "start",
            &["line", "local", "residual"],
            "what a flow may send before its first computation",
        ),
        setup::MTU,
        setup::NIC_PACKETS,
        Parameter::new("trees", Value::Count(6), "broadcast trees a source").within(1.0, 64.0),
        setup::HOP_BITS,
    ],
};

fn params(plan: &Plan<'_>) -> Params {
    let settings = plan.settings;
    Params {
        start: match settings.choice("start") {
            "local" => StartPolicy::Local,
            "residual" => StartPolicy::Residual,
            _ => StartPolicy::Line,
        },
        trees: u8::try_from(settings.count("trees")).expect("the parameter's range"),
        ..setup::params(plan)
    }
}

fn build(plan: &Plan<'_>) -> Result<Parts, Unfit> {
    let params = params(plan);
    setup::check(plan, INFO.name, &params)?;
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
