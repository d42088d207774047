//! Addresses of the requests of an application on a simplified file system.
//!
//! From the start of the volume: the *journal*, two circular logs that are written alternately (of the file system and
//! of the application); *tables*, overwritten in place, a few pages much more often than most; *files*, created and
//! deleted; and cold data, which is never accessed. Files are in [`RINGS`] rings, written at the head and deleted from
//! the tail. Each ring gets half as many creations as the one before, so the lifetimes of their contents differ by
//! powers of two.
//!
//! Writes create files while less than half of the space of the rings is in use, and overwrite tables otherwise. The
//! volume therefore stays equally full, whatever the shares of operations are.

use super::deck::BLOCK;
use super::model::Model;
use crate::generate::synthetic::{Scatter, Zipf};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// Rings of files.
const RINGS: usize = 8;
/// Share of the volume that the journal takes (64 MiB of 8 GiB for each of its logs, as in ext4).
const JOURNAL_SHARE: f64 = 1.0 / 64.0;
/// Share of the volume that is rewritten, by tables and files; the rest is cold.
const WARM_SHARE: f64 = 0.6;
/// Share of the rewritten part that belongs to files, if there are any.
const FILE_SHARE: f64 = 0.5;
/// Number of largest requests that each part must have room for.
const ROOM: u64 = 2;
/// Writes that the journal may lag behind its share before it takes a long run, too.
const SLACK: f64 = 256.0;

/// A circular part of the volume. Offsets and lengths are in sectors.
#[derive(Clone)]
struct Ring {
    start: u64,
    sectors: u64,
    /// Offset of the next write.
    head: u64,
    /// Offset of the next delete.
    tail: u64,
    /// From tail to head, gaps included.
    live: u64,
}

impl Ring {
    fn new(start: u64, sectors: u64, live: u64) -> Ring {
        assert!(live <= sectors, "{live} of {sectors} sectors in use");
        Ring { start, sectors, head: live % sectors, tail: 0, live }
    }

    /// Returns the first sector of a write of `sectors`, block-aligned if `aligned`. Overtaken data is discarded.
    fn write(&mut self, sectors: u64, aligned: bool) -> u64 {
        assert!(sectors <= self.sectors, "{sectors} sectors for a ring of {}", self.sectors);
        let from = if aligned { self.head.next_multiple_of(BLOCK) } else { self.head };
        let (at, gap) = place(from, sectors, self.sectors, self.head);
        self.head = at + sectors;
        self.live += gap + sectors;
        if self.live > self.sectors {
            self.tail = (self.tail + self.live - self.sectors) % self.sectors;
            self.live = self.sectors;
        }
        self.start + at
    }

    /// Deletes the oldest `sectors`, and returns the first of them.
    fn delete(&mut self, sectors: u64) -> u64 {
        let (at, gap) = place(self.tail, sectors, self.sectors, self.tail);
        self.tail = at + sectors;
        // Deletes reach the head only if they outweigh writes; the ring is then empty.
        self.live = self.live.saturating_sub(gap + sectors);
        if self.live == 0 {
            self.head = self.tail;
        }
        self.start + at
    }
}

/// Returns the offset of `sectors` at or after `from` in a ring of `size`, and the gap between `old` and it.
fn place(from: u64, sectors: u64, size: u64, old: u64) -> (u64, u64) {
    if from + sectors <= size { (from, from - old) } else { (0, size - old) }
}

/// Where a write continues if the next one follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Journal(usize),
    Tables,
    File(usize),
}

/// The volume and the state of its parts.
pub(super) struct Volume {
    logs: [Ring; 2],
    rings: Vec<Ring>,
    /// First sector and number of blocks of the tables.
    tables: (u64, u64),
    zipf: Zipf,
    scatter: Scatter,
    /// End of tables and files.
    end: u64,
    /// Share of the writes that go to the journal, writes so far, and journal writes so far.
    journal: (f64, u64, u64),
    /// Writes by which the journal may be ahead or behind, and whether it is catching up.
    run: (f64, bool),
    target: Target,
    /// The log written last.
    log: usize,
    /// The ring deleted from last.
    deleting: usize,
    /// Ends of the last read and of the last write.
    ends: [u64; 2],
    random: Stream,
}

const READ: usize = 0;
const WRITE: usize = 1;

