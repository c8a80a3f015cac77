//! Printing: results to stdout, the rest to stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is where the command prints")]

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use raddle_lab::{Error, Progress};
use std::io::IsTerminal;

/// A result.
pub(crate) fn result(text: &str) {
    println!("{}", text.trim_end());
}

/// A remark.
pub(crate) fn warn(text: &str) {
    eprintln!("{text}");
}

/// An error, with the place in the text if it has one.
pub(crate) fn error(error: Error) {
    eprintln!("{:?}", miette::Report::new(error));
}

/// Progress bars, one a run, on stderr if that is a terminal.
pub(crate) struct Bars {
    all: MultiProgress,
    bars: Vec<ProgressBar>,
}

impl Bars {
    /// Bars for runs of these names.
    pub(crate) fn new(names: &[String], quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let all = MultiProgress::with_draw_target(target);
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} flows, {msg}")
            .expect("a template that is right")
            .progress_chars("=> ");
        let bars = names
            .iter()
            .map(|name| all.add(ProgressBar::new(0).with_style(style.clone()).with_prefix(name.clone())))
            .collect();
        Self { all, bars }
    }

    /// Moves the bar of a run.
    pub(crate) fn update(&self, run: usize, progress: &Progress) {
        let left = progress.seconds_left().map_or("?".to_owned(), |seconds| format!("{seconds:.0} s"));
        let speed = progress.hops_per_second() / 1e6;
        self.bars[run].set_length(progress.flows);
        self.bars[run].set_position(progress.done);
        self.bars[run].set_message(format!("{speed:.2} M packet-hops/s, {left} left"));
    }

    /// Takes the bars away.
    pub(crate) fn clear(&self) {
        for bar in &self.bars {
            bar.finish_and_clear();
        }
        // A terminal that cannot be cleared is no reason to fail.
        let _ = self.all.clear();
    }
}
