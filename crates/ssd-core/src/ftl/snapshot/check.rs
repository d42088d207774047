//! Consistency of the columns and counters of a snapshot with each other and with the configuration.
//!
//! A checksum detects damage; these checks detect a file written by a faulty program. Every column is
//! compared with the columns that determine it and with the keys that govern it:
//!
//! | column | must agree with | where |
//! |---|---|---|
//! | `lpn`, `programmed` | each other, `device` | `Flash::load` |
//! | `valid` | `lpn`, `device.user_capacity` | `Map::load` |
//! | `state` | `programmed`, `wear.factory_bad_blocks`, `wear.endurance` | the audit, [`lives`] |
//! | `erases` | `state`, the counter of releases, `wear.endurance` | [`lives`], [`counters`] |
//! | `seal_order` | `state`, the counter of seals | [`orders`] |
//! | `free_order` | `state`, `erases`, `wear.dynamic` | [`orders`] |
//! | `frontiers`, `open_superblocks` | `state`, `programmed`, `alloc` | `Space::load` |
//! | `host_turns` | `alloc`, `device` | `Space::load` |
//! | `opened`, `level_due` | nothing: flags | [`flags`] |
//! | `victim` | the policy in the header, `state`, the clock | `load_victim` |
//! | `slc`, `slc_erases` | `slc.mode`, `state`, `programmed`, `erases` | [`slc_blocks`], [`lives`] |
//! | `sequence`, `digest`, `contents` | `valid`, `lpn`, what is kept | [`data`], `load_contents` |
//!
//! `level_due` is only of use to a device that levels wear; others leave it out.

use super::DeviceSnapshot;
use crate::config::Config;
use crate::ftl::blocks::BlockState;
use crate::ftl::wear::{SlcWear, Wear};
use crate::nand::geometry::Geometry;

/// Largest counter that a run can reach.
const MOST: u64 = 1 << 60;
/// Largest number of released blocks.
const MOST_RELEASES: u32 = 1 << 31;

const FREE: u8 = BlockState::Free as u8;
const SEALED: u8 = BlockState::Sealed as u8;
const BAD: u8 = BlockState::Bad as u8;

/// Check that a device of `config` with geometry `geo` can be in this state; the columns have the right lengths.
///
/// # Errors
/// The first contradiction.
pub(super) fn check(
    snapshot: &DeviceSnapshot,
    config: &Config,
    geo: &Geometry,
) -> Result<(), String> {
    let (c, blocks) = (&snapshot.columns, snapshot.columns.state.len());
    // `zip` would drop the rest of the longer one.
    assert_eq!(blocks, (geo.pools * geo.blocks_per_pool) as usize, "states of other blocks");
    assert_eq!([c.erases.len(), c.free_order.len()], [blocks; 2], "the sizes have been checked");
    assert_eq!(c.seal_order.len(), blocks, "the sizes have been checked");
    flags("opened", &snapshot.columns.opened)?;
    flags("level_due", &snapshot.columns.level_due)?;
    counters(snapshot)?;
    lives(snapshot, config, geo)?;
    orders(snapshot, config)?;
    slc_blocks(snapshot, config, geo)?;
    data(snapshot, geo)
}

fn flags(name: &str, column: &[u8]) -> Result<(), String> {
    match column.iter().position(|&flag| flag > 1) {
        Some(pool) => Err(format!("{name} of pool {pool} is {}, expected 0 or 1", column[pool])),
        None => Ok(()),
    }
}

fn counters(snapshot: &DeviceSnapshot) -> Result<(), String> {
    let (c, n) = (&snapshot.columns, &snapshot.counters);
    let large = [n.sequence, n.clock, n.seals].iter().any(|&n| n > MOST);
    if large || n.releases > MOST_RELEASES {
        return Err(format!("{n:?} are no counters of a run"));
    }
    if n.clock > n.sequence {
        return Err(format!("{} host pages were bound, {} admitted", n.clock, n.sequence));
    }
    let worn_out = c.state.iter().zip(&c.erases).filter(|&(&s, &n)| s == BAD && n > 0).count();
    let erases: u64 = c.erases.iter().map(|&n| u64::from(n)).sum();
    if erases != u64::from(n.releases) + worn_out as u64 {
        let released = n.releases;
        return Err(format!(
            "{erases} erases released {released} erase units and wore out {worn_out}"
        ));
    }
    let free = c.state.iter().filter(|&&s| s == FREE).count() as u64;
    if n.lowest_free_blocks > free {
        let lowest = n.lowest_free_blocks;
        return Err(format!(
            "{free} erase units are erased, but there were never fewer than {lowest}"
        ));
    }
    Ok(())
}

