//! For each of three well-known families of fabrics, the largest fabric whose run fits a machine's memory.
//!
//! It would take too long to build a fabric that fills the memory and then to measure it. Each family has about the
//! same number of links per host at every size, so the memory per host is estimated on a small fabric and used for all
//! sizes.

use super::estimate::show;
use crate::experiment::{Document, Problem};
use raddle_core::Bytes;
use serde_json::{Value, json};
use std::fmt;

/// The largest fabric of one family for which a run fits the memory limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feasible {
    /// The family, such as `fat tree`.
    pub family: &'static str,
    /// The fabric's keys in the table `[topology]` of an experiment.
    pub topology: String,
    /// Number of hosts.
    pub hosts: u64,
    /// Estimated memory of a run.
    pub memory: Bytes,
}

impl Feasible {
    /// The fabric as a JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "family": self.family,
            "topology": self.topology,
            "hosts": self.hosts,
            "memory_bytes": self.memory.0,
        })
    }
}

impl fmt::Display for Feasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hosts ({}), about {}", self.hosts, self.topology, show(self.memory.0))
    }
}

/// Fabrics of one kind. Each is given by its size `n`.
struct Family {
    name: &'static str,
    /// The keys of `[topology]` at size `n`, separated by commas.
    topology: fn(u64) -> String,
    hosts: fn(u64) -> u64,
    /// The size whose memory is estimated.
    sample: u64,
    /// The step between valid sizes.
    step: u64,
}

/// The assumptions of the estimates, as text for the user.
pub const ASSUMED: &str = "packet engine, TCP NewReno, one concurrent flow of 1 MB from each host; estimate \
                           of a small fabric, scaled by the number of hosts";

const FAMILIES: [Family; 3] = [
    Family {
        name: "leaf-spine",
        topology: |n| format!("kind = \"folded_clos\", leaves = {n}, spines = {n}, hosts_per_leaf = {n}"),
        hosts: |n| n * n,
        sample: 32,
        step: 1,
    },
    Family {
        name: "fat tree",
        topology: |k| format!("kind = \"fat_tree\", k = {k}"),
        hosts: |k| k * k * k / 4,
        sample: 16,
        step: 2,
    },
    Family {
        name: "torus",
        topology: |n| format!("kind = \"torus\", dims = [{n}, {n}, {n}]"),
        hosts: |n| n * n * n,
        sample: 10,
        step: 1,
    },
];

/// Largest number of hosts of a feasible fabric: half of the 2^24 nodes that addresses can distinguish, so that
/// switches have addresses too.
const MOST_HOSTS: u64 = 1 << 23;

impl Family {
    /// Estimated memory of a run at size `n`.
    fn estimate(&self, n: u64) -> Result<Bytes, Problem> {
        let (topology, hosts) = ((self.topology)(n), (self.hosts)(n));
        let text = format!(
            "topology = {{ {topology}, link_rate = \"10 Gbps\", link_delay = \"1 us\" }}\n\
             [workload]\narrivals = \"all_at_once\"\nsizes = {{ kind = \"fixed\", size = \"1 MB\" }}\npairs = \"uniform\"\nflows = {hosts}\n\
             [scheme]\ntransport = \"tcp-newreno\"\nrouting = \"ecmp\"\n\
             [engine]\nkind = \"packet\"\nseed = 1\n"
        );
        let document = Document::parse(self.name, text, "".into())?;
        Ok(document.with_memory(Some(Bytes(u64::MAX))).prepare()?.estimate.total())
    }

    /// The largest fabric with at most [`MOST_HOSTS`] hosts for which a run needs at most the memory `limit`; `None` if
    /// not even the smallest fabric fits.
    fn largest(&self, limit: Bytes) -> Result<Option<Feasible>, Problem> {
        let (sample, hosts) = (self.estimate(self.sample)?.0, (self.hosts)(self.sample));
        let memory = |n: u64| (self.hosts)(n).saturating_mul(sample).div_ceil(hosts);
        let fits = |&n: &u64| memory(n) <= limit.0 && (self.hosts)(n) <= MOST_HOSTS;
        let largest = (1..=MOST_HOSTS).map(|i| 2 + i * self.step).take_while(fits).last();
        let feasible = |n| Feasible {
            family: self.name,
            topology: (self.topology)(n),
            hosts: (self.hosts)(n),
            memory: Bytes(memory(n)),
        };
        Ok(largest.map(feasible))
    }
}

/// For each family, the largest fabric with at most 2^23 hosts for which a run needs at most the memory `limit`, under
/// the assumptions in [`ASSUMED`]. A family is left out if not even its smallest fabric fits.
///
/// # Errors
/// If the memory of a small fabric cannot be estimated.
pub fn feasible(limit: Bytes) -> Result<Vec<Feasible>, Problem> {
    let largest = FAMILIES.iter().filter_map(|family| family.largest(limit).transpose());
    largest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_small_fabric_predicts_that_of_a_larger_one() {
        for family in &FAMILIES {
            let larger = family.estimate(2 * family.sample).expect("a fabric");
            let found = family.largest(larger).expect("a fabric").expect("a fabric that fits");
            let ratio = found.hosts as f64 / (family.hosts)(2 * family.sample) as f64;
            assert!((0.8..1.2).contains(&ratio), "{}: {found}, and not {larger}", family.name);
        }
    }

    #[test]
    fn more_memory_has_room_for_more_hosts() {
        let [small, large] = [64 << 20, 64 << 30].map(|bytes| feasible(Bytes(bytes)).expect("fabrics"));
        assert_eq!(small.len(), FAMILIES.len());
        for (small, large) in small.iter().zip(&large) {
            assert!(small.memory.0 <= 64 << 20, "{small}");
            assert!(small.hosts < large.hosts, "{small}, {large}");
        }
        assert!(feasible(Bytes(0)).expect("no fabrics").is_empty());
    }
}
