//! A load generator for the kernel's TCP: each flow of a workload is one connection between hosts in network
//! namespaces.
//!
//! One thread with one epoll instance serves all connections of all hosts. So on a machine with few cores, the
//! generator leaves most of the CPU time to the traffic itself. A socket stays in the namespace in which it was
//! created. A connection carries exactly the bytes of its flow, or one byte if the flow is empty. The flow starts with
//! the connection's SYN and is delivered when the receiver has read the last byte.
//!
//! The connections of a host use, in sequence, the [ports](FiveTuple::ports_of) that its flows have in simulations. So
//! switches that hash the ports make the same choices. (From the 64,513th flow of a host on, the destination port
//! differs from that of the simulation.) If a port is in use, the kernel chooses a free port. This always happens for
//! port 5001, at which the host itself listens.
//!
//! The receiver identifies a connection by the sender's address and port, so the payload carries no flow identifier.
//! The kernel discards received bytes (`MSG_TRUNC`, tcp(7)) and copies none of them.

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use raddle_core::{Duration, Flow, FlowKey, NodeId, Report, Time};
use raddle_wire::FiveTuple;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, connect,
    getpeername, getsockname, listen, recv, send, shutdown, socket_with, sockopt,
};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

sockopt_impl!(
    /// The kernel's statistics of a connection (tcp(7)).
    TcpInfo,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    libc::tcp_info
);

/// Number of segments that the kernel has retransmitted over a connection, SYNs included.
fn retransmissions(socket: &OwnedFd) -> u32 {
    // `TCP_INFO` is older than epoll, so every kernel that can run this generator supports it.
    getsockopt(socket, TcpInfo).map_or(0, |info| info.tcpi_total_retrans)
}

/// The port at which every host receives flows.
pub const PORT: u16 = FiveTuple::ports_of(0).1;

/// Maximum number of bytes that the generator sends or receives on one connection before it serves the next connection.
const PIECE: usize = 1 << 18;

/// The longest wait before the generator checks whether it must stop, in ns.
const LONGEST_WAIT_NS: i64 = 10_000_000;

/// The epoll data value of the timer. The epoll data value of a connection is its index in `connections`.
const TIMER: u64 = u64::MAX;

/// A host that sends and receives flows.
#[derive(Debug)]
pub struct Host {
    /// The host's node in the fabric.
    pub node: NodeId,
    /// The host's address.
    pub address: IpAddr,
    /// The host's network namespace, as an open file.
    pub namespace: File,
}

/// The reason why the load generator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum NoLoad {
    /// A flow begins or ends at a node that is not a host.
    #[error("flow {flow} begins or ends at node {node}, which is not a host with a namespace")]
    NoHost {
        /// The flow's index in the workload.
        flow: usize,
        /// The node.
        node: NodeId,
    },
    /// The system refuses a step in the setup of a socket.
    #[error("cannot set up a socket at host {node}: {step}: {why}")]
    NoSocket {
        /// The host.
        node: NodeId,
        /// The step that failed, such as `bind`. The step `socket` includes entering the host's namespace and setting
        /// the congestion control.
        step: &'static str,
        /// The system's reason.
        why: io::Error,
    },
    /// The system refuses to create an epoll instance or a timer.
    #[error("cannot create an epoll instance or a timer: {0}")]
    NoEpoll(#[from] io::Error),
}

/// Counts of flows and connections in a run of the generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Flows that have started.
    pub started: u64,
    /// Flows whose last byte was received.
    pub delivered: u64,
    /// Flows whose connection could not be opened, or failed before the flow was delivered.
    pub broken: u64,
    /// Incoming connections that the receiver closes at once, because they belong to no flow or the system refuses to
    /// add them to the epoll instance.
    pub strangers: u64,
}

