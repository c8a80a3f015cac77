//! Workloads that are programs: each rank runs on a host, and its program determines when it sends messages.

use super::MOST_BYTES;
use super::keys::{COLLECTIVE, EAGER, GOAL, LOOKAHEAD, PLACEMENT, SCALE, SKELETON};
use super::skeleton::{read_collective, read_skeleton};
use crate::experiment::file::Files;
use crate::experiment::keys::{Declared, Named};
use crate::experiment::problem::{Cause, Problem};
use crate::experiment::section::{Read, Section, described, out_of_range, wrong_type};
use crate::experiment::value::{At, Item, Value};
use raddle_core::{Bytes, NodeId, Stream};
use raddle_topology::Topology;
use raddle_workload::goal::{Job, Line, Program, Settings, Statement, Trace};
use raddle_workload::mpi::Skeleton;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;
use std::sync::Arc;

/// The ranks of a program: the statements that they run, the settings of their messages, and their hosts.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    programs: Programs,
    settings: Settings,
    placement: Placement,
    size: Size,
    /// The position in the experiment's text at which the program is named.
    at: At,
}

/// Maximum number of ranks whose statements are counted for an estimate of all ranks.
const SAMPLES: u32 = 16;

/// The size of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) ranks: u64,
    /// Number of messages of all ranks. For a skeleton, messages outside the main loop are counted once for each
    /// iteration, so this number can be too large.
    pub(crate) messages: u64,
    /// Estimate of the number of messages that are in flight at the same time. For a skeleton, it is the number of
    /// messages of a run with one iteration. For a GOAL file, which has no iterations, it is the number of ranks.
    pub(crate) at_a_time: u64,
    /// Size of the largest message in bytes, after scaling.
    pub(crate) largest: u64,
    /// Estimate of the mean number of operations that a rank reads before it begins its first operation.
    pub(crate) read_ahead: u64,
}

/// The source of the ranks' programs.
#[derive(Debug, Clone)]
pub(crate) enum Programs {
    /// Statements of a GOAL file.
    Trace(Arc<Trace>),
    /// Programs that Raddle generates.
    Skeleton(Skeleton),
}

/// The assignment of ranks to hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// A different random host for each rank.
    Random,
    /// The first hosts, in order.
    InOrder,
}

/// Size in bytes. A message of at least this size is sent only when the receiver is ready (rendezvous).
pub(super) struct Eager(u64);

/// The value of the key `eager` with which no message uses rendezvous.
const ALWAYS: &str = "always";

impl Read for Eager {
    const EXAMPLE: &'static str = "\"16 KB\"";

    fn read(item: &Item) -> Result<Self, Problem> {
        match &item.value {
            Value::String(text) if text == ALWAYS => Ok(Self(u64::MAX)),
            Value::String(_) => Bytes::read(item).map(|Bytes(bytes)| Self(bytes)),
            _ => Err(wrong_type(item, "a size such as \"16 KB\", or \"always\"")),
        }
    }

    fn show(&self) -> toml::Value {
        match *self {
            Self(u64::MAX) => ALWAYS.into(),
            Self(bytes) => Bytes(bytes).show(),
        }
    }
    described!("size, or `\"always\"`", { "type": "string" });
}

impl Named for Placement {
    const WHAT: &'static str = "placement";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("random", Self::Random, "a different random host for each rank"),
        ("in_order", Self::InOrder, "rank 0 runs on the first host, rank 1 on the second host, and so on"),
    ];
}

impl Programs {
    fn ranks(&self) -> u32 {
        match self {
            Self::Trace(trace) => trace.ranks(),
            Self::Skeleton(skeleton) => skeleton.ranks(),
        }
    }

    pub(crate) fn program(&self, rank: u32) -> Program {
        match self {
            Self::Trace(trace) => trace.program(rank),
            Self::Skeleton(skeleton) => skeleton.program(rank),
        }
    }

    /// The mean number of operations among the first `window` statements of a rank, estimated from at most [`SAMPLES`]
    /// ranks.
    fn read_ahead(&self, window: u64) -> u64 {
        let sample = (0..self.ranks()).step_by(self.ranks().div_ceil(SAMPLES).max(1) as usize);
        let count = sample.len().max(1);
        let statements = sample.flat_map(|rank| {
            self.program(rank).take(usize::try_from(window).unwrap_or(usize::MAX)).filter_map(Result::ok)
        });
        let is_operation = |line: &Line| matches!(line.statement, Statement::Operation { .. });
        (statements.filter(is_operation).count() / count) as u64
    }
}

