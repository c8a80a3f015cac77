//! The sending end of one flow: what it may send when (§3.5: a token bucket a flow, here as the time of the next
//! departure).

use super::Params;
use super::demand::Demand;
use super::policy::urgency;
use super::protocol_number::number;
use super::unacknowledged::{Piece, Unacknowledged};
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, PortId, Rate, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{Acknowledgement, Event, EventKind, Route, UNLIMITED_KBPS};

/// Bytes of the data header.
pub(crate) const HEADER: u64 = 36;
/// A limiter saves up tokens for this long at most, or for two packets.
const BUCKET: Duration = Duration::from_us(10);

/// Bytes on the wire that carry `payload` bytes in packets as full as they can be.
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
    /// Its weight as announced.
    pub(super) weight: u8,
    /// How it chooses paths.
    pub(super) protocol: Protocol,
    /// Payload bytes sent, each counted once.
    pub(super) released: u64,
    /// Packets sent, each counted once.
    pub(super) seq: u32,
    /// Whether the application may append bytes, of a stream.
    is_open: bool,
    /// Whether the flow's last packet has been sent.
    has_ended: bool,
    /// Kept while its first hop is busy, so that waiting does not bias the choice of paths.
    pub(super) drawn: Option<Drawn>,
    demand: Demand,
    /// [`sent`](Self::sent) when the demand's last period ended.
    sent_before: u64,
    /// Whether no way leads to the destination, in a reliable flow, which waits for one.
    pub(super) cut_off: bool,
    /// Of a reliable flow.
    unacknowledged: Option<Box<Unacknowledged>>,
    /// `None` until a computation has included the flow, under [`super::StartPolicy::Line`].
    rate: Option<f64>,
    /// When the bucket holds enough for the next packet.
    refilled: Time,
    /// When limiter and application allow the next packet.
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

    /// The packet to send next, if there is one that the receiver takes.
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
        let payload = u16::try_from(left.min(mtu.into())).expect("at most the MTU");
        (left > 0 || !self.is_open && !self.has_ended).then(|| Piece {
            seq: self.seq,
            payload,
            last: u64::from(payload) == left && !self.is_open,
            repeated: false,
        })
    }

    /// Whether it is the stream of that number, and the application has not closed it.
    pub(super) fn is_open_stream(&self, id: FlowId) -> bool {
        self.is_open && self.flow.id == id
    }

    /// The application appends bytes to an open stream, or closes it.
    pub(super) fn change(&mut self, bytes: Bytes, closes: bool, mtu: u16) {
        self.flow.size.0 += bytes.0;
        self.is_open = !closes;
        self.set_ready(mtu);
    }

    /// How many of the first bytes of a reliable flow have arrived.
    pub(super) fn acknowledged(&self) -> Bytes {
        Bytes(self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.acknowledged()))
    }

    /// Whether nothing is left to do: the last packet is sent and, in a reliable flow, all have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.has_ended && self.unacknowledged.as_ref().is_none_or(|unacknowledged| unacknowledged.is_empty())
    }

    /// Payload bytes sent, repeats included.
    pub(super) fn sent(&self) -> u64 {
        self.released
            + self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.repeated_bytes())
    }

    /// Packets sent more than once.
    pub(super) fn repeats(&self) -> u32 {
        self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.repeats())
    }

    /// Takes in what the receiver of a reliable flow has.
    pub(super) fn acknowledge(&mut self, now: Time, ack: &Acknowledgement, mtu: u16) {
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.acknowledge(now, ack);
            self.set_ready(mtu);
        }
    }

    /// When [`time_out`](Self::time_out) has something to do.
    pub(super) fn deadline(&self) -> Time {
        self.unacknowledged.as_ref().map_or(Time::NEVER, |unacknowledged| unacknowledged.deadline())
    }

    /// Gives up waiting for an acknowledgement that is overdue.
    pub(super) fn time_out(&mut self, now: Time, mtu: u16) {
        if let Some(unacknowledged) = &mut self.unacknowledged
            && unacknowledged.time_out(now)
        {
            self.set_ready(mtu);
        }
    }

    /// The ways to the destination have changed; the flow is reliable if there is none.
    pub(super) fn reroute(&mut self, cut_off: bool, mtu: u16) {
        self.drawn = None;
        self.cut_off = cut_off;
        if let Some(unacknowledged) = self.unacknowledged.as_mut().filter(|_| cut_off) {
            unacknowledged.lose_all();
            self.set_ready(mtu);
        }
    }

    /// When limiter and application allow the next packet.
    pub(super) fn ready_at(&self) -> Time {
        self.ready
    }

    fn set_ready(&mut self, mtu: u16) {
        let produced = match (self.next_piece(mtu), self.flow.app_rate) {
            (None, _) => Time::NEVER,
            // The end of a stream that had no more to send, and so perhaps no rate any more. Headroom has room for it.
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

    /// What its source says of it; if it broadcasts that, it also chooses the tree.
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        let node = |id: NodeId| u16::try_from(id.0).expect("R2C2 addresses 65,536 nodes");
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

    /// Ends a demand period of `period`, if the application may be the bottleneck (§3.3.2). Returns whether there is a
    /// new demand to announce.
    pub(super) fn end_demand_period(&mut self, now: Time, period: Duration, mtu: u16) -> bool {
        let may_be_short_of_bytes = self.flow.app_rate.is_some() || self.flow.is_stream;
        if !may_be_short_of_bytes || self.cut_off {
            return false;
        }
        // In bytes on the wire, as rates and limiters count.
        let released = on_wire(self.sent() - self.sent_before, mtu);
        self.sent_before = self.sent();
        // The first period of a flow is not a whole one: what was released in it says too little.
        let Some(rate) = self.rate.filter(|_| now.since(self.flow.start) >= period) else { return false };
        let queued = on_wire(self.backlog(now, mtu), mtu);
        let few = 2 * on_wire(mtu.into(), mtu);
        self.demand.period(released, queued, few, period.as_secs_f64(), rate)
    }

    /// Bytes that the application has produced and the flow has not sent, or has to send again.
    fn backlog(&self, now: Time, mtu: u16) -> u64 {
        let produced = match self.flow.app_rate {
            Some(rate) => rate.bytes_in(now.since(self.flow.start)).0.min(self.flow.size.0),
            None => self.flow.size.0,
        };
        let lost =
            self.unacknowledged.as_ref().map_or(0, |unacknowledged| unacknowledged.bytes_to_repeat(mtu));
        produced.saturating_sub(self.released) + lost
    }

    /// The weight that the time left to its deadline gives it, at a node whose links have this rate.
    pub(super) fn urgency(&self, now: Time, mtu: u16, link: Rate) -> u8 {
        let left = self.flow.deadline.map(|_| self.flow.due().since(now));
        urgency(on_wire(self.flow.size.0 - self.released, mtu), left, link)
    }

    /// Limits the flow to `rate` bit/s from `now` on; saved tokens and debts stay what they are in bytes.
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

    /// No token is older than this: the bucket's depth.
    fn oldest_token(&self, now: Time, mtu: u16) -> Time {
        let two_packets = self.transmission(2 * (u64::from(mtu) + HEADER));
        Time::from_ps(now.as_ps().saturating_sub(two_packets.max(BUCKET).as_ps()))
    }

    /// How long `bytes` take at the flow's rate.
    fn transmission(&self, bytes: u64) -> Duration {
        match self.rate {
            Some(rate) if rate >= 1.0 => Rate::from_bps(rate as u64).time_for(Bytes(bytes)),
            _ => Duration::ZERO,
        }
    }

    /// Accounts for the packet that [`next_piece`](Self::next_piece) has named, which leaves now.
    pub(super) fn release(&mut self, now: Time, piece: &Piece, mtu: u16) {
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
