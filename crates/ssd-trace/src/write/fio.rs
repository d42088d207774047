//! fio iolog version 3: `fio version 3 iolog`, then `TIME FILE ACTION [OFFSET LENGTH]`.
//!
//! TIME in microseconds since the start of the run, OFFSET and LENGTH in bytes; the file is added
//! and opened before the first request and closed after the last. Source: fio, HOWTO ("Trace file
//! format v3") and `iolog.c` (`log_io_u`: microseconds; `read_iolog`: five fields for a request).
//!
//! Carries reads, writes, trims, flushes (as `sync`), and arrivals in microseconds. Cannot carry: requests of 4 GiB and
//! more (fio reads a 32-bit length), addresses from byte 2^64, a flush with an address, volume, stream and flags. fio
//! waits for the *difference* of two times, and does not wait after a line at time 0. It therefore submits the first
//! request at once, whatever its time.

use super::WriteError;
use super::text::{Form, put};
use ssd_core::host::request::{Op, Request};

/// fio iolog version 3 of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fio {
    target: String,
}

impl Fio {
    /// Creates the format for requests to `target`, the file or device that fio will use.
    ///
    /// # Errors
    /// [`WriteError::Option`]: the name is empty, longer than 256 bytes, or contains blanks or control characters,
    /// which fio would not read as part of a name.
    pub fn new(target: &str) -> Result<Fio, WriteError> {
        let bad = |c: char| c.is_whitespace() || c.is_control();
        if target.is_empty() || target.len() > 256 || target.contains(bad) {
            let text =
                format!("file {target:?} of a fio iolog: expected 1 to 256 bytes, no blanks");
            return Err(WriteError::Option(text));
        }
        Ok(Fio { target: target.to_owned() })
    }
}

impl Form for Fio {
    const NAME: &'static str = "fio iolog";
    const UNIT_NS: u64 = 1000;

    fn cannot_carry(&self, request: &Request) -> Option<&'static str> {
        let Request { op, sector, sectors, .. } = *request;
        if op == Op::Flush {
            return (sector != 0 || sectors != 0).then_some("has no flush of an address");
        }
        if sectors >> 23 != 0 {
            return Some("has no requests of 4 GiB and more");
        }
        (sector >> 55 != 0).then_some("has no addresses from byte 2^64")
    }

    fn would_forget(&self, request: &Request) -> Option<&'static str> {
        let forgets = request.volume != 0 || request.stream != 0 || request.flags != 0;
        forgets.then_some("has no volumes, streams and flags")
    }

    fn begin(&self, text: &mut Vec<u8>) {
        let target = &self.target;
        put!(text, "fio version 3 iolog\n0 {target} add\n0 {target} open\n");
    }

    fn line(&self, _number: u64, time: u64, request: &Request, text: &mut Vec<u8>) -> bool {
        let verb = ["read", "write", "trim", "sync"][request.op as usize];
        let (offset, length) = (request.sector * 512, u64::from(request.sectors) * 512);
        put!(text, "{time} {} {verb} {offset} {length}\n", self.target);
        true
    }

    fn end(&self, time: u64, text: &mut Vec<u8>) {
        put!(text, "{time} {} close\n", self.target);
    }
}
