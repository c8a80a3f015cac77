//! Printing: results go to stdout, and all other text goes to stderr.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_lab::figure::ledger::Moved;
use raddle_lab::figure::statements::Listed;
use raddle_lab::figure::{Reproduction, Spread};
use raddle_lab::{Error, RunState};
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

/// A table of claims. Each claim has a row with the paper's number and the measured number. The digest of the results
/// follows.
pub(crate) fn reproduction(done: &Reproduction, scale: &str) -> String {
    let cell = |number: Option<f64>| number.map_or("-".to_owned(), figures);
    let bound = |number: f64| if number.is_finite() { figures(number) } else { "any".to_owned() };
    let mut rows = vec![
        ["claim", "section", "paper", "measured", "n", "accepted", "verdict", "the paper says"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(done.outcomes().map(|outcome| {
        vec![
            outcome.claim.clone(),
            outcome.section.clone(),
            cell(outcome.paper),
            cell(outcome.measured) + &outcome.spread.map_or(String::new(), spread),
            outcome.samples.map_or("-".to_owned(), |samples| samples.to_string()),
            format!("{} to {}", bound(outcome.accept.0), bound(outcome.accept.1)),
            outcome.verdict().to_owned(),
            outcome.says.clone(),
        ]
    }));
    let mut text = raddle_lab::table(&rows);
    for outcome in done.outcomes().filter(|outcome| outcome.ok == Some(false)) {
        let reason = match &outcome.deviation {
            Some(deviation) => format!("{} (shown by {})", deviation.cause, deviation.shown_by),
            None => format!("not in the accepted range; the reason for that range: {}", outcome.why),
        };
        text.push_str(&format!("\n{} {}: {reason}", outcome.claim, outcome.verdict()));
    }
    for figure in &done.figures {
        text.push_str(&format!("\nfigure   {}", figure.folder.join("figure.svg").display()));
    }
    for outcome in done.outcomes() {
        if let Some(remark) = &outcome.remark {
            text.push_str(&format!("\n{}: {remark}", outcome.claim));
        }
    }
    for figure in &done.left_out {
        text.push_str(&format!("\nleft out {figure}, which runs only if it is named"));
    }
    if let Some(first) = done.unfinished.first() {
        let heads = first.flows.iter().map(|&(class, _)| class.to_owned());
        let mut rows = vec![
            std::iter::once("flows that never finished (not counted above)".to_owned())
                .chain(heads)
                .collect(),
        ];
        rows.extend(done.unfinished.iter().map(|unfinished| {
            let counts = unfinished.flows.iter().map(|(_, count)| count.to_string());
            std::iter::once(unfinished.run.clone()).chain(counts).collect::<Vec<_>>()
        }));
        text.push_str(&format!("\n\n{}", raddle_lab::table(&rows)));
    }
    text.push_str(&format!("\nscale    {scale}\ndigest   {:032x}", done.digest));
    text
}

/// A table of the papers' statements, one row per statement.
pub(crate) fn statements(listed: &[Listed]) -> String {
    let heads = ["statement", "verdict", "the paper says"].map(str::to_owned).to_vec();
    let row =
        |listed: &Listed| vec![listed.statement.clone(), listed.verdict.to_owned(), listed.says.clone()];
    raddle_lab::table(&std::iter::once(heads).chain(listed.iter().map(row)).collect::<Vec<_>>())
}

/// The differences between the results and the ledger.
pub(crate) fn moved(done: &Reproduction, moved: &Moved) -> String {
    let claims = done.outcomes().count();
    let figures = done.figures.len();
    let mut text = match moved.results.len() {
        0 => format!("ledger   unchanged: {claims} claims of {figures} figures"),
        _ => "ledger   changed:".to_owned(),
    };
    for sentence in &moved.results {
        text.push_str(&format!("\n         {sentence}"));
    }
    for sentence in &moved.measured {
        text.push_str(&format!("\n         {sentence} (a measured time, which may differ between runs)"));
    }
    text
}

/// The range of a number over the seeds, and the 95% confidence interval of the number's mean.
fn spread(spread: Spread) -> String {
    let margin = spread.margin.map_or(String::new(), |margin| format!(" ± {}", figures(margin)));
    format!("{margin} ({} to {}, {} seeds)", figures(spread.least), figures(spread.most), spread.seeds)
}

/// A number with four significant digits, without zeros at the end of the decimals.
#[allow(clippy::cast_possible_truncation, reason = "the cast of a float saturates")]
fn figures(number: f64) -> String {
    let digits = if number == 0.0 { 0 } else { (3 - number.abs().log10().floor() as i32).clamp(0, 6) };
    let text = format!("{number:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Prints a remark to stderr.
pub(crate) fn warn(text: &str) {
    // A closed stderr is not an error.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an error. If the error has a place in the input text, prints that place too.
pub(crate) fn error(error: Error) {
    warn(&format!("{:?}", miette::Report::new(error)));
}

/// Progress bars on stderr, one per run, if stderr is a terminal. In a sweep, a line on stderr also reports each run
/// that has ended.
pub(crate) struct Bars {
    all: MultiProgress,
    bars: Vec<ProgressBar>,
    begin: Instant,
    /// Number of runs that have ended, and the number of these runs whose results already existed.
    ended: Mutex<(usize, usize)>,
    quiet: bool,
}

impl Bars {
    /// Creates bars for runs with these names.
    pub(crate) fn new(names: &[String], quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let all = MultiProgress::with_draw_target(target);
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} flows, {msg}")
            .expect("the template is valid")
            .progress_chars("=> ");
        let bars = names
            .iter()
            .map(|name| all.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(name.clone())))
            .collect();
        #[expect(clippy::disallowed_methods, reason = "the estimate of the time left uses the wall clock")]
        let begin = Instant::now();
        Self { all, bars, begin, ended: Mutex::default(), quiet }
    }

    /// Reports that a run of a sweep has ended, and estimates the time left for the sweep. `was_there` is true if the
    /// run's results already existed.
    pub(crate) fn end(&self, run: usize, was_there: bool) {
        let mut count = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, kept) = &mut *count;
        *ended += 1;
        *kept += usize::from(was_there);
        let all = self.bars.len();
        let seconds = self.begin.elapsed().as_secs_f64();
        let left = match *ended - *kept {
            _ if *ended == all => format!("{seconds:.1} s in all"),
            0 => String::new(),
            ran => format!("about {:.0} s left", seconds / ran as f64 * (all - *ended) as f64),
        };
        let what = if was_there { "already finished" } else { "done" };
        let name = self.bars[run].prefix();
        self.bars[run].finish_and_clear();
        if !self.quiet {
            let line = format!("{ended}/{all} {name}: {what}, {left}");
            // The bars are redrawn below the line. A closed stderr is not an error.
            let _ = self.all.suspend(|| writeln!(io::stderr(), "{}", line.trim_end_matches(", ")));
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
