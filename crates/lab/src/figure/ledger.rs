//! The ledger (`papers/ledger.json`): the results of every claim, with a new entry whenever results change. So no
//! reproducible result changes unnoticed. If a figure's results vary from run to run, changes of measured numbers alone
//! make no entry.

use super::claim::{Claim, NOT_MEASURED, Outcome};
use super::reproduce::{Reproduced, Scale};
use crate::Error;
use raddle_records::write_file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The ledger that comes with the program.
const BUILTIN: &str = include_str!("../../../../papers/ledger.json");

/// The version of the ledger's format. A ledger of any other version is refused.
const SCHEMA: u32 = 1;

/// Two numbers count as equal if their difference is at most this share of the larger absolute value. Earlier versions
/// moved the last digit of some numbers when they read and wrote a ledger.
const SAME: f64 = 1e-12;

/// Results of figures. Entries for the same figure and scale are in the order in which they were made.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Ledger {
    schema: u32,
    results: Vec<Entry>,
}

/// The results of one reproduction of a figure.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Entry {
    /// Name of the figure, with its paper: `r2c2/fig10`.
    pub figure: String,
    /// Name of the scale: `quick` or `full`.
    pub scale: String,
    /// Digest of the figure's runs and computed numbers.
    pub digest: String,
    /// The commit of the repository that contains the ledger, as `git describe` names it; `None` outside a git
    /// repository.
    pub commit: Option<String>,
    /// Time that the figure took, in seconds.
    pub seconds: f64,
    /// The figure's claims, in the order of the figure's file.
    pub claims: Vec<Judged>,
}

/// A claim and its result.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
pub struct Judged {
    /// The claim's name within the figure.
    pub id: String,
    /// The paper's number, if the paper gives a number.
    pub paper: Option<f64>,
    /// The measured number, if there is one.
    pub measured: Option<f64>,
    /// Half the width of the 95% interval over seeds; `None` if there is no interval.
    pub margin95: Option<f64>,
    /// The range in which the claim holds, both bounds included; `None` for a missing bound.
    pub accept: [Option<f64>; 2],
    /// The verdict, as [`Outcome::verdict`] names it.
    pub verdict: String,
}

impl Judged {
    fn of(outcome: &Outcome) -> Self {
        let number = |number: Option<f64>| number.filter(|number| number.is_finite());
        Self {
            id: outcome.claim.rsplit('/').next().unwrap_or_default().to_owned(),
            paper: number(outcome.paper),
            measured: number(outcome.measured),
            margin95: number(outcome.spread.and_then(|spread| spread.margin)),
            accept: bounds(outcome.accept),
            verdict: outcome.verdict().to_owned(),
        }
    }

    /// Replaces the verdict by `not measured` if the interval leaves open whether the claim holds. Results can be older
    /// than this rule. The verdict stays if the claim has another range today.
    fn judge_anew(&mut self, claim: &Claim) {
        if self.accept == bounds(claim.accept()) && !claim.is_decided(self.measured, self.margin95) {
            NOT_MEASURED.clone_into(&mut self.verdict);
        }
    }

    /// Replaces the verdict by the verdict that the same number has with the marks of the claim today. A deviation counts
    /// only if `is_shown` is true for what shows its cause. The verdict stays if the claim was not measured, or if
    /// the claim has another range today.
    fn mark_anew(&mut self, claim: &Claim, is_shown: impl Fn(&str) -> bool) {
        self.judge_anew(claim);
        let ok = match &*self.verdict {
            "holds" | "calibrated" => true,
            "deviates" | "FAILS" => false,
            _ => return,
        };
        if self.accept == bounds(claim.accept()) {
            claim.verdict(ok, is_shown).clone_into(&mut self.verdict);
        }
    }
}

impl Entry {
    fn of(figure: &Reproduced, scale: Scale, commit: Option<&str>) -> Self {
        Self {
            figure: figure.name.clone(),
            scale: scale.name().to_owned(),
            digest: format!("{:032x}", figure.digest),
            commit: commit.map(str::to_owned),
            seconds: (figure.seconds * 10.0).round() / 10.0,
            claims: figure.outcomes.iter().map(Judged::of).collect(),
        }
    }

