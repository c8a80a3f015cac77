//! R2C2, its variant with a controller, and PFQ in the packet engine.

mod central;
mod faults;
mod headers;
mod oracles;
mod pfq;
mod policies;
mod rack;
mod reliable;
mod selection;
