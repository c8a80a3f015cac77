//! The layout of a rack: the nodes of each polling thread, and the offsets of all parts of the rack's memory. All
//! processes that share a memory compute the same layout. In a rack over several machines, each process has its own
//! memory. This memory contains rings for the packets to other machines and for the packets from other machines.

#![allow(clippy::cast_possible_truncation, reason = "nodes and slots are counted in `u32`")]

use super::Config;
use super::pool::{self, Slots};
use super::ring;
use super::shared::{Region, Words};
use raddle_core::NodeId;
use raddle_topology::Topology;
use std::ops::Range;
use std::sync::Arc;

/// Number of words in a cache line. Parts begin at cache lines, so that threads that write different parts do not share
/// a line.
const LINE: usize = 8;

/// The kinds of parts of the rack's memory, in the order of their offsets.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The counter of the time for which virtual time was held.
    Held,
    /// All slots.
    Slots,
    /// The ring of a link.
    Link,
    /// The ring by which one thread returns slots to another.
    Return,
}

/// The layout of a rack.
#[derive(Debug)]
pub(super) struct Layout {
    /// Indexed by node: the polling thread that runs the node. Threads are numbered over all processes.
    thread_of: Vec<usize>,
    /// The polling threads of this process.
    own: Range<usize>,
    /// The polling threads that share this memory: the threads of all processes, or only the threads of this process.
    sharers: Range<usize>,
    slots_of_thread: usize,
    packet_bytes: usize,
    /// Indexed by [`Kind`]: the number of parts, and the number of words of each part.
    sizes: [(usize, usize); 4],
}

impl Layout {
    /// The layout of a rack in which process `i` runs the nodes `parts[i]`. These ranges must be consecutive and not
    /// empty. `own` is the index of this process. `is_spread` is true if each process has its own memory.
    pub(super) fn new(
        topology: &Topology,
        config: &Config,
        parts: &[Range<u32>],
        own: usize,
        is_spread: bool,
    ) -> Self {
        let mut thread_of = Vec::new();
        let (mut threads, mut own_threads) = (0, 0..0);
        for (process, part) in parts.iter().enumerate() {
            let nodes = part.len();
            let of_part = config.threads.clamp(1, nodes);
            thread_of.extend((0..nodes).map(|node| threads + node * of_part / nodes));
            if process == own {
                own_threads = threads..threads + of_part;
            }
            threads += of_part;
        }
        let sharers = if is_spread { own_threads.clone() } else { 0..threads };
        let slots_of_thread = (config.slots as usize / sharers.len()).max(1);
        let sizes = [
            (1, 1),
            (1, pool::words((slots_of_thread * sharers.len()) as u32, config.packet_bytes)),
            (topology.links().count(), ring::words(config.ring)),
            (sharers.len() * sharers.len(), ring::words(slots_of_thread.next_power_of_two())),
        ];
        let packet_bytes = config.packet_bytes;
        Self { thread_of, own: own_threads, sharers, slots_of_thread, packet_bytes, sizes }
    }

    /// Number of words of the memory.
    pub(super) fn words(&self) -> usize {
        self.sizes.iter().map(|&(count, words)| count * words.next_multiple_of(LINE)).sum()
    }

    fn piece(&self, region: &Arc<Region>, kind: Kind, i: usize) -> Words {
        let before = &self.sizes[..kind as usize];
        let before: usize = before.iter().map(|&(count, words)| count * words.next_multiple_of(LINE)).sum();
        let (_, words) = self.sizes[kind as usize];
        let begin = before + i * words.next_multiple_of(LINE);
        region.words(begin..begin + words)
    }

    /// The shared-memory word that counts, in ns, the real time for which virtual time was held.
    pub(super) fn held(&self, region: &Arc<Region>) -> Words {
        self.piece(region, Kind::Held, 0)
    }

    /// All slots.
    pub(super) fn slots(&self, region: &Arc<Region>) -> Slots {
        Slots::new(self.piece(region, Kind::Slots, 0), self.packet_bytes)
    }

    /// The slots that a thread owns.
    pub(super) fn slots_of(&self, thread: usize) -> Range<u32> {
        let first = (thread - self.sharers.start) * self.slots_of_thread;
        first as u32..(first + self.slots_of_thread) as u32
    }

    /// The ring of the `i`-th link.
    pub(super) fn link(&self, region: &Arc<Region>, i: usize) -> Words {
        self.piece(region, Kind::Link, i)
    }

