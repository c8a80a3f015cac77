//! TCP between two hosts on a fake clock.

mod connection;
mod engine;
mod pair;
mod properties;
mod recovery;
mod window;

use super::*;
