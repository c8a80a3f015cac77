//! Runs work on another thread while Python's main thread handles signals and shows progress.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use raddle_lab::RunState;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between two checks of signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// The changes since the latest call of [`News::tell`]: the figure that has begun, and the states of runs, indexed
/// by the run's number.
#[derive(Default)]
pub(crate) struct News(Mutex<Latest>);

#[derive(Default)]
struct Latest {
    /// The figure that has begun since the latest call of [`News::tell`], and the number of its runs.
    figure: Option<(String, usize)>,
    runs: BTreeMap<usize, Run>,
}

/// The state of one run.
#[derive(Clone, Copy, Default)]
struct Run {
    state: Option<RunState>,
    has_ended: bool,
}

impl News {
    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a figure with `runs` runs has begun. Discards the news that [`News::tell`] has not passed on yet.
    /// Later news is about this figure's runs.
    pub(crate) fn begun(&self, figure: &str, runs: usize) {
        *self.latest() = Latest { figure: Some((figure.to_owned(), runs)), runs: BTreeMap::new() };
    }

    /// Notes the state of run number `run`.
    pub(crate) fn progress(&self, run: usize, state: &RunState) {
        self.latest().runs.entry(run).or_default().state = Some(*state);
    }

    /// Notes that run number `run` has ended.
    pub(crate) fn ended(&self, run: usize) {
        self.latest().runs.entry(run).or_default().has_ended = true;
    }

    /// Calls `watch.begin(figure, runs)` if a figure has begun since the previous call of this function. Then calls
    /// `watch.hear(run, share, seconds_left, packet_hops, has_ended)` for each run whose state has changed since then.
    /// `share` is the estimated share of the run that is done, from 0 to 1. `share` and `seconds_left` are `None` while
    /// there is no estimate ([`RunState::seconds_left`]). All three numbers are `None` if a run has ended without a new
    /// state.
    fn tell(&self, py: Python<'_>, watch: Option<&Py<PyAny>>) -> PyResult<()> {
        let Latest { figure, runs } = std::mem::take(&mut *self.latest());
        let Some(watch) = watch else { return Ok(()) };
        if let Some((figure, runs)) = figure {
            watch.call_method1(py, "begin", (figure, runs))?;
        }
        for (run, Run { state, has_ended }) in runs {
            let left = state.and_then(|state| state.seconds_left());
            let share = state.zip(left).map(|(state, left)| state.seconds / (state.seconds + left).max(1e-9));
            let hops = state.map(|state| state.progress.packet_hops);
            watch.call_method1(py, "hear", (run, share, left, hops, has_ended))?;
        }
        Ok(())
    }
}

/// Runs `work` on another thread, without Python's lock. Meanwhile this thread handles signals and calls the methods of
/// `watch` ([`News::tell`]). Ctrl-C, an exception of `watch`, or an exception of a signal handler sets the flag that
/// `work` gets. Returns the result of `work`, and whether Ctrl-C was pressed.
///
/// # Errors
/// The exception of `watch`, or of a signal handler other than the handler of Ctrl-C.
pub(crate) fn attend<T: Send>(
    py: Python<'_>,
    watch: Option<&Py<PyAny>>,
    work: impl FnOnce(&AtomicBool, &News) -> T + Send,
) -> PyResult<(T, bool)> {
    let (stop, news) = (AtomicBool::new(false), News::default());
    let look = || Python::attach(|py| py.check_signals().and_then(|()| news.tell(py, watch)));
    let (result, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (at_work, ended) = channel::<()>();
            let (stop, news) = (&stop, &news);
            let worker = scope.spawn(move || {
                let result = work(stop, news);
                drop(at_work);
                result
            });
            let mut raised = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = look() {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if let Err(error) = look() {
                raised.get_or_insert(error);
            }
            (result, raised)
        })
    });
    match raised {
        None => Ok((result, false)),
        Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok((result, true)),
        Some(error) => Err(error),
    }
}
