//! Routing selection (Costa et al., SIGCOMM 2015, §3.4): which protocol each long flow should use, so that the rates
//! that the allocation then gives are worth most.
//!
//! A [`Problem`] holds the flows, the protocols to choose from and the links; an [`Assignment`] names a protocol for each
//! flow; a [`Utility`] says what its rates are worth; an [`Objective`] computes that, and a [`Search`] looks for the
//! assignment that is worth most. The paper's search is [`Genetic`]; the others are what it is held against.
//!
//! Searches know no clock: they are limited in evaluations, so that equal seeds find equal assignments.
//!
//! # Differs from the paper
//! - Time limits are limits on evaluations.
//! - Elite, selection of parents, crossover, and how random individuals are drawn are reconstructions: the paper leaves
//!   them open. Every uniform assignment is among the first individuals, so none is ever better than what is found.

mod annealing;
mod baseline;
mod evaluator;
mod exhaustive;
mod genetic;
mod hill_climbing;
mod levels;
mod log_linear;
mod problem;

pub use annealing::Annealing;
pub use baseline::{Random, Uniform};
pub use evaluator::Evaluator;
pub use exhaustive::Exhaustive;
pub use genetic::Genetic;
pub use hill_climbing::HillClimbing;
pub use log_linear::LogLinear;
pub use problem::{Assignment, LongFlow, Problem, SelectionError};

use raddle_core::Stream;

/// What rates are worth; always finite if every flow's demand or path is, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utility {
    /// The sum of all rates, bit/s.
    Aggregate,
    /// The least rate of any flow relative to its weight, bit/s: the tail.
    Minimum,
    /// The sum over tenants of the square root of the tenant's total rate in bit/s: more is worth less to who has much.
    PerTenant,
}

/// An assignment replaces another if it is worth more by this share ("significant" improvement).
pub const SIGNIFICANT: f64 = 0.01;

/// Whether a utility is enough above the present one for a change of routing to be worth it.
#[must_use]
pub fn is_significant(present: f64, found: f64) -> bool {
    found > present && found >= present * (1.0 + SIGNIFICANT)
}

/// The utility of assignments, and how often it was asked for.
#[derive(Debug, Clone)]
pub struct Objective<'a> {
    evaluator: Evaluator<'a>,
    utility: Utility,
    evaluations: u64,
    limit: u64,
    /// Total rate of each tenant.
    totals: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// What assignments of `problem` are worth, without a limit on evaluations.
    #[must_use]
    pub fn new(problem: &'a Problem, utility: Utility) -> Self {
        let totals = vec![0.0; problem.tenants().1];
        Self { evaluator: Evaluator::new(problem), utility, evaluations: 0, limit: u64::MAX, totals }
    }

    /// Searches end soon after so many more evaluations, with the best found until then.
    #[must_use]
    pub fn limited_to(mut self, evaluations: u64) -> Self {
        self.limit = self.evaluations.saturating_add(evaluations);
        self
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &'a Problem {
        self.evaluator.problem()
    }

    /// Evaluations so far.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Whether no more should be asked for.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.evaluations >= self.limit
    }

    /// The flows' rates under an assignment, bit/s; no evaluation is counted.
    ///
    /// # Panics
    /// If the assignment is not one of the problem's.
    pub fn rates(&mut self, assignment: &[u8]) -> &[f64] {
        self.evaluator.rates(assignment)
    }

    /// What an assignment is worth.
    ///
    /// # Panics
    /// If the assignment is not one of the problem's.
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

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best assignment met.
    pub assignment: Assignment,
    /// What it is worth.
    pub utility: f64,
    /// Evaluations that the search took.
    pub evaluations: u64,
}

/// A way to look for a good assignment.
pub trait Search {
    /// The best assignment met on the way from `start`, which is the present one. Equal streams find equal assignments.
    ///
    /// # Panics
    /// If `start` is not an assignment of the objective's problem.
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found;
}

/// The best assignment met so far.
struct Best {
    found: Found,
    before: u64,
}

impl Best {
    /// Begins with `start`, which it evaluates.
    fn begin(objective: &mut Objective<'_>, start: &[u8]) -> Self {
        let before = objective.evaluations();
        let utility = objective.utility(start);
        Self { found: Found { assignment: start.to_vec(), utility, evaluations: 0 }, before }
    }

    /// Keeps an assignment that is worth more.
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

/// A protocol uniform among the `protocols` other than `present`.
fn another(present: u8, protocols: usize, stream: &mut Stream) -> u8 {
    let draw = stream.below(protocols as u64 - 1) as u8;
    draw + u8::from(draw >= present)
}

#[cfg(test)]
mod tests;
