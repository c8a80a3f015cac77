use super::*;
use crate::testing::{between, fat_tree, route, segment};
use raddle_core::{DropReason, Forwarder, Header, LinkId, Packet, PortId, Ports, Shim, Time, Verdict};
use raddle_topology::{ClosSize, Topology};
use raddle_wire::udp::Datagram;

/// A fat-tree with k = 4. Between two pods there are four paths: 0 and 1 in the first plane, 2 and 3 in the second
/// plane.
struct Net {
    topology: Arc<Topology>,
    nodes: Vec<Box<dyn Forwarder>>,
}

struct Boxed<'a>(&'a mut dyn Forwarder);

impl Forwarder for Boxed<'_> {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        self.0.forward(now, packet, arrival, ports)
    }
}

impl Net {
    fn new() -> Self {
        let topology = fat_tree(4);
        let paths = Arc::new(Paths::new(&topology, ClosSize::fat_tree(4)));
        let node = |node| -> Box<dyn Forwarder> {
            if topology.is_host(node) {
                Box::new(Sender::new(node, &paths, 1 << 16, 1))
            } else {
                Box::new(Switch::new(node, &paths))
            }
        };
        let nodes = topology.nodes().map(node).collect();
        Self { topology, nodes }
    }

    /// The path number that host 0 writes into a packet; `None` if the packet needs no path.
    fn path(&mut self, packet: &mut Packet) -> Result<Option<u16>, DropReason> {
        match self.nodes[0].forward(Time::ZERO, packet, None, &Ports(&[])) {
            Verdict::Forward(PortId(0)) => Ok(match packet.shim {
                Shim::Path(path) => Some(path),
                Shim::None => None,
                other @ Shim::Conga(_) => panic!("Presto writes paths: {other:?}"),
            }),
            Verdict::Drop(reason) => Err(reason),
            other => panic!("out by the only port: {other:?}"),
        }
    }

    /// The paths that host 0 assigns to the first segments of a flow's first `cells` cells.
    fn turns(&mut self, dst: u32, cells: u32) -> Vec<u16> {
        // Sequence number of the first segment that begins in the cell.
        let seq = |cell: u32| 1 + (cell << 16).div_ceil(1_460) * 1_460;
        let path = |cell| self.path(&mut segment(0, dst, 7, seq(cell))).expect("a path").expect("a number");
        (0..cells).map(path).collect()
    }

    fn tell(&mut self, link: [LinkId; 2], up: bool) {
        for node in &mut self.nodes {
            link.into_iter().for_each(|link| node.link(link, up));
        }
    }
}

/// True if `turns` is a rotation of `of`.
fn is_rotation(of: &[u16], turns: &[u16]) -> bool {
    turns.len() == of.len() && (0..of.len()).any(|by| [&of[by..], &of[..by]].concat() == turns)
}

/// In each of the first eight cells of 65,536 bytes, 45 segments of 1,460 bytes begin. At most 45 segments can begin in
/// one cell, and 360 segments begin in eight cells.
#[test]
fn oracle_cells_of_64_kb_take_the_paths_in_turn() {
    let mut net = Net::new();
    let paths: Vec<u16> = (0..360)
        .map(|i| net.path(&mut segment(0, 15, 7, 1 + i * 1_460)).expect("a path").expect("a number"))
        .collect();
    let cells: Vec<&[u16]> = paths.chunk_by(|a, b| a == b).collect();
    assert_eq!(cells.iter().map(|cell| cell.len()).collect::<Vec<_>>(), [45; 8]);
    // The plane changes from each cell to the next.
    let turns: Vec<u16> = cells.iter().map(|cell| cell[0]).collect();
    assert!(is_rotation(&[0, 2, 1, 3], &turns[..4]), "{turns:?}");
    assert_eq!(turns[..4], turns[4..]);
}

