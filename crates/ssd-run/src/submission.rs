//! What a client submits: a request on whole pages, at a time.

use ssd_core::config::DeviceConfig;
use ssd_core::host::request::{Op, Request};
use ssd_core::sim::ssd::MAX_SECTORS;
use ssd_core::units::SECTOR_BYTES;

/// A request on whole pages, at a time. Its numbers are checked when it is submitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Submission {
    /// What to do.
    pub op: Op,
    /// First page; a flush has none.
    pub lpn: i64,
    /// Number of pages.
    pub pages: i64,
    /// Write stream.
    pub stream: u8,
    /// Arrival time, ns; `None`: as early as possible.
    pub at_ns: Option<i64>,
}

impl Submission {
    /// The request for a device of this shape, or why it is not valid.
    pub(crate) fn request(&self, device: &DeviceConfig) -> Result<Request, String> {
        let &Submission { op, lpn, pages, stream, .. } = self;
        if op == Op::Flush {
            return Ok(Request { stream, ..Request::new(op, 0, 0) });
        }
        let most = if op == Op::Trim { u32::MAX } else { MAX_SECTORS };
        let page_sectors = (u64::from(device.page_bytes) / SECTOR_BYTES).cast_signed();
        let sectors = pages.checked_mul(page_sectors).and_then(|n| u32::try_from(n).ok());
        let sectors = sectors.filter(|&n| n > 0 && n <= most).ok_or_else(|| {
            let most = i64::from(most) / page_sectors;
            format!("{pages} pages; expected 1 to {most}")
        })?;
        let user = i64::from(device.user_pages);
        if lpn < 0 || lpn > user - pages {
            let last = user - 1;
            return Err(format!("{pages} pages from LPN {lpn} on; the device has LPN 0 to {last}"));
        }
        Ok(Request { stream, ..Request::new(op, (lpn * page_sectors).cast_unsigned(), sectors) })
    }
}
