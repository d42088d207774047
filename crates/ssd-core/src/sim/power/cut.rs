//! A power cut overwrites at once what is lost.

use super::{Power, WithdrawnRequest};
use crate::config::BufferPower;
use crate::host::device::DeviceError;
use crate::host::request::Op as HostOp;
use crate::nand::flash::Payload;
use crate::sim::array::op::OpKind;
use crate::sim::copies::Copies;
use crate::sim::core::Core;
use crate::sim::front::pages_of;
use crate::sim::ssd::Ssd;
use crate::sim::suspend::Suspension;
use crate::units::{Lpn, Nanos, Ppn};

/// A page of the write buffer that capacitors have saved.
#[derive(Clone, Debug)]
pub(super) struct SavedPage {
    pub(super) lpn: Lpn,
    pub(super) sequence: u64,
    /// Sectors of it, one bit each; the rest is on flash.
    pub(super) sectors: u128,
    pub(super) stream: u8,
    pub(super) request: u64,
    pub(super) payload: Payload,
    /// Whether its program has begun: after the mount it is bound again.
    bound: bool,
}

impl Ssd {
    /// Cut the power at this instant: programs and erases that have not ended are cut off, and what the controller
    /// keeps in its own memory is lost. Returns the requests that had not completed, by number.
    ///
    /// # Errors
    /// The device is not prepared for it, or has no power.
    pub fn power_cut(&mut self) -> Result<&[WithdrawnRequest], DeviceError> {
        self.check_cut()?;
        let (power, _) = self.power_cuts();
        let protected = power.config.power.buffer == BufferPower::Protected;
        let saved = if protected { self.pages_to_save() } else { Vec::new() };
        // The clock counts a page of the host once.
        self.core.ftl.clock -= saved.iter().filter(|page| page.bound).count() as u64;
        debug_assert!(!self.core.array.quiescing, "power is cut while the device stops");
        let withdrawn = self.withdraw_requests();
        self.log_cut();
        let (power, core) = self.power_cuts();
        let now = core.array.now;
        core.ledger.note(now, withdrawn.len() as u64, 0xcf);
        let counts = &mut core.ledger.measured.power;
        counts.cuts += 1;
        counts.copies_lost += core.gc.pages_read.iter().sum::<u64>();
        if !protected {
            power.nvram.cut(now);
            power.backlog.clear();
        }
        power.drop_checkpoint();
        power.moved.clear();
        power.unrecorded.clear();
        power.erases.clear();
        power.off_since = Some(now);
        (power.withdrawn, power.saved) = (withdrawn, saved);
        self.forget_all();
        assert_eq!(self.core.front.outstanding(), 0, "a request survives in the device");
        assert_eq!(self.core.array.ops.len(), 0, "an operation survives");
        assert_eq!(self.core.gc.active(), 0, "a job survives");
        assert_eq!(self.core.ftl.owners.valid_pages(), 0, "the map survives");
        Ok(&self.power_cuts().0.withdrawn)
    }

