//! Tests the contents and the packet order of captures. A capture is the same with any number of threads, and the same
//! on the packet engine and in lockstep.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::{Control, Out, Threads, run_into};
use raddle_records::Table;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const RACK: &str = r#"[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = { kind = "poisson", mean_gap = "2 us" }
sizes = { kind = "pareto", shape = 1.05, mean = "20 KB" }
pairs = "uniform"
flows = 60

[scheme]
transport = "tcp-newreno"
"#;

/// Runs the experiment into `directory`, replaces the results of earlier runs, and returns the capture.
fn capture(directory: &Path, set: &[&str], threads: usize) -> Vec<u8> {
    let document = Document::parse("rack.toml", RACK.to_owned(), PathBuf::new()).unwrap();
    let prepared = document.with_overrides(set.iter().copied()).unwrap().prepare().unwrap();
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(threads) };
    let out = Out { force: true, ..Out::from(directory) };
    run_into(prepared, out, "rack", control).unwrap();
    std::fs::read(directory.join("packets.pcapng")).unwrap()
}

/// A packet in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    interface: usize,
    ns: u64,
    kept: u64,
    len: u64,
}

/// Parses a capture and returns the names of the interfaces and the packets.
fn read(mut bytes: &[u8]) -> (Vec<String>, Vec<Packet>) {
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    let word = |bytes: &[u8], at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    while !bytes.is_empty() {
        let word = |at| word(bytes, at);
        match word(0) {
            // The first option of an interface is its name.
            1 => {
                let len = word(16) as usize / 0x1_0000;
                names.push(String::from_utf8(bytes[20..20 + len].to_vec()).unwrap());
            }
            6 => {
                let (interface, ns) = (word(8) as usize, word(12) << 32 | word(16));
                packets.push(Packet { interface, ns, kept: word(20), len: word(24) });
            }
            _ => {}
        }
        bytes = &bytes[word(4) as usize..];
    }
    (names, packets)
}

#[test]
fn a_capture_has_every_packet_of_its_links_when_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = capture(&folder.path().join("run"), &["record.pcap=all"], 1);
    let (names, packets) = read(&bytes);
    assert_eq!((names.len(), names[0].as_str(), names[35].as_str()), (36, "0->1", "8->5"));
    assert!(packets.is_sorted_by_key(|packet| packet.ns));
    assert!(packets.iter().all(|packet| packet.kept == packet.len.min(128)));
    assert!(packets.iter().any(|packet| packet.len == 1_514), "full segments behind 14 bytes of Ethernet");
    let links = Table::read(&folder.path().join("run/links.parquet")).unwrap();
    let column =
        |name: &str| links.integers(name).unwrap().iter().map(|cell| cell.unwrap()).collect::<Vec<_>>();
    let sum = |one: &str, other: &str| {
        column(one).into_iter().zip(column(other)).map(|(one, other)| one + other).collect::<Vec<_>>()
    };
    let sent = sum("data_packets", "control_packets");
    let bytes = sum("data_bytes", "control_bytes");
    for (link, (sent, bytes)) in sent.into_iter().zip(bytes).enumerate() {
        let captured: Vec<_> = packets.iter().filter(|packet| packet.interface == link).collect();
        assert_eq!(captured.len() as u64, sent, "packets of {}", names[link]);
        assert_eq!(
            captured.iter().map(|packet| packet.len - 14).sum::<u64>(),
            bytes,
            "bytes of {}",
            names[link]
        );
        for pair in captured.windows(2) {
            // Two packets of a link are at least one serialization delay of the second packet apart. The rate is 10
            // Gbps, and the 14 bytes of Ethernet header do not count, because the capture adds them. Times are rounded
            // to ns.
            assert!((pair[1].ns + 1 - pair[0].ns) * 10 >= (pair[1].len - 14) * 8, "{pair:?}");
        }
    }
}

#[test]
fn links_are_chosen_by_their_ends_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let links = |set: &[&str]| read(&capture(&folder.path().join("run"), set, 1));
    let (all, _) = links(&["record.pcap=all"]);
    let (names, packets) = links(&["record.pcap= 4->1, 35 ,1->4,4->1", "record.pcap_snap=\"60 B\""]);
    assert_eq!(names, ["1->4", "4->1", &all[35]]);
    assert!(packets.iter().all(|packet| packet.kept == packet.len.min(60)));
    for (interface, name) in names.iter().enumerate() {
        assert!(packets.iter().any(|packet| packet.interface == interface), "{name}");
    }
}

#[test]
fn a_capture_does_not_depend_on_threads_nor_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    for transport in ["tcp-newreno", "r2c2"] {
        let transport = format!("scheme.transport={transport}");
        let set = ["record.pcap=all", &transport];
        let bytes = |set: &[&str], threads| capture(&folder.path().join("run"), set, threads);
        let one = bytes(&set, 1);
        assert!(read(&one).1.len() > 500, "{}", read(&one).1.len());
        for threads in [2, 3, 4] {
            assert!(bytes(&set, threads) == one, "{transport} on {threads} threads");
        }
        let lockstep = [set[0], set[1], "engine.kind=lockstep"];
        assert_eq!(read(&bytes(&lockstep, 1)), read(&one), "{transport} in lockstep");
    }
}
