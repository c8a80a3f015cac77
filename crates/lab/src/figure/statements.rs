//! The statements of the papers' evaluations (`papers/*/statements.toml`), and the verdicts on them.

use super::ledger::{Judged, Ledger};
use super::{Scale, names, shipped_claims};
use crate::Error;
use crate::notation::shown_or_dash;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// For each [`Inventory`]: the name of the paper, the name of the file, and the file's text. `build.rs` writes this
/// list.
const INVENTORIES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/statements.rs"));

/// All statements of a paper's evaluation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The paper's short name, such as `r2c2`.
    pub paper: String,
    /// The day after which a statement is changed only with a note.
    pub frozen: String,
    /// The statements, in the order of the paper's text.
    #[serde(rename = "statement")]
    pub statements: Vec<Statement>,
}

/// One statement in a paper's evaluation that can be true or false on its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The statement's name: its section and a few words. Unique within the inventory.
    pub id: String,
    /// Section of the paper.
    pub section: String,
    /// Figure or table of the paper that shows the statement, if any.
    pub figure: Option<String>,
    /// The kind of statement.
    pub kind: Kind,
    /// The statement in our words.
    pub says: String,
    /// The unit of the statement's numbers, if the file states the unit separately.
    pub unit: Option<String>,
    /// The cases that the statement lists one by one.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The claims that judge the statement, each with its figure: `fig10/tcp-p99`.
    pub claims: Vec<String>,
    /// The part of the statement that no claim judges, if there is one.
    pub missing: Option<String>,
}

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value, a ratio or a bound.
    Number,
    /// A comparison: one scheme or setting is better than another in each case.
    Ordering,
    /// A trend: growth, decline or a crossing.
    Shape,
    /// Time, memory or effort on the machines of the authors.
    Cost,
}

/// The verdict on a statement at a scale. A statement holds only if every part of it was judged at this scale and all
/// of its claims hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The statement holds.
    Holds,
    /// The statement holds, with parameters that were chosen to make it hold.
    Calibrated,
    /// All judged parts hold, and other parts were not judged.
    InPart,
    /// A part does not hold, and the reason is unknown.
    Fails,
    /// A part does not hold, and an experiment shows the reason.
    Deviates,
    /// A part was not measured at this scale, and no measured part fails or deviates.
    NotMeasured,
    /// No claim judges the statement.
    NoClaim,
}

impl Verdict {
    const ALL: [Self; 7] = [
        Self::Holds,
        Self::Calibrated,
        Self::InPart,
        Self::Fails,
        Self::Deviates,
        Self::NotMeasured,
        Self::NoClaim,
    ];

    /// The verdict in at most three words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Calibrated => "calibrated",
            Self::InPart => "holds in part",
            Self::Fails => "fails",
            Self::Deviates => "deviates",
            Self::NotMeasured => "not measured",
            Self::NoClaim => "no claim",
        }
    }
}

impl Statement {
    /// The latest result of each of the statement's claims at a scale; `None` for a claim without results.
    fn judged<'a>(&self, paper: &str, ledger: &'a Ledger, scale: Scale) -> Vec<Option<&'a Judged>> {
        let one = |claim: &String| {
            let (figure, id) = claim.split_once('/')?;
            let entry = ledger.last(&format!("{paper}/{figure}"), scale.name())?;
            entry.claims.iter().find(|judged| judged.id == id)
        };
        self.claims.iter().map(one).collect()
    }

    /// The verdict on the statement, from the ledger's results at a scale.
    #[must_use]
    pub fn verdict(&self, paper: &str, ledger: &Ledger, scale: Scale) -> Verdict {
        let judged = self.judged(paper, ledger, scale);
        let has = |verdict: &str| judged.iter().flatten().any(|judged| judged.verdict == verdict);
        match () {
            () if judged.is_empty() => Verdict::NoClaim,
            () if has("FAILS") => Verdict::Fails,
            () if has("deviates") => Verdict::Deviates,
            () if has("not measured") || judged.contains(&None) => Verdict::NotMeasured,
            () if self.missing.is_some() => Verdict::InPart,
            () if has("calibrated") => Verdict::Calibrated,
            () => Verdict::Holds,
        }
    }
}

