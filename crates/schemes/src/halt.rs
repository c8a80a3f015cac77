//! Ends a run early because a host or a forwarder cannot go on.

use std::sync::{Arc, OnceLock};

/// The error of a host or a forwarder that cannot go on, such as an exception in a routing written in Python. The run
/// ends soon after the error is set. Copies of a `Halt` share the error.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<OnceLock<String>>);

impl Halt {
    /// Ends the run with this error. Only the first error of a run counts.
    pub fn because(&self, error: String) {
        let _ = self.0.set(error);
    }

    /// The error; `None` while the run may go on.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_counts() {
        let halt = Halt::default();
        let copy = halt.clone();
        assert_eq!(halt.error(), None);
        copy.because("first".to_owned());
        halt.because("second".to_owned());
        assert_eq!((halt.error(), copy.error()), (Some("first"), Some("first")));
    }
}
