//! Every reader of graph files reads mutations of valid files. No reader panics, and each error names a location
//! in the file. A graph that is read from GraphML or node-link JSON can be written and read again.

use raddle_core::{Duration, Rate};
use raddle_mutate::{Mutator, hold};
use raddle_topology::builders::ClosRates;
use raddle_topology::io::{
    ReadError, read_graphml, read_hpcc, read_node_link, write_graphml, write_node_link,
};
use raddle_topology::{ClosSize, Topology, builders};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(500);

fn topologies() -> Vec<Topology> {
    let rates = ClosRates { host: RATE, uplink: RATE, core: RATE };
    let all = [
        builders::torus(&[2, 3], RATE, DELAY),
        builders::dumbbell(2, 1, RATE, Rate::from_gbps(1), DELAY),
        builders::clos(ClosSize::leaf_spine(2, 2, 2), rates, DELAY),
    ];
    all.map(|built| built.expect("a small fabric")).into()
}

/// Reads random mutations of the texts. More than one mutation in a hundred must be readable.
fn survives(texts: &[String], read: fn(&str) -> Result<Topology, ReadError>, again: impl Fn(&Topology)) {
    const INPUTS: u64 = 20_000;
    for text in texts {
        assert!(read(text).is_ok(), "{text}");
    }
    let check = |text: &String| match read(text) {
        Ok(topology) => {
            again(&topology);
            true
        }
        Err(error) => {
            assert!(!error.place.to_string().is_empty() && !error.problem.to_string().is_empty());
            false
        }
    };
    let read = hold(INPUTS, |mutator: &mut Mutator| mutator.text(texts), check, String::clone);
    assert!(read > INPUTS / 100, "{read} of {INPUTS} texts are read");
}

#[test]
fn no_graphml_makes_its_reader_panic() {
    let write = |topology: &Topology| write_graphml(topology).expect("a graph");
    let texts: Vec<_> = topologies().iter().map(write).collect();
    survives(&texts, read_graphml, |topology| {
        let text = write(topology);
        assert_eq!(write(&read_graphml(&text).expect(&text)), text);
    });
}

#[test]
fn no_node_link_json_makes_its_reader_panic() {
    let write = |topology: &Topology| write_node_link(topology).expect("a graph");
    let texts: Vec<_> = topologies().iter().map(write).collect();
    survives(&texts, read_node_link, |topology| {
        let text = write(topology);
        assert_eq!(write(&read_node_link(&text).expect(&text)), text);
    });
}

#[test]
fn no_topology_file_of_hpcc_makes_its_reader_panic() {
    let texts = [
        "4 1 3\n3\n0 3 25Gbps 1000ns 0\n1 3 25Gbps 1us 0\n2 3 100Gbps 0.001ms 0\n",
        "6 2 5\n4 5\n0 4 10Gbps 1us 0\n1 4 10Gbps 1us 0\n2 5 10Gbps 1us 0\n3 5 10Gbps 1us 0\n4 5 40Gbps 2us 0.0\n",
    ];
    survives(&texts.map(str::to_owned), read_hpcc, |_| {});
}
