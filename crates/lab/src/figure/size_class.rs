//! Classes of flows by size, with the limits that the papers use.

/// Number of bins in plots against flow size. Each bin has about a twentieth of the flows. Bins with the same median
/// size are merged.
pub(crate) const SIZE_BINS: usize = 20;

/// A class of flows by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeClass {
    pub(crate) name: &'static str,
    /// The smallest size in the class, in bytes.
    pub(crate) least: u64,
    /// The largest size in the class, in bytes.
    pub(crate) most: u64,
}

impl SizeClass {
    /// The class of all flows, followed by [`Self::PARTS`].
    pub(crate) const WITH_ALL: [Self; 4] = {
        let [mice, middle, elephants] = Self::PARTS;
        [Self { name: "all", least: 0, most: u64::MAX }, mice, middle, elephants]
    };
    /// Short flows (mice), flows of medium size, and long flows (elephants).
    pub(crate) const PARTS: [Self; 3] = [
        Self { name: "under 100 KB", least: 0, most: 99_999 },
        Self { name: "100 KB to 1 MB", least: 100_000, most: 1_000_000 },
        Self { name: "over 1 MB", least: 1_000_001, most: u64::MAX },
    ];

    pub(crate) fn holds(self, size: u64) -> bool {
        (self.least..=self.most).contains(&size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_is_in_one_part() {
        for size in [0, 1, 99_999, 100_000, 999_999, 1_000_000, 1_000_001, u64::MAX] {
            assert_eq!(SizeClass::PARTS.iter().filter(|class| class.holds(size)).count(), 1, "{size}");
        }
        assert!(!SizeClass::PARTS[0].holds(100_000) && !SizeClass::PARTS[2].holds(1_000_000));
    }
}
