//! `[topology]`: which fabric.

mod slow;

use super::file::{Files, file_format};
use super::problem::{Cause, Problem};
use super::scheme::read_parameters;
use super::section::{Section, out_of_range};
use super::value::At;
use raddle_core::{Duration, Rate};
use raddle_schemes::parameter::Settings;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::TopologyKind;
use raddle_topology::builders::{self, BuildError, ClosRates};
use raddle_topology::{ClosSize, LinkLayer, Topology, XgftSize, io};
use slow::Slow;
use std::sync::Arc;

/// The kinds of fabric, each with a line of description.
const KINDS: [(&str, &str); 13] = [
    ("torus", "wrap-around grid: dims = [8, 8, 8]"),
    ("mesh", "grid without wrap-around: dims = [8, 8]"),
    ("hypercube", "2^n nodes: dimensions = 9"),
    ("folded_clos", "leaves and spines: leaves = 32, spines = 16, hosts_per_leaf = 16"),
    ("fat_tree", "k-ary fat-tree of three levels of switches, k^3 / 4 hosts: k = 8"),
    (
        "clos",
        "three levels of switches: pods = 12, edges_per_pod = 6, aggregations_per_pod = 6, cores_per_plane = 3, \
         hosts_per_edge = 6",
    ),
    (
        "xgft",
        "extended generalized fat tree, a number a level from below: children = [16, 16], parents = [1, 10] (1 of a \
         host, 10 of a switch of level 1)",
    ),
    ("k_ary_n_tree", "k^n hosts under n levels of k^(n-1) switches: k = 2, n = 5"),
    (
        "bcube",
        "servers that forward, n^(k+1) with k + 1 ports each, under k + 1 levels of n-port switches: n = 4, k = 1",
    ),
    (
        "jellyfish",
        "a random regular graph of switches, drawn by the seed: switches = 17, ports = 24, network_ports = 16, the others \
         lead to hosts",
    ),
    ("dumbbell", "two switches and a bottleneck: left = 4, right = 4, bottleneck_rate = \"10 Gbps\""),
    ("single_switch", "hosts around one switch: hosts = 16"),
    (
        "file",
        "a graph of your own: file = \"rack.graphml\"; format = \"graphml\", \"node_link\" (JSON) or \"hpcc\", after \
         the file's ending (.graphml, .json, .txt) if left out",
    ),
];

/// The kinds of fabric, each with a line of description.
#[must_use]
pub fn kinds() -> &'static [(&'static str, &'static str)] {
    &KINDS
}

/// Nodes that a 24-bit address can name.
const MOST_NODES: u64 = 1 << 24;

/// Which fabric.
#[derive(Debug, Clone)]
pub enum Fabric {
    /// Wrap-around grid of these sizes.
    Torus(Vec<u32>),
    /// Grid of these sizes.
    Mesh(Vec<u32>),
    /// 2^n nodes.
    Hypercube(u32),
    /// Two or three levels of switches.
    Clos {
        /// Its numbers.
        size: ClosSize,
        /// Its rates.
        rates: ClosRates,
    },
    /// Levels of switches, each of which has several parents.
    Xgft(XgftSize),
    /// Servers that forward, `n` at a switch, of `k + 1` ports each.
    Bcube {
        /// Ports of a switch.
        n: u32,
        /// Levels of switches less one.
        k: u32,
    },
    /// Switches joined at random.
    Jellyfish {
        /// Switches.
        switches: u32,
        /// Ports of each.
        ports: u32,
        /// How many of these lead to other switches.
        network_ports: u32,
    },
    /// Two switches joined by one link.
    Dumbbell {
        /// Hosts at one switch.
        left: u32,
        /// Hosts at the other.
        right: u32,
        /// Rate of the link in the middle.
        bottleneck_rate: Rate,
    },
    /// Hosts around one switch.
    SingleSwitch(u32),
    /// Read from a file.
    File(Arc<Topology>),
    /// Of a kind that another crate brings, with its parameters.
    Other(TopologyKind, Settings),
}

