//! Claims: a statement of a paper or of our own, the number that judges it, and the range in which the claim holds.

use super::number::Number;
use super::runs::{Run, Seeds, Spread, labels_of, spread};
use crate::experiment::keys::{Inner, Key, keys};
use crate::experiment::{Cause, Item, Problem, Record, Section, Value, list};
use crate::notation::{shown, shown_margin};
use serde_json::json;

/// A claim, as the figure's file states it.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    id: String,
    section: String,
    says: String,
    paper: Option<f64>,
    number: Number,
    accept: (f64, f64),
    /// The largest allowed half-width of the claim's 95% confidence intervals over seeds. The claim counts as not
    /// measured if an interval is wider or missing.
    widest: Option<f64>,
    why: String,
    deviation: Option<Deviation>,
    calibrated: bool,
    ours: bool,
    changed: Option<String>,
}

/// The verdict on a claim that was not measured.
pub(super) const NOT_MEASURED: &str = "not measured";

/// A claim is judged by its number, even if the 95% interval contains a bound of the range, if the half-width of the
/// interval is at most this share of the number.
const OF_NUMBER: f64 = 0.05;

/// The same for this share of the range, if the range is narrower than the number. A wider range, such as 1 to 1000, is
/// that of an order.
const OF_RANGE: f64 = 0.2;

/// The text of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The claim's name within the figure.
    pub id: String,
    /// Section of the paper.
    pub section: String,
    /// The statement of the paper in our words, or our own statement.
    pub says: String,
    /// True for a claim of our own, which judges no statement of the paper.
    pub ours: bool,
}

/// The known reason why a claim does not hold. An experiment must show the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The cause, in words.
    pub cause: String,
    /// The figure or the claim that shows the cause: a name such as `r2c2/fig10-rules` or `r2c2/fig10-rules/ideal-pfq`.
    /// A figure of a user's own has the name of its file.
    pub shown_by: String,
}

keys! {
    /// A statement, the number that judges it, and the range of this number in which the claim holds.
    pub(crate) CLAIM = "claim" {
        /// Name of the claim within its figure.
        ID: String = Key::new("id").required().example("\"tcp-p99\"");
        /// Section of the paper.
        SECTION: String = Key::new("section").required().example("\"5.2\"");
        /// The statement of the paper in our words, or our own statement.
        SAYS: String = Key::new("says").required();
        /// The paper's number, if the paper gives a number.
        PAPER: f64 = Key::new("paper").example("1.3");
        /// The number that judges the claim.
        JUDGED: Inner = Key::new("measure")
            .required()
            .table(&super::number::NUMBER)
            .example("{ of = \"fct\", stat = \"p99\" }");
        /// The range in which the claim holds: two numbers, the smaller first.
        ACCEPT: Vec<f64> = Key::new("accept").computed("at least 0 if `take` is `rise` or `fall`; at least 1 if the measure has `order` or `lead` and `take` is `least`").example("[2.0, 5.0]");
        /// Largest accepted half-width of the 95% confidence interval over seeds, in the unit of the claim's number. If
        /// the number combines several points, this holds for each point. A claim with a larger half-width, or without
        /// an interval, is not measured. Without this key, a claim is not measured if the interval contains a bound of
        /// `accept` and its half-width is more than 5% of the number. A fifth of the range is allowed, too, if the
        /// range is narrower than the number.
        WIDEST: f64 = Key::new("widest").above_zero().example("0.1");
        /// The reason for the range.
        WHY: String = Key::new("why").required();
        /// The known reason why the claim does not hold, and the experiment that shows the cause.
        DEVIATES: Inner = Key::new("deviates")
            .table(&DEVIATION)
            .example("{ cause = \"rates are computed only every 500 us\", shown_by = \"r2c2/fig10-rules\" }");
        /// True if parameters that the paper does not give were chosen so that the claim holds.
        CALIBRATED: bool = Key::new("calibrated").or("false");
        /// True for a claim of our own, which judges no statement of the paper.
        OURS: bool = Key::new("ours").or("false");
        /// The part of the claim that was changed after results were seen, with the day and the reason.
        CHANGED: String = Key::new("changed");
    }

    /// The known reason why a claim does not hold.
    DEVIATION = "claim.deviates" {
        /// The cause.
        CAUSE: String = Key::new("cause").required().example("\"rates are computed only every 500 us\"");
        /// The figure that shows the cause: none of its claims fails. Or one of its claims, which holds.
        SHOWN_BY: String = Key::new("shown_by").required().example("\"r2c2/fig10-rules/ideal-pfq\"");
    }
}