#[test]
fn datagrams_are_cut_by_their_place_in_the_flow() {
    let mut net = Net::new();
    let mut path = |offset| {
        let datagram = Datagram { dst: 15, offset, plen: 1_000, size: 1 << 20, ..Datagram::default() };
        let header = Header::Udp(datagram);
        net.path(&mut Packet::new(1_044, header)).expect("a path").expect("a number")
    };
    let turns = [0, 65_536, 131_072, 196_608].map(&mut path);
    assert!(is_rotation(&[0, 2, 1, 3], &turns), "{turns:?}");
    assert_eq!([65_535, 131_071].map(path), turns[..2]);
}

#[test]
fn flows_begin_with_different_paths_and_acknowledgements_keep_to_one() {
    let mut net = Net::new();
    let mut counts = [0_u32; 4];
    for src_port in 0..2_000 {
        let path = net.path(&mut segment(0, 15, src_port, 1)).expect("a path").expect("a number");
        counts[usize::from(path)] += 1;
    }
    assert!(counts.iter().all(|n| n.abs_diff(500) < 78), "{counts:?}");
    let ack = |seq| {
        let mut packet = segment(0, 15, 7, seq);
        let Header::Tcp(segment) = &mut packet.header else { panic!("TCP") };
        segment.plen = 0;
        packet
    };
    assert_eq!(net.path(&mut ack(1)), net.path(&mut ack(1 + (1 << 16))));
}

#[test]
fn switches_follow_the_number_and_the_last_one_takes_it_off() {
    let Net { topology, mut nodes } = Net::new();
    let mut nodes: Vec<Boxed<'_>> = nodes.iter_mut().map(|node| Boxed(&mut **node)).collect();
    for cell in 0..4 {
        let mut packet = segment(0, 15, 7, 1 + (cell << 16));
        nodes[0].forward(Time::ZERO, &mut packet, None, &Ports(&[]));
        let Shim::Path(path) = packet.shim else { panic!("between pods there is a number") };
        assert_eq!(packet.size, 1_504);
        let route = route(&topology, &mut nodes, &mut packet).expect("a path");
        // The nodes are host, edge switch, aggregation switch, core, aggregation switch and edge switch. The first port
        // upwards is port 2.
        let ports: Vec<u16> = route.iter().map(|port| port.0).collect();
        assert_eq!(ports, [0, 2 + path / 2, 2 + path % 2, 3, 1, 1]);
        assert_eq!((packet.shim, packet.size), (Shim::None, 1_500));
    }
}

#[test]
fn below_one_switch_there_is_no_number() {
    let mut net = Net::new();
    assert_eq!(net.path(&mut segment(0, 1, 7, 1)), Ok(None));
}

#[test]
fn a_packet_without_a_number_gets_no_further_than_its_switch() {
    let mut net = Net::new();
    let verdict = net.nodes[16].forward(Time::ZERO, &mut segment(0, 15, 7, 1), None, &Ports(&[]));
    assert_eq!(verdict, Verdict::Drop(DropReason::Malformed));
}

/// Edge switches 16 and 17 are in the first pod, 22 and 23 in the last pod. Aggregation switches 24 and 30 are in the
/// first plane, 25 and 31 in the second. Node 32 is the first core of the first plane.
#[test]
fn oracle_dead_paths_have_no_turns() {
    let mut net = Net::new();
    let core = between(&net.topology, 24, 32);
    net.tell(core, false);
    assert!(is_rotation(&[2, 1, 3], &net.turns(15, 3)), "three of four");
    assert!(is_rotation(&[0, 2, 0, 2], &net.turns(2, 4)), "in the pod no core is needed");
    net.tell(core, true);
    assert!(is_rotation(&[0, 2, 1, 3], &net.turns(15, 4)));
    let last = between(&net.topology, 30, 23);
    net.tell(last, false);
    assert!(is_rotation(&[2, 3], &net.turns(15, 2)), "the first plane does not reach the switch");
    assert!(is_rotation(&[0, 2, 1, 3], &net.turns(13, 4)), "but its neighbour");
    let other = between(&net.topology, 31, 23);
    net.tell(other, false);
    assert_eq!(net.path(&mut segment(0, 15, 7, 1)), Err(DropReason::NoRoute));
}
