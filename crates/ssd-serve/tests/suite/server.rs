//! The server with clients on real sockets.

use crate::rig::{Temporary, config, export, fold, open, with_state};
use ssd_run::Unattended;
use ssd_serve::engine::{Engine, Refusal};
use ssd_serve::listener::Listener;
use ssd_serve::log::Log;
use ssd_serve::pace::Pacing;
use ssd_serve::server::{Attendant, Server, ServerStats};
use ssd_serve::state::{Folder, StateError, new_drive, without_state};
use ssd_trace::config::RunConfig;
use std::io::{ErrorKind, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stops the server when it is dropped, so that a failing test ends.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct StoppableAttendant<'a> {
    stop: &'a AtomicBool,
    /// The server does nothing.
    idles: &'a AtomicBool,
}

impl Attendant for StoppableAttendant<'_> {
    fn tick(&mut self, _: &Engine, _: &ServerStats) -> ControlFlow<()> {
        if self.idles.load(Ordering::Relaxed) {
            idle(IDLE);
            self.idles.store(false, Ordering::Relaxed);
        }
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// For so long.
const IDLE: Duration = Duration::from_millis(200);

#[expect(clippy::disallowed_methods, reason = "a served drive runs on wall time")]
fn idle(time: Duration) {
    std::thread::sleep(time);
}

/// What the server of a small drive has done while `act` used its socket.
fn with_server(act: impl FnOnce(&Path) + Send) -> (Engine, ServerStats) {
    with_idle_server(|path, _| act(path))
}

/// As [`with_server`]; when `act` sets the flag, the server idles for a while and clears it.
fn with_idle_server(act: impl FnOnce(&Path, &AtomicBool) + Send) -> (Engine, ServerStats) {
    let (folder, config) = (Temporary::new(), config(&[]));
    let path = folder.0.join("socket");
    let snapshot = new_drive(&config, &mut Unattended).expect("a new drive");
    let engine = without_state(&config, &snapshot, &folder.0).expect("a drive");
    let export = export(engine.bytes());
    let listener = Listener::unix(&path).expect("a socket");
    let (stop, idles) = (AtomicBool::new(false), AtomicBool::new(false));
    let server = Server::new(listener, export, engine, Pacing::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = StopOnDrop(&stop);
            act(&path, &idles);
        });
        let served = server.run(&mut StoppableAttendant { stop: &stop, idles: &idles });
        served.expect("the system works")
    })
}

/// A client after the handshake, with simple replies.
pub(crate) fn client(path: &Path) -> UnixStream {
    let mut socket = UnixStream::connect(path).expect("a server");
    let mut greeting = [0; 18];
    socket.read_exact(&mut greeting).expect("a greeting");
    socket.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\x04tiny").expect("it listens");
    let mut export = [0; 10];
    socket.read_exact(&mut export).expect("an export");
    socket
}

pub(crate) fn request(command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0x25, 0x60, 0x95, 0x13, 0, 0];
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// The cookie of the next reply, which must not be an error, and its data.
pub(crate) fn reply(socket: &mut UnixStream, length: usize) -> (u64, Vec<u8>) {
    let mut head = [0; 16];
    socket.read_exact(&mut head).expect("a reply");
    assert_eq!(head[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
    let mut data = vec![0; length];
    socket.read_exact(&mut data).expect("its data");
    (u64::from_be_bytes(head[8..].try_into().expect("8 bytes")), data)
}

#[test]
fn a_client_without_a_handshake_is_disconnected_and_others_stay() {
    let (_, served) = with_server(|path| {
        // Silent for as long, but after its handshake.
        let mut user = client(path);
        let mut silent = UnixStream::connect(path).expect("a server");
        let mut greeting = Vec::new();
        // Returns when the server hangs up.
        silent.read_to_end(&mut greeting).expect("the end");
        assert_eq!(greeting.len(), 18);
        user.write_all(&request(0, 7, 0, 4096)).expect("it listens");
        assert_eq!(reply(&mut user, 4096).0, 7);
    });
    assert_eq!(served.refused, (1, Some("the handshake took more than 10 s".into())));
}

#[test]
fn many_requests_at_a_time_are_each_answered_once() {
    let (_, served) = with_server(|path| {
        let mut clients = [client(path), client(path)];
        for round in 0..40u64 {
            for (number, socket) in (0u64..).zip(&mut clients) {
                let mut all = Vec::new();
                for i in 0..16 {
                    let cookie = round * 100 + i;
                    all.extend(request(1, cookie, (number * 16 + i) * 5000, 5000));
                    all.extend(vec![(cookie + number) as u8; 5000]);
                }
                socket.write_all(&all).expect("it listens");
            }
            for socket in &mut clients {
                let mut cookies: Vec<u64> = (0..16).map(|_| reply(socket, 0).0).collect();
                cookies.sort_unstable();
                assert!(cookies.into_iter().eq(round * 100..round * 100 + 16));
            }
            for (number, socket) in (0u64..).zip(&mut clients) {
                let i = round % 16;
                let sent = request(0, 7, (number * 16 + i) * 5000, 5000);
                socket.write_all(&sent).expect("it listens");
                let data = vec![(round * 100 + i + number) as u8; 5000];
                assert!(reply(socket, 5000) == (7, data), "client {number} reads other data");
            }
        }
    });
    assert_eq!((served.clients, served.refused.0), (2, 0));
    assert_eq!(served.lateness.percentiles().0, 40 * 34);
}

#[test]
fn a_client_that_never_reads_its_replies_holds_up_nobody() {
    with_server(|path| {
        let mut silent = client(path);
        silent.set_nonblocking(true).expect("a socket");
        let all = request(0, 1, 0, 1 << 20).repeat(100);
        let blocked = loop {
            if let Err(error) = silent.write_all(&all) {
                break error.kind();
            }
        };
        assert_eq!(blocked, ErrorKind::WouldBlock, "everything was read");
        let mut other = client(path);
        for cookie in 0..20 {
            other.write_all(&request(3, cookie, 0, 0)).expect("it listens");
            assert_eq!(reply(&mut other, 0).0, cookie);
        }
    });
}

#[test]
fn a_client_may_leave_at_any_moment() {
    let mut write = request(1, 9, 0, 8192);
    write.extend([5; 8192]);
    let (engine, served) = with_server(|path| {
        for bytes in (0..write.len()).step_by(613) {
            let mut socket = client(path);
            socket.write_all(&write[..bytes]).expect("it listens");
        }
        let mut last = client(path);
        last.write_all(&request(0, 1, 0, 8192)).expect("it listens");
        assert!(reply(&mut last, 8192).1 == [0; 8192], "half a write was made");
        last.write_all(&write).expect("it listens");
        last.write_all(&request(2, 0, 0, 0)).expect("it listens");
        assert_eq!(reply(&mut last, 0).0, 9, "what was under way is answered");
        assert_eq!(last.read(&mut [0]).expect("the end"), 0);
    });
    assert_eq!(served.refused.0, 0);
    let mut data = [0; 8192];
    engine.data(0, &mut data).expect("the disk works");
    assert!(data == [5; 8192]);
}

#[test]
fn what_waits_for_the_server_to_read_it_is_late() {
    let (_, served) = with_idle_server(|path, idles| {
        let mut socket = client(path);
        socket.write_all(&request(3, 1, 0, 0)).expect("it listens");
        reply(&mut socket, 0);
        idles.store(true, Ordering::Relaxed);
        // The server has looked by then, and idles.
        idle(IDLE / 2);
        socket.write_all(&request(3, 2, 0, 0)).expect("it listens");
        reply(&mut socket, 0);
        assert!(!idles.load(Ordering::Relaxed), "it has not idled");
    });
    let (replies, [_, _, _, max]) = served.lateness.percentiles();
    assert_eq!(replies, 2);
    assert!(max.is_some_and(|max| u128::from(max) > IDLE.as_nanos() / 8), "late by {max:?} ns");
}

/// A server that folds its log.
struct FoldingAttendant<'a> {
    until: StoppableAttendant<'a>,
    state: Folder,
    config: RunConfig,
    folds: u64,
}

impl Attendant for FoldingAttendant<'_> {
    fn tick(&mut self, engine: &Engine, served: &ServerStats) -> ControlFlow<()> {
        self.until.tick(engine, served)
    }

    fn most_log(&self) -> u64 {
        1 << 30
    }

    fn fold(&mut self, engine: &mut Engine) -> Result<(), StateError> {
        fold(&mut self.state, &self.config, engine);
        self.folds += 1;
        Ok(())
    }
}

