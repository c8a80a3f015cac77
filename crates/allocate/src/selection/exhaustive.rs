//! Tries all assignments. For few flows, the tests compare other searches with this search.

use super::{Best, Found, Objective, Problem, Search};
use raddle_core::Stream;

/// Exhaustive search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exhaustive;

impl Exhaustive {
    /// Maximum number of assignments that the search tries: 2^16, the number of ways to assign two protocols to 16
    /// flows.
    pub const MOST: u64 = 1 << 16;

    /// True if the problem has at most [`MOST`](Self::MOST) assignments.
    #[must_use]
    pub fn fits(problem: &Problem) -> bool {
        problem.assignments().is_some_and(|count| count <= Self::MOST)
    }
}

impl Search for Exhaustive {
    /// # Panics
    /// If the problem has more than [`Exhaustive::MOST`] assignments.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], _: &mut Stream) -> Found {
        assert!(Self::fits(objective.problem()), "the problem must have at most {} assignments", Self::MOST);
        let last = (objective.problem().protocols().len() - 1) as u8;
        let mut best = Best::begin(objective, start);
        // Visits the assignments in the order of counting. The first flow's protocol changes fastest.
        let mut here = objective.problem().uniform(0);
        loop {
            best.offer(&here, objective.utility(&here));
            let Some(flow) = here.iter().position(|&protocol| protocol < last) else { break };
            here[flow] += 1;
            here[..flow].fill(0);
            if objective.is_spent() {
                break;
            }
        }
        best.end(objective)
    }
}
