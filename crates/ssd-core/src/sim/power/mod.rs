//! A feature: power cuts. This file has what survives a cut besides the flash.
//!
//! `records` has the records of TRIMs and owners, and the erases that wait for them; `checkpoint` the images of the
//! map; `run` when power is cut; `cut` what is lost then; `mount` how the state is restored. `ftl/recover` decides what
//! a mount finds on flash; another kind of record would take effect in its `scan`.

mod checkpoint;
mod copies;
mod cut;
mod groups;
mod mount;
mod records;
mod run;

use crate::config::{Config, PowerCut};
use crate::ftl::Ftl;
use crate::ftl::recover::image::Image;
use crate::host::request::Request;
use crate::metrics::counters::Parts;
use crate::nand::nvram::{Nvram, Record};
use crate::sim::core::Core;
use crate::sim::ssd::Ssd;
use crate::units::{BlockId, Nanos, OpSlot, PoolId, Ppn, RequestSlot};
use checkpoint::{Area, CheckpointWrite};
use run::Schedule;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that was in the device when power was cut.
#[derive(Clone, Debug)]
pub struct WithdrawnRequest {
    /// Its number.
    pub id: u64,
    /// Its arrival.
    pub arrival: Nanos,
    /// The request.
    pub request: Request,
    /// What it brought: the bytes of a write, or the source ranges of a copy.
    pub(crate) data: Option<Box<[u8]>>,
    /// Since when it has been in no device, if it had arrived.
    pub(crate) outside: Option<Nanos>,
}

/// A part of a request that waits until its records have found room.
struct UnrecordedPart {
    request: RequestSlot,
    since: Nanos,
    /// Where the time of the request went until then.
    parts: Parts,
    /// Records that must have found room, or be unnecessary, by then.
    passed: u64,
}

/// The state that lets a device survive power cuts; boxed, because most devices have none.
pub(crate) struct Power {
    /// The configuration of the device, which is rebuilt after a cut.
    config: Config,
    /// Survives a cut.
    pub(crate) nvram: Nvram,
    /// Survives a cut.
    area: Area,
    /// Pages admitted at the beginning of the last checkpoint.
    checkpointed: u64,
    writing: Option<Box<CheckpointWrite>>,
    /// Pages moved in pools that have given up their block for recovery, with their source and target, until their
    /// victim is erased.
    moved: Vec<(Ppn, Ppn)>,
    /// Records for which there was no room, oldest first; with a protected buffer they survive a cut.
    pub(crate) backlog: VecDeque<Record>,
    /// Records that have left the backlog.
    passed: u64,
    /// Parts of requests, oldest first, and erases that wait for these records.
    unrecorded: VecDeque<UnrecordedPart>,
    erases: Vec<OpSlot>,
    /// Since when power has been off.
    off_since: Option<Nanos>,
    withdrawn: Vec<WithdrawnRequest>,
    /// What requests in the device have brought, by number; the host keeps it until they complete.
    brought: BTreeMap<u64, Box<[u8]>>,
    /// Requests submitted again: their numbers, ascending, and since when they were in no device.
    repeated: Vec<(u64, Nanos)>,
    /// Pages of the write buffer that capacitors have saved.
    saved: Vec<cut::SavedPage>,
    schedule: Schedule,
}

impl Ssd {
    /// What a hook of power cuts gets: their state, and the core.
    pub(super) fn power_cuts(&mut self) -> (&mut Power, &mut Core) {
        debug_assert!(self.core.ftl.may_lose_power(), "cuts of a device with power");
        (self.power.as_deref_mut().expect("a device whose power may be cut"), &mut self.core)
    }

    /// Whether there is no power.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.power.as_ref().is_some_and(|power| power.off_since.is_some())
    }

    /// When power was cut.
    pub(super) fn off_since(&self) -> Option<Nanos> {
        self.power.as_ref().and_then(|power| power.off_since)
    }
}

impl Power {
    /// For the device `ftl`, to which `sequence` pages have been admitted; `None` if its power is never cut. A device
    /// whose pages alone do not determine its state, as after TRIMs or with parity groups, starts with a checkpoint.
    pub(crate) fn new(config: &Config, ftl: &mut Ftl, sequence: u64) -> Option<Box<Power>> {
        if config.power.cut == PowerCut::Never {
            return None;
        }
        assert!(config.wear.endurance == 0, "the config layer has refused endurance");
        assert!(ftl.clock <= sequence, "{} pages were bound, {sequence} admitted", ftl.clock);
        let needs_first = ftl.groups.is_some() || !ftl.is_in_its_pages();
        let first = needs_first.then(|| Image::of(ftl, 0, &[], &[]));
        Some(Box::new(Power {
            config: config.clone(),
            nvram: Nvram::new(config.power.nvram_bytes, config.power.nvram_ns),
            area: Area::new(config, &ftl.geo, first),
            checkpointed: sequence,
            writing: None,
            moved: Vec::new(),
            backlog: VecDeque::new(),
            passed: 0,
            unrecorded: VecDeque::new(),
            erases: Vec::new(),
            off_since: None,
            withdrawn: Vec::new(),
            brought: BTreeMap::new(),
            repeated: Vec::new(),
            saved: Vec::new(),
            schedule: Schedule::new(config),
        }))
    }

    /// Check the state that it keeps for a cut.
    pub(crate) fn audit(&self) -> Result<(), String> {
        if self.nvram.used() > self.nvram.peak() {
            let (used, peak) = (self.nvram.used(), self.nvram.peak());
            return Err(format!("the NVRAM holds {used} bytes, more than its peak of {peak}"));
        }
        if !self.repeated.iter().is_sorted_by_key(|request| request.0) {
            return Err("requests are submitted again out of order".to_string());
        }
        let sources: BTreeSet<Ppn> = self.moved.iter().map(|pair| pair.0).collect();
        if sources.len() != self.moved.len() {
            return Err("a page of a victim has moved twice".to_string());
        }
        if self.off_since.is_some() && self.writing.is_some() {
            return Err("a checkpoint is written without power".to_string());
        }
        Ok(())
    }

    /// Note that `target` has the owners of `source`, a page of a victim in `pool`.
    pub(super) fn note_moved(&mut self, core: &mut Core, pool: PoolId, source: Ppn, target: Ppn) {
        debug_assert!(self.off_since.is_none(), "a page moves without power");
        if core.ftl.space.spares(pool) == 0 {
            debug_assert!(self.moved.iter().all(|pair| pair.0 != source), "{source:?} has moved");
            self.moved.push((source, target));
        }
        self.write_records(core);
    }

    /// Note that `victim` has been erased, so nobody needs its pages.
    pub(super) fn forget_victim(&mut self, core: &Core, victim: BlockId) {
        self.moved.retain(|&(source, _)| core.ftl.geo.block_of(source) != victim);
    }

    /// Keep the `data` that request `id` brings: it comes again with them if power is cut before it completes.
    #[cold]
    #[inline(never)]
    pub(super) fn keep_data(&mut self, id: u64, data: &[u8]) {
        self.brought.insert(id, data.into());
    }

    /// Since when request `id`, if it arrives again after a power cut, has been in no device.
    pub(super) fn outside_since(&self, id: u64) -> Option<Nanos> {
        debug_assert!(self.off_since.is_none(), "request {id} arrives without power");
        let at = self.repeated.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.repeated[at].1)
    }
}