#[test]
fn a_log_for_which_the_disk_has_no_room_is_folded() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let path = folder.0.join("socket");
    let (state, mut engine, _, _) = open(&folder.0.join("state"), &config).expect("a new drive");
    // No disk has space for a generation like this.
    let log = Log::create(&folder.0.join("state/1.log"), 1 << 60).expect("a log");
    engine.log_to(log);
    assert!(matches!(engine.write(1, 0, &[7; 4096], false), Err(Refusal::NoSpace(_))));
    let (stop, idles) = (AtomicBool::new(false), AtomicBool::new(false));
    let until = StoppableAttendant { stop: &stop, idles: &idles };
    let mut attendant = FoldingAttendant { until, state, config, folds: 0 };
    let export = export(engine.bytes());
    let listener = Listener::unix(&path).expect("a socket");
    let server = Server::new(listener, export, engine, Pacing::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = StopOnDrop(&stop);
            let mut socket = client(&path);
            let mut write = request(1, 3, 0, 4096);
            write.extend([7; 4096]);
            socket.write_all(&write).expect("it listens");
            assert_eq!(reply(&mut socket, 0).0, 3);
        });
        server.run(&mut attendant).expect("the system works");
    });
    assert_eq!(attendant.folds, 1);
}

#[test]
fn what_reaches_beyond_the_drive_is_refused_as_the_protocol_says() {
    const INVALID: u32 = 22;
    const NO_SPACE: u32 = 28;
    let (engine, _) = with_server(|path| {
        let mut socket = client(path);
        // Read, write, trim, write zeroes; the drive ends within each.
        for (command, error) in [(0, INVALID), (1, NO_SPACE), (4, INVALID), (6, NO_SPACE)] {
            let mut bytes = request(command, 5, u64::MAX / 2, 4096);
            bytes.extend(vec![7; if command == 1 { 4096 } else { 0 }]);
            socket.write_all(&bytes).expect("it listens");
            let mut head = [0; 16];
            socket.read_exact(&mut head).expect("a reply");
            let said = u32::from_be_bytes(head[4..8].try_into().expect("4 bytes"));
            assert_eq!(said, error, "command {command}");
        }
    });
    assert_eq!(engine.ssd().submitted(), 0);
}

#[test]
fn a_socket_that_was_left_is_replaced_and_no_other_file_is() {
    let folder = Temporary::new();
    let path = folder.0.join("socket");
    drop(UnixListener::bind(&path).expect("a socket"));
    let listener = Listener::unix(&path).expect("nobody listens there");
    let refused = Listener::unix(&path).err().expect("somebody listens there");
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    drop(listener);
    assert!(!path.exists(), "the socket is left");
    std::fs::write(&path, b"dear").expect("a file");
    assert_eq!(Listener::unix(&path).err().expect("a file").kind(), ErrorKind::AddrInUse);
    assert_eq!(std::fs::read(&path).expect("the file"), b"dear");
}
