//! Claims: what a paper says, how it is measured, and where it holds.

use super::number::Number;
use super::runs::{Run, Seeds, Spread, labels_of, spread};
use crate::experiment::{Cause, Item, Problem, Section, Value, list};
use serde_json::json;

/// One sentence of a paper, as data.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    id: String,
    section: String,
    says: String,
    paper: Option<f64>,
    number: Number,
    accept: (f64, f64),
    why: String,
    deviation: Option<Deviation>,
    calibrated: bool,
}

/// Why a claim is known not to hold. The cause is shown by an experiment, never only asserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The cause, in words.
    pub cause: String,
    /// The figure whose runs show the cause: a name such as `r2c2/fig10-rules`, or the file of a figure of one's own.
    pub shown_by: String,
}

impl Deviation {
    fn read(item: &Item) -> Result<Self, Problem> {
        if !matches!(item.value, Value::Table(_)) {
            let what = "a deviation names its cause and the experiment that shows the cause".to_owned();
            let hint =
                "for example: { cause = \"rates are up to rho old\", shown_by = \"r2c2/fig10-rules\" }";
            return Err(Problem::at(&item.at, Cause::OutOfRange { what, hint: hint.to_owned() }));
        }
        let mut section = Section::of(item, "claim.deviates")?;
        let deviation = Self { cause: section.required("cause")?, shown_by: section.required("shown_by")? };
        section.finish()?;
        Ok(deviation)
    }
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
    /// Ours; `None` if nothing was there to measure. Every number in it is a mean over seeds: a ratio is one of means.
    pub measured: Option<f64>,
    /// How far the same goes when it is computed of each seed alone; `None` of a figure that runs one seed.
    pub spread: Option<Spread>,
    /// What to bear in mind.
    pub remark: Option<String>,
    /// Where the claim holds.
    pub accept: (f64, f64),
    /// Why there.
    pub why: String,
    /// Why the claim is known not to hold, if it is.
    pub deviation: Option<Deviation>,
    /// Whether parameters that the paper does not give were chosen so that this claim holds.
    pub calibrated: bool,
    /// Whether it holds; `None` if it was not measured, because a live run that it is about was not faithful.
    pub ok: Option<bool>,
}

impl Outcome {
    /// The outcome as JSON.
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
            "measured": self.measured, "spread": spread, "remark": self.remark, "accept": [bound(self.accept.0), bound(self.accept.1)], "ok": self.ok,
            "deviates": deviates, "calibrated": self.calibrated, "why": self.why, "scale": scale,
        })
    }

    /// Whether the claim fails and nobody knew.
    #[must_use]
    pub fn is_unexpected(&self) -> bool {
        self.ok == Some(false) && self.deviation.is_none()
    }

    /// `holds` (or `calibrated` where parameters were chosen for it), `deviates` where that is known, or `FAILS`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.ok, &self.deviation) {
            (Some(true), _) if self.calibrated => "calibrated",
            (Some(true), _) => "holds",
            (Some(false), Some(_)) => "deviates",
            (Some(false), None) => "FAILS",
            (None, _) => "not measured",
        }
    }
}

impl Claim {
    /// Its name within the figure, the section of the paper, and the paper's words.
    pub(super) fn words(&self) -> [&str; 3] {
        [&self.id, &self.section, &self.says]
    }

    pub(super) fn read(item: &Item) -> Result<Self, Problem> {
        let mut section = Section::of(item, "claim")?;
        let id = section.required("id")?;
        let paper = section.optional("paper")?;
        let Some(measured) = section.item("measure") else {
            return Err(section.missing("measure", "{ of = \"fct\", stat = \"p99\" }"));
        };
        let number = Number::read(measured)?;
        let accept = match (section.item("accept"), number.natural_range()) {
            (Some(item), _) => read_range(item)?,
            (None, Some(range)) => range,
            (None, None) => return Err(section.missing("accept", "[2.0, 5.0]")),
        };
        let claim = Self {
            id,
            section: section.required("section")?,
            says: section.required("says")?,
            paper,
            number,
            accept,
            why: section.required("why")?,
            deviation: section.item("deviates").map(Deviation::read).transpose()?,
            calibrated: section.or("calibrated", false)?,
        };
        section.finish()?;
        Ok(claim)
    }

    /// Whether a flow that never finished is not in what it is about.
    pub(super) fn is_of_finished_flows(&self) -> bool {
        self.number.is_of_finished_flows()
    }

    /// Judges the claim on the figure's runs.
    pub(super) fn judge(&self, figure: &str, runs: &[Run]) -> Outcome {
        let measured = self.number.of(runs, Seeds::All);
        let was_measured = measured.is_some() || !runs.iter().any(Run::is_unfaithful);
        let (least, most) = self.accept;
        Outcome {
            claim: format!("{figure}/{}", self.id),
            section: self.section.clone(),
            says: self.says.clone(),
            paper: self.paper,
            measured,
            spread: spread(runs, |seeds| self.number.of(runs, seeds)),
            remark: self.number.remark(runs),
            accept: self.accept,
            why: self.why.clone(),
            deviation: self.deviation.clone(),
            calibrated: self.calibrated,
            ok: was_measured.then(|| measured.is_some_and(|measured| (least..=most).contains(&measured))),
        }
    }

    /// Refuses a deviation that no experiment shows; `exists` tells whether there is a figure of a name.
    pub(super) fn check_deviation(&self, item: &Item, exists: impl Fn(&str) -> bool) -> Result<(), Problem> {
        match &self.deviation {
            Some(deviation) if !exists(&deviation.shown_by) => {
                let what =
                    format!("no figure `{}` shows why the claim `{}` deviates", deviation.shown_by, self.id);
                let hint =
                    "name a figure such as `r2c2/fig10-rules`, or a figure's file beside this one".to_owned();
                Err(Problem::at(&item.at, Cause::OutOfRange { what, hint }))
            }
            _ => Ok(()),
        }
    }

    /// Refuses labels that no run of the figure has, which would make the claim unmeasurable for ever.
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
