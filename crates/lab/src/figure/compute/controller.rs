//! What a central controller would cost instead of broadcasts (R2C2 §5.2, Figure 19).
//!
//! A sender tells the controller of each flow event in a packet like a broadcast's. The controller sends every node a
//! message with the rates of all its flows: upon every event, as the paper has it, or once in an interval.

use super::broadcast::bytes_a_broadcast;
use super::{grid, mean_hops, run};
use crate::experiment::{Problem, Section};
use crate::figure::measure::Run;
use raddle_core::{Bytes, Duration};
use raddle_schemes::r2c2::EVENT_BYTES;
use raddle_topology::{Hops, builders};

/// A flow's START and its FINISH.
const EVENTS: f64 = 2.0;

/// Bytes that an event puts on a torus's links with a controller over those of a broadcast, by flows that each node
/// sources and by when rates are sent; and the share of nodes with so many flows up to which sending them upon every
/// event is no dearer.
pub(super) fn overhead(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let torus = grid(section, builders::torus)?;
    let header: Bytes = section.required("header")?;
    let rate: Bytes = section.required("rate")?;
    let interval: Duration = section.required("interval")?;
    section.ensure(interval > Duration::ZERO, "interval", "no interval", "for example: \"500 us\"")?;
    let gap: Duration = section.required("mean_gap")?;
    let flows: Vec<u32> = section.required("flows")?;
    let hops = mean_hops(section, &torus, Hops::mean_with_self)?;
    let to_controller = f64::from(EVENT_BYTES) * hops;
    let broadcast = bytes_a_broadcast(&torus);
    let mut runs = Vec::new();
    for flows in flows {
        let message = header.0 as f64 + rate.0 as f64 * f64::from(flows);
        let to_all = hops * torus.node_count() as f64 * message;
        let events_an_interval = EVENTS * interval.as_secs_f64() / gap.as_secs_f64();
        let label = flows.to_string();
        let mut put = |kind, number| runs.push(run(kind, ("flows", &label), number));
        put(("rates are sent", "upon every event"), (to_controller + to_all) / broadcast);
        put(("rates are sent", "every interval"), (to_controller + to_all / events_an_interval) / broadcast);
        put(("limit", "share of nodes with flows"), (broadcast - to_controller) / to_all);
    }
    Ok(runs)
}
