//! Builders of common topologies.

use crate::jellyfish::random_regular;
use crate::{Bcube, Builder, Clos, ClosSize, Grid, Shape, Topology, Xgft, XgftSize};
use raddle_core::{Duration, NodeId, PortId, Rate, Stream};

/// The reason why a topology cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A size is zero, or no size is given.
    #[error("`{0}` must be at least 1; a list must not be empty, and each of its numbers must be at least 1")]
    Empty(&'static str),
    /// A size that must be even is odd.
    #[error("`{0}` must be even")]
    Odd(&'static str),
    /// A number, such as that of nodes or of ports, is larger than allowed.
    #[error("{what} must be at most {most} (got {count})")]
    TooLarge {
        /// The quantity that is too large.
        what: &'static str,
        /// The value of the quantity.
        count: u64,
        /// The greatest possible value.
        most: u64,
    },
    /// `children` and `parents` have different numbers of levels.
    #[error("`children` and `parents` must have the same number of levels (got {children} and {parents})")]
    Levels {
        /// Number of levels in `children`.
        children: usize,
        /// Number of levels in `parents`.
        parents: usize,
    },
    /// The requested number of ports to other switches exceeds the number of other switches.
    #[error("a switch cannot have {degree} ports to other switches: there are only {others} other switches")]
    Degree {
        /// Ports of a switch that lead to other switches.
        degree: u32,
        /// Number of other switches.
        others: u32,
    },
    /// No draw gave a connected graph of the switches.
    #[error(
        "no connected random graph of {switches} switches with {degree} ports to other switches was found"
    )]
    Apart {
        /// Number of switches.
        switches: u32,
        /// Ports of a switch that lead to other switches.
        degree: u32,
    },
    /// A link's rate is zero.
    #[error("a link's rate must be greater than 0")]
    ZeroRate,
}

/// Greatest number of nodes of a topology.
const MOST_NODES: u64 = 1 << 24;

