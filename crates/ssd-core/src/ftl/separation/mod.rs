//! Which pages share a block? One file per separation policy: the class of every page that is written or copied.
//!
//! Each class has an open block on each plane, its frontier. A class that only the host fills is like a frontier of the
//! host; pages left in the open blocks of any other class are room that copies may take ([`super::space`]). If the pool
//! has no page for the class of a copy, the copy goes to another class that takes copies, so the room rule needs no
//! more blocks than without classes. These copies are counted.
//!
//! A policy sees what a controller knows: the address, stream and size of the request, class and age of the block of
//! the page replaced, and a clock that counts the pages written: those of the host and, on a device with parity groups,
//! those of their parity, which are logical pages behind the host's. It remembers what it needs, at most 4 B per
//! logical page. A snapshot holds its state; a power cut loses it, and the policy starts afresh with the classes of the
//! blocks on flash (ADR 0023).

mod chain;
mod history;
mod persistence;

use crate::config::Config;
use crate::nand::geometry::Geometry;
use crate::plug::{ParamInfo, ParamKind, PolicySpec};
use crate::units::{Lpn, PoolId};

/// The number of classes of policies that order them by temperature.
const CLASSES: ParamInfo = ParamInfo {
    name: "classes",
    kind: ParamKind::Int(2, 16),
    default: Some("6"),
    doc: "classes, each with open blocks of its own",
};

/// The device as a separation policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// Logical pages: those of the host and, after them, those of parity groups.
    pub pages: u32,
    /// Logical pages of the host.
    pub host_pages: u32,
    /// Pages of data in a parity group; 0 without parity.
    pub data_pages: u32,
    /// Pages of an erase unit.
    pub pages_per_block: u32,
    /// Classes that the spare can hold open.
    pub most_classes: u32,
    /// Pools of the device.
    pub pools: u32,
    /// Erase units of a pool.
    pub blocks_per_pool: u32,
    /// Seed of the random stream of a policy that draws.
    pub seed: u64,
}

impl Ground {
    /// The view of a device of `config`.
    #[must_use]
    pub fn of(config: &Config, geo: &Geometry) -> Ground {
        assert!(geo.user_pages <= geo.logical_pages, "pages of the host that nobody owns");
        Ground {
            pages: geo.logical_pages,
            host_pages: geo.user_pages,
            data_pages: config.raid.group.saturating_sub(1),
            pages_per_block: geo.pages_per_block,
            most_classes: config.most_classes(),
            pools: geo.pools,
            blocks_per_pool: geo.blocks_per_pool,
            seed: config.run.seed,
        }
    }
}

/// The classes of a policy. Those to which only the host writes come first, those that only take copies last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Classes {
    /// Classes to which only the host writes.
    pub host: u32,
    /// All classes.
    pub all: u32,
}

/// A page that the host writes, or the parity that it changes.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite {
    /// Its address.
    pub lpn: Lpn,
    /// The stream of its request.
    pub stream: u8,
    /// Pages of its request; 1 if a copy of the host writes it.
    pub pages: u32,
    /// What is known of the page on flash that it replaces; `None` if the page is new, or if its data are in the
    /// controller.
    pub replaces: Option<ReplacedPage>,
    /// Pages that have been written before.
    pub clock: u64,
}

/// The block of a page that becomes invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplacedPage {
    /// Its class; `None` if wear levelling has filled it.
    pub class: Option<u32>,
    /// Pages that have been written since it was opened.
    pub age: u64,
}

/// A valid page of a victim that is being copied.
#[derive(Clone, Copy, Debug)]
pub struct PageCopy {
    /// Its address.
    pub lpn: Lpn,
    /// The class of the victim; `None` if wear levelling has filled it.
    pub class: Option<u32>,
    /// Pages that have been written.
    pub clock: u64,
}

/// A block whose collection begins.
#[derive(Clone, Copy, Debug)]
pub struct CollectedBlock {
    /// Its class.
    pub class: u32,
    /// Its valid pages.
    pub valid: u32,
    /// The clock when it was opened.
    pub opened: u64,
    /// The clock now.
    pub clock: u64,
}

