//! The state machine of all zones.

use super::status::ZoneStatus;
use std::collections::VecDeque;

/// State of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write.
    ImplicitlyOpened,
    /// Opened by a command.
    ExplicitlyOpened,
    /// Not open, but the device still has the resources to continue writing it.
    Closed,
    /// Takes no more writes.
    Full,
    /// Has failed; its written pages can be read.
    ReadOnly,
    /// Has failed.
    Offline,
}

impl ZoneState {
    /// All states, in the order of their names.
    pub const ALL: [ZoneState; 7] = [
        ZoneState::Empty,
        ZoneState::ImplicitlyOpened,
        ZoneState::ExplicitlyOpened,
        ZoneState::Closed,
        ZoneState::Full,
        ZoneState::ReadOnly,
        ZoneState::Offline,
    ];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ZoneState::Empty => "empty",
            ZoneState::ImplicitlyOpened => "implicitly opened",
            ZoneState::ExplicitlyOpened => "explicitly opened",
            ZoneState::Closed => "closed",
            ZoneState::Full => "full",
            ZoneState::ReadOnly => "read-only",
            ZoneState::Offline => "offline",
        }
    }

    /// Whether a zone in this state counts as open.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened)
    }

    /// Whether a zone in this state counts as active.
    #[must_use]
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, ZoneState::Closed)
    }
}

/// How a zone fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneFailure {
    /// It takes no more writes.
    ReadOnly,
    /// It cannot be read either.
    Offline,
}

/// A zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    /// Its state.
    pub state: ZoneState,
    /// Pages from its start to its write pointer.
    pub written: u32,
    /// Pages of its writes that have not completed.
    pub in_flight: u32,
}

/// Limits of the zones that are open or active at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most open zones.
    pub open: u32,
    /// Most active zones, which are open or closed.
    pub active: u32,
}

/// The zones of a device.
#[derive(Clone, Debug)]
pub struct ZoneTable {
    zones: Vec<Zone>,
    /// Pages of a zone.
    pages: u32,
    limits: Limits,
    open: u32,
    active: u32,
    /// The implicitly opened zones, in the order in which they were opened.
    implicit: VecDeque<u32>,
}

impl ZoneTable {
    /// `zones` empty zones of `pages` pages.
    #[must_use]
    pub fn new(zones: u32, pages: u32, limits: Limits) -> ZoneTable {
        assert!(zones > 0 && pages > 0, "{zones} zones of {pages} pages");
        assert!(u64::from(zones) * u64::from(pages) <= u64::from(u32::MAX), "pages have 32 bits");
        assert!(0 < limits.open && limits.open <= limits.active, "{limits:?}");
        let empty = Zone { state: ZoneState::Empty, written: 0, in_flight: 0 };
        let zones = vec![empty; zones as usize];
        ZoneTable { zones, pages, limits, open: 0, active: 0, implicit: VecDeque::new() }
    }

    /// All zones.
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Pages of a zone.
    #[must_use]
    pub fn zone_pages(&self) -> u32 {
        self.pages
    }

    /// Zones that are open.
    #[must_use]
    pub fn open_zones(&self) -> u32 {
        debug_assert!(self.open <= self.active, "{} of {} are open", self.open, self.active);
        self.open
    }

    /// Zones that are active.
    #[must_use]
    pub fn active_zones(&self) -> u32 {
        debug_assert!(self.active <= self.limits.active, "more than {:?}", self.limits);
        self.active
    }

    /// Zone `zone`.
    ///
    /// # Errors
    /// There is no such zone.
    pub fn zone(&self, zone: u32) -> Result<&Zone, ZoneStatus> {
        self.zones.get(zone as usize).ok_or(ZoneStatus::LbaOutOfRange)
    }

    /// Read `pages` pages from page `first` of the device on. They may lie in several zones.
    ///
    /// # Errors
    /// A zone is offline, or the pages do not exist.
    pub fn read(&self, first: u32, pages: u32) -> Result<(), ZoneStatus> {
        let last = pages.checked_sub(1).ok_or(ZoneStatus::InvalidField)?;
        let last = first.checked_add(last).ok_or(ZoneStatus::LbaOutOfRange)?;
        self.zone(last / self.pages)?;
        let mut zones = &self.zones[(first / self.pages) as usize..=(last / self.pages) as usize];
        while let Some((zone, rest)) = zones.split_first() {
            if zone.state == ZoneState::Offline {
                return Err(ZoneStatus::ZoneIsOffline);
            }
            zones = rest;
        }
        Ok(())
    }

