//! The number that judges a claim: a contrast, or the combination of the contrasts at several points of the other
//! sweeps. A contrast compares the values of a measure at different labels of one sweep.

use super::measure::{MEASURE, Measure, Stat};
use super::runs::{Labels, Run, Seeds, read_labels, read_points, spread};
use crate::experiment::keys::{Any, Key, Name, Named, keys};
use crate::experiment::{Item, Problem, Record, Section};
use raddle_records::stats;

/// The number that judges a claim, computed from a figure's runs.
#[derive(Debug, Clone)]
pub(super) struct Number {
    measure: Measure,
    contrast: Contrast,
    /// If given, the contrast of this statistic is subtracted from the contrast of the measure's own statistic.
    beyond_stat: Option<Stat>,
    /// Lists of labels. Each number in the contrast is a mean with one term for each list. A term is the value of the
    /// measure for the runs with the labels of this list. By default, there is a single empty list.
    mean_over: Vec<Labels>,
    /// Labels of the points in other sweeps at which the contrast is computed. By default, there is one point.
    stops: Vec<Labels>,
    /// If not empty, the number at a point is the absolute difference between two contrasts: the contrast at the point,
    /// and the contrast with these labels in place of the point's labels of the same sweeps.
    difference_to: Labels,
    take: Take,
}

/// The comparison of the numbers at several labels of one sweep.
#[derive(Debug, Clone)]
struct Contrast {
    kind: Kind,
    sweep: String,
    /// The labels that are compared; empty if nothing is compared.
    labels: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The number itself, without a comparison.
    Plain,
    /// The number at the first label divided by the number at the second label.
    Ratio,
    /// The share by which the number at the first label is below the number at the second label.
    Reduction,
    /// The smallest ratio of a number to the next number, in the order of the labels. The order holds if this ratio is
    /// at least 1.
    Order,
    /// The number at the first label divided by the greatest number at the other labels. The lead holds if this ratio
    /// is at least 1.
    Lead,
}

/// The rule that turns the contrasts at several points into the number that judges the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::figure) enum Take {
    Least,
    /// The second least, of at least two contrasts. Two contrasts are not greater than it.
    SecondLeast,
    Most,
    Mean,
    /// The median. For an even number of contrasts, the larger of the two middle contrasts.
    Median,
    /// The least increase from a point to the next point. The trend holds if the increase is at least 0.
    Rise,
    /// The least decrease from a point to the next point. The trend holds if the decrease is at least 0.
    Fall,
}

impl Named for Take {
    const WHAT: &'static str = "rule";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("least", Self::Least, "the least"),
        ("second_least", Self::SecondLeast, "the second least"),
        ("most", Self::Most, "the greatest"),
        ("mean", Self::Mean, "the mean"),
        ("median", Self::Median, "the median"),
        ("rise", Self::Rise, "the smallest rise from a point to the next point"),
        ("fall", Self::Fall, "the smallest fall from a point to the next point"),
    ];
}

impl Take {
    fn of(self, numbers: &[f64]) -> f64 {
        let steps = numbers.windows(2).map(|pair| pair[1] - pair[0]);
        match self {
            Self::Least => least(numbers.iter().copied()),
            Self::Most => -least(numbers.iter().map(|number| -number)),
            Self::Mean => numbers.iter().sum::<f64>() / numbers.len() as f64,
            Self::SecondLeast => sorted(numbers)[1],
            Self::Median => sorted(numbers)[numbers.len() / 2],
            Self::Rise => least(steps),
            Self::Fall => least(steps.map(|step| -step)),
        }
    }
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    stats::sort(&mut sorted);
    sorted
}

/// The least number; infinity if there is none. The result is NaN if any number is NaN, such as 0 / 0, since an order
/// is then undefined.
fn least(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(f64::INFINITY, |least, next| if next < least || next.is_nan() { next } else { least })
}

