//! The paper's search: a genetic algorithm whose individuals are assignments, a gene of a few bits for each flow.

use super::{Assignment, Found, Objective, Search};
use raddle_core::Stream;

/// The genetic algorithm and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Genetic {
    /// Individuals of a generation.
    pub population: usize,
    /// Probability that a bit of a child flips.
    pub mutation: f64,
    /// The best individuals, which live on as they are.
    pub elite: usize,
    /// The search ends after so many generations without a better individual.
    pub stagnant: u32,
    /// The search ends after so many generations.
    pub generations: u32,
}

impl Default for Genetic {
    /// Population and mutation are the paper's (§3.4); the rest it leaves open.
    fn default() -> Self {
        Self { population: 100, mutation: 0.01, elite: 10, stagnant: 20, generations: 200 }
    }
}

/// Individuals of which the better one becomes a parent.
const TOURNAMENT: usize = 2;

#[derive(Debug, Clone)]
struct Individual {
    genes: Assignment,
    utility: f64,
}

/// The best first, earlier ones before equal ones.
fn rank(population: &mut [Individual]) {
    population.sort_by(|a, b| b.utility.total_cmp(&a.utility));
}

impl Search for Genetic {
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found {
        let before = objective.evaluations();
        let mut population = self.first_generation(objective, start, stream);
        let mut stagnant = 0;
        for _ in 0..self.generations {
            if stagnant >= self.stagnant || objective.is_spent() {
                break;
            }
            let best = population[0].utility;
            population = self.next_generation(objective, &population, stream);
            stagnant = if population[0].utility > best { 0 } else { stagnant + 1 };
        }
        let Individual { genes, utility } = population.swap_remove(0);
        Found { assignment: genes, utility, evaluations: objective.evaluations() - before }
    }
}

impl Genetic {
    /// The present assignment, the uniform ones, and random ones, each with a bias of its own.
    fn first_generation(
        &self,
        objective: &mut Objective<'_>,
        start: &[u8],
        stream: &mut Stream,
    ) -> Vec<Individual> {
        let problem = objective.problem();
        let protocols = problem.protocols().len();
        let mut all: Vec<Assignment> = vec![start.to_vec()];
        all.extend((0..=u8::MAX).take(protocols).map(|protocol| problem.uniform(protocol)));
        all.dedup();
        let bits = bits(protocols);
        while all.len() < self.population {
            let bias = stream.unit();
            let gene = |_| {
                let draw = (0..bits).fold(0, |gene, _| gene << 1 | usize::from(stream.unit() < bias));
                (draw % protocols) as u8
            };
            all.push(start.iter().map(gene).collect());
        }
        let mut population: Vec<_> =
            all.into_iter().map(|genes| Individual { utility: objective.utility(&genes), genes }).collect();
        rank(&mut population);
        population
    }

    /// The best of `population`, and children of it.
    fn next_generation(
        &self,
        objective: &mut Objective<'_>,
        population: &[Individual],
        stream: &mut Stream,
    ) -> Vec<Individual> {
        let mut next = population[..self.elite.clamp(1, population.len())].to_vec();
        while next.len() < self.population && !objective.is_spent() {
            let mut parent = || {
                let draws = (0..TOURNAMENT).map(|_| stream.below(population.len() as u64));
                // The population is ranked.
                &population[draws.min().expect("a tournament has players") as usize]
            };
            let (mother, father) = (parent(), parent());
            let genes =
                self.child(&mother.genes, &father.genes, objective.problem().protocols().len(), stream);
            next.push(Individual { utility: objective.utility(&genes), genes });
        }
        rank(&mut next);
        next
    }

    /// Each gene is either parent's, and each of its bits may flip.
    fn child(&self, mother: &[u8], father: &[u8], protocols: usize, stream: &mut Stream) -> Assignment {
        let bits = bits(protocols);
        let gene = |(&mother, &father): (&u8, &u8)| {
            let gene = if stream.coin() { mother } else { father };
            let flips = (0..bits).fold(0, |flips, _| flips << 1 | usize::from(stream.unit() < self.mutation));
            ((usize::from(gene) ^ flips) % protocols) as u8
        };
        mother.iter().zip(father).map(gene).collect()
    }
}

/// Bits of a gene that names one of so many protocols.
fn bits(protocols: usize) -> u32 {
    protocols.next_power_of_two().trailing_zeros()
}
