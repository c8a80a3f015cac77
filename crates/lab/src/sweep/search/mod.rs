//! A search varies one key of an experiment. It finds the greatest value of the key at which a measure of the
//! experiment's flows is still large enough. An example is the largest number of flows of which 99% meet their deadline
//! (specifications/pdq.md §10).
//!
//! A value holds if the measure is large enough there. The search assumes that the measure falls as the key grows: if a
//! value holds, all smaller values hold. The measure is averaged over seeds. The seeds are the same at every value, so
//! that neighboring values have the same random draws. If the assumption is wrong, the value found still holds, unless
//! it is the first value, which is never tried. The next value, if there is one, does not hold, but a greater value
//! may. With few seeds the assumption can be wrong, even if it is right for the mean over many seeds: the bad luck of
//! one seed at a value persists for many greater values. More seeds help. A scan of all values would not help, because
//! it would find the value with the luckiest draws.

mod directory;
mod found;
mod grid;

pub use directory::{run_into, sweep};
pub use found::{Found, Probe, table};

use crate::experiment::keys::{Key, keys};
use crate::experiment::{Document, Problem, ROOT, SEARCHES, Section};
use crate::figure::measure::{MEASURE, Measure, OF};
use crate::figure::runs::{Data, Run, Seeds};
use crate::run::records::{FlowRow, Records};
use crate::run::{Control, run};
use crate::{Error, RunState};
use grid::{GRID, Grid};
use raddle_records::{Digest, FlowRecord};
use std::sync::atomic::{AtomicBool, Ordering};

/// The `[search]` section.
#[derive(Debug, Clone)]
pub struct Search {
    /// The key that is varied.
    key: String,
    grid: Grid,
    measure: Measure,
    /// The threshold for the measure.
    at_least: f64,
    /// Number of seeds at each value. There is at most one run per seed.
    seeds: u64,
    /// The `[search]` section as TOML, defaults included.
    resolved: toml::Table,
}

keys! {
    /// A search for the greatest value of a key at which a measure of the flows is still large enough.
    pub(crate) SEARCH = "search" {
        /// The dotted key that the search varies.
        KEY: String = Key::new("key").required().example("\"workload.flows\"");
        /// A value holds if the mean of the measure over seeds is at least this number.
        AT_LEAST: f64 = Key::new("at_least").required().example("0.99");
        /// Largest number of runs at each value. Each of these runs has its own seed.
        SEEDS: u64 = Key::new("seeds").or("1").above_zero();
        ..&GRID, &MEASURE;
    }
}

impl Search {
    /// The search in an experiment's file; `None` if the file has none.
    ///
    /// # Errors
    /// If the section is wrong, or its measure needs more than the flows of a single run.
    pub fn read(document: &Document) -> Result<Option<Self>, Problem> {
        let mut root = Section::new(&document.root, &ROOT);
        let Some(mut section) = root.section(&SEARCHES)? else { return Ok(None) };
        let key = section.read(&KEY)?;
        let grid = Grid::read(&mut section)?;
        if !section.has(&OF) {
            return Err(section.missing(&OF));
        }
        let measure = Measure::read(&mut section)?;
        let alone = measure.is_of_flows() && !measure.is_timed() && measure.bases().next().is_none();
        let hint = "for example: of = \"met\"";
        section.ensure(
            alone,
            &OF,
            "`of` in a search must be a quantity of single flows, such as FCT; quantities over time and \
             comparisons with other runs are not supported",
            hint,
        )?;
        let (at_least, seeds) = (section.read(&AT_LEAST)?, section.read(&SEEDS)?);
        let resolved = section.finish()?;
        Ok(Some(Self { key, grid, measure, at_least, seeds, resolved }))
    }

    /// The experiment with the key set to the value at an index of the grid.
    fn document(&self, document: &Document, place: u64) -> Result<Document, Problem> {
        let mut document = document.clone();
        let item = self.grid.item(place);
        document.root.set(&self.key, &item.at.clone(), item)?;
        Ok(document)
    }

