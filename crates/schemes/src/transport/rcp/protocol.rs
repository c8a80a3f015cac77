//! The headers that RCP's senders and receivers write and read.

use crate::transport::explicit::{Protocol, View};
use raddle_core::{Duration, Flow, Header, Rate};
use raddle_wire::rated::Segment;
use raddle_wire::{Minifloat, rcp};

/// RCP at a host: a flow requests the greatest rate that it can use, and sends at the rate that comes back in the
/// acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rcp;

impl Protocol for Rcp {
    type Sender = Rate;

    fn open(&mut self, _: &Flow) -> Rate {
        Rate::ZERO
    }

    fn write(&mut self, _: &mut Rate, view: &View, segment: Segment) -> Header {
        let rate = u32::try_from(view.limit.as_bps() / 1_000).unwrap_or(u32::MAX);
        let rtt = Minifloat::floor(view.rtt.as_ps() / 1_000);
        Header::Rcp(rcp::Packet { segment, rate, rtt })
    }

    fn read(&mut self, rate: &mut Rate, _: &View, header: &Header) {
        if let Header::Rcp(answer) = header {
            *rate = Rate::from_bps(u64::from(answer.rate) * 1_000);
        }
    }

    fn rate(&self, rate: &Rate) -> Rate {
        *rate
    }

    fn probe_interval(&self, _: &Rate, view: &View) -> Duration {
        view.rtt
    }

    fn answer(&self, header: &Header, segment: Segment) -> Option<Header> {
        let Header::Rcp(packet) = header else { return None };
        Some(Header::Rcp(rcp::Packet { segment, ..*packet }))
    }
}
