//! The schemes: sans-IO state machines, one folder each, and the registry that lists them.

pub mod ecmp;
pub mod parameter;
pub mod r2c2;
pub mod registry;
pub mod tcp;
