//! Egress ports as the parts of their node see them.

use crate::{Class, Duration, PortId, Rate, Time};

/// Priorities that may not begin to send: bit `i` is priority `i` of the eight of IEEE 802.1Q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paused(pub u8);

impl Paused {
    /// All may send.
    pub const NONE: Self = Self(0);

    /// Whether packets of that [class](crate::Packet::class) may not begin to leave.
    #[must_use]
    #[inline]
    pub const fn holds(self, class: Class) -> bool {
        class.0 < Class::CONTROL.0 && self.0 >> class.0 & 1 == 1
    }
}

/// An egress port as its node's parts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortState {
    /// When everything now accepted by the port will have left it, if nothing pauses it.
    pub free_at: Time,
    /// The link's rate; zero where the port has no link.
    pub rate: Rate,
    /// Whether the link is there and up.
    pub up: bool,
    /// What the neighbour does not want to have now.
    pub paused: Paused,
}

impl PortState {
    /// How long a packet accepted now would wait before its first bit leaves.
    #[must_use]
    pub fn backlog(&self, now: Time) -> Duration {
        self.free_at.since(now)
    }
}

/// A node's egress ports, in port order: a read-only view.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a>(pub &'a [PortState]);

impl Ports<'_> {
    /// The state of one port.
    #[must_use]
    pub fn get(&self, port: PortId) -> &PortState {
        &self.0[port.index()]
    }
}
