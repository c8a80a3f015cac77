//! PDQ's parameters.

use crate::parameter::{Parameter, Settings, Value};
use crate::routing::pinned;
use crate::transport::explicit::scheme::{INITIAL_RTO, MIN_RTO, MSS};
use raddle_core::Duration;

/// What switches do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Whether the next flow starts before one that is nearly complete has ended (ES).
    pub early_start: bool,
    /// Round trips within which a flow is nearly complete (K).
    pub k: f64,
    /// Whether flows far down the list probe rarely (SP).
    pub suppressed_probing: bool,
    /// Round trips between two probes for each place of the list (`X_sp`).
    pub x_sp: f64,
    /// How long after a flow was accepted others are not.
    pub dampening: Duration,
    /// Whether grants count before their acknowledgement comes back, which is looked at again, and dampening spares the more
    /// critical (profile F).
    pub is_fast: bool,
    /// Whether the most critical flow has the line's rate however long the queue is.
    pub top_line: bool,
    /// Flows that the list has room for (M).
    pub list: usize,
    /// Whether it is trimmed to twice the flows that send.
    pub trim: bool,
    /// Share of a link that is PDQ's.
    pub share: f64,
    /// The round trip to reckon with until flows have measured theirs.
    pub initial_rtt: Duration,
}

/// By what flows whose size is unknown to the network are ranked, and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    /// By the time that what is left takes.
    Exact,
    /// By a number drawn once for each flow.
    Random,
    /// By what has been sent so far, in steps of so many bytes: whoever has sent little may be short.
    Sent {
        /// The step.
        step: u64,
    },
}

/// What senders do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manners {
    /// Whether flows end that cannot meet their deadline any more (ET).
    pub early_termination: bool,
    /// Whether a SYN asks for a rate, or measures the round trip alone.
    pub syn_asks: bool,
    /// What makes a flow critical.
    pub ranking: Ranking,
    /// By how many powers of two a flow that has waited for 100 ms seems shorter.
    pub aging: f64,
    /// Whether links hear of the least round-trip time rather than of the smoothed one, and the most critical of a host's
    /// flows has its link first (profile F).
    pub is_fast: bool,
    /// The run's seed.
    pub seed: u64,
}

/// PDQ's parameters as an experiment states them.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::choice(
        "variant",
        &["full", "es+et", "es", "basic"],
        "with Early Start, Early Termination and Suppressed Probing, or without the last ones of them",
    ),
    Parameter::choice(
        "profile",
        &["f", "l"],
        "f: a grant counts at once and is looked at again on its way back, dampening holds up the less critical, and \
         senders tell their least round trip, and hosts send the most critical first; l: the rules as they are written",
    ),
    Parameter::new("k", Value::Fraction(2.0), "round trips within which a flow is nearly complete")
        .within(0.0, 1e6),
    Parameter::new(
        "x_sp",
        Value::Fraction(0.2),
        "round trips between probes for each place in a link's list",
    )
    .within(0.0, 1e3),
    Parameter::new(
        "dampening",
        Value::Duration(Duration::from_us(100)),
        "how long a link accepts nobody after it has accepted a flow; about 0.8 round trips",
    )
    .within(0.0, 6e13),
    Parameter::new(
        "top_line",
        Value::Flag(false),
        "the most critical flow has line rate however long the queue is",
    ),
    Parameter::new("list", Value::Count(4_096), "flows that a link remembers; others share what these leave")
        .within(2.0, 1e6),
    Parameter::new("trim", Value::Flag(false), "a link remembers twice the flows that send, and no more"),
    Parameter::new("share", Value::Fraction(1.0), "share of each link that is PDQ's"),
    Parameter::new(
        "initial_rtt",
        Value::Duration(Duration::from_us(200)),
        "round trip that links reckon with until flows have measured theirs",
    )
    .within(1e6, 1e12),
    Parameter::new("syn_grants", Value::Flag(true), "a SYN asks for a rate, rather than the first probe"),
    Parameter::choice(
        "ranking",
        &["exact", "random", "sent"],
        "what makes a flow critical: how long it still takes, chance, or how much it has sent",
    ),
    Parameter::new(
        "ranking_step",
        Value::Bytes(50_000),
        "with ranking = \"sent\": steps in which that counts",
    )
    .within(1.0, 1e15),
    Parameter::new(
        "aging",
        Value::Fraction(0.0),
        "powers of two by which a flow that has waited for 100 ms seems shorter; 0 lets long ones wait",
    )
    .within(0.0, 1e3),
    Parameter::new(
        "subflows",
        Value::Count(1),
        "subflows of each flow, on paths of their own (Multipath PDQ)",
    )
    .within(1.0, 16.0),
    Parameter::new(
        "h_sched",
        Value::Bytes(0),
        "bytes of the scheduling header that the 40 of all headers do not cover; `mss` is to be as much less",
    )
    .within(0.0, 64.0),
    MSS,
    INITIAL_RTO,
    MIN_RTO,
    pinned::PATHS,
];

impl Rules {
    /// As the settings say, which have those of [`PARAMETERS`].
    ///
    /// # Panics
    /// If they have not.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let variant = settings.choice("variant");
        Self {
            early_start: variant != "basic",
            k: settings.fraction("k"),
            suppressed_probing: variant == "full",
            x_sp: settings.fraction("x_sp"),
            dampening: settings.duration("dampening"),
            is_fast: settings.choice("profile") == "f",
            top_line: settings.flag("top_line"),
            list: settings.count("list") as usize,
            trim: settings.flag("trim"),
            share: settings.fraction("share"),
            initial_rtt: settings.duration("initial_rtt"),
        }
    }
}

impl Manners {
    /// As the settings say, which have those of [`PARAMETERS`].
    ///
    /// # Panics
    /// If they have not.
    #[must_use]
    pub fn of(settings: &Settings, seed: u64) -> Self {
        Self {
            early_termination: matches!(settings.choice("variant"), "full" | "es+et"),
            syn_asks: settings.flag("syn_grants"),
            ranking: match settings.choice("ranking") {
                "random" => Ranking::Random,
                "sent" => Ranking::Sent { step: settings.count("ranking_step") },
                _ => Ranking::Exact,
            },
            aging: settings.fraction("aging"),
            is_fast: settings.choice("profile") == "f",
            seed,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::of(&Settings::defaults(PARAMETERS))
    }
}
