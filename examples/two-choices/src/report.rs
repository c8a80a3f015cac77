//! The report that a switch sends to its neighbours: how long a packet that arrives now would wait in the
//! switch's longest queue.
//!
//! ```text
//! offset 0       3       7      11
//!        prefix  switch  wait   checksum
//! ```

use raddle_core::{Duration, HeaderInfo, NodeId, PacketKind};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::{Ends, Error};

/// The report of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The switch that sends the report.
    pub switch: NodeId,
    /// Time until the switch's longest queue has drained, in whole nanoseconds. Times of 2^32 ns or more are reported
    /// as 2^32 - 1.
    pub wait_ns: u32,
}

impl Report {
    /// Size on the wire in bytes.
    pub const LEN: usize = PREFIX + 10;

    /// Creates a report. `wait` is the time until the switch's longest queue has drained.
    #[must_use]
    pub fn new(switch: NodeId, wait: Duration) -> Self {
        Self { switch, wait_ns: u32::try_from(wait.as_ps() / 1_000).unwrap_or(u32::MAX) }
    }

    /// Time until the longest queue has drained.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_ns(self.wait_ns.into())
    }

    /// The checksum of the other fields: receivers discard a damaged report.
    #[allow(clippy::cast_possible_truncation, reason = "the checksum keeps 16 bits of the sum")]
    fn checksum(self) -> u16 {
        let sum = self.switch.0.wrapping_mul(31).wrapping_add(self.wait_ns);
        (sum ^ sum >> 16) as u16
    }
}

// ANCHOR: header
impl ExtensionHeader for Report {
    const NUMBER: u16 = 0x2C01;
}

impl HeaderInfo for Report {
    /// Both ends are the sending switch, because a report is for whichever neighbour receives it.
    fn ends(&self) -> Ends {
        Ends { src: self.switch, dst: self.switch }
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        out.extend(self.switch.0.to_be_bytes());
        out.extend(self.wait_ns.to_be_bytes());
        out.extend(self.checksum().to_be_bytes());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    #[expect(clippy::many_single_char_names, reason = "each letter names a byte of a field")]
    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let Some(&[_, _, _, a, b, c, d, e, f, g, h, i, j]) = bytes.first_chunk() else {
            return Err(Error::Truncated { have: bytes.len(), need: Self::LEN });
        };
        let (switch, wait_ns) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        let report = Self { switch: NodeId(switch), wait_ns };
        if u16::from_be_bytes([i, j]) != report.checksum() {
            return Err(Error::Checksum);
        }
        Ok((report, Self::LEN))
    }
}
// ANCHOR_END: header

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        let report = Report::new(NodeId(0x0102), Duration::from_us(3));
        let mut bytes = Vec::new();
        report.encode_header(&[], &mut bytes);
        assert_eq!(bytes, [0x95, 0x2C, 0x01, 0, 0, 1, 2, 0, 0, 0x0B, 0xB8, 0x2A, 0xF6]);
        assert_eq!(bytes.len(), Report::LEN);
        assert!(Report::is_in(&bytes));
        assert_eq!(Report::decode_header(&bytes), Ok((report, Report::LEN)));
        assert_eq!(report.wait(), Duration::from_us(3));
    }

    #[test]
    fn a_damaged_report_is_not_believed() {
        let mut bytes = Vec::new();
        Report::new(NodeId(7), Duration::from_us(3)).encode_header(&[], &mut bytes);
        for place in PREFIX..Report::LEN {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(Report::decode_header(&damaged), Err(Error::Checksum), "byte {place}");
        }
        let short = Error::Truncated { have: 12, need: 13 };
        assert_eq!(Report::decode_header(&bytes[..12]), Err(short));
    }
}
