//! The inner loop of every search: computes the rates under one assignment.
//!
//! This is the water-filling of [`WaterFill`](crate::WaterFill) for a fixed set of flows whose protocols change. The
//! total load on each link is not summed again for each assignment. It is updated from the most similar assignment with
//! known loads: the latest assignment, or an assignment of a single protocol to all flows.
//!
//! The row of a flow under a protocol holds the flow's expected traversals of each link. If the flow uses many links, its
//! row is dense: an array with one entry for each link. (With Valiant routing on a torus, a flow uses about three
//! quarters of all links on average.) When a link is full, all flows with dense rows that use this link are stopped in
//! one step. The first full link stops most flows with dense rows.

use super::levels::Levels;
use super::problem::{LongFlow, Problem, Row};
use crate::NOTHING;

/// The load of a class's flows on each link while all these flows rise: the sum of weight times expected traversals.
/// Flows with sparse rows and flows with dense rows are summed separately.
#[derive(Debug, Clone)]
struct Load {
    sparse: Vec<f64>,
    dense: Vec<f64>,
}

/// An assignment, and the loads of its flows on the links.
#[derive(Debug, Clone)]
struct Known {
    assignment: Vec<u8>,
    /// The loads of the flows of each class.
    loads: Vec<Load>,
}

/// Computes rates under successive assignments, and reuses the loads that successive assignments have in
/// common.
///
/// If the flows' weights are integers and the load of each link stays below 8,192, the results do not depend on earlier
/// computations.
#[derive(Debug, Clone)]
pub struct Evaluator<'a> {
    problem: &'a Problem,
    /// For each protocol, the assignment of all flows to this protocol.
    uniform: Vec<Known>,
    last: Known,
    /// For each flow, the index of its class.
    class: Vec<usize>,
    fill: Fill<'a>,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator with the loads of each uniform assignment.
    #[must_use]
    pub fn new(problem: &'a Problem) -> Self {
        let links = problem.capacity().len();
        let mut class = vec![0; problem.flows().len()];
        for (at, members) in problem.classes().iter().enumerate() {
            members.iter().for_each(|&flow| class[flow as usize] = at);
        }
        let empty = Load { sparse: vec![0.0; links], dense: vec![0.0; links] };
        let uniform: Vec<Known> = (0..=u8::MAX)
            .take(problem.protocols().len())
            .map(|protocol| {
                let mut loads = vec![empty.clone(); problem.classes().len()];
                for (flow, &class) in class.iter().enumerate() {
                    loads[class].add(problem.flows()[flow].weight, problem.row(flow, protocol));
                }
                Known { assignment: problem.uniform(protocol), loads }
            })
            .collect();
        let last = uniform[0].clone();
        Self { problem, uniform, last, class, fill: Fill::new(problem) }
    }

    /// Returns the problem.
    #[must_use]
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Returns the flows' rates under `assignment`, in bit/s and in the order of the flows.
    ///
    /// # Panics
    /// If the assignment does not fit the problem.
    pub fn rates(&mut self, assignment: &[u8]) -> &[f64] {
        assert_eq!(
            assignment.len(),
            self.problem.flows().len(),
            "`assignment` must have one protocol per flow"
        );
        self.turn_to(assignment);
        self.fill.run(assignment, &self.last.loads);
        &self.fill.rates
    }

    /// Changes `last` to `assignment` and its loads.
    fn turn_to(&mut self, assignment: &[u8]) {
        let apart = |known: &Known| known.assignment.iter().zip(assignment).filter(|(a, b)| a != b).count();
        let nearest = self
            .uniform
            .iter()
            .min_by_key(|known| apart(known))
            .expect("there must be at least one protocol");
        if apart(nearest) < apart(&self.last) {
            self.last.assignment.copy_from_slice(&nearest.assignment);
            for (load, known) in self.last.loads.iter_mut().zip(&nearest.loads) {
                load.sparse.copy_from_slice(&known.sparse);
                load.dense.copy_from_slice(&known.dense);
            }
        }
        let problem = self.problem;
        let mut changes: Vec<Vec<Term<'_>>> = vec![Vec::new(); self.last.loads.len()];
        for (flow, (old, &new)) in self.last.assignment.iter_mut().zip(assignment).enumerate() {
            if *old == new {
                continue;
            }
            let (class, weight) = (self.class[flow], problem.flows()[flow].weight);
            for (row, weight) in [(problem.row(flow, *old), -weight), (problem.row(flow, new), weight)] {
                match row {
                    Row::Sparse(row) => add_sparse(&mut self.last.loads[class].sparse, weight, row),
                    Row::Dense(row) => changes[class].push((weight, row)),
                }
            }
            *old = new;
        }
        for (load, changes) in self.last.loads.iter_mut().zip(&changes) {
            add_dense(&mut load.dense, changes);
        }
    }
}

