//! One run whose instructions are counted: `ssdlab bench --instructions`.
//!
//! `bench_case FIRST KEY=VALUE...` preconditions the device of the configuration, drives the first `FIRST`
//! requests of its workload, and then the others inside [`counted`], the function between whose beginning
//! and end valgrind counts. Prints host pages and flash operations of that part, and the answer.
#![allow(clippy::print_stdout, reason = "its output is the answer")]

use ssd_core::config::{HostMode, Input, Mode, load};
use ssd_core::host::copy::SourceRange;
use ssd_core::host::drive::drive;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Lpn;
use ssd_trace::config::ArrivalKind;
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;

/// The first `left` requests of a source.
struct First<'a> {
    source: &'a mut dyn Source,
    left: u64,
}

impl Source for First<'_> {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.source.next_request()
    }

    fn fill(&mut self, batch: &mut Vec<TimedRequest>, most: usize) -> Result<(), SourceError> {
        let most = self.left.min(most as u64) as usize;
        let before = batch.len();
        self.source.fill(batch, most)?;
        self.left -= (batch.len() - before) as u64;
        Ok(())
    }

    fn copy_sources(&mut self) -> Vec<SourceRange> {
        self.source.copy_sources()
    }
}

/// What is counted.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Host pages written, flash operations and erases so far.
type Sums = [u64; 3];

fn sums(ssd: &Ssd) -> Sums {
    let flash = &ssd.measured().flash;
    let erases: u64 = flash.erases.iter().sum();
    let reads: u64 = flash.reads.iter().sum();
    [ssd.measured().host.pages_written, flash.all_programs() + reads + erases, erases]
}

fn timed(config: &RunConfig, functional: Functional, source: &mut dyn Source, first: u64) {
    let sequence = functional.sequence();
    let mut ssd = Ssd::new(config, functional.ftl, sequence);
    ssd.measure(config.warmup(source.expected()), config.splits());
    let run = |ssd: &mut Ssd, source: &mut dyn Source| {
        let outcome = drive(ssd, &config.host, source, &mut |_, _| ControlFlow::Continue(()));
        outcome.expect("the case runs to its end");
    };
    run(&mut ssd, &mut First { source: &mut *source, left: first });
    let before = sums(&ssd);
    counted(|| run(&mut ssd, source));
    let done: Vec<u64> = sums(&ssd).iter().zip(before).map(|(now, before)| now - before).collect();
    let [pages, operations, erases] = done[..] else { unreachable!("as many as there were") };
    println!(
        "{pages} pages, {operations} operations, {erases} erases, digest {:016x}",
        ssd.event_digest()
    );
}

fn without_time(config: &RunConfig, mut device: Functional, source: &mut dyn Source, first: u64) {
    let sectors = u64::from(config.device.page_bytes / 512);
    let mut write = |source: &mut dyn Source| {
        let mut batch = Vec::new();
        loop {
            batch.clear();
            source.fill(&mut batch, 1024).expect("requests are made");
            if batch.is_empty() {
                return;
            }
            for timed in &batch {
                assert_eq!(timed.request.op, Op::Write, "only pages are written");
                let lpn = Lpn((timed.request.sector / sectors) as u32);
                device.write(lpn, timed.request.stream).expect("there is room");
            }
        }
    };
    write(&mut First { source: &mut *source, left: first });
    counted(|| write(source));
    let tally = &device.tally;
    println!(
        "{} pages, {} operations, {} erases, {} decided",
        config.workload.requests - first,
        2 * tally.programs() - tally.host_pages + tally.victims,
        tally.victims,
        tally.decided
    );
}

fn main() {
    let mut words = std::env::args().skip(1);
    let first = words.next().and_then(|word| word.parse().ok()).expect("how many are not counted");
    let sets = words.map(|word| {
        let (key, value) = word.split_once('=').expect("KEY=VALUE");
        (key.to_owned(), value.to_owned())
    });
    let input = Input { sets: sets.collect(), ..Input::default() };
    let mut config: RunConfig = load(&input).unwrap_or_else(|errors| panic!("{errors:?}"));
    if config.host.mode == HostMode::Closed || config.run.mode == Mode::Functional {
        // As every run does where nobody looks at arrival times.
        config.workload.arrival.kind = ArrivalKind::Fixed;
    }
    let mut device = Functional::new(&config, ssd_core::ftl::Ftl::new(&config));
    let whole = device.precondition(&config, &mut |_, _| true).expect("there is room");
    assert!(whole, "nobody ends it early");
    device.tally = Default::default();
    let (page_bytes, user_pages) = (config.device.page_bytes, config.device.user_pages);
    let opened = ssd_trace::open(&config.workload, page_bytes, user_pages, config.run.seed);
    let mut source = opened.expect("the workload is sound").source;
    if config.run.mode == Mode::Functional {
        without_time(&config, device, &mut *source, first);
    } else {
        timed(&config, device, &mut *source, first);
    }
}
