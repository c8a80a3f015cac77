//! RCP, the Rate Control Protocol, as PDQ's authors optimised it for their comparison.

pub mod controller;

pub use controller::Controller;
