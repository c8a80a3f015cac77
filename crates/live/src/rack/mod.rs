//! A rack of virtual nodes that move real bytes in real time: Maze.

#![expect(dead_code, reason = "under construction")]

mod clock;
mod pool;
mod ring;
mod shared;
mod sync;