impl Load {
    fn add(&mut self, weight: f64, row: Row<'_>) {
        match row {
            Row::Sparse(row) => add_sparse(&mut self.sparse, weight, row),
            Row::Dense(row) => add_dense(&mut self.dense, &[(weight, row)]),
        }
    }
}

/// A flow's weight and its dense row.
type Term<'a> = (f64, &'a [f32]);

fn add_sparse(sum: &mut [f64], weight: f64, row: &[(u32, f32)]) {
    for &(link, share) in row {
        sum[link as usize] += weight * f64::from(share);
    }
}

/// Adds four rows at a time, so that the sum is read and written a quarter as often.
fn add_dense(sum: &mut [f64], terms: &[Term<'_>]) {
    let (fours, rest) = terms.as_chunks::<4>();
    for &[(a, row_a), (b, row_b), (c, row_c), (d, row_d)] in fours {
        let rows = row_a.iter().zip(row_b).zip(row_c).zip(row_d);
        for (sum, (((&w, &x), &y), &z)) in sum.iter_mut().zip(rows) {
            *sum += (a * f64::from(w) + b * f64::from(x)) + (c * f64::from(y) + d * f64::from(z));
        }
    }
    for &(weight, row) in rest {
        for (sum, &share) in sum.iter_mut().zip(row) {
            *sum += weight * f64::from(share);
        }
    }
}

/// One water-filling, with reused working memory.
#[derive(Debug, Clone)]
struct Fill<'a> {
    problem: &'a Problem,
    rates: Vec<f64>,
    /// For each flow, true if it belongs to the current class and has no rate yet.
    rises: Vec<bool>,
    /// For each link, the capacity that is left after the flows that already have a rate, in bit/s.
    left: Vec<f64>,
    /// For each link, the sum of weight times traversals over the flows of the class that still rise.
    rising: Vec<f64>,
    /// The part of `rising` that comes from dense rows.
    dense: Vec<f64>,
    /// Flows that belong to the current class, have dense rows and still rise.
    dense_flows: Vec<u32>,
    /// The sum of a group of dense rows, each multiplied by the flow's weight.
    group: Vec<f64>,
    /// For each flow of the class with a finite demand: the demand divided by the flow's weight, and the flow. In
    /// descending order.
    demands: Vec<(f64, u32)>,
    levels: Levels,
}

impl<'a> Fill<'a> {
    fn new(problem: &'a Problem) -> Self {
        let links = problem.capacity().len();
        Self {
            problem,
            rates: vec![0.0; problem.flows().len()],
            rises: Vec::new(),
            left: Vec::with_capacity(links),
            rising: Vec::with_capacity(links),
            dense: Vec::with_capacity(links),
            dense_flows: Vec::new(),
            group: vec![0.0; links],
            demands: Vec::new(),
            levels: Levels::default(),
        }
    }

    fn run(&mut self, assignment: &[u8], loads: &[Load]) {
        let problem = self.problem;
        self.rises.clear();
        self.rises.resize(assignment.len(), false);
        self.left.clear();
        self.left.extend_from_slice(problem.capacity());
        for (at, (members, load)) in problem.classes().iter().zip(loads).enumerate() {
            if at > 0 {
                for (left, capacity) in self.left.iter_mut().zip(problem.capacity()) {
                    if *left < NOTHING * capacity {
                        *left = 0.0;
                    }
                }
            }
            self.enter(assignment, members, load);
            self.rise(assignment, members);
        }
    }

    fn enter(&mut self, assignment: &[u8], members: &[u32], load: &Load) {
        self.dense.clone_from(&load.dense);
        self.rising.clear();
        self.rising.extend(load.sparse.iter().zip(&load.dense).map(|(sparse, dense)| sparse + dense));
        self.levels.reset(self.rising.len());
        self.dense_flows.clear();
        self.demands.clear();
        for &flow in members {
            self.rises[flow as usize] = true;
            let LongFlow { weight, demand_bps, .. } = self.problem.flows()[flow as usize];
            if demand_bps.is_finite() {
                self.demands.push((demand_bps / weight, flow));
            }
            if let Row::Dense(_) = self.problem.row(flow as usize, assignment[flow as usize]) {
                self.dense_flows.push(flow);
            }
        }
        self.demands.sort_by(|a, b| b.0.total_cmp(&a.0));
    }

