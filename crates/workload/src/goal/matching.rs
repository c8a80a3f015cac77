//! Finds the waiting receive that matches a message, or the waiting message that matches a receive.

use std::collections::{BTreeMap, VecDeque};

/// The sender of a message and its tag; `None` matches any sender or any tag.
pub(super) type Pattern = (Option<u32>, Option<u32>);

/// Items that wait for their counterpart (messages for receives, or receives for messages), each with its
/// pattern, in order of arrival.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    came: u64,
    queues: BTreeMap<Pattern, VecDeque<(u64, T)>>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { came: 0, queues: BTreeMap::new() }
    }
}

impl<T> Waiting<T> {
    pub(super) fn push(&mut self, pattern: Pattern, item: T) {
        self.queues.entry(pattern).or_default().push_back((self.came, item));
        self.came += 1;
    }

    /// Removes and returns the earliest item that matches `pattern`.
    pub(super) fn take(&mut self, pattern: Pattern) -> Option<T> {
        let (_, first) = match pattern {
            (from @ Some(_), tag @ Some(_)) => {
                let same = [(from, tag), (from, None), (None, tag), (None, None)];
                let queues = same.iter().filter_map(|same| self.queues.get_key_value(same));
                queues.filter_map(came_first).min()
            }
            _ => {
                let queues = self.queues.iter().filter(|&(&other, _)| matches(pattern, other));
                queues.filter_map(came_first).min()
            }
        }?;
        let queue = self.queues.get_mut(&first)?;
        let (_, item) = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(&first);
        }
        Some(item)
    }
}

/// Returns the arrival number of the first item in a queue, and the queue's pattern.
fn came_first<T>((&pattern, queue): (&Pattern, &VecDeque<(u64, T)>)) -> Option<(u64, Pattern)> {
    Some((queue.front()?.0, pattern))
}

/// True if a receive and a message match.
fn matches((from, tag): Pattern, (other_from, other_tag): Pattern) -> bool {
    let agree = |a: Option<u32>, b: Option<u32>| a.is_none() || b.is_none() || a == b;
    agree(from, other_from) && agree(tag, other_tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_matching_message_is_taken() {
        let mut waiting = Waiting::default();
        let patterns = [
            (Some(1), Some(7)),
            (None, Some(7)),
            (Some(1), None),
            (None, None),
            (Some(1), Some(7)),
            (Some(2), Some(8)),
        ];
        for (number, pattern) in (0..).zip(patterns) {
            waiting.push(pattern, number);
        }
        let exact: Vec<u32> = std::iter::from_fn(|| waiting.take((Some(1), Some(7)))).collect();
        assert_eq!(exact, [0, 1, 2, 3, 4]);
        assert_eq!(waiting.take((Some(2), Some(7))), None);
        for (number, pattern) in
            (0..).zip([(Some(3), Some(1)), (Some(2), Some(1)), (Some(3), Some(2)), (Some(2), None)])
        {
            waiting.push(pattern, number);
        }
        assert_eq!(waiting.take((None, Some(1))), Some(0));
        assert_eq!(waiting.take((Some(3), None)), Some(2));
        assert_eq!(std::iter::from_fn(|| waiting.take((None, None))).collect::<Vec<_>>(), [5, 1, 3]);
        assert!(waiting.queues.is_empty());
    }
}