keys! {
    /// The number that judges a claim: a contrast, or the combination of the contrasts at several points of the other
    /// sweeps. A contrast compares the values of a measure at different labels of one sweep.
    pub(in crate::figure) NUMBER = "claim.measure" {
        /// The sweep whose labels the contrast compares.
        BY: String = Key::new("by").or("\"scheme\"");
        /// Two labels: the number at the first label divided by the number at the second label.
        RATIO: Vec<String> = Key::new("ratio").example("[\"TCP\", \"R2C2\"]").such("two labels", |labels: &Vec<String>| labels.len() == 2);
        /// Two labels: the share by which the number at the first label is below the number at the second label.
        REDUCTION: Vec<String> = Key::new("reduction").example("[\"Expeditus\", \"ECMP\"]").such("two labels", |labels: &Vec<String>| labels.len() == 2);
        /// Labels in the order in which their numbers should decrease: the smallest ratio of a number to the next
        /// number.
        ORDER: Vec<String> = Key::new("order").example("[\"TCP\", \"R2C2\", \"PFQ\"]").such("at least two labels", |labels: &Vec<String>| labels.len() >= 2);
        /// Labels: the number at the first label divided by the greatest number at the other labels.
        LEAD: Vec<String> = Key::new("lead").example("[\"R2C2\", \"TCP\"]").such("at least two labels", |labels: &Vec<String>| labels.len() >= 2);
        /// A statistic whose contrast is subtracted from the contrast of `stat`.
        BEYOND_STAT: Name = Key::new("beyond_stat").example("\"mean\"").registered("statistic", |_| {
            Stat::names().map(|(name, _)| (name.to_owned(), "")).collect()
        });
        /// Labels that the runs must have.
        AT: Any = Key::new("at").example("{ load = \"0.6\" }");
        /// Lists of labels. Every number in the contrast is the mean over the runs with these labels.
        MEAN_OVER: Any = Key::new("mean_over").example("{ load = [\"0.4\", \"0.6\"] }");
        /// Lists of labels: the points of other sweeps at which the contrast is computed.
        OVER: Any = Key::new("over").example("{ load = [\"0.4\", \"0.6\"] }");
        /// Labels. The number at a point is the absolute difference between the contrast at this point and the contrast
        /// at these labels.
        DIFFERENCE_TO: Any = Key::new("difference_to").example("{ load = \"0.4\" }");
        /// The rule that turns the contrasts at several points into one number.
        TAKE: Take = Key::new("take").or("\"least\"");
        ..&MEASURE;
    }
}

impl Contrast {
    fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let sweep = section.read(&BY)?;
        let kinds = [
            (&RATIO, Kind::Ratio),
            (&REDUCTION, Kind::Reduction),
            (&ORDER, Kind::Order),
            (&LEAD, Kind::Lead),
        ];
        let mut contrast = Self { kind: Kind::Plain, sweep, labels: Vec::new() };
        for (key, kind) in kinds {
            let Some(labels) = section.get(key)? else { continue };
            let first = contrast.kind == Kind::Plain;
            let what = "a claim can have only one of `ratio`, `reduction`, `order` and `lead`";
            section.ensure(first, key, what, "keep only one of these keys")?;
            contrast = Self { kind, labels, ..contrast };
        }
        Ok(contrast)
    }

    /// The points that are compared at the point `at`: `at` with each label of the compared sweep. Only `at` if nothing is
    /// compared.
    fn points(&self, at: &Labels) -> Vec<Labels> {
        let with = |label: &String| at.iter().cloned().chain([(self.sweep.clone(), label.clone())]).collect();
        if self.labels.is_empty() { vec![at.clone()] } else { self.labels.iter().map(with).collect() }
    }

    /// The contrast of these numbers, which are in the order of the labels.
    fn of(&self, numbers: &[f64]) -> f64 {
        match self.kind {
            Kind::Plain => numbers[0],
            Kind::Ratio => numbers[0] / numbers[1],
            Kind::Reduction => 1.0 - numbers[0] / numbers[1],
            Kind::Order => least(numbers.windows(2).map(|pair| pair[0] / pair[1])),
            Kind::Lead => least(numbers[1..].iter().map(|other| numbers[0] / other)),
        }
    }
}

