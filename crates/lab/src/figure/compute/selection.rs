//! Figures of routing selection: the assignment of protocols that a genetic search finds for the long flows of random
//! permutations, compared with one protocol for all flows and with a random assignment.

use super::keys::{FRACTIONS, GENERATIONS, INSTANCES, SCHEMES, SEED, SELECTION_HEADROOM};
use super::parallel::in_parallel;
use super::{schemes, torus};
use crate::experiment::{Fraction, Problem, Section};
use crate::figure::runs::{Data, Labels, Run};
use raddle_allocate::selection::{Genetic, LongFlow, Objective, Random, Search, Uniform, Utility};
use raddle_allocate::{selection, usable};
use raddle_core::{LinkId, Rate, Stream};
use raddle_topology::routing::{Protocol, Routing};
use raddle_workload::Pairs;

/// The label of random assignments of protocols to flows.
const RANDOM: &str = "Random";
const ADAPTIVE: &str = "Adaptive";

/// Random permutations of a share of the nodes. There are `instances` permutations for each share in `fractions`.
struct Permutations<'a> {
    routing: &'a Routing,
    usable: Vec<f64>,
    protocols: Vec<Protocol>,
    fractions: Vec<f64>,
    instances: u64,
    seed: u64,
    search: Genetic,
}

/// Runs the comparison. The sweep `scheme` gives the sum of the rates of all flows under a scheme, for each share of
/// nodes in the sweep `L`. The sum is in units of a link's rate, and averaged over the permutations of this share.
/// `Adaptive` is the assignment that the genetic search finds. The sweep `over` gives the sum under `Adaptive` divided
/// by the sum under another scheme, for each `L`. The sweep `least over` gives the smallest such ratio of a single
/// permutation, among the permutations of all shares.
pub(super) fn compare(section: &mut Section<'_>, threads: usize) -> Result<Vec<Run>, Problem> {
    let routing = torus(section)?;
    let schemes = schemes(section)?;
    let fractions = section.read(&FRACTIONS)?;
    let Fraction(headroom) = section.read(&SELECTION_HEADROOM)?;
    let instances = section.read(&INSTANCES)?;
    let permutations = Permutations {
        routing: &routing,
        usable: capacities(&routing, headroom),
        protocols: schemes.iter().map(|&(_, protocol)| protocol).collect(),
        fractions: fractions.iter().map(|fraction| fraction.0).collect(),
        instances,
        seed: section.read(&SEED)?,
        search: Genetic { generations: section.read(&GENERATIONS)?, ..Genetic::default() },
    };
    let labels: Vec<&str> =
        schemes.iter().map(|(label, _)| label.as_str()).chain([RANDOM, ADAPTIVE]).collect();
    let sums = permutations.sums(threads).map_err(|error| {
        let hint = "choose larger `fractions`, or other `schemes`";
        section.contradiction(&SCHEMES, error, hint)
    })?;
    Ok(runs(&labels, &permutations, &sums))
}

/// The usable capacity of each link slot, in units of the fastest link's rate.
pub(super) fn capacities(routing: &Routing, headroom: f64) -> Vec<f64> {
    let topology = routing.topology();
    let rate = |slot| topology.link(LinkId::of(slot)).map_or(Rate::ZERO, |link| link.rate);
    let rates: Vec<Rate> = (0..topology.link_slots()).map(rate).collect();
    let unit = rates.iter().map(|rate| rate.as_bps_f64()).fold(0.0, f64::max);
    usable(&rates, headroom).into_iter().map(|capacity| capacity / unit).collect()
}

/// The runs of the figure, from the sums of rates in all permutations.
#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
fn runs(labels: &[&str], permutations: &Permutations<'_>, sums: &[Vec<f64>]) -> Vec<Run> {
    let run = |labels: &[(&str, &str)], number| {
        let labels: Labels = labels.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
        Run { labels, data: Data::Number(number) }
    };
    let adaptive = labels.len() - 1;
    let count = permutations.instances as usize;
    let mut runs = Vec::new();
    for (fraction, sums) in permutations.fractions.iter().zip(sums.chunks(count)) {
        let share = fraction.to_string();
        let mean = |scheme: usize| sums.iter().map(|sums| sums[scheme]).sum::<f64>() / count as f64;
        for (i, label) in labels.iter().enumerate() {
            runs.push(run(&[("scheme", label), ("L", &share)], mean(i)));
        }
        for (i, label) in labels[..adaptive].iter().enumerate() {
            runs.push(run(&[("over", label), ("L", &share)], mean(adaptive) / mean(i)));
        }
    }
    for (i, label) in labels[..adaptive].iter().enumerate() {
        let least = sums.iter().map(|sums| sums[adaptive] / sums[i]).fold(f64::INFINITY, f64::min);
        runs.push(run(&[("least over", label)], least));
    }
    runs
}

