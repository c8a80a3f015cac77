//! Fabrics as graphs: nodes, ports and links, builders of common topologies, failed links, and routing (which draws
//! paths and computes how often packets cross each link).

pub mod bcube;
mod below;
pub mod builders;
pub mod clos;
pub mod dependencies;
mod discovery;
pub mod graph;
pub mod grid;
pub mod hops;
pub mod io;
mod jellyfish;
mod link_layer;
mod memo;
mod oversubscription;
pub mod paths;
pub mod routing;
pub mod xgft;

pub use bcube::Bcube;
pub use below::Below;
pub use clos::{Clos, ClosSize};
pub use discovery::discoverers;
pub use graph::{Builder, Link, Relay, Shape, Topology};
pub use grid::Grid;
pub use hops::Hops;
pub use link_layer::LinkLayer;
pub use memo::Memo;
pub use oversubscription::Oversubscription;
pub use paths::{Choice, Paths};
pub use xgft::{Xgft, XgftSize};
