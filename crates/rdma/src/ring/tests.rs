#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::check::{self, Check};
use super::*;
use crate::words::Words;
use proptest::collection::vec;
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// Maximum number of writes of each end that can be in progress on the wire. This is less than the number of slots.
const ROOM: usize = 6;

/// A write that is in progress, or that was reported as complete before all its bytes have arrived.
struct Write {
    from: usize,
    words: Range<usize>,
    tag: u32,
    /// The bytes that have not arrived at the other end, as offsets into the memory.
    missing: Vec<usize>,
    /// The bytes that the wire has already read from the memory of the writing end. The wire may read a byte at any
    /// time until it reports the write as complete.
    read: Vec<Option<u8>>,
    is_complete: bool,
}

/// The order in which the wire delivers the bytes of writes.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// In order, byte by byte and write by write, like a TCP stream.
    Stream,
    /// Whole words, in any order across all writes.
    Words,
    /// Single bytes, in any order across all writes.
    Bytes,
}

/// A simulated wire between the memories of the two ends. The test decides when each byte is delivered. The order has
/// one restriction: if two writes of one end cover the same byte, and the earlier write has been reported as complete,
/// the wire delivers the byte of the earlier write first.
struct Net {
    memories: [Words; 2],
    order: Order,
    writes: Vec<Write>,
}

fn byte_of(memory: &[AtomicU64], at: usize) -> u8 {
    memory[at / WORD].load(Ordering::Relaxed).to_le_bytes()[at % WORD]
}

fn set_byte(memory: &[AtomicU64], at: usize, byte: u8) {
    let mut bytes = memory[at / WORD].load(Ordering::Relaxed).to_le_bytes();
    bytes[at % WORD] = byte;
    memory[at / WORD].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
}

impl Net {
    fn new(shape: Shape, order: Order) -> Self {
        Self { memories: [(), ()].map(|()| Words::new(shape.words())), order, writes: Vec::new() }
    }

    fn end(&mut self, from: usize) -> Side<'_> {
        Side { net: self, from }
    }

    /// Returns the byte that a write carries for offset `at`. Reads the byte from memory if it was not read before.
    fn read(&mut self, write: usize, at: usize) -> u8 {
        let Self { memories, writes, .. } = self;
        let Write { from, words, read, .. } = &mut writes[write];
        *read[at - words.start * WORD].get_or_insert_with(|| byte_of(&memories[*from], at))
    }

    fn place(&mut self, write: usize, at: usize) {
        let from = self.writes[write].from;
        let is_blocked = self.writes[..write]
            .iter()
            .any(|earlier| earlier.from == from && earlier.is_complete && earlier.missing.contains(&at));
        if is_blocked {
            return;
        }
        let byte = self.read(write, at);
        set_byte(&self.memories[1 - from], at, byte);
        self.writes[write].missing.retain(|missing| *missing != at);
    }

    /// Delivers one byte or word, or only reads it from memory. The random number `draw` decides.
    fn step(&mut self, draw: usize) {
        let open: Vec<usize> =
            (0..self.writes.len()).filter(|&i| !self.writes[i].missing.is_empty()).collect();
        if open.is_empty() {
            return;
        }
        let (write, pieces) = match self.order {
            Order::Stream => {
                let write = *open.iter().find(|&&i| self.writes[i].from == draw % 2).unwrap_or(&open[0]);
                (write, vec![self.writes[write].missing[0]])
            }
            Order::Bytes => {
                let write = open[draw % open.len()];
                let missing = &self.writes[write].missing;
                (write, vec![missing[draw / 7 % missing.len()]])
            }
            Order::Words => {
                let write = open[draw % open.len()];
                let missing = &self.writes[write].missing;
                let word = missing[draw / 7 % missing.len()] / WORD;
                (write, missing.iter().copied().filter(|at| at / WORD == word).collect())
            }
        };
        for at in pieces {
            // The wire may read a byte from memory long before it delivers the byte.
            if draw.is_multiple_of(5) {
                self.read(write, at);
            } else {
                self.place(write, at);
            }
        }
    }

    /// Chooses a write of the end `from` by the random number `draw`, reports the write as complete, and returns its
    /// tag. If `early` is false, only a write whose bytes have all arrived can be reported. Removes writes that are
    /// complete and delivered.
    fn complete(&mut self, from: usize, draw: usize, early: bool) -> Option<u32> {
        let of: Vec<usize> = (0..self.writes.len())
            .filter(|&i| {
                let write = &self.writes[i];
                write.from == from && !write.is_complete && (early || write.missing.is_empty())
            })
            .collect();
        let write = *of.get(draw.checked_rem(of.len())?)?;
        let Range { start, end } = self.writes[write].words;
        for at in start * WORD..end * WORD {
            self.read(write, at);
        }
        self.writes[write].is_complete = true;
        let tag = self.writes[write].tag;
        self.writes.retain(|write| !write.is_complete || !write.missing.is_empty());
        Some(tag)
    }
}

