//! Handles Ctrl-C while the command does work that can be stopped at any time.

use crate::arguments::Format;
use crate::fail;
use raddle_lab::{Error, finished_work};
use std::time::Duration;

/// Interval between two checks. Each check tests whether the command does work that writes files and handles
/// interruptions itself.
const LOOK: Duration = Duration::from_millis(100);

/// The process ends after this number of successive checks that find no work that handles interruptions. One check is
/// not enough: a command may be between two pieces of work and begin the next piece soon.
const LOOKS: u32 = 4;

/// Ends the process with the exit code of an interruption, if the process reads inputs, checks inputs, or builds a
/// topology. This work can take long, but it leaves no files behind. If a run has begun, the function
/// waits for its end and returns, because the run handles the interruption and the command then ends.
#[expect(
    clippy::disallowed_methods,
    reason = "this function waits in real time, and no result depends on how long it waits"
)]
pub(crate) fn end_unless_at_work(format: Format) {
    let (mut looks, before) = (0, finished_work());
    while looks < LOOKS {
        std::thread::sleep(LOOK);
        match finished_work() {
            None => looks = 0,
            // Work has ended since the interruption, so the command has noticed the interruption and ends by itself.
            now if before.is_none() || now != before => return,
            _ => looks += 1,
        }
    }
    fail(Error::Interrupted, format);
    std::process::exit(130);
}
