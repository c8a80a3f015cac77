//! The sending side of one flow: selects the next segment, and handles acknowledgements and timeouts.

use super::control::{Acknowledged, CongestionControl, LossSign, Window};
use super::loss::Loss;
use super::scoreboard::DUP_THRESH;
use super::{DATA, Params, WINDOW_SCALE, packet, unwrap_sequence, wrap_sequence};
use crate::transport::five_tuple;
use crate::transport::rtt::RttEstimator;
use raddle_core::{Bytes, Duration, Flow, FlowKey, NodeId, Packet, Rate, Time};
use raddle_wire::tcp::{ACK, CWR, ECE, FIN, SYN, Segment};
use std::num::NonZeroU64;

/// A flow that this host sends; `C` controls its congestion window.
#[derive(Debug)]
pub(super) struct Sender<C> {
    dst: u32,
    src_port: u16,
    dst_port: u16,
    /// The receiver's window in the last acknowledgement, in units of 1 KiB.
    offered: u16,
    /// Number of retransmissions of the SYN.
    syns_repeated: u8,
    /// True if the flow is a stream that the application has not closed. Such a stream sends no FIN.
    is_open: bool,
    retransmissions: u32,
    /// One past the FIN's sequence number. For an open stream: the value if the application closed the stream now.
    end: u64,
    /// First unacknowledged sequence number.
    una: u64,
    /// Next sequence number to send. This number is less than `max` after a timeout, when data is sent again.
    nxt: u64,
    /// One past the highest sequence number that has been sent.
    max: u64,
    window: Window,
    /// Expiry of the retransmission timer; [`Time::NEVER`] if the timer is off.
    deadline: Time,
    /// The segment whose round trip is being measured: one past its last sequence number, and its departure time.
    timed: Option<(NonZeroU64, Time)>,
    rtt: RttEstimator,
    /// State of loss recovery; `None` while no loss is suspected.
    loss: Option<Box<Loss>>,
    /// The application, if it produces the flow's bytes at a limited rate.
    application: Option<Box<Application>>,
    control: C,
}

/// An application that produces the bytes of a flow at a limited rate.
#[derive(Debug)]
struct Application {
    start: Time,
    rate: Rate,
    /// Time at which the application will have produced the next segment; [`Time::NEVER`] if the sender does not wait
    /// for the application.
    produced_at: Time,
}

impl<C: CongestionControl> Sender<C> {
    pub(super) fn new(flow: &Flow, ports: (u16, u16), params: &Params) -> Self {
        let una = if params.handshake { 0 } else { DATA };
        let application = flow
            .app_rate
            .map(|rate| Box::new(Application { start: flow.start, rate, produced_at: Time::NEVER }));
        Self {
            dst: flow.dst.0,
            src_port: ports.0,
            dst_port: ports.1,
            offered: params.window_field(),
            syns_repeated: 0,
            is_open: flow.is_stream,
            retransmissions: 0,
            end: DATA + flow.size.0 + 1,
            una,
            nxt: una,
            max: una,
            window: Window::new(params),
            deadline: Time::NEVER,
            timed: None,
            rtt: RttEstimator::default(),
            loss: None,
            application,
            control: C::default(),
        }
    }

    /// The key of this flow from host `src`.
    pub(super) fn key(&self, src: NodeId) -> FlowKey {
        five_tuple::key(src, (self.src_port, self.dst_port))
    }

    /// The application appends bytes to a stream that it has not closed.
    pub(super) fn append(&mut self, bytes: Bytes) {
        self.end += bytes.0;
    }

    /// The application closes a stream.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Number of bytes that are acknowledged, counted from the start of the flow.
    pub(super) fn acknowledged(&self) -> Bytes {
        Bytes(self.una.clamp(DATA, self.end - 1) - DATA)
    }

    /// True if all data and the FIN are acknowledged.
    pub(super) fn is_closed(&self) -> bool {
        self.una == self.end
    }

