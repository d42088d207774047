//! Writers of traces: one trait, and one file per format. [`convert`] writes from any source; [`convert_trace`] and
//! [`split_trace`] write from any trace.
//!
//! Every writer takes requests one by one and needs memory for a few thousand of them, whatever the length of the
//! trace. It fills a temporary file beside its target. The file gets the target's name only when it is complete, so a
//! trace under that name is never incomplete.
//!
//! A format that cannot carry a request completely fails with the number of the first such request, unless [`Allow`]
//! permits the loss, which is then counted ([`Counts`]). The head of each format's file lists what the format carries.

mod block_event;
mod columnar;
mod convert;
mod fio;
mod merge;
mod mqsim;
mod msr;
pub(crate) mod output;
mod spill;
mod split;
mod target;
mod text;
mod traces;

pub use block_event::BlockEvent;
pub use columnar::Columnar;
pub use convert::{BATCH, ConvertError, Progress, convert};
pub use fio::Fio;
pub use merge::merge_traces;
pub use mqsim::Mqsim;
pub use msr::{EPOCH_1970, Msr};
pub use split::{MOST_OPEN, SplitVolume, split_trace};
pub use target::{TARGETS, Target};
pub use text::{Form, TextWriter};
pub use traces::convert_trace;

use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::units::Nanos;

/// A trace that is being written.
pub trait TraceWriter {
    /// Returns the name of the format, as in messages.
    fn format(&self) -> &'static str;

    /// Writes the next request, which is not earlier than the previous one.
    ///
    /// # Errors
    /// [`WriteError::Request`] if the request is impossible (earlier than the previous one, a read, write or trim of no
    /// sectors, sectors beyond 2^64), or if the format cannot carry it and [`Allow`] does not permit the loss;
    /// [`WriteError::File`] for a system error such as a full disk. A writer that has failed can only be dropped.
    fn write(&mut self, timed: &TimedRequest) -> Result<(), WriteError>;

    /// Writes the remaining data and gives the file its name. A writer that is dropped instead leaves no file.
    ///
    /// # Errors
    /// [`WriteError::File`], or [`WriteError::Exists`] if the target has appeared in the meantime.
    fn finish(self: Box<Self>) -> Result<Counts, WriteError>;
}

/// Losses that a writer may make and count; none by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allow {
    /// Leaves out requests that the format cannot carry.
    pub drop_requests: bool,
    /// Rounds arrivals down to the format's unit of time. Their order does not change.
    pub round_times: bool,
    /// Writes requests without the volume, stream or flags that the format cannot represent.
    pub forget_fields: bool,
}

impl Allow {
    /// Names of the losses in the order of the fields.
    pub const NAMES: [&'static str; 3] = ["drop-requests", "round-times", "forget-fields"];

    /// Returns the losses with these names.
    ///
    /// # Errors
    /// [`WriteError::Option`] for another name.
    pub fn named(names: &[String]) -> Result<Allow, WriteError> {
        let unknown = names.iter().find(|name| !Allow::NAMES.contains(&name.as_str()));
        if let Some(name) = unknown {
            let choices = Allow::NAMES.join(", ");
            return Err(WriteError::Option(format!("loss {name:?}: expected one of {choices}")));
        }
        let [drop_requests, round_times, forget_fields] =
            Allow::NAMES.map(|loss| names.iter().any(|name| name == loss));
        Ok(Allow { drop_requests, round_times, forget_fields })
    }
}

/// Options of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Replaces an existing file at the target, which is an error otherwise.
    pub replace: bool,
    /// Permitted losses.
    pub allow: Allow,
}

/// Counts of a written trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests written. Each source of a copy and its destination count separately.
    pub requests: u64,
    /// Requests left out, by operation, in the order of [`Op::ALL`].
    pub dropped: [u64; 4],
    /// Requests among those written whose arrival was rounded down.
    pub times_rounded: u64,
    /// Requests among those written without all of their volume, stream and flags.
    pub fields_forgotten: u64,
    /// Length of the file after any compression, bytes.
    pub bytes: u64,
}

/// Why a trace was not written. No file remains.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// The target exists.
    #[error("{0} exists; choose another name, or replace it")]
    Exists(String),
    /// The file cannot be written.
    #[error("{file}: cannot be written: {cause}")]
    File {
        /// The target.
        file: String,
        /// The error of the operating system.
        cause: String,
    },
    /// A value for the writer that is not possible in the format.
    #[error("{0}")]
    Option(String),
    /// A request that cannot be written.
    #[error(
        "{file}: request {number} ({op} of {sectors} sectors from sector {sector} at {} ns) cannot \
         be written: {problem}; {remedy}", at.0
    )]
    Request {
        /// The target.
        file: String,
        /// Number of the request in the source, from 1.
        number: u64,
        /// Arrival of the request.
        at: Nanos,
        /// Operation of the request.
        op: &'static str,
        /// First sector of the request.
        sector: u64,
        /// Sectors of the request.
        sectors: u32,
        /// The fault of the request, or what the format cannot represent.
        problem: String,
        /// What the user can do.
        remedy: &'static str,
    },
}

impl WriteError {
    fn request(
        file: &str,
        number: u64,
        timed: &TimedRequest,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> WriteError {
        WriteError::Request {
            file: file.to_owned(),
            number,
            at: timed.at,
            op: timed.request.op.name(),
            sector: timed.request.sector,
            sectors: timed.request.sectors,
            problem: problem.into(),
            remedy,
        }
    }
}

/// Returns what makes the request impossible in any trace, or `None`. `last` is the arrival of the previous request.
fn impossible(timed: &TimedRequest, last: Nanos) -> Option<String> {
    let request = &timed.request;
    if timed.at < last {
        return Some(format!("it arrives before the request above it ({} ns)", last.0));
    }
    if request.sectors == 0 && request.op != Op::Flush {
        return Some("only a flush has no sectors".to_owned());
    }
    if request.op == Op::Copy {
        return Some(
            "it is a copy in one request; traces hold its sources and its destination".to_owned(),
        );
    }
    let end = request.sector.checked_add(u64::from(request.sectors));
    end.is_none().then(|| "it reaches beyond sector 2^64".to_owned())
}

/// The remedy for an impossible request.
const IMPOSSIBLE_REMEDY: &str = "the source is faulty; correct it";
