//! Tests of a ring between two processes over libfabric. A test starts its own test binary a second time as the
//! receiving process.
#![cfg(feature = "libfabric")]
#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the tests measure and print the time of real processes"
)]

use raddle_rdma::fabric::{Domain, End, Error, Options, Provider, Receiver, Remote, Sender};
use raddle_rdma::ring::Shape;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Environment variables for the receiving process: the address at which the sending process accepts the connection
/// for offers, the provider, and the number of packets.
const ADDRESS: &str = "RADDLE_RDMA_ADDRESS";
const PROVIDER: &str = "RADDLE_RDMA_PROVIDER";
const PACKETS: &str = "RADDLE_RDMA_PACKETS";

/// Time limit of a read of the other end's offer, and of the whole exchange of packets. A test fails if one of them
/// takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

const MOST_BYTES: u32 = 256;

fn shape() -> Shape {
    Shape::new(256, MOST_BYTES).expect("a shape")
}

fn options(provider: Provider) -> Options {
    Options { provider, ..Options::default() }
}

/// Sends this end's offer, and returns the offer of the other end.
fn exchange(stream: &mut TcpStream, offer: &[u8]) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(&(offer.len() as u32).to_le_bytes()).expect("a length sent");
    stream.write_all(offer).expect("an offer sent");
    let mut len = [0; 4];
    stream.read_exact(&mut len).expect("a length");
    let mut theirs = vec![0; u32::from_le_bytes(len) as usize];
    stream.read_exact(&mut theirs).expect("an offer");
    theirs
}

/// Returns the due time, the tag and the bytes of packet `number`.
fn packet(number: u64) -> (u64, u8, Vec<u8>) {
    let len = (number.wrapping_mul(7_919) % u64::from(MOST_BYTES + 1)) as usize;
    (number * 1_000, number as u8, (0..len).map(|place| (number as usize + place) as u8).collect())
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process that receives `packets` packets and then exits without notice. Returns the started process, and the
/// test's domain with the sender of the ring.
fn with_receiver(provider: Provider, packets: u64) -> (Running, Domain, Sender) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let program = std::env::current_exe().expect("this program");
    let child = Command::new(program)
        .args(["--exact", "the_receiving_process", "--ignored", "--nocapture"])
        .env(ADDRESS, listener.local_addr().expect("an address").to_string())
        .env(PROVIDER, provider.name())
        .env(PACKETS, packets.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("another process");
    let running = Running(child);
    let (mut stream, _) = listener.accept().expect("the other process");
    let mut domain = Domain::open(&options(provider)).expect("a domain");
    let end = End::new(&mut domain, shape()).expect("memory");
    let offer = exchange(&mut stream, &end.offer(&domain));
    let sender = end.sender(&mut domain, 3, &offer).expect("a sender");
    (running, domain, sender)
}

#[test]
#[ignore = "the other tests start this test as the receiving process"]
fn the_receiving_process() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let wanted = std::env::var(PROVIDER).expect("a provider");
    let provider = [Provider::Tcp, Provider::Shm].into_iter().find(|provider| provider.name() == wanted);
    let packets: u64 =
        std::env::var(PACKETS).ok().and_then(|packets| packets.parse().ok()).expect("a number");
    let mut domain = Domain::open(&options(provider.expect("a provider"))).expect("a domain");
    let end = End::new(&mut domain, shape()).expect("memory");
    let mut stream = TcpStream::connect(address).expect("the parent");
    let offer = exchange(&mut stream, &end.offer(&domain));
    let mut receiver = end.receiver(&mut domain, 8, &offer).expect("a receiver");
    let begin = Instant::now();
    let mut bytes = [0; MOST_BYTES as usize];
    for number in 0..packets {
        let (due, tag, content) = packet(number);
        let entry = loop {
            if let Some(entry) = receiver.peek().expect("an honest sender") {
                break entry;
            }
            progress(&mut receiver, &mut domain, begin);
        };
        assert_eq!((entry.due, entry.tag, entry.len as usize), (due, tag, content.len()), "packet {number}");
        let bytes = &mut bytes[..content.len()];
        receiver.read(bytes);
        assert_eq!(bytes, content, "packet {number}");
        receiver.take(&mut domain).expect("a sender");
    }
    // Keeps writing records for a while, so that the sender learns that all packets were taken.
    let heard = Instant::now();
    while heard.elapsed() < Duration::from_millis(600) {
        progress(&mut receiver, &mut domain, begin);
    }
}

fn progress(receiver: &mut Receiver, domain: &mut Domain, begin: Instant) {
    domain.poll(|tag, result| receiver.completed(tag, &result)).expect("an endpoint");
    receiver.keep_up(domain, begin.elapsed()).expect("a sender");
    assert!(begin.elapsed() < PATIENCE, "the receiver waits for packets");
    thread::yield_now();
}

