//! The local maxima of a utility, by a visit to all assignments. For few flows only.

use super::{Exhaustive, Objective};

/// Utilities that differ by at most this share count as equal, since they are sums of rounded numbers.
pub const ROUNDING: f64 = 1e-9;

/// Returns the number of local maxima of the objective. Two assignments are neighbours if they differ in the protocol of
/// one flow. A local maximum is a set of assignments of equal utility, connected by steps between neighbours, none of
/// which has a neighbour of higher utility: a plateau counts once.
///
/// # Panics
/// If the problem has more than [`Exhaustive::MOST`] assignments.
#[allow(clippy::cast_possible_truncation, reason = "there are at most `Exhaustive::MOST` assignments")]
pub fn local_maxima(objective: &mut Objective<'_>) -> usize {
    let problem = objective.problem();
    assert!(Exhaustive::fits(problem), "the problem must have at most {} assignments", Exhaustive::MOST);
    let (protocols, flows) = (problem.protocols().len(), problem.flows().len());
    let count = problem.assignments().expect("the assignments fit") as usize;
    // The number of an assignment has the flows' protocols as digits, the first flow's as the last digit.
    let places: Vec<usize> = (0..flows as u32).map(|flow| protocols.pow(flow)).collect();
    let digit = |number: usize, place: usize| number / place % protocols;
    let mut here = problem.uniform(0);
    let mut utility_of = |number: usize| {
        for (protocol, &place) in here.iter_mut().zip(&places) {
            *protocol = digit(number, place) as u8;
        }
        objective.utility(&here)
    };
    let utilities: Vec<f64> = (0..count).map(&mut utility_of).collect();
    let neighbours = |number: usize| {
        places.iter().flat_map(move |&place| {
            let present = digit(number, place);
            let others = (0..protocols).filter(move |&other| other != present);
            others.map(move |other| number + other * place - present * place)
        })
    };
    let is_higher = |one: usize, other: usize| utilities[one] > utilities[other] * (1.0 + ROUNDING);
    let mut visited = vec![false; count];
    let mut maxima = 0;
    for first in 0..count {
        if visited[first] {
            continue;
        }
        visited[first] = true;
        let (mut is_maximum, mut to_visit) = (true, vec![first]);
        while let Some(number) = to_visit.pop() {
            for neighbour in neighbours(number) {
                if is_higher(neighbour, number) {
                    is_maximum = false;
                } else if !is_higher(number, neighbour) && !visited[neighbour] {
                    visited[neighbour] = true;
                    to_visit.push(neighbour);
                }
            }
        }
        maxima += usize::from(is_maximum);
    }
    maxima
}
