//! Whole Ethernet frames of kernels cross a rack. When a frame leaves a host's interface, the rack writes it into a
//! slot, and hands the frame's [view](FrameView) to the forwarders of the host and of the switches. At the destination,
//! the rack writes the frame to the other host's interface, unchanged except for a congestion mark in its ECN field.
//!
//! The thread that polls the nodes also reads and writes their interfaces, so a frame never crosses threads between an
//! interface and its node. While the host's port has no room, the thread leaves frames in the kernel, so that the rack
//! itself loses no frame before the port. The kernel's own queue then grows up to `txqueuelen` frames. Linux 7.3 and
//! later hold further frames back. Earlier versions drop further frames.
//!
//! A frame crosses the rack if its source is the host's own hardware address, its destination is another host's
//! hardware address, it is not too long, and its EtherType is not one that schemes use for their own frames. The rack
//! itself answers frames that ask for the hardware address of a node. The rack drops all other frames, such as other
//! broadcasts and multicasts.

#![expect(
    clippy::cast_possible_truncation,
    reason = "hosts, nodes and the bytes of a frame are counted in `u32`"
)]

use super::cores::Cores;
use super::namespace::{Interface, Namespace, NoNamespace};
use super::{Counts, neighbours};
use crate::rack::fabric::{Fabric, Held, Inside, Place};
use crate::rack::pool::Slots;
use crate::rack::{Rack, Worker};
use raddle_core::{Bytes, Duration, Header, HeaderInfo, NodeId, Packet, PortState, Time};
use raddle_topology::Topology;
use raddle_wire::FrameView;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The reason why a node cannot have a Linux host whose frames cross the rack.
#[derive(Debug, thiserror::Error)]
pub enum NoFrameHost {
    /// The node is not a host of this process.
    #[error("node {0} is not a host of this process")]
    NoHost(NodeId),
    /// The node already has a host of its scheme.
    #[error("node {0} cannot have a Linux host, because the node already runs the host of its scheme")]
    Taken(NodeId),
    /// The namespace could not be created.
    #[error(transparent)]
    Namespace(#[from] NoNamespace),
    /// The system does not let the rack wait for the host's frames.
    #[error("cannot wait for the frames of node {node}: {why}")]
    Unheard {
        /// The node.
        node: NodeId,
        /// The system's error.
        why: io::Error,
    },
}

/// A Linux host at a node of a rack. Its frames cross the rack.
#[derive(Debug)]
pub struct FrameHost {
    namespace: Namespace,
    counts: Arc<Counts>,
}

impl FrameHost {
    /// The namespace in which the host's programs run.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The frame counts so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl Rack {
    /// Creates the network namespace of a Linux host at a node. The host's frames cross the rack. The rack must [read
    /// frames](raddle_core::Decoders::with_frames), and the node must have no host of its scheme. Needs the privilege
    /// to administer networks (CAP_NET_ADMIN, CAP_SYS_ADMIN).
    ///
    /// # Errors
    /// [`NoFrameHost`], if the node is not a host of this process or has a host of its scheme, or the system refuses.
    pub fn frame_host(&mut self, node: NodeId, interface: &Interface) -> Result<FrameHost, NoFrameHost> {
        let unheard = |why| NoFrameHost::Unheard { node, why };
        if self.cores.is_none() && self.party.is_none() {
            self.cores = Cores::divide(self.workers.len());
        }
        let (namespace, device) = Namespace::new(node, interface, self.cores.as_ref())?;
        let device = device.as_fd().try_clone_to_owned().map_err(unheard)?;
        let counts = self.connect(node, device, interface.mtu)?;
        Ok(FrameHost { namespace, counts })
    }

