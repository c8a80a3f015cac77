//! QCN's parameters (specifications/cee.md §0).

use crate::{choices, parameters};
use raddle_core::{Bytes, Duration, Rate};

choices! {
    /// The way in which feedback shortens the sampling interval.
    pub(crate) enum Interval {
        /// Frequency rises linearly, to ten times at the greatest feedback (Crisan et al., Figure 3).
        Linear = "linear",
        /// Eight steps by the upper three bits of the feedback (IEEE 802.1Q, Table 30-1).
        Table = "table",
    }
}

choices! {
    /// The rules by which a reaction point counts cycles.
    pub(crate) enum Machine {
        /// Version 2.2: the distance to the target is halved as often as the threshold says. After that, byte cycles
        /// and timer cycles are half as long, each by its own count.
        V22 = "v2.2",
        /// IEEE 802.1Q: one halving fewer, hyper increase one cycle earlier, and half cycles only in hyper increase.
        Dot1q = "dot1q",
    }
}

parameters! {
    /// QCN's parameters, of congestion points and reaction points. The standard's names stand beside them.
    pub(crate) struct Params {
        // cpQSp
        /// target queue length of congestion points
        qeq: Bytes = Bytes(20_000), 1..=1_000_000_000;
        // cpW
        /// weight of a queue's growth relative to its length
        w: u32 = 2, 0..=1_024;
        // rpgGd times the greatest feedback
        /// fraction of the rate by which the greatest feedback cuts it
        gd: f64 = 0.5;
        // cpSampleBase
        /// number of bytes between samples without congestion
        sample: Bytes = Bytes(150_000), 1..=1_000_000_000;
        /// how feedback shortens the sampling interval
        interval: Interval;
        // rpgByteReset
        /// number of sent bytes that end a recovery cycle
        byte_limit: Bytes = Bytes(150_000), 1..=1_000_000_000;
        // rpgTimeReset
        /// time that ends a recovery cycle
        timer: Duration = Duration::from_ms(15), Duration::from_us(1)..=Duration::from_ms(60_000);
        // rpgThreshold
        /// number of cycles of fast recovery
        fr_thr: u32 = 5, 1..=1_000_000;
        // rpgAiRate: increase of the target rate per cycle
        /// increase of the target rate per cycle of active increase
        r_ai: Rate = Rate::from_bps(5_000_000);
        // rpgHaiRate: increase per cycle, times the cycle's number
        /// increase of the target rate per cycle of hyper-active increase, times the cycle's number
        r_hai: Rate = Rate::from_bps(50_000_000);
        // rpgMinRate
        /// lowest rate of a rate limiter
        min_rate: Rate = Rate::from_bps(100_000), Rate::from_bps(1)..=Rate::from_gbps(1_000_000);
        // rpgMinDecFac
        /// smallest fraction of the rate that remains after a notice
        min_dec: f64 = 0.5, 0.001..=1.0;
        /// version of QCN that defines the recovery cycles
        machine: Machine;
        // Extra fast recovery: lasts until the end of a byte cycle after a notice.
        /// notices in the first byte cycle do not change the target rate
        efr: bool = true;
        // Target rate reduction, after the first cycle.
        /// divide the target rate by eight if it exceeds ten times the rate
        trr: bool = false;
    }
}
