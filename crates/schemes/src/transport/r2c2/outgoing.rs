//! The sending end of one flow: decides which packet the flow sends next, and when. The paper has one token bucket per
//! flow (§3.5). This code instead computes the time of the next departure, with the same effect.

use super::Params;
use super::demand::Demand;
use super::policy::urgency;
use super::protocol_number::number;
use super::unacknowledged::{Piece, Unacknowledged};
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, PortId, Rate, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{Acknowledgement, Event, EventKind, Route, UNLIMITED_KBPS};

/// Size of the data header, in bytes.
pub(crate) const HEADER: u64 = 36;
/// Depth of the token bucket, as the time in which its tokens accumulate. The bucket has room for at least two packets.
const BUCKET: Duration = Duration::from_us(10);

/// Size in bytes, headers included, of `payload` bytes in as few packets as possible.
fn on_wire(payload: u64, mtu: u16) -> u64 {
    payload + payload.div_ceil(mtu.into()) * HEADER
}

/// The route drawn for the next packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub(super) route: Route,
    pub(super) hops: u8,
    pub(super) first: PortId,
}

/// A flow that is being sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) flow: Flow,
    pub(crate) lid: u16,
    /// The announced weight.
    pub(super) weight: u8,
    /// The routing protocol that chooses the flow's paths.
    pub(super) protocol: Protocol,
    /// Number of payload bytes sent, without retransmissions.
    pub(super) released: u64,
    /// Number of packets sent, without retransmissions.
    pub(super) seq: u32,
    /// True if the flow is a stream that the application has not closed.
    is_open: bool,
    /// True if the flow's last packet has been sent.
    has_ended: bool,
    /// The route drawn for the next packet. While the first hop is busy, the flow keeps this route, because another
    /// draw would bias the choice of paths.
    pub(super) drawn: Option<Drawn>,
    demand: Demand,
    /// Value of [`sent`](Self::sent) at the end of the last demand period.
    sent_before: u64,
    /// True if the flow is reliable and waits because no path leads to its destination.
    pub(super) cut_off: bool,
    /// The unacknowledged packets; `None` if the flow is not reliable.
    unacknowledged: Option<Box<Unacknowledged>>,
    /// The rate limit in bit/s. `None` under [`super::StartPolicy::Line`] until a rate computation has included the
    /// flow, and with a central controller until the flow's first rate has arrived.
    rate: Option<f64>,
    /// Time from which the flow owes no tokens, so that the rate limiter allows the next packet; [`Time::NEVER`] if the
    /// limit is below 1 bit/s.
    refilled: Time,
    /// Time at which both the rate limiter and the application allow the next packet; [`Time::NEVER`] if there is none.
    ready: Time,
}

impl Outgoing {
    pub(crate) fn new(flow: Flow, lid: u16, params: &Params) -> Self {
        let mut outgoing = Self {
            flow,
            lid,
            weight: flow.weight,
            protocol: params.protocol,
            released: 0,
            seq: 0,
            is_open: flow.is_stream,
            has_ended: false,
            drawn: None,
            demand: Demand::default(),
            sent_before: 0,
            cut_off: false,
            unacknowledged: params.reliable.then(|| Box::new(Unacknowledged::new(params.window))),
            rate: None,
            refilled: Time::ZERO,
            ready: Time::ZERO,
        };
        outgoing.set_ready(params.mtu);
        outgoing
    }

    pub(super) fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// The packet to send next. `None` if there is no packet to send, or the receiver's window does not allow a packet.
    pub(super) fn next_piece(&self, mtu: u16) -> Option<Piece> {
        if let Some(unacknowledged) = &self.unacknowledged {
            if let Some(lost) = unacknowledged.to_repeat() {
                return Some(lost);
            }
            if !unacknowledged.allows(self.seq) {
                return None;
            }
        }
        let left = self.flow.size.0 - self.released;
        let payload = u16::try_from(left.min(mtu.into()))
            .expect("a payload must be at most the MTU, which is below 2^16");
        (left > 0 || !self.is_open && !self.has_ended).then(|| Piece {
            seq: self.seq,
            payload,
            last: u64::from(payload) == left && !self.is_open,
            repeated: false,
        })
    }

