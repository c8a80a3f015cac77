//! The cost of broadcasts of flow events (R2C2 §3.2, Figure 9).

use super::keys::{GRID_FABRICS, GRID_KIND, GRID_LABEL, GRID_PROTOCOL, LARGE, SHARES, SMALL};
use super::{Build, grid, mean_hops, needed, protocol, routes, run};
use crate::experiment::{Fraction, Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_schemes::transport::r2c2::EVENT_BYTES;
use raddle_topology::routing::Routing;
use raddle_topology::{Hops, Topology, builders};
use std::sync::Arc;

/// Number of events of each flow: START and FINISH.
const EVENTS: f64 = 2.0;

/// Bytes that a broadcast puts on the links of a topology without switches. The packet crosses each edge of a spanning
/// tree of all nodes once.
pub(super) fn bytes_a_broadcast(topology: &Topology) -> f64 {
    f64::from(EVENT_BYTES) * (topology.node_count() - 1) as f64
}

/// The traffic of START events in a torus with a flow between every ordered pair of nodes: `bytes`, the mean number of
/// bytes on a link, and `flows`, the number of flows.
pub(super) fn load(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let torus = grid(section, builders::torus)?;
    let nodes = torus.node_count() as f64;
    let flows = nodes * (nodes - 1.0);
    let bytes = flows * bytes_a_broadcast(&torus) / torus.links().count() as f64;
    let number = |quantity, number| run(&[("quantity", quantity)], Data::Number(number));
    Ok(vec![number("flows", flows), number("bytes", bytes)])
}

/// Bytes of flow events on links, divided by the bytes of data on links. Headers of data do not count. There is one run
/// for each fabric and each share of data bytes in small flows. Data takes shortest paths, or the routes of the
/// fabric's `protocol`.
pub(super) fn overhead(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let (small, large) = (section.read(&SMALL)?.0 as f64, section.read(&LARGE)?.0 as f64);
    let shares = section.read(&SHARES)?;
    let mut runs = Vec::new();
    for mut fabric in needed(section, &GRID_FABRICS)? {
        let label = fabric.read(&GRID_LABEL)?;
        let kinds: [(&str, Build); 2] = [("torus", builders::torus), ("mesh", builders::mesh)];
        let build = fabric.choose(&GRID_KIND, &kinds)?;
        let topology = grid(&mut fabric, build)?;
        let a_flow = EVENTS * bytes_a_broadcast(&topology);
        let mut hops = mean_hops(&fabric, &topology, Hops::mean)?;
        if fabric.has(&GRID_PROTOCOL) {
            let (protocol, routing) =
                (protocol(&mut fabric, &GRID_PROTOCOL)?, Routing::new(Arc::new(topology)));
            let hint = "choose another protocol, or a torus";
            routing
                .supports(protocol)
                .map_err(|error| fabric.contradiction(&GRID_PROTOCOL, error.to_string(), hint))?;
            hops = routes::mean(&routing, protocol);
        }
        fabric.finish()?;
        for &Fraction(share) in &shares {
            let overhead = a_flow / hops * (share / small + (1.0 - share) / large);
            runs.push(run(&[("fabric", &label), ("share", &share.to_string())], Data::Number(overhead)));
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;
    use crate::figure::compute::compute;
    use crate::figure::runs::Data;
    use crate::run::{Control, run as simulate};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn document(text: &str) -> Document {
        Document::parse("figure.toml", text.to_owned(), PathBuf::new()).expect("a document")
    }

    /// The overheads of Figure 9 for one fabric, one for each share.
    fn overheads(fabric: &str, shares: &str) -> Vec<f64> {
        let text = format!(
            "[compute]\nkind = \"broadcast-overhead\"\nsmall = \"10 KiB\"\nlarge = \"35 MiB\"\nshares = {shares}\n\
             fabrics = [{{ label = \"it\", {fabric} }}]\n"
        );
        let runs = compute(&document(&text), 1, &false.into()).expect("a computation").expect("one");
        let number = |run: Run| match run.data {
            Data::Number(number) => number,
            _ => panic!("no computed number"),
        };
        runs.into_iter().map(number).collect()
    }

    #[test]
    fn oracle_o10_figure_9_table() {
        let table = [
            ("fabric = \"torus\", dims = [8, 8, 8]", [0.0074, 1.335, 26.563]),
            ("fabric = \"mesh\", dims = [8, 8, 8]", [0.0056, 1.017, 20.238]),
            ("fabric = \"torus\", dims = [16, 32]", [0.0037, 0.668, 13.281]),
        ];
        for (fabric, percents) in table {
            for (overhead, percent) in overheads(fabric, "[0, 0.05, 1]").into_iter().zip(percents) {
                let digit = if percent < 0.1 { 1e-4 } else { 1e-3 };
                assert!(
                    (100.0 * overhead - percent).abs() < 0.51 * digit,
                    "{fabric}: {overhead} for {percent}%"
                );
            }
        }
    }

    #[test]
    fn the_overhead_is_linear_in_the_share() {
        let at = overheads("fabric = \"torus\", dims = [4, 4]", "[0, 0.25, 0.5, 1]");
        assert!(((at[1] - at[0]) * 4.0 - (at[3] - at[0])).abs() < 1e-12);
        assert!(((at[2] - at[1]) * 4.0 - (at[3] - at[0])).abs() < 1e-12);
    }

    #[test]
    fn data_on_longer_routes_has_less_overhead() {
        let by = |protocol: &str| {
            overheads(&format!("fabric = \"torus\", dims = [4, 4], protocol = \"{protocol}\""), "[1]")[0]
        };
        let shortest = overheads("fabric = \"torus\", dims = [4, 4]", "[1]")[0];
        assert!((by("rps") / shortest - 1.0).abs() < 1e-6);
        // A VLB route leads through a random node, which can also be the source or the destination. The mean distance
        // to such a node is 2 hops, so the mean length of a VLB route is 2 x 2 hops. The mean length of a shortest path
        // is 32/15 hops, because the source is not the destination.
        assert!((by("vlb") * 4.0 - shortest * 32.0 / 15.0).abs() < 1e-6);
    }

    #[test]
    fn a_flow_between_every_pair_loads_links_with_a_tree_for_each() {
        let text = "[compute]\nkind = \"broadcast-load\"\ndims = [4, 4]\n";
        let numbers = super::super::tests::numbers(text).expect("a torus");
        // There are 240 flows. The START event of each flow puts 15 x 16 bytes on links, and there are 64 links.
        let numbers: Vec<f64> = numbers.into_iter().map(|(_, number)| number).collect();
        assert_eq!(numbers, [240.0, 900.0]);
    }

    #[test]
    fn oracle_o10_a_simulated_flow_broadcasts_what_the_formula_counts() {
        for fabric in ["kind = \"torus\"\ndims = [8, 8, 8]", "kind = \"mesh\"\ndims = [5, 3, 4]"] {
            let text = format!(
                "[topology]\n{fabric}\nlink_rate = \"10 Gbps\"\nlink_delay = \"100 ns\"\n\
                 [workload]\nlist = [{{ src = 7, dst = 31, size = \"10 KB\" }}]\n\
                 [scheme]\ntransport = \"r2c2\"\n"
            );
            let document = document(&text);
            let control = Control {
                stop: &AtomicBool::new(false),
                progress: &mut |_| (),
                threads: crate::Threads::Always(1),
            };
            let outcome =
                simulate(document.prepare().expect("sound"), &mut |_| Ok(()), control).expect("a run");
            let counted: u64 = outcome.links.iter().map(|link| link.control_bytes).sum();
            let formula = EVENTS * bytes_a_broadcast(&document.topology().expect("sound"));
            assert!((counted as f64 - formula).abs() < 0.5, "{fabric}: {counted} for {formula}");
        }
    }
}
