//! TCP between two hosts on a fake clock.

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
