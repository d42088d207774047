//! The zones of a machine without time, and the host that writes them.

use super::Zones;
use super::host::ZoneHost;
use crate::config::Config;
use crate::metrics::counters::ZoneCounts;

/// The zones of a functional machine, and the host that writes them.
#[derive(Clone)]
pub(crate) struct ZonesInUse {
    pub(super) zones: Zones,
    pub(super) host: ZoneHost,
    pub(crate) counts: ZoneCounts,
}

impl ZonesInUse {
    /// Empty zones; `None` if the interface is another.
    pub(crate) fn new(config: &Config) -> Option<Box<ZonesInUse>> {
        let zones = Zones::new(config)?;
        let host = ZoneHost::new(config, zones.table());
        Some(Box::new(ZonesInUse { zones, host, counts: ZoneCounts::default() }))
    }

    /// The zones and the host, for a machine with time.
    pub(super) fn into_parts(self) -> (Zones, ZoneHost) {
        (self.zones, self.host)
    }
}
