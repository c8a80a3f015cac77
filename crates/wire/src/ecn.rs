//! Explicit congestion notification in the IP header (RFC 3168 §5).

/// The ECN field, the two low bits of IPv4's type-of-service byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not support ECN marks.
    #[default]
    NotEct = 0,
    /// ECT(1): the transport supports ECN marks.
    Ect1 = 1,
    /// ECT(0): the transport supports ECN marks. Senders use this value.
    Ect0 = 2,
    /// A queue on the path was congested.
    Ce = 3,
}

impl Ecn {
    /// Returns the ECN field of a type-of-service byte. Ignores the other bits.
    pub(crate) const fn of(type_of_service: u8) -> Self {
        match type_of_service & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns true if a queue may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Marks the packet if its transport supports ECN marks. Returns true if the packet is marked.
    pub(crate) const fn mark(&mut self) -> bool {
        let is_capable = self.is_capable();
        if is_capable {
            *self = Self::Ce;
        }
        is_capable
    }
}
