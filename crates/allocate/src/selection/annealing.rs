//! Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983). Each step changes the protocol of one flow. The change is
//! accepted if it does not lower the utility. Otherwise it is accepted with probability exp(-loss / temperature). Costa
//! et al. (SIGCOMM 2015, §3.4) found this search too sensitive to its parameters.

use super::{Best, Found, Objective, Search, another};
use raddle_core::Stream;

/// Simulated annealing and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Annealing {
    /// At the start of the search, a loss of this share of the initial utility is accepted with probability
    /// 1/e.
    pub hot: f64,
    /// At the end of the search, a loss of this share of the initial utility is accepted with probability
    /// 1/e. Between start and end, the share falls by a constant factor per step.
    pub cold: f64,
    /// Maximum number of changes that the search tries.
    pub steps: u64,
}

impl Default for Annealing {
    /// The temperature falls from 1 % to 0.001 % of the initial utility. Without a limit on evaluations, the search
    /// makes 10,001 evaluations if there are flows and at least two protocols. [`Genetic`](super::Genetic) makes 1,900
    /// to 18,100 evaluations if there are at least 100 possible assignments.
    fn default() -> Self {
        Self { hot: 1e-2, cold: 1e-5, steps: 10_000 }
    }
}

impl Search for Annealing {
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found {
        let protocols = objective.problem().protocols().len();
        let mut best = Best::begin(objective, start);
        let mut here = start.to_vec();
        let mut present = best.found.utility;
        let mut temperature = self.hot * present.max(f64::MIN_POSITIVE);
        let cooling = libm::pow(self.cold / self.hot, 1.0 / self.steps.max(1) as f64);
        for _ in 0..self.steps {
            if here.is_empty() || protocols < 2 || objective.is_spent() {
                break;
            }
            let flow = stream.index(here.len());
            let old = here[flow];
            here[flow] = another(old, protocols, stream);
            let utility = objective.utility(&here);
            best.offer(&here, utility);
            if utility >= present || stream.unit() < libm::exp((utility - present) / temperature) {
                present = utility;
            } else {
                here[flow] = old;
            }
            temperature *= cooling;
        }
        best.end(objective)
    }
}
