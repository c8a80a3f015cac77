//! PDQ's parameters.

use crate::routing::pinned;
use crate::transport::explicit::scheme::{INITIAL_RTO, MIN_RTO, MSS};
use crate::{choices, parameters};
use raddle_core::{Bytes, Duration};

choices! {
    /// The optimisations of the paper (§4) that are active.
    pub(crate) enum Variant {
        /// All optimisations.
        Full = "full",
        /// Early Start and Early Termination, without Suppressed Probing.
        EarlyStartAndTermination = "es+et",
        /// Only Early Start.
        EarlyStart = "es",
        /// No optimisation.
        Basic = "basic",
    }
}

choices! {
    /// The version of PDQ's rules.
    pub(crate) enum Profile {
        /// The paper's rules with four changes. A link counts a grant as used when it makes the grant, and checks the
        /// grant again when the acknowledgement returns. After a grant to a flow without a rate, dampening does not
        /// delay flows that are more critical than this flow. Senders report their least round-trip time instead of the
        /// smoothed round-trip time. A host sends the most critical of its flows first.
        Fast = "f",
        /// The paper's rules without the four changes of profile F.
        Literal = "l",
    }
}

choices! {
    /// The criterion that ranks flows with equal deadlines, or without deadlines.
    pub(crate) enum Ranking {
        /// The remaining transmission time.
        Exact = "exact",
        /// A random number, drawn once for each flow.
        Random = "random",
        /// The number of bytes that the flow has sent, rounded down to a multiple of a step. A flow that has sent few
        /// bytes may be short.
        Sent = "sent",
    }
}

parameters! {
    /// PDQ's parameters.
    pub(crate) struct Parameters {
        /// active optimisations: full is Early Start, Early Termination and Suppressed Probing; es+et is Early Start
        /// and Early Termination; es is Early Start only; basic is none
        variant: Variant;
        /// l: the paper's rules. f: the paper's rules with four changes. A link counts a grant as used when it makes
        /// the grant, and checks the grant again when the acknowledgement returns. After a grant to a flow without a
        /// rate, dampening does not delay flows that are more critical than this flow. Senders report their smallest
        /// round-trip time. A host sends the most critical of its flows first
        profile: Profile;
        /// Early Start treats a flow as nearly complete within this many round trips of its end
        k: f64 = 2.0, 0.0..=1e6;
        /// with variant = "full": the paused flow at position j of a link's list, counted from 1, probes every `x_sp`
        /// times j round trips, but at most once per round trip
        x_sp: f64 = 0.2, 0.0..=1e3;
        /// after a link grants a rate to a flow without a rate, it grants nothing to other flows without a rate for
        /// this time (with profile = "f", more critical flows are excepted); recommended: about 0.8 round trips
        dampening: Duration = Duration::from_us(100), Duration::ZERO..=Duration::from_ms(60_000);
        /// the most critical flow gets line rate even if the queue is long
        top_line: bool = false;
        // `list` is M in the paper.
        /// largest number of flows in a link's list; other flows share the remaining capacity
        list: usize = 4_096, 2..=1_000_000;
        /// limit a link's list to twice the number of sending flows
        trim: bool = false;
        /// fraction of each link's rate that PDQ may use
        share: f64 = 1.0;
        /// initial value of each link's average round-trip time, before flows report measured round-trip times
        initial_rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        /// the SYN requests a rate; otherwise the first probe does
        syn_grants: bool = true;
        /// criterion that ranks flows with equal deadlines or without deadlines: remaining transmission time (exact), a
        /// random number (random), or the bytes sent (sent); flows with earlier deadlines always come first
        ranking: Ranking;
        /// with ranking = "sent": number of sent bytes per step of criticality
        ranking_step: u64 = Bytes(50_000), 1..=1_000_000_000_000_000;
        /// the expected transmission time of a flow that waits for a rate is halved this many times per 100 ms (not
        /// with ranking = "random"); 0 turns aging off
        aging: f64 = 0.0, 0.0..=1e3;
        /// largest number of subflows of a flow, each with its own choice of path (Multipath PDQ)
        subflows: u32 = 1, 1..=16;
        /// bytes of the scheduling header that are added to the 40 bytes of headers; reduce `mss` by this number
        h_sched: u32 = Bytes(0), 0..=64;
        mss: u16 = MSS;
        initial_rto: Duration = INITIAL_RTO;
        min_rto: Duration = MIN_RTO;
        paths: u32 = pinned::PATHS;
    }
}

impl Parameters {
    /// True if the next flow may start before a nearly complete flow has ended (Early Start).
    pub(super) fn early_start(&self) -> bool {
        self.variant != Variant::Basic
    }

    /// True if a flow ends as soon as it can no longer meet its deadline (Early Termination).
    pub(super) fn early_termination(&self) -> bool {
        matches!(self.variant, Variant::Full | Variant::EarlyStartAndTermination)
    }

    /// True if flows far down the list send probes less often (Suppressed Probing).
    pub(super) fn suppressed_probing(&self) -> bool {
        self.variant == Variant::Full
    }

    /// True in profile F.
    pub(super) fn is_fast(&self) -> bool {
        self.profile == Profile::Fast
    }
}
