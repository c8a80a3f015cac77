//! Places ranks on the scheme's hosts, and records their results.

use crate::experiment::{Problem, WorkloadSpec};
use raddle_core::{NodeId, Parts};
use raddle_records::RankRecord;
use raddle_schemes::scheme::Built;
use raddle_topology::Topology;
use raddle_workload::goal::{Job, Replay};
use std::sync::Arc;

/// Places the workload's ranks, if it has any, on the scheme's hosts.
///
/// # Errors
/// If there are more ranks than hosts.
pub(crate) fn place(
    workload: &WorkloadSpec,
    topology: &Topology,
    seed: u64,
    parts: &mut Built,
) -> Result<Option<Arc<Job>>, Problem> {
    let Some((job, programs)) = workload.job(topology, seed)? else { return Ok(None) };
    let job = Arc::new(job);
    let mut bare = std::mem::replace(&mut parts.node, Box::new(|_| Parts::default()));
    let mut ranks = vec![None; topology.node_count()];
    for (rank, node) in (0..).zip(job.nodes()) {
        ranks[node.index()] = Some(rank);
    }
    let shared = Arc::clone(&job);
    parts.node = Box::new(move |id| {
        let mut node = bare(id);
        if let Some(rank) = ranks[id.index()] {
            assert!(node.host.is_some(), "ranks must be placed on hosts");
            let replay = Replay::new(Arc::clone(&shared), rank, programs.program(rank));
            node.application = Some(Box::new(replay));
        }
        node
    });
    Ok(Some(job))
}

/// The results of the ranks of a job.
pub(crate) fn records(job: &Job) -> Vec<RankRecord> {
    let record =
        |(rank, (&NodeId(node), account)): (u32, (&NodeId, raddle_workload::goal::Account))| RankRecord {
            rank,
            node,
            finished_ps: account.finished.map(raddle_core::Time::as_ps),
            computed_ps: account.computed.as_ps(),
            sent_messages: account.messages,
            sent_bytes: account.bytes,
        };
    (0..).zip(job.nodes().iter().zip(job.accounts())).map(record).collect()
}
