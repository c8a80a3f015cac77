//! Tests of TCP: between two hosts on a simulated clock, and in the packet engine (`engine.rs`).

mod connection;
mod dctcp;
mod engine;
mod pair;
mod properties;
mod recovery;
mod streams;
mod window;

use super::control::{dctcp::Dctcp, newreno::NewReno, reno::Reno};
use super::*;
