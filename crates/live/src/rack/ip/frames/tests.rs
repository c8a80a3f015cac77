//! Tests of frames that cross a leaf-spine. Sockets of the tests replace the hosts' network interfaces, so the tests
//! need no privilege.

use super::*;
use crate::rack::Config;
use crate::rack::ip::{address, address_v6};
use proptest::prelude::*;
use raddle_core::{Decoders, Parts, Rate};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::builders::folded_clos;
use raddle_wire::Mac;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

const HOSTS: u32 = 4;
const MTU: u16 = 1_500;

/// A rack of two leaves and two spines, and the kernels' ends of the hosts' interfaces.
struct Fixture {
    rack: Rack,
    kernels: Vec<File>,
    counts: Vec<Arc<Counts>>,
    now: Time,
}

impl Fixture {
    fn new(routing: &str, rate: Rate) -> Self {
        let topology = folded_clos(2, 2, 2, rate, rate, Duration::from_us(1)).expect("a leaf-spine");
        let topology = Arc::new(topology);
        let transport = registry().transport("udp").expect("in the registry");
        let settings = Settings::defaults(transport.info.parameters);
        let plan = Plan::new(&topology, routing, &settings, 1);
        let routing = registry().routing_defaults(routing);
        let mut parts = registry().build(transport, &plan, &routing).expect("it fits");
        let node = |id| Parts { host: None, ..(parts.node)(id) };
        let config = Config {
            decoders: Decoders::BUILTIN.with_frames(),
            packet_bytes: 1_800,
            slots: 256,
            ..Config::default()
        };
        let mut rack = Rack::new(&topology, node, &[], &config).expect("memory");
        let (mut kernels, mut counts) = (Vec::new(), Vec::new());
        for host in 0..HOSTS {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("two sockets");
            counts.push(rack.connect(NodeId(host), ours, MTU).expect("a host"));
            kernels.push(theirs.into());
        }
        Self { rack, kernels, counts, now: Time::ZERO }
    }

    /// Advances virtual time by `time`.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_us(1);
            self.rack.workers[0].round(self.now);
        }
    }

    fn send(&mut self, from: u32, frame: &[u8]) {
        self.kernels[from as usize].write_all(frame).expect("room for a frame");
    }

    /// The frames that a host's kernel has received.
    fn received(&mut self, host: u32) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut bytes = [0; 2_000];
        while let Ok(len) = self.kernels[host as usize].read(&mut bytes) {
            frames.push(bytes[..len].to_vec());
        }
        frames
    }

    fn free_slots(&mut self) -> usize {
        let free = &mut self.rack.workers[0].fabric.free;
        let taken: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
        taken.iter().for_each(|&slot| assert!(free.give_back(slot)));
        taken.len()
    }
}

/// A frame from one host to another, with this EtherType and this packet.
fn frame(from: u32, to: u32, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    [&Mac::host(to).0[..], &Mac::host(from).0, &ethertype.to_be_bytes(), packet].concat()
}

/// A frame with a TCP segment over IPv4, with these flags and `bytes` bytes of payload.
fn tcp(from: u32, to: u32, flags: u8, bytes: u16) -> Vec<u8> {
    let len = (40 + bytes).to_be_bytes();
    let ip = [&[0x45, 2, len[0], len[1], 0, 0, 0, 0, 64, 6, 0, 0][..], &address(NodeId(from)).octets()];
    let header = [0x9C, 0x40, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0];
    let packet = [&ip.concat()[..], &address(NodeId(to)).octets(), &header, &vec![7; bytes.into()]].concat();
    frame(from, to, 0x0800, &packet)
}

/// A frame with a UDP packet over IPv6.
fn udp_v6(from: u32, to: u32) -> Vec<u8> {
    let ends = [address_v6(NodeId(from)).octets(), address_v6(NodeId(to)).octets()].concat();
    let packet = [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], &ends, &[0, 9, 0, 9, 0, 8, 0, 0]].concat();
    frame(from, to, 0x86DD, &packet)
}

const SYN: u8 = 2;
const ACK: u8 = 16;

