//! Power cuts and mounts in the logs.

use crate::ftl::recover::Found;
use crate::metrics::report::Recovery;
use crate::sim::power_log::{PowerEvent, PowerRecord};
use crate::sim::ssd::Ssd;
use crate::units::{Nanos, PlaneId};

impl Ssd {
    /// Power is cut now: the operations under way are logged as far as they have come.
    pub(super) fn log_cut(&mut self) {
        let now = self.core.array.now;
        if self.core.ledger.operations.is_none() {
            return;
        }
        for unit in 0..self.core.array.units.len() {
            if let Some(under_way) = self.core.array.under_way(unit) {
                self.log_cut_off(under_way);
            }
        }
        self.log_power(PowerRecord {
            event: PowerEvent::Cut,
            start: now,
            end: now,
            place: None,
            pages: None,
            interrupted: false,
        });
    }

    /// What a mount has `found`, and how it ended.
    pub(super) fn log_mount(&mut self, found: &Found, recovery: &Recovery) {
        debug_assert!(recovery.cut_at <= self.core.array.now.0, "a mount before its cut");
        if self.core.ledger.operations.is_none() {
            return;
        }
        let mount = PowerRecord {
            event: PowerEvent::Mount,
            start: Nanos(recovery.cut_at),
            end: Nanos(recovery.cut_at + recovery.time),
            place: None,
            pages: None,
            interrupted: recovery.interrupted,
        };
        let planes = self.core.ftl.geo.planes;
        let each = recovery.checkpoint_pages / u64::from(planes);
        let checkpoint = vec![each; planes as usize];
        let reads = [
            (PowerEvent::Checkpoint, &checkpoint),
            (PowerEvent::Scan, &found.scanned),
            (PowerEvent::Compare, &found.compared),
        ];
        for (event, by_plane) in reads {
            for (plane, &pages) in (0..).map(PlaneId).zip(by_plane) {
                if pages > 0 {
                    let place = Some(self.core.ftl.geo.place_on(plane, (0, 0)));
                    self.log_power(PowerRecord { event, place, pages: Some(pages), ..mount });
                }
            }
        }
        for &(block, plane) in &found.erased_blocks {
            let first = self.core.ftl.geo.page_on(block, plane, 0);
            let place = Some(self.core.ftl.geo.place(first));
            self.log_power(PowerRecord { event: PowerEvent::Erase, place, ..mount });
        }
        self.log_power(mount);
    }

    fn log_power(&mut self, record: PowerRecord) {
        debug_assert!(record.start <= record.end, "backwards: {record:?}");
        let log = self.core.ledger.operations.as_mut().expect("the caller has checked");
        log.power.push(record);
    }
}
