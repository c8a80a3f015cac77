//! Checks that Wireshark reads captures, and that the script in `docs/wireshark` dissects the headers of
//! Raddle's packets.
//!
//! The test needs `tshark` (`make setup` installs it). If `tshark` is missing, the test fails with a message. If
//! `RADDLE_NO_TSHARK` is set, the test prints a message and checks nothing.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "the test prints a message if it does not run")]

use raddle_core::{Credit, HeaderInfo, Packet, Rate, Time};
use raddle_records::{Interface, PcapngWriter};
use raddle_wire::cnm::Notice;
use raddle_wire::conga::{Feedback, Overlay};
use raddle_wire::discovery::{Hello, LinkState, LinkStates};
use raddle_wire::exp::{Tag, Tagged};
use raddle_wire::hula::Probe;
use raddle_wire::pfc::Pause;
use raddle_wire::r2c2::{Data, Event, EventKind, Route, UNLIMITED_KBPS, flow_handle};
use raddle_wire::rated::{self, Kind};
use raddle_wire::tcp::{SYN, Segment};
use raddle_wire::udp::Datagram;
use raddle_wire::{Ecn, Header, Mac, Minifloat, Shim, cee, d3, pdq, rcp, roce};
use std::path::Path;
use std::process::Command;

const LUA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wireshark/raddle.lua");

/// Returns packets with most of the headers that a capture can contain.
#[expect(clippy::too_many_lines, reason = "a list of packets")]
fn packets() -> Vec<Packet> {
    let cp = Mac::switch_port(2, 1, 2);
    let mut quanta = [0; 8];
    quanta[3] = 0xFFFF;
    let pause = Pause { src: cp, enabled: 1 << 3, quanta };
    let notice =
        Notice { dst: 1, cp, priority: 3, feedback: 39, q_offset: -625, q_delta: 171, culprit_dst: 31 };
    let frame = cee::Frame {
        src: 1,
        dst: 31,
        flow: 7,
        priority: 3,
        plen: 1_500,
        path: 0x0201,
        offset: 1_500,
        size: 3_000,
        birth_ps: 1_200_000,
    };
    let kind = roce::Kind::Write { psn: 5, plen: 1_000, offset: 4_000, size: 1 << 20, ack_request: false };
    let (src, dst) = (1, 31);
    let write = roce::Packet { src, dst, priority: 3, ecn: Ecn::Ce, src_port: 0xC001, flow: 7, kind };
    let notification =
        roce::Packet { src: dst, dst: src, ecn: Ecn::NotEct, kind: roce::Kind::Notification, ..write };
    let syn = Segment { src, dst, src_port: 1_000, dst_port: 80, flags: SYN, ..Segment::default() };
    let datagram =
        Datagram { src, dst, src_port: 1_000, dst_port: 2_000, plen: 400, size: 400, ..Datagram::default() };
    let tagged = Tagged { tag: Tag::request([3, 1, 7]), inner: Header::Tcp(syn) };
    let data = Data {
        flow: flow_handle(1, 7),
        src: 1,
        dst: 31,
        seq: 9,
        plen: 100,
        rlen: 4,
        ridx: 1,
        flags: 0,
        route: Route::from_ports([0_u8, 0, 2, 4], 3).unwrap(),
    };
    let event = Event {
        kind: EventKind::Start,
        tree: 2,
        src: 1,
        dst: 31,
        weight: 1,
        priority: 8,
        protocol: 0,
        demand_kbps: UNLIMITED_KBPS,
        lid: 7,
    };
    let segment = rated::Segment {
        src: 1,
        dst: 31,
        flow: 7 << 4 | 2,
        seq: 9,
        plen: 100,
        path: 3,
        hop: 1,
        kind: Kind::Data,
        ack: false,
        asks: true,
    };
    let scheduling = pdq::Scheduling {
        rate: 900_000,
        pauseby: pdq::Scheduling::NOBODY,
        deadline: 20_000,
        expected: 8_000,
        rtt: Minifloat::floor(1_000_000),
        interval: 16,
    };
    let request = d3::Request {
        desired: Minifloat::floor(300_000),
        desired_before: Minifloat(0),
        grants: std::array::from_fn(|router| Minifloat::floor(1_000 * router as u64)),
    };
    let pdq = pdq::Packet { segment, scheduling };
    let d3 = d3::Packet { segment: rated::Segment { kind: Kind::Syn, plen: 0, ..segment }, request };
    let acknowledgement = rated::Segment { asks: false, ..segment.acknowledgement() };
    let rcp = rcp::Packet { segment: acknowledgement, rate: 500_000, rtt: Minifloat::floor(150_000) };
    let headers = [
        Header::Pfc(pause),
        Header::Cnm(notice),
        Header::Cee(frame),
        Header::Roce(write),
        Header::Roce(notification),
        Header::Tcp(syn),
        Header::Udp(datagram),
        Header::Exp(Box::new(tagged)),
        Header::HulaProbe(Probe { tor: 20, utilisation: 200 }),
        Header::R2c2Data(data),
        Header::R2c2Event(event),
        Header::Pdq(pdq),
        Header::D3(d3),
        Header::Rcp(rcp),
        Header::Credit(Credit::new(7, 5, [0x10007])),
        Header::Hello(Hello { link: 12, hears: true, digest: 0xABCD }),
        Header::LinkStates(LinkStates {
            states: [(3, 1), (4, 2)].map(|(link, sequence)| LinkState { link, sequence }).into(),
        }),
    ];
    let size = |header: &Header| (header.wire_len() + header.payload_len()) as u32;
    let mut packets: Vec<Packet> =
        headers.into_iter().map(|header| Packet::new(size(&header), header)).collect();
    let mut shimmed = Packet::new(40, Header::Tcp(syn));
    shimmed.set_shim(Shim::Conga(Overlay::new(3).met(6).with_feedback(Feedback { tag: 2, metric: 5 })));
    packets.push(shimmed);
    packets
}

