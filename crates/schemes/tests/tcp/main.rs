//! TCP in the packet engine.

mod bottleneck;
mod handshake;
mod hosts;
mod losses;
