//! Figures: an experiment with a sweep, plots, and claims that hold a paper's words against what was measured.
//!
//! A figure's file is an experiment's file with more tables: `[figure]`, `[[sweep]]`, `[[plot]]`, `[[claim]]`,
//! `[scale.quick]` and `[scale.full]` with overrides, `[search]` if what it shows is what searches find, and `[compute]`
//! in place of the experiment where there is nothing to simulate. [`reproduce()`] runs, draws and judges it.

mod claim;
mod compute;
mod condition;
pub(crate) mod draw;
pub mod ledger;
pub(crate) mod measure;
mod number;
mod over_time;
mod papers;
mod plot;
mod reproduce;
pub(crate) mod runs;
pub(crate) mod size_class;
pub mod statements;

pub use claim::{Described, Deviation, LiveRuns, Outcome};
pub use ledger::Ledger;
pub use papers::names;
pub use reproduce::{Options, Reproduced, Reproduction, Scale, Unfinished, Watch, reproduce};
pub use runs::Spread;

pub(crate) use claim::CLAIM;
pub(crate) use compute::COMPUTE;
pub(crate) use plot::PLOT;

use crate::experiment::keys::{Any, Key, keys};
use crate::experiment::{Cell, Document, FIGURES, Fraction, Problem, ROOT, Section, list};
use claim::Claim;
use plot::Plot;
use runs::SEED;
use std::collections::BTreeSet;

/// Title and claims of a figure.
#[derive(Debug, Clone)]
pub struct Description {
    /// Its title.
    pub title: String,
    /// Its claims.
    pub claims: Vec<Described>,
}

/// Title and claims of the figure of that name, such as `r2c2/fig10`; `None` if there is none.
///
/// # Errors
/// If its file is malformed.
pub fn describe(name: &str) -> Result<Option<Description>, Problem> {
    let Some(file) = papers::file(name) else { return Ok(None) };
    let document = Document::parse(&file.path.display().to_string(), file.text.into_owned(), "".into())?;
    let Figure { title, claims, .. } = Figure::read(&document)?;
    let claims = claims.iter().map(Claim::described).collect();
    Ok(Some(Description { title, claims }))
}

/// A figure, read and checked.
struct Figure {
    title: String,
    /// Share of arrivals, the first ones, that measures leave out.
    warm_up: f64,
    /// Number of repetitions of each run, with the experiment's seed and those after it. Every statistic is computed of
    /// each run and then averaged.
    seeds: u64,
    /// True if the figure is reproduced only under its own name and not with its paper, because it needs a privilege or takes hours.
    by_name: bool,
    plots: Vec<Plot>,
    claims: Vec<Claim>,
}

keys! {
    /// Title and settings of a figure.
    pub(crate) FIGURE = "figure" {
        /// The paper.
        PAPER: String = Key::new("paper").required().example("\"r2c2\"");
        /// Number of the figure.
        NUMBER: String = Key::new("number").required().example("\"10\"");
        /// Title of the figure.
        TITLE: String = Key::new("title").required().example("\"FCT of short flows\"");
        /// Share of arrivals, the first ones, that measures leave out.
        WARM_UP: Fraction = Key::new("warm_up").or("0.05").example("\"5%\"");
        /// Number of runs of each cell, with the experiment's seed and those after it. Numbers are means over them.
        SEEDS: u64 = Key::new("seeds").or("1").above_zero();
        /// If true, the figure is reproduced only under its own name, and not with its paper.
        BY_NAME: bool = Key::new("by_name").or("false");
    }

    /// Dotted keys of the experiment, each with its value at a scale.
    pub(crate) SCALE = "scale" {
        /// Values at quick scale.
        QUICK: Any = Key::new("quick").example("{ \"workload.flows\" = 1000 }");
        /// Values at full scale.
        FULL: Any = Key::new("full").example("{ \"workload.flows\" = 100000 }");
    }
}

impl Figure {
    fn read(document: &Document) -> Result<Self, Problem> {
        let mut root = Section::new(&document.root, &ROOT);
        let Some(mut figure) = root.section(&FIGURES)? else { return Err(root.missing(&FIGURES)) };
        figure.read(&PAPER)?;
        figure.read(&NUMBER)?;
        let title = figure.read(&TITLE)?;
        let Fraction(warm_up) = figure.read(&WARM_UP)?;
        let seeds = figure.read(&SEEDS)?;
        let by_name = figure.read(&BY_NAME)?;
        let computed = document.root.get("compute").is_some();
        figure.ensure(
            seeds == 1 || !computed,
            &SEEDS,
            "`seeds` cannot be given for a computed figure, which has no runs",
            "leave `seeds` out",
        )?;
        let searches = document.root.get("search").is_some();
        figure.ensure(
            seeds == 1 || !searches,
            &SEEDS,
            "`seeds` of a search must be in [search]",
            "give `seeds` in [search]",
        )?;
        let own = |cell: &Cell| cell.labels.iter().any(|(sweep, _)| sweep == SEED);
        let twice = seeds > 1 && document.cells()?.iter().any(own);
        let hint = "leave `seeds` out, or the sweep";
        figure.ensure(!twice, &SEEDS, "`seeds` cannot be combined with a sweep called `seed`", hint)?;
        figure.finish()?;
        let all = |key: &str| document.root.get(key).map_or(Ok(&[][..]), list);
        let plots: Vec<Plot> = all("plot")?.iter().map(Plot::read).collect::<Result<_, _>>()?;
        if !computed {
            let labels = document.cells()?.into_iter().flat_map(|cell| cell.labels);
            let sweeps: BTreeSet<String> = labels.map(|(sweep, _)| sweep).collect();
            for (plot, item) in plots.iter().zip(all("plot")?) {
                plot.check_curves(item, &sweeps)?;
            }
        }
        let claims = all("claim")?.iter().map(Claim::read).collect::<Result<_, _>>()?;
        Ok(Self { title, warm_up, seeds, by_name, plots, claims })
    }

    /// True if the figure leaves out flows that never finished.
    fn is_of_finished_flows(&self) -> bool {
        self.plots.iter().any(Plot::is_of_finished_flows)
            || self.claims.iter().any(Claim::is_of_finished_flows)
    }
}