impl Deviation {
    fn read(item: &Item) -> Result<Self, Problem> {
        if !matches!(item.value, Value::Table(_)) {
            let what = "a deviation must be a table with its cause and the experiment that shows the \
                        cause"
                .to_owned();
            let hint = "for example: { cause = \"rates are computed only every 500 us\", \
                        shown_by = \"r2c2/fig10-rules\" }";
            return Err(Problem::at(&item.at, Cause::OutOfRange { what, hint: hint.to_owned() }));
        }
        let mut section = Section::of(item, &DEVIATION)?;
        let deviation = Self { cause: section.read(&CAUSE)?, shown_by: section.read(&SHOWN_BY)? };
        section.finish()?;
        Ok(deviation)
    }
}

/// The verdicts on the live runs of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveRuns {
    /// Number of live runs that were faithful.
    pub faithful: usize,
    /// The live runs that were not faithful, each with its verdict. A claim about such a run is not measured.
    pub others: Vec<String>,
}

impl LiveRuns {
    fn of<'a>(runs: impl Iterator<Item = &'a Run>) -> Self {
        let mut live = Self::default();
        for run in runs {
            match run.verdict() {
                Some(verdict) if run.is_unfaithful() => {
                    live.others.push(format!("{}: {verdict}", run.name()));
                }
                verdict => live.faithful += usize::from(verdict.is_some()),
            }
        }
        live
    }

    fn json(&self) -> serde_json::Value {
        json!({ "faithful": self.faithful, "others": self.others })
    }

    /// A remark on the live runs that were not faithful; `None` if all live runs were faithful.
    fn remark(&self) -> Option<String> {
        let all = self.faithful + self.others.len();
        let others = self.others.join("; ");
        (!self.others.is_empty()).then(|| {
            format!(
                "{} of {all} live runs were not faithful, because the machine was too slow or too busy: \
                     {others}",
                self.others.len()
            )
        })
    }
}

/// The result of judging a claim.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Name of the claim, with its paper and figure: `r2c2/fig10/tcp-p99`.
    pub claim: String,
    /// Section of the paper.
    pub section: String,
    /// The statement of the paper in our words, or our own statement.
    pub says: String,
    /// The paper's number, if the paper gives a number.
    pub paper: Option<f64>,
    /// Our number; `None` if there was nothing to measure, or if one of the claim's live runs was not faithful.
    /// Statistics are averaged over seeds before they are compared, so a ratio is a ratio of means.
    pub measured: Option<f64>,
    /// The spread of the number over seeds: the smallest and largest number of a single seed, and the 95% confidence
    /// interval. `None` if the runs have no labels of seeds, if no seed gives a number, or if one of the claim's live
    /// runs was not faithful.
    pub spread: Option<Spread>,
    /// The number of values in the smallest sample of a run, such as a number of flows; `None` if each run gives only
    /// one number.
    pub samples: Option<usize>,
    /// A caution about the number, if any.
    pub remark: Option<String>,
    /// The verdicts on the claim's live runs, if there are any.
    pub live: Option<LiveRuns>,
    /// The range in which the claim holds.
    pub accept: (f64, f64),
    /// The reason for this range.
    pub why: String,
    /// The known reason why the claim does not hold, if there is one.
    pub deviation: Option<Deviation>,
    /// True if parameters that the paper does not give were chosen so that this claim holds.
    pub calibrated: bool,
    /// True for a claim of our own, which judges no statement of the paper.
    pub ours: bool,
    /// The part of the claim that was changed after results were seen, with the day and the reason.
    pub changed: Option<String>,
    /// True if the claim holds. `None` if it was not measured. A claim was not measured if its number is missing and a
    /// live run of the figure was not faithful. A claim with a number was not measured if the interval over seeds is too
    /// wide to judge the claim. If the claim limits this interval, it was not measured without an interval either.
    pub ok: Option<bool>,
}

