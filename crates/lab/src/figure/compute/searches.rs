//! Figures that compare searches for the routing protocol of each long flow (R2C2 §3.4), and count the local maxima that
//! can stop them.
//!
//! The genetic search begins with the assignment from which all searches begin, and with random ones: unlike
//! elsewhere in Raddle, the assignments of one protocol to all flows are not among them, as the paper names none.

use super::keys::{
    COLD, ELITE, EVALUATIONS, FROM_FIRST, HOT, MUTATION, POPULATION, SCHEMES, SEARCH, SEARCH_LABEL,
    SEARCH_LIST, SEED, SET_LABEL, SET_PAIRS, SETS, SETTING, STARTS, TEMPERATURE,
};
use super::parallel::in_parallel;
use super::selection::capacities;
use super::{needed, run, schemes, torus};
use crate::experiment::{Fraction, Problem, Section, read_pairs};
use crate::figure::runs::{self, Data, Run};
use raddle_allocate::selection::{
    self, Annealing, Exhaustive, Genetic, HillClimbing, LogLinear, LongFlow, Objective, ROUNDING, Search,
    Uniform, Utility, local_maxima,
};
use raddle_core::Stream;
use raddle_topology::routing::{Protocol, Routing};
use raddle_workload::Pairs;

/// Steps of log-linear learning and of annealing, if their evaluations are not limited.
const STEPS: u64 = 10_000;

/// A torus and its flows.
struct Workload {
    label: String,
    routing: Routing,
    pairs: Pairs,
}

/// The instances of the workloads: for each workload, as many sets of flows and random starts as there are `instances`.
struct Instances {
    workloads: Vec<Workload>,
    protocols: Vec<Protocol>,
    instances: u64,
    seed: u64,
}

impl Instances {
    fn read(section: &mut Section<'_>) -> Result<Self, Problem> {
        let mut workloads = Vec::new();
        for mut set in needed(section, &SETS)? {
            let (label, pairs) = (set.read(&SET_LABEL)?, read_pairs(&mut set, &SET_PAIRS)?);
            workloads.push(Workload { label, routing: torus(&mut set)?, pairs });
            set.finish()?;
        }
        let protocols = schemes(section)?.into_iter().map(|(_, protocol)| protocol).collect();
        Ok(Self { workloads, protocols, instances: section.read(&STARTS)?, seed: section.read(&SEED)? })
    }

    /// The results of `work` for all instances of the first workload, then of the second, and so on. `work` gets the
    /// problem and the random stream of an instance.
    fn each<T: Send>(
        &self,
        section: &Section<'_>,
        threads: usize,
        work: impl Fn(&selection::Problem, &mut Stream) -> Result<T, String> + Sync,
    ) -> Result<Vec<T>, Problem> {
        let count = self.workloads.len() * self.count();
        let results = in_parallel(threads, count, |i| {
            let (place, number) = (i / self.count(), i % self.count());
            let Workload { routing, pairs, .. } = &self.workloads[place];
            // As in figures of selection, further instances leave the first ones as they are.
            let mut stream = Stream::new(self.seed, (place as u64) << 32 | number as u64, "figure/searches");
            let pairs = pairs.each(routing.topology(), &mut stream).map_err(|error| error.to_string())?;
            let flows = pairs.into_iter().map(|(src, dst)| LongFlow::new(src, dst)).collect();
            let problem = selection::Problem::new(routing, &capacities(routing, 0.0), flows, &self.protocols);
            work(&problem.map_err(|error| error.to_string())?, &mut stream)
        });
        results.map_err(|error| {
            section.contradiction(&SCHEMES, error, "choose fewer or other flows, or other `schemes`")
        })
    }

    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn count(&self) -> usize {
        self.instances as usize
    }

    /// The label of each instance in the sweep over seeds.
    fn labels(&self) -> Vec<String> {
        (1..=self.instances).map(|number| number.to_string()).collect()
    }
}

