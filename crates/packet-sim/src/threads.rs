//! Chooses the number of threads that share a run. The best number depends on the machine and on the traffic, so the
//! speed is measured during the run.
//!
//! The choice affects only the speed of a run, never its result. This module may therefore read the wall clock.

use raddle_core::Stream;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Number of threads that share a run. The result is the same for any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// This number of threads during the whole run, or fewer if the fabric cannot be divided into so many partitions.
    /// It cannot if it has too few nodes, or if links without delay connect too many of its nodes. 0 means 1.
    Always(usize),
    /// Up to this many threads while several threads are faster than one thread. Otherwise one thread.
    UpTo(usize),
    /// One thread and several threads in turn, for random periods. Tests use this to check that the number of threads
    /// does not affect the result.
    Drawn {
        /// Number of threads in the periods with several threads.
        threads: usize,
        /// Seed for the lengths of the periods.
        seed: u64,
    },
}

impl Default for Threads {
    fn default() -> Self {
        Self::Always(1)
    }
}

impl Threads {
    /// Maximum number of threads.
    #[must_use]
    pub fn at_most(self) -> usize {
        let (Self::Always(threads) | Self::UpTo(threads) | Self::Drawn { threads, .. }) = self;
        threads.max(1)
    }
}

/// Reads the wall clock.
#[expect(clippy::disallowed_methods, reason = "the clock affects only the number of threads, not the result")]
pub(crate) fn wall_clock() -> Instant {
    Instant::now()
}

/// A measured part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    pub(crate) events: u64,
    /// Number of windows into which several threads divided this part of the run. If one thread ran this part: an
    /// estimate of the number of windows that several threads would have needed, or `u64::MAX` without an estimate.
    pub(crate) windows: u64,
    pub(crate) took: Duration,
}

impl Piece {
    pub(crate) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.windows = self.windows.saturating_add(other.windows);
        self.took += other.took;
    }

    /// The cost: time per event, in nanoseconds.
    fn cost(&self) -> f64 {
        self.took.as_nanos() as f64 / self.events.max(1) as f64
    }
}

/// Decides when a run changes from one thread to several, and back.
#[derive(Debug)]
pub(crate) enum Chooser {
    Never,
    Measured(Measured),
    Drawn { stream: Stream, left: u64, together: bool },
}

/// Number of events that one thread processes between two decisions. They take about one or two milliseconds.
const EVENTS_A_PIECE: u64 = 1 << 14;
/// With [`Threads::Drawn`], the length of a period is a random power of two. These are the largest
/// exponents: `EVENTS_A_TURN` for periods of one thread (in events), `WINDOWS_A_TURN` for periods of several
/// threads (in windows).
const EVENTS_A_TURN: u64 = 9;
const WINDOWS_A_TURN: u64 = 4;

impl Chooser {
    /// A chooser for a machine with `cores` cores and a fabric whose setup took `set_up`.
    pub(crate) fn new(threads: Threads, cores: usize, set_up: Duration) -> Self {
        match threads {
            Threads::Always(_) | Threads::UpTo(0 | 1) => Self::Never,
            Threads::UpTo(threads) => Self::Measured(Measured::new(threads.min(cores), set_up)),
            Threads::Drawn { seed, .. } => {
                Self::Drawn { stream: Stream::new(seed, 0, "threads"), left: 0, together: false }
            }
        }
    }

    /// Number of events to process on one thread before the next call of [`ran`](Self::ran).
    pub(crate) fn events(&mut self) -> u64 {
        match self {
            Self::Never | Self::Measured(_) => EVENTS_A_PIECE,
            Self::Drawn { stream, .. } => 1 << stream.below(EVENTS_A_TURN + 1),
        }
    }

    /// True if the chooser needs measurements of pieces of the run.
    pub(crate) fn judges(&self) -> bool {
        !matches!(self, Self::Never)
    }

    /// True if the chooser needs the number of windows into which several threads would divide a piece of the run.
    pub(crate) fn asks_for_windows(&self) -> bool {
        match self {
            Self::Never => false,
            Self::Measured(measured) => measured.is_due(PROMISING),
            Self::Drawn { .. } => true,
        }
    }

