//! Transports with rates granted by switches, in the packet engine: RCP, D3, PDQ.

mod aggregation;
mod pdq;
mod rcp_and_d3;
