mod hostile;
#[cfg(feature = "libfabric")]
mod machines;

use super::*;
use crate::rack::{Config, NoRack, Rack};
use raddle_core::{Bytes, Flow, FlowId, NodeId, Observer, Rate, Report, Time};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::{Topology, builders};
use std::path::PathBuf;
use std::thread;
use tempfile::TempDir;

fn terms(nodes: Range<u32>) -> Terms {
    Terms { nodes, experiment: "seven".to_owned(), secret: b"known to all".to_vec() }
}

fn go_on() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn socket() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("rack");
    (folder, path)
}

#[derive(Default)]
struct Heard {
    opened: u32,
    delivered: u32,
}

impl Observer for Heard {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        assert!(
            !matches!(report, Report::Delivered { .. }) || self.delivered < self.opened,
            "an effect without a cause"
        );
        self.opened += u32::from(matches!(report, Report::Opened { .. }));
        self.delivered += u32::from(matches!(report, Report::Delivered { .. }));
    }
}

fn topology() -> Arc<Topology> {
    let topology = builders::torus(&[4, 4], Rate::from_gbps(5), raddle_core::Duration::from_ns(100));
    Arc::new(topology.expect("a 4x4 torus"))
}

/// A configuration whose rings and slots hold all packets, so that a slow machine drops none.
fn config(threads: usize) -> Config {
    let time_limit = Some(Time::ZERO + raddle_core::Duration::from_ms(4_000));
    let (packet_bytes, ring, slots) = (2_048, 1 << 13, 1 << 15);
    Config { threads, dilation: 5, time_limit, packet_bytes, ring, slots, ..Config::default() }
}

/// Builds this process's part of a 4x4 torus in which every node sends four flows.
fn rack(party: Party, threads: usize) -> Rack {
    rack_of(party, &config(threads)).expect("memory")
}

fn rack_of(party: Party, config: &Config) -> Result<Rack, NoRack> {
    let topology = topology();
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    let settings = Settings::defaults(scheme.info.parameters);
    let plan = Plan::new(&topology, "rps", &settings, 1);
    let mut parts = registry().build(scheme, &plan, &Settings::defaults(&[])).expect("R2C2 fits a torus");
    let flow = |id: u32| {
        let start = Time::ZERO + raddle_core::Duration::from_us(20) * u64::from(id);
        Flow::new(FlowId(id), NodeId(id % 16), NodeId((id * 7 + 5) % 16), Bytes(60_000), start)
    };
    let flows: Vec<Flow> = (0..64).map(flow).collect();
    Rack::shared(&topology, |id| (parts.node)(id), &flows, config, party)
}

/// In these tests each process is a thread. The threads share only the socket, the data that they exchange through the
/// socket, and the memory whose descriptor they pass.
#[test]
fn flows_cross_from_process_to_process() {
    let (_folder, path) = socket();
    let guest = |nodes: Range<u32>| {
        let path = path.clone();
        thread::spawn(move || {
            let mut rack = rack(Party::join(&path, 16, &terms(nodes), go_on).expect("a party"), 2);
            let mut heard = Heard::default();
            let ended = rack.run(&mut heard, |_| go_on());
            (ended, heard.opened, rack.totals().packet_hops)
        })
    };
    let guests = [guest(0..4), guest(12..16)];
    let mut rack = rack(Party::invite(&path, 16, &terms(4..12), go_on).expect("a party"), 2);
    let mut heard = Heard::default();
    assert!(rack.run(&mut heard, |_| go_on()), "{:?}", rack.lost());
    let totals = rack.totals();
    assert_eq!((heard.opened, u64::from(heard.delivered)), (heard.delivered, totals.flows_delivered));
    assert_eq!((totals.flows_started, totals.flows_delivered), (64, 64), "all flows");
    assert_eq!((totals.dropped, rack.fidelity().wrong_payloads), (0, 0));
    assert_eq!(rack.fidelity().hops, totals.packet_hops);
    for guest in guests {
        let (ended, opened, hops) = guest.join().expect("no panic");
        assert_eq!((ended, opened), (true, 0), "the host hears it all");
        assert!(hops > 0 && hops < totals.packet_hops);
    }
    drop(rack);
    assert!(!path.exists(), "the socket has gone with its host");
}

