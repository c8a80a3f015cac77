//! Warns of hosts that relay packets although the graph file does not ask for it. A graph that has only hosts may be a
//! rack, whose hosts forward packets. It is also possible that the file does not say which nodes are switches.
//! Transports with their own routing are designed for racks and cause no warning.

use super::{Finding, Subject};
use raddle_schemes::scheme::Make;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let topology = &subject.prepared.topology;
    let relays = || topology.hosts().filter(|&host| topology.relays_unasked(host));
    let transport = &subject.prepared.experiment.scheme.transport;
    let (count, Some(first)) = (relays().count(), relays().next()) else { return Vec::new() };
    if !matches!(transport.make, Make::Hosts(_)) {
        return Vec::new();
    }
    vec![Finding::new(
        "topology.file",
        format!(
            "{count} hosts with several links forward packets of other hosts (the first is node {first}), because \
             the graph has no switches and does not set `relay`"
        ),
        "set kind = \"switch\" for switches, and `relay` to true or false for hosts",
    )]
}
