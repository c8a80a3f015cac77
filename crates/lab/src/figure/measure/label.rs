//! Labels of axes: what a measure shows, its statistic and its unit.

use super::{Comparison, Measure, Stat};
use crate::figure::condition::Where;
use crate::figure::runs::Labels;

impl Measure {
    /// The quantity of a single flow, link or sample, and its unit.
    fn quantity(&self) -> (String, &'static str) {
        let (what, unit) = self.of.words();
        if self.against.is_empty() {
            return (what.to_owned(), if self.window.is_of_shares() { "as a share" } else { unit });
        }
        let base = named(&self.against);
        match self.comparison {
            Comparison::Deviation => (format!("{what}: relative difference from {base}"), ""),
            Comparison::Ratio => (format!("{what}, relative to {base}"), ""),
        }
    }

    /// The quantity with its unit, for an axis of single values.
    pub(in crate::figure) fn label_of_values(&self) -> String {
        let (what, unit) = self.quantity();
        with_unit(what, unit)
    }

    /// The quantity with the statistic and the unit, for an axis of numbers. If there are `stats`, the curves name the
    /// statistics, and the axis has a unit only if all these statistics have the unit. With `relative_to`, all curves
    /// are relative to the curve of this name. Without `stats`, an axis label that names no statistic stands for the
    /// mean.
    pub(in crate::figure) fn label(&self, stats: &[(String, Stat)], relative_to: Option<&str>) -> String {
        let (mut name, unit) = self.quantity();
        let mut has_unit = if stats.is_empty() {
            self.stat.has_unit()
        } else {
            stats.iter().all(|(_, stat)| stat.has_unit())
        };
        if !self.distance_to.is_empty() {
            name += &format!(", Kolmogorov-Smirnov distance to {}", named(&self.distance_to));
            has_unit = false;
        } else if stats.is_empty()
            && let Some(stat) = self.stat.words(unit)
        {
            name += &format!(", {stat}");
        }
        let labels = |of: &Labels| of.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ");
        if !self.beyond.is_empty() {
            name += &format!(", beyond {}", labels(&self.beyond));
        }
        let relative = (!self.relative.is_empty()).then(|| labels(&self.relative));
        let others = self.relative_where.map(|others| match others {
            Where::Link(..) => "other links".to_owned(),
            Where::Tier(_) => "another tier".to_owned(),
            _ => "other flows".to_owned(),
        });
        for base in [relative, others, relative_to.map(str::to_owned)].into_iter().flatten() {
            name += &format!(", relative to {base}");
            has_unit = false;
        }
        with_unit(name, if has_unit { unit } else { "" })
    }
}

/// Labels with their sweeps, in words.
fn named(labels: &Labels) -> String {
    labels.iter().map(|(sweep, label)| format!("{sweep} = {label}")).collect::<Vec<_>>().join(", ")
}

fn with_unit(name: String, unit: &str) -> String {
    if unit.is_empty() { name } else { format!("{name} ({unit})") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{against, of};
    use super::*;
    use crate::figure::measure::of::Of;
    use crate::figure::over_time::Received;

    #[test]
    fn an_axis_names_the_statistic_and_its_unit() {
        let throughput = |stat| of(Of::Received(Received::Throughput), stat).label(&[], None);
        assert_eq!(throughput(Stat::Mean), "throughput (Gbps)");
        assert_eq!(throughput(Stat::Percentile(99.9)), "throughput, p99.9 (Gbps)");
        assert_eq!(throughput(Stat::Percentile(100.0)), "throughput, maximum (Gbps)");
        assert_eq!(throughput(Stat::Variation), "throughput, coefficient of variation");
        assert_eq!(throughput(Stat::Count), "throughput, number of values");
        let share = |least, most| throughput(Stat::Share { least, most });
        assert_eq!(share(0.5, f64::INFINITY), "throughput, share of values of at least 0.5 Gbps");
        assert_eq!(share(f64::NEG_INFINITY, 2.0), "throughput, share of values of at most 2 Gbps");
        assert_eq!(share(0.5, 2.0), "throughput, share of values from 0.5 to 2 Gbps");
        let fct = of(Of::Fct, Stat::Mean);
        let of_stats = |stats: &[Stat]| {
            fct.label(&stats.iter().map(|&stat| (String::new(), stat)).collect::<Vec<_>>(), None)
        };
        assert_eq!(of_stats(&[Stat::Percentile(50.0), Stat::Total]), "flow completion time (us)");
        assert_eq!(of_stats(&[Stat::Percentile(50.0), Stat::Variation]), "flow completion time");
    }

    #[test]
    fn an_axis_says_what_is_compared() {
        let assigned = against("0", None);
        let median = "mean rate assigned to a flow: relative difference from rho = 0, p50";
        assert_eq!(assigned.label(&[], None), median);
        assert_eq!(assigned.label_of_values(), median.strip_suffix(", p50").expect("a statistic"));
        let labels = || vec![("scheme".to_owned(), "ECMP".to_owned())];
        let fct = of(Of::Fct, Stat::Percentile(99.0));
        assert_eq!(fct.label(&[], Some("ECMP")), "flow completion time, p99, relative to ECMP");
        let relative = Measure { relative: labels(), ..fct.clone() };
        assert_eq!(relative.label(&[], None), "flow completion time, p99, relative to ECMP");
        let beyond = Measure { beyond: labels(), ..fct.clone() };
        assert_eq!(beyond.label(&[], None), "flow completion time, p99, beyond ECMP (us)");
        let others = Measure { relative_where: Some(Where::Flow(4)), ..fct.clone() };
        assert_eq!(others.label(&[], None), "flow completion time, p99, relative to other flows");
        let distance = Measure { distance_to: labels(), ..fct };
        let expected = "flow completion time, Kolmogorov-Smirnov distance to scheme = ECMP";
        assert_eq!(distance.label(&[], None), expected);
    }
}
