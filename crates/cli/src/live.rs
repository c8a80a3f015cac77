//! What is done in live runs on this machine.

use crate::arguments::Exec;
use raddle_lab::Error;
use raddle_live::rack::ip::{self, Named};
use std::process::Command;

/// Becomes a program at a host of a live run. Returns only if that cannot be.
pub(crate) fn exec(exec: &Exec) -> Error {
    let Exec { host, run, command } = exec;
    let namespace = match namespace_of(*host, *run, &ip::running()) {
        Ok(namespace) => namespace,
        Err(error) => return error,
    };
    let Some((program, arguments)) = command.split_first() else {
        let hint = "raddle live exec --host N -- COMMAND".to_owned();
        return Error::Usage { what: "the program is missing".to_owned(), hint };
    };
    let why = namespace.become_program(Command::new(program).args(arguments));
    Error::Run(format!("`{}` does not start at host {host}: {why}", program.display()))
}

/// The namespace of a host, of those that there are.
fn namespace_of(host: u32, run: Option<u32>, running: &[Named]) -> Result<Named, Error> {
    let of_run = || running.iter().filter(|of| run.is_none_or(|run| of.process == run));
    let found: Vec<Named> = of_run().filter(|of| of.node.0 == host).copied().collect();
    let processes = |of: &[Named]| of.iter().map(|of| of.process.to_string()).collect::<Vec<_>>().join(", ");
    match found[..] {
        [namespace] => Ok(namespace),
        [] if of_run().next().is_none() => Err(Error::Usage {
            what: match run {
                None => "no live run on this machine has namespaces".to_owned(),
                Some(run) => format!("process {run} is no live run with namespaces"),
            },
            hint: "raddle live FILE makes them, with hosts = \"namespaces\" in [engine]".to_owned(),
        }),
        [] => {
            let hosts: Vec<_> = of_run().map(|of| of.node.to_string()).collect();
            let hint = format!("its hosts are {}", hosts.join(", "));
            Err(Error::Usage { what: format!("the live run has no host {host}"), hint })
        }
        _ => Err(Error::Usage {
            what: format!("{} live runs have a host {host}", found.len()),
            hint: format!("choose one by --run PROCESS: {}", processes(&found)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::NodeId;

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
            "2 live runs have a host 0; choose one by --run PROCESS: 7, 9"
        );
        assert_eq!(refused(1, Some(9), &running), "the live run has no host 1; its hosts are 0");
        assert!(refused(1, Some(8), &running).starts_with("process 8 is no live run"));
        assert!(refused(1, None, &[]).starts_with("no live run on this machine has namespaces"));
    }
}
