//! The NBD protocol: fixed newstyle handshake, requests, simple and structured replies.
//!
//! This module converts bytes and uses no socket, clock or drive. Lengths that a client sends are checked before memory
//! is allocated for them.

pub mod handshake;
pub mod reply;
pub mod request;

/// The largest number of bytes of data in a request or reply. The protocol lets clients assume this limit.
pub const MAX_DATA: u32 = 32 << 20;

/// The largest length of an option. A client that sends a longer one is disconnected.
pub const MAX_OPTION: u32 = 64 << 10;

/// A violation of the protocol, after which the server disconnects the client.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The flags of the client are not valid.
    #[error("the client's flags are {0:#x}; expected 0x1 (fixed newstyle), or 0x3 without zeros")]
    ClientFlags(u32),
    /// An option does not begin with its magic number.
    #[error("an option begins with {0:#018x}; expected \"IHAVEOPT\"")]
    OptionMagic(u64),
    /// An option is longer than [`MAX_OPTION`].
    #[error("option {option} has {length} bytes; expected at most {MAX_OPTION}")]
    OptionLength {
        /// Its number.
        option: u32,
        /// Its length.
        length: u32,
    },
    /// The client requested an unknown export with `NBD_OPT_EXPORT_NAME`, which has no error reply.
    #[error("there is no export {0:?}")]
    NoExport(String),
    /// A request does not begin with its magic number.
    #[error("a request begins with {0:#010x}; expected 0x25609513")]
    RequestMagic(u32),
}

/// A parser of the big-endian fields of a message.
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
