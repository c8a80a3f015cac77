//! The unacknowledged packets of a reliable flow. Reliability is an option, which the R2C2 paper does not specify.
//!
//! Acknowledgements only decide which packets to retransmit; the flow keeps its computed rate. Packets of a flow take
//! different paths, so a packet is not necessarily lost when a later packet arrives first. When a packet has arrived,
//! packets that were sent much earlier count as lost. Much earlier means by at least an upper estimate of the round
//! trip (at least 100 us), times a factor that grows after needless retransmissions (as in RACK, RFC 8985). If no
//! acknowledgement of a further packet arrives within a timeout, the oldest packet in flight counts as lost (RFC 6298).
//! When the retransmission of this packet is acknowledged, other packets that were sent long before the retransmission
//! count as lost too.
//!
//! Cost: a few operations per packet sent and per packet acknowledged.

use crate::transport::rtt::{RttEstimator, TimeoutBounds};
use raddle_core::{Duration, Time};
use raddle_wire::r2c2::Acknowledgement;
use std::collections::VecDeque;

/// The bounds of the timeout. `least` exceeds the longest queueing delays under R2C2. It is also the least lead in
/// departure time that proves a loss. `greatest` limits the time for which a flow leaves a repaired path unused.
const TIMEOUTS: TimeoutBounds = TimeoutBounds {
    initial: Duration::from_us(500),
    least: Duration::from_us(100),
    greatest: Duration::from_ms(10),
};

/// Upper bound of [`Unacknowledged::patience`], which grows with each needless retransmission (RFC 8985 §6.2, step 4).
const MOST_PATIENCE: u64 = 8;

/// A packet of a flow, sent or to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) seq: u32,
    /// Payload bytes.
    pub(super) payload: u16,
    /// True for the flow's last packet.
    pub(super) last: bool,
    /// True if the packet has been sent before.
    pub(super) repeated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    Arrived,
    Lost,
}

/// The state of a packet that has been sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Departure time of the packet's last transmission.
    at: Time,
    payload: u16,
    last: bool,
    repeated: bool,
    fate: Fate,
}

/// The packets of one flow that have been sent, starting with the first unacknowledged packet.
#[derive(Debug, Clone)]
pub(super) struct Unacknowledged {
    first: u32,
    packets: VecDeque<Sent>,
    in_flight: u32,
    /// The transmissions of the packets in flight, in order of departure time. An entry is stale if its packet has
    /// arrived, or if the packet has a later entry.
    order: VecDeque<(Time, u32)>,
    /// The packets to retransmit. An entry is stale if its packet has arrived. The first entry is never stale.
    lost: VecDeque<u32>,
    /// The receiver accepts packets before this sequence number.
    limit: u32,
    rtt: RttEstimator,
    shortest_rtt: Duration,
    /// The latest departure time among the packets that have arrived.
    newest: Time,
    /// A factor of at least 1. It multiplies the upper estimate of the round trip, which counts as at least
    /// `TIMEOUTS.least`, or as `TIMEOUTS.initial` before the first measurement. When a packet has arrived, packets that
    /// were sent earlier by at least the product count as lost.
    patience: u64,
    /// Time at which the oldest packet in flight counts as lost, if no further packet is acknowledged before this time.
    /// [`Time::NEVER`] if no packet is in flight.
    deadline: Time,
    repeats: u32,
    repeated_bytes: u64,
    /// Payload bytes of the packets before `first`.
    acknowledged: u64,
}

impl Unacknowledged {
    /// The state of a flow before its first packet. The receiver's window is `window` packets.
    pub(super) fn new(window: u16) -> Self {
        Self {
            first: 0,
            packets: VecDeque::new(),
            in_flight: 0,
            order: VecDeque::new(),
            lost: VecDeque::new(),
            limit: window.into(),
            rtt: RttEstimator::default(),
            shortest_rtt: Duration::from_ps(u64::MAX),
            newest: Time::ZERO,
            patience: 1,
            deadline: Time::NEVER,
            repeats: 0,
            repeated_bytes: 0,
            acknowledged: 0,
        }
    }

    /// True if all packets that were sent are acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Number of retransmissions.
    pub(super) fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Payload bytes of all retransmissions.
    pub(super) fn repeated_bytes(&self) -> u64 {
        self.repeated_bytes
    }