    /// The differences between these results and the newer results `now`, one sentence for each. Measured numbers and
    /// digests are compared only if `repeats` is true, that is, if the figure's results are reproducible. Even then, a
    /// number is compared only if the verdict on its claim is the same as before, and the digests are compared only if
    /// no other difference was found.
    fn moved_to(&self, now: &Self, repeats: bool) -> Vec<String> {
        let name = &self.figure;
        let mut moved = Vec::new();
        let mut left: Vec<&Judged> = self.claims.iter().collect();
        for claim in &now.claims {
            let id = &claim.id;
            let Some(at) = left.iter().position(|was| was.id == *id) else {
                moved.push(format!("{name}/{id} is new: {}", claim.verdict));
                continue;
            };
            let was = left.remove(at);
            let is_same = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= SAME * a.abs().max(b.abs()),
                _ => a.is_none() == b.is_none(),
            };
            if !(0..2).all(|bound| is_same(claim.accept[bound], was.accept[bound])) {
                let [is, was] = [claim.accept, was.accept].map(range);
                moved.push(format!("the accepted range of {name}/{id} is now {is}, and was {was} earlier"));
            }
            if claim.verdict != was.verdict {
                moved.push(format!("{name}/{id}: {}, was: {}", claim.verdict, was.verdict));
            } else if repeats && !is_same(claim.measured, was.measured) {
                let shown =
                    |number: Option<f64>| number.map_or("nothing".to_owned(), |number| number.to_string());
                let [is, was] = [claim.measured, was.measured].map(shown);
                moved.push(format!("the measured number of {name}/{id} changed from {was} to {is}"));
            }
        }
        moved.extend(left.iter().map(|gone| format!("{name}/{} no longer exists", gone.id)));
        if moved.is_empty() && repeats && self.digest != now.digest {
            moved.push(format!(
                "the digest of {name} changed from {} to {}, and the claims of {name} are unchanged",
                self.digest, now.digest
            ));
        }
        moved
    }
}

/// The bounds of a range as the ledger has them: `None` for a missing bound.
pub(super) fn bounds((least, most): (f64, f64)) -> [Option<f64>; 2] {
    [least, most].map(|bound| bound.is_finite().then_some(bound))
}

/// A range in words.
fn range([least, most]: [Option<f64>; 2]) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any number".to_owned(),
    }
}

/// The differences between results and the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// Differences that were found in figures whose results are reproducible, one sentence for each.
    pub results: Vec<String>,
    /// Differences that were found in figures that run live or measure time, one sentence for each. The results of such
    /// figures vary from run to run.
    pub measured: Vec<String>,
}

impl Ledger {
    /// The ledger that is embedded in the program.
    ///
    /// # Errors
    /// If the text is not a valid ledger.
    pub fn builtin() -> Result<Self, Error> {
        Self::parse(BUILTIN, Path::new("papers/ledger.json"))
    }

