//! Clairvoyant: Expeditus's ideal, which sees all loads of a Clos network at once (Expeditus §5.1; specs/expeditus.md §6.2).
//!
//! When a flow's first packet comes to its edge switch, the loads of all directed links of all its paths are read at that
//! instant, and the path whose greatest load is least gets the flow: the entries of the edge and the aggregation switch are
//! there at once. Loads are those that Expeditus measures, in as few bits, and entries expire as Expeditus's do, so that the
//! gap between the two is that of what they know. It decides greedily, flow by flow: there may be better schedules.
//!
//! Cost a packet: a lock that nobody contends for; upwards, a hash of the five-tuple and a look-up.

mod scheme;
mod switch;
mod world;

pub use scheme::ROUTING;