/// `[topology]`.
#[derive(Debug, Clone)]
pub struct TopologySpec {
    /// Which fabric.
    pub fabric: Fabric,
    /// Rate of each link, unless the fabric says otherwise.
    link_rate: Rate,
    /// Propagation delay of each link.
    link_delay: Duration,
    /// What packets take on links beside their own bytes.
    link_layer: LinkLayer,
    /// Links that are slower than that.
    slow: Vec<Slow>,
    /// Where the experiment chooses the kind.
    pub at: At,
}

impl TopologySpec {
    pub(crate) fn read(
        mut section: Section<'_>,
        files: &Files<'_>,
        registry: &Registry,
    ) -> Result<(Self, toml::Table), Problem> {
        let own = KINDS.iter().map(|&(name, _)| (name, None));
        let others = registry.topologies().iter().map(|kind| (kind.info.name, Some(*kind)));
        let choices: Vec<_> = own.chain(others).map(|(name, other)| (name, (name, other))).collect();
        let (kind, other) = section.choice("kind", "kind of topology", &choices, None)?;
        let at = section.at_key("kind").clone();
        if let Some(kind) = other {
            let settings = read_parameters(&mut section, kind.info.parameters, |_| None)?;
            return Self::made_elsewhere(section, Fabric::Other(kind, settings), at);
        }
        if kind == "file" {
            let fabric = Fabric::File(Arc::new(read_graph(&mut section, files)?));
            return Self::made_elsewhere(section, fabric, at);
        }
        let link_rate = positive_rate(&mut section, "link_rate", None)?;
        let link_delay = section.required("link_delay")?;
        let fabric = match kind {
            "torus" => Fabric::Torus(dims(&mut section)?),
            "mesh" => Fabric::Mesh(dims(&mut section)?),
            "hypercube" => {
                let dimensions = count(&mut section, "dimensions")?;
                section.ensure(dimensions <= 24, "dimensions", "too many nodes", "at most 24 dimensions")?;
                Fabric::Hypercube(dimensions)
            }
            "folded_clos" | "fat_tree" | "clos" => {
                let size = clos_size(&mut section, kind)?;
                let uplink = positive_rate(&mut section, "uplink_rate", Some(link_rate))?;
                let core = match kind {
                    "folded_clos" => uplink,
                    _ => positive_rate(&mut section, "core_rate", Some(uplink))?,
                };
                Fabric::Clos { size, rates: ClosRates { host: link_rate, uplink, core } }
            }
            "xgft" => Fabric::Xgft(xgft_size(&mut section)?),
            "k_ary_n_tree" => {
                let (k, n) = (count(&mut section, "k")?, count(&mut section, "n")?);
                section.ensure(n <= 24, "n", "too many levels", "at most 24 levels")?;
                Fabric::Xgft(XgftSize::k_ary_n_tree(k, n as usize))
            }
            "bcube" => {
                let (n, k) = (count(&mut section, "n")?, section.required("k")?);
                let hint = "give a number above one, such as 4";
                section.ensure(n > 1, "n", "a switch of one port joins nothing", hint)?;
                Fabric::Bcube { n, k }
            }
            "jellyfish" => jellyfish(&mut section)?,
            "dumbbell" => Fabric::Dumbbell {
                left: count(&mut section, "left")?,
                right: count(&mut section, "right")?,
                bottleneck_rate: positive_rate(&mut section, "bottleneck_rate", Some(link_rate))?,
            },
            _ => Fabric::SingleSwitch(count(&mut section, "hosts")?),
        };
        let link_layer = read_link_layer(&mut section)?;
        let slow = Slow::read_all(&mut section)?;
        Ok((Self { fabric, link_rate, link_delay, link_layer, slow, at }, section.finish()?))
    }

    /// A fabric whose links have rates and delays of their own.
    fn made_elsewhere(
        mut section: Section<'_>,
        fabric: Fabric,
        at: At,
    ) -> Result<(Self, toml::Table), Problem> {
        let link_layer = read_link_layer(&mut section)?;
        let slow = Slow::read_all(&mut section)?;
        let (link_rate, link_delay) = (Rate::ZERO, Duration::ZERO);
        Ok((Self { fabric, link_rate, link_delay, link_layer, slow, at }, section.finish()?))
    }
}

