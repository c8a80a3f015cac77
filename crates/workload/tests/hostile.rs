//! Runs mutated flow files, size files and programs through every reader. No reader may panic, and each error
//! must name a location in the file. Flows read from a file of HPCC can be written and read again.

use raddle_core::text::Misread;
use raddle_core::{Duration, Rate};
use raddle_mutate::{Mutator, hold};
use raddle_topology::{Topology, builders};
use raddle_workload::goal::Trace;
use raddle_workload::{SizeCdf, read_hpcc, read_htsim, write_hpcc};
use std::io::Cursor;

fn topology() -> Topology {
    builders::single_switch(8, Rate::from_gbps(10), Duration::from_us(1)).expect("a small fabric")
}

/// Tries `inputs` mutations of the texts, or as many as the variable `RADDLE_FUZZ_INPUTS` says. More than
/// `inputs / 100` mutations must still be readable.
fn survives<T>(inputs: u64, texts: &[&str], read: impl Fn(&str) -> Result<T, Misread>, again: impl Fn(T)) {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    for text in &texts {
        assert!(read(text).is_ok(), "{text}");
    }
    let check = |text: &String| match read(text) {
        Ok(what) => {
            again(what);
            true
        }
        Err(Misread { line, column, problem }) => {
            assert!(line > 0 && column > 0 && !problem.is_empty(), "{line}, {column}: {problem}");
            false
        }
    };
    let read = hold(inputs, |mutator: &mut Mutator| mutator.text(&texts), check, String::clone);
    assert!(read > inputs / 100, "{read} of {inputs} texts are read");
}

#[test]
fn no_distribution_makes_its_reader_panic() {
    let texts =
        ["# bytes percent\n1000 0\n2000 50\n30000 100\n", "0 0\n1 0.15\n1.5e3 0.2\n2000 0.9\n1e9 1\n"];
    survives(100_000, &texts, SizeCdf::parse, |cdf| {
        let (mean, median) = (cdf.mean(), cdf.quantile(0.5));
        let largest = cdf.quantile(1.0 - f64::EPSILON);
        let truncated = cdf.clone().without_largest(0.5).quantile(0.5);
        assert!(truncated <= median, "{truncated}, {median}");
        assert!(mean.is_finite() && mean >= 0.0 && median <= largest, "{mean}, {median}, {largest}");
    });
}

#[test]
fn no_flow_file_of_hpcc_makes_its_reader_panic() {
    let topology = topology();
    let texts =
        ["3\n0 1 3 100 1000 0.5\n2 1 3 100 20000 0.50001\n7 0 0 100 1 2.0\n", "1\n0 7 15 100 9 0\nsrc dst\n"];
    survives(
        60_000,
        &texts,
        |text| read_hpcc(text, &topology),
        |flows| {
            let text = write_hpcc(&flows);
            assert_eq!(read_hpcc(&text, &topology).map(|flows| flows.len()), Ok(flows.len()), "{text}");
        },
    );
}

#[test]
fn no_connection_matrix_makes_its_reader_panic() {
    let topology = topology();
    let texts = [
        "Nodes 8\nConnections 2\n0->1 id 1 start 0 size 2000000\n2->1 id 2 start 1000000 size 4096 prio 3\n",
        "Connections 1\nTriggers 0\nFailures 0\n7->0 start 5 size 1\n",
    ];
    survives(60_000, &texts, |text| read_htsim(text, &topology), drop);
}

#[test]
fn no_program_makes_its_reader_panic() {
    let texts = [
        "num_ranks 2\n\nrank 0 {\nl1: calc 100\nl2: send 10b to 1 tag 5\nl2 requires l1\n}\n\n\
         rank 1 {\nl1: recv 10b from 0 tag 5\n}\n",
        "num_ranks 3\nrank 0 {\na: send 1000000b to 1 tag 0 cpu 1\nb: recv 8b from 2 tag 4294967295\nb irequires a\n}\n\
         rank 1 {\nrecv 1000000b from 0 tag 0\n}\nrank 2 {\nx1: send 8b to 0 tag 4294967295\n}\n",
    ];
    let read = |text: &str| Trace::read(Cursor::new(text.as_bytes().to_vec()), 64);
    survives(60_000, &texts, read, |trace| {
        let statements = (0..trace.ranks()).flat_map(|rank| trace.program(rank)).filter(Result::is_err);
        assert_eq!(statements.count(), 0, "a file that was checked is read without an error");
    });
}
