//! Tests message-passing programs as workloads, from the TOML text to the makespan.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Error, Outcome, Threads, run_into};
use raddle_records::{FlowRecord, RankRecord, Table};
use raddle_schemes::scheme::Make;
use raddle_testkit::registry;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// The example of specifications/cee.md §6.6.
const EXAMPLE: &str = "num_ranks 2
rank 0 {
l1: calc 1000
l2: send 3000b to 1 tag 7
l2 requires l1
}
rank 1 {
l1: recv 3000b from 0 tag 7
l2: calc 500 cpu 0
l2 requires l1
}
";

/// Keys of `[scheme]` for UDP, and an empty `[engine]`. UDP has a payload of 1,456 bytes, which makes packets of 1,500
/// bytes.
const UDP: &str = "transport = \"udp\"\nudp = { payload = \"1456 B\" }\n[engine]\n";

/// Keys of `[scheme]` and `[engine]` for lossless Ethernet with cut-through: a switch starts to forward a frame after
/// it has received 64 bytes.
const CEE: &str =
    "transport = \"cee\"\nflow_control = \"pfc\"\n[engine]\ncut_through = true\nheader = \"64 B\"\n";

/// An experiment, and a temporary folder with the file of the experiment's program.
struct Experiment {
    folder: TempDir,
    text: String,
}

impl Experiment {
    fn new(program: &str, fabric: &str, workload: &str, scheme: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program.goal"), program).unwrap();
        let text = format!(
            "[topology]\n{fabric}\nlink_rate = \"10 Gbps\"\nlink_delay = \"50 ns\"\n\
             [workload]\ngoal = \"program.goal\"\n{workload}\n[scheme]\n{scheme}"
        );
        Self { folder, text }
    }

    fn crossbar(program: &str, hosts: u32, workload: &str, scheme: &str) -> Self {
        Self::new(program, &format!("kind = \"single_switch\"\nhosts = {hosts}"), workload, scheme)
    }

    fn document(&self) -> Document {
        Document::parse("program.toml", self.text.clone(), self.folder.path().to_owned()).unwrap()
    }

    fn try_run(&self, threads: usize) -> Result<(Outcome, Vec<FlowRecord>), Error> {
        let mut flows = Vec::new();
        let mut take = |flow: &FlowRecord| {
            flows.push(*flow);
            Ok(())
        };
        let control = Control {
            stop: &AtomicBool::new(false),
            progress: &mut |_| (),
            threads: Threads::Always(threads),
        };
        let outcome = run(self.document().prepare()?, &mut take, control)?;
        Ok((outcome, flows))
    }

    fn run(&self) -> (Outcome, Vec<FlowRecord>) {
        self.try_run(1).unwrap()
    }

    fn makespan_ps(&self) -> u64 {
        self.run().0.makespan_ps().unwrap()
    }
}

/// A program in which every rank first computes once. In each round, every rank then sends a message to every other
/// rank and receives a message from each. A rank begins the next round when it has sent and received all its messages
/// of the round. A message has 3,000 to 60,000 bytes.
fn exchange(ranks: u32, rounds: u32) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        writeln!(text, "rank {rank} {{\nl0: calc {}", 100 * rank + 1).unwrap();
        let mut last = vec![0];
        let mut label = 0;
        for round in 0..rounds {
            let before = std::mem::take(&mut last);
            let mut operation = |what: String| {
                label += 1;
                writeln!(text, "l{label}: {what}").unwrap();
                before.iter().for_each(|before| writeln!(text, "l{label} requires l{before}").unwrap());
                last.push(label);
            };
            for other in (1..ranks).map(|step| (rank + step) % ranks) {
                let (there, here) = (3_000 * (1 + (rank + other) % 20), 3_000 * (1 + (other + rank) % 20));
                operation(format!("send {there}b to {other} tag {round}"));
                operation(format!("recv {here}b from {other} tag {round}"));
            }
        }
        text.push_str("}\n");
    }
    text
}

