//! CONGA's overlay header (SIGCOMM 2014 §3.1; specifications/expeditus.md §6.3), in the 16 bits of a
//! [`Shim`](crate::Shim):
//!
//! ```text
//! bit 15    12   11   9      8         7        4   3         1      0
//!     LBTag      CE      feedback?     FB_LBTag     FB_Metric      spare
//! ```
//!
//! LBTag is the number that the leaf gives to an uplink. The spare bit is sent as 0 and ignored on receipt.
//! The feedback fields are ignored if bit 8 is 0.

use std::fmt;

/// The uplink that a packet took, the congestion that the packet met, and the sending leaf's feedback about packets of
/// the opposite direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Overlay(u16);

/// The congestion that packets met after they left a leaf by one of its uplinks. The leaf that received these packets
/// reports the congestion to the leaf that sent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The number of the uplink, at the leaf that receives the feedback: 0 to 15.
    pub tag: u8,
    /// The greatest load that the packets met: 0 to 7.
    pub metric: u8,
}

impl Overlay {
    /// Number of uplinks that LBTag can distinguish.
    pub const TAGS: usize = 16;
    /// The greatest load.
    pub const MOST: u8 = 7;
    const HAS_FEEDBACK: u16 = 1 << 8;
    const FEEDBACK: u16 = 0x01FE;
    const CE: u16 = 0x0E00;

    /// Returns the header of a packet that leaves by the uplink with number `tag` and has met no congestion yet.
    ///
    /// # Panics
    /// If `tag` is not below [`TAGS`](Self::TAGS).
    #[must_use]
    pub fn new(tag: u8) -> Self {
        assert!(usize::from(tag) < Self::TAGS, "the LBTag must fit in 4 bits (got {tag})");
        Self(u16::from(tag) << 12)
    }

    /// Returns the same header with this feedback.
    ///
    /// # Panics
    /// If a field of the feedback is out of its range.
    #[must_use]
    pub fn with_feedback(self, Feedback { tag, metric }: Feedback) -> Self {
        assert!(
            usize::from(tag) < Self::TAGS && metric <= Self::MOST,
            "the uplink number must be below 16 (got {tag}), and the load must be at most 7 (got {metric})"
        );
        Self(self.0 & !Self::FEEDBACK | Self::HAS_FEEDBACK | u16::from(tag) << 4 | u16::from(metric) << 1)
    }

    /// Returns the uplink that the packet took: 0 to 15.
    #[must_use]
    pub const fn tag(self) -> u8 {
        (self.0 >> 12) as u8
    }

    /// Returns the greatest load that the packet met (CE): 0 to 7.
    #[must_use]
    pub const fn congestion(self) -> u8 {
        ((self.0 & Self::CE) >> 9) as u8
    }

    /// Returns the same header after the packet has crossed a link with this load. Loads above [`MOST`](Self::MOST)
    /// count as `MOST`.
    #[must_use]
    pub fn met(self, load: u8) -> Self {
        let load = load.min(Self::MOST).max(self.congestion());
        Self(self.0 & !Self::CE | u16::from(load) << 9)
    }

    /// Returns the sending leaf's feedback about packets of the opposite direction; `None` if the header has none.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "each mask keeps only the bits of its field")]
    pub fn feedback(self) -> Option<Feedback> {
        let bits = self.0;
        (bits & Self::HAS_FEEDBACK != 0)
            .then_some(Feedback { tag: (bits >> 4 & 0xF) as u8, metric: (bits >> 1) as u8 & Self::MOST })
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn of(bits: u16) -> Self {
        let ignored = if bits & Self::HAS_FEEDBACK == 0 { Self::FEEDBACK | 1 } else { 1 };
        Self(bits & !ignored)
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("tag", &self.tag())
            .field("congestion", &self.congestion())
            .field("feedback", &self.feedback())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_have_their_places() {
        let overlay = Overlay::new(0b1010).met(0b101);
        assert_eq!(overlay.bits(), (0b1010 << 12) | (0b101 << 9));
        let overlay = overlay.with_feedback(Feedback { tag: 0b0110, metric: 0b011 });
        assert_eq!(overlay.bits(), (0b1010 << 12) | (0b101 << 9) | (1 << 8) | (0b0110 << 4) | (0b011 << 1));
        assert_eq!((overlay.tag(), overlay.congestion()), (10, 5));
        assert_eq!(overlay.feedback(), Some(Feedback { tag: 6, metric: 3 }));
    }

    #[test]
    fn congestion_is_the_greatest_met() {
        let loads = [2, 5, 3, 9].into_iter();
        let met: Vec<u8> = loads
            .scan(Overlay::new(15), |overlay, load| {
                *overlay = overlay.met(load);
                Some(overlay.congestion())
            })
            .collect();
        assert_eq!(met, [2, 5, 5, 7]);
    }

    proptest! {
        #[test]
        fn every_field_survives(tag in 0..16_u8, ce in 0..8_u8, fb in proptest::option::of((0..16_u8, 0..8_u8))) {
            let feedback = fb.map(|(tag, metric)| Feedback { tag, metric });
            let overlay = Overlay::new(tag).met(ce);
            let overlay = feedback.map_or(overlay, |feedback| overlay.with_feedback(feedback));
            let read = Overlay::of(overlay.bits());
            prop_assert_eq!((read.tag(), read.congestion(), read.feedback()), (tag, ce, feedback));
        }

        #[test]
        fn any_bits_mean_one_header(bits: u16) {
            let read = Overlay::of(bits);
            let again = Overlay::new(read.tag()).met(read.congestion());
            prop_assert_eq!(read, read.feedback().map_or(again, |feedback| again.with_feedback(feedback)));
        }
    }
}