/// One end's side of the wire.
struct Side<'a> {
    net: &'a mut Net,
    from: usize,
}

impl Wire for Side<'_> {
    type Error = Infallible;

    fn write(&mut self, words: Range<usize>, tag: u32) -> Result<bool, Infallible> {
        let from = self.from;
        let of_end = self.net.writes.iter().filter(|write| write.from == from && !write.is_complete);
        if of_end.count() == ROOM {
            return Ok(false);
        }
        let missing: Vec<_> = (words.start * WORD..words.end * WORD).collect();
        let read = vec![None; missing.len()];
        self.net.writes.push(Write { from, words, tag, missing, read, is_complete: false });
        Ok(true)
    }
}

/// Returns the due time, the tag and the bytes of packet `number`. Most bytes are the same in all packets. In practice
/// too, the old and the new content of a slot may be similar, and a mixture of them is then hard to detect.
fn packet(number: u64, len: usize) -> (u64, u8, Vec<u8>) {
    (
        number / 3,
        (number % 2) as u8,
        (0..len).map(|place| if place % 5 == 0 { number as u8 } else { 1 }).collect(),
    )
}

struct Pair {
    net: Net,
    sender: Sender<Words>,
    receiver: Receiver<Words>,
    /// Lengths of the packets that were pushed, in bytes.
    pushed: Vec<usize>,
    taken: usize,
    now: Duration,
}

impl Pair {
    fn new(shape: Shape, order: Order) -> Self {
        let net = Net::new(shape, order);
        let [near, far] = net.memories.clone();
        let (sender, receiver) = (Sender::new(near, shape), Receiver::new(far, shape));
        Self { net, sender, receiver, pushed: Vec::new(), taken: 0, now: Duration::ZERO }
    }

    fn push(&mut self, len: usize) -> Result<bool, Refused<Infallible>> {
        let (due, tag, bytes) = packet(self.pushed.len() as u64, len);
        let pushed = self.sender.push(due, tag, &bytes, &mut self.net.end(SENDER))?;
        if pushed {
            self.pushed.push(len);
        }
        Ok(pushed)
    }

    /// Takes the next packet, if it has arrived, and compares it with the packet that was pushed. Returns false if no
    /// packet has arrived.
    fn take(&mut self) -> Result<bool, TestCaseError> {
        let Some(entry) = self.receiver.peek().expect("an honest sender") else { return Ok(false) };
        prop_assert!(self.taken < self.pushed.len(), "a packet that nobody has pushed");
        let (due, tag, bytes) = packet(self.taken as u64, self.pushed[self.taken]);
        let mut read = vec![0; entry.len as usize];
        self.receiver.read(&mut read);
        prop_assert_eq!((entry.due, entry.tag, read), (due, tag, bytes), "packet {}", self.taken);
        let Ok(()) = self.receiver.take(&mut self.net.end(RECEIVER));
        self.taken += 1;
        Ok(true)
    }

