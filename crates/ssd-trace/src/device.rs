//! The geometry of a device that addresses depend on.

use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;

/// Checks that addresses can be computed with this geometry.
pub(crate) fn check(page_bytes: u32, user_pages: u32) -> Result<(), SourceError> {
    if page_bytes == 0 || !u64::from(page_bytes).is_multiple_of(SECTOR_BYTES) {
        let text = format!("device.page_size is {page_bytes} bytes; it must be a multiple of 512");
        return Err(SourceError(text));
    }
    if user_pages == 0 {
        let remedy = "lower device.over_provisioning or enlarge the device";
        return Err(SourceError(format!("the device has no user pages; {remedy}")));
    }
    Ok(())
}
