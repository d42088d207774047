//! The twin's journal: changes are committed together, and written to their home later.

use super::files::{File, Files, Step, ranges};
use ssd_core::host::request::{Op, flags};
use ssd_host::fs::Cause;
use std::sync::Arc;

/// Extents that fit into an inode; a file with more has a page for the others.
const IN_INODE: usize = 29;

impl Files {
    /// Commit: changes go to the journal after all writes before them, first the pages and then, when they are on
    /// flash, a page that makes them count. False if nothing has changed.
    pub(crate) fn commit(&mut self) -> bool {
        let gone = self.reap();
        if self.changed.is_empty() {
            return false;
        }
        let leaves = self.leaves();
        let homes: Vec<u32> = std::mem::take(&mut self.changed).into_iter().chain(leaves).collect();
        let pages = homes.len() as u32 + 2;
        if self.used + pages > self.at.journal {
            self.checkpoint();
        }
        self.homeless.extend(homes);
        self.steps.push(Step::Barrier(self.number + 1));
        let first = self.number + 1;
        self.log(pages - 1, 0);
        self.flush();
        self.log(1, flags::FUA);
        self.commit = (first..=self.number).collect();
        self.counts.commits += 1;
        if !gone.is_empty() {
            let pages: Vec<u32> = gone.iter().flatten().copied().collect();
            if self.settings.discard {
                let all = gone.iter().flat_map(|file| ranges(file, usize::MAX));
                let trims = all.map(|range| self.request(Op::Trim, range, 0, 0)).collect();
                self.counts.discarded += pages.len() as u64;
                self.steps.push(Step::Io(trims));
            }
            self.steps.push(Step::Free(pages));
        }
        if self.used > self.at.journal / 2 {
            self.checkpoint();
        }
        true
    }

    /// If nothing has changed since, wait for what the last commit made durable.
    pub(crate) fn commit_durably(&mut self) -> bool {
        let commits = self.commit();
        if !commits {
            self.wait_for(self.commit.clone());
        }
        commits
    }

    /// Pages at the head of the journal, which wraps at its end.
    fn log(&mut self, pages: u32, flags: u8) {
        let pages: Vec<u32> =
            (0..pages).map(|n| (self.head - 1 + n) % self.at.journal + 1).collect();
        let writes = ranges(&pages, usize::MAX)
            .into_iter()
            .map(|range| self.write(range, flags, Cause::Journal))
            .collect();
        self.head = pages[pages.len() - 1] % self.at.journal + 1;
        self.used += pages.len() as u32;
        self.steps.push(Step::Io(writes));
    }

    /// Write committed pages home; then the superblock says that the journal is empty.
    fn checkpoint(&mut self) {
        self.steps.push(Step::Barrier(self.number + 1));
        let homes: Vec<u32> = std::mem::take(&mut self.homeless).into_iter().collect();
        let writes = ranges(&homes, usize::MAX)
            .into_iter()
            .map(|range| self.write(range, 0, Cause::Home))
            .collect();
        self.steps.push(Step::Io(writes));
        self.flush();
        let superblock = self.write((0, 1), flags::FUA, Cause::Home);
        self.steps.push(Step::Io(vec![superblock]));
        let limbo = std::mem::take(&mut self.limbo);
        if !limbo.is_empty() {
            self.steps.push(Step::Free(limbo));
        }
        self.used = 0;
    }

    /// The pages with the other extents of files whose inode is to be committed.
    fn leaves(&mut self) -> Vec<u32> {
        let mut by_inode: Vec<(u32, u64)> = (self.files.iter())
            .filter(|(_, f)| !f.removed && self.changed.contains(&(self.at.inodes + f.inode / 16)))
            .map(|(&id, file)| (file.inode, id))
            .collect();
        by_inode.sort_unstable();
        let mut leaves = Vec::new();
        for (_, id) in by_inode {
            if ranges(&self.files[&id].places, usize::MAX).len() <= IN_INODE {
                continue;
            }
            if self.files[&id].leaf.is_none() {
                let taken = self.take(self.goal, 1);
                assert_eq!(taken.len(), 1, "the twin knows no full drive");
                self.mark(&taken);
                self.leaves_taken += 1;
                self.files.get_mut(&id).expect("it is there").leaf = Some(taken[0]);
            }
            leaves.extend(self.files[&id].leaf);
        }
        leaves
    }

    /// The places of files that have been removed and to which nobody refers. None of their pages is in memory from now
    /// on. The leaf of a file is not free before the journal has ended that names it.
    fn reap(&mut self) -> Vec<Vec<u32>> {
        let is_gone = |file: &File| file.removed && Arc::strong_count(&file.users) == 1;
        // In the order of their removal.
        let mut gone: Vec<u64> =
            self.files.iter().filter(|(_, file)| is_gone(file)).map(|(&id, _)| id).collect();
        gone.sort_by_key(|id| self.removals.iter().position(|removed| removed == id));
        let mut places = Vec::new();
        for id in gone {
            let file = self.files.remove(&id).expect("it is there");
            self.cache.retain(|held| held.0 != id);
            file.aside.iter().for_each(|&page| self.is_free[page as usize] = true);
            if let Some(leaf) = file.leaf {
                self.homeless.remove(&leaf);
                self.mark(&[leaf]);
                self.limbo.push(leaf);
                self.freeing += 1;
            }
            self.mark(&file.places);
            self.freeing += file.places.len();
            places.push(file.places);
        }
        places.retain(|pages| !pages.is_empty());
        places
    }
}
