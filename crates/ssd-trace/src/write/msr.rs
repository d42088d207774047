//! MSR Cambridge CSV: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamp is a Windows FILETIME (units of 100 ns since 1601), Type `Read` or `Write`, Offset and
//! Size in bytes. Source: the traces of Narayanan et al., "Write Off-Loading", FAST 2008, as in the
//! SNIA IOTTA repository.
//!
//! Carries reads and writes, volumes (as DiskNumber), and arrivals in units of 100 ns. Cannot carry: trims, flushes,
//! addresses from byte 2^64, stream and flags. ResponseTime is written as 0, because a trace of arrivals has no
//! response times.

use super::WriteError;
use super::text::{Form, put};
use ssd_core::host::request::{Op, Request};

/// The FILETIME of 1970-01-01 00:00 UTC.
pub const EPOCH_1970: u64 = 116_444_736_000_000_000;

/// MSR Cambridge CSV of one host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Msr {
    host: String,
    start: u64,
}

impl Msr {
    /// Creates the format for requests of `host`. Time 0 becomes the FILETIME `start` (100 ns since 1601;
    /// [`EPOCH_1970`] if it does not matter).
    ///
    /// # Errors
    /// [`WriteError::Option`]: the host is empty or contains a comma, a quote or a control character.
    pub fn new(host: &str, start: u64) -> Result<Msr, WriteError> {
        if host.is_empty() || host.contains(|c: char| c == ',' || c == '"' || c.is_control()) {
            let text = format!("host name {host:?} of an MSR trace: expected letters and digits");
            return Err(WriteError::Option(text));
        }
        Ok(Msr { host: host.to_owned(), start })
    }
}

impl Form for Msr {
    const NAME: &'static str = "MSR CSV";
    const UNIT_NS: u64 = 100;

    fn cannot_carry(&self, request: &Request) -> Option<&'static str> {
        match request.op {
            Op::Trim => Some("has no trims"),
            Op::Flush => Some("has no flushes"),
            _ if request.sector >> 55 != 0 => Some("has no addresses from byte 2^64"),
            _ => None,
        }
    }

    fn would_forget(&self, request: &Request) -> Option<&'static str> {
        let forgets = request.stream != 0 || request.flags != 0;
        forgets.then_some("has no streams and flags")
    }

    fn line(&self, _number: u64, time: u64, request: &Request, text: &mut Vec<u8>) -> bool {
        let Some(time) = self.start.checked_add(time) else { return false };
        let verb = if request.op == Op::Read { "Read" } else { "Write" };
        let (offset, size) = (request.sector * 512, u64::from(request.sectors) * 512);
        put!(text, "{time},{},{},{verb},{offset},{size},0\n", self.host, request.volume);
        true
    }
}
