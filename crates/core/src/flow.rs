//! A flow of the workload.

use crate::{Bytes, Duration, FlowId, NodeId, Rate, Time};

/// The process by which an application with a rate produces its bytes, in frames of the transport's full size
/// (specifications/cee.md §6.1). [`Births`](crate::Births) defines each process in slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Process {
    /// Evenly spaced frames.
    #[default]
    Constant,
    /// Frames with exponential gaps.
    Poisson,
    /// Each slot contains a frame with the same probability. A slot is the time that one frame takes at line rate.
    Bernoulli,
    /// Bursts at line rate with a geometric number of frames, and silences whose mean length gives the
    /// application's rate (Markov).
    OnOff {
        /// Mean number of frames per burst.
        burst: u32,
    },
}

/// An application's request to the transport: bytes from `src` to `dst`, from `start` on.
///
/// The size of a flow is known at the start, unless the flow is a stream. The application
/// [appends](crate::Input::Append) bytes to a stream when it has them, and finally [closes](crate::Input::Close) the
/// stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The flow's number in the workload, in order of start.
    pub id: FlowId,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Number of application bytes, at least 1. For a [stream](Self::is_stream): the bytes available at the start, any
    /// number.
    pub size: Bytes,
    /// Time at which the application hands the flow to the transport.
    pub start: Time,
    /// The rate at which the application produces the bytes; `None` if all bytes are available at the start.
    pub app_rate: Option<Rate>,
    /// The process by which the application produces the bytes at its rate.
    pub process: Process,
    /// Weight of the flow's share of the bandwidth, relative to other flows of its class: 1 to 255.
    pub weight: u8,
    /// Priority class, 0 to 15; class 0 is served first.
    pub priority: u8,
    /// Deadline, as the time after the start by which the flow should be complete; `None` if the flow has no deadline.
    pub deadline: Option<Duration>,
    /// True if more bytes may follow: the flow's size is unknown until the application closes the flow. A stream has no
    /// [application rate](Self::app_rate).
    pub is_stream: bool,
}

impl Flow {
    /// A flow with all bytes available at the start, with weight 1, in class 0, without a deadline.
    #[must_use]
    pub const fn new(id: FlowId, src: NodeId, dst: NodeId, size: Bytes, start: Time) -> Self {
        Self {
            id,
            src,
            dst,
            size,
            start,
            app_rate: None,
            process: Process::Constant,
            weight: 1,
            priority: 0,
            deadline: None,
            is_stream: false,
        }
    }

    /// A stream that has no bytes yet, with weight 1, in class 0, without a deadline.
    #[must_use]
    pub const fn stream(id: FlowId, src: NodeId, dst: NodeId, start: Time) -> Self {
        Self { is_stream: true, ..Self::new(id, src, dst, Bytes(0), start) }
    }

    /// Time at which the flow should be complete; [`Time::NEVER`] if it has no deadline.
    #[must_use]
    pub fn due(&self) -> Time {
        self.deadline.map_or(Time::NEVER, |deadline| self.start + deadline)
    }
}
