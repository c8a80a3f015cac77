//! QCN's parameters (specs/cee.md §0).

use crate::parameter::{Parameter, Settings, Value};
use raddle_core::{Bytes, Duration, Rate};

/// QCN's parameters, of congestion points and reaction points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Queue at which there is neither congestion nor slack (`cpQSp`).
    pub equilibrium: Bytes,
    /// Weight of the queue's growth against its length (`cpW`).
    pub weight: u32,
    /// Bytes from sample to sample while nothing is congested (`cpSampleBase`).
    pub sample: Bytes,
    /// How feedback shortens that.
    pub interval: Interval,
    /// Share of the rate that the greatest feedback takes (`rpgGd` times the greatest feedback).
    pub gain: f64,
    /// Least share of the rate that is left by one notice (`rpgMinDecFac`).
    pub min_decrease: f64,
    /// Bytes of a recovery cycle (`rpgByteReset`).
    pub byte_limit: Bytes,
    /// Time of a recovery cycle (`rpgTimeReset`).
    pub timer: Duration,
    /// Cycles of fast recovery (`rpgThreshold`).
    pub threshold: u32,
    /// By how much the target rate grows in a cycle of active increase (`rpgAiRate`).
    pub active_increase: Rate,
    /// By how much times the cycle's number in hyper-active increase (`rpgHaiRate`).
    pub hyper_increase: Rate,
    /// Least rate (`rpgMinRate`).
    pub min_rate: Rate,
    /// Which state machine counts the cycles.
    pub machine: Machine,
    /// Extra fast recovery: notices within the first byte cycle after another leave the target rate alone.
    pub extra_fast_recovery: bool,
    /// Target rate reduction: a target of more than ten times the rate after the first cycle is divided by eight.
    pub target_rate_reduction: bool,
}

/// How the sampling interval shrinks with feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Frequency rises linearly, to ten times at the greatest feedback (Crisan et al., Figure 3).
    Linear,
    /// Eight steps by the upper three bits of the feedback (IEEE 802.1Q, Table 30-1).
    Table,
}

/// Differences in how a reaction point counts cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// Version 2.2: as many halvings of the distance to the target as the threshold says, and then byte cycles and timer
    /// cycles of half the length, each by its own count.
    V22,
    /// IEEE 802.1Q: one halving fewer, hyper increase one cycle earlier, and half cycles only in hyper increase.
    Dot1q,
}

/// QCN's parameters as an experiment states them.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("qeq", Value::Bytes(20_000), "queue that congestion points aim at").within(1.0, 1e9),
    Parameter::new("w", Value::Count(2), "weight of a queue's growth against its length")
        .within(0.0, 1_024.0),
    Parameter::new("gd", Value::Fraction(0.5), "share of the rate that the greatest feedback takes"),
    Parameter::new("sample", Value::Bytes(150_000), "bytes between samples without congestion")
        .within(1.0, 1e9),
    Parameter::choice("interval", &["linear", "table"], "how feedback shortens the sampling interval"),
    Parameter::new("byte_limit", Value::Bytes(150_000), "bytes of a recovery cycle").within(1.0, 1e9),
    Parameter::new("timer", Value::Duration(Duration::from_ms(15)), "time of a recovery cycle")
        .within(1e6, 6e13),
    Parameter::new("fr_thr", Value::Count(5), "cycles of fast recovery").within(1.0, 1e6),
    Parameter::new("r_ai", Value::Rate(Rate::from_bps(5_000_000)), "step of active increase"),
    Parameter::new("r_hai", Value::Rate(Rate::from_bps(50_000_000)), "step of hyper-active increase"),
    Parameter::new("min_rate", Value::Rate(Rate::from_bps(100_000)), "least rate").within(1.0, 1e15),
    Parameter::new("min_dec", Value::Fraction(0.5), "least share of the rate that one notice leaves")
        .within(0.001, 1.0),
    Parameter::choice("machine", &["v2.2", "dot1q"], "which version's recovery cycles"),
    Parameter::new("efr", Value::Flag(true), "notices in the first byte cycle leave the target rate alone"),
    Parameter::new("trr", Value::Flag(false), "divide a target of over ten times the rate by eight"),
];

impl Params {
    /// As the settings say, which are of [`PARAMETERS`].
    ///
    /// # Panics
    /// If they are not.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let count = |name| u32::try_from(settings.count(name)).expect("parameters have ranges");
        Self {
            equilibrium: Bytes(settings.count("qeq")),
            weight: count("w"),
            sample: Bytes(settings.count("sample")),
            interval: match settings.choice("interval") {
                "linear" => Interval::Linear,
                _ => Interval::Table,
            },
            gain: settings.fraction("gd"),
            min_decrease: settings.fraction("min_dec"),
            byte_limit: Bytes(settings.count("byte_limit")),
            timer: settings.duration("timer"),
            threshold: count("fr_thr"),
            active_increase: settings.rate("r_ai"),
            hyper_increase: settings.rate("r_hai"),
            min_rate: settings.rate("min_rate"),
            machine: match settings.choice("machine") {
                "v2.2" => Machine::V22,
                _ => Machine::Dot1q,
            },
            extra_fast_recovery: settings.flag("efr"),
            target_rate_reduction: settings.flag("trr"),
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::of(&Settings::defaults(PARAMETERS))
    }
}
