//! Figures: an experiment with a sweep, plots, and claims that hold a paper's words against what was measured.
//!
//! A figure's file is an experiment's file with more tables: `[figure]`, `[[sweep]]`, `[[plot]]`, `[[claim]]`,
//! `[scale.quick]` and `[scale.full]` with overrides, and `[compute]` in place of the experiment where there
//! is nothing to simulate. [`reproduce()`] runs, draws and judges it.

mod claim;
mod compute;
mod draw;
mod measure;
mod papers;
mod plot;
mod reproduce;

pub use claim::Outcome;
pub use papers::{Paper, names};
pub use reproduce::{Options, Reproduction, Scale, Watch, reproduce};

use crate::experiment::{Document, Fraction, Problem, Section, list};
use claim::Claim;
use plot::Plot;

/// A figure, read and checked.
struct Figure {
    title: String,
    /// Share of arrivals, the first ones, that measures leave out.
    warm_up: f64,
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
        figure.finish()?;
        let all = |key: &str| document.root.get(key).map_or(Ok(&[][..]), list);
        let plots = all("plot")?.iter().map(Plot::read).collect::<Result<_, _>>()?;
        let claims = all("claim")?.iter().map(Claim::read).collect::<Result<_, _>>()?;
        Ok(Self { title, warm_up, plots, claims })
    }
}
