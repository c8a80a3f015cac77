//! Finds the link that fills up first as the level (rate divided by weight) of the rising flows increases. Rising flows
//! are the flows that no full link or demand has stopped. The links are divided into blocks of consecutive link slots.
//! The level at which a link fills up never falls. The lowest level in a block, as of its latest examination, is
//! therefore a lower bound for the block. A block is examined again only when its bound is the lowest of all bounds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Number of links per block.
const BLOCK: usize = 16;
/// Number of levels compared in parallel.
const LANES: usize = 8;

/// Bounds on the levels at which links fill up.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    /// Each block's bound, as the bits of a float, and the block's index. Bounds are not negative, so their
    /// bits have the same order as the bounds.
    bounds: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Levels {
    /// Sets the bounds of all blocks to 0, for a total of `links` links.
    pub(super) fn reset(&mut self, links: usize) {
        self.bounds.clear();
        self.bounds.extend((0..links.div_ceil(BLOCK)).map(|block| Reverse((0, block))));
    }

    /// Returns the lowest level at which a link fills up, and a link that fills up at this level; `None` if no link
    /// carries a rising flow. `left` is the capacity that the stopped flows leave on each link, in bit/s. `rising` is
    /// the sum of weight times expected traversals over the rising flows on each link. The level at which a link fills
    /// up must not have fallen on any link since the previous call.
    pub(super) fn lowest(&mut self, left: &[f64], rising: &[f64]) -> Option<(f64, usize)> {
        loop {
            let mut lowest = self.bounds.peek_mut()?;
            let block = lowest.0.1;
            let links = block * BLOCK..rising.len().min((block + 1) * BLOCK);
            let level = lowest_in(&left[links.clone()], &rising[links.clone()]);
            if level == f64::INFINITY {
                PeekMut::pop(lowest);
                continue;
            }
            let bound = Reverse((level.to_bits(), block));
            *lowest = bound;
            drop(lowest);
            if self.bounds.peek() == Some(&bound) {
                let full = |&link: &usize| full_at(left[link], rising[link]) <= level;
                return links.clone().find(full).map(|link| (level, link));
            }
        }
    }
}

/// Returns the lowest level at which one of a block's links fills up.
fn lowest_in(left: &[f64], rising: &[f64]) -> f64 {
    let lower = |a: f64, b: f64| if a < b { a } else { b };
    let mut lowest = [f64::INFINITY; LANES];
    let (lefts, last_left) = left.as_chunks::<LANES>();
    let (risings, last_rising) = rising.as_chunks::<LANES>();
    for (left, rising) in lefts.iter().zip(risings) {
        for lane in 0..LANES {
            lowest[lane] = lower(full_at(left[lane], rising[lane]), lowest[lane]);
        }
    }
    let last = last_left.iter().zip(last_rising).map(|(&left, &rising)| full_at(left, rising));
    last.chain(lowest).fold(f64::INFINITY, lower)
}

/// Returns the level at which a link is full if no more flows stop; infinite if the link carries no rising
/// flow.
fn full_at(left: f64, rising: f64) -> f64 {
    let left = if left > 0.0 { left } else { 0.0 };
    if rising > 0.0 { left / rising } else { f64::INFINITY }
}
