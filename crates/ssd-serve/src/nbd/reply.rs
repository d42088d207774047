//! Replies: structured ones if the client has negotiated them, or else simple ones.

const SIMPLE_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_MAGIC: u32 = 0x668e_33ef;
/// The flag of the last chunk of a reply.
const DONE: u16 = 1;

/// The error numbers of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Errno {
    /// The drive failed.
    Io = 5,
    /// The request is not valid.
    Invalid = 22,
    /// There is no space for the data.
    NoSpace = 28,
    /// The request is not supported.
    NotSupported = 95,
}

/// Types of chunks.
const NONE: u16 = 0;
const OFFSET_DATA: u16 = 1;
const BLOCK_STATUS: u16 = 5;
const ERROR: u16 = 0x8001;

/// Bits of the status of an extent of `base:allocation`.
pub mod status {
    /// It is not allocated.
    pub const HOLE: u32 = 1;
    /// It reads as zeros.
    pub const ZERO: u32 = 2;
}

/// The kind of replies to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replies {
    /// Whether the client has negotiated structured replies.
    pub structured: bool,
}

fn chunk(out: &mut Vec<u8>, (flags, kind): (u16, u16), cookie: u64, length: u32) {
    out.extend(STRUCTURED_MAGIC.to_be_bytes());
    out.extend(flags.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(length.to_be_bytes());
}

fn simple(out: &mut Vec<u8>, cookie: u64, error: u32) {
    out.extend(SIMPLE_MAGIC.to_be_bytes());
    out.extend(error.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

impl Replies {
    /// Append the reply to a command that succeeded and returns no data.
    pub fn done(self, out: &mut Vec<u8>, cookie: u64) {
        if self.structured {
            chunk(out, (DONE, NONE), cookie, 0);
        } else {
            simple(out, cookie, 0);
        }
    }

    /// Append the reply to a command that failed. `message` is for humans.
    pub fn failed(self, out: &mut Vec<u8>, cookie: u64, error: Errno, message: &str) {
        if !self.structured {
            return simple(out, cookie, error as u32);
        }
        // The protocol limits messages to 4096 bytes.
        let message = &message.as_bytes()[..message.len().min(1024)];
        chunk(out, (DONE, ERROR), cookie, 6 + message.len() as u32);
        out.extend((error as u32).to_be_bytes());
        out.extend((message.len() as u16).to_be_bytes());
        out.extend(message);
    }

    /// Append the reply to a read of `length` bytes from `offset` on. `fill` writes the data into its argument.
    ///
    /// # Errors
    /// The error of `fill`. Nothing is appended.
    pub fn data<E>(
        self,
        out: &mut Vec<u8>,
        cookie: u64,
        (offset, length): (u64, u32),
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = out.len();
        if self.structured {
            chunk(out, (DONE, OFFSET_DATA), cookie, length + 8);
            out.extend(offset.to_be_bytes());
        } else {
            simple(out, cookie, 0);
        }
        let data = out.len();
        out.resize(data + length as usize, 0);
        let filled = fill(&mut out[data..]);
        if filled.is_err() {
            out.truncate(start);
        }
        filled
    }

    /// Append the reply to a block status command: extents of `context`, each with its length in bytes and bits of
    /// [`status`].
    pub fn extents(self, out: &mut Vec<u8>, cookie: u64, context: u32, extents: &[(u32, u32)]) {
        assert!(self.structured, "a simple reply has no extents");
        chunk(out, (DONE, BLOCK_STATUS), cookie, 4 + 8 * extents.len() as u32);
        out.extend(context.to_be_bytes());
        for &(length, status) in extents {
            out.extend(length.to_be_bytes());
            out.extend(status.to_be_bytes());
        }
    }
}
