//! Generates the programs of an application's ranks.

use super::lower;
use super::{Communication, Traffic};
use crate::goal::{Operation, Program, Statement};
use raddle_core::Duration;
use std::sync::Arc;

/// An application with a number of iterations and a computing time.
#[derive(Debug, Clone)]
pub struct Skeleton {
    /// The application whose communication is generated.
    pub application: Arc<dyn Communication>,
    /// Number of iterations of the main loop.
    pub iterations: u32,
    /// Time that each rank computes in an iteration, spread over the iteration as in the application.
    pub compute: Duration,
}

impl Skeleton {
    /// Creates a skeleton with the application's own number of iterations and computing time.
    #[must_use]
    pub fn new(application: impl Communication + 'static) -> Self {
        Self::from(Arc::new(application) as Arc<dyn Communication>)
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.application.ranks()
    }

    /// Returns the program of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn program(&self, rank: u32) -> Program {
        assert!(rank < self.ranks(), "the rank must be below {} (got {rank})", self.ranks());
        let Self { application, iterations, compute } = self.clone();
        let (opening, closing) = (application.opening(rank, compute), application.closing(rank));
        let rounds = (0..iterations).flat_map(move |_| application.iteration(rank, compute));
        lower::program(opening.chain(rounds).chain(closing))
    }

    /// Returns the number of messages that all ranks send, and the bytes of the largest message (0 if there are no
    /// messages). Needs no memory per pair of ranks.
    #[must_use]
    pub fn messages(&self) -> (u64, u64) {
        // Generated programs contain no errors, so `flatten` drops nothing.
        let lines = (0..self.ranks()).flat_map(|rank| self.program(rank)).flatten();
        let sent = lines.filter_map(|line| match line.statement {
            Statement::Operation { operation: Operation::Send { bytes, .. }, .. } => Some(bytes),
            _ => None,
        });
        sent.fold((0, 0), |(count, largest), bytes| (count + 1, largest.max(bytes)))
    }

    /// Returns the traffic of all ranks.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        for rank in 0..self.ranks() {
            // Generated programs contain no errors, so `flatten` drops nothing.
            self.program(rank).flatten().for_each(|line| traffic.count(rank, &line.statement));
        }
        traffic
    }
}

impl From<Arc<dyn Communication>> for Skeleton {
    fn from(application: Arc<dyn Communication>) -> Self {
        Self { iterations: application.iterations(), compute: application.compute(), application }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::KNOWN;
    use crate::mpi::nas::Class;

    #[test]
    fn the_largest_message_is_that_of_all_traffic() {
        for known in KNOWN {
            let skeleton = Skeleton { iterations: 1, ..known.skeleton(Some(Class::S), 16).unwrap() };
            let traffic = skeleton.traffic();
            let expected = (traffic.total().messages, traffic.largest());
            assert_eq!(skeleton.messages(), expected, "{}", known.name);
        }
    }
}
