//! The counters of a drive since it was first served, defined as in the SMART log of a real drive.

use serde::{Deserialize, Serialize};
use ssd_core::config::Config;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::SECTOR_BYTES;

/// Counters that persist over restarts of the server.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Life {
    /// Bytes of the sectors named by reads.
    pub host_read_bytes: u64,
    /// Bytes of the sectors named by writes.
    pub host_written_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the flash pages that were read, for any cause.
    pub media_read_bytes: u64,
    /// Bytes of the flash pages that were programmed, for any cause.
    pub media_written_bytes: u64,
    /// Time with an outstanding request, ns of the drive's time.
    pub busy_ns: u64,
    /// Time for which it was served, ns of the drive's time.
    pub on_ns: u64,
    /// How many of its servers have ended.
    pub ends: u64,
    /// How many of these ends were power cuts.
    pub cuts: u64,
}

impl Life {
    /// The drive gets a request.
    pub(crate) fn request(&mut self, request: &Request) {
        let bytes = u64::from(request.sectors) * SECTOR_BYTES;
        let counts = match request.op {
            Op::Read => Some((&mut self.reads, &mut self.host_read_bytes)),
            Op::Write => Some((&mut self.writes, &mut self.host_written_bytes)),
            _ => None,
        };
        if let Some((requests, total)) = counts {
            (*requests, *total) = (*requests + 1, *total + bytes);
        }
    }

    /// These counters plus those of `ssd`, whose pages have `page` bytes, since it was restored.
    pub(crate) fn with(self, ssd: &Ssd, page: u64) -> Life {
        let flash = &ssd.measured().flash;
        Life {
            media_read_bytes: self.media_read_bytes + page * flash.reads.iter().sum::<u64>(),
            media_written_bytes: self.media_written_bytes + page * flash.all_programs(),
            on_ns: self.on_ns + ssd.now().0,
            ..self
        }
    }

    /// Count the end of a server, by a power cut (`cut`) or not.
    #[must_use]
    pub fn ended(self, cut: bool) -> Life {
        Life { ends: self.ends + 1, cuts: self.cuts + u64::from(cut), ..self }
    }
}

/// The wear of a drive, in percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WearState {
    /// Mean erases of a block, in percent of `wear.endurance`.
    pub used: u64,
    /// Spare blocks that are left, in percent of those at the start.
    pub spare: u64,
}

/// The wear of `ssd`; without `wear.endurance` it has none. Blocks that are bad from the factory count for nothing.
pub(crate) fn worn(config: &Config, ssd: &Ssd) -> WearState {
    let ftl = &ssd.core.ftl;
    let endurance = u64::from(config.wear.endurance);
    if endurance == 0 {
        return WearState { used: 0, spare: 100 };
    }
    let erases = ftl.life_erases();
    let total: u64 = erases.iter().map(|&count| u64::from(count)).sum();
    let used = 100 * total / (erases.len() as u64 * endurance);
    let (pages, bad) = (u64::from(ftl.geo.user_pages), ftl.bad_blocks());
    let needed = pages.div_ceil(u64::from(ftl.blocks.pages_per_block));
    let spare = (ftl.blocks.len() as u64 - bad.factory).saturating_sub(needed);
    WearState { used, spare: 100 * spare.saturating_sub(bad.worn_out) / spare.max(1) }
}
