//! Tests of lockstep alone, and comparisons of lockstep with the packet engine.

mod agreement;
mod both;
mod foreign_header;
mod frames;
mod make_room;
mod oracle_o14;
mod pauses;
mod schemes;
mod streams;
