//! One rank as a state machine: it computes, sends and receives as its program specifies (specifications/cee.md §6.5).

use super::matching::Waiting;
use super::order::{Order, Slot};
use super::{Operation, Program};
use raddle_core::text::Misread;
use raddle_core::{Duration, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Size, in bytes, of a request to send, and of the reply to a request.
const HANDSHAKE: u64 = 64;

/// Parameters of the message exchange between ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Messages that have fewer bytes than this, after scaling, are sent at once (eager). Other messages are sent only
    /// after the receiver has posted its receive (rendezvous).
    pub eager: u64,
    /// Factor by which message sizes are multiplied.
    pub scale: u64,
    /// Length of the read-ahead window: a rank begins an operation only after it has read this many further statements,
    /// or all remaining statements.
    pub window: u64,
}

impl Default for Settings {
    /// Messages below 16 KB are eager, sizes are not scaled, and the window has 4,096 statements (specifications/cee.md
    /// §6.5).
    fn default() -> Self {
        Self { eager: 16_000, scale: 1, window: 4_096 }
    }
}

/// A message, a request or a reply between ranks. Each of these travels as a flow of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole message, sent without a request.
    Eager(Envelope),
    /// A request to send a message.
    Request {
        envelope: Envelope,
        /// The sender's operation.
        send: Slot,
    },
    /// The reply to a request: the receiver is ready.
    Clear { send: Slot, receive: Slot },
    /// The message that a request announced.
    Data {
        /// The receiver's operation.
        receive: Slot,
    },
}

/// The fields of a message that, besides its sender, decide which receive it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Sequence number among the messages from this sender to this receiver. Messages are matched in the
    /// order in which they were sent, even if they arrive in another order.
    number: u64,
    tag: Option<u32>,
}

/// A message that is handed to the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing {
    pub(super) to: u32,
    pub(super) bytes: u64,
    pub(super) message: Message,
    /// The send operation that finishes when the message's flow is closed; `None` if no operation waits for
    /// this.
    pub(super) send: Option<Slot>,
}

/// Statistics of a rank so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Time at which the rank's program finished; `None` before that.
    pub finished: Option<Time>,
    /// Total time of the computations that have begun, summed over the rank's streams.
    pub computed: Duration,
    /// Number of messages whose send operations have begun. Requests and replies do not count.
    pub messages: u64,
    /// Bytes of these messages, after scaling.
    pub bytes: u64,
}

/// The messages and requests of one sender. Each waits in `early` until all earlier messages and
/// requests of the sender have arrived.
#[derive(Debug, Default)]
struct Incoming {
    next: u64,
    early: BTreeMap<u64, Arrived>,
}

/// A message or a request to send a message, after its arrival.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    from: u32,
    tag: Option<u32>,
    /// The sender's operation, if this is a request.
    request: Option<Slot>,
}

pub(super) struct Rank {
    number: u32,
    settings: Settings,
    order: Order<Program>,
    computing: BinaryHeap<Reverse<(Time, Slot)>>,
    /// Number of messages sent to each rank.
    sent: FxHashMap<u32, u64>,
    incoming: FxHashMap<u32, Incoming>,
    posted: Waiting<Slot>,
    unexpected: Waiting<Arrived>,
    outbox: VecDeque<Outgoing>,
    account: Account,
    /// Periods (begin, end) of computation recorded since the latest call of `take_computed`. They do not overlap.
    computed: Vec<(Time, Time)>,
    /// End of the latest period of computation recorded so far.
    computed_until: Time,
    failure: Option<Misread>,
    /// True if an operation has finished, or a reply or a requested message has been queued for the network, since
    /// `advance` last cleared this flag. Also true before the first call of `advance`.
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
            computed: Vec::new(),
            computed_until: Time::ZERO,
            failure: None,
            stirred: true,
        }
    }

    /// Finishes every computation that ends by `now`. If `stirred` is then true and the rank has not failed before,
    /// begins every operation that can begin, and returns true. Otherwise returns false.
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

    /// Returns the time at which the next computation finishes; [`Time::NEVER`] if none is running.
    pub(super) fn wake(&self) -> Time {
        self.computing.peek().map_or(Time::NEVER, |&Reverse((end, _))| end)
    }

    /// Removes and returns the next message for the network.
    pub(super) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// Statistics of the rank so far.
    pub(super) fn account(&self) -> Account {
        self.account
    }

    /// Removes and returns the recorded periods (begin, end) of computation. A period is recorded when its computation
    /// begins, so it may end in the future. The periods do not overlap.
    pub(super) fn take_computed(&mut self) -> impl Iterator<Item = (Time, Time)> {
        self.computed.drain(..)
    }

    fn begin(&mut self, now: Time, slot: Slot, operation: Operation) {
        match operation {
            Operation::Calc { ns } => {
                let time = Duration::from_ps(ns.saturating_mul(1_000));
                self.account.computed = self.account.computed + time;
                if time == Duration::ZERO {
                    self.finish(slot);
                } else {
                    let end = now + time;
                    self.computing.push(Reverse((end, slot)));
                    // Streams may compute at the same time. Only the part of the computation after the recorded periods
                    // is recorded.
                    let begin = now.max(self.computed_until);
                    if begin < end {
                        self.computed.push((begin, end));
                        self.computed_until = end;
                    }
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
            // A message from a rank to itself does not use the network.
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

    /// Handles a message that has arrived from the network.
    pub(super) fn receive(&mut self, Message { from, kind }: Message) {
        match kind {
            Kind::Eager(envelope) => self.arrive(from, envelope, None),
            Kind::Request { envelope, send } => self.arrive(from, envelope, Some(send)),
            Kind::Clear { send, receive } => {
                let Operation::Send { bytes, .. } = self.order.step(send).operation else {
                    unreachable!("a reply to a request to send must refer to a send operation")
                };
                let bytes = bytes.max(1).saturating_mul(self.settings.scale);
                let message = Message { from: self.number, kind: Kind::Data { receive } };
                self.outbox.push_back(Outgoing { to: from, bytes, message, send: Some(send) });
                self.stirred = true;
            }
            Kind::Data { receive } => self.finish(receive),
        }
    }

    /// Handles an envelope that has arrived. The envelope is matched once all earlier envelopes of the same sender have
    /// arrived.
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

    /// Handles a receive that is matched with a message or with a request to send a message.
    fn join(&mut self, receive: Slot, arrived: Arrived) {
        let Some(send) = arrived.request else { return self.finish(receive) };
        let message = Message { from: self.number, kind: Kind::Clear { send, receive } };
        self.outbox.push_back(Outgoing { to: arrived.from, bytes: HANDSHAKE, message, send: None });
        self.stirred = true;
    }

    /// Finishes the send operation of a requested message. Called when the sender knows that the message's flow is
    /// complete.
    pub(super) fn is_sent(&mut self, send: Slot) {
        self.finish(send);
    }

    fn finish(&mut self, slot: Slot) {
        self.order.finish(slot);
        self.stirred = true;
    }

    /// Describes what the rank waits for; `None` if its program has finished.
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
            return Some(format!(
                "rank {rank} waits at line {first} for dependencies that are never satisfied"
            ));
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
            more => format!(", and for {more} more operation(s)"),
        };
        Some(format!("rank {rank} waits at line {} {what}{more}", step.line))
    }
}

#[cfg(test)]
mod tests;
