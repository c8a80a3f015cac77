//! `[compute] kind = "link-weights"`: the weight of a flow from node `src` to node `dst` on each link of the topologies
//! (R2C2 §3.3.1), for each protocol. The weight of a flow on a link is the expected number of times that a packet of
//! the flow crosses the link.

use super::keys::{DST, SRC};
use super::{Context, fabrics, run, schemes};
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_core::NodeId;
use raddle_topology::routing::Routing;

/// Computes the weight on every link, for each protocol that the topology supports.
pub(super) fn measure(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    let (src, dst) = (NodeId(section.read(&SRC)?), NodeId(section.read(&DST)?));
    let fabrics = fabrics(section, context)?;
    let schemes = schemes(section)?;
    let mut runs = Vec::new();
    let mut row = Vec::new();
    for (fabric, topology) in fabrics {
        let is_node = |node: NodeId| node.index() < topology.node_count();
        let hint = "give the numbers of two different nodes with a path between them";
        section.ensure(
            is_node(src) && is_node(dst) && src != dst,
            &DST,
            "`src` and `dst` must be two different nodes in every topology",
            hint,
        )?;
        let routing = Routing::new(topology);
        if !routing.has_path(src, dst) {
            return Err(section.contradiction(
                &DST,
                "there is no path from `src` to `dst` in a topology of `fabrics`",
                hint,
            ));
        }
        for (scheme, protocol) in schemes.iter().filter(|(_, protocol)| routing.supports(*protocol).is_ok()) {
            routing.weights(*protocol, src, dst, 0, &mut row);
            for (id, link) in routing.topology().links() {
                let weight = row.iter().find(|(there, _)| *there == id).map_or(0.0, |&(_, weight)| weight);
                let name = format!("{}->{}", link.from, link.to);
                runs.push(run(
                    &[("link", &name), ("scheme", scheme), ("fabric", &fabric)],
                    Data::Number(weight.into()),
                ));
            }
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    #[test]
    fn a_flow_splits_over_its_paths() {
        let text = r#"[compute]
kind = "link-weights"
src = 0
dst = 1
schemes = [{ label = "RPS", protocol = "rps" }, { label = "WLB", protocol = "wlb" }]
fabrics = [{ label = "ring", topology = { kind = "torus", dims = [4], link_rate = "1 Gbps", link_delay = "0 ns" } }]
"#;
        let found = numbers(text).expect("weights");
        let of = |scheme: &str| -> Vec<(&str, f64)> {
            let of = found.iter().filter(|(labels, weight)| labels[1].1 == scheme && *weight > 0.0);
            of.map(|(labels, weight)| (labels[0].1.as_str(), *weight)).collect()
        };
        assert_eq!(of("RPS"), [("0->1", 1.0)]);
        // WLB chooses the path of three hops a third as often as the path of one hop.
        let wlb = of("WLB");
        assert_eq!(wlb.iter().map(|&(link, _)| link).collect::<Vec<_>>(), ["0->1", "0->3", "2->1", "3->2"]);
        assert!(
            wlb.iter()
                .zip([0.75, 0.25, 0.25, 0.25])
                .all(|(&(_, weight), share)| (weight - share).abs() < 1e-6)
        );
        let refused = |dst: &str| numbers(&text.replace("dst = 1", dst)).expect_err("a problem").to_string();
        assert!(
            refused("dst = 4").contains("must be two different nodes")
                && refused("dst = 0").contains("must be two different nodes")
        );
    }
}
