//! Searches: the greatest value of one key of an experiment at which a measure of its flows is still large enough, such as
//! the most flows of which 99% meet their deadline (specs/pdq.md §10).
//!
//! The measure is supposed to fall along the key: whatever holds at a value holds at all below. It is averaged over seeds,
//! the same ones at every value, so that neighbouring values see the same draws. Where the supposition fails, the value
//! found is one that holds and whose next one does not, not always the greatest of these. It fails of few seeds where the
//! mean over many does fall: one seed's bad luck at a value lasts for many values above. More seeds help; a scan for
//! the greatest value that holds would find the luckiest.

mod directory;
mod found;
mod grid;

pub use directory::{run_into, sweep};
pub use found::{Found, Probe, table};

use crate::experiment::{Document, Problem, Section};
use crate::figure::measure::Measure;
use crate::figure::runs::{Data, Run, Seeds};
use crate::run::records::{FlowRow, Records};
use crate::run::{Control, run};
use crate::{Error, RunState};
use grid::Grid;
use raddle_records::{Digest, FlowRecord};
use std::sync::atomic::{AtomicBool, Ordering};

/// `[search]`: what is searched for, and how.
#[derive(Debug, Clone)]
pub struct Search {
    /// The key that is varied.
    key: String,
    grid: Grid,
    measure: Measure,
    /// What the measure must come to.
    at_least: f64,
    /// Runs at each value.
    seeds: u64,
    /// The table with every default.
    resolved: toml::Table,
}

impl Search {
    /// The search that an experiment's file asks for, if it does.
    ///
    /// # Errors
    /// If the table is wrong, or asks for what is not measured of flows.
    pub fn read(document: &Document) -> Result<Option<Self>, Problem> {
        let mut root = Section::new(&document.root, "");
        let Some(mut section) = root.section("search")? else { return Ok(None) };
        let key: String = section.required("key")?;
        let grid = Grid::read(&mut section)?;
        if section.item("of").is_none() {
            return Err(section.missing("of", "\"met\""));
        }
        let measure = Measure::read(&mut section)?;
        let alone = measure.is_of_flows() && !measure.is_timed() && measure.bases().next().is_none();
        let hint = "for example: of = \"met\"";
        section.ensure(alone, "of", "a search is by what is measured of a run's flows", hint)?;
        let at_least = section.required("at_least")?;
        let seeds = section.or("seeds", 1)?;
        section.ensure(seeds > 0, "seeds", "no run at all", "leave `seeds` out to run each value once")?;
        let resolved = section.finish()?;
        Ok(Some(Self { key, grid, measure, at_least, seeds, resolved }))
    }

    /// The experiment at a place of the grid.
    fn document(&self, document: &Document, place: u64) -> Result<Document, Problem> {
        let mut document = document.clone();
        let item = self.grid.item(place);
        document.root.set(&self.key, &item.at.clone(), item)?;
        Ok(document)
    }

    /// Searches. `control` is told how far the run is that is being made.
    ///
    /// # Errors
    /// If the experiment is wrong, a run fails or measures nothing, or somebody wants it to stop.
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

    /// The measure at a place of the grid. Once no further seed could lift the mean to where it must be, it looks at no
    /// further seed.
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
            let what = format!("{} = {} leaves nothing to measure", self.key, self.grid.shown(place));
            return Err(Error::Run(what));
        };
        let holds = measured >= self.at_least;
        Ok(Probe { shown: self.grid.shown(place), measured, runs: numbers.len(), holds })
    }

    /// The measure of one run; `None` if it has nothing to measure.
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

/// Ends a search that somebody wants to stop: what is half done tells nothing.
fn refuse_stopped(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
}

/// The greatest place up to `last` that `holds`, if all below one that does hold as well. Place 0 is taken to hold.
///
/// It goes up in strides that double and then halves what is left: large values are those that take long to run, and the
/// answer is most often far from the largest.
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
