//! The log of power: cuts, mounts, and what each mount reads and erases.

use crate::ftl::recover::{MountFindings, first_pages};
use crate::metrics::report::Recovery;
use crate::nand::geometry::PageAddress;
use crate::sim::core::Core;
use crate::units::{Nanos, PlaneId};

/// What a line of the log of power describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerEvent {
    /// Power is cut.
    Cut,
    /// A mount reads pages of the checkpoint on a plane.
    Checkpoint,
    /// A mount reads out-of-band data of pages on a plane.
    Scan,
    /// A mount reads out-of-band data of checkpoint pages once more, to compare them.
    Compare,
    /// A mount erases a flash block.
    Erase,
    /// A mount as a whole, after its reads and erases.
    Mount,
}

impl PowerEvent {
    /// Name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PowerEvent::Cut => "cut",
            PowerEvent::Checkpoint => "checkpoint",
            PowerEvent::Scan => "scan",
            PowerEvent::Compare => "compare",
            PowerEvent::Erase => "erase",
            PowerEvent::Mount => "mount",
        }
    }
}

/// One line of the log of power.
#[derive(Clone, Debug)]
pub struct PowerRecord {
    /// What it is about.
    pub event: PowerEvent,
    /// Time of the cut, or of the mount it belongs to.
    pub start: Nanos,
    /// When the mount ended.
    pub end: Nanos,
    /// The plane; for an erase, the flash block.
    pub place: Option<PageAddress>,
    /// Pages read, by type; of other events none.
    pub pages: Vec<u64>,
    /// Whether power was cut again before the mount ended.
    pub interrupted: bool,
}

/// Records that have not been drained.
#[derive(Default)]
pub(crate) struct PowerLog {
    records: Vec<PowerRecord>,
}

impl PowerLog {
    /// Power is cut at `now`.
    pub(crate) fn log_cut(&mut self, now: Nanos) {
        self.push(PowerRecord {
            event: PowerEvent::Cut,
            start: now,
            end: now,
            place: None,
            pages: Vec::new(),
            interrupted: false,
        });
    }

    /// Log the `findings` of a mount, and how it ended.
    pub(crate) fn log_mount(&mut self, core: &Core, findings: &MountFindings, recovery: &Recovery) {
        debug_assert!(recovery.cut_at <= core.array.now.0, "a mount before its cut");
        let geo = &core.ftl.geo;
        let mount = PowerRecord {
            event: PowerEvent::Mount,
            start: Nanos(recovery.cut_at),
            end: Nanos(recovery.cut_at + recovery.time),
            place: None,
            pages: Vec::new(),
            interrupted: recovery.interrupted,
        };
        let per_plane = recovery.checkpoint_pages / u64::from(geo.planes);
        let checkpoint = vec![first_pages(geo, per_plane); geo.planes as usize];
        for (event, by_plane) in [
            (PowerEvent::Checkpoint, &checkpoint),
            (PowerEvent::Scan, &findings.scanned),
            (PowerEvent::Compare, &findings.compared),
        ] {
            for (plane, reads) in (0..).map(PlaneId).zip(by_plane) {
                let pages = reads[..geo.types as usize].to_vec();
                if pages.iter().any(|&pages| pages > 0) {
                    let place = Some(geo.place_on(plane, (0, 0)));
                    self.push(PowerRecord { event, place, pages, ..mount.clone() });
                }
            }
        }
        for &(block, plane) in &findings.erased_blocks {
            let place = Some(geo.place(geo.page_on(block, plane, 0)));
            self.push(PowerRecord { event: PowerEvent::Erase, place, ..mount.clone() });
        }
        self.push(mount);
    }

    fn push(&mut self, record: PowerRecord) {
        debug_assert!(record.start <= record.end, "backwards: {record:?}");
        self.records.push(record);
    }

    /// Return the records of cuts and mounts, in order.
    pub(crate) fn drain(&mut self, out: &mut Vec<PowerRecord>) {
        out.append(&mut self.records);
    }
}
