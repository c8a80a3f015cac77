//! The cost of a central controller in place of broadcasts (R2C2 §5.2, Figure 19).
//!
//! A sender reports each flow event to the controller, in a packet as large as a broadcast packet. The controller sends
//! each node a message with the rates of all the node's flows: upon every event, as in the paper, or once in each
//! interval.

use super::broadcast::bytes_a_broadcast;
use super::keys::{FLOWS, HEADER, INTERVAL, MEAN_GAP, RATE};
use super::{grid, mean_hops, run};
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_schemes::transport::r2c2::EVENT_BYTES;
use raddle_topology::{Hops, builders};

/// Number of events of each flow: START and FINISH.
const EVENTS: f64 = 2.0;

/// The bytes that one flow event puts on the links of a torus if there is a controller, divided by the bytes that it
/// puts on the links if there are broadcasts. Each run has one number of flows per node and one rule for the
/// controller: it sends rates upon every event, or once in each interval. A further run for each number of flows gives
/// a limit on the share of nodes with flows. Up to this limit, a controller that sends rates upon every event uses no
/// more bytes than broadcasts.
pub(super) fn overhead(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let torus = grid(section, builders::torus)?;
    let (header, rate) = (section.read(&HEADER)?, section.read(&RATE)?);
    let (interval, gap) = (section.read(&INTERVAL)?, section.read(&MEAN_GAP)?);
    let flows = section.read(&FLOWS)?;
    let hops = mean_hops(section, &torus, Hops::mean_with_self)?;
    let to_controller = f64::from(EVENT_BYTES) * hops;
    let broadcast = bytes_a_broadcast(&torus);
    let mut runs = Vec::new();
    for flows in flows {
        let message = header.0 as f64 + rate.0 as f64 * f64::from(flows);
        let to_all = hops * torus.node_count() as f64 * message;
        let events_an_interval = EVENTS * interval.as_secs_f64() / gap.as_secs_f64();
        let label = flows.to_string();
        let mut put = |kind, number| runs.push(run(&[kind, ("flows", &label)], Data::Number(number)));
        put(("rates are sent", "upon every event"), (to_controller + to_all) / broadcast);
        put(("rates are sent", "every interval"), (to_controller + to_all / events_an_interval) / broadcast);
        put(("limit", "share of nodes with flows"), (broadcast - to_controller) / to_all);
    }
    Ok(runs)
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use crate::experiment::Document;
    use crate::figure::compute::compute;
    use crate::figure::runs::Data;
    use std::path::PathBuf;

    /// The numbers of Figure 19 whose label in `sweep` is `label`.
    fn numbers(sweep: &str, label: &str) -> Vec<f64> {
        let text = "[compute]\nkind = \"controller-overhead\"\ndims = [8, 8, 8]\nheader = \"12 B\"\nrate = \"4 B\"\n\
                    interval = \"500 us\"\nmean_gap = \"1 us\"\nflows = [1, 2, 4, 6, 8, 10]\n";
        let document = Document::parse("figure.toml", text.to_owned(), PathBuf::new()).expect("a document");
        let runs = compute(&document, 1, &false.into()).expect("a computation").expect("one");
        let chosen = runs.iter().filter(|run| run.label(sweep) == Some(label));
        let number = |run: &super::Run| match run.data {
            Data::Number(number) => number,
            _ => panic!("no computed number"),
        };
        chosen.map(number).collect()
    }

    fn assert_about(numbers: &[f64], expected: [f64; 6], digit: f64) {
        assert_eq!(numbers.len(), 6);
        for (number, expected) in numbers.iter().zip(expected) {
            assert!((number - expected).abs() < 0.51 * digit, "{numbers:?}");
        }
    }

    #[test]
    fn oracle_o10_figure_19_ratios() {
        let every_event = numbers("rates are sent", "upon every event");
        assert_about(&every_event, [6.02, 7.53, 10.53, 13.54, 16.54, 19.55], 1e-2);
        // A START or FINISH event happens every 500 ns on average, so an interval of 500 us has a thousand events on
        // average. These events share the cost of the controller's messages.
        let every_interval = numbers("rates are sent", "every interval");
        let expected = every_event.iter().map(|ratio| (ratio * 8_176.0 - 96.0) / 1e3 + 96.0);
        let expected: Vec<f64> = expected.map(|bytes| bytes / 8_176.0).collect();
        assert_about(&every_interval, expected.try_into().expect("six numbers"), 1e-9);
    }

    #[test]
    fn oracle_o10_a_controller_is_no_dearer_for_few_sources() {
        let limits = numbers("limit", "share of nodes with flows");
        assert!((limits[0] - 0.164).abs() < 5e-4, "{limits:?}");
        assert_eq!((512.0 * limits[0]) as u32, 84);
    }
}
