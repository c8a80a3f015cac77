//! Routing selection (Costa et al., SIGCOMM 2015, §3.4): chooses the routing protocol of each long flow. The goal is
//! the highest utility of the resulting rates.
//!
//! A [`Problem`] holds the flows, the available protocols and the links. An [`Assignment`] gives each flow a protocol.
//! A [`Utility`] maps the flows' rates to a number. An [`Objective`] computes this number for an assignment, and a
//! [`Search`] looks for the assignment with the highest utility. The paper's search is [`Genetic`]. The other searches
//! serve as comparison.
//!
//! Searches do not use a clock: their limit is a number of evaluations. With equal seeds, a search therefore finds
//! equal assignments.
//!
//! # Differs from the paper
//! - The paper limits the time of a search. Here, the limit is a number of evaluations.
//! - Elite, selection of parents, crossover, and the drawing of random individuals are reconstructions: the paper does
//!   not specify them. By default, every uniform assignment is in the first generation, so no uniform assignment is better
//!   than the result.

mod annealing;
mod baseline;
mod evaluator;
mod exhaustive;
mod genetic;
mod hill_climbing;
mod landscape;
mod levels;
mod log_linear;
mod problem;

pub use annealing::Annealing;
pub use baseline::{Random, Uniform};
pub use evaluator::Evaluator;
pub use exhaustive::Exhaustive;
pub use genetic::Genetic;
pub use hill_climbing::HillClimbing;
pub use landscape::{ROUNDING, local_maxima};
pub use log_linear::LogLinear;
pub use problem::{Assignment, LongFlow, Problem, SelectionError};

use raddle_core::Stream;

/// The measure by which rates are compared. It is never negative, and finite if every flow has a finite
/// demand or uses a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utility {
    /// The sum of all rates, bit/s.
    Aggregate,
    /// The lowest ratio of a flow's rate to its weight, bit/s.
    Minimum,
    /// The sum over tenants of the square root of the tenant's total rate in bit/s. The square root makes a
    /// tenant's utility grow more slowly at higher rates.
    PerTenant,
}

/// A new assignment replaces the present assignment if its utility exceeds the present utility by at least this share
/// of the present utility ("significant" improvement).
pub const SIGNIFICANT: f64 = 0.01;

/// True if the utility `found` justifies a change of routing: it must be higher than the utility `present`, by at least
/// the share [`SIGNIFICANT`] of `present`.
#[must_use]
pub fn is_significant(present: f64, found: f64) -> bool {
    found > present && found >= present * (1.0 + SIGNIFICANT)
}

/// Computes the utility of assignments, and counts the evaluations.
#[derive(Debug, Clone)]
pub struct Objective<'a> {
    evaluator: Evaluator<'a>,
    utility: Utility,
    evaluations: u64,
    limit: u64,
    /// Working memory: total rate of each tenant, in bit/s.
    totals: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// Creates an objective over assignments of `problem`, without a limit on evaluations.
    #[must_use]
    pub fn new(problem: &'a Problem, utility: Utility) -> Self {
        let totals = vec![0.0; problem.tenants().1];
        Self { evaluator: Evaluator::new(problem), utility, evaluations: 0, limit: u64::MAX, totals }
    }

    /// Limits searches to this number of further evaluations. Searches end soon after the limit, with the
    /// best assignment found.
    #[must_use]
    pub fn limited_to(mut self, evaluations: u64) -> Self {
        self.limit = self.evaluations.saturating_add(evaluations);
        self
    }

    /// Returns the problem.
    #[must_use]
    pub fn problem(&self) -> &'a Problem {
        self.evaluator.problem()
    }

    /// Returns the number of evaluations so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// True if the limit on evaluations is reached.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.evaluations >= self.limit
    }

    /// Returns the flows' rates under an assignment, in bit/s. This does not count as an evaluation.
    ///
    /// # Panics
    /// If the assignment does not fit the problem.
    pub fn rates(&mut self, assignment: &[u8]) -> &[f64] {
        self.evaluator.rates(assignment)
    }

    /// Returns the utility of an assignment.
    ///
    /// # Panics
    /// If the assignment does not fit the problem.
    pub fn utility(&mut self, assignment: &[u8]) -> f64 {
        self.evaluations += 1;
        let problem = self.problem();
        let rates = self.evaluator.rates(assignment);
        match self.utility {
            Utility::Aggregate => rates.iter().sum(),
            Utility::Minimum => {
                let shares = rates.iter().zip(problem.flows()).map(|(rate, flow)| rate / flow.weight);
                let least = shares.fold(f64::INFINITY, f64::min);
                if least < f64::INFINITY { least } else { 0.0 }
            }
            Utility::PerTenant => {
                self.totals.fill(0.0);
                for (&tenant, rate) in problem.tenants().0.iter().zip(rates) {
                    self.totals[tenant] += rate;
                }
                self.totals.iter().map(|total| total.sqrt()).sum()
            }
        }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best assignment found.
    pub assignment: Assignment,
    /// The utility of this assignment.
    pub utility: f64,
    /// Number of evaluations that the search needed.
    pub evaluations: u64,
}

/// A search algorithm for assignments.
pub trait Search {
    /// Returns the best assignment found, starting from `start`, the present assignment. Equal objectives, starts and
    /// streams give equal assignments.
    ///
    /// # Panics
    /// If `start` does not fit the objective's problem.
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found;
}

/// The best assignment found so far.
struct Best {
    found: Found,
    before: u64,
}

impl Best {
    /// Begins with `start` and evaluates it.
    fn begin(objective: &mut Objective<'_>, start: &[u8]) -> Self {
        let before = objective.evaluations();
        let utility = objective.utility(start);
        Self { found: Found { assignment: start.to_vec(), utility, evaluations: 0 }, before }
    }

    /// Keeps an assignment if its utility exceeds the utility of the best assignment found so far.
    fn offer(&mut self, assignment: &[u8], utility: f64) {
        if utility > self.found.utility {
            self.found.assignment.copy_from_slice(assignment);
            self.found.utility = utility;
        }
    }

    fn end(mut self, objective: &Objective<'_>) -> Found {
        self.found.evaluations = objective.evaluations() - self.before;
        self.found
    }
}

/// Returns a random protocol other than `present`. All other protocols are equally likely.
#[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
fn another(present: u8, protocols: usize, stream: &mut Stream) -> u8 {
    let draw = stream.below(protocols as u64 - 1) as u8;
    draw + u8::from(draw >= present)
}

#[cfg(test)]
mod tests;