    /// Number of retransmissions of segments, including the SYN.
    pub(super) fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// Time at which [`expire`](Self::expire) must be called next; [`Time::NEVER`] if no timer runs.
    pub(super) fn next_expiry(&self) -> Time {
        self.application
            .as_ref()
            .map_or(self.deadline, |application| self.deadline.min(application.produced_at))
    }

    /// Handles a segment from the receiver.
    pub(super) fn acknowledge(&mut self, now: Time, segment: &Segment, params: &Params) {
        let widen = |wire| unwrap_sequence(wire, self.una, params.initial_sequence);
        let Some(ack) = widen(segment.ack).filter(|&ack| self.una <= ack && ack <= self.max) else {
            return; // an outdated acknowledgement, or an acknowledgement of data that was never sent
        };
        self.offered = segment.window;
        // Only a fully used window may grow (RFC 7661 §4.3), and no window grows during the handshake.
        let may_grow = !self.is_recovering()
            && self.una >= DATA
            && self.in_flight(params) + u64::from(params.mss) > self.window.cwnd();
        let mut news = 0;
        for &(from, to) in segment.sack.iter().take(segment.sack_count.into()) {
            if let (Some(from), Some(to)) = (widen(from), widen(to))
                && ack <= from
                && from < to
                && to <= self.max
            {
                news += self.loss.get_or_insert_default().scoreboard.sack(from, to);
            }
        }
        if ack > self.una {
            let marked = C::ECN.is_capable() && segment.flags & (ECE | SYN) == ECE;
            self.advance(now, ack, marked, may_grow, params);
        } else if self.max > self.una && segment.flags & SYN == 0 && (news > 0 || !params.sack) {
            self.duplicate(params);
        }
        if self.loss.as_ref().is_some_and(|loss| loss.is_new(self.una, params)) {
            self.start_recovery(params);
        }
    }

