//! The status of a zone command.

use serde::Serialize;

/// Why a zone command was refused: the status code type and the status code of NVMe, as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize)]
#[repr(u16)]
pub enum ZoneStatus {
    /// The command has no pages.
    InvalidField = 0x002,
    /// Writes of the zone are in flight.
    CommandSequenceError = 0x00c,
    /// There is no such zone.
    LbaOutOfRange = 0x080,
    /// The pages reach beyond the zone.
    ZoneBoundaryError = 0x1b8,
    /// The zone is full.
    ZoneIsFull = 0x1b9,
    /// The zone is read-only.
    ZoneIsReadOnly = 0x1ba,
    /// The zone is offline.
    ZoneIsOffline = 0x1bb,
    /// The write does not begin at the write pointer.
    ZoneInvalidWrite = 0x1bc,
    /// The limit of active zones is reached.
    TooManyActiveZones = 0x1bd,
    /// The limit of open zones is reached, and none of them may be closed.
    TooManyOpenZones = 0x1be,
    /// The state of the zone does not allow the command.
    InvalidZoneStateTransition = 0x1bf,
}

impl ZoneStatus {
    /// All of them, in the order of their numbers.
    pub const ALL: [ZoneStatus; 11] = [
        ZoneStatus::InvalidField,
        ZoneStatus::CommandSequenceError,
        ZoneStatus::LbaOutOfRange,
        ZoneStatus::ZoneBoundaryError,
        ZoneStatus::ZoneIsFull,
        ZoneStatus::ZoneIsReadOnly,
        ZoneStatus::ZoneIsOffline,
        ZoneStatus::ZoneInvalidWrite,
        ZoneStatus::TooManyActiveZones,
        ZoneStatus::TooManyOpenZones,
        ZoneStatus::InvalidZoneStateTransition,
    ];

    /// NVMe's status code type in the upper byte, its status code in the lower.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// Name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ZoneStatus::InvalidField => "invalid field in command",
            ZoneStatus::CommandSequenceError => "command sequence error",
            ZoneStatus::LbaOutOfRange => "LBA out of range",
            ZoneStatus::ZoneBoundaryError => "zone boundary error",
            ZoneStatus::ZoneIsFull => "zone is full",
            ZoneStatus::ZoneIsReadOnly => "zone is read-only",
            ZoneStatus::ZoneIsOffline => "zone is offline",
            ZoneStatus::ZoneInvalidWrite => "zone invalid write",
            ZoneStatus::TooManyActiveZones => "too many active zones",
            ZoneStatus::TooManyOpenZones => "too many open zones",
            ZoneStatus::InvalidZoneStateTransition => "invalid zone state transition",
        }
    }
}
