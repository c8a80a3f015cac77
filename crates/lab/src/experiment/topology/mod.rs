//! `[topology]`: the fabric.

mod keys;
mod slow;

pub(crate) use keys::TOPOLOGY;

use super::file::{Files, file_format};
use super::keys::{Choices, described};
use super::problem::{Cause, Problem};
use super::scheme::read_parameters;
use super::section::{Section, out_of_range};
use super::value::At;
use keys::{
    AGGREGATIONS_PER_POD, ARITY, BCUBE_K, BOTTLENECK_RATE, CHILDREN, CORE_RATE, CORES_PER_PLANE, DIMENSIONS,
    DIMS, EDGES_PER_POD, FILE, FORMAT, FRAMING, HOSTS, HOSTS_PER_EDGE, HOSTS_PER_LEAF, KIND, KINDS, LEAVES,
    LEFT, LEVELS, LINK_DELAY, LINK_RATE, NETWORK_PORTS, PARENTS, PODS, PORTS, PORTS_K, RIGHT, SPINES,
    SWITCH_PORTS, SWITCHES, UPLINK_RATE,
};
use raddle_core::{Duration, Rate};
use raddle_schemes::parameter::Settings;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::TopologyKind;
use raddle_topology::builders::{self, BuildError, ClosRates};
use raddle_topology::{ClosSize, LinkLayer, Topology, XgftSize, io};
use slow::Slow;
use std::sync::Arc;

/// The built-in kinds of fabric, each with a one-line description.
pub fn kinds() -> impl Iterator<Item = (&'static str, String)> {
    KINDS.iter().map(|kind| (kind.name, described(kind)))
}

/// The kinds of fabric: the built-in kinds and the kinds in the registry.
fn names(registry: &Registry) -> Choices {
    let others = registry.topologies().iter().map(|kind| (kind.info.name.to_owned(), kind.info.summary));
    KINDS.iter().map(|kind| (kind.name.to_owned(), kind.words)).chain(others).collect()
}

/// Number of nodes that a 24-bit address can distinguish.
const MOST_NODES: u64 = 1 << 24;

/// The fabric, by its kind.
#[derive(Debug, Clone)]
pub enum Fabric {
    /// Wrap-around grid, with the number of nodes in each dimension.
    Torus(Vec<u32>),
    /// Grid without wrap-around, with the number of nodes in each dimension.
    Mesh(Vec<u32>),
    /// Hypercube of 2^n nodes. The value is n.
    Hypercube(u32),
    /// Two or three levels of switches.
    Clos {
        /// Numbers of pods, switches and hosts.
        size: ClosSize,
        /// Rates of the links at each level.
        rates: ClosRates,
    },
    /// Extended generalized fat tree: a node of any level can have several parents.
    Xgft(XgftSize),
    /// BCube: servers with `k + 1` ports forward packets, and `n` servers share a switch.
    Bcube {
        /// Number of ports of a switch.
        n: u32,
        /// Number of levels of switches, minus 1.
        k: u32,
    },
    /// Jellyfish: switches in a random graph.
    Jellyfish {
        /// Number of switches.
        switches: u32,
        /// Number of ports of each switch.
        ports: u32,
        /// Number of ports of each switch that lead to other switches.
        network_ports: u32,
    },
    /// Two switches joined by one link.
    Dumbbell {
        /// Number of hosts at the first switch.
        left: u32,
        /// Number of hosts at the second switch.
        right: u32,
        /// Rate of the link between the two switches.
        bottleneck_rate: Rate,
    },
    /// One switch. The value is its number of hosts.
    SingleSwitch(u32),
    /// A graph from a file.
    File(Arc<Topology>),
    /// A kind that another crate adds to the registry, with its parameters.
    Other(TopologyKind, Settings),
}

