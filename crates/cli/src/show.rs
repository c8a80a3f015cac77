//! Printing: results, and errors in JSON, go to stdout. All other text goes to stderr.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_lab::figure::statements::Listed;
use raddle_lab::sweep::CellEnd;
use raddle_lab::{Error, RunState};
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Prints a result. It is not an error if the reader of stdout, such as `head`, closes the pipe.
///
/// # Errors
/// If stdout cannot be written for another reason, such as a full disk.
pub(crate) fn result(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::io("write", Path::new("standard output"))),
    }
}

/// Prints a line of progress to stderr.
pub(crate) fn line(text: &str) {
    // A closed stderr is not an error.
    let _ = writeln!(io::stderr(), "{text}");
}

/// A table of the papers' statements, one row per statement.
pub(crate) fn statements(listed: &[Listed]) -> String {
    let heads = ["statement", "verdict", "the paper says"].map(str::to_owned).to_vec();
    let row =
        |listed: &Listed| vec![listed.statement.clone(), listed.verdict.to_owned(), listed.says.clone()];
    raddle_lab::table(&std::iter::once(heads).chain(listed.iter().map(row)).collect::<Vec<_>>())
}

/// Prints a warning or another message to stderr.
pub(crate) fn warn(text: &str) {
    // A closed stderr is not an error.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an error. If the error has a place in the input text, prints that place too.
pub(crate) fn error(error: Error) {
    warn(&format!("{:?}", miette::Report::new(error)));
}

/// Progress bars on stderr, one per run, if stderr is a terminal. In a sweep or on a cluster, a line on stderr also
/// reports each run that has ended. If `quiet` is set, nothing is shown.
pub(crate) struct Bars {
    all: MultiProgress,
    bars: Vec<ProgressBar>,
    begin: Instant,
    /// Number of runs that have ended, and how many of them did not run now, because they were already finished or
    /// cannot run.
    ended: Mutex<(usize, usize)>,
    /// The errors that were printed for cells that cannot run. Each error maps to the number of the cell for which it
    /// was printed.
    told: Mutex<HashMap<String, usize>>,
    quiet: bool,
}

impl Bars {
    /// Creates bars for runs with these names.
    pub(crate) fn new(names: &[String], quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let all = MultiProgress::with_draw_target(target);
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} flows, {msg}")
            .expect("the template must be valid")
            .progress_chars("=> ");
        let bars = names
            .iter()
            .map(|name| all.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(name.clone())))
            .collect();
        #[expect(clippy::disallowed_methods, reason = "the estimate of the time left uses the wall clock")]
        let begin = Instant::now();
        Self { all, bars, begin, ended: Mutex::default(), told: Mutex::default(), quiet }
    }

    /// Reports how a cell of a sweep has ended. Unless the cell was stopped, also estimates the time left for the
    /// sweep.
    pub(crate) fn end_cell(&self, cell: usize, end: &CellEnd) {
        match end {
            _ if end.is_stopped() => self.tell(cell, "", "stopped early: the records are partial"),
            CellEnd::Ran(run) if run.was_there => self.end(cell, "already finished", false),
            CellEnd::Ran(_) => self.end(cell, "done", true),
            CellEnd::Refused(problem) => {
                let why = problem.in_one_line();
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                let first = *told.entry(why.clone()).or_insert(cell);
                drop(told);
                let what = match first == cell {
                    true => format!("cannot run: {why}"),
                    false => format!("cannot run, for the same reason as {}", self.bars[first].prefix()),
                };
                self.end(cell, &what, false);
            }
        }
    }

    /// Reports that a run has ended, and estimates the time left; after the last run, reports the total time instead.
    /// `what` says how the run ended. `took_time` is false if the run did not run now, so that it does not count in the
    /// estimate.
    pub(crate) fn end(&self, run: usize, what: &str, took_time: bool) {
        let mut count = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, idle) = &mut *count;
        *ended += 1;
        *idle += usize::from(!took_time);
        let all = self.bars.len();
        let seconds = self.begin.elapsed().as_secs_f64();
        let left = match *ended - *idle {
            _ if *ended == all => format!("{seconds:.1} s in all"),
            0 => String::new(),
            ran => format!("about {:.0} s left", seconds / ran as f64 * (all - *ended) as f64),
        };
        self.tell(run, &format!("{ended}/{all} "), format!("{what}, {left}").trim_end_matches(", "));
    }

    /// Removes the bar of a run. Unless `quiet` is set, prints a line: `before`, the name of the run, and `what`.
    fn tell(&self, run: usize, before: &str, what: &str) {
        let name = self.bars[run].prefix();
        self.bars[run].finish_and_clear();
        if !self.quiet {
            // The bars are redrawn below the line. A closed stderr is not an error.
            let _ = self.all.suspend(|| writeln!(io::stderr(), "{before}{name}: {what}"));
        }
    }

    /// Updates the bar of a run.
    pub(crate) fn update(&self, run: usize, state: &RunState) {
        let left = state.seconds_left().map_or("?".to_owned(), |seconds| format!("{seconds:.0} s"));
        let simulated = state.progress.now.as_ps() as f64 / 1e9;
        let speed = state.hops_per_second() / 1e6;
        let done = state.progress.flows_delivered;
        self.bars[run].set_length(state.flows.max(done));
        self.bars[run].set_position(done);
        self.bars[run].set_message(format!("{simulated:.3} ms, {speed:.2} M packet-hops/s, {left} left"));
    }

    /// Removes the bars.
    pub(crate) fn clear(&self) {
        for bar in &self.bars {
            bar.finish_and_clear();
        }
        // A terminal that cannot be cleared is not an error.
        let _ = self.all.clear();
    }
}
