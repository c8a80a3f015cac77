//! A port's announcement of its priorities' settings to its neighbour (Data Center Bridging eXchange, IEEE 802.1Q annex
//! D). The announcement is a list of values in an LLDP frame (IEEE 802.1AB). Each value has a type of 7 bits and a
//! length of 9 bits. The frame has the port's address and the time to live. It may also have the following values of
//! type 127, each with the organisation 00-80-C2 and a subtype. Numbers in parentheses are widths in bits.
//!
//! | subtype | length | value |
//! |---|---|---|
//! | 0x08 congestion notification | 6 | priorities with congestion notification, ready priorities; one bit each |
//! | 0x09 ETS configuration | 25 | willing (1 bit), credit-based shaper (1), 0 (3), number of classes, 0 for 8 (3); class of each priority (8 x 4 bits, priority 0 first); percents (8 x 8); algorithms (8 x 8) |
//! | 0x0A ETS recommendation | 25 | 0 (8); the rest as in subtype 0x09 |
//! | 0x0B priority-based flow control | 6 | willing (1 bit), MACsec bypass (1), 0 (2), number of priorities that may have PFC at once (4); priorities with PFC: a bit each |

use crate::ethernet::{FCS, HEADER, MIN_FRAME};
use crate::field::{first, get16, part, put16};
use crate::{Error, Mac, frame};

/// A port's announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// The port's address, which also identifies the station.
    pub port: Mac,
    /// Time for which the announcement is valid, in seconds.
    pub holds_s: u16,
    /// Congestion notification.
    pub congestion: Option<CongestionNotification>,
    /// The port's own enhanced transmission selection.
    pub ets: Option<Ets>,
    /// The enhanced transmission selection that the port recommends to its neighbour.
    pub recommended: Option<Allocation>,
    /// Priority-based flow control.
    pub pfc: Option<Pfc>,
}

/// Priorities with congestion notification, bit i for priority i.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionNotification {
    /// Priorities that are congestion-controlled on this port.
    pub enabled: u8,
    /// Congestion-controlled priorities on which the port accepts congestion notification tags (CN-TAGs), so the
    /// neighbour need not remove these tags.
    pub ready: u8,
}

/// A port's enhanced transmission selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ets {
    /// True if the port would follow its neighbour's recommendation.
    pub willing: bool,
    /// True if the port supports the credit-based algorithm.
    pub credit_based: bool,
    /// Number of traffic classes that the port supports: 1 to 8.
    pub classes: u8,
    /// The traffic classes and their shares.
    pub allocation: Allocation,
}

/// Traffic classes and their shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// The class of each priority: 0 to 7.
    pub class_of: [u8; 8],
    /// The share of each class in percent. The shares sum to 100.
    pub percent: [u8; 8],
    /// Scheduling algorithm of each class.
    pub selection: [Selection; 8],
}

/// Scheduling algorithm of a traffic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Selection {
    /// Served before all classes with lower numbers.
    Strict = 0,
    /// Served by credits that grow at a given rate.
    CreditBased = 1,
    /// Gets its share of the bandwidth that strict classes leave.
    Ets = 2,
}

/// A port's priority-based flow control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pfc {
    /// True if the port would adopt its neighbour's setting.
    pub willing: bool,
    /// True if the standard's bit MBC (MACsec bypass capability) is 1.
    pub macsec_bypass: bool,
    /// Number of priorities that may have flow control at the same time: 0 to 15.
    pub most: u8,
    /// Priorities with flow control, bit i for priority i.
    pub enabled: u8,
}

const DESTINATION: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 0x0E]);
const ETHERTYPE: u16 = 0x88CC;
const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TIME_TO_LIVE: u8 = 3;
const ORGANISATION: u8 = 127;
const CHASSIS_IS_MAC: u8 = 4;
const PORT_IS_MAC: u8 = 3;
const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xC2];
const CONGESTION: u8 = 0x08;
const ETS: u8 = 0x09;
const RECOMMENDATION: u8 = 0x0A;
const PFC: u8 = 0x0B;
/// Length in bytes of an ETS allocation, including the byte of flags before it.
const ALLOCATION_LEN: usize = 21;