    /// Raises the level until every flow of the class is stopped.
    fn rise(&mut self, assignment: &[u8], members: &[u32]) {
        let mut to_go = members.len();
        let mut level = 0.0_f64;
        while to_go > 0 {
            let full = self.levels.lowest(&self.left, &self.rising);
            let met = self.demands.last().copied();
            match (full, met) {
                (full, Some((demand, flow))) if full.is_none_or(|(full, _)| demand <= full) => {
                    self.demands.pop();
                    if self.rises[flow as usize] {
                        level = level.max(demand);
                        self.satisfy(flow, assignment[flow as usize]);
                        to_go -= 1;
                    }
                }
                (Some((full, link)), _) => {
                    level = level.max(full);
                    let stopped = self.stop_at(link, level, assignment);
                    to_go -= stopped;
                    if stopped == 0 {
                        // All flows on the link have stopped. The remaining weight is a rounding error of fractional
                        // weights.
                        self.rising[link] = 0.0;
                    }
                }
                (None, _) => {
                    // The weights of the remaining flows are lost in rounding errors on every link.
                    for &flow in members.iter().filter(|&&flow| self.rises[flow as usize]) {
                        self.rates[flow as usize] = level * self.problem.flows()[flow as usize].weight;
                    }
                    return;
                }
            }
        }
    }

    /// Stops a flow at its demand.
    fn satisfy(&mut self, flow: u32, protocol: u8) {
        let LongFlow { weight, demand_bps, .. } = self.problem.flows()[flow as usize];
        match self.problem.row(flow as usize, protocol) {
            Row::Sparse(row) => self.take_sparse(flow, demand_bps, row),
            Row::Dense(row) => {
                self.dense_flows.retain(|&other| other != flow);
                self.group.fill(0.0);
                add_dense(&mut self.group, &[(weight, row)]);
                self.take_group(demand_bps / weight);
            }
        }
        self.rates[flow as usize] = demand_bps;
        self.rises[flow as usize] = false;
    }

    /// Stops all flows that use a full link, and returns their number.
    fn stop_at(&mut self, link: usize, level: f64, assignment: &[u8]) -> usize {
        let problem = self.problem;
        let mut stopped = 0;
        for &(flow, protocol) in problem.users(link) {
            if self.rises[flow as usize]
                && assignment[flow as usize] == protocol
                && let Row::Sparse(row) = problem.row(flow as usize, protocol)
            {
                self.rises[flow as usize] = false;
                self.take_sparse(flow, level * problem.flows()[flow as usize].weight, row);
                stopped += 1;
            }
        }
        stopped + self.stop_dense_at(link, level, assignment)
    }

    fn take_sparse(&mut self, flow: u32, rate: f64, row: &[(u32, f32)]) {
        self.rates[flow as usize] = rate;
        let weight = self.problem.flows()[flow as usize].weight;
        for &(link, share) in row {
            let share = f64::from(share);
            self.rising[link as usize] -= weight * share;
            self.left[link as usize] -= rate * share;
        }
    }

    fn stop_dense_at(&mut self, link: usize, level: f64, assignment: &[u8]) -> usize {
        let problem = self.problem;
        let term = |&flow: &u32| match problem.row(flow as usize, assignment[flow as usize]) {
            Row::Dense(row) => (problem.flows()[flow as usize].weight, row),
            Row::Sparse(_) => unreachable!("`dense_flows` must contain only flows with dense rows"),
        };
        let (stopping, staying): (Vec<u32>, Vec<u32>) =
            self.dense_flows.iter().partition(|&flow| term(flow).1[link] > 0.0);
        if stopping.is_empty() {
            return 0;
        }
        // Adds up the rows of the smaller group. If this is `staying`, the sum of `stopping` is the total minus this
        // sum.
        if stopping.len() <= staying.len() {
            self.group.fill(0.0);
            add_dense(&mut self.group, &stopping.iter().map(term).collect::<Vec<_>>());
        } else {
            self.group.clone_from(&self.dense);
            let terms: Vec<_> = staying.iter().map(term).map(|(weight, row)| (-weight, row)).collect();
            add_dense(&mut self.group, &terms);
        }
        for &flow in &stopping {
            self.rises[flow as usize] = false;
            self.rates[flow as usize] = level * problem.flows()[flow as usize].weight;
        }
        self.take_group(level);
        self.dense_flows = staying;
        stopping.len()
    }

    /// Updates the links for a group of flows that stop at `level`. `self.group` contains the sum of their rows, each
    /// multiplied by the flow's weight.
    fn take_group(&mut self, level: f64) {
        let links = self.left.iter_mut().zip(&mut self.rising).zip(&mut self.dense).zip(&self.group);
        for (((left, rising), dense), group) in links {
            *left -= level * group;
            *rising -= group;
            *dense -= group;
        }
    }
}
