//! Puts TCP segments back in order below the transport. TCP would otherwise treat the gap before a segment that
//! overtook other segments as a loss. DRILL (SIGCOMM 2017, §3.3) restores the order in a shim below TCP, and Presto
//! (SIGCOMM 2015, §3.2) in its receive offload.
//!
//! An early data segment waits for the segments before it, but no longer than a given time. After that time the segment
//! is passed up, and TCP sees the gap. A segment that fills the gap, or repeats data that TCP already has, is passed up
//! at once. A flowcell takes a single path, so a gap within a flowcell is a loss, and segments do not wait for the
//! missing segment.
//!
//! Differs from the papers: the waiting time is fixed, while Presto adapts it to measured delays. Segments are passed
//! up one by one and are not merged, so TCP acknowledges each segment by itself (unless it delays acknowledgements).
//!
//! Cost: a hash look-up per data segment, and a binary search and a heap operation per out-of-order segment.

use crate::parameter::{Parameter, Value};
use raddle_core::{Duration, FlowKey, Header, Host, Input, Output, Packet, PortId, Ports, Report, Time};
use raddle_wire::tcp::{FIN, SYN, Segment};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parameter of routings under which hosts put packets back in order. The default of 100 us is the delay of a queue
/// of about 80 full packets at 10 Gb/s, and is less than TCP's default minimum retransmission timeout of 1 ms.
pub const HOLD: Parameter = Parameter::new(
    "hold",
    Value::Duration(Duration::from_us(100)),
    "longest time for which receivers hold back a TCP segment that arrives out of order; 0 passes all \
     segments to TCP at once",
);

/// The parameter of routings that keep each flowcell of this many bytes on one path.
pub const FLOWCELL: Parameter = Parameter::new(
    "flowcell",
    Value::Bytes(1 << 16),
    "number of bytes of a flow that take one path before the next \
                    path is used",
)
.within(1.0, (1_u64 << 31) as f64);

/// The rule that decides how long early segments wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The longest waiting time.
    pub time: Duration,
    /// Size of a flowcell in bytes, if the routing has flowcells. Segments of one flowcell do not overtake each other.
    pub flowcell: Option<u32>,
}

impl Hold {
    /// A rule with this waiting time; `None` if `time` is zero.
    #[must_use]
    pub fn new(time: Duration, flowcell: Option<u32>) -> Option<Self> {
        (time > Duration::ZERO).then_some(Self { time, flowcell })
    }
}

/// The sequence number of a flow's first byte. This number is fixed because a flow may have no SYN.
const FIRST: u32 = 1;

/// A flow's state may be removed after this time without a segment.
const SILENCE: Duration = Duration::from_ms(1_000);

/// Smallest number of flows at which a host searches its flows for silent ones to remove. With fewer flows the search
/// is not worth its cost.
const FEW: usize = 64;

/// Wraps a host and passes segments up to it in order.
pub struct Reordering {
    host: Box<dyn Host>,
    hold: Hold,
    flows: FxHashMap<FlowKey, Incoming>,
    /// Number of flows at which silent flows are removed the next time. The map's own capacity is not used, because it
    /// differs between platforms.
    sweep_at: usize,
    /// Times at which early segments must be passed up, earliest first. An entry is stale if it differs from the flow's
    /// `due`.
    due: BinaryHeap<Reverse<(Time, FlowKey)>>,
    /// Segments that are passed up next, in order.
    ready: VecDeque<Early>,
}

/// A flow that this host receives.
#[derive(Debug)]
struct Incoming {
    /// All data before this sequence number was passed up, or is no longer waited for.
    next: u32,
    heard: Time,
    /// Early segments, in order of sequence number.
    early: VecDeque<Early>,
    /// Earliest `due` of the early segments; [`Time::NEVER`] if there are none.
    due: Time,
}

#[derive(Debug)]
struct Early {
    packet: Packet,
    port: PortId,
    seq: u32,
    /// The segment's last sequence number, plus 1.
    end: u32,
    /// Time at which the segment is passed up even if a gap remains before it.
    due: Time,
}

impl Reordering {
    /// Wraps `host`, which then receives its segments in order.
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

    /// Handles a data segment, which is passed up or waits.
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

    /// Earliest time at which an early segment of any flow must be passed up. Removes stale entries.
    fn next_due(&mut self) -> Time {
        while let Some(&Reverse((due, key))) = self.due.peek() {
            if self.flows.get(&key).is_some_and(|flow| flow.due == due) {
                return due;
            }
            self.due.pop();
        }
        Time::NEVER
    }

    /// Handles the earliest entry of `due`: passes up segments of the entry's flow.
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
    /// True if the gap between `next` and `seq` is a loss, because both are in the same flowcell.
    fn is_loss(self, next: u32, seq: u32) -> bool {
        self.flowcell.is_some_and(|bytes| cell(next, bytes) == cell(seq, bytes))
    }
}

impl Incoming {
    fn insert(&mut self, segment: Early) {
        let place = self.early.partition_point(|other| is_before(other.seq, segment.seq));
        self.early.insert(place, segment);
    }

    /// Moves segments to `ready`: the segments without a gap before them, and all segments up to the last segment whose
    /// waiting time is over.
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

    /// Updates `due` and returns it; `None` if there are no early segments.
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

/// The number of the flowcell that contains a sequence number; `bytes` is the size of a flowcell.
pub(crate) fn cell(seq: u32, bytes: u32) -> u32 {
    seq.wrapping_sub(FIRST) / bytes
}

/// A segment's last sequence number, plus 1.
fn end(segment: &Segment) -> u32 {
    let flags = u32::from(segment.flags & SYN != 0) + u32::from(segment.flags & FIN != 0);
    segment.seq.wrapping_add(u32::from(segment.plen) + flags)
}

/// True if sequence number `a` precedes `b`.
fn is_before(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

#[cfg(test)]
mod tests;
