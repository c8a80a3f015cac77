//! The search of Costa et al. (SIGCOMM 2015, §3.4): a genetic algorithm whose individuals are assignments, with a gene
//! of a few bits for each flow.

use super::{Assignment, Found, Objective, Search, another};
use raddle_core::Stream;

/// The genetic algorithm and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Genetic {
    /// Number of individuals in a generation. A generation has fewer if there are fewer possible assignments. The first
    /// generation has more if it is too small for the present assignment and those of `uniform`.
    pub population: usize,
    /// Probability that a bit of a child flips.
    pub mutation: f64,
    /// Number of best individuals that survive unchanged; at least one survives, even if this is 0.
    pub elite: usize,
    /// The search ends after this many consecutive generations without a better individual.
    pub stagnant: u32,
    /// Maximum number of generations after the first generation.
    pub generations: u32,
    /// True if the first generation has all uniform assignments.
    pub uniform: bool,
}

impl Default for Genetic {
    /// The values of `population` and `mutation` come from the paper (§3.4). The paper does not specify the other
    /// values.
    fn default() -> Self {
        Self { population: 100, mutation: 0.01, elite: 10, stagnant: 20, generations: 200, uniform: true }
    }
}

/// Number of individuals drawn for each parent. The best of these individuals becomes the parent.
const TOURNAMENT: usize = 2;

#[derive(Debug, Clone)]
struct Individual {
    genes: Assignment,
    utility: f64,
}

/// A generation under construction. All its individuals are different, so no individual is evaluated twice in a
/// generation. With few flows, this also prevents a generation of identical individuals.
struct Generation {
    members: Vec<Individual>,
    room: usize,
}

impl Generation {
    /// Creates an empty generation for `population` individuals, or for all possible assignments if there are
    /// fewer.
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

    /// Adds an individual unless the generation already has it.
    fn add(&mut self, objective: &mut Objective<'_>, genes: Assignment) {
        if !self.has(&genes) {
            self.members.push(Individual { utility: objective.utility(&genes), genes });
        }
    }

    /// Adds an individual. If the generation already has an equal individual, random genes of the
    /// new individual are changed until it differs from all members. The generation must have room.
    fn add_other(&mut self, objective: &mut Objective<'_>, mut genes: Assignment, stream: &mut Stream) {
        let protocols = objective.problem().protocols().len();
        while self.has(&genes) {
            let flow = stream.index(genes.len());
            genes[flow] = another(genes[flow], protocols, stream);
        }
        self.add(objective, genes);
    }

    /// Returns the individuals in descending order of utility. Among individuals of equal utility, the
    /// individual that was added first comes first.
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
    /// Creates the first generation: the present assignment, the uniform assignments if `uniform` is set, and random
    /// assignments. For each random assignment, a probability is drawn, and each bit of its genes is drawn as 1 with this
    /// probability. Each gene is then reduced modulo the number of protocols.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
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
        for protocol in (0..=u8::MAX).take(if self.uniform { protocols } else { 0 }) {
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

    /// Creates the next generation from the best individuals of `population` and children of the population.
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
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
                // The population is ranked, so the smallest index is the best.
                &population[draws.min().expect("a tournament must have at least one member") as usize].genes
            };
            let (mother, father) = (parent(), parent());
            let genes = self.child(mother, father, protocols, stream);
            next.add_other(objective, genes, stream);
        }
        next.ranked()
    }

    /// Returns a child. Each gene comes from one of the parents at random, and each bit of a gene may flip.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
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

/// Returns the number of bits of a gene for this many protocols.
fn bits(protocols: usize) -> u32 {
    protocols.next_power_of_two().trailing_zeros()
}
