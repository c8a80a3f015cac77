//! The types that most other crates share: units, ids, random streams, packets, and the contracts that schemes
//! implement and engines drive.
//!
//! A [`Node`] passes packets through its parts, in any [`Runtime`].
//!
//! A scheme is a set of parts ([`Host`], [`Forwarder`], [`PortAgent`], [`Queue`], [`LinkFlowControl`]). A part is
//! sans-IO: it reads no clock, socket, file or global randomness. Time is an argument, randomness is the part's own
//! keyed [`Stream`], and the part's methods return its requests.

mod births;
mod contract;
pub mod discovery;
mod dre;
mod failure;
mod flow;
mod flows;
mod ids;
mod link_errors;
mod node;
mod observer;
mod packet;
mod prefetch;
mod stream;
pub mod text;
mod totals;
mod units;

pub use births::Births;
pub use contract::{
    Admit, Application, DropReason, FlowControlAccount, Forwarder, HoldKey, Host, Input, LinkFlowControl,
    Output, Parts, Paused, PortAgent, PortState, Ports, Queue, Report, Request, Verdict,
};
pub use dre::{Dre, DreRegister};
pub use failure::Change;
pub use flow::{Flow, Process};
pub use flows::{Coming, Flows, Queued};
pub use ids::{FlowId, LinkId, PortId};
pub use link_errors::{Fate, LinkErrors, LinkNoise};
pub use node::{Node, Runtime};
pub use observer::Observer;
pub use packet::Packet;
pub use prefetch::{prefetch, prefetch_lines, prefetch_whole};
pub use raddle_wire::credit::Credit;
pub use raddle_wire::{
    Class, Decoders, ExtensionHeader, FlowKey, Framing, Header, HeaderInfo, NodeId, PacketKind, Shim,
};
pub use stream::Stream;
pub use totals::{Count, Drops, LinkStats, Progress, Totals};
pub use units::{Bytes, Duration, Rate, Time};