/// The inventories of all papers.
///
/// # Errors
/// If an inventory is malformed.
pub fn inventories() -> Result<Vec<Inventory>, Error> {
    let one = |&(paper, _, text): &(&str, &str, &str)| {
        let malformed = |why: toml::de::Error| Error::Usage {
            what: format!("papers/{paper}/statements.toml: {why}"),
            hint: "docs/src/ledger.md describes the format of `statements.toml`".to_owned(),
        };
        toml::from_str(text).map_err(malformed)
    };
    INVENTORIES.iter().map(one).collect()
}

/// The embedded ledger, with the verdicts that follow from the marks of the figures' files today.
///
/// # Errors
/// If the ledger or a figure's file is malformed.
fn ledger() -> Result<Ledger, Error> {
    let mut ledger = Ledger::builtin()?;
    ledger.mark_anew(&shipped_claims(names())?);
    Ok(ledger)
}

/// A statement with its verdict, for lists.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Name of the statement, with its paper: `r2c2/5.2-short-p99`.
    pub statement: String,
    /// Figure or table of the paper, if the statement has one.
    pub figure: Option<String>,
    /// The statement in our words.
    pub says: String,
    /// The claims that judge the statement.
    pub claims: Vec<String>,
    /// The part of the statement that no claim judges.
    pub missing: Option<String>,
    /// The verdict, as [`Verdict::name`] gives it.
    pub verdict: &'static str,
}

/// All statements with their verdicts at full scale.
///
/// # Errors
/// If an inventory or the ledger is malformed.
pub fn listed() -> Result<Vec<Listed>, Error> {
    let ledger = ledger()?;
    let mut listed = Vec::new();
    for Inventory { paper, statements, .. } in inventories()? {
        listed.extend(statements.into_iter().map(|statement| Listed {
            verdict: statement.verdict(&paper, &ledger, Scale::Full).name(),
            statement: format!("{paper}/{}", statement.id),
            figure: statement.figure,
            says: statement.says,
            claims: statement.claims,
            missing: statement.missing,
        }));
    }
    Ok(listed)
}

/// Number of statements with each verdict, in the order of [`Verdict::ALL`], for one or several papers.
fn counts<'a>(
    inventories: impl IntoIterator<Item = &'a Inventory>,
    ledger: &Ledger,
    scale: Scale,
) -> [usize; Verdict::ALL.len()] {
    let mut counts = [0; Verdict::ALL.len()];
    for inventory in inventories {
        for statement in &inventory.statements {
            counts[statement.verdict(&inventory.paper, ledger, scale) as usize] += 1;
        }
    }
    counts
}

/// Sentences that count the statements by their verdicts at full and at quick scale.
///
/// # Errors
/// If an inventory or the ledger is malformed.
pub fn in_a_sentence() -> Result<String, Error> {
    let (inventories, ledger) = (inventories()?, ledger()?);
    let [full, quick] = [Scale::Full, Scale::Quick].map(|scale| counts(&inventories, &ledger, scale));
    let of = |verdict: Verdict| full[verdict as usize];
    let at_quick = |verdict: Verdict| quick[verdict as usize];
    Ok(format!(
        "Raddle lists {} statements of the four papers' evaluations. At full scale, {} statements hold, \
         {} hold in part, {} fail, {} deviate for a reason that we can show, {} are not measured, \
         and {} have no claim. At quick scale, with smaller experiments than in the papers, {} hold, \
         {} hold in part, {} fail, {} deviate, and {} are not measured.",
        full.iter().sum::<usize>(),
        of(Verdict::Holds) + of(Verdict::Calibrated),
        of(Verdict::InPart),
        of(Verdict::Fails),
        of(Verdict::Deviates),
        of(Verdict::NotMeasured),
        of(Verdict::NoClaim),
        at_quick(Verdict::Holds) + at_quick(Verdict::Calibrated),
        at_quick(Verdict::InPart),
        at_quick(Verdict::Fails),
        at_quick(Verdict::Deviates),
        at_quick(Verdict::NotMeasured),
    ))
}

