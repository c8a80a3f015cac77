//! Tests of experiments, from the TOML text to the records.

mod bad_input;
mod capture;
mod fabrics;
mod interpreted;
mod over_time;
mod run;
mod threads;
