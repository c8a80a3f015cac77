//! What the registry's entries of TCP have in common: parameters, and how hosts are built.

use super::control::CongestionControl;
use super::{Params, TcpHost, packet};
use crate::fluid::{Sharing, Ways, max_min};
use crate::parameter::{Parameter, Value};
use crate::scheme::{Hosts, Info, Plan, Unfit, View, check_addresses};
use crate::transport::five_tuple;
use raddle_core::{Bytes, Duration, Flow, Packet};
use raddle_wire::tcp::Segment;
use std::sync::Arc;

/// Most that a timeout may be, [`Params::max_rto`]'s default, in picoseconds.
const MOST_RTO_PS: f64 = 6e13;

/// What is common to the entries of TCP's algorithms.
pub(super) const INFO: Info = Info {
    name: "",
    summary: "",
    source: "",
    differs: &[],
    view: View::Local,
    parameters: &parameters(&Defaults {
        initial_window: 10,
        sack: true,
        limited_transmit: true,
        handshake: false,
        min_rto: Duration::from_ms(1),
    }),
};

/// Values of those parameters that are not the same for all algorithms.
pub(super) struct Defaults {
    pub(super) initial_window: u64,
    pub(super) sack: bool,
    pub(super) limited_transmit: bool,
    pub(super) handshake: bool,
    pub(super) min_rto: Duration,
}

/// TCP's parameters.
pub(super) const fn parameters(defaults: &Defaults) -> [Parameter; 12] {
    let &Defaults { initial_window, sack, limited_transmit, handshake, min_rto } = defaults;
    [
        Parameter::new("mss", Value::Bytes(1_460), "payload bytes of a full segment").within(1.0, 8_960.0),
        Parameter::new(
            "initial_window",
            Value::Count(initial_window),
            "segments sent before the first acknowledgement",
        )
        .within(1.0, 1_000.0),
        Parameter::new("initial_ssthresh", Value::Bytes(u32::MAX as u64), "the first slow-start threshold")
            .within(1.0, u32::MAX as f64),
        Parameter::new("sack", Value::Flag(sack), "selective acknowledgements, and recovery by them"),
        Parameter::new(
            "limited_transmit",
            Value::Flag(limited_transmit),
            "new segments at the first two duplicate acknowledgements; with sack always",
        ),
        Parameter::new("handshake", Value::Flag(handshake), "open each flow with SYN and SYN-ACK"),
        Parameter::new(
            "delayed_ack",
            Value::Duration(Duration::ZERO),
            "acknowledge every second segment, and a lone one after this time; 0 acknowledges each at once",
        ),
        Parameter::new("min_rto", Value::Duration(min_rto), "least retransmission timeout")
            .within(0.0, MOST_RTO_PS),
        Parameter::new(
            "initial_rto",
            Value::Duration(Duration::from_ms(5)),
            "retransmission timeout of data before the first round trip has been measured",
        )
        .within(1.0, MOST_RTO_PS),
        Parameter::new(
            "syn_timeout",
            Value::Duration(Duration::from_ms(5)),
            "the SYN's timeout, which doubles with each that is repeated",
        )
        .within(1.0, MOST_RTO_PS),
        Parameter::new("syn_tries", Value::Count(6), "SYNs sent before the flow is given up")
            .within(1.0, 255.0),
        Parameter::new("receive_window", Value::Bytes(65_535 << 10), "window that the receiver offers")
            .within(9_216.0, 67_107_840.0),
    ]
}

/// Where all of them differ from what hosts of the Internet do.
pub(super) const DIFFERS: [&str; 4] = [
    "flows go one way; the FIN on the last data segment ends them, and the other half is never closed",
    "no handshake unless asked for; MSS, window scale and SACK are known without options",
    "the receiving application reads at once, so the window offered never shrinks",
    "a sender gives up only if no SYN is answered, and does not slow-start again after an idle period",
];

fn params(plan: &Plan<'_>) -> Params {
    let settings = plan.settings;
    let small = |name| u16::try_from(settings.count(name)).expect("the parameter's range");
    Params {
        mss: small("mss"),
        initial_window: small("initial_window"),
        initial_ssthresh: u32::try_from(settings.count("initial_ssthresh")).expect("the parameter's range"),
        sack: settings.flag("sack"),
        limited_transmit: settings.flag("limited_transmit"),
        handshake: settings.flag("handshake"),
        delayed_ack: Some(settings.duration("delayed_ack")).filter(|&delay| delay > Duration::ZERO),
        min_rto: settings.duration("min_rto"),
        initial_rto: settings.duration("initial_rto"),
        syn_timeout: settings.duration("syn_timeout"),
        syn_tries: u8::try_from(settings.count("syn_tries")).expect("the parameter's range"),
        receive_window: Bytes(settings.count("receive_window")),
        streams: plan.streams,
        ..Params::default()
    }
}

/// TCP as a fluid: max-min shares at once, whatever the algorithm. Slow start, losses and the time that windows take to converge
/// are left out.
pub(super) fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged: true, ways: Ways::Routed(first_segment) })
}

/// The first segment of a host's `number`th flow, as far as switches can tell.
fn first_segment(flow: &Flow, number: u64) -> Packet {
    let (src_port, dst_port) = five_tuple::ports(number);
    packet(Segment { src: flow.src.0, dst: flow.dst.0, src_port, dst_port, plen: 1, ..Segment::default() })
}

pub(super) fn build<C: CongestionControl>(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    let params = params(plan);
    check_addresses(plan.topology, "TCP")?;
    let shared = Arc::new(params);
    Ok(Hosts {
        host: Box::new(move |id| Box::new(TcpHost::<C>::new(id, Arc::clone(&shared)))),
        header_bytes: 40,
        mtu: params.mss.into(),
        handshake: params.handshake,
        hear_of_departures: false,
    })
}