    /// Connects a host with the device that carries its frames. The device must be in non-blocking mode. IP packets
    /// have at most `mtu` bytes.
    fn connect(&mut self, node: NodeId, device: OwnedFd, mtu: u16) -> Result<Arc<Counts>, NoFrameHost> {
        let thread = self.layout.own_thread_of(node).ok_or(NoFrameHost::NoHost(node))?;
        if self.node(node).is_some_and(|node| node.host().is_some()) {
            return Err(NoFrameHost::Taken(node));
        }
        let fabric = &mut self.workers[thread].fabric;
        if !fabric.topology.is_host(node) {
            return Err(NoFrameHost::NoHost(node));
        }
        let unheard = |why: io::Error| NoFrameHost::Unheard { node, why };
        let interfaces = match &mut fabric.interfaces {
            Some(interfaces) => interfaces,
            none => none
                .insert(Box::new(Interfaces::new(&fabric.topology, self.cores.is_some()).map_err(unheard)?)),
        };
        interfaces.add(node, device.into(), mtu).map_err(unheard)
    }
}

/// Maximum size of an Ethernet header in bytes: a header with two VLAN tags.
const MOST_HEADER: usize = 22;

/// The interfaces of a polling thread's hosts.
pub(in crate::rack) struct Interfaces {
    /// An edge-triggered epoll instance that reports interfaces with new frames.
    news: OwnedFd,
    hosts: Vec<Host>,
    /// Indexed by node: the index of the node's host in `hosts`.
    place_of: Vec<Option<u32>>,
    /// The hosts whose interfaces may have frames.
    ready: Vec<u32>,
    topology: Arc<Topology>,
    /// The time of the next check for new frames.
    looks_at: Time,
    /// The virtual time of the latest event that the thread has handled.
    last_event: Time,
    /// The thread polls without sleeping until this real time, in ns.
    waits_from_ns: u64,
    /// True if the thread has a core of its own, so that it can poll without pauses.
    has_own_core: bool,
    frame: Vec<u8>,
}

struct Host {
    node: NodeId,
    device: File,
    /// Maximum size of a frame in bytes.
    most: usize,
    is_ready: bool,
    counts: Arc<Counts>,
}

/// The shortest virtual time between two checks for new frames, except after a wait. Each check is a system call.
const LOOKS: Duration = Duration::from_us(2);

/// The longest wait for a frame, in ns. After this time, the thread checks whether the run is over.
const LONGEST_WAIT_NS: u64 = 1_000_000;

/// The longest wait, in ns, if other threads may send packets to this thread, or frames wait in the kernel for room at
/// a port.
const BLIND_WAIT_NS: u64 = 20_000;

/// Time after an event, in ns, during which the thread does not wait. A host may answer within this time, and a thread
/// that waits would handle the answer late, because it must first wake up.
const LINGERS_NS: u64 = 30_000;

/// The thread waits only if it is free for at least this time, in ns. The wait ends half of this time early.
const SHORTEST_WAIT_NS: u64 = 10_000;

/// Maximum number of frames that the thread reads from a host before it turns to other work.
const TURN: u32 = 16;

/// Maximum number of interfaces that one check finds to have new frames. The next check finds the others.
const NEWS: usize = 64;

impl Interfaces {
    fn new(topology: &Arc<Topology>, has_own_core: bool) -> io::Result<Self> {
        Ok(Self {
            news: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            hosts: Vec::new(),
            place_of: vec![None; topology.node_count()],
            ready: Vec::new(),
            topology: Arc::clone(topology),
            looks_at: Time::ZERO,
            last_event: Time::ZERO,
            waits_from_ns: 0,
            has_own_core,
            frame: vec![0; 1 << 16],
        })
    }

    fn add(&mut self, node: NodeId, device: File, mtu: u16) -> io::Result<Arc<Counts>> {
        let place = self.hosts.len() as u32;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&self.news, &device, epoll::EventData::new_u64(place.into()), flags)?;
        self.place_of[node.index()] = Some(place);
        let counts = Arc::<Counts>::default();
        let most = usize::from(mtu) + MOST_HEADER;
        self.hosts.push(Host { node, device, most, is_ready: false, counts: Arc::clone(&counts) });
        Ok(counts)
    }

