//! Snapshots: a device at rest.
//!
//! A snapshot contains only what cannot be derived: the flash, which pages are valid, blocks and frontiers. The
//! map is rebuilt from the LPN in every valid page, as a controller would do. Policies build their index from
//! the block table, so one preconditioned device serves all of them. State of a victim policy beyond the table, such
//! as the ages of blocks, is saved for the same policy; any other policy starts afresh. Separation is the exception:
//! the classes of blocks mean nothing to another separation policy, so a device with another one cannot start from the
//! snapshot, which contains the state of the policy.

mod check;
pub(super) mod columns;
mod form;
mod separation;
pub mod shape;

pub use form::FormError;

use super::blocks::{BlockState, BlockTable};
use super::gc::victim::{VictimPolicy, counts_time};
use super::plugs::Plugs;
use super::space::Ground;
use super::{Ftl, Geometry};
use crate::config::{Config, DataMode, Word as _};
use crate::plug::PolicySpec;
use crate::units::{BlockId, PoolId, Ppn};
use columns::Columns;
use serde::{Deserialize, Serialize};
use shape::Shape;

/// A device at rest.
#[derive(Clone, PartialEq)]
pub struct DeviceSnapshot {
    shape: Shape,
    counters: Counters,
    keeps: PageFields,
    /// The victim policy whose state is in the column `victim`.
    victim: Option<PolicySpec>,
    columns: Columns,
}

/// Counters at the time of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Host pages admitted.
    pub sequence: u64,
    /// Host pages bound: the clock of victim policies.
    pub clock: u64,
    /// Blocks sealed.
    pub seals: u64,
    /// Blocks erased.
    pub releases: u32,
    /// The fewest erased blocks of the device since its measurement started.
    pub lowest_free_blocks: u64,
}

/// Which data of pages a snapshot keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageFields {
    sequence: bool,
    digest: bool,
    bytes: bool,
}