    /// Check that power can be cut.
    ///
    /// # Errors
    /// As [`Ssd::power_cut`].
    pub fn check_cut(&self) -> Result<(), DeviceError> {
        match &self.power {
            None => Err(DeviceError::Power(
                "the device is not prepared for power cuts: set power.cut = \"on-request\"".into(),
            )),
            Some(power) if power.off_since.is_some() => {
                Err(DeviceError::Power("power is off already: mount the device first".into()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Overwrite what a cut loses.
    pub(super) fn forget_all(&mut self) {
        // By name, so that the compiler asks for every field whether it survives.
        let Ssd {
            core,
            contents,
            logs: _,
            raid,
            copies,
            suspension,
            power,
            mid_instant,
            audits: _,
            plugs,
            machine: _,
            zones,
        } = self;
        assert!(zones.is_none(), "the config layer has refused zones");
        let power = power.as_mut().expect("a device whose power may be cut");
        power.keep_checkpoint(&core.ftl);
        let config = &power.config;
        core.lose_power(config, plugs);
        *contents = None;
        *raid = raid.take().map(|raid| raid.after_cut(config, &core.ftl));
        *copies = Copies::new(config);
        *suspension = Suspension::new(config);
        *mid_instant = false;
    }

    /// The requests in the device, and those on their way to it.
    fn withdraw_requests(&mut self) -> Vec<WithdrawnRequest> {
        if let Some(copies) = &mut self.copies {
            copies.take_back_counts(&mut self.core);
        }
        if let Some(raid) = &mut self.raid {
            raid.take_back_copies(&mut self.core);
        }
        let (power, core) = self.power_cuts();
        let now = core.array.now;
        let inside = core.front.requests.live().map(|r| WithdrawnRequest {
            id: r.id,
            arrival: r.arrival,
            request: r.request,
            data: power.brought.remove(&r.id),
            outside: Some(now),
        });
        let mut withdrawn: Vec<WithdrawnRequest> = inside.collect();
        withdrawn.iter().for_each(|_| core.ledger.measured.withdraw(now));
        let repeated = std::mem::take(&mut power.repeated);
        let outside = |id| {
            // It was to arrive again, but has not yet.
            let at = repeated.binary_search_by_key(&id, |&(id, _)| id).ok();
            at.map(|at| repeated[at].1)
        };
        power.brought.clear();
        withdrawn.extend(core.front.arrivals.drain(..).map(|a| WithdrawnRequest {
            id: a.id,
            arrival: a.at,
            request: a.request,
            data: a.data,
            outside: outside(a.id),
        }));
        withdrawn.sort_unstable_by_key(|r| r.id);
        debug_assert!(
            withdrawn.windows(2).all(|pair| pair[0].id < pair[1].id),
            "one is there twice"
        );
        debug_assert!(
            withdrawn.iter().all(|r| r.outside.is_none() || r.arrival <= now),
            "it has not arrived"
        );
        withdrawn
    }

    /// For each LPN, the newest data in the buffer that neither newer data on flash nor a TRIM have replaced.
    fn pages_to_save(&self) -> Vec<SavedPage> {
        let Some(buffer) = &self.core.front.buffer else { return Vec::new() };
        let mut saved: Vec<SavedPage> = (self.core.array.ops.live_slots())
            .filter(|&slot| {
                let op = &self.core.array.ops[slot];
                op.passes_buffer()
                    && buffer.page(slot).inside
                    && self.core.ftl.is_missed(op.lpn, op.sequence)
            })
            .map(|slot| {
                let (op, buffered) = (&self.core.array.ops[slot], buffer.page(slot));
                let contents = self.contents.as_ref();
                SavedPage {
                    lpn: op.lpn,
                    sequence: op.sequence,
                    sectors: buffered.sectors,
                    stream: op.stream(),
                    request: buffered.request,
                    payload: contents.map_or(Payload::default(), |c| c.payload(slot).clone()),
                    bound: op.kind() == OpKind::HostWrite && op.ppn != Ppn::NONE,
                }
            })
            .collect();
        saved.sort_unstable_by_key(|page| (page.lpn, std::cmp::Reverse(page.sequence)));
        saved.dedup_by_key(|page| page.lpn);
        saved.sort_unstable_by_key(|page| page.sequence);
        debug_assert!(
            saved.iter().all(|page| page.sequence <= self.core.front.sequence),
            "to come"
        );
        debug_assert!(saved.iter().all(|page| page.sectors != 0), "a page without data");
        saved
    }
}

impl Power {
    /// Submit again, with the same data, what had not completed, as the host does.
    pub(super) fn repeat_requests(&mut self, core: &mut Core) {
        let withdrawn = std::mem::take(&mut self.withdrawn);
        debug_assert!(self.off_since.is_none(), "requests are submitted without power");
        debug_assert!(core.front.arrivals.is_empty(), "others have been submitted before");
        self.repeated = withdrawn.iter().filter_map(|r| Some((r.id, r.outside?))).collect();
        core.ledger.measured.power.requests_repeated += self.repeated.len() as u64;
        for r in withdrawn {
            debug_assert!(r.request.op != HostOp::Read || r.request.sectors > 0, "an empty read");
            core.front.arrives_again(r.arrival, r.id, &r.request, r.data);
        }
    }

    /// Forget what had not completed at the `cut`, because the host does not submit it again.
    pub(super) fn forget_requests(&mut self, core: &mut Core, cut: Nanos) {
        debug_assert!(self.off_since.is_none(), "requests may arrive without power");
        core.front.arrivals_are_lost(cut);
        let lost = std::mem::take(&mut self.withdrawn);
        for r in lost.iter().filter(|r| r.outside.is_some()) {
            if core.ledger.counts(r.id) {
                let pages = pages_of(&core.ftl.geo, &r.request).count;
                core.ledger.measured.forget_arrival(&r.request, u64::from(pages));
            }
        }
    }
}
