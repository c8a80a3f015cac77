//! Errors of workloads.

use raddle_core::text::Misread;
use raddle_core::{Duration, Rate};

/// The reason why a workload cannot be generated or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A parameter is outside its range.
    #[error("the {name} must be {need} (got {value})")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The rejected value, as written.
        value: String,
        /// The allowed values.
        need: &'static str,
    },
    /// Flows need at least two hosts.
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
    #[error("the {pattern} pattern needs a Clos network with all links up")]
    NotAClos {
        /// The pattern.
        pattern: &'static str,
    },
    /// The pattern sends from one pod to another.
    #[error("the {pattern} pattern needs at least 2 pods, or 2 leaves of a leaf-spine")]
    OnePod {
        /// The pattern.
        pattern: &'static str,
    },
    /// The pattern permutes coordinates, so all dimensions must have the same size.
    #[error("all dimensions must have the same size for the {pattern} pattern (got {dims:?})")]
    UnequalDimensions {
        /// The pattern.
        pattern: &'static str,
        /// The sizes of the grid's dimensions.
        dims: Vec<u32>,
    },
    /// The pattern permutes the digits of host numbers, so the number of hosts must be a power of the radix.
    #[error("the number of hosts must be a power of {radix} for the {pattern} pattern (got {hosts})")]
    NotAPower {
        /// The pattern.
        pattern: &'static str,
        /// Hosts present.
        hosts: usize,
        /// The digits' radix.
        radix: u32,
    },
    /// The pattern maps every node of this topology to itself.
    #[error("the {pattern} pattern maps every node of this topology to itself, so nothing is sent")]
    NoPairs {
        /// The pattern.
        pattern: &'static str,
    },
    /// No flow starts in the given time.
    #[error("no flow starts within {window}")]
    NoFlows {
        /// The time in which flows may start.
        window: Duration,
    },
    /// An exact load scales the start times, so the time in which flows start cannot be given as well.
    #[error("an exact load needs a number of flows (`flows`) and cannot have a `duration`")]
    ExactWithin,
    /// If all flows start at once, a duration has no meaning.
    #[error("`duration` cannot be given if all flows start at once")]
    AtOnce,
    /// Hosts that produce frames independently need a fixed frame size.
    #[error("`sizes` cannot be given for senders with independent frames: all their frames have one size")]
    FramesOfSizes,
    /// Hosts that produce frames independently produce them endlessly, so one flow per pair is not possible.
    #[error("senders with independent frames cannot send just one flow per pair")]
    FramesOnce,
    /// A sender without a link cannot offer a share of its link rate.
    #[error("host {host} has no link")]
    NoLink {
        /// The host.
        host: u32,
    },
    /// A hotspot requires more from a source than its link rate.
    #[error("the hotspot's severity requires {rate} from host {host}, whose link has only {link}")]
    TooSevere {
        /// The source.
        host: u32,
        /// The rate that the source would have to send.
        rate: Rate,
        /// The rate of its link.
        link: Rate,
    },
    /// An endpoint of a flow is not a host of the topology.
    #[error("node {node} is not a host of the topology")]
    NotAHost {
        /// The node.
        node: u32,
    },
    /// Both endpoints of a flow are the same node.
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
    /// Creates an error for a parameter that is out of range.
    pub(crate) fn parameter(name: &'static str, value: &dyn ToString, need: &'static str) -> Self {
        Self::Parameter { name, value: value.to_string(), need }
    }
}