/// Counts the local maxima of the aggregate throughput (`aggregate`) and of the slowest flow's rate (`tail`) in each
/// instance. `maxima` is their number; `several` is 1 if there are at least three, and 0 otherwise.
pub(super) fn count_maxima(section: &mut Section<'_>, threads: usize) -> Result<Vec<Run>, Problem> {
    let instances = Instances::read(section)?;
    let utilities = [("aggregate", Utility::Aggregate), ("tail", Utility::Minimum)];
    let counts = instances.each(section, threads, |problem, _| {
        if !Exhaustive::fits(problem) {
            return Err(too_many(problem));
        }
        Ok(utilities.map(|(_, utility)| local_maxima(&mut Objective::new(problem, utility))))
    })?;
    let mut runs = Vec::new();
    for (workload, counts) in instances.workloads.iter().zip(counts.chunks(instances.count())) {
        for (i, (utility, _)) in utilities.into_iter().enumerate() {
            for (counts, seed) in counts.iter().zip(instances.labels()) {
                let several = f64::from(u8::from(counts[i] >= 3));
                for (quantity, number) in [("maxima", counts[i] as f64), ("several", several)] {
                    let labels =
                        [("quantity", quantity), ("workload", &*workload.label), ("utility", utility)];
                    runs.push(of_seed(&labels, &seed, number));
                }
            }
        }
    }
    Ok(runs)
}

fn too_many(problem: &selection::Problem) -> String {
    let flows = problem.flows().len();
    format!(
        "a visit to all assignments is possible for at most {} assignments (got {flows} flows)",
        Exhaustive::MOST
    )
}

fn of_seed(labels: &[(&str, &str)], seed: &str, number: f64) -> Run {
    run(&[labels, &[(runs::SEED, seed)]].concat(), Data::Number(number))
}

/// A search and the assignment from which it starts.
struct Entrant {
    label: String,
    setting: String,
    search: Box<dyn Search + Sync>,
    is_exhaustive: bool,
    from_first: bool,
    evaluations: Option<u64>,
}

impl Entrant {
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn read(mut section: Section<'_>) -> Result<Self, Problem> {
        let (label, setting) = (section.read(&SEARCH_LABEL)?, section.read(&SETTING)?);
        let evaluations = section.get(&EVALUATIONS)?;
        let steps = evaluations.unwrap_or(STEPS);
        let kind = section.kind(&SEARCH)?;
        let search: Box<dyn Search + Sync> = match kind {
            "genetic" => {
                let Fraction(mutation) = section.read(&MUTATION)?;
                let (population, elite) = (section.read(&POPULATION)?, section.read(&ELITE)?);
                let (population, elite) = (population as usize, elite as usize);
                Box::new(Genetic { population, mutation, elite, uniform: false, ..Genetic::default() })
            }
            "log-linear" => Box::new(LogLinear { temperature: section.read(&TEMPERATURE)?, steps }),
            "annealing" => {
                Box::new(Annealing { hot: section.read(&HOT)?, cold: section.read(&COLD)?, steps })
            }
            "exhaustive" => Box::new(Exhaustive),
            _ => Box::new(HillClimbing),
        };
        let from_first = section.read(&FROM_FIRST)?;
        section.finish()?;
        Ok(Self { label, setting, search, is_exhaustive: kind == "exhaustive", from_first, evaluations })
    }

    /// The utility that the search finds. Every search of an instance gets the same random numbers.
    fn utility(&self, problem: &selection::Problem, random: &[u8], stream: &Stream) -> Result<f64, String> {
        if self.is_exhaustive && !Exhaustive::fits(problem) {
            return Err(too_many(problem));
        }
        let objective = Objective::new(problem, Utility::Aggregate);
        let mut objective = match self.evaluations {
            Some(evaluations) => objective.limited_to(evaluations),
            None => objective,
        };
        let first = problem.uniform(0);
        let start = if self.from_first { &first } else { random };
        Ok(self.search.search(&mut objective, start, &mut stream.clone()).utility)
    }
}

/// The utilities that were found in an instance.
struct Outcome {
    /// The utility of each search.
    found: Vec<f64>,
    /// The highest utility of an assignment of one protocol to all flows.
    one_protocol: f64,
}

