//! `raddle torture`: runs random experiments, and checks for each the properties that every experiment must have. The
//! command is modeled on TigerBeetle's VOPR.
//!
//! ```text
//! seed ─► draw ─► trial ─► shrink ─► a file
//!         TOML     runs      smaller TOML that fails in the same way
//! ```
//!
//! The seed determines everything, so one number is enough to repeat a failure. `draw` makes an experiment that passes
//! the checks of [`Document::prepare`]. `trial` runs this experiment several times and compares the results. An
//! experiment of the packet engine runs on one, two and three threads, and also in lockstep if lockstep supports the
//! experiment. If the flow engine supports the experiment, `trial` also runs the experiment there. It checks the
//! properties of these results, but does not compare them with other results. An experiment of the flow engine runs
//! twice.

mod bench;
mod draw;
mod fluid;
mod invariants;
mod ran;
mod shrink;
#[cfg(test)]
mod tests;
mod trial;

use crate::Error;
use crate::experiment::{Document, Problem};
use bench::Bench;
use raddle_schemes::registry::Registry;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use toml::Table;

/// The experiments to try, the limits of their number and time, and the folder for those that fail.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of the first experiment. The other experiments have the seeds that follow.
    pub seed: u64,
    /// Maximum number of experiments; `None` for no limit.
    pub count: Option<u64>,
    /// Wall-clock time after which no further experiment is begun; `None` for no limit.
    pub time: Option<Duration>,
    /// The folder for experiments that fail.
    pub out: PathBuf,
}

/// The violation of a property that every experiment must have.
#[derive(Debug, Clone)]
struct Violation {
    /// The property, in the same words for every experiment that violates it.
    property: &'static str,
    /// A description of the violation, with its numbers.
    seen: String,
    experiment: Table,
}

/// An experiment that failed.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Failure {
    /// The seed of the experiment.
    pub seed: u64,
    /// The property that the experiment violates.
    pub property: &'static str,
    /// A description of how `experiment` violates the property, with numbers.
    pub seen: String,
    /// The smallest experiment that was found to violate the property, as TOML.
    pub experiment: String,
    /// The file that holds `experiment`.
    pub file: PathBuf,
}

/// The results of all experiments.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Tally {
    /// Number of experiments begun.
    pub experiments: u64,
    /// Number of experiments that have all properties.
    pub held: u64,
    /// Number of experiments that were stopped because they took too many packet hops or too much time.
    pub cut_short: u64,
    /// Number of experiments that did not run, because no fabric was found for the scheme or [`Document::prepare`]
    /// refused the experiment.
    pub refused: u64,
    /// Number of workloads and optional parts that the draws tried to add to experiments.
    pub parts: u64,
    /// Number of these parts that were left out because [`Document::prepare`] refused them.
    pub parts_refused: u64,
    /// Number of experiments that have all properties and also ran in lockstep.
    pub in_lockstep: u64,
    /// Number of experiments that have all properties and ran on both the packet and the flow engine.
    pub as_fluids: u64,
    /// The experiments that failed.
    pub failures: Vec<Failure>,
}

impl Tally {
    /// The counts and the failures, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let Self {
            experiments,
            held,
            cut_short,
            refused,
            parts,
            parts_refused,
            in_lockstep,
            as_fluids,
            failures,
        } = self;
        let failed = failures.len();
        let mut text: String = failures.iter().map(|failure| format!("{failure}\n\n")).collect();
        text +=
            &format!("{experiments} experiments: {held} have all properties, {failed} violate a property\n");
        text += &format!("{in_lockstep} also ran in lockstep, {as_fluids} also ran on the flow engine\n");
        text +=
            &format!("{cut_short} were stopped because they took too many packet hops or too much time\n");
        text += &format!("{refused} were refused ({:.1}%)\n", share(*refused, *experiments));
        text += &format!(
            "tried to add {parts} workloads and optional parts to experiments; {:.1}% of them were refused",
            share(*parts_refused, *parts)
        );
        text
    }

    /// The tally as a JSON document.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "counts and texts always convert to JSON")]
    pub fn json(&self) -> Value {
        serde_json::to_value(self).expect("counts and texts must convert to JSON")
    }
}

/// Tries one experiment after another, and calls `progress` after each. Stops early if `stop` is set, if the time of
/// `options` has passed, or if an experiment does not end.
///
/// # Errors
/// If a failed experiment cannot be written.
#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
pub fn torture(
    options: &Options,
    registry: &Arc<Registry>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Tally, u64),
) -> Result<Tally, Error> {
    let started = crate::run::wall_clock();
    let mut tally = Tally::default();
    let seeds = (options.seed..).take(options.count.map_or(usize::MAX, |count| count as usize));
    let _panics = bench::Panics::heard();
    for seed in seeds {
        let late = options.time.is_some_and(|time| started.elapsed() >= time);
        if late || stop.load(Ordering::Relaxed) {
            break;
        }
        tally.experiments += 1;
        let hung = match try_out(seed, registry, &mut tally) {
            Ok(()) => false,
            Err(violation) => {
                let hung = violation.property == bench::ENDS;
                let smallest = if hung { violation } else { shrink::shrink(violation, registry) };
                tally.failures.push(Failure::keep(seed, smallest, &options.out)?);
                hung
            }
        };
        progress(&tally, seed);
        if hung {
            break;
        }
    }
    Ok(tally)
}

/// Draws the experiment of `seed`, tries it, and counts the result in `tally`.
fn try_out(seed: u64, registry: &Arc<Registry>, tally: &mut Tally) -> Result<(), Violation> {
    let shared = Arc::clone(registry);
    let drawn = bench::guarded(move |bench| draw::draw(seed, &shared, bench))?;
    tally.parts += drawn.offered;
    tally.parts_refused += drawn.refused;
    let Some(experiment) = drawn.experiment else {
        tally.refused += 1;
        return Ok(());
    };
    match trial::guarded_trial(experiment, registry)? {
        trial::Trial::Refused => tally.refused += 1,
        trial::Trial::CutShort => tally.cut_short += 1,
        trial::Trial::Held { lockstep, fluid } => {
            tally.held += 1;
            tally.in_lockstep += u64::from(lockstep);
            tally.as_fluids += u64::from(fluid);
        }
    }
    Ok(())
}

impl Failure {
    /// Writes the experiment to a file in `folder`.
    fn keep(seed: u64, violation: Violation, folder: &Path) -> Result<Self, Error> {
        let Violation { property, seen, experiment } = violation;
        let experiment = experiment.to_string();
        let file = folder.join(format!("torture-{seed}.toml"));
        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        let comment: String = seen.lines().map(|line| format!("# {line}\n")).collect();
        let text = format!(
            "# violates: {property}\n{comment}# raddle torture --seed {seed} --count 1\n\n{experiment}"
        );
        std::fs::write(&file, text).map_err(Error::io("write", &file))?;
        Ok(Self { seed, property, seen, experiment, file })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, property, seen, experiment, file } = self;
        writeln!(f, "seed {seed} violates: {property}\n{seen}\n\n{experiment}")?;
        write!(
            f,
            "the experiment is in {}; repeat the failure with `raddle torture --seed {seed} --count 1`",
            file.display()
        )
    }
}

/// The experiment as a document, parsed from its TOML text.
fn parse(experiment: &Table, registry: &Arc<Registry>) -> Result<Document, Problem> {
    let text = experiment.to_string();
    Ok(Document::parse("torture.toml", text, PathBuf::new())?.with_registry(registry))
}
