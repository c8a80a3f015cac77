//! Ranks on hosts, above any transport.

use super::Program;
use super::payloads::Payloads;
use super::rank::{Account, Outgoing, Rank, Settings};
use raddle_core::{Bytes, Flow, FlowId, FlowKey, Host, Input, NodeId, Output, Packet, Ports, Report, Time};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A job: ranks on hosts, one a host at most, and what they share.
pub struct Job {
    settings: Settings,
    /// The host of each rank.
    nodes: Vec<NodeId>,
    payloads: Payloads,
    /// By rank.
    accounts: Vec<Mutex<Account>>,
}

impl Job {
    /// A job whose ranks run on these hosts.
    ///
    /// # Panics
    /// If two ranks share a host.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, settings: Settings) -> Self {
        let mut distinct = nodes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), nodes.len(), "a host has one rank at most");
        let accounts = nodes.iter().map(|_| Mutex::default()).collect();
        Self { settings, nodes, payloads: Payloads::new(), accounts }
    }

    /// The host of each rank.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// What each rank has done, as of the last time that its host was asked what it wants.
    #[must_use]
    pub fn accounts(&self) -> Vec<Account> {
        (0..self.accounts.len()).map(|rank| *self.account(rank)).collect()
    }

    fn account(&self, rank: usize) -> MutexGuard<'_, Account> {
        self.accounts[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A host on which a rank runs: the rank's messages are flows of the transport that the host has.
///
/// A message is there when the transport has delivered its flow. It reports flows as begun by a program
/// ([`Report::Began`]), and the end of the program ([`Report::Finished`]).
pub struct Replay {
    job: Arc<Job>,
    rank: Rank,
    number: usize,
    node: NodeId,
    transport: Box<dyn Host>,
    begun: u32,
    /// Flows that the transport has not yet named.
    unnamed: FxHashMap<FlowId, (Flow, Outgoing)>,
    /// Flows at whose end a send has finished, by name.
    sending: FxHashMap<FlowKey, u32>,
    is_finished: bool,
}

impl Replay {
    /// The host of a rank of a job, which speaks by that transport's host.
    ///
    /// # Panics
    /// If the job has no such rank.
    #[must_use]
    pub fn new(job: Arc<Job>, rank: u32, program: Program, transport: Box<dyn Host>) -> Self {
        Self {
            rank: Rank::new(rank, program, job.settings),
            number: rank as usize,
            node: job.nodes[rank as usize],
            job,
            transport,
            begun: 0,
            unnamed: FxHashMap::default(),
            sending: FxHashMap::default(),
            is_finished: false,
        }
    }

    /// Lets the rank go as far as it can, and hands its messages to the transport.
    fn advance(&mut self, now: Time) {
        if !self.rank.advance(now) {
            return;
        }
        while let Some(outgoing) = self.rank.next_outgoing() {
            // Counted down, clear of the workload's own flows.
            let id = FlowId(u32::MAX - self.begun);
            self.begun = self.begun.wrapping_add(1);
            let to = self.job.nodes[outgoing.to as usize];
            let flow = Flow::new(id, self.node, to, Bytes(outgoing.bytes), now);
            self.unnamed.insert(id, (flow, outgoing));
            self.transport.handle(now, Input::Flow(&flow));
        }
        *self.job.account(self.number) = self.rank.account();
    }

    /// What the observer is to hear of a report of the transport's.
    fn hear(&mut self, report: Report) -> Report {
        match report {
            Report::Opened { flow, key } => {
                if let Some((flow, outgoing)) = self.unnamed.remove(&flow) {
                    self.job.payloads.put(key, outgoing.message);
                    self.sending.extend(outgoing.send.map(|send| (key, send)));
                    return Report::Began { key, dst: flow.dst, size: flow.size };
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
        report
    }
}

impl Host for Replay {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.transport.handle(now, input);
    }

    fn foresee(&self, packet: &Packet) -> Option<*const u8> {
        self.transport.foresee(packet)
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        self.advance(now);
        let wake = match self.transport.poll(now, ports) {
            Output::Report(report) => return Output::Report(self.hear(report)),
            Output::WakeAt(at) => at,
            Output::Idle => Time::NEVER,
            send @ Output::Send { .. } => return send,
        };
        if self.rank.account().finished.is_some() && !std::mem::replace(&mut self.is_finished, true) {
            return Output::Report(Report::Finished);
        }
        Output::WakeAt(wake.min(self.rank.wake()))
    }

    fn begins(&self) -> Option<Time> {
        Some(Time::ZERO)
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        self.transport.retransmissions()
    }

    fn waits_for(&self) -> Option<String> {
        self.rank.waits_for()
    }
}
