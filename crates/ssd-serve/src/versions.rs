//! The slots of the newest data of each page, and of older data that a power cut could bring back.
//!
//! Page writes have ascending admission numbers, which are also on flash. An older version is valid below the number of
//! the write that replaced it (`until`). After a power cut, the number on flash selects the version of each page.

use crate::table::{NONE, SlotTable};
use std::collections::{BTreeMap, BTreeSet};

/// Data of a page that were replaced by newer ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OldVersion {
    lpn: u32,
    slot: u32,
    /// The first admission number of newer data.
    until: u64,
    /// The number of the TRIM that replaced them.
    trim: Option<u64>,
}

/// The data that a drive could find after a power cut.
pub trait Survivors {
    /// The admission number of the data of `lpn` on flash.
    fn on_flash(&self, lpn: u32) -> Option<u64>;

    /// LPN and admission number of each page that may still reach flash.
    fn on_the_way(&self) -> Vec<(u32, u64)>;
}

/// The slots of the newest and of older data of all pages.
pub struct Versions {
    newest: SlotTable,
    /// Older data in the order in which they were replaced; `None` if power is never cut.
    older: Option<Vec<OldVersion>>,
    /// The numbers of the TRIMs that have replaced older data and are not acknowledged.
    trims: BTreeSet<u64>,
    /// The number of older versions at which the next sweep is due.
    sweep_at: usize,
}

/// The smallest number of older versions at which a sweep is due.
const SWEEP_FROM: usize = 1024;

impl Versions {
    /// Begin with the newest data in `newest`. `cuts`: whether power may be cut.
    #[must_use]
    pub fn new(newest: SlotTable, cuts: bool) -> Versions {
        let older = cuts.then(Vec::new);
        Versions { newest, older, trims: BTreeSet::new(), sweep_at: SWEEP_FROM }
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

    /// The same, by value.
    #[must_use]
    pub fn into_table(self) -> SlotTable {
        self.newest
    }

    /// Forget all older data, because the newest are durable.
    pub fn forget_older(&mut self) {
        self.older.iter_mut().for_each(Vec::clear);
        self.trims.clear();
        self.sweep_at = SWEEP_FROM;
    }

    /// Replace the data of `lpn` by those in `slot`, which have admission numbers from `until` on. `trim` is the number
    /// of the request if it is a TRIM. Returns the old slot if it becomes free at once.
    pub fn replace(&mut self, lpn: u32, slot: u32, until: u64, trim: Option<u64>) -> Option<u32> {
        let before = self.newest.replace(lpn, slot);
        match &mut self.older {
            // Zeros replace zeros.
            Some(_) if before == NONE && slot == NONE => None,
            Some(older) => {
                older.push(OldVersion { lpn, slot: before, until, trim });
                self.trims.extend(trim);
                None
            }
            None => Some(before).filter(|&before| before != NONE),
        }
    }

    /// Note that the TRIM with this number is acknowledged: no power cut brings back the data that it replaced.
    pub fn trim_done(&mut self, trim: u64) {
        self.trims.remove(&trim);
    }

    /// Whether [`Versions::sweep`] is due.
    #[must_use]
    pub fn is_sweep_due(&self) -> bool {
        self.older.as_ref().is_some_and(|older| older.len() >= self.sweep_at)
    }

    /// Forget the data that no power cut can bring back. Returns their slots.
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
            let is_outstanding = o.trim.is_some_and(|trim| self.trims.contains(&trim));
            let stays = is_outstanding || possible[&o.lpn].iter().any(comes_back);
            if !stays && o.slot != NONE {
                freed.push(o.slot);
            }
            stays
        });
        self.sweep_at = SWEEP_FROM + 2 * older.len();
        freed
    }

    /// Make the data on flash after a power cut the newest ones. Returns the number of pages that have lost newer data.
    pub fn recover(&mut self, survivors: &dyn Survivors) -> u64 {
        let older = self.older.replace(Vec::new()).expect("a drive whose power is cut");
        self.trims.clear();
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
        self.sweep_at = SWEEP_FROM;
        lost
    }
}
