//! Measures the throughput of a data ring between two processes, in Gbit/s of payload, for the providers `shm` and
//! `tcp`. By default the packets have 8,192 bytes.
//!
//! Run the benchmark with `make rdma`, or with `cargo bench -p raddle-rdma --features libfabric -- --bytes 8192 --ring
//! 128 --seconds 3 --times 3`.

#![allow(clippy::cast_possible_truncation, reason = "the numbers of this benchmark are small")]

use raddle_rdma::fabric::{Domain, End, Options, Provider};
use raddle_rdma::ring::Shape;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The environment variable that makes this program the receiving process. Its value is the sender's address, the
/// provider, the capacity of the ring in packets, and the packet size in bytes, separated by spaces.
const TASK: &str = "RADDLE_RDMA_BENCH";

fn exchange(stream: &mut TcpStream, offer: &[u8]) -> Vec<u8> {
    stream.write_all(&(offer.len() as u32).to_le_bytes()).expect("a length sent");
    stream.write_all(offer).expect("an offer sent");
    let mut len = [0; 4];
    stream.read_exact(&mut len).expect("a length");
    let mut theirs = vec![0; u32::from_le_bytes(len) as usize];
    stream.read_exact(&mut theirs).expect("an offer");
    theirs
}

fn open(provider: Provider) -> Domain {
    Domain::open(&Options { provider, ..Options::default() }).expect("an endpoint")
}

/// Takes packets until the sender has been silent for a second, or its process has exited. Copies each packet, because
/// a rack also copies each packet from the ring into a slot.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn receive(task: &str) {
    let [address, provider, ring, bytes] = task.split(' ').collect::<Vec<_>>()[..] else { panic!("{task}") };
    let provider =
        [Provider::Tcp, Provider::Shm, Provider::Verbs].into_iter().find(|it| it.name() == provider);
    let shape =
        Shape::new(ring.parse().expect("a number"), bytes.parse().expect("a number")).expect("a shape");
    let mut domain = open(provider.expect("a provider"));
    let end = End::new(&mut domain, shape).expect("memory");
    let mut stream = TcpStream::connect(address).expect("the sender");
    let offer = exchange(&mut stream, &end.offer(&domain));
    let mut receiver = end.receiver(&mut domain, 0, &offer).expect("a receiver");
    let begin = Instant::now();
    let mut heard = Duration::ZERO;
    let mut packet = vec![0; shape.packet_bytes() as usize];
    loop {
        let now = begin.elapsed();
        domain.poll(|tag, result| receiver.completed(tag, &result)).expect("an endpoint");
        while let Some(entry) = receiver.peek().expect("an honest sender") {
            receiver.read(&mut packet[..entry.len as usize]);
            receiver.take(&mut domain).expect("a sender");
            heard = now;
        }
        if heard != now {
            thread::yield_now();
        }
        // The loop also ends if the sender's process has exited, because `keep_up` then fails.
        if receiver.keep_up(&mut domain, now).is_err() || now > heard + Duration::from_secs(1) {
            return;
        }
    }
}

/// Returns the CPU time that other virtual machines took (steal time) and the total CPU time, in jiffies.
fn stolen() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let jiffies: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).take(8).collect();
    (jiffies.get(7).copied().unwrap_or(0), jiffies.iter().sum())
}

/// Sends packets. After a start-up phase, measures for the duration `time`. Returns the throughput in Gbit/s of
/// payload, and the share of the CPU time that other virtual machines took (steal time). The share also covers the
/// start-up phase.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn send(provider: Provider, shape: Shape, time: Duration) -> (f64, f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = format!("{address} {} {} {}", provider.name(), shape.capacity(), shape.packet_bytes());
    let mut other = Command::new(env::current_exe().expect("this program"))
        .env(TASK, task)
        .spawn()
        .expect("another process");
    let (mut stream, _) = listener.accept().expect("the other process");
    let mut domain = open(provider);
    let end = End::new(&mut domain, shape).expect("memory");
    let offer = exchange(&mut stream, &end.offer(&domain));
    let mut sender = end.sender(&mut domain, 0, &offer).expect("a sender");
    let packet = vec![7; shape.packet_bytes() as usize];
    let begin = Instant::now();
    let stolen_before = stolen();
    let mut measured: Option<(Instant, u64)> = None;
    let mut sent = 0;
    while measured.is_none_or(|(from, _)| from.elapsed() < time) {
        domain.poll(|tag, result| sender.completed(tag, &result)).expect("an endpoint");
        sender.check(begin.elapsed()).expect("a receiver");
        while sender.push(&mut domain, sent, 0, &packet).expect("a receiver") {
            sent += 1;
        }
        // The receiving process may need this core to free room in the ring.
        thread::yield_now();
        // The measurement begins when the sender has sent more than four rings full of packets. From then on, it can
        // send only as fast as the receiver takes packets.
        if measured.is_none() && sent > 4 * u64::from(shape.capacity()) {
            measured = Some((Instant::now(), sent));
        }
    }
    let (from, before) = measured.expect("a measurement");
    let seconds = from.elapsed().as_secs_f64();
    let stolen_after = stolen();
    let share = (stolen_after.0 - stolen_before.0) as f64 / (stolen_after.1 - stolen_before.1).max(1) as f64;
    drop(domain);
    other.wait().expect("the other process");
    ((sent - before) as f64 * f64::from(shape.packet_bytes()) * 8.0 / seconds / 1e9, share)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn main() {
    if let Ok(task) = env::var(TASK) {
        return receive(&task);
    }
    let args: Vec<String> = env::args().collect();
    let of = |name: &str, default: u32| {
        let place = args.iter().position(|arg| arg == name);
        place.and_then(|place| args.get(place + 1)?.parse().ok()).unwrap_or(default)
    };
    let shape = Shape::new(of("--ring", 128), of("--bytes", 8_192)).expect("a possible ring");
    let time = Duration::from_secs(of("--seconds", 3).into());
    for (provider, wanted) in [(Provider::Shm, 15), (Provider::Tcp, 7)] {
        for _ in 0..of("--times", 3) {
            let (gbps, stolen) = send(provider, shape, time);
            println!(
                "{:<12} {gbps:>6.1} Gbit/s of payload (goal: {wanted}), {:.1}% steal time",
                provider.name(),
                stolen * 100.0
            );
        }
    }
}
