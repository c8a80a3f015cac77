//! Rate computation (R2C2 §3.3): the weighted max-min shares of the flows in the table. A flow splits over links as its
//! routing protocol defines.
//!
//! Successive tables differ by few flows, so a computation starts from an earlier result. The rates still depend only
//! on the table: nodes with equal tables compute exactly the same bits.

use super::Params;
use super::entries::Entry;
use super::fabric::View;
use super::protocol_number;
use raddle_allocate::RateTable;
use raddle_core::{LinkId, NodeId};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::UNLIMITED_KBPS;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rates of recent tables, which other nodes with equal tables reuse, and the idle rate computations, with which
/// the next computations begin.
#[derive(Debug, Default)]
pub(super) struct RateMemo {
    known: Mutex<VecDeque<Remembered>>,
    idle: Mutex<Vec<RateComputation>>,
}

/// Input and result of a rate computation.
type Remembered = (Vec<Entry>, Arc<[f64]>);

const REMEMBERED: usize = 16;

/// Computes the rates of a table. Each call starts from the rates of the table of the previous call.
#[derive(Debug)]
struct RateComputation {
    /// The key of a flow consists of its table entry and the bits of its weight under the policy.
    rates: RateTable<(Entry, u64)>,
    row: Vec<(LinkId, f32)>,
}

/// The protocol that `number` identifies in packets. If this is the configured protocol, the configured tie-breaking
/// rule is used. `None` if no protocol has this number.
pub(crate) fn protocol(params: &Params, number: u8) -> Option<Protocol> {
    if number == protocol_number::number(params.protocol) {
        Some(params.protocol)
    } else {
        protocol_number::protocol(number)
    }
}

pub(super) fn demand_bps(kbps: u32) -> f64 {
    if kbps == UNLIMITED_KBPS { f64::INFINITY } else { f64::from(kbps) * 1e3 }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rate of each flow in `table`, in bit/s. `table` is sorted by handle.
pub(crate) fn rates(params: &Params, view: &View, table: &[Entry]) -> Arc<[f64]> {
    rates_by(&view.memo, params, view, table)
}

/// Like `rates`, but for the flows that are eligible at a tick. New flows may not be eligible yet.
pub(super) fn rates_at_tick(params: &Params, view: &View, table: &[Entry]) -> Arc<[f64]> {
    rates_by(if params.only_lasting { &view.memo_of_lasting } else { &view.memo }, params, view, table)
}

fn rates_by(memo: &RateMemo, params: &Params, view: &View, table: &[Entry]) -> Arc<[f64]> {
    view.count_computation();
    let known = locked(&memo.known)
        .iter()
        .rev()
        .find(|(known, _)| known == table)
        .map(|(_, rates)| Arc::clone(rates));
    if let Some(rates) = known {
        return rates;
    }
    let idle = locked(&memo.idle).pop();
    let mut computation = idle.unwrap_or_else(|| RateComputation::new(view));
    let rates = computation.compute(params, view, table);
    locked(&memo.idle).push(computation);
    let mut known = locked(&memo.known);
    if known.len() == REMEMBERED {
        known.pop_front();
    }
    known.push_back((table.to_vec(), Arc::clone(&rates)));
    rates
}

/// The rate that the flows in `table` leave for a new flow `newcomer` on its links, in bit/s. This rate is at least a
/// hundredth of the usable capacity of the new flow's slowest link.
pub(super) fn residual(params: &Params, view: &View, table: &[Entry], newcomer: &Entry) -> f64 {
    let rates = rates(params, view, table);
    let mut free = view.usable.clone();
    let mut row = Vec::new();
    for (entry, rate) in table.iter().zip(&*rates) {
        weights(params, view, entry, &mut row);
        for &(link, weight) in &row {
            free[link.index()] -= rate * f64::from(weight);
        }
    }
    weights(params, view, newcomer, &mut row);
    let left = row.iter().map(|&(link, weight)| free[link.index()] / f64::from(weight));
    let slowest = row.iter().map(|&(link, _)| view.usable[link.index()]);
    left.fold(f64::INFINITY, f64::min).max(slowest.fold(f64::INFINITY, f64::min) / 100.0)
}

/// Sets `row` to the fraction of the flow that each link carries. `row` is empty if no path leads from the flow's
/// source to its destination.
fn weights(params: &Params, view: &View, entry: &Entry, row: &mut Vec<(LinkId, f32)>) {
    let (src, dst) = (entry.src(), NodeId(entry.dst.into()));
    let protocol = protocol(params, entry.protocol()).unwrap_or(params.protocol);
    row.clear();
    if view.routing.distance(src, dst).is_some() {
        view.routing.weights(view.feasible(protocol), src, dst, entry.key().into(), row);
    }
}

impl RateComputation {
    fn new(view: &View) -> Self {
        Self { rates: RateTable::new(&view.usable), row: Vec::new() }
    }

    fn compute(&mut self, params: &Params, view: &View, table: &[Entry]) -> Arc<[f64]> {
        let Self { rates, row } = self;
        let weighed = table.iter().copied().zip(params.policy.weights(table).map(f64::to_bits));
        let flows: Vec<(Entry, u64)> = weighed.collect();
        rates
            .rates(&flows, |(entry, weight), flows| {
                weights(params, view, entry, row);
                flows.insert(
                    f64::from_bits(*weight),
                    entry.priority(),
                    demand_bps(entry.demand_kbps),
                    row.iter().map(|&(link, weight)| (link.0, weight)),
                )
            })
            .collect()
    }
}
