//! One rank as a state machine: it computes, sends and receives as its program says (specs/cee.md §6.5).

use super::matching::Waiting;
use super::order::{Order, Slot};
use super::{Operation, Program};
use raddle_core::text::Misread;
use raddle_core::{Duration, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Bytes of a request to send and of its answer.
const HANDSHAKE: u64 = 64;

/// How ranks speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Messages smaller than this are sent at once, without asking (eagerly); others once the receiver has posted its
    /// receive (rendezvous).
    pub eager: u64,
    /// What message sizes are multiplied by.
    pub scale: u64,
    /// Statements that a rank reads ahead of what it lets begin.
    pub window: u64,
}

impl Default for Settings {
    /// Up to 16 KB eagerly, sizes as they are, 4,096 statements (specs/cee.md §6.5).
    fn default() -> Self {
        Self { eager: 16_000, scale: 1, window: 4_096 }
    }
}

/// What one rank tells another. It travels as a flow of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole message, sent without asking.
    Eager(Envelope),
    /// A request to send a message.
    Request {
        envelope: Envelope,
        /// The sender's operation.
        send: Slot,
    },
    /// The answer to a request: the receiver is ready.
    Clear { send: Slot, receive: Slot },
    /// The message that was asked for.
    Data {
        /// The receiver's operation.
        receive: Slot,
    },
}

/// By what a message is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Its place among those from this sender to this receiver: they are matched in the order in which they were sent,
    /// in whatever order they come.
    number: u64,
    tag: Option<u32>,
}

/// Something for the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing {
    pub(super) to: u32,
    pub(super) bytes: u64,
    pub(super) message: Message,
    /// The operation that has finished when the sender is done with it.
    pub(super) send: Option<Slot>,
}

/// What a rank has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// When its program came to its end.
    pub finished: Option<Time>,
    /// How long its streams computed, in all.
    pub computed: Duration,
    /// Messages that it sent, requests and answers aside.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Envelopes from one sender that came before others that it had sent before.
#[derive(Debug, Default)]
struct Incoming {
    next: u64,
    early: BTreeMap<u64, Arrived>,
}

/// A message, or the request to send one, that has come.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    from: u32,
    tag: Option<u32>,
    /// The sender's operation, if the sender asks.
    request: Option<Slot>,
}

/// One rank.
pub(super) struct Rank {
    number: u32,
    settings: Settings,
    order: Order<Program>,
    computing: BinaryHeap<Reverse<(Time, Slot)>>,
    /// Messages sent to each rank.
    sent: FxHashMap<u32, u64>,
    incoming: FxHashMap<u32, Incoming>,
    posted: Waiting<Slot>,
    unexpected: Waiting<Arrived>,
    outbox: VecDeque<Outgoing>,
    account: Account,
    failure: Option<Misread>,
    /// Whether something has happened since it last went as far as it could.
    stirred: bool,
}

impl Rank {
    pub(super) fn new(number: u32, program: Program, settings: Settings) -> Self {
        Self {
            number,
            settings,
            order: Order::new(program, settings.window),
            computing: BinaryHeap::new(),
            sent: FxHashMap::default(),
            incoming: FxHashMap::default(),
            posted: Waiting::default(),
            unexpected: Waiting::default(),
            outbox: VecDeque::new(),
            account: Account::default(),
            failure: None,
            stirred: true,
        }
    }

    /// Goes as far as it can at `now`. Returns whether it had anything to do.
    pub(super) fn advance(&mut self, now: Time) -> bool {
        while let Some(&Reverse((end, slot))) = self.computing.peek()
            && end <= now
        {
            self.computing.pop();
            self.finish(slot);
        }
        if !std::mem::take(&mut self.stirred) || self.failure.is_some() {
            return false;
        }
        loop {
            match self.order.begin() {
                Ok(Some((slot, operation))) => self.begin(now, slot, operation),
                Ok(None) => break,
                Err(failure) => {
                    self.failure = Some(failure);
                    break;
                }
            }
        }
        if self.order.is_finished() && self.account.finished.is_none() {
            self.account.finished = Some(now);
        }
        true
    }

    /// When it has something to do by itself.
    pub(super) fn wake(&self) -> Time {
        self.computing.peek().map_or(Time::NEVER, |&Reverse((end, _))| end)
    }

    /// The next thing for the network.
    pub(super) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// What it has done so far.
    pub(super) fn account(&self) -> Account {
        self.account
    }

