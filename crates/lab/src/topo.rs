//! Facts about a topology.

use crate::Error;
use crate::notation::shown;
use crate::run::ideal::components;
use raddle_core::Rate;
use raddle_records::write_file;
use raddle_topology::{Bcube, Clos, ClosSize, Hops, Oversubscription, Shape, Topology, Xgft, io};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Facts about a topology.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    hosts: usize,
    switches: usize,
    /// Number of directed links by rate.
    links: BTreeMap<Rate, usize>,
    /// Number of ports of the node with the most ports.
    most_ports: usize,
    /// Number of connected components of the fabric.
    parts: usize,
    /// Largest and mean number of hops between two distinct hosts, over pairs that are connected. `None` if there is no
    /// such pair.
    hops: Option<(usize, f64)>,
    /// The size and the oversubscription of a Clos network; `None` for other shapes.
    clos: Option<(ClosSize, Oversubscription)>,
    /// The extended generalized fat tree; `None` for other shapes.
    tree: Option<Xgft>,
    bcube: Option<Bcube>,
}

/// Names of the levels of a Clos network of three tiers, from the bottom.
const LEVELS: [&str; 4] = ["hosts", "edge switches", "aggregation switches", "cores"];

/// Names of the levels of a leaf-spine, from the bottom.
const LEAF_SPINE: [&str; 3] = ["hosts", "leaves", "spines"];

impl Facts {
    /// The facts of `topology`.
    #[must_use]
    pub fn of(topology: &Topology) -> Self {
        let mut links = BTreeMap::new();
        for (_, link) in topology.links() {
            *links.entry(link.rate).or_insert(0) += 1;
        }
        let mut parts = components(topology);
        parts.sort_unstable();
        parts.dedup();
        let hops = Hops::of(topology);
        let hosts = topology.hosts().count();
        Self {
            hosts,
            switches: topology.node_count() - hosts,
            links,
            most_ports: topology.nodes().map(|node| topology.links_from(node).count()).max().unwrap_or(0),
            parts: parts.len(),
            hops: hops.mean().map(|mean| (hops.diameter(), mean)),
            clos: match topology.shape() {
                Shape::Clos(size) => topology.oversubscription().map(|of| (*size, of)),
                _ => None,
            },
            tree: match topology.shape() {
                Shape::Xgft(size) => Some(Xgft::new(size.clone())),
                _ => None,
            },
            bcube: match topology.shape() {
                &Shape::Bcube(cube) => Some(cube),
                _ => None,
            },
        }
    }

