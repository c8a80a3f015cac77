//! Paths that are fixed per flow. A flow's *choice*, which is a number, selects its path from source to
//! destination. Replies use the same links in the opposite direction.
//!
//! Explicit-rate schemes (PDQ, D3, RCP) need such paths: an acknowledgement must pass the ports that its data
//! packet passed, to inform the agents at these ports of the outcome (specifications/pdq.md §12). A choice
//! fits the 12 bits that headers reserve for it. A choice gives the same path at every node and in every
//! engine.
//!
//! Paths are computed on demand and cached up to a limit, so the paths of a fabric of 65,536 hosts take little memory.

mod k_shortest;

use crate::routing::{Protocol, Routing};
use crate::{Bcube, Memo, Shape, Topology};
use k_shortest::KShortest;
use raddle_core::{NodeId, PortId, Stream};
use std::sync::Arc;

/// The set of paths from which a flow's choice selects one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The shortest paths, selected hop by hop as in flow-level ECMP.
    Ecmp,
    /// The `k` shortest loopless paths (Yen, 1971), each chosen with nearly equal probability. If not all paths of one
    /// length fit among the `k`, a random subset of them is used.
    KShortest {
        /// Number of paths, at least 1.
        k: u32,
    },
    /// The k + 1 [parallel paths](crate::Bcube::parallel_path) of `BCube(n, k)`: choice c selects path c mod (k + 1).
    /// Choice 0 selects a shortest path.
    Bcube,
}

/// The reason why flows cannot use fixed paths on a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// The fabric is not a BCube; only a BCube has parallel paths.
    #[error("routing over parallel paths needs a BCube topology")]
    NoBcube,
    /// Some paths have more links than packet headers can represent.
    #[error("a flow's path can have up to {longest} links, but packet headers have room for at most {most}")]
    TooLong {
        /// Greatest number of links that a flow's path can have on this fabric.
        longest: usize,
        /// Greatest number of links that headers have room for.
        most: usize,
    },
}

/// The paths of a fabric.
#[derive(Debug)]
pub struct Paths {
    routing: Routing,
    finder: Finder,
    known: Memo<(NodeId, NodeId, u32), PortId>,
}

/// The method that finds the paths.
#[derive(Debug)]
enum Finder {
    Ecmp,
    KShortest(KShortest),
    Bcube(Bcube),
}

impl Paths {
    /// Number of different choices.
    pub const CHOICES: u32 = 1 << 12;

    /// Creates the paths of a fabric. `choice` names the set of paths that flows may use.
    ///
    /// # Errors
    /// If `choice` is [`Choice::Bcube`] and the fabric is not a BCube.
    pub fn new(topology: Arc<Topology>, choice: Choice) -> Result<Self, PathsError> {
        let finder = match (choice, topology.shape()) {
            (Choice::Ecmp, _) => Finder::Ecmp,
            (Choice::KShortest { k }, _) => Finder::KShortest(KShortest::new(&topology, k)),
            (Choice::Bcube, &Shape::Bcube(cube)) => Finder::Bcube(cube),
            (Choice::Bcube, _) => return Err(PathsError::NoBcube),
        };
        Ok(Self { routing: Routing::new(topology), finder, known: Memo::default() })
    }

    /// Limits paths to at most `most` links. With [`Choice::KShortest`], longer paths among the `k` are left out.
    ///
    /// # Errors
    /// If the fabric's shortest paths, or the parallel paths of BCube, may have more than `most` links.
    pub fn of_at_most(mut self, most: usize) -> Result<Self, PathsError> {
        let longest = match &self.finder {
            Finder::Bcube(cube) => cube.longest_parallel_path(),
            Finder::Ecmp | Finder::KShortest(_) => self.routing.longest_route(Protocol::Ecmp),
        };
        if longest > most {
            return Err(PathsError::TooLong { longest, most });
        }
        if let Finder::KShortest(paths) = &mut self.finder {
            paths.leave_out_longer_than(most);
        }
        Ok(self)
    }

    /// Returns the fabric.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        self.routing.topology()
    }

    /// Returns the choice, below [`CHOICES`](Self::CHOICES), for a subflow of the flow that `hash` represents. A flow
    /// on a single path has only subflow 0. With [`Choice::Bcube`], successive subflows use successive parallel paths.
    /// Otherwise, each subflow has its own random choice.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the choice is below `CHOICES`, which is a `u32`")]
    pub fn choice(&self, hash: u64, subflow: u32) -> u32 {
        match &self.finder {
            Finder::Bcube(cube) => subflow % cube.levels(),
            Finder::Ecmp | Finder::KShortest(_) => {
                Stream::new(hash, subflow.into(), "path").below(Self::CHOICES.into()) as u32
            }
        }
    }

    /// Returns the egress ports of a flow with this choice from `src` to `dst`, in the order of the path. The
    /// result is empty if `src` is `dst`, or if there is no path.
    #[must_use]
    pub fn path(&self, src: NodeId, dst: NodeId, choice: u32) -> Arc<[PortId]> {
        self.known.get((src, dst, choice), || {
            let mut path = Vec::new();
            if src != dst && self.routing.distance(src, dst).is_some() {
                match &self.finder {
                    Finder::Ecmp => self.routing.hashed_path(src, dst, choice.into(), &mut path),
                    Finder::KShortest(paths) => paths.path(&self.routing, (src, dst), choice, &mut path),
                    Finder::Bcube(cube) => cube.parallel_path(src, dst, choice % cube.levels(), &mut path),
                }
            }
            path
        })
    }
}

#[cfg(test)]
mod tests;
