//! Puts TCP segments back in order below the transport, so that one that overtook others on another path does not look
//! like a loss: the shim below TCP of DRILL (SIGCOMM 2017, §3.3) and the offloading of Presto (SIGCOMM 2015, §3.2).
//!
//! A data segment that comes early waits until those before it have come, but no longer than a given time: then it goes
//! up, and TCP sees the gap. What comes late, or again, goes up at once. With flowcells, which keep to one path, a gap
//! within one is a loss, and nothing waits for it.
//!
//! Differs from the papers: the time to wait is fixed, where Presto follows the delays that it has seen; segments go up
//! one by one, not merged into larger ones, so each has its acknowledgement.
//!
//! Cost: a hash look-up for each data segment; out of order, a binary search and a heap operation besides.

use crate::parameter::{Parameter, Value};
use raddle_core::{Duration, FlowKey, Header, Host, Input, Output, Packet, PortId, Ports, Report, Time};
use raddle_wire::tcp::{FIN, SYN, Segment};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parameter of routings whose hosts put packets back in order. 100 us is what a queue of 80 full packets takes at
/// 10 Gb/s, and less than any retransmission timeout in use.
pub const HOLD: Parameter = Parameter::new(
    "hold",
    Value::Duration(Duration::from_us(100)),
    "how long receivers keep TCP segments that overtook others from TCP; 0 passes them up as they come",
);

/// The parameter of routings that keep so many bytes of a flow on one path.
pub const FLOWCELL: Parameter =
    Parameter::new("flowcell", Value::Bytes(1 << 16), "bytes of a flow that take one path, then the next do")
        .within(1.0, (1_u64 << 31) as f64);

/// What early segments wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// At most so long.
    pub time: Duration,
    /// Sequence numbers of a flowcell, in which nothing is overtaken.
    pub flowcell: Option<u32>,
}

impl Hold {
    /// So long, or not at all if that is no time.
    pub fn new(time: Duration, flowcell: Option<u32>) -> Option<Self> {
        (time > Duration::ZERO).then_some(Self { time, flowcell })
    }
}

/// The sequence number of a flow's first byte. Hosts agree on it, since there may be no SYN; about another one they would
/// only be wrong for the first packets.
const FIRST: u32 = 1;

/// A flow that has been silent for so long may be forgotten.
const SILENCE: Duration = Duration::from_ms(1_000);

/// Flows below which forgetting is not worth it.
const FEW: usize = 64;

/// A host that sees segments in order.
pub struct Reordering {
    host: Box<dyn Host>,
    hold: Hold,
    flows: FxHashMap<FlowKey, Incoming>,
    /// How many flows there are when silent ones are forgotten next. It says so itself, since how many a map has room for
    /// differs from machine to machine.
    sweep_at: usize,
    /// When early segments of a flow have waited long enough, earliest first; out of date unless the flow agrees.
    due: BinaryHeap<Reverse<(Time, FlowKey)>>,
    /// What goes up next, in order.
    ready: VecDeque<Early>,
}

/// A flow that this host receives.
#[derive(Debug)]
struct Incoming {
    /// All before this sequence number has gone up.
    next: u32,
    heard: Time,
    /// What has come early, by sequence number.
    early: VecDeque<Early>,
    /// When the first of it has waited long enough; [`Time::NEVER`] if there is none.
    due: Time,
}

#[derive(Debug)]
struct Early {
    packet: Packet,
    port: PortId,
    seq: u32,
    /// One past its last sequence number.
    end: u32,
    /// When it has waited long enough.
    due: Time,
}

impl Reordering {
    /// `host`, below which segments are put in order.
    #[must_use]
    pub fn new(host: Box<dyn Host>, hold: Hold) -> Self {
        Self {
            host,
            hold,
            flows: FxHashMap::default(),
            sweep_at: FEW,
            due: BinaryHeap::new(),
            ready: VecDeque::new(),
        }
    }

