//! The receiving side of one flow: records the received ranges, and makes acknowledgements.

use super::{DATA, Params, WINDOW_SCALE, packet, unwrap_sequence, wrap_sequence};
use crate::transport::ranges::Ranges;
use raddle_core::{Bytes, Packet, Time};
use raddle_wire::Ecn;
use raddle_wire::tcp::{ACK, ECE, FIN, SYN, Segment};
use std::num::NonZeroU64;

/// A flow that this host receives.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Addresses and ports of the flow's acknowledgements: `src` is this host, and `dst` is the flow's sender.
    src: u32,
    dst: u32,
    src_port: u16,
    dst_port: u16,
    reorder_peak: u32,
    /// True if the last segment carried an ECN mark (`DCTCP.CE`). Always false if the congestion control does not use
    /// ECN.
    marked: bool,
    /// Next expected sequence number.
    nxt: u64,
    /// One past the FIN's sequence number; `None` until the FIN has arrived.
    end: Option<NonZeroU64>,
    /// The out-of-order data beyond `nxt`; `None` if there is no such data.
    waiting: Option<Box<Waiting>>,
    /// Time at which the delayed acknowledgement is due; [`Time::NEVER`] if no acknowledgement is pending.
    ack_due: Time,
}

/// Data that was received out of order.
#[derive(Debug, Default)]
struct Waiting {
    ranges: Ranges,
    /// One sequence number in each of the three most recently changed ranges. The latest change comes first.
    recent: [u64; 3],
}

/// The time at which a segment must be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// At once.
    Now,
    /// When the next segment arrives, or at [`Receiver::ack_due`], whichever is earlier.
    Later,
}

impl Receiver {
    /// The state of a receiver that has received no data. `first` is the segment that arrives first, which may be any
    /// segment of the flow.
    pub(super) fn new(first: &Segment, params: &Params) -> Self {
        Self {
            src: first.dst,
            dst: first.src,
            src_port: first.dst_port,
            dst_port: first.src_port,
            reorder_peak: 0,
            marked: false,
            nxt: u64::from(!params.handshake),
            end: None,
            waiting: None,
            ack_due: Time::NEVER,
        }
    }

    /// True if the whole flow has been received, including the FIN.
    pub(super) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| end.get() == self.nxt)
    }

    /// Number of bytes received in order, counted from the start of the flow.
    pub(super) fn in_order(&self) -> Bytes {
        let fin = u64::from(self.is_complete());
        Bytes(self.nxt.saturating_sub(DATA + fin))
    }

    /// Greatest amount of data that waited at the same time for an earlier packet, in full packets, rounded up.
    pub(super) fn reorder_peak(&self) -> u32 {
        self.reorder_peak
    }

    /// Time at which the delayed acknowledgement ([`ack`](Self::ack)) is due; [`Time::NEVER`] if no acknowledgement is
    /// pending.
    pub(super) fn ack_due(&self) -> Time {
        self.ack_due
    }

    /// Records whether a segment has an ECN mark, before [`receive`](Self::receive) handles the segment. If the last
    /// segment had a mark and this segment has none, or vice versa, returns the acknowledgement of earlier segments, if
    /// one is pending. The sender then knows exactly how much data was marked (RFC 8257 §3.2).
    pub(super) fn note_mark(&mut self, segment: &Segment, params: &Params) -> Option<Packet> {
        let marked = segment.ecn == Ecn::Ce;
        if marked == self.marked {
            return None;
        }
        let before = (self.ack_due != Time::NEVER).then(|| self.ack(params));
        self.marked = marked;
        before
    }

    /// Handles a segment of the flow.
    pub(super) fn receive(&mut self, now: Time, segment: &Segment, params: &Params) -> Acknowledge {
        let (fin, syn) = (segment.flags & FIN != 0, segment.flags & SYN != 0);
        let from = unwrap_sequence(segment.seq, self.nxt, params.initial_sequence);
        let window = u64::from(params.window_field()) << WINDOW_SCALE;
        let Some((from, to)) = from
            .map(|from| (from, from + u64::from(segment.plen) + u64::from(fin) + u64::from(syn)))
            .filter(|&(_, to)| self.nxt < to && to <= self.nxt + window + 1)
        else {
            return Acknowledge::Now; // the segment was received before, or is beyond the window
        };
        if fin {
            self.end = NonZeroU64::new(to);
        }
        if from > self.nxt {
            let waiting = self.waiting.get_or_insert_default();
            waiting.insert(from, to);
            let bytes = waiting.ranges.total() - u64::from(self.end.is_some());
            let packets = u32::try_from(bytes.div_ceil(params.mss.into())).unwrap_or(u32::MAX);
            self.reorder_peak = self.reorder_peak.max(packets);
            return Acknowledge::Now;
        }
        self.nxt = to;
        if let Some(waiting) = &mut self.waiting {
            self.nxt = waiting.ranges.gap(to).0;
            waiting.ranges.remove_below(self.nxt);
            if waiting.ranges.total() == 0 {
                self.waiting = None;
            }
            return Acknowledge::Now;
        }
        if fin || syn || self.ack_due != Time::NEVER {
            return Acknowledge::Now;
        }
        let Some(delay) = params.delayed_ack else { return Acknowledge::Now };
        self.ack_due = now + delay;
        Acknowledge::Later
    }

    /// The acknowledgement number as a header field: the next expected sequence number, wrapped to 32 bits.
    pub(super) fn acknowledged(&self, params: &Params) -> u32 {
        wrap_sequence(self.nxt, params.initial_sequence)
    }

    /// The acknowledgement of all received data.
    pub(super) fn ack(&mut self, params: &Params) -> Packet {
        self.ack_due = Time::NEVER;
        let mut segment = self.acknowledgement(params);
        if self.marked {
            segment.flags |= ECE;
        }
        if let Some(waiting) = self.waiting.as_ref().filter(|_| params.sack) {
            let wrap = |sequence| wrap_sequence(sequence, params.initial_sequence);
            for (from, to) in waiting.blocks() {
                segment.sack[usize::from(segment.sack_count)] = (wrap(from), wrap(to));
                segment.sack_count += 1;
            }
        }
        packet(segment)
    }

    /// The SYN-ACK.
    pub(super) fn syn_ack(&self, ecn: Ecn, params: &Params) -> Packet {
        let [syn, next] = [0, 1].map(|sequence| wrap_sequence(sequence, params.initial_sequence));
        packet(Segment { flags: SYN | ACK, seq: syn, ack: next, ecn, ..self.acknowledgement(params) })
    }

    fn acknowledgement(&self, params: &Params) -> Segment {
        acknowledgement(
            (self.src, self.src_port),
            (self.dst, self.dst_port),
            self.acknowledged(params),
            params,
        )
    }
}