    /// The cumulative acknowledgement moves to `ack`.
    fn advance(&mut self, now: Time, ack: u64, marked: bool, may_grow: bool, params: &Params) {
        let acked = ack - self.una;
        let is_open = self.una >= DATA; // false for the SYN's acknowledgement, which acknowledges no data
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| end.get() <= ack) {
            self.rtt.sample(now.since(sent));
        }
        if self.una == 0 && self.syns_repeated > 0 {
            self.rtt.forgive(); // the first data has the initial timeout, without the SYN's back-off: RFC 6298 §5.7
            if self.syns_repeated > 1 {
                self.window.set_cwnd(params.mss.into()); // the SYN or SYN-ACK was lost more than once: RFC 6928 §2
            }
        }
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.deadline = if self.una == self.max { Time::NEVER } else { now + self.timeout(params) };
        if is_open {
            let recovering = self.loss.as_ref().is_some_and(|loss| ack <= loss.recover);
            let acknowledged = Acknowledged {
                now,
                bytes: acked,
                una: ack,
                max: self.max,
                mss: params.mss,
                round_trip: self.rtt.smoothed(),
                marked,
                may_grow,
                recovering,
            };
            self.control.acknowledged(&mut self.window, &acknowledged);
        }
        if let Some(loss) = &mut self.loss {
            loss.advance(ack);
            if loss.recovering {
                self.advance_recovery(acked, params);
            }
            self.loss.take_if(|loss| loss.is_over(ack, params));
        }
    }

    /// Handles the acknowledgement of `acked` bytes during fast recovery.
    fn advance_recovery(&mut self, acked: u64, params: &Params) {
        let Some(loss) = &mut self.loss else { return };
        let mss = u64::from(params.mss);
        if self.una >= loss.recover {
            loss.recovering = false;
            if !params.sack {
                let flight = (self.max - self.una).max(mss);
                self.window.set_cwnd(self.window.ssthresh().min(flight + mss)); // RFC 6582 §3.2, step 3 (1)
            }
        } else if !params.sack && C::ENDS_RECOVERY_EARLY {
            // Reno ends the recovery. Data that is still missing counts as a new loss (RFC 5681 §3.2, step 6).
            loss.recovering = false;
            loss.recover = self.una - 1;
            self.window.set_cwnd(self.window.ssthresh());
        } else if !params.sack {
            // A partial acknowledgement: retransmit the next hole and deflate the window (RFC 6582 §3.2, step 3).
            loss.owed = true;
            self.window.set_cwnd((self.window.cwnd().saturating_sub(acked) + mss).max(mss));
        }
    }

    /// Handles a duplicate acknowledgement, which the receiver sends when a later segment arrives before the expected
    /// segment.
    fn duplicate(&mut self, params: &Params) {
        let loss = self.loss.get_or_insert_default();
        loss.duplicates += 1;
        if loss.recovering && !params.sack {
            self.window.set_cwnd(self.window.cwnd() + u64::from(params.mss));
        }
    }

    /// Starts fast retransmit (RFC 5681 §3.2; RFC 6675 §5, step 4).
    fn start_recovery(&mut self, params: &Params) {
        let loss = self.loss.get_or_insert_default();
        loss.recovering = true;
        loss.recover = self.max;
        loss.owed = true;
        loss.scoreboard.start(self.una);
        // Segments that limited transmit has sent beyond the window do not count as outstanding (RFC 5681 §3.2, step
        // 2).
        let flight = (self.max - self.una).min(self.window.cwnd());
        self.control.lost(&mut self.window, flight, params.mss, LossSign::Duplicates);
        let inflation = if params.sack { 0 } else { u64::from(params.mss) * u64::from(DUP_THRESH) };
        self.window.set_cwnd(self.window.ssthresh() + inflation);
    }

    /// Handles the timers that are due. The caller must call this function at the time
    /// [`next_expiry`](Self::next_expiry); an earlier call does no harm. Returns false if the flow must be given up
    /// because no SYN was answered.
    pub(super) fn expire(&mut self, now: Time, params: &Params) -> bool {
        if let Some(application) =
            self.application.as_mut().filter(|application| application.produced_at <= now)
        {
            application.produced_at = Time::NEVER;
        }
        if self.deadline > now {
            return true;
        }
        if self.una < DATA && self.syns_repeated + 1 >= params.syn_tries {
            return false;
        }
        if self.una >= DATA {
            // The flow sends no new data before the next acknowledgement. A second timeout therefore finds the same
            // flight size and sets the same threshold (RFC 5681 §3.1).
            let flight = self.max - self.una;
            self.control.lost(&mut self.window, flight, params.mss, LossSign::Timeout);
            self.window.set_cwnd(params.mss.into()); // the loss window is one segment
        }
        let loss = self.loss.get_or_insert_default();
        loss.recovering = false;
        if self.una >= DATA {
            loss.recover = self.max; // not for a lost SYN, after which a loss of data is a new loss event
        }
        loss.duplicates = 0;
        self.nxt = self.una;
        self.rtt.back_off();
        self.deadline = now + self.timeout(params);
        true
    }

    fn timeout(&self, params: &Params) -> Duration {
        self.rtt.timeout(&params.timeouts(self.una < DATA))
    }

    /// The packet that the flow sends now from its host `src`; `None` if the flow may not send now.
    pub(super) fn next_packet(&mut self, now: Time, src: NodeId, params: &Params) -> Option<Packet> {
        let (from, to) = if self.loss.is_some() {
            self.next_amid_losses(now, params)?
        } else if self.has_room(params) {
            self.unsent(now, params)?
        } else {
            return None;
        };
        Some(self.segment(now, src, from, to, params))
    }

    /// The next segment, new or retransmitted, of a flow with loss state.
    fn next_amid_losses(&mut self, now: Time, params: &Params) -> Option<(u64, u64)> {
        let mss = u64::from(params.mss);
        let has_room = self.has_room(params);
        let loss = self.loss.as_deref_mut()?;
        let (from, limit) = if std::mem::take(&mut loss.owed) {
            loss.scoreboard.sacked().gap(self.una)
        } else if !has_room {
            return None;
        } else if loss.recovering && params.sack {
            // The segment that `NextSeg` selects (RFC 6675 §4).
            if let Some(hole) = loss.scoreboard.lost_hole(self.una, mss) {
                hole
            } else if let Some(unsent) = self.unsent(now, params) {
                return Some(unsent);
            } else {
                let scoreboard = &mut self.loss.as_deref_mut()?.scoreboard;
                let last = mss + u64::from(self.max == self.end); // 1 for the FIN, if it was sent
                scoreboard.hole(self.una).or_else(|| scoreboard.rescue(self.una, self.max, last))?
            }
        } else {
            let hole = loss.scoreboard.sacked().gap(self.nxt);
            if hole.0 >= self.max {
                return self.unsent(now, params);
            }
            hole
        };
        let limit = if from < self.max { limit.min(self.max) } else { limit };
        Some((from, self.segment_end(from, mss).min(limit)))
    }

    /// True if the congestion window has room for a full segment.
    fn has_room(&self, params: &Params) -> bool {
        let mss = u64::from(params.mss);
        // Limited transmit (RFC 3042) applies only to new data. With SACK, it is not needed: SACKed data no longer
        // counts as in flight, which has the same effect.
        let is_new = self.nxt == self.max;
        let beyond = match &self.loss {
            Some(loss) if is_new && !loss.recovering && !params.sack && params.limited_transmit => {
                mss * u64::from(loss.duplicates.min(DUP_THRESH - 1))
            }
            _ => 0,
        };
        self.in_flight(params) + mss <= self.window.cwnd() + beyond
    }

    /// The estimated number of bytes in the network.
    fn in_flight(&self, params: &Params) -> u64 {
        let sent = self.nxt - self.una;
        match &self.loss {
            None => sent,
            Some(loss) if loss.recovering && params.sack => {
                loss.scoreboard.pipe(self.una, self.max, params.mss.into())
            }
            Some(loss) => sent - loss.scoreboard.sacked().covered_below(self.nxt),
        }
    }

    fn is_recovering(&self) -> bool {
        self.loss.as_ref().is_some_and(|loss| loss.recovering)
    }

    /// The next segment that was never sent. `None` if there is no such segment now, if the receiver's window has no
    /// room for the segment, or if the application has not produced the segment's data.
    fn unsent(&mut self, now: Time, params: &Params) -> Option<(u64, u64)> {
        if self.max == self.sendable() || self.max == DATA && self.una < DATA {
            return None; // all data has been sent, or the handshake is not complete
        }
        let to = self.segment_end(self.max, params.mss.into());
        let data_to = to.min(self.end - 1);
        if data_to > self.una + (u64::from(self.offered) << WINDOW_SCALE) {
            return None;
        }
        if let Some(application) = self.application.as_deref_mut().filter(|_| to > DATA) {
            let produced_at = application.start + application.rate.time_for(Bytes(data_to - DATA));
            if produced_at > now {
                application.produced_at = produced_at;
                return None;
            }
        }
        Some((self.max, to))
    }

    /// One past the last sequence number of the segment that starts at `from`. The segment is the SYN, or has up to
    /// `mss` bytes of data. The flow's last segment includes the FIN.
    fn segment_end(&self, from: u64, mss: u64) -> u64 {
        match from {
            0 => DATA,
            _ if from + mss >= self.end - 1 => self.sendable(),
            _ => from + mss,
        }
    }

    /// One past the last sequence number that may be sent: the FIN, or the last byte of an open stream.
    fn sendable(&self) -> u64 {
        self.end - u64::from(self.is_open)
    }

    /// Makes the segment `[from, to)` and records that it was sent.
    fn segment(&mut self, now: Time, src: NodeId, from: u64, to: u64, params: &Params) -> Packet {
        debug_assert!(
            self.una <= from && from < to && to <= self.end,
            "a segment must be within the unacknowledged \
                                                                        data"
        );
        let is_new = from == self.max;
        if !is_new {
            self.retransmissions += 1;
            self.syns_repeated += u8::from(from == 0);
            self.timed = None; // no measurement: an acknowledgement may belong to the original transmission (Karn)
            if let Some(loss) = &mut self.loss {
                loss.scoreboard.repeated(from, to);
            }
        } else if self.timed.is_none() && !self.is_recovering() {
            self.timed = NonZeroU64::new(to).map(|end| (end, now));
        }
        self.nxt = self.nxt.max(to);
        self.max = self.max.max(to);
        if self.deadline == Time::NEVER {
            self.deadline = now + self.timeout(params);
        }
        let mut flags = if from == 0 { SYN } else { ACK };
        if to == self.end && !self.is_open {
            flags |= FIN;
        }
        if is_new && from > 0 && self.control.take_reduced() {
            flags |= CWR;
        }
        packet(Segment {
            src: src.0,
            dst: self.dst,
            src_port: self.src_port,
            dst_port: self.dst_port,
            seq: wrap_sequence(from, params.initial_sequence),
            ack: if from == 0 { 0 } else { wrap_sequence(DATA, params.initial_sequence) },
            flags,
            window: params.window_field(),
            plen: u16::try_from(to.min(self.end - 1) - from.max(DATA))
                .expect("a segment must have at most one MSS of payload"),
            ecn: C::ECN,
            ..Segment::default()
        })
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::super::control::newreno::NewReno;
    use super::*;
    use raddle_core::FlowId;

    const SRC: NodeId = NodeId(0);

    fn sender(params: &Params) -> Sender<NewReno> {
        Sender::new(&Flow::new(FlowId(0), SRC, NodeId(1), Bytes(1 << 30), Time::ZERO), (1, 2), params)
    }

    /// The acknowledgement of a receiver that has all data below `ack` and, if `sack` is given, also this later block.
    fn answer(ack: u32, sack: Option<(u32, u32)>, params: &Params) -> Segment {
        Segment {
            src: 1,
            src_port: 2,
            dst_port: 1,
            seq: 1,
            ack,
            flags: ACK,
            sack_count: u8::from(sack.is_some()),
            window: params.window_field(),
            sack: [sack.unwrap_or_default(), (0, 0), (0, 0)],
            ..Segment::default()
        }
    }

    #[test]
    fn duplicates_after_a_timeout_release_no_repeats() {
        let params = Params { sack: false, ..Params::default() };
        let mut sender = sender(&params);
        let send = |sender: &mut Sender<NewReno>, now| {
            std::iter::from_fn(|| sender.next_packet(now, SRC, &params)).count()
        };
        assert_eq!(send(&mut sender, Time::ZERO), 10);
        let late = sender.next_expiry();
        sender.expire(late, &params);
        assert_eq!(send(&mut sender, late), 1, "the window is one segment after a timeout");
        for _ in 0..2 {
            sender.acknowledge(late, &answer(1, None, &params), &params);
            assert_eq!(send(&mut sender, late), 0, "limited transmit applies only to new data");
        }
    }

    #[test]
    fn losses_are_forgotten_once_they_are_repaired() {
        for sack in [true, false] {
            let params = Params { sack, ..Params::default() };
            let mss = u32::from(params.mss);
            let mut sender = sender(&params);
            let send = |sender: &mut Sender<NewReno>| {
                std::iter::from_fn(|| sender.next_packet(Time::ZERO, SRC, &params)).count()
            };
            let answer = |ack, sack| answer(ack, sack, &params);
            assert_eq!(send(&mut sender), 10);
            assert!(sender.loss.is_none());
            for duplicate in 2..=4 {
                let block = sack.then_some((1 + mss, 1 + duplicate * mss));
                sender.acknowledge(Time::ZERO, &answer(1, block), &params);
            }
            assert!(sender.is_recovering(), "sack {sack}");
            let sent = 10 + send(&mut sender) as u32 - 1;
            assert_eq!(sender.retransmissions(), 1);
            sender.acknowledge(Time::ZERO, &answer(1 + sent * mss, None), &params);
            assert!(!sender.is_recovering());
            send(&mut sender);
            sender.acknowledge(Time::ZERO, &answer(1 + (sent + 1) * mss, None), &params);
            assert!(sender.loss.is_none(), "sack {sack}");
        }
    }
}
