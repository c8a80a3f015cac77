//! Expeditus.
#![allow(dead_code)]
mod flow_id;
mod multiplier;
mod path_table;
mod selection;
