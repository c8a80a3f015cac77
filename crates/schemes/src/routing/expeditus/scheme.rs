//! Expeditus's entry in the registry.

use super::aggregation::Aggregation;
use super::authsim::{self, AuthsimTor};
use super::counters::Counters;
use super::meters::{Counted, Uplinks};
use super::multiplier::{Multipliers, Scaling};
use super::path_table::{Clock, Lookup, PathTable};
use super::selection;
use super::switch::Switch;
use super::tagging;
use super::tor::Tor;
use crate::fluid::Spread;
use crate::parameter::{Field, Parameter, Value};
use crate::routing::ecmp::Ecmp;
use crate::routing::flow_hash::salt;
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use crate::{choices, parameters};
use raddle_core::{Dre, Duration, Forwarder, NodeId, Stream};
use raddle_topology::{Clos, ClosSize, Shape, Topology};
use raddle_wire::exp::Tag;
use std::sync::Arc;

/// Expeditus.
pub const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::LeastLoaded, hold: |_| None };

const INFO: Info = Info {
    name: "expeditus",
    summary: "In a Clos network, each flow takes the path that was least congested when the flow began: first the \
              aggregation switch is selected, then the core",
    source: "Expeditus (SoCC 2016) §§3-4",
    differs: &[
        "an entry of the path selection table that waits for an answer is deleted when it expires; in the \
         paper, only its valid bit is reset, so its flow could never select a path again",
        "not specified in the paper: loads are rounded down and limited to 7; ties are broken at random; a switch \
         never selects a port that is down",
        "loads are multiplied by fractional multipliers before rounding, and by whole multipliers after \
         rounding; multipliers take effect once a failure has been discovered",
        "if a port goes down, the table entries of paths through this port expire at once",
        "`mode = \"authsim\"`: loads travel in the paper's tag instead of a header after the IP header, and are \
         limited to 7; multipliers are off",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The protocol variant.
    pub(crate) enum Mode {
        /// The paper's protocol.
        Paper = "paper",
        /// The protocol of the authors' simulation code.
        Authsim = "authsim",
    }
}

choices! {
    /// The choice of a switch among equally loaded uplinks.
    pub(crate) enum Ties {
        /// At random.
        Random = "random",
        /// The uplink with the lowest index.
        Lowest = "lowest",
        /// By a hash of the flow.
        Hash = "hash",
    }
}

parameters! {
    /// Expeditus's parameters.
    pub(crate) struct Parameters {
        /// the paper's protocol, or the protocol of the authors' simulation code. With `authsim`, loads travel in SYN
        /// and SYN-ACK, and a connection selects its path once; if the transport has no handshake, all flows use ECMP.
        /// `authsim` does not change `alpha`, which is 0.3 in the authors' code
        mode: Mode;
        t_dre: Duration = T_DRE;
        alpha: f64 = ALPHA;
        bits: u32 = BITS;
        /// when an uplink counts an outgoing packet: when the packet is queued, or when the first bit of the packet
        /// leaves
        dre_egress: Counted;
        /// include the egress queue in the upward load of an uplink: a queue that takes t_dre to drain is full load
        /// (the method of the paper's testbed)
        queue_counts: bool = false;
        pst_capacity: usize = PST_CAPACITY;
        pst_timeout: Duration = PST_TIMEOUT;
        pst_clock: Clock = PST_CLOCK;
        pst_lookup: Lookup = PST_LOOKUP;
        /// how a switch chooses among equally loaded uplinks
        ties: Ties;
        /// how an uplink's load is scaled if the switch above has lost capacity: after rounding (literal), before
        /// rounding (prescale), either way depending on the multiplier (auto), or not at all (off)
        multipliers: Scaling;
        /// let a retransmitted SYN or SYN-ACK begin a new selection while the answer to the earlier request is pending
        /// (no effect with mode `authsim`)
        reselect_on_syn: bool = false;
    }
}

pub(crate) const T_DRE: Parameter = Parameter::new(
    "t_dre",
    Value::Duration(Duration::from_us(20)),
    "interval at which rate estimators decay",
)
.within(1.0, 1e15);
pub(crate) const ALPHA: Parameter =
    Parameter::new("alpha", Value::Fraction(0.1), "fraction that a rate estimator loses in each interval")
        .within(0.001, 1.0);
pub(crate) const BITS: Parameter =
    Parameter::new("bits", Value::Count(3), "number of bits that encode a load").within(1.0, 3.0);
pub(crate) const PST_CAPACITY: Parameter =
    Parameter::new("pst_capacity", Value::Count(65_536), "number of entries of a path selection table")
        .within(1.0, 16_777_216.0);
pub(crate) const PST_TIMEOUT: Parameter = Parameter::new(
    "pst_timeout",
    Value::Duration(Duration::from_ms(100)),
    "idle time after which an entry of a path selection table expires",
)
.within(1.0, 1e15);
pub(crate) const PST_CLOCK: Parameter = Parameter::choice(
    "pst_clock",
    Clock::WORDS,
    "when an idle entry expires: exactly after the timeout (exact), or after one to two timeouts (age_bit)",
);
pub(crate) const PST_LOOKUP: Parameter = Parameter::choice(
    "pst_lookup",
    Lookup::WORDS,
    "how flows use entries: each flow has its own entry (exact), or flows with the same lower hash bits \
     share an entry (hw)",
);

/// The data that all switches of a fabric share.
pub struct Expeditus {
    size: ClosSize,
    clos: Clos,
    paths: Arc<ShortestPaths>,
    dre: Arc<Dre>,
    parameters: Parameters,
    seed: u64,
    counters: Arc<Counters>,
}

impl Expeditus {
    /// Expeditus for the plan's fabric.
    ///
    /// # Errors
    /// If the fabric is not a Clos network, or if a switch has more uplinks than a tag has room for.
    pub fn new(plan: &Plan<'_>) -> Result<Self, Unfit> {
        let size = clos_of(plan.topology, INFO.name)?;
        let clos = Clos::new(size);
        let most = [1, 2].map(|level| clos.uplinks(level).len()).into_iter().max().unwrap_or(0);
        if most > Tag::MOST {
            return Err(Unfit {
                key: "topology".into(),
                problem: format!(
                    "a switch of this topology has {most} uplinks, and Expeditus's tag has room for at \
                                  most {}",
                    Tag::MOST
                ),
                hint: "choose a topology with fewer uplinks per switch".into(),
            });
        }
        let parameters = Parameters::of(plan.settings);
        Ok(Self {
            size,
            clos,
            paths: ShortestPaths::new(plan.topology),
            dre: Arc::new(Dre::new(parameters.t_dre, parameters.alpha, parameters.bits)),
            parameters,
            seed: plan.seed,
            counters: Arc::default(),
        })
    }

    /// The size of the Clos network.
    #[must_use]
    pub fn size(&self) -> ClosSize {
        self.size
    }

    /// Counts of selection events.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Number of load values that a switch of this level keeps. Level 1 consists of the edge switches, level 2 of the
    /// aggregation switches.
    #[must_use]
    pub fn load_values(&self, level: usize) -> usize {
        let node = self.clos.nodes_of(level).next().map(NodeId);
        node.map_or(0, |node| self.switch(node, level).uplinks.values())
    }

    /// The forwarder of a node; `None` for hosts.
    #[must_use]
    pub fn forwarder(&self, node: NodeId) -> Option<Box<dyn Forwarder>> {
        let level = self.clos.level(node);
        if level == 0 {
            return None;
        }
        if level == 3 || self.clos.uplinks(level).is_empty() {
            return Some(Box::new(Ecmp::new(node, &self.paths, self.seed)));
        }
        let switch = self.switch(node, level);
        let is_authsim = self.parameters.mode == Mode::Authsim;
        if level == 2 {
            let answered = if is_authsim { authsim::answered } else { tagging::answered };
            return Some(Box::new(Aggregation { switch, answered }));
        }
        if is_authsim {
            return Some(Box::new(AuthsimTor(switch)));
        }
        let topology = self.paths.topology();
        let [uplinks, next] = [1, 2].map(|level| self.clos.uplinks(level));
        Some(Box::new(Tor {
            switch,
            multipliers: Multipliers::new(topology, node, uplinks, next, self.parameters.multipliers),
            reselect_on_syn: self.parameters.reselect_on_syn,
            answer: None,
        }))
    }

    fn switch(&self, node: NodeId, level: usize) -> Switch {
        let Self { clos, paths, dre, parameters, seed, counters, .. } = self;
        let &Parameters { pst_capacity, pst_timeout, pst_clock, pst_lookup, .. } = parameters;
        let ties = match parameters.ties {
            Ties::Random => selection::Ties::Random(Stream::new(*seed, node.0.into(), "expeditus/ties")),
            Ties::Lowest => selection::Ties::Lowest,
            Ties::Hash => selection::Ties::Hash(salt(*seed, node)),
        };
        Switch {
            next_hops: NextHops::new(node, paths),
            salt: salt(*seed, node),
            below: clos.hosts_below(node),
            pod: clos.hosts_of_pod(node),
            uplinks: Uplinks::new(
                paths.topology(),
                node,
                clos.uplinks(level),
                dre,
                parameters.dre_egress,
                parameters.queue_counts,
            ),
            table: PathTable::new(pst_capacity, pst_timeout, pst_clock, pst_lookup, counters),
            ties,
            counters: Arc::clone(counters),
        }
    }
}

/// The Clos network that the topology describes. `name` is the routing's name in the error message.
pub(crate) fn clos_of(topology: &Topology, name: &str) -> Result<ClosSize, Unfit> {
    match *topology.shape() {
        Shape::Clos(size) => Ok(size),
        _ => Err(Unfit {
            key: "scheme.routing".into(),
            problem: format!("`{name}` needs a Clos network, and this topology is not a Clos network"),
            hint: "choose `clos`, `fat_tree` or `folded_clos` as topology.kind, or another routing such as `ecmp`"
                .into(),
        }),
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let expeditus = Expeditus::new(plan)?;
    Ok(Box::new(move |node| expeditus.forwarder(node)))
}
