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
        /// optimisations: full has Early Start, Early Termination and Suppressed Probing; es+et has the first two, es
        /// the first; basic has none
        variant: Variant;
        /// l: the rules as the paper states them; f: grants count at once and are checked again on the way back,
        /// dampening delays only less critical flows, senders report their smallest round-trip time, and hosts send
        /// the most critical flow first
        profile: Profile;
        /// Early Start treats a flow as nearly complete within this many round trips of its end
        k: f64 = 2.0, 0.0..=1e6;
        /// number of round trips between the probes of a paused flow, per position in the link's list
        x_sp: f64 = 0.2, 0.0..=1e3;
        /// time after a link has accepted a flow during which it accepts no other; about 0.8 round trips
        dampening: Duration = Duration::from_us(100), Duration::ZERO..=Duration::from_ms(60_000);
        /// the most critical flow gets line rate even if the queue is long
        top_line: bool = false;
        // M
        /// largest number of flows in a link's list; other flows share the remaining capacity
        list: usize = 4_096, 2..=1_000_000;
        /// limit a link's list to twice the number of sending flows
        trim: bool = false;
        /// fraction of each link's rate that PDQ may use
        share: f64 = 1.0;
        /// round-trip time that links assume until flows have measured theirs
        initial_rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        /// the SYN requests a rate; otherwise the first probe does
        syn_grants: bool = true;
        /// criterion of criticality: remaining time, random, or bytes sent
        ranking: Ranking;
        /// with ranking = "sent": number of sent bytes per step of criticality
        ranking_step: u64 = Bytes(50_000), 1..=1_000_000_000_000_000;
        /// a flow that has waited 100 ms counts as shorter by the factor 2 to this power; 0 turns aging off
        aging: f64 = 0.0, 0.0..=1e3;
        /// number of subflows of each flow, each on its own path (Multipath PDQ)
        subflows: u32 = 1, 1..=16;
        /// bytes of the scheduling header in addition to the 40 bytes of all headers; reduce `mss` by as much
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
