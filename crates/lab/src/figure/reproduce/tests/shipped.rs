//! Checks the experiments of the figures that come with the program.

use super::super::*;
use super::options;
use crate::figure::Ledger;
use crate::figure::claim::Claim;
use crate::figure::ledger::bounds;
use std::collections::BTreeSet;

/// A task for another process carries the resolved experiment. So the resolved experiment must give the same run as the
/// figure's file.
#[test]
fn resolved_experiments_of_shipped_figures_are_the_same_runs() {
    let options = options(&[], Path::new(""));
    for file in select(&[]).expect("figures") {
        let document = document(&file, &options).expect("a figure");
        let cells = document.cells().expect("a grid");
        // A file with `[compute]` may have no experiment.
        let Some((cell, origin)) =
            cells.last().and_then(|cell| Some((cell, cell.document.prepare().ok()?.origin())))
        else {
            continue;
        };
        let text = cell.document.experiment().expect("an experiment").resolved.to_string();
        let resolved = Document::parse(directory::EXPERIMENT, text, PathBuf::new()).expect("TOML");
        let again = resolved.prepare().expect("an experiment").origin().expect("an origin");
        assert_eq!(again, origin.expect("an origin"), "{}", file.name());
    }
}

/// The warnings that figures cause on purpose: the figure, the lint, and the reason.
const MEANT: [(&str, &str, &str); 8] = [
    (
        "expeditus/fig12",
        "load",
        "at quick scale, the 500 flows with heavy-tailed sizes offer more than the requested load",
    ),
    (
        "expeditus/cover-pathlets",
        "load",
        "its flows are those of Figure 11, at a load of 0.8 of the bisection",
    ),
    (
        "expeditus/fig11-authors",
        "load",
        "its flows are those of Figure 11, at a load of 0.8 of the bisection",
    ),
    ("r2c2/broadcast-share", "load", "the paper's shortest gap between flows, 100 ns, overloads the links"),
    (
        "pdq/fig5c",
        "load",
        "the 4,000 flows per second are the paper's, but their sizes come from a substitute for a trace that is not public",
    ),
    ("pdq/fig5a-long", "load", "its long flows are meant to pile up"),
    (
        "expeditus/transient",
        "idle",
        "at a load of 0.1 the first flow starts late, and samples must be much closer than the 1 ms of the paper's timer",
    ),
    ("r2c2/fig19-counted", "late-flows", "runs that end before and after the last flow are compared"),
];

/// Checks up to three experiments of each figure. The first experiment is always checked.
#[test]
fn shipped_figures_draw_no_warnings_that_are_not_meant() {
    let options = options(&[], Path::new(""));
    let mut drawn = BTreeSet::new();
    for file in select(&[]).expect("figures") {
        let document = document(&file, &options).expect("a figure");
        let cells = document.cells().expect("a grid");
        let some = cells.iter().step_by(cells.len().div_ceil(3));
        // A file with `[compute]` may have no experiment.
        for prepared in some.filter_map(|cell| cell.document.prepare().ok()) {
            for warning in prepared.warnings {
                if !MEANT.iter().any(|&(figure, lint, _)| (figure, lint) == (&file.name(), warning.lint)) {
                    drawn.insert(format!("{}: {warning}", file.name()));
                }
            }
        }
    }
    assert!(drawn.is_empty(), "{}", drawn.into_iter().collect::<Vec<_>>().join("\n"));
}

/// A figure without a plot has an empty picture.
#[test]
fn every_shipped_figure_has_a_plot() {
    let options = options(&[], Path::new(""));
    let has_plot = |file: &File| document(file, &options).expect("a figure").root.get("plot").is_some();
    let empty: Vec<_> = select(&[]).expect("figures").into_iter().filter(|file| !has_plot(file)).collect();
    assert!(empty.is_empty(), "{:?}", empty.iter().map(File::name).collect::<Vec<_>>());
}

/// Figures that the ledger does not have at quick scale, since their numbers depend on this machine's clock.
const TIMED: [&str; 4] = ["expeditus/table1", "expeditus/table2", "r2c2/fig7b-seeds", "r2c2/fig8-live"];

/// The ledger's latest entry at quick scale must have the claims of the figure's file, with their ranges. If the file
/// marks a claim as deviating, the entry must not say that the claim fails. Otherwise the figure must be recorded again.
/// Without this, `raddle reproduce --check` fails.
#[test]
fn the_ledger_has_the_claims_of_shipped_figures() {
    let options = options(&[], Path::new(""));
    let ledger = Ledger::builtin().expect("a ledger");
    let mut lacking = Vec::new();
    for file in select(&[]).expect("figures") {
        let name = file.name();
        let figure = Figure::read(&document(&file, &options).expect("TOML")).expect("a figure");
        if figure.by_name || TIMED.contains(&&*name) {
            continue;
        }
        let entry = ledger.last(&name, Scale::Quick.name());
        let recorded = entry.map(|entry| entry.claims.as_slice()).unwrap_or_default();
        let is_recorded = |claim: &Claim| {
            recorded.iter().any(|was| {
                let is_marked = claim.shown_by().is_some();
                was.id == claim.id()
                    && was.accept == bounds(claim.accept())
                    && !(is_marked && was.verdict == "FAILS")
            })
        };
        if entry.is_none() || recorded.len() != figure.claims.len() || !figure.claims.iter().all(is_recorded)
        {
            lacking.push(name);
        }
    }
    assert!(lacking.is_empty(), "record these figures again: {}", lacking.join(", "));
}
