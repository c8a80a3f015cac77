//! `[compute] kind = "allocation"`: max-min rates of small examples. A search can choose the splits of flows over links.

use super::keys::{
    CAPACITY, CASE_FLOWS, CASE_LABEL, CASES, FLOW_LABEL, LINK_LABEL, LINKS, OTHERS, SPLIT, WEIGHT,
};
use super::{needed, run};
use crate::experiment::{Cause, Item, Problem, Read, Section, Value, list};
use crate::figure::runs::{Data, Run};
use raddle_allocate::selection::{self, Genetic, Objective, Search, Utility};
use raddle_allocate::{Allocate, Flows, WaterFill};
use raddle_core::Stream;

/// Max-min rates of small examples. The section gives the capacity of each link, and the flows of each example with
/// their splits over links. If flows have several splits, the sweep `chosen` gives the place of the split that a search
/// chose for each flow, from 1.
pub(super) fn rates(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let mut links = Vec::new();
    for mut link in needed(section, &LINKS)? {
        links.push((link.read(&LINK_LABEL)?, link.read(&CAPACITY)?));
        link.finish()?;
    }
    let capacities: Vec<f64> = links.iter().map(|&(_, capacity)| capacity).collect();
    let mut runs = Vec::new();
    for mut case in needed(section, &CASES)? {
        let label = case.read(&CASE_LABEL)?;
        let (mut names, mut weights, mut splits) = (Vec::new(), Vec::new(), Vec::new());
        for mut flow in needed(&mut case, &CASE_FLOWS)? {
            names.push(flow.read(&FLOW_LABEL)?);
            weights.push(flow.read(&WEIGHT)?);
            splits.push(splits_of(&mut flow, &links)?);
            flow.finish()?;
        }
        let chosen = choose(&capacities, &weights, &splits).map_err(|error| {
            case.contradiction(
                &CASE_FLOWS,
                error.to_string(),
                "give each flow few splits, none of them empty",
            )
        })?;
        case.finish()?;
        let mut flows = Flows::default();
        for ((&weight, splits), &chosen) in weights.iter().zip(&splits).zip(&chosen) {
            flows.push(weight, 0, f64::INFINITY, splits[chosen].iter().copied());
        }
        let mut rates = Vec::new();
        WaterFill::default().allocate(&flows, &capacities, &mut rates);
        for (((flow, rate), splits), chosen) in names.iter().zip(rates).zip(&splits).zip(chosen) {
            runs.push(run(&[("case", &label), ("flow", flow)], Data::Number(rate)));
            if splits.len() > 1 {
                let place = (chosen + 1) as f64;
                runs.push(run(&[("case", &label), ("chosen", flow)], Data::Number(place)));
            }
        }
    }
    Ok(runs)
}

/// Expected traversals of links.
type Row = Vec<(u32, f32)>;

/// The place of each flow's split that maximises the sum of rates, as the genetic search finds it. The search begins with
/// the first splits, and without the assignments of splits at one place to all flows.
fn choose(
    capacities: &[f64],
    weights: &[f64],
    splits: &[Vec<Row>],
) -> Result<Vec<usize>, selection::SelectionError> {
    if splits.iter().all(|splits| splits.len() == 1) {
        return Ok(vec![0; splits.len()]);
    }
    let problem = selection::Problem::of_splits(capacities, weights, splits)?;
    let search = Genetic { uniform: false, ..Genetic::default() };
    let mut objective = Objective::new(&problem, Utility::Aggregate);
    let found =
        search.search(&mut objective, &problem.uniform(0), &mut Stream::new(1, 0, "figure/allocation"));
    let places = found.assignment.iter().zip(splits);
    Ok(places.map(|(&place, splits)| usize::from(place) % splits.len()).collect())
}

/// The flow's splits: that of the key `split`, then those of the key `others`.
fn splits_of(flow: &mut Section<'_>, links: &[(String, f64)]) -> Result<Vec<Row>, Problem> {
    let first = flow.item(&SPLIT).ok_or_else(|| flow.missing(&SPLIT))?;
    let others = flow.item(&OTHERS).map(list).transpose()?.unwrap_or_default();
    std::iter::once(first).chain(others).map(|split| read_split(split, links)).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a share")]
fn read_split(split: &Item, links: &[(String, f64)]) -> Result<Row, Problem> {
    let Value::Table(table) = &split.value else {
        let cause = Cause::WrongType { expected: "a table of shares", found: split.value.kind().to_owned() };
        return Err(Problem::at(&split.at, cause));
    };
    let mut row = Vec::new();
    for entry in &table.entries {
        let Some(link) = links.iter().position(|(label, _)| *label == entry.key) else {
            let known = links.iter().map(|(label, _)| label.clone()).collect();
            let cause = Cause::UnknownName { what: "link", name: entry.key.clone(), known };
            return Err(Problem::at(&entry.key_at, cause));
        };
        let share = f64::read(&entry.item)?;
        row.push((u32::try_from(link).expect("there must be fewer than 2^32 links"), share as f32));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use crate::figure::runs::Labels;

    #[test]
    fn a_search_chooses_among_splits() {
        let text = r#"[compute]
kind = "allocation"
links = [{ label = "a", capacity = 1 }, { label = "b", capacity = 2 }]
[[compute.cases]]
label = "one"
flows = [
    { label = "f", split = { a = 1 } },
    { label = "g", split = { a = 1 }, others = [{ a = 1, b = 1 }, { b = 1 }] },
]
"#;
        let labels = |labels: Labels| labels[1].1.clone() + "/" + &labels[1].0;
        let found: Vec<_> =
            numbers(text).expect("rates").into_iter().map(|(of, number)| (labels(of), number)).collect();
        let found: Vec<_> = found.iter().map(|(label, number)| (label.as_str(), *number)).collect();
        assert_eq!(found, [("f/flow", 1.0), ("g/flow", 2.0), ("g/chosen", 3.0)]);
        for (right, wrong) in [
            ("{ b = 1 }]", "{ c = 1 }]"),
            ("{ b = 1 }]", "3]"),
            ("{ b = 1 }]", "{}]"),
            ("{ b = 1 }]", "{ b = \"1\" }]"),
        ] {
            assert!(
                !numbers(&text.replace(right, wrong)).expect_err("a problem").at.span.is_empty(),
                "{wrong}"
            );
        }
    }
}
