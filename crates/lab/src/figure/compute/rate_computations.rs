//! `[compute] kind = "rate-computations"`: number of rate computations in the figure's own experiment, in the packet
//! engine. Each of `cases` runs the experiment with other values of some keys, once with each seed. The transport of a
//! case is R2C2, whose nodes all compute rates, or R2C2 with a central controller. The quantity `computations` is the
//! number of computations of all nodes together.

use super::Context;
use super::case::{Case, Quantities, each_case};
use crate::experiment::{Problem, Section};
use crate::figure::runs::Run;
use raddle_core::{Host, NodeId, Parts};
use raddle_schemes::scheme::Plan;
use raddle_schemes::transport::r2c2::{self, Fabric, R2c2Node};
use raddle_schemes::transport::r2c2_central::{self, CentralNode};
use std::sync::Arc;

/// Makes the host of a node.
type MakeHost = Box<dyn Fn(NodeId) -> Box<dyn Host>>;

/// Counts the rate computations of every case with every seed.
pub(super) fn count(section: &mut Section<'_>, context: &Context<'_>) -> Result<Vec<Run>, Problem> {
    each_case(section, context, computations)
}

/// Runs a case, and returns the number of rate computations.
fn computations(mut case: Case<'_>) -> Result<Quantities, Problem> {
    let (topology, scheme) = (&case.prepared.topology, &case.prepared.experiment.scheme);
    let seed = case.prepared.experiment.engine.seed;
    let plan = Plan::new(topology, &scheme.routing, &scheme.settings, seed);
    // The run's own nodes have a fabric that cannot be reached. These nodes replace them.
    let (fabric, host): (_, MakeHost) = match scheme.transport.info.name {
        "r2c2" if case.is_of_packets() => {
            let fabric = Fabric::new(topology, r2c2::Params::of(&plan));
            let of_nodes = Arc::clone(&fabric);
            (fabric, Box::new(move |id| Box::new(R2c2Node::new(&of_nodes, id, seed))))
        }
        "r2c2-central" if case.is_of_packets() => {
            let params = r2c2_central::Params::of(&plan).map_err(|unfit| case.unfit(unfit))?;
            let fabric = Fabric::new(topology, params.r2c2);
            let of_nodes = Arc::clone(&fabric);
            (fabric, Box::new(move |id| Box::new(CentralNode::new(&of_nodes, &params, id, seed))))
        }
        _ => {
            return Err(case.refused(
                "a `rate-computations` figure needs R2C2 and the packet engine",
                "choose transport = \"r2c2\" or \"r2c2-central\" in [scheme] and kind = \"packet\" in [engine]",
            ));
        }
    };
    case.change_nodes(move |id, parts| Parts { host: parts.host.is_some().then(|| host(id)), ..parts });
    case.run(&mut |_| Ok(()))?;
    Ok(vec![("computations", fabric.computations() as f64)])
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers of computations are exact")]
mod tests {
    use super::super::tests::numbers;
    use crate::experiment::Problem;

    /// Counts the computations of the transport `scheme`, on a rack of nine nodes that each send a long flow.
    fn counted(scheme: &str, set: &str) -> Result<f64, Problem> {
        let text = format!(
            r#"
[topology]
kind = "torus"
dims = [3, 3]
link_rate = "10 Gbps"
link_delay = "100 ns"

[workload]
arrivals = {{ kind = "fixed", gap = "1 us" }}
sizes = {{ kind = "fixed", size = "1 GB" }}
pairs = "permutation"
app_rate = "1 Mbps"
flows = 9

[scheme]
transport = "{scheme}"

[engine]
kind = "packet"
time_limit = "1.05 ms"

[compute]
kind = "rate-computations"
cases = [{{ label = "case", set = [{set}] }}]
"#
        );
        let numbers = numbers(&text)?;
        let [(_, number)] = numbers[..] else { panic!("one number, not {}", numbers.len()) };
        Ok(number)
    }

    #[test]
    fn every_node_computes_at_a_tick() {
        let ticks = r#""scheme.r2c2.rho=100us", "scheme.r2c2.synchronous=true", "scheme.r2c2.start=line""#;
        assert_eq!(counted("r2c2", ticks).expect("a number"), 10.0 * 9.0);
        let with_starts = r#""scheme.r2c2.rho=100us", "scheme.r2c2.synchronous=true""#;
        assert_eq!(counted("r2c2", with_starts).expect("a number"), 10.0 * 9.0 + 9.0);
    }

    #[test]
    fn a_controller_computes_once_a_tick_or_once_an_event() {
        let ticks = r#""scheme.r2c2-central.push=tick", "scheme.r2c2-central.rho=100us", "scheme.r2c2-central.synchronous=true""#;
        assert_eq!(counted("r2c2-central", ticks).expect("a number"), 10.0);
        // The interval is longer than the run, so that no period of demand estimation ends.
        let events = r#""scheme.r2c2-central.push=event", "scheme.r2c2-central.rho=1s""#;
        assert_eq!(counted("r2c2-central", events).expect("a number"), 9.0);
    }

    #[test]
    fn what_computes_no_rates_is_refused() {
        let problem = counted("pfq", "").expect_err("a problem").to_string();
        assert!(problem.contains("needs R2C2"), "{problem}");
    }
}
