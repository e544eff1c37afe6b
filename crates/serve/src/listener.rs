//! Where clients connect: a Unix socket that is its owner's alone, or TCP.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

/// Clients that wait to be accepted.
const BACKLOG: i32 = 256;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, which only its owner can open.
    Unix(PathBuf),
    /// `HOST:PORT`, or a port of this machine alone.
    Tcp(String),
}

/// An address that a server cannot listen at: where, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {at}: {why}")]
pub struct ListenError {
    at: String,
    why: String,
}

/// A socket that clients can connect to. A Unix socket's file goes when this is dropped.
pub struct Listener {
    socket: Socket,
    at: String,
    closed: AtomicBool,
}

enum Socket {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener, SocketAddr),
}

impl Listener {
    /// Listens. A socket that a killed server left behind is taken over.
    ///
    /// # Errors
    /// If the address is no good, is another's, or cannot be had.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let (at, socket) = match address {
            Address::Unix(path) => (path.display().to_string(), unix(path)),
            Address::Tcp(text) => (text.clone(), tcp(text)),
        };
        match socket {
            Ok(socket) => Ok(Self { socket, at, closed: AtomicBool::new(false) }),
            Err(why) => Err(ListenError { at, why }),
        }
    }

    /// The address as clients take it, of the form `nbd+unix:///?socket=PATH` or `nbd://HOST:PORT`.
    pub fn uri(&self) -> String {
        match &self.socket {
            Socket::Unix(..) => format!("nbd+unix:///?socket={}", self.at),
            Socket::Tcp(_, address) => format!("nbd://{address}"),
        }
    }

    /// A line for the user where clients are not kept apart by the file system: TCP.
    pub fn warning(&self) -> Option<String> {
        let Socket::Tcp(_, address) = &self.socket else { return None };
        let who = if address.ip().is_loopback() { "on this machine" } else { "that can reach this address" };
        Some(format!("TCP has no encryption and asks for no password here: everyone {who} can read and write"))
    }

    pub(crate) fn accept(&self) -> io::Result<Peer> {
        Ok(match &self.socket {
            Socket::Unix(listener, _) => Peer::Unix(listener.accept()?.0),
            Socket::Tcp(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Peer::Tcp(stream)
            }
        })
    }

    /// Ends [`Listener::accept`] in every thread, now and later, and takes the socket's file away; that once only, for
    /// the next server may have its own there.
    pub(crate) fn close(&self) {
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Socket::Unix(_, path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
        let both = rustix::net::Shutdown::Both;
        let _ = match &self.socket {
            Socket::Unix(listener, _) => rustix::net::shutdown(listener, both),
            Socket::Tcp(listener, _) => rustix::net::shutdown(listener, both),
        };
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.uri())
    }
}

fn unix(path: &Path) -> Result<Socket, String> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err("there is something that is no socket; give another path".into());
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(|error| format!("the old socket cannot be removed: {error}"))?;
            }
            _ => return Err("another server listens there; stop it, or give another path".into()),
        }
    }
    let listen = || {
        let address = SocketAddrUnix::new(path)?;
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        // Before it has a name, so that nobody else can connect in between.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(UnixListener::from(socket))
    };
    let listener = listen().map_err(|error: rustix::io::Errno| match error {
        rustix::io::Errno::NAMETOOLONG => "the path is too long for a socket (107 bytes); give a shorter one".into(),
        error => io::Error::from(error).to_string(),
    })?;
    Ok(Socket::Unix(listener, path.to_path_buf()))
}

fn tcp(text: &str) -> Result<Socket, String> {
    let resolved: Vec<SocketAddr> = match text.parse::<u16>() {
        Ok(port) => vec![SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port)],
        Err(_) => text
            .to_socket_addrs()
            .map_err(|error| format!("{error}; expected HOST:PORT, or a PORT of this machine"))?
            .collect(),
    };
    let listener = TcpListener::bind(&resolved[..]).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(Socket::Tcp(listener, address))
}

/// A connection of either kind.
pub(crate) enum Peer {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Peer {
    /// Clones the connection's handle, so that another thread can shut it down.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
        })
    }

    pub(crate) fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) {
        // A connection that is gone already is what was wanted.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Peer {
    fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(data),
            Self::Tcp(stream) => stream.read(data),
        }
    }
}

impl Write for Peer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(data),
            Self::Tcp(stream) => stream.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
