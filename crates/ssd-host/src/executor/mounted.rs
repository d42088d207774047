//! The file system on a drive, read from it page by page.

use super::play::SECTORS;
use crate::fs::{Fs, FsSettings, PAGE};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

/// Mount what is on the drive, which keeps contents.
///
/// # Errors
/// The drive fails, or the file system is damaged.
pub fn mounted(ssd: &mut Ssd, settings: FsSettings) -> Result<Fs, String> {
    let mut done = Vec::new();
    Fs::mount(settings, &mut |page| {
        let request = Request::new(Op::Read, u64::from(page) * SECTORS, SECTORS as u32);
        let id = ssd.submit(ssd.now(), &request, None).map_err(|error| error.to_string())?;
        while ssd.outstanding() > 0 {
            ssd.run_until(Nanos::NEVER, &mut done).map_err(|error| error.to_string())?;
        }
        done.clear();
        let data = ssd.take_data(id);
        data.filter(|data| data.len() == PAGE).ok_or_else(|| format!("page {page} has no contents"))
    })
}
