//! Workloads of a fabric: starts, sizes and endpoints of flows, generated from a seed or read from files.
//!
//! A [`Workload`] determines when flows start ([`Arrivals`]), their sizes ([`Sizes`]) and their endpoints ([`Pairs`]).
//! Each of these three parts draws from its own random stream, so a change of one part does not shift the random
//! numbers of the others. All schemes that run with the same seed get the same flows. Logarithms and powers come from
//! `libm`, so a seed gives the same flows on every machine.
//!
//! ```
//! # use raddle_workload::{Arrivals, Pairs, Sizes, Workload};
//! # use raddle_core::{Bytes, Duration, PortId, Rate};
//! # use raddle_topology::{Builder, Shape};
//! # let mut fabric = Builder::default();
//! # let (a, b) = (fabric.host(0), fabric.host(0));
//! # fabric.join(a, b, Rate::from_gbps(10), Duration::from_ns(100));
//! # let topology = fabric.build(Shape::General);
//! let workload = Workload {
//!     arrivals: Arrivals::Poisson { mean_gap: Duration::from_us(1) },
//!     sizes: Sizes::Pareto { shape: 1.05, mean: Bytes(100_000) },
//!     ..Workload::new(Pairs::Uniform, 1_000)
//! };
//! let flows = workload.generate(&topology, 1)?;
//! assert_eq!(flows.len(), 1_000);
//! # Ok::<(), raddle_workload::WorkloadError>(())
//! ```

mod arrivals;
mod cdf;
mod deadlines;
mod error;
mod facts;
mod generate;
pub mod goal;
mod hotspot;
mod hpcc;
mod htsim;
mod long_flows;
pub mod mpi;
mod pairs;
mod per_host;
mod published;
mod sizes;
#[cfg(test)]
mod testing;

pub use arrivals::Arrivals;
pub use cdf::SizeCdf;
pub use deadlines::Deadlines;
pub use error::WorkloadError;
pub use facts::Facts;
pub use generate::{Amount, Workload};
pub use hotspot::{Hotspot, Sources, Victim, in_order};
pub use hpcc::{read_hpcc, write_hpcc};
pub use htsim::read_htsim;
pub use long_flows::LongFlows;
pub use pairs::{Digits, Pairs};
pub use per_host::PerHost;
pub use published::{PUBLISHED, Published};
pub use sizes::Sizes;
