//! QCN's parameters (specifications/cee.md §0).

use crate::{choices, parameters};
use raddle_core::{Bytes, Duration, Rate};

choices! {
    /// The way in which feedback shortens the sampling interval.
    pub(crate) enum Interval {
        /// The sampling frequency rises linearly with the feedback. At the greatest feedback it is ten times the
        /// frequency without congestion (Crisan et al., Figure 3).
        Linear = "linear",
        /// The upper three bits of the feedback select one of eight intervals (IEEE 802.1Q, Table 30-1).
        Table = "table",
    }
}

choices! {
    /// The rules for a reaction point's cycles: after how many cycles the target rate rises, and when cycles become
    /// shorter.
    pub(crate) enum Machine {
        /// Version 2.2: fast recovery lasts for `fr_thr` cycles. After `fr_thr` + 1 byte cycles, all further byte
        /// cycles have half the length, and the same rule holds for time cycles.
        V22 = "v2.2",
        /// IEEE 802.1Q: fast recovery is one cycle shorter, hyper-active increase begins one cycle earlier, and cycles
        /// have half the length only in hyper-active increase.
        Dot1q = "dot1q",
    }
}

parameters! {
    /// The parameters of QCN's congestion points and reaction points. A comment that begins with "In the standard"
    /// gives the parameter's name in IEEE 802.1Q.
    pub(crate) struct Params {
        // In the standard: cpQSp.
        /// target queue length of congestion points
        qeq: Bytes = Bytes(20_000), 1..=1_000_000_000;
        // In the standard: cpW.
        /// weight of a queue's growth relative to the queue's offset from `qeq`
        w: u32 = 2, 0..=1_024;
        // In the standard: rpgGd, multiplied by the greatest feedback.
        /// fraction by which the greatest feedback reduces the rate
        gd: f64 = 0.5;
        // In the standard: cpSampleBase.
        /// mean number of bytes between samples without congestion
        sample: Bytes = Bytes(150_000), 1..=1_000_000_000;
        /// how feedback shortens the sampling interval
        interval: Interval;
        // In the standard: rpgByteReset.
        /// mean number of sent bytes in a byte cycle, before byte cycles are halved
        byte_limit: Bytes = Bytes(150_000), 1..=1_000_000_000;
        // In the standard: rpgTimeReset.
        /// mean duration of a time cycle, before time cycles are halved
        timer: Duration = Duration::from_ms(15), Duration::from_us(1)..=Duration::from_ms(60_000);
        // In the standard: rpgThreshold.
        /// number of cycles of fast recovery; with `machine = "dot1q"`, one fewer
        fr_thr: u32 = 5, 1..=1_000_000;
        // In the standard: rpgAiRate.
        /// increase of the target rate per cycle of active increase
        r_ai: Rate = Rate::from_bps(5_000_000);
        // In the standard: rpgHaiRate.
        /// at the end of each cycle of hyper-active increase, the target rate grows by i times this rate; i is the
        /// smaller of the numbers of byte cycles and of time cycles since fast recovery
        r_hai: Rate = Rate::from_bps(50_000_000);
        // In the standard: rpgMinRate.
        /// lowest rate of a rate limiter
        min_rate: Rate = Rate::from_bps(100_000), Rate::from_bps(1)..=Rate::from_gbps(1_000_000);
        // In the standard: rpgMinDecFac.
        /// smallest fraction of the rate that remains after a notice
        min_dec: f64 = 0.5, 0.001..=1.0;
        /// version of QCN that defines the recovery cycles
        machine: Machine;
        // This rule is called extra fast recovery. It ends with the first byte cycle after a notice.
        /// notices during the first byte cycle after a notice do not change the target rate
        efr: bool = true;
        // This rule is called target rate reduction. It applies at the end of a cycle if exactly one byte cycle or
        // exactly one time cycle has ended since the latest notice.
        /// divide the target rate by eight if it exceeds ten times the current rate
        trr: bool = false;
    }
}
