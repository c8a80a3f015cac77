//! Tests of the packet engine on fabrics small enough for calculation by hand, and on random fabrics.

mod discovery;
mod make_room;
mod pipeline;
mod threads;
