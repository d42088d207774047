//! Zone commands to the timed machine.
//!
//! Commands take effect on the zones in the order of their submission. A write or append is a request like any other,
//! and a reset is a TRIM of its zone. The other commands take no time.

use crate::host::device::DeviceError;
use crate::host::request::{Completion, Op, Request, RequestId};
use crate::host::zones::{ZoneFailure, ZoneStatus, ZoneTable};
use crate::sim::front::{is_of_whole_pages, pages_of};
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos};
use std::collections::BTreeMap;

use super::Zones;

/// What a zone management command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneAction {
    /// Opens the zone explicitly.
    Open,
    /// Closes it.
    Close,
    /// Makes it full.
    Finish,
    /// Makes it empty.
    Reset,
    /// Takes a read-only zone offline.
    Offline,
    /// Lets the zone fail. No command of NVMe does this.
    Fail(ZoneFailure),
}

/// The answer to a zone command.
pub type ZoneReply<T> = Result<Result<T, ZoneStatus>, DeviceError>;

/// The zones of a timed machine.
pub(crate) struct TimedZones {
    pub(super) zones: Zones,
    /// The zone and the pages of each write that has not completed.
    writes: BTreeMap<u64, (u32, u32)>,
}

impl TimedZones {
    pub(crate) fn new(zones: Zones) -> TimedZones {
        TimedZones { zones, writes: BTreeMap::new() }
    }

    /// Check the zones; `quiet`: every request has arrived.
    pub(crate) fn audit(&self, ftl: &crate::ftl::Ftl, quiet: bool) -> Result<(), String> {
        self.zones.audit(ftl, quiet)
    }
}

impl Ssd {
    /// The zones; `None` if the device has no zones.
    #[must_use]
    pub fn zones(&self) -> Option<&ZoneTable> {
        self.zones.as_ref().map(|zones| zones.zones.table())
    }

    fn zones_of(&mut self) -> Result<(&mut TimedZones, &mut crate::ftl::Ftl), DeviceError> {
        let id = self.core.front.submitted;
        let reason = "a zone command, but host.interface = \"block\"".to_string();
        let zones = self.zones.as_deref_mut().ok_or(DeviceError::BadRequest { id, reason })?;
        Ok((zones, &mut self.core.ftl))
    }

    /// Submit `request` to a device with zones: a read, a write at a write pointer, or a flush.
    pub(crate) fn submit_to_zones(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError> {
        let id = self.core.front.accepts(&self.core.ftl.geo, (at, self.core.array.now), request)?;
        let pages = pages_of(&self.core.ftl.geo, request);
        let whole = is_of_whole_pages(&self.core.ftl.geo, request);
        let (zones, _) = self.zones_of()?;
        let refused = |status: ZoneStatus| DeviceError::Zone { id, status };
        let bad = |reason: &str| Err(DeviceError::BadRequest { id, reason: reason.into() });
        match request.op {
            Op::Flush => {}
            Op::Read => zones.zones.table.read(pages.first, pages.count).map_err(refused)?,
            Op::Write if !whole => {
                return bad("a write of a part of a page; zones accept only whole pages");
            }
            Op::Write => {
                let begun = zones.zones.begin_write(Lpn(pages.first), pages.count);
                let (zone, handle) = begun.map_err(refused)?;
                zones.writes.insert(id, (zone, pages.count));
                self.core.ledger.measured.zones.host_pages += u64::from(pages.count);
                return self.enter(at, &Request { stream: handle, ..*request }, data);
            }
            Op::Trim => return bad("a TRIM; reset the zone instead"),
            Op::Copy => return bad("a copy; zones do not support it"),
        }
        self.enter(at, request, data)
    }

    /// Append `pages` pages to `zone`, to arrive at `at`. Returns the request and its first page.
    ///
    /// # Errors
    /// As [`crate::host::device::Device::submit`]; the inner error is the status of a refused command.
    pub fn zone_append(&mut self, at: Nanos, zone: u32, pages: u32) -> ZoneReply<(RequestId, Lpn)> {
        let shift = self.core.ftl.geo.sector_shift;
        let probe = Request::new(Op::Write, 0, pages.saturating_mul(1 << shift));
        let (zones, _) = self.zones_of()?;
        if let Err(status) = zones.zones.table.zone(zone) {
            return Ok(Err(status));
        }
        if pages == 0 {
            return Ok(Err(ZoneStatus::InvalidField));
        }
        let id = self.core.front.accepts(&self.core.ftl.geo, (at, self.core.array.now), &probe)?;
        let (zones, _) = self.zones_of()?;
        let (first, stream) = match zones.zones.begin_append(zone, pages) {
            Ok(begun) => begun,
            Err(status) => return Ok(Err(status)),
        };
        zones.writes.insert(id, (zone, pages));
        self.core.ledger.measured.zones.host_pages += u64::from(pages);
        let request = Request { sector: u64::from(first.0) << shift, stream, ..probe };
        Ok(Ok((self.enter(at, &request, None)?, first)))
    }

    /// Let `action` take effect on `zone` now. Returns the TRIM of a reset, which arrives at `at`.
    ///
    /// # Errors
    /// As [`Ssd::zone_append`].
    pub fn zone_manage(
        &mut self,
        at: Nanos,
        zone: u32,
        action: ZoneAction,
    ) -> ZoneReply<Option<RequestId>> {
        let (timed, ftl) = self.zones_of()?;
        let zones = &mut timed.zones;
        let done = match action {
            ZoneAction::Open => zones.table.open(zone),
            ZoneAction::Close => zones.table.close(zone),
            ZoneAction::Finish => zones.finish(zone, ftl),
            ZoneAction::Reset => zones.reset(zone, ftl),
            ZoneAction::Offline => zones.table.offline(zone),
            ZoneAction::Fail(failure) => zones.fail(zone, failure, ftl),
        };
        if let Err(status) = done {
            return Ok(Err(status));
        }
        if action != ZoneAction::Reset {
            return Ok(Ok(None));
        }
        let (first, pages) = (zones.first_page(zone), zones.table.zone_pages());
        let shift = ftl.geo.sector_shift;
        self.core.ledger.measured.zones.resets += 1;
        let trim = Request::new(Op::Trim, u64::from(first.0) << shift, pages << shift);
        Ok(Ok(Some(self.enter(at, &trim, None)?)))
    }

    /// Note that the requests of `done` have completed.
    pub(crate) fn zone_writes_complete(&mut self, done: &[Completion]) {
        let Some(timed) = self.zones.as_deref_mut() else { return };
        for completion in done.iter().filter(|completion| completion.op == Op::Write) {
            let (zone, pages) = timed.writes.remove(&completion.id.0).expect("it has a zone");
            timed.zones.write_completes(zone, pages, &self.core.ftl);
        }
    }
}