    /// Payload bytes that have arrived in order.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Upper bound of the number of payload bytes to retransmit.
    pub(super) fn bytes_to_repeat(&self, mtu: u16) -> u64 {
        self.lost.len() as u64 * u64::from(mtu)
    }

    /// Time at which [`time_out`](Self::time_out) must be called next; [`Time::NEVER`] if no packet is in flight.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// The next packet to retransmit; `None` if no packet counts as lost.
    pub(super) fn to_repeat(&self) -> Option<Piece> {
        let &seq = self.lost.front()?;
        let sent = &self.packets[seq.wrapping_sub(self.first) as usize];
        Some(Piece { seq, payload: sent.payload, last: sent.last, repeated: true })
    }

    /// True if the flow may send its next new packet, with sequence number `seq`. If all sent packets are acknowledged,
    /// the flow may always send a new packet, so that it detects when a closed window opens.
    pub(super) fn allows(&self, seq: u32) -> bool {
        self.packets.is_empty() || is_before(seq, self.limit)
    }

    /// Records that a packet leaves: either the packet from [`to_repeat`](Self::to_repeat), or the next new packet.
    pub(super) fn sent(&mut self, now: Time, piece: Piece) {
        let Piece { seq, payload, last, repeated } = piece;
        let sent = Sent { at: now, payload, last, repeated, fate: Fate::InFlight };
        if repeated {
            self.packets[seq.wrapping_sub(self.first) as usize] = sent;
            self.repeats += 1;
            self.repeated_bytes += u64::from(payload);
            self.lost.pop_front();
            self.skip_arrived();
        } else {
            self.packets.push_back(sent);
        }
        self.in_flight += 1;
        self.order.push_back((now, seq));
        if self.deadline == Time::NEVER {
            self.deadline = now + self.rtt.timeout(&TIMEOUTS);
        }
    }

    /// Handles an acknowledgement from the receiver.
    pub(super) fn acknowledge(&mut self, now: Time, ack: &Acknowledgement) {
        let ahead = ack.next.wrapping_sub(self.first);
        if ahead as i32 > 0 && ahead as usize > self.packets.len() {
            return; // the acknowledgement is for packets that were never sent
        }
        let limit = ack.next.wrapping_add(ack.window.into());
        if is_before(self.limit, limit) {
            self.limit = limit;
        }
        self.measure(now, ack.data.seq);
        let mut news = false;
        if ahead as i32 > 0 {
            for place in 0..ahead as usize {
                news |= self.arrived(now, place);
            }
        }
        for seq in ack.packets() {
            news |= self.arrived(now, seq.wrapping_sub(self.first) as usize);
        }
        if !news {
            return;
        }
        while let Some(sent) = self.packets.pop_front_if(|sent| sent.fate == Fate::Arrived) {
            self.acknowledged += u64::from(sent.payload);
            self.first = self.first.wrapping_add(1);
        }
        self.skip_arrived();
        self.find_losses();
        self.rtt.forgive();
        self.restart(now);
    }

    /// Measures the round trip of packet `answered`, whose arrival has caused the acknowledgement. A retransmitted
    /// packet, or a packet that is already marked as arrived, gives no measurement (RFC 6298 §3).
    fn measure(&mut self, now: Time, answered: u32) {
        let sent = self.packets.get(answered.wrapping_sub(self.first) as usize);
        if let Some(sent) = sent.filter(|sent| sent.fate != Fate::Arrived && !sent.repeated) {
            let rtt = now.since(sent.at);
            self.rtt.sample(rtt);
            self.shortest_rtt = self.shortest_rtt.min(rtt);
        }
    }

    /// Marks the packet at index `place` as arrived. Returns true if the packet was not marked as arrived before.
    fn arrived(&mut self, now: Time, place: usize) -> bool {
        let Some(sent) = self.packets.get_mut(place) else { return false };
        match sent.fate {
            Fate::Arrived => return false,
            Fate::InFlight => self.in_flight -= 1,
            Fate::Lost => {}
        }
        sent.fate = Fate::Arrived;
        // If an acknowledgement arrives less than the shortest round trip after the retransmission, it acknowledges the
        // original transmission (RFC 8985 §6.2, step 2).
        if !sent.repeated || now.since(sent.at) >= self.shortest_rtt {
            self.newest = self.newest.max(sent.at);
        } else {
            self.patience = (self.patience + 1).min(MOST_PATIENCE);
        }
        true
    }