    /// Reads the ledger in a file. If there is no file, the ledger is empty.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid ledger.
    pub fn read(path: &Path) -> Result<Self, Error> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self { schema: SCHEMA, results: Vec::new() })
            }
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let no_ledger = |why: String| Error::Usage {
            what: format!("{} is not a ledger of claims: {why}", path.display()),
            hint: "name a file that `raddle reproduce --record` wrote, or a new file".to_owned(),
        };
        let ledger: Self = serde_json::from_str(text).map_err(|why| no_ledger(why.to_string()))?;
        if ledger.schema != SCHEMA {
            return Err(no_ledger(format!("the schema version must be {SCHEMA} (got {})", ledger.schema)));
        }
        Ok(ledger)
    }

    /// All results. Entries for the same figure and scale are in the order in which they were made.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.results
    }

    /// The latest results of a figure at a scale; `None` if there are no results.
    #[must_use]
    pub fn last(&self, figure: &str, scale: &str) -> Option<&Entry> {
        self.results.iter().rev().find(|entry| entry.figure == figure && entry.scale == scale)
    }

    /// True if the latest results at this scale show a cause that `by` names: this figure has a claim that holds and none
    /// that fails, or this claim of a figure holds.
    fn shows(&self, by: &str, scale: &str) -> bool {
        let holds = |claim: &Judged| matches!(&*claim.verdict, "holds" | "calibrated");
        if let Some(Entry { claims, .. }) = self.last(by, scale) {
            return claims.iter().any(holds) && claims.iter().all(|claim| claim.verdict != "FAILS");
        }
        let Some((figure, id)) = by.rsplit_once('/') else { return false };
        let is_shown = |claim: &Judged| claim.id == id && holds(claim);
        self.last(figure, scale).is_some_and(|figure| figure.claims.iter().any(is_shown))
    }

    /// Gives the results of figures the verdicts that follow from the marks of their claims today. A mark can be younger
    /// than the results, but it changes no number. `claims` are the claims of each figure. A claim deviates only if the
    /// latest results at the same scale show the cause.
    pub(super) fn mark_anew(&mut self, claims: &BTreeMap<String, Vec<Claim>>) {
        let causes = claims.values().flatten().filter_map(Claim::shown_by);
        let at_both = causes.flat_map(|by| [Scale::Quick, Scale::Full].map(|scale| (by, scale.name())));
        let shown: BTreeSet<_> = at_both.filter(|(by, scale)| self.shows(by, scale)).collect();
        self.each_result(claims, |scale, recorded, claim| {
            recorded.mark_anew(claim, |by| shown.contains(&(by, scale)));
        });
    }

    /// Judges the results of figures by the rule of today on intervals. `claims` are the claims of each figure.
    pub(super) fn judge_anew(&mut self, claims: &BTreeMap<String, Vec<Claim>>) {
        self.each_result(claims, |_, recorded, claim| recorded.judge_anew(claim));
    }

    /// Calls `change` for each result on one of these claims, with the scale of the result.
    fn each_result(
        &mut self,
        claims: &BTreeMap<String, Vec<Claim>>,
        change: impl Fn(&str, &mut Judged, &Claim),
    ) {
        for Entry { figure, scale, claims: recorded, .. } in &mut self.results {
            for claim in claims.get(figure).into_iter().flatten() {
                if let Some(recorded) = recorded.iter_mut().find(|recorded| recorded.id == claim.id()) {
                    change(scale, recorded, claim);
                }
            }
        }
    }

    /// True if the latest results in the ledger at this scale have this verdict for the claim, which has a name such as
    /// `r2c2/fig10/tcp-p99`.
    pub(super) fn knows(&self, claim: &str, verdict: &str, scale: Scale) -> bool {
        let Some((figure, id)) = claim.rsplit_once('/') else { return false };
        let entry = self.last(figure, scale.name());
        entry.is_some_and(|entry| entry.claims.iter().any(|was| was.id == id && was.verdict == verdict))
    }

    /// The differences between these results and the latest results in the ledger.
    #[must_use]
    pub fn check(&self, figures: &[Reproduced], scale: Scale) -> Moved {
        let mut moved = Moved::default();
        for figure in figures {
            let now = Entry::of(figure, scale, None);
            let sentences = match self.last(&figure.name, scale.name()) {
                Some(was) => was.moved_to(&now, figure.repeats),
                None => vec![format!("{} is not in the ledger at {} scale", figure.name, scale.name())],
            };
            if figure.repeats { &mut moved.results } else { &mut moved.measured }.extend(sentences);
        }
        moved
    }

    /// Adds the results that differ from the latest results in the ledger. Earlier entries remain.
    pub fn add(&mut self, figures: &[Reproduced], scale: Scale, commit: Option<&str>) {
        for figure in figures {
            let now = Entry::of(figure, scale, commit);
            let is_known = self
                .last(&figure.name, scale.name())
                .is_some_and(|was| was.moved_to(&now, figure.repeats).is_empty());
            if !is_known {
                self.results.push(now);
            }
        }
        self.results.sort_by(|a, b| (&a.figure, &a.scale).cmp(&(&b.figure, &b.scale)));
    }

    /// Writes the ledger, one claim on each line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let line = |claim: &Judged| serde_json::to_string(claim).map(|line| format!("    {line}"));
        let entry = |entry: &Entry| -> serde_json::Result<String> {
            let head = Entry { claims: Vec::new(), ..entry.clone() };
            let head = serde_json::to_string(&head)?;
            let claims = entry.claims.iter().map(line).collect::<Result<Vec<_>, _>>()?;
            let claims =
                if claims.is_empty() { String::new() } else { format!("\n{}\n  ", claims.join(",\n")) };
            Ok(format!("  {}{claims}]}}", head.trim_end_matches("]}")))
        };
        let entries = self.results.iter().map(entry).collect::<Result<Vec<_>, _>>();
        let entries = entries.map_err(|why| Error::Run(why.to_string()))?.join(",\n");
        let text = format!("{{\"schema\":{SCHEMA},\"results\":[\n{entries}\n]}}\n");
        write_file(path, text.as_bytes()).map_err(Error::from)
    }
}

