//! The paper's search: a genetic algorithm whose individuals are assignments, a gene of a few bits for each flow.

use super::{Assignment, Found, Objective, Search, another};
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

/// A generation in the making. Its individuals are all different: none is evaluated twice in a generation, and few
/// flows do not end with a hundred times the same.
struct Generation {
    members: Vec<Individual>,
    room: usize,
}

impl Generation {
    /// Room for `population`, or for as many as can be different.
    fn new(population: usize, objective: &Objective<'_>) -> Self {
        let different = objective.problem().assignments().and_then(|count| usize::try_from(count).ok());
        Self { members: Vec::new(), room: population.min(different.unwrap_or(usize::MAX)) }
    }

    fn has_room(&self) -> bool {
        self.members.len() < self.room
    }

    fn has(&self, genes: &[u8]) -> bool {
        self.members.iter().any(|member| member.genes == genes)
    }

    /// Adds an individual, unless it is there already.
    fn add(&mut self, objective: &mut Objective<'_>, genes: Assignment) {
        if !self.has(&genes) {
            self.members.push(Individual { utility: objective.utility(&genes), genes });
        }
    }

    /// Adds an individual; if it is there already, with random genes changed until it is not. There must be room.
    fn add_other(&mut self, objective: &mut Objective<'_>, mut genes: Assignment, stream: &mut Stream) {
        let protocols = objective.problem().protocols().len();
        while self.has(&genes) {
            let flow = stream.below(genes.len() as u64) as usize;
            genes[flow] = another(genes[flow], protocols, stream);
        }
        self.add(objective, genes);
    }

    /// The best first, earlier ones before equal ones.
    fn ranked(mut self) -> Vec<Individual> {
        self.members.sort_by(|a, b| b.utility.total_cmp(&a.utility));
        self.members
    }
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
        let mut population = Generation::new(self.population, objective);
        population.add(objective, start.to_vec());
        for protocol in (0..=u8::MAX).take(protocols) {
            population.add(objective, problem.uniform(protocol));
        }
        let bits = bits(protocols);
        while population.has_room() {
            let bias = stream.unit();
            let gene = |_| {
                let draw = (0..bits).fold(0, |gene, _| gene << 1 | usize::from(stream.unit() < bias));
                (draw % protocols) as u8
            };
            let genes = start.iter().map(gene).collect();
            population.add_other(objective, genes, stream);
        }
        population.ranked()
    }

    /// The best of `population`, and children of it.
    fn next_generation(
        &self,
        objective: &mut Objective<'_>,
        population: &[Individual],
        stream: &mut Stream,
    ) -> Vec<Individual> {
        let protocols = objective.problem().protocols().len();
        let mut next = Generation::new(self.population, objective);
        next.members.extend_from_slice(&population[..self.elite.clamp(1, population.len())]);
        while next.has_room() && !objective.is_spent() {
            let mut parent = || {
                let draws = (0..TOURNAMENT).map(|_| stream.below(population.len() as u64));
                // The population is ranked.
                &population[draws.min().expect("a tournament has players") as usize].genes
            };
            let (mother, father) = (parent(), parent());
            let genes = self.child(mother, father, protocols, stream);
            next.add_other(objective, genes, stream);
        }
        next.ranked()
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