/// The sealed blocks of a class in a pool. Blocks that wear levelling has filled count towards the last class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ClassBlocks {
    /// How many they are.
    pub sealed: u32,
    /// Their invalid pages.
    pub invalid: u64,
    /// The fewest valid pages of any of them; 0 if there are none.
    pub least_valid: u32,
}

/// The blocks of a pool among which the next victim is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimScope {
    /// All blocks, by the victim policy.
    All,
    /// The blocks of a class, by the victim policy, which sees no others.
    Class(u32),
    /// The block of a class that was sealed first.
    Oldest(u32),
}

crate::plugs! {
    /// Names the class of each page and, optionally, the class of each victim.
    pub trait SeparationPolicy, separation_hooks! {
        /// The number of classes; always the same answer.
        fn classes(&self) -> Classes;

        /// The class of a page of the host.
        fn of_write(&mut self, page: &PageWrite) -> u32;

        /// The class of a copy; at least [`Classes::host`]. Copies of wear levelling have none.
        fn of_copy(&mut self, page: &PageCopy) -> u32;

        /// The class of a page that is recomputed after its chip has failed, at least [`Classes::host`]; `None` for the
        /// last one.
        fn of_rebuilt(&self, lpn: Lpn) -> Option<u32> {
            let _ = lpn;
            None
        }

        /// Note that collection of a block begins; its copies follow.
        fn on_collect(&mut self, block: &CollectedBlock) {
            let _ = block;
        }

        /// Whether the policy names the classes of victims, for which the device keeps an index per class; always the
        /// same answer.
        fn names_victims(&self) -> bool {
            false
        }

        /// The blocks of `pool` among which its next victim is chosen; `classes` describes its sealed blocks. Called
        /// only if the policy names the classes of victims.
        fn victim_among(&mut self, pool: PoolId, classes: &[ClassBlocks]) -> VictimScope {
            let _ = (pool, classes);
            VictimScope::All
        }

        /// Append the state of the policy to `bytes`, for a snapshot; nothing if it would start afresh.
        fn save(&self, bytes: &mut Vec<u8>) {
            let _ = bytes;
        }

        /// Restore what [`SeparationPolicy::save`] has written for the same policy, and remove it from `bytes`.
        ///
        /// # Errors
        /// The policy cannot know that.
        fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
            let _ = bytes;
            Ok(())
        }
    }

    /// Every separation policy, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Separation = "separation policy", build(spec: &PolicySpec, ground: &Ground) (spec, ground) {
        dac Dac,
        fadac Fadac,
        fdp Fdp,
        future Future,
        host_and_copies HostAndCopies,
        midas Midas,
        multilog Multilog,
        none None,
        sepbit Sepbit,
        sfs Sfs,
        two_regions TwoRegions,
        warcip Warcip,
    }
}

/// Whether the policy that `spec` names separates pages.
#[must_use]
pub fn separates(spec: &PolicySpec) -> bool {
    spec.policy != none::INFO.name
}

/// Whether the policy that `spec` names must know the workload before the run.
#[must_use]
pub fn foresees(spec: &PolicySpec) -> bool {
    spec.policy == future::INFO.name
}

/// Why a machine that gets its requests one at a time refuses such a policy.
pub const UNFORESEEN: &str = "alloc.separation = \"future\" looks at all writes before the first one is made: expected \
                              a run of a whole workload, as by `ssdlab run` or ssdlab.run()";

impl Classes {
    /// The classes of the policy that `spec` names, if it separates and is not an external one.
    #[must_use]
    pub fn of_policy(spec: &PolicySpec) -> Option<Classes> {
        let ground = Ground {
            pages: 1,
            host_pages: 1,
            data_pages: 0,
            pages_per_block: 1,
            most_classes: 1,
            pools: 1,
            blocks_per_pool: 1,
            seed: 0,
        };
        let is_builtin = ALL.iter().any(|info| info.name == spec.policy);
        (is_builtin && separates(spec)).then(|| Separation::build(spec, &ground).classes())
    }

    /// Classes to which the host may write.
    #[must_use]
    pub fn of_host(self, separates: bool) -> u32 {
        assert!(self.all > self.host, "{self:?}: no class takes copies");
        if separates { self.all } else { self.host.max(1) }
    }
}

#[cfg(test)]
mod tests;
