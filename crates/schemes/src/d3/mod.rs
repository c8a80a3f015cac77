//! D3, deadline-driven delivery: rates asked for by deadlines.

pub mod controller;

pub use controller::Controller;