/// A load generator.
#[derive(Debug)]
pub struct Load {
    epoll: OwnedFd,
    timer: OwnedFd,
    hosts: Vec<Host>,
    /// The congestion control of all connections, such as `cubic`.
    congestion: String,
    flows: Vec<Flow>,
    /// Indexed by flow: the indices of the flow's sender and receiver in `hosts`.
    ends: Vec<[usize; 2]>,
    /// Indexed by flow: the port of the flow's sender.
    ports: Vec<u16>,
    /// The flows that have not started yet, in order of start.
    to_start: VecDeque<usize>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// The flow of each connection, by the sender's address and port.
    flow_of: HashMap<SocketAddr, usize>,
    /// Indexed by flow: true if the flow was delivered or its connection failed.
    is_over: Vec<bool>,
    /// Indexed by flow: the time by which the flow started too early, or 0. A flow has started too early if the clock
    /// goes back to a time before the flow's start. The clock of a live rack goes back when the rack holds virtual
    /// time, because a polling thread is far behind.
    early: Vec<Duration>,
    counts: Counts,
    zeros: Box<[u8]>,
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    role: Role,
}

#[derive(Debug, Clone, Copy)]
enum Role {
    /// The socket on which a host accepts connections.
    Listener,
    /// The sender of a flow. `left` is the number of bytes that the sender has not sent yet.
    Sender { flow: usize, left: u64 },
    /// The receiver of a flow. `left` is the number of bytes that the receiver has not received yet.
    Receiver { flow: usize, left: u64 },
}