    fn complete(&mut self, from: usize, draw: usize, early: bool) {
        if let Some(tag) = self.net.complete(from, draw, early) {
            if from == SENDER { self.sender.completed(tag) } else { self.receiver.completed(tag) }
        }
    }

    fn keep_up(&mut self) {
        self.now += Duration::from_millis(100);
        let Ok(()) = self.receiver.keep_up(self.now, &mut self.net.end(RECEIVER));
    }

    /// Pushes, delivers and takes `packets` packets, one after another.
    fn send(&mut self, packets: usize) -> Result<(), TestCaseError> {
        for len in 0..packets {
            prop_assert_eq!(self.push(len % 41), Ok(true));
            self.settle();
            prop_assert!(self.take()?);
            self.settle();
        }
        Ok(())
    }

    /// Delivers all bytes of all writes in progress, in order of the writes.
    fn deliver(&mut self) {
        for write in 0..self.net.writes.len() {
            for at in self.net.writes[write].missing.clone() {
                self.net.place(write, at);
            }
        }
    }

    /// Delivers all bytes of all writes in progress, and reports the writes as complete.
    fn settle(&mut self) {
        self.deliver();
        for from in [SENDER, RECEIVER] {
            for _ in 0..=ROOM {
                self.complete(from, 0, false);
            }
        }
    }
}

fn shape() -> Shape {
    Shape::new(8, 40).expect("a shape")
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Stream), Just(Order::Words), Just(Order::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn packets_written_in_any_pieces_arrive_whole_and_in_order(
        order in orders(),
        early in any::<bool>(),
        // Near 256, several bytes of the sequence number change at once, so that a mixture of an old and a new number
        // equals neither of the two numbers.
        before in prop_oneof![Just(0_usize), 245..256_usize],
        steps in vec((0_u8..16, any::<u16>()), 0..3_000),
    ) {
        let mut pair = Pair::new(shape(), order);
        pair.send(before)?;
        for (what, draw) in steps {
            let draw = usize::from(draw);
            match what {
                0..3 => drop(pair.push(draw % 41).expect("an honest receiver")),
                3..5 => drop(pair.take()?),
                5 => pair.complete(SENDER, draw, early),
                6 => pair.complete(RECEIVER, draw, early),
                7 => pair.keep_up(),
                _ => for more in 0..=(draw % 24) {
                    pair.net.step(draw.wrapping_mul(31).wrapping_add(more * 7_919));
                },
            }
        }
        // After any sequence of steps, the ring must still work: the receiver takes all packets, the sender learns that
        // they were taken, and at least 20 packets pass in total.
        for round in 0..30 {
            pair.settle();
            while pair.take()? {}
            pair.keep_up();
            if round < 20 {
                pair.push(round).expect("an honest receiver");
            }
        }
        prop_assert_eq!(pair.taken, pair.pushed.len());
        prop_assert!(pair.taken >= 20, "each round has room for a packet");
        pair.settle();
        prop_assert!(pair.sender.is_drained().expect("an honest receiver"));
    }

    #[test]
    fn nothing_that_a_peer_writes_makes_an_end_panic_or_exceed_its_bounds(
        steps in vec((0_u8..8, any::<u16>(), prop_oneof![any::<u64>(), 0_u64..40]), 0..400),
    ) {
        let mut pair = Pair::new(shape(), Order::Words);
        let words = shape().words();
        for (what, draw, value) in steps {
            let draw = usize::from(draw);
            match what {
                0 => drop(pair.push(draw % 41)),
                1 => {
                    if let Ok(Some(entry)) = pair.receiver.peek() {
                        prop_assert!(entry.len <= 40);
                        pair.receiver.read(&mut vec![0; entry.len as usize]);
                        let Ok(()) = pair.receiver.take(&mut pair.net.end(RECEIVER));
                    }
                }
                2 => pair.complete(draw % 2, draw, true),
                3 => pair.keep_up(),
                4 => pair.net.step(draw),
                5 => {
                    // Writes a record with a valid checksum but arbitrary values.
                    let memory = &pair.net.memories[SENDER];
                    let beat = draw as u64;
                    for (place, word) in [value, beat, check::of_record(value, beat)].into_iter().enumerate() {
                        memory[place].store(word, Ordering::Relaxed);
                    }
                }
                _ => pair.net.memories[what as usize % 2][draw % words].store(value, Ordering::Relaxed),
            }
            if let Ok(room) = pair.sender.room() {
                prop_assert!(room <= 8);
            }
        }
    }

    #[test]
    fn the_check_differs_if_a_word_does(
        words in vec(any::<u64>(), 1..20),
        place in any::<prop::sample::Index>(),
        other in any::<u64>(),
    ) {
        let memory = |words: &[u64]| words.iter().copied().map(AtomicU64::new).collect::<Vec<_>>();
        let mut changed = words.clone();
        let place = place.index(words.len());
        prop_assume!(changed[place] != other);
        changed[place] = other;
        let [one, two] = [words, changed].map(|words| Check::of_entry(1, 2, 3).over(&memory(&words)));
        prop_assert_ne!(one, two);
    }
}

