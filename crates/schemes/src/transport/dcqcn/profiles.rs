//! DCQCN's parameters from publications.
//!
//! The profile for 100 Gb/s has the parameters with which the authors of HPCC simulate DCQCN (Li et al., "HPCC: High
//! Precision Congestion Control", SIGCOMM 2019; `alibaba-edu/High-Precision-Congestion-Control`, the "vendor" settings
//! of the run script). Its thresholds are 100 KB and 400 KB, and its steps are 5 Mb/s and 50 Mb/s, all per 25 Gb/s of
//! link rate. The reaction point of HPCC's authors has no byte counter. In our profile, a byte limit that no flow
//! reaches has the same effect. The profile for 400 Gb/s is not published: per 25 Gb/s of link rate, its thresholds and
//! steps equal those of the profile for 100 Gb/s.
//!
//! The PFC thresholds are our choice. XOFF is twice `k_max`, so that switches mark packets before they pause links.

use crate::parameter::Value;
use crate::profile::Profile;
use raddle_core::{Duration, Rate};

/// All profiles.
pub(crate) const PROFILES: [Profile; 3] = [
    Profile {
        name: "dcqcn-40g",
        summary: "DCQCN as deployed at 40 Gb/s",
        source: "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, Figure 14",
        transport: "dcqcn",
        rate: Rate::from_gbps(40),
        values: &[
            ("dcqcn", "cnp_interval", Value::Duration(Duration::from_us(50))),
            ("dcqcn", "alpha_timer", Value::Duration(Duration::from_us(55))),
            ("dcqcn", "timer", Value::Duration(Duration::from_us(55))),
            ("dcqcn", "byte_limit", Value::Bytes(10_000_000)),
            ("dcqcn", "fr_thr", Value::Count(5)),
            ("dcqcn", "gain", Value::Fraction(1.0 / 256.0)),
            ("dcqcn", "r_ai", Value::Rate(Rate::from_bps(40_000_000))),
            ("dcqcn", "r_hai", Value::Rate(Rate::from_bps(200_000_000))),
            ("red", "k_min", Value::Bytes(5_000)),
            ("red", "k_max", Value::Bytes(200_000)),
            ("red", "p_max", Value::Fraction(0.01)),
            ("pfc", "buffer", Value::Bytes(500_000)),
            ("pfc", "xoff", Value::Bytes(400_000)),
            ("pfc", "xon", Value::Bytes(350_000)),
        ],
    },
    Profile {
        name: "dcqcn-100g",
        summary: "DCQCN as the authors of HPCC simulate it, at 100 Gb/s",
        source: "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019; the authors' ns-3 run script",
        transport: "dcqcn",
        rate: Rate::from_gbps(100),
        values: &of_hpcc::<4>(),
    },
    Profile {
        name: "dcqcn-400g",
        summary: "dcqcn-100g at 400 Gb/s, with thresholds and rate steps scaled in proportion to the link \
                  rate",
        source: "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019; the authors' ns-3 run script, whose thresholds and rate steps are per 25 Gb/s of link rate",
        transport: "dcqcn",
        rate: Rate::from_gbps(400),
        values: &of_hpcc::<16>(),
    },
];

/// The parameters of HPCC's authors, scaled to links of `LANES` times 25 Gb/s.
const fn of_hpcc<const LANES: u64>() -> [(&'static str, &'static str, Value); 14] {
    [
        ("dcqcn", "cnp_interval", Value::Duration(Duration::from_us(4))),
        ("dcqcn", "alpha_timer", Value::Duration(Duration::from_us(1))),
        ("dcqcn", "timer", Value::Duration(Duration::from_us(300))),
        ("dcqcn", "byte_limit", Value::Bytes(1_000_000_000_000_000)),
        ("dcqcn", "fr_thr", Value::Count(1)),
        ("dcqcn", "gain", Value::Fraction(1.0 / 256.0)),
        ("dcqcn", "r_ai", Value::Rate(Rate::from_bps(5_000_000 * LANES))),
        ("dcqcn", "r_hai", Value::Rate(Rate::from_bps(50_000_000 * LANES))),
        ("red", "k_min", Value::Bytes(100_000 * LANES)),
        ("red", "k_max", Value::Bytes(400_000 * LANES)),
        ("red", "p_max", Value::Fraction(0.2)),
        ("pfc", "buffer", Value::Bytes(1_000_000 * LANES)),
        ("pfc", "xoff", Value::Bytes(800_000 * LANES)),
        ("pfc", "xon", Value::Bytes(750_000 * LANES)),
    ]
}