/// Check that bad blocks are bad from the factory or worn out, and good ones are not worn out.
fn lives(snapshot: &DeviceSnapshot, config: &Config, geo: &Geometry) -> Result<(), String> {
    let (lives, c) = (Wear::lives(config), &snapshot.columns);
    let (mut factory, wear) = (0, SlcWear::new(config));
    for (block, (&state, &erases)) in c.state.iter().zip(&c.erases).enumerate() {
        let of_slc = c.slc_erases.get(block).copied().unwrap_or(0);
        if of_slc > erases {
            return Err(format!("block {block} was erased {erases} times, and {of_slc} as SLC"));
        }
        let survives = |limit: u32| !wear.reach(erases, of_slc, limit);
        let says = match (&lives, state == BAD) {
            (_, true) if erases == 0 => {
                factory += 1;
                continue;
            }
            (None, true) => "worn out, and wear.endurance is 0".to_string(),
            (Some(lives), true)
                if survives(*lives.start()) || of_slc == 0 && erases > *lives.end() =>
            {
                format!("worn out, and blocks survive {} to {}", lives.start(), lives.end())
            }
            (Some(lives), false) if !survives(*lives.end()) => {
                format!("not worn out, and no block survives more than {}", lives.end())
            }
            _ => continue,
        };
        return Err(format!("after {erases} erases block {block} is {says}"));
    }
    // The seed determines how the bad flash blocks are spread over superblocks.
    let flash_blocks = config.factory_bad_flash_blocks();
    let units = flash_blocks.div_ceil(u64::from(geo.members))..=flash_blocks;
    if !units.contains(&factory) {
        return Err(format!(
            "{factory} erase units are bad from the factory, but wear.factory_bad_blocks implies {} to \
             {}",
            units.start(),
            units.end()
        ));
    }
    Ok(())
}

/// Check that SLC blocks are in use and no fuller than they can be; the columns are left out if there never was one.
fn slc_blocks(snapshot: &DeviceSnapshot, config: &Config, geo: &Geometry) -> Result<(), String> {
    let c = &snapshot.columns;
    flags("slc", &c.slc)?;
    if (c.slc.len() + c.slc_erases.len() > 0) && config.slc.is_off() {
        return Err("it has SLC blocks, and slc.mode is \"off\"".to_string());
    }
    let most = config.slc_pages();
    for (block, _) in c.slc.iter().enumerate().filter(|&(_, &slc)| slc == 1) {
        let state = c.state[block];
        let members = block * geo.members as usize..(block + 1) * geo.members as usize;
        let pages = &c.programmed[members];
        let is_full = pages.iter().all(|&pages| u32::from(pages) == most);
        let is_beyond = pages.iter().any(|&pages| u32::from(pages) > most);
        let sound = match state {
            SEALED => is_full,
            _ => state == BlockState::Open as u8 && !is_full && !is_beyond,
        };
        if !sound {
            return Err(format!(
                "SLC block {block}, in state {state}, has {pages:?} of {most} pages on its planes"
            ));
        }
    }
    Ok(())
}

/// Check the orders among sealed and among erased blocks.
fn orders(snapshot: &DeviceSnapshot, config: &Config) -> Result<(), String> {
    let (c, n) = (&snapshot.columns, &snapshot.counters);
    let mut sealed = Vec::new();
    for (block, &state) in c.state.iter().enumerate() {
        let (order, erases) = (c.free_order[block], c.erases[block]);
        let sound = match (state == FREE, config.wear.dynamic) {
            (false, _) => order == 0,
            (true, true) => order == erases,
            (true, false) => order <= n.releases && (order == 0) == (erases == 0),
        };
        if !sound {
            return Err(format!(
                "block {block}, in state {state} after {erases} erases, has place {order} among the \
                 erased ones"
            ));
        }
        if state == SEALED {
            sealed.push(c.seal_order[block]);
        }
    }
    sealed.sort_unstable();
    if sealed.last().is_some_and(|&last| last >= n.seals) {
        return Err(format!("a block was sealed after the last of {} seals", n.seals));
    }
    match sealed.array_windows().find(|[a, b]| a == b) {
        Some([order, _]) => Err(format!("two blocks were sealed at place {order}")),
        None => Ok(()),
    }
}

/// What is kept of the data of pages.
fn data(snapshot: &DeviceSnapshot, geo: &Geometry) -> Result<(), String> {
    let (c, keeps) = (&snapshot.columns, snapshot.keeps);
    if (keeps.bytes && !keeps.digest) || (keeps.digest && !keeps.sequence) {
        return Err("bytes need their digests, and digests need admission numbers".into());
    }
    if !keeps.bytes && !c.contents.is_empty() {
        return Err("it has contents of pages, which its header rules out".into());
    }
    let admitted = snapshot.counters.sequence;
    if let Some(page) = c.sequence.iter().position(|&sequence| sequence > admitted) {
        let sequence = c.sequence[page];
        return Err(format!("page {page} holds admission {sequence} of {admitted}"));
    }
    let valid = |page: usize| c.valid[page / 64] >> (page % 64) & 1 == 1;
    assert!(c.digest.len() <= c.valid.len() * 64, "the sizes have been checked");
    // The parity of equal pages is 0.
    let of_host = |page: usize| c.lpn[page] < geo.user_pages;
    let without = |&page: &usize| c.digest[page] == 0 && valid(page) && of_host(page);
    match (0..c.digest.len()).find(without) {
        Some(page) => Err(format!("page {page} is valid and has no digest")),
        None => Ok(()),
    }
}