#[test]
fn the_check_takes_in_all_of_an_entry() {
    let none: [AtomicU64; 0] = [];
    let zero = [AtomicU64::new(0)];
    let checks = [
        Check::of_entry(1, 2, 3).over(&none),
        Check::of_entry(2, 2, 3).over(&none),
        Check::of_entry(1, 3, 3).over(&none),
        Check::of_entry(1, 2, 4).over(&none),
        Check::of_entry(1, 2, 3).over(&zero),
        check::of_record(1, 2),
        check::of_record(2, 1),
    ];
    let mut unique = checks.to_vec();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), checks.len(), "{checks:x?}");
    assert_ne!(check::of_record(0, 0), 0, "a record of zeros does not hold");
}

#[test]
fn a_full_ring_takes_no_more_until_the_receiver_has_told() {
    let mut pair = Pair::new(shape(), Order::Stream);
    for _ in 0..8 {
        assert_eq!(pair.push(40), Ok(true));
        pair.settle();
    }
    assert_eq!(pair.push(1), Ok(false));
    assert_eq!(pair.sender.room(), Ok(0));
    assert!(pair.take().expect("the first packet"));
    assert_eq!(pair.push(1), Ok(false), "the record has not arrived");
    pair.settle();
    assert_eq!(pair.push(1), Ok(true));
    assert!(matches!(
        pair.sender.push(0, 0, &[0; 41], &mut pair.net.end(SENDER)),
        Err(Refused::TooLong { .. })
    ));
}

/// The words that hold the packet may also hold other data, behind the packet. That data must not reach the receiver.
#[test]
fn a_packet_crosses_from_words_to_words() {
    let mut pair = Pair::new(shape(), Order::Stream);
    let words: Vec<AtomicU64> = (1..=5).map(|word| AtomicU64::new(u64::MAX / word)).collect();
    for len in [0, 1, 7, 8, 9, 33, 40] {
        assert_eq!(pair.sender.push_words(5, 6, &words, len, &mut pair.net.end(SENDER)), Ok(true));
        pair.settle();
        assert_eq!(pair.receiver.peek(), Ok(Some(Entry { due: 5, len: len as u32, tag: 6 })));
        let copy: Vec<AtomicU64> = (0..6).map(|_| AtomicU64::new(77)).collect();
        pair.receiver.read_words(&copy);
        let all: Vec<u8> = (0..len).map(|at| byte_of(&words, at)).collect();
        let came: Vec<u8> = (0..len).map(|at| byte_of(&copy, at)).collect();
        assert_eq!(came, all);
        assert!((len..len.next_multiple_of(WORD)).all(|at| byte_of(&copy, at) == 0), "{len} bytes");
        assert_eq!(copy[5].load(Ordering::Relaxed), 77, "what is behind stays");
        let Ok(()) = pair.receiver.take(&mut pair.net.end(RECEIVER));
        pair.settle();
    }
    let longer: Vec<AtomicU64> = (0..6).map(AtomicU64::new).collect();
    let long = pair.sender.push_words(5, 6, &longer, 41, &mut pair.net.end(SENDER));
    assert_eq!(long, Err(Refused::TooLong { bytes: 41, most: 40 }));
}

