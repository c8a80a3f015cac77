//! Long flows: one flow for each pair. From time 0 on, the flows of a sender together have a stated share of the rate
//! of the sender's fastest link.

use super::generated::read_pairs;
use super::keys::{APP_RATE, ARRIVALS, DEADLINES, DURATION, FLOWS, LOAD, ONCE, PAIRS, SIZES};
use super::process::read_process;
use super::read_weight_and_priority;
use crate::experiment::keys::Declared;
use crate::experiment::problem::Problem;
use crate::experiment::section::Section;
use raddle_workload::LongFlows;

pub(super) fn read_long_flows(section: &mut Section<'_>) -> Result<LongFlows, Problem> {
    let of_drawn: [&dyn Declared; 6] = [&ARRIVALS, &SIZES, &FLOWS, &ONCE, &APP_RATE, &DEADLINES];
    if let Some(key) = of_drawn.into_iter().find(|key| section.has(*key)) {
        let hint =
            "`load` in [workload] makes one long flow per pair; for many flows, give `load` in `arrivals`";
        let what = format!("`{}` cannot be combined with `load` in [workload]", key.name());
        return Err(section.contradiction(key, what, hint));
    }
    let load = section.read(&LOAD)?;
    let pairs = read_pairs(section, &PAIRS)?;
    let duration = section.read(&DURATION)?;
    let process = read_process(section)?;
    let (weight, priority) = read_weight_and_priority(section)?;
    Ok(LongFlows { pairs, load, duration, process, weight, priority })
}
