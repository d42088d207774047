//! A connection to a client: its unanswered requests, and the replies that have not been sent.
//!
//! It parses the bytes of the client into requests to the drive, and encodes replies. It does not use the socket.

use crate::engine::{Engine, Numbers, Refusal};
use crate::nbd::handshake::{
    ALLOCATION_ID, Export, Handshake, HandshakeStatus, NegotiatedOptions, State,
};
use crate::nbd::reply::{Errno, status};
use crate::nbd::request::{Command, REQUEST_BYTES, Request, flags, parse};
use crate::nbd::{MAX_DATA, ProtocolError};

/// The number of outstanding requests at which nothing more is read from a client.
pub const MOST_REQUESTS: usize = 128;
/// The number of bytes of outstanding reads and unsent output at which nothing more is read from a client.
pub const MOST_BYTES: u64 = 64 << 20;

/// The largest number of extents in a reply.
const MOST_EXTENTS: usize = 4096;

/// The largest number of pages that a reply describes: clients ask for the rest, and meanwhile others are served.
const MOST_PAGES: u64 = 16_384;

/// What became of the input of a client.
pub enum Next {
    /// It has no complete request, or none may begin.
    None,
    /// A request was answered without the drive, or the client disconnects.
    Answered,
    /// A request was submitted to the drive: its requests to the machine, and how to answer it.
    Submitted(Numbers, Ticket),
}

/// How to answer an outstanding request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    cookie: u64,
    /// Offset and length of a read.
    data: Option<(u64, u32)>,
    /// The bytes that count towards [`MOST_BYTES`].
    bytes: u64,
    /// Whether it can fail for lack of space.
    needs_space: bool,
}

/// A connection to a client.
pub struct Connection {
    handshake: State,
    /// The negotiated options, once the handshake is complete.
    chosen: Option<NegotiatedOptions>,
    /// Whether the client is disconnecting: outstanding requests are answered, but nothing more is read.
    leaves: bool,
    input: Vec<u8>,
    /// Bytes of the input that have been parsed.
    used: usize,
    /// Whether the input has no complete request.
    starved: bool,
    /// Bytes of a refused write that have not arrived yet.
    skip: u64,
    output: Vec<u8>,
    sent: usize,
    requests: usize,
    bytes: u64,
}

impl Default for Connection {
    /// A new connection, with the greeting as its output.
    fn default() -> Connection {
        Connection {
            handshake: State::default(),
            chosen: None,
            leaves: false,
            input: Vec::new(),
            used: 0,
            starved: true,
            skip: 0,
            output: crate::nbd::handshake::greeting(),
            sent: 0,
            requests: 0,
            bytes: 0,
        }
    }
}

impl Connection {
    /// The bytes that have not been sent.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Note that this many bytes of the output have been sent.
    pub fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            self.output.shrink_to(1 << 20);
        } else if self.sent > 1 << 20 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Whether to read more from this client.
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.starved && self.may_begin()
    }

    /// Whether another request of this client may begin, within [`MOST_REQUESTS`] and [`MOST_BYTES`].
    fn may_begin(&self) -> bool {
        let buffered = self.bytes + self.output().len() as u64;
        !self.leaves && self.requests < MOST_REQUESTS && buffered < MOST_BYTES
    }

    /// Whether the handshake is complete.
    #[must_use]
    pub fn has_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Whether the client has disconnected and all its requests are answered.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.leaves && self.requests == 0 && self.output().is_empty()
    }

    /// Append bytes from the client to the input.
    pub fn receive(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len() as u64) as usize;
        self.skip -= skipped as u64;
        if self.used > self.input.len() / 2 {
            self.input.drain(..self.used);
            self.used = 0;
        }
        self.input.extend(&bytes[skipped..]);
    }

    /// Take the next request of the input, and submit it to the drive at time `at` or as soon as possible after that.
    ///
    /// # Errors
    /// The client violates the protocol.
    pub fn next(
        &mut self,
        export: &Export,
        engine: &mut Engine,
        at: u64,
    ) -> Result<Next, ProtocolError> {
        if self.chosen.is_none() && !self.leaves {
            let mut handshake = Handshake::new(export, &mut self.handshake);
            let (consumed, status) = handshake.feed(&self.input[self.used..], &mut self.output)?;
            self.used += consumed;
            match status {
                HandshakeStatus::Open => {}
                HandshakeStatus::Aborted => self.leaves = true,
                HandshakeStatus::Done(chosen) => self.chosen = Some(chosen),
            }
        }
        let Some(chosen) = self.chosen.filter(|_| self.may_begin()) else { return Ok(Next::None) };
        let request = parse(&self.input[self.used..])?;
        self.starved = request.is_none();
        let Some(request) = request else { return Ok(Next::None) };
        let data = self.used + REQUEST_BYTES;
        if request.data_follows() > MAX_DATA {
            let available = (self.input.len() - data).min(request.length as usize);
            self.skip = u64::from(request.length) - available as u64;
            self.used = data + available;
            let message = "a request has at most 32 MiB of data";
            chosen.replies.failed(&mut self.output, request.cookie, Errno::Invalid, message);
            return Ok(Next::Answered);
        }
        let end = data + request.data_follows() as usize;
        self.starved = self.input.len() < end;
        if self.starved {
            return Ok(Next::None);
        }
        self.used = end;
        let begun = self.begin(&request, chosen, (data, end), (engine, at));
        Ok(begun.map_or(Next::Answered, |(numbers, ticket)| Next::Submitted(numbers, ticket)))
    }

    /// Submit `request`, whose data are `from..to` of the input. Answers it at once if there is nothing to wait for.
    fn begin(
        &mut self,
        request: &Request,
        chosen: NegotiatedOptions,
        (from, to): (usize, usize),
        (engine, at): (&mut Engine, u64),
    ) -> Option<(Numbers, Ticket)> {
        let &Request { cookie, offset, length, command, .. } = request;
        let (replies, out) = (chosen.replies, &mut self.output);
        if command == Command::Disconnect {
            self.leaves = true;
            return None;
        }
        if let Err((error, message)) = check(request, chosen, engine.bytes()) {
            replies.failed(out, cookie, error, message);
            return None;
        }
        let needs_space = matches!(command, Command::Write | Command::WriteZeroes | Command::Trim);
        let (fua, bytes) = (request.flags & flags::FUA != 0, u64::from(length));
        let begun = match command {
            Command::Read | Command::Cache => engine.read(at, offset, bytes),
            Command::Write => engine.write(at, offset, &self.input[from..to], fua),
            Command::Flush => engine.flush(at),
            Command::Trim => engine.trim(at, offset, bytes),
            Command::WriteZeroes => {
                let trim = request.flags & flags::NO_HOLE == 0;
                engine.write_zeroes(at, (offset, bytes), fua, trim)
            }
            Command::BlockStatus => {
                let is_single = request.flags & flags::REQ_ONE != 0;
                let extents =
                    extents(engine, offset, length, if is_single { 1 } else { MOST_EXTENTS });
                replies.extents(out, cookie, ALLOCATION_ID, &extents);
                return None;
            }
            Command::Disconnect | Command::Unknown(_) => unreachable!("it has been answered"),
        };
        match begun {
            Err(refusal) => {
                replies.failed(out, cookie, errno(&refusal, needs_space), &refusal.to_string());
                None
            }
            Ok(Numbers { count: 0, .. }) => {
                replies.done(out, cookie);
                None
            }
            Ok(numbers) => {
                let data = (command == Command::Read).then_some((offset, length));
                let data_bytes = if data.is_some() { bytes } else { 0 };
                self.requests += 1;
                self.bytes += data_bytes;
                Some((numbers, Ticket { cookie, data, bytes: data_bytes, needs_space }))
            }
        }
    }

    /// Answer a request that has completed, or failed with `failure`.
    pub fn complete(&mut self, ticket: Ticket, engine: &Engine, failure: Option<&Refusal>) {
        self.requests -= 1;
        self.bytes -= ticket.bytes;
        let replies = self.chosen.expect("it has made requests").replies;
        let (cookie, out) = (ticket.cookie, &mut self.output);
        match (failure, ticket.data) {
            (Some(refusal), _) => {
                replies.failed(
                    out,
                    cookie,
                    errno(refusal, ticket.needs_space),
                    &refusal.to_string(),
                );
            }
            (None, None) => replies.done(out, cookie),
            (None, Some(range)) => {
                let read = |bytes: &mut [u8]| engine.data(range.0, bytes);
                if let Err(error) = replies.data(out, cookie, range, read) {
                    replies.failed(out, cookie, Errno::Io, &error.to_string());
                }
            }
        }
    }
}

