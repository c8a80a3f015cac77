//! The sockets on which a host listens. Dropping a Unix socket removes its file.

use super::connection::Connection;
use super::handshake::NoParty;
use rustix::process::geteuid;
use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The place at which the processes of a party meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meeting {
    /// A Unix socket, for processes of one machine and one user, which share memory.
    Socket(PathBuf),
    /// A TCP address, for processes of any machines, which write into each other's rings over libfabric.
    Address(SocketAddr),
}

impl From<&PathBuf> for Meeting {
    fn from(path: &PathBuf) -> Self {
        Self::Socket(path.clone())
    }
}

impl From<SocketAddr> for Meeting {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Meeting {
    /// Connects to the process that listens at this place.
    pub(super) fn connect(&self) -> io::Result<Connection> {
        match self {
            Self::Socket(path) => UnixStream::connect(path).and_then(Connection::new),
            Self::Address(address) => {
                TcpStream::connect_timeout(address, CONNECTS_IN).and_then(Connection::over_tcp)
            }
        }
    }
}

/// The longest wait until a TCP connection to a host is established.
const CONNECTS_IN: std::time::Duration = std::time::Duration::from_secs(2);

/// A listening socket of a host.
#[derive(Debug)]
pub(super) enum Door {
    Unix(Socket),
    Tcp(TcpListener),
}

impl Door {
    /// Starts to listen. A TCP address must be an address at which other machines reach this machine, because these
    /// machines also use the address to write into this machine's rings.
    pub(super) fn open(at: &Meeting) -> Result<Self, NoParty> {
        let address = match at {
            Meeting::Socket(path) => return Socket::bind(path).map(Self::Unix),
            Meeting::Address(address) => address,
        };
        if address.ip().is_unspecified() {
            return Err(NoParty::AnyAddress(*address));
        }
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        listener.map(Self::Tcp).map_err(|why| NoParty::Socket { at: at.clone(), why })
    }

    /// Accepts a connection if one is pending.
    pub(super) fn accept(&self) -> io::Result<Option<Connection>> {
        match self {
            Self::Unix(socket) => socket.accept(),
            Self::Tcp(listener) => match listener.accept() {
                Ok((stream, _)) => Connection::over_tcp(stream).map(Some),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(why) => Err(why),
            },
        }
    }
}

/// A Unix socket in the file system, for processes of the same user.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Creates the socket. If the path exists, it must be a socket on which no process listens any more.
    pub(super) fn bind(path: &Path) -> Result<Self, NoParty> {
        let no_socket = |why| NoParty::Socket { at: Meeting::Socket(path.to_owned()), why };
        let listener = match UnixListener::bind(path) {
            Err(why) if why.kind() == io::ErrorKind::AddrInUse && is_dead(path) => {
                fs::remove_file(path).map_err(no_socket)?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(no_socket)?;
        // From here on, dropping `socket` removes the file.
        let socket = Self { listener, path: path.to_owned() };
        let only_owner = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, only_owner).map_err(no_socket)?;
        socket.listener.set_nonblocking(true).map_err(no_socket)?;
        Ok(socket)
    }

    /// Accepts a connection if one is pending. Closes the connection, and returns `None`, if it comes from another
    /// user.
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

/// Returns true if the path is a socket on which no process listens. A host that was killed leaves such a socket.
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
