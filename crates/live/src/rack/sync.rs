//! The atomics of which rings are made. Their test with loom (`tests/ring.rs`) has others of the same names.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
