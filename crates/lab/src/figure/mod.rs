//! Figures. A figure is an experiment with sweeps, plots, and claims that compare a paper's statements with measured
//! results.
//!
//! A figure's file is an experiment's file with more tables: `[figure]`, `[[sweep]]`, `[[plot]]`, `[[claim]]`, and
//! `[scale.quick]` and `[scale.full]` with overrides. A figure of the results of searches has `[search]`. A figure of a
//! computation has `[compute]`, for most kinds of computation in place of the experiment. [`reproduce()`] runs, draws
//! and judges a figure.

mod claim;
mod compute;
mod condition;
pub(crate) mod draw;
pub mod ledger;
pub(crate) mod measure;
mod number;
mod over_time;
#[cfg(test)]
mod pages;
mod papers;
mod plot;
mod record;
mod reproduce;
pub(crate) mod runs;
pub(crate) mod size_class;
pub mod statements;

pub use claim::{Described, Deviation, LiveRuns, Outcome};
pub use draw::{Look, Style};
pub use ledger::Ledger;
pub use papers::names;
pub use record::Record;
pub use reproduce::{Options, Reproduced, Reproduction, Scale, Unfinished, Watch, reproduce, told_kept};
pub use runs::Spread;

pub(crate) use runs::SEED;

/// Name of the file with the claims of a figure, in the figure's folder.
pub(crate) const CLAIMS: &str = "claims.json";

pub(crate) use claim::CLAIM;
pub(crate) use compute::COMPUTE;
pub(crate) use measure::quantities;
pub(crate) use plot::PLOT;