#[test]
fn the_example_over_udp_takes_what_it_does_by_hand() {
    // The message has 3,000 bytes. Payloads of 1,456, 1,456 and 88 bytes make packets of 1,500, 1,500 and 132
    // bytes. The switch has received the first packet at 1,000 + 1,200 + 50 ns. It then sends without a gap
    // until 2,250 + 2,505.6 ns. The last bit arrives 50 ns later, and rank 1 then computes for 500 ns.
    let example = |more| Experiment::crossbar(EXAMPLE, 2, &format!("placement = \"in_order\"\n{more}"), UDP);
    assert_eq!(example("").makespan_ps(), 5_305_600);
    // With 6,000 bytes, four packets have a payload of 1,456 bytes and one packet has a payload of 176 bytes.
    assert_eq!(example("scale = 2").makespan_ps(), 2_250_000 + 4_976_000 + 50_000 + 500_000);
    let (outcome, flows) = example("").run();
    let rank = |rank, finished, computed, sent: (u64, u64)| RankRecord {
        rank,
        node: rank,
        finished_ps: Some(finished),
        computed_ps: computed,
        sent_messages: sent.0,
        sent_bytes: sent.1,
    };
    let ranks = [rank(0, 1_000_000, 1_000_000, (1, 3_000)), rank(1, 5_305_600, 500_000, (0, 0))];
    assert_eq!(outcome.ranks, ranks);
    assert_eq!((outcome.flows, outcome.delivered, outcome.unmatched, flows.len()), (1, 1, 0, 1));
    assert_eq!(
        (flows[0].start_ps, flows[0].fct_ps, flows[0].slowdown()),
        (1_000_000, Some(3_805_600), Some(1.0))
    );
}

#[test]
fn oracle_8_15_replay_of_the_example_on_the_crossbar() {
    let example = |more: &str| Experiment::crossbar(EXAMPLE, 2, more, CEE);
    // The result does not depend on the placement of the ranks.
    for placement in ["placement = \"in_order\"", "placement = \"random\""] {
        let (outcome, flows) = example(placement).run();
        assert_eq!((flows[0].start_ps, flows[0].fct_ps), (1_000_000, Some(2_551_200)));
        assert_eq!(outcome.makespan_ps(), Some(4_051_200));
    }
    assert_eq!(example("scale = 2").makespan_ps(), 4_051_200 + 2_400_000);
}

#[test]
fn a_rendezvous_takes_one_round_trip_more() {
    // A handshake frame has 64 bytes, so the switch receives the whole frame before it forwards the frame. The
    // serialization delay is 51.2 ns on each of the two links, and the propagation delay of each link is 50 ns. The sum
    // is 202.4 ns.
    let with = |eager: &str| Experiment::crossbar(EXAMPLE, 2, &format!("eager = \"{eager}\""), CEE).run();
    let (eager, _) = with("always");
    let (asked, flows) = with("0 B");
    let sizes: Vec<_> = flows.iter().map(|flow| (flow.id, flow.size_bytes, flow.fct_ps)).collect();
    let (handshake, data) = (202_400, 2_551_200);
    assert_eq!(sizes, [(0, 64, Some(handshake)), (1, 64, Some(handshake)), (2, 3_000, Some(data))]);
    assert_eq!(asked.makespan_ps().unwrap(), eager.makespan_ps().unwrap() + 2 * handshake);
    // A message of exactly the limit uses rendezvous.
    assert_eq!((with("3 KB").1.len(), with("3001 B").1.len()), (3, 1));
}

#[test]
fn a_program_has_one_result_on_any_number_of_threads_and_in_lockstep() {
    let (ranks, rounds) = (10, 2);
    let program = exchange(ranks, rounds);
    let new = |fabric, scheme| {
        let experiment = Experiment::new(&program, fabric, "", scheme);
        // Threads synchronize once per propagation delay. A longer delay makes the test faster.
        Experiment { text: experiment.text.replace("50 ns", "2 us"), ..experiment }
    };
    let udp = new("kind = \"fat_tree\"\nk = 4", UDP);
    let (alone, _) = udp.run();
    let messages = u64::from(ranks * (ranks - 1) * rounds);
    assert_eq!((alone.flows, alone.delivered), (messages + 2 * large(ranks, rounds), alone.flows));
    for threads in 2..=4 {
        let (outcome, _) = udp.try_run(threads).unwrap();
        assert_eq!((outcome.digest, outcome.ranks), (alone.digest, alone.ranks.clone()), "{threads} threads");
    }
    let lockstep = Experiment { text: format!("{}kind = \"lockstep\"\n", udp.text), ..udp };
    assert_eq!(lockstep.run().0.ranks, alone.ranks);
    let cee = new("kind = \"k_ary_n_tree\"\nk = 2\nn = 4", CEE);
    let (alone, _) = cee.run();
    for threads in 2..=4 {
        assert_eq!(cee.try_run(threads).unwrap().0.digest, alone.digest, "{threads} threads");
    }
}

