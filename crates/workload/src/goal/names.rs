//! Maps the names of labels to numbers, and stores sets of labels, both in little memory.

use super::Label;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Assigns numbers to the names of labels. Programs that write GOAL files usually end their labels with a number. Only
/// the distinct stems before these numbers are stored, so a further label with a known stem takes no memory.
#[derive(Debug, Default)]
pub(super) struct Names {
    stems: FxHashMap<Box<[u8]>, u64>,
}

/// Number of low bits of a [`Label`]. If the label's name ends with a number, these bits hold that number plus one.
/// Otherwise they are 0. The other bits hold the number of the stem.
const NUMBER_BITS: u32 = 48;

/// Maximum number of digits of the number at the end of a label. The number plus one is at most 10^14, which is less
/// than 2^48, so it fits [`NUMBER_BITS`] bits.
const MOST_DIGITS: usize = 14;

impl Names {
    /// Returns the label of a name; `None` if there are too many stems.
    pub(super) fn label(&mut self, name: &[u8]) -> Option<Label> {
        let (stem, number) = split(name);
        let next = self.stems.len() as u64;
        let place = match self.stems.get(stem) {
            Some(&place) => place,
            None => *self.stems.entry(stem.into()).or_insert(next),
        };
        (place >> (64 - NUMBER_BITS) == 0).then_some(Label(place << NUMBER_BITS | number))
    }
}

/// Splits a name into its stem and the number at its end. Returns the stem, and the number plus one, or 0 if
/// there is no number. The number has no leading zero, so stem and number together restore the name, and no
/// two names have the same stem and number.
fn split(name: &[u8]) -> (&[u8], u64) {
    let digits = name.iter().rev().take(MOST_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    let tail = &name[name.len() - digits..];
    let zeros = tail.iter().take_while(|&&byte| byte == b'0').count();
    // The name `l00` has the stem `l0` and the number 0, because a number has no leading zeros.
    let number = if zeros == digits { &tail[zeros.saturating_sub(1)..] } else { &tail[zeros..] };
    let value = number.iter().fold(0, |value, digit| 10 * value + u64::from(digit - b'0'));
    let is_there = u64::from(!number.is_empty());
    (&name[..name.len() - number.len()], value + is_there)
}

/// A set of labels, stored as ranges. Labels with one stem and consecutive numbers take the space of a single label.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The first label of each range, mapped to the last.
    ranges: BTreeMap<u64, u64>,
}

impl Labels {
    pub(super) fn contains(&self, Label(label): Label) -> bool {
        self.ranges.range(..=label).next_back().is_some_and(|(_, &last)| label <= last)
    }

    /// Adds a label that is not in the set.
    pub(super) fn insert(&mut self, label: Label) {
        debug_assert!(!self.contains(label), "a label must be added only once");
        let Label(label) = label;
        let last = label.checked_add(1).and_then(|next| self.ranges.remove(&next)).unwrap_or(label);
        match self.ranges.range_mut(..label).next_back() {
            Some((_, before)) if *before + 1 == label => *before = last,
            _ => {
                self.ranges.insert(label, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_share_a_number_and_neighbours_have_neighbours() {
        let mut names = Names::default();
        let mut of = |name: &str| names.label(name.as_bytes()).unwrap();
        let all = [
            "l",
            "l0",
            "l1",
            "l01",
            "l00",
            "l000",
            "l10",
            "a1",
            "a_1",
            "x12345678901234567890",
            "x1234567890",
        ];
        let mut labels = all.map(&mut of).to_vec();
        assert_eq!(labels, all.map(&mut of));
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), all.len());
        assert_eq!(of("l11").0, of("l10").0 + 1);
    }

    #[test]
    fn neighbouring_labels_share_one_entry_in_any_order() {
        let mut labels = Labels::default();
        for label in [5, 3, 9, 4, 8, 10, 0, u64::MAX] {
            labels.insert(Label(label));
        }
        let ranges: Vec<_> = labels.ranges.iter().map(|(&first, &last)| (first, last)).collect();
        assert_eq!(ranges, [(0, 0), (3, 5), (8, 10), (u64::MAX, u64::MAX)]);
        let inside: Vec<_> = (0..12).filter(|&label| labels.contains(Label(label))).collect();
        assert_eq!(inside, [0, 3, 4, 5, 8, 9, 10]);
    }
}