impl TopologySpec {
    /// Builds the fabric; `seed` chooses what is left to chance.
    ///
    /// # Errors
    /// If it has more nodes or ports than there are names for, or not the links that are to be slow.
    pub fn build(&self, seed: u64) -> Result<Arc<Topology>, Problem> {
        let (rate, delay) = (self.link_rate, self.link_delay);
        let built = match &self.fabric {
            Fabric::Torus(dims) => builders::torus(dims, rate, delay),
            Fabric::Mesh(dims) => builders::mesh(dims, rate, delay),
            Fabric::Hypercube(order) => builders::hypercube(*order, rate, delay),
            &Fabric::Clos { size, rates } => builders::clos(size, rates, delay),
            Fabric::Xgft(size) => builders::xgft(size.clone(), rate, delay),
            &Fabric::Bcube { n, k } => builders::bcube(n, k, rate, delay),
            &Fabric::Jellyfish { switches, ports, network_ports } => {
                builders::jellyfish(switches, ports, network_ports, seed, rate, delay)
            }
            &Fabric::Dumbbell { left, right, bottleneck_rate } => {
                builders::dumbbell(left, right, rate, bottleneck_rate, delay)
            }
            Fabric::SingleSwitch(hosts) => builders::single_switch(*hosts, rate, delay),
            Fabric::File(topology) => Ok(Topology::clone(topology)),
            Fabric::Other(kind, settings) => {
                let made = (kind.build)(settings, seed);
                Ok(made.map_err(|unfit| out_of_range(&self.at, unfit.problem, unfit.hint))?)
            }
        };
        let topology = built.map_err(|error| {
            let hint = match error {
                BuildError::Apart { .. } => "give each switch three `network_ports` or more",
                _ => "choose a smaller fabric",
            };
            out_of_range(&self.at, error.to_string(), hint)
        })?;
        let topology = slow::slowed(topology.with_link_layer(self.link_layer), &self.slow, seed)?;
        Ok(Arc::new(topology))
    }
}

