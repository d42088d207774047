//! What a client submits: a request on whole pages, at a time.

use ssd_core::config::DeviceConfig;
use ssd_core::host::copy::{self, SourceRange};
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
    /// The first page of the source of a copy.
    pub source: i64,
    /// Write stream.
    pub stream: u8,
    /// Bits of [`ssd_core::host::request::flags`].
    pub flags: u8,
    /// Arrival time, ns; `None`: as early as possible.
    pub at_ns: Option<i64>,
}

impl Submission {
    /// A submission of stream 0 without flags, as early as possible.
    #[must_use]
    pub const fn new(op: Op, lpn: i64, pages: i64) -> Submission {
        Submission { op, lpn, pages, source: 0, stream: 0, flags: 0, at_ns: None }
    }

    /// What the request brings: the source range of a copy.
    ///
    /// # Errors
    /// The range is not valid.
    pub(crate) fn brings(&self, device: &DeviceConfig) -> Result<Option<Vec<u8>>, String> {
        if self.op != Op::Copy {
            return Ok(None);
        }
        let request = Submission { lpn: self.source, ..*self }.request(device)?;
        let range = SourceRange { sector: request.sector, sectors: u64::from(request.sectors) };
        Ok(Some(copy::encode(&[range])))
    }

    /// The request for a device of this shape, or why it is not valid.
    pub(crate) fn request(&self, device: &DeviceConfig) -> Result<Request, String> {
        let &Submission { op, lpn, pages, stream, flags, .. } = self;
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
        Ok(Request {
            stream,
            flags,
            ..Request::new(op, (lpn * page_sectors).cast_unsigned(), sectors)
        })
    }
}
