//! `raddle reproduce`: runs figures of papers, and records them or compares them with the ledger.

use super::{Renamed, Session, Warned};
use crate::Ended;
use crate::show::{self, Bars};
use raddle_lab::figure::Record;
use raddle_lab::lint::Warning;
use raddle_lab::{Error, RunState, figure};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

impl Session<'_> {
    /// Reproduces figures. `record` names a ledger that takes them.
    pub(super) fn reproduce(self, options: &figure::Options, record: Option<&Path>) -> Result<Ended, Error> {
        let Self { output, stop, .. } = self;
        // An invalid ledger is refused before the runs, which can take hours.
        let record = record.map(|path| Record::begin(path, options.scale)).transpose()?;
        let warned = Warned::new(output, false);
        let bars = Mutex::default();
        let watch = FigureBars { bars, renamed: Renamed::default(), warned, record, quiet: output.quiet };
        let done = figure::reproduce(options, stop, &watch);
        watch.renamed.tell();
        let done = done?;
        if !done.is_complete {
            return Err(Error::Interrupted);
        }
        output.print(|| done.to_string(), || done.json())?;
        Ok(if done.is_expected() { Ended::Done } else { Ended::CheckFailed })
    }
}

/// Shows and records the figures of a reproduction.
struct FigureBars {
    /// The progress bars of the figure whose experiments run now.
    bars: Mutex<Option<Bars>>,
    renamed: Renamed,
    warned: Warned,
    record: Option<Record>,
    quiet: bool,
}

impl FigureBars {
    fn with(&self, show: impl FnOnce(&Bars)) {
        if let Some(bars) = self.bars.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            show(bars);
        }
    }
}

impl figure::Watch for FigureBars {
    fn begin(&self, figure: &str, runs: &[String]) {
        let names: Vec<String> = runs.iter().map(|run| format!("{figure}: {run}")).collect();
        *self.bars.lock().unwrap_or_else(PoisonError::into_inner) = Some(Bars::new(&names, self.quiet));
    }

    fn progress(&self, run: usize, progress: &RunState) {
        self.with(|bars| bars.update(run, progress));
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

    fn reproduced(&self, figure: &figure::Reproduced) -> Result<(), Error> {
        self.record.iter().try_for_each(|record| record.add(figure))
    }

    fn warned(&self, _: &str, warnings: &[Warning]) {
        self.warned.hear(warnings).expect("figures do not deny warnings");
    }
}
