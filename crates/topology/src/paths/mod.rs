//! Paths that flows keep: which way a flow goes from its source to its destination, as one number, its *choice*, says.
//! What answers it comes back by the same links the other way.
//!
//! Explicit-rate schemes (PDQ, D3, RCP) need this: an acknowledgement has to pass the ports that its data passed, whose
//! agents it tells of the outcome (specs/pdq.md §12). A choice fits 12 bits, so that a header has room for it; the same
//! choice gives the same path everywhere, in every engine.
//!
//! Paths are worked out when they are asked for, and remembered as far as there is room: a fabric of 65,536 hosts takes
//! no more memory than a small one.

mod k_shortest;

use crate::routing::{Protocol, Routing};
use crate::{Bcube, Memo, Shape, Topology};
use k_shortest::KShortest;
use raddle_core::{NodeId, PortId, Stream};
use std::sync::Arc;

/// Among which paths a flow's choice picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The shortest ones, hop by hop, as flow-level ECMP does.
    Ecmp,
    /// The `k` shortest ones without a loop, of as many links drawn by chance (Yen, 1971), with equal chances.
    KShortest {
        /// How many, at least 1.
        k: u32,
    },
    /// The k + 1 [parallel paths](crate::Bcube::parallel_path) of BCube, by number: choice 0 is a shortest one.
    Bcube,
}

/// Why flows cannot take such paths on a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// Its nodes have no digits.
    #[error("parallel paths are defined on BCube only")]
    NoBcube,
    /// Headers have no room for so many links.
    #[error("paths of {longest} links here, more than {most}")]
    TooLong {
        /// Links of the longest path.
        longest: usize,
        /// Links there is room for.
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

/// What finds them.
#[derive(Debug)]
enum Finder {
    Ecmp,
    KShortest(KShortest),
    Bcube(Bcube),
}

impl Paths {
    /// Choices that differ.
    pub const CHOICES: u32 = 1 << 12;

    /// Those that `choice` says.
    ///
    /// # Errors
    /// If the fabric has no such paths.
    pub fn new(topology: Arc<Topology>, choice: Choice) -> Result<Self, PathsError> {
        let finder = match (choice, topology.shape()) {
            (Choice::Ecmp, _) => Finder::Ecmp,
            (Choice::KShortest { k }, _) => Finder::KShortest(KShortest::new(&topology, k)),
            (Choice::Bcube, &Shape::Bcube(cube)) => Finder::Bcube(cube),
            (Choice::Bcube, _) => return Err(PathsError::NoBcube),
        };
        Ok(Self { routing: Routing::new(topology), finder, known: Memo::default() })
    }

    /// The same, of at most so many links: of the `k` shortest paths, longer ones are left out.
    ///
    /// # Errors
    /// If other paths may be longer: shortest ones, or those of BCube.
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

    /// The fabric.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        self.routing.topology()
    }

    /// The choice, below [`CHOICES`](Self::CHOICES), for a subflow of the flow that `hash` stands for; what goes by one path has one, subflow 0.
    /// On BCube subflows take its parallel paths in turn; elsewhere they choose by chance, as flows do.
    #[must_use]
    pub fn choice(&self, hash: u64, subflow: u32) -> u32 {
        match &self.finder {
            Finder::Bcube(cube) => subflow % cube.levels(),
            Finder::Ecmp | Finder::KShortest(_) => {
                Stream::new(hash, subflow.into(), "path").below(Self::CHOICES.into()) as u32
            }
        }
    }

    /// The egress ports by which a flow of that choice goes from `src` to `dst`, each at the node that the one before
    /// leads to. Empty if `src` is `dst`, or no path leads there.
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