    /// True if this flow has id `id` and is a stream that the application has not closed.
    pub(super) fn is_open_stream(&self, id: FlowId) -> bool {
        self.is_open && self.flow.id == id
    }

    /// Appends the application's bytes to an open stream, or closes the stream.
    pub(super) fn change(&mut self, bytes: Bytes, closes: bool, mtu: u16) {
        self.flow.size.0 += bytes.0;
        self.is_open = !closes;
        self.set_ready(mtu);
    }

    /// Number of acknowledged bytes from the start of a reliable flow, or zero for other flows.
    pub(super) fn acknowledged(&self) -> Bytes {
        Bytes(self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.acknowledged()))
    }

    /// True if the flow is finished: its last packet has been sent and, in a reliable flow, all packets are
    /// acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.has_ended && self.unacknowledged.as_ref().is_none_or(|unacknowledged| unacknowledged.is_empty())
    }

    /// Payload bytes sent, retransmissions included.
    pub(super) fn sent(&self) -> u64 {
        self.released
            + self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.repeated_bytes())
    }

    /// Number of retransmissions of packets.
    pub(super) fn repeats(&self) -> u32 {
        self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.repeats())
    }

    /// Handles an acknowledgement from the receiver of a reliable flow.
    pub(super) fn acknowledge(&mut self, now: Time, ack: &Acknowledgement, mtu: u16) {
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.acknowledge(now, ack);
            self.set_ready(mtu);
        }
    }

    /// Time of the next call of [`time_out`](Self::time_out), or [`Time::NEVER`].
    pub(super) fn deadline(&self) -> Time {
        self.unacknowledged.as_ref().map_or(Time::NEVER, |unacknowledged| unacknowledged.deadline())
    }

    /// Handles the retransmission timeout if it is due.
    pub(super) fn time_out(&mut self, now: Time, mtu: u16) {
        if let Some(unacknowledged) = &mut self.unacknowledged
            && unacknowledged.time_out(now)
        {
            self.set_ready(mtu);
        }
    }

    /// Called after the paths to the destination may have changed. `cut_off` is true if no path is left. The packets in
    /// flight of a reliable flow then count as lost.
    pub(super) fn reroute(&mut self, cut_off: bool, mtu: u16) {
        self.drawn = None;
        self.cut_off = cut_off;
        if let Some(unacknowledged) = self.unacknowledged.as_mut().filter(|_| cut_off) {
            unacknowledged.lose_all();
            self.set_ready(mtu);
        }
    }

    /// Time at which both the rate limiter and the application allow the next packet; [`Time::NEVER`] if there is none.
    pub(super) fn ready_at(&self) -> Time {
        self.ready
    }

    fn set_ready(&mut self, mtu: u16) {
        let produced = match (self.next_piece(mtu), self.flow.app_rate) {
            (None, _) => Time::NEVER,
            // The empty last packet of a stream ignores the rate limit, because an idle stream may have a rate of zero.
            // The packet uses the headroom of the links.
            (Some(Piece { payload: 0, .. }), _) => {
                self.ready = Time::ZERO;
                return;
            }
            (Some(piece), Some(rate)) if !piece.repeated => {
                self.flow.start + rate.time_for(Bytes(self.released + u64::from(piece.payload)))
            }
            _ => Time::ZERO,
        };
        self.ready = produced.max(self.refilled);
    }

    /// An event of kind `kind` with the flow's current state. The caller must set the broadcast tree.
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        let node = |id: NodeId| u16::try_from(id.0).expect("R2C2 supports at most 65,536 nodes");
        Event {
            kind,
            tree: 0,
            src: node(self.flow.src),
            dst: node(self.flow.dst),
            weight: self.weight,
            priority: self.flow.priority,
            protocol: number(self.protocol),
            demand_kbps: match kind {
                EventKind::Start => UNLIMITED_KBPS,
                EventKind::Finish => 0,
                EventKind::Demand | EventKind::Route | EventKind::Refresh => self.demand.announced_kbps(),
            },
            lid: self.lid,
        }
    }

    /// Ends a demand period of length `period` (§3.3.2). Does nothing for a flow that is cut off, or whose application
    /// cannot be the bottleneck. Returns true if the flow has a new demand to announce.
    pub(super) fn end_demand_period(&mut self, now: Time, period: Duration, mtu: u16) -> bool {
        let may_be_short_of_bytes = self.flow.app_rate.is_some() || self.flow.is_stream;
        if !may_be_short_of_bytes || self.cut_off {
            return false;
        }
        // Rates and rate limiters count headers as well as payload.
        let released = on_wire(self.sent() - self.sent_before, mtu);
        self.sent_before = self.sent();
        // If the flow began within this period, the bytes that it has sent are not a measure of the demand.
        let Some(rate) = self.rate.filter(|_| now.since(self.flow.start) >= period) else { return false };
        let queued = on_wire(self.backlog(now, mtu), mtu);
        let few = 2 * on_wire(mtu.into(), mtu);
        self.demand.period(released, queued, few, period.as_secs_f64(), rate)
    }

    /// Bytes that the application has produced and that the flow must still send or retransmit.
    fn backlog(&self, now: Time, mtu: u16) -> u64 {
        let produced = match self.flow.app_rate {
            Some(rate) => rate.bytes_in(now.since(self.flow.start)).0.min(self.flow.size.0),
            None => self.flow.size.0,
        };
        let lost =
            self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.bytes_to_repeat(mtu));
        produced.saturating_sub(self.released) + lost
    }

    /// The flow's weight under the deadline policy, which depends on the time left until the deadline. `link` is the
    /// rate of the node's fastest link.
    pub(super) fn urgency(&self, now: Time, mtu: u16, link: Rate) -> u8 {
        let left = self.flow.deadline.map(|_| self.flow.due().since(now));
        urgency(on_wire(self.flow.size.0 - self.released, mtu), left, link)
    }

    /// Limits the flow to `rate` bit/s from `now` on. The number of bytes for which the flow has saved tokens, or owes
    /// tokens, does not change, except that saved tokens must fit into the bucket. A limit below 1 bit/s stops the
    /// flow, and cancels saved and owed tokens.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn limit(&mut self, now: Time, rate: f64, mtu: u16) {
        let debt_bytes = match self.rate {
            Some(old) if self.refilled > now && self.refilled < Time::NEVER => {
                self.refilled.since(now).as_secs_f64() * old / 8.0
            }
            _ => 0.0,
        };
        let saved_bytes = match self.rate {
            Some(old) if self.refilled < now => {
                now.since(self.refilled.max(self.oldest_token(now, mtu))).as_secs_f64() * old / 8.0
            }
            _ => 0.0,
        };
        self.rate = Some(rate);
        self.refilled = if rate < 1.0 {
            Time::NEVER
        } else {
            let saved = Duration::from_ps(now.as_ps().min((saved_bytes * 8e12 / rate) as u64));
            let depth = now.since(self.oldest_token(now, mtu));
            let earlier = Time::from_ps(now.as_ps() - saved.min(depth).as_ps());
            earlier + Duration::from_ps((debt_bytes * 8e12 / rate) as u64)
        };
        self.set_ready(mtu);
    }

    /// Tokens that accumulated before the returned time cannot be used at `now`, because the bucket has a limited
    /// depth.
    fn oldest_token(&self, now: Time, mtu: u16) -> Time {
        let two_packets = self.transmission(2 * (u64::from(mtu) + HEADER));
        Time::from_ps(now.as_ps().saturating_sub(two_packets.max(BUCKET).as_ps()))
    }

    /// Time to send `bytes` at the flow's rate limit. Zero if the flow has no limit, or a limit below 1 bit/s.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn transmission(&self, bytes: u64) -> Duration {
        match self.rate {
            Some(rate) if rate >= 1.0 => Rate::from_bps(rate as u64).time_for(Bytes(bytes)),
            _ => Duration::ZERO,
        }
    }

    /// Records that the packet from [`next_piece`](Self::next_piece) leaves now.
    pub(super) fn release(&mut self, now: Time, piece: Piece, mtu: u16) {
        let payload = piece.payload;
        if !piece.repeated {
            self.released += u64::from(payload);
            self.seq = self.seq.wrapping_add(1);
            self.has_ended = piece.last;
        }
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.sent(now, piece);
        }
        self.drawn = None;
        if self.rate.is_some() {
            let cost = self.transmission(u64::from(payload) + HEADER);
            self.refilled = self.refilled.max(self.oldest_token(now, mtu)) + cost;
        }
        self.set_ready(mtu);
    }
}
