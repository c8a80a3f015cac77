//! The atomics of rings. The test of rings with loom (`tests/ring.rs`) replaces them by loom's atomics of the same
//! names.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
