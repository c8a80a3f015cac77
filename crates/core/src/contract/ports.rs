//! Egress ports as hosts, forwarders and port agents see them: rate, pauses and waiting bytes.

use crate::{Bytes, Class, Duration, PortId, Rate, Time};

/// The paused priorities. If bit `i` is set, the port may not begin to send a packet of priority `i` (IEEE 802.1Q has
/// eight priorities).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paused(pub u8);

impl Paused {
    /// No priority is paused.
    pub const NONE: Self = Self(0);

    /// True if packets of this [class](crate::Packet::class) must not begin to leave.
    #[must_use]
    #[inline]
    pub const fn holds(self, class: Class) -> bool {
        class.0 < Class::CONTROL.0 && self.0 >> class.0 & 1 == 1
    }
}

/// An egress port as the node's host, its forwarder and the port's agent see it.
///
/// Some runtimes know when a port's queue will be empty: the packet engine computes this time when a packet joins the
/// queue. Other runtimes know only the number of waiting bytes. The methods work with both kinds of runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortState {
    /// The link's rate; zero where the port has no link.
    pub rate: Rate,
    /// True if the port has a link and the link is up.
    pub up: bool,
    /// The classes that the neighbour has paused.
    pub paused: Paused,
    /// Time at which the port will have sent all its packets, if it is not paused; [`Time::NEVER`] if this is unknown.
    drains_at: Time,
    /// Bytes that wait, without the packet in service; 0 if the runtime does not count them. A runtime may provide both
    /// this count and `drains_at`.
    waiting: Bytes,
    /// Maximum number of bytes that may wait; [`PortState::UNLIMITED`] if no such limit is known.
    limit: Bytes,
}

impl PortState {
    /// The value that stands for "no limit in bytes", both as a queue's limit and as its remaining room.
    pub const UNLIMITED: Bytes = Bytes(u64::MAX);

    /// An empty port that is not paused and has no limit in bytes. Its runtime knows when its queue drains. The port is
    /// up unless `rate` is zero: a rate of zero means that the port has no link.
    #[must_use]
    pub const fn idle(rate: Rate) -> Self {
        Self {
            rate,
            up: rate.as_bps() > 0,
            paused: Paused::NONE,
            drains_at: Time::ZERO,
            waiting: Bytes(0),
            limit: Self::UNLIMITED,
        }
    }

    /// Returns this port with a queue of at most `limit` bytes.
    #[must_use]
    pub const fn limited(self, limit: Bytes) -> Self {
        Self { limit, ..self }
    }

    /// Returns this port with the time `at`, at which the port will have sent all its packets if it is not paused.
    #[must_use]
    pub const fn busy_until(self, at: Time) -> Self {
        Self { drains_at: at, ..self }
    }

    /// Returns this port with this many waiting bytes. The time at which the queue drains is then unknown.
    #[must_use]
    pub const fn holding(self, waiting: Bytes) -> Self {
        Self { drains_at: Time::NEVER, waiting, ..self }
    }

    /// Sets the time at which the port will have sent all its packets, if it is not paused.
    #[inline]
    pub const fn set_drains_at(&mut self, at: Time) {
        self.drains_at = at;
    }

    /// Sets the number of waiting bytes, the packet in service not included.
    #[inline]
    pub const fn set_waiting(&mut self, waiting: Bytes) {
        self.waiting = waiting;
    }

    /// Time at which the port will have sent all its packets, if it is not paused; `None` if the runtime does not know
    /// this time. The time is not in the future if the port is idle.
    #[must_use]
    #[inline]
    pub fn drains_at(&self) -> Option<Time> {
        (self.drains_at < Time::NEVER).then_some(self.drains_at)
    }

    /// Time at which a packet accepted now could begin to leave, if the port is not paused. This is
    /// [`drains_at`](Self::drains_at) if that time is known, and otherwise `now` plus the time that the waiting bytes
    /// take at the link's rate. The time is not after `now` if the port is idle. It is [`Time::NEVER`] if bytes wait
    /// for a port without a link.
    #[must_use]
    #[inline]
    pub fn free_at(&self, now: Time) -> Time {
        if self.drains_at < Time::NEVER { self.drains_at } else { self.estimated_free_at(now) }
    }