    /// Write `pages` pages from page `first` of the device on, which are then in flight. Returns their zone.
    ///
    /// # Errors
    /// The status of the command.
    pub fn write(&mut self, first: u32, pages: u32) -> Result<u32, ZoneStatus> {
        let zone = first / self.pages;
        self.takes_writes(zone, pages)?;
        if first % self.pages != self.zones[zone as usize].written {
            // This includes a zone whose last writes are in flight: its pointer is at its end, where no page begins.
            return Err(ZoneStatus::ZoneInvalidWrite);
        }
        self.place(zone, pages)?;
        Ok(zone)
    }

    /// Append `pages` pages to `zone`, which are then in flight. Returns the page of the device at which they begin.
    ///
    /// # Errors
    /// The status of the command.
    pub fn append(&mut self, zone: u32, pages: u32) -> Result<u32, ZoneStatus> {
        self.takes_writes(zone, pages)?;
        let first = zone * self.pages + self.zones[zone as usize].written;
        self.place(zone, pages)?;
        Ok(first)
    }

    /// Check that the state of `zone` allows a write of `pages` pages.
    fn takes_writes(&self, zone: u32, pages: u32) -> Result<(), ZoneStatus> {
        let state = self.zone(zone)?.state;
        match state {
            ZoneState::Full => Err(ZoneStatus::ZoneIsFull),
            ZoneState::ReadOnly => Err(ZoneStatus::ZoneIsReadOnly),
            ZoneState::Offline => Err(ZoneStatus::ZoneIsOffline),
            _ if pages == 0 => Err(ZoneStatus::InvalidField),
            _ => Ok(()),
        }
    }

    /// Place `pages` pages at the write pointer of `zone`, which is opened if it is not open.
    fn place(&mut self, zone: u32, pages: u32) -> Result<(), ZoneStatus> {
        let Zone { state, written, .. } = self.zones[zone as usize];
        if pages > self.pages - written {
            return Err(ZoneStatus::ZoneBoundaryError);
        }
        if !state.is_open() {
            self.make_room(state)?;
            self.enter(zone, ZoneState::ImplicitlyOpened);
        }
        let zone = &mut self.zones[zone as usize];
        (zone.written, zone.in_flight) = (zone.written + pages, zone.in_flight + pages);
        Ok(())
    }

    /// Note that a write of `pages` pages of `zone` has completed. Returns whether the zone is full now.
    pub fn write_completes(&mut self, zone: u32, pages: u32) -> bool {
        let Zone { state, written, in_flight } = self.zones[zone as usize];
        let left = in_flight.checked_sub(pages).expect("the pages are in flight");
        assert!(state.is_active(), "a write of zone {zone}, which is {}", state.name());
        self.zones[zone as usize].in_flight = left;
        let is_full = left == 0 && written == self.pages;
        if is_full {
            self.enter(zone, ZoneState::Full);
        }
        is_full
    }

    /// Open `zone` explicitly.
    ///
    /// # Errors
    /// The status of the command.
    pub fn open(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        match self.zone(zone)?.state {
            state @ (ZoneState::Empty | ZoneState::Closed) => {
                self.make_room(state)?;
                self.enter(zone, ZoneState::ExplicitlyOpened);
            }
            ZoneState::ImplicitlyOpened => self.enter(zone, ZoneState::ExplicitlyOpened),
            ZoneState::ExplicitlyOpened => {}
            _ => return Err(ZoneStatus::InvalidZoneStateTransition),
        }
        Ok(())
    }

    /// Close `zone`.
    ///
    /// # Errors
    /// The status of the command.
    pub fn close(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        let state = self.zone(zone)?.state;
        if !state.is_active() {
            return Err(ZoneStatus::InvalidZoneStateTransition);
        }
        self.enter(zone, ZoneState::Closed);
        Ok(())
    }

    /// Finish `zone`: make it full, wherever its write pointer is.
    ///
    /// # Errors
    /// The status of the command.
    pub fn finish(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        let Zone { state, in_flight, .. } = *self.zone(zone)?;
        match state {
            ZoneState::ReadOnly | ZoneState::Offline => Err(ZoneStatus::InvalidZoneStateTransition),
            _ if in_flight > 0 => Err(ZoneStatus::CommandSequenceError),
            _ => {
                self.enter(zone, ZoneState::Full);
                Ok(())
            }
        }
    }

