//! The independent model of what pages hold: every version of every page, with the instant at which it was admitted. It
//! knows requests and nothing of flash.

use super::PAGE;
use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, Request};

/// What a page held from an instant on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) since: u64,
    /// 0: nothing.
    pub(crate) digest: u64,
    /// With contents: the bytes; zeros where nothing was written.
    pub(crate) bytes: Vec<u8>,
}

/// All versions of all pages.
pub(crate) struct History {
    pub(crate) pages: Vec<Vec<Version>>,
    bytes: bool,
    admitted: u64,
    /// Whether a page of a copy is an admission: if the device programs it, or may do so.
    numbers_copies: bool,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Digest that identifies write number `sequence` of page `lpn`.
fn stamp(lpn: u32, sequence: u64) -> u64 {
    let x = (u64::from(lpn) << 32 ^ sequence).wrapping_mul(GOLDEN);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1
}

/// FNV-1a, never 0.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step) | 1
}

impl History {
    /// Nothing written yet; `bytes` says whether contents are compared.
    pub(crate) fn new(user_pages: u32, bytes: bool, numbers_copies: bool) -> History {
        let page = if bytes { PAGE as usize * 512 } else { 0 };
        let nothing = Version { since: 0, digest: 0, bytes: vec![0; page] };
        History {
            pages: vec![vec![nothing]; user_pages as usize],
            bytes,
            admitted: 0,
            numbers_copies,
        }
    }

    /// Record that `r` is admitted at `at`, after everything admitted before.
    pub(crate) fn admit(&mut self, at: u64, r: &Request, data: Option<&[u8]>) {
        match r.op {
            Op::Write => self.write(at, r, data),
            Op::Trim => {
                let end = (r.sector + u64::from(r.sectors)) / PAGE;
                for lpn in r.sector.div_ceil(PAGE)..end {
                    let page = &mut self.pages[lpn as usize];
                    let bytes = vec![0; page[0].bytes.len()];
                    page.push(Version { since: at, digest: 0, bytes });
                }
            }
            Op::Read | Op::Flush | Op::Copy => {}
        }
    }

    /// Record a copy from `ranges`: every page of its destination holds what its source holds.
    pub(crate) fn copy(&mut self, at: u64, r: &Request, ranges: &[SourceRange]) {
        let of = |r: &SourceRange| r.sector / PAGE..(r.sector + r.sectors) / PAGE;
        for (lpn, source) in (r.sector / PAGE..).zip(ranges.iter().flat_map(of)) {
            let newest = self.pages[source as usize].last().expect("a first version").clone();
            self.admitted += u64::from(self.numbers_copies && newest.digest != 0);
            self.pages[lpn as usize].push(Version { since: at, ..newest });
        }
    }

    fn write(&mut self, at: u64, r: &Request, data: Option<&[u8]>) {
        let end = r.sector + u64::from(r.sectors);
        for lpn in r.sector / PAGE..end.div_ceil(PAGE) {
            self.admitted += 1;
            let (from, to) = (r.sector.max(lpn * PAGE), end.min((lpn + 1) * PAGE));
            let range = [(from - lpn * PAGE) * 512, (to - lpn * PAGE) * 512];
            let old = self.pages[lpn as usize].last().expect("a first version").clone();
            let next = if self.bytes {
                let mut bytes = old.bytes;
                let data = data.expect("a write carries its bytes");
                let given = (from - r.sector) as usize * 512..(to - r.sector) as usize * 512;
                bytes[range[0] as usize..range[1] as usize].copy_from_slice(&data[given]);
                Version { since: at, digest: fnv(&bytes), bytes }
            } else {
                let own = stamp(lpn as u32, self.admitted);
                let mixed = (old.digest ^ own ^ range[0] << 32 ^ range[1]).wrapping_mul(GOLDEN) | 1;
                let digest = if range == [0, PAGE * 512] { own } else { mixed };
                Version { since: at, digest, bytes: vec![] }
            };
            self.pages[lpn as usize].push(next);
        }
    }

    /// The versions of page `lpn` that were the newest at some instant of `from..=to`.
    fn newest_within(&self, lpn: u64, from: u64, to: u64) -> impl Iterator<Item = &Version> {
        let versions = &self.pages[lpn as usize];
        let first = versions.iter().rposition(|v| v.since <= from).unwrap_or(0);
        // Several versions of one instant: each was the newest for a moment.
        let start = versions[first].since;
        let first = if start == from {
            versions.partition_point(|v| v.since < from).max(1) - 1
        } else {
            first
        };
        versions[first..].iter().take_while(move |v| v.since <= to)
    }

    /// Whether a read over `from..=to` may have returned `digest`: some choice of visible versions explains it. `None`
    /// if there are too many choices to try.
    pub(crate) fn explains(&self, r: &Request, from: u64, to: u64, digest: u64) -> Option<bool> {
        let first = r.sector / PAGE;
        let end = (r.sector + u64::from(r.sectors)).div_ceil(PAGE);
        let mut sums = vec![0u64];
        for lpn in first..end {
            let part = lpn - first;
            let mut longer = Vec::new();
            for v in self.newest_within(lpn, from, to) {
                let mixed = (v.digest ^ part).wrapping_mul(GOLDEN);
                longer.extend(sums.iter().map(|s| s.wrapping_add(mixed)));
            }
            longer.sort_unstable();
            longer.dedup();
            if longer.len() > 1 << 16 {
                return None;
            }
            sums = longer;
        }
        Some(sums.binary_search(&digest).is_ok())
    }

    /// The first page of a read over `from..=to` whose bytes no visible version explains.
    pub(crate) fn foreign_page(&self, r: &Request, from: u64, to: u64, data: &[u8]) -> Option<u64> {
        let end = r.sector + u64::from(r.sectors);
        (r.sector / PAGE..end.div_ceil(PAGE)).find(|&lpn| {
            let (a, b) = (r.sector.max(lpn * PAGE), end.min((lpn + 1) * PAGE));
            let got = &data[(a - r.sector) as usize * 512..(b - r.sector) as usize * 512];
            let inside = (a - lpn * PAGE) as usize * 512..(b - lpn * PAGE) as usize * 512;
            !self.newest_within(lpn, from, to).any(|v| &v.bytes[inside.clone()] == got)
        })
    }
}
