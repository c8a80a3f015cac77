//! Sets of sequence numbers as disjoint ranges. Receivers record the data that has arrived, and senders record the data
//! that selective acknowledgements cover.

/// Disjoint ranges `[from, to)` in ascending order. Two ranges never touch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    list: Vec<(u64, u64)>,
    total: u64,
}

impl Ranges {
    /// The ranges, in ascending order.
    pub(crate) fn list(&self) -> &[(u64, u64)] {
        &self.list
    }

    /// Number of covered sequence numbers.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// One past the greatest covered number; 0 if the set is empty.
    pub(crate) fn end(&self) -> u64 {
        self.list.last().map_or(0, |&(_, to)| to)
    }

    /// Adds the range `[from, to)`. Returns the number of sequence numbers in this range that were not covered before.
    pub(crate) fn insert(&mut self, from: u64, to: u64) -> u64 {
        debug_assert!(from < to, "a range must not be empty");
        let first = self.list.partition_point(|&(_, end)| end < from);
        if self.list.get(first).is_some_and(|&(start, end)| start <= from && to <= end) {
            return 0; // the usual case, because most SACK blocks are sent many times
        }
        // The new range is merged with all ranges that it touches, so that the list stays short.
        let last = first + self.list[first..].iter().take_while(|&&(start, _)| start <= to).count();
        let touched = &self.list[first..last];
        let old: u64 = touched.iter().map(|&(from, to)| to - from).sum();
        let merged = match (touched.first(), touched.last()) {
            (Some(&(start, _)), Some(&(_, end))) => (start.min(from), end.max(to)),
            _ => (from, to),
        };
        if first == last {
            if self.list.capacity() == 0 {
                self.list.reserve_exact(2); // usually, the set has at most two ranges
            }
            self.list.insert(first, merged);
        } else {
            self.list[first] = merged;
            self.list.drain(first + 1..last);
        }
        let added = merged.1 - merged.0 - old;
        self.total += added;
        added
    }

    /// Removes all sequence numbers below `at`.
    pub(crate) fn remove_below(&mut self, at: u64) {
        let gone = self.list.partition_point(|&(_, to)| to <= at);
        self.total -= self.list.drain(..gone).map(|(from, to)| to - from).sum::<u64>();
        if let Some(first) = self.list.first_mut().filter(|first| first.0 < at) {
            self.total -= at - first.0;
            first.0 = at;
        }
    }

    /// Number of covered sequence numbers below `at`.
    pub(crate) fn covered_below(&self, at: u64) -> u64 {
        self.list.iter().take_while(|&&(from, _)| from < at).map(|&(from, to)| to.min(at) - from).sum()
    }

    /// The range that contains `at`; `None` if `at` is not covered.
    pub(crate) fn containing(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.list.partition_point(|&(_, to)| to <= at);
        self.list.get(i).copied().filter(|&(from, _)| from <= at)
    }

    /// The range of uncovered numbers that begins at the first uncovered number from `at` on. This range ends at
    /// `u64::MAX` if no covered range follows.
    pub(crate) fn gap(&self, at: u64) -> (u64, u64) {
        let mut i = self.list.partition_point(|&(_, to)| to <= at);
        let mut start = at;
        if let Some(&(_, to)) = self.list.get(i).filter(|&&(from, _)| from <= at) {
            start = to;
            i += 1;
        }
        (start, self.list.get(i).map_or(u64::MAX, |&(from, _)| from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set(operations in prop::collection::vec((0_u64..60, 1_u64..12, prop::bool::weighted(0.2)), 1..40)) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (at, len, remove) in operations {
                if remove {
                    ranges.remove_below(at);
                    model.retain(|&n| n >= at);
                } else {
                    let before = model.len();
                    model.extend(at..at + len);
                    prop_assert_eq!(ranges.insert(at, at + len), (model.len() - before) as u64);
                }
                let listed: Vec<u64> = ranges.list().iter().flat_map(|&(from, to)| from..to).collect();
                prop_assert_eq!(&listed, &model.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.list().windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(ranges.total(), model.len() as u64);
                for at in 0..80 {
                    prop_assert_eq!(ranges.covered_below(at), model.range(..at).count() as u64);
                    prop_assert_eq!(ranges.containing(at).is_some(), model.contains(&at));
                    let (start, end) = ranges.gap(at);
                    prop_assert_eq!(start, (at..=u64::MAX).find(|n| !model.contains(n)).expect("a finite set"));
                    prop_assert_eq!(end, model.range(start..).next().copied().unwrap_or(u64::MAX));
                }
            }
        }
    }
}