#[test]
fn both_ends_know_when_the_first_record_has_crossed() {
    let mut pair = Pair::new(shape(), Order::Stream);
    assert_eq!((pair.sender.has_heard(), pair.receiver.has_told()), (Ok(false), false));
    pair.keep_up();
    assert_eq!((pair.sender.has_heard(), pair.receiver.has_told()), (Ok(false), false), "it is under way");
    pair.settle();
    assert_eq!((pair.sender.has_heard(), pair.receiver.has_told()), (Ok(true), true));
}

#[test]
fn a_slot_is_not_written_again_before_its_write_has_completed() {
    let mut pair = Pair::new(shape(), Order::Stream);
    assert_eq!(pair.push(40), Ok(true));
    pair.deliver();
    // The packet has arrived, but the wire has not reported to the sender that the write is complete.
    assert!(pair.take().expect("the first packet"));
    for _ in 1..8 {
        assert_eq!(pair.push(8), Ok(true));
        pair.deliver();
        assert!(pair.take().expect("a packet"));
        pair.deliver();
        // Reports the sender's newest write and the receiver's write as complete. The write of the first packet stays
        // in progress.
        pair.complete(SENDER, 1, false);
        pair.complete(RECEIVER, 0, false);
    }
    assert_eq!(pair.sender.is_drained(), Ok(true));
    assert_eq!(pair.push(8), Ok(false), "its slot is that of the first packet");
    pair.complete(SENDER, 0, false);
    assert_eq!(pair.push(8), Ok(true));
}

#[test]
fn a_sequence_number_that_cannot_be_is_broken() {
    let mut pair = Pair::new(shape(), Order::Stream);
    let last = shape().entry(0, 0).end - 1;
    let memory = pair.net.memories[RECEIVER].clone();
    for impossible in [2, 9, 1 << 32, u64::MAX] {
        memory[last].store(impossible, Ordering::Relaxed);
        assert_eq!(pair.receiver.peek(), Err(Broken { what: "a sequence number" }), "{impossible}");
    }
    // The sequence number is the expected one, but the entry is not valid. The receiver waits, because the rest of the
    // entry may still arrive.
    memory[last].store(1, Ordering::Relaxed);
    assert_eq!(pair.receiver.peek(), Ok(None));
    assert!(pair.receiver.is_partial());
}

#[test]
fn a_sequence_number_that_has_arrived_in_part_is_waited_for() {
    let mut pair = Pair::new(shape(), Order::Stream);
    pair.send(255).expect("packets");
    // The slot of the next packet still holds the sequence number 0xF8 of an earlier packet. The next packet has the
    // sequence number 0x100.
    let word = &pair.net.memories[RECEIVER].clone()[shape().entry(shape().slot(255), 0).end - 1];
    assert_eq!(word.load(Ordering::Relaxed), 0xF8);
    for mixture in [0xF8, 0x1F8, 0] {
        word.store(mixture, Ordering::Relaxed);
        assert_eq!(pair.receiver.peek(), Ok(None), "{mixture:#x}");
    }
    word.store(0xF7, Ordering::Relaxed);
    assert!(pair.receiver.peek().is_err());
}

