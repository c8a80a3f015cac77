//! Ctrl-C while a command does work that can be stopped at any time.

use crate::arguments::Format;
use crate::fail;
use raddle_lab::{Error, finished_work};
use std::time::Duration;

/// Interval between two checks of whether the command does work that must end in order.
const LOOK: Duration = Duration::from_millis(100);

/// Number of checks before the process ends. A command between two pieces of work soon begins the next piece, or ends.
const LOOKS: u32 = 4;

/// Ends the process with the exit code of an interruption, if the process reads inputs, checks inputs, or builds a
/// topology. This work can take long and leaves nothing behind. A run that has begun handles the interruption itself,
/// and then the command ends.
#[expect(
    clippy::disallowed_methods,
    reason = "the process waits for its user here, and no result depends on it"
)]
pub(crate) fn end_unless_at_work(format: Format) {
    let (mut looks, before) = (0, finished_work());
    while looks < LOOKS {
        std::thread::sleep(LOOK);
        match finished_work() {
            None => looks = 0,
            // Work that ended after the interruption was ended by the interruption.
            now if before.is_none() || now != before => return,
            _ => looks += 1,
        }
    }
    fail(Error::Interrupted, format);
    std::process::exit(130);
}
