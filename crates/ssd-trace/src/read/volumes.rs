//! The volumes of a trace: which are used, how many records each has, and their positions if all are used.

use crate::config::VolumeKey;
use crate::read::formats::Event;
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::SourceError;
use std::collections::BTreeMap;

/// Which volumes of a trace are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VolumeSelection {
    /// The only volume; a second one is an error.
    Only,
    /// The volume with this number.
    One(u64),
    /// Each volume separately.
    Each,
    /// All volumes together, each in a separate address range.
    All,
}

impl VolumeSelection {
    /// Returns the choice in `workload.volume`.
    pub(crate) fn of(key: Option<VolumeKey>) -> VolumeSelection {
        match key {
            None => VolumeSelection::Only,
            Some(VolumeKey::One(number)) => VolumeSelection::One(number),
            Some(VolumeKey::Every(_)) => VolumeSelection::All,
        }
    }
}

/// Numbers below this are counted in a list, which is faster.
const SMALL: u64 = 1 << 16;
/// Maximum number of volumes with larger numbers.
const MOST: usize = 1 << 16;

/// Volumes that are used together, in order of their first record. The stream of a request is a number in this order
/// until [`Tenants::ranks`] renumbers it.
#[derive(Default)]
pub(crate) struct Tenants(Vec<u64>);

/// The numbers of volumes that are used together: those of the trace, or, for device numbers that are too large for a
/// request, numbers from 0 up in the order of their first records.
#[derive(Default)]
pub(crate) struct Numbers {
    /// Whether some volume has its own number.
    own: bool,
    devices: BTreeMap<u64, u16>,
}

impl Numbers {
    /// Returns the request of an event that [`Tenants::place`] has moved, with the address within the volume and the
    /// number of the volume.
    ///
    /// # Errors
    /// Some numbers are above 65,535, and others are not.
    pub(crate) fn request(&mut self, event: &Event, at: u64) -> Result<TimedRequest, SourceError> {
        let volume = u16::try_from(event.volume).unwrap_or_else(|_| {
            *self.devices.entry(event.volume).or_insert(u16::from(event.stream))
        });
        self.own |= event.volume <= u64::from(u16::MAX);
        if self.own && !self.devices.is_empty() {
            return Err(SourceError(
                "some volumes have numbers above 65535, and others below; set workload.volume to the one to use"
                    .to_owned(),
            ));
        }
        let sector = event.sector & ((1 << APART) - 1);
        let mut timed = Event { sector, stream: 0, ..*event }.request(at);
        timed.request.volume = volume;
        Ok(timed)
    }

    /// Returns a note for readers of the results: the new numbers, and the `names` of the devices.
    pub(crate) fn note(&self, file: &str, names: &BTreeMap<u64, String>) -> Option<String> {
        let name = |device: &u64| names.get(device).cloned().unwrap_or_else(|| device.to_string());
        let mut devices: Vec<_> = self.devices.iter().map(|(device, at)| (at, device)).collect();
        devices.sort_unstable();
        let notes = devices.into_iter().map(|(at, device)| format!("{at} is {}", name(device)));
        let names = notes.collect::<Vec<_>>().join("; ");
        (!names.is_empty()).then(|| format!("{file}: volumes are numbered from 0: {names}"))
    }
}

/// Binary logarithm of the sectors between two volumes: 512 TiB.
const APART: u32 = 40;
/// Maximum number of streams.
const MOST_TENANTS: usize = 256;

impl Tenants {
    /// Moves `event` into the address range of its volume.
    pub(crate) fn place(&mut self, event: &mut Event) -> Result<(), String> {
        let volume = event.volume;
        let at = self.0.iter().position(|&candidate| candidate == volume).unwrap_or(self.0.len());
        if at == MOST_TENANTS {
            return Err(format!(
                "more than {MOST_TENANTS} volumes; set workload.volume to the one to use"
            ));
        }
        if event.sector + u64::from(event.sectors) > 1 << APART {
            return Err(format!("volume {volume} has addresses beyond 512 TiB"));
        }
        if at == self.0.len() {
            self.0.push(volume);
        }
        event.sector |= (at as u64) << APART;
        event.stream = at as u8;
        Ok(())
    }

    /// Returns the rank of each volume by its number, from 0 up.
    pub(crate) fn ranks(&self) -> Vec<u8> {
        let below =
            |volume: &u64| self.0.iter().filter(|&candidate| candidate < volume).count() as u8;
        self.0.iter().map(below).collect()
    }

    /// Returns their numbers, ascending.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut numbers = self.0.clone();
        numbers.sort_unstable();
        numbers
    }
}

/// Records by volume.
#[derive(Default)]
pub(crate) struct Volumes {
    small: Vec<u64>,
    /// Larger numbers with their records, ascending.
    large: Vec<(u64, u64)>,
    /// Position of the larger number counted last, because most traces have only one.
    last: usize,
}

impl Volumes {
    /// Counts a record; returns false if there are too many volumes.
    #[inline(always)]
    pub(crate) fn add(&mut self, volume: u64) -> bool {
        if volume >= SMALL {
            if let Some((number, count)) = self.large.get_mut(self.last)
                && *number == volume
            {
                *count += 1;
                return true;
            }
            return self.add_large(volume);
        }
        // The cast is safe: the number is below 2^16.
        let at = volume as usize;
        if at >= self.small.len() {
            self.small.resize(at + 1, 0);
        }
        self.small[at] += 1;
        true
    }

    fn add_large(&mut self, volume: u64) -> bool {
        let place = self.large.binary_search_by_key(&volume, |&(number, _)| number);
        if let Err(at) = place {
            if self.large.len() == MOST {
                return false;
            }
            self.large.insert(at, (volume, 0));
        }
        self.last = place.unwrap_or_else(|at| at);
        self.large[self.last].1 += 1;
        true
    }

    /// Returns the number of volumes.
    pub(crate) fn count(&self) -> usize {
        self.small.iter().filter(|&&count| count > 0).count() + self.large.len()
    }

    /// Returns whether `volume` has a record.
    pub(crate) fn holds(&self, volume: u64) -> bool {
        let small = usize::try_from(volume).ok().and_then(|at| self.small.get(at));
        small.is_some_and(|&count| count > 0)
            || self.large.binary_search_by_key(&volume, |&(number, _)| number).is_ok()
    }

    /// Returns every volume with its records, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = (0u64..).zip(self.small.iter().copied()).filter(|&(_, count)| count > 0);
        small.chain(self.large.iter().copied())
    }
}