impl Number {
    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, &NUMBER)?;
        let measure = Measure::read(&mut section)?;
        measure.ensure_closed(&section)?;
        let contrast = Contrast::read(&mut section)?;
        let beyond_stat = Stat::plain(&mut section, &BEYOND_STAT)?;
        let at = read_labels(section.item(&AT))?;
        let mean_over = read_points(section.item(&MEAN_OVER))?;
        section.ensure(
            !mean_over.is_empty(),
            &MEAN_OVER,
            "each list in `mean_over` must have at least one label",
            "give at least one label",
        )?;
        let over = section.item(&OVER);
        let mut stops = read_points(over)?;
        let what = "each list in `over` must have at least one label";
        section.ensure(!stops.is_empty(), &OVER, what, "give at least one label")?;
        let difference_to = read_labels(section.item(&DIFFERENCE_TO))?;
        let take = section.read(&TAKE)?;
        let told = over.is_none() || section.has(&TAKE);
        let what = "`over` needs `take`, the rule that combines the numbers at the points of `over`";
        section.ensure(told, &OVER, what, "for example: take = \"least\"")?;
        if matches!(take, Take::Rise | Take::Fall) {
            let along_one = stops.len() >= 2 && stops[0].len() == 1;
            let hint = "for example: over = { load = [\"0.4\", \"0.6\"] }";
            section.ensure(along_one, &TAKE, "a trend needs at least two points of a single sweep", hint)?;
        }
        let what = "`second_least` needs at least two points";
        let hint = "for example: over = { load = [\"0.4\", \"0.6\"] }";
        section.ensure(take != Take::SecondLeast || stops.len() >= 2, &TAKE, what, hint)?;
        section.finish()?;
        stops.iter_mut().for_each(|stop| stop.extend_from_slice(&at));
        Ok(Self { measure, contrast, beyond_stat, mean_over, stops, difference_to, take })
    }

    /// The range in which a trend holds, or in which an order or a lead holds at all points; `None` for other numbers,
    /// whose claims must state a range.
    pub(super) fn natural_range(&self) -> Option<(f64, f64)> {
        match (self.contrast.kind, self.take) {
            (_, Take::Rise | Take::Fall) => Some((0.0, f64::INFINITY)),
            (Kind::Order | Kind::Lead, Take::Least) => Some((1.0, f64::INFINITY)),
            _ => None,
        }
    }

    /// The number computed from `runs`. Every statistic is first averaged over `seeds`, so a ratio is a ratio of means.
    /// `None` if a statistic was not measured.
    pub(super) fn of(&self, runs: &[Run], seeds: Seeds<'_>) -> Option<f64> {
        let at = |stop: &Labels| self.at(stop, runs, seeds);
        let numbers = self.stops.iter().map(at).collect::<Option<Vec<_>>>()?;
        Some(self.take.of(&numbers))
    }

    /// The largest half-width of the 95% confidence intervals over seeds, among all points; `None` if a point has no
    /// interval.
    pub(super) fn widest_margin(&self, runs: &[Run]) -> Option<f64> {
        let margin = |stop: &Labels| spread(runs, |seeds| self.at(stop, runs, seeds))?.margin;
        let margins = self.stops.iter().map(margin).collect::<Option<Vec<_>>>()?;
        Some(Take::Most.of(&margins))
    }

    /// The number at one point.
    fn at(&self, stop: &Labels, runs: &[Run], seeds: Seeds<'_>) -> Option<f64> {
        let here = self.contrasted(stop, runs, seeds)?;
        let Some(base) = self.base(stop) else { return Some(here) };
        Some((here - self.contrasted(&base, runs, seeds)?).abs())
    }

    /// The point whose contrast is subtracted from the contrast at `stop`; `None` without `difference_to`.
    fn base(&self, stop: &Labels) -> Option<Labels> {
        let replaced = |sweep: &String| self.difference_to.iter().any(|(other, _)| other == sweep);
        let kept = stop.iter().filter(|(sweep, _)| !replaced(sweep)).chain(&self.difference_to);
        (!self.difference_to.is_empty()).then(|| kept.cloned().collect())
    }

    /// The contrast at one point. If there is a statistic `beyond_stat`, its contrast is subtracted.
    fn contrasted(&self, stop: &Labels, runs: &[Run], seeds: Seeds<'_>) -> Option<f64> {
        let contrast = |measure: &Measure| {
            let mean = |point: &Labels| {
                let numbers = self.pooled(point).map(|point| measure.number(runs, &point, seeds));
                stats::mean(&numbers.collect::<Option<Vec<_>>>()?)
            };
            let numbers = self.contrast.points(stop).iter().map(mean).collect::<Option<Vec<_>>>()?;
            Some(self.contrast.of(&numbers))
        };
        let here = contrast(&self.measure)?;
        let Some(stat) = self.beyond_stat else { return Some(here) };
        Some(here - contrast(&self.measure.with(stat))?)
    }

    /// Returns an error, at `item`, if no cell records the measure's quantity.
    pub(super) fn check_recorded(&self, item: &Item, records: &[Record]) -> Result<(), Problem> {
        self.measure.check_recorded(item, records)
    }

    /// The runs from which the number is computed, without the runs with which the measure compares them.
    pub(super) fn runs<'a>(&self, runs: &'a [Run]) -> impl Iterator<Item = &'a Run> {
        let points: Vec<_> = self.points().collect();
        runs.iter().filter(move |run| points.iter().any(|point| run.is_at(point)))
    }

    /// True if the measure of the number leaves out flows that never finished.
    pub(super) fn is_of_finished_flows(&self) -> bool {
        self.measure.is_of_finished_flows()
    }

    /// The number of values in the smallest sample of a run; `None` if each run gives only one number.
    pub(super) fn fewest_samples(&self, runs: &[Run]) -> Option<usize> {
        self.measure.fewest_samples(runs, &self.points().collect::<Vec<_>>())
    }

    /// A caution about the number, if any.
    pub(super) fn remark(&self, runs: &[Run]) -> Option<String> {
        self.measure.remark(runs, &self.points().collect::<Vec<_>>())
    }

    /// The points whose numbers are averaged to give the number at `point`. There is one point for each list in
    /// `mean_over`.
    fn pooled(&self, point: &Labels) -> impl Iterator<Item = Labels> {
        self.mean_over.iter().map(move |labels| point.iter().chain(labels).cloned().collect())
    }

    fn points(&self) -> impl Iterator<Item = Labels> {
        let bases = self.stops.iter().filter_map(|stop| self.base(stop));
        let stops = self.stops.iter().cloned().chain(bases);
        let contrasted = stops.flat_map(|stop| self.contrast.points(&stop));
        contrasted.flat_map(|point| self.pooled(&point).collect::<Vec<_>>())
    }

    /// All labels that the number names, each with its sweep.
    pub(super) fn labels(&self) -> impl Iterator<Item = (String, String)> {
        let bases = self.measure.bases().cloned();
        self.points().flatten().chain(bases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_taken_together() {
        let of = |take: Take| take.of(&[0.1, 0.3, 0.2]);
        for (take, expected) in [
            (Take::Least, 0.1),
            (Take::SecondLeast, 0.2),
            (Take::Most, 0.3),
            (Take::Mean, 0.2),
            (Take::Median, 0.2),
            (Take::Rise, -0.1),
            (Take::Fall, -0.2),
        ] {
            assert!((of(take) - expected).abs() < 1e-12, "{take:?}");
        }
        assert!((Take::Rise.of(&[1.0, 1.5, 4.0]) - 0.5).abs() < 1e-12);
        assert!(Take::Most.of(&[1.0, f64::NAN, 0.0]).is_nan() && Take::Least.of(&[f64::NAN, 0.0]).is_nan());
    }

    #[test]
    fn a_reduction_is_what_is_saved() {
        let labels = ["Expeditus", "ECMP"].map(str::to_owned).to_vec();
        let contrast = Contrast { kind: Kind::Reduction, sweep: "scheme".to_owned(), labels };
        assert!((contrast.of(&[6.0, 8.0]) - 0.25).abs() < 1e-12);
        let order = Contrast { kind: Kind::Order, ..contrast.clone() };
        assert!((order.of(&[6.0, 8.0, 2.0]) - 0.75).abs() < 1e-12);
        let lead = Contrast { kind: Kind::Lead, ..contrast };
        assert!((lead.of(&[6.0, 2.0, 4.0]) - 1.5).abs() < 1e-12);
    }
}
