//! A folder for one test, and requests to write into it.

use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::units::Nanos;
use ssd_trace::write::{ConvertError, Counts, TraceWriter, convert};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A new folder, which goes with everything in it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder::numbered(&NUMBER)
    }

    /// A new folder with the next free number: an aborted run, whose process had the same id, may
    /// have left folders.
    pub(crate) fn numbered(next: &AtomicU32) -> Folder {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let name = format!("ssd-trace-test-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}"),
            }
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Names of the files in it, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A source of given requests.
pub(crate) struct List(pub Vec<TimedRequest>, pub usize);

impl Source for List {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        self.1 += 1;
        Ok(self.0.get(self.1 - 1).copied())
    }
}

pub(crate) fn timed(at: u64, op: Op, sector: u64, sectors: u32) -> TimedRequest {
    TimedRequest { at: Nanos(at), request: Request::new(op, sector, sectors) }
}

/// Writes all of `requests`.
pub(crate) fn write(
    requests: &[TimedRequest],
    writer: impl TraceWriter + 'static,
) -> Result<Counts, ConvertError> {
    let mut source = List(requests.to_vec(), 0);
    convert(&mut source, Box::new(writer), &mut |_| ControlFlow::Continue(()))
}

/// Everything that is left of a source.
pub(crate) fn drain(source: &mut dyn Source) -> Result<Vec<TimedRequest>, SourceError> {
    let mut requests = Vec::new();
    while let Some(timed) = source.next_request()? {
        requests.push(timed);
    }
    Ok(requests)
}

/// What requests may be: distances in time, address bits, length bits, and how they vary.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) gap: u64,
    pub(crate) unit: u64,
    pub(crate) sector_bits: u32,
    pub(crate) sectors: u32,
    pub(crate) ops: usize,
    pub(crate) fields: bool,
}

pub(crate) fn shape() -> impl Strategy<Value = Shape> {
    (
        prop::sample::select(vec![1u64, 2, 1000, 1 << 32, 1 << 40]),
        prop::sample::select(vec![1u64, 100, 1000, 1_000_000]),
        prop::sample::select(vec![1u32, 20, 31, 32, 33, 60]),
        prop::sample::select(vec![1u32, 8, 1 << 20, u32::MAX]),
        1..5usize,
        any::<bool>(),
    )
        .prop_map(|(gap, unit, sector_bits, sectors, ops, fields)| Shape {
            gap,
            unit,
            sector_bits,
            sectors,
            ops,
            fields,
        })
}

/// `count` possible requests of this shape.
pub(crate) fn requests(shape: &Shape, count: usize, seed: u64) -> Vec<TimedRequest> {
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut at = random() % 1_000_000 * shape.unit;
    let mut made = Vec::with_capacity(count);
    for _ in 0..count {
        // At the end of time it stands still.
        let step = random() % shape.gap * shape.unit;
        at = at.checked_add(step).unwrap_or(at);
        let op = Op::ALL[random() as usize % shape.ops];
        let sector = random() >> (64 - shape.sector_bits);
        let sectors = (random() % u64::from(shape.sectors)) as u32 + 1;
        let mut request = match op {
            Op::Flush => Request::new(op, 0, 0),
            _ => Request::new(op, sector, sectors),
        };
        if shape.fields {
            (request.volume, request.stream) = (random() as u16, random() as u8 & 3);
            request.flags = random() as u8;
        }
        made.push(TimedRequest { at: Nanos(at), request });
    }
    made
}
