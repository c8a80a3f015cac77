//! IP over the streams of a rack's own transport. An IP packet that leaves a host's interface goes to the node with the
//! destination address, as a piece of a stream. Each five-tuple has its own stream. A stream ends once it has had no
//! packet for at least [`SILENCE`]. This module answers the host's ARP requests. IPv6 packets do not cross the rack.

use super::namespace::{Interface, Namespace, NoNamespace};
use super::{ARP, Counts, ETHERNET, IPV4, neighbours, node_of};
use crate::rack::endpoint::{Caller, Endpoint, Gone, Outgoing};
use raddle_core::{FlowKey, NodeId};
use raddle_wire::Mac;
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tun_rs::SyncDevice;

/// A stream ends only after at least this time without a packet.
pub const SILENCE: Duration = Duration::from_millis(10);

/// The IP host at a node: its namespace, and the two threads that carry packets between its interface and the rack.
#[derive(Debug)]
pub struct IpHost {
    namespace: Namespace,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl IpHost {
    /// Creates the namespace of the endpoint's node, and starts to carry packets. Needs the privilege to administer
    /// networks (CAP_NET_ADMIN, CAP_SYS_ADMIN).
    ///
    /// # Errors
    /// [`NoNamespace`], if the system refuses.
    pub fn new(endpoint: Endpoint, interface: &Interface) -> Result<Self, NoNamespace> {
        let node = endpoint.node();
        let (namespace, device) = Namespace::new(node, interface, None)?;
        let device = Arc::new(device);
        let (counts, stop) = (Arc::<Counts>::default(), Arc::<AtomicBool>::default());
        let caller = endpoint.caller();
        let into = Into {
            node,
            nodes: endpoint.nodes(),
            caller,
            streams: HashMap::new(),
            counts: Arc::clone(&counts),
        };
        let reader = {
            let (device, stop) = (Arc::clone(&device), Arc::clone(&stop));
            thread::spawn(move || into.carry(&device, &stop))
        };
        let writer = {
            let (counts, stop) = (Arc::clone(&counts), Arc::clone(&stop));
            thread::spawn(move || out_of_rack(&endpoint, &device, &counts, &stop))
        };
        Ok(Self { namespace, counts, stop, threads: vec![reader, writer] })
    }

    /// The namespace in which the host's programs run.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The packet counts so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl Drop for IpHost {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The key of a flow: the destination node, the protocol, and both ports. The ports are zeros for fragments and for
/// protocols other than TCP and UDP.
type Tuple = (NodeId, u8, [u8; 4]);

/// Carries packets from the interface into the rack.
struct Into {
    node: NodeId,
    nodes: u32,
    caller: Caller,
    /// The streams, each with a flag that is true if a packet has used the stream since the previous check for unused
    /// streams.
    streams: HashMap<Tuple, (Outgoing, bool)>,
    counts: Arc<Counts>,
}

impl Into {
    fn carry(mut self, device: &SyncDevice, stop: &AtomicBool) {
        let mut frame = vec![0; 1 << 16];
        let mut streams_looked_at = clock();
        while !stop.load(Ordering::Relaxed) {
            let len = match device.recv(&mut frame) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(device);
                    0
                }
                Err(_) => return, // the interface is gone
            };
            if len > 0 && self.frame(&frame[..len], device).is_err() {
                return;
            }
            let now = clock();
            if now.saturating_sub(streams_looked_at) >= SILENCE {
                streams_looked_at = now;
                self.streams.retain(|_, (_, was_used)| std::mem::take(was_used));
            }
        }
    }

    /// Handles a frame that has left the interface.
    fn frame(&mut self, frame: &[u8], device: &SyncDevice) -> Result<(), Gone> {
        let Some((header, packet)) = frame.split_at_checked(ETHERNET) else { return Ok(()) };
        match [header[12], header[13]] {
            IPV4 => self.packet(packet),
            ARP => {
                if let Some(answer) = neighbours::answer_arp(packet, |address| node_of(address, self.nodes)) {
                    let _ = device.send(&answer);
                }
                Ok(())
            }
            _ => {
                self.counts.strange.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn packet(&mut self, packet: &[u8]) -> Result<(), Gone> {
        let Some(tuple) = tuple(packet, self.nodes).filter(|&(to, ..)| to != self.node) else {
            self.counts.strange.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        if !self.streams.contains_key(&tuple) {
            self.streams.insert(tuple, (self.caller.open(tuple.0)?, true));
        }
        let Some((stream, was_used)) = self.streams.get_mut(&tuple) else { return Ok(()) };
        *was_used = true;
        let len = u16::try_from(packet.len()).unwrap_or(u16::MAX).to_be_bytes();
        let count = if stream.try_send(&[&len[..], packet].concat())? {
            &self.counts.sent
        } else {
            &self.counts.refused
        };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns the key of an IPv4 packet's flow. `None` if the packet is invalid, or its destination is not one of the
/// rack's `nodes` nodes.
fn tuple(packet: &[u8], nodes: u32) -> Option<Tuple> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_len = usize::from(header[0] & 0xF) * 4;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_len < 20 || len != packet.len() || header_len > len {
        return None;
    }
    let to = node_of(Ipv4Addr::new(header[16], header[17], header[18], header[19]), nodes)?;
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0;
    let ports = packet[header_len..].first_chunk().filter(|_| !is_fragment && matches!(header[9], 6 | 17));
    Some((to, header[9], ports.copied().unwrap_or_default()))
}

/// Receives packets from streams, and writes them to the interface.
fn out_of_rack(endpoint: &Endpoint, device: &SyncDevice, counts: &Counts, stop: &AtomicBool) {
    let mut waiting: HashMap<FlowKey, Vec<u8>> = HashMap::new();
    let mut frame = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let received = match endpoint.receive_within(Duration::from_millis(100)) {
            Ok(Some(received)) => received,
            Ok(None) => continue,
            Err(Gone) => return,
        };
        let bytes = waiting.entry(received.stream).or_default();
        bytes.extend(received.bytes);
        let mut rest = &bytes[..];
        while let Some((packet, behind)) = first_packet(rest) {
            frame.clear();
            frame.extend(Mac::host(endpoint.node().0).0);
            frame.extend(Mac::host(received.from.0).0);
            frame.extend(IPV4);
            frame.extend_from_slice(packet);
            let _ = device.send(&frame);
            counts.received.fetch_add(1, Ordering::Relaxed);
            rest = behind;
        }
        let used = bytes.len() - rest.len();
        bytes.drain(..used);
        if received.is_end {
            waiting.remove(&received.stream);
        }
    }
}

/// The first packet of a stream's bytes, and the bytes that follow it. Two bytes before the packet give its length.
/// `None` if the packet is not complete.
fn first_packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*len).into())
}

/// Waits until the interface has a frame, but no longer than [`SILENCE`].
fn wait(device: &SyncDevice) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let timeout = PollTimeout::try_from(SILENCE).unwrap_or(PollTimeout::ZERO);
    let _ = poll(&mut [PollFd::new(device.as_fd(), PollFlags::POLLIN)], timeout);
}

/// Real time since a fixed instant.
fn clock() -> Duration {
    static CLOCK: std::sync::LazyLock<(quanta::Clock, u64)> = std::sync::LazyLock::new(|| {
        let clock = quanta::Clock::new();
        let begin = clock.raw();
        (clock, begin)
    });
    Duration::from_nanos(CLOCK.0.delta_as_nanos(CLOCK.1, CLOCK.0.raw()))
}

#[cfg(test)]
mod tests;
