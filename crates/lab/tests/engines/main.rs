//! The flow engine by itself and against the packet engine.

mod agree;
mod flow_engine;
