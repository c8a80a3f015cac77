//! Runs ranks on hosts, over any transport.

use super::Program;
use super::payloads::Payloads;
use super::rank::{Account, Outgoing, Rank, Settings};
use raddle_core::{Application, Bytes, Flow, FlowId, FlowKey, NodeId, Report, Request, Time};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A function that is called for each period in which a rank computes, with the rank, the begin and the end of the
/// period. The periods of a rank do not overlap.
pub type Computing = Box<dyn Fn(u32, Time, Time) + Send + Sync>;

/// A job: its ranks run on hosts, at most one rank per host. The job also holds the state that the ranks
/// share.
pub struct Job {
    settings: Settings,
    /// The host of each rank.
    nodes: Vec<NodeId>,
    payloads: Payloads,
    /// Statistics by rank.
    accounts: Vec<Mutex<Account>>,
    computing: OnceLock<Computing>,
}

impl Job {
    /// Creates a job whose rank `i` runs on host `nodes[i]`.
    ///
    /// # Panics
    /// If two ranks share a host.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, settings: Settings) -> Self {
        let mut distinct = nodes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), nodes.len(), "a host must have at most one rank");
        let accounts = nodes.iter().map(|_| Mutex::default()).collect();
        Self { settings, nodes, payloads: Payloads::new(), accounts, computing: OnceLock::new() }
    }

    /// Returns the host of each rank.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns the statistics of each rank, as of the latest time at which the rank advanced.
    #[must_use]
    pub fn accounts(&self) -> Vec<Account> {
        (0..self.accounts.len()).map(|rank| *self.account(rank)).collect()
    }

    /// Makes ranks call `computing` when they begin to compute. Several threads of a run may call it at the same time,
    /// in any order.
    ///
    /// # Panics
    /// If the job already has such a function.
    pub fn observe_computing(&self, computing: Computing) {
        assert!(
            self.computing.set(computing).is_ok(),
            "`observe_computing` must be called at most once for each job"
        );
    }

    fn account(&self, rank: usize) -> MutexGuard<'_, Account> {
        self.accounts[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rank on a host. Each message of the rank is a flow of the host's transport. A message arrives when the transport
/// has delivered its flow.
pub struct Replay {
    job: Arc<Job>,
    rank: Rank,
    number: u32,
    node: NodeId,
    begun: u32,
    /// True if the rank has advanced as far as it can and its messages are being opened as flows.
    hands_over: bool,
    /// Flows that were requested but for which the transport has not yet reported a name.
    unnamed: FxHashMap<FlowId, Outgoing>,
    /// The send operation that finishes when a flow is closed, keyed by the flow's name on the wire.
    sending: FxHashMap<FlowKey, u32>,
}

impl Replay {
    /// Creates a rank of a job.
    ///
    /// # Panics
    /// If the job has no such rank.
    #[must_use]
    pub fn new(job: Arc<Job>, rank: u32, program: Program) -> Self {
        Self {
            rank: Rank::new(rank, program, job.settings),
            number: rank,
            node: job.nodes[rank as usize],
            job,
            begun: 0,
            hands_over: false,
            unnamed: FxHashMap::default(),
            sending: FxHashMap::default(),
        }
    }

    /// Returns the next flow to open; `None` if the rank has no more messages to send now.
    fn next_flow(&mut self, now: Time) -> Option<Flow> {
        let outgoing = self.rank.next_outgoing()?;
        // Numbers count down from the maximum, so that they do not collide with the numbers of the workload's
        // flows.
        let id = FlowId(u32::MAX - self.begun);
        self.begun = self.begun.wrapping_add(1);
        let flow = Flow::new(id, self.node, self.job.nodes[outgoing.to as usize], Bytes(outgoing.bytes), now);
        self.unnamed.insert(id, outgoing);
        Some(flow)
    }
}

impl Application for Replay {
    fn hear(&mut self, _: Time, report: &Report) {
        match *report {
            Report::Opened { flow, key } => {
                if let Some(outgoing) = self.unnamed.remove(&flow) {
                    self.job.payloads.put(key, outgoing.message);
                    self.sending.extend(outgoing.send.map(|send| (key, send)));
                }
            }
            Report::Delivered { key, .. } => {
                if let Some(message) = self.job.payloads.take(key) {
                    self.rank.receive(message);
                }
            }
            Report::Closed { key, .. } => {
                if let Some(send) = self.sending.remove(&key) {
                    self.rank.is_sent(send);
                }
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Request {
        if !self.hands_over {
            self.hands_over = self.rank.advance(now);
            let computed = self.rank.take_computed();
            match self.job.computing.get() {
                Some(computing) => computed.for_each(|(from, to)| computing(self.number, from, to)),
                None => drop(computed),
            }
        }
        if self.hands_over {
            if let Some(flow) = self.next_flow(now) {
                return Request::Open(flow);
            }
            self.hands_over = false;
            *self.job.account(self.number as usize) = self.rank.account();
        }
        match self.rank.account().finished {
            Some(_) => Request::Finished,
            None => Request::WakeAt(self.rank.wake()),
        }
    }

    fn waits_for(&self) -> Option<String> {
        self.rank.waits_for()
    }
}