impl Outcome {
    /// The outcome as JSON, for runs at the scale `scale`.
    #[must_use]
    pub fn json(&self, scale: &str) -> serde_json::Value {
        let bound = |x: f64| if x.is_finite() { json!(x) } else { json!(null) };
        let spread = self.spread.map(
            |Spread { least, most, margin, seeds }| json!({ "min": bound(least), "max": bound(most), "margin95": margin, "n": seeds }),
        );
        let deviates = self.deviation.as_ref();
        let deviates =
            deviates.map(|deviation| json!({ "cause": deviation.cause, "shown_by": deviation.shown_by }));
        json!({
            "claim": self.claim, "section": self.section, "says": self.says, "paper": self.paper,
            "measured": self.measured, "spread": spread, "samples": self.samples, "remark": self.remark, "accept": [bound(self.accept.0), bound(self.accept.1)], "ok": self.ok,
            "verdict": self.verdict(),
            "live": self.live.as_ref().map(LiveRuns::json),
            "deviates": deviates, "calibrated": self.calibrated, "ours": self.ours,
            "changed": self.changed, "why": self.why, "scale": scale,
        })
    }

    /// True if the claim fails without a known deviation.
    #[must_use]
    pub fn is_unexpected(&self) -> bool {
        self.ok == Some(false) && self.deviation.is_none()
    }

    /// `holds` (or `calibrated` if parameters were chosen for the claim), `deviates` for a known deviation, `FAILS`, or
    /// `not measured`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        verdict(self.ok, self.deviation.is_some(), self.calibrated)
    }
}

/// The verdict on a claim. `ok` is true if its number is in its range, and `None` if it was not measured.
fn verdict(ok: Option<bool>, deviates: bool, calibrated: bool) -> &'static str {
    match ok {
        Some(true) if calibrated => "calibrated",
        Some(true) => "holds",
        Some(false) if deviates => "deviates",
        Some(false) => "FAILS",
        None => NOT_MEASURED,
    }
}

