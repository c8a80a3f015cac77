//! A flow of the workload.

use crate::{Bytes, FlowId, NodeId, Rate, Time};

/// What an application asks of the transport: `size` bytes from `src` to `dst`, from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The flow's place in the workload.
    pub id: FlowId,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Application bytes, at least 1.
    pub size: Bytes,
    /// When the application hands the flow to the transport.
    pub start: Time,
    /// The rate at which the application produces the bytes; `None` if all are there at the start.
    pub app_rate: Option<Rate>,
    /// Share relative to other flows of its class, 1 to 255.
    pub weight: u8,
    /// Priority class, 0 to 15, 0 served first.
    pub priority: u8,
}