    /// The ring by which one thread returns slots to another.
    pub(super) fn returning(&self, region: &Arc<Region>, from: usize, to: usize) -> Words {
        let [from, to] = [from, to].map(|thread| thread - self.sharers.start);
        self.piece(region, Kind::Return, from * self.sharers.len() + to)
    }

    /// The polling threads that share this memory. Each thread owns the same number of slots, in thread order.
    pub(super) fn sharers(&self) -> Range<usize> {
        self.sharers.clone()
    }

    /// Returns true if a node runs in a process that does not share this memory.
    pub(super) fn is_elsewhere(&self, node: NodeId) -> bool {
        !self.sharers.contains(&self.thread_of(node))
    }

    /// The polling threads of this process.
    pub(super) fn own_threads(&self) -> Range<usize> {
        self.own.clone()
    }

    /// The polling thread that runs a node.
    pub(super) fn thread_of(&self, node: NodeId) -> usize {
        self.thread_of[node.index()]
    }

    /// The thread that runs a node, numbered among the threads of this process. `None` if another process runs the
    /// node, or there is no such node.
    pub(super) fn own_thread_of(&self, node: NodeId) -> Option<usize> {
        let thread = *self.thread_of.get(node.index())?;
        self.own.contains(&thread).then(|| thread - self.own.start)
    }

    /// The nodes of a thread, which have consecutive numbers.
    pub(super) fn nodes_of(&self, thread: usize) -> impl Iterator<Item = NodeId> {
        let all = self.thread_of.iter().enumerate();
        all.filter(move |&(_, &of)| of == thread).map(|(node, _)| NodeId::of(node))
    }

    /// Number of nodes of the rack.
    pub(super) fn nodes(&self) -> u32 {
        self.thread_of.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::builders;

    #[test]
    fn all_processes_agree_on_threads_slots_and_the_memory_layout() {
        let torus = builders::torus(&[4], Rate::from_gbps(5), Duration::from_ns(100)).expect("a ring");
        let config = Config { threads: 2, slots: 10, ring: 4, packet_bytes: 100, ..Config::default() };
        let parts = [0..3, 3..4];
        let layouts = [0, 1].map(|own| Layout::new(&torus, &config, &parts, own, false));
        assert_eq!(layouts.each_ref().map(Layout::words), [layouts[0].words(); 2]);
        let [first, second] = &layouts;
        assert_eq!((first.own_threads(), second.own_threads(), first.sharers()), (0..2, 2..3, 0..3));
        let threads: Vec<_> = (0..4).map(|node| second.thread_of(NodeId(node))).collect();
        assert_eq!(threads, [0, 0, 1, 2]);
        assert_eq!((first.own_thread_of(NodeId(2)), second.own_thread_of(NodeId(2))), (Some(1), None));
        assert_eq!((second.own_thread_of(NodeId(3)), second.own_thread_of(NodeId(4))), (Some(0), None));
        assert_eq!(first.nodes_of(0).collect::<Vec<_>>(), [NodeId(0), NodeId(1)]);
        assert_eq!((0..3).map(|thread| first.slots_of(thread)).collect::<Vec<_>>(), [0..3, 3..6, 6..9]);
        // The last ring ends in the last cache line of the memory.
        let region = Region::new(first.words()).expect("a little memory");
        let last = first.returning(&region, 2, 2);
        last[last.len() - 1].store(1, std::sync::atomic::Ordering::Relaxed);
        let all = region.words(0..first.words());
        let set = all.iter().position(|word| word.load(std::sync::atomic::Ordering::Relaxed) == 1);
        assert!(set.is_some_and(|at| first.words() - at <= LINE));
    }

    #[test]
    fn a_machine_of_its_own_has_the_slots_of_its_threads_alone() {
        let torus = builders::torus(&[4], Rate::from_gbps(5), Duration::from_ns(100)).expect("a ring");
        let config = Config { threads: 2, slots: 10, ring: 4, packet_bytes: 100, ..Config::default() };
        let [first, second] = [0, 1].map(|own| Layout::new(&torus, &config, &[0..1, 1..4], own, true));
        assert_eq!((first.sharers(), second.sharers()), (0..1, 1..3));
        assert_eq!((first.slots_of(0), second.slots_of(1), second.slots_of(2)), (0..10, 0..5, 5..10));
        let elsewhere: Vec<bool> = (0..4).map(|node| second.is_elsewhere(NodeId(node))).collect();
        assert_eq!(elsewhere, [true, false, false, false]);
        let region = Region::new(second.words()).expect("a little memory");
        assert!(!second.returning(&region, 2, 2).is_empty(), "the last piece is in the memory");
    }
}
