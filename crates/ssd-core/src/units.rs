//! Typed ids and units: times and addresses of different kinds cannot be mixed up.
//!
//! Times are integer nanoseconds, sizes are bytes, addresses are pages or 512-byte sectors.

use serde::{Deserialize, Serialize};

/// Bytes in one host sector, the unit of host addresses.
pub const SECTOR_BYTES: u64 = 512;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);
        impl $name {
            /// No id at all.
            pub const NONE: $name = $name(u32::MAX);
            /// The id as an index into a `Vec`.
            #[inline(always)]
            #[must_use]
            pub const fn at(self) -> usize { self.0 as usize }
        }
    };
}

id!(/// Logical page number, counted in flash pages from the start of the device.
    Lpn);
id!(/// Physical page number: erase unit times pages per erase unit plus page within it.
    Ppn);
id!(/// Erase unit (a flash block, or a superblock of one block per plane of its pool).
    BlockId);
id!(/// Plane, counted over the device: `(channel * chips + chip) * planes + plane`.
    PlaneId);
id!(/// Busy unit: what one operation occupies (channel, chip or plane).
    UnitId);
id!(/// Space pool: the planes that share free blocks and are collected together.
    PoolId);
id!(/// Channel of the device.
    ChannelId);
id!(/// Slot of an operation in the controller; while it carries the newest data of a page, the map names it.
    OpSlot);
id!(/// Slot of an update of a parity group.
    UpdateSlot);
id!(/// Slot of a reconstruction: a page of a parity group that is computed from the others.
    RecoverySlot);
id!(/// Slot of a request that has arrived and not completed.
    RequestSlot);

/// A point in simulated time, or a length of it, in nanoseconds.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than every event.
    pub const NEVER: Nanos = Nanos(u64::MAX);
    /// From microseconds.
    #[must_use]
    pub const fn micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }
    /// From milliseconds.
    #[must_use]
    pub const fn millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }
    /// From seconds.
    #[must_use]
    pub const fn secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }
}
impl std::ops::Add for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}
impl std::ops::Sub for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn sub(self, other: Nanos) -> Nanos {
        debug_assert!(self.0 >= other.0, "time runs backwards: {} - {}", self.0, other.0);
        Nanos(self.0 - other.0)
    }
}
impl std::ops::AddAssign for Nanos {
    #[inline(always)]
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}
impl std::ops::Mul<u64> for Nanos {
    type Output = Nanos;
    #[inline(always)]
    fn mul(self, n: u64) -> Nanos {
        Nanos(self.0 * n)
    }
}

/// Exact division of any `u32` by a number fixed at start-up, without a division or a branch.
///
/// `q = (floor((2^64 - 1) / d) * (n + 1)) >> 64` is exact for every `n < 2^32` and `1 <= d < 2^32` (Robison,
/// "N-bit unsigned division via N-bit multiply-add", ARITH 2005).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divisor {
    magic: u64,
    d: u32,
}

impl Divisor {
    /// For divisor `d >= 1`.
    #[must_use]
    pub fn new(d: u32) -> Divisor {
        assert!(d > 0, "a divisor is at least 1");
        Divisor { magic: u64::MAX / u64::from(d), d }
    }
    /// The divisor itself.
    #[inline(always)]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.d
    }
    /// `n / d`.
    #[inline(always)]
    #[must_use]
    pub const fn div(self, n: u32) -> u32 {
        ((self.magic as u128 * (n as u64 + 1) as u128) >> 64) as u32
    }
    /// `(n / d, n % d)`.
    #[inline(always)]
    #[must_use]
    pub const fn div_rem(self, n: u32) -> (u32, u32) {
        let q = self.div(n);
        (q, n - q * self.d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisor_is_exact_at_the_edges() {
        for d in [1u32, 2, 3, 5, 7, 64, 127, 128, 384, 65_537, u32::MAX - 1, u32::MAX] {
            let by = Divisor::new(d);
            let multiples = [1, 2, 3, u32::MAX / d].map(|k| d.saturating_mul(k));
            let around = multiples.into_iter().flat_map(|m| [m - 1, m, m.saturating_add(1)]);
            for n in around.chain([0, 1, u32::MAX - 1, u32::MAX, 1 << 31]) {
                assert_eq!(by.div_rem(n), (n / d, n % d), "{n} / {d}");
            }
        }
    }
}