impl Outcome {
    fn best(&self) -> f64 {
        self.found.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Compares searches for the highest sum of rates. The sweep `quantity` has these labels, for each workload and search:
///
/// - `throughput`: the sum of the rates of all flows, in units of a link's rate, for each setting;
/// - `best`: 1 if no other search in the instance found more, and 0 otherwise, for each setting;
/// - `spread`: the highest of the search's sums over the lowest, among its settings. The search `gain` is the highest
///   sum of all searches over that of the better protocol for all flows;
/// - `other workload`: the throughput of the setting that is best for the workload, over that of the setting that is best
///   for another workload. This number is taken of the two workloads where its mean is highest.
pub(super) fn compare(section: &mut Section<'_>, threads: usize) -> Result<Vec<Run>, Problem> {
    let instances = Instances::read(section)?;
    let entrants =
        needed(section, &SEARCH_LIST)?.into_iter().map(Entrant::read).collect::<Result<Vec<_>, _>>()?;
    let outcomes = instances.each(section, threads, |problem, stream| {
        let random = selection::Random.search(
            &mut Objective::new(problem, Utility::Aggregate),
            &problem.uniform(0),
            stream,
        );
        let mut objective = Objective::new(problem, Utility::Aggregate);
        let uniform = (0..=u8::MAX).take(problem.protocols().len());
        let uniform = uniform.map(|protocol| {
            Uniform(protocol).search(&mut objective, &random.assignment, &mut stream.clone()).utility
        });
        let one_protocol = uniform.fold(f64::NEG_INFINITY, f64::max);
        let found = entrants.iter().map(|entrant| entrant.utility(problem, &random.assignment, stream));
        Ok(Outcome { found: found.collect::<Result<Vec<_>, _>>()?, one_protocol })
    })?;
    let outcomes: Vec<&[Outcome]> = outcomes.chunks(instances.count()).collect();
    let mut runs = of_settings(&instances, &entrants, &outcomes);
    runs.extend(of_searches(&instances, &entrants, &outcomes));
    Ok(runs)
}

fn of_settings(instances: &Instances, entrants: &[Entrant], outcomes: &[&[Outcome]]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (workload, outcomes) in instances.workloads.iter().zip(outcomes) {
        for (i, entrant) in entrants.iter().enumerate() {
            for (outcome, seed) in outcomes.iter().zip(instances.labels()) {
                let found = outcome.found[i];
                let is_best = found >= outcome.best() * (1.0 - ROUNDING);
                for (quantity, number) in [("throughput", found), ("best", f64::from(u8::from(is_best)))] {
                    let labels = [
                        ("quantity", quantity),
                        ("workload", &*workload.label),
                        ("search", &entrant.label),
                        ("setting", &entrant.setting),
                    ];
                    runs.push(of_seed(&labels, &seed, number));
                }
            }
        }
    }
    runs
}

fn of_searches(instances: &Instances, entrants: &[Entrant], outcomes: &[&[Outcome]]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut searches: Vec<(&str, Vec<usize>)> = Vec::new();
    for (i, entrant) in entrants.iter().enumerate() {
        match searches.iter_mut().find(|(label, _)| *label == entrant.label) {
            Some((_, settings)) => settings.push(i),
            None => searches.push((&entrant.label, vec![i])),
        }
    }
    for (workload, outcomes) in instances.workloads.iter().zip(outcomes) {
        let mut put = |search: &str, spread: &dyn Fn(&Outcome) -> f64| {
            for (outcome, seed) in outcomes.iter().zip(instances.labels()) {
                let labels = [("quantity", "spread"), ("workload", &*workload.label), ("search", search)];
                runs.push(of_seed(&labels, &seed, spread(outcome)));
            }
        };
        for (search, settings) in searches.iter().filter(|(_, settings)| settings.len() > 1) {
            put(search, &|outcome| {
                let found = settings.iter().map(|&i| outcome.found[i]);
                found.clone().fold(f64::NEG_INFINITY, f64::max) / found.fold(f64::INFINITY, f64::min)
            });
        }
        put("gain", &|outcome| outcome.best() / outcome.one_protocol);
    }
    for (search, settings) in searches.iter().filter(|(_, settings)| settings.len() > 1) {
        let sum =
            |outcomes: &[Outcome], i: usize| outcomes.iter().map(|outcome| outcome.found[i]).sum::<f64>();
        let best = |outcomes: &&[Outcome]| {
            let better = |&a: &usize, &b: &usize| sum(outcomes, a).total_cmp(&sum(outcomes, b));
            settings.iter().copied().max_by(better).expect("a search has a setting")
        };
        let tuned: Vec<usize> = outcomes.iter().map(best).collect();
        let losses = outcomes.iter().zip(&tuned).flat_map(|(outcomes, &own)| {
            let loss = move |outcome: &Outcome, other: usize| outcome.found[own] / outcome.found[other];
            tuned
                .iter()
                .map(move |&other| outcomes.iter().map(|outcome| loss(outcome, other)).collect::<Vec<_>>())
        });
        let mean = |losses: &Vec<f64>| losses.iter().sum::<f64>();
        let most = losses.max_by(|a, b| mean(a).total_cmp(&mean(b))).expect("there is a workload");
        for (loss, seed) in most.into_iter().zip(instances.labels()) {
            runs.push(of_seed(&[("quantity", "other workload"), ("search", search)], &seed, loss));
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    const COMMON: &str = r#"[compute]
schemes = [{ label = "RPS", protocol = "rps" }, { label = "VLB", protocol = "vlb" }]
workloads = [
    { label = "few", dims = [4, 4], pairs = { kind = "permutation", fraction = 0.375 } },
    { label = "many", dims = [4, 4], pairs = { kind = "permutation", fraction = 0.5 } },
]
instances = 4
"#;

    fn of(text: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        let is_at = |of: &[(String, String)]| {
            labels.iter().all(|&(sweep, label)| of.iter().any(|(a, b)| a == sweep && b == label))
        };
        let all = numbers(&format!("{COMMON}{text}")).expect("numbers").into_iter();
        all.filter(|(of, _)| is_at(of)).map(|(_, number)| number).collect()
    }

    #[test]
    fn every_instance_has_a_local_maximum() {
        let landscape = "kind = \"search-landscape\"";
        let maxima = of(landscape, &[("quantity", "maxima")]);
        assert_eq!(maxima.len(), 2 * 2 * 4);
        assert!(maxima.iter().all(|&maxima| maxima >= 1.0), "{maxima:?}");
        let several = of(landscape, &[("quantity", "several")]);
        assert!(maxima.iter().zip(&several).all(|(&maxima, &several)| (several > 0.5) == (maxima > 2.5)));
    }

    #[test]
    fn no_search_finds_more_than_all_assignments_have() {
        let searches = r#"kind = "searches"
searches = [
    { label = "all", search = "exhaustive" },
    { label = "climb", search = "hill-climbing" },
    { label = "climb", setting = "first", search = "hill-climbing", from_first = true },
    { label = "hot", search = "annealing", hot = 1, cold = 1, evaluations = 2 },
    { label = "learn", search = "log-linear", evaluations = 50 },
    { label = "genes", search = "genetic" },
]"#;
        let at = |labels: &[(&str, &str)]| of(searches, labels);
        let best = at(&[("quantity", "best"), ("search", "all")]);
        assert_eq!(best, [1.0; 8]);
        assert!(at(&[("quantity", "best"), ("search", "hot")]).contains(&0.0));
        for quantity in ["spread", "other workload"] {
            let numbers = at(&[("quantity", quantity), ("search", "climb")]);
            assert!(numbers.len() % 4 == 0 && !numbers.is_empty(), "{quantity}");
        }
        assert_eq!(at(&[("quantity", "spread"), ("search", "gain")]).len(), 8);
        assert!(at(&[("quantity", "spread")]).iter().all(|&spread| spread >= 1.0 - 1e-9));
        let limits =
            numbers(&format!("{COMMON}{searches}").replace("[4, 4]", "[8, 8]")).expect_err("a problem");
        assert!(limits.to_string().contains("65536"), "{limits}");
    }
}
