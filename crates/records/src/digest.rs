//! A number that identifies the results of a run, so that two runs can be compared.

use crate::{Cell, Row};
use std::fmt;

/// The digest of any number of rows. It depends neither on the machine nor on the order of the rows.
///
/// Each row is hashed alone, with 128-bit FNV-1a over its table's name and its cells. A cell is a tag byte and 8 bytes,
/// little-endian. A cell of a column that a later version added is hashed only if it is not empty, after a byte with
/// the column's index. The hashes of the rows are mixed and then added, so rows can be hashed in the order in which
/// they arrive, and by several threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digest(u128);

impl Digest {
    /// Adds a row.
    #[allow(clippy::cast_possible_truncation, reason = "a table has at most 256 columns")]
    pub fn add<R: Row>(&mut self, row: &R) {
        let mut hash = Fnv::default();
        hash.bytes(R::TABLE.as_bytes());
        let first_added = R::COLUMNS.len() - R::ADDED;
        for (i, &cell) in row.cells().as_ref().iter().enumerate() {
            if i >= first_added {
                if cell == Cell::Empty {
                    continue;
                }
                hash.bytes(&[i as u8]);
            }
            let (tag, bits) = match cell {
                Cell::Empty => (0, 0),
                Cell::Integer(value) => (1, value),
                Cell::Float(value) => (2, value.to_bits()),
            };
            hash.bytes(&[tag]);
            hash.bytes(&bits.to_le_bytes());
        }
        self.0 = self.0.wrapping_add(mix(hash.0));
    }

    /// Adds all rows of another digest.
    pub fn merge(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// FNV-1a with 128 bits (Fowler, Noll, Vo).
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        const PRIME: u128 = (1 << 88) + 0x13b;
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
}

/// Makes every bit affect the whole hash. Without this, the sum of several hashes could cancel differences, since the
/// last byte that FNV hashes affects only a few bits. The function is reversible, so different hashes stay different.
fn mix(mut hash: u128) -> u128 {
    // An odd constant without structure: the first 128 bits of the golden ratio's fraction, plus 1.
    const GOLDEN: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    for _ in 0..2 {
        hash = (hash ^ (hash >> 65)).wrapping_mul(GOLDEN);
    }
    hash ^ (hash >> 65)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use crate::{FlowRecord, LinkRecord, TotalsRecord};
    use proptest::prelude::*;

    fn digest(rows: &[FlowRecord]) -> Digest {
        let mut digest = Digest::default();
        for row in rows {
            digest.add(row);
        }
        digest
    }

    /// Checks the published test vectors of FNV-1a.
    #[test]
    fn fnv_matches_its_published_vectors() {
        let hash = |text: &[u8]| {
            let mut hash = Fnv::default();
            hash.bytes(text);
            hash.0
        };
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn golden_digest_is_stable_for_ever() {
        assert_eq!(digest(&[record(1), record(2)]).to_string(), "5ecbcfdd703d114952c76323c2d7c665");
    }

    #[test]
    fn order_does_not_matter_and_repeats_do() {
        assert_eq!(digest(&[record(1), record(2)]), digest(&[record(2), record(1)]));
        assert_ne!(digest(&[record(1)]), digest(&[record(1), record(1)]));
        let mut merged = digest(&[record(1)]);
        merged.merge(digest(&[record(2)]));
        assert_eq!(merged, digest(&[record(1), record(2)]));
    }

    #[test]
    fn tables_differ_by_name() {
        let (mut link, mut totals) = (Digest::default(), Digest::default());
        link.add(&LinkRecord::default());
        totals.add(&TotalsRecord::default());
        assert_ne!(link, totals);
    }

    proptest! {
        #[test]
        fn a_change_of_any_field_changes_the_digest(field in 0_usize..13, by in 1_u32..=u32::MAX) {
            let before = record(1);
            let mut after = before;
            let wide = u64::from(by);
            match field {
                0 => after.id ^= by,
                1 => after.src ^= by,
                2 => after.dst ^= by,
                3 => after.size_bytes ^= wide,
                4 => after.start_ps ^= wide,
                5 => after.fct_ps = after.fct_ps.map(|ps| ps ^ wide),
                6 => after.sender_done_ps = None,
                7 => after.ideal_fct_ps ^= wide,
                8 => after.hops ^= by,
                9 => after.reorder_peak_packets ^= by,
                10 => after.retransmissions ^= by,
                11 => after.deadline_ps = Some(wide),
                _ => after.average_rate_bps = Some(by.into()),
            }
            prop_assert_ne!(digest(&[before]), digest(&[after]));
        }
    }
}
