//! A shard is a part of a sweep's cells. Several processes, also on different machines, can each run one shard of the
//! same sweep.

use std::fmt;

/// Every `count`-th cell of a sweep, beginning with cell number `index`. Cells are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// The shard `index` (from 1) of `count`; `None` if there is no such shard.
    #[must_use]
    pub fn new(index: usize, count: usize) -> Option<Self> {
        (1..=count).contains(&index).then_some(Self { index, count })
    }

    /// The cells of this shard.
    #[must_use]
    pub fn of<T>(self, cells: Vec<T>) -> Vec<T> {
        cells.into_iter().skip(self.index - 1).step_by(self.count).collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_cell_once() {
        let cells: Vec<u32> = (0..10).collect();
        let shard = |index| Shard::new(index, 3).expect("a shard").of(cells.clone());
        assert_eq!([shard(1), shard(2), shard(3)], [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]]);
        assert_eq!([Shard::new(0, 3), Shard::new(4, 3), Shard::new(1, 0)], [None; 3]);
    }
}
