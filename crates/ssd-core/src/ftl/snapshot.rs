//! Snapshots: a device at rest, without the state of any policy.
//!
//! A snapshot holds media, map and blocks; policies build their index from the block table, so one
//! preconditioned device serves all of them. Policies that keep more than the table tells (ages) start
//! afresh, as their files say.

use super::blocks::{BlockState, BlockTable};
use super::gc::victim::{Victim, VictimPolicy};
use super::map::Map;
use super::space::Space;
use super::wear::Wear;
use super::{Ftl, Geometry, Media, Stream};
use crate::config::Config;

/// A device at rest.
#[derive(Clone)]
pub struct Snapshot {
    geo: Geometry,
    map: Map,
    media: Media,
    blocks: BlockTable,
    space: Space,
    clock: u64,
    valid_pages: u64,
    seals: u64,
    /// Host pages admitted so far.
    pub sequence: u64,
}

impl Ftl {
    /// The state of a device at rest, of which `sequence` host pages have been admitted.
    ///
    /// # Errors
    /// A program or a collection is under way.
    pub fn snapshot(&self, sequence: u64) -> Result<Snapshot, String> {
        for (b, &state) in self.blocks.state.iter().enumerate() {
            let busy = matches!(state, BlockState::Collecting | BlockState::Erasing);
            if busy || self.blocks.pending[b] > 0 {
                return Err(format!("block {b} is {state:?} with work under way"));
            }
        }
        Ok(Snapshot {
            geo: self.geo.clone(),
            map: self.map.clone(),
            media: self.media.clone(),
            blocks: self.blocks.clone(),
            space: self.space.clone(),
            clock: self.clock,
            valid_pages: self.valid_pages,
            seals: self.seals,
            sequence,
        })
    }

    /// A device in the state of `snapshot`, under the policies of `config`.
    ///
    /// # Errors
    /// The snapshot is of a device of another shape, or of one with other frontiers.
    pub fn restore(config: &Config, snapshot: &Snapshot) -> Result<Ftl, String> {
        let fresh = Ftl::new(config);
        if fresh.geo != snapshot.geo {
            return Err("the snapshot is of a device with another geometry or capacity".to_string());
        }
        if fresh.space.streams() != snapshot.space.streams() {
            return Err("the snapshot is of a device with other frontiers".to_string());
        }
        if fresh.media.keeps() != snapshot.media.keeps() {
            return Err(
                "the snapshot was taken with another run.data or metrics.op_log".to_string()
            );
        }
        let mut victim = Victim::build(&config.gc.victim, &snapshot.blocks);
        victim.init(&snapshot.blocks, snapshot.clock);
        Ok(Ftl {
            geo: snapshot.geo.clone(),
            map: snapshot.map.clone(),
            media: snapshot.media.clone(),
            blocks: snapshot.blocks.clone(),
            space: snapshot.space.clone(),
            wear: Wear::new(config, &snapshot.geo),
            victim,
            clock: snapshot.clock,
            valid_pages: snapshot.valid_pages,
            seals: snapshot.seals,
            rng: Stream::new(config.run.seed, "victim"),
        })
    }
}