impl Announcement {
    /// Returns the whole frame, check sequence included.
    ///
    /// # Panics
    /// If a field is out of its documented range.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER];
        DESTINATION.put(&mut out, 0);
        self.port.put(&mut out, 6);
        put16(&mut out, 12, ETHERTYPE);
        put(&mut out, CHASSIS, &[&[CHASSIS_IS_MAC], &self.port.0]);
        put(&mut out, PORT, &[&[PORT_IS_MAC], &self.port.0]);
        put(&mut out, TIME_TO_LIVE, &[&self.holds_s.to_be_bytes()]);
        let mut own =
            |subtype: u8, value: &[u8]| put(&mut out, ORGANISATION, &[&IEEE_802_1, &[subtype], value]);
        if let Some(CongestionNotification { enabled, ready }) = self.congestion {
            own(CONGESTION, &[enabled, ready]);
        }
        if let Some(ets) = self.ets {
            assert!(
                (1..=8).contains(&ets.classes),
                "a port must have 1 to 8 traffic classes (got {})",
                ets.classes
            );
            let bits = u8::from(ets.willing) << 7 | u8::from(ets.credit_based) << 6 | (ets.classes % 8);
            own(ETS, &ets.allocation.encode(bits));
        }
        if let Some(allocation) = self.recommended {
            own(RECOMMENDATION, &allocation.encode(0));
        }
        if let Some(pfc) = self.pfc {
            assert!(pfc.most < 16, "at most 15 priorities may use PFC at the same time (got {})", pfc.most);
            let bits = u8::from(pfc.willing) << 7 | u8::from(pfc.macsec_bypass) << 6 | pfc.most;
            own(PFC, &[bits, pfc.enabled]);
        }
        put(&mut out, END, &[]);
        out.resize(out.len().max(MIN_FRAME - FCS) + FCS, 0);
        frame::seal(&mut out);
        out
    }

    /// Decodes a whole frame, including its check sequence. Skips values that an [`Announcement`] does not contain.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not such a frame, or if one of the frame's values violates the format.
    pub fn decode(whole: &[u8]) -> Result<Self, Error> {
        first::<MIN_FRAME>(whole)?;
        frame::verify(whole)?;
        let frame = &whole[..whole.len() - FCS];
        let destination = Mac::get(frame, 0);
        if destination != DESTINATION {
            return invalid("destination", destination.bits());
        }
        frame::expect_ethertype(frame, 12, ETHERTYPE)?;
        let mut announcement = Self {
            port: Mac::get(frame, 6),
            holds_s: 0,
            congestion: None,
            ets: None,
            recommended: None,
            pfc: None,
        };
        let mut at = HEADER;
        loop {
            let header = get16(part(frame, at, 2)?, 0);
            let (kind, len) = ((header >> 9) as u8, usize::from(header & 0x1FF));
            let value = part(frame, at + 2, len)?;
            at += 2 + len;
            match kind {
                END => return Ok(announcement),
                TIME_TO_LIVE => announcement.holds_s = u16::from_be_bytes(sized(value)?),
                ORGANISATION if value.starts_with(&IEEE_802_1) => {
                    announcement.read(&value[IEEE_802_1.len()..])?;
                }
                _ => {}
            }
        }
    }

    /// Reads one value of type 127, which begins with its subtype.
    fn read(&mut self, value: &[u8]) -> Result<(), Error> {
        let [subtype] = first::<1>(value)?;
        let value = &value[1..];
        match *subtype {
            CONGESTION => {
                let [enabled, ready] = sized(value)?;
                self.congestion = Some(CongestionNotification { enabled, ready });
            }
            ETS => {
                let (bits, allocation) = Allocation::decode(&sized(value)?)?;
                let classes = match bits & 7 {
                    0 => 8,
                    classes => classes,
                };
                let (willing, credit_based) = (bits & 0x80 != 0, bits & 0x40 != 0);
                self.ets = Some(Ets { willing, credit_based, classes, allocation });
            }
            RECOMMENDATION => self.recommended = Some(Allocation::decode(&sized(value)?)?.1),
            PFC => {
                let [bits, enabled] = sized(value)?;
                let (willing, macsec_bypass) = (bits & 0x80 != 0, bits & 0x40 != 0);
                self.pfc = Some(Pfc { willing, macsec_bypass, most: bits & 0xF, enabled });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Allocation {
    /// Returns the byte `bits`, followed by the allocation's bytes.
    fn encode(&self, bits: u8) -> [u8; ALLOCATION_LEN] {
        assert!(
            self.class_of.iter().all(|&class| class < 8),
            "each traffic class must be 0 to 7 (got {:?})",
            self.class_of
        );
        assert_eq!(
            self.total(),
            100,
            "the percentages of the traffic classes must sum to 100 (got {:?})",
            self.percent
        );
        let mut bytes = [0; ALLOCATION_LEN];
        bytes[0] = bits;
        for (byte, [high, low]) in bytes[1..5].iter_mut().zip(self.class_of.as_chunks().0) {
            *byte = high << 4 | low;
        }
        bytes[5..13].copy_from_slice(&self.percent);
        bytes[13..].copy_from_slice(&self.selection.map(|selection| selection as u8));
        bytes
    }

    /// Returns the first byte, and the allocation decoded from the bytes after it.
    fn decode(bytes: &[u8; ALLOCATION_LEN]) -> Result<(u8, Self), Error> {
        let mut allocation = Self { class_of: [0; 8], percent: [0; 8], selection: [Selection::Strict; 8] };
        for (priority, class) in allocation.class_of.iter_mut().enumerate() {
            *class = match bytes[1 + priority / 2] >> (4 - 4 * (priority % 2)) & 0xF {
                class if class < 8 => class,
                class => return invalid("class of a priority", class.into()),
            };
        }
        allocation.percent.copy_from_slice(&bytes[5..13]);
        if allocation.total() != 100 {
            return invalid("percents", allocation.total().into());
        }
        for (selection, &byte) in allocation.selection.iter_mut().zip(&bytes[13..]) {
            *selection = match byte {
                0 => Selection::Strict,
                1 => Selection::CreditBased,
                2 => Selection::Ets,
                byte => return invalid("selection algorithm", byte.into()),
            };
        }
        Ok((bytes[0], allocation))
    }

    fn total(&self) -> u32 {
        self.percent.iter().map(|&percent| u32::from(percent)).sum()
    }
}

/// Appends a value whose bytes are the concatenation of `parts`.
#[allow(clippy::cast_possible_truncation, reason = "an LLDP value has fewer than 512 bytes")]
fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    out.extend((u16::from(kind) << 9 | len as u16).to_be_bytes());
    out.extend(parts.concat());
}

/// Returns the value as an array if the value has `N` bytes, the length that the format requires.
fn sized<const N: usize>(value: &[u8]) -> Result<[u8; N], Error> {
    value.try_into().or(invalid("length", value.len() as u64))
}

fn invalid<T>(field: &'static str, value: u64) -> Result<T, Error> {
    Err(Error::Invalid { field, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hex;
    use proptest::prelude::*;

    /// The priorities use three ETS classes of 60, 30 and 10 percent, and the strict class 7.
    const ALLOCATION: Allocation = Allocation {
        class_of: [0, 0, 0, 1, 1, 2, 2, 7],
        percent: [60, 30, 10, 0, 0, 0, 0, 0],
        selection: {
            let mut selection = [Selection::Ets; 8];
            selection[7] = Selection::Strict;
            selection
        },
    };
    const FULL: Announcement = Announcement {
        port: Mac::switch_port(2, 1, 2),
        holds_s: 120,
        congestion: Some(CongestionNotification { enabled: 8, ready: 8 }),
        ets: Some(Ets { willing: true, credit_based: false, classes: 8, allocation: ALLOCATION }),
        recommended: Some(ALLOCATION),
        pfc: Some(Pfc { willing: true, macsec_bypass: false, most: 8, enabled: 8 }),
    };
    const SHARES: &str = "00 01 12 27  3c 1e 0a 00 00 00 00 00  02 02 02 02 02 02 02 00";

    /// Compares the encoding with bytes written from the tables of specifications/cee.md §4.4.
    #[test]
    fn oracle_4_4_values() {
        let text = [
            "01 80 c2 00 00 0e  06 01 02 00 01 02  88 cc",
            "02 07 04 06 01 02 00 01 02  04 07 03 06 01 02 00 01 02  06 02 00 78",
            "fe 06 00 80 c2 08 08 08",
            "fe 19 00 80 c2 09 80",
            SHARES,
            "fe 19 00 80 c2 0a 00",
            SHARES,
            "fe 06 00 80 c2 0b 88 08  00 00",
        ];
        let bytes = FULL.encode();
        assert_eq!(bytes[..bytes.len() - FCS], hex(&text.join(" ")));
        assert_eq!(Announcement::decode(&bytes), Ok(FULL));
    }

    #[test]
    fn a_port_need_not_say_everything() {
        let little = Announcement { congestion: None, ets: None, recommended: None, pfc: None, ..FULL };
        let bytes = little.encode();
        assert_eq!((bytes.len(), Announcement::decode(&bytes)), (MIN_FRAME, Ok(little)));
        let seven = Announcement { ets: FULL.ets.map(|ets| Ets { classes: 7, ..ets }), ..little };
        assert_eq!(Announcement::decode(&seven.encode()), Ok(seven));
    }

    fn damaged(at: usize, value: u8) -> Result<Announcement, Error> {
        let mut bytes = FULL.encode();
        bytes[at] = value;
        frame::seal(&mut bytes);
        Announcement::decode(&bytes)
    }

    #[test]
    fn values_that_the_format_forbids_are_refused() {
        assert_eq!(damaged(5, 1), invalid("destination", 0x0180_c200_0001));
        assert_eq!(damaged(13, 0xcd), invalid("EtherType", 0x88cd));
        assert_eq!(damaged(37, 5), invalid("length", 1));
        assert_eq!(damaged(51, 0x80), invalid("class of a priority", 8));
        assert_eq!(damaged(55, 61), invalid("percents", 101));
        assert_eq!(damaged(63, 3), invalid("selection algorithm", 3));
        assert_eq!(
            damaged(39, 0xc3),
            Ok(Announcement { congestion: None, ..FULL }),
            "another organisation's"
        );
        assert_eq!(Announcement::decode(&FULL.encode()[..63]), Err(Error::Truncated { have: 63, need: 64 }));
        let mut flipped = FULL.encode();
        flipped[70] ^= 1;
        assert_eq!(Announcement::decode(&flipped), Err(Error::Checksum));
    }

    proptest! {
        #[test]
        fn damaged_frames_are_read_or_refused(at in 14_usize..104, byte: u8, longer in prop::bool::ANY) {
            let _ = damaged(at, byte);
            let mut frame = FULL.encode();
            if longer {
                // Cuts off the frame, usually in the middle of one of the values in the announcement. If the frame
                // is then shorter than the minimum, fills it up with `byte`.
                frame.truncate(14 + at);
                frame.resize(frame.len().max(MIN_FRAME), byte);
                frame::seal(&mut frame);
            }
            let _ = Announcement::decode(&frame);
        }
    }
}
