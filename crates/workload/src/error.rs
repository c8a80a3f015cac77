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
        /// The rejected value as text.
        value: String,
        /// The allowed values.
        need: &'static str,
    },
    /// The topology has fewer than two hosts, so no flow is possible.
    #[error("a workload needs at least 2 hosts, and the topology has {hosts}")]
    TooFewHosts {
        /// Number of hosts in the topology.
        hosts: usize,
    },
    /// The pattern is defined by grid coordinates, but the topology is not a grid with all links up.
    #[error("the {pattern} pattern needs a torus or mesh with all links up")]
    NotAGrid {
        /// The name of the pattern.
        pattern: &'static str,
    },
    /// The pattern is defined by pods, but the topology is not a Clos network with all links up.
    #[error("the {pattern} pattern needs a Clos network with all links up")]
    NotAClos {
        /// The name of the pattern.
        pattern: &'static str,
    },
    /// The pattern is defined by pods, but the topology has only one pod. The leaves of a leaf-spine count as pods.
    #[error("the {pattern} pattern needs at least 2 pods, or at least 2 leaves of a leaf-spine")]
    OnePod {
        /// The name of the pattern.
        pattern: &'static str,
    },
    /// The pattern permutes coordinates and needs dimensions of equal size, but the sizes differ.
    #[error("all dimensions must have the same size for the {pattern} pattern (got {dims:?})")]
    UnequalDimensions {
        /// The name of the pattern.
        pattern: &'static str,
        /// The sizes of the grid's dimensions.
        dims: Vec<u32>,
    },
    /// The pattern computes a receiver's number from the digits of the sender's number, but the number of hosts is not
    /// a power of the radix.
    #[error("the number of hosts must be a power of {radix} for the {pattern} pattern (got {hosts})")]
    NotAPower {
        /// The name of the pattern.
        pattern: &'static str,
        /// Number of hosts in the topology.
        hosts: usize,
        /// The radix of the digits.
        radix: u32,
    },
    /// The pattern has no pairs on this topology: it maps every node to itself, or its list of pairs is empty.
    #[error("the {pattern} pattern has no pair of different hosts on this topology, so nothing is sent")]
    NoPairs {
        /// The name of the pattern.
        pattern: &'static str,
    },
    /// No flow starts in the given time.
    #[error("no flow starts within {window}")]
    NoFlows {
        /// The time within which flows may start.
        window: Duration,
    },
    /// The arrivals ask for an exact load, which scales the start times, but a duration for the start times is also
    /// given.
    #[error(
        "`duration` cannot be combined with `exact = true`: give `flows`, or `once = true` for one flow per \
         pair"
    )]
    ExactWithin,
    /// All flows start at once, but a duration for the start times is given.
    #[error("`duration` cannot be given if all flows start at once")]
    AtOnce,
    /// Senders with independent frames need a fixed frame size, but a size distribution is given.
    #[error(
        "`sizes` cannot be given for `arrivals` of kind `cbr`, `bernoulli`, `on_off` or `bursty`: all frames \
         have the same size"
    )]
    FramesOfSizes,
    /// Senders with independent frames send endlessly, but one flow per pair is requested.
    #[error(
        "`once = true` cannot be given for `arrivals` of kind `cbr`, `bernoulli`, `on_off` or `bursty`: \
         their senders never stop"
    )]
    FramesOnce,
    /// A rate is given as a share of the rate of a host's link, but the host has no link.
    #[error("host {host} has no link")]
    NoLink {
        /// The host.
        host: u32,
    },
    /// A hotspot requires that a source send at more than the rate of its link.
    #[error("the hotspot's severity requires {rate} from host {host}, whose link has only {link}")]
    TooSevere {
        /// The host that would have to send too fast.
        host: u32,
        /// The rate at which the source would have to send.
        rate: Rate,
        /// The rate of the source's link.
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
