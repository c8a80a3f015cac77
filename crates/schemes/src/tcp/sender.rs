//! One flow's sending side: what to send next, and what acknowledgements and timeouts mean.

use super::reno::Reno;
use super::rtt::RttEstimator;
use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Params, WINDOW_SCALE, packet, unwrap_sequence, wrap_sequence};
use raddle_core::{Bytes, Flow, Packet, Rate, Time};
use raddle_wire::tcp::{ACK, FIN, SYN, Segment};

/// The first data byte's sequence number, after the SYN's.
const DATA: u64 = 1;

/// A flow that this host sends.
#[derive(Debug)]
pub(super) struct Sender {
    src: u32,
    dst: u32,
    src_port: u16,
    dst_port: u16,
    start: Time,
    app_rate: Option<Rate>,
    /// One past the FIN.
    end: u64,
    /// First byte not acknowledged.
    una: u64,
    /// Next to send; below `max` after a timeout.
    nxt: u64,
    /// One past the highest ever sent.
    max: u64,
    reno: Reno,
    /// The window that the receiver offers.
    offered: u64,
    duplicates: u32,
    phase: Phase,
    /// `max` when the last recovery or timeout began: what lies below it is the same loss event.
    recover: u64,
    /// The segment at `una` is to be repeated now, whatever the window.
    owed: bool,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    /// The segment being timed: one past its end, and when it was sent.
    timed: Option<(u64, Time)>,
    /// When the retransmission timer expires; [`Time::NEVER`] if it is off.
    deadline: Time,
    /// When the application will have produced the next segment; [`Time::NEVER`] if nothing waits for it.
    produced_at: Time,
    retransmissions: u32,
}

/// How the next segment is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// In order from `nxt`, without what is SACKed.
    Open,
    /// Fast recovery (RFC 6582; by the scoreboard, RFC 6675).
    Recovery,
}

impl Sender {
    pub(super) fn new(flow: &Flow, ports: (u16, u16), params: &Params) -> Self {
        let una = if params.handshake { 0 } else { DATA };
        Self {
            src: flow.src.0,
            dst: flow.dst.0,
            src_port: ports.0,
            dst_port: ports.1,
            start: flow.start,
            app_rate: flow.app_rate,
            end: DATA + flow.size.0 + 1,
            una,
            nxt: una,
            max: una,
            reno: Reno::new(params.mss.into(), params.initial_window.into()),
            offered: u64::from(params.window_field()) << WINDOW_SCALE,
            duplicates: 0,
            phase: Phase::Open,
            recover: 0,
            owed: false,
            scoreboard: Scoreboard::default(),
            rtt: RttEstimator::default(),
            timed: None,
            deadline: Time::NEVER,
            produced_at: Time::NEVER,
            retransmissions: 0,
        }
    }

    /// Whether everything is acknowledged, the FIN included.
    pub(super) fn is_closed(&self) -> bool {
        self.una == self.end
    }

    /// Segments sent more than once.
    pub(super) fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// When the flow next needs [`expire`](Self::expire).
    pub(super) fn next_expiry(&self) -> Time {
        self.deadline.min(self.produced_at)
    }

    /// Takes in a segment from the receiver.
    pub(super) fn acknowledge(&mut self, now: Time, segment: &Segment, params: &Params) {
        let widen = |wire| unwrap_sequence(wire, self.una, params.initial_sequence);
        let Some(ack) = widen(segment.ack).filter(|&ack| self.una <= ack && ack <= self.max) else {
            return; // an old acknowledgement, or one of something never sent
        };
        let blocks = segment.sack.map(|(from, to)| Some((widen(from)?, widen(to)?)));
        let flight = self.in_flight(params);
        self.offered = u64::from(segment.window) << WINDOW_SCALE;
        let mut news = 0;
        for (from, to) in blocks.into_iter().take(segment.sack_count.into()).flatten() {
            if ack <= from && from < to && to <= self.max {
                news += self.scoreboard.sack(from, to);
            }
        }
        if ack > self.una {
            self.advance(now, ack, flight, params);
        } else if self.max > self.una && segment.flags & SYN == 0 && (news > 0 || !params.sack) {
            self.duplicate(params);
        }
        if self.phase == Phase::Open && self.may_recover(params) && self.has_loss(params) {
            self.start_recovery(params);
        }
    }

