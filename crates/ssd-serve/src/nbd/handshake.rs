//! The handshake: the client negotiates options and selects the export.

use super::reply::Replies;
use super::{Fields, MAX_DATA, MAX_OPTION, ProtocolError};

const GREETING: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;
/// Zeros after the reply to `NBD_OPT_EXPORT_NAME`, unless the client has negotiated to omit them.
const ZEROES: usize = 124;

/// Option numbers.
const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const STARTTLS: u32 = 5;
const INFO: u32 = 6;
const GO: u32 = 7;
const STRUCTURED_REPLY: u32 = 8;
const LIST_META_CONTEXT: u32 = 9;
const SET_META_CONTEXT: u32 = 10;

/// Types of replies to options.
const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO_REPLY: u32 = 3;
const META_CONTEXT: u32 = 4;
const UNSUPPORTED: u32 = 0x8000_0001;
const POLICY: u32 = 0x8000_0002;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;

/// Types of information about an export.
const INFO_EXPORT: u16 = 0;
const INFO_NAME: u16 = 1;
const INFO_DESCRIPTION: u16 = 2;
const INFO_BLOCK_SIZE: u16 = 3;

/// Transmission flags: has flags, flush, FUA, TRIM, write zeroes, DF, multi-conn, cache.
const TRANSMISSION_FLAGS: u16 = 1 | 4 | 8 | 32 | 64 | 128 | 256 | 1024;

/// The only metadata context.
pub const ALLOCATION: &str = "base:allocation";
/// The number of this context.
pub const ALLOCATION_ID: u32 = 1;

/// The drive that clients see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// Its name. The empty name selects it, too.
    pub name: String,
    /// A description for humans.
    pub description: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The preferred block size: a page.
    pub page_bytes: u32,
}

/// The options that a client has negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NegotiatedOptions {
    /// The kind of replies.
    pub replies: Replies,
    /// Whether `base:allocation` was negotiated for block status.
    pub block_status: bool,
}

/// The state of the handshake after some input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandshakeStatus {
    /// The client has not selected an export.
    Open,
    /// The client has aborted it.
    Aborted,
    /// The client has selected the export. Requests follow.
    Done(NegotiatedOptions),
}

/// A handshake with one client.
pub struct Handshake<'a> {
    export: &'a Export,
    state: &'a mut State,
}

/// The state of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    greeted: bool,
    no_zeroes: bool,
    structured: bool,
    block_status: bool,
}

