//! DCQCN's parameters at hosts.

use crate::parameter::{Parameter, Value};
use crate::transport::go_back_n;
use crate::{choices, parameters};
use raddle_core::{Bytes, Duration, Rate};

/// The link rate for which the paper gives parameters (Zhu et al., §6). If host links are faster, the defaults of the
/// thresholds and of the steps of increase grow in proportion to their rate (specifications/transports.md §0). Queueing
/// and recovery then take as long as at 40 Gb/s.
pub(super) const TESTBED: Rate = Rate::from_gbps(40);

const R_AI: Parameter = Parameter::new(
    "r_ai",
    Value::Rate(Rate::from_bps(40_000_000)),
    "increase of the target rate per cycle of \
                    additive increase",
)
.growing(TESTBED, None);

/// In hyper increase, the i-th cycle raises the target rate by i times this rate.
const R_HAI: Parameter = Parameter::new(
    "r_hai",
    Value::Rate(Rate::from_bps(200_000_000)),
    "step of hyper increase: the i-th cycle of hyper increase adds i times this rate to the target rate",
)
.growing(TESTBED, None);

parameters! {
    /// DCQCN's parameters of notification points, reaction points, packets and loss recovery. Most defaults of the
    /// algorithm come from Zhu et al., Figure 14 and §3.1. The steps of increase and the least rate come from the
    /// authors' ns-3 configuration (`RATE_AI`, `RATE_HAI` and `MinRate`). §3.1 gives the same step of additive
    /// increase, 40 Mb/s.
    pub(crate) struct Params {
        // `cnp_interval` is N in the paper.
        /// shortest time between two congestion notifications of a flow
        cnp_interval: Duration = Duration::from_us(50), Duration::ZERO..=Duration::from_ms(60_000);
        // `gain` is g in the paper.
        /// weight of the newest notification in the estimate of congestion
        gain: f64 = 1.0 / 256.0;
        // `alpha_timer` is K in the paper, where it must be longer than `cnp_interval`.
        /// time without a notification after which the estimate of congestion is reduced
        alpha_timer: Duration = Duration::from_us(55), Duration::from_ns(1)..=Duration::from_ms(60_000);
        // `timer` is T in the paper.
        /// duration of a time cycle of the rate's recovery
        timer: Duration = Duration::from_us(55), Duration::from_ns(1)..=Duration::from_ms(60_000);
        // `byte_limit` is B in the paper.
        /// number of bytes in a byte cycle of the rate's recovery
        byte_limit: Bytes = Bytes(10_000_000), 1..=1_000_000_000_000_000;
        // `fr_thr` is F in the paper, for byte cycles and time cycles.
        /// number of the first cycle, of either kind, that also raises the target rate; the cycles before it are fast
        /// recovery
        fr_thr: u32 = 5, 1..=1_000_000;
        r_ai: Rate = R_AI;
        r_hai: Rate = R_HAI;
        /// lowest rate of a rate limiter
        min_rate: Rate = Rate::from_bps(100_000_000), Rate::from_bps(1)..=Rate::from_gbps(1_000_000);
        /// payload bytes of a full packet
        mtu: u32 = Bytes(1_024), 256..=4_096;
        /// priority of the packets of flows whose own priority is 0
        priority: u8 = 3, 0..=7;
        /// priority of congestion notifications
        cnp_priority: u8 = 6, 0..=7;
        /// method of recovering lost packets
        recovery: Recovery;
        /// time without progress after which a sender goes back to the first unacknowledged packet
        rto: Duration = Duration::from_ms(4), Duration::from_ns(1)..=Duration::from_ms(60_000);
        // InfiniBand's retry counter has three bits, and is usually set to 7.
        /// number of successive timeouts without progress at which the sender goes back; at the next timeout, it gives
        /// up the flow
        retries: u32 = 7, 0..=1_000_000;
        // In the authors' ns-3 model, `ack_interval` is 256. With 256, a flow at the least rate would receive less than
        // one acknowledgement per RTO.
        /// number of packets per requested acknowledgement; the last packet of a flow always requests an
        /// acknowledgement
        ack_interval: u32 = 16, 1..=1_000_000;
        /// shortest time between two negative acknowledgements of a flow for the same packet
        nak_interval: Duration = Duration::from_us(500), Duration::ZERO..=Duration::from_ms(60_000);
        /// priority of acknowledgements
        ack_priority: u8 = 6, 0..=7;
    }
}

choices! {
    /// The method of recovering lost packets.
    pub(crate) enum Recovery {
        /// The receiver discards out-of-order packets, and the sender goes back to the lost packet.
        GoBackN = "go-back-n",
        /// Lost packets are not recovered, and no packet is acknowledged.
        None = "none",
    }
}

impl Params {
    /// The constants of go-back-N; `None` if lost packets are not recovered.
    pub(crate) fn go_back_n(&self) -> Option<go_back_n::Params> {
        let Self { rto, retries, ack_interval, nak_interval, .. } = *self;
        let params = go_back_n::Params { rto, retries, ack_interval, nak_interval };
        (self.recovery == Recovery::GoBackN).then_some(params)
    }
}
