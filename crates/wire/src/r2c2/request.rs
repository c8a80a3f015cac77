//! The request, in which a node asks another node to repeat recent broadcasts or to send a
//! snapshot.

use super::Data;
use crate::{Ends, Error, HeaderInfo, PacketKind};

/// The content that a request asks the receiver to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Events with the latest state of some flows. The request's receiver has recently sent broadcasts about these
    /// flows over the link to the requesting node. The requesting node has received a damaged packet over this link,
    /// perhaps one of these broadcasts. The request has type 0x44.
    Resend,
    /// A [`Snapshot`](super::Snapshot) of the receiver's own flows. The request has type 0x47. The type 0x45 is not
    /// used, because it is the first byte of IPv4 packets.
    Snapshot,
}

/// A request: a data header of type 0x44 or 0x47 without payload. The snapshot that answers a request has the
/// same `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The data header, which is the whole request. Its `plen` is 0.
    pub data: Data,
    /// The requested content.
    pub wanted: Wanted,
}

impl Request {
    /// The type byte of a request for a resend.
    pub const RESEND: u8 = 0x44;
    /// The type byte of a request for a snapshot.
    pub const SNAPSHOT: u8 = 0x47;
    /// Length on the wire, in bytes.
    pub const LEN: usize = Data::LEN;

    /// Returns the request's bytes.
    ///
    /// # Panics
    /// In debug builds, if `data.plen` is not 0.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        debug_assert_eq!(self.data.plen, 0);
        let kind = match self.wanted {
            Wanted::Resend => Self::RESEND,
            Wanted::Snapshot => Self::SNAPSHOT,
        };
        self.data.encode_as(kind, &[])
    }

    /// Decodes the request at the start of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a request.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let (kind, wanted) = match bytes.first() {
            Some(&Self::SNAPSHOT) => (Self::SNAPSHOT, Wanted::Snapshot),
            _ => (Self::RESEND, Wanted::Resend),
        };
        let (data, payload) = Data::decode_as(kind, bytes)?;
        if !payload.is_empty() {
            return Err(Error::Invalid { field: "plen", value: data.plen.into() });
        }
        Ok(Self { data, wanted })
    }
}

impl HeaderInfo for Request {
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.data.src, self.data.dst)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }

    fn is_in(bytes: &[u8]) -> bool {
        matches!(bytes, [Self::RESEND | Self::SNAPSHOT, ..])
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}