/// The book's page of all statements, with the papers' numbers and ours.
///
/// # Errors
/// If an inventory or the ledger is malformed.
pub fn page() -> Result<String, Error> {
    let (inventories, ledger) = (inventories()?, ledger()?);
    let mut text = format!(
        "# What the papers say, and what holds\n\nThis page is generated from \
             `papers/*/statements.toml` and `papers/ledger.json`. \
             [Figures](figures.md) describes how Raddle judges a claim.\n\n{}\n\nA statement holds only if \
             every part of it was judged at full scale and holds. If there is no result at full scale, the \
             result at quick scale is shown in parentheses.\n\n",
        in_a_sentence()?
    );
    let heads = Verdict::ALL.map(Verdict::name).join(" | ");
    let rule = "|---".repeat(Verdict::ALL.len() + 2);
    write_line(&mut text, &format!("| paper | statements | {heads} |\n{rule}|"));
    for inventory in &inventories {
        let counts = counts([inventory], &ledger, Scale::Full);
        let shown = counts.map(|count| count.to_string()).join(" | ");
        let paper = &inventory.paper;
        write_line(
            &mut text,
            &format!("| [{paper}](#{paper}) | {} | {shown} |", counts.iter().sum::<usize>()),
        );
    }
    for inventory in &inventories {
        write_line(&mut text, &format!("\n## {}\n", inventory.paper));
        write_line(
            &mut text,
            "| section | figure | the paper says | claim: paper, measured | verdict |\n|---|---|---|---|---|",
        );
        for statement in &inventory.statements {
            write_line(&mut text, &row(statement, &inventory.paper, &ledger));
        }
    }
    Ok(text)
}

fn row(statement: &Statement, paper: &str, ledger: &Ledger) -> String {
    let full = statement.judged(paper, ledger, Scale::Full);
    let quick = statement.judged(paper, ledger, Scale::Quick);
    let numbers =
        |judged: &Judged| format!("{}, {}", shown_or_dash(judged.paper), shown_or_dash(judged.measured));
    let results = statement.claims.iter().zip(full.iter().zip(quick));
    let mut claims: Vec<String> = results
        .map(|(claim, results)| match results {
            (Some(full), _) => format!("`{claim}`: {} {}", numbers(full), full.verdict),
            (None, Some(quick)) => format!("`{claim}`: ({} {})", numbers(quick), quick.verdict),
            (None, None) => format!("`{claim}`: never measured"),
        })
        .collect();
    claims.extend(statement.missing.iter().map(|missing| format!("missing: {missing}")));
    let verdict = statement.verdict(paper, ledger, Scale::Full).name();
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let figure = statement.figure.as_deref().unwrap_or("");
    let [says, claims] = [&*statement.says, &*claims.join("<br>")].map(cell);
    format!("| {} | {figure} | {says} | {claims} | {verdict} |", statement.section)
}

fn write_line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string never fails");
}

#[cfg(test)]
mod tests {
    use super::super::{Described, describe};
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_paper_has_an_inventory_whose_claims_exist() {
        let inventories = inventories().expect("well-formed inventories");
        let papers: BTreeSet<&str> = inventories.iter().map(|inventory| &*inventory.paper).collect();
        let all = names();
        let with_figures =
            all.iter().filter_map(|name| name.split_once('/')).map(|(paper, _)| paper).collect();
        assert_eq!(papers, with_figures);
        for Inventory { paper, statements, .. } in &inventories {
            let ids: BTreeSet<&str> = statements.iter().map(|statement| &*statement.id).collect();
            assert_eq!(ids.len(), statements.len(), "{paper}: an id occurs twice");
            for Statement { id, says, claims, .. } in statements {
                assert!(!says.trim().is_empty(), "{paper}/{id} says nothing");
                for claim in claims {
                    let (figure, name) = claim.split_once('/').expect("figure and claim");
                    let about = describe(&format!("{paper}/{figure}")).expect("a figure's file");
                    let about = about.unwrap_or_else(|| panic!("{paper}/{id}: no figure `{figure}`"));
                    let exists = about.claims.iter().any(|claim| claim.id == name);
                    assert!(exists, "{paper}/{id}: no claim `{claim}`");
                }
            }
        }
    }

