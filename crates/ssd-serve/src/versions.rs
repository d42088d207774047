//! Which slot holds the newest data of each page, and which older data a power cut could bring back.
//!
//! A page write is identified by its admission number, as on flash. Older data are valid until the number of the write
//! that replaced them: a page found on flash with a smaller number than that holds them.

use crate::slots::NONE;
use crate::table::SlotTable;
use std::collections::BTreeMap;

/// Data that newer ones have replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OldVersion {
    lpn: u32,
    slot: u32,
    /// Data with this or a larger admission number are newer.
    until: u64,
    /// The number of the TRIM that replaced them, until it is acknowledged.
    trim: Option<u64>,
}

/// What a drive could find after a cut.
pub trait Survivors {
    /// The admission number of the data of `lpn` that are on flash.
    fn on_flash(&self, lpn: u32) -> Option<u64>;

    /// LPN and admission number of what may still reach flash.
    fn on_the_way(&self) -> Vec<(u32, u64)>;
}

/// The slots of all pages.
pub struct Versions {
    newest: SlotTable,
    /// In the order in which they were replaced; `None` if power is never cut and nothing older is kept.
    older: Option<Vec<OldVersion>>,
    /// The number of older pages at which those that cannot come back are released.
    sweep_at: usize,
}

/// This many older pages are kept without a check.
const LOOK_FROM: usize = 1024;

impl Versions {
    /// For pages whose data are in `newest`; `cuts`: whether power may be cut.
    #[must_use]
    pub fn new(newest: SlotTable, cuts: bool) -> Versions {
        Versions { newest, older: cuts.then(Vec::new), sweep_at: LOOK_FROM }
    }

    /// The slot of the newest data of `lpn`.
    #[must_use]
    pub fn newest(&self, lpn: u32) -> u32 {
        self.newest.slot(lpn)
    }

    /// The slots of the newest data of all pages.
    #[must_use]
    pub fn table(&self) -> &SlotTable {
        &self.newest
    }

    /// What [`Versions::table`] borrows.
    #[must_use]
    pub fn into_table(self) -> SlotTable {
        self.newest
    }

    /// Note that a rest has made all newest data durable: nothing older comes back.
    pub fn forget_older(&mut self) {
        self.older.iter_mut().for_each(Vec::clear);
        self.sweep_at = LOOK_FROM;
    }

    /// Replace the data of `lpn` by those in `slot` from admission number `until` on, by the TRIM of this number if it
    /// is one. Returns the slot that becomes free at once.
    pub fn replace(&mut self, lpn: u32, slot: u32, until: u64, trim: Option<u64>) -> Option<u32> {
        let before = self.newest.replace(lpn, slot);
        match &mut self.older {
            // All zeros are the same.
            Some(_) if before == NONE && slot == NONE => None,
            Some(older) => {
                older.push(OldVersion { lpn, slot: before, until, trim });
                None
            }
            None => Some(before).filter(|&before| before != NONE),
        }
    }

    /// Note that the TRIM of this number is acknowledged: no cut brings back what it replaced.
    pub fn trim_done(&mut self, trim: u64) {
        let Some(older) = &mut self.older else { return };
        older.iter_mut().filter(|o| o.trim == Some(trim)).for_each(|o| o.trim = None);
    }

    /// Whether it is time to [`Versions::sweep`].
    #[must_use]
    pub fn is_sweep_due(&self) -> bool {
        self.older.as_ref().is_some_and(|older| older.len() >= self.sweep_at)
    }

    /// Release what no cut can bring back. Returns the slots that become free.
    pub fn sweep(&mut self, survivors: &dyn Survivors) -> Vec<u32> {
        let Some(older) = &mut self.older else { return Vec::new() };
        let mut possible: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for o in older.iter() {
            possible.entry(o.lpn).or_default();
        }
        for (lpn, sequence) in survivors.on_the_way() {
            possible.entry(lpn).and_modify(|numbers| numbers.push(sequence));
        }
        for (&lpn, numbers) in &mut possible {
            numbers.extend(survivors.on_flash(lpn));
        }
        let mut since: BTreeMap<u32, u64> = BTreeMap::new();
        let mut freed = Vec::new();
        older.retain(|o| {
            let from = since.insert(o.lpn, o.until).unwrap_or(0);
            let comes_back = |&number: &u64| from <= number && number < o.until;
            let stays = o.trim.is_some() || possible[&o.lpn].iter().any(comes_back);
            if !stays && o.slot != NONE {
                freed.push(o.slot);
            }
            stays
        });
        self.sweep_at = LOOK_FROM + 2 * older.len();
        freed
    }

    /// Give every page what is on flash after a cut. Returns how many pages have lost newer data.
    pub fn recover(&mut self, survivors: &dyn Survivors) -> u64 {
        let older = self.older.replace(Vec::new()).expect("a drive whose power is cut");
        let mut chains: BTreeMap<u32, Vec<OldVersion>> = BTreeMap::new();
        older.into_iter().for_each(|o| chains.entry(o.lpn).or_default().push(o));
        let mut lost = 0;
        for lpn in 0..self.newest.pages() {
            let newest = self.newest.slot(lpn);
            let survivor = match survivors.on_flash(lpn) {
                None => NONE,
                Some(number) => {
                    let chain = chains.get(&lpn).map_or(&[][..], Vec::as_slice);
                    let before = chain.iter().find(|o| number < o.until);
                    before.map_or(newest, |o| o.slot)
                }
            };
            lost += u64::from(survivor != newest);
            self.newest.replace(lpn, survivor);
        }
        self.sweep_at = LOOK_FROM;
        lost
    }
}