/// `[topology]`.
#[derive(Debug, Clone)]
pub struct TopologySpec {
    /// The fabric, by its kind.
    pub fabric: Fabric,
    /// Rate of each link, unless the fabric sets another rate.
    link_rate: Rate,
    /// Propagation delay of each link, unless the fabric sets the delays of its links.
    link_delay: Duration,
    /// Extra bytes of each packet on a link, such as the preamble of Ethernet.
    link_layer: LinkLayer,
    /// Links with a reduced rate.
    slow: Vec<Slow>,
    /// The position in the experiment's text at which the kind is chosen.
    pub at: At,
}

impl TopologySpec {
    pub(crate) fn read(
        mut section: Section<'_>,
        files: &Files,
        registry: &Registry,
    ) -> Result<(Self, toml::Table), Problem> {
        let own = KINDS.iter().map(|kind| (kind.name, None));
        let others = registry.topologies().iter().map(|kind| (kind.info.name, Some(*kind)));
        let choices: Vec<_> = own.chain(others).map(|(name, other)| (name, (name, other))).collect();
        let (kind, other) = section.choose(&KIND, &choices)?;
        let at = section.at_key(&KIND).clone();
        if let Some(kind) = other {
            let settings = read_parameters(&mut section, kind.info.parameters, |_| None)?;
            return Self::made_elsewhere(section, Fabric::Other(kind, settings), at);
        }
        if kind == "file" {
            let fabric = Fabric::File(Arc::new(read_graph(&mut section, files)?));
            return Self::made_elsewhere(section, fabric, at);
        }
        let link_rate = section.read(&LINK_RATE)?;
        let link_delay = section.read(&LINK_DELAY)?;
        let fabric = match kind {
            "torus" => Fabric::Torus(section.read(&DIMS)?),
            "mesh" => Fabric::Mesh(section.read(&DIMS)?),
            "hypercube" => Fabric::Hypercube(section.read(&DIMENSIONS)?),
            "folded_clos" | "fat_tree" | "clos" => {
                let size = clos_size(&mut section, kind)?;
                let uplink = section.or(&UPLINK_RATE, link_rate)?;
                let core = match kind {
                    "folded_clos" => uplink,
                    _ => section.or(&CORE_RATE, uplink)?,
                };
                Fabric::Clos { size, rates: ClosRates { host: link_rate, uplink, core } }
            }
            "xgft" => Fabric::Xgft(xgft_size(&mut section)?),
            "k_ary_n_tree" => {
                Fabric::Xgft(XgftSize::k_ary_n_tree(section.read(&ARITY)?, section.read(&LEVELS)? as usize))
            }
            "bcube" => Fabric::Bcube { n: section.read(&SWITCH_PORTS)?, k: section.read(&BCUBE_K)? },
            "jellyfish" => jellyfish(&mut section)?,
            "dumbbell" => Fabric::Dumbbell {
                left: section.read(&LEFT)?,
                right: section.read(&RIGHT)?,
                bottleneck_rate: section.or(&BOTTLENECK_RATE, link_rate)?,
            },
            _ => Fabric::SingleSwitch(section.read(&HOSTS)?),
        };
        let link_layer = section.read(&FRAMING)?;
        let slow = Slow::read_all(&mut section)?;
        Ok((Self { fabric, link_rate, link_delay, link_layer, slow, at }, section.finish()?))
    }

    /// Reads the remaining keys of a fabric that itself determines the rates and delays of its links.
    fn made_elsewhere(
        mut section: Section<'_>,
        fabric: Fabric,
        at: At,
    ) -> Result<(Self, toml::Table), Problem> {
        let link_layer = section.read(&FRAMING)?;
        let slow = Slow::read_all(&mut section)?;
        let (link_rate, link_delay) = (Rate::ZERO, Duration::ZERO);
        Ok((Self { fabric, link_rate, link_delay, link_layer, slow, at }, section.finish()?))
    }
}

impl TopologySpec {
    /// Builds the topology. `seed` determines its random choices.
    ///
    /// # Errors
    /// If the fabric cannot be built with these parameters, or a link cannot be slowed as the experiment says.
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
                BuildError::Apart { .. } => "set `network_ports` to at least 3",
                _ => "choose a smaller topology",
            };
            out_of_range(&self.at, error.to_string(), hint)
        })?;
        let topology = slow::slowed(topology.with_link_layer(self.link_layer), &self.slow, seed)?;
        Ok(Arc::new(topology))
    }
}

