//! Reno: the window of NewReno, but without SACK, fast recovery ends earlier (RFC 5681 §3.2).

use super::newreno::NewReno;
use super::{Acknowledged, CongestionControl, LossSign, Window};
use crate::parameter::{Value, with_defaults};
use crate::scheme::{Info, Make, Streams, Transport};
use crate::transport::tcp::scheme::{self, Parameters};
use raddle_core::Duration;

/// TCP Reno, the baseline with which the PDQ paper compares PDQ.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "tcp-reno",
        summary: "TCP Reno with a small retransmission timeout for incast, a baseline of the PDQ paper",
        source: "RFC 5681, 6298; Vasudevan et al., SIGCOMM 2009 (the timeout); specifications/pdq.md §8 (the defaults)",
        differs: &[
            "after a timeout, duplicate acknowledgements of segments sent before the timeout do not start \
             fast retransmit (RFC 6582 §3.2, step 1)",
            "a flow opens with a handshake by default; MSS, window scale and SACK are known without TCP options",
            scheme::DIFFERS[0],
            scheme::DIFFERS[2],
            scheme::DIFFERS[3],
        ],
        parameters: &with_defaults(
            Parameters::LIST,
            &[
                ("initial_window", Value::Count(2)),
                ("sack", Value::Flag(false)),
                ("limited_transmit", Value::Flag(false)),
                ("handshake", Value::Flag(true)),
                ("min_rto", Value::Duration(Duration::from_us(200))),
            ],
        ),
        ..scheme::INFO
    },
    make: Make::Hosts(scheme::build::<Reno>),
    fluid: Some(scheme::fluid),
    streams: Streams::Carried,
};

/// The window of [`NewReno`]. Without SACK, a fast recovery repairs only one loss. If several segments of a window are
/// lost, each further loss either halves the window again or is repaired after a timeout.
#[derive(Debug, Default)]
pub(crate) struct Reno(NewReno);

impl CongestionControl for Reno {
    const ENDS_RECOVERY_EARLY: bool = true;

    #[inline]
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged) {
        self.0.acknowledged(window, ack);
    }

    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, sign: LossSign) {
        self.0.lost(window, flight, mss, sign);
    }
}
