//! Routings in the packet engine.

mod clairvoyant;
mod clos;
mod expeditus;
mod expeditus_authsim;
mod expeditus_selection;
mod flowlets;
mod frames;
mod spreading;
mod trees;
