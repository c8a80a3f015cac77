//! Orders to a running rack: links fail now, or are repaired now.
//!
//! Each polling thread follows an order when it checks for orders. So the two ends of a link may follow it at
//! different times, as with failures that were known before ([`failures`](super::failures)).

use super::{Rack, Worker};
use raddle_core::{Change, Duration, LinkId, Time};
use std::sync::mpsc::{self, Receiver, Sender};

/// Gives the threads of a rack orders, from any thread.
#[derive(Debug, Clone)]
pub struct Orders {
    threads: Vec<Sender<Order>>,
}

/// Links are to change their state now.
#[derive(Debug, Clone)]
struct Order {
    links: Vec<LinkId>,
    up: bool,
    /// The time after which all nodes are told, unless nodes find out by hellos.
    discovery: Duration,
}

/// The channel by which a polling thread receives orders, if there is one.
#[derive(Debug, Default)]
pub(super) struct Ordered(Option<Receiver<Order>>);

impl Rack {
    /// A way to give the rack orders while it runs. Only the last one that was asked for works.
    ///
    /// # Panics
    /// If other processes share the rack: they would not hear of orders.
    pub fn orders(&mut self) -> Orders {
        assert!(self.party.is_none(), "one process has the rack");
        self.share_losses();
        let hear = |worker: &mut Worker| {
            let (order, ordered) = mpsc::channel();
            worker.ordered = Ordered(Some(ordered));
            order
        };
        Orders { threads: self.workers.iter_mut().map(hear).collect() }
    }
}

impl Orders {
    /// Links fail, or work again, now; a while later all nodes are told, unless nodes find out by hellos. A rack that has ended does not
    /// hear it.
    pub fn change(&self, links: &[LinkId], up: bool, discovery: Duration) {
        for thread in &self.threads {
            let _ = thread.send(Order { links: links.to_vec(), up, discovery });
        }
    }
}

impl Worker {
    /// Follows the orders that have arrived.
    #[inline]
    pub(super) fn follow_orders(&mut self, now: Time) {
        while let Ordered(Some(ordered)) = &self.ordered
            && let Ok(Order { links, up, discovery }) = ordered.try_recv()
        {
            self.expect_change(Change { at: now, links, up, discovery });
        }
    }
}
