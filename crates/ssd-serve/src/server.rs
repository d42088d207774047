//! The server: one thread that waits for sockets and for the next event of the drive.

use crate::connection::{Connection, Ticket};
use crate::engine::{Engine, Numbers};
use crate::nbd::handshake::Export;
use crate::pace::{Lateness, Pace};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most clients at a time.
const MOST_CLIENTS: usize = 256;

/// The longest time without a look at the caller.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where clients come.
pub enum Listener {
    /// A Unix socket and its path, which goes with it.
    Unix(UnixListener, PathBuf),
    /// A TCP socket.
    Tcp(TcpListener),
}

impl Listener {
    /// A Unix socket that only this user reaches. One that a killed server has left is replaced.
    ///
    /// # Errors
    /// It cannot be made: another server has it, for one, or it is a file.
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

    /// A TCP socket.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn tcp(address: SocketAddr) -> io::Result<Listener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Listener::Tcp(listener))
    }

    /// The port of a TCP socket.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Listener::Unix(..) => None,
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
        }
    }

    fn accept(&self) -> io::Result<Socket> {
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
            // Nothing more can be done about a socket that somebody has removed.
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

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.read(bytes),
            Socket::Tcp(socket) => socket.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
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

/// A request that is under way.
struct Pending {
    client: u64,
    ticket: Ticket,
    /// Behind the last request of the machine that belongs to it.
    end: u64,
    /// Requests of the machine that are left.
    left: u64,
}

/// What the server has done.
#[derive(Clone, Default)]
pub struct Served {
    /// Clients that have come.
    pub clients: u64,
    /// Clients that could not be understood; the reason of the last one.
    pub refused: (u64, Option<String>),
    /// How late replies were.
    pub lateness: Lateness,
}

/// A server.
pub struct Server {
    listener: Listener,
    export: Export,
    engine: Engine,
    pace: Pace,
    clients: BTreeMap<u64, (Socket, Connection)>,
    /// By the number of the first request of the machine.
    pending: BTreeMap<u64, Pending>,
    served: Served,
    /// When the requests completed whose replies are about to be sent.
    completed: Vec<u64>,
    buffer: Vec<u8>,
}

impl Server {
    /// A server of `engine`, which starts now; wall time passes `scale` times as fast as that of the drive.
    #[must_use]
    pub fn new(listener: Listener, export: Export, engine: Engine, scale: f64) -> Server {
        Server {
            listener,
            export,
            engine,
            pace: Pace::start(scale),
            clients: BTreeMap::new(),
            pending: BTreeMap::new(),
            served: Served::default(),
            completed: Vec::new(),
            buffer: vec![0; 256 << 10],
        }
    }

    /// Serve until `look`, which is called regularly with the number of clients that have come, says to stop. What is
    /// under way then is left to the drive. Returns the drive and what has been done.
    ///
    /// # Errors
    /// The log of the drive cannot be written, or the system fails.
    pub fn run(
        mut self,
        look: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> io::Result<(Engine, Served)> {
        let mut looked = Duration::ZERO;
        loop {
            self.engine.run(self.pace.now());
            self.answer()?;
            let waits = self.take_requests();
            self.send();
            let next = self.engine.next_event().map(|at| self.pace.until(at));
            // What has just arrived let the drive run on until then.
            let fails = self.engine.failure().is_some() && !self.pending.is_empty();
            let waits = waits || fails || self.engine.has_completions();
            let wait = if waits { Duration::ZERO } else { next.unwrap_or(LOOK_EVERY) };
            self.wait(wait.min(LOOK_EVERY))?;
            let now = Duration::from_nanos(self.pace.late(0));
            if now.saturating_sub(looked) >= LOOK_EVERY {
                looked = now;
                if look(self.served.clients).is_break() {
                    return Ok((self.engine, self.served));
                }
            }
        }
    }

    /// Answer the requests that have completed.
    fn answer(&mut self) -> io::Result<()> {
        let completions: Vec<_> = self.engine.completions()?.collect();
        for completion in completions {
            let id = completion.id.0;
            let Some((&first, pending)) = self.pending.range_mut(..=id).next_back() else {
                continue;
            };
            if id >= pending.end {
                // A part of what was refused then: nobody waits for it.
                continue;
            }
            pending.left -= 1;
            if pending.left > 0 {
                continue;
            }
            let pending = self.pending.remove(&first).expect("seen");
            self.completed.push(completion.at.0);
            if let Some((_, connection)) = self.clients.get_mut(&pending.client) {
                connection.complete(pending.ticket, &self.engine, None);
            }
        }
        if let Some(why) = self.engine.failure().map(str::to_owned) {
            for (_, pending) in std::mem::take(&mut self.pending) {
                if let Some((_, connection)) = self.clients.get_mut(&pending.client) {
                    connection.complete(pending.ticket, &self.engine, Some(&why));
                }
            }
        }
        Ok(())
    }

    /// Give the requests that have come to the drive, one of each client in turn. Returns whether some are left.
    fn take_requests(&mut self) -> bool {
        let (mut gone, mut left) = (Vec::new(), false);
        for (&client, (_, connection)) in &mut self.clients {
            match connection.next(&self.export, &mut self.engine, self.pace.now()) {
                Ok(None) => {}
                Ok(Some((Numbers { first, count }, ticket))) => {
                    self.pending
                        .insert(first, Pending { client, ticket, end: first + count, left: count });
                    left = true;
                }
                Err(error) => {
                    self.served.refused.0 += 1;
                    self.served.refused.1 = Some(error.to_string());
                    gone.push(client);
                }
            }
        }
        gone.iter().for_each(|client| drop(self.clients.remove(client)));
        left
    }

    /// Send what waits to be sent, as far as the clients take it.
    fn send(&mut self) {
        self.clients.retain(|_, (socket, connection)| {
            while !connection.output().is_empty() {
                match socket.write(connection.output()) {
                    Ok(0) => return false,
                    Ok(sent) => connection.sent(sent),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
            !connection.is_over()
        });
        for at in self.completed.drain(..) {
            self.served.lateness.record(self.pace.late(at));
        }
    }

    /// Wait until a socket is ready, at most for `time`; then read from those that have something.
    fn wait(&mut self, time: Duration) -> io::Result<()> {
        let time = Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let ready: Vec<bool> = {
            let welcome =
                if self.clients.len() < MOST_CLIENTS { PollFlags::IN } else { PollFlags::empty() };
            let mut all = vec![PollFd::new(&self.listener, welcome)];
            for (socket, connection) in self.clients.values() {
                let mut events = PollFlags::empty();
                events.set(PollFlags::IN, connection.wants_input());
                events.set(PollFlags::OUT, !connection.output().is_empty());
                all.push(PollFd::new(socket, events));
            }
            match poll(&mut all, Some(&time)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            all.iter().map(|fd| !fd.revents().is_empty()).collect()
        };
        let mut gone = Vec::new();
        for ((&client, (socket, connection)), &ready) in self.clients.iter_mut().zip(&ready[1..]) {
            if ready && !read(socket, connection, &mut self.buffer) {
                gone.push(client);
            }
        }
        gone.iter().for_each(|client| drop(self.clients.remove(client)));
        if ready[0] {
            // A client that has gone again before it was let in is none.
            if let Ok(socket) = self.listener.accept() {
                self.clients.insert(self.served.clients, (socket, Connection::default()));
                self.served.clients += 1;
            }
        }
        Ok(())
    }
}

/// Read what a client has sent; whether it is still there.
fn read(socket: &mut Socket, connection: &mut Connection, buffer: &mut [u8]) -> bool {
    if !connection.wants_input() {
        // It is ready for the rest of its answers, or has gone, which sending to it tells.
        return true;
    }
    match socket.read(buffer) {
        Ok(0) => false,
        Ok(bytes) => {
            connection.receive(&buffer[..bytes]);
            true
        }
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}