#[test]
fn every_transport_carries_a_program() {
    let program = exchange(8, 2);
    for transport in registry().transports() {
        let fabric = match transport.make {
            Make::Whole { .. } => "kind = \"torus\"\ndims = [4, 4]",
            Make::Hosts(_) => "kind = \"folded_clos\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4",
            Make::Fluid { .. } => continue, // A fluid transport sends no packets.
        };
        let name = transport.info.name;
        let points = if name == "dcqcn" { "red" } else { "none" };
        let scheme = format!("transport = \"{name}\"\ncongestion_points = \"{points}\"");
        let (outcome, _) = Experiment::new(&program, fabric, "", &scheme)
            .try_run(1)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(outcome.makespan_ps().is_some(), "{name}");
        let done = (outcome.flows, outcome.delivered, outcome.unmatched);
        assert_eq!(done, (8 * 7 * 2 + 2 * large(8, 2), outcome.flows, 0), "{name}");
    }
}

/// Returns the number of messages of [`exchange`] that use the rendezvous protocol.
fn large(ranks: u32, rounds: u32) -> u64 {
    let size = |a: u32, b: u32| 3_000 * (1 + (a + b) % 20);
    let pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a != b);
    u64::from(rounds) * pairs.filter(|&(a, b)| size(a, b) >= 16_000).count() as u64
}

#[test]
fn a_seed_places_the_ranks() {
    let nodes = |seed: u32| {
        let mut example = Experiment::crossbar(EXAMPLE, 50, "", UDP);
        writeln!(example.text, "seed = {seed}").unwrap();
        example.run().0.ranks.iter().map(|rank| rank.node).collect::<Vec<_>>()
    };
    assert_eq!(nodes(1), nodes(1));
    assert!((2..6).any(|seed| nodes(seed) != nodes(1)));
}

/// A program in which both ranks send before they receive.
const EMBRACE: &str = "num_ranks 2
rank 0 {
l1: send 20000b to 1
l2: recv 20000b from 1
l2 requires l1
}
rank 1 {
l1: send 20000b to 0
l2: recv 20000b from 0
l2 requires l1
}
";

#[test]
fn a_run_that_comes_to_rest_too_early_says_who_waits_for_what() {
    let run = |more: &str| Experiment::crossbar(EMBRACE, 2, more, CEE).try_run(1);
    let error = run("").unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let text = error.to_string();
    for rank in [
        "rank 0 waits at line 3 for rank 1 to receive 20000 bytes with tag 0",
        "rank 1 waits at line 8 for rank 0 to receive 20000 bytes with tag 0",
    ] {
        assert!(text.contains(rank), "{text}");
    }
    assert!(run("eager = \"always\"").unwrap().0.makespan_ps().is_some());
}

/// RoCE resumes the transfer if the link is repaired, and gives up if the link stays down.
#[test]
fn a_program_that_a_failed_link_stops_names_the_link() {
    let failed = |repair: &str| {
        let scheme = format!(
            "transport = \"dcqcn\"\ncongestion_points = \"red\"\n[[failure]]\nat = \"1 us\"\nlink = [0, 2]\n{repair}\n[engine]\n"
        );
        Experiment::crossbar(EXAMPLE, 2, "", &scheme).try_run(1)
    };
    let error = failed("").unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let text = error.to_string();
    assert!(text.contains("rank 0 waits") || text.contains("rank 1 waits"), "{text}");
    assert!(text.contains("Failed links: the link 0->2 went down at 1 us, and lost "), "{text}");
    let (outcome, _) = failed("repair = \"5 ms\"").unwrap();
    assert!(
        outcome.makespan_ps().is_some_and(|makespan| makespan > 5_000_000_000),
        "{:?}",
        outcome.makespan_ps()
    );
}

