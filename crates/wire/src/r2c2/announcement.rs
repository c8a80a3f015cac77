//! The announcement of the routing protocols that some flows use from now on (R2C2 §3.4).

use crate::field::{first, get16, get32, part, put16};
use crate::{Ends, Error, HeaderInfo, PacketKind, checksum};
use std::sync::Arc;

/// The routing protocol of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Flow handle.
    pub flow: u32,
    /// Routing protocol's number, 0 to 15.
    pub protocol: u8,
}

impl Assignment {
    /// Length on the wire, in bytes.
    pub const LEN: usize = 5;
}

/// A broadcast announcement: a header of 12 bytes and a list of [`Assignment`]s.
///
/// | bytes | field |
/// |---|---|
/// | 0 | type, 0x31 |
/// | 1 | tree |
/// | 2-3 | src |
/// | 4-5 | epoch |
/// | 6-7 | count |
/// | 8-9 | checksum over all bytes |
/// | 10-11 | zero |
/// | 12.. | count times {handle (4), protocol (1)} |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Broadcast tree.
    pub tree: u8,
    /// The node that broadcasts the announcement.
    pub src: u16,
    /// Number of the protocol selection, modulo 2^16. A later selection replaces an earlier selection.
    pub epoch: u16,
    /// The assignments, which copies of the packet share.
    pub assignments: Arc<[Assignment]>,
}

const CHECKSUM: usize = 8;

impl Announcement {
    /// The packet's type byte.
    pub const TYPE: u8 = 0x31;
    /// Length of the header in bytes.
    pub const LEN: usize = 12;
    /// Greatest number of assignments in one packet. The packet then has 1,512 bytes.
    pub const MAX_ASSIGNMENTS: usize = 300;

    /// Appends the packet's bytes to `out`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more than [`MAX_ASSIGNMENTS`](Self::MAX_ASSIGNMENTS) assignments, or if a
    /// protocol's number exceeds 15.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let count = check_count(self.assignments.len())?;
        for assignment in &*self.assignments {
            check_protocol(assignment.protocol)?;
        }
        let start = out.len();
        out.extend_from_slice(&[0; Self::LEN]);
        for assignment in &*self.assignments {
            out.extend_from_slice(&assignment.flow.to_be_bytes());
            out.push(assignment.protocol);
        }
        let bytes = &mut out[start..];
        bytes[0] = Self::TYPE;
        bytes[1] = self.tree;
        put16(bytes, 2, self.src);
        put16(bytes, 4, self.epoch);
        put16(bytes, 6, count);
        let sum = checksum::sum(bytes);
        put16(bytes, CHECKSUM, !checksum::fold(sum));
        Ok(())
    }

    /// Decodes the announcement at the start of `bytes`. All protocol numbers in the result are below 16.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not an announcement.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let header: &[u8; Self::LEN] = first(bytes)?;
        if header[0] != Self::TYPE {
            return Err(Error::UnknownType(header[0]));
        }
        let count = usize::from(check_count(get16(header, 6).into())?);
        let body = part(bytes, Self::LEN, count * Assignment::LEN)?;
        checksum::verify(checksum::sum(header) + checksum::sum(body))?;
        let zero = get16(header, 10);
        if zero != 0 {
            return Err(Error::Invalid { field: "zero", value: zero.into() });
        }
        let (pairs, _) = body.as_chunks::<{ Assignment::LEN }>();
        for pair in pairs {
            check_protocol(pair[4])?;
        }
        let assignments = pairs.iter().map(|pair| Assignment { flow: get32(pair, 0), protocol: pair[4] });
        let assignments = assignments.collect();
        Ok(Self { tree: header[1], src: get16(header, 2), epoch: get16(header, 4), assignments })
    }
}

fn check_count(count: usize) -> Result<u16, Error> {
    match u16::try_from(count) {
        Ok(fits) if count <= Announcement::MAX_ASSIGNMENTS => Ok(fits),
        _ => Err(Error::Invalid { field: "count", value: count as u64 }),
    }
}

fn check_protocol(protocol: u8) -> Result<(), Error> {
    if protocol > 15 {
        return Err(Error::Invalid { field: "rp", value: protocol.into() });
    }
    Ok(())
}

impl HeaderInfo for Announcement {
    /// Returns the broadcasting node as both source and destination, because the packet is for all nodes.
    #[inline]
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.src)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Event
    }

    fn wire_len(&self) -> usize {
        Self::LEN + self.assignments.len() * Assignment::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        self.encode(out)
            .expect("an announcement must have at most 300 assignments, with protocol numbers below 16");
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let announcement = Self::decode(bytes)?;
        let len = announcement.wire_len();
        Ok((announcement, len))
    }
}