impl Waiting {
    /// Adds the range `[from, to)`.
    fn insert(&mut self, from: u64, to: u64) {
        self.ranges.insert(from, to);
        let changed = self.ranges.containing(from);
        let mut recent = [from, 0, 0];
        let others = self.recent.iter().filter(|&&old| {
            let range = self.ranges.containing(old);
            range.is_some() && range != changed
        });
        for (to, &old) in recent[1..].iter_mut().zip(others) {
            *to = old;
        }
        self.recent = recent;
    }

    /// The SACK blocks of the next acknowledgement. The most recently changed range comes first (RFC 2018 §4).
    fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.iter().filter_map(|&at| self.ranges.containing(at))
    }
}

/// A pure acknowledgement with acknowledgement number `ack`. `from` and `to` are each an address and a port.
pub(super) fn acknowledgement(from: (u32, u16), to: (u32, u16), ack: u32, params: &Params) -> Segment {
    Segment {
        src: from.0,
        dst: to.0,
        src_port: from.1,
        dst_port: to.1,
        seq: wrap_sequence(1, params.initial_sequence),
        ack,
        flags: ACK,
        window: params.window_field(),
        ..Segment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with 100 bytes of data.
    const HUNDRED: Segment = Segment {
        src: 3,
        dst: 4,
        src_port: 5,
        dst_port: 6,
        seq: 1,
        ack: 1,
        flags: ACK,
        sack_count: 0,
        window: 0,
        plen: 100,
        ecn: Ecn::NotEct,
        sack: [(0, 0); 3],
    };

    #[test]
    fn sack_blocks_are_latest_first_and_exclude_acknowledged_data() {
        let params = Params::default();
        let mut receiver = Receiver::new(&HUNDRED, &params);
        let mut answer_to = |seq| {
            let segment = Segment { seq, ..HUNDRED };
            assert_eq!(receiver.receive(Time::ZERO, &segment, &params), Acknowledge::Now);
            let raddle_core::Header::Tcp(ack) = receiver.ack(&params).header else { panic!("not TCP") };
            (ack.ack, ack.sack_blocks().to_vec())
        };
        assert_eq!(answer_to(501), (1, vec![(501, 601)]));
        assert_eq!(answer_to(701), (1, vec![(701, 801), (501, 601)]));
        assert_eq!(answer_to(301), (1, vec![(301, 401), (701, 801), (501, 601)]));
        assert_eq!(answer_to(1), (101, vec![(301, 401), (701, 801), (501, 601)]));
        assert_eq!(answer_to(101), (201, vec![(301, 401), (701, 801), (501, 601)]));
        assert_eq!(answer_to(201), (401, vec![(701, 801), (501, 601)]));
        assert_eq!(answer_to(901), (401, vec![(901, 1001), (701, 801), (501, 601)]));
        assert_eq!(answer_to(601), (401, vec![(501, 801), (901, 1001)]));
    }
}
