//! Expeditus's entry in the registry.

use super::aggregation::Aggregation;
use super::authsim::{self, AuthsimTor};
use super::counters::Counters;
use super::meters::{Counted, Uplinks};
use super::multiplier::{Multipliers, Scaling};
use super::path_table::{Clock, Lookup, PathTable};
use super::selection::Ties;
use super::switch::Switch;
use super::tagging;
use super::tor::Tor;
use crate::fluid::Spread;
use crate::parameter::{Parameter, Settings, Value};
use crate::routing::ecmp::Ecmp;
use crate::routing::flow_hash::salt;
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::{Dre, Duration, Forwarder, NodeId, Stream};
use raddle_topology::{Clos, ClosSize, Shape, Topology};
use raddle_wire::exp::Tag;
use std::sync::Arc;

/// Expeditus.
pub const ROUTING: Routing = Routing { info: INFO, build, spread: |_| Spread::LeastLoaded };

const INFO: Info = Info {
    name: "expeditus",
    summary: "Each flow on the path of a Clos network that was least congested when it began: \
              first the aggregation switch is selected, then the core",
    source: "Expeditus (SoCC 2016) §§3-4",
    differs: &[
        "an entry whose answer is out expires as any other; the paper only resets its valid bit, which would bar the flow \
         from selecting for ever",
        "loads are rounded down and end at 7; ties are broken at random; a switch never selects a port that is down: \
         the paper does not say",
        "multipliers that are no whole number scale before rounding, others after it; they apply when failures are discovered",
        "entries that lead over a port that went down expire at once",
        "authsim: loads travel in the paper's tag rather than in a header behind IP's, and end at 7; multipliers are off",
    ],
    view: View::Local,
    parameters: PARAMETERS,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "mode",
        &["paper", "authsim"],
        "the paper's protocol, or that of the authors' simulation code, in which loads ride on SYN and SYN-ACK and a \
         connection selects once (there alpha = 0.3, and transports need a handshake)",
    ),
    T_DRE,
    ALPHA,
    BITS,
    Parameter::choice(
        "dre_egress",
        &["enqueue", "tx_start"],
        "when a packet counts as sent up: when it is queued, or when its first bit leaves",
    ),
    PST_CAPACITY,
    PST_TIMEOUT,
    PST_CLOCK,
    PST_LOOKUP,
    Parameter::choice(
        "ties",
        &["random", "lowest", "hash"],
        "how a switch chooses among equally loaded uplinks",
    ),
    Parameter::choice(
        "multipliers",
        &["auto", "literal", "prescale", "off"],
        "how an uplink's load is scaled if the switch above has lost capacity: after rounding (literal), before it \
         (prescale), or whichever suits the multiplier",
    ),
    Parameter::new(
        "reselect_on_syn",
        Value::Flag(false),
        "a SYN sent again while the answer to the first one is out begins a new selection",
    ),
];

pub(crate) const T_DRE: Parameter =
    Parameter::new("t_dre", Value::Duration(Duration::from_us(20)), "period of the rate estimators' decay")
        .within(1.0, 1e15);
pub(crate) const ALPHA: Parameter =
    Parameter::new("alpha", Value::Fraction(0.1), "share that a rate estimator loses every period")
        .within(0.001, 1.0);
pub(crate) const BITS: Parameter = Parameter::new("bits", Value::Count(3), "bits of a load").within(1.0, 3.0);
pub(crate) const PST_CAPACITY: Parameter =
    Parameter::new("pst_capacity", Value::Count(65_536), "entries of a path selection table")
        .within(1.0, 16_777_216.0);
pub(crate) const PST_TIMEOUT: Parameter = Parameter::new(
    "pst_timeout",
    Value::Duration(Duration::from_ms(100)),
    "idle time after which an entry expires",
)
.within(1.0, 1e15);
pub(crate) const PST_CLOCK: Parameter = Parameter::choice(
    "pst_clock",
    &["exact", "age_bit"],
    "whether entries expire by exact timestamps, or by an age bit: between one and two timeouts",
);
pub(crate) const PST_LOOKUP: Parameter = Parameter::choice(
    "pst_lookup",
    &["exact", "hw"],
    "whether each flow has an entry of its own, or those share one whose hashes agree in the lower bits (hw)",
);

/// What all switches of a fabric are built from.
pub struct Expeditus {
    clos: Clos,
    paths: Arc<ShortestPaths>,
    dre: Arc<Dre>,
    settings: Settings,
    seed: u64,
    counters: Arc<Counters>,
}