/// The name of a graph format in messages, and the function that reads a graph in this format.
type Format = (&'static str, fn(&str) -> Result<Topology, io::ReadError>);

/// The formats of graph files: the value of the key `format`, the ending of the files' names, and the format itself.
const FORMATS: [(&str, &str, Format); 3] = [
    ("graphml", ".graphml", ("GraphML graph", io::read_graphml)),
    ("node_link", ".json", ("node-link JSON graph", io::read_node_link)),
    ("hpcc", ".txt", ("HPCC topology file", io::read_hpcc)),
];

/// Reads the graph in the file that the section names.
fn read_graph(section: &mut Section<'_>, files: &Files) -> Result<Topology, Problem> {
    let at = section.at_key(&FILE).clone();
    let (file, text) = files.read(section, &FILE)?;
    let (what, read) = file_format(section, &FORMAT, &file, &FORMATS)?;
    read(&text).map_err(|error| Problem::at(&at, Cause::BadFile { file, what, why: error.to_string() }))
}

/// Reads the size of a Clos network of kind `kind`.
fn clos_size(section: &mut Section<'_>, kind: &str) -> Result<ClosSize, Problem> {
    match kind {
        "folded_clos" => {
            let (leaves, spines) = (section.read(&LEAVES)?, section.read(&SPINES)?);
            Ok(ClosSize::leaf_spine(leaves, section.read(&HOSTS_PER_LEAF)?, spines))
        }
        "fat_tree" => Ok(ClosSize::fat_tree(section.read(&PORTS_K)?)),
        _ => {
            let (pods, edges) = (section.read(&PODS)?, section.read(&EDGES_PER_POD)?);
            let (aggregations, cores) =
                (section.read(&AGGREGATIONS_PER_POD)?, section.read(&CORES_PER_PLANE)?);
            let hint = "set `cores_per_plane` to at least 1, or set `pods = 1`";
            let what = "`cores_per_plane` must be greater than 0 if there are several pods";
            section.ensure(pods == 1 || cores > 0, &CORES_PER_PLANE, what, hint)?;
            let hosts = section.read(&HOSTS_PER_EDGE)?;
            Ok(ClosSize { pods, edges, aggregations, cores, hosts })
        }
    }
}

/// Reads the size of an extended generalized fat tree: the number of children and the number of parents at each level.
fn xgft_size(section: &mut Section<'_>) -> Result<XgftSize, Problem> {
    let (children, parents) = (section.read(&CHILDREN)?, section.read(&PARENTS)?);
    let (below, above) = (children.len(), parents.len());
    section.ensure(
        below == above,
        &PARENTS,
        &format!("`children` and `parents` must have the same number of levels (got {below} and {above})"),
        "give one number for each level of switches, the lowest level first. `children` counts the children \
         of each switch of the level. `parents` counts the parents of each node one level below",
    )?;
    Ok(XgftSize { children, parents })
}

/// Reads the size of a Jellyfish.
fn jellyfish(section: &mut Section<'_>) -> Result<Fabric, Problem> {
    let (switches, ports) = (section.read(&SWITCHES)?, section.read(&PORTS)?);
    let network_ports = section.read(&NETWORK_PORTS)?;
    section.ensure(
        network_ports < ports,
        &NETWORK_PORTS,
        &format!(
            "`network_ports` must be less than `ports`, because hosts need ports too (got {network_ports} \
                  of {ports})"
        ),
        "give a smaller `network_ports`, for example two thirds of `ports`",
    )?;
    section.ensure(
        network_ports < switches,
        &NETWORK_PORTS,
        &format!(
            "`network_ports` must be at most {}, the number of other switches (got {network_ports})",
            switches - 1
        ),
        "give a smaller `network_ports`, or more `switches`",
    )?;
    Ok(Fabric::Jellyfish { switches, ports, network_ports })
}