/// The commit of the repository that contains `file`, as `git describe` names it; `None` if there is no git or no
/// repository.
#[must_use]
pub fn commit(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    let said = git.output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::read_claims;
    use super::*;
    use crate::experiment::Document;

    /// A figure with one claim, whose number is `measured`. The claim holds from 0 to 5.
    fn figure(measured: f64, repeats: bool) -> Reproduced {
        let outcome = Outcome {
            claim: "test/fig1/a".to_owned(),
            section: String::new(),
            says: String::new(),
            paper: Some(0.1),
            measured: Some(measured),
            spread: None,
            samples: Some(100),
            remark: None,
            live: None,
            accept: (0.0, 5.0),
            why: String::new(),
            deviation: None,
            calibrated: false,
            ours: false,
            changed: None,
            ok: Some((0.0..=5.0).contains(&measured)),
        };
        Reproduced {
            name: "test/fig1".to_owned(),
            title: String::new(),
            folder: "".into(),
            outcomes: vec![outcome],
            digest: measured.to_bits().into(),
            repeats,
            seconds: 1.23,
        }
    }

    fn ledger(figures: &[Reproduced]) -> Ledger {
        let mut ledger = Ledger { schema: SCHEMA, results: Vec::new() };
        ledger.add(figures, Scale::Quick, Some("abc"));
        ledger
    }

    #[test]
    fn recorded_results_have_the_marks_of_today() {
        let marked_with = |margin: Option<f64>, recorded: &str, most: f64, mark: &str, shown: &[&str]| {
            let text = format!(
                "[[claim]]\nid = \"a\"\nsection = \"1\"\nsays = \"\"\nwhy = \"\"\naccept = [0, 0.5]\n{mark}\n\
                 measure = {{ of = \"fct\", stat = \"mean\" }}\n"
            );
            let document = Document::parse("test.toml", text, "".into()).expect("TOML");
            let mut result = Judged {
                id: "a".to_owned(),
                paper: None,
                measured: Some(0.7),
                margin95: margin,
                accept: [Some(0.0), Some(most)],
                verdict: recorded.to_owned(),
            };
            let claims = read_claims(&document).expect("a claim");
            result.mark_anew(&claims[0], |figure| shown.contains(&figure));
            result.verdict
        };
        let marked =
            |recorded: &str, most, mark: &str, shown: &[&str]| marked_with(None, recorded, most, mark, shown);
        let deviates = "deviates = { cause = \"b\", shown_by = \"p/fig2\" }";
        let shown = &["p/fig2"];
        assert_eq!(marked("FAILS", 0.5, deviates, shown), "deviates");
        assert_eq!(marked("FAILS", 0.5, deviates, &[]), "FAILS", "no result shows the cause");
        assert_eq!(marked("deviates", 0.5, deviates, &[]), "FAILS", "no result shows the cause");
        assert_eq!(marked("deviates", 0.5, "", shown), "FAILS", "the mark is gone");
        assert_eq!(marked("FAILS", 0.6, deviates, shown), "FAILS", "the range was another one");
        assert_eq!(marked("holds", 0.5, deviates, shown), "holds");
        assert_eq!(marked("holds", 0.5, "calibrated = true", shown), "calibrated");
        assert_eq!(marked("not measured", 0.5, deviates, shown), "not measured");
        let with_interval = |margin: f64, mark: &str| marked_with(Some(margin), "FAILS", 0.5, mark, shown);
        assert_eq!([0.1, 0.3].map(|margin| with_interval(margin, "")), ["FAILS", "not measured"]);
        assert_eq!(with_interval(0.3, deviates), "not measured", "the rule comes before the mark");
        assert_eq!(with_interval(0.3, "widest = 1.0"), "FAILS", "the claim has a limit of its own");
    }

    #[test]
    fn a_cause_is_shown_by_a_figure_none_of_whose_claims_fails_or_by_a_claim_that_holds() {
        let shown = |measured: f64, by: &str| ledger(&[figure(measured, true)]).shows(by, "quick");
        assert!(shown(1.0, "test/fig1"));
        assert!(shown(1.0, "test/fig1/a"));
        assert!(!shown(6.0, "test/fig1"), "a claim of the figure fails");
        assert!(!shown(6.0, "test/fig1/a"), "the claim fails");
        assert!(!shown(1.0, "test/fig1/b") && !shown(1.0, "test/fig2"), "there is no result");
        let mut unmeasured = figure(1.0, true);
        unmeasured.outcomes[0].ok = None;
        assert!(!ledger(&[unmeasured]).shows("test/fig1", "quick"), "nothing was measured");
    }

    #[test]
    fn nothing_moves_unnoticed() {
        let ledger = ledger(&[figure(1.0 / 3.0, true)]);
        let moved = |figure: Reproduced, scale| ledger.check(&[figure], scale);
        assert_eq!(moved(figure(1.0 / 3.0, true), Scale::Quick), Moved::default());
        let full = moved(figure(1.0 / 3.0, true), Scale::Full).results;
        assert_eq!(full, ["test/fig1 is not in the ledger at full scale"]);
        assert_eq!(
            moved(figure(0.25, true), Scale::Quick).results,
            ["the measured number of test/fig1/a changed from 0.3333333333333333 to 0.25"]
        );
        assert_eq!(moved(figure(6.0, true), Scale::Quick).results, ["test/fig1/a: FAILS, was: holds"]);
        let digest = Reproduced { digest: 7, ..figure(1.0 / 3.0, true) };
        assert_eq!(moved(digest, Scale::Quick).results.len(), 1);
        let mut wider = figure(1.0 / 3.0, true);
        wider.outcomes[0].accept.1 = f64::INFINITY;
        assert_eq!(
            moved(wider, Scale::Quick).results,
            ["the accepted range of test/fig1/a is now at least 0, and was 0 to 5 earlier"]
        );
        let gone = Reproduced { outcomes: Vec::new(), ..figure(1.0 / 3.0, true) };
        assert_eq!(moved(gone, Scale::Quick).results, ["test/fig1/a no longer exists"]);
    }

    #[test]
    fn what_differs_by_itself_is_told_and_counts_only_by_its_verdict() {
        let ledger = ledger(&[figure(1.0, false)]);
        assert_eq!(ledger.check(&[figure(2.0, false)], Scale::Quick), Moved::default());
        let moved = ledger.check(&[figure(6.0, false)], Scale::Quick);
        assert_eq!(
            (moved.results.len(), &moved.measured[..]),
            (0, &["test/fig1/a: FAILS, was: holds".to_owned()][..])
        );
    }

    #[test]
    fn earlier_results_stay_and_a_ledger_reads_what_it_wrote() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.json");
        let mut ledger = Ledger::read(&path).expect("an empty ledger");
        for measured in [1.0 / 3.0, 6.0, 6.0] {
            ledger.add(&[figure(measured, true)], Scale::Quick, None);
        }
        let none = Reproduced { name: "test/fig0".to_owned(), outcomes: Vec::new(), ..figure(1.0, true) };
        ledger.add(&[none], Scale::Full, None);
        assert_eq!(
            ledger.entries().iter().map(|entry| &*entry.figure).collect::<Vec<_>>(),
            ["test/fig0", "test/fig1", "test/fig1"]
        );
        ledger.write(&path).expect("written");
        assert_eq!(Ledger::read(&path).expect("a ledger"), ledger);
        assert_eq!(ledger.last("test/fig1", "quick").map(|entry| &*entry.claims[0].verdict), Some("FAILS"));
    }

    #[test]
    fn the_shipped_ledger_stays_the_same_if_it_is_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.json");
        Ledger::builtin().expect("the shipped ledger").write(&path).expect("written");
        let written = fs::read_to_string(&path).expect("a ledger");
        let moved = written.lines().zip(BUILTIN.lines()).filter(|(is, was)| is != was);
        assert_eq!(moved.collect::<Vec<_>>(), []);
        assert_eq!(written.len(), BUILTIN.len());
    }

    #[test]
    fn another_schema_is_refused() {
        let error =
            Ledger::parse("{\"schema\": 2, \"results\": []}", Path::new("l.json")).expect_err("a newer one");
        assert_eq!(
            error.to_string(),
            "l.json is not a ledger of claims: the schema version must be 1 (got 2)"
        );
    }
}
