//! Tests of ranks that communicate over a network simulated by the test.

use super::*;
use crate::goal::Line;
use crate::goal::tests::{EXAMPLE, trace};

/// A network that delivers each message after a delay chosen by the test. The sender learns at once that its
/// message has been sent.
struct Network {
    ranks: Vec<Rank>,
    now: u64,
    /// Messages in flight, by arrival time in ns and message number.
    under_way: BTreeMap<(u64, usize), (u32, Message)>,
    /// All messages sent, in order: time in ns, sender, receiver, bytes.
    sent: Vec<(u64, u32, u32, u64)>,
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

impl Network {
    fn new(text: &str, settings: Settings) -> Self {
        let trace = trace(text);
        let rank = |rank| Rank::new(rank, trace.program(rank), settings);
        Self {
            ranks: (0..trace.ranks()).map(rank).collect(),
            now: 0,
            under_way: BTreeMap::new(),
            sent: Vec::new(),
        }
    }

    /// Runs until no event is left. `delay` returns a message's delay in ns from the message's number and its size in
    /// bytes.
    fn run(&mut self, delay: impl Fn(usize, u64) -> u64) {
        loop {
            for rank in 0..self.ranks.len() {
                self.advance(rank, &delay);
            }
            let wake = self.ranks.iter().map(Rank::wake).min().unwrap();
            let arrival = self.under_way.first_key_value().map(|(&(at, _), _)| at);
            if let Some(arrival) = arrival.filter(|&arrival| at(arrival) <= wake) {
                self.now = arrival;
                let (_, (to, message)) = self.under_way.pop_first().unwrap();
                self.ranks[to as usize].receive(message);
            } else if wake < Time::NEVER {
                self.now = wake.as_ps() / 1_000;
            } else {
                return;
            }
        }
    }

    fn advance(&mut self, from: usize, delay: &impl Fn(usize, u64) -> u64) {
        while self.ranks[from].advance(at(self.now)) {
            while let Some(Outgoing { to, bytes, message, send }) = self.ranks[from].next_outgoing() {
                let number = self.sent.len();
                self.sent.push((self.now, message.from, to, bytes));
                self.under_way.insert((self.now + delay(number, bytes), number), (to, message));
                if let Some(send) = send {
                    self.ranks[from].is_sent(send);
                }
            }
        }
    }

    /// Returns the time at which each rank finished, in ns; `None` if the rank did not finish.
    fn finished(&self) -> Vec<Option<u64>> {
        let finished = |rank: &Rank| rank.account().finished.map(|at| at.as_ps() / 1_000);
        self.ranks.iter().map(finished).collect()
    }
}

fn run(text: &str, settings: Settings, delay: impl Fn(usize, u64) -> u64) -> Network {
    let mut network = Network::new(text, settings);
    network.run(delay);
    network
}

/// Returns a program of two ranks with the given statements.
fn two(first: &str, second: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}")
}

const RENDEZVOUS: Settings = Settings { eager: 0, scale: 1, window: 4_096 };

#[test]
fn an_eager_message_goes_at_once_and_is_received_when_it_is_there() {
    let network = run(EXAMPLE, Settings::default(), |_, bytes| bytes);
    assert_eq!(network.sent, [(1_000, 0, 1, 3_000)]);
    assert_eq!(network.finished(), [Some(1_000), Some(4_500)]);
    let account = network.ranks[0].account();
    assert_eq!((account.messages, account.bytes, account.computed), (1, 3_000, Duration::from_us(1)));
    assert_eq!(network.ranks[1].account().computed, Duration::from_ns(500));
}

#[test]
fn sizes_are_multiplied_and_bursts_are_not() {
    let settings = Settings { scale: 3, ..Settings::default() };
    let network = run(EXAMPLE, settings, |_, bytes| bytes);
    assert_eq!((network.sent[0], network.finished()[1]), ((1_000, 0, 1, 9_000), Some(10_500)));
    let nothing = run(&two("send 0b to 1", "recv 0b from 0"), settings, |_, bytes| bytes);
    assert_eq!(nothing.sent, [(0, 0, 1, 3)]);
}

