//! Measures two Linux hosts at one switch: round-trip times on the idle switch, TCP throughput in Gbit/s, and
//! minimum-size frames per second.
//!
//! `cargo bench --bench hosts -- --gbps 10 --seconds 5`
//!
//! The benchmark needs root, TAP interfaces, `ping` and `iperf3`. `ping` measures a round trip every 10 ms. `iperf3`
//! measures one TCP connection. A minimum-size frame carries a UDP datagram with 18 bytes of payload. One thread sends
//! such datagrams as fast as it can, and hands 64 of them at a time to the sending host's kernel. A frame is counted
//! when the rack hands it to the kernel of the other host.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark measures and prints")]

use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};
use raddle_core::{Decoders, Duration, NodeId, Parts, Rate};
use raddle_live::rack::ip::{FrameHost, Interface, address};
use raddle_live::rack::{Config, Rack};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::builders;
use std::error::Error;
use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().collect();
    let of = |name: &str, default: u64| {
        let place = args.iter().position(|arg| arg == name);
        place.and_then(|place| args.get(place + 1)?.parse().ok()).unwrap_or(default)
    };
    let (gbps, seconds) = (of("--gbps", 10), of("--seconds", 5));
    let topology = builders::single_switch(2, Rate::from_gbps(gbps), Duration::from_us(1))?;
    let topology = Arc::new(topology);
    let transport = registry().transport("udp").ok_or("no UDP")?;
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(&topology, "ecmp", &settings, 1);
    let mut parts = registry().build(transport, &plan, &registry().routing_defaults("ecmp"))?;
    let node = |id| Parts { host: None, ..(parts.node)(id) };
    let config =
        Config { decoders: Decoders::BUILTIN.with_frames(), packet_bytes: 1_800, ..Config::default() };
    let mut rack = Rack::new(&topology, node, &[], &config)?;
    let interface = Interface::default();
    let hosts = [rack.frame_host(NodeId(0), &interface)?, rack.frame_host(NodeId(1), &interface)?];
    let stay = rack.stay();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let measuring = scope.spawn(|| {
            let measured = measure(&hosts, seconds);
            drop(stay);
            is_over.store(true, Ordering::Relaxed);
            measured
        });
        rack.run(&mut (), |_| match is_over.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        measuring.join().unwrap_or_else(|_| Err("a thread failed".into()))
    })?;
    println!("\n{}", rack.fidelity());
    Ok(())
}

fn measure(hosts: &[FrameHost; 2], seconds: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let there = address(NodeId(1)).to_string();
    let pings = (seconds * 100).to_string();
    let ping = said(start(&hosts[0], "ping", &["-q", "-i", "0.01", "-c", &pings, &there])?)?;
    let round_trips =
        ping.lines().find(|line| line.contains("min/avg/max")).ok_or("ping printed no round-trip times")?;
    println!("round trips across the idle switch: {round_trips}");

    let mut server = start(&hosts[1], "iperf3", &["-s"])?;
    thread::sleep(std::time::Duration::from_millis(500));
    let tcp = said(start(&hosts[0], "iperf3", &["-c", &there, "-t", &seconds.to_string(), "-f", "g"])?)?;
    server.kill()?;
    server.wait()?;
    let received = tcp.lines().find(|line| line.ends_with("receiver")).ok_or("iperf3 failed")?;
    println!("one TCP connection: {received}");

    let (frames, took) = thread::scope(|scope| scope.spawn(|| small_frames(hosts, seconds)).join())
        .unwrap_or_else(|_| Err("a thread failed".into()))?;
    println!("minimum-size frames: {:.0} thousand per second", frames as f64 / took / 1e3);
    Ok(())
}

/// Sends small frames from the first host to the second. Returns the number of received frames and the time in seconds.
fn small_frames(hosts: &[FrameHost; 2], seconds: u64) -> Result<(u64, f64), Box<dyn Error + Send + Sync>> {
    hosts[1].namespace().enter()?;
    let _receiver = UdpSocket::bind((address(NodeId(1)), 9))?;
    hosts[0].namespace().enter()?;
    let sender = UdpSocket::bind((address(NodeId(0)), 0))?;
    sender.connect((address(NodeId(1)), 9))?;
    // The kernel splits the buffer into datagrams of 18 bytes. With one call per datagram, the sender would take much
    // of the processor time that the receiving host's kernel needs.
    setsockopt(&sender, UdpGsoSegment, &18)?;
    let received = || hosts[1].counts().received.load(Ordering::Relaxed);
    let (begin, before) = (Instant::now(), received());
    while begin.elapsed().as_secs() < seconds {
        for _ in 0..100 {
            // If the interface's queue is full, the interface counts the drop, and the sender ignores the error.
            let _ = sender.send(&[0; 64 * 18]);
        }
    }
    Ok((received() - before, begin.elapsed().as_secs_f64()))
}

fn start(host: &FrameHost, program: &str, arguments: &[&str]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    host.namespace().spawn(command)
}

/// Waits until a program ends, and returns its standard output.
fn said(program: Child) -> Result<String, Box<dyn Error + Send + Sync>> {
    Ok(String::from_utf8(program.wait_with_output()?.stdout)?)
}