    /// Records a piece of the run. Returns true if the run should now change between one thread and several.
    pub(crate) fn ran(&mut self, piece: Piece) -> bool {
        match self {
            Self::Never => false,
            Self::Measured(measured) => measured.ran(piece),
            Self::Drawn { left, together, .. } => {
                *left = left.saturating_sub(piece.windows);
                piece.events > 0 && (!*together || *left == 0)
            }
        }
    }

    /// Records a change to several threads or back to one, which took `took`.
    pub(crate) fn changed(&mut self, took: Duration) {
        match self {
            Self::Never => {}
            Self::Measured(measured) => measured.changed(took),
            Self::Drawn { stream, left, together } => {
                *together = !*together;
                *left = 1 << stream.below(WINDOWS_A_TURN + 1);
            }
        }
    }
}

/// Minimum overhead of a window on each of several threads, in nanoseconds: the barrier and a check for packets from
/// other threads.
const MEETING_NS: f64 = 500.0;
/// Minimum speedup of several threads over one thread. A trial of several threads starts only if this speedup is
/// possible, and succeeds only if it reaches this speedup.
const WORTH_IT: f64 = 1.1;
/// If the possible speedup is at least this, the wait before a trial may be `SHORT_WAIT`.
const PROMISING: f64 = 1.5;
/// Length of a slice of the run. On one thread, a slice may end earlier, after `EVENTS_A_PIECE` events. The costs of
/// slices are compared.
const SLICE: Duration = Duration::from_millis(2);
/// The wait before a trial, as a multiple of the time that the trial may cost. The wait doubles after each failure
/// ([`Measured::fail`]), at most `MOST_DOUBLINGS` times.
const WAIT: u32 = 50;
/// The shorter wait before a trial, in the same unit as `WAIT`. It applies if the possible speedup is at least
/// `PROMISING` and there was no failure since the latest successful trial.
const SHORT_WAIT: u32 = 30;
const MOST_DOUBLINGS: u32 = 4;
/// Number of slices on one thread whose costs are remembered. The cheapest of these slices gives the cost on one
/// thread.
const RECENT: usize = 8;
/// Number of slices in a trial of one thread.
const TRIAL_OF_ONE: usize = 3;
/// Maximum number of slices in a trial of several threads. Any slice but the first ends the trial with success if it
/// reaches the speedup `WORTH_IT`. If later slices are slow, the run soon returns to one thread (see `PATIENCE`).
const TRIAL_OF_SEVERAL: usize = 4;
/// Maximum excess of the time on several threads over the estimated time on one thread. Outside a trial, the maximum
/// also includes the time of a change of the number of threads. If the excess is larger, the run returns to one thread.
const PATIENCE: Duration = Duration::from_millis(4);

/// Compares the costs of an event on one thread and on several threads, and chooses the number of threads with the
/// lower cost.
///
/// The cost on one thread is that of its cheapest recent slice, because other processes on the core only
/// make a slice slower. The cost on several threads includes this disturbance: threads that wait for each
/// other suffer most from it.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Number of threads that run at once when the work is shared.
    threads: usize,
    /// True if several threads run now.
    together: bool,
    /// True if the present number of threads is on trial.
    on_trial: bool,
    /// The value that `on_trial` gets at the next change of the number of threads.
    next_on_trial: bool,
    /// The present slice up to now.
    slice: Piece,
    /// Number of complete slices since the latest change of the number of threads.
    slices: usize,
    /// Costs of the latest slices on one thread, in nanoseconds per event; at most `RECENT`.
    recent: VecDeque<f64>,
    /// The minimum of `recent`.
    alone: f64,
    /// Cost of the latest slice on several threads, in nanoseconds per event.
    shared: f64,
    /// Time that several threads have taken beyond the time that one thread would have taken, in nanoseconds, since the
    /// latest change of the number of threads or successful trial. Outside a trial, a value below 0 is set to 0 after
    /// each slice.
    behind: f64,
    /// Time that a change of the number of threads takes.
    change: Duration,
    /// Time that the latest failure cost; zero if a trial has succeeded since then, or if there was no failure.
    loss: Duration,
    /// Time since the latest successful trial or failure; since the start of the run if there was neither.
    since: Duration,
    /// Number of failures since the latest successful trial. A failure is a switch between one thread and several threads
    /// after which the run was slower, during the trial of the new number of threads or later.
    in_vain: u32,
}