fn write(path: &Path, packets: &[Packet]) {
    let interface =
        Interface { name: "1->32".into(), description: "link 1".into(), rate: Rate::from_gbps(10) };
    let mut writer = PcapngWriter::create(path, &[interface], 2_000).unwrap();
    for (packet, number) in packets.iter().zip(1..) {
        writer.push(Time::from_ps(number * 1_200_000), 0, packet, None).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs tshark and returns the given fields of the filtered packets, one line per packet.
fn tshark(path: &Path, arguments: &[&str], filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(arguments).args(["-Y", filter, "-T", "fields", "-E", "separator=;"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is there (`make setup` installs it)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn wireshark_dissects_captures() {
    if std::env::var_os("RADDLE_NO_TSHARK").is_some() {
        eprintln!("not run: RADDLE_NO_TSHARK is set");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.pcapng");
    write(&path, &packets());
    let stock = |filter: &str, fields: &[&str]| tshark(&path, &[], filter, fields);
    assert_eq!(
        stock("frame.number == 1", &["frame.interface_name", "frame.time_epoch", "frame.len"]),
        ["1->32;0.000001200;60"]
    );
    let pause = ["eth.src", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "macc.cbfc.pause_time.c2"];
    assert_eq!(stock("macc.opcode == 0x0101", &pause), ["06:01:02:00:01:02;0x0008;65535;0"]);
    let roce =
        ["ip.src", "ip.dsfield", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"];
    assert_eq!(stock("infiniband", &roce), ["10.0.0.1;0x63;10;0x000007;5", "10.0.0.31;0x60;129;0x000007;0"]);
    assert_eq!(stock("tcp", &["eth.src", "tcp.dstport", "tcp.flags"]), ["06:00:00:00:00:01;80;0x0002"]);
    assert_eq!(stock("udp.port == 2000", &["udp.length"]), ["424"]);
    let told = stock("frame", &["_ws.col.Info", "_ws.malformed"]).join("\n");
    assert!(!told.contains("alformed"), "{told}");

    let ours =
        |filter: &str, fields: &[&str]| tshark(&path, &["-X", &format!("lua_script:{LUA}")], filter, fields);
    let cnm = ["vlan.priority", "cnm.qfb", "cnm.cpid.port", "cnm.qoffset", "cnm.qdelta", "cnm.encap.dst"];
    assert_eq!(ours("cnm", &cnm), ["7;39;06:01:02:00:01:02;-625;171;06:00:00:00:00:1f"]);
    let cee = [
        "vlan.priority",
        "raddle_cee.flow",
        "raddle_cee.seq",
        "raddle_cee.len",
        "raddle_cee.size",
        "frame.len",
    ];
    assert_eq!(ours("raddle_cee", &cee), ["3;7;1500;1500;3000;1496"]);
    assert_eq!(ours("expeditus", &["expeditus.load", "tcp.dstport"]), ["3,1,7;80"]);
    assert_eq!(
        ours("raddle", &["_ws.col.Protocol", "_ws.col.Info"])[..3],
        [
            "Raddle;HULA probe of 20: 200/255",
            "Raddle;R2C2 data 1 > 31 seq 9",
            "Raddle;R2C2 flow start 1 > 31",
        ]
    );
    let conga = ["raddle.conga.lbtag", "raddle.conga.ce", "raddle.conga.fb_metric", "tcp.dstport"];
    assert_eq!(ours("raddle.shim == 2", &conga), ["3;6;5;80"]);
    let rated = |scheme: &str, fields: &[&str]| {
        let common = ["raddle_rated.kind", "raddle_rated.src", "raddle_rated.dst", "raddle_rated.flow"];
        ours(&format!("raddle_rated.scheme == {scheme}"), &[&common, fields].concat())
    };
    let scheduling = ["rate", "pauseby", "deadline", "expected", "rtt", "interval"]
        .map(|field| format!("raddle_rated.pdq.{field}"));
    let pdq = rated("0xE", &scheduling.each_ref().map(String::as_str));
    assert_eq!(pdq, ["1;1;31;7;900000;;20000;8000;999936;16"]);
    let d3 = rated("0xF", &["raddle_rated.subflow", "raddle_rated.d3.desired", "raddle_rated.d3.grant"]);
    assert_eq!(d3, ["0;1;31;7;2;299904;0,1000,2000,3000,4000,5000,6000,7000"]);
    let rcp = rated("0x6", &["raddle_rated.ack", "raddle_rated.rcp.rate", "raddle_rated.rcp.rtt"]);
    assert_eq!(rcp, ["1;31;1;7;1;500000;149952"]);
    let credit = ["raddle.credit.given", "raddle.credit.taken", "raddle.credit.flow"];
    assert_eq!(ours("raddle.type == 0x83", &credit), ["7;5;0x00010007"]);
    let hello = ["raddle.hello.hears", "raddle.link", "raddle.hello.digest"];
    assert_eq!(ours("raddle.type == 0x84", &hello), ["1;12;0x000000000000abcd"]);
    assert_eq!(ours("raddle.type == 0x87", &["raddle.link", "raddle.link.sequence"]), ["3,4;1,2"]);
    let hula = ["raddle.hula.tor", "raddle.hula.utilisation"];
    assert_eq!(ours("raddle.type == 0x8E", &hula), ["20;200"]);
    assert_eq!(ours("_ws.malformed or _ws.lua.error", &["frame.number"]), [""; 0]);
}
