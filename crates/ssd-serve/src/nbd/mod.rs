//! The NBD protocol as bytes in and bytes out: fixed newstyle handshake, requests, simple and structured replies.
//!
//! Nothing here reads a socket, keeps a clock or knows a drive. Lengths that a client sends are bounded before anything
//! is allocated for them.

pub mod handshake;
pub mod reply;
pub mod request;

/// Most bytes of data in one request or reply: what the protocol lets a client assume.
pub const MAX_DATA: u32 = 32 << 20;

/// Most bytes of an option; a client that sends more is disconnected.
pub const MAX_OPTION: u32 = 64 << 10;

/// Why a server closes the connection to a client that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The client did not begin as the protocol says.
    #[error("the client's flags are {0:#x}; expected 0x1 (fixed newstyle), or 0x3 without zeros")]
    ClientFlags(u32),
    /// Bytes in the place of an option are not one.
    #[error("an option begins with {0:#018x}; expected \"IHAVEOPT\"")]
    OptionMagic(u64),
    /// An option is longer than any that a client needs.
    #[error("option {option} has {length} bytes; expected at most {MAX_OPTION}")]
    OptionLength {
        /// Its number.
        option: u32,
        /// Its length.
        length: u32,
    },
    /// The client requested, in the old way, an export that does not exist; there is no reply for that.
    #[error("there is no export {0:?}")]
    NoExport(String),
    /// Bytes in the place of a request are not one.
    #[error("a request begins with {0:#010x}; expected 0x25609513")]
    RequestMagic(u32),
}

/// Big-endian numbers off the front of a message.
struct Fields<'a> {
    left: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, left) = self.left.split_at_checked(bytes)?;
        self.left = left;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&mut self) -> Option<u64> {
        let (high, low) = (self.u32()?, self.u32()?);
        Some(u64::from(high) << 32 | u64::from(low))
    }
}
