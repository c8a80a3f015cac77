//! The omniscient scheduler: what a network could do that knows all flows and moves them as a fluid, at once. A bound for other
//! schemes, and no scheme itself: nothing sends packets, so that only the flow engine runs it (specs/pdq.md §9).
//!
//! On one bottleneck with all flows there from the start it is optimal: as many deadlines are met as can be (Moore and Hodgson), or the
//! mean time to completion is least (shortest first; shortest remaining first if flows come later). Elsewhere flows go in
//! order of deadline, then of what they have left, by each link that has room.

use crate::fluid::{Sharing, capacities};
use crate::parameters;
use crate::routing::pinned;
use crate::scheme::{Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::explicit;
use raddle_allocate::omniscient::Omniscient;
use raddle_wire::rated::Segment;

/// The omniscient scheduler.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "omniscient",
        summary: "The best schedule of flows as fluids, by someone who knows them all; for the flow engine only",
        source: "Moore, An n Job, One Machine Sequencing Algorithm, 1968; Hong, Caesar, Godfrey: PDQ, SIGCOMM 2012, §5.1; specs/pdq.md §9",
        differs: &[
            "where flows share more than one link there is no simple optimum: they go in order of deadline and size",
        ],
        view: View::Global,
        parameters: &Parameters::LIST,
    },
    make: Make::Fluid { routings: pinned::ROUTINGS },
    fluid: Some(fluid),
    streams: Streams::NEEDS_SIZES,
};

parameters! {
    struct Parameters {
        paths: u32 = pinned::PATHS;
    }
}

fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let Parameters { paths } = Parameters::of(plan.settings);
    let policy = Omniscient::new(&capacities(plan.topology, 0.0));
    explicit::scheme::fluid(plan, Box::new(policy), paths, Segment::LINKS, |_| 1)
}