    #[test]
    fn every_claim_judges_a_statement_or_is_ours() {
        let mut wrong = Vec::new();
        for Inventory { paper, statements, .. } in inventories().expect("well-formed inventories") {
            let judging: BTreeSet<&str> =
                statements.iter().flat_map(|statement| &statement.claims).map(String::as_str).collect();
            for name in names().iter().filter(|name| name.starts_with(&format!("{paper}/"))) {
                let about = describe(name).expect("a figure's file").expect("a figure of that name");
                let figure = &name[paper.len() + 1..];
                let is_wrong =
                    |claim: &Described| claim.ours == judging.contains(&*format!("{figure}/{}", claim.id));
                let claims = about.claims.into_iter().filter(is_wrong);
                wrong.extend(claims.map(|claim| format!("{name}/{}: ours = {}", claim.id, claim.ours)));
            }
        }
        assert!(wrong.is_empty(), "a claim judges a statement, or is ours, and not both: {wrong:#?}");
    }

    #[test]
    fn a_statement_holds_only_if_all_of_it_was_judged_at_full_scale_and_holds() {
        let ledger = |scale: &str, verdicts: [&str; 2]| {
            let judged = |(id, verdict): (&str, &str)| {
                format!(
                    r#"{{"id":"{id}","paper":null,"measured":1.0,"margin95":null,"accept":[0.0,null],"verdict":"{verdict}"}}"#
                )
            };
            let claims = ["a", "b"].into_iter().zip(verdicts).map(judged).collect::<Vec<_>>().join(",");
            let entry = format!(
                r#"{{"figure":"p/fig1","scale":"{scale}","digest":"","commit":null,"seconds":1.0,"claims":[{claims}]}}"#
            );
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("ledger.json");
            std::fs::write(&path, format!(r#"{{"schema":1,"results":[{entry}]}}"#)).expect("written");
            Ledger::read(&path).expect("a ledger")
        };
        let statement = |claims: &[&str], missing: Option<&str>| Statement {
            id: "1-a".to_owned(),
            section: "1".to_owned(),
            figure: None,
            kind: Kind::Number,
            says: "a is 1".to_owned(),
            unit: None,
            cases: Vec::new(),
            claims: claims.iter().map(|&claim| claim.to_owned()).collect(),
            missing: missing.map(str::to_owned),
        };
        let both = statement(&["fig1/a", "fig1/b"], None);
        let of =
            |statement: &Statement, verdicts| statement.verdict("p", &ledger("full", verdicts), Scale::Full);
        assert_eq!(of(&both, ["holds", "holds"]), Verdict::Holds);
        assert_eq!(of(&both, ["holds", "calibrated"]), Verdict::Calibrated);
        assert_eq!(of(&both, ["deviates", "FAILS"]), Verdict::Fails);
        assert_eq!(of(&both, ["deviates", "not measured"]), Verdict::Deviates);
        assert_eq!(of(&both, ["holds", "not measured"]), Verdict::NotMeasured);
        let quick = ledger("quick", ["holds", "holds"]);
        assert_eq!(both.verdict("p", &quick, Scale::Full), Verdict::NotMeasured);
        assert_eq!(both.verdict("p", &quick, Scale::Quick), Verdict::Holds);
        assert_eq!(of(&statement(&["fig1/a"], Some("case b")), ["holds", "holds"]), Verdict::InPart);
        assert_eq!(of(&statement(&[], None), ["holds", "holds"]), Verdict::NoClaim);
    }

    /// The command `RADDLE_WRITE=1 cargo test -p raddle-lab statements` writes the page, and replaces the README's line
    /// that counts the statements.
    #[test]
    fn the_page_of_statements_and_the_readme_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (page, sentence) = (page().expect("a page"), in_a_sentence().expect("a sentence"));
        let [page_at, readme_at] = ["docs/src/statements.md", "README.md"].map(|path| root.join(path));
        let readme = std::fs::read_to_string(&readme_at).expect("a README");
        let line = readme.lines().find(|line| line.contains("statements of the four papers' evaluations"));
        let line = line.expect("the README says how many statements hold");
        if std::env::var_os("RADDLE_WRITE").is_some() {
            std::fs::write(&page_at, &page).expect("written");
            std::fs::write(&readme_at, readme.replace(line, &sentence)).expect("written");
            return;
        }
        let hint = "run: RADDLE_WRITE=1 cargo test -p raddle-lab statements";
        assert!(std::fs::read_to_string(page_at).is_ok_and(|old| old == page), "the page is old; {hint}");
        assert_eq!(line, sentence, "the README is old; {hint}");
    }
}
