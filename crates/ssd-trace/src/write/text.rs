//! The common part of the text formats: order, losses, lines and compression.

use super::output::Output;
use super::{Counts, IMPOSSIBLE_REMEDY, Options, TraceWriter, WriteError, impossible};
use ssd_core::host::request::{Request, TimedRequest};
use ssd_core::units::Nanos;
use std::io::Write;
use std::path::Path;

/// Bytes of text that are collected before they are written.
const CHUNK: usize = 1 << 16;
/// zstd level: the fastest with nearly the best ratio for traces.
pub(super) const LEVEL: i32 = 3;

/// A text format: what it carries, and the form of its lines.
pub trait Form {
    /// Name of the format, as in messages.
    const NAME: &'static str;
    /// Unit of the times, nanoseconds.
    const UNIT_NS: u64;

    /// Returns why the format cannot represent the request, as in "it has no ...", or `None`.
    fn cannot_carry(&self, request: &Request) -> Option<&'static str>;

    /// Returns which of volume, stream and flags of a request that it can carry would be lost, as in "it has no ...".
    fn would_forget(&self, request: &Request) -> Option<&'static str>;

    /// Appends the text before the first request; nothing by default.
    fn begin(&self, _text: &mut Vec<u8>) {}

    /// Appends the line of a request, which arrives at `time` units and can be carried; `number` counts written
    /// requests from 1. Returns false if `time` does not fit.
    #[must_use]
    fn line(&self, number: u64, time: u64, request: &Request, text: &mut Vec<u8>) -> bool;

    /// Appends the text after the last request, which arrived at `time` units; nothing by default.
    fn end(&self, _time: u64, _text: &mut Vec<u8>) {}
}

/// Destination of the text.
enum Sink {
    Plain(Output),
    Zstd(Box<zstd::Encoder<'static, Output>>),
}

/// Writes a trace in the text format `F`; the file is compressed with zstd if the name ends in `.zst`.
pub struct TextWriter<F: Form> {
    form: F,
    options: Options,
    file: String,
    sink: Sink,
    text: Vec<u8>,
    last: Nanos,
    /// Requests received, written or not.
    requests: u64,
    counts: Counts,
}

impl<F: Form> TextWriter<F> {
    /// Opens a writer for `path`.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::File`].
    pub fn create(path: &Path, form: F, options: Options) -> Result<TextWriter<F>, WriteError> {
        let output = Output::create(path, options.replace)?;
        let file = output.name();
        let sink = if path.extension().is_some_and(|extension| extension == "zst") {
            let encoder = zstd::Encoder::new(output, LEVEL);
            let cause = |error: std::io::Error| WriteError::File {
                file: file.clone(),
                cause: error.to_string(),
            };
            Sink::Zstd(Box::new(encoder.map_err(cause)?))
        } else {
            Sink::Plain(output)
        };
        let mut text = Vec::with_capacity(2 * CHUNK);
        form.begin(&mut text);
        let (last, requests, counts) = (Nanos::ZERO, 0, Counts::default());
        Ok(TextWriter { form, options, file, sink, text, last, requests, counts })
    }

    /// Writes the collected text.
    fn pass_on(&mut self) -> Result<(), WriteError> {
        let result = match &mut self.sink {
            Sink::Plain(output) => output.write_all(&self.text),
            Sink::Zstd(encoder) => encoder.write_all(&self.text),
        };
        self.text.clear();
        result.map_err(|error| self.error(&error))
    }

    fn error(&self, error: &std::io::Error) -> WriteError {
        WriteError::File { file: self.file.clone(), cause: error.to_string() }
    }

    /// Returns the error for a request that is not written unchanged.
    #[cold]
    fn refuse(&self, timed: &TimedRequest, problem: &str, remedy: &'static str) -> WriteError {
        let problem = format!("{} {problem}", F::NAME);
        WriteError::request(&self.file, self.requests, timed, problem, remedy)
    }

    /// Counts the loss of a whole request, or refuses it.
    fn drop_request(&mut self, timed: &TimedRequest, problem: &str) -> Result<(), WriteError> {
        if !self.options.allow.drop_requests {
            let remedy = "allow the loss drop-requests (--allow drop-requests) to leave them out, or choose \
                          another format";
            return Err(self.refuse(timed, problem, remedy));
        }
        self.counts.dropped[timed.request.op as usize] += 1;
        Ok(())
    }
}

impl<F: Form> TraceWriter for TextWriter<F> {
    fn format(&self) -> &'static str {
        F::NAME
    }

    fn write(&mut self, timed: &TimedRequest) -> Result<(), WriteError> {
        self.requests += 1;
        let (request, allow) = (&timed.request, self.options.allow);
        if let Some(problem) = impossible(timed, self.last) {
            let (file, number) = (&self.file, self.requests);
            return Err(WriteError::request(file, number, timed, problem, IMPOSSIBLE_REMEDY));
        }
        self.last = timed.at;
        if let Some(problem) = self.form.cannot_carry(request) {
            return self.drop_request(timed, problem);
        }
        let forgets = self.form.would_forget(request);
        if let Some(problem) = forgets
            && !allow.forget_fields
        {
            let remedy = "allow the loss forget-fields (--allow forget-fields) to leave them out, or choose \
                          another format";
            return Err(self.refuse(timed, problem, remedy));
        }
        let rounds = !timed.at.0.is_multiple_of(F::UNIT_NS);
        if rounds && !allow.round_times {
            let problem = format!("has times in units of {} ns", F::UNIT_NS);
            let remedy = "allow the loss round-times (--allow round-times) to round them down, or choose \
                          another format";
            return Err(self.refuse(timed, &problem, remedy));
        }
        let (number, time, before) =
            (self.counts.requests + 1, timed.at.0 / F::UNIT_NS, self.text.len());
        if !self.form.line(number, time, request, &mut self.text) {
            self.text.truncate(before);
            return self.drop_request(timed, "cannot represent times this late");
        }
        debug_assert!(self.text.len() > before && self.text.ends_with(b"\n"));
        self.counts.requests += 1;
        self.counts.fields_forgotten += u64::from(forgets.is_some());
        self.counts.times_rounded += u64::from(rounds);
        if self.text.len() >= CHUNK { self.pass_on() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<Counts, WriteError> {
        debug_assert_eq!(
            self.requests,
            self.counts.requests + self.counts.dropped.iter().sum::<u64>()
        );
        self.form.end(self.last.0 / F::UNIT_NS, &mut self.text);
        self.pass_on()?;
        let TextWriter { file, sink, counts, .. } = *self;
        let output = match sink {
            Sink::Plain(output) => output,
            Sink::Zstd(encoder) => encoder
                .finish()
                .map_err(|error| WriteError::File { file, cause: error.to_string() })?,
        };
        Ok(Counts { bytes: output.commit()?, ..counts })
    }
}

/// Appends formatted text; writing to memory cannot fail.
macro_rules! put {
    ($text:expr, $($part:tt)*) => {{
        let written = ::std::io::Write::write_fmt($text, format_args!($($part)*));
        debug_assert!(written.is_ok());
    }};
}
pub(super) use put;
