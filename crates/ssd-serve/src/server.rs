//! The server: a thread that waits for the sockets of clients and for the next event of the drive.

use crate::connection::{Connection, Next, Ticket};
use crate::engine::{Engine, Numbers};
use crate::listener::{Listener, Socket};
use crate::nbd::handshake::Export;
use crate::pace::{Delays, Lateness, Pace, Pacing, Rate, scale_for};
use crate::state::StateError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use ssd_core::host::device::Device as _;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::time::Duration;

/// The largest number of connected clients.
const MOST_CLIENTS: usize = 256;

/// The number of ticks within which a client has to complete the handshake, so that idle connections do not use up
/// [`MOST_CLIENTS`]. A tick takes at least [`TICK`], and longer if the server is busy, for example with a fold.
const HANDSHAKE_TICKS: u32 = 200;

/// The shortest time between two folds on a full disk.
const FOLD_EVERY: Duration = Duration::from_secs(1);

/// The shortest time between two ticks, which do periodic work and call the attendant.
const TICK: Duration = Duration::from_millis(50);

/// A client, and the times from which the waiting time of its requests is computed.
struct Client {
    socket: Socket,
    connection: Connection,
    /// Ticks without a complete handshake.
    handshake_ticks: u32,
    /// The last wall time at which there was nothing to read.
    idle_at: Duration,
    /// The earliest wall time at which the bytes that were read last can have arrived.
    came: Duration,
}

/// An outstanding request.
struct Pending {
    client: u64,
    ticket: Ticket,
    /// How long it waited to be read, ns of wall time.
    waited: u64,
    /// One past the number of its last request to the machine.
    end: u64,
    /// The number of its requests to the machine that have not completed.
    left: u64,
}

/// The statistics of a server.
#[derive(Clone, Default)]
pub struct ServerStats {
    /// Clients that have connected.
    pub clients: u64,
    /// Clients that were disconnected because they violated the protocol or did not complete the handshake, and the
    /// reason for the last one.
    pub refused: (u64, Option<String>),
    /// Replies to requests that the drive has completed.
    pub replies: u64,
    /// Their lateness since the scale last changed.
    pub lateness: Lateness,
    /// The scale at present.
    pub scale: f64,
    /// Periods for which the clock stopped.
    pub stops: Delays,
    /// Periods in which the server was behind and the clock continued.
    pub lags: Delays,
    /// The longest pause for a fold of the log, ns of wall time.
    pub longest_fold: u64,
    /// Recent rate of replies, per second of wall time.
    pub rate: Rate,
    /// Wall time since the server started.
    pub time: Duration,
}

/// The callbacks of a server.
pub trait Attendant {
    /// Called regularly with the drive and the statistics. Returns whether to continue.
    fn tick(&mut self, engine: &Engine, served: &ServerStats) -> ControlFlow<()>;

    /// The length of the log, in bytes, above which it is folded.
    fn most_log(&self) -> u64 {
        u64::MAX
    }

    /// Fold the log. The drive has no outstanding request.
    ///
    /// # Errors
    /// The drive cannot continue.
    fn fold(&mut self, engine: &mut Engine) -> Result<(), StateError> {
        let _ = engine;
        Ok(())
    }
}

/// A server.
pub struct Server {
    listener: Listener,
    export: Export,
    engine: Engine,
    pace: Pace,
    /// How long the clock stopped before the next replies, ns of wall time.
    hold_ns: u64,
    /// The length of the log, in bytes, above which it is folded.
    fold_at: u64,
    /// The earliest wall time of a fold because of a full disk.
    fold_from: Duration,
    clients: BTreeMap<u64, Client>,
    /// Outstanding requests, by the number of their first request to the machine.
    pending: BTreeMap<u64, Pending>,
    served: ServerStats,
    /// For the replies that are about to be sent: the completion times, and how long the requests waited to be read.
    completed: Vec<(u64, u64)>,
    buffer: Vec<u8>,
}

impl Server {
    /// A server of `engine`. Its clock starts now.
    #[must_use]
    pub fn new(listener: Listener, export: Export, engine: Engine, pacing: Pacing) -> Server {
        Server {
            listener,
            export,
            engine,
            pace: Pace::start(pacing),
            hold_ns: 0,
            fold_at: u64::MAX,
            fold_from: Duration::MAX,
            clients: BTreeMap::new(),
            pending: BTreeMap::new(),
            served: ServerStats::default(),
            completed: Vec::new(),
            buffer: vec![0; 256 << 10],
        }
    }

