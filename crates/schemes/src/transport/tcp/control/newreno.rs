//! NewReno's window (RFC 5681).

use super::{Acknowledged, CongestionControl, LossSign, Window};
use crate::scheme::{Info, Make, Streams, Transport};
use crate::transport::tcp::scheme;

/// TCP NewReno.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "tcp-newreno",
        summary: "TCP NewReno with selective acknowledgements",
        source: "RFC 5681, 6582, 6675, 2018, 6298, 3042, 6928; the TCP of R2C2 §5.1",
        differs: &scheme::DIFFERS,
        ..scheme::INFO
    },
    make: Make::Hosts(scheme::build::<NewReno>),
    fluid: Some(scheme::fluid),
    streams: Streams::Carried,
};

/// The algorithm of NewReno: slow start, then growth by one segment per round trip. A loss halves the window.
#[derive(Debug, Default)]
pub(crate) struct NewReno;

impl CongestionControl for NewReno {
    #[inline]
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged) {
        if ack.may_grow {
            window.grow(ack.bytes, ack.mss);
        }
    }

    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, _: LossSign) {
        window.set_ssthresh(flight / 2, mss);
    }
}
