//! The server: one thread that waits for sockets and for the next event of the drive.

use crate::connection::{Connection, Ticket};
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

/// Most clients at a time.
const MOST_CLIENTS: usize = 256;

/// Looks of the server, of at least [`LOOK_EVERY`] each, in which a handshake has to be completed. It keeps places for
/// those who use the drive. Time in which the server does nothing else, such as that of a fold, does not count.
const HANDSHAKE_LOOKS: u32 = 200;

/// The shortest time between folds of a log for which the disk has no more space.
const FOLD_EVERY: Duration = Duration::from_secs(1);

/// The longest time without asking the caller.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A client, and since when what it has sent may have waited.
struct Client {
    socket: Socket,
    connection: Connection,
    /// Looks of the server in which it has not completed the handshake.
    handshake_looks: u32,
    /// Wall time at which there was nothing to read from it.
    idle_at: Duration,
    /// The earliest wall time at which what was read last can have arrived.
    came: Duration,
}

/// A request that is under way.
struct Pending {
    client: u64,
    ticket: Ticket,
    /// How long it waited to be read, ns of wall time.
    waited: u64,
    /// One past the last request of the machine that belongs to it.
    end: u64,
    /// Requests of the machine that have not completed.
    left: u64,
}

/// What the server has done.
#[derive(Clone, Default)]
pub struct ServerStats {
    /// Clients that have come.
    pub clients: u64,
    /// Clients that could not be understood or did not complete the handshake; the reason for the last one.
    pub refused: (u64, Option<String>),
    /// Replies to requests that the drive has completed.
    pub replies: u64,
    /// How late they and their requests were, since the scale last changed.
    pub lateness: Lateness,
    /// The scale at present.
    pub scale: f64,
    /// When the clock stopped.
    pub stops: Delays,
    /// When the server was behind although the clock continued.
    pub lags: Delays,
    /// The longest pause for a fold of the log, ns of wall time.
    pub longest_fold: u64,
    /// Recent rate of replies, per second of wall time.
    pub rate: Rate,
    /// Time for which it has served.
    pub time: Duration,
}

/// What the server asks while it serves.
pub trait Attendant {
    /// Called regularly with the drive and with what has been done. Returns whether to continue.
    fn look(&mut self, engine: &Engine, served: &ServerStats) -> ControlFlow<()>;

    /// Bytes of the log beyond which it is folded.
    fn most_log(&self) -> u64 {
        u64::MAX
    }

    /// Bring the drive, which has nothing under way, to rest, and begin another log.
    ///
    /// # Errors
    /// The drive cannot go on.
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
    /// How long the clock stopped before the replies that are about to be sent.
    hold_ns: u64,
    /// The size of the log beyond which it is folded.
    fold_at: u64,
    /// The wall time from which it is folded if the disk has no space for more of it.
    fold_from: Duration,
    clients: BTreeMap<u64, Client>,
    /// By the number of the first request of the machine.
    pending: BTreeMap<u64, Pending>,
    served: ServerStats,
    /// When the requests completed whose replies are about to be sent, and how long they had waited to be read.
    completed: Vec<(u64, u64)>,
    buffer: Vec<u8>,
}

impl Server {
    /// A server of `engine`, which starts now.
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

    /// Serve until `attendant` says to stop. What is under way then is left to the drive. Returns the drive and what
    /// has been done.
    ///
    /// # Errors
    /// The log of the drive cannot be written, or the system fails.
    pub fn run(
        mut self,
        attendant: &mut dyn Attendant,
    ) -> Result<(Engine, ServerStats), StateError> {
        // The first look precedes the first request, so that even a server that dies soon has left its summary.
        let mut last_look: Option<Duration> = None;
        self.fold_at = attendant.most_log();
        if self.fold_at < u64::MAX {
            self.fold_from = Duration::ZERO;
        }
        loop {
            self.hold_ns = self.pace.hold(self.engine.next_event());
            self.engine.run(self.pace.now());
            self.pace.catch_up(self.engine.next_event());
            self.answer().map_err(ended)?;
            let is_full = self.engine.log_bytes() > self.fold_at
                || (self.engine.is_log_short() && self.pace.elapsed() >= self.fold_from);
            if is_full && self.pending.is_empty() {
                self.fold(attendant)?;
            }
            // Before the log is folded, what is under way is completed.
            let waits = !is_full && self.take_requests();
            self.send();
            let sleep_time = |at| self.pace.sleep_time(self.pace.until(at));
            let next = self.engine.next_event().map(sleep_time);
            // Requests that have just arrived let the drive run on until then.
            let fails = self.engine.failure().is_some() && !self.pending.is_empty();
            let waits = waits || fails || self.engine.has_completions();
            let wait = if waits { Duration::ZERO } else { next.unwrap_or(LOOK_EVERY) };
            self.wait(wait.min(LOOK_EVERY)).map_err(ended)?;
            let now = self.pace.elapsed();
            if last_look.is_none_or(|last| now.saturating_sub(last) >= LOOK_EVERY) {
                (last_look, self.served.time) = (Some(now), now);
                self.dismiss_silent();
                self.served.rate.look(now, self.served.replies);
                self.rescale();
                self.served.scale = self.pace.scale();
                (self.served.stops, self.served.lags) = (self.pace.stops(), self.pace.lags());
                if attendant.look(&self.engine, &self.served).is_break() {
                    return Ok((self.engine, self.served));
                }
            }
        }
    }

