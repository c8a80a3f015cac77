//! Measures how evenly the uplinks of a switch share the load.

use crate::{Cell, Column, Row};

/// Returns the throughput imbalance (specifications/expeditus.md §9): (max - min) / mean of the bytes that the uplinks
/// of a switch sent in one interval. The imbalance is 0 if all uplinks sent the same number of bytes. It equals the
/// number of uplinks if one of several uplinks sent all bytes. `None` if no uplink sent a byte.
#[must_use]
pub fn imbalance(sent: &[u64]) -> Option<f64> {
    let (most, least) = (sent.iter().max()?, sent.iter().min()?);
    let total: u64 = sent.iter().sum();
    (total > 0).then(|| (most - least) as f64 * sent.len() as f64 / total as f64)
}

/// The imbalance of a switch in one interval. An interval has no row if the switch's uplinks sent nothing in it, or if
/// the run ended before the end of the interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ImbalanceRecord {
    /// The switch.
    pub switch: u32,
    /// The switch's tier: the number of links to the nearest host.
    pub tier: u32,
    /// End of the interval.
    pub at_ps: u64,
    /// The [`imbalance`] of the bytes that the switch's uplinks sent in the interval.
    pub imbalance: f64,
}

impl Row for ImbalanceRecord {
    const TABLE: &'static str = "imbalance";
    const COLUMNS: &'static [Column] = &[
        Column::integer("switch", "node number of the switch"),
        Column::integer(
            "tier",
            "number of links from the switch to the nearest host: 1 for edge switches, 2 for the tier above",
        ),
        Column::integer("at_ps", "end of the interval"),
        Column::float(
            "imbalance",
            "(maximum - minimum) / mean of the bytes that each uplink of the switch sent in the interval, \
             including headers",
        ),
    ];

    fn cells(&self) -> impl AsRef<[Cell]> {
        [self.switch.into(), self.tier.into(), self.at_ps.into(), self.imbalance.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specifications/expeditus.md §11.7.
    #[test]
    fn oracle_11_7_imbalance_of_known_rates() {
        let near = |sent: &[u64], expected: f64| {
            let imbalance = imbalance(sent).expect("something was sent");
            assert!((imbalance - expected).abs() < 5e-4, "{sent:?}: {imbalance}");
        };
        near(&[4, 2, 3, 3, 2, 4], 0.667);
        near(&[6, 0, 0, 0, 0, 0], 6.0);
        near(&[3, 0, 0], 3.0);
        near(&[5, 5, 5], 0.0);
        assert_eq!((imbalance(&[0, 0]), imbalance(&[])), (None, None));
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let row = ImbalanceRecord { switch: 1, tier: 2, at_ps: 3, imbalance: 0.5 };
        assert_eq!(row.cells().as_ref().len(), ImbalanceRecord::COLUMNS.len());
    }
}
