//! Packets and credits that cross from one partition to another.

use raddle_core::{Credit, Packet, Time};

/// A packet or a credit on a link between two partitions.
#[derive(Debug)]
pub(crate) struct Mail {
    /// The link's index in the partition where the link ends.
    pub(crate) link: u32,
    pub(crate) arrives: Time,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// A packet whose last bit arrives at `tail`.
    Packet {
        tail: Time,
        packet: Packet,
    },
    Credit(Credit),
}