fn a_million_packets(provider: Provider) {
    const PACKETS: u64 = 1_000_000;
    let (mut running, mut domain, mut sender) = with_receiver(provider, PACKETS);
    let begin = Instant::now();
    let mut number = 0;
    while number < PACKETS || !sender.is_drained().expect("an honest receiver") {
        domain.poll(|tag, result| sender.completed(tag, &result)).expect("an endpoint");
        sender.check(begin.elapsed()).expect("a receiver");
        while number < PACKETS {
            let (due, tag, content) = packet(number);
            if !sender.push(&mut domain, due, tag, &content).expect("a receiver") {
                break;
            }
            number += 1;
        }
        assert!(begin.elapsed() < PATIENCE, "{number} packets are sent");
        thread::yield_now();
    }
    assert!(
        running.0.wait().expect("the other process").success(),
        "the receiver has found all as it was sent"
    );
}

fn a_receiver_that_hangs_up(provider: Provider) {
    let (mut running, mut domain, mut sender) = with_receiver(provider, 500);
    let begin = Instant::now();
    let mut ended = None;
    let mut number = 0;
    let why = loop {
        let polled = domain.poll(|tag, result| sender.completed(tag, &result));
        let (due, tag, content) = packet(number);
        let pushed = sender.push(&mut domain, due, tag, &content);
        if let Err(why) = polled.and(sender.check(begin.elapsed())).and(pushed.clone().map(drop)) {
            break why;
        }
        number += u64::from(pushed == Ok(true));
        if ended.is_none() && running.0.try_wait().expect("the other process").is_some() {
            ended = Some(Instant::now());
        }
        assert!(ended.is_none_or(|at| at.elapsed() < Duration::from_secs(10)), "nobody noticed");
        assert!(begin.elapsed() < PATIENCE, "the sender must notice that the receiver has ended");
        thread::yield_now();
    };
    let took = ended.map_or(Duration::ZERO, |at| at.elapsed());
    assert!(matches!(why, Error::PeerGone { .. } | Error::Library { .. }), "{why}");
    println!("{why}, {took:?} after the receiver's end");
    assert!(took < Duration::from_millis(2_500), "{why} after {took:?}");
    let rest = sender.push(&mut domain, 0, 0, &[]);
    assert!(!matches!(rest, Ok(true)), "nothing goes to a receiver that is gone: {rest:?}");
}

/// Creates two domains in this process and a ring between the domains. Also returns the descriptions of the sender's
/// and the receiver's memory.
fn pair(provider: Provider) -> (Domain, Sender, Domain, Receiver, [Remote; 2]) {
    let [mut ours, mut theirs] = [(), ()].map(|()| Domain::open(&options(provider)).expect("a domain"));
    let near = End::new(&mut ours, shape()).expect("memory");
    let far = End::new(&mut theirs, shape()).expect("memory");
    let remotes = [&near, &far].map(End::remote);
    let (near_offer, far_offer) = (near.offer(&ours), far.offer(&theirs));
    let sender = near.sender(&mut ours, 0, &far_offer).expect("a sender");
    let receiver = far.receiver(&mut theirs, 0, &near_offer).expect("a receiver");
    (ours, sender, theirs, receiver, remotes)
}

/// Writes words to a peer's memory, as a malicious peer would. Polls both domains until the write is complete, and then
/// the peer's domain for a while longer, so that the words arrive.
fn scribble(
    from: &mut Domain,
    to: &mut Domain,
    remote: Remote,
    first: usize,
    words: &[u64],
) -> Result<(), Error> {
    let memory = from.register(words.len())?;
    for (word, value) in memory.iter().zip(words) {
        word.store(*value, Ordering::Relaxed);
    }
    let peer = from.insert(to.address())?;
    let begin = Instant::now();
    let mut posted = false;
    let mut done = None;
    while done.is_none() {
        if !posted {
            match from.write(&memory, 0..words.len(), peer, remote, first, u64::MAX) {
                Err(Error::QueueFull) => {}
                other => {
                    other?;
                    posted = true;
                }
            }
        }
        from.poll(|tag, result| done = (tag == u64::MAX).then_some(result).or(done.take()))?;
        to.poll(|_, _| {})?;
        assert!(begin.elapsed() < Duration::from_secs(10), "a write completes");
    }
    // Over TCP a write completes when the data was sent. The peer still needs time to receive the data.
    for _ in 0..100 {
        to.poll(|_, _| {})?;
        thread::yield_now();
    }
    done.expect("a result").map_err(|why| Error::PeerGone { why: why.to_string() })
}

