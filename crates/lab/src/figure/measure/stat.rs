//! Statistics: numbers computed from a sample.

use super::{LEAST, MOST, STAT};
use crate::experiment::keys::{Declared, Key, Name};
use crate::experiment::{Cause, Item, Problem, Read, Section, list};
use raddle_records::stats;

/// A statistic of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::figure) enum Stat {
    Mean,
    Total,
    /// Size of the sample.
    Count,
    /// The coefficient of variation: the standard deviation divided by the mean.
    Variation,
    /// A percentile by nearest rank: 99.9 for the p99.9.
    Percentile(f64),
    /// The share of values from `least` to `most`, both bounds included.
    Share {
        /// The lower bound.
        least: f64,
        /// The upper bound.
        most: f64,
    },
}

impl Stat {
    const NAMES: [(&'static str, Self); 17] = [
        ("mean", Self::Mean),
        ("total", Self::Total),
        ("count", Self::Count),
        ("variation", Self::Variation),
        ("p10", Self::Percentile(10.0)),
        ("p20", Self::Percentile(20.0)),
        ("p30", Self::Percentile(30.0)),
        ("p40", Self::Percentile(40.0)),
        ("p50", Self::Percentile(50.0)),
        ("p60", Self::Percentile(60.0)),
        ("p70", Self::Percentile(70.0)),
        ("p80", Self::Percentile(80.0)),
        ("p90", Self::Percentile(90.0)),
        ("p95", Self::Percentile(95.0)),
        ("p99", Self::Percentile(99.0)),
        ("p999", Self::Percentile(99.9)),
        ("max", Self::Percentile(100.0)),
    ];

    /// All statistics by name.
    pub(in crate::figure) fn names() -> impl Iterator<Item = (&'static str, Self)> {
        let share = ("share", Self::Share { least: f64::NEG_INFINITY, most: f64::INFINITY });
        Self::NAMES.into_iter().chain([share])
    }

    /// Reads the key `stat` of a section, and the bounds `least` and `most` of a share.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let stat = section.choose(&STAT, &Self::names().collect::<Vec<_>>())?;
        let Self::Share { least, most } = stat else { return Ok(stat) };
        let (given, other) = (section.get(&LEAST)?, section.get(&MOST)?);
        let hint = "for example: stat = \"share\", most = 0.5";
        section.ensure(
            given.is_some() || other.is_some(),
            &STAT,
            "stat = \"share\" needs `least` or `most`",
            hint,
        )?;
        Ok(Self::Share { least: given.unwrap_or(least), most: other.unwrap_or(most) })
    }

    /// The statistic of a sorted sample; `None` if the sample is empty, except for the count, which is then 0.
    pub(in crate::figure) fn of(self, sample: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => stats::mean(sample),
            Self::Total => (!sample.is_empty()).then(|| sample.iter().sum()),
            Self::Count => Some(sample.len() as f64),
            Self::Variation => {
                let mean = stats::mean(sample)?;
                let squares = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                Some((squares / sample.len() as f64).sqrt() / mean)
            }
            Self::Percentile(p) => stats::percentile(sample, p),
            Self::Share { least, most } => {
                let inside = sample.iter().filter(|value| (least..=most).contains(value)).count();
                (!sample.is_empty()).then(|| inside as f64 / sample.len() as f64)
            }
        }
    }

    /// The words for the statistic in the label of an axis; `None` for the mean, which labels do not name. `unit` is
    /// the unit of the sample.
    pub(super) fn words(self, unit: &str) -> Option<String> {
        let bound = |bound: f64| format!("{bound} {unit}").trim_end().to_owned();
        Some(match self {
            Self::Mean => return None,
            Self::Total => "total".to_owned(),
            Self::Count => "number of values".to_owned(),
            Self::Variation => "coefficient of variation".to_owned(),
            Self::Percentile(p) if p >= 100.0 => "maximum".to_owned(),
            Self::Percentile(p) => format!("p{p}"),
            Self::Share { least, most } => match (least.is_finite(), most.is_finite()) {
                (true, true) => format!("share of values from {least} to {}", bound(most)),
                (true, false) => format!("share of values of at least {}", bound(least)),
                (false, _) => format!("share of values of at most {}", bound(most)),
            },
        })
    }

    /// True if the statistic has the unit of the sample. A count, a share and a coefficient of variation have no unit.
    pub(super) fn has_unit(self) -> bool {
        !matches!(self, Self::Count | Self::Variation | Self::Share { .. })
    }

    /// Reads the statistic at `key`; `None` if the key is missing. The statistic `share` is not accepted.
    pub(in crate::figure) fn plain(
        section: &mut Section<'_>,
        key: &Key<Name>,
    ) -> Result<Option<Self>, Problem> {
        if section.has(key) { section.choose(key, &Self::NAMES).map(Some) } else { Ok(None) }
    }

    /// Reads the list of statistics at `key`, each with its name; an empty list if the key is missing. The statistic
    /// `share` is not accepted.
    pub(in crate::figure) fn list(
        section: &mut Section<'_>,
        key: &dyn Declared,
    ) -> Result<Vec<(String, Self)>, Problem> {
        let Some(item) = section.item(key) else { return Ok(Vec::new()) };
        let stat = |item: &Item| {
            let name = String::read(item)?;
            match Self::NAMES.iter().find(|(known, _)| *known == name) {
                Some(&(_, stat)) => Ok((name, stat)),
                None => {
                    let known = Self::NAMES.map(|(name, _)| name.to_owned()).into();
                    Err(Problem::at(&item.at, Cause::UnknownName { what: "statistic", name, known }))
                }
            }
        };
        list(item)?.iter().map(stat).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_lies_between_its_bounds() {
        let share = |least, most| Stat::Share { least, most }.of(&[0.2, 0.5, 0.5, 3.0]);
        assert_eq!(share(f64::NEG_INFINITY, 0.5), Some(0.75));
        assert_eq!(share(1.0, f64::INFINITY), Some(0.25));
        assert_eq!(Stat::Share { least: 0.0, most: 1.0 }.of(&[]), None);
    }

    #[test]
    fn variation_is_the_standard_deviation_over_the_mean() {
        assert_eq!(Stat::Variation.of(&[2.0, 4.0, 4.0, 6.0]), Some(2.0_f64.sqrt() / 4.0));
        assert_eq!(Stat::Variation.of(&[3.0, 3.0]), Some(0.0));
        assert_eq!(Stat::Variation.of(&[]), None);
    }
}