fn check(nodes: &[(&'static str, u64)], rates: &[Rate]) -> Result<(), BuildError> {
    if let Some((what, _)) = nodes.iter().find(|(_, n)| *n == 0) {
        return Err(BuildError::Empty(what));
    }
    if rates.contains(&Rate::ZERO) {
        return Err(BuildError::ZeroRate);
    }
    Ok(())
}

fn at_most(what: &'static str, count: u64, most: u64) -> Result<usize, BuildError> {
    if count > most {
        return Err(BuildError::TooLarge { what, count, most });
    }
    Ok(usize::try_from(count).expect("a number of nodes or ports must fit a `usize`"))
}

/// Builds a grid of hosts with wrap-around. Port `2i` leads up in dimension i, and port `2i + 1` leads down. In a
/// dimension of size two, only port `2i` has a link.
///
/// # Errors
/// If `dims` is empty, if a size or the rate is zero, or if there are too many nodes.
pub fn torus(dims: &[u32], rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    grid(&Grid::new(dims, true), Shape::Torus(dims.to_vec()), rate, delay)
}

/// Builds a grid of hosts without wrap-around. Ports are numbered as in [`torus`].
///
/// # Errors
/// If `dims` is empty, if a size or the rate is zero, or if there are too many nodes.
pub fn mesh(dims: &[u32], rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    grid(&Grid::new(dims, false), Shape::Mesh(dims.to_vec()), rate, delay)
}

/// Builds a hypercube of `2^order` hosts: a torus with `order` dimensions of size two. Its links use only the
/// even ports.
///
/// # Errors
/// If the order or the rate is zero, or if there are too many nodes.
pub fn hypercube(order: u32, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    at_most("the order", order.into(), 24)?;
    torus(&vec![2; order as usize], rate, delay)
}

fn grid(grid: &Grid, shape: Shape, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    let sizes: Vec<_> = grid.dims().iter().map(|&k| ("dims", u64::from(k))).collect();
    check(&sizes, &[rate])?;
    let nodes = grid.dims().iter().fold(1_u64, |nodes, &k| nodes.saturating_mul(k.into()));
    at_most("the number of nodes", nodes, MOST_NODES)?;
    if grid.dims().is_empty() {
        return Err(BuildError::Empty("dims"));
    }
    let ports = 2 * grid.dims().len();
    let mut builder = Builder::default();
    for _ in 0..nodes {
        builder.host(ports);
    }
    for node in (0..grid.nodes()).map(NodeId) {
        for port in (0..ports).map(PortId::of) {
            if let Some(neighbour) = grid.neighbour(node, port) {
                let there = grid.opposite(port);
                // Adds each duplex link once, from the end with the smaller (node, port).
                if (node, port) < (neighbour, there) {
                    builder.link((node, port), (neighbour, there), rate, delay);
                }
            }
        }
    }
    Ok(builder.build(shape))
}

/// The rates of a Clos network's links, by tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosRates {
    /// Rate of links between hosts and edge switches.
    pub host: Rate,
    /// Rate of links between edge and aggregation switches.
    pub uplink: Rate,
    /// Rate of links between aggregation switches and cores; unused without cores.
    pub core: Rate,
}

impl ClosRates {
    /// Returns the rates of a network in which the links of all tiers have this rate.
    #[must_use]
    pub const fn all(rate: Rate) -> Self {
        Self { host: rate, uplink: rate, core: rate }
    }
}

/// Builds a Clos network of two or three tiers of switches. [`ClosSize`] describes the order of its ports, and the
/// module [`crate::clos`] the order of its nodes.
///
/// # Errors
/// If a rate is zero, if a number other than `cores` is zero, if there are several pods without cores, or if there are
/// too many nodes or ports.
pub fn clos(size: ClosSize, rates: ClosRates, delay: Duration) -> Result<Topology, BuildError> {
    let ClosSize { pods, edges, aggregations, cores, hosts } = size;
    check(
        &[
            ("pods", pods.into()),
            ("edges", edges.into()),
            ("aggregations", aggregations.into()),
            ("hosts", hosts.into()),
        ],
        &[rates.host, rates.uplink, rates.core],
    )?;
    if pods > 1 && cores == 0 {
        return Err(BuildError::Empty("cores"));
    }
    let most_ports = u64::from(u16::MAX);
    at_most("the number of ports of an edge switch", u64::from(hosts) + u64::from(aggregations), most_ports)?;
    at_most("the number of ports of an aggregation switch", u64::from(edges) + u64::from(cores), most_ports)?;
    at_most("the number of ports of a core switch", pods.into(), most_ports)?;
    let [pods, edges, aggregations, cores, hosts] = [pods, edges, aggregations, cores, hosts].map(u64::from);
    let nodes = pods * (edges * (hosts + 1) + aggregations) + aggregations * cores;
    at_most("the number of nodes", nodes, MOST_NODES)?;
    let clos = Clos::new(size);
    let mut builder = Builder::default();
    for node in (0..clos.nodes()).map(NodeId) {
        let level = clos.level(node);
        let ports = clos.ports(level) as usize;
        if level == 0 {
            builder.host(ports)
        } else {
            builder.switch(ports)
        };
    }
    for node in (0..clos.nodes()).map(NodeId) {
        let rate = [rates.host, rates.uplink, rates.core, Rate::ZERO][clos.level(node)];
        for (port, above, there) in clos.upward(node) {
            builder.link((node, port), (above, there), rate, delay);
        }
    }
    Ok(builder.build(Shape::Clos(size)))
}

/// Builds a folded Clos of two tiers. Its nodes are the hosts, then the leaves, then the spines. A leaf's first ports
/// lead to its hosts, and its other ports lead to the spines in order. Port i of a spine leads to the i-th leaf.
///
/// # Errors
/// If a number or a rate is zero, or if there are too many nodes or ports.
pub fn folded_clos(
    leaves: u32,
    hosts_per_leaf: u32,
    spines: u32,
    host_rate: Rate,
    uplink_rate: Rate,
    delay: Duration,
) -> Result<Topology, BuildError> {
    let rates = ClosRates { host: host_rate, uplink: uplink_rate, core: uplink_rate };
    clos(ClosSize::leaf_spine(leaves, hosts_per_leaf, spines), rates, delay)
}

/// Builds the k-ary fat-tree of three tiers, with k even: k pods of k/2 edge and k/2 aggregation switches,
/// (k/2)² cores and k³/4 hosts. Aggregation switch a of every pod leads to cores a·k/2 to a·k/2 + k/2 - 1
/// (Al-Fares et al., SIGCOMM 2008).
///
/// # Errors
/// If k is zero or odd, if a rate is zero, or if there are too many nodes or ports.
pub fn fat_tree(k: u32, rates: ClosRates, delay: Duration) -> Result<Topology, BuildError> {
    if !k.is_multiple_of(2) {
        return Err(BuildError::Odd("k"));
    }
    check(&[("k", k.into())], &[])?;
    clos(ClosSize::fat_tree(k), rates, delay)
}

/// Builds an extended generalized fat tree. [`XgftSize`] describes the order of its ports, and the module
/// [`crate::xgft`] its structure and the order of its nodes.
///
/// # Errors
/// If `children` is empty, if `children` and `parents` have different lengths, if a number or the rate is zero, or if
/// there are too many nodes or ports.
#[allow(clippy::cast_possible_truncation, reason = "the index of a parent fits a `u32`")]
pub fn xgft(size: XgftSize, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    let (children, parents) = (&size.children, &size.parents);
    if children.len() != parents.len() {
        return Err(BuildError::Levels { children: children.len(), parents: parents.len() });
    }
    if children.is_empty() {
        return Err(BuildError::Empty("children"));
    }
    let numbers = |what, numbers: &[u32]| numbers.iter().map(|&n| (what, n.into())).collect::<Vec<_>>();
    check(&[numbers("children", children), numbers("parents", parents)].concat(), &[rate])?;
    let above = parents.iter().skip(1).map(|&w| u64::from(w)).chain([0]);
    for (down, up) in children.iter().map(|&m| u64::from(m)).zip(above) {
        at_most("the number of ports of a switch", down + up, u16::MAX.into())?;
    }
    at_most("the number of ports of a host", parents[0].into(), u16::MAX.into())?;
    at_most("the number of nodes", size.node_count(), MOST_NODES)?;
    let tree = Xgft::new(size.clone());
    let mut builder = Builder::default();
    for level in 0..=tree.levels() {
        for _ in tree.nodes_of(level) {
            let ports = tree.port_count(level);
            if level == 0 {
                builder.host(ports)
            } else {
                builder.switch(ports)
            };
        }
    }
    for node in (0..tree.nodes()).map(NodeId) {
        for (digit, port) in tree.uplinks(tree.level(node)).map(PortId).enumerate() {
            let parent = tree.parent(node, digit as u32);
            builder.link((node, port), (parent, tree.port_to(parent, node)), rate, delay);
        }
    }
    Ok(builder.build(Shape::Xgft(size)))
}

/// Builds `BCube(n, k)`: n^(k+1) servers and k + 1 levels of n^k switches. A server has k + 1 ports and forwards
/// packets. A switch has n ports. The module [`crate::bcube`] describes the order of nodes and ports (Guo et al.,
/// SIGCOMM 2009).
///
/// # Errors
/// If n or the rate is zero, if k is above 24, or if there are too many nodes or ports.
pub fn bcube(n: u32, k: u32, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    check(&[("n", n.into())], &[rate])?;
    at_most("the number of ports of a switch", n.into(), u16::MAX.into())?;
    at_most("k", k.into(), 24)?;
    let [switches, servers] = [k, k + 1].map(|digits| u64::from(n).saturating_pow(digits));
    at_most(
        "the number of nodes",
        servers.saturating_add(switches.saturating_mul(u64::from(k) + 1)),
        MOST_NODES,
    )?;
    let cube = Bcube::new(n, k);
    let mut builder = Builder::default();
    for node in 0..cube.nodes() {
        if node < cube.hosts() {
            builder.host(cube.levels() as usize)
        } else {
            builder.switch(n as usize)
        };
    }
    for server in (0..cube.hosts()).map(NodeId) {
        for level in 0..cube.levels() {
            let there = (cube.switch(server, level), PortId::of(cube.digit(server, level) as usize));
            builder.link((server, PortId::of(level as usize)), there, rate, delay);
        }
    }
    Ok(builder.build(Shape::Bcube(cube)))
}

/// Number of draws of a random graph before the builder gives up. With degree 3 or more, a draw hardly ever gives a
/// disconnected graph.
const MOST_DRAWS: u64 = 100;

/// Builds Jellyfish (Singla et al., NSDI 2012): `switches` switches with `ports` ports each. Of a switch's ports,
/// `network_ports` lead to random other switches, and the rest lead to hosts. The same seed gives the same graph. The
/// first nodes are the hosts, grouped by switch. A switch's first ports lead to its hosts. If `switches` and
/// `network_ports` are both odd, one switch has one network port fewer.
///
/// # Errors
/// If a number or the rate is zero, if `network_ports` is not less than `ports`, if there are fewer other switches than
/// network ports, if there are too many nodes or ports, or if no draw gives a connected graph.
pub fn jellyfish(
    switches: u32,
    ports: u32,
    network_ports: u32,
    seed: u64,
    rate: Rate,
    delay: Duration,
) -> Result<Topology, BuildError> {
    let hosts = ports.saturating_sub(network_ports);
    check(
        &[
            ("switches", switches.into()),
            ("network_ports", network_ports.into()),
            ("ports - network_ports", hosts.into()),
        ],
        &[rate],
    )?;
    if network_ports >= switches {
        return Err(BuildError::Degree { degree: network_ports, others: switches - 1 });
    }
    at_most("the number of ports of a switch", ports.into(), u16::MAX.into())?;
    at_most("the number of nodes", u64::from(switches) * (u64::from(hosts) + 1), MOST_NODES)?;
    let draw = |attempt| {
        let mut stream = Stream::new(seed, attempt, "jellyfish");
        random_regular(switches as usize, network_ports as usize, &mut stream)
    };
    let graph = (0..MOST_DRAWS).find_map(draw);
    let graph = graph.ok_or(BuildError::Apart { switches, degree: network_ports })?;
    let mut builder = Builder::default();
    let servers: Vec<NodeId> = (0..switches * hosts).map(|_| builder.host(1)).collect();
    let ids: Vec<NodeId> = (0..switches).map(|_| builder.switch(hosts as usize)).collect();
    for (servers, &switch) in servers.chunks_exact(hosts as usize).zip(&ids) {
        for (i, &server) in servers.iter().enumerate() {
            builder.link((server, PortId(0)), (switch, PortId::of(i)), rate, delay);
        }
    }
    for (&a, neighbours) in ids.iter().zip(&graph) {
        for b in neighbours.iter().map(|&b| ids[b as usize]).filter(|&b| a < b) {
            builder.join(a, b, rate, delay);
        }
    }
    Ok(builder.build(Shape::General))
}

/// Builds two switches joined by one link, with hosts on each switch. The nodes are the hosts on the left,
/// the hosts on the right, the left switch and the right switch. A switch's last port leads to the other
/// switch.
///
/// # Errors
/// If a number or a rate is zero, or if there are too many ports.
pub fn dumbbell(
    left: u32,
    right: u32,
    edge_rate: Rate,
    bottleneck_rate: Rate,
    delay: Duration,
) -> Result<Topology, BuildError> {
    check(&[("left", left.into()), ("right", right.into())], &[edge_rate, bottleneck_rate])?;
    let most = u64::from(u16::MAX) - 1;
    let sides = [at_most("left", left.into(), most)?, at_most("right", right.into(), most)?];
    let mut builder = Builder::default();
    let hosts = sides.map(|count| (0..count).map(|_| builder.host(1)).collect::<Vec<_>>());
    let switches = sides.map(|count| builder.switch(count + 1));
    for (hosts, &switch) in hosts.iter().zip(&switches) {
        for (i, &host) in hosts.iter().enumerate() {
            builder.link((host, PortId(0)), (switch, PortId::of(i)), edge_rate, delay);
        }
    }
    let across = |side: usize| (switches[side], PortId::of(sides[side]));
    builder.link(across(0), across(1), bottleneck_rate, delay);
    Ok(builder.build(Shape::General))
}

/// Builds a single switch with hosts. The switch is the last node, and its port i leads to host i. The fabric is the
/// extended generalized fat tree of one level.
///
/// # Errors
/// If there are no hosts or too many hosts, or if the rate is zero.
pub fn single_switch(hosts: u32, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    check(&[("hosts", hosts.into())], &[])?;
    xgft(XgftSize { children: vec![hosts], parents: vec![1] }, rate, delay)
}
