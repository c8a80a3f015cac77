//! Tests message-passing programs and synthetic traffic as workloads.

mod goal;
mod skeletons;
mod synthetic_traffic;
