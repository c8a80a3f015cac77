//! One flow's receiving side: what has come in, and what to acknowledge.

use super::ranges::Ranges;
use super::{Params, WINDOW_SCALE, packet, unwrap_sequence, wrap_sequence};
use raddle_core::{Packet, Time};
use raddle_wire::tcp::{ACK, FIN, SYN, Segment};

/// A flow that this host receives.
#[derive(Debug)]
pub(super) struct Receiver {
    /// What every acknowledgement of the flow's has in common.
    template: Segment,
    /// Next number expected.
    nxt: u64,
    /// One past the FIN, once it is known.
    end: Option<u64>,
    /// What has come in beyond `nxt`.
    waiting: Ranges,
    /// A number in each of the ranges that changed last, the latest first.
    recent: [u64; 3],
    reorder_peak: u32,
    /// When a delayed acknowledgement is due; [`Time::NEVER`] if none is owed.
    ack_due: Time,
}

/// Whether a segment is to be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// Now.
    Now,
    /// With the next segment, or at [`Receiver::ack_due`].
    Later,
}

impl Receiver {
    /// A receiver that has seen nothing; `first` is any segment of the flow's.
    pub(super) fn new(first: &Segment, params: &Params) -> Self {
        Self {
            template: answer(first, 0, params),
            nxt: u64::from(!params.handshake),
            end: None,
            waiting: Ranges::default(),
            recent: [0; 3],
            reorder_peak: 0,
            ack_due: Time::NEVER,
        }
    }

    /// Whether everything has come in, the FIN included.
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.nxt)
    }

    /// Most packets that waited for an earlier one.
    pub(super) fn reorder_peak(&self) -> u32 {
        self.reorder_peak
    }

    /// When [`ack`](Self::ack) is due.
    pub(super) fn ack_due(&self) -> Time {
        self.ack_due
    }

    /// Takes in a segment of the flow's.
    pub(super) fn receive(&mut self, now: Time, segment: &Segment, params: &Params) -> Acknowledge {
        let (fin, syn) = (segment.flags & FIN != 0, segment.flags & SYN != 0);
        let from = unwrap_sequence(segment.seq, self.nxt, params.initial_sequence);
        let window = u64::from(params.window_field()) << WINDOW_SCALE;
        let Some((from, to)) = from
            .map(|from| (from, from + u64::from(segment.plen) + u64::from(fin) + u64::from(syn)))
            .filter(|&(_, to)| self.nxt < to && to <= self.nxt + window + 1)
        else {
            return Acknowledge::Now; // seen before, or beyond the window
        };
        if fin {
            self.end = Some(to);
        }
        if from > self.nxt {
            self.waiting.insert(from, to);
            self.remember(from);
            self.count_waiting(params);
            return Acknowledge::Now;
        }
        let in_order = self.waiting.total() == 0;
        self.nxt = self.waiting.gap(to).0;
        self.waiting.remove_below(self.nxt);
        if !in_order || fin || syn || self.ack_due != Time::NEVER {
            return Acknowledge::Now;
        }
        let Some(delay) = params.delayed_ack else { return Acknowledge::Now };
        self.ack_due = now + delay;
        Acknowledge::Later
    }

    /// The range around `at` changed last.
    fn remember(&mut self, at: u64) {
        let changed = self.waiting.containing(at);
        let mut recent = [at, 0, 0];
        let others = self.recent.iter().filter(|&&old| {
            let range = self.waiting.containing(old);
            range.is_some() && range != changed
        });
        for (to, &old) in recent[1..].iter_mut().zip(others) {
            *to = old;
        }
        self.recent = recent;
    }

    fn count_waiting(&mut self, params: &Params) {
        let fin = u64::from(self.end.is_some());
        let packets = (self.waiting.total() - fin).div_ceil(params.mss.into());
        self.reorder_peak = self.reorder_peak.max(u32::try_from(packets).unwrap_or(u32::MAX));
    }

    /// The number acknowledged, as the wire shows it.
    pub(super) fn acknowledged(&self, params: &Params) -> u32 {
        wrap_sequence(self.nxt, params.initial_sequence)
    }

    /// The acknowledgement of all that has come in.
    pub(super) fn ack(&mut self, params: &Params) -> Packet {
        self.ack_due = Time::NEVER;
        let wrap = |sequence| wrap_sequence(sequence, params.initial_sequence);
        let mut segment = Segment { ack: self.acknowledged(params), ..self.template };
        if params.sack && self.waiting.total() > 0 {
            // RFC 2018 §4: the range that changed last comes first.
            for (from, to) in self.recent.iter().filter_map(|&at| self.waiting.containing(at)) {
                segment.sack[usize::from(segment.sack_count)] = (wrap(from), wrap(to));
                segment.sack_count += 1;
            }
        }
        packet(segment)
    }

    /// The SYN-ACK.
    pub(super) fn syn_ack(&self, params: &Params) -> Packet {
        let [syn, next] = [0, 1].map(|sequence| wrap_sequence(sequence, params.initial_sequence));
        packet(Segment { flags: SYN | ACK, seq: syn, ack: next, ..self.template })
    }
}

/// A pure acknowledgement up to `ack`, sent back to where `segment` came from.
pub(super) fn answer(segment: &Segment, ack: u32, params: &Params) -> Segment {
    Segment {
        src: segment.dst,
        dst: segment.src,
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        seq: wrap_sequence(1, params.initial_sequence),
        ack,
        flags: ACK,
        sack_count: 0,
        window: params.window_field(),
        plen: 0,
        sack: [(0, 0); 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred bytes.
    const DATA: Segment = Segment {
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
        sack: [(0, 0); 3],
    };

    #[test]
    fn blocks_come_with_the_latest_first_and_without_what_is_acknowledged() {
        let params = Params::default();
        let mut receiver = Receiver::new(&DATA, &params);
        let mut answer_to = |seq| {
            let segment = Segment { seq, ..DATA };
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