fn garbage_is_refused(provider: Provider) {
    let (mut ours, mut sender, mut theirs, mut receiver, [near, far]) = pair(provider);
    let words = shape().words();
    // Overwrites all of the receiver's memory.
    let garbage: Vec<u64> =
        (1..=words as u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    scribble(&mut ours, &mut theirs, far, 0, &garbage).expect("a write");
    assert!(matches!(receiver.peek(), Err(Error::Broken(_))), "no packet has such a sequence number");
    // Overwrites all of the sender's memory. The checksum of the record does not match, so the sender ignores the
    // record.
    scribble(&mut theirs, &mut ours, near, 0, &garbage).expect("a write");
    assert_eq!(sender.room(), Ok(u64::from(shape().capacity())));
    assert_eq!(sender.push(&mut ours, 1, 2, &[3]), Ok(true));
    // Each of these offers is invalid: no bytes, 100 zeros, and the description of memory instead of an offer.
    for offer in [&[][..], &[0; 100], &near.encode()] {
        let end = End::new(&mut ours, shape()).expect("memory");
        assert!(matches!(end.sender(&mut ours, 1, offer), Err(Error::Malformed { .. })));
    }
    let other = End::new(&mut theirs, Shape::new(8, 8).expect("a shape")).expect("memory").offer(&theirs);
    let end = End::new(&mut ours, shape()).expect("memory");
    assert!(end.sender(&mut ours, 1, &other).is_err(), "a ring of another shape");
}

/// A write with a wrong key or beyond the registered range changes nothing in the peer's memory.
fn keys_are_checked(provider: Provider) {
    let [mut ours, mut theirs] = [(), ()].map(|()| Domain::open(&options(provider)).expect("a domain"));
    let memory = theirs.register(64).expect("memory");
    let honest = memory.remote().encode();
    scribble(&mut ours, &mut theirs, memory.remote(), 8, &[5]).expect("a write");
    assert_eq!(memory[8].load(Ordering::Acquire), 5);
    let mut wrong_key = honest;
    wrong_key[8] ^= 0x55;
    let mut beyond = honest;
    beyond[16..].copy_from_slice(&1_000_u64.to_le_bytes());
    for (forged, first) in [(wrong_key, 9), (beyond, 64)] {
        let remote = Remote::decode(&forged).expect("well-formed");
        // Over TCP a write completes when the data was sent, even if the peer then refuses it. So the test checks the
        // peer's memory, and not the result at the writer.
        let heard = scribble(&mut ours, &mut theirs, remote, first, &[7; 16]);
        assert!(memory.iter().all(|word| word.load(Ordering::Acquire) != 7), "{heard:?}");
    }
}

#[test]
fn a_million_packets_arrive_whole_and_in_order_over_tcp() {
    a_million_packets(Provider::Tcp);
}

#[test]
fn a_million_packets_arrive_whole_and_in_order_over_shared_memory() {
    a_million_packets(Provider::Shm);
}

#[test]
fn a_receiver_that_hangs_up_is_reported_over_tcp() {
    a_receiver_that_hangs_up(Provider::Tcp);
}

#[test]
fn a_receiver_that_hangs_up_is_reported_over_shared_memory() {
    a_receiver_that_hangs_up(Provider::Shm);
}

#[test]
fn garbage_is_refused_over_tcp() {
    garbage_is_refused(Provider::Tcp);
}

#[test]
fn garbage_is_refused_over_shared_memory() {
    garbage_is_refused(Provider::Shm);
}

#[test]
fn keys_are_checked_over_tcp() {
    keys_are_checked(Provider::Tcp);
}

#[test]
fn keys_are_checked_over_shared_memory() {
    keys_are_checked(Provider::Shm);
}

#[test]
fn mistakes_are_errors() {
    let mut domain = Domain::open(&Options::default()).expect("a domain");
    let mut other = Domain::open(&Options::default()).expect("a domain");
    let (memory, peer) =
        (other.register(8).expect("memory"), domain.insert(other.address()).expect("a peer"));
    let own = domain.register(8).expect("memory");
    assert_eq!(domain.insert(other.address()), Ok(peer), "the same address is the same peer");
    let far = memory.remote();
    assert_eq!(domain.write(&memory, 0..8, peer, far, 0, 0), Err(Error::Foreign { what: "memory" }));
    assert_eq!(other.write(&memory, 0..8, peer, far, 0, 0), Err(Error::Foreign { what: "a peer" }));
    assert!(matches!(domain.write(&own, 0..9, peer, far, 0, 0), Err(Error::OutOfRange { end: 9, .. })));
    assert!(matches!(domain.write(&own, 0..8, peer, far, 1, 0), Err(Error::OutOfRange { end: 9, .. })));
    assert!(matches!(
        domain.write(&own, 0..1, peer, far, usize::MAX, 0),
        Err(Error::OutOfRange { first: usize::MAX, .. })
    ));
    for address in [&[][..], &[0; 3], &[0xFF; 16], &[0xFF; 600]] {
        assert!(matches!(domain.insert(address), Err(Error::Malformed { .. })), "{address:?}");
    }
    for bytes in [&[0; Remote::LEN][..], &[0xFF; Remote::LEN], &[1; 3]] {
        assert!(Remote::decode(bytes).is_err(), "{bytes:?}");
    }
    assert_eq!(Remote::decode(&far.encode()), Ok(far));
    let elsewhere = Options { bind: [203, 0, 113, 7].into(), ..Options::default() };
    assert!(matches!(Domain::open(&elsewhere), Err(Error::Library { .. })), "not an address of this machine");
}
