//! Runs a piece of work on a new thread, because it may panic or never end. Remembers the experiment under test.

use super::Violation;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use toml::Table;

/// The property that a panic violates.
pub(super) const NO_PANIC: &str = "nothing panics";
/// The property that is violated if a piece of work does not end within [`PATIENCE`].
pub(super) const ENDS: &str = "every run ends";

/// Time limit of a piece of work, in seconds. It is counted as a number of waits of one second each, so that time in
/// which the whole process is stopped hardly counts.
const PATIENCE: u32 = 180;

/// Holds the experiment that is under test.
#[derive(Clone, Default)]
pub(super) struct Bench(Arc<Mutex<Table>>);

impl Bench {
    pub(super) fn put(&self, experiment: &Table) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = experiment.clone();
    }

    fn taken(&self) -> Table {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs `work` on a new thread.
///
/// # Errors
/// If `work` panics, or does not end within the time limit.
pub(super) fn guarded<T: Send + 'static>(
    work: impl FnOnce(&Bench) -> T + Send + 'static,
) -> Result<T, Violation> {
    let bench = Bench::default();
    let (theirs, (done, result)) = (bench.clone(), mpsc::channel());
    thread::spawn(move || {
        let ended = panic::catch_unwind(AssertUnwindSafe(|| work(&theirs)));
        // Sending fails if the receiver has given up waiting.
        let _ = done.send(ended);
    });
    let violation = |property, seen| Violation { property, seen, experiment: bench.taken() };
    for _ in 0..PATIENCE {
        match result.recv_timeout(Duration::from_secs(1)) {
            Ok(Ok(made)) => return Ok(made),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                return Err(violation(NO_PANIC, Panics::take()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Err(violation(ENDS, format!("generating or running the experiment took more than {PATIENCE} s")))
}

/// The text of the first panic since [`Panics::take`] was last called.
static HEARD: Mutex<Option<String>> = Mutex::new(None);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

/// While this value lives, panics are not printed. The text of the first panic is stored until [`Panics::take`] is
/// called.
pub(super) struct Panics(Option<Hook>);

impl Panics {
    pub(super) fn heard() -> Self {
        let before = panic::take_hook();
        panic::set_hook(Box::new(|info| {
            HEARD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| info.to_string());
        }));
        Self(Some(before))
    }

    fn take() -> String {
        let heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner).take();
        heard.unwrap_or_else(|| "a panic without a message".to_owned())
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            panic::set_hook(before);
        }
    }
}