#[test]
fn a_large_message_is_asked_for_first_and_sent_when_its_receive_is_posted() {
    let text = two(
        "l1: send 20000b to 1\nl2: calc 5\nl2 requires l1",
        "l1: calc 700\nl2: recv 20000b from 0\nl2 requires l1",
    );
    let network = run(&text, Settings::default(), |_, _| 100);
    assert_eq!(network.sent, [(0, 0, 1, 64), (700, 1, 0, 64), (800, 0, 1, 20_000)]);
    // The send finishes at 800 ns, when the data has been sent, and a calculation of 5 ns follows. The receive finishes
    // when the data has arrived.
    assert_eq!(network.finished(), [Some(805), Some(900)]);
    // A message whose size equals the limit is not eager. With a limit of 2^64 - 1 B, a message of 2^64 - 2 B is eager.
    let sizes = |bytes: u64, eager| {
        let text = two(&format!("send {bytes}b to 1"), &format!("recv {bytes}b from 0"));
        run(&text, Settings { eager, ..Settings::default() }, |_, _| 1).sent.len()
    };
    assert_eq!((sizes(15_999, 16_000), sizes(16_000, 16_000)), (1, 3));
    assert_eq!((sizes(1, 0), sizes(u64::MAX - 1, u64::MAX)), (3, 1));
}

#[test]
fn two_that_ask_each_other_first_do_not_wait_for_ever() {
    let both = |other: u32| {
        format!(
            "l1: send 100b to {other}\nl2: recv 100b from {other}\nl3: calc 10\nl3 requires l1\nl3 requires l2"
        )
    };
    let network = run(&two(&both(1), &both(0)), RENDEZVOUS, |_, _| 100);
    assert_eq!(network.finished(), [Some(310), Some(310)]);
}

#[test]
fn a_send_that_blocks_before_its_partner_receives_is_a_deadlock_that_names_both() {
    let both = |other: u32| {
        format!("l1: send 100b to {other} tag 3\nl2: recv 100b from {other} tag 3\nl2 requires l1")
    };
    let text = two(&both(1), &both(0));
    assert_eq!(run(&text, Settings::default(), |_, _| 100).finished(), [Some(100), Some(100)]);
    let network = run(&text, RENDEZVOUS, |_, _| 100);
    assert_eq!(network.finished(), [None, None]);
    let waits: Vec<_> = network.ranks.iter().filter_map(Rank::waits_for).collect();
    assert_eq!(
        waits,
        [
            "rank 0 waits at line 3 for rank 1 to receive 100 bytes with tag 3",
            "rank 1 waits at line 8 for rank 0 to receive 100 bytes with tag 3"
        ]
    );
}

/// Rank 1 posts two receives. When the first receive completes, rank 1 computes for 100 ns. When the second
/// receive completes, rank 1 computes for 10 ns on another CPU. Returns the time at which rank 1 finishes, in
/// ns.
fn in_which_order(first: &str, second: &str, delay: impl Fn(usize, u64) -> u64) -> Option<u64> {
    let receive = format!(
        "l1: recv 1b from {first}\nl2: calc 100\nl2 requires l1\nl3: recv 1b from {second}\nl4: calc 10 cpu 1\nl4 requires l3"
    );
    run(&two("send 1b to 1 tag 5\nsend 2b to 1 tag 5", &receive), Settings::default(), delay).finished()[1]
}

#[test]
fn messages_match_in_send_order_in_any_order_of_arrival() {
    // The messages arrive in send order: the first receive completes at 50 ns, and the second at 70 ns.
    assert_eq!(in_which_order("0 tag 5", "0 tag 5", |number, _| [50, 70][number]), Some(150));
    // The second message arrives at 10 ns and the first message at 90 ns. Both receives complete at 90 ns.
    assert_eq!(in_which_order("0 tag 5", "0 tag 5", |number, _| [90, 10][number]), Some(190));
    // A wildcard also takes the message that was sent first.
    assert_eq!(in_which_order("-1 tag -1", "0 tag 5", |number, _| [90, 10][number]), Some(190));
}

#[test]
fn wildcard_receives_take_the_first_message_that_arrives() {
    let text = "num_ranks 3\nrank 0 { l1: calc 100; l2: send 1b to 2 tag 1; l2 requires l1 }\nrank 1 { send 1b to 2 tag 2 }\n\
        rank 2 { l1: recv 1b from -1 tag -1; l2: calc 1000; l2 requires l1; l3: recv 1b from 0 tag -1; l4: calc 10 cpu 1; l4 requires l3 }";
    // The message of rank 1 arrives first, and the wildcard takes this message. The message of rank 0 would also match.
    assert_eq!(run(text, Settings::default(), |_, _| 50).finished(), [Some(100), Some(0), Some(1_050)]);
    let posted_late = "num_ranks 2\nrank 0 { send 1b to 1 tag 9; send 2b to 1 tag 4 }\n\
        rank 1 { l1: calc 500; l2: recv 1b from 0 tag 4; l2 requires l1; l3: recv 1b from -1 tag -1; l3 requires l2 }";
    assert_eq!(run(posted_late, Settings::default(), |_, _| 50).finished(), [Some(0), Some(500)]);
}

