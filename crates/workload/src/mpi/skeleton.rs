//! A program's communication, ready to run.

use super::lower;
use super::{Application, Traffic};
use crate::goal::Program;
use raddle_core::Duration;
use std::sync::Arc;

/// An application that goes so often round its main loop.
#[derive(Debug, Clone)]
pub struct Skeleton {
    /// What it is the skeleton of.
    pub application: Arc<dyn Application>,
    /// How often it goes round its main loop.
    pub iterations: u32,
    /// How long each rank computes in an iteration, spread over the iteration as the application does it.
    pub compute: Duration,
}

impl Skeleton {
    /// The application as it is: its own iterations, and computing as measured.
    #[must_use]
    pub fn new(application: impl Application + 'static) -> Self {
        Self::from(Arc::new(application) as Arc<dyn Application>)
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.application.ranks()
    }

    /// What a rank does.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn program(&self, rank: u32) -> Program {
        assert!(rank < self.ranks(), "rank {rank} of {}", self.ranks());
        let Self { application, iterations, compute } = self.clone();
        let (opening, closing) = (application.opening(rank, compute), application.closing(rank));
        let rounds = (0..iterations).flat_map(move |_| application.iteration(rank, compute));
        lower::program(opening.chain(rounds).chain(closing))
    }

    /// What the ranks send each other in all.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        for rank in 0..self.ranks() {
            // Generated programs have no text to misread.
            self.program(rank).flatten().for_each(|line| traffic.count(rank, &line.statement));
        }
        traffic
    }
}

impl From<Arc<dyn Application>> for Skeleton {
    fn from(application: Arc<dyn Application>) -> Self {
        Self { iterations: application.iterations(), compute: application.compute(), application }
    }
}
