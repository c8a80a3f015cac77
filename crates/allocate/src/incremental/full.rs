//! The level (rate divided by weight) at which a link fills up, given the stops of its flows at other links. A flow's
//! [`Stop`] is the limit that ends the rise of its rate: a full link, or the flow's demand.

use super::stop::Stop;
use super::{Incremental, Use};

/// Maximum number of guesses of the stop at which a link is full. If no guess is right, the stop is found by
/// sorting.
const GUESSES: u32 = 12;

impl Incremental {
    /// Returns the stop at which a link is full for a class. Assumes that flows of the link that stop at other links or
    /// at their demands keep these stops. Such flows freeze in order of their stops. A flow freezes before the link is
    /// full if the remaining capacity suffices for all rising flows to reach the level of the flow's stop.
    pub(super) fn fills_at(&mut self, slot: u32, class: u8) -> Stop {
        let link = &self.links[slot as usize];
        self.looked_at += link.uses.len();
        let mut left = link.capacity;
        let (mut here, mut earlier) = (0, false);
        self.elsewhere.clear();
        for &Use { flow, weight, .. } in &link.uses {
            let stop = self.stops[flow as usize];
            if stop.class() < class {
                // Before the repair is complete, earlier classes may use more than the capacity.
                left = left.saturating_sub(product(stop.level(), weight));
                earlier = true;
            } else if stop.class() == class {
                if stop.slot() == slot {
                    here += weight;
                } else {
                    self.elsewhere.push((stop, weight));
                }
            }
        }
        if earlier && left < link.nothing() {
            left = 0;
        }
        let mut guess =
            if link.stopping > 0 && link.full.class() == class { link.full } else { Stop::never(class) };
        for _ in 0..GUESSES {
            match guessed(slot, left, here, &self.elsewhere, guess) {
                Ok(full) => return full,
                Err(better) if better != guess => guess = better,
                Err(_) => break,
            }
        }
        self.elsewhere.sort_unstable();
        let mut rising = here + self.elsewhere.iter().map(|&(_, weight)| weight).sum::<u64>();
        for &(stop, weight) in &self.elsewhere {
            // Tests whether the link is full before this stop. Ties are resolved by slot.
            let least = u128::from(stop.level()) + u128::from(slot < stop.slot());
            if left < least * u128::from(rising) {
                break;
            }
            left -= product(stop.level(), weight);
            rising -= weight;
        }
        full_at(slot, class, left, rising)
    }
}

/// Returns the capacity that flows of this total weight use on a link at this level.
pub(super) fn product(level: u64, weight: u64) -> u128 {
    u128::from(level) * u128::from(weight)
}

/// Returns the stop at which flows of total weight `rising` use up the remaining capacity of a link; [`Stop::never`] if
/// no flow rises.
pub(super) fn full_at(slot: u32, class: u8, left: u128, rising: u64) -> Stop {
    if rising == 0 {
        return Stop::never(class);
    }
    let most = u64::MAX - 1;
    Stop::link(class, u64::try_from(left / u128::from(rising)).map_or(most, |level| level.min(most)), slot)
}

/// Returns the stop at which a link is full. Assumes that the flows of `elsewhere` that freeze before this
/// stop are exactly the flows whose stops are before `guess`.
///
/// # Errors
/// If this assumption is wrong, or may be wrong because levels are rounded. The error is the next guess of Newton's
/// method. The capacity that the flows use is a concave function of the level, so after the first guess all guesses are
/// too low, and each is better than the one before.
fn guessed(slot: u32, left: u128, here: u64, elsewhere: &[(Stop, u64)], guess: Stop) -> Result<Stop, Stop> {
    let (mut used, mut rising, mut rounding, mut last) = (0, here, 0, 0);
    let mut next = Stop::never(guess.class());
    for &(stop, weight) in elsewhere {
        if stop < guess {
            used += product(stop.level(), weight);
            rounding += u128::from(weight);
            last = last.max(stop.level());
        } else {
            rising += weight;
            next = next.min(stop);
        }
    }
    let Some(left) = left.checked_sub(used) else {
        // The guess is so high that the frozen flows alone would use more than the capacity. The next guess assumes
        // that no flow freezes before the link is full, so it is not too high.
        let all = here + elsewhere.iter().map(|&(_, weight)| weight).sum::<u64>();
        return Err(full_at(slot, guess.class(), left, all));
    };
    let full = full_at(slot, guess.class(), left, rising);
    // Tests whether the last frozen flow stops before the link is full: the remaining capacity must suffice for the
    // rising flows to reach the level of that flow. Levels are rounded down, so the comparison allows for an error of
    // one unit of level per flow.
    let frozen_before = left >= (u128::from(last) + 1) * u128::from(rising) + rounding;
    if frozen_before && full <= next { Ok(full) } else { Err(full) }
}