    #[cold]
    fn estimated_free_at(&self, now: Time) -> Time {
        match (self.waiting, self.rate) {
            (Bytes(0), _) => now,
            (_, Rate::ZERO) => Time::NEVER,
            (waiting, rate) => now + rate.time_for(waiting),
        }
    }

    /// Time that a packet accepted now would wait before its first bit leaves, if the port is not paused.
    #[must_use]
    #[inline]
    pub fn backlog(&self, now: Time) -> Duration {
        self.free_at(now).since(now)
    }

    /// Bytes that have not left the port. They include the unsent part of the packet in service, unless the runtime
    /// counts only packets that wait.
    #[must_use]
    #[inline]
    pub fn waiting(&self, now: Time) -> Bytes {
        // While a port is paused, its queue does not drain. The time `drains_at` is then too early, and the count of
        // waiting bytes is right.
        match self.drains_at() {
            Some(at) => self.waiting.max(self.rate.bytes_in(at.since(now))),
            None => self.waiting,
        }
    }

    /// Bytes for which the queue has room; [`PortState::UNLIMITED`] if no limit in bytes is known. A queue may have
    /// other limits: on packets, or on kinds of packets.
    #[must_use]
    #[inline]
    pub fn room(&self, now: Time) -> Bytes {
        if self.limit == Self::UNLIMITED {
            return Self::UNLIMITED;
        }
        Bytes(self.limit.0.saturating_sub(self.waiting(now).0))
    }
}

/// A node's egress ports, in port order: a read-only view.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a>(pub &'a [PortState]);

impl Ports<'_> {
    /// The state of one port.
    #[must_use]
    #[inline]
    pub fn get(&self, port: PortId) -> &PortState {
        &self.0[port.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_gbps(10);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// At 10 Gbps, 12,500 bytes take 10 us.
    #[test]
    fn a_port_that_knows_only_its_bytes_answers_like_one_that_knows_when_it_drains() {
        let limited = PortState::idle(RATE).limited(Bytes(20_000));
        let (timed, counted) = (limited.busy_until(us(15)), limited.holding(Bytes(12_500)));
        for port in [timed, counted] {
            assert_eq!(port.backlog(us(5)), Duration::from_us(10));
            assert_eq!(port.free_at(us(5)), us(15));
            assert_eq!((port.waiting(us(5)), port.room(us(5))), (Bytes(12_500), Bytes(7_500)));
        }
        assert_eq!((timed.drains_at(), counted.drains_at()), (Some(us(15)), None));
        assert_eq!(timed.waiting(us(10)), Bytes(6_250), "half of them have left");
        assert_eq!(counted.waiting(us(10)), Bytes(12_500), "as last counted");
        assert_eq!(timed.waiting(us(16)), Bytes(0));
        assert_eq!(timed.room(us(16)), Bytes(20_000));
    }

    #[test]
    fn the_queue_of_a_paused_port_does_not_drain() {
        let mut port = PortState::idle(RATE).busy_until(us(10));
        port.set_waiting(Bytes(3_000));
        assert_eq!([0, 10].map(|at| port.waiting(us(at))), [12_500, 3_000].map(Bytes));
    }

    #[test]
    fn a_queue_with_more_than_its_limit_has_no_room_and_one_without_a_limit_always_has() {
        let port = PortState::idle(RATE).holding(Bytes(5_000));
        assert_eq!(port.limited(Bytes(4_000)).room(us(0)), Bytes(0));
        assert_eq!(port.room(us(0)), PortState::UNLIMITED);
    }

    #[test]
    fn a_port_without_a_link_is_down_and_never_sends() {
        let port = PortState::idle(Rate::ZERO);
        assert!(!port.up && PortState::idle(RATE).up);
        assert_eq!(port.holding(Bytes(1)).free_at(us(1)), Time::NEVER);
        assert_eq!(port.holding(Bytes(0)).free_at(us(1)), us(1));
    }
}