/// A reader of graphs, and what it reads.
type Format = (&'static str, fn(&str) -> Result<Topology, io::ReadError>);

/// The formats of graphs, each with the ending of its files.
const FORMATS: [(&str, &str, Format); 3] = [
    ("graphml", ".graphml", ("GraphML graph", io::read_graphml)),
    ("node_link", ".json", ("node-link JSON graph", io::read_node_link)),
    ("hpcc", ".txt", ("HPCC topology file", io::read_hpcc)),
];

/// The graph in the file that the section names.
fn read_graph(section: &mut Section<'_>, files: &Files<'_>) -> Result<Topology, Problem> {
    let at = section.at_key("file").clone();
    let (file, text) = files.read(section)?;
    let (what, read) = file_format(section, &file, &FORMATS)?;
    read(&text).map_err(|error| Problem::at(&at, Cause::BadFile { file, what, why: error.to_string() }))
}

/// `framing = "ethernet"`: what packets take on links beside their own bytes; nothing by default.
fn read_link_layer(section: &mut Section<'_>) -> Result<LinkLayer, Problem> {
    let choices = [("none", LinkLayer::BARE), ("ethernet", LinkLayer::ETHERNET)];
    section.choice("framing", "framing", &choices, Some("none"))
}

/// A rate above zero.
fn positive_rate(section: &mut Section<'_>, key: &str, default: Option<Rate>) -> Result<Rate, Problem> {
    let rate = match default {
        Some(default) => section.or(key, default)?,
        None => section.required(key)?,
    };
    section.ensure(
        rate > Rate::ZERO,
        key,
        "a link without rate carries nothing",
        "give a rate above zero",
    )?;
    Ok(rate)
}

/// A number of things, at least one.
fn count(section: &mut Section<'_>, key: &str) -> Result<u32, Problem> {
    let count = section.required(key)?;
    section.ensure(count > 0, key, "there must be at least one", "give a number above zero")?;
    section.ensure(u64::from(count) < MOST_NODES, key, "too many nodes", "at most 2^24 nodes")?;
    Ok(count)
}

/// The numbers of a Clos network of that kind.
fn clos_size(section: &mut Section<'_>, kind: &str) -> Result<ClosSize, Problem> {
    match kind {
        "folded_clos" => {
            let (leaves, spines) = (count(section, "leaves")?, count(section, "spines")?);
            Ok(ClosSize::leaf_spine(leaves, count(section, "hosts_per_leaf")?, spines))
        }
        "fat_tree" => {
            let k = count(section, "k")?;
            let hint = "half of them lead up, half down: give an even number, such as 8";
            section.ensure(
                k.is_multiple_of(2),
                "k",
                "a fat-tree of switches with an odd number of ports",
                hint,
            )?;
            Ok(ClosSize::fat_tree(k))
        }
        _ => {
            let pods = count(section, "pods")?;
            let edges = count(section, "edges_per_pod")?;
            let aggregations = count(section, "aggregations_per_pod")?;
            let cores = section.required("cores_per_plane")?;
            let hint = "give a number above zero; without cores there can be one pod only";
            section.ensure(pods == 1 || cores > 0, "cores_per_plane", "nothing joins the pods", hint)?;
            let hosts = count(section, "hosts_per_edge")?;
            Ok(ClosSize { pods, edges, aggregations, cores, hosts })
        }
    }
}

/// The numbers of an extended generalized fat tree, by level.
fn xgft_size(section: &mut Section<'_>) -> Result<XgftSize, Problem> {
    let children: Vec<u32> = section.required("children")?;
    let parents: Vec<u32> = section.required("parents")?;
    let some = !children.is_empty();
    section.ensure(some, "children", "a tree needs at least one level", "for example children = [16, 16]")?;
    for (key, numbers) in [("children", &children), ("parents", &parents)] {
        let some = numbers.iter().all(|&n| n > 0);
        section.ensure(some, key, "there must be at least one", "give numbers above zero")?;
    }
    let (below, above) = (children.len(), parents.len());
    section.ensure(
        below == above,
        "parents",
        &format!("`children` has {below} levels, `parents` {above}"),
        "a number a level each, from below: the children of its switches, and the parents of what is below them",
    )?;
    Ok(XgftSize { children, parents })
}

/// The numbers of a random graph of switches.
fn jellyfish(section: &mut Section<'_>) -> Result<Fabric, Problem> {
    let (switches, ports) = (count(section, "switches")?, count(section, "ports")?);
    let network_ports = count(section, "network_ports")?;
    section.ensure(
        network_ports < ports,
        "network_ports",
        &format!("switches of {ports} ports have none left for hosts"),
        "give fewer than `ports`; with twice as many to switches as to hosts, two thirds of them",
    )?;
    section.ensure(
        network_ports < switches,
        "network_ports",
        &format!("a switch has {} others to be joined to", switches - 1),
        "give fewer than `switches`",
    )?;
    Ok(Fabric::Jellyfish { switches, ports, network_ports })
}

fn dims(section: &mut Section<'_>) -> Result<Vec<u32>, Problem> {
    let dims: Vec<u32> = section.required("dims")?;
    section.ensure(
        !dims.is_empty(),
        "dims",
        "a grid needs at least one dimension",
        "for example dims = [8, 8]",
    )?;
    section.ensure(
        dims.iter().all(|&k| k >= 2),
        "dims",
        "a dimension of fewer than 2 nodes",
        "each dimension has at least 2 nodes; leave smaller ones out",
    )?;
    let nodes = dims.iter().try_fold(1_u64, |nodes, &k| nodes.checked_mul(k.into()));
    section.ensure(nodes.is_some_and(|n| n <= MOST_NODES), "dims", "too many nodes", "at most 2^24 nodes")?;
    Ok(dims)
}
