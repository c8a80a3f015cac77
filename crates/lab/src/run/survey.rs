//! Passes once over the flows of an experiment before the run. Checks each flow, and gathers statistics.

use crate::experiment::{Cause, Experiment, Problem};
use crate::memory::{Load, Peak};
use raddle_core::{Bytes, Flow, Flows, Time};
use raddle_topology::Topology;
use raddle_topology::routing::Routing;
use raddle_workload::Facts;
use std::sync::Arc;

/// Facts about the flows of an experiment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survey {
    /// The number of flows, their sizes and the offered load.
    pub(crate) facts: Facts,
    /// The largest priority number of a flow. Packets with this number are served last.
    pub(crate) most_priority: u8,
    /// True if the application of at least one flow produces bytes at a limited rate.
    pub(crate) is_paced: bool,
    /// The number of flows that start at the time limit or later.
    pub(crate) late: usize,
    /// The start of the first flow; `Time::ZERO` without flows.
    pub(crate) first: Time,
    /// The start of the last flow; `Time::ZERO` without flows.
    pub(crate) last: Time,
    /// Largest number of live flows, and of their bytes in the network, at one time. It is computed as if only the
    /// hosts' links and `app_rate` limited the rates of flows.
    pub(crate) peak: Load,
}

impl Survey {
    /// Surveys these flows. Nodes with equal numbers in `component` are connected by links. `memory` is the largest
    /// memory that a run may need.
    ///
    /// # Errors
    /// If a flow is impossible. The error is about the first such flow.
    pub(crate) fn of(
        experiment: &Experiment,
        flows: &Flows,
        topology: &Arc<Topology>,
        component: &[u32],
        memory: Bytes,
    ) -> Result<Self, Problem> {
        let mut peak = Peak::new(topology, memory);
        let end = experiment.engine.time_limit.unwrap_or(Time::NEVER);
        let routing = Routing::new(Arc::clone(topology));
        // If hosts do not relay packets, nodes can be connected by links that no path may use.
        let no_path =
            |flow: &Flow| topology.has_endpoints() && routing.distance(flow.src, flow.dst).is_none();
        let check = |flow: &Flow| {
            experiment.workload.check(flow)?;
            if component[flow.src.index()] != component[flow.dst.index()] || no_path(flow) {
                let cause = Cause::Unreachable { src: flow.src.0, dst: flow.dst.0 };
                return Err(Problem::at(experiment.workload.place(flow.id), cause));
            }
            Ok(())
        };
        let (mut most_priority, mut is_paced, mut late) = (0, false, 0);
        let (mut first, mut last) = (None, Time::ZERO);
        let mut checked = Ok(());
        let sound = flows.iter().map_while(|flow| {
            checked = check(&flow);
            most_priority = most_priority.max(flow.priority);
            is_paced |= flow.app_rate.is_some();
            late += usize::from(flow.start >= end);
            first.get_or_insert(flow.start);
            last = flow.start;
            if checked.is_ok() && flow.start <= end {
                peak.add(&flow, topology);
            }
            // If the live flows already exceed the memory, the run will be refused, so no further flows are drawn.
            (checked.is_ok() && !peak.is_over()).then_some(flow)
        });
        let facts = Facts::of(sound, topology, |src, dst| routing.distance(src, dst).unwrap_or(0));
        let first = first.unwrap_or(Time::ZERO);
        checked.map(|()| Self { facts, most_priority, is_paced, late, first, last, peak: peak.load() })
    }
}
