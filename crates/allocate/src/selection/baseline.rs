//! Baselines for comparison: assignments that need no search.

use super::{Best, Found, Objective, Search};
use raddle_core::Stream;

/// One protocol for all flows, given by its index in [`Problem::protocols`](super::Problem::protocols).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform(pub u8);

impl Search for Uniform {
    fn search(&self, objective: &mut Objective<'_>, _: &[u8], _: &mut Stream) -> Found {
        let assignment = objective.problem().uniform(self.0);
        Best::begin(objective, &assignment).end(objective)
    }
}

/// A random protocol for each flow. All protocols are equally likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random;

impl Search for Random {
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found {
        let protocols = objective.problem().protocols().len() as u64;
        let assignment: Vec<u8> = start.iter().map(|_| stream.below(protocols) as u8).collect();
        Best::begin(objective, &assignment).end(objective)
    }
}