    /// Disconnect the clients whose handshake takes too long.
    fn dismiss_silent(&mut self) {
        let before = self.clients.len();
        self.clients.retain(|_, Client { connection, handshake_looks, .. }| {
            *handshake_looks += 1;
            connection.has_chosen() || *handshake_looks <= HANDSHAKE_LOOKS
        });
        let silent = before - self.clients.len();
        if silent > 0 {
            self.served.refused.0 += silent as u64;
            let limit = (HANDSHAKE_LOOKS * LOOK_EVERY).as_secs();
            self.served.refused.1 = Some(format!("the handshake took more than {limit} s"));
        }
    }

    /// Slow the drive down if replies are too late.
    fn rescale(&mut self) {
        let p99 = self.served.lateness.p99_of_enough().filter(|_| self.pace.is_auto());
        if let Some(scale) = p99.and_then(|p99| scale_for(p99, self.pace.scale())) {
            self.pace.rescale(scale);
            self.served.lateness = Lateness::default();
        }
    }

    /// Fold the log. Meanwhile the clock stops.
    fn fold(&mut self, attendant: &mut dyn Attendant) -> Result<(), StateError> {
        if self.engine.failure().is_some() {
            (self.fold_at, self.fold_from) = (u64::MAX, Duration::MAX);
            return Ok(());
        }
        let began = self.pace.elapsed();
        attendant.fold(&mut self.engine)?;
        self.pace.set(self.engine.ssd().now().0);
        // If the disk had no space for it, the old log continues for a while.
        self.fold_at = self.engine.log_bytes().saturating_add(attendant.most_log());
        let now = self.pace.elapsed();
        let took = now - began;
        // If the disk has no space for the next log either, clients get ten times as long as folds take.
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
                // A part of what was refused then: nobody waits for it.
                continue;
            }
            pending.left -= 1;
            if pending.left > 0 {
                continue;
            }
            let pending = self.pending.remove(&first).expect("seen");
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

    /// Give the received requests to the drive, one of each client in turn. Returns whether some are left.
    fn take_requests(&mut self) -> bool {
        let (mut gone, mut left) = (Vec::new(), false);
        for (&client, Client { connection, came, .. }) in &mut self.clients {
            match connection.next(&self.export, &mut self.engine, self.pace.now()) {
                Ok(None) => {}
                Ok(Some((Numbers { first, count }, ticket))) => {
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

    /// Send pending output, as far as the clients take it.
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

    /// Wait until a socket is ready, at most for `time`; then read from those that have something.
    fn wait(&mut self, time: Duration) -> io::Result<()> {
        let mut ready = self.poll(Duration::ZERO)?;
        let waits = !time.is_zero() && !ready.contains(&true);
        if waits {
            ready = self.poll(time)?;
        }
        let now = self.pace.elapsed();
        let mut gone = Vec::new();
        for ((&number, client), &ready) in self.clients.iter_mut().zip(&ready[1..]) {
            // What arrives during the wait is read at once.
            if (waits || !ready) && client.connection.wants_input() {
                client.idle_at = now;
            }
            if ready && !client.read(&mut self.buffer, now) {
                gone.push(number);
            }
        }
        gone.iter().for_each(|client| drop(self.clients.remove(client)));
        if ready[0] {
            // A client that leaves before it is accepted does not count.
            if let Ok(socket) = self.listener.accept() {
                let connection = Connection::default();
                let client =
                    Client { socket, connection, handshake_looks: 0, idle_at: now, came: now };
                self.clients.insert(self.served.clients, client);
                self.served.clients += 1;
            }
        }
        Ok(())
    }

    /// Wait until a socket is ready, at most for `time`. Returns whether the listener is, and each client.
    fn poll(&self, time: Duration) -> io::Result<Vec<bool>> {
        let time = Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let welcome =
            if self.clients.len() < MOST_CLIENTS { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&self.listener, welcome)];
        for Client { socket, connection, .. } in self.clients.values() {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, connection.wants_input());
            events.set(PollFlags::OUT, !connection.output().is_empty());
            fds.push(PollFd::new(socket, events));
        }
        fds.extend(self.engine.bell().map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN)));
        // The disk may have got there before it was asked to ring.
        let time = if self.engine.has_completions() { Timespec::default() } else { time };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.drain(1 + self.clients.len()..).any(|rings| rings) {
            self.engine.silence();
        }
        Ok(ready)
    }
}

impl Client {
    /// Read what the client has sent, at wall time `now`. Returns whether it is still connected.
    fn read(&mut self, buffer: &mut [u8], now: Duration) -> bool {
        if !self.connection.wants_input() {
            // It is ready for the rest of its answers, or has gone, which sending to it will show.
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

/// The server cannot go on.
fn ended(error: io::Error) -> StateError {
    let message = "the server stops, and the drive is as after a power cut";
    StateError::Failed(format!("{message}: {error}"))
}
