//! The values in the summaries of runs that differ only in their seed, and the means of these values. The tables of
//! sweeps and of reports agree, because both take their values from this module.

use raddle_records::stats;
use serde_json::{Map, Value};

/// Keys of a summary whose values are not measured, or differ between equal runs.
const NOT_MEASURED: [&str; 7] =
    ["title", "schema_version", "version", "inputs", "warnings", "error", "wall_seconds"];

/// The values that tables show for replicas. Each has a flat name, a heading, and a divisor that converts the value to
/// the heading's unit.
pub(crate) const SHOWN: [(&str, &str, f64); 10] = [
    ("fct_mean_us", "FCT mean us", 1.0),
    ("fct_p99_us", "FCT p99 us", 1.0),
    ("slowdown_mean", "slowdown mean", 1.0),
    ("slowdown_p99", "slowdown p99", 1.0),
    ("goodput_mean_gbps", "goodput Gbps", 1.0),
    ("program_makespan_ps", "makespan ms", 1e9),
    ("unfinished", "unfinished", 1.0),
    ("drops", "drops", 1.0),
    ("flow_control_pauses", "pauses", 1.0),
    ("flow_control_paused_share_mean", "paused share %", 0.01),
];

/// Explains the two values about pauses, which only runs with flow control have.
pub(crate) const PAUSES: &str = "\
Pauses: number of times that a port told its neighbor to stop sending. Renewals of a pause do not count.
Paused share: share of the run for which a link with flow control was paused, mean over these links.
";

/// The values of a summary, under the flat names that [`flatten`] gives them.
pub(crate) fn measures(summary: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    flatten(&mut flat, "", summary);
    flat
}

/// True if the run with these values was not stopped before its end.
pub(crate) fn is_complete(values: &Map<String, Value>) -> bool {
    values.get("complete") != Some(&Value::Bool(false))
}

/// The mean of the value `name` over the runs that have this value; `None` if no run has it. With several such runs,
/// also half the width of the 95% confidence interval.
pub(crate) fn mean<'a>(
    runs: impl Iterator<Item = &'a Map<String, Value>>,
    name: &str,
) -> Option<(f64, Option<f64>)> {
    let sample: Vec<f64> = runs.filter_map(|run| run.get(name)?.as_f64()).collect();
    Some((stats::mean(&sample)?, stats::margin(&sample)))
}

/// Inserts the values of a summary into `flat` under flat names. The name of a size class's value ends with the class
/// (`fct_p99_us_under_100_kb`). Any other name begins with the names of the JSON objects that contain the value
/// (`totals_data_bytes`), and with the tier if the value belongs to a tier (`imbalance_tier_1_mean`).
fn flatten(flat: &mut Map<String, Value>, prefix: &str, value: &Value) {
    match value {
        Value::Object(table) => {
            for (key, value) in table.iter().filter(|(key, _)| !NOT_MEASURED.contains(&key.as_str())) {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}_{key}") };
                flatten(flat, &name, value);
            }
        }
        Value::Array(entries) => {
            for entry in entries {
                if let Some(class) = entry["class"].as_str() {
                    of_class(flat, class, entry);
                } else if let Some(tier) = entry["tier"].as_u64() {
                    flatten(flat, &format!("{prefix}_tier_{tier}"), entry);
                }
            }
        }
        Value::Null => {}
        _ => {
            flat.insert(prefix.to_owned(), value.clone());
        }
    }
}

/// Inserts the values of a size class. The names of the class `all` have no ending.
fn of_class(flat: &mut Map<String, Value>, class: &str, entry: &Value) {
    let ending = if class == "all" { String::new() } else { ending(class) };
    let measures =
        entry.as_object().into_iter().flatten().filter(|(key, value)| *key != "class" && !value.is_null());
    for (key, value) in measures {
        // The summary itself has a key `flows` for the number of all flows.
        if key != "flows" || !ending.is_empty() {
            flat.insert(format!("{key}{ending}"), value.clone());
        }
    }
}

/// The ending of the names of a size class's values.
pub(crate) fn ending(class: &str) -> String {
    format!("_{}", class.replace(' ', "_").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn summaries_become_flat_numbers() {
        let summary = json!({
            "title": "x", "seed": 1, "totals": { "data": { "bytes": 7 } }, "deadlines": null,
            "classes": [{ "class": "all", "flows": 9, "unfinished": 1 },
                        { "class": "under 100 KB", "flows": 4, "fct_p99_us": 2.5 }],
            "imbalance": [{ "tier": 1, "mean": 0.5 }],
        });
        let expected = json!({
            "seed": 1, "totals_data_bytes": 7, "unfinished": 1, "flows_under_100_kb": 4,
            "fct_p99_us_under_100_kb": 2.5, "imbalance_tier_1_tier": 1, "imbalance_tier_1_mean": 0.5,
        });
        assert_eq!(Value::Object(measures(&summary)), expected);
    }
}