    /// The cumulative acknowledgement moves to `ack`, with `flight` bytes in flight before.
    fn advance(&mut self, now: Time, ack: u64, flight: u64, params: &Params) {
        let acked = ack - self.una;
        let mss = u64::from(params.mss);
        if let Some((_, sent)) = self.timed.take_if(|&mut (end, _)| end <= ack) {
            self.rtt.sample(now.since(sent));
        }
        if self.una == 0 && self.retransmissions > 1 {
            self.reno.collapse(); // the SYN was lost: RFC 6928 §2
        }
        let data = self.una >= DATA;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.scoreboard.advance(ack);
        self.duplicates = 0;
        self.owed = false;
        self.deadline = if self.una == self.max { Time::NEVER } else { now + self.rtt.timeout(params) };
        match self.phase {
            Phase::Recovery if ack >= self.recover => {
                self.phase = Phase::Open;
                if !params.sack {
                    let flight = (self.max - self.una).max(mss);
                    self.reno.cwnd = self.reno.ssthresh.min(flight + mss); // RFC 6582 §3.2, step 3 (1)
                }
            }
            Phase::Recovery if !params.sack => {
                // A partial acknowledgement: repeat the next hole, deflate (RFC 6582 §3.2, step 3).
                self.owed = true;
                self.reno.cwnd = (self.reno.cwnd.saturating_sub(acked) + mss).max(mss);
            }
            // Only a window that was in use may grow (RFC 7661 §4.3).
            Phase::Open if data && flight + mss > self.reno.cwnd => self.reno.acked(acked),
            Phase::Recovery | Phase::Open => {}
        }
    }

    /// An acknowledgement of nothing new, because a later segment arrived.
    fn duplicate(&mut self, params: &Params) {
        self.duplicates += 1;
        if self.phase == Phase::Recovery && !params.sack {
            self.reno.cwnd += u64::from(params.mss);
        }
    }

    /// Whether a loss at `una` would be a new one. Without SACK, duplicates of the last recovery's repeats must not
    /// look like one (RFC 6582 §3.2, step 1).
    fn may_recover(&self, params: &Params) -> bool {
        if params.sack { self.una >= self.recover } else { self.una > self.recover }
    }

    fn has_loss(&self, params: &Params) -> bool {
        self.duplicates >= DUP_THRESH || self.scoreboard.lost_below(params.mss.into()) > self.una
    }

    /// Fast retransmit (RFC 5681 §3.2; RFC 6675 §5, step 4).
    fn start_recovery(&mut self, params: &Params) {
        self.phase = Phase::Recovery;
        self.recover = self.max;
        // What limited transmit sent beyond the window does not count (RFC 5681 §3.2, step 2).
        self.reno.reduce_threshold((self.max - self.una).min(self.reno.cwnd));
        self.reno.cwnd = self.reno.ssthresh;
        if !params.sack {
            self.reno.cwnd += u64::from(params.mss) * u64::from(DUP_THRESH);
        }
        self.scoreboard.start(self.una);
        self.owed = true;
    }

    /// The time of [`next_expiry`](Self::next_expiry) has come, or one it once was.
    pub(super) fn expire(&mut self, now: Time, params: &Params) {
        if self.produced_at <= now {
            self.produced_at = Time::NEVER;
        }
        if self.deadline > now {
            return;
        }
        if self.una >= DATA {
            // Nothing new is sent until the next acknowledgement, so a second timeout finds the same (RFC 5681 §3.1).
            self.reno.reduce_threshold(self.max - self.una);
            self.reno.collapse();
        }
        self.phase = Phase::Open;
        self.recover = self.max;
        self.duplicates = 0;
        self.nxt = self.una;
        self.rtt.back_off();
        self.deadline = now + self.rtt.timeout(params);
    }

