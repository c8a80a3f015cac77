//! Links that lose and damage packets.
//!
//! Engines query the fate of every packet that arrives by such a link, in order of arrival. The answers come from the
//! link's own random stream, so they depend neither on the engine nor on its threads.

use crate::{Credit, Decoders, LinkId, Packet, Stream, Time};
use std::collections::BTreeSet;

/// Probabilities with which links lose and damage packets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkErrors {
    /// The seed of the run.
    pub seed: u64,
    /// Probability that a packet is lost on a link.
    pub loss: f64,
    /// Probability that a packet arrives with one bit flipped. This probability plus `loss` is at most 1.
    pub corruption: f64,
    /// The links that lose and damage packets; `None` for all links.
    pub links: Option<BTreeSet<LinkId>>,
    /// Time from which no more errors happen; `None` if errors never end.
    pub until: Option<Time>,
    /// The decoders with which receivers read damaged packets.
    pub decoders: Decoders,
}

impl LinkErrors {
    /// The noise on a link; `None` if the link loses and damages no packets.
    #[must_use]
    pub fn on(&self, link: LinkId) -> Option<LinkNoise> {
        let is_noisy = self.loss + self.corruption > 0.0
            && self.links.as_ref().is_none_or(|links| links.contains(&link));
        is_noisy.then(|| LinkNoise {
            stream: Stream::new(self.seed, link.0.into(), "link/noise"),
            loss: self.loss,
            corruption: self.corruption,
            until: self.until.unwrap_or(Time::NEVER),
            decoders: self.decoders.clone(),
        })
    }
}

/// The fate of a packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives unchanged.
    Whole,
    /// The packet does not arrive, and no node is notified.
    Lost,
    /// The packet arrives with one bit flipped.
    Damaged,
}

/// The random loss and damage of packets on one link.
#[derive(Debug, Clone)]
pub struct LinkNoise {
    stream: Stream,
    loss: f64,
    corruption: f64,
    until: Time,
    decoders: Decoders,
}

impl LinkNoise {
    /// Draws the fate of the next packet, which arrives now. If the packet is damaged, the next call must be
    /// [`damaged`](Self::damaged) or [`flip`](Self::flip).
    pub fn fate(&mut self, now: Time) -> Fate {
        if now >= self.until {
            return Fate::Whole;
        }
        let draw = self.stream.unit();
        if draw < self.loss {
            Fate::Lost
        } else if draw < self.loss + self.corruption {
            Fate::Damaged
        } else {
            Fate::Whole
        }
    }

    /// Draws the fate of the next packet, which arrives now, and flips a bit of `bytes` if the packet is damaged.
    pub fn pass(&mut self, now: Time, bytes: &mut [u8]) -> Fate {
        let fate = self.fate(now);
        if fate == Fate::Damaged {
            self.flip(bytes);
        }
        fate
    }

    /// Applies the noise to a credit that arrives now. Returns the credit as the receiver reads it; `None` if the
    /// credit is lost or no longer valid.
    pub fn credit(&mut self, now: Time, credit: Credit) -> Option<Credit> {
        match self.fate(now) {
            Fate::Whole => Some(credit),
            Fate::Lost => None,
            Fate::Damaged => {
                let mut bytes = credit.encode();
                self.flip(&mut bytes);
                Credit::decode(&bytes).ok()
            }
        }
    }

    /// Damages the bytes of a packet: flips one bit.
    pub fn flip(&mut self, bytes: &mut [u8]) {
        let bit = self.stream.index(8 * bytes.len());
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
    }

    /// Flips one bit of `packet`, and returns the packet that the receiver then reads. Checksums do not cover every
    /// bit. A flipped bit in an uncovered payload goes unnoticed. Fields that relays modify are not covered either:
    /// their damaged value is read as valid.
    ///
    /// # Errors
    /// [`raddle_wire::Error`], if the bytes are no longer a valid packet.
    pub fn damaged(&mut self, packet: &Packet) -> Result<Packet, raddle_wire::Error> {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        self.flip(&mut bytes);
        Packet::decode(&bytes, &self.decoders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, Header};
    use raddle_wire::r2c2::{Data, Event, EventKind, Route};

    fn noise(loss: f64, corruption: f64) -> LinkNoise {
        LinkErrors { seed: 1, loss, corruption, ..LinkErrors::default() }.on(LinkId(3)).expect("noise")
    }

    #[test]
    fn fates_come_as_often_as_asked_for() {
        let mut noise = noise(0.1, 0.2);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[noise.fate(Time::ZERO) as usize] += 1;
        }
        for (count, expected) in counts.into_iter().zip([70_000, 10_000, 20_000]) {
            assert!(count.abs_diff(expected) < 600, "{counts:?}");
        }
    }

    #[test]
    fn a_link_that_is_not_named_has_no_noise_and_none_has_any_when_it_is_over() {
        let second = Time::ZERO + Duration::from_ms(1_000);
        let errors = LinkErrors {
            loss: 1.0,
            links: Some([LinkId(3)].into()),
            until: Some(second),
            ..LinkErrors::default()
        };
        assert!(errors.on(LinkId(4)).is_none());
        assert!(LinkErrors::default().on(LinkId(3)).is_none());
        let mut noise = errors.on(LinkId(3)).expect("noise");
        assert_eq!((noise.fate(Time::ZERO), noise.fate(second)), (Fate::Lost, Fate::Whole));
    }

    #[test]
    fn every_flipped_bit_of_an_event_is_noticed_and_few_of_a_data_header_are_not() {
        let event = Event {
            kind: EventKind::Start,
            tree: 0,
            src: 5,
            dst: 300,
            weight: 1,
            priority: 8,
            protocol: 0,
            demand_kbps: u32::MAX,
            lid: 1,
        };
        let mut noise = noise(0.0, 1.0);
        let event = Packet::new(16, Header::R2c2Event(event));
        assert!((0..2_000).all(|_| noise.damaged(&event).is_err()));
        let data = Data {
            flow: 7,
            src: 0,
            dst: 74,
            seq: 1,
            plen: 0,
            rlen: 42,
            ridx: 1,
            flags: 0,
            route: Route::default(),
        };
        let packet = Packet::new(36, Header::R2c2Data(data));
        let read: Vec<Packet> = (0..2_000).filter_map(|_| noise.damaged(&packet).ok()).collect();
        assert!(!read.is_empty() && read.len() < 100, "few flips must be unnoticed, not {}", read.len());
        let ridx_aside = |packet: &Packet| match &packet.header {
            Header::R2c2Data(read) => Data { ridx: 1, ..*read } == data && read.ridx != 1,
            _ => false,
        };
        assert!(read.iter().all(ridx_aside));
    }
}