impl DeviceSnapshot {
    /// The configuration keys that it depends on.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Pages that hold live data.
    #[must_use]
    pub fn valid_pages(&self) -> u64 {
        self.columns.valid.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Owners of pages beyond the first of each: a device accepts them only if it remaps.
    #[must_use]
    pub fn extra_owners(&self) -> u64 {
        let page = |pair: &u64| pair >> 32;
        debug_assert!(self.columns.owners.is_sorted(), "owners are listed page by page");
        self.columns.owners.windows(2).filter(|pair| page(&pair[0]) == page(&pair[1])).count()
            as u64
    }

    /// Physical pages that are programmed.
    #[must_use]
    pub fn used_pages(&self) -> u64 {
        self.columns.programmed.iter().map(|&pages| u64::from(pages)).sum()
    }

    /// Erases of each erase unit.
    #[must_use]
    pub fn erases(&self) -> &[u32] {
        &self.columns.erases
    }

    /// Check that the column sizes are those of the device `geo`.
    fn check_sizes(
        &self,
        geo: &Geometry,
        (frontiers, separates): (u32, bool),
    ) -> Result<(), String> {
        let (pages, blocks) = (geo.pages as usize, (geo.pools * geo.blocks_per_pool) as usize);
        let separated = if separates { blocks } else { 0 };
        let (c, kept) = (&self.columns, |is: bool| if is { pages } else { 0 });
        let sizes = [
            ("lpn", c.lpn.len(), pages),
            ("valid", c.valid.len(), pages.div_ceil(64)),
            ("programmed", c.programmed.len(), blocks * geo.members as usize),
            ("state", c.state.len(), blocks),
            ("erases", c.erases.len(), blocks),
            ("seal_order", c.seal_order.len(), blocks),
            ("free_order", c.free_order.len(), blocks),
            ("frontiers", c.frontiers.len(), 2 * (geo.planes * frontiers) as usize),
            ("opened", c.opened.len(), geo.pools as usize),
            ("level_due", c.level_due.len(), geo.pools as usize),
            ("sequence", c.sequence.len(), kept(self.keeps.sequence)),
            ("digest", c.digest.len(), kept(self.keeps.digest)),
            ("class", c.class.len(), separated),
            ("opened_at", c.opened_at.len(), separated),
            ("slc", c.slc.len(), if c.slc.is_empty() { 0 } else { blocks }),
            ("slc_erases", c.slc_erases.len(), if c.slc_erases.is_empty() { 0 } else { blocks }),
        ];
        match sizes.into_iter().find(|(_, found, expected)| found != expected) {
            Some((name, found, expected)) => {
                Err(format!("column {name} has {found} values, expected {expected}"))
            }
            None => Ok(()),
        }
    }

    /// The block table of the snapshot.
    fn blocks(&self, geo: &Geometry, mut table: BlockTable) -> Result<BlockTable, String> {
        let c = &self.columns;
        assert_eq!(c.state.len(), table.len(), "the caller has checked the sizes");
        let flash_blocks = c.state.len() * geo.members as usize;
        assert_eq!(c.programmed.len(), flash_blocks, "the caller has checked the sizes");
        for (at, &state) in c.state.iter().enumerate() {
            table.state[at] = match state {
                0 => BlockState::Free,
                1 => BlockState::Open,
                2 => BlockState::Sealed,
                5 => BlockState::Bad,
                _ => {
                    return Err(format!(
                        "block {at} is in state {state}, which no block has at rest"
                    ));
                }
            };
            let members = geo.members as usize;
            let bound =
                c.programmed[at * members..(at + 1) * members].iter().map(|&n| u32::from(n));
            let bound = bound.sum::<u32>();
            assert!(bound <= geo.pages_per_block, "the flash has accepted {bound} pages");
            table.fill[at].bound = bound as u16;
        }
        for (at, _) in c.slc.iter().enumerate().filter(|&(_, &slc)| slc == 1) {
            table.slc[at] = true;
            table.fill[at].bound += table.slc_lacks;
        }
        if !c.slc_erases.is_empty() {
            table.slc_erases.clone_from(&c.slc_erases);
        }
        table.erases.clone_from(&c.erases);
        table.seal_order.clone_from(&c.seal_order);
        Ok(table)
    }

    /// Whether a device of `config` can start from it.
    ///
    /// # Errors
    /// Every key whose value differs, with both values; or what the snapshot lacks.
    pub fn fits(&self, config: &Config) -> Result<(), String> {
        fits(&self.shape, self.keeps, config)?;
        may_share(self.columns.owners.len() as u64, config)
    }

    /// Owners of pages that have other owners, too.
    #[must_use]
    pub fn sharing_owners(&self) -> u64 {
        self.columns.owners.len() as u64
    }
}

/// Only a device that remaps has pages with several owners.
fn may_share(owners: u64, config: &Config) -> Result<(), String> {
    if owners > 0 && config.remap.is_off() {
        return Err(format!(
            "in the snapshot {owners} logical pages share flash pages, and this device does not remap: set \
             remap.mode = \"share\" or \"copy\""
        ));
    }
    Ok(())
}

fn fits(shape: &Shape, keeps: PageFields, config: &Config) -> Result<(), String> {
    let differences = shape.differences(config);
    if !differences.is_empty() {
        return Err(format!(
            "the snapshot is of another device: {}; make a snapshot of this device, or use the \
             configuration that this one was made with",
            differences.join("; ")
        ));
    }
    let (log, mode) = (config.metrics.op_log, config.run.data);
    let lacks = |key: &str| {
        Err(format!("the snapshot does not hold what {key} needs: make it with the same setting"))
    };
    match mode {
        DataMode::Bytes | DataMode::File if !keeps.bytes => {
            lacks(&format!("run.data = \"{}\"", mode.word()))
        }
        DataMode::Digest if !keeps.digest => lacks("run.data = \"digest\""),
        _ if log && !keeps.sequence => lacks("metrics.op_log = true"),
        _ if !config.power.is_off() && !keeps.sequence => lacks("power.cut"),
        _ => Ok(()),
    }
}

impl Ftl {
    /// The state of a device at rest, after `sequence` admitted host pages.
    ///
    /// # Errors
    /// A program or a collection is in progress.
    pub fn snapshot(&self, sequence: u64) -> Result<DeviceSnapshot, String> {
        if self.is_zoned() {
            return Err("a snapshot does not hold the states of zones".into());
        }
        for (b, &state) in self.blocks.state.iter().enumerate() {
            let busy = matches!(state, BlockState::Collecting | BlockState::Erasing);
            if busy || self.blocks.fill[b].pending > 0 {
                return Err(format!("block {b} is {state:?} with work in progress"));
            }
        }
        let [sequences, digests] = self.flash.out_of_band();
        let mut columns = Columns {
            lpn: self.flash.lpns().to_vec(),
            valid: self.owners.validity().to_vec(),
            programmed: self.flash.programmed_by_flash_block().to_vec(),
            state: self.blocks.state.iter().map(|&state| state as u8).collect(),
            erases: self.blocks.erases.clone(),
            seal_order: self.blocks.seal_order.clone(),
            sequence: sequences,
            digest: digests,
            owners: self.shared_pages(),
            ..Columns::default()
        };
        for (page, bytes) in self.flash.pages_with_bytes() {
            columns.contents.extend_from_slice(&page.0.to_le_bytes());
            columns.contents.extend_from_slice(&bytes);
        }
        self.space.save(self.blocks.len(), &mut columns);
        if self.blocks.slc.contains(&true) {
            columns.slc = self.blocks.slc.iter().map(|&slc| u8::from(slc)).collect();
        }
        if self.blocks.slc_erases.iter().any(|&erases| erases > 0) {
            columns.slc_erases.clone_from(&self.blocks.slc_erases);
        }
        self.save_separation(&mut columns);
        let known = self.victim_spec.as_ref().filter(|spec| !counts_time(spec));
        if known.is_some() {
            self.victim.save(&self.blocks, &mut columns.victim);
        }
        let victim = known.filter(|_| !columns.victim.is_empty()).cloned();
        columns.level_due = self.wear.due().iter().map(|&due| u8::from(due)).collect();
        let [sequence_kept, digest, bytes] = self.flash.keeps();
        let snapshot = DeviceSnapshot {
            shape: self.shape.clone(),
            counters: Counters {
                sequence,
                clock: self.clock,
                seals: self.seals,
                releases: self.space.releases(),
                lowest_free_blocks: self.space.lowest_free_blocks(),
            },
            keeps: PageFields { sequence: sequence_kept, digest, bytes },
            victim,
            columns,
        };
        let sizes = snapshot.check_sizes(&self.geo, self.frontiers_and_classes());
        assert_eq!(sizes, Ok(()), "the device has other columns than it restores");
        assert_eq!(snapshot.valid_pages(), self.owners.valid_pages(), "valid pages, as counted");
        let lacking = self.lacking_pages();
        assert_eq!(snapshot.used_pages() + lacking, self.space.used(), "used pages, as counted");
        assert!(self.clock <= sequence, "more host pages were bound than admitted");
        let sealed = self.blocks.state.iter().zip(&self.blocks.seal_order);
        assert!(
            sealed.into_iter().all(|(&s, &order)| s != BlockState::Sealed || order < self.seals),
            "a block was sealed after the last seal"
        );
        Ok(snapshot)
    }

