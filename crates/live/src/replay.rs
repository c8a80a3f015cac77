//! One node alone, which hears on the real clock what it heard in another run: Maze's replay of recorded flow events (Costa et al.,
//! SIGCOMM 2015, §5.1).
//!
//! [`record`] puts a listener in front of a host. The listener keeps the bytes of packets that the host is given, the flows that
//! start there, and when. [`Recording::replay`] gives the same to another host at the same times of the real clock;
//! [`Recording::rush`] lets time jump from one event to the next. As in a [rack](crate::rack), the host goes by the times at which events are
//! due, so that a thread that is late changes nothing in what the host computes.
//!
//! # Differs from a node of a rack
//! - The node's ports are idle for ever, and what it sends goes nowhere. An R2C2 node whose flows all have rates does not
//!   notice: nothing but these rates says when its packets leave.
//! - Packets that are not kept, those that the node relays, and packets that were lost do not come again.

use crate::rack::{Clock, Fidelity, Meter, Steal};
use raddle_core::{
    Decoders, Duration, Flow, FlowKey, Host, Input, Output, Packet, PortId, PortState, Ports, Time,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The inputs of a host, with their times.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    heard: Vec<Heard>,
    /// The bytes of packets, one after the other.
    bytes: Vec<u8>,
    flows: Vec<Flow>,
}

/// One input of a host.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Time,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The next packet, of so many bytes.
    Packet { port: PortId, len: u32 },
    /// The next flow starts.
    Flow,
}

/// A host, and a place where all that it hears is written down.
struct Listener {
    host: Box<dyn Host>,
    keeps: fn(&Packet) -> bool,
    recording: Arc<Mutex<Recording>>,
}

/// Writes down what a host hears: the flows that start there, and the packets that `keeps` holds for. The host that is returned takes its
/// place.
#[must_use]
pub fn record(host: Box<dyn Host>, keeps: fn(&Packet) -> bool) -> (Box<dyn Host>, Arc<Mutex<Recording>>) {
    let recording = Arc::<Mutex<Recording>>::default();
    (Box::new(Listener { host, keeps, recording: Arc::clone(&recording) }), recording)
}

impl Host for Listener {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        let recording = || self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        match input {
            Input::Packet { packet, port } if (self.keeps)(packet) => recording().keep(now, packet, port),
            Input::Flow(flow) => recording().keep_flow(now, flow),
            _ => {}
        }
        self.host.handle(now, input);
    }

    fn foresee(&self, packet: &Packet) {
        self.host.foresee(packet);
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        self.host.poll(now, ports)
    }

    fn carries_streams(&self) -> bool {
        self.host.carries_streams()
    }

    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        self.host.retransmissions()
    }
}

impl Recording {
    /// Packets that the host heard.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.heard.len() - self.flows.len()
    }

    fn keep(&mut self, at: Time, packet: &Packet, port: PortId) {
        let begin = self.bytes.len();
        packet.encode(&mut self.bytes);
        let len = u32::try_from(self.bytes.len() - begin).expect("a packet's size fits 32 bits");
        self.heard.push(Heard { at, what: What::Packet { port, len } });
    }

    fn keep_flow(&mut self, at: Time, flow: &Flow) {
        self.flows.push(*flow);
        self.heard.push(Heard { at, what: What::Flow });
    }

    /// Gives `host` on the real clock all that happened before `until`. `ports` are its node's. The lateness that is returned is
    /// that of everything the host heard or woke up for; a full packet takes `packet_time`.
    pub fn replay(
        &self,
        host: &mut impl Host,
        ports: &[PortState],
        until: Time,
        packet_time: Duration,
    ) -> Fidelity {
        let steal = Steal::now();
        let mut meter = Meter::new();
        let clock = Clock::new(1, None);
        let mut last = clock.real_ns();
        self.give(host, ports, until, |at| {
            loop {
                let real = clock.real_ns();
                meter.round(real - last);
                last = real;
                let now = clock.at(real);
                if now >= at {
                    meter.late(now.since(at).as_ps() / 1_000);
                    return;
                }
                std::hint::spin_loop();
            }
        });
        let steal = steal.zip(Steal::now()).map(|(before, after)| before.share_until(after));
        meter.report(packet_time, clock.dilation(), 0, steal, 0.0)
    }

    /// Gives `host` as fast as possible all that happened before `until`. `ports` are its node's.
    pub fn rush(&self, host: &mut impl Host, ports: &[PortState], until: Time) {
        self.give(host, ports, until, |_| {});
    }

    /// Gives `host` all that happened before `until`, after `wait` has waited for its time.
    fn give(&self, host: &mut impl Host, ports: &[PortState], until: Time, mut wait: impl FnMut(Time)) {
        let mut heard = self.heard.iter().peekable();
        let (mut bytes, mut flows) = (&self.bytes[..], self.flows.iter());
        let mut wake = poll(host, Time::ZERO, ports);
        loop {
            let next = heard.peek().map_or(Time::NEVER, |next| next.at);
            let now = next.min(wake);
            if now >= until || now == Time::NEVER {
                return;
            }
            wait(now);
            match heard.next_if(|next| next.at == now).map(|next| next.what) {
                Some(What::Packet { port, len }) => {
                    let (packet, rest) = bytes.split_at(len as usize);
                    bytes = rest;
                    let packet = Packet::decode(packet, &Decoders::BUILTIN).expect("the bytes of a packet");
                    host.handle(now, Input::Packet { packet: &packet, port });
                }
                Some(What::Flow) => {
                    let flow = flows.next().expect("a flow for each start");
                    host.handle(now, Input::Flow(flow));
                }
                None => {}
            }
            wake = poll(host, now, ports);
        }
    }
}

/// Lets a host do all that it wants now. Returns when it wants to wake up.
fn poll(host: &mut impl Host, now: Time, ports: &[PortState]) -> Time {
    loop {
        match host.poll(now, &Ports(ports)) {
            Output::Send { .. } | Output::Report(_) => {}
            Output::WakeAt(at) if at <= now => {}
            Output::WakeAt(at) => return at,
            Output::Idle => return Time::NEVER,
        }
    }
}
