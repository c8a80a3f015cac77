//! The omniscient scheduler: it knows all flows, and changes their rates without delay. Its schedules serve as a
//! reference for other schemes. The scheduler sends no packets, so only the flow engine can run it
//! (specifications/pdq.md §9).
//!
//! The schedule is optimal on one bottleneck if all flows have the same class and are present from the start. For flows
//! with deadlines, the schedule then meets the greatest possible number of deadlines (Moore and Hodgson). For flows
//! without deadlines, the schedule has the least mean completion time (shortest flow first). If flows without deadlines
//! arrive later, the flow with the shortest remaining time goes first. On several bottlenecks, the scheduler serves
//! flows in order of class, then of deadline, then of remaining size. Each flow gets the capacity that is left on its
//! path.

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
        summary: "An ideal scheduler that knows all flows and sets their rates without delay; for the flow \
                  engine only",
        source: "Moore, An n Job, One Machine Sequencing Algorithm, 1968; Hong, Caesar, Godfrey: PDQ, SIGCOMM 2012, §5.1; specifications/pdq.md §9",
        differs: &[
            "if flows share more than one link, no simple optimum is known: flows are served in order of deadline \
             and size",
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
