//! R2C2's packets (Costa et al., SIGCOMM 2015, §3 and Fig. 6; the byte layout is a reconstruction).
//!
//! All multi-byte fields are big-endian. The first byte is the type: its high nibble is the class (1 data, 2 event, 3
//! announcement, 4 unicast control), and its low nibble is the kind of packet within the class. A flow handle is `src
//! << 16 | lid`, where `lid` is the sender's own 16-bit number for the flow.

use crate::Header;

mod acknowledgement;
mod announcement;
mod controller;
mod data;
mod digest;
mod event;
mod notice;
mod request;
mod route;
mod snapshot;

pub use acknowledgement::Acknowledgement;
pub use announcement::{Announcement, Assignment};
pub use controller::{ControllerEvent, ControllerRates, FlowRate};
pub use data::{Data, FLAG_LAST, FLAG_PAYLOAD_COVERED};
pub use digest::Digest;
pub use event::{Event, EventKind, UNLIMITED_KBPS};
pub use notice::{DropNotice, NoticeReason};
pub use request::{Request, Wanted};
pub use route::{MAX_HOPS_3_BITS, Route};
pub use snapshot::{FlowState, Snapshot, SnapshotBody};

/// Returns the handle of the flow with number `lid` at node `src`.
#[must_use]
pub const fn flow_handle(src: u16, lid: u16) -> u32 {
    (src as u32) << 16 | lid as u32
}

impl Header {
    /// Returns the source-routed header of R2C2's data and unicast control packets; `None` for other packets.
    #[must_use]
    pub fn routed(&self) -> Option<&Data> {
        match self {
            Self::R2c2Data(data) => Some(data),
            Self::R2c2DropNotice(notice) => Some(&notice.data),
            Self::R2c2Acknowledgement(ack) => Some(&ack.data),
            Self::R2c2ControllerEvent(packet) => Some(&packet.data),
            Self::R2c2ControllerRates(packet) => Some(&packet.data),
            Self::R2c2Request(request) => Some(&request.data),
            Self::R2c2Snapshot(snapshot) => Some(&snapshot.data),
            _ => None,
        }
    }

    /// Returns the same header as [`routed`](Self::routed), so that a relay can change it.
    #[must_use]
    pub fn routed_mut(&mut self) -> Option<&mut Data> {
        match self {
            Self::R2c2Data(data) => Some(data),
            Self::R2c2DropNotice(notice) => Some(&mut notice.data),
            Self::R2c2Acknowledgement(ack) => Some(&mut ack.data),
            Self::R2c2ControllerEvent(packet) => Some(&mut packet.data),
            Self::R2c2ControllerRates(packet) => Some(&mut packet.data),
            Self::R2c2Request(request) => Some(&mut request.data),
            Self::R2c2Snapshot(snapshot) => Some(&mut snapshot.data),
            _ => None,
        }
    }
}
