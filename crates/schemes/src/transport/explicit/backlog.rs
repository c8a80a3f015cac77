//! The backlog of an egress port, counted by the port's agent.

use raddle_core::{Bytes, PortState, Time};

/// The backlog of an egress port in bytes, without the packet in transmission. If a rate controller counted this packet
/// as backlog, a link whose round trip is ten times the serialization delay of a packet would lose a few percent of its
/// throughput (specifications/pdq.md §4.4, P1).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    /// Bytes of the packets that wait or are in transmission.
    queued: u64,
    /// Size in bytes of the packet whose transmission began last.
    leaving: u64,
    /// Time at which this transmission ends.
    gone_at: Time,
}

impl Backlog {
    /// Records that a packet of `size` bytes joins the queue.
    pub(crate) fn join(&mut self, size: u32) {
        self.queued += u64::from(size);
    }

    /// Records that the port begins to send a packet of `size` bytes.
    pub(crate) fn leave(&mut self, now: Time, size: u32, port: &PortState) {
        self.leaving = size.into();
        self.gone_at = now + port.rate.time_for(Bytes(size.into()));
    }

    /// Records that a packet of `size` bytes has left the port or was lost there.
    pub(crate) fn left(&mut self, size: u32) {
        self.queued = self.queued.saturating_sub(size.into());
    }

    /// Bytes of the packets that wait, without the packet in transmission.
    #[must_use]
    pub(crate) fn waiting(&self, now: Time) -> u64 {
        if now <= self.gone_at { self.queued.saturating_sub(self.leaving) } else { self.queued }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::backlogs;
    use raddle_core::Duration;

    #[test]
    fn the_packet_that_leaves_does_not_wait_nor_does_one_that_was_refused() {
        let [port] = backlogs(&[0])[..] else { unreachable!("one port") };
        let mut backlog = Backlog::default();
        let sent = Time::ZERO + port.rate.time_for(Bytes(1_500));
        backlog.join(1_500);
        backlog.leave(Time::ZERO, 1_500, &port);
        backlog.join(1_000);
        backlog.join(500);
        backlog.left(500);
        assert_eq!(backlog.waiting(Time::ZERO), 1_000);
        assert_eq!(backlog.waiting(sent), 1_000);
        backlog.left(1_500);
        assert_eq!(backlog.waiting(sent + Duration::from_ps(1)), 1_000);
    }
}