    /// Finds the interfaces with new frames, and marks these interfaces as ready.
    fn hear(&mut self) {
        let mut events = [const { std::mem::MaybeUninit::uninit() }; NEWS];
        // After an error, the frames wait until the next check tries again.
        let Ok((events, _)) = epoll::wait(&self.news, &mut events, Some(&Timespec::default())) else {
            return;
        };
        for event in events {
            let place = event.data.u64() as u32;
            if let Some(host) = self.hosts.get_mut(place as usize).filter(|host| !host.is_ready) {
                host.is_ready = true;
                self.ready.push(place);
            }
        }
    }

    /// Reads the next frame of a host. If the frame asks for the hardware address of a node, writes the answer to the
    /// host's interface.
    fn read(&mut self, place: u32) -> Frame<'_> {
        let host = &mut self.hosts[place as usize];
        let Ok(len) = host.device.read(&mut self.frame) else { return Frame::None };
        if len == 0 {
            return Frame::None;
        }
        let frame = &self.frame[..len];
        let nodes = self.place_of.len() as u32;
        let is_of_another = |node: NodeId| node != host.node && node.0 < nodes && self.topology.is_host(node);
        if len <= host.most
            && FrameView::is_in(frame)
            && let Ok(view) = FrameView::read(frame)
            && view.ends().src == host.node
            && is_of_another(view.ends().dst)
        {
            host.counts.sent.fetch_add(1, Ordering::Relaxed);
            return Frame::Crosses(frame, view);
        }
        match neighbours::answer(frame, nodes).filter(|_| !FrameView::is_in(frame)) {
            Some(answer) => host.write(&answer),
            None => _ = host.counts.strange.fetch_add(1, Ordering::Relaxed),
        }
        Frame::Other
    }

    /// Writes the frame in a slot to the interface of its destination host.
    pub(in crate::rack) fn deliver(&mut self, node: NodeId, packet: &Packet, held: Held, slots: &Slots) {
        let Some(&Some(place)) = self.place_of.get(node.index()) else { return };
        let host = &mut self.hosts[place as usize];
        if !matches!(packet.header, Header::Frame(_)) {
            host.counts.strange.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let bytes = &mut self.frame[..held.len as usize];
        slots.read(held.slot, bytes);
        host.counts.received.fetch_add(1, Ordering::Relaxed);
        host.write(&bytes[packet.shim.wire_len()..]);
    }
}

