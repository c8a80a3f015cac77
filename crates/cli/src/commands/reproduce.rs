//! `raddle reproduce`: runs figures of papers, and records them or compares them with the ledger.

use super::{Renamed, Session, Warned};
use crate::Ended;
use crate::show::{self, Bars};
use raddle_lab::figure::ledger::{self, Ledger};
use raddle_lab::lint::Warning;
use raddle_lab::{Error, RunState, figure};
use serde_json::json;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

impl Session<'_> {
    /// Reproduces figures. If `check` is set, compares their results with Raddle's ledger. `record` is the path of a
    /// ledger file in which the results are recorded.
    pub(super) fn reproduce(
        self,
        options: &figure::Options,
        check: bool,
        record: Option<&Path>,
    ) -> Result<Ended, Error> {
        let Self { output, stop, .. } = self;
        // An invalid ledger is refused before the runs, which can take hours.
        let record = record.map(|path| Record::begin(path, options.scale)).transpose()?;
        let warned = Warned::new(output, false);
        let bars = Mutex::default();
        let watch = FigureBars { bars, renamed: Renamed::default(), warned, record, quiet: output.quiet };
        let done = figure::reproduce(options, stop, &watch);
        watch.renamed.tell();
        let done = done?;
        let scale = options.scale.name();
        let claims = || done.outcomes().map(|outcome| outcome.json(scale)).collect::<Vec<_>>();
        if !check {
            output.print(|| show::reproduction(&done, scale), || claims().into())?;
            let failed = done.outcomes().any(figure::Outcome::is_unexpected);
            return Ok(if failed { Ended::CheckFailed } else { Ended::Done });
        }
        let moved = Ledger::builtin()?.check(&done.figures, options.scale);
        let text = || format!("{}\n\n{}", show::reproduction(&done, scale), show::moved(&done, &moved));
        let json =
            || json!({ "claims": claims(), "moved": moved.results, "measured_otherwise": moved.measured });
        output.print(text, json)?;
        Ok(if moved.results.is_empty() { Ended::Done } else { Ended::CheckFailed })
    }
}

/// The ledger in which a reproduction records each figure as soon as the figure is complete.
struct Record<'a> {
    path: &'a Path,
    scale: figure::Scale,
    commit: Option<String>,
    ledger: Mutex<Ledger>,
}

impl<'a> Record<'a> {
    fn begin(path: &'a Path, scale: figure::Scale) -> Result<Self, Error> {
        let ledger = Mutex::new(Ledger::read(path)?);
        Ok(Self { path, scale, commit: ledger::commit(path), ledger })
    }

    fn add(&self, figure: &figure::Reproduced) -> Result<(), Error> {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.add(std::slice::from_ref(figure), self.scale, self.commit.as_deref());
        ledger.write(self.path)
    }
}

/// Shows and records the figures of a reproduction.
struct FigureBars<'a> {
    /// The progress bars of the figure whose experiments run now.
    bars: Mutex<Option<Bars>>,
    renamed: Renamed,
    warned: Warned,
    record: Option<Record<'a>>,
    quiet: bool,
}

impl FigureBars<'_> {
    fn with(&self, show: impl FnOnce(&Bars)) {
        if let Some(bars) = self.bars.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            show(bars);
        }
    }
}

impl figure::Watch for FigureBars<'_> {
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
        let folder = folder.display();
        show::warn(&format!("finished runs are kept in {folder}; repeat the command to continue"));
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