#[test]
fn a_length_beyond_the_slot_is_not_believed() {
    for packed in [41, u64::from(u32::MAX), 1 << 40, u64::MAX] {
        let mut pair = Pair::new(shape(), Order::Stream);
        let behind = &pair.net.memories[RECEIVER][shape().entry(0, 0)];
        let none: [AtomicU64; 0] = [];
        let words = [5, packed, Check::of_entry(1, 5, packed).over(&none), 1];
        for (word, value) in behind.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        assert_eq!(pair.receiver.peek(), Ok(None), "{packed:#x}");
        assert!(pair.receiver.is_partial());
    }
}

#[test]
fn a_record_that_cannot_be_is_broken_and_an_old_one_is_ignored() {
    let mut pair = Pair::new(shape(), Order::Stream);
    for _ in 0..8 {
        pair.push(1).expect("an honest receiver");
        pair.settle();
    }
    let memory = pair.net.memories[SENDER].clone();
    let record = |taken: u64, beat: u64| {
        for (place, word) in [taken, beat, check::of_record(taken, beat)].into_iter().enumerate() {
            memory[place].store(word, Ordering::Relaxed);
        }
    };
    record(3, 5);
    assert_eq!(pair.sender.room(), Ok(3));
    record(1, 4);
    assert_eq!(pair.sender.room(), Ok(3), "it is older");
    memory[0].store(7, Ordering::Relaxed);
    assert_eq!(pair.sender.room(), Ok(3), "its check does not hold");
    for (taken, beat) in [(9, 6), (2, 7), (u64::MAX, 8)] {
        record(taken, beat);
        assert_eq!(pair.sender.room(), Err(Broken { what: "a count of received packets" }), "{taken}");
        assert!(pair.sender.is_deserted(Duration::ZERO).is_err());
        assert!(matches!(pair.push(1), Err(Refused::Broken(_))));
    }
}

#[test]
fn a_receiver_that_is_silent_is_reported_and_a_sender_that_was_away_hears_first() {
    let mut pair = Pair::new(shape(), Order::Stream);
    let ms = Duration::from_millis;
    for now in (0..3_000).step_by(50) {
        pair.now = ms(now);
        let Ok(()) = pair.receiver.keep_up(ms(now), &mut pair.net.end(RECEIVER));
        pair.settle();
        assert_eq!(pair.sender.is_deserted(ms(now)), Ok(false), "at {now} ms");
    }
    // For about a minute the sender does not call `is_deserted`. At most one period of this time counts as the
    // receiver's silence.
    assert_eq!(pair.sender.is_deserted(ms(60_000)), Ok(false));
    let silent = (60_000..).step_by(50).find(|&now| pair.sender.is_deserted(ms(now)) == Ok(true));
    assert!(silent.is_some_and(|now| (61_000..61_600).contains(&now)), "{silent:?}");
}

#[test]
fn shapes_are_checked() {
    for (capacity, bytes) in
        [(0, 1), (4, 1), (9, 1), (1 << 17, 1), (8, 0), (8, (1 << 20) + 1), (u32::MAX, u32::MAX)]
    {
        assert_eq!(Shape::new(capacity, bytes), Err(NoShape { capacity, packet_bytes: bytes }));
    }
    let shape = Shape::new(8, 8_192).expect("a shape");
    let ranges: Vec<_> = (0..8).map(|slot| shape.entry(slot, 8_192)).collect();
    assert!(ranges.iter().zip(&ranges[1..]).all(|(one, next)| one.end <= next.start));
    assert!(ranges[0].start >= LINE && ranges[7].end == shape.words());
    assert_eq!(shape.words_of_slot() / LINE % 2, 1);
}

#[test]
#[should_panic(expected = "must have the length that the ring's shape requires")]
fn memory_of_another_shape_is_refused() {
    let memory: Box<[AtomicU64]> = Box::new([]);
    let _: Sender<_> = Sender::new(memory.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>(), shape());
}
