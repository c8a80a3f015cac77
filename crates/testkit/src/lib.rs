//! What tests and benchmarks of several crates share.

use raddle_schemes::registry::Registry;
use std::sync::LazyLock;

/// The built-in schemes.
#[must_use]
pub fn registry() -> &'static Registry {
    static BUILTIN: LazyLock<Registry> = LazyLock::new(Registry::builtin);
    &BUILTIN
}