impl Load {
    /// Creates a generator of `flows`, which must be in order of start. `congestion` is the congestion control of all
    /// connections. All hosts listen when this function returns.
    ///
    /// # Errors
    /// [`NoLoad`], if an end of a flow is not a host, or the system refuses a socket, an epoll instance or a timer.
    pub fn new(hosts: Vec<Host>, flows: &[Flow], congestion: &str) -> Result<Self, NoLoad> {
        let places: HashMap<NodeId, usize> =
            hosts.iter().enumerate().map(|(place, host)| (host.node, place)).collect();
        let end = |flow, node| places.get(&node).copied().ok_or(NoLoad::NoHost { flow, node });
        let both = |(i, flow): (usize, &Flow)| Ok([end(i, flow.src)?, end(i, flow.dst)?]);
        let ends = flows.iter().enumerate().map(both).collect::<Result<Vec<[usize; 2]>, NoLoad>>()?;
        let mut sent = vec![0; hosts.len()];
        let port = |&[from, _]: &[usize; 2]| {
            sent[from] += 1;
            FiveTuple::ports_of(sent[from] - 1).0
        };
        let ports = ends.iter().map(port).collect();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK);
        let timer = timer.map_err(io::Error::from)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN).map_err(io::Error::from)?;
        let mut load = Self {
            epoll,
            timer,
            hosts,
            congestion: congestion.to_owned(),
            flows: flows.to_vec(),
            ends,
            ports,
            to_start: (0..flows.len()).collect(),
            connections: Vec::new(),
            free: Vec::new(),
            flow_of: HashMap::new(),
            is_over: vec![false; flows.len()],
            early: vec![Duration::ZERO; flows.len()],
            counts: Counts::default(),
            zeros: vec![0; PIECE].into(),
        };
        // A thread that has entered a namespace stays in it, so a separate thread enters the namespaces.
        let listening = std::thread::scope(|scope| scope.spawn(|| load.listen()).join());
        listening.unwrap_or_else(|_| Err(io::Error::other("a thread failed").into()))?;
        Ok(load)
    }

    fn listen(&mut self) -> Result<(), NoLoad> {
        for place in 0..self.hosts.len() {
            let node = self.hosts[place].node;
            let fault = |step| move |why: Errno| NoLoad::NoSocket { node, step, why: why.into() };
            let socket = self.socket(place).map_err(fault("socket"))?;
            sockopt::set_socket_reuseaddr(&socket, true).map_err(fault("SO_REUSEADDR"))?;
            let address = SocketAddr::new(self.hosts[place].address, PORT);
            bind(&socket, &address).map_err(fault("bind"))?;
            listen(&socket, 1_024).map_err(fault("listen"))?;
            self.keep(socket, Role::Listener, EventFlags::IN).map_err(fault("epoll"))?;
        }
        Ok(())
    }

    /// Creates a socket in the namespace of the host at index `place`. The calling thread enters that namespace.
    fn socket(&self, place: usize) -> Result<OwnedFd, Errno> {
        let Host { address, namespace, .. } = &self.hosts[place];
        setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|why| Errno::from_raw_os_error(why as i32))?;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_congestion(&socket, &self.congestion)?;
        Ok(socket)
    }

    /// Runs all flows until each has been delivered or has failed, or until `stop` is set. `now` returns the current
    /// time on the same clock as the flows' start times. `report` receives each event of a flow, with the event's time
    /// and node. When `run` returns, the calling thread may be in another namespace than before.
    ///
    /// # Errors
    /// If the epoll instance or the timer fails.
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        now: impl Fn() -> Time,
        mut report: impl FnMut(Time, NodeId, Report),
    ) -> io::Result<Counts> {
        let mut events = Vec::with_capacity(256);
        while !stop.load(Ordering::Relaxed)
            && self.counts.delivered + self.counts.broken < self.flows.len() as u64
        {
            while let Some(&flow) = self.to_start.front()
                && self.flows[flow].start <= now()
            {
                self.to_start.pop_front();
                self.start(flow, now(), &mut report);
            }
            self.set_timer(now())?;
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(why) => return Err(why.into()),
            }
            self.notice_early_starts(now());
            for event in &events {
                let name = event.data.u64();
                if name != TIMER {
                    self.serve(name as usize, &now, &mut report);
                }
            }
        }
        // The loop can end before the last sender has seen that its receiver closed the connection.
        for Connection { socket, role } in self.connections.iter().flatten() {
            if let Role::Sender { flow, left: 0 } = *role
                && self.is_over[flow]
            {
                self.tell_closed(socket, flow, now(), &mut report);
            }
        }
        Ok(self.counts)
    }

    /// Sets the timer. It ends the generator's next wait when the next flow starts, or after [`LONGEST_WAIT_NS`] at the
    /// latest.
    fn set_timer(&self, now: Time) -> io::Result<()> {
        let next = self.to_start.front().map_or(Time::NEVER, |&flow| self.flows[flow].start);
        let wait_ns = i64::try_from(next.since(now).as_ps() / 1_000).unwrap_or(i64::MAX);
        let value = Timespec { tv_sec: 0, tv_nsec: wait_ns.clamp(1, LONGEST_WAIT_NS) };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// Records flows that started too early because the clock has since gone back. These flows count as started now.
    fn notice_early_starts(&mut self, now: Time) {
        let next = self.to_start.front().map_or(self.flows.len(), |&flow| flow);
        for flow in (0..next).rev() {
            let early = self.flows[flow].start.since(now);
            if early <= self.early[flow] {
                break;
            }
            self.early[flow] = early;
        }
    }

    /// Reports an event of a flow that happened at `now`. If the flow started too early by some time, the reported time
    /// is later than `now` by this time.
    fn tell(
        &self,
        flow: usize,
        node: NodeId,
        said: Report,
        now: Time,
        report: &mut impl FnMut(Time, NodeId, Report),
    ) {
        report(now + self.early[flow], node, said);
    }

    /// Starts a flow: the sender connects to the receiver.
    fn start(&mut self, flow: usize, now: Time, report: &mut impl FnMut(Time, NodeId, Report)) {
        self.counts.started += 1;
        let Flow { id, src, .. } = self.flows[flow];
        report(now, src, Report::Opened { flow: id, key: key(flow) });
        if self.connect(flow).is_err() {
            self.give_up(flow);
        }
    }

    /// Number of bytes to send for a flow. A flow of 0 bytes sends 1 byte, so that the receiver can detect the end of
    /// the flow.
    fn bytes(&self, flow: usize) -> u64 {
        self.flows[flow].size.0.max(1)
    }

    fn connect(&mut self, flow: usize) -> Result<(), Errno> {
        let [from, to] = self.ends[flow];
        let socket = self.socket(from)?;
        let own = |port| SocketAddr::new(self.hosts[from].address, port);
        match bind(&socket, &own(self.ports[flow])) {
            Err(Errno::ADDRINUSE) => bind(&socket, &own(0))?,
            bound => bound?,
        }
        match connect(&socket, &SocketAddr::new(self.hosts[to].address, PORT)) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(why) => return Err(why),
        }
        let own = SocketAddr::try_from(getsockname(&socket)?)?;
        self.flow_of.insert(own, flow);
        self.keep(socket, Role::Sender { flow, left: self.bytes(flow) }, EventFlags::OUT)
    }

    /// Registers a socket with the epoll instance, and stores its connection.
    fn keep(&mut self, socket: OwnedFd, role: Role, wanted: EventFlags) -> Result<(), Errno> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let added = epoll::add(&self.epoll, &socket, EventData::new_u64(place as u64), wanted);
        match added {
            Ok(()) => self.connections[place] = Some(Connection { socket, role }),
            Err(_) => self.free.push(place),
        }
        added
    }

    /// Closes a connection.
    fn close(&mut self, place: usize) {
        if self.connections[place].take().is_some() {
            self.free.push(place);
        }
    }

    /// Handles an event of a socket.
    fn serve(
        &mut self,
        place: usize,
        now: &impl Fn() -> Time,
        report: &mut impl FnMut(Time, NodeId, Report),
    ) {
        // An earlier event that the same call of `epoll_wait` returned may have closed this connection.
        let Some(Connection { role, .. }) = &self.connections[place] else { return };
        match *role {
            Role::Listener => self.accept(place),
            Role::Sender { flow, left: 0 } => self.end_sender(place, flow, now(), report),
            Role::Sender { flow, left } => {
                if self.send(place, flow, left).is_err() {
                    self.break_flow(place, flow);
                }
            }
            Role::Receiver { flow, left } => match self.receive(place, flow, left) {
                Ok(false) => {}
                Ok(true) => {
                    self.counts.delivered += 1;
                    self.is_over[flow] = true;
                    let node = self.flows[flow].dst;
                    let delivered = Report::Delivered { key: key(flow), reorder_peak: 0 };
                    self.tell(flow, node, delivered, now(), report);
                    self.close(place);
                }
                Err(_) => self.break_flow(place, flow),
            },
        }
    }

    /// Closes a failed connection at one end, and counts its flow as broken unless the flow is over already. The other
    /// end is closed later, when the kernel reports the failure there.
    fn break_flow(&mut self, place: usize, flow: usize) {
        self.close(place);
        self.give_up(flow);
    }

    fn give_up(&mut self, flow: usize) {
        self.flow_of.retain(|_, other| *other != flow);
        let was_over = std::mem::replace(&mut self.is_over[flow], true);
        self.counts.broken += u64::from(!was_over);
    }

    /// Accepts the pending connections of a host.
    fn accept(&mut self, place: usize) {
        while let Some(Connection { socket, .. }) = &self.connections[place] {
            let Ok(socket) = accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else {
                return;
            };
            let peer = getpeername(&socket).ok().flatten().and_then(|peer| SocketAddr::try_from(peer).ok());
            let Some(&flow) = peer.and_then(|peer| self.flow_of.get(&peer)) else {
                self.counts.strangers += 1;
                continue;
            };
            let left = self.bytes(flow);
            if self.keep(socket, Role::Receiver { flow, left }, EventFlags::IN).is_err() {
                self.counts.strangers += 1;
            }
        }
    }

    /// Sends up to [`PIECE`] bytes of a flow, as many as the kernel accepts in one call.
    fn send(&mut self, place: usize, flow: usize, left: u64) -> Result<(), Errno> {
        let Some(Connection { socket, role }) = &mut self.connections[place] else { return Ok(()) };
        let piece = &self.zeros[..PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
        let sent = match send(&*socket, piece, SendFlags::NOSIGNAL) {
            Ok(sent) => sent as u64,
            Err(Errno::AGAIN) => return Ok(()),
            Err(why) => return Err(why),
        };
        *role = Role::Sender { flow, left: left - sent };
        if left == sent {
            shutdown(&*socket, Shutdown::Write)?;
            // From now on the sender waits only for the receiver to close the connection.
            epoll::modify(&self.epoll, &*socket, EventData::new_u64(place as u64), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Receives up to [`PIECE`] bytes of a flow. Returns true if it received the last byte.
    fn receive(&mut self, place: usize, flow: usize, left: u64) -> Result<bool, Errno> {
        let Some(Connection { socket, role }) = &mut self.connections[place] else { return Ok(false) };
        let got = match recv(&*socket, &mut self.zeros[..], RecvFlags::TRUNC) {
            Ok((_, 0)) => return Err(Errno::CONNRESET), // the sender closed the connection before its last byte
            Ok((_, got)) => got as u64,
            Err(Errno::AGAIN) => return Ok(false),
            Err(why) => return Err(why),
        };
        *role = Role::Receiver { flow, left: left.saturating_sub(got) };
        Ok(got >= left)
    }

    /// Reports that a flow is closed, with the number of its sender's retransmissions.
    fn tell_closed(
        &self,
        socket: &OwnedFd,
        flow: usize,
        now: Time,
        report: &mut impl FnMut(Time, NodeId, Report),
    ) {
        let closed = Report::Closed { key: key(flow), retransmissions: retransmissions(socket) };
        self.tell(flow, self.flows[flow].src, closed, now, report);
    }

    /// Handles an event of a sender that has sent all its bytes. The receiver has closed the connection, the connection
    /// has failed, or the event is spurious.
    fn end_sender(
        &mut self,
        place: usize,
        flow: usize,
        now: Time,
        report: &mut impl FnMut(Time, NodeId, Report),
    ) {
        let Some(Connection { socket, .. }) = &self.connections[place] else { return };
        match recv(socket, &mut self.zeros[..1], RecvFlags::empty()) {
            Err(Errno::AGAIN) => return,
            Err(_) => return self.break_flow(place, flow),
            Ok(_) => self.tell_closed(socket, flow, now, report),
        }
        if let Ok(own) = getsockname(socket).map(SocketAddr::try_from)
            && let Ok(own) = own
        {
            self.flow_of.remove(&own);
        }
        self.close(place);
    }
}

fn key(flow: usize) -> FlowKey {
    FlowKey(flow as u64)
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::{Bytes, FlowId, Stream};
    use std::cell::Cell;
    use std::net::{Ipv4Addr, TcpStream};
    use std::sync::Mutex;
    use std::time::Instant;

    /// The tests that listen use the same port of the same loopback addresses, so they run one at a time.
    static PORT_IS_FREE: Mutex<()> = Mutex::new(());

    /// Creates hosts at loopback addresses in the machine's own namespace. Returns `None` if `RADDLE_NO_NAMESPACES` is
    /// set, so that the tests pass without root: a thread needs root to enter a namespace, even its current one.
    fn hosts(count: u32) -> Option<Vec<Host>> {
        let own = || File::open("/proc/thread-self/ns/net").expect("a namespace");
        if std::env::var_os("RADDLE_NO_NAMESPACES").is_some() {
            return None;
        }
        let host = |i| {
            let address = Ipv4Addr::new(127, 40, 0, i as u8 + 1).into();
            Host { node: NodeId(i), address, namespace: own() }
        };
        Some((0..count).map(host).collect())
    }

    fn flows(hosts: u64, count: u32) -> Vec<Flow> {
        let mut random = Stream::new(1, 0, "flows");
        let flow = |id: u32| {
            let src = random.below(hosts);
            let dst = (src + 1 + random.below(hosts - 1)) % hosts;
            let size = if id.is_multiple_of(3) { random.below(2) } else { random.below(1_000_000) };
            let start = Time::ZERO + Duration::from_us(100) * u64::from(id);
            Flow::new(FlowId(id), NodeId(src as u32), NodeId(dst as u32), Bytes(size), start)
        };
        (0..count).map(flow).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "the flows of these tests run in real time")]
    fn clock() -> impl Fn() -> Time {
        let begin = Instant::now();
        move || Time::from_ps(begin.elapsed().as_nanos() as u64 * 1_000)
    }

    #[test]
    fn every_flow_starts_on_time_and_is_delivered_once_at_its_destination() {
        let _alone = PORT_IS_FREE.lock();
        let Some(hosts) = hosts(4) else { return };
        let flows = flows(4, 300);
        let mut load = Load::new(hosts, &flows, "cubic").expect("root must be able to open sockets");
        let (mut opened, mut delivered, mut closed) = (Vec::new(), Vec::new(), Vec::new());
        let counts = load.run(&AtomicBool::new(false), clock(), |at, node, report| match report {
            Report::Opened { flow, key } => {
                let flow = &flows[flow.index()];
                assert!(at >= flow.start && node == flow.src);
                opened.push(key);
            }
            Report::Delivered { key, .. } => {
                assert_eq!(flows[key.0 as usize].dst, node);
                delivered.push(key);
            }
            // The kernel may have sent a loss probe while a thread was delayed, so the number of retransmissions is not
            // always 0.
            Report::Closed { key, .. } => {
                assert_eq!(flows[key.0 as usize].src, node);
                closed.push(key);
            }
            _ => panic!("{report:?}"),
        });
        let all = Counts { started: 300, delivered: 300, broken: 0, strangers: 0 };
        assert_eq!((counts.expect("an epoll"), opened.len()), (all, 300));
        delivered.sort_unstable();
        closed.sort_unstable();
        assert_eq!((&delivered, &closed), (&opened, &opened));
    }

    #[test]
    fn a_flow_that_started_before_time_went_back_takes_as_long_as_it_took() {
        let _alone = PORT_IS_FREE.lock();
        let Some(hosts) = hosts(2) else { return };
        let start = Time::ZERO + Duration::from_us(20_000);
        let flows = [Flow::new(FlowId(0), NodeId(0), NodeId(1), Bytes(1_000_000), start)];
        let mut load = Load::new(hosts, &flows, "cubic").expect("root must be able to open sockets");
        let (real, back) = (clock(), Cell::new(Duration::ZERO));
        let mut took = None;
        let now = || Time::ZERO + real().since(Time::ZERO + back.get());
        let counts = load.run(&AtomicBool::new(false), now, |at, _, report| match report {
            Report::Opened { .. } => back.set(Duration::from_us(15_000)),
            Report::Delivered { .. } => took = Some(at.since(start)),
            _ => {}
        });
        assert_eq!(counts.expect("an epoll").delivered, 1);
        assert!(
            took.is_some_and(|took| took > Duration::ZERO && took < Duration::from_us(1_000_000)),
            "{took:?}"
        );
    }

    #[test]
    fn strangers_and_connections_that_nobody_takes_are_counted() {
        let _alone = PORT_IS_FREE.lock();
        let Some(hosts) = hosts(3) else { return };
        let flows: Vec<Flow> = [(0, 1), (0, 2)]
            .map(|(src, dst)| {
                let start = Time::ZERO + Duration::from_us(200_000);
                Flow::new(FlowId(dst), NodeId(src), NodeId(dst), Bytes(5_000), start)
            })
            .into();
        let mut load = Load::new(hosts, &flows, "cubic").expect("root must be able to open sockets");
        load.close(2); // the listener of the last host: listeners are created in the order of the hosts
        let stranger = TcpStream::connect((Ipv4Addr::new(127, 40, 0, 2), PORT)).expect("a host that listens");
        let counts = load.run(&AtomicBool::new(false), clock(), |_, _, _| {});
        let expected = Counts { started: 2, delivered: 1, broken: 1, strangers: 1 };
        assert_eq!(counts.expect("an epoll"), expected);
        drop(stranger);
    }

    #[test]
    fn a_flow_needs_hosts_at_both_ends() {
        let Some(hosts) = hosts(2) else { return };
        let flows = flows(3, 9);
        let refused = Load::new(hosts, &flows, "cubic")
            .expect_err("flows of node 2 must be refused, because node 2 is not a host");
        assert!(matches!(refused, NoLoad::NoHost { node: NodeId(2), .. }), "{refused}");
    }
}
