//! The headers that D3's senders and receivers write and read.

use super::port::rate_of;
use crate::transport::explicit::{Outlook, Protocol, View};
use raddle_core::{Duration, Flow, Header, Rate, Time};
use raddle_wire::Minifloat;
use raddle_wire::d3::{self, Request};
use raddle_wire::rated::{Kind, Segment};

/// D3 at a host. Once per round trip, a flow requests the rate that meets its deadline. The flow sends at the least of
/// the rates that the routers on its path have granted. Without a grant, the flow sends only requests (the base rate of
/// the paper).
#[derive(Debug, Clone, Copy)]
pub(crate) struct D3 {
    /// True if a flow ends as soon as it can no longer meet its deadline.
    pub quench: bool,
}

/// D3's state of one flow at its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    /// The rate that the flow's last request asked for.
    desired: Minifloat,
    /// The grant of each router on the path, from the last answer. Unused entries contain the greatest representable
    /// rate.
    grants: [Minifloat; Request::ROUTERS],
    /// The least of the grants, but at most the greatest rate that the flow can have; zero before the first answer.
    rate: Rate,
    /// Departure time of the flow's unanswered request; `None` if all requests have been answered.
    asked: Option<Time>,
}

/// Number of round trips after which an unanswered request counts as lost.
const LOST_AFTER: u64 = 4;

impl Sender {
    /// True if the next packet must carry a request: either no earlier request is in flight, or the earlier request is
    /// probably lost.
    fn asks(&self, view: &View) -> bool {
        self.asked.is_none_or(|asked| view.now.since(asked) >= view.rtt * LOST_AFTER)
    }
}

/// The least representable rate at which the remaining data can be sent by the deadline. Zero if the flow has no
/// deadline, or the deadline has passed.
fn desired(view: &View) -> Minifloat {
    let span = view.deadline.since(view.now).as_ps();
    if view.deadline == Time::NEVER || span == 0 {
        return Minifloat(0);
    }
    let kbps = (u128::from(view.left) * 8_000_000_000).div_ceil(u128::from(span));
    let kbps = u64::try_from(kbps).unwrap_or(u64::MAX);
    let floor = Minifloat::floor(kbps);
    if floor.get() < kbps { Minifloat(floor.0.saturating_add(1)) } else { floor }
}

impl Protocol for D3 {
    type Sender = Sender;

    fn open(&mut self, _: &Flow) -> Sender {
        Sender {
            desired: Minifloat(0),
            grants: [Minifloat::MAX; Request::ROUTERS],
            rate: Rate::ZERO,
            asked: None,
        }
    }

    fn write(&mut self, sender: &mut Sender, view: &View, segment: Segment) -> Header {
        let asks = matches!(segment.kind, Kind::Syn | Kind::Term) || sender.asks(view);
        let segment = Segment { asks, ..segment };
        if !asks {
            return Header::D3(d3::Packet { segment, request: Request::default() });
        }
        let desired = if segment.kind == Kind::Term { Minifloat(0) } else { desired(view) };
        let desired_before = std::mem::replace(&mut sender.desired, desired);
        sender.asked = Some(view.now);
        Header::D3(d3::Packet {
            segment,
            request: Request { desired, desired_before, grants: sender.grants },
        })
    }

    fn read(&mut self, sender: &mut Sender, view: &View, header: &Header) {
        if let Header::D3(answer) = header
            && answer.segment.asks
        {
            sender.asked = None;
            sender.grants = answer.request.grants;
            let least = sender.grants.iter().min().copied().unwrap_or_default();
            sender.rate = rate_of(least).min(view.limit);
        }
    }

    fn rate(&self, sender: &Sender) -> Rate {
        sender.rate
    }

    /// While a request is unanswered, the interval is long enough for a late answer to arrive. With a shorter interval,
    /// two requests in flight could return the same grant twice.
    fn probe_interval(&self, sender: &Sender, view: &View) -> Duration {
        if sender.asked.is_some() { view.rtt * LOST_AFTER } else { view.rtt }
    }

    fn gives_up(&self, outlook: &Outlook) -> bool {
        self.quench && outlook.now + outlook.least_time() > outlook.deadline
    }

    fn answer(&self, header: &Header, segment: Segment) -> Option<Header> {
        let Header::D3(packet) = header else { return None };
        Some(Header::D3(d3::Packet { segment, ..*packet }))
    }
}
