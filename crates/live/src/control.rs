//! The control socket of a live run. Other processes of the same user send requests to the socket, and the run answers.
//! Requests and answers are one line each.
//!
//! The socket is in a folder that only the user of the run can access. The name of the socket contains the process id
//! of the run. When a run begins, it removes the sockets of runs that were killed.

use rustix::process::geteuid;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum size of a request or an answer, in bytes.
const MOST: u64 = 4_096;

/// The timeout of a client. It applies to sending the request, and again to waiting for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The timeout of a run. It applies to receiving the request of a connected client, and again to sending the answer. It
/// is short because the run has other work.
const REQUEST: Duration = Duration::from_millis(100);

/// The folder of all control sockets of this user.
fn folder() -> PathBuf {
    PathBuf::from(format!("/tmp/raddle-{}", geteuid().as_raw()))
}

/// Makes the folder if it does not exist. Fails if another user made the folder or can access it.
#[expect(clippy::verbose_bit_mask, reason = "the mask selects permission bits of a file mode")]
fn make_folder() -> io::Result<PathBuf> {
    let folder = folder();
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        _ => {}
    }
    let found = fs::symlink_metadata(&folder)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_own {
        Ok(folder)
    } else {
        Err(io::Error::other(format!(
            "{} must be a directory that only you can \
     access",
            folder.display()
        )))
    }
}

/// Returns the process to which the control socket with this path belongs; `None` if the path is not that of a control
/// socket.
fn process_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_suffix(".control")?.parse().ok()
}

fn path_of(folder: &Path, process: u32) -> PathBuf {
    folder.join(format!("{process}.control"))
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

fn sockets(folder: &Path) -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Some((process_of(&entry.path())?, entry.path())))
}

/// The processes of this user's live runs on this machine, in ascending order of process number.
#[must_use]
pub fn running() -> Vec<u32> {
    let mut running: Vec<u32> =
        sockets(&folder()).map(|(process, _)| process).filter(|&process| is_alive(process)).collect();
    running.sort_unstable();
    running
}

/// The control socket of this process. Dropping this value removes the socket.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Makes the socket of this process.
    ///
    /// # Errors
    /// If the system refuses to make the socket, or another user can access the socket's folder.
    pub fn open() -> io::Result<Self> {
        let folder = make_folder()?;
        for (_, path) in sockets(&folder).filter(|&(process, _)| !is_alive(process)) {
            let _ = fs::remove_file(path);
        }
        let path = path_of(&folder, std::process::id());
        let control = Self { listener: UnixListener::bind(&path)?, path };
        fs::set_permissions(&control.path, fs::Permissions::from_mode(0o600))?;
        control.listener.set_nonblocking(true)?;
        Ok(control)
    }

    /// Answers the pending requests. For each request, `answer` returns the text of the answer, or the reason why the
    /// run refuses the request.
    pub fn answer(&self, mut answer: impl FnMut(&str) -> Result<String, String>) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A client that closes its connection early gets no answer. This is not an error.
            let _ = converse(&stream, &mut answer);
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn converse(
    mut stream: &UnixStream,
    answer: &mut impl FnMut(&str) -> Result<String, String>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(REQUEST))?;
    stream.set_write_timeout(Some(REQUEST))?;
    if rustix::net::sockopt::socket_peercred(stream)?.uid != geteuid() {
        return Ok(());
    }
    let line = match answer(&line(stream)?) {
        Ok(done) => format!("done {done}\n"),
        Err(why) => format!("refused {why}\n"),
    };
    stream.write_all(line.as_bytes())
}

fn line(stream: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(MOST)).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Sends a request to the run of a process. Returns the run's answer, or the reason why the run refuses the request.
///
/// # Errors
/// If the run does not answer.
pub fn ask(process: u32, request: &str) -> io::Result<Result<String, String>> {
    let mut stream = UnixStream::connect(path_of(&folder(), process))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let line = line(&stream)?;
    match line.split_once(' ') {
        Some(("done", done)) => Ok(Ok(done.to_owned())),
        Some(("refused", why)) => Ok(Err(why.to_owned())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_run_answers_its_user_and_leaves_no_socket() {
        let control = Control::open().expect("a socket");
        let own = std::process::id();
        assert!(running().contains(&own));
        let mode = fs::metadata(&control.path).expect("it is there").mode() & 0o777;
        assert_eq!(mode, 0o600);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    control.answer(|request| match request {
                        "good" => Ok("so".to_owned()),
                        other => Err(format!("`{other}`?")),
                    });
                    std::thread::yield_now();
                }
            });
            assert_eq!(ask(own, "good").expect("an answer"), Ok("so".to_owned()));
            assert_eq!(ask(own, "bad").expect("an answer"), Err("`bad`?".to_owned()));
            let long = "x".repeat(MOST as usize * 2);
            let answer = ask(own, &long);
            assert!(answer.is_err() || answer.is_ok_and(|answer| answer.is_err()), "it is cut");
            assert_eq!(
                ask(own, "good").expect("an answer"),
                Ok("so".to_owned()),
                "the run must still answer after a request that was too long"
            );
            is_over.store(true, Ordering::Relaxed);
        });
        let path = control.path.clone();
        drop(control);
        assert!(!path.exists());
    }
}
