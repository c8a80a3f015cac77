//! `[compute] kind = "routes"`: lengths of the routes that protocols take, and the memory of the protocols' link
//! weights, on each topology that supports the protocol.
//!
//! Quantities of each protocol on each topology:
//! - `longest`: the number of hops of the longest route
//! - `mean`: the mean number of hops of a packet, over all ordered pairs of hosts
//! - `weights`: the memory in bytes of the link weights of one host's flows to all others (R2C2 §4.2), as the rate
//!   computations of routing selection store them

use super::keys::FABRICS;
use super::{Context, fabrics, run, schemes};
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_allocate::selection::{self, LongFlow};
use raddle_core::NodeId;
use raddle_topology::Shape;
use raddle_topology::routing::{Protocol, Routing};

/// Computes every quantity of every protocol on every topology that supports the protocol.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let fabrics = fabrics(section, context)?;
    let schemes = schemes(section)?;
    let mut runs = Vec::new();
    for (fabric, topology) in fabrics {
        let routing = Routing::new(topology);
        for (scheme, protocol) in schemes.iter().filter(|(_, protocol)| routing.supports(*protocol).is_ok()) {
            let weights = weight_bytes(&routing, *protocol).map_err(|error| {
                section.contradiction(
                    &FABRICS,
                    format!("`{fabric}`: {error}"),
                    "give a topology in which all nodes are connected",
                )
            })?;
            for (quantity, number) in [
                ("longest", routing.longest_route(*protocol) as f64),
                ("mean", mean(&routing, *protocol)),
                ("weights", weights as f64),
            ] {
                runs.push(run(
                    &[("quantity", quantity), ("scheme", scheme), ("fabric", &fabric)],
                    Data::Number(number),
                ));
            }
        }
    }
    Ok(runs)
}

/// Mean number of hops of a packet, over all ordered pairs of distinct hosts. The topology must have at least two
/// hosts.
pub(super) fn mean(routing: &Routing, protocol: Protocol) -> f64 {
    let hosts: Vec<NodeId> = routing.topology().hosts().collect();
    // A torus is symmetric, so one source is enough.
    let is_torus = matches!(routing.topology().shape(), Shape::Torus(_));
    let sources = if is_torus { &hosts[..1] } else { &hosts };
    let mut row = Vec::new();
    let mut hops = 0.0;
    for &src in sources {
        for &dst in hosts.iter().filter(|&&dst| dst != src) {
            routing.weights(protocol, src, dst, 0, &mut row);
            hops += row.iter().map(|&(_, weight)| f64::from(weight)).sum::<f64>();
        }
    }
    hops / (sources.len() * (hosts.len() - 1)) as f64
}

/// Memory in bytes of the link weights of the flows from the first host to all others.
fn weight_bytes(routing: &Routing, protocol: Protocol) -> Result<usize, selection::SelectionError> {
    let mut hosts = routing.topology().hosts();
    let flows = hosts.next().map_or(Vec::new(), |src| hosts.map(|dst| LongFlow::new(src, dst)).collect());
    let usable = vec![1.0; routing.topology().link_slots()];
    Ok(selection::Problem::new(routing, &usable, flows, &[protocol])?.weight_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    #[test]
    fn routes_are_of_the_protocols_that_a_fabric_has() {
        let text = r#"[compute]
kind = "routes"
schemes = [{ label = "RPS", protocol = "rps" }, { label = "VLB", protocol = "vlb" }, { label = "WLB", protocol = "wlb" }]
fabrics = [
    { label = "torus", topology = { kind = "torus", dims = [4, 4], link_rate = "1 Gbps", link_delay = "0 ns" } },
    { label = "mesh", topology = { kind = "mesh", dims = [2, 2], link_rate = "1 Gbps", link_delay = "0 ns" } },
]
"#;
        let numbers = numbers(text).expect("routes");
        let of = |quantity: &str| -> Vec<f64> {
            let of = numbers.iter().filter(|(labels, _)| labels[0].1 == quantity);
            of.map(|&(_, number)| number).collect()
        };
        // The order is RPS, VLB and WLB on the torus, then RPS and VLB on the mesh, for which WLB is not defined.
        assert_eq!(of("longest"), [4.0, 8.0, 6.0, 2.0, 4.0]);
        let means = of("mean");
        assert!((means[0] - 32.0 / 15.0).abs() < 1e-6 && (means[3] - 4.0 / 3.0).abs() < 1e-6, "{means:?}");
        assert!(means[1] > means[2] && means[2] > means[0], "VLB is longest, RPS shortest: {means:?}");
        // Under VLB, each of a node's 15 flows uses all 64 links. The weight of a flow on a link takes 4 bytes.
        assert_eq!(of("weights").get(1), Some(&(15.0 * 64.0 * 4.0)));
    }
}