impl Measured {
    /// Creates the state of a run that starts with one thread. Up to `threads` threads can run at once. The fabric's
    /// setup took `set_up`.
    fn new(threads: usize, set_up: Duration) -> Self {
        Self {
            threads,
            together: false,
            on_trial: false,
            next_on_trial: false,
            slice: Piece::default(),
            slices: 0,
            recent: VecDeque::new(),
            alone: f64::INFINITY,
            shared: f64::INFINITY,
            behind: 0.0,
            change: set_up,
            loss: Duration::ZERO,
            since: Duration::ZERO,
            in_vain: 0,
        }
    }

    /// Records a piece of the run. Returns true if the number of threads should now change.
    fn ran(&mut self, piece: Piece) -> bool {
        self.since += piece.took;
        self.slice.add(piece);
        let is_whole = self.slice.took >= SLICE || !self.together && self.slice.events >= EVENTS_A_PIECE;
        if !is_whole {
            return false;
        }
        let slice = std::mem::take(&mut self.slice);
        self.slices += 1;
        let next = if self.together { self.judge_several(&slice) } else { self.judge_one(&slice) };
        self.next_on_trial = next == Next::Trial;
        next != Next::Stay
    }

    fn changed(&mut self, took: Duration) {
        self.together = !self.together;
        self.on_trial = self.next_on_trial;
        (self.slices, self.behind) = (0, 0.0);
        self.slice = Piece::default();
        self.change = took;
        if !self.together {
            self.recent.clear();
        }
    }

    fn judge_one(&mut self, slice: &Piece) -> Next {
        self.recent.push_back(slice.cost());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.alone = self.recent.iter().copied().fold(f64::INFINITY, f64::min);
        if !self.on_trial {
            let promise = self.promise(slice);
            return if promise >= WORTH_IT && self.is_due(promise) { Next::Trial } else { Next::Stay };
        }
        if self.slices < TRIAL_OF_ONE {
            return Next::Stay;
        }
        if self.alone <= self.shared {
            self.keep();
            return Next::Stay;
        }
        self.fail(Duration::ZERO);
        Next::Change
    }

    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn judge_several(&mut self, slice: &Piece) -> Next {
        self.shared = slice.cost();
        self.behind += slice.took.as_nanos() as f64 - slice.events as f64 * self.alone;
        if self.on_trial {
            // The first slice cannot end the trial with success, because it includes the time to start the threads and
            // to fill their caches.
            if self.slices > 1 && self.shared * WORTH_IT <= self.alone {
                self.keep();
                return Next::Stay;
            }
            if self.slices < TRIAL_OF_SEVERAL && self.behind <= PATIENCE.as_nanos() as f64 {
                return Next::Stay;
            }
        } else {
            self.behind = self.behind.max(0.0);
            let patience = PATIENCE + self.change;
            let promise = self.promise(slice);
            if self.behind <= patience.as_nanos() as f64 && promise >= 1.0 {
                return if self.is_due(0.0) { Next::Trial } else { Next::Stay };
            }
        }
        self.fail(Duration::from_nanos(self.behind.max(0.0) as u64));
        Next::Change
    }

    /// Upper bound of the speedup of several threads, estimated from the work per window.
    fn promise(&self, slice: &Piece) -> f64 {
        let work = self.alone * slice.events as f64 / slice.windows.max(1) as f64;
        work / (work / self.threads as f64 + MEETING_NS)
    }

    /// True if enough time has passed for the next trial (see `WAIT`). `promise` is the possible speedup.
    fn is_due(&self, promise: f64) -> bool {
        let wait = match self.in_vain {
            0 if promise >= PROMISING => SHORT_WAIT,
            in_vain => WAIT << in_vain.min(MOST_DOUBLINGS),
        };
        self.since >= wait * self.loss.max(2 * (self.change + SLICE))
    }

    /// Keeps the present number of threads after a successful trial.
    fn keep(&mut self) {
        (self.on_trial, self.behind, self.in_vain) = (false, 0.0, 0);
        (self.loss, self.since) = (Duration::ZERO, Duration::ZERO);
    }

    /// Records a failure: the present number of threads is too slow, in its trial or later. `loss` is the time that the
    /// failure cost, without the two changes of the number of threads.
    fn fail(&mut self, loss: Duration) {
        self.in_vain += 1;
        (self.loss, self.since) = (loss + 2 * self.change, Duration::ZERO);
    }
}

