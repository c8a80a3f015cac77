//! What crosses from one partition to another.

use raddle_core::{Credit, Packet, Time};

/// Something on its way over a link between two partitions.
#[derive(Debug)]
pub(crate) struct Mail {
    /// The link's index where it ends.
    pub(crate) link: u32,
    pub(crate) arrives: Time,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// A packet; its last bit arrives at `tail`.
    Packet {
        tail: Time,
        packet: Packet,
    },
    Credit(Credit),
}