    /// Serve until `attendant` breaks. Requests may be outstanding then. Returns the drive and the statistics.
    ///
    /// # Errors
    /// The files of the drive cannot be written, or polling fails.
    pub fn run(
        mut self,
        attendant: &mut dyn Attendant,
    ) -> Result<(Engine, ServerStats), StateError> {
        // The first tick precedes the first request, so that even a server that is killed early has left a summary.
        let mut last_tick: Option<Duration> = None;
        self.fold_at = attendant.most_log();
        if self.fold_at < u64::MAX {
            self.fold_from = Duration::ZERO;
        }
        loop {
            self.hold_ns = self.pace.hold(self.engine.next_event());
            self.engine.run(self.pace.now());
            self.pace.catch_up(self.engine.next_event());
            self.answer().map_err(system_error)?;
            let is_full = self.engine.log_bytes() > self.fold_at
                || (self.engine.is_log_short() && self.pace.elapsed() >= self.fold_from);
            if is_full && self.pending.is_empty() {
                self.fold(attendant)?;
            }
            // A fold waits until the outstanding requests have completed, so no more are taken.
            let waits = !is_full && self.take_requests();
            self.send();
            let sleep_time = |at| self.pace.sleep_time(self.pace.until(at));
            let next = self.engine.next_event().map(sleep_time);
            // The failure may be due to requests that were just taken. They are answered at once.
            let fails = self.engine.failure().is_some() && !self.pending.is_empty();
            let waits = waits || fails || self.engine.has_completions();
            let wait = if waits { Duration::ZERO } else { next.unwrap_or(TICK) };
            self.wait(wait.min(TICK)).map_err(system_error)?;
            let now = self.pace.elapsed();
            if last_tick.is_none_or(|last| now.saturating_sub(last) >= TICK) {
                (last_tick, self.served.time) = (Some(now), now);
                self.disconnect_silent();
                self.engine.release_space();
                self.served.rate.sample(now, self.served.replies);
                self.rescale();
                self.served.scale = self.pace.scale();
                (self.served.stops, self.served.lags) = (self.pace.stops(), self.pace.lags());
                if attendant.tick(&self.engine, &self.served).is_break() {
                    return Ok((self.engine, self.served));
                }
            }
        }
    }

    /// Disconnect the clients whose handshake takes too long.
    fn disconnect_silent(&mut self) {
        let before = self.clients.len();
        self.clients.retain(|_, Client { connection, handshake_ticks, .. }| {
            *handshake_ticks += 1;
            connection.has_chosen() || *handshake_ticks <= HANDSHAKE_TICKS
        });
        let silent = before - self.clients.len();
        if silent > 0 {
            self.served.refused.0 += silent as u64;
            let limit = (HANDSHAKE_TICKS * TICK).as_secs();
            self.served.refused.1 = Some(format!("the handshake took more than {limit} s"));
        }
    }

    /// Raise an automatic scale if replies are too late.
    fn rescale(&mut self) {
        let p99 = self.served.lateness.p99_of_enough().filter(|_| self.pace.is_auto());
        if let Some(scale) = p99.and_then(|p99| scale_for(p99, self.pace.scale())) {
            self.pace.rescale(scale);
            self.served.lateness = Lateness::default();
        }
    }

    /// Fold the log, while the clock stops.
    fn fold(&mut self, attendant: &mut dyn Attendant) -> Result<(), StateError> {
        if self.engine.failure().is_some() {
            (self.fold_at, self.fold_from) = (u64::MAX, Duration::MAX);
            return Ok(());
        }
        let began = self.pace.elapsed();
        attendant.fold(&mut self.engine)?;
        self.pace.set(self.engine.ssd().now().0);
        // If the disk had no space for the fold, the old log continues.
        self.fold_at = self.engine.log_bytes().saturating_add(attendant.most_log());
        let now = self.pace.elapsed();
        let took = now - began;
        // If the disk has no space for the new log either, clients are served for ten times as long as a fold takes.
        let pause = (10 * took).max(FOLD_EVERY);
        self.fold_from = if self.engine.is_log_short() { now + pause } else { now };
        self.served.longest_fold = self.served.longest_fold.max(took.as_nanos() as u64);
        Ok(())
    }

