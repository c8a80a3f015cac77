//! Rate computation (§3.3): weighted max-min of the flows in the table, each split as its routing protocol says.

use super::Params;
use super::fabric::View;
use super::table::Entry;
use raddle_allocate::{Allocate, Flows, WaterFill};
use raddle_core::{LinkId, NodeId};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::UNLIMITED_KBPS;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Allocations that nodes with equal tables have computed lately.
#[derive(Debug, Default)]
pub(super) struct RateMemo(Mutex<VecDeque<Remembered>>);

/// What a computation was given and what it gave.
type Remembered = (Vec<(u32, Entry)>, Arc<[f64]>);

const REMEMBERED: usize = 16;

/// Computes rates, with the working memory that takes.
#[derive(Debug, Default)]
pub(super) struct RateComputation {
    flows: Flows,
    row: Vec<(LinkId, f32)>,
    water_fill: WaterFill,
    rates: Vec<f64>,
}

/// The protocol of a flow, by its number on the wire; the fabric's own protocol says how it breaks ties.
pub(super) fn protocol(params: &Params, number: u8) -> Option<Protocol> {
    if number == params.protocol.number() { Some(params.protocol) } else { Protocol::from_number(number) }
}

fn demand_bps(kbps: u32) -> f64 {
    if kbps == UNLIMITED_KBPS { f64::INFINITY } else { f64::from(kbps) * 1e3 }
}

impl RateComputation {
    /// The rates of `table`'s flows in bit/s, in its order, which is that of handles.
    pub(super) fn rates(&mut self, params: &Params, view: &View, table: &[(u32, Entry)]) -> Arc<[f64]> {
        let same = |known: &[(u32, Entry)]| {
            known.len() == table.len()
                && known.iter().zip(table).all(|(a, b)| (a.0, Entry { learned: b.1.learned, ..a.1 }) == *b)
        };
        let memo = &view.memo.0;
        let known = memo.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rates)) = known.iter().rev().find(|(known, _)| same(known)) {
            return Arc::clone(rates);
        }
        drop(known);
        self.compute(params, view, table);
        let rates: Arc<[f64]> = self.rates.as_slice().into();
        let mut known = memo.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == REMEMBERED {
            known.pop_front();
        }
        known.push_back((table.to_vec(), Arc::clone(&rates)));
        rates
    }

    fn compute(&mut self, params: &Params, view: &View, table: &[(u32, Entry)]) {
        self.flows.clear();
        for &(key, entry) in table {
            self.weights(params, view, key, &entry);
            self.flows.push(
                f64::from(entry.weight.max(1)),
                entry.priority,
                demand_bps(entry.demand_kbps),
                self.row.iter().map(|&(link, weight)| (link.0, weight)),
            );
        }
        self.water_fill.allocate(&self.flows, &view.usable, &mut self.rates);
    }

    fn weights(&mut self, params: &Params, view: &View, key: u32, entry: &Entry) {
        let (src, dst) = (NodeId(key >> 16), NodeId(entry.dst.into()));
        let protocol = protocol(params, entry.protocol).unwrap_or(params.protocol);
        self.row.clear();
        if view.routing.distance(src, dst).is_some() {
            view.routing.weights(protocol, src, dst, key.into(), &mut self.row);
        }
    }

    /// What `table`'s flows leave of the links of one more flow, in bit/s: at least a hundredth of its slowest link.
    pub(super) fn residual(
        &mut self,
        params: &Params,
        view: &View,
        table: &[(u32, Entry)],
        newcomer: (u32, &Entry),
    ) -> f64 {
        let rates = self.rates(params, view, table);
        let mut free = view.usable.clone();
        for (&(key, entry), rate) in table.iter().zip(&*rates) {
            self.weights(params, view, key, &entry);
            for &(link, weight) in &self.row {
                free[link.index()] -= rate * f64::from(weight);
            }
        }
        self.weights(params, view, newcomer.0, newcomer.1);
        let left = self.row.iter().map(|&(link, weight)| free[link.index()] / f64::from(weight));
        let slowest = self.row.iter().map(|&(link, _)| view.usable[link.index()]);
        left.fold(f64::INFINITY, f64::min).max(slowest.fold(f64::INFINITY, f64::min) / 100.0)
    }
}