    /// The next packet to send now, if there is one.
    pub(super) fn next_packet(&mut self, now: Time, params: &Params) -> Option<Packet> {
        let mss = u64::from(params.mss);
        let (from, limit) = if std::mem::take(&mut self.owed) {
            self.scoreboard.sacked().gap(self.una)
        } else if !self.has_room(params) {
            return None;
        } else if self.phase == Phase::Recovery && params.sack {
            // NextSeg (RFC 6675 §4)
            let last = mss + u64::from(self.max == self.end); // the FIN comes on top
            self.scoreboard
                .lost_hole(self.una, mss)
                .or_else(|| self.unsent(now, params))
                .or_else(|| self.scoreboard.hole(self.una))
                .or_else(|| self.scoreboard.rescue(self.una, self.max, last))?
        } else if self.nxt < self.max {
            let hole = self.scoreboard.sacked().gap(self.nxt);
            if hole.0 < self.max { hole } else { self.unsent(now, params)? }
        } else {
            self.unsent(now, params)?
        };
        let limit = if from < self.max { limit.min(self.max) } else { limit };
        Some(self.segment(now, from, self.segment_end(from, mss).min(limit), params))
    }

    /// Whether the congestion window has room for a segment.
    fn has_room(&self, params: &Params) -> bool {
        let mss = u64::from(params.mss);
        // Limited transmit (RFC 3042); with SACK, what is SACKed is no longer in flight, to the same effect.
        let beyond = match self.phase {
            Phase::Open if !params.sack => mss * u64::from(self.duplicates.min(DUP_THRESH - 1)),
            _ => 0,
        };
        self.in_flight(params) + mss <= self.reno.cwnd + beyond
    }

    /// Bytes thought to be in the network.
    fn in_flight(&self, params: &Params) -> u64 {
        match self.phase {
            Phase::Recovery if params.sack => self.scoreboard.pipe(self.una, self.max, params.mss.into()),
            _ => self.nxt - self.una - self.scoreboard.sacked().covered_below(self.nxt),
        }
    }

    /// The next segment never sent, if the receiver's window admits it and the application has produced it.
    fn unsent(&mut self, now: Time, params: &Params) -> Option<(u64, u64)> {
        if self.max == self.end || self.max == DATA && self.una < DATA {
            return None; // all is sent, or the handshake has not ended
        }
        let to = self.segment_end(self.max, params.mss.into());
        let data_to = to.min(self.end - 1);
        if data_to > self.una + self.offered {
            return None;
        }
        if let Some(rate) = self.app_rate.filter(|_| to > DATA) {
            let produced_at = self.start + rate.time_for(Bytes(data_to - DATA));
            if produced_at > now {
                self.produced_at = produced_at;
                return None;
            }
        }
        Some((self.max, to))
    }

    /// One past the segment that starts at `from`: the SYN, or up to `mss` bytes, and the FIN after the last.
    fn segment_end(&self, from: u64, mss: u64) -> u64 {
        match from {
            0 => DATA,
            _ if from + mss >= self.end - 1 => self.end,
            _ => from + mss,
        }
    }

    /// Sends `[from, to)`.
    fn segment(&mut self, now: Time, from: u64, to: u64, params: &Params) -> Packet {
        debug_assert!(self.una <= from && from < to && to <= self.end, "a segment within the window");
        if from < self.max {
            self.retransmissions += 1;
            self.timed = None; // Karn: its acknowledgement may be the first copy's
            self.scoreboard.repeated(from, to);
        } else if self.timed.is_none() && self.phase == Phase::Open {
            self.timed = Some((to, now));
        }
        self.nxt = self.nxt.max(to);
        self.max = self.max.max(to);
        if self.deadline == Time::NEVER {
            self.deadline = now + self.rtt.timeout(params);
        }
        let mut flags = if from == 0 { SYN } else { ACK };
        if to == self.end {
            flags |= FIN;
        }
        packet(Segment {
            src: self.src,
            dst: self.dst,
            src_port: self.src_port,
            dst_port: self.dst_port,
            seq: wrap_sequence(from, params.initial_sequence),
            ack: if from == 0 { 0 } else { wrap_sequence(DATA, params.initial_sequence) },
            flags,
            sack_count: 0,
            window: params.window_field(),
            plen: u16::try_from(to.min(self.end - 1) - from.max(DATA)).expect("at most one MSS"),
            sack: [(0, 0); 3],
        })
    }
}