impl Volume {
    /// Creates a volume of `sectors` for requests of `model`, at most `largest` sectors each. It has files if the model
    /// deletes anything.
    pub(super) fn new(
        sectors: u64,
        largest: u64,
        model: &Model,
        seed: u64,
    ) -> Result<Volume, SourceError> {
        let files = model.shapes[2].share > 0.0;
        let part = |share: f64| (share * sectors as f64) as u64 / BLOCK * BLOCK;
        let log = part(JOURNAL_SHARE / 2.0).max(ROOM * largest).next_multiple_of(BLOCK);
        let warm = part(WARM_SHARE);
        let ring = if files { part(WARM_SHARE * FILE_SHARE / RINGS as f64) } else { 0 };
        let tables = warm.saturating_sub(2 * log + ring * RINGS as u64);
        if (files && ring < ROOM * largest) || tables < ROOM * largest || 2 * log > warm / 4 {
            let parts = if files { RINGS as f64 / FILE_SHARE } else { 8.0 };
            let need = parts * (ROOM * largest) as f64 / WARM_SHARE / 2048.0;
            return Err(SourceError(format!(
                "the workload's files span {} MiB, and its largest request takes {} KiB: it needs \
                 about {need:.0} MiB; enlarge the device or workload.span",
                sectors / 2048,
                largest / 2
            )));
        }
        let first = 2 * log + tables;
        let rings = if files { RINGS as u64 } else { 0 };
        let blocks = (tables - largest) / BLOCK;
        Ok(Volume {
            logs: [0, log].map(|start| Ring::new(start, log, 0)),
            rings: (0..rings)
                .map(|i| Ring::new(first + i * ring, ring, ring / 2 / BLOCK * BLOCK))
                .collect(),
            tables: (2 * log, blocks),
            zipf: Zipf::new(blocks, model.habits.table_skew)?,
            scatter: Scatter::new(blocks),
            end: first + rings * ring,
            journal: (model.journal, 0, 0),
            run: (model.habits.journal_run as f64, false),
            target: Target::Tables,
            log: 0,
            deleting: 0,
            ends: [u64::MAX; 2],
            random: Stream::new(seed, "app.address"),
        })
    }

    /// Returns the first sector of a write. `follows`: it begins where the last write ended; `followed`: the next write
    /// will follow it.
    pub(super) fn write(&mut self, sectors: u32, follows: bool, followed: bool) -> u64 {
        let sectors = u64::from(sectors);
        if !follows {
            self.target = self.choose(followed);
        }
        let (share, writes, journaled) = self.journal;
        let journal = matches!(self.target, Target::Journal(_));
        self.journal = (share, writes + 1, journaled + u64::from(journal));
        let at = match self.target {
            Target::Journal(log) => self.logs[log].write(sectors, !follows),
            Target::File(ring) => self.rings[ring].write(sectors, !follows),
            Target::Tables => {
                let next = self.ends[WRITE];
                let (start, blocks) = self.tables;
                // Starts leave room for the largest request at the end of the tables; runs stay out of that room.
                if follows && next + sectors <= start + blocks * BLOCK { next } else { self.page() }
            }
        };
        self.ends[WRITE] = at + sectors;
        at
    }

    /// Chooses the part of the volume for a write that continues no run.
    fn choose(&mut self, followed: bool) -> Target {
        let (share, writes, journaled) = self.journal;
        let lag = share * (writes + 1) as f64 - journaled as f64;
        // The journal takes single blocks first, because files are written in runs.
        let (run, catches_up) = self.run;
        // Journal and data change turns once the journal is ahead or behind by the allowed number.
        let catches_up = lag > if catches_up { -run } else { run };
        self.run.1 = catches_up;
        if catches_up && (!followed || lag > SLACK - run) {
            self.log ^= 1;
            return Target::Journal(self.log);
        }
        let live: u64 = self.rings.iter().map(|ring| ring.live).sum();
        let total: u64 = self.rings.iter().map(|ring| ring.sectors).sum();
        if live * 2 >= total {
            return Target::Tables;
        }
        let mut ring = (self.random.bits().trailing_zeros() as usize).min(RINGS - 1);
        // Skips a ring that is full, and the ring written last, which would continue its run.
        while self.rings[ring].live * 4 > self.rings[ring].sectors * 3
            || self.target == Target::File(ring)
        {
            ring = (ring + 1) % RINGS;
        }
        Target::File(ring)
    }

    /// Returns the first sector of a table block that does not continue the last write.
    fn page(&mut self) -> u64 {
        loop {
            let block = self.scatter.place(self.zipf.rank(&mut self.random) - 1);
            let at = self.tables.0 + block * BLOCK;
            if at != self.ends[WRITE] {
                return at;
            }
        }
    }

    /// Returns the first sector of a read; `follows`: it begins where the last read ended.
    pub(super) fn read(&mut self, sectors: u32, follows: bool) -> u64 {
        let sectors = u64::from(sectors);
        let next = self.ends[READ];
        let at = if follows && next <= self.end - sectors {
            next
        } else {
            loop {
                let at = self.somewhere().min(self.end - sectors) / BLOCK * BLOCK;
                if at != next {
                    break at;
                }
            }
        };
        self.ends[READ] = at + sectors;
        at
    }

    /// Returns a sector in use, of a table or of a file with equal probability.
    fn somewhere(&mut self) -> u64 {
        let bits = self.random.bits();
        if self.rings.is_empty() || bits & 1 == 0 {
            let block = self.scatter.place(self.zipf.rank(&mut self.random) - 1);
            return self.tables.0 + block * BLOCK;
        }
        let ring = &self.rings[(bits >> 1) as usize % RINGS];
        ring.start + (ring.tail + self.random.below(ring.live.max(1))) % ring.sectors
    }

    /// Returns the first sector of a delete; `follows`: it begins where the last delete ended.
    pub(super) fn delete(&mut self, sectors: u32, follows: bool) -> u64 {
        let sectors = u64::from(sectors);
        let fits = |ring: &Ring| ring.live >= sectors;
        if !follows || !fits(&self.rings[self.deleting]) {
            let candidates = (0..RINGS).filter(|&ring| ring != self.deleting);
            let fullest =
                candidates.max_by_key(|&ring| (self.rings[ring].live, std::cmp::Reverse(ring)));
            self.deleting = fullest.expect("there are several rings");
        }
        self.rings[self.deleting].delete(sectors)
    }
}