    /// Runs the search. `control` observes the runs, and can stop them.
    ///
    /// # Errors
    /// If the experiment is wrong, a run fails, no run at a value has anything to measure, or the search is stopped.
    pub fn run(&self, document: &Document, mut control: Control<'_>) -> Result<Found, Error> {
        let (mut probes, mut digest) = (Vec::new(), Digest::default());
        let holds = |place| {
            let probe = self.probe(document, place, &mut control, &mut digest)?;
            let holds = probe.holds;
            probes.push(probe);
            Ok::<_, Error>(holds)
        };
        let place = greatest(self.grid.last(), holds)?;
        Ok(Found {
            key: self.key.clone(),
            value: self.grid.number(place),
            shown: self.grid.shown(place),
            at_end: place == self.grid.last(),
            at_least: self.at_least,
            seeds: self.seeds,
            probes,
            digest: digest.to_string(),
        })
    }

    /// The mean of the measure over the seeds, at the value with the index `place`. If the greatest possible measure is
    /// known, the remaining seeds are skipped once they could no longer lift the mean to the threshold.
    fn probe(
        &self,
        document: &Document,
        place: u64,
        control: &mut Control<'_>,
        digest: &mut Digest,
    ) -> Result<Probe, Error> {
        let document = self.document(document, place)?;
        let first = document.experiment()?.engine.seed;
        let mut numbers = Vec::new();
        for i in 0..self.seeds {
            let seed = format!("engine.seed={}", first.wrapping_add(i));
            let document = document.clone().with_overrides([seed.as_str()])?;
            numbers.extend(self.measured(&document, control, digest)?);
            let left = (self.seeds - i - 1) as f64;
            let sum: f64 = numbers.iter().sum();
            let hopeless = |most: f64| sum + left * most < self.at_least * (numbers.len() as f64 + left);
            if self.measure.most().is_some_and(hopeless) {
                break;
            }
        }
        let Some(measured) = raddle_records::stats::mean(&numbers) else {
            let value = self.grid.shown(place);
            let what = format!("no run with {} = {value} has a flow that `of` can measure", self.key);
            return Err(Error::Run(what));
        };
        let holds = measured >= self.at_least;
        Ok(Probe { shown: self.grid.shown(place), measured, runs: numbers.len(), holds })
    }

    /// The measure of one run; `None` if the run has nothing to measure.
    fn measured(
        &self,
        document: &Document,
        control: &mut Control<'_>,
        digest: &mut Digest,
    ) -> Result<Option<f64>, Error> {
        let mut flows = Vec::new();
        let mut take = |flow: &FlowRecord| {
            flows.push(FlowRow::from(flow));
            Ok(())
        };
        let Control { stop, progress, threads } = control;
        let mut progress = |state: &RunState| progress(state);
        let control = Control { stop, progress: &mut progress, threads: *threads };
        let outcome = run(document.prepare()?, &mut take, control)?;
        refuse_stopped(stop)?;
        digest.merge(outcome.digest);
        flows.sort_unstable_by_key(|flow| flow.id);
        let run = Run { labels: Vec::new(), data: Data::Records(Records { flows, ..Records::default() }) };
        Ok(self.measure.number(&[run], &[], Seeds::All))
    }
}

/// Returns an error if the search has been stopped, because a partial run gives no result.
fn refuse_stopped(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// The greatest index up to `last` for which `holds` is true. If `holds` is true for an index, it must be true for all
/// smaller indices. Index 0 is assumed to hold.
///
/// The search doubles its stride upwards and then bisects, because large values take long to run, and the answer is
/// usually far below the largest.
fn greatest<E>(last: u64, mut holds: impl FnMut(u64) -> Result<bool, E>) -> Result<u64, E> {
    let (mut low, mut stride) = (0, 1);
    let mut high = loop {
        if low == last {
            return Ok(last);
        }
        let next = last.min(low + stride);
        if !holds(next)? {
            break next;
        }
        (low, stride) = (next, stride * 2);
    };
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests;