    /// Marks packets in flight as lost if a packet that was sent much later has arrived.
    fn find_losses(&mut self) {
        let patience = self.rtt.bound().unwrap_or(TIMEOUTS.initial).max(TIMEOUTS.least) * self.patience;
        while let Some(at) = self.oldest_in_flight()
            && at + patience <= self.newest
        {
            self.lose_oldest();
        }
    }

    /// Departure time of the oldest packet in flight. Removes stale entries, so that this packet's entry is the first
    /// entry of `order`.
    fn oldest_in_flight(&mut self) -> Option<Time> {
        while let Some(&(at, seq)) = self.order.front() {
            let sent = self.packets.get(seq.wrapping_sub(self.first) as usize);
            if sent.is_some_and(|sent| sent.fate == Fate::InFlight && sent.at == at) {
                return Some(at);
            }
            self.order.pop_front();
        }
        None
    }

    /// Marks the packet of the first entry of `order` as lost. This packet must be in flight.
    fn lose_oldest(&mut self) {
        if let Some((_, seq)) = self.order.pop_front() {
            self.packets[seq.wrapping_sub(self.first) as usize].fate = Fate::Lost;
            self.in_flight -= 1;
            self.lost.push_back(seq);
        }
    }

    fn skip_arrived(&mut self) {
        while let Some(&seq) = self.lost.front() {
            let sent = self.packets.get(seq.wrapping_sub(self.first) as usize);
            if sent.is_some_and(|sent| sent.fate == Fate::Lost) {
                return;
            }
            self.lost.pop_front();
        }
    }

    fn restart(&mut self, now: Time) {
        self.deadline = if self.in_flight == 0 { Time::NEVER } else { now + self.rtt.timeout(&TIMEOUTS) };
    }

    /// If the deadline has come, marks the oldest packet in flight as lost, doubles the timeout, sets the next
    /// deadline, and returns true.
    pub(super) fn time_out(&mut self, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        if self.oldest_in_flight().is_some() {
            self.lose_oldest();
        }
        self.rtt.back_off();
        self.restart(now);
        true
    }

    /// Called when the receiver is unreachable: marks all packets in flight as lost.
    pub(super) fn lose_all(&mut self) {
        while self.oldest_in_flight().is_some() {
            self.lose_oldest();
        }
        self.deadline = Time::NEVER;
    }
}

