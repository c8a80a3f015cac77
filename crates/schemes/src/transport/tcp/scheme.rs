//! The parts that are common to all TCP entries in the registry: the parameters, and the function that builds hosts.

use super::control::CongestionControl;
use super::{Params, TcpHost, packet};
use crate::fluid::{Sharing, Ways, max_min};
use crate::parameters;
use crate::scheme::{Hosts, Info, Plan, Unfit, View, check_addresses};
use raddle_core::{Bytes, Duration, Flow, Packet};
use raddle_wire::FiveTuple;
use raddle_wire::tcp::Segment;
use std::sync::Arc;

/// Greatest retransmission timeout. No timeout among the parameters may exceed this value.
const MOST_RTO: Duration = Duration::from_ms(60_000); // RFC 6298 §2.5

/// The parts of `Info` that are the same for all TCP algorithms.
pub(super) const INFO: Info = Info {
    name: "",
    summary: "",
    source: "",
    differs: &[],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    /// TCP's parameters. The defaults are the primary setting of the comparison of R2C2 with TCP
    /// (specifications/r2c2.md §8.1).
    pub(super) struct Parameters {
        /// payload bytes of a full segment
        mss: u16 = Bytes(1_460), 1..=8_960;
        /// number of segments that may be sent before the first acknowledgement
        initial_window: u16 = 10, 1..=1_000;
        /// initial slow-start threshold
        initial_ssthresh: u32 = Bytes(u32::MAX as u64), 1..=u32::MAX as u64;
        /// receivers send selective acknowledgements, and loss recovery uses them
        sack: bool = true;
        /// send a new segment at each of the first two duplicate acknowledgements; always on with `sack`
        limited_transmit: bool = true;
        /// open each flow with SYN and SYN-ACK
        handshake: bool = false;
        /// time after which a single segment is acknowledged; every second segment is acknowledged at once; with 0,
        /// every segment is acknowledged at once
        delayed_ack: Option<Duration> = Duration::ZERO;
        /// lower bound of the retransmission timeout
        min_rto: Duration = Duration::from_ms(1), Duration::ZERO..=MOST_RTO;
        /// retransmission timeout of data before the first round trip has been measured
        initial_rto: Duration = Duration::from_ms(5), Duration::from_ps(1)..=MOST_RTO;
        /// timeout of a SYN; it doubles with each retransmission
        syn_timeout: Duration = Duration::from_ms(5), Duration::from_ps(1)..=MOST_RTO;
        /// number of unanswered SYNs after which the flow is given up
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

/// The differences from TCP on the Internet that the TCP algorithms of this folder have in common. Only Reno replaces
/// the second difference, because its flows open with a handshake by default.
pub(super) const DIFFERS: [&str; 4] = [
    "flows are one-way: the FIN on the last data segment ends the flow, and the reverse direction is never closed",
    "there is no handshake unless `handshake = true`; MSS, window scale and SACK are known without TCP options",
    "the receiving application reads at once, so the advertised window never shrinks",
    "a sender gives up a flow only if no SYN is answered; it does not return to slow start after an idle period",
];

/// The fluid model of all TCP algorithms: flows get their max-min shares without delay. The model leaves out slow
/// start, losses and the convergence of windows.
pub(super) fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    Ok(Sharing { policy: max_min(plan.topology, 0.0), acknowledged: true, ways: Ways::Routed(first_segment) })
}

/// The first segment of flow `number` of a host, with only the fields that routing reads.
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
