//! Actions on live runs on this machine.

use crate::arguments::{Ctl, Exec, LinkState, Order};
use raddle_lab::Error;
use raddle_live::control;
use raddle_live::rack::ip::{self, Named};
use std::process::Command;

/// Replaces this process by a program at a host of a live run. Returns only on failure.
pub(crate) fn exec(exec: &Exec) -> Error {
    let Exec { host, run, command } = exec;
    let namespace = match namespace_of(*host, *run, &ip::running()) {
        Ok(namespace) => namespace,
        Err(error) => return error,
    };
    let Some((program, arguments)) = command.split_first() else {
        let hint = "raddle live exec --host N -- COMMAND".to_owned();
        return Error::Usage { what: "the command to run at the host is missing".to_owned(), hint };
    };
    let why = namespace.become_program(Command::new(program).args(arguments));
    Error::Run(format!("cannot start `{}` at host {host}: {why}", program.display()))
}

/// Sends a request to a live run. Returns a description of the effect.
pub(crate) fn order(ctl: &Ctl) -> Result<String, Error> {
    let process = run_of(ctl.run, &control::running())?;
    let Order::Link { state, a, b } = ctl.order;
    let state = match state {
        LinkState::Down => "down",
        LinkState::Up => "up",
    };
    let answer = control::ask(process, &format!("link {state} {a} {b}"));
    let answer = answer.map_err(|why| Error::Run(format!("process {process} does not answer: {why}")))?;
    let hint = || "to see all nodes and links, run `raddle topo convert FILE graph.json`".to_owned();
    answer.map_err(|what| Error::Usage { what, hint: hint() })
}

/// Chooses one live run from the processes in `running`. `run` is the process that the user has named, if any.
fn run_of(run: Option<u32>, running: &[u32]) -> Result<u32, Error> {
    match (run, running) {
        (Some(run), _) if running.contains(&run) => Ok(run),
        (None, &[run]) => Ok(run),
        (Some(run), _) => Err(Error::Usage {
            what: format!("process {run} is not one of your live runs"),
            hint: "leave --run out if you have only one live run".to_owned(),
        }),
        (None, []) => Err(Error::Usage {
            what: "you have no live run on this machine".to_owned(),
            hint: "start a live run with `raddle live FILE`".to_owned(),
        }),
        (None, _) => Err(Error::Usage {
            what: format!("you have {} live runs on this machine", running.len()),
            hint: {
                let processes: Vec<_> = running.iter().map(u32::to_string).collect();
                format!("choose a live run with --run PROCESS; PROCESS is one of: {}", processes.join(", "))
            },
        }),
    }
}

/// Chooses the namespace of a host from the namespaces in `running`. `run` is the process that the user has named, if
/// any.
fn namespace_of(host: u32, run: Option<u32>, running: &[Named]) -> Result<Named, Error> {
    let of_run = || running.iter().filter(|of| run.is_none_or(|run| of.process == run));
    let found: Vec<Named> = of_run().filter(|of| of.node.0 == host).copied().collect();
    let processes = |of: &[Named]| of.iter().map(|of| of.process.to_string()).collect::<Vec<_>>().join(", ");
    match found[..] {
        [namespace] => Ok(namespace),
        [] if of_run().next().is_none() => Err(Error::Usage {
            what: match run {
                None => "no live run on this machine has namespaces".to_owned(),
                Some(run) => format!("process {run} is not a live run with namespaces"),
            },
            hint: "set hosts = \"namespaces\" in [engine], and start a live run: raddle live FILE".to_owned(),
        }),
        [] => {
            let hosts: Vec<_> = of_run().map(|of| of.node.to_string()).collect();
            let hint = format!("the hosts with namespaces are {}", hosts.join(", "));
            Err(Error::Usage { what: format!("host {host} does not have a namespace"), hint })
        }
        _ => Err(Error::Usage {
            what: format!("{} live runs have a host {host}", found.len()),
            hint: format!("choose a live run with --run PROCESS; PROCESS is one of: {}", processes(&found)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::NodeId;

    #[test]
    fn an_order_is_for_one_run() {
        assert_eq!(run_of(None, &[7]).ok(), Some(7));
        assert_eq!(run_of(Some(9), &[7, 9]).ok(), Some(9));
        for (run, running) in [(None, &[][..]), (None, &[7, 9]), (Some(8), &[7, 9])] {
            assert!(matches!(run_of(run, running), Err(Error::Usage { .. })));
        }
    }

    #[test]
    fn a_host_is_found_if_one_run_has_it() {
        let named = |process, node| Named { process, node: NodeId(node) };
        let running = [named(7, 0), named(7, 1), named(9, 0)];
        assert_eq!(namespace_of(1, None, &running).ok(), Some(named(7, 1)));
        assert_eq!(namespace_of(0, Some(9), &running).ok(), Some(named(9, 0)));
        let refused = |host, run, running: &[Named]| match namespace_of(host, run, running) {
            Err(Error::Usage { what, hint }) => format!("{what}; {hint}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            refused(0, None, &running),
            "2 live runs have a host 0; choose a live run with --run PROCESS; PROCESS is one of: 7, 9"
        );
        assert_eq!(
            refused(1, Some(9), &running),
            "host 1 does not have a namespace; the hosts with namespaces are 0"
        );
        assert!(refused(1, Some(8), &running).starts_with("process 8 is not a live run"));
        assert!(refused(1, None, &[]).starts_with("no live run on this machine has namespaces"));
    }
}
