//! `raddle reproduce`: runs the experiments of papers' figures. With `--record` it records the results in a ledger
//! file, and with `--check` it compares them with Raddle's ledger.

use super::{Renamed, Session, Warned};
use crate::Ended;
use crate::cluster::Cluster;
use crate::show::{self, Bars};
use raddle_lab::figure::Record;
use raddle_lab::lint::Warning;
use raddle_lab::sweep::Elsewhere;
use raddle_lab::{Error, RunState, figure};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

impl Session<'_> {
    /// Reproduces figures. If `options.check` is set, compares their results with Raddle's ledger. `record` is the path
    /// of a ledger file in which the results are recorded. `cluster` is the address of a Ray cluster that does the
    /// runs.
    pub(super) fn reproduce(
        self,
        options: &figure::Options,
        record: Option<&Path>,
        cluster: Option<String>,
    ) -> Result<Ended, Error> {
        let Self { output, stop, .. } = self;
        // An invalid ledger is refused before the runs, which can take hours.
        let record = record.map(|path| Record::begin(path, options.scale)).transpose()?;
        let warned = Warned::new(output, false);
        let cluster = cluster.map(Cluster::new);
        let watch = FigureBars {
            bars: Mutex::default(),
            renamed: Renamed::default(),
            warned,
            record,
            quiet: output.quiet,
            is_spread: AtomicBool::new(false),
        };
        let elsewhere = cluster.as_ref().map(|cluster| cluster as &dyn Elsewhere);
        let done = figure::reproduce(options, elsewhere, stop, &watch);
        watch.renamed.tell();
        let done = done?;
        if !done.is_complete {
            return Err(Error::Interrupted);
        }
        output.print(|| done.to_string(), || done.json())?;
        Ok(if done.is_expected() { Ended::Done } else { Ended::CheckFailed })
    }
}

/// Shows the progress of a reproduction, and records the results of its figures.
struct FigureBars {
    /// The progress bars of the experiments that run now.
    bars: Mutex<Option<Bars>>,
    renamed: Renamed,
    warned: Warned,
    record: Option<Record>,
    quiet: bool,
    /// True while a cluster does runs. The end of each run is then reported.
    is_spread: AtomicBool,
}

impl FigureBars {
    /// Shows bars for runs with these names.
    fn show(&self, names: &[String]) {
        *self.bars.lock().unwrap_or_else(PoisonError::into_inner) = Some(Bars::new(names, self.quiet));
    }

    fn with(&self, show: impl FnOnce(&Bars)) {
        if let Some(bars) = self.bars.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            show(bars);
        }
    }
}

impl figure::Watch for FigureBars {
    fn begin_elsewhere(&self, runs: &[String]) {
        self.is_spread.store(true, Ordering::Relaxed);
        self.show(runs);
    }

    fn begin(&self, figure: &str, runs: &[String]) {
        self.is_spread.store(false, Ordering::Relaxed);
        self.show(&runs.iter().map(|run| format!("{figure}: {run}")).collect::<Vec<_>>());
    }

    fn progress(&self, run: usize, progress: &RunState) {
        self.with(|bars| bars.update(run, progress));
    }

    fn ended(&self, run: usize) {
        if self.is_spread.load(Ordering::Relaxed) {
            self.with(|bars| bars.end(run, "done", true));
        }
    }

    fn end(&self) {
        self.with(Bars::clear);
    }

    fn kept(&self, folder: &Path) {
        show::warn(&figure::told_kept(folder));
    }

    fn renamed(&self, from: &Path, to: &Path) {
        self.renamed.add(from, to);
    }

    fn reproduced(&self, figure: &figure::Reproduced, nth: usize, all: usize) -> Result<(), Error> {
        // The table of all claims is printed at the end only. Of several figures, that can be an hour later.
        if all > 1 && !self.quiet {
            let claims = figure.outcomes.len();
            let failed = figure.outcomes.iter().filter(|outcome| outcome.is_unexpected()).count();
            show::line(&format!(
                "{nth}/{all} {}: {:.1} s, {failed} of {claims} claims fail",
                figure.name, figure.seconds
            ));
        }
        self.record.iter().try_for_each(|record| record.add(figure))
    }

    fn warned(&self, _: &str, warnings: &[Warning]) {
        self.warned.hear(warnings).expect("`raddle reproduce` must not treat warnings as errors");
    }
}
