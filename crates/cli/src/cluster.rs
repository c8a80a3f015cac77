//! Runs on a Ray cluster, through the Python package.
//!
//! `python3 -m raddle.cluster ADDRESS PROGRAM` reads tasks from its standard input, one per line, until an empty line.
//! This Python program sends PROGRAM, which is `raddle` itself, to the cluster's machines, which do each task with
//! `raddle task`. For each task that has ended, the Python program writes a line of JSON, and then the contents of the
//! files that the line names. The Python program ends after the last task, or earlier if its input is closed.

use raddle_lab::Error;
use raddle_lab::sweep::{Elsewhere, Files};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The variable that names the Python interpreter.
const PYTHON: &str = "RADDLE_PYTHON";

/// The hint that says how to install the Python package.
const INSTALL: &str = "install the package and Ray with `pip install '.[ray]'` in the folder of Raddle's repository, and \
                       set RADDLE_PYTHON to the Python interpreter that has them";

/// Interval between two checks of whether the runs must stop.
const LOOK: Duration = Duration::from_millis(50);

/// A Ray cluster.
pub(crate) struct Cluster {
    address: String,
}

impl Cluster {
    pub(crate) fn new(address: String) -> Self {
        Self { address }
    }
}

impl Elsewhere for Cluster {
    fn run(
        &self,
        tasks: &[String],
        is_over: &(dyn Fn() -> bool + Sync),
        done: &mut (dyn FnMut(usize, Files) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
        let shown = python.to_string_lossy().into_owned();
        let program = std::env::current_exe().map_err(Error::io("find", Path::new("this program")))?;
        let mut command = Command::new(python);
        command.args(["-m", "raddle.cluster", &self.address]).arg(program);
        // A file of the current folder, such as `ray.py`, must not stand in for a package.
        command.env("PYTHONSAFEPATH", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| Error::Usage {
            what: format!("cannot start `{shown}`, which connects to the cluster: {why}"),
            hint: INSTALL.to_owned(),
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stdin = Mutex::new(stdin);
        let has_ended = AtomicBool::new(false);
        let (read, said) = thread::scope(|scope| {
            let said = scope.spawn(|| stderr.map(io::read_to_string));
            scope.spawn(|| stop_with(&stdin, &has_ended, is_over));
            send(&stdin, tasks);
            let read = stdout.map_or(Ok(()), |stdout| read(BufReader::new(stdout), done));
            has_ended.store(true, Ordering::Relaxed);
            // The Python program ends when its input is closed.
            drop(stdin.lock().unwrap_or_else(PoisonError::into_inner).take());
            let said = said.join().unwrap_or_default().and_then(Result::ok).unwrap_or_default();
            (read, said)
        });
        let status = child.wait().map_err(Error::io("wait for", Path::new(&shown)))?;
        read?;
        if status.success() || is_over() {
            return Ok(());
        }
        let last = said.trim().lines().next_back().unwrap_or("the process printed no error");
        Err(Error::Usage {
            what: format!("`{shown} -m raddle.cluster`, which runs cells on the cluster, failed: {last}"),
            hint: INSTALL.to_owned(),
        })
    }
}

/// Sends the tasks to the Python program. A failure is ignored here: if the Python program has ended, its messages say
/// why.
fn send(stdin: &Mutex<Option<ChildStdin>>, tasks: &[String]) {
    let mut text = tasks.join("\n");
    text.push_str("\n\n");
    if let Some(stdin) = stdin.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        let _ = stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush());
    }
}

/// Closes the Python program's input when the runs are to stop.
#[expect(clippy::disallowed_methods, reason = "no result depends on how long this thread sleeps")]
fn stop_with(stdin: &Mutex<Option<ChildStdin>>, has_ended: &AtomicBool, is_over: &(dyn Fn() -> bool + Sync)) {
    while !has_ended.load(Ordering::Relaxed) {
        if is_over() {
            drop(stdin.lock().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Reads the results of tasks until the Python program ends or reports an error, and gives each result to `done`.
fn read(
    mut from: impl BufRead,
    done: &mut (dyn FnMut(usize, Files) -> Result<(), Error> + Send),
) -> Result<(), Error> {
    let failed = |why: io::Error| Error::Run(format!("the results of the cluster cannot be read: {why}"));
    let mut line = String::new();
    while from.read_line(&mut line).map_err(failed)? > 0 {
        let message: Value = serde_json::from_str(&line).map_err(|why| failed(why.into()))?;
        line.clear();
        if let Some(what) = message["error"]["message"].as_str() {
            let hint = message["error"]["hint"].as_str().unwrap_or_default().to_owned();
            return Err(match message["error"]["usage"].as_bool() {
                Some(true) => Error::Usage { what: what.to_owned(), hint },
                _ => Error::Run(what.trim_start_matches("the run failed: ").to_owned()),
            });
        }
        let (task, names): (usize, Vec<(String, u64)>) =
            serde_json::from_value(message).map_err(|why| failed(why.into()))?;
        let mut files = Files::new();
        for (name, bytes) in names {
            let mut content = Vec::new();
            let read = from.by_ref().take(bytes).read_to_end(&mut content).map_err(failed)?;
            if (read as u64) < bytes {
                return Err(failed(io::ErrorKind::UnexpectedEof.into()));
            }
            files.push((name, content));
        }
        done(task, files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_a_line_and_the_bytes_of_files() {
        let text = b"[1, [[\"a\", 3], [\"b\", 0]]]\n1\n2[0, []]\n{\"error\": {\"message\": \"no\"}}\n";
        let mut ended = Vec::new();
        let read = read(&text[..], &mut |task, files| {
            ended.push((task, files));
            Ok(())
        });
        let files = vec![("a".to_owned(), b"1\n2".to_vec()), ("b".to_owned(), Vec::new())];
        assert_eq!(ended, [(1, files), (0, Vec::new())]);
        assert_eq!(read.expect_err("an error").to_string(), "the run failed: no");
    }

    #[test]
    fn a_program_that_ends_within_a_file_gives_no_result() {
        let read = read(&b"[0, [[\"a\", 3]]]\n12"[..], &mut |_, _| unreachable!("the file is not complete"));
        let told = read.expect_err("an error").to_string();
        assert!(told.contains("the results of the cluster cannot be read"), "{told}");
    }
}
