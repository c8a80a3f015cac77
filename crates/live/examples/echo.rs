//! Two programs at nodes of a rack. One program sends pieces and waits until each piece has come back. The other
//! program echoes all pieces.
//!
//! `cargo run --release -p raddle-live --example echo`

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

use raddle_core::{Duration, NodeId, Rate};
use raddle_live::rack::{Config, Endpoint, Gone, Rack};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::Plan;
use raddle_topology::builders;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

const PIECES: usize = 1_000;
const BYTES: usize = 1_000;

fn main() {
    let mut rack = rack();
    // ANCHOR: run
    let asks = rack.endpoint(NodeId(0)).unwrap();
    let echoes = rack.endpoint(NodeId(10)).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || ask(&asks));
        scope.spawn(move || echo(&echoes));
        // The run ends when both endpoints are dropped.
        rack.run(&mut (), |_| ControlFlow::Continue(()));
    });
    // ANCHOR_END: run
    println!("{}", rack.fidelity());
}

// ANCHOR: programs
/// Sends the pieces one after another. Waits after each piece until all of its bytes have come back.
fn ask(endpoint: &Endpoint) -> Result<(), Gone> {
    let stream = endpoint.open(NodeId(10))?;
    for _ in 0..PIECES {
        stream.send(&[7; BYTES])?;
        let mut back = 0;
        while back < BYTES {
            back += endpoint.receive()?.bytes.len();
        }
    }
    println!("received the echoes of all {PIECES} pieces of {BYTES} bytes each");
    Ok(())
}

/// Sends all received bytes back, until the stream ends.
fn echo(endpoint: &Endpoint) -> Result<(), Gone> {
    let stream = endpoint.open(NodeId(0))?;
    loop {
        let received = endpoint.receive()?;
        if received.is_end {
            return Ok(());
        }
        stream.send(&received.bytes)?;
    }
}
// ANCHOR_END: programs

/// A 4x4 torus of 5 Gbps links that runs R2C2. R2C2 carries streams only if it is reliable.
fn rack() -> Rack {
    let topology = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100)).unwrap();
    let topology = Arc::new(topology);
    let registry = Registry::builtin();
    let scheme = registry.transport("r2c2").unwrap();
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("reliable", Value::Flag(true));
    let plan = Plan { streams: true, ..Plan::new(&topology, "rps", &settings, 1) };
    let mut parts = registry.build(scheme, &plan, &registry.routing_defaults("rps")).unwrap();
    Rack::new(&topology, |id| (parts.node)(id), &[], &Config::default()).unwrap()
}
