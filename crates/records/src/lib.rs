//! The results of a run: one row per flow and per link, totals, histograms, and a digest of all rows.
//!
//! A [`Recorder`] joins the reports of hosts into [`FlowRecord`]s. It returns each record when its flow is done, so a
//! long run keeps only its live flows in memory. Tables whose columns are known beforehand consist of [`Row`]s. The
//! name of such a column ends with the unit of its values, if they have one. One description of a table serves Parquet
//! ([`TableWriter`]), CSV ([`write_csv`]) and the [`Digest`]. Packets are written to captures ([`PcapngWriter`]).

mod csv;
mod digest;
mod error;
mod flow;
mod flow_control;
mod ideal;
mod imbalance;
mod link;
mod parquet;
mod part_file;
mod pcapng;
mod quantiles;
mod rank;
mod reader;
mod recorder;
mod series;
pub mod stats;
mod table;
#[cfg(test)]
mod testing;
mod throughput;
mod totals;
mod wide;

pub use csv::write_csv;
pub use digest::Digest;
pub use error::RecordsError;
pub use flow::FlowRecord;
pub use flow_control::{FlowControlRecord, QueueLengthRecord};
pub use ideal::{Framing, ideal_cut_through, ideal_store_and_forward};
pub use imbalance::{ImbalanceRecord, imbalance};
pub use link::{LinkRecord, QueueRecord};
pub use parquet::{SCHEMA_VERSION, TableWriter};
pub use part_file::{PartFile, write_file};
pub use pcapng::{Interface, PcapngWriter};
pub use quantiles::{Mean, Quantiles};
pub use rank::RankRecord;
pub use reader::{Table, TableReader, Values};
pub use recorder::{Ideal, Recorder};
pub use series::{PathRecord, RankSeriesRecord, RateSeriesRecord, SeriesRecord};
pub use table::{Cell, Column, Kind, Row};
pub use throughput::ThroughputRecord;
pub use totals::TotalsRecord;
pub use wide::{WideCell, WideTable};
