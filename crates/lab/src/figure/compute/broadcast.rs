//! What broadcasts of flow events cost (R2C2 §3.2, Figure 9).

use super::{Build, grid, mean_hops, needed, run};
use crate::experiment::{Fraction, Problem, Section};
use crate::figure::measure::Run;
use raddle_core::Bytes;
use raddle_schemes::r2c2::EVENT_BYTES;
use raddle_topology::{Hops, Topology, builders};

/// A flow's START and its FINISH.
const EVENTS: f64 = 2.0;

/// Bytes that a broadcast puts on the links of a fabric without switches: once over each edge of a tree of all nodes.
pub(super) fn bytes_a_broadcast(topology: &Topology) -> f64 {
    f64::from(EVENT_BYTES) * (topology.node_count() - 1) as f64
}

/// Bytes of events on links for each byte of data there, headers aside, by the share of data bytes that is in small
/// flows; a run a fabric and share.
pub(super) fn overhead(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let small = size(section, "small")?;
    let large = size(section, "large")?;
    let shares: Vec<Fraction> = section.required("shares")?;
    let mut runs = Vec::new();
    for item in
        needed(section, "fabrics", "[{ label = \"3D torus\", fabric = \"torus\", dims = [8, 8, 8] }]")?
    {
        let mut fabric = Section::of(item, "compute.fabrics")?;
        let label: String = fabric.required("label")?;
        let kinds: [(&str, Build); 2] = [("torus", builders::torus), ("mesh", builders::mesh)];
        let build = fabric.choice("fabric", "fabric", &kinds, None)?;
        let topology = grid(&mut fabric, build)?;
        let hops = mean_hops(&fabric, &topology, Hops::mean)?;
        fabric.finish()?;
        let a_flow = EVENTS * bytes_a_broadcast(&topology);
        for &Fraction(share) in &shares {
            let overhead = a_flow / hops * (share / small + (1.0 - share) / large);
            runs.push(run(("fabric", &label), ("share", &share.to_string()), overhead));
        }
    }
    Ok(runs)
}

fn size(section: &mut Section<'_>, key: &str) -> Result<f64, Problem> {
    let size: Bytes = section.required(key)?;
    section.ensure(size > Bytes(0), key, "a flow without bytes", "for example: \"10 KB\"")?;
    Ok(size.0 as f64)
}
