//! TCP's entry in the registry.

use super::{Params, TcpHost};
use crate::parameter::{Parameter, Value};
use crate::registry::{Hosts, Info, Make, Plan, Transport, Unfit, View};
use raddle_core::{Bytes, Duration};
use std::sync::Arc;

/// TCP NewReno.
pub const TRANSPORT: Transport = Transport { info: INFO, make: Make::Hosts(build) };

const INFO: Info = Info {
    name: "tcp-newreno",
    summary: "TCP NewReno with selective acknowledgements",
    source: "RFC 5681, 6582, 6675, 2018, 6298, 3042, 6928; the comparison of R2C2 §5.1",
    differs: &[
        "flows go one way; the FIN on the last data segment ends them, and the other half is never closed",
        "no handshake unless asked for; MSS, window scale and SACK are known without options",
        "the receiving application reads at once, so the window offered never shrinks",
        "a sender never gives up, and does not slow-start again after an idle period",
    ],
    view: View::Local,
    parameters: &[
        Parameter::new("mss", Value::Bytes(1_460), "payload bytes of a full segment").within(1.0, 8_960.0),
        Parameter::new("initial_window", Value::Count(10), "segments sent before the first acknowledgement")
            .within(1.0, 1_000.0),
        Parameter::new("sack", Value::Flag(true), "selective acknowledgements, and recovery by them"),
        Parameter::new("handshake", Value::Flag(false), "open each flow with SYN and SYN-ACK"),
        Parameter::new(
            "delayed_ack",
            Value::Duration(Duration::ZERO),
            "acknowledge every second segment, and a lone one after this time; 0 acknowledges each at once",
        ),
        Parameter::new("min_rto", Value::Duration(Duration::from_ms(1)), "least retransmission timeout"),
        Parameter::new(
            "initial_rto",
            Value::Duration(Duration::from_ms(5)),
            "retransmission timeout before the first round trip has been measured; also the SYN's",
        )
        .within(1.0, 1e15),
        Parameter::new("receive_window", Value::Bytes(65_535 << 10), "window that the receiver offers")
            .within(9_216.0, 67_107_840.0),
    ],
};

fn params(plan: &Plan<'_>) -> Params {
    let settings = plan.settings;
    let small = |name| u16::try_from(settings.count(name)).expect("the parameter's range");
    Params {
        mss: small("mss"),
        initial_window: small("initial_window"),
        sack: settings.flag("sack"),
        handshake: settings.flag("handshake"),
        delayed_ack: Some(settings.duration("delayed_ack")).filter(|&delay| delay > Duration::ZERO),
        min_rto: settings.duration("min_rto"),
        initial_rto: settings.duration("initial_rto"),
        receive_window: Bytes(settings.count("receive_window")),
        ..Params::default()
    }
}

fn build(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    let params = params(plan);
    let nodes = plan.topology.node_count();
    if nodes > 1 << 24 {
        let problem = format!("TCP addresses 16,777,216 nodes here; this fabric has {nodes}");
        return Err(Unfit { key: "topology".into(), problem, hint: "choose a smaller fabric".into() });
    }
    let shared = Arc::new(params);
    Ok(Hosts {
        host: Box::new(move |id| Box::new(TcpHost::new(id, Arc::clone(&shared)))),
        header_bytes: 40,
        mtu: params.mss.into(),
        handshake: params.handshake,
    })
}
