//! Zone commands of a client.

use super::{PushDriver, PushError, arrival};
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::host::zones::{Zone, ZoneStatus};
use ssd_core::sim::zones::ZoneAction;
use ssd_core::units::Nanos;

/// The result of a zone command, or the status with which it is refused.
pub type ZoneAnswer<T> = Result<Result<T, ZoneStatus>, PushError>;

impl PushDriver {
    /// Check that `request` is a read or a flush if the device has zones.
    pub(super) fn check_zoned(&mut self, request: &Request) -> Result<(), String> {
        let shift = self.ssd().core.ftl.geo.sector_shift;
        let Some(zones) = self.ssd().zones() else { return Ok(()) };
        match request.op {
            Op::Flush => Ok(()),
            Op::Read => {
                let (first, pages) = (request.sector >> shift, request.sectors >> shift);
                let refused = |status: ZoneStatus| status.name().to_string();
                zones.read(first as u32, pages).map_err(refused)
            }
            op => Err(format!(
                "a {}, and the device has zones: use zones.append() and zones.reset()",
                op.name()
            )),
        }
    }

    /// Append `pages` pages to `zone`. Returns the number of the request and its first page.
    ///
    /// # Errors
    /// The device has no zones, or cannot continue; the inner error is the status of a refused command.
    pub fn zone_append(
        &mut self,
        zone: i64,
        pages: i64,
        at_ns: Option<i64>,
    ) -> ZoneAnswer<(u64, u32)> {
        let (zone, at) = (self.zone_number(zone)?, self.zone_time(at_ns)?);
        let bad = |_| PushError::Refused(format!("an append of {pages} pages"));
        let pages = u32::try_from(pages).map_err(bad)?;
        let begun = self.ssd().zone_append(Nanos(at), zone, pages).map_err(refused)?;
        Ok(begun.map(|(id, first)| {
            self.last_ns = at;
            (id.0, first.0)
        }))
    }

    /// Let `action` take effect on `zone` now. Returns the number of its request; only a reset has one.
    ///
    /// # Errors
    /// As [`PushDriver::zone_append`].
    pub fn zone_manage(&mut self, zone: i64, action: ZoneAction) -> ZoneAnswer<Option<u64>> {
        let (zone, at) = (self.zone_number(zone)?, self.zone_time(None)?);
        let done = self.ssd().zone_manage(Nanos(at), zone, action).map_err(refused)?;
        Ok(done.map(|id| id.map(|id| id.0)))
    }

    /// The zones.
    ///
    /// # Errors
    /// The device has none, or cannot continue.
    pub fn zones(&mut self) -> Result<&[Zone], PushError> {
        self.check_on()?;
        let none = "the device has no zones: set host.interface = \"zns\"";
        let zones = self.ssd().zones().ok_or(PushError::Refused(none.into()))?;
        Ok(zones.zones())
    }

    /// `zone` in 32 bits. A number out of range becomes one that no zone has, which the device refuses.
    fn zone_number(&mut self, zone: i64) -> Result<u32, PushError> {
        self.zones()?;
        Ok(u32::try_from(zone).unwrap_or(u32::MAX))
    }

    fn zone_time(&mut self, at_ns: Option<i64>) -> Result<u64, PushError> {
        let bad = |message: String| PushError::Refused(format!("a zone command: {message}"));
        let now = self.ssd().now().0;
        arrival(at_ns, self.last_ns, now).map_err(bad)
    }
}

fn refused(error: DeviceError) -> PushError {
    PushError::Refused(error.to_string())
}
