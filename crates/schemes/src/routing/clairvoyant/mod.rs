//! Clairvoyant: the ideal Expeditus, which knows all loads of a Clos network at once (Expeditus §5.1;
//! specifications/expeditus.md §6.2).
//!
//! When a packet of a flow without a stored path reaches the flow's edge switch, Clairvoyant reads the current loads of
//! all directed links between switches on all paths of the flow. The flow gets the path whose greatest link load is
//! least. The path is stored immediately in the path table of the edge switch and, for a path between pods, of the
//! aggregation switch. If the edge switch's table is full, ECMP forwards the packet. Loads are measured as in
//! Expeditus, with the same number of bits, and entries expire as in Expeditus. Clairvoyant decides greedily, one flow
//! at a time, so better schedules can exist.
//!
//! Cost per packet: an uncontended lock. A packet on the way up also needs a hash of the five-tuple and a look-up.

mod scheme;
mod switch;
mod world;

pub use scheme::ROUTING;