    /// Takes in a data segment: it goes up, or waits.
    fn take(&mut self, now: Time, packet: &Packet, segment: &Segment, port: PortId) {
        let key = segment.key();
        if self.flows.len() >= self.sweep_at && !self.flows.contains_key(&key) {
            self.flows.retain(|_, flow| !flow.early.is_empty() || now.since(flow.heard) < SILENCE);
            self.sweep_at = FEW.max(2 * self.flows.len());
        }
        let flow = self.flows.entry(key).or_insert_with(|| Incoming {
            next: FIRST,
            heard: now,
            early: VecDeque::new(),
            due: Time::NEVER,
        });
        flow.heard = now;
        let end = end(segment);
        if is_before(flow.next, segment.seq) && !self.hold.is_loss(flow.next, segment.seq) {
            let due = now + self.hold.time;
            flow.insert(Early { packet: packet.clone(), port, seq: segment.seq, end, due });
            if due < flow.due {
                flow.due = due;
                self.due.push(Reverse((due, key)));
            }
            return;
        }
        self.host.handle(now, Input::Packet { packet, port });
        if is_before(flow.next, end) {
            flow.next = end;
        }
        if !flow.early.is_empty() {
            flow.release(now, &mut self.ready);
            self.due.extend(flow.next_due().map(|due| Reverse((due, key))));
        }
    }

    /// When a flow's early segments have waited long enough.
    fn next_due(&mut self) -> Time {
        while let Some(&Reverse((due, key))) = self.due.peek() {
            if self.flows.get(&key).is_some_and(|flow| flow.due == due) {
                return due;
            }
            self.due.pop();
        }
        Time::NEVER
    }

    /// Lets go of what has waited long enough in the flow that is due.
    #[cold]
    fn expire(&mut self, now: Time) {
        if let Some(Reverse((_, key))) = self.due.pop()
            && let Some(flow) = self.flows.get_mut(&key)
        {
            flow.release(now, &mut self.ready);
            self.due.extend(flow.next_due().map(|due| Reverse((due, key))));
        }
    }
}

impl Hold {
    /// Whether what is missing at `next`, with `seq` here, is lost rather than overtaken.
    fn is_loss(self, next: u32, seq: u32) -> bool {
        self.flowcell.is_some_and(|bytes| cell(next, bytes) == cell(seq, bytes))
    }
}

impl Incoming {
    fn insert(&mut self, segment: Early) {
        let place = self.early.partition_point(|other| is_before(other.seq, segment.seq));
        self.early.insert(place, segment);
    }

    /// Moves to `ready` what nothing is missing before, and what has waited long enough with all before it.
    fn release(&mut self, now: Time, ready: &mut VecDeque<Early>) {
        let expired = self.early.iter().rposition(|segment| segment.due <= now).map_or(0, |last| last + 1);
        let mut count = 0;
        while let Some(segment) = self.early.get(count)
            && (count < expired || !is_before(self.next, segment.seq))
        {
            if is_before(self.next, segment.end) {
                self.next = segment.end;
            }
            count += 1;
        }
        ready.extend(self.early.drain(..count));
    }

    /// When the first of what is early has waited long enough, if anything is.
    fn next_due(&mut self) -> Option<Time> {
        let due = self.early.iter().map(|segment| segment.due).min();
        self.due = due.unwrap_or(Time::NEVER);
        due
    }
}

impl Host for Reordering {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Packet { packet: packet @ Packet { header: Header::Tcp(segment), .. }, port }
                if segment.from_data_sender() =>
            {
                self.take(now, packet, segment, port);
            }
            input => self.host.handle(now, input),
        }
    }

    fn foresee(&self, packet: &Packet) {
        self.host.foresee(packet);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        loop {
            let wake = match self.host.poll(now, ports) {
                Output::WakeAt(at) => at,
                Output::Idle => Time::NEVER,
                output => {
                    if let Output::Report(Report::Delivered { key, .. }) = &output {
                        self.flows.remove(key);
                    }
                    return output;
                }
            };
            if let Some(Early { packet, port, .. }) = self.ready.pop_front() {
                self.host.handle(now, Input::Packet { packet: &packet, port });
                continue;
            }
            let due = self.next_due();
            if due > now {
                return Output::WakeAt(wake.min(due));
            }
            self.expire(now);
        }
    }

    fn carries_streams(&self) -> bool {
        self.host.carries_streams()
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        self.host.retransmissions()
    }
}

/// The number of the flowcell, of so many bytes, that a sequence number is in.
pub(crate) fn cell(seq: u32, bytes: u32) -> u32 {
    seq.wrapping_sub(FIRST) / bytes
}

/// One past a segment's last sequence number.
fn end(segment: &Segment) -> u32 {
    let flags = u32::from(segment.flags & SYN != 0) + u32::from(segment.flags & FIN != 0);
    segment.seq.wrapping_add(u32::from(segment.plen) + flags)
}

/// Whether sequence number `a` comes before `b`.
fn is_before(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

#[cfg(test)]
mod tests;
