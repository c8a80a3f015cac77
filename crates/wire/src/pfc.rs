//! The frame of priority-based flow control (IEEE 802.1Qbb, 802.3 Annex 31D; specifications/cee.md §4.2):
//!
//! | byte | bits | field |
//! |---|---|---|
//! | 0 | 48 | destination 01-80-C2-00-00-01 |
//! | 6 | 48 | address of the sending port |
//! | 12 | 16 | EtherType 0x8808, never after a VLAN tag |
//! | 14 | 16 | opcode 0x0101 |
//! | 16 | 16 | bit i is set if `time[i]` is valid |
//! | 18 | 8 x 16 | time for which each priority pauses, in units of 512 bit times; 0 resumes |
//! | 34 | 208 | zeros |
//! | 60 | 32 | frame check sequence |

use crate::ethernet::{FCS, MIN_FRAME};
use crate::field::{first, get16, put16};
use crate::{Class, Ends, Error, Framing, HeaderInfo, Mac, PacketKind, frame};

/// A pause frame from a port to the port at the other end of its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// The sending port's address.
    pub src: Mac,
    /// Bit i is set if the frame pauses or resumes priority i.
    pub enabled: u8,
    /// Pause time of each priority, from the arrival of the frame, in units of 512 bit times. A time of 0 resumes the
    /// priority. Times of priorities without a bit in `enabled` do not count.
    pub quanta: [u16; 8],
}

impl Pause {
    /// The destination address of all pause frames. Frames with this address reach only the neighbouring MAC
    /// and are never forwarded.
    pub const DESTINATION: Mac = Mac([Self::TYPE, 0x80, 0xC2, 0, 0, 1]);
    /// The EtherType of MAC control.
    pub const ETHERTYPE: u16 = 0x8808;
    /// Length on the wire in bytes, check sequence included.
    pub const LEN: usize = MIN_FRAME;
    /// The packet's first byte.
    pub(crate) const TYPE: u8 = 0x01;
    const OPCODE: u16 = 0x0101;

    /// Returns the whole frame.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        Self::DESTINATION.put(&mut bytes, 0);
        self.src.put(&mut bytes, 6);
        put16(&mut bytes, 12, Self::ETHERTYPE);
        put16(&mut bytes, 14, Self::OPCODE);
        put16(&mut bytes, 16, self.enabled.into());
        for (priority, quanta) in self.counted().into_iter().enumerate() {
            put16(&mut bytes, 18 + 2 * priority, quanta);
        }
        frame::seal(&mut bytes);
        bytes
    }

    /// Decodes the frame at the start of `bytes`. The pause times of priorities without a bit in `enabled` are read as
    /// 0.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not such a frame, or if the frame is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LEN] = first(bytes)?;
        frame::verify(bytes)?;
        let destination = Mac::get(bytes, 0);
        if destination != Self::DESTINATION {
            return Err(Error::Invalid { field: "destination", value: destination.bits() });
        }
        frame::expect_ethertype(bytes, 12, Self::ETHERTYPE)?;
        match get16(bytes, 14) {
            Self::OPCODE => {}
            opcode => return Err(Error::Invalid { field: "opcode", value: opcode.into() }),
        }
        let vector = get16(bytes, 16);
        let enabled = u8::try_from(vector)
            .map_err(|_| Error::Invalid { field: "class-enable vector", value: vector.into() })?;
        let quanta = std::array::from_fn(|priority| get16(bytes, 18 + 2 * priority));
        let pause = Self { src: Mac::get(bytes, 6), enabled, quanta };
        Ok(Self { quanta: pause.counted(), ..pause })
    }

    /// Returns the pause times, with 0 for priorities without a bit in `enabled`.
    fn counted(&self) -> [u16; 8] {
        let counts = |priority: usize| self.enabled >> priority & 1 == 1;
        std::array::from_fn(|priority| if counts(priority) { self.quanta[priority] } else { 0 })
    }
}

impl HeaderInfo for Pause {
    /// Returns the sending host as both ends, or node 0 if a switch port sends the frame. The frame
    /// does not name the neighbour that receives the frame.
    fn ends(&self) -> Ends {
        let node = self.src.node().unwrap_or(0);
        Ends::new(node, node)
    }

    fn kind(&self) -> PacketKind {
        PacketKind::Notice
    }

    #[inline]
    fn class(&self) -> Class {
        Class::CONTROL
    }

    fn wire_len(&self) -> usize {
        Self::LEN
    }

    fn framing(&self) -> Framing {
        Framing::Frame { tag: 0, fcs: FCS }
    }

    fn encode_header(&self, _payload: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encode());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::TYPE)
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self::decode(bytes)?, Self::LEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;
    use crate::tests::hex;

    /// The test vector of specifications/cee.md §4.2, without the 26 zeros of padding.
    const PAUSE: &str = "01 80 c2 00 00 01  06 01 02 00 01 02  88 08  01 01  00 08 \
                         00 00 00 00 00 00 ff ff 00 00 00 00 00 00 00 00";

    #[test]
    fn oracle_4_2_pause_and_resume() {
        let mut quanta = [0; 8];
        quanta[3] = 0xffff;
        let pause = Pause { src: Mac::switch_port(2, 1, 2), enabled: 1 << 3, quanta };
        let resume = Pause { quanta: [0; 8], ..pause };
        for (pause, text) in [(pause, PAUSE), (resume, &PAUSE.replace("ff ff", "00 00"))] {
            let bytes = pause.encode();
            assert_eq!(bytes[..34], hex(text));
            assert_eq!(bytes[34..60], [0; 26]);
            assert_eq!(Header::decode(&bytes), Ok((Header::Pfc(pause), 64)));
        }
    }

    #[test]
    fn times_that_do_not_count_are_neither_sent_nor_read() {
        let pause = Pause { src: Mac::host(1), enabled: 0b101, quanta: [1, 2, 3, 4, 5, 6, 7, 8] };
        let counted = Pause { quanta: [1, 0, 3, 0, 0, 0, 0, 0], ..pause };
        let mut bytes = pause.encode();
        assert_eq!(bytes, counted.encode());
        bytes[18 + 3] = 9;
        frame::seal(&mut bytes);
        assert_eq!(Pause::decode(&bytes), Ok(counted));
    }

    #[test]
    fn other_frames_are_refused() {
        let refused = |at: usize, value: u8| {
            let mut bytes = Pause { src: Mac::host(1), enabled: 1, quanta: [1; 8] }.encode();
            bytes[at] = value;
            frame::seal(&mut bytes);
            Pause::decode(&bytes).unwrap_err()
        };
        let invalid = |field, value| Error::Invalid { field, value };
        assert_eq!(refused(5, 0x0e), invalid("destination", 0x0180_c200_000e));
        assert_eq!(refused(12, 0x81), invalid("EtherType", 0x8108));
        assert_eq!(refused(14, 0), invalid("opcode", 1)); // opcode 1: the pause of all priorities (802.3x)
        assert_eq!(refused(16, 1), invalid("class-enable vector", 0x0101));
    }
}
