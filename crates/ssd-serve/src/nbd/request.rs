//! Requests: 28 bytes each, and the data of a write after them.

use super::{Fields, ProtocolError};

/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;

const MAGIC: u32 = 0x2560_9513;

/// Flags of a command.
pub mod flags {
    /// Complete only when the data are durable.
    pub const FUA: u16 = 1;
    /// Write zeroes: do not make a hole.
    pub const NO_HOLE: u16 = 2;
    /// Read: reply in one chunk.
    pub const DF: u16 = 4;
    /// Block status: one extent only.
    pub const REQ_ONE: u16 = 8;
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Data out.
    Read,
    /// Data in.
    Write,
    /// The client leaves; there is no reply.
    Disconnect,
    /// Everything that has completed becomes durable.
    Flush,
    /// The data are not needed any more.
    Trim,
    /// The data will be read soon.
    Cache,
    /// Zeros without sending them.
    WriteZeroes,
    /// Where there are data.
    BlockStatus,
    /// A command that this protocol does not have, by number.
    Unknown(u16),
}

/// A request without its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Bits of [`flags`].
    pub flags: u16,
    /// The command.
    pub command: Command,
    /// The client's identifier; it is returned with the reply.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
}

impl Request {
    /// Bytes of data that follow the request.
    #[must_use]
    pub fn data_follows(&self) -> u32 {
        if self.command == Command::Write { self.length } else { 0 }
    }
}

/// The request at the front of `input`; `None` if it is incomplete.
///
/// # Errors
/// It is not a request, so what follows cannot be understood either.
pub fn parse(input: &[u8]) -> Result<Option<Request>, ProtocolError> {
    let mut fields = Fields { left: input };
    let Some(magic) = fields.u32() else { return Ok(None) };
    if magic != MAGIC {
        return Err(ProtocolError::RequestMagic(magic));
    }
    Ok(after_magic(&mut fields))
}

fn after_magic(fields: &mut Fields<'_>) -> Option<Request> {
    let (flags, command) = (fields.u16()?, fields.u16()?);
    let command = match command {
        0 => Command::Read,
        1 => Command::Write,
        2 => Command::Disconnect,
        3 => Command::Flush,
        4 => Command::Trim,
        5 => Command::Cache,
        6 => Command::WriteZeroes,
        7 => Command::BlockStatus,
        other => Command::Unknown(other),
    };
    let (cookie, offset, length) = (fields.u64()?, fields.u64()?, fields.u32()?);
    Some(Request { flags, command, cookie, offset, length })
}