/// True if sequence number `a` is before `b`. Sequence numbers wrap.
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_wire::r2c2::{Data, Route};

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn piece(seq: u32) -> Piece {
        Piece { seq, payload: 100, last: false, repeated: false }
    }

    /// An acknowledgement in answer to packet `seq`. All packets before `next` have arrived, and also the packets `next
    /// + offset` for each offset in `beyond`.
    fn ack(seq: u32, next: u32, beyond: &[u32]) -> Acknowledgement {
        let bits = beyond.iter().fold(0, |bits, ahead| bits | 1_u64 << 63 >> ahead);
        let data = Data {
            flow: 1,
            src: 0,
            dst: 0,
            seq,
            plen: 16,
            rlen: 0,
            ridx: 0,
            flags: 0,
            route: Route::default(),
        };
        Acknowledgement { data, next, window: 1_000, from: 0, arrived: bits.to_be_bytes() }
    }

    /// The state after `count` packets have been sent, one per microsecond.
    fn sent(count: u32) -> Unacknowledged {
        let mut flow = Unacknowledged::new(1_000);
        (0..count).for_each(|seq| flow.sent(at(seq.into()), piece(seq)));
        flow
    }

    #[test]
    fn a_packet_is_lost_only_if_one_sent_much_later_has_arrived() {
        let mut flow = sent(200);
        // The round trip is 20 us, so the least bound of 100 us applies. Packet 0 is missing, and packets 1 to 100 are
        // acknowledged one after another.
        for seq in 1..100 {
            flow.acknowledge(
                at(u64::from(seq) + 20),
                &Acknowledgement { from: seq as u16, ..ack(seq, 0, &[0]) },
            );
            assert_eq!(flow.to_repeat(), None, "packet 0 was sent only {seq} us before packet {seq}");
        }
        flow.acknowledge(at(120), &Acknowledgement { from: 100, ..ack(100, 0, &[0]) });
        assert_eq!(flow.to_repeat(), Some(Piece { repeated: true, ..piece(0) }));
        assert_eq!(flow.lost.len(), 1, "only packet 0 was sent 100 us before packet 100");
    }

    #[test]
    fn silence_costs_one_packet_at_a_time_and_longer_each_time() {
        let mut flow = sent(3);
        assert!(!flow.time_out(at(499)));
        assert!(flow.time_out(at(500)));
        assert_eq!(flow.to_repeat().map(|piece| piece.seq), Some(0));
        assert_eq!(flow.deadline(), at(1_500), "the second timeout is twice the initial timeout");
        flow.sent(at(510), flow.to_repeat().expect("lost"));
        assert_eq!((flow.repeats(), flow.repeated_bytes()), (1, 100));
        // No round trip has been measured, so the sender cannot tell which transmission of packet 0 is acknowledged.
        // This acknowledgement therefore proves no loss of other packets.
        flow.acknowledge(at(530), &ack(0, 1, &[]));
        assert_eq!(flow.to_repeat(), None, "without a measured round trip, no other packet counts as lost");
        assert_eq!(flow.deadline(), at(1_030), "the acknowledgement ends the back-off");
        assert!(flow.time_out(flow.deadline()));
        assert_eq!(flow.to_repeat().map(|piece| piece.seq), Some(1));
    }

    #[test]
    fn an_answer_to_the_original_is_no_evidence_and_teaches_patience() {
        let mut flow = sent(5);
        flow.acknowledge(at(20), &ack(0, 1, &[]));
        assert!(flow.time_out(flow.deadline()));
        let repeat = flow.to_repeat().expect("the oldest");
        flow.sent(at(1_000), repeat);
        flow.acknowledge(at(1_001), &ack(1, 2, &[]));
        assert_eq!((flow.to_repeat(), flow.patience), (None, 2));
    }

    #[test]
    fn a_closed_window_lets_one_packet_out() {
        let mut flow = Unacknowledged::new(2);
        for seq in 0..2 {
            assert!(flow.allows(seq));
            flow.sent(at(0), piece(seq));
        }
        assert!(!flow.allows(2));
        flow.acknowledge(at(20), &Acknowledgement { window: 0, ..ack(1, 2, &[]) });
        assert!(flow.is_empty() && flow.allows(2));
        flow.sent(at(30), piece(2));
        assert!(!flow.allows(3));
        flow.acknowledge(at(40), &Acknowledgement { window: 2, ..ack(2, 3, &[]) });
        assert!(flow.allows(4) && flow.is_empty());
    }

    #[test]
    fn numbers_wrap() {
        let mut flow = Unacknowledged { first: u32::MAX, limit: 3, ..Unacknowledged::new(0) };
        for seq in [u32::MAX, 0, 1, 2] {
            assert!(flow.allows(seq));
            flow.sent(at(0), piece(seq));
        }
        assert!(!flow.allows(3));
        flow.acknowledge(at(10), &ack(1, u32::MAX, &[2]));
        flow.acknowledge(at(11), &ack(0, 2, &[]));
        assert_eq!((flow.first, flow.in_flight), (2, 1));
    }

    #[test]
    fn nonsense_changes_nothing() {
        let mut flow = sent(3);
        for next in [4, 1 << 31, u32::MAX] {
            flow.acknowledge(at(9), &ack(7, next, &[]));
            assert_eq!((flow.first, flow.in_flight), (0, 3), "{next}");
        }
    }

    #[test]
    fn packets_to_a_node_that_was_cut_off_are_sent_again_unless_they_arrived() {
        let mut flow = sent(4);
        flow.lose_all();
        assert_eq!((flow.deadline(), flow.in_flight, flow.bytes_to_repeat(100)), (Time::NEVER, 0, 400));
        flow.acknowledge(at(30), &ack(2, 1, &[1]));
        assert_eq!(flow.to_repeat().map(|piece| piece.seq), Some(1));
        flow.sent(at(40), flow.to_repeat().expect("lost"));
        assert_eq!(flow.to_repeat().map(|piece| piece.seq), Some(3), "packet 2 has arrived");
    }
}
