//! Orders to a running rack: links fail now, or are repaired now.
//!
//! Each polling thread follows an order when it checks for orders. So the two ends of a link may follow the order at
//! different times, as with failures that were scheduled before the run ([`failures`](super::failures)).

use super::{Rack, Worker};
use raddle_core::{Change, Duration, LinkId, Time};
use std::sync::mpsc::{self, Receiver, Sender};

/// Sends orders to the polling threads of a rack, from any thread.
#[derive(Debug, Clone)]
pub struct Orders {
    threads: Vec<Sender<Order>>,
}

/// An order to change the state of links now.
#[derive(Debug, Clone)]
struct Order {
    links: Vec<LinkId>,
    up: bool,
    /// The time after which all nodes are told of the change, unless nodes discover changes by hello messages.
    discovery: Duration,
}

/// The channel by which a polling thread receives orders, if there is one.
#[derive(Debug, Default)]
pub(super) struct Ordered(Option<Receiver<Order>>);

impl Rack {
    /// Returns a sender of orders. The rack follows the orders while it runs. Only the most recently returned sender
    /// works.
    ///
    /// # Panics
    /// If other processes share the rack, because they would not receive the orders.
    pub fn orders(&mut self) -> Orders {
        assert!(self.party.is_none(), "`orders` needs a rack that runs in a single process");
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
    /// Makes links fail now, or repairs them now. All nodes are told after the time `discovery`, unless nodes discover
    /// changes by hello messages. A rack that has ended does not receive the order.
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
