//! Remembers completely received flows for a while, as TCP's TIME-WAIT does (RFC 9293 §3.6). If the last
//! acknowledgement of a flow is lost, the sender repeats the end of the flow and needs this acknowledgement again.

use raddle_core::{Duration, FlowKey, Time};
use rustc_hash::FxHashMap;

/// The last acknowledgements of finished flows. Each acknowledgement is kept for at least one `span`. Only an insertion
/// removes old acknowledgements.
#[derive(Debug)]
pub(crate) struct TimeWait<A> {
    span: Duration,
    /// The flows of the current generation. A generation lasts for at least one `span`.
    recent: FxHashMap<FlowKey, A>,
    /// The flows of the previous generation.
    older: FxHashMap<FlowKey, A>,
    generation_ends: Time,
}

impl<A: Copy> TimeWait<A> {
    /// Creates an empty collection. Each acknowledgement will be kept for at least one `span`.
    pub(crate) fn new(span: Duration) -> Self {
        let (recent, older) = Default::default();
        Self { span, recent, older, generation_ends: Time::ZERO }
    }

    /// Records the last acknowledgement of a finished flow.
    pub(crate) fn insert(&mut self, now: Time, key: FlowKey, acknowledgement: A) {
        if now >= self.generation_ends {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
            self.generation_ends = now + self.span;
        }
        self.recent.insert(key, acknowledgement);
    }

    /// Returns the last acknowledgement of a finished flow, and keeps the acknowledgement for at least one more `span`.
    /// Returns `None` if the flow is unknown or forgotten.
    pub(crate) fn find(&mut self, now: Time, key: FlowKey) -> Option<A> {
        if let Some(&acknowledgement) = self.recent.get(&key) {
            return Some(acknowledgement);
        }
        let acknowledgement = self.older.remove(&key)?;
        self.insert(now, key, acknowledgement);
        Some(acknowledgement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_remembered_for_once_to_twice_the_span() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let mut finished = TimeWait::new(Duration::from_us(10));
        finished.insert(at(0), FlowKey(1), 'a');
        finished.insert(at(9), FlowKey(2), 'b');
        finished.insert(at(10), FlowKey(3), 'c');
        assert_eq!(finished.find(at(19), FlowKey(2)), Some('b'), "this look-up extends the time");
        finished.insert(at(20), FlowKey(4), 'd');
        assert_eq!([1, 2, 3].map(|key| finished.find(at(21), FlowKey(key))), [None, Some('b'), Some('c')]);
    }
}
