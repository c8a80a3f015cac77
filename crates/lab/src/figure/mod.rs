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

use crate::experiment::{Cell, Document, Fraction, Problem, Section, list};
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

impl Figure {
    fn read(document: &Document) -> Result<Self, Problem> {
        let mut root = Section::new(&document.root, "");
        let Some(mut figure) = root.section("figure")? else {
            return Err(root.missing("figure", "{ paper = \"r2c2\", number = \"10\", title = \"…\" }"));
        };
        figure.required::<String>("paper")?;
        figure.required::<String>("number")?;
        let title = figure.required("title")?;
        let warm_up = figure.or("warm_up", Fraction(0.05))?.0;
        let seeds = figure.or("seeds", 1)?;
        let by_name = figure.or("by_name", false)?;
        figure.ensure(seeds > 0, "seeds", "no run at all", "leave `seeds` out to run each once")?;
        let computed = document.root.get("compute").is_some();
        figure.ensure(
            seeds == 1 || !computed,
            "seeds",
            "a computed figure runs nothing",
            "leave `seeds` out",
        )?;
        let searches = document.root.get("search").is_some();
        figure.ensure(
            seeds == 1 || !searches,
            "seeds",
            "a search has seeds of its own",
            "give `seeds` in [search]",
        )?;
        let own = |cell: &Cell| cell.labels.iter().any(|(sweep, _)| sweep == SEED);
        let twice = seeds > 1 && document.cells()?.iter().any(own);
        let hint = "leave `seeds` out, or the sweep";
        figure.ensure(!twice, "seeds", "there is a sweep called `seed` already", hint)?;
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