#[test]
fn frames_cross_switches_of_every_kind_as_they_are() {
    for routing in ["ecmp", "wcmp", "letflow", "conga", "expeditus", "drill", "presto", "spray", "hula"] {
        let mut fixture = Fixture::new(routing, Rate::from_gbps(1));
        let sent = [
            tcp(0, 3, SYN, 0),
            tcp(0, 3, ACK, 1_400),
            udp_v6(0, 3),
            frame(0, 3, 0x0806, &[1; 28]),
            frame(0, 3, 0x1234, &[9; 40]),
        ];
        for frame in &sent {
            fixture.send(0, frame);
            fixture.pass(Duration::from_us(100));
        }
        assert_eq!(fixture.received(3), sent, "{routing}");
        fixture.send(3, &tcp(3, 0, SYN | ACK, 0));
        fixture.send(1, &tcp(1, 0, SYN, 0));
        fixture.pass(Duration::from_us(100));
        assert_eq!(fixture.received(0).len(), 2, "{routing}: from both leaves");
        assert_eq!(fixture.counts[0].sent.load(Ordering::Relaxed), 5);
        assert_eq!(fixture.rack.totals().dropped, 0, "{routing}");
    }
}

/// At 10 Mbit/s a frame of 1,000 bytes takes 800 us.
#[test]
fn frames_wait_in_the_kernel_while_the_port_is_busy() {
    let mut fixture = Fixture::new("ecmp", Rate::from_bps(10_000_000));
    let sent: Vec<_> = (0..30).map(|number| frame(0, 3, 0x1234, &[number; 986])).collect();
    sent.iter().for_each(|frame| fixture.send(0, frame));
    fixture.pass(Duration::from_us(100));
    let taken = |fixture: &Fixture| fixture.counts[0].sent.load(Ordering::Relaxed);
    assert!((1..=3).contains(&taken(&fixture)), "{} frames", taken(&fixture));
    fixture.pass(Duration::from_us(8_000));
    assert!((10..=14).contains(&taken(&fixture)), "{} frames", taken(&fixture));
    fixture.pass(Duration::from_us(800 * 25));
    assert_eq!(fixture.received(3), sent, "all, in order");
    let peak = fixture.rack.link_stats().iter().map(|link| link.peak_queue).max();
    assert!(peak < Some(4_000), "the port's own queue stays short: {peak:?} bytes");
}

/// A leaf handles one packet so late that the leaf computes with the clock instead of the due time. The flow's next
/// packet is due before that time of the clock. CONGA measures the time between the two packets, which must not be
/// negative.
#[test]
fn time_does_not_run_back_at_a_node_when_a_packet_has_slipped() {
    let mut fixture = Fixture::new("conga", Rate::from_gbps(1));
    fixture.send(0, &tcp(0, 3, SYN, 0));
    fixture.send(0, &tcp(0, 3, ACK, 1_400));
    let at = |us| Time::ZERO + Duration::from_us(us);
    for now in [1, 61] {
        fixture.rack.workers[0].round(at(now));
    }
    let late = fixture.rack.fidelity();
    assert_eq!((late.hops, late.slips), (2, 1), "the first of the two has slipped");
    fixture.now = at(61);
    fixture.pass(Duration::from_us(200));
    assert_eq!(fixture.received(3).len(), 2);
}

#[test]
fn a_host_that_asks_for_the_address_of_another_is_answered_by_the_rack() {
    let mut fixture = Fixture::new("ecmp", Rate::from_gbps(1));
    let Mac(own) = Mac::host(1);
    let kind = [0, 1, 8, 0, 6, 4, 0, 1];
    let asks = |target: [u8; 4]| {
        let request = [&kind[..], &own, &address(NodeId(1)).octets(), &[0; 6], &target].concat();
        [&[0xFF; 6][..], &own, &[8, 6], &request].concat()
    };
    fixture.send(1, &asks(address(NodeId(2)).octets()));
    fixture.send(1, &asks([10, 0, 0, 99]));
    fixture.pass(Duration::from_us(10));
    let answers = fixture.received(1);
    assert_eq!((answers.len(), &answers[0][6..12]), (1, &Mac::host(2).0[..]));
    let count =
        |of: fn(&Counts) -> &std::sync::atomic::AtomicU64| of(&fixture.counts[1]).load(Ordering::Relaxed);
    assert_eq!((count(|it| &it.sent), count(|it| &it.strange)), (0, 1));
}

