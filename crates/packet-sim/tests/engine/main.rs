//! The packet engine on fabrics small enough to work out by hand, and on random ones.

mod discovery;
mod make_room;
mod pipeline;
mod threads;
