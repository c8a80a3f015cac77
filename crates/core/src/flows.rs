//! The flows of a run, which may be too many to store at once.

use crate::{Flow, Time};
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

/// The flows of a run, in order of start, which is the order of their ids.
///
/// The flows are stored as a list, or generated again on each pass over them. With generated flows, a run stores only
/// the flows that have started and not ended, but each pass must generate all flows again. A copy of a pass continues
/// from the position of the original.
#[derive(Clone)]
pub struct Flows {
    count: usize,
    all: Coming,
}

impl Flows {
    /// The `count` flows of an iterator. A copy of the iterator must give the same flows.
    #[must_use]
    pub fn made(count: usize, flows: impl Iterator<Item = Flow> + Clone + Send + Sync + 'static) -> Self {
        Self { count, all: Coming(Pass::Made(Box::new(flows))) }
    }

    /// The number of flows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// True if there are no flows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// An iterator over all flows.
    #[must_use]
    pub fn iter(&self) -> Coming {
        self.all.clone()
    }

    /// A pass over the flows in which the caller can examine the next flow without taking it.
    #[must_use]
    pub fn queue(&self) -> Queued {
        let mut coming = self.iter();
        Queued { next: coming.next(), coming }
    }
}

impl IntoIterator for &Flows {
    type Item = Flow;
    type IntoIter = Coming;

    fn into_iter(self) -> Coming {
        self.iter()
    }
}

impl From<Arc<[Flow]>> for Flows {
    /// # Panics
    /// If the flows are not in order of start, or not in order of their ids.
    fn from(flows: Arc<[Flow]>) -> Self {
        assert!(
            flows.is_sorted_by(follows),
            "flows must be sorted by start time, and their ids must increase"
        );
        Self { count: flows.len(), all: Coming(Pass::Listed(flows, 0)) }
    }
}

impl From<Vec<Flow>> for Flows {
    fn from(flows: Vec<Flow>) -> Self {
        Arc::<[Flow]>::from(flows).into()
    }
}

impl From<&[Flow]> for Flows {
    fn from(flows: &[Flow]) -> Self {
        Arc::<[Flow]>::from(flows).into()
    }
}

impl<const N: usize> From<[Flow; N]> for Flows {
    fn from(flows: [Flow; N]) -> Self {
        Arc::<[Flow]>::from(flows).into()
    }
}

impl FromIterator<Flow> for Flows {
    fn from_iter<I: IntoIterator<Item = Flow>>(flows: I) -> Self {
        flows.into_iter().collect::<Arc<[Flow]>>().into()
    }
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} flows", self.count)
    }
}

/// True if the second flow may follow the first.
fn follows(first: &Flow, second: &Flow) -> bool {
    first.start <= second.start && first.id < second.id
}

/// A pass over flows, with its current position.
#[derive(Clone)]
pub struct Coming(Pass);

enum Pass {
    /// A list, and the position of the next flow.
    Listed(Arc<[Flow]>, usize),
    Made(Box<dyn Made>),
}

/// An iterator that can be copied.
trait Made: Iterator<Item = Flow> + Send + Sync {
    fn copy(&self) -> Box<dyn Made>;
}

impl<I: Iterator<Item = Flow> + Clone + Send + Sync + 'static> Made for I {
    fn copy(&self) -> Box<dyn Made> {
        Box::new(self.clone())
    }
}

impl Clone for Pass {
    fn clone(&self) -> Self {
        match self {
            Self::Listed(flows, next) => Self::Listed(Arc::clone(flows), *next),
            Self::Made(flows) => Self::Made(flows.copy()),
        }
    }
}

impl Iterator for Coming {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        match &mut self.0 {
            Pass::Listed(flows, next) => {
                let flow = flows.get(*next).copied();
                *next += 1;
                flow
            }
            Pass::Made(flows) => flows.next(),
        }
    }
}

impl FusedIterator for Coming {}

/// A pass over flows in which the caller can examine the next flow without taking it.
#[derive(Clone)]
pub struct Queued {
    next: Option<Flow>,
    coming: Coming,
}

impl Queued {
    /// The next flow; `None` if none is left.
    #[must_use]
    pub fn peek(&self) -> Option<&Flow> {
        self.next.as_ref()
    }

    /// Start of the next flow; [`Time::NEVER`] if none is left.
    #[must_use]
    pub fn next_start(&self) -> Time {
        self.next.map_or(Time::NEVER, |flow| flow.start)
    }

    /// Takes the next flow if it starts at `now` or earlier.
    pub fn take_started(&mut self, now: Time) -> Option<Flow> {
        self.take_if(|flow| flow.start <= now)
    }

    /// Takes the next flow if `wanted` returns true for it.
    pub fn take_if(&mut self, wanted: impl FnOnce(&Flow) -> bool) -> Option<Flow> {
        let flow = self.next.filter(wanted)?;
        self.next = self.coming.next();
        debug_assert!(
            self.next.is_none_or(|next| follows(&flow, &next)),
            "flows must be sorted by start time, and their ids must increase"
        );
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, FlowId, NodeId};

    fn flow(id: u32) -> Flow {
        Flow::new(FlowId(id), NodeId(0), NodeId(1), Bytes(1), Time::from_ps(u64::from(id) * 10))
    }

    #[test]
    fn made_flows_are_those_of_the_list_on_every_pass() {
        let listed: Flows = (0..5).map(flow).collect();
        let made = Flows::made(5, (0..5).map(flow));
        for flows in [&listed, &made, &made] {
            assert_eq!(flows.len(), 5);
            assert_eq!(flows.iter().collect::<Vec<_>>(), (0..5).map(flow).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_copy_of_a_pass_goes_on_from_where_the_pass_is() {
        let mut queue = Flows::made(4, (0..4).map(flow)).queue();
        assert_eq!(queue.take_started(Time::from_ps(5)), Some(flow(0)));
        assert_eq!(queue.take_started(Time::from_ps(5)), None);
        let mut copy = queue.clone();
        assert_eq!((copy.peek(), copy.next_start()), (Some(&flow(1)), Time::from_ps(10)));
        while copy.take_started(Time::NEVER).is_some() {}
        assert_eq!((copy.next_start(), queue.peek()), (Time::NEVER, Some(&flow(1))));
    }

    #[test]
    #[should_panic(expected = "flows must be sorted by start time")]
    fn a_list_out_of_order_is_refused() {
        let _ = Flows::from(vec![flow(1), flow(0)]);
    }
}