impl Host {
    /// Writes a frame to the host's kernel. If the kernel does not accept the frame, counts it as refused.
    fn write(&mut self, frame: &[u8]) {
        if self.device.write(frame).is_err() {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The result of reading an interface.
enum Frame<'a> {
    /// The interface has no more frames.
    None,
    /// A frame for another host.
    Crosses(&'a [u8], FrameView),
    /// A frame that does not cross the rack.
    Other,
}

impl Worker {
    /// Reads the frames that the kernels of hosts want to send.
    #[inline]
    pub(in crate::rack) fn heed_kernels(&mut self, now: Time) {
        if self.fabric.interfaces.is_some() {
            self.take_in_frames(now);
        }
    }

    /// Real time, in ns, for which the thread can leave its core to the hosts' programs. It is 0 if the thread has a
    /// core of its own, shortly after an event, and if an event is due soon.
    #[inline]
    pub(in crate::rack) fn may_wait_ns(&mut self, now: Time, real_ns: u64) -> u64 {
        let Some(interfaces) = self.fabric.interfaces.as_mut().filter(|interfaces| !interfaces.has_own_core)
        else {
            return 0;
        };
        if interfaces.last_event != self.fabric.now {
            interfaces.last_event = self.fabric.now;
            interfaces.waits_from_ns = real_ns + LINGERS_NS;
        }
        if real_ns < interfaces.waits_from_ns {
            return 0;
        }
        let first = self.fabric.events.first().map_or(Time::NEVER, |(at, _)| at);
        let free_ns = first.since(now).as_ps() / 1_000 * self.fabric.clock.dilation();
        let hears_of_all =
            interfaces.ready.is_empty() && self.incoming.iter().all(|incoming| !incoming.is_remote);
        match free_ns.min(if hears_of_all { LONGEST_WAIT_NS } else { BLIND_WAIT_NS }) {
            ..SHORTEST_WAIT_NS => 0,
            wait_ns => wait_ns - SHORTEST_WAIT_NS / 2,
        }
    }

    /// Waits until an interface has a frame, for `ns` ns at most.
    #[cold]
    pub(in crate::rack) fn wait_for_frames(&mut self, ns: u64) {
        let Some(interfaces) = &mut self.fabric.interfaces else { return };
        let most = Timespec { tv_sec: 0, tv_nsec: ns as i64 };
        let _ = poll(&mut [PollFd::new(&interfaces.news, PollFlags::IN)], Some(&most));
        interfaces.looks_at = Time::ZERO;
    }

    fn take_in_frames(&mut self, now: Time) {
        let Some(interfaces) = &mut self.fabric.interfaces else { return };
        if now >= interfaces.looks_at {
            interfaces.looks_at = now + LOOKS;
            interfaces.hear();
        }
        let mut turn = 0;
        while let Some(interfaces) = &self.fabric.interfaces
            && let Some(&place) = interfaces.ready.get(turn)
        {
            let node = interfaces.hosts[place as usize].node;
            if self.take_in_frames_of(node, place, now) {
                turn += 1;
            } else if let Some(interfaces) = &mut self.fabric.interfaces {
                interfaces.ready.swap_remove(turn);
                interfaces.hosts[place as usize].is_ready = false;
            }
        }
    }

    /// Reads frames from a host's interface and sends them, while the host's port has room. Reads at most [`TURN`]
    /// frames. Returns true if the interface may have more frames.
    fn take_in_frames_of(&mut self, node: NodeId, place: u32, now: Time) -> bool {
        let Self { nodes, fabric, first, .. } = self;
        let node = &mut nodes[node.index() - first.index()];
        for _ in 0..TURN {
            if !fabric.takes_frames(*node.place(), now) {
                return true;
            }
            let Some(slot) = fabric.take_slot() else { return true };
            let Some(interfaces) = &mut fabric.interfaces else { return false };
            match interfaces.read(place) {
                Frame::None => {
                    fabric.free(slot);
                    return false;
                }
                Frame::Other => fabric.free(slot),
                Frame::Crosses(frame, view) => {
                    let len = frame.len() as u32;
                    fabric.slots.write(slot, frame);
                    fabric.now = now;
                    let packet = Packet::new(len, Header::Frame(view));
                    let inside = |_: &mut Fabric, packet| Inside { packet, slot: Some(Held { slot, len }) };
                    // The result is ignored: the node has no host of a scheme that would have to be polled.
                    node.send_with(fabric, packet, None, inside);
                }
            }
        }
        true
    }
}

/// A host's port has room while its backlog is less than this time, or less than the serialization delay of a full
/// packet.
const AHEAD: Duration = Duration::from_us(20);

impl Fabric {
    /// True if each port of a host has room for frames or is down. The limit [`AHEAD`] lets enough frames wait to keep
    /// a port busy while the thread does other work.
    fn takes_frames(&mut self, place: Place, now: Time) -> bool {
        self.relent(&place);
        let full = Bytes(self.slots.bytes() as u64);
        let has_room = |port: &PortState| {
            !port.up || port.room(now) > Bytes(0) && port.backlog(now) < AHEAD.max(port.rate.time_for(full))
        };
        self.ports[place.first_link..place.first_link + place.ports].iter().all(has_room)
    }
}

#[cfg(test)]
mod tests;