/// The decision after a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    /// Change the number of threads, and put the new number on trial.
    Trial,
    /// Change the number of threads without a trial.
    Change,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: Duration = Duration::from_millis(1);

    /// A machine with a fixed cost of an event on one thread, and on two threads.
    #[derive(Clone, Copy)]
    struct Machine {
        alone_ns: u64,
        together_ns: u64,
        events_a_window: u64,
    }

    /// The outcome of a run.
    #[derive(Default)]
    struct Told {
        took: Duration,
        /// Time that pieces of the run took beyond their time on one thread, plus the time of the changes of the number
        /// of threads. Time that faster pieces save is not subtracted.
        lost: Duration,
        changes: u32,
    }

    /// Simulates a run that takes `time` on the wall clock.
    fn run(chooser: &mut Measured, machine: Machine, time: Duration) -> Told {
        let Machine { alone_ns, together_ns, events_a_window } = machine;
        let mut told = Told::default();
        while told.took < time {
            let (events, windows, cost) = if chooser.together {
                (events_a_window, 1, together_ns)
            } else {
                (EVENTS_A_PIECE, EVENTS_A_PIECE / events_a_window, alone_ns)
            };
            let took = Duration::from_nanos(events * cost);
            told.took += took;
            told.lost += took.saturating_sub(Duration::from_nanos(events * alone_ns));
            if chooser.ran(Piece { events, windows, took }) {
                chooser.changed(CHANGE);
                told.changes += 1;
                told.took += CHANGE;
                told.lost += CHANGE;
            }
        }
        told
    }

    fn measured() -> Measured {
        Measured::new(2, CHANGE)
    }

    const FAST: Machine = Machine { alone_ns: 100, together_ns: 60, events_a_window: 2_000 };
    const SLOW: Machine = Machine { together_ns: 140, ..FAST };
    const SPARSE: Machine = Machine { events_a_window: 4, ..FAST };

    #[test]
    fn threads_that_pay_run_soon_and_stay() {
        let mut chooser = measured();
        run(&mut chooser, FAST, Duration::from_millis(200));
        assert!(chooser.together && !chooser.on_trial);
        let told = run(&mut chooser, FAST, Duration::from_secs(20));
        assert!(chooser.together, "{chooser:?}");
        assert!(told.lost < told.took / 50, "{:?} of {:?}", told.lost, told.took);
    }

    #[test]
    fn threads_that_do_not_pay_are_tried_rarely() {
        let mut chooser = measured();
        let told = run(&mut chooser, SLOW, Duration::from_secs(20));
        assert!(!chooser.together && told.changes >= 4, "{chooser:?}");
        assert!(told.lost < told.took / 50, "{:?} of {:?}", told.lost, told.took);
    }

    #[test]
    fn windows_of_few_events_are_not_even_tried() {
        let mut chooser = measured();
        assert_eq!(run(&mut chooser, SPARSE, Duration::from_secs(20)).changes, 0);
    }

    #[test]
    fn one_thread_goes_on_when_windows_become_sparse() {
        let mut chooser = measured();
        run(&mut chooser, FAST, Duration::from_secs(1));
        let told = run(&mut chooser, SPARSE, Duration::from_secs(1));
        assert!(!chooser.together && told.changes == 1, "{chooser:?}");
    }

    #[test]
    fn one_thread_goes_on_when_others_need_the_cores() {
        let mut chooser = measured();
        run(&mut chooser, FAST, Duration::from_secs(1));
        // A thread has lost its core, so every window takes much longer.
        let told = run(&mut chooser, Machine { together_ns: 2_000, ..FAST }, Duration::from_millis(100));
        assert!(!chooser.together && told.changes == 1, "{chooser:?}");
        assert!(told.lost < Duration::from_millis(20), "{:?}", told.lost);
    }

    #[test]
    fn one_thread_is_tried_again_where_it_has_become_the_faster() {
        let mut chooser = measured();
        run(&mut chooser, FAST, Duration::from_secs(1));
        // One thread now takes 50 ns per event, less than the 60 ns of several threads.
        run(&mut chooser, Machine { alone_ns: 50, ..FAST }, Duration::from_secs(2));
        assert!(!chooser.together, "{chooser:?}");
    }

    #[test]
    fn a_core_has_no_use_for_threads() {
        let mut chooser = Measured::new(1, CHANGE);
        assert_eq!(run(&mut chooser, FAST, Duration::from_secs(5)).changes, 0);
    }
}
