//! External policies: built for every machine, equal to their twins, and reported when they fail.

use crate::rig::{device, free_blocks, whole};
use ssd_core::config::{HostMode, Mode};
use ssd_core::ftl::blocks::BlockTable;
use ssd_core::ftl::gc::victim::VictimPolicy;
use ssd_core::ftl::plugs::{Fault, Plugs, PolicyFactory};
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use ssd_core::units::{BlockId, Nanos, PoolId};
use ssd_run::{Circumstances, Ending, FinishedRun, PullDriver, Unattended};
use ssd_trace::config::RunConfig;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Random writes.
struct Writes(Stream, u32, u64);

impl Source for Writes {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        self.2 = self.2.saturating_sub(1);
        let lpn = self.0.below(u64::from(self.1)) as u32;
        Ok((self.2 > 0).then(|| TimedRequest { at: Nanos(0), request: whole(Op::Write, lpn, 1) }))
    }
}

/// Greedy without an index, up to a number of choices.
struct UnindexedGreedy {
    left: u32,
    fault: Arc<Mutex<Option<Fault>>>,
    then: Fault,
}

impl VictimPolicy for UnindexedGreedy {
    fn init(&mut self, _table: &BlockTable, _clock: u64) {}

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        if self.left == 0 {
            self.fault.lock().expect("nobody panics").get_or_insert_with(|| self.then.clone());
            return None;
        }
        self.left -= 1;
        let sealed = table.of_pool(pool).filter(|&b| table.is_candidate(b));
        sealed.min_by_key(|b| (table.valid[b.at()], *b))
    }
}

struct Maker {
    begun: AtomicU32,
    made: AtomicU32,
    questions: u32,
    fault: Arc<Mutex<Option<Fault>>>,
    then: Fault,
}

impl PolicyFactory for Maker {
    fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn victim(&self, _table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        let (left, fault, then) = (self.questions, self.fault.clone(), self.then.clone());
        Some(Box::new(UnindexedGreedy { left, fault, then }))
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.lock().expect("nobody panics").clone()
    }

    fn names(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("gc.victim".to_string(), "mine.Slow".to_string())])
    }
}

fn maker(questions: u32, then: Fault) -> Arc<Maker> {
    let (begun, made, fault) = (AtomicU32::new(0), AtomicU32::new(0), Arc::default());
    Arc::new(Maker { begun, made, questions, fault, then })
}

fn failed() -> Fault {
    let (who, what) = ("victim policy mine.Slow".to_string(), "is tired".to_string());
    Fault::Failed { policy: who, pool: Some(PoolId(1)), message: what }
}

fn small(mode: Mode) -> RunConfig {
    let mut c = device([2, 1, 1], 32, 16, 800);
    c.run.mode = mode;
    c.gc.trigger = vec![free_blocks(4)];
    c.host.mode = HostMode::Closed;
    (c.precondition.fill, c.precondition.overwrite) = (1.0, 1.0);
    RunConfig { kernel: c, ..RunConfig::default() }
}

fn finished(c: &RunConfig, plugs: Plugs) -> FinishedRun {
    let warnings = vec!["of the trace".to_string()];
    let circumstances = &Circumstances { plugs, warnings, ..Circumstances::default() };
    let mut source = Writes(Stream::new(1, "writes"), c.device.user_pages, 5000);
    PullDriver { config: c, circumstances, caller: &mut Unattended, log: None }.run(&mut source)
}

#[test]
fn every_machine_has_its_own_policies() {
    for mode in [Mode::Timed, Mode::Functional] {
        let (c, outside) = (small(mode), maker(u32::MAX, failed()));
        let ours = finished(&c, Plugs::new(outside.clone()));
        let theirs = finished(&c, Plugs::default());
        assert_eq!((ours.ending, ours.event_digest), (Ending::Completed, theirs.event_digest));
        assert_eq!(ours.report.gc.pages_moved, theirs.report.gc.pages_moved);
        assert!(ours.report.gc.calls > 100);
        assert_eq!(ours.report.provenance.external_policies, outside.names());
        assert!(theirs.report.provenance.external_policies.is_empty());
        // One preconditions, the other executes the run.
        assert_eq!(outside.begun.load(Ordering::Relaxed), 2);
        assert_eq!(outside.made.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn a_fault_ends_the_run() {
    let (mut timed, functional) = (small(Mode::Timed), small(Mode::Functional));
    let message = |c: &RunConfig| match finished(c, Plugs::new(maker(3, failed()))).ending {
        Ending::Failed(message) => message,
        other => panic!("{other:?}"),
    };
    let preconditioning = message(&timed);
    assert!(
        preconditioning
            .starts_with("preconditioning failed: victim policy mine.Slow, in functional")
    );
    assert!(message(&functional).ends_with("host pages, pool 1: is tired"));
    timed.precondition.fill = 0.0;
    let with_time = message(&timed);
    assert!(with_time.starts_with("victim policy mine.Slow, at "), "{with_time}");
    assert!(with_time.ends_with(" ns, pool 1: is tired"), "{with_time}");
    // It comes before all other warnings.
    let warnings = finished(&timed, Plugs::new(maker(3, failed()))).report.warnings;
    assert_eq!(warnings[..2], [with_time, "of the trace".to_string()]);
}

#[test]
fn an_interrupt_is_no_failure() {
    for fill in [0.0, 1.0] {
        for mode in [Mode::Timed, Mode::Functional] {
            let mut c = small(mode);
            c.precondition.fill = fill;
            let done = finished(&c, Plugs::new(maker(3, Fault::Interrupted)));
            assert_eq!(done.ending, Ending::Interrupted);
            assert!(!done.report.completed);
        }
    }
}
