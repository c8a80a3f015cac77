//! Message-passing programs and synthetic traffic, from TOML to makespan.

mod goal;
mod skeletons;
mod synthetic_traffic;
