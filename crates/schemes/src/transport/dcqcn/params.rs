//! DCQCN's parameters at hosts.

use crate::parameters;
use raddle_core::{Bytes, Duration, Rate};

parameters! {
    /// DCQCN's parameters, of notification points, reaction points and packets. Zhu et al., Figure 14 and §3.1, but for the
    /// steps of increase (`RATE_AI`, `RATE_HAI` of the authors' ns-3 configuration; 40 Mb/s is §3.1's too) and the least
    /// rate (`MinRate` there).
    pub(crate) struct Params {
        // N
        /// least time between notices on a flow
        cnp_interval: Duration = Duration::from_us(50), Duration::ZERO..=Duration::from_ms(60_000);
        // g
        /// weight of the newest notice in the estimate of congestion
        gain: f64 = 1.0 / 256.0;
        // K, which is longer than between notices
        /// time without a notice after which the estimate falls
        alpha_timer: Duration = Duration::from_us(55), Duration::from_ns(1)..=Duration::from_ms(60_000);
        // T
        /// time of a recovery cycle
        timer: Duration = Duration::from_us(55), Duration::from_ns(1)..=Duration::from_ms(60_000);
        // B
        /// bytes of a recovery cycle
        byte_limit: Bytes = Bytes(10_000_000), 1..=1_000_000_000_000_000;
        // F, of either kind
        /// cycles at which fast recovery ends
        fr_thr: u32 = 5, 1..=1_000_000;
        /// step of additive increase
        r_ai: Rate = Rate::from_bps(40_000_000);
        // times the cycle's number
        /// step of hyper increase
        r_hai: Rate = Rate::from_bps(200_000_000);
        /// least rate
        min_rate: Rate = Rate::from_bps(100_000_000), Rate::from_bps(1)..=Rate::from_gbps(1_000_000);
        /// payload bytes of a full packet
        mtu: u32 = Bytes(1_024), 256..=4_096;
        /// priority of packets whose flow has none, 0 to 7
        priority: u8 = 3, 0..=7;
        /// priority of congestion notifications, 0 to 7
        cnp_priority: u8 = 6, 0..=7;
    }
}
