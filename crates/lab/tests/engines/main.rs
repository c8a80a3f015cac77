//! Tests of the flow engine, alone and compared with the packet engine.

mod agree;
mod flow_engine;