    /// Answer the requests that have completed.
    fn answer(&mut self) -> io::Result<()> {
        for completion in self.engine.completions()? {
            let id = completion.id.0;
            let Some((&first, pending)) = self.pending.range_mut(..=id).next_back() else {
                continue;
            };
            if id >= pending.end {
                // It belongs to a request that was then refused and has been answered.
                continue;
            }
            pending.left -= 1;
            if pending.left > 0 {
                continue;
            }
            let pending = self.pending.remove(&first).expect("it is pending");
            self.completed.push((completion.at.0, pending.waited));
            if let Some(Client { connection, .. }) = self.clients.get_mut(&pending.client) {
                connection.complete(pending.ticket, &self.engine, None);
            }
        }
        if let Some(failure) = self.engine.failure().cloned() {
            for (_, pending) in std::mem::take(&mut self.pending) {
                if let Some(Client { connection, .. }) = self.clients.get_mut(&pending.client) {
                    connection.complete(pending.ticket, &self.engine, Some(&failure));
                }
            }
        }
        Ok(())
    }

    /// Submit at most one received request of each client. Returns whether any was submitted, so that more may be left.
    fn take_requests(&mut self) -> bool {
        let (mut gone, mut left) = (Vec::new(), false);
        for (&client, Client { connection, came, .. }) in &mut self.clients {
            match connection.next(&self.export, &mut self.engine, self.pace.now()) {
                Ok(Next::None) => {}
                Ok(Next::Answered) => left = true,
                Ok(Next::Submitted(Numbers { first, count }, ticket)) => {
                    let waited = (self.pace.elapsed() - *came).as_nanos() as u64;
                    let end = first + count;
                    let pending = Pending { client, ticket, waited, end, left: count };
                    self.pending.insert(first, pending);
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

    /// Send pending output, as far as the sockets accept it.
    fn send(&mut self) {
        self.clients.retain(|_, Client { socket, connection, .. }| {
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
        for (at, waited) in self.completed.drain(..) {
            self.served.replies += 1;
            self.served.lateness.record(waited + self.pace.late(at) + self.hold_ns);
        }
    }

    /// Wait until a socket is ready, at most for `time`. Then read from the clients that have sent something.
    fn wait(&mut self, time: Duration) -> io::Result<()> {
        let mut ready = self.poll(Duration::ZERO)?;
        let waits = !time.is_zero() && !ready.contains(&true);
        if waits {
            ready = self.poll(time)?;
        }
        let now = self.pace.elapsed();
        let mut gone = Vec::new();
        for ((&number, client), &ready) in self.clients.iter_mut().zip(&ready[1..]) {
            // Bytes that arrive during the wait are read at once.
            if (waits || !ready) && client.connection.wants_input() {
                client.idle_at = now;
            }
            if ready && !client.read(&mut self.buffer, now) {
                gone.push(number);
            }
        }
        gone.iter().for_each(|client| drop(self.clients.remove(client)));
        if ready[0] {
            // Accepting fails if the client has already disconnected, which then does not count.
            if let Ok(socket) = self.listener.accept() {
                let connection = Connection::default();
                let client =
                    Client { socket, connection, handshake_ticks: 0, idle_at: now, came: now };
                self.clients.insert(self.served.clients, client);
                self.served.clients += 1;
            }
        }
        Ok(())
    }

    /// Wait until a socket is ready, at most for `time`. Returns whether the listener is ready, and then each client.
    fn poll(&self, time: Duration) -> io::Result<Vec<bool>> {
        let time = Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let listener_events =
            if self.clients.len() < MOST_CLIENTS { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&self.listener, listener_events)];
        for Client { socket, connection, .. } in self.clients.values() {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, connection.wants_input());
            events.set(PollFlags::OUT, !connection.output().is_empty());
            fds.push(PollFd::new(socket, events));
        }
        fds.extend(
            self.engine.wake_fd().map(|wake_fd| PollFd::from_borrowed_fd(wake_fd, PollFlags::IN)),
        );
        // The disk may have reached the position before `wake_fd` was called.
        let time = if self.engine.has_completions() { Timespec::default() } else { time };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.drain(1 + self.clients.len()..).any(|is_ready| is_ready) {
            self.engine.clear_wake();
        }
        Ok(ready)
    }
}

impl Client {
    /// Read what the client has sent, at wall time `now`. Returns whether it is still connected.
    fn read(&mut self, buffer: &mut [u8], now: Duration) -> bool {
        if !self.connection.wants_input() {
            // It is ready for output, or has disconnected, which the next write detects.
            return true;
        }
        match self.socket.read(buffer) {
            Ok(0) => false,
            Ok(bytes) => {
                self.connection.receive(&buffer[..bytes]);
                (self.came, self.idle_at) = (self.idle_at, now);
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

/// The error of a server that cannot continue.
fn system_error(error: io::Error) -> StateError {
    let message = "the server stops, which is a power cut for the drive";
    StateError::Failed(format!("{message}: {error}"))
}