#[test]
fn messages_to_oneself_need_no_network() {
    let text = "num_ranks 1\nrank 0 {\nl1: recv 9b from 0 tag 1\nl2: calc 30\nl3: send 9b to 0 tag 1\nl3 requires l2\nl4: calc 5\nl4 requires l1\n}";
    let network = run(text, RENDEZVOUS, |_, _| 50);
    assert_eq!((network.sent.len(), network.finished()), (0, vec![Some(35)]));
}

#[test]
fn bytes_beyond_counting_are_as_many_as_can_be_counted() {
    let half = "send 9223372036854775808b to 0; recv 1b from 0";
    let text = format!("num_ranks 1\nrank 0 {{ {half}; {half} }}");
    let network = run(&text, Settings::default(), |_, _| 0);
    assert_eq!(network.ranks[0].account().bytes, u64::MAX);
}

#[test]
fn streams_compute_side_by_side_and_each_in_file_order() {
    let text = "num_ranks 1\nrank 0 {\ncalc 100\ncalc 10\ncalc 30 cpu 1\nl1: calc 7 cpu 1\nl2: calc 1 cpu 2\nl2 requires l1\n}";
    let network = run(text, Settings::default(), |_, _| 0);
    assert_eq!(
        (network.finished(), network.ranks[0].account().computed),
        (vec![Some(110)], Duration::from_ns(148))
    );
}

#[test]
fn a_message_waits_for_its_stream() {
    let network = run(
        &two("calc 100\nsend 1b to 1\nsend 2b to 1 cpu 1", "recv 1b from 0\nrecv 2b from 0"),
        Settings::default(),
        |_, _| 1,
    );
    assert_eq!(network.sent, [(0, 0, 1, 2), (100, 0, 1, 1)]);
}

#[test]
fn a_posted_receive_lets_others_compute_until_they_wait_for_it() {
    let text = two(
        "l1: calc 300\nl2: send 1b to 1\nl2 requires l1",
        "l1: recv 1b from 0\nl2: calc 200\nl2 irequires l1\nl3: calc 50\nl3 requires l1\nl3 requires l2",
    );
    assert_eq!(run(&text, Settings::default(), |_, _| 0).finished(), [Some(300), Some(350)]);
    // With `irequires`, an operation waits until the operation that it requires begins.
    let late = "num_ranks 1\nrank 0 { l1: calc 100; l2: calc 10; l3: calc 1 cpu 1; l2 requires l1; l3 irequires l2 }";
    assert_eq!(run(late, Settings::default(), |_, _| 0).finished(), [Some(110)]);
}

#[test]
fn a_program_is_read_no_further_than_its_window() {
    let lines = (0..1_000).map(|number| Ok(Line { number, statement: CALC }));
    let read = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = std::sync::Arc::clone(&read);
    let counted = lines.inspect(move |_| {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let mut rank = Rank::new(0, Box::new(counted), Settings { window: 20, ..Settings::default() });
    for ns in 0..100 {
        rank.advance(at(ns));
        let read = read.load(std::sync::atomic::Ordering::Relaxed) as u64;
        // The rank has read the completed operations, the operation that computes, the next operation, and
        // the window after the next operation.
        assert_eq!(read, ns + 22);
    }
    assert_eq!(rank.order.unfinished().len(), 22);
}

const CALC: crate::goal::Statement =
    crate::goal::Statement::Operation { label: None, cpu: 0, operation: Operation::Calc { ns: 1 } };

#[test]
fn a_program_that_goes_wrong_stops_its_rank_which_says_so() {
    let wrong = || Misread { line: 2, column: 5, problem: "no".to_owned() };
    let program = [Ok(Line { number: 1, statement: CALC }), Err(wrong())];
    let mut rank = Rank::new(4, Box::new(program.into_iter()), Settings::default());
    rank.advance(at(0));
    assert_eq!((rank.wake(), rank.waits_for()), (Time::NEVER, Some(format!("rank 4 stopped: {}", wrong()))));
}

#[test]
fn times_of_computing_are_joined_over_streams() {
    let text = "num_ranks 1\nrank 0 {\ncalc 10\ncalc 100 cpu 1\nl1: calc 30 cpu 2\nl2: calc 90 cpu 2\nl2 requires l1\n}";
    let mut network = run(text, Settings::default(), |_, bytes| bytes);
    let times: Vec<_> = network.ranks[0].take_computed().collect();
    assert_eq!(times.first().map(|time| time.0), Some(Time::ZERO));
    assert!(times.windows(2).all(|pair| pair[0].1 == pair[1].0), "{times:?}");
    assert_eq!(times.last().map(|time| time.1), Some(at(120)));
    assert!(network.ranks[0].take_computed().next().is_none());
}