    /// Reset `zone`: make it empty.
    ///
    /// # Errors
    /// The status of the command.
    pub fn reset(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        let Zone { state, in_flight, .. } = *self.zone(zone)?;
        match state {
            ZoneState::ReadOnly | ZoneState::Offline => Err(ZoneStatus::InvalidZoneStateTransition),
            _ if in_flight > 0 => Err(ZoneStatus::CommandSequenceError),
            _ => {
                self.enter(zone, ZoneState::Empty);
                self.zones[zone as usize].written = 0;
                Ok(())
            }
        }
    }

    /// Take `zone`, which is read-only, offline.
    ///
    /// # Errors
    /// The status of the command.
    pub fn offline(&mut self, zone: u32) -> Result<(), ZoneStatus> {
        match self.zone(zone)?.state {
            ZoneState::ReadOnly | ZoneState::Offline => {
                self.enter(zone, ZoneState::Offline);
                Ok(())
            }
            _ => Err(ZoneStatus::InvalidZoneStateTransition),
        }
    }

    /// Let `zone` fail. No command of NVMe does this.
    ///
    /// # Errors
    /// Its writes have not completed, or there is no such zone.
    pub fn fail(&mut self, zone: u32, failure: ZoneFailure) -> Result<(), ZoneStatus> {
        if self.zone(zone)?.in_flight > 0 {
            return Err(ZoneStatus::CommandSequenceError);
        }
        self.enter(
            zone,
            match failure {
                ZoneFailure::ReadOnly => ZoneState::ReadOnly,
                ZoneFailure::Offline => ZoneState::Offline,
            },
        );
        Ok(())
    }

    /// Make room for one more open zone, and active zone, which is now in `state`: empty or closed.
    fn make_room(&mut self, state: ZoneState) -> Result<(), ZoneStatus> {
        debug_assert!(!state.is_open(), "a zone that is {}", state.name());
        if !state.is_active() && self.active == self.limits.active {
            return Err(ZoneStatus::TooManyActiveZones);
        }
        if self.open == self.limits.open {
            let first = self.implicit.front().copied().ok_or(ZoneStatus::TooManyOpenZones)?;
            self.enter(first, ZoneState::Closed);
        }
        Ok(())
    }

    /// Change the state of `zone` to `state`.
    fn enter(&mut self, zone: u32, state: ZoneState) {
        let old = std::mem::replace(&mut self.zones[zone as usize].state, state);
        self.open = self.open + u32::from(state.is_open()) - u32::from(old.is_open());
        self.active = self.active + u32::from(state.is_active()) - u32::from(old.is_active());
        if old == ZoneState::ImplicitlyOpened && state != old {
            self.implicit.retain(|&other| other != zone);
        } else if state == ZoneState::ImplicitlyOpened && state != old {
            self.implicit.push_back(zone);
        }
        debug_assert!(self.open <= self.limits.open, "more than {:?}", self.limits);
        debug_assert!(self.active <= self.limits.active, "more than {:?}", self.limits);
    }

    /// Check the counts against a recount.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn audit(&self) -> Result<(), String> {
        let count = |is: fn(ZoneState) -> bool| {
            self.zones.iter().filter(|zone| is(zone.state)).count() as u32
        };
        let counted = (count(ZoneState::is_open), count(ZoneState::is_active));
        if counted != (self.open, self.active) {
            let noted = (self.open, self.active);
            return Err(format!("open and active zones: {counted:?}, noted {noted:?}"));
        }
        let implicit = count(|state| state == ZoneState::ImplicitlyOpened);
        if implicit != self.implicit.len() as u32 {
            let noted = self.implicit.len();
            return Err(format!("{implicit} zones are opened implicitly, noted {noted}"));
        }
        for (number, zone) in self.zones.iter().enumerate() {
            let Zone { state, written, in_flight } = *zone;
            if in_flight > written || written > self.pages || (in_flight > 0 && !state.is_active())
            {
                return Err(format!("zone {number} of {} pages: {zone:?}", self.pages));
            }
            if state == ZoneState::Empty && written > 0 {
                return Err(format!("zone {number} is empty and has {written} pages"));
            }
        }
        Ok(())
    }
}
