//! Endpoints connect programs to a rack. A program opens streams to other nodes, sends bytes, and receives bytes. A
//! thread of the program uses the [`Endpoint`] while another thread [runs](super::Rack::run) the rack.

use raddle_core::{Flow, FlowId, FlowKey, NodeId, Time};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of unacknowledged bytes of a stream above which a program must wait before it sends more.
pub const WINDOW: usize = 1 << 20;

/// A request of a program to the thread that polls its node.
#[derive(Debug)]
pub(super) enum Request {
    Open(Flow, Polled),
    Append(FlowId, Vec<u8>),
    Close(FlowId),
}

/// State that all endpoints of a rack share. The rack runs as long as an [`Endpoint`], a [`Caller`] or a stream of a
/// program exists.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The flow id of the next stream.
    pub(super) next: AtomicU32,
}

/// The rack has ended, or has closed the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream is closed, or its rack has stopped")]
pub struct Gone;

/// The reason why a node cannot have an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoEndpoint {
    /// This process runs no such node.
    #[error("this process does not run node {0}")]
    NoNode(NodeId),
    /// The host of the node does not support streams.
    #[error(
        "the host at node {0} does not support streams; build the host from a plan with `streams = true`"
    )]
    NotCarried(NodeId),
    /// The rack runs the flows of a workload.
    #[error("endpoints exist only in a rack without a workload")]
    Workload,
}

/// A program's connection to its node.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) caller: Caller,
    pub(super) received: Receiver<Received>,
}

/// The part of an [`Endpoint`] that opens streams. It can be cloned for other threads.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(super) node: NodeId,
    pub(super) nodes: u32,
    pub(super) requests: Sender<(NodeId, Request)>,
    pub(super) shared: Arc<Shared>,
}

/// Bytes that have arrived at a node, in the order of their stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The node that sent the bytes.
    pub from: NodeId,
    /// The stream. No other stream that arrives at this node at the same time has the same key.
    pub stream: FlowKey,
    /// The bytes. Empty if `is_end` is true.
    pub bytes: Vec<u8>,
    /// True if the sender has closed the stream, so that no more bytes follow.
    pub is_end: bool,
}

impl Caller {
    fn ask(&self, request: Request) -> Result<(), Gone> {
        self.requests.send((self.node, request)).map_err(|_| Gone)
    }

    /// Opens a stream to another node.
    ///
    /// # Errors
    /// [`Gone`], if the rack has ended.
    ///
    /// # Panics
    /// If the rack has no such node, or `to` is the program's own node.
    pub fn open(&self, to: NodeId) -> Result<Outgoing, Gone> {
        assert!(to.0 < self.nodes && to != self.node, "a stream must go to another node of the rack");
        let id = FlowId(self.shared.next.fetch_add(1, Ordering::Relaxed));
        let window = Arc::<Window>::default();
        let flow = Flow::stream(id, self.node, to, Time::ZERO);
        let request = Request::Open(flow, Polled(Arc::clone(&window)));
        self.ask(request)?;
        Ok(Outgoing { id, caller: self.clone(), window })
    }
}

impl Endpoint {
    /// The endpoint's node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.caller.node
    }

    /// Number of nodes of the rack. Nodes are numbered from 0.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.caller.nodes
    }

    /// Returns the part of the endpoint that opens streams, for use in another thread.
    #[must_use]
    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Opens a stream to another node.
    ///
    /// # Errors
    /// Same as [`Caller::open`].
    ///
    /// # Panics
    /// Same as [`Caller::open`].
    pub fn open(&self, to: NodeId) -> Result<Outgoing, Gone> {
        self.caller.open(to)
    }

    /// Returns the next bytes that have arrived. Returns `None` if there are none, or the rack has ended. Never waits.
    #[must_use]
    pub fn poll(&self) -> Option<Received> {
        self.received.try_recv().ok()
    }

    /// Waits for the next bytes.
    ///
    /// # Errors
    /// [`Gone`], if the rack has ended.
    pub fn receive(&self) -> Result<Received, Gone> {
        self.received.recv().map_err(|_| Gone)
    }

    /// Waits for the next bytes, for `patience` of real time at most. Returns `None` if none arrive in that time.
    ///
    /// # Errors
    /// [`Gone`], if the rack has ended.
    pub fn receive_within(&self, patience: Duration) -> Result<Option<Received>, Gone> {
        match self.received.recv_timeout(patience) {
            Ok(received) => Ok(Some(received)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Gone),
        }
    }
}

/// The sending end of a stream. Dropping this value closes the stream after all bytes that were sent.
#[derive(Debug)]
pub struct Outgoing {
    id: FlowId,
    caller: Caller,
    window: Arc<Window>,
}

impl Outgoing {
    /// Sends bytes. Waits first while more than [`WINDOW`] bytes of the stream are unacknowledged.
    ///
    /// # Errors
    /// [`Gone`], if the rack has ended, or has closed the stream.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Gone> {
        self.window.wait()?;
        self.hand_over(bytes)
    }

    /// Sends bytes unless more than [`WINDOW`] bytes of the stream are unacknowledged. Returns true if the bytes were
    /// sent. Never waits.
    ///
    /// # Errors
    /// [`Gone`], if the rack has ended, or has closed the stream.
    pub fn try_send(&self, bytes: &[u8]) -> Result<bool, Gone> {
        if !self.window.has_room()? {
            return Ok(false);
        }
        self.hand_over(bytes).map(|()| true)
    }

    fn hand_over(&self, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.window.takes(bytes.len());
        self.caller.ask(Request::Append(self.id, bytes.to_vec()))
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let _ = self.caller.ask(Request::Close(self.id));
    }
}

/// The window of a stream: counts its unacknowledged bytes, including bytes that are still on the way to the polling
/// thread.
#[derive(Debug, Default)]
struct Window {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of bytes that the program has passed to the stream.
    handed_over: u64,
    /// Number of bytes that the rack no longer keeps, because they are acknowledged.
    forgotten: u64,
    has_ended: bool,
}

impl State {
    fn has_room(&self) -> Result<bool, Gone> {
        if self.has_ended { Err(Gone) } else { Ok(self.handed_over - self.forgotten <= WINDOW as u64) }
    }
}

impl Window {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> Result<bool, Gone> {
        self.state().has_room()
    }

    fn wait(&self) -> Result<(), Gone> {
        let mut state = self.state();
        while !state.has_room()? {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn takes(&self, bytes: usize) {
        self.state().handed_over += bytes as u64;
    }

    fn forget(&self, to: u64) {
        let mut state = self.state();
        state.forgotten = state.forgotten.max(to.min(state.handed_over));
        self.changed.notify_one();
    }

    fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }
}

/// The polling thread's end of a window. Dropping this value makes the program's sends fail. A rack can end before the
/// polling thread has received the request to open the stream. In this case, dropping the request has the same effect.
#[derive(Debug)]
pub(super) struct Polled(Arc<Window>);

impl Polled {
    /// Records that the first `to` bytes of the stream are acknowledged.
    pub(super) fn forget(&self, to: u64) {
        self.0.forget(to);
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.0.end();
    }
}