    /// A device in the state of `snapshot`, under the policies of `config`.
    ///
    /// # Errors
    /// The snapshot is of another device ([`DeviceSnapshot::fits`]), or contradicts itself.
    pub fn restore(config: &Config, snapshot: &DeviceSnapshot) -> Result<Ftl, String> {
        Ftl::restore_with_plugs(config, snapshot, &Plugs::default())
    }

    /// As [`Ftl::restore`], with external policies.
    ///
    /// # Errors
    /// As [`Ftl::restore`].
    pub fn restore_with_plugs(
        config: &Config,
        snapshot: &DeviceSnapshot,
        plugs: &Plugs,
    ) -> Result<Ftl, String> {
        snapshot.fits(config)?;
        let mut ftl = Ftl::with_plugs(config, plugs);
        ftl.has_policy_of(&snapshot.columns)?;
        ftl.load(config, snapshot)
            .map_err(|what| format!("the snapshot contradicts itself: {what}"))?;
        assert_eq!(ftl.owners.valid_pages(), snapshot.valid_pages(), "pages were lost");
        let used = snapshot.used_pages() + ftl.lacking_pages();
        assert_eq!(ftl.space.used(), used, "used pages were lost");
        for pool in 0..ftl.geo.pools {
            ftl.space.check(PoolId(pool));
        }
        ftl.victim.init(&ftl.blocks, ftl.clock);
        ftl.load_victim(snapshot)
            .map_err(|what| format!("the snapshot contradicts itself: {what}"))?;
        Ok(ftl)
    }