impl Ranks {
    /// Reads a workload from the GOAL file that the key `goal` names, and checks that file.
    pub(super) fn read_goal(section: &mut Section<'_>, files: &Files) -> Result<Self, Problem> {
        let name = section.read(&GOAL)?;
        let settings = read_settings(section)?;
        let placement = section.read(&PLACEMENT)?;
        let at = section.at_key(&GOAL).clone();
        let unreadable = |error: io::Error| {
            Problem::at(&at, Cause::Unreadable { file: name.clone(), why: error.to_string() })
        };
        let file = files.open(&name).and_then(|file| decompressed(&name, file)).map_err(unreadable)?;
        let trace = Trace::read(file, settings.window).map_err(|error| {
            let (file, why) = (name.clone(), error.to_string());
            Problem::at(&at, Cause::BadFile { file, what: "GOAL file", why })
        })?;
        let largest = check_largest(section, trace.counts().largest, settings.scale)?;
        let ranks = trace.ranks().into();
        let messages = trace.counts().messages;
        let programs = Programs::Trace(Arc::new(trace));
        let read_ahead = programs.read_ahead(settings.window);
        let size = Size { ranks, messages, at_a_time: ranks, largest, read_ahead };
        Ok(Self { programs, settings, placement, size, at })
    }

    /// Reads a workload that is a skeleton.
    pub(super) fn read_skeleton(section: &mut Section<'_>) -> Result<Self, Problem> {
        let (skeleton, published) = read_skeleton(section)?;
        let mut settings = read_settings(section)?;
        if let Some(scale) = published {
            if settings.scale != 1 {
                let what = "`scale` and `scaled` cannot be combined";
                return Err(section.contradiction(&SCALE, what, "leave `scale` or `scaled` out"));
            }
            settings.scale = scale;
        }
        Self::of_skeleton(section, skeleton, settings, &SKELETON)
    }

    /// Reads a workload that is a collective operation.
    pub(super) fn read_collective(section: &mut Section<'_>) -> Result<Self, Problem> {
        let skeleton = read_collective(section)?;
        let settings = read_settings(section)?;
        Self::of_skeleton(section, skeleton, settings, &COLLECTIVE)
    }

    fn of_skeleton(
        section: &mut Section<'_>,
        skeleton: Skeleton,
        settings: Settings,
        key: &dyn Declared,
    ) -> Result<Self, Problem> {
        let placement = section.read(&PLACEMENT)?;
        // All iterations are equal, so a run with one iteration gives the largest message and the estimate of the
        // messages in flight.
        let (at_a_time, largest) = Skeleton { iterations: 1, ..skeleton.clone() }.messages();
        let largest = check_largest(section, largest, settings.scale)?;
        let messages = at_a_time.saturating_mul(skeleton.iterations.into());
        let ranks = skeleton.ranks().into();
        let programs = Programs::Skeleton(skeleton);
        let read_ahead = programs.read_ahead(settings.window);
        let size = Size { ranks, messages, at_a_time, largest, read_ahead };
        let at = section.at_key(key).clone();
        Ok(Self { programs, settings, placement, size, at })
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// The job on `topology`, and the programs of its ranks.
    pub(super) fn job(&self, topology: &Topology, seed: u64) -> Result<(Job, Programs), Problem> {
        let mut hosts: Vec<NodeId> = topology.hosts().collect();
        let ranks = self.programs.ranks() as usize;
        if ranks > hosts.len() {
            let what =
                format!("the program has {ranks} ranks, but the topology has only {} hosts", hosts.len());
            let hint = "choose a larger topology: a host runs at most one rank".to_owned();
            return Err(Problem::at(&self.at, Cause::Contradiction { what, hint }));
        }
        if let Placement::Random = self.placement {
            Stream::new(seed, 0, "placement").shuffle(&mut hosts);
        }
        hosts.truncate(ranks);
        Ok((Job::new(hosts, self.settings), self.programs.clone()))
    }
}

/// The size of the largest message after scaling, in bytes. Returns an error if the size exceeds 2^60 bytes.
fn check_largest(section: &Section<'_>, largest: u64, scale: u64) -> Result<u64, Problem> {
    let largest = u128::from(largest) * u128::from(scale);
    if let Ok(bytes) = u64::try_from(largest)
        && bytes <= MOST_BYTES.0
    {
        return Ok(bytes);
    }
    let what = format!("a message must have at most 2^60 bytes (got {largest} bytes)");
    Err(out_of_range(section.at_key(&SCALE), what, "give a smaller `scale`, or smaller messages"))
}

/// A file that can be read at any position. A file whose name ends in `.zst` is first decompressed into an anonymous
/// temporary file.
fn decompressed(name: &str, file: File) -> io::Result<File> {
    if Path::new(name).extension().is_none_or(|ending| ending != "zst") {
        return Ok(file);
    }
    let mut text = tempfile::tempfile()?;
    zstd::stream::copy_decode(file, &mut text)?;
    text.rewind()?;
    Ok(text)
}

fn read_settings(section: &mut Section<'_>) -> Result<Settings, Problem> {
    let scale = section.read(&SCALE)?;
    let Eager(eager) = section.read(&EAGER)?;
    Ok(Settings { eager, scale, window: section.read(&LOOKAHEAD)? })
}