impl Claim {
    /// The verdict on a number of this claim, by the claim's marks (`deviates` and `calibrated`). `ok` is true if the
    /// number is in the range. A deviation counts only if `is_shown` is true for what shows its cause.
    pub(super) fn verdict(&self, ok: bool, is_shown: impl Fn(&str) -> bool) -> &'static str {
        let deviates = self.deviation.as_ref().is_some_and(|deviation| is_shown(&deviation.shown_by));
        verdict(Some(ok), deviates, self.calibrated)
    }

    /// True unless this half-width of the 95% interval over seeds leaves open whether the claim holds. Always true for a
    /// claim with a limit of its own (`widest`).
    pub(super) fn is_decided(&self, measured: Option<f64>, margin: Option<f64>) -> bool {
        let undecided = |(measured, margin)| self.undecided(measured, margin).is_some();
        self.widest.is_some() || !measured.zip(margin).is_some_and(undecided)
    }

    /// The figure or the claim that shows the cause of the deviation, if the claim is known not to hold.
    pub(super) fn shown_by(&self) -> Option<&str> {
        self.deviation.as_ref().map(|deviation| deviation.shown_by.as_str())
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn accept(&self) -> (f64, f64) {
        self.accept
    }

    pub(super) fn described(&self) -> Described {
        let Self { id, section, says, ours, .. } = self;
        Described { id: id.clone(), section: section.clone(), says: says.clone(), ours: *ours }
    }

    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, &CLAIM)?;
        let id = section.read(&ID)?;
        let paper = section.get(&PAPER)?;
        let Some(measured) = section.item(&JUDGED) else { return Err(section.missing(&JUDGED)) };
        let number = Number::read(measured)?;
        let accept = match (section.item(&ACCEPT), number.natural_range()) {
            (Some(item), _) => read_range(item)?,
            (None, Some(range)) => range,
            (None, None) => return Err(section.missing(&ACCEPT)),
        };
        let widest = section.get(&WIDEST)?;
        let claim = Self {
            id,
            section: section.read(&SECTION)?,
            says: section.read(&SAYS)?,
            paper,
            number,
            accept,
            widest,
            why: section.read(&WHY)?,
            deviation: section.item(&DEVIATES).map(Deviation::read).transpose()?,
            calibrated: section.read(&CALIBRATED)?,
            ours: section.read(&OURS)?,
            changed: section.get(&CHANGED)?,
        };
        section.finish()?;
        Ok(claim)
    }

    /// True if the measure of the claim leaves out flows that never finished.
    pub(super) fn is_of_finished_flows(&self) -> bool {
        self.number.is_of_finished_flows()
    }

    /// Judges the claim on the figure's runs.
    pub(super) fn judge(&self, figure: &str, runs: &[Run]) -> Outcome {
        let live = LiveRuns::of(self.number.runs(runs));
        let is_faithful = live.others.is_empty();
        let measured = self.number.of(runs, Seeds::All).filter(|_| is_faithful);
        let spread = spread(runs, |seeds| self.number.of(runs, seeds)).filter(|_| is_faithful);
        let margin = spread.and_then(|spread| spread.margin);
        let vague = measured.and_then(|measured| match self.widest {
            Some(most) => self.vague(most, runs),
            None => self.undecided(measured, margin?),
        });
        // A number can be missing because the run with which another run is compared is not faithful. So the claim
        // counts as not measured if its number is missing and any run of the figure is not faithful.
        let was_measured = vague.is_none() && (measured.is_some() || !runs.iter().any(Run::is_unfaithful));
        let (least, most) = self.accept;
        Outcome {
            claim: format!("{figure}/{}", self.id),
            section: self.section.clone(),
            says: self.says.clone(),
            paper: self.paper,
            measured,
            spread,
            samples: self.number.fewest_samples(runs),
            remark: live.remark().or(vague).or_else(|| self.number.remark(runs)),
            live: (live != LiveRuns::default()).then_some(live),
            accept: self.accept,
            why: self.why.clone(),
            deviation: self.deviation.clone(),
            calibrated: self.calibrated,
            ours: self.ours,
            changed: self.changed.clone(),
            ok: was_measured.then(|| measured.is_some_and(|measured| (least..=most).contains(&measured))),
        }
    }

    /// Returns an error if no cell records the quantity that the claim judges. The error points to `item`, the claim's
    /// entry in the experiment's text.
    pub(super) fn check_recorded(&self, item: &Item, records: &[Record]) -> Result<(), Problem> {
        self.number.check_recorded(item, records)
    }

    /// The reason why the number is too uncertain; `None` if it is certain enough. If the number combines several
    /// points of the sweeps, each point must be certain enough: it must have a 95% interval over seeds with a
    /// half-width of at most `most`.
    fn vague(&self, most: f64, runs: &[Run]) -> Option<String> {
        match self.number.widest_margin(runs) {
            None => Some("no confidence interval: at least two seeds must give a number".to_owned()),
            Some(margin) if margin > most => {
                let (margin, most) = (shown_margin(margin), shown(most));
                Some(format!("the 95% interval over seeds is ±{margin}, but at most ±{most} is allowed"))
            }
            Some(_) => None,
        }
    }

    /// The reason why the interval leaves open whether the claim holds; `None` if it does not. `margin` is the half-width
    /// of the 95% interval over seeds. Like [`vague`](Self::vague), but for a claim that does not limit the interval.
    fn undecided(&self, measured: f64, margin: f64) -> Option<String> {
        let (least, most) = self.accept;
        let bound = [least, most].into_iter().find(|bound| (measured - bound).abs() < margin)?;
        let of_range =
            Some(most - least).filter(|width| *width <= measured.abs()).map(|width| OF_RANGE * width);
        let decides = (OF_NUMBER * measured.abs()).max(of_range.unwrap_or(0.0));
        (margin > decides).then(|| {
            let [margin, decides] = [margin, decides].map(shown_margin);
            let bound = shown(bound);
            format!("the 95% interval over seeds (±{margin}) contains the bound {bound}, so that at most ±{decides} is allowed")
        })
    }

    /// Returns an error if the figure or the claim that shows the cause of a deviation does not exist. `exists` is true
    /// for the name of an existing one.
    pub(super) fn check_deviation(&self, item: &Item, exists: impl Fn(&str) -> bool) -> Result<(), Problem> {
        match &self.deviation {
            Some(deviation) if !exists(&deviation.shown_by) => {
                let what = format!(
                    "`shown_by` of the claim `{}` names `{}`, but no figure or claim has this name",
                    self.id, deviation.shown_by
                );
                let hint = "name a figure such as `r2c2/fig10-rules`, one of its claims (`r2c2/fig10-rules/ideal-pfq`), \
                            or the file of a figure in the same folder"
                    .to_owned();
                Err(Problem::at(&item.at, Cause::OutOfRange { what, hint }))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the claim names a label that no run of the figure has, because the claim could never be
    /// measured.
    pub(super) fn check(&self, item: &Item, runs: &[Run]) -> Result<(), Problem> {
        for (sweep, label) in self.number.labels() {
            let known = labels_of(runs, &sweep);
            if !known.contains(&label) {
                let cause = Cause::UnknownName { what: "label", name: label, known };
                return Err(Problem::at(&item.at, cause));
            }
        }
        Ok(())
    }
}

fn read_range(item: &Item) -> Result<(f64, f64), Problem> {
    let wrong = || {
        let what = "a range must be two numbers, the smaller first".to_owned();
        Problem::at(&item.at, Cause::OutOfRange { what, hint: "for example: [2.0, 5.0]".to_owned() })
    };
    let bound = |item: &Item| match item.value {
        Value::Float(number) => Ok(number),
        Value::Integer(number) => Ok(number as f64),
        _ => Err(wrong()),
    };
    match list(item)? {
        [least, most] => match (bound(least)?, bound(most)?) {
            (least, most) if least <= most => Ok((least, most)),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Document;
    use crate::figure::runs::{Data, SEED};
    use crate::run::records::{FlowRow, Records};

    /// A claim about the reduction of the mean FCT at two loads. `keys` and `measure` are further keys of the claim and
    /// of its measure.
    fn claim(measure: &str, keys: &str) -> Claim {
        let text = format!(
            "[claim]\nid = \"a\"\nsection = \"1\"\nsays = \"\"\nwhy = \"\"\naccept = [0, 0.5]\n{keys}\n\
             measure = {{ of = \"fct\", reduction = [\"A\", \"B\"], over = {{ load = [\"1\", \"2\"] }}, take = \"most\", \
             at = {{ engine = \"live\" }}, {measure} }}\n"
        );
        let document = Document::parse("test.toml", text, "".into()).expect("TOML");
        Claim::read(document.root.get("claim").expect("a claim")).expect("a claim that can be judged")
    }

    /// A run with a single flow, whose completion time is `fct` microseconds. The run is live if it has a verdict.
    fn run(labels: [&str; 4], fct: f64, verdict: Option<&str>) -> Run {
        let [load, engine, scheme, seed] = labels;
        let labels = [("load", load), ("engine", engine), ("scheme", scheme), (SEED, seed)];
        let labels = labels.map(|(sweep, label)| (sweep.to_owned(), label.to_owned())).into();
        let flow = FlowRow { size: 1, fct_us: Some(fct), ..FlowRow::default() };
        let verdict = verdict.map(str::to_owned);
        Run { labels, data: Data::Records(Records { flows: vec![flow], verdict, ..Records::default() }) }
    }

    /// Runs of the schemes A and B with two seeds. Each element of `of` has the completion times of A's flow, in us,
    /// for both seeds. The elements are, in this order, for live runs at loads 1 and 2, and for the packet engine at
    /// loads 1 and 2. B's flows take 10 us. `verdict` is the verdict on one live run of B.
    fn runs(of: [[f64; 2]; 4], verdict: &str) -> Vec<Run> {
        let places = [("1", "live"), ("2", "live"), ("1", "packet"), ("2", "packet")];
        let mut runs = Vec::new();
        for ((load, engine), of) in places.into_iter().zip(of) {
            for (seed, fct) in ["1", "2"].into_iter().zip(of) {
                let verdict = (engine == "live").then_some("faithful");
                runs.push(run([load, engine, "A", seed], fct, verdict));
                runs.push(run([load, engine, "B", seed], 10.0, verdict));
            }
        }
        if let Data::Records(records) = &mut runs[3].data {
            records.verdict = Some(verdict.to_owned());
        }
        runs
    }

    #[test]
    fn a_claim_may_be_about_how_far_two_engines_are_apart() {
        let far = claim("difference_to = { engine = \"packet\" }", "");
        let runs = runs([[8.0, 8.0], [9.0, 9.0], [7.0, 7.0], [6.0, 6.0]], "faithful");
        let outcome = far.judge("figure", &runs);
        // The reductions are 20% and 10% in the live runs, and 30% and 40% in the packet engine: the largest difference
        // is 30 percentage points, at load 2.
        assert!(outcome.measured.is_some_and(|far| (far - 0.3).abs() < 1e-12), "{outcome:?}");
        assert_eq!((outcome.ok, outcome.verdict(), outcome.samples), (Some(true), "holds", Some(1)));
        assert_eq!(outcome.live, Some(LiveRuns { faithful: 8, others: Vec::new() }));
        let labels: Vec<_> = far.number.labels().collect();
        assert!(labels.contains(&("engine".to_owned(), "packet".to_owned())), "{labels:?}");
        assert!(claim("", "").judge("figure", &runs).measured.is_some_and(|most| (most - 0.2).abs() < 1e-12));
    }

    #[test]
    fn the_comparison_of_another_statistic_is_subtracted() {
        let runs = runs([[8.0, 8.0], [9.0, 9.0], [7.0, 7.0], [6.0, 6.0]], "faithful");
        let measured = |beyond: &str| claim(beyond, "").judge("figure", &runs).measured.expect("a number");
        // Each run has one flow. So its largest completion time is also its mean, and both schemes have the same number
        // of flows.
        for (stat, expected) in [("max", 0.0), ("count", 0.2)] {
            let number = measured(&format!("beyond_stat = \"{stat}\""));
            assert!((number - expected).abs() < 1e-12, "{stat}: {number}");
        }
    }

    #[test]
    fn a_claim_about_a_run_that_was_not_faithful_is_not_measured() {
        let runs = runs([[8.0; 2], [9.0; 2], [7.0; 2], [6.0; 2]], "dilate to 2");
        let outcome = claim("", "").judge("figure", &runs);
        assert_eq!((outcome.measured, outcome.spread, outcome.verdict()), (None, None, "not measured"));
        let others = vec!["1, live, B, 2: dilate to 2".to_owned()];
        assert_eq!(outcome.live, Some(LiveRuns { faithful: 7, others }));
        assert_eq!(outcome.json("quick")["live"]["faithful"], 7);
        assert!(outcome.remark.is_some_and(|text| text.starts_with("1 of 8 live runs were not faithful")));
    }

    #[test]
    fn a_number_whose_seeds_are_far_apart_is_shown_and_measures_nothing() {
        let narrow = claim("", "widest = 0.1");
        let close = narrow.judge("figure", &runs([[8.0, 8.1], [9.0; 2], [7.0; 2], [6.0; 2]], "faithful"));
        assert_eq!((close.ok, close.remark), (Some(true), None));
        // At load 1, the reductions of the two seeds are 5 percentage points apart, which gives ±32 points by Student's
        // t. The number comes from load 2, where both seeds agree.
        let far = runs([[9.0, 9.5], [8.0; 2], [7.0; 2], [6.0; 2]], "faithful");
        let outcome = narrow.judge("figure", &far);
        assert_eq!((outcome.ok, outcome.verdict()), (None, "not measured"));
        assert!(outcome.measured.is_some_and(|most| (most - 0.2).abs() < 1e-12));
        assert!(outcome.remark.is_some_and(|text| text.contains("±0.32")), "the remark has the interval");
        assert_eq!(claim("", "").judge("figure", &far).ok, Some(true));
        let one_seed: Vec<Run> = far.into_iter().filter(|run| run.label(SEED) == Some("1")).collect();
        let outcome = narrow.judge("figure", &one_seed);
        assert_eq!(
            (outcome.ok, outcome.remark.as_deref()),
            (None, Some("no confidence interval: at least two seeds must give a number"))
        );
    }

    #[test]
    fn an_interval_that_contains_a_bound_measures_nothing_unless_it_is_short() {
        let judged = |of: [f64; 2]| claim("", "").judge("figure", &runs([of; 4], "faithful"));
        // Reductions by 0.8 to 0.78, by 0.6 to 0.58 (± 0.13), and by 0.5 to 0.498 (± 0.013); 0.5 is the bound. A fifth
        // of the range, 0.1, is less than 0.13.
        assert_eq!(
            [[2.0, 2.2], [4.0, 4.2], [5.0, 5.02]].map(|of| judged(of).ok),
            [Some(false), None, Some(true)]
        );
        let remark = judged([4.0, 4.2]).remark.expect("a reason");
        assert!(remark.contains("±0.13) contains the bound 0.5, so that at most ±0.1 is"), "{remark}");
        // Reductions by 0.45 and 0.44 (± 0.064) are more than 5% apart. The range is wider than they are.
        assert_eq!(judged([5.5, 5.6]).ok, None);
        // Reductions by 0.52 and 0.51 (± 0.064) are more than 5% apart, and less than a fifth of the range, 0.1.
        assert_eq!(judged([4.8, 4.9]).ok, Some(false));
        assert_eq!(
            claim("", "widest = 0.2").judge("figure", &runs([[4.0, 4.2]; 4], "faithful")).ok,
            Some(false)
        );
    }
}
