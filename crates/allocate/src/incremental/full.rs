//! When a link fills up, given where its flows stop elsewhere.

use super::stop::Stop;
use super::{Incremental, Use};

/// Guesses at what freezes before a link is full, before it is found by sorting.
const GUESSES: u32 = 3;

impl Incremental {
    /// When a link is full for a class, if its flows stop elsewhere when they do: these freeze in the order of their
    /// stops for as long as what is left, divided among the rest, comes after the next of them.
    pub(super) fn fills_at(&mut self, slot: u32, class: u8) -> Stop {
        let link = &self.links[slot as usize];
        self.looked_at += link.uses.len();
        let mut left = link.capacity;
        let (mut here, mut earlier) = (0, false);
        self.elsewhere.clear();
        for &Use { flow, weight } in &link.uses {
            let stop = self.stops[flow as usize];
            if stop.class() < class {
                // Before the repair is done, earlier classes may take more than there is.
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
                Err(Some(better)) => guess = better,
                Err(None) => break,
            }
        }
        self.elsewhere.sort_unstable();
        let mut rising = here + self.elsewhere.iter().map(|&(_, weight)| weight).sum::<u64>();
        for &(stop, weight) in &self.elsewhere {
            // Whether the link is full before the stop, ties in order of slots.
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

/// A flow's use of a link, or a link's when it is full at a level.
pub(super) fn product(level: u64, weight: u64) -> u128 {
    u128::from(level) * u128::from(weight)
}

/// When what is left of a link is used up by flows that rise with this weight.
pub(super) fn full_at(slot: u32, class: u8, left: u128, rising: u64) -> Stop {
    if rising == 0 {
        return Stop::never(class);
    }
    let most = u64::MAX - 1;
    Stop::link(class, u64::try_from(left / u128::from(rising)).map_or(most, |level| level.min(most)), slot)
}

/// When a link is full if just those of its flows freeze before that stop `elsewhere` before the guess.
///
/// # Errors
/// With a better guess, if there is one, where that is not so, or may not be so by the rounding of levels.
fn guessed(
    slot: u32,
    left: u128,
    here: u64,
    elsewhere: &[(Stop, u64)],
    guess: Stop,
) -> Result<Stop, Option<Stop>> {
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
    let left = left.checked_sub(used).ok_or(None)?;
    let full = full_at(slot, guess.class(), left, rising);
    // Had the link been full before one of those that froze, too little would be left for the rest to reach its level;
    // rounding down can hide no more than a unit of level of each.
    let frozen_before = left >= (u128::from(last) + 1) * u128::from(rising) + rounding;
    if frozen_before && full <= next { Ok(full) } else { Err(Some(full).filter(|full| full.at().is_some())) }
}