    /// True if all nodes are connected.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.parts <= 1
    }

    /// The facts as a JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        let links: Vec<_> = self
            .links
            .iter()
            .map(|(rate, count)| json!({ "rate_bps": rate.as_bps(), "directed_links": count }))
            .collect();
        let clos = self.clos.map(|(size, of)| {
            let network = Clos::new(size);
            let first = |level| network.nodes_of(level).start;
            json!({
                "first_edge_switch": first(1),
                "first_aggregation_switch": first(2),
                "first_core": (size.cores > 0).then(|| first(3)),
                "oversubscription_edge": of.edge,
                "oversubscription_core": of.core,
                "oversubscription": of.total(),
                "paths_within_a_pod": size.paths_within_a_pod(),
                "paths_between_pods": size.paths_between_pods(),
            })
        });
        let tree = self.tree.as_ref().map(|tree| {
            let levels = 1..=tree.levels();
            json!({
                "children": tree.size().children,
                "parents": tree.size().parents,
                "first_switches": levels.clone().map(|level| tree.nodes_of(level).start).collect::<Vec<_>>(),
                "paths_by_common_level": levels.map(|level| tree.planes(level)).collect::<Vec<_>>(),
            })
        });
        json!({
            "hosts": self.hosts,
            "switches": self.switches,
            "links": links,
            "most_ports": self.most_ports,
            "parts": self.parts,
            "diameter_hops": self.hops.map(|hops| hops.0),
            "mean_hops": self.hops.map(|hops| hops.1),
            "clos": clos,
            "tree": tree,
            "bcube": self.bcube.map(|cube| json!({
                "ports_of_a_switch": cube.n(),
                "first_switches": (0..cube.levels()).map(|level| cube.nodes_of(level).start).collect::<Vec<_>>(),
                "parallel_paths": cube.levels(),
            })),
        })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "hosts           {}", self.hosts)?;
        writeln!(f, "switches        {}", self.switches)?;
        for (rate, count) in &self.links {
            writeln!(f, "directed links  {count} at {rate}")?;
        }
        writeln!(f, "most ports      {}", self.most_ports)?;
        match self.hops {
            Some((diameter, mean)) => {
                writeln!(f, "diameter        {diameter} hops")?;
                writeln!(f, "mean distance   {} hops between distinct hosts", shown(mean))?;
            }
            None => writeln!(f, "diameter        undefined: no two hosts are connected")?,
        }
        if let Some((size, of)) = self.clos {
            let network = Clos::new(size);
            let is_leaf_spine = network.nodes_of(3).is_empty();
            let names = if is_leaf_spine { &LEAF_SPINE[..] } else { &LEVELS[..] };
            for (level, name) in names.iter().enumerate() {
                let nodes = network.nodes_of(level);
                if !nodes.is_empty() {
                    writeln!(f, "nodes           {} to {}: {name}", nodes.start, nodes.end - 1)?;
                }
            }
            let [edge, core, total] = [of.edge, of.core, of.total()].map(shown);
            let (near, far) = (size.paths_within_a_pod(), size.paths_between_pods());
            if is_leaf_spine {
                writeln!(f, "oversubscribed  {total} at leaves")?;
                writeln!(f, "shortest paths  {near} between leaves")?;
            } else {
                writeln!(
                    f,
                    "oversubscribed  {edge} at edge switches, {core} at aggregation switches, {total} in all"
                )?;
                writeln!(f, "shortest paths  {near} between edge switches of a pod, {far} between pods")?;
            }
        }
        if let Some(tree) = &self.tree {
            for level in 0..=tree.levels() {
                let nodes = tree.nodes_of(level);
                let name = if level == 0 { "hosts".to_owned() } else { format!("switches of level {level}") };
                writeln!(f, "nodes           {} to {}: {name}", nodes.start, nodes.end - 1)?;
            }
            for level in 1..=tree.levels() {
                writeln!(
                    f,
                    "shortest paths  {} between hosts whose lowest common switches are at level {level}",
                    tree.planes(level)
                )?;
            }
        }
        if let Some(cube) = self.bcube {
            writeln!(f, "nodes           0 to {}: servers", cube.hosts() - 1)?;
            for level in 0..cube.levels() {
                let nodes = cube.nodes_of(level);
                writeln!(
                    f,
                    "nodes           {} to {}: switches of level {level}",
                    nodes.start,
                    nodes.end - 1
                )?;
            }
            writeln!(f, "parallel paths  {} node-disjoint paths between any two servers", cube.levels())?;
        }
        if self.connected() {
            write!(f, "connected       yes")
        } else {
            write!(f, "connected       no, the topology has {} separate parts", self.parts)
        }
    }
}

/// Writes a fabric as GraphML or node-link JSON, depending on the file's extension.
///
/// # Errors
/// If the extension is neither `.graphml` nor `.json`, a link has no reverse link or is slowed, or the file cannot be
/// written.
pub fn convert(topology: &Topology, to: &Path) -> Result<(), Error> {
    let unwritable = |error: io::WriteError| Error::Usage {
        what: error.to_string(),
        hint: "convert a topology without failed or slowed links".to_owned(),
    };
    let text = match to.extension().and_then(|ending| ending.to_str()) {
        Some("graphml") => io::write_graphml(topology).map_err(unwritable)?,
        Some("json") => io::write_node_link(topology).map_err(unwritable)?,
        _ => {
            let what = format!("the name of the file must end in .graphml or .json (got {})", to.display());
            return Err(Error::Usage { what, hint: "give a name such as topology.graphml".to_owned() });
        }
    };
    Ok(write_file(to, text.as_bytes())?)
}