/// The greeting of the server.
#[must_use]
pub fn greeting() -> Vec<u8> {
    let mut out = GREETING.to_be_bytes().to_vec();
    out.extend(OPTION_MAGIC.to_be_bytes());
    out.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    out
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

impl<'a> Handshake<'a> {
    /// The handshake in `state` for `export`.
    pub fn new(export: &'a Export, state: &'a mut State) -> Handshake<'a> {
        Handshake { export, state }
    }

    /// Parse the complete options at the front of `input` and append the replies to `out`. Returns the number of parsed
    /// bytes, and the state of the handshake.
    ///
    /// # Errors
    /// The client violates the protocol. The replies in `out` may still be sent.
    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, HandshakeStatus), ProtocolError> {
        let mut fields = Fields { left: input };
        let consumed = |fields: &Fields<'_>| input.len() - fields.left.len();
        if !self.state.greeted {
            let Some(flags) = fields.u32() else { return Ok((0, HandshakeStatus::Open)) };
            if flags & !3 != 0 || flags & 1 == 0 {
                return Err(ProtocolError::ClientFlags(flags));
            }
            (self.state.greeted, self.state.no_zeroes) = (true, flags & 2 != 0);
        }
        loop {
            let before = consumed(&fields);
            let Some((option, data)) = next_option(&mut fields)? else {
                return Ok((before, HandshakeStatus::Open));
            };
            let status = self.answer(option, data, out)?;
            if status != HandshakeStatus::Open {
                return Ok((consumed(&fields), status));
            }
        }
    }

    fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStatus, ProtocolError> {
        let mut say = |kind: u32, data: &[u8]| reply(out, option, kind, data);
        match option {
            EXPORT_NAME => return self.export_name(data, out),
            ABORT => {
                say(ACK, &[]);
                return Ok(HandshakeStatus::Aborted);
            }
            LIST if data.is_empty() => {
                let name = self.export.name.as_bytes();
                let mut server = (name.len() as u32).to_be_bytes().to_vec();
                server.extend(name);
                say(SERVER, &server);
                say(ACK, &[]);
            }
            LIST => say(INVALID, b"NBD_OPT_LIST has no data"),
            INFO | GO => return Ok(self.info(option, data, out)),
            STRUCTURED_REPLY if data.is_empty() => {
                self.state.structured = true;
                say(ACK, &[]);
            }
            STRUCTURED_REPLY => say(INVALID, b"NBD_OPT_STRUCTURED_REPLY has no data"),
            LIST_META_CONTEXT | SET_META_CONTEXT => self.meta_context(option, data, out),
            STARTTLS => say(POLICY, b"the server has no TLS"),
            _ => say(UNSUPPORTED, b"the server does not support this option"),
        }
        Ok(HandshakeStatus::Open)
    }

    fn chosen(&self) -> HandshakeStatus {
        HandshakeStatus::Done(NegotiatedOptions {
            replies: Replies { structured: self.state.structured },
            block_status: self.state.block_status,
        })
    }

    fn is_export(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    /// `NBD_OPT_EXPORT_NAME`: there is no reply if the export does not exist.
    fn export_name(
        &self,
        name: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStatus, ProtocolError> {
        if !self.is_export(name) {
            return Err(ProtocolError::NoExport(String::from_utf8_lossy(name).into_owned()));
        }
        out.extend(self.export.bytes.to_be_bytes());
        out.extend(TRANSMISSION_FLAGS.to_be_bytes());
        if !self.state.no_zeroes {
            out.extend([0; ZEROES]);
        }
        Ok(self.chosen())
    }

    fn info(&self, option: u32, data: &[u8], out: &mut Vec<u8>) -> HandshakeStatus {
        let Some((name, requested)) = name_and_numbers(data) else {
            reply(
                out,
                option,
                INVALID,
                b"expected a name, a count and that many numbers of 2 bytes",
            );
            return HandshakeStatus::Open;
        };
        if !self.is_export(name) {
            let message = format!("the only export is {:?}", self.export.name);
            reply(out, option, UNKNOWN, message.as_bytes());
            return HandshakeStatus::Open;
        }
        let mut say = |kind: u16, parts: &[&[u8]]| {
            let mut info = kind.to_be_bytes().to_vec();
            parts.iter().for_each(|part| info.extend(*part));
            reply(out, option, INFO_REPLY, &info);
        };
        let export = self.export;
        if requested.contains(&INFO_NAME) {
            say(INFO_NAME, &[export.name.as_bytes()]);
        }
        if requested.contains(&INFO_DESCRIPTION) {
            say(INFO_DESCRIPTION, &[export.description.as_bytes()]);
        }
        let sizes = [1, export.page_bytes, MAX_DATA].map(u32::to_be_bytes);
        say(INFO_BLOCK_SIZE, &[&sizes[0], &sizes[1], &sizes[2]]);
        let (bytes, flags) = (export.bytes.to_be_bytes(), TRANSMISSION_FLAGS.to_be_bytes());
        say(INFO_EXPORT, &[&bytes, &flags]);
        reply(out, option, ACK, &[]);
        if option == GO { self.chosen() } else { HandshakeStatus::Open }
    }

    fn meta_context(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) {
        let mut say = |kind: u32, data: &[u8]| reply(out, option, kind, data);
        let sets = option == SET_META_CONTEXT;
        if sets {
            // The option replaces an earlier selection, even if it fails.
            self.state.block_status = false;
        }
        if !self.state.structured {
            return say(INVALID, b"negotiate structured replies first");
        }
        let Some((name, queries)) = name_and_queries(data) else {
            return say(INVALID, b"expected a name, a count and that many queries with lengths");
        };
        if !self.is_export(name) {
            return say(UNKNOWN, b"this export does not exist");
        }
        let asks = |query: &&[u8]| {
            *query == ALLOCATION.as_bytes() || (!sets && *query == ALLOCATION_NAMESPACE)
        };
        if queries.iter().any(asks) || (queries.is_empty() && !sets) {
            let mut context = if sets { ALLOCATION_ID } else { 0 }.to_be_bytes().to_vec();
            context.extend(ALLOCATION.as_bytes());
            say(META_CONTEXT, &context);
            self.state.block_status |= sets;
        }
        say(ACK, &[]);
    }
}

/// The query for all contexts in the namespace `base`.
const ALLOCATION_NAMESPACE: &[u8] = b"base:";

/// Parse an option. Returns its number and data, or `None` if it is incomplete.
fn next_option<'a>(fields: &mut Fields<'a>) -> Result<Option<(u32, &'a [u8])>, ProtocolError> {
    let Some(magic) = fields.u64() else { return Ok(None) };
    if magic != OPTION_MAGIC {
        return Err(ProtocolError::OptionMagic(magic));
    }
    let (Some(option), Some(length)) = (fields.u32(), fields.u32()) else { return Ok(None) };
    if length > MAX_OPTION {
        return Err(ProtocolError::OptionLength { option, length });
    }
    Ok(fields.take(length as usize).map(|data| (option, data)))
}

fn name<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let length = fields.u32()?;
    fields.take(length as usize)
}

/// Parse the data of an option as a name and a list of numbers; `None` if they are anything else.
fn name_and_numbers(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = Fields { left: data };
    let (name, count) = (name(&mut fields)?, fields.u16()?);
    let numbers: Option<Vec<u16>> = (0..count).map(|_| fields.u16()).collect();
    numbers.filter(|_| fields.left.is_empty()).map(|numbers| (name, numbers))
}

/// Parse the data of an option as a name and a list of queries; `None` if they are anything else.
fn name_and_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields { left: data };
    let (export, count) = (name(&mut fields)?, fields.u32()?);
    // A query has at least 4 bytes, so a count that is too large ends with the data.
    let queries: Option<Vec<&[u8]>> = (0..count).map(|_| name(&mut fields)).collect();
    queries.filter(|_| fields.left.is_empty()).map(|queries| (export, queries))
}
