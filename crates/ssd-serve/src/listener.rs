//! The socket at which clients connect, and those of clients.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A listening socket.
pub enum Listener {
    /// A Unix socket and its path, which is removed with it.
    Unix(UnixListener, PathBuf),
    /// A TCP socket.
    Tcp(TcpListener),
}

impl Listener {
    /// Listen on a Unix socket that only this user can reach. The socket of a killed server is replaced.
    ///
    /// # Errors
    /// The socket cannot be created, for example because another server uses it, or a file has its path.
    pub fn unix(path: &Path) -> io::Result<Listener> {
        let is_left_over = || {
            let refused = UnixStream::connect(path).map_err(|error| error.kind());
            matches!(refused, Err(ErrorKind::ConnectionRefused))
        };
        let is_socket = |file: std::fs::Metadata| file.file_type().is_socket();
        if std::fs::symlink_metadata(path).is_ok_and(is_socket) && is_left_over() {
            std::fs::remove_file(path)?;
        }
        // The mode of a socket is set when it is bound, so it is never open to others.
        let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(path);
        rustix::process::umask(mask);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        Ok(Listener::Unix(listener, path.to_owned()))
    }

    /// Listen on a TCP socket.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub fn tcp(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Listener::Tcp(listener))
    }

    /// The port of a TCP socket; `None` for a Unix socket.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Listener::Unix(..) => None,
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match self {
            Listener::Unix(listener, _) => {
                let socket = listener.accept()?.0;
                socket.set_nonblocking(true)?;
                Ok(Socket::Unix(socket))
            }
            Listener::Tcp(listener) => {
                let socket = listener.accept()?.0;
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // The socket may have been removed already.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener, _) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// The connected socket of a client.
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.read(bytes),
            Socket::Tcp(socket) => socket.read(bytes),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.write(bytes),
            Socket::Tcp(socket) => socket.write(bytes),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}
