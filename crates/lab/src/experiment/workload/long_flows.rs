//! One flow a pair at a share of the sender's link, from the start on.

use super::generated::read_pairs;
use super::process::read_process;
use super::{positive, read_weight_and_priority};
use crate::experiment::problem::Problem;
use crate::experiment::section::Section;
use raddle_workload::LongFlows;

/// What flows that are drawn have, and those at a load from the start on have not.
const OTHERS: [&str; 6] = ["arrivals", "sizes", "flows", "once", "app_rate", "deadlines"];

pub(super) fn read_long_flows(section: &mut Section<'_>) -> Result<LongFlows, Problem> {
    if let Some(key) = OTHERS.into_iter().find(|key| section.item(key).is_some()) {
        let hint =
            "`load` here is of one long flow a pair; put it into `arrivals` for the load of many flows";
        return Err(section.contradiction(key, format!("`{key}` of long flows, which a `load` makes"), hint));
    }
    let load = read_load(section)?;
    let pairs = read_pairs(section)?;
    let duration = positive(section, "duration")?;
    let process = read_process(section)?;
    let (weight, priority) = read_weight_and_priority(section)?;
    Ok(LongFlows { pairs, load, duration, process, weight, priority })
}

/// A share of a link.
pub(super) fn read_load(section: &mut Section<'_>) -> Result<f64, Problem> {
    let load: f64 = section.optional("load")?.ok_or_else(|| section.missing("load", "0.9"))?;
    let hint = "give a share of the sender's link such as 0.9";
    section.ensure(load > 0.0 && load <= 1.0, "load", "a load that no link has", hint)?;
    Ok(load)
}