#[test]
fn a_time_limit_leaves_ranks_unfinished() {
    let mut example = Experiment::crossbar(EXAMPLE, 2, "", CEE);
    example.text.push_str("time_limit = \"2 us\"\n");
    let (outcome, flows) = example.run();
    let finished: Vec<_> = outcome.ranks.iter().map(|rank| rank.finished_ps).collect();
    assert_eq!((finished, outcome.makespan_ps()), (vec![Some(1_000_000), None], None));
    assert_eq!((outcome.flows, outcome.delivered, flows[0].fct_ps), (1, 0, None));
}

#[test]
fn a_run_directory_has_a_row_a_rank_and_the_makespan() {
    let example = Experiment::crossbar(EXAMPLE, 2, "placement = \"in_order\"", CEE);
    let directory = example.folder.path().join("out");
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
    let summary = run_into(example.document().prepare().unwrap(), &directory, "example", control).unwrap();
    let json = summary.json();
    assert_eq!(json["program"]["makespan_ps"], 4_051_200);
    assert_eq!((&json["program"]["ranks"], &json["program"]["messages"]), (&2.into(), &1.into()));
    let table = Table::read(&directory.join("ranks.parquet")).unwrap();
    assert_eq!(table.integers("finished_ps").unwrap(), [Some(1_000_000), Some(4_051_200)]);
    let text = summary.to_string();
    assert!(
        text.contains("2 of 2 ranks finished, 1 messages with 3000 B in total, makespan 0.004051 ms"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_with_a_program_is_said() {
    let error = |program: &str, workload: &str| {
        Experiment::crossbar(program, 2, workload, UDP).document().prepare().err().unwrap().to_string()
    };
    assert_eq!(
        error("num_ranks 1\nrank 0 {\ncalk 5\n}", ""),
        "program.goal is not a valid GOAL file: line 3, column 1: in rank 0: expected calc, send, recv, \
         `A requires B` or `A irequires B`, found `calk`"
    );
    let many = "num_ranks 3\nrank 0 {\n}\nrank 1 {\n}\nrank 2 {\n}";
    assert_eq!(error(many, ""), "the program has 3 ranks, but the topology has only 2 hosts");
    assert_eq!(error(EXAMPLE, "scale = 0"), "`scale` must be greater than 0 (got 0)");
    assert_eq!(
        error(EXAMPLE, "scale = 1_000_000_000_000_000"),
        "a message must have at most 2^60 bytes (got 3000000000000000000 bytes)"
    );
    assert_eq!(error(EXAMPLE, "lookahead = 0"), "`lookahead` must be greater than 0 (got 0)");
    assert!(error(EXAMPLE, "eager = \"16\"").contains("16"));
    assert_eq!(error(EXAMPLE, "placement = \"anywhere\""), "unknown placement `anywhere`");
    let missing = Experiment::crossbar(EXAMPLE, 2, "", UDP);
    std::fs::remove_file(missing.folder.path().join("program.goal")).unwrap();
    assert!(missing.document().prepare().err().unwrap().to_string().contains("program.goal"));
}

#[test]
fn a_compressed_program_is_the_same_program() {
    let plain = Experiment::crossbar(EXAMPLE, 2, "", CEE);
    let compressed = Experiment::crossbar(EXAMPLE, 2, "", CEE);
    let file = |name: &str| compressed.folder.path().join(name);
    let bytes = zstd::encode_all(EXAMPLE.as_bytes(), 3).unwrap();
    std::fs::write(file("program.goal.zst"), bytes).unwrap();
    std::fs::remove_file(file("program.goal")).unwrap();
    let text = compressed.text.replace("program.goal", "program.goal.zst");
    assert_eq!(Experiment { text, ..compressed }.run().0.digest, plain.run().0.digest);
}
