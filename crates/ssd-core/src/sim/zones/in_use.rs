//! The zones of the functional machine, and the host that writes to them.

use super::Zones;
use super::host::ZoneHost;
use crate::config::Config;
use crate::metrics::counters::ZoneCounts;

/// The zones of a functional machine, and the host that writes to them.
#[derive(Clone)]
pub(crate) struct ZonesInUse {
    pub(super) zones: Zones,
    pub(super) host: ZoneHost,
    pub(crate) counts: ZoneCounts,
}

impl ZonesInUse {
    /// Empty zones; `None` if the device has no zones.
    pub(crate) fn new(config: &Config) -> Option<Box<ZonesInUse>> {
        let zones = Zones::new(config)?;
        let host = ZoneHost::new(config, zones.table());
        Some(Box::new(ZonesInUse { zones, host, counts: ZoneCounts::default() }))
    }

    /// The zones and the host, for the timed machine.
    pub(super) fn into_parts(self) -> (Zones, ZoneHost) {
        (self.zones, self.host)
    }
}
