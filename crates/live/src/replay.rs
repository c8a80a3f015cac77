//! Runs one node alone on the real clock, with inputs that were recorded in another run: Maze's replay of recorded flow
//! events (Costa et al., SIGCOMM 2015, §5.1).
//!
//! [`record`] puts a listener in front of a host. The listener records the packets that the host receives and the flows
//! that start at the host, each with its time. [`Recording::replay`] gives the recorded inputs to another host, at the
//! same times of the real clock. [`Recording::rush`] jumps from one input to the next without waiting. The host always
//! computes with the due times of its inputs. So a late thread does not change what the host computes.
//!
//! # Differs from a node of a rack
//! - In a [rack](crate::rack), a host computes with the clock if a packet is very late.
//! - The state of the node's ports never changes, and the packets that the node sends are discarded. This does not
//!   affect an R2C2 node whose flows all have rates, because only these rates determine when its packets leave.
//! - A replay lacks the packets that were lost, the packets that the node relayed, and the packets that the listener
//!   did not keep. It also lacks the host's inputs other than packets and flows, such as reports of drops.

use crate::rack::{Clock, Fidelity, Meter, Steal};
use raddle_core::{
    Decoders, Duration, Flow, FlowKey, Host, Input, Output, Packet, PortId, PortState, Ports, Time,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The inputs of a host, with their times.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    heard: Vec<Heard>,
    /// The bytes of all recorded packets, one packet after the other.
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
    /// A packet arrives at `port`: the next `len` bytes of the recording's `bytes`.
    Packet { port: PortId, len: u32 },
    /// The next flow of the recording's `flows` starts.
    Flow,
}

/// A host, and the recording of its inputs.
struct Listener {
    host: Box<dyn Host>,
    keeps: fn(&Packet) -> bool,
    recording: Arc<Mutex<Recording>>,
}

/// Records the inputs of a host: the flows that start at the host, and the packets for which `keeps` is true. Returns
/// the host that replaces `host`, and the recording.
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
    /// Number of recorded packets.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.heard.len() - self.flows.len()
    }

    fn keep(&mut self, at: Time, packet: &Packet, port: PortId) {
        let begin = self.bytes.len();
        packet.encode(&mut self.bytes);
        let len = u32::try_from(self.bytes.len() - begin).expect("a packet's size in bytes must fit 32 bits");
        self.heard.push(Heard { at, what: What::Packet { port, len } });
    }

    fn keep_flow(&mut self, at: Time, flow: &Flow) {
        self.flows.push(*flow);
        self.heard.push(Heard { at, what: What::Flow });
    }

    /// Gives `host` all inputs before `until`, on the real clock. `ports` are the ports of the host's node.
    /// `packet_time` is the serialization delay of a full packet. The returned fidelity counts the lateness of all
    /// inputs and wake-ups of the host.
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

    /// Gives `host` all inputs before `until`, without waiting. `ports` are the ports of the host's node.
    pub fn rush(&self, host: &mut impl Host, ports: &[PortState], until: Time) {
        self.give(host, ports, until, |_| {});
    }

    /// Gives `host` all inputs before `until`. Before each input and each wake-up, calls `wait` with its time.
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
                    let packet = Packet::decode(packet, &Decoders::BUILTIN)
                        .expect("a recorded packet must be decodable");
                    host.handle(now, Input::Packet { packet: &packet, port });
                }
                Some(What::Flow) => {
                    let flow = flows.next().expect("`flows` must have a flow for each recorded flow start");
                    host.handle(now, Input::Flow(flow));
                }
                None => {}
            }
            wake = poll(host, now, ports);
        }
    }
}

/// Polls a host until it has nothing more to do now. Returns the time at which the host wants to wake up, or
/// [`Time::NEVER`].
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
