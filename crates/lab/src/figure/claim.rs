//! Claims: what a paper says, how it is measured, and where it holds.

use super::measure::{Labels, Measure, Run, labels_of, read_labels};
use crate::experiment::{Cause, Item, Problem, Section, Value, list};
use serde_json::json;

/// One sentence of a paper, as data.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    id: String,
    section: String,
    says: String,
    paper: Option<f64>,
    measure: Measure,
    at: Labels,
    kind: Kind,
    accept: (f64, f64),
    why: String,
    known_deviation: Option<String>,
}

/// How numbers of runs become the number that is judged.
#[derive(Debug, Clone)]
enum Kind {
    /// The number itself.
    Plain,
    /// The first label's over the second's, along a sweep.
    Ratio { sweep: String, labels: [String; 2] },
    /// The least ratio between neighbours in this order, which holds if it is at least 1.
    Order { sweep: String, labels: Vec<String> },
}

/// How a claim fared.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Paper, figure and claim: `r2c2/fig10/tcp-p99`.
    pub claim: String,
    /// Section of the paper.
    pub section: String,
    /// What the paper says.
    pub says: String,
    /// The paper's number, if it gives one.
    pub paper: Option<f64>,
    /// Ours; `None` if nothing was there to measure.
    pub measured: Option<f64>,
    /// Where the claim holds.
    pub accept: (f64, f64),
    /// Why there.
    pub why: String,
    /// Why the claim is known not to hold, if it is.
    pub known_deviation: Option<String>,
    /// Whether it holds.
    pub ok: bool,
}

impl Outcome {
    /// The outcome as JSON.
    #[must_use]
    pub fn json(&self, scale: &str) -> serde_json::Value {
        let bound = |x: f64| if x.is_finite() { json!(x) } else { json!(null) };
        json!({
            "claim": self.claim, "section": self.section, "says": self.says, "paper": self.paper,
            "measured": self.measured, "accept": [bound(self.accept.0), bound(self.accept.1)], "ok": self.ok,
            "known_deviation": self.known_deviation.is_some(), "why": self.why, "scale": scale,
        })
    }

    /// Whether the claim fails and nobody knew.
    #[must_use]
    pub fn is_unexpected(&self) -> bool {
        !self.ok && self.known_deviation.is_none()
    }

    /// `holds`, `deviates` where that is known, or `FAILS`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.ok, &self.known_deviation) {
            (true, _) => "holds",
            (false, Some(_)) => "deviates",
            (false, None) => "FAILS",
        }
    }
}

fn names(section: &mut Section<'_>, key: &str) -> Result<Option<Vec<String>>, Problem> {
    section.optional::<Vec<String>>(key)
}

impl Claim {
    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, "claim")?;
        let id = section.required("id")?;
        let paper = section.optional("paper")?;
        let Some(measured) = section.item("measure") else {
            return Err(section.missing("measure", "{ of = \"fct\", stat = \"p99\" }"));
        };
        let (measure, at, kind) = read_measure(measured)?;
        let accept = match (section.item("accept"), &kind) {
            (Some(item), _) => read_range(item)?,
            (None, Kind::Order { .. }) => (1.0, f64::INFINITY),
            (None, _) => return Err(section.missing("accept", "[2.0, 5.0]")),
        };
        let claim = Self {
            id,
            section: section.required("section")?,
            says: section.required("says")?,
            paper,
            measure,
            at,
            kind,
            accept,
            why: section.required("why")?,
            known_deviation: section.optional("known_deviation")?,
        };
        section.finish()?;
        Ok(claim)
    }

    /// Judges the claim on the figure's runs.
    pub(super) fn judge(&self, figure: &str, runs: &[Run]) -> Outcome {
        let here: Vec<&Run> = runs.iter().filter(|run| run.is_at(&self.at)).collect();
        let number = |sweep: &str, label: &str| {
            let run = here.iter().find(|run| run.label(sweep) == Some(label))?;
            self.measure.number(run, runs)
        };
        let measured = match &self.kind {
            Kind::Plain => here.first().and_then(|run| self.measure.number(run, runs)),
            Kind::Ratio { sweep, labels: [over, under] } => {
                number(sweep, over).zip(number(sweep, under)).map(|(over, under)| over / under)
            }
            Kind::Order { sweep, labels } => {
                let numbers: Option<Vec<f64>> = labels.iter().map(|label| number(sweep, label)).collect();
                numbers.map(|numbers| {
                    let ratios = numbers.windows(2).map(|pair| pair[0] / pair[1]);
                    // What is no number, such as 0 / 0, is no order.
                    ratios.fold(
                        f64::INFINITY,
                        |least, next| if next < least || next.is_nan() { next } else { least },
                    )
                })
            }
        };
        let (least, most) = self.accept;
        Outcome {
            claim: format!("{figure}/{}", self.id),
            section: self.section.clone(),
            says: self.says.clone(),
            paper: self.paper,
            measured,
            accept: self.accept,
            why: self.why.clone(),
            known_deviation: self.known_deviation.clone(),
            ok: measured.is_some_and(|measured| (least..=most).contains(&measured)),
        }
    }

    /// Refuses labels that no run of the figure has, which would make the claim unmeasurable for ever.
    pub(super) fn check(&self, item: &Item, runs: &[&Run]) -> Result<(), Problem> {
        let asked: Vec<(&str, &str)> = match &self.kind {
            Kind::Plain => Vec::new(),
            Kind::Ratio { sweep, labels } => {
                labels.iter().map(|label| (sweep.as_str(), label.as_str())).collect()
            }
            Kind::Order { sweep, labels } => {
                labels.iter().map(|label| (sweep.as_str(), label.as_str())).collect()
            }
        };
        let at = self.at.iter().chain(&self.measure.against).chain(&self.measure.beyond);
        let at = at.map(|(sweep, label)| (sweep.as_str(), label.as_str()));
        for (sweep, label) in asked.into_iter().chain(at) {
            let known = labels_of(runs, sweep);
            if !known.iter().any(|other| other == label) {
                let cause = Cause::UnknownName { what: "label", name: label.to_owned(), known };
                return Err(Problem::at(&item.at, cause));
            }
        }
        Ok(())
    }
}

fn read_measure(item: &Item) -> Result<(Measure, Labels, Kind), Problem> {
    let mut section = Section::of(item, "claim.measure")?;
    let measure = Measure::read(&mut section)?;
    let at = read_labels(section.item("at"))?;
    let sweep = section.or("by", "scheme".to_owned())?;
    let ratio = names(&mut section, "ratio")?;
    let order = names(&mut section, "order")?;
    let kind = match (ratio, order) {
        (None, None) => Kind::Plain,
        (Some(labels), None) => match <[String; 2]>::try_from(labels) {
            Ok(labels) => Kind::Ratio { sweep, labels },
            Err(_) => {
                return Err(section.contradiction(
                    "ratio",
                    "a ratio is of two labels",
                    "[\"TCP\", \"R2C2\"]",
                ));
            }
        },
        (None, Some(labels)) if labels.len() >= 2 => Kind::Order { sweep, labels },
        (None, Some(_)) => {
            return Err(section.contradiction("order", "an order is of labels", "give at least two"));
        }
        (Some(_), Some(_)) => {
            return Err(section.contradiction("order", "a claim is a ratio or an order", "keep one of them"));
        }
    };
    section.finish()?;
    Ok((measure, at, kind))
}

fn read_range(item: &Item) -> Result<(f64, f64), Problem> {
    let wrong = || {
        let what = "a range is two numbers, the smaller first".to_owned();
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
