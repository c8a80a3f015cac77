//! PDQ's parameters.

use crate::routing::pinned;
use crate::transport::explicit::scheme::{INITIAL_RTO, MIN_RTO, MSS};
use crate::{choices, parameters};
use raddle_core::{Bytes, Duration};

choices! {
    /// Which of the paper's optimisations are in use (§4).
    pub(crate) enum Variant {
        /// All.
        Full = "full",
        /// All but Suppressed Probing.
        EarlyStartAndTermination = "es+et",
        /// Early Start.
        EarlyStart = "es",
        /// None.
        Basic = "basic",
    }
}

choices! {
    /// Which version of the rules holds.
    pub(crate) enum Profile {
        /// Grants count before their acknowledgement comes back, which is looked at again, and dampening spares the more
        /// critical. Links hear of the least round-trip time rather than of the smoothed one, and the most critical of a
        /// host's flows has its link first.
        Fast = "f",
        /// The rules as the paper writes them.
        Literal = "l",
    }
}

choices! {
    /// By what flows are ranked.
    pub(crate) enum Ranking {
        /// By the time that what is left takes.
        Exact = "exact",
        /// By a number drawn once for each flow.
        Random = "random",
        /// By what has been sent so far, in steps: whoever has sent little may be short.
        Sent = "sent",
    }
}

parameters! {
    /// PDQ's parameters.
    pub(crate) struct Parameters {
        /// with Early Start, Early Termination and Suppressed Probing, or without the last ones of them
        variant: Variant;
        /// f: a grant counts at once and is looked at again on its way back, dampening holds up the less critical, and
        /// senders tell their least round trip, and hosts send the most critical first; l: the rules as they are written
        profile: Profile;
        /// round trips within which a flow is nearly complete
        k: f64 = 2.0, 0.0..=1e6;
        /// round trips between probes for each place in a link's list
        x_sp: f64 = 0.2, 0.0..=1e3;
        /// how long a link accepts nobody after it has accepted a flow; about 0.8 round trips
        dampening: Duration = Duration::from_us(100), Duration::ZERO..=Duration::from_ms(60_000);
        /// the most critical flow has line rate however long the queue is
        top_line: bool = false;
        // M
        /// flows that a link remembers; others share what these leave
        list: usize = 4_096, 2..=1_000_000;
        /// a link remembers twice the flows that send, and no more
        trim: bool = false;
        /// share of each link that is PDQ's
        share: f64 = 1.0;
        /// round trip that links reckon with until flows have measured theirs
        initial_rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        /// a SYN asks for a rate, rather than the first probe
        syn_grants: bool = true;
        /// what makes a flow critical: how long it still takes, chance, or how much it has sent
        ranking: Ranking;
        /// with ranking = "sent": steps in which that counts
        ranking_step: u64 = Bytes(50_000), 1..=1_000_000_000_000_000;
        /// powers of two by which a flow that has waited for 100 ms seems shorter; 0 lets long ones wait
        aging: f64 = 0.0, 0.0..=1e3;
        /// subflows of each flow, on paths of their own (Multipath PDQ)
        subflows: u32 = 1, 1..=16;
        /// bytes of the scheduling header that the 40 of all headers do not cover; `mss` is to be as much less
        h_sched: u32 = Bytes(0), 0..=64;
        mss: u16 = MSS;
        initial_rto: Duration = INITIAL_RTO;
        min_rto: Duration = MIN_RTO;
        paths: u32 = pinned::PATHS;
    }
}

impl Parameters {
    /// Whether the next flow starts before one that is nearly complete has ended (ES).
    pub(super) fn early_start(&self) -> bool {
        self.variant != Variant::Basic
    }

    /// Whether flows end that cannot meet their deadline any more (ET).
    pub(super) fn early_termination(&self) -> bool {
        matches!(self.variant, Variant::Full | Variant::EarlyStartAndTermination)
    }

    /// Whether flows far down the list probe rarely (SP).
    pub(super) fn suppressed_probing(&self) -> bool {
        self.variant == Variant::Full
    }

    /// Whether profile F holds.
    pub(super) fn is_fast(&self) -> bool {
        self.profile == Profile::Fast
    }
}
