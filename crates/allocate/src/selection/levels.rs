//! The link that fills up first. Links are looked at in blocks: as levels only rise, what a block's lowest level was is
//! a bound, and a block is looked at again only when its bound is the lowest of all.

/// Links looked at together.
const BLOCK: usize = 32;
/// Levels compared side by side.
const LANES: usize = 8;

/// Below this share of its first value the weight still rising on a link is rounding error.
const EXHAUSTED: f64 = 1e-9;

/// Bounds on the levels at which links fill up.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    bounds: Vec<f64>,
    /// Per link, the weight at which it counts as given up by all its flows.
    exhausted: Vec<f64>,
}

impl Levels {
    /// Begins anew, with the weights that rise on each link.
    pub(super) fn reset(&mut self, rising: &[f64]) {
        self.bounds.clear();
        self.bounds.resize(rising.len().div_ceil(BLOCK), 0.0);
        self.exhausted.clear();
        self.exhausted.extend(rising.iter().map(|rising| rising * EXHAUSTED));
    }

    /// The lowest level at which a link fills up, and the first such link, if weight rises on any. `left` is the capacity
    /// that each link has left, `rising` the weight that rises on it; no level may have fallen since the last call.
    pub(super) fn lowest(&mut self, left: &[f64], rising: &[f64]) -> Option<(f64, usize)> {
        loop {
            let (mut block, mut lowest, mut next) = (0, f64::INFINITY, f64::INFINITY);
            for (at, &bound) in self.bounds.iter().enumerate() {
                if bound < lowest {
                    (block, next, lowest) = (at, lowest, bound);
                } else if bound < next {
                    next = bound;
                }
            }
            if lowest == f64::INFINITY {
                return None;
            }
            let start = block * BLOCK;
            let end = (start + BLOCK).min(rising.len());
            let level = self.lowest_in(left, rising, start, end);
            self.bounds[block] = level;
            if level <= next && level < f64::INFINITY {
                let at = (start..end).find(|&at| self.level(left, rising, at) <= level);
                return at.map(|at| (level, at));
            }
        }
    }

    fn level(&self, left: &[f64], rising: &[f64], at: usize) -> f64 {
        level(left[at], rising[at], self.exhausted[at])
    }

    fn lowest_in(&self, left: &[f64], rising: &[f64], start: usize, end: usize) -> f64 {
        let lower = |a: f64, b: f64| if a < b { a } else { b };
        let mut lowest = [f64::INFINITY; LANES];
        let [left, rising, exhausted] = [left, rising, &self.exhausted].map(|links| &links[start..end]);
        let (lefts, last_left) = left.as_chunks::<LANES>();
        let (risings, last_rising) = rising.as_chunks::<LANES>();
        let (limits, last_limit) = exhausted.as_chunks::<LANES>();
        for ((left, rising), limit) in lefts.iter().zip(risings).zip(limits) {
            for lane in 0..LANES {
                lowest[lane] = lower(level(left[lane], rising[lane], limit[lane]), lowest[lane]);
            }
        }
        let last = last_left.iter().zip(last_rising).zip(last_limit);
        let last = last.map(|((&left, &rising), &limit)| level(left, rising, limit));
        last.chain(lowest).fold(f64::INFINITY, lower)
    }
}

/// The level at which a link is full if no more flows stop; infinite if none rises.
fn level(left: f64, rising: f64, exhausted: f64) -> f64 {
    let left = if left > 0.0 { left } else { 0.0 };
    if rising > exhausted { left / rising } else { f64::INFINITY }
}
