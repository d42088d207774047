//! The log of power: cuts, mounts, and what each mount reads and erases.

use crate::nand::geometry::PageAddress;
use crate::units::Nanos;

/// What a line of the log of power is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerEvent {
    /// Power is cut.
    Cut,
    /// A mount reads pages of the checkpoint on a plane.
    Checkpoint,
    /// A mount reads out-of-band data of pages on a plane.
    Scan,
    /// A mount reads such data of pages of the checkpoint once more.
    Compare,
    /// A mount erases a flash block.
    Erase,
    /// A mount, after what it has read and erased.
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
#[derive(Clone, Copy, Debug)]
pub struct PowerRecord {
    /// What it is about.
    pub event: PowerEvent,
    /// Time of the cut, or of the mount it belongs to.
    pub start: Nanos,
    /// When the mount ended.
    pub end: Nanos,
    /// The plane; of an erase the flash block.
    pub place: Option<PageAddress>,
    /// Pages read.
    pub pages: Option<u64>,
    /// Power was cut again before the mount ended.
    pub interrupted: bool,
}