use crate::Error;
use crate::experiment::keys::{Any, Key, keys};
use crate::experiment::{
    self, Cell, Document, FIGURES, Fraction, Item, Problem, ROOT, Section, list, table_in,
};
use crate::run::records::Records;
use claim::Claim;
use draw::{Chart, LOOK};
use plot::Plot;
use runs::{Data, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Title and claims of a figure.
#[derive(Debug, Clone)]
pub struct Description {
    /// Title of the figure.
    pub title: String,
    /// Claims of the figure.
    pub claims: Vec<Described>,
}

/// Title and claims of the figure `name`, such as `r2c2/fig10`; `None` if there is no such figure.
///
/// # Errors
/// If the figure's file is malformed.
pub fn describe(name: &str) -> Result<Option<Description>, Problem> {
    let Some(document) = embedded(name)? else { return Ok(None) };
    let Figure { title, claims, .. } = Figure::read(&document)?;
    let claims = claims.iter().map(Claim::described).collect();
    Ok(Some(Description { title, claims }))
}

/// Title of the figure `name`; `None` if there is no such figure. Plots and claims are not read.
///
/// # Errors
/// If the figure's file is malformed.
pub(crate) fn title(name: &str) -> Result<Option<String>, Problem> {
    let Some(document) = embedded(name)? else { return Ok(None) };
    let mut root = Section::new(&document.root, &ROOT);
    let Some(mut figure) = root.section(&FIGURES)? else { return Err(root.missing(&FIGURES)) };
    figure.read(&TITLE).map(Some)
}

/// The document of the embedded figure `name`; `None` if there is no such figure.
fn embedded(name: &str) -> Result<Option<Document>, Problem> {
    papers::file(name).map(papers::File::document).transpose()
}

/// A figure, after its file was read and checked.
struct Figure {
    title: String,
    /// Share of all flows that measures leave out. They leave out the flows that start first.
    warm_up: f64,
    /// Number of runs of each cell. Their seeds are the experiment's seed and the numbers after it. Every statistic is
    /// computed for each run and then averaged.
    seeds: u64,
    /// True if the figure is reproduced only under its own name, and not with its paper. Such a figure needs a
    /// privilege or takes hours.
    by_name: bool,
    look: Look,
    plots: Vec<Plot>,
    claims: Vec<Claim>,
}

keys! {
    /// Title and settings of a figure.
    pub(crate) FIGURE = "figure" {
        /// The paper to which the figure belongs, if any.
        PAPER: String = Key::new("paper").example("\"r2c2\"");
        /// Number of the figure in its paper.
        NUMBER: String = Key::new("number").example("\"10\"");
        /// Title of the figure.
        TITLE: String = Key::new("title").required().example("\"FCT of short flows\"");
        /// Share of all flows that measures leave out. They leave out the flows that start first.
        WARM_UP: Fraction = Key::new("warm_up").or("0.05").example("\"5%\"");
        /// Number of runs of each cell. Their seeds are the experiment's seed and the numbers after it. Results are
        /// means over these runs.
        SEEDS: u64 = Key::new("seeds").or("1").above_zero();
        /// If true, the figure is reproduced only under its own name, and not with its paper.
        BY_NAME: bool = Key::new("by_name").or("false");
        ..&LOOK;
    }

    /// Dotted keys of the experiment, each with its value at a scale.
    pub(crate) SCALE = "scale" {
        /// Values at quick scale.
        QUICK: Any = Key::new("quick").example("{ \"workload.flows\" = 1000 }");
        /// Values at full scale.
        FULL: Any = Key::new("full").example("{ \"workload.flows\" = 100000 }");
    }
}

/// Names of the files that show a figure's plots.
const PICTURES: [&str; 4] = ["figure.svg", "figure.png", "figure.pdf", "figure.html"];

/// Draws charts into the [`PICTURES`] of `folder`.
fn draw_pictures(charts: &[Chart], look: Look, folder: &Path) -> Result<(), Error> {
    PICTURES.iter().try_for_each(|name| draw::draw(charts, look, &folder.join(name)))
}

/// Draws the plots of a sweep into the [`PICTURES`] of `folder`. `cells` have run, each in
/// its directory. Returns the names of the drawn files. Nothing is drawn if the document has no plots.
///
/// # Errors
/// If a plot is wrong, or a file cannot be read or written.
pub(crate) fn draw_plots(
    document: &Document,
    cells: &[(&Cell, &Path)],
    folder: &Path,
) -> Result<&'static [&'static str], Error> {
    let plots = read_plots(document)?;
    if plots.is_empty() {
        return Ok(&[]);
    }
    let (mut warm_up, mut look) = (0.0, Look::default());
    if let Some(figure) = table_in(&document.root, &["figure"]) {
        let mut figure = Section::new(figure, &FIGURE);
        warm_up = warm_up_of_plots(&mut figure)?;
        look = Look::read(&mut figure)?;
    }
    let run = |&(cell, directory): &(&Cell, &Path)| -> Result<Run, Error> {
        Ok(Run { labels: cell.labels.clone(), data: Data::Records(Records::read(directory, warm_up)?) })
    };
    let runs = cells.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let charts: Vec<_> = plots.iter().map(|plot| plot.chart(&runs)).collect();
    draw_pictures(&charts, look, folder)?;
    Ok(&PICTURES)
}

/// The share of all flows that the plots of a sweep leave out. A `[figure]` that gives only the look of pictures, as
/// `--style` does, leaves out no flows, because a style must not change the numbers.
fn warm_up_of_plots(figure: &mut Section<'_>) -> Result<f64, Problem> {
    if !figure.has(&TITLE) && !figure.has(&WARM_UP) {
        return Ok(0.0);
    }
    let Fraction(warm_up) = figure.read(&WARM_UP)?;
    Ok(warm_up)
}

/// The number of runs of each cell that `[figure]` asks for; 1 without `[figure]`.
///
/// # Errors
/// If `seeds` is wrong.
pub(crate) fn seeds(document: &Document) -> Result<u64, Problem> {
    match table_in(&document.root, &["figure"]) {
        Some(figure) => Section::new(figure, &FIGURE).read(&SEEDS),
        None => Ok(1),
    }
}

/// Checks that the plots of a document can be drawn from the runs of its sweeps.
///
/// # Errors
/// If a plot or a sweep is malformed, or if the curves of a plot belong to no sweep.
pub fn check_plots(document: &Document) -> Result<(), Problem> {
    read_plots(document).map(drop)
}

