//! Parts that TCP's entries in the registry share: the parameters, and the function that builds hosts.

use super::control::CongestionControl;
use super::{Params, TcpHost, packet};
use crate::fluid::{Sharing, Ways, max_min};
use crate::parameters;
use crate::scheme::{Hosts, Info, Plan, Unfit, View, check_addresses};
use raddle_core::{Bytes, Duration, Flow, Packet};
use raddle_wire::FiveTuple;
use raddle_wire::tcp::Segment;
use std::sync::Arc;

/// Greatest timeout.
const MOST_RTO: Duration = Duration::from_ms(60_000); // RFC 6298 §2.5

/// The parts of `Info` that the entries of all TCP algorithms share.
pub(super) const INFO: Info = Info {
    name: "",
    summary: "",
    source: "",
    differs: &[],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    /// TCP's parameters; the defaults are the primary setting of the comparison with R2C2 (specification §8.1).
    pub(super) struct Parameters {
        /// payload bytes of a full segment
        mss: u16 = Bytes(1_460), 1..=8_960;
        /// segments sent before the first acknowledgement
        initial_window: u16 = 10, 1..=1_000;
        /// initial slow-start threshold
        initial_ssthresh: u32 = Bytes(u32::MAX as u64), 1..=u32::MAX as u64;
        /// use selective acknowledgements, also for loss recovery
        sack: bool = true;
        /// send a new segment at each of the first two duplicate acknowledgements; always on with `sack`
        limited_transmit: bool = true;
        /// open each flow with SYN and SYN-ACK
        handshake: bool = false;
        /// acknowledge every second segment at once, and a single one after this time; 0 acknowledges every segment
        /// at once
        delayed_ack: Option<Duration> = Duration::ZERO;
        /// lower bound of the retransmission timeout
        min_rto: Duration = Duration::from_ms(1), Duration::ZERO..=MOST_RTO;
        /// retransmission timeout of data before the first round trip has been measured
        initial_rto: Duration = Duration::from_ms(5), Duration::from_ps(1)..=MOST_RTO;
        /// timeout of a SYN, which doubles with each retransmission
        syn_timeout: Duration = Duration::from_ms(5), Duration::from_ps(1)..=MOST_RTO;
        /// number of SYNs that are sent before the flow is given up
        syn_tries: u8 = 6, 1..=255;
        /// window that the receiver advertises
        receive_window: Bytes = Bytes(65_535 << 10), 9_216..=67_107_840;
    }
}

impl From<Parameters> for Params {
    fn from(parameters: Parameters) -> Self {
        let Parameters { mss, initial_window, initial_ssthresh, sack, limited_transmit, handshake, .. } =
            parameters;
        let Parameters { delayed_ack, min_rto, initial_rto, syn_timeout, syn_tries, receive_window, .. } =
            parameters;
        Self {
            mss,
            initial_window,
            initial_ssthresh,
            sack,
            limited_transmit,
            handshake,
            delayed_ack,
            min_rto,
            initial_rto,
            syn_timeout,
            syn_tries,
            max_rto: MOST_RTO,
            receive_window,
            initial_sequence: 0,
            streams: false,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Parameters::default().into()
    }
}

/// Differences of all TCP algorithms from hosts on the Internet.
pub(super) const DIFFERS: [&str; 4] = [
    "flows are one-way: the FIN on the last data segment ends the flow, and the reverse direction is never closed",
    "there is no handshake unless `handshake = true`; MSS, window scale and SACK are known without TCP options",
    "the receiving application reads at once, so the advertised window never shrinks",
    "a sender gives up a flow only if no SYN is answered; it does not return to slow start after an idle period",
];

/// TCP as a fluid: flows get their max-min shares at once, with every algorithm. The model leaves out slow start,
/// losses and the time that windows take to converge.
pub(super) fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged: true, ways: Ways::Routed(first_segment) })
}

/// The first segment of a host's flow with this `number`, with the fields that switches read.
fn first_segment(flow: &Flow, number: u64) -> Packet {
    let (src_port, dst_port) = FiveTuple::ports_of(number);
    packet(Segment { src: flow.src.0, dst: flow.dst.0, src_port, dst_port, plen: 1, ..Segment::default() })
}

pub(super) fn build<C: CongestionControl>(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    let params = Params { streams: plan.streams, ..Params::from(Parameters::of(plan.settings)) };
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