impl Permutations<'_> {
    /// For each fraction and instance, the sum of rates under each scheme. The list has all instances of the first
    /// fraction, then all instances of the second, and so on, whatever the number of threads.
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn sums(&self, threads: usize) -> Result<Vec<Vec<f64>>, String> {
        let count = self.fractions.len() * self.instances as usize;
        in_parallel(threads, count, |i| self.instance(i / self.instances as usize, i as u64 % self.instances))
    }

    /// The sums of rates under each protocol alone, under a random assignment, and under the assignment that the search
    /// finds.
    fn instance(&self, share: usize, number: u64) -> Result<Vec<f64>, String> {
        // The random stream depends on the seed, the fraction's place in the list and the instance's number, but not on
        // the number of instances. With more instances, the first instances stay the same.
        let mut stream = Stream::new(self.seed, (share as u64) << 32 | number, "figure/permutation");
        let pattern = Pairs::Permutation { fraction: self.fractions[share], times: 1 };
        let pairs = pattern.each(self.routing.topology(), &mut stream);
        let pairs = pairs.map_err(|error| error.to_string())?;
        let flows = pairs.into_iter().map(|(src, dst)| LongFlow::new(src, dst)).collect();
        let problem = selection::Problem::new(self.routing, &self.usable, flows, &self.protocols);
        let problem = problem.map_err(|error| error.to_string())?;
        let mut objective = Objective::new(&problem, Utility::Aggregate);
        let start = problem.uniform(0);
        let mut sum = |search: &dyn Search| search.search(&mut objective, &start, &mut stream).utility;
        let uniform = (0..=u8::MAX).take(self.protocols.len());
        let mut sums: Vec<f64> = uniform.map(|protocol| sum(&Uniform(protocol))).collect();
        sums.push(sum(&Random));
        sums.push(sum(&self.search));
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::compute;
    use super::*;
    use crate::experiment::Document;
    use std::path::PathBuf;

    const SMALL: &str = r#"[compute]
kind = "selection"
dims = [3, 3]
schemes = [{ label = "RPS", protocol = "rps" }, { label = "VLB", protocol = "vlb" }]
fractions = [0.5, 1]
instances = 3
generations = 5
"#;

    fn numbers(text: &str, threads: usize) -> Result<Vec<(Labels, f64)>, Problem> {
        let document = Document::parse("test", text.to_owned(), PathBuf::new())?;
        let runs = compute(&document, threads, &false.into())?.unwrap();
        let number = |run: Run| match run.data {
            Data::Number(number) => (run.labels, number),
            _ => panic!("computed figures are numbers"),
        };
        Ok(runs.into_iter().map(number).collect())
    }

    #[test]
    fn the_search_is_never_below_the_others_at_any_number_of_threads() {
        let found = numbers(SMALL, 1).unwrap();
        assert_eq!(found, numbers(SMALL, 3).unwrap());
        let labels = |sweep| found.iter().filter(move |(labels, _)| labels[0].0 == sweep);
        assert_eq!(labels("scheme").count(), 8);
        assert_eq!(labels("over").count(), 6);
        assert_eq!(labels("least over").count(), 3);
        assert!(labels("least over").all(|&(_, least)| least >= 1.0), "{found:?}");
        assert!(
            labels("scheme").all(|&(_, sum)| sum > 0.5 && sum < 36.0),
            "in units of a link's rate: {found:?}"
        );
    }

    #[test]
    fn mistakes_point_into_the_text() {
        for (right, wrong) in [
            ("instances = 3", "instances = 0"),
            ("[0.5, 1]", "[0]"),
            ("[0.5, 1]", "[]"),
            ("[3, 3]", "[0]"),
            (
                "schemes = [{ label = \"RPS\", protocol = \"rps\" }, { label = \"VLB\", protocol = \"vlb\" }]",
                "schemes = []",
            ),
        ] {
            let problem = numbers(&SMALL.replace(right, wrong), 1).unwrap_err();
            assert!(!problem.at.span.is_empty(), "{wrong}: {problem}");
        }
    }
}
