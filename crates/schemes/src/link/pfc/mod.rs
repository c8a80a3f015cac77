//! Priority-based flow control. If a port's ingress memory for a priority is nearly full, the port instructs its
//! neighbour to stop sending packets of that priority (IEEE 802.1Qbb, IEEE 802.3 Annex 31D; specifications/cee.md
//! §2.2).
//!
//! Every port has separate memory for each lossless priority. If the occupancy exceeds the upper watermark, the port
//! sends a pause. The pause lasts for a limited time and is renewed before it expires. At the lower watermark the port
//! ends the pause. The memory above the upper watermark is for packets that arrive before the pause takes effect:
//! [`headroom`].
//!
//! Differs from the standard: a pause takes effect as soon as its frame has arrived, while 802.3 Annex 31B.3.7 allows a
//! reaction time. The headroom includes that reaction time.
//!
//! Cost per packet that enters or leaves the memory: an addition or a subtraction, and a few comparisons.

mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use scheme::Params;
pub use scheme::{FLOW_CONTROL, headroom};

use raddle_core::{Class, Duration, FlowControlAccount, Header, LinkFlowControl, Packet, Paused, Rate, Time};
use raddle_wire::Mac;
use raddle_wire::pfc::Pause;

/// The longest pause that a frame can request, in units of 512 bit times.
const LONGEST: u16 = 0xFFFF;

/// Flow control at one port. The fields that each arriving or departing packet needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Pfc {
    /// Bytes of each priority in the port's ingress memory.
    occupied: [u32; 8],
    params: Params,
    /// The greatest value of `occupied` so far, over all priorities.
    peak: u32,
    /// Priorities for which this port has paused its neighbour, one bit each.
    pausing: u8,
    mac: Mac,
    /// Duration of 512 bits on the link.
    quantum: Duration,
    /// Time at which the port must renew its pauses.
    renewal: Time,
    paused: Paused,
    /// Indexed by priority: the time at which the neighbour's pause of this priority expires.
    until: [Time; 8],
    /// Time since which the neighbour has paused at least one priority of this port; meaningless if no priority is
    /// paused.
    paused_since: Time,
    account: FlowControlAccount,
    /// Rate at which the host at this port empties the port's ingress memory. `None` if the host empties the memory
    /// immediately, and at ports of switches.
    drain_rate: Option<Rate>,
}

impl Pfc {
    /// Flow control for a port whose link has this line rate. `mac` is the source address of the port's pause frames.
    #[must_use]
    pub(crate) fn new(params: Params, mac: Mac, line_rate: Rate) -> Self {
        Self {
            occupied: [0; 8],
            params,
            peak: 0,
            pausing: 0,
            mac,
            quantum: line_rate.time_for(raddle_core::Bytes(64)),
            renewal: Time::NEVER,
            paused: Paused::NONE,
            until: [Time::ZERO; 8],
            paused_since: Time::ZERO,
            account: FlowControlAccount::default(),
            drain_rate: None,
        }
    }

    /// The same flow control at a host that empties the ingress memory at this rate.
    #[must_use]
    pub(crate) fn drained_at(self, drain_rate: Rate) -> Self {
        Self { drain_rate: Some(drain_rate), ..self }
    }

    fn is_lossless(&self, class: Class) -> bool {
        class < Class::CONTROL && self.params.priorities >> class.0 & 1 == 1
    }

    /// A frame that pauses these priorities for the longest time, or, if `resume` is true, ends their pauses.
    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn frame(&self, priorities: u8, resume: bool) -> Packet {
        let quanta = std::array::from_fn(|i| if priorities >> i & 1 == 1 && !resume { LONGEST } else { 0 });
        let pause = Pause { src: self.mac, enabled: priorities, quanta };
        Packet::new(Pause::LEN as u32, Header::Pfc(pause))
    }

    fn longest(&self) -> Duration {
        self.quantum * u64::from(LONGEST)
    }

    fn set_renewal(&mut self, now: Time) {
        // The renewal comes well before half of the pause has passed, so that a single lost frame does no harm.
        self.renewal = if self.pausing == 0 { Time::NEVER } else { now + self.longest() * 2 / 5 };
    }

    /// Updates the paused priorities and the paused time to `now`.
    fn settle(&mut self, now: Time) {
        let held = (0..8).filter(|&priority: &usize| self.until[priority] > now);
        let paused = Paused(held.fold(0, |mask, priority| mask | 1 << priority));
        match (self.paused == Paused::NONE, paused == Paused::NONE) {
            (true, false) => self.paused_since = now,
            (false, true) => self.account.paused = self.account.paused + now.since(self.paused_since),
            _ => {}
        }
        self.paused = paused;
    }
}

impl LinkFlowControl for Pfc {
    fn enter(&mut self, now: Time, class: Class, size: u32) -> Option<Packet> {
        if !self.is_lossless(class) {
            return None;
        }
        let occupied = &mut self.occupied[class.index()];
        *occupied += size;
        self.peak = self.peak.max(*occupied);
        let priority = 1 << class.0;
        if *occupied <= self.params.xoff {
            return None;
        }
        self.account.overflows += u64::from(*occupied > self.params.buffer);
        if self.pausing & priority != 0 {
            return None;
        }
        self.pausing |= priority;
        self.account.pauses += 1;
        if self.renewal == Time::NEVER {
            self.set_renewal(now);
        }
        Some(self.frame(priority, false))
    }

    fn leave(&mut self, now: Time, class: Class, size: u32) -> Option<Packet> {
        if !self.is_lossless(class) {
            return None;
        }
        let occupied = &mut self.occupied[class.index()];
        *occupied -= size;
        let priority = 1 << class.0;
        if *occupied > self.params.xon || self.pausing & priority == 0 {
            return None;
        }
        self.pausing &= !priority;
        if self.pausing == 0 {
            self.set_renewal(now);
        }
        Some(self.frame(priority, true))
    }

    fn holds_back(&self) -> bool {
        self.pausing != 0
    }

    fn heed(&mut self, now: Time, packet: &Packet) -> bool {
        let Header::Pfc(pause) = &packet.header else { return false };
        for priority in (0..8).filter(|&priority| pause.enabled >> priority & 1 == 1) {
            self.until[priority] = now + self.quantum * u64::from(pause.quanta[priority]);
        }
        self.settle(now);
        true
    }

    fn paused(&self) -> Paused {
        self.paused
    }

    fn wake(&self) -> Time {
        let held = (0..8).filter(|&priority| self.paused.holds(Class(priority)));
        held.map(|priority| self.until[usize::from(priority)]).fold(self.renewal, Time::min)
    }

    fn fire(&mut self, now: Time) -> Option<Packet> {
        self.settle(now);
        if self.renewal > now {
            return None;
        }
        self.set_renewal(now);
        Some(self.frame(self.pausing, false))
    }

    fn restart(&mut self, now: Time) -> Option<Packet> {
        self.until = [now; 8];
        self.settle(now);
        self.set_renewal(now);
        (self.pausing != 0).then(|| self.frame(self.pausing, false))
    }

    fn drain_rate(&self) -> Option<Rate> {
        self.drain_rate
    }

    fn account(&self, now: Time) -> FlowControlAccount {
        let held = if self.paused == Paused::NONE { Duration::ZERO } else { now.since(self.paused_since) };
        FlowControlAccount {
            paused: self.account.paused + held,
            peak_memory: self.peak.into(),
            ..self.account
        }
    }
}