    fn begin(&mut self, now: Time, slot: Slot, operation: Operation) {
        match operation {
            Operation::Calc { ns } => {
                let time = Duration::from_ps(ns.saturating_mul(1_000));
                self.account.computed = self.account.computed + time;
                if time == Duration::ZERO {
                    self.finish(slot);
                } else {
                    self.computing.push(Reverse((now + time, slot)));
                }
            }
            Operation::Send { bytes, to, tag } => self.send(slot, bytes, to, tag),
            Operation::Recv { from, tag, .. } => match self.unexpected.take((from, tag)) {
                Some(arrived) => self.join(slot, arrived),
                None => self.posted.push((from, tag), slot),
            },
        }
    }

    fn send(&mut self, slot: Slot, bytes: u64, to: u32, tag: Option<u32>) {
        let bytes = bytes.max(1).saturating_mul(self.settings.scale);
        self.account.messages += 1;
        self.account.bytes = self.account.bytes.saturating_add(bytes);
        let number = self.sent.entry(to).or_default();
        let envelope = Envelope { number: *number, tag };
        *number += 1;
        let from = self.number;
        if to == from {
            // Through its own memory.
            self.finish(slot);
            self.arrive(from, envelope, None);
        } else if bytes < self.settings.eager {
            let message = Message { from, kind: Kind::Eager(envelope) };
            self.outbox.push_back(Outgoing { to, bytes, message, send: None });
            self.finish(slot);
        } else {
            let message = Message { from, kind: Kind::Request { envelope, send: slot } };
            self.outbox.push_back(Outgoing { to, bytes: HANDSHAKE, message, send: None });
        }
    }

    /// Something has come from the network.
    pub(super) fn receive(&mut self, Message { from, kind }: Message) {
        match kind {
            Kind::Eager(envelope) => self.arrive(from, envelope, None),
            Kind::Request { envelope, send } => self.arrive(from, envelope, Some(send)),
            Kind::Clear { send, receive } => {
                let Operation::Send { bytes, .. } = self.order.step(send).operation else {
                    unreachable!("only sends are answered")
                };
                let bytes = bytes.max(1).saturating_mul(self.settings.scale);
                let message = Message { from: self.number, kind: Kind::Data { receive } };
                self.outbox.push_back(Outgoing { to: from, bytes, message, send: Some(send) });
                self.stirred = true;
            }
            Kind::Data { receive } => self.finish(receive),
        }
    }

    /// An envelope has come: it is matched when all that were sent before it have come.
    fn arrive(&mut self, from: u32, Envelope { number, tag }: Envelope, request: Option<Slot>) {
        let incoming = self.incoming.entry(from).or_default();
        incoming.early.insert(number, Arrived { from, tag, request });
        while let Some(incoming) = self.incoming.get_mut(&from)
            && let Some(arrived) = incoming.early.remove(&incoming.next)
        {
            incoming.next += 1;
            match self.posted.take((Some(from), arrived.tag)) {
                Some(slot) => self.join(slot, arrived),
                None => self.unexpected.push((Some(from), arrived.tag), arrived),
            }
        }
    }

    /// A receive has got its message, or the request to send it.
    fn join(&mut self, receive: Slot, arrived: Arrived) {
        let Some(send) = arrived.request else { return self.finish(receive) };
        let message = Message { from: self.number, kind: Kind::Clear { send, receive } };
        self.outbox.push_back(Outgoing { to: arrived.from, bytes: HANDSHAKE, message, send: None });
        self.stirred = true;
    }

    /// The sender of a message that was asked for is done with it.
    pub(super) fn is_sent(&mut self, send: Slot) {
        self.finish(send);
    }

    fn finish(&mut self, slot: Slot) {
        self.order.finish(slot);
        self.stirred = true;
    }

    /// What it waits for, in words, if it has not come to its end.
    pub(super) fn waits_for(&self) -> Option<String> {
        if self.order.is_finished() {
            return None;
        }
        let rank = self.number;
        if let Some(failure) = &self.failure {
            return Some(format!("rank {rank} stopped: {failure}"));
        }
        let steps = self.order.unfinished();
        let (begun, held): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| step.begun);
        let Some(step) = begun.first() else {
            let first = held.first().map_or(0, |step| step.line);
            return Some(format!("rank {rank} waits at line {first} for dependencies that nothing meets"));
        };
        let name = |what: &str, number: Option<u32>| {
            number.map_or_else(|| format!("any {what}"), |number| format!("{what} {number}"))
        };
        let what = match step.operation {
            Operation::Calc { ns } => format!("for a calculation of {ns} ns"),
            Operation::Send { bytes, to, tag } => {
                format!("for rank {to} to receive {bytes} bytes with {}", name("tag", tag))
            }
            Operation::Recv { bytes, from, tag } => {
                format!("for {bytes} bytes from {} with {}", name("rank", from), name("tag", tag))
            }
        };
        let more = match begun.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Some(format!("rank {rank} waits at line {} {what}{more}", step.line))
    }
}

#[cfg(test)]
mod tests;