    fn load(&mut self, config: &Config, snapshot: &DeviceSnapshot) -> Result<(), String> {
        let (c, counters) = (&snapshot.columns, &snapshot.counters);
        assert_eq!(self.space.used(), 0, "a snapshot is loaded over data");
        assert_eq!(self.clock, 0, "a snapshot is loaded over data");
        snapshot.check_sizes(&self.geo, self.frontiers_and_classes())?;
        check::check(snapshot, config, &self.geo)?;
        self.flash.load(&self.geo, &c.lpn, &c.programmed, [&c.sequence, &c.digest])?;
        self.load_contents(&c.contents)?;
        self.owners.load(&c.valid, &c.lpn, &c.owners)?;
        let fresh = self.blocks.clone();
        self.blocks = snapshot.blocks(&self.geo, fresh)?;
        for b in 0..self.blocks.len() {
            let first = self.geo.first_page(BlockId(b as u32));
            let end = Ppn(first.0 + self.geo.pages_per_block);
            self.blocks.valid[b] = self.owners.count_valid(first, end) as u16;
        }
        let valid: u64 = self.blocks.valid.iter().map(|&valid| u64::from(valid)).sum();
        assert_eq!(valid, self.owners.valid_pages(), "valid pages of the blocks, as counted");
        self.load_separation(c)?;
        let ground = Ground { geo: &self.geo, blocks: &self.blocks, flash: &self.flash };
        self.space.load(&ground, c, counters.releases, counters.lowest_free_blocks)?;
        self.load_slc();
        self.check_origins()?;
        self.wear.load(c.level_due.iter().map(|&due| due != 0));
        (self.clock, self.seals) = (counters.clock, counters.seals);
        self.audit_blocks_and_space()
    }

    /// Restore the state of the victim policy, if it is the policy of the snapshot.
    fn load_victim(&mut self, snapshot: &DeviceSnapshot) -> Result<(), String> {
        let mut bytes = &snapshot.columns.victim[..];
        if snapshot.victim.is_some() == bytes.is_empty() {
            return Err(format!("{} bytes are the state of {:?}", bytes.len(), snapshot.victim));
        }
        if snapshot.victim.is_none() || snapshot.victim != self.victim_spec {
            return Ok(());
        }
        self.victim.load(&mut bytes, &self.blocks, self.clock)?;
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(format!("its victim policy leaves {} bytes", bytes.len()))
        }
    }

    fn load_contents(&mut self, contents: &[u8]) -> Result<(), String> {
        let page_bytes = 512usize << self.geo.sector_shift;
        let pages = contents.chunks_exact(4 + page_bytes);
        if !pages.remainder().is_empty() {
            return Err("the last page of its contents is incomplete".to_string());
        }
        let mut next = 0;
        for page in pages {
            let (number, bytes) = page.split_at(4);
            let number = u32::from_le_bytes(number.try_into().expect("four bytes"));
            if number >= self.geo.pages {
                return Err(format!("contents of page {number}, beyond the device"));
            }
            if number < next || self.flash.lpn(Ppn(number)).0 == u32::MAX {
                return Err(format!("contents of page {number}, not programmed or out of order"));
            }
            next = number + 1;
            self.flash.load_bytes(Ppn(number), bytes);
        }
        Ok(())
    }
}
