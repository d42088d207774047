//! A device that a client drives: completions come in order, and a call that fails says what is left.

use ssd_core::config::{Input, load};
use ssd_core::host::request::Op;
use ssd_core::sim::request::RequestRecord;
use ssd_core::units::Nanos;
use ssd_run::{
    Caller, Ending, PushDriver, PushError, RunError, Setup, Stage, Submission, Unattended, run,
};
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;
use std::path::Path;

fn config(sets: &[(&str, &str)]) -> RunConfig {
    let small = [
        ("device.channels", "2"),
        ("device.chips_per_channel", "1"),
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "32"),
    ];
    let sets = small.iter().chain(sets);
    let sets = sets.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&Input { sets, ..Input::default() }).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn device() -> PushDriver {
    PushDriver::new(config(&[]), ssd_core::ftl::plugs::Plugs::default())
}

fn write(lpn: i64, at_ns: Option<i64>) -> Submission {
    Submission { at_ns, ..Submission::new(Op::Write, lpn, 1) }
}

/// Ends every call.
struct Stop(Vec<Stage>);

impl Caller for Stop {
    fn progress(&mut self, stage: Stage, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        self.0.push(stage);
        ControlFlow::Break(())
    }
}

fn in_order(records: &[RequestRecord]) -> bool {
    records.windows(2).all(|pair| pair[0].completion <= pair[1].completion)
}

#[test]
fn completions_come_in_order_and_once() {
    let mut device = device();
    let first: Vec<_> = (0..200).map(|i| write(i * 7 % 50, Some(i / 3 * 1000))).collect();
    assert_eq!(device.submit(&first), Ok(0));
    let half = device.run_until(Nanos::micros(5000), &mut Unattended).expect("it runs");
    assert!(in_order(&half) && half.iter().all(|r| r.completion <= Nanos::micros(5000)));
    assert!(!half.is_empty() && half.len() < 200, "{}", half.len());
    assert_eq!(device.report(None).ending, Ending::Interrupted);
    // The client is at 5 ms now, and what it submits arrives then.
    let early = device.submit(&[write(0, Some(4_999_999))]);
    let text = "request 0: it arrives at 4999999 ns; expected 5000000 or later";
    assert_eq!(early, Err(PushError::Refused(text.into())));
    assert_eq!(device.submit(&[write(0, None)]), Ok(200));
    let rest = device.run_until_idle(&mut Unattended).expect("it runs");
    assert!(in_order(&rest));
    let last = rest.iter().find(|r| r.id == 200).expect("the last one");
    assert_eq!(last.arrival, Nanos::micros(5000));
    let mut ids: Vec<_> = half.iter().chain(&rest).map(|r| r.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..201).collect::<Vec<_>>(), "each request once");
    let done = device.report(None);
    assert_eq!((done.ending, done.report.requests.completed), (Ending::Completed, 201));
}

#[test]
fn bad_requests_are_refused_together() {
    let mut device = device();
    let user = device.ssd().ftl.geo.user_pages;
    let beyond = device.submit(&[write(0, None), write(i64::from(user), None)]);
    let Err(PushError::Refused(why)) = beyond else { panic!("{beyond:?}") };
    assert!(why.starts_with(&format!("request 1: 1 pages from LPN {user} on")), "{why}");
    let none = device.submit(&[Submission { pages: 0, ..write(0, None) }]);
    assert!(matches!(none, Err(PushError::Refused(why)) if why.contains("0 pages; expected 1")));
    assert_eq!(device.ssd().submitted(), 0);
}

#[test]
fn an_interrupted_call_is_continued_by_the_next() {
    let mut device = device();
    let writes: Vec<_> = (0..10_000).map(|i| write(i % 64, None)).collect();
    device.submit(&writes).expect("they are valid");
    let mut stop = Stop(Vec::new());
    assert_eq!(device.run_until_idle(&mut stop).err(), Some(PushError::Interrupted));
    assert_eq!(stop.0, [Stage::Workload]);
    let all = device.run_until_idle(&mut Unattended).expect("it can continue");
    assert!(all.len() == 10_000 && in_order(&all), "{}", all.len());
}

#[test]
fn a_saved_state_starts_a_device_and_a_run() {
    let path = std::env::temp_dir().join(format!("ssd-run-push-{}.snap", std::process::id()));
    // What an aborted run of another process with this number has left.
    let _ = std::fs::remove_file(&path);
    let mut used = device();
    used.submit(&[write(1, None), write(2, None)]).expect("they are valid");
    let busy = used.snapshot().err();
    assert!(matches!(busy, Some(PushError::Refused(why)) if why.ends_with("until it is idle")));
    used.run_until_idle(&mut Unattended).expect("it runs");
    let stopped = used.save(Path::new("/"), false, &mut Unattended).err();
    assert!(matches!(stopped, Some(PushError::File(_))), "{stopped:?}");
    let digest = used.save(&path, false, &mut Unattended).expect("it is at rest");
    let again = used.precondition(&mut Unattended).err();
    assert!(matches!(again, Some(PushError::Refused(why)) if why.contains("used already")));

    let mut other = device();
    other.load(&path, &mut Unattended).expect("the same device");
    assert!(other.snapshot().expect("at rest") == used.snapshot().expect("at rest"));
    let provenance = other.report(None).report.provenance;
    assert_eq!(provenance.snapshot_digest.as_deref(), Some(&*digest));

    let sets = [("workload.requests", "100")];
    let mut setup = || Setup { device: other.snapshot().ok(), ..Setup::default() };
    let config = config(&sets);
    let mut from_file = config.clone();
    from_file.precondition.snapshot = Some(path.display().to_string());
    let one = run(config.clone(), setup(), &mut Unattended).expect("it fits").finished;
    let two = run(from_file, Setup::default(), &mut Unattended).expect("it fits").finished;
    assert_eq!(one.event_digest, two.event_digest);
    assert_eq!(one.report.provenance.snapshot_digest.as_deref(), Some(&*digest));
    let mut larger = config;
    larger.device.channels = 4;
    let refused = run(larger, setup(), &mut Unattended).err();
    assert!(matches!(refused, Some(RunError::Config(why)) if why.starts_with("device: ")));
    std::fs::remove_file(path).expect("the file goes");
}

#[test]
fn a_write_without_a_handle_is_refused_with_its_place() {
    let spec = ("alloc.separation", "{ policy = \"fdp\", handles = 2 }");
    let mut device = PushDriver::new(config(&[spec]), ssd_core::ftl::plugs::Plugs::default());
    let of = |stream| Submission { stream, ..write(0, None) };
    let refused = device.submit(&[of(1), of(2)]).unwrap_err();
    let PushError::Refused(why) = refused else { panic!("{refused:?}") };
    assert!(why.starts_with("request 1: a write of stream 2, and alloc.separation"), "{why}");
    assert_eq!(device.submit(&[of(1), of(0)]), Ok(0), "nothing of it was submitted");
}
