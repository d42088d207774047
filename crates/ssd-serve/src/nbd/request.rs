//! Requests: a header of 28 bytes, followed by the data of a write.

use super::{Fields, ProtocolError};

/// Length of the header of a request.
pub const REQUEST_BYTES: usize = 28;

const MAGIC: u32 = 0x2560_9513;

/// Flags of a command.
pub mod flags {
    /// Complete when the data are durable.
    pub const FUA: u16 = 1;
    /// Write zeroes: do not deallocate.
    pub const NO_HOLE: u16 = 2;
    /// Read: reply in one chunk.
    pub const DF: u16 = 4;
    /// Block status: one extent only.
    pub const REQ_ONE: u16 = 8;
}

/// The type of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Disconnect; there is no reply.
    Disconnect,
    /// Make all completed writes durable.
    Flush,
    /// Trim: the data are no longer needed.
    Trim,
    /// Read ahead: the data will be needed soon.
    Cache,
    /// Write zeros, which are not sent.
    WriteZeroes,
    /// Return the extents of a range.
    BlockStatus,
    /// A type that the server does not support, by number.
    Unknown(u16),
}

/// The header of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Bits of [`flags`].
    pub flags: u16,
    /// The command.
    pub command: Command,
    /// The identifier of the client for the request, which the reply repeats.
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

/// Parse the header of a request at the front of `input`; `None` if it is incomplete.
///
/// # Errors
/// The input is not a request.
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
