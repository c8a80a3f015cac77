//! Exponentially distributed numbers: gaps between events that know nothing of each other.

use raddle_core::Stream;

/// Draws an exponentially distributed number with this mean; the same on every machine.
pub fn exponential(stream: &mut Stream, mean: f64) -> f64 {
    -libm::log1p(-stream.unit()) * mean
}