/// The error number for a refusal.
fn errno(refusal: &Refusal, needs_space: bool) -> Errno {
    match refusal {
        Refusal::NoSpace(_) | Refusal::Stuck(_) if needs_space => Errno::NoSpace,
        _ => Errno::Io,
    }
}

/// Check that a drive of `size` bytes accepts `request`.
fn check(
    request: &Request,
    chosen: NegotiatedOptions,
    size: u64,
) -> Result<(), (Errno, &'static str)> {
    let invalid = |message| Err((Errno::Invalid, message));
    let own = match request.command {
        Command::Read if chosen.replies.structured => flags::DF,
        Command::WriteZeroes => flags::NO_HOLE,
        Command::BlockStatus => flags::REQ_ONE,
        Command::Unknown(_) => return invalid("the server does not support this command"),
        _ => 0,
    };
    // The protocol allows FUA with any command. It has an effect only on writes.
    if request.flags & !(own | flags::FUA) != 0 {
        return invalid("the flags are not valid for this command");
    }
    if request.command == Command::BlockStatus && !chosen.block_status {
        return invalid("negotiate base:allocation first");
    }
    if request.command == Command::Flush {
        return Ok(());
    }
    if request.length == 0 {
        return invalid("the length of the request is 0");
    }
    if request.command == Command::Read && request.length > MAX_DATA {
        return invalid("a request has at most 32 MiB of data");
    }
    match request.offset.checked_add(u64::from(request.length)) {
        Some(end) if end <= size => Ok(()),
        _ if matches!(request.command, Command::Write | Command::WriteZeroes) => {
            Err((Errno::NoSpace, "the request reaches beyond the drive"))
        }
        _ => invalid("the request reaches beyond the drive"),
    }
}

/// The extents from `offset` on, as bytes and status: at most `most`, which cover at most `length` bytes and
/// [`MOST_PAGES`].
fn extents(engine: &Engine, offset: u64, length: u32, most: usize) -> Vec<(u32, u32)> {
    let page = engine.page_bytes();
    let end = (offset + u64::from(length)).min(offset + MOST_PAGES * page);
    let mut extents: Vec<(u32, u32)> = Vec::new();
    let mut at = offset;
    while at < end {
        let next = (at / page * page + page).min(end);
        let hole = if engine.is_mapped(at) { 0 } else { status::HOLE };
        let status = hole | if engine.is_zero(at) { status::ZERO } else { 0 };
        let bytes = (next - at) as u32;
        let full = extents.len() == most;
        match extents.last_mut() {
            Some(last) if last.1 == status => last.0 += bytes,
            _ if full => break,
            _ => extents.push((bytes, status)),
        }
        at = next;
    }
    extents
}
