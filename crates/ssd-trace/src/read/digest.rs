//! Digest of a sequence of requests.

use ssd_core::host::request::TimedRequest;

/// FNV-1a over 64-bit words instead of bytes, with a shift after each step so that high bits reach low bits (plain
/// FNV-1a needs 22 multiplications per request).
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    /// Creates the digest of no requests.
    pub(crate) const fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a request as three words, or four if it has a stream.
    #[inline(always)]
    pub(crate) fn add(&mut self, timed: &TimedRequest) {
        let request = &timed.request;
        let kind = u64::from(request.flags) << 8 | request.op as u64;
        self.word(timed.at.0);
        self.word(request.sector);
        self.word(u64::from(request.volume) << 48 | u64::from(request.sectors) << 16 | kind);
        if request.stream != 0 {
            self.word(1 << 63 | u64::from(request.stream));
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 32;
    }

    /// Returns the digest as a number.
    pub(crate) const fn value(self) -> u64 {
        self.0
    }

    /// Returns the digest as 16 hexadecimal digits.
    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}