#[test]
fn processes_that_do_not_fit_are_refused_with_the_reason() {
    let (_folder, path) = socket();
    let host = {
        let path = path.clone();
        thread::spawn(move || Party::invite(&path, 16, &terms(0..8), go_on).map(|_| ()))
    };
    let refused = |terms: Terms| match Party::join(&path, 16, &terms, go_on) {
        Err(NoParty::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Terms { experiment: "eight".to_owned(), ..terms(8..16) }).contains("experiment"));
    assert!(refused(terms(7..16)).contains("already has the nodes 0-7"));
    let stranger = Terms { secret: b"a guess".to_vec(), ..terms(8..16) };
    assert!(matches!(Party::join(&path, 16, &stranger, go_on), Err(NoParty::Impostor)));
    assert!(matches!(Party::join(&path, 16, &terms(8..17), go_on), Err(NoParty::Nodes { of: 16, .. })));
    Party::join(&path, 16, &terms(8..16), go_on).expect("whoever fits is let in");
    assert!(host.join().expect("no panic").is_ok());
}

#[test]
fn a_socket_that_is_there_is_left_alone() {
    let (_folder, path) = socket();
    std::fs::write(&path, "mine").expect("a file");
    assert!(matches!(Party::invite(&path, 2, &terms(0..1), go_on), Err(NoParty::Socket { .. })));
    assert_eq!(std::fs::read(&path).expect("the file"), b"mine");
    std::fs::remove_file(&path).expect("the file");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists(), "as a host that was killed leaves it");
    let stop = || ControlFlow::Break(());
    assert!(matches!(Party::invite(&path, 2, &terms(0..1), stop), Err(NoParty::Stopped)));
}

#[test]
fn a_stopped_process_does_not_wait_for_others() {
    let (_folder, path) = socket();
    let stop = || ControlFlow::Break(());
    assert!(matches!(Party::invite(&path, 2, &terms(0..1), stop), Err(NoParty::Stopped)));
    assert!(matches!(Party::join(&path, 2, &terms(0..1), stop), Err(NoParty::Stopped)));
}

/// If a guest leaves, the host's run ends, and `lost` names the guest's nodes.
#[test]
fn a_guest_that_goes_is_reported() {
    let (_folder, path) = socket();
    let guest = {
        let path = path.clone();
        thread::spawn(move || {
            let mut rack = rack(Party::join(&path, 16, &terms(8..16), go_on).expect("a party"), 1);
            let party = rack.party.take().expect("it came with a party");
            party.begin(|| Ok(true)).expect("all are there");
            drop(party);
        })
    };
    let mut rack = rack(Party::invite(&path, 16, &terms(0..8), go_on).expect("a party"), 1);
    assert!(!rack.run(&mut (), |_| go_on()));
    assert_eq!(rack.lost().map(|lost| lost.nodes.clone()), Some(8..16));
    guest.join().expect("no panic");
}

/// If the host leaves, the guests' runs end, and `lost` names the host's nodes.
#[test]
fn a_host_that_goes_is_reported() {
    let (_folder, path) = socket();
    let host = {
        let path = path.clone();
        thread::spawn(move || {
            let mut rack = rack(Party::invite(&path, 16, &terms(4..12), go_on).expect("a party"), 1);
            let party = rack.party.take().expect("it came with a party");
            party.begin(|| Ok(true)).expect("all are there");
        })
    };
    let other = {
        let path = path.clone();
        thread::spawn(move || {
            let mut rack = rack(Party::join(&path, 16, &terms(0..4), go_on).expect("a party"), 1);
            rack.run(&mut (), |_| go_on())
        })
    };
    let mut rack = rack(Party::join(&path, 16, &terms(12..16), go_on).expect("a party"), 1);
    assert!(!rack.run(&mut (), |_| go_on()));
    assert_eq!(rack.lost().map(|lost| lost.nodes.clone()), Some(4..12));
    assert!(!other.join().expect("no panic"));
    host.join().expect("no panic");
}

#[test]
fn a_tcp_address_needs_libfabric_and_a_secret() {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let open = Terms { secret: Vec::new(), ..terms(0..8) };
    let refused = Party::invite(address, 16, &open, go_on).expect_err("no party");
    if crate::HAS_LIBFABRIC {
        assert!(matches!(refused, NoParty::NoSecret));
        let any = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
        let nowhere = Party::invite(any, 16, &terms(0..8), go_on);
        assert!(matches!(nowhere, Err(NoParty::AnyAddress(_))), "{nowhere:?}");
    } else {
        assert!(matches!(refused, NoParty::NoLibfabric));
        assert!(matches!(Party::join(address, 16, &open, go_on), Err(NoParty::NoLibfabric)));
    }
}