#[test]
fn frames_not_from_the_host_to_another_host_are_dropped() {
    let mut fixture = Fixture::new("ecmp", Rate::from_gbps(1));
    let switch = HOSTS + 1;
    let good = tcp(0, 3, SYN, 0);
    let too_long = frame(0, 3, 0x1234, &[0; 1_600]);
    // a control message that a converged Ethernet switch sends to hosts
    let control = frame(0, 3, 0x8903, &[0; 60]);
    let mut notice = good.clone();
    notice[12..14].copy_from_slice(&[0x22, 0xE9]); // a congestion notice
    let cases = [
        ("another's address", tcp(1, 3, SYN, 0)),
        ("to itself", tcp(0, 0, SYN, 0)),
        ("to a switch", tcp(0, switch, SYN, 0)),
        ("to nobody", tcp(0, 1_000, SYN, 0)),
        ("too long", too_long),
        ("cut short", good[..13].to_vec()),
        ("a notice", notice),
        ("a tag", [&[0x99, 0, 2, 0x31][..], &good].concat()),
        ("a shim", [&[0x5C, 2, 0, 0][..], &good].concat()),
    ];
    for (what, bytes) in cases {
        fixture.send(0, &bytes);
        fixture.pass(Duration::from_us(50));
        assert_eq!(fixture.counts[0].sent.load(Ordering::Relaxed), 0, "{what}");
    }
    fixture.send(0, &control);
    fixture.send(0, &good);
    fixture.pass(Duration::from_us(100));
    assert!(fixture.received(3).contains(&good), "the next frame crosses");
    assert_eq!(fixture.free_slots(), 256);
}

#[test]
fn a_rack_that_runs_follows_orders() {
    let mut fixture = Fixture::new("ecmp", Rate::from_gbps(1));
    let orders = fixture.rack.orders();
    let topology = Arc::clone(&fixture.rack.workers[0].fabric.topology);
    let between = |a, b| {
        let links = topology.links().filter(|(_, link)| [(a, b), (b, a)].contains(&(link.from.0, link.to.0)));
        links.map(|(id, _)| id).collect::<Vec<_>>()
    };
    let arrive = |fixture: &mut Fixture| {
        let now = fixture.now;
        fixture.rack.workers[0].follow_orders(now);
        fixture.pass(Duration::from_us(100));
        for port in 0..20 {
            let mut frame = tcp(0, 3, ACK, 0);
            frame[35] = port;
            fixture.send(0, &frame);
            fixture.pass(Duration::from_us(10));
        }
        fixture.pass(Duration::from_us(100));
        fixture.received(3).len()
    };
    assert_eq!(arrive(&mut fixture), 20);
    orders.change(&between(4, 6), false, Duration::from_us(10));
    assert_eq!(arrive(&mut fixture), 20, "all by the other spine");
    orders.change(&between(4, 7), false, Duration::from_us(10));
    assert_eq!(arrive(&mut fixture), 0);
    orders.change(&between(4, 6), true, Duration::from_us(10));
    assert_eq!(arrive(&mut fixture), 20);
}

#[test]
fn a_host_of_a_scheme_gets_no_frames() {
    let Fixture { mut rack, .. } = Fixture::new("ecmp", Rate::from_gbps(1));
    let (ours, _theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).expect("sockets");
    let switch = NodeId(HOSTS);
    assert!(matches!(rack.connect(switch, ours, MTU), Err(NoFrameHost::NoHost(node)) if node == switch));
}

/// A frame from host 0, in which some bytes may be changed or cut off.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let likely = prop::sample::select(vec![tcp(0, 3, SYN, 0), tcp(0, 1, ACK, 300), udp_v6(0, 2)]);
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let damaged = (likely, flips, any::<prop::sample::Index>(), any::<bool>());
    damaged.prop_map(|(mut frame, flips, end, is_cut)| {
        for (at, value) in flips {
            let len = frame.len();
            frame[at.index(len)] = value;
        }
        frame.truncate(if is_cut { end.index(frame.len()) + 1 } else { frame.len() });
        frame
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each frame that a namespace sends either is dropped or crosses the rack and arrives unchanged. No slot is lost.
    #[test]
    fn every_frame_of_a_namespace_crosses_or_is_dropped(
        frames in prop::collection::vec(any_frame(), 1..20),
        routing in prop::sample::select(vec!["ecmp", "expeditus", "conga", "presto"]),
    ) {
        let mut fixture = Fixture::new(routing, Rate::from_gbps(1));
        for frame in &frames {
            fixture.send(0, frame);
            fixture.pass(Duration::from_us(20));
        }
        fixture.pass(Duration::from_us(400));
        let crossed = fixture.counts[0].sent.load(Ordering::Relaxed);
        let mut arrived = 0;
        for host in 1..HOSTS {
            for frame in fixture.received(host) {
                prop_assert!(frames.contains(&frame), "{:x?}", frame);
                arrived += 1;
            }
        }
        prop_assert_eq!(arrived, crossed);
        prop_assert_eq!(fixture.free_slots(), 256);
    }
}