impl Expeditus {
    /// For this fabric.
    ///
    /// # Errors
    /// If it is no Clos network, or its switches have more uplinks than a tag has room for.
    pub fn new(plan: &Plan<'_>) -> Result<Self, Unfit> {
        let clos = Clos::new(clos_of(plan.topology, INFO.name)?);
        let most = [1, 2].map(|level| clos.uplinks(level).len()).into_iter().max().unwrap_or(0);
        if most > Tag::MOST {
            return Err(Unfit {
                key: "topology".into(),
                problem: format!("a switch has {most} uplinks; Expeditus's tag has room for {}", Tag::MOST),
                hint: "choose a fabric with fewer".into(),
            });
        }
        let settings = plan.settings;
        Ok(Self {
            clos,
            paths: ShortestPaths::new(plan.topology),
            dre: Arc::new(dre(settings)),
            settings: settings.clone(),
            seed: plan.seed,
            counters: Arc::default(),
        })
    }

    /// What happens to selections.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The forwarder of a node; none for hosts.
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
        let is_authsim = self.settings.choice("mode") == "authsim";
        if level == 2 {
            let answered = if is_authsim { authsim::answered } else { tagging::answered };
            return Some(Box::new(Aggregation { switch, answered }));
        }
        if is_authsim {
            return Some(Box::new(AuthsimTor(switch)));
        }
        let scaling = match self.settings.choice("multipliers") {
            "literal" => Scaling::Literal,
            "prescale" => Scaling::Prescale,
            "off" => Scaling::Off,
            _ => Scaling::Auto,
        };
        let topology = self.paths.topology();
        let [uplinks, next] = [1, 2].map(|level| self.clos.uplinks(level));
        Some(Box::new(Tor {
            switch,
            multipliers: Multipliers::new(topology, node, uplinks, next, scaling),
            reselect_on_syn: self.settings.flag("reselect_on_syn"),
            answer: None,
        }))
    }

    fn switch(&self, node: NodeId, level: usize) -> Switch {
        let Self { clos, paths, dre, settings, seed, counters } = self;
        let counted = match settings.choice("dre_egress") {
            "tx_start" => Counted::TxStart,
            _ => Counted::Enqueue,
        };
        let ties = match settings.choice("ties") {
            "lowest" => Ties::Lowest,
            "hash" => Ties::Hash(salt(*seed, node)),
            _ => Ties::Random(Stream::new(*seed, node.0.into(), "expeditus/ties")),
        };
        Switch {
            next_hops: NextHops::new(node, paths),
            salt: salt(*seed, node),
            below: clos.hosts_below(node),
            pod: clos.hosts_of_pod(node),
            uplinks: Uplinks::new(paths.topology(), node, clos.uplinks(level), dre, counted),
            table: path_table(settings, counters),
            ties,
            counters: Arc::clone(counters),
        }
    }
}

/// Rate estimators with the parameters of these settings.
pub(crate) fn dre(settings: &Settings) -> Dre {
    let bits = u32::try_from(settings.count("bits")).expect("the parameter's range");
    Dre::new(settings.duration("t_dre"), settings.fraction("alpha"), bits)
}

/// A path selection table with the parameters of these settings.
pub(crate) fn path_table(settings: &Settings, counters: &Arc<Counters>) -> PathTable {
    let clock = match settings.choice("pst_clock") {
        "age_bit" => Clock::AgeBit,
        _ => Clock::Exact,
    };
    let lookup = match settings.choice("pst_lookup") {
        "hw" => Lookup::Hardware,
        _ => Lookup::Exact,
    };
    let capacity = usize::try_from(settings.count("pst_capacity")).expect("the parameter's range");
    PathTable::new(capacity, settings.duration("pst_timeout"), clock, lookup, counters)
}

/// The Clos network that a fabric is, for the routing of that name.
pub(crate) fn clos_of(topology: &Topology, name: &str) -> Result<ClosSize, Unfit> {
    match *topology.shape() {
        Shape::Clos(size) => Ok(size),
        _ => Err(Unfit {
            key: "scheme.routing".into(),
            problem: format!("`{name}` selects among the uplinks of a Clos network, and this fabric is none"),
            hint: "choose `clos`, `fat_tree` or `folded_clos` as topology.kind, or another routing such as `ecmp`"
                .into(),
        }),
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let expeditus = Expeditus::new(plan)?;
    Ok(Box::new(move |node| expeditus.forwarder(node)))
}
