//! PDQ's parameters.

use crate::routing::pinned;
use crate::transport::explicit::scheme::{INITIAL_RTO, MIN_RTO, MSS};
use crate::{choices, parameters};
use raddle_core::{Bytes, Duration};

choices! {
    /// The optimisations of the paper that are in use (§4).
    pub(crate) enum Variant {
        /// All.
        Full = "full",
        /// All except Suppressed Probing.
        EarlyStartAndTermination = "es+et",
        /// Only Early Start.
        EarlyStart = "es",
        /// None.
        Basic = "basic",
    }
}

choices! {
    /// The version of the rules.
    pub(crate) enum Profile {
        /// A grant counts as soon as a link makes it, and the link checks it again when the acknowledgement returns.
        /// Dampening does not delay flows that are more critical than the accepted flow. Senders report their least
        /// round-trip time instead of the smoothed one. A host sends the most critical of its flows first.
        Fast = "f",
        /// The rules as the paper writes them.
        Literal = "l",
    }
}

choices! {
    /// The criterion by which flows are ranked.
    pub(crate) enum Ranking {
        /// The remaining transmission time.
        Exact = "exact",
        /// A random number, drawn once for each flow.
        Random = "random",
        /// The bytes sent so far, in steps: a flow that has sent little may be short.
        Sent = "sent",
    }
}

parameters! {
    /// PDQ's parameters.
    pub(crate) struct Parameters {
        /// optimisations: full = Early Start, Early Termination and Suppressed Probing; es+et and es leave out the last ones; basic has none
        variant: Variant;
        /// f: grants count at once and are checked on the way back, dampening delays only less critical flows, senders
        /// report their least round trip, and hosts send the most critical flow first; l: the rules as the paper writes them
        profile: Profile;
        /// round trips within which a flow is nearly complete
        k: f64 = 2.0, 0.0..=1e6;
        /// round trips between probes for each place in a link's list
        x_sp: f64 = 0.2, 0.0..=1e3;
        /// time after accepting a flow during which a link accepts no other; about 0.8 round trips
        dampening: Duration = Duration::from_us(100), Duration::ZERO..=Duration::from_ms(60_000);
        /// the most critical flow has line rate however long the queue is
        top_line: bool = false;
        // M
        /// flows that a link lists; others share the remaining capacity
        list: usize = 4_096, 2..=1_000_000;
        /// limit the list to twice the number of sending flows
        trim: bool = false;
        /// share of each link that is PDQ's
        share: f64 = 1.0;
        /// round trip that links assume until flows have measured theirs
        initial_rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        /// a SYN asks for a rate, rather than the first probe
        syn_grants: bool = true;
        /// criterion of criticality: remaining time, random, or bytes sent
        ranking: Ranking;
        /// with ranking = "sent": size of a step of bytes sent
        ranking_step: u64 = Bytes(50_000), 1..=1_000_000_000_000_000;
        /// a flow that has waited 100 ms counts as shorter by this power of two; 0 turns aging off
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
    /// True if the next flow starts before a nearly complete flow has ended (ES).
    pub(super) fn early_start(&self) -> bool {
        self.variant != Variant::Basic
    }

    /// True if flows end when they cannot meet their deadlines any more (ET).
    pub(super) fn early_termination(&self) -> bool {
        matches!(self.variant, Variant::Full | Variant::EarlyStartAndTermination)
    }

    /// True if flows far down the list probe rarely (SP).
    pub(super) fn suppressed_probing(&self) -> bool {
        self.variant == Variant::Full
    }

    /// True in profile F.
    pub(super) fn is_fast(&self) -> bool {
        self.profile == Profile::Fast
    }
}
