//! `raddle live`: runs an experiment live, in this process or together with other processes.

use super::{Session, invocation, name};
use crate::Ended;
use crate::arguments::Live;
use crate::show::{self, Bars};
use raddle_lab::{Control, Error, RunState, Share, Shared};
use raddle_live::rack::Meeting;
use serde_json::json;
use std::net::SocketAddr;

impl Session<'_> {
    /// Runs an experiment live. If the arguments name nodes, runs only these nodes.
    pub(super) fn live(self, live: &Live) -> Result<Ended, Error> {
        let Live { run, nodes, meeting, secret, .. } = live;
        let Some(run) = run else {
            let hint = "raddle live FILE".to_owned();
            return Err(Error::Usage { what: "the experiment file is missing".to_owned(), hint });
        };
        let own = ["engine.kind=live"];
        let place = meeting.listen.as_ref().or(meeting.join.as_ref());
        let Some((nodes, place)) = nodes.clone().zip(place.cloned()) else {
            return self.run(run, "live", &own, None);
        };
        let secret = secret.as_ref().map_or(Ok(Vec::new()), |path| {
            raddle_lab::input::read(path).map_err(|source| Error::Io {
                action: "read",
                path: path.clone(),
                source,
            })
        })?;
        if let Meeting::Address(address) = place {
            refuse_address(address, &secret)?;
        }
        let share = Share { nodes, meeting: place, is_host: meeting.listen.is_some(), secret };
        let (does, at) = (
            if share.is_host {
                "waiting for the processes of the other nodes"
            } else {
                "joining the processes of the other nodes"
            },
            &share.meeting,
        );
        self.output.note(|| show::line(&format!("{does} at {at}")));
        if share.is_host {
            return self.run(run, "live", &own, Some(share));
        }
        let document = self.load(run, &own)?;
        document.refuse_sweep(&invocation("live", &run.file))?;
        let (first, last) = (share.nodes.start, share.nodes.end - 1);
        let prepared = document.prepare()?.shared(share)?;
        self.show_namespaces(&prepared);
        let name = format!("{}, nodes {first}-{last}", name(&run.file));
        let bars = Bars::new(std::slice::from_ref(&name), self.output.quiet);
        let progress = &mut |progress: &RunState| bars.update(0, progress);
        let threads = raddle_lab::Threads::UpTo(1);
        let shared = raddle_lab::join(prepared, Control { stop: self.stop, progress, threads });
        bars.clear();
        let Shared { complete, packet_hops, fidelity } = shared?;
        let text = || {
            format!(
                "{name}: {packet_hops} packet-hops; the process started with --listen has the \
                 results\n{fidelity}"
            )
        };
        let verdict = fidelity.verdict.to_string();
        let json = || json!({ "complete": complete, "packet_hops": packet_hops, "fidelity": verdict });
        self.output.print(text, json)?;
        Ok(if complete { Ended::Done } else { Ended::Interrupted })
    }
}

/// Refuses a TCP address for a meeting if this build has no libfabric or if there is no secret.
fn refuse_address(address: SocketAddr, secret: &[u8]) -> Result<(), Error> {
    let refuse = |what: String, hint: &str| Err(Error::Usage { what, hint: hint.to_owned() });
    if !raddle_live::HAS_LIBFABRIC {
        let hint = "for TCP, install libfabric-dev and a C compiler, and run `cargo build --release \
                    --features libfabric`; for processes on one machine, use a Unix socket instead: \
                    --listen PATH";
        return refuse(
            format!("TCP ({address}) needs libfabric, but Raddle was built without libfabric"),
            hint,
        );
    }
    if secret.is_empty() {
        let hint = "give all processes the same non-empty file: --secret FILE";
        return refuse(
            format!(
                "TCP address {address} needs a secret; without a secret, any process that reaches the \
                 address could join"
            ),
            hint,
        );
    }
    Ok(())
}