/// The plots of a document.
fn read_plots(document: &Document) -> Result<Vec<Plot>, Problem> {
    let items = document.root.get("plot").map_or(Ok(&[][..]), list)?;
    let plots: Vec<Plot> = items.iter().map(Plot::read).collect::<Result<_, _>>()?;
    if document.root.get("compute").is_none() {
        let cells = document.cells()?;
        let labels = cells.iter().flat_map(|cell| &cell.labels);
        let sweeps: BTreeSet<String> = labels.map(|(sweep, _)| sweep.clone()).collect();
        let records = records(&cells)?;
        for (plot, item) in plots.iter().zip(items) {
            plot.check_curves(item, &sweeps)?;
            plot.check_recorded(item, &records)?;
        }
    }
    Ok(plots)
}

fn claim_items(document: &Document) -> Result<&[Item], Problem> {
    document.root.get("claim").map_or(Ok(&[][..]), list)
}

/// The claims of a document. Does not check that its runs record what the claims measure.
fn read_claims(document: &Document) -> Result<Vec<Claim>, Problem> {
    claim_items(document)?.iter().map(Claim::read).collect()
}

/// The claims of the embedded figures among `names`, by name.
fn shipped_claims(names: impl IntoIterator<Item = String>) -> Result<BTreeMap<String, Vec<Claim>>, Problem> {
    let mut claims = BTreeMap::new();
    for name in names {
        if let Some(document) = embedded(&name)? {
            claims.insert(name, read_claims(&document)?);
        }
    }
    Ok(claims)
}

/// The records that the run of each cell keeps.
fn records(cells: &[Cell]) -> Result<Vec<experiment::Record>, Problem> {
    cells.iter().map(|cell| cell.document.record()).collect()
}

impl Figure {
    fn read(document: &Document) -> Result<Self, Problem> {
        let mut root = Section::new(&document.root, &ROOT);
        let Some(mut figure) = root.section(&FIGURES)? else { return Err(root.missing(&FIGURES)) };
        figure.get(&PAPER)?;
        figure.get(&NUMBER)?;
        let title = figure.read(&TITLE)?;
        let Fraction(warm_up) = figure.read(&WARM_UP)?;
        let seeds = figure.read(&SEEDS)?;
        let by_name = figure.read(&BY_NAME)?;
        let look = Look::read(&mut figure)?;
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
            "a search must have `seeds` in [search], not in [figure]",
            "move `seeds` to [search]",
        )?;
        let own = |cell: &Cell| cell.labels.iter().any(|(sweep, _)| sweep == SEED);
        let twice = seeds > 1 && document.cells()?.iter().any(own);
        let hint = "leave out either `seeds` or the sweep";
        figure.ensure(!twice, &SEEDS, "`seeds` cannot be combined with a sweep called `seed`", hint)?;
        figure.finish()?;
        let plots = read_plots(document)?;
        let claims = read_claims(document)?;
        if !computed && !searches {
            let records = records(&document.cells()?)?;
            let items = claim_items(document)?;
            claims.iter().zip(items).try_for_each(|(claim, item)| claim.check_recorded(item, &records))?;
        }
        Ok(Self { title, warm_up, seeds, by_name, look, plots, claims })
    }

    /// True if a measure of the figure leaves out flows that never finished.
    fn is_of_finished_flows(&self) -> bool {
        self.plots.iter().any(Plot::is_of_finished_flows)
            || self.claims.iter().any(Claim::is_of_finished_flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    #[allow(clippy::float_cmp, reason = "the shares are read from text, not computed")]
    fn the_style_of_a_picture_leaves_out_no_flow() {
        let warm_up = |keys: &str| {
            let text = format!("[figure]\n{keys}\n");
            let document = Document::parse("figure.toml", text, PathBuf::new()).expect("TOML");
            let figure = table_in(&document.root, &["figure"]).expect("a table");
            warm_up_of_plots(&mut Section::new(figure, &FIGURE)).expect("a share")
        };
        let shares = ["style = \"paper\"", "title = \"FCT\"", "warm_up = 0.5"].map(warm_up);
        assert_eq!(shares, [0.0, 0.05, 0.5]);
    }
}
