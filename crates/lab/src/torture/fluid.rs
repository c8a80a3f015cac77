//! An upper bound on the FCT of flows in the flow engine.
//!
//! A flow that gets its fair share, or its turn, always has a link on its path whose whole rate is in use. So the
//! flow's FCT is at most the sum of these times:
//! - the time that the links of the flow's path need for all their traffic, one link after the other
//! - the time that the flow's application needs to produce the flow's bytes
//! - the ideal FCT
//! - the time to cross the path three times (a handshake and the data), since the path need not be a shortest one
//!
//! The path counts as one link per node of the fabric, each with the traffic of the busiest link. The bound is twice
//! this sum, because of headroom and because rates are updated with a delay. The time from the flow's start to the last
//! start of a flow is added.

use super::invariants::Seen;
use super::ran::Ran;
use crate::run::prepare::Prepared;
use raddle_core::{Bytes, Rate};
use rustc_hash::FxHashMap;

/// Factor on the sum of times. It allows for headroom and for rates that are updated with a delay.
const SLACK: u128 = 2;

/// Checks the bound for every flow that the run delivered.
pub(super) fn check(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "in the flow engine, no FCT exceeds its upper bound";
    let busiest = prepared.topology.links().zip(&ran.outcome.links).map(|((_, link), row)| {
        u128::from(row.data_bytes) * 8 * 1_000_000_000_000 / u128::from(link.rate.as_bps()).max(1)
    });
    let busiest = busiest.max().unwrap_or(0);
    let (_, full, _) = prepared.framing().packets(Bytes(u64::MAX / 16));
    let hop = prepared.topology.links().map(|(_, link)| (link.delay + link.rate.time_for(full)).as_ps());
    let hop = u128::from(hop.max().unwrap_or(0));
    let last_start = ran.flows.iter().map(|flow| flow.start_ps).max().unwrap_or(0);
    let nodes = prepared.topology.node_count() as u128;
    let app_rates: FxHashMap<u32, Rate> =
        prepared.flows.iter().filter_map(|flow| Some((flow.id.0, flow.app_rate?))).collect();
    for flow in &ran.flows {
        let Some(fct) = flow.fct_ps else { continue };
        let waits = u128::from(last_start.saturating_sub(flow.start_ps));
        let alone = u128::from(flow.ideal_fct_ps);
        let produced = app_rates.get(&flow.id).map_or(0, |rate| {
            let bytes = prepared.framing().on_wire_in_all(Bytes(flow.size_bytes)).0;
            u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(rate.as_bps()).max(1)
        });
        let most = waits + SLACK * (nodes * (busiest + 3 * hop) + alone + produced);
        if u128::from(fct) > most {
            return Err((PROPERTY, format!("{flow:?} took more than {most} ps")));
        }
    }
    Ok(())
}
