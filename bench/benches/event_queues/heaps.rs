//! Comparison-based heaps: the standard library's binary heap, and a heap with four children per node, which is half
//! as deep.

use crate::{Event, Queue};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) struct Binary(BinaryHeap<Reverse<Event>>);

impl Queue for Binary {
    fn new(_: usize) -> Self {
        Self(BinaryHeap::new())
    }

    fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }

    fn pop(&mut self) -> Option<Event> {
        self.0.pop().map(|Reverse(event)| event)
    }
}

pub(crate) struct Quaternary(Vec<Event>);

impl Queue for Quaternary {
    fn new(_: usize) -> Self {
        Self(Vec::new())
    }

    fn push(&mut self, event: Event) {
        let mut at = self.0.len();
        self.0.push(event);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.0[parent] <= event {
                break;
            }
            self.0[at] = self.0[parent];
            at = parent;
        }
        self.0[at] = event;
    }

    fn pop(&mut self) -> Option<Event> {
        let last = self.0.pop()?;
        let Some(&first) = self.0.first() else { return Some(last) };
        let mut at = 0;
        loop {
            let children = 4 * at + 1..(4 * at + 5).min(self.0.len());
            let Some(least) = children.min_by_key(|&child| self.0[child]) else { break };
            if last <= self.0[least] {
                break;
            }
            self.0[at] = self.0[least];
            at = least;
        }
        self.0[at] = last;
        Some(first)
    }
}
