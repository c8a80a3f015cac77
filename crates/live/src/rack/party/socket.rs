//! The socket at which a host listens, which goes when the host does.

use super::connection::Connection;
use super::handshake::NoParty;
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A Unix socket in the file system, for processes of the same user.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Makes the socket. Nothing may be there yet but a socket at which nobody listens any more.
    pub(super) fn bind(path: &Path) -> Result<Self, NoParty> {
        let no_socket = |why| NoParty::Socket { path: path.to_owned(), why };
        let listener = match UnixListener::bind(path) {
            Err(why) if why.kind() == io::ErrorKind::AddrInUse && is_dead(path) => {
                fs::remove_file(path).map_err(no_socket)?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(no_socket)?;
        // From here on it goes with this value.
        let socket = Self { listener, path: path.to_owned() };
        let only_owner = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, only_owner).map_err(no_socket)?;
        socket.listener.set_nonblocking(true).map_err(no_socket)?;
        Ok(socket)
    }

    /// Whoever calls, if somebody does.
    pub(super) fn accept(&self) -> io::Result<Option<Connection>> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                let is_same_user = rustix::net::sockopt::socket_peercred(&stream)?.uid == geteuid();
                is_same_user.then(|| Connection::new(stream)).transpose()
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(why) => Err(why),
        }
    }
}

/// Whether this is a socket at which nobody listens any more: a host that was killed has left it.
fn is_dead(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refuses = |why: io::Error| why.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refuses)
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
