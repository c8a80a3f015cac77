//! What can be wrong with a workload.

use raddle_core::text::Misread;
use raddle_core::{Duration, Rate};

/// Why a workload cannot be generated or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A parameter is outside its range.
    #[error("{name} is {value}, but must be {need}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What it was, as written.
        value: String,
        /// What it may be.
        need: &'static str,
    },
    /// Flows need two hosts at least.
    #[error("a workload needs at least 2 hosts, and the topology has {hosts}")]
    TooFewHosts {
        /// Hosts present.
        hosts: usize,
    },
    /// The pattern is defined by grid coordinates.
    #[error("the {pattern} pattern needs a torus or mesh with all links up")]
    NotAGrid {
        /// The pattern.
        pattern: &'static str,
    },
    /// The pattern is defined by pods.
    #[error("the {pattern} pattern needs a Clos fabric with all links up")]
    NotAClos {
        /// The pattern.
        pattern: &'static str,
    },
    /// The pattern sends from pod to pod.
    #[error("the {pattern} pattern needs at least 2 pods, or 2 leaves")]
    OnePod {
        /// The pattern.
        pattern: &'static str,
    },
    /// The pattern permutes coordinates, so all dimensions must be of one size.
    #[error("the {pattern} pattern needs dimensions of equal size, not {dims:?}")]
    UnequalDimensions {
        /// The pattern.
        pattern: &'static str,
        /// The grid's sizes.
        dims: Vec<u32>,
    },
    /// The pattern moves the digits of hosts' numbers, so all numbers of so many digits must be hosts'.
    #[error("the {pattern} pattern needs a power of {radix} hosts, not {hosts}")]
    NotAPower {
        /// The pattern.
        pattern: &'static str,
        /// Hosts present.
        hosts: usize,
        /// The digits' radix.
        radix: u32,
    },
    /// The pattern maps every node of this topology to itself.
    #[error("the {pattern} pattern sends nothing here: it maps every node to itself")]
    NoPairs {
        /// The pattern.
        pattern: &'static str,
    },
    /// No flow starts in the time that arrivals last.
    #[error("no flow starts within {window}")]
    NoFlows {
        /// How long they last.
        window: Duration,
    },
    /// An exact load stretches the starts, and so the time that arrivals last.
    #[error("an exact load needs a number of flows (`flows`) and cannot have a `duration`")]
    ExactWithin,
    /// Flows that all start at once do not last.
    #[error("`duration` cannot be given if all flows start at once")]
    AtOnce,
    /// Hosts that produce frames on their own take all frames to be of one size.
    #[error("frames of hosts on their own are all of one size")]
    FramesOfSizes,
    /// Hosts that produce frames on their own do so for ever.
    #[error("frames of hosts on their own are not one a pair")]
    FramesOnce,
    /// A sender cannot have a share of a link that it does not have.
    #[error("host {host} has no link")]
    NoLink {
        /// The host.
        host: u32,
    },
    /// A hotspot asks more of a source than its link has.
    #[error("the hotspot's severity requires {rate} from host {host}, whose link has {link}")]
    TooSevere {
        /// The source.
        host: u32,
        /// What it would have to send.
        rate: Rate,
        /// The rate of its link.
        link: Rate,
    },
    /// A flow's end is not a host of the topology.
    #[error("node {node} is not a host of the topology")]
    NotAHost {
        /// The node.
        node: u32,
    },
    /// A flow's ends are the same.
    #[error("node {node} cannot send to itself")]
    SelfFlow {
        /// The node.
        node: u32,
    },
    /// A file is malformed.
    #[error(transparent)]
    Parse(#[from] Misread),
}

impl WorkloadError {
    /// Refuses a parameter.
    pub(crate) fn parameter(name: &'static str, value: &dyn ToString, need: &'static str) -> Self {
        Self::Parameter { name, value: value.to_string(), need }
    }
}
