//! DCQCN's parameters at hosts.

use crate::parameter::{Parameter, Settings, Value};
use raddle_core::{Bytes, Duration, Rate};

/// DCQCN's parameters, of notification points and reaction points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Least time between notices on a flow (N).
    pub notice_interval: Duration,
    /// Weight of the newest notice, or of its absence, in the estimate of congestion (g).
    pub gain: f64,
    /// The estimate falls once in each such time without a notice (K), which is longer than between notices.
    pub alpha_timer: Duration,
    /// Time of a recovery cycle (T).
    pub timer: Duration,
    /// Bytes of a recovery cycle (B).
    pub byte_limit: Bytes,
    /// Cycles of either kind at which fast recovery ends (F).
    pub threshold: u32,
    /// By how much the target rate grows in a cycle of additive increase.
    pub additive_increase: Rate,
    /// By how much times the cycle's number in hyper increase.
    pub hyper_increase: Rate,
    /// Least rate.
    pub min_rate: Rate,
}

/// DCQCN's parameters as an experiment states them, those of its packets among them. Zhu et al., Figure 14 and §3.1, but for the steps of increase
/// (`RATE_AI`, `RATE_HAI` of the authors' ns-3 configuration; 40 Mb/s is §3.1's too) and the least rate (`MinRate` there).
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("cnp_interval", US_50, "least time between notices on a flow").within(0.0, 6e13),
    Parameter::new(
        "gain",
        Value::Fraction(1.0 / 256.0),
        "weight of the newest notice in the estimate of congestion",
    ),
    Parameter::new("alpha_timer", US_55, "time without a notice after which the estimate falls")
        .within(1e3, 6e13),
    Parameter::new("timer", US_55, "time of a recovery cycle").within(1e3, 6e13),
    Parameter::new("byte_limit", Value::Bytes(10_000_000), "bytes of a recovery cycle").within(1.0, 1e15),
    Parameter::new("fr_thr", Value::Count(5), "cycles at which fast recovery ends").within(1.0, 1e6),
    Parameter::new("r_ai", Value::Rate(Rate::from_bps(40_000_000)), "step of additive increase"),
    Parameter::new("r_hai", Value::Rate(Rate::from_bps(200_000_000)), "step of hyper increase"),
    Parameter::new("min_rate", Value::Rate(Rate::from_bps(100_000_000)), "least rate").within(1.0, 1e15),
    Parameter::new("mtu", Value::Bytes(1_024), "payload bytes of a full packet").within(256.0, 4_096.0),
    Parameter::new("priority", Value::Count(3), "priority of packets whose flow has none, 0 to 7")
        .within(0.0, 7.0),
    Parameter::new("cnp_priority", Value::Count(6), "priority of congestion notifications, 0 to 7")
        .within(0.0, 7.0),
];

const US_50: Value = Value::Duration(Duration::from_us(50));
const US_55: Value = Value::Duration(Duration::from_us(55));

impl Params {
    /// As the settings say, which have those of [`PARAMETERS`].
    ///
    /// # Panics
    /// If they have not.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self {
            notice_interval: settings.duration("cnp_interval"),
            gain: settings.fraction("gain"),
            alpha_timer: settings.duration("alpha_timer"),
            timer: settings.duration("timer"),
            byte_limit: Bytes(settings.count("byte_limit")),
            threshold: u32::try_from(settings.count("fr_thr")).expect("parameters have ranges"),
            additive_increase: settings.rate("r_ai"),
            hyper_increase: settings.rate("r_hai"),
            min_rate: settings.rate("min_rate"),
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::of(&Settings::defaults(PARAMETERS))
    }
}
