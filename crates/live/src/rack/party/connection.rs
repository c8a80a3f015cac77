//! A connection between two processes that share a rack. It carries messages in sequence, each preceded by its length.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// Maximum size of a message in bytes. A connection that announces a longer message is broken.
const MOST: usize = 16 << 20;

/// The longest time for which a write to the connection may block.
const SENDING: Duration = Duration::from_secs(5);

/// The reason why a connection is no longer usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub(super) String);

impl From<io::Error> for Broken {
    fn from(why: io::Error) -> Self {
        Self(match why.kind() {
            io::ErrorKind::UnexpectedEof => "the process closed the connection".to_owned(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                "the process did not answer or accept a message in time".to_owned()
            }
            _ => why.to_string(),
        })
    }
}

/// The stream that carries the messages.
#[derive(Debug)]
enum Stream {
    /// To another process on this machine.
    Unix(UnixStream),
    /// To a process that may be on another machine.
    Tcp(TcpStream),
}

/// Evaluates the same expression for either stream.
macro_rules! either {
    ($stream:expr, $inner:ident => $does:expr) => {
        match $stream {
            Stream::Unix($inner) => $does,
            Stream::Tcp($inner) => $does,
        }
    };
}

impl Stream {
    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    fn set_read_timeout(&self, patience: Option<Duration>) -> io::Result<()> {
        either!(self, stream => stream.set_read_timeout(patience))
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        either!(self, stream => { let mut stream = stream; stream.write_all(bytes) })
    }

    fn read_exact(&self, into: &mut [u8]) -> io::Result<()> {
        either!(self, stream => { let mut stream = stream; stream.read_exact(into) })
    }
}

/// One end of a connection. Dropping this value closes the connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
}

impl Connection {
    /// A connection to a process on this machine.
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(SENDING))?;
        Ok(Self { stream: Stream::Unix(stream) })
    }

    /// A connection to a process on any machine.
    pub(super) fn over_tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SENDING))?;
        Ok(Self { stream: Stream::Tcp(stream) })
    }

    /// The local address of the connection; `None` for a Unix socket.
    pub(super) fn own_address(&self) -> Option<IpAddr> {
        match &self.stream {
            Stream::Unix(_) => None,
            Stream::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip()),
        }
    }

    /// The Unix socket, which can pass file descriptors. An error for a TCP connection, which cannot.
    fn unix(&self) -> io::Result<&UnixStream> {
        match &self.stream {
            Stream::Unix(stream) => Ok(stream),
            Stream::Tcp(_) => Err(io::Error::other("a file descriptor cannot be sent to another machine")),
        }
    }

    /// Sends a message.
    #[allow(clippy::cast_possible_truncation, reason = "a message must have at most `MOST` bytes")]
    pub(super) fn send(&self, message: &impl Serialize) -> Result<(), Broken> {
        let bytes = postcard::to_stdvec(message).map_err(|why| Broken(why.to_string()))?;
        if bytes.len() > MOST {
            return Err(Broken(format!(
                "a message of {} bytes exceeds the maximum of {MOST} bytes",
                bytes.len()
            )));
        }
        // One write sends length and body, so that a small message needs only one system call and one TCP segment.
        let message = [&(bytes.len() as u32).to_le_bytes(), &bytes[..]].concat();
        Ok(self.stream.write_all(&message)?)
    }

    /// Receives the next message. Fails if no further bytes of the message arrive within `patience`.
    pub(super) fn receive<T: DeserializeOwned>(&self, patience: Duration) -> Result<T, Broken> {
        self.stream.set_read_timeout(Some(patience))?;
        receive(&self.stream)
    }

    /// Starts a thread that receives messages and passes each to `inbox`, converted by `sorted`. The thread ends when
    /// the connection breaks, or when the receiver of `inbox` is gone. It also passes on the error that broke the
    /// connection.
    pub(super) fn listen<T: DeserializeOwned, S: Send + 'static>(
        &self,
        inbox: Sender<S>,
        sorted: impl Fn(Result<T, Broken>) -> S + Send + 'static,
    ) {
        let stream = self.stream.set_read_timeout(None).and_then(|()| self.stream.try_clone());
        thread::spawn(move || {
            loop {
                let message = match &stream {
                    Ok(stream) => receive(stream),
                    Err(why) => Err(Broken(why.to_string())),
                };
                let is_last = message.is_err();
                // The receiver of `inbox` may be gone.
                if inbox.send(sorted(message)).is_err() || is_last {
                    return;
                }
            }
        });
    }

    /// Sends a file descriptor to the other end.
    pub(super) fn give(&self, descriptor: &OwnedFd) -> io::Result<()> {
        let descriptors = [descriptor.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        rights.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(self.unix()?, &[IoSlice::new(&[0])], &mut rights, SendFlags::empty())?;
        Ok(())
    }

    /// Receives a file descriptor from the other end. Waits up to `patience`.
    pub(super) fn take(&self, patience: Duration) -> io::Result<OwnedFd> {
        self.stream.set_read_timeout(Some(patience))?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(self.unix()?, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
        let mut given = rights.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        given.next().ok_or_else(|| io::Error::other("expected a file descriptor, but received none"))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The shutdown also ends the thread that listens on a clone of the stream.
        let _ = either!(&self.stream, stream => stream.shutdown(Shutdown::Both));
    }
}

fn receive<T: DeserializeOwned>(stream: &Stream) -> Result<T, Broken> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > MOST {
        return Err(Broken(format!("the process announced a message of {len} bytes; the maximum is {MOST}")));
    }
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(|_| Broken("the process sent an invalid message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Seek;

    const SOON: Duration = Duration::from_secs(5);

    fn pair() -> (Connection, Connection) {
        let (one, other) = UnixStream::pair().expect("two sockets");
        (Connection::new(one).expect("a connection"), Connection::new(other).expect("a connection"))
    }

    #[test]
    fn messages_and_descriptors_come_as_they_were_sent() {
        let (one, other) = pair();
        one.send(&(7_u32, "seven".to_owned())).expect("room");
        assert_eq!(other.receive(SOON), Ok((7_u32, "seven".to_owned())));
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"here").expect("room");
        one.give(&file.try_clone().expect("a descriptor").into()).expect("room");
        let mut given = File::from(other.take(SOON).expect("a descriptor"));
        let mut text = String::new();
        given.rewind().and_then(|()| given.read_to_string(&mut text)).expect("a text");
        assert_eq!(text, "here");
        drop(one);
        assert_eq!(other.receive::<u32>(SOON), Err(Broken("the process closed the connection".to_owned())));
    }

    #[test]
    fn malformed_messages_are_errors() {
        for bytes in [&[0xFF; 8][..], &[2, 0, 0, 0, 0xFF, 0xFF], &[3, 0, 0, 0, 1]] {
            let (one, other) = pair();
            one.stream.write_all(bytes).expect("room");
            drop(one);
            assert!(other.receive::<String>(SOON).is_err(), "{bytes:?}");
        }
    }
}
