//! A whole session: what its summary says.

use crate::rig::{Temporary, config};
use crate::server::{StopOnDrop, client, reply, request};
use ssd_run::{Caller, Stage};
use ssd_serve::pace::{Pacing, Scale};
use ssd_serve::session::{Address, Audience, Order, ReadyReport, Summary, serve};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

/// Ends the session when its client has left.
struct Until<'a>(&'a AtomicBool);

impl Caller for Until<'_> {
    fn progress(&mut self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        match self.0.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Tells the client when it may connect.
struct Starter(Sender<()>);

impl Audience for Starter {
    fn ready(&mut self, _: &ReadyReport) {
        self.0.send(()).expect("a client waits");
    }

    fn wants_summary(&mut self) -> bool {
        false
    }

    fn receive(&mut self, _: &Summary) {}
}

/// The orders of a session in `folder`, whose log is folded whenever it is not empty.
fn order(folder: &Path) -> Order {
    Order {
        address: Address::Unix(folder.join("socket")),
        state: None,
        record: None,
        pacing: Pacing::default(),
        most_log: 0,
        name: "tiny".into(),
        temporary: PathBuf::from(folder),
        commit: None,
    }
}

/// The summary of a session with a client that does what `act` does.
fn session(order: &Order, act: impl FnOnce(&mut UnixStream) + Send) -> Summary {
    let Address::Unix(socket) = &order.address else { panic!("a socket of another kind") };
    let (stop, (start, started)) = (AtomicBool::new(false), channel());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (started, _stop) = (started, StopOnDrop(&stop));
            started.recv().expect("the session begins");
            act(&mut client(socket));
        });
        serve(&config(&[]), order, &mut Until(&stop), &mut Starter(start)).expect("a session")
    })
}

#[test]
fn lateness_counts_in_the_time_of_the_drive() {
    let folder = Temporary::new();
    let slow = Pacing { scale: Scale::Fixed(10_000.0), ..Pacing::default() };
    let summary = session(&Order { pacing: slow, ..order(&folder.0) }, |client| {
        for cookie in 0..1200 {
            client.write_all(&request(3, cookie, 0, 0)).expect("it listens");
            assert_eq!(reply(client, 0).0, cookie);
        }
    });
    let late = summary.late;
    let p99 = late.p99_ns.expect("there are enough replies") as f64;
    assert_eq!((late.replies, late.valid_within_ns), (1200, 50_000));
    assert_eq!(late.is_valid, Some(p99 / 10_000.0 <= 50_000.0), "{late:?}");
}

#[test]
fn the_log_of_a_recorded_session_is_not_folded() {
    for records in [false, true] {
        let folder = Temporary::new();
        let recording = records.then(|| folder.0.join("recording"));
        let state = Some(folder.0.join("state"));
        let order = Order { state, record: recording, ..order(&folder.0) };
        let summary = session(&order, |client| {
            for cookie in 0..3 {
                let mut bytes = request(1, cookie, cookie * 4096, 4096);
                bytes.extend([7; 4096]);
                client.write_all(&bytes).expect("it listens");
                assert_eq!(reply(client, 0).0, cookie);
            }
        });
        assert_eq!(summary.requests, 3);
        assert_eq!(summary.folds.count > 0, !records, "{:?}", summary.folds);
        assert_eq!(summary.earlier.len() as u64, summary.folds.count);
    }
}
