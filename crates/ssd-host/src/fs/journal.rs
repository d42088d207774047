//! The journal: changed pages of metadata are committed together, and written to their home later.

use super::PAGE;
use super::meta::{self, Inode};
use super::note::{Cause, Extent, Node, NotedRequest};
use super::state::State;
use ssd_core::host::request::{Op, flags};
use std::io;

impl State {
    fn inode(&self, number: u32) -> Option<Inode> {
        let file = self.files[number as usize].as_ref()?;
        (!file.removed).then(|| Inode {
            size: file.written,
            extents: file.extents.clone(),
            leaf: file.leaf,
        })
    }

    /// The leaf pages of files with many extents that have changed; they are placed first.
    fn leaves(&mut self) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let pages: Vec<u32> = self.changed.iter().copied().collect();
        let mut leaves = Vec::new();
        for page in pages {
            let Some((true, files)) = self.layout.files_on(page) else { continue };
            for number in files {
                let Some(inode) = self.inode(number) else { continue };
                let Some(image) = meta::leaf_page(&inode.extents) else { continue };
                let at = match inode.leaf {
                    Some(at) => at,
                    None => {
                        if self.free.pages() == 0 {
                            self.give_up_aside();
                        }
                        let extent = self.free.take(self.goal, 1);
                        let extent = extent.ok_or_else(|| self.full())?;
                        self.set_bits(extent, true);
                        self.file_mut(number).leaf = Some(extent.start);
                        extent.start
                    }
                };
                leaves.push((at, image));
            }
        }
        Ok(leaves)
    }

    /// A page of metadata as it is now.
    fn image(&self, page: u32) -> Vec<u8> {
        let layout = self.layout;
        if (layout.bitmap()..layout.groups()).contains(&page) {
            let at = (page - layout.bitmap()) as usize * PAGE;
            return self.bitmap[at..at + PAGE].to_vec();
        }
        let mut image = vec![0; PAGE];
        if (layout.groups()..layout.inodes()).contains(&page) {
            for group in layout.groups_on(page) {
                let most = layout.pages_in(group);
                meta::put_group(&mut image, group, most - self.used_in[group as usize]);
            }
            return image;
        }
        let Some((inodes, files)) = layout.files_on(page) else {
            unreachable!("page {page} is not metadata")
        };
        for number in files {
            let Some(inode) = self.inode(number) else { continue };
            if inodes {
                meta::put_inode(&mut image, number, &inode);
            } else {
                meta::put_entry(&mut image, number, &self.file(number).name);
            }
        }
        image
    }

    /// Commit what has changed; false if nothing has. The commit waits for everything noted before.
    pub(crate) fn commit(&mut self) -> io::Result<bool> {
        let freed = self.reap();
        if self.changed.is_empty() {
            debug_assert!(freed.is_empty(), "pages are freed and the bitmap is as it was");
            return Ok(false);
        }
        let leaves = self.leaves()?;
        let pages = std::mem::take(&mut self.changed);
        let images = pages.iter().map(|&page| (page, self.image(page))).chain(leaves);
        let images: Vec<(u32, Vec<u8>)> = images.collect();
        let needed = images.len() as u32 + 2;
        assert!(needed <= self.layout.journal / 2, "a transaction of {needed} pages");
        if self.used + needed > self.layout.journal {
            self.checkpoint();
        }
        let homes: Vec<u32> = images.iter().map(|(page, _)| *page).collect();
        let descriptor = meta::descriptor(self.sequence, &homes);
        let mut sum = meta::checksum(self.sequence, &descriptor);
        let mut body = vec![descriptor];
        for (page, image) in images {
            sum = meta::checksum(sum, &image);
            body.push(image.clone());
            self.homeless.insert(page, image);
        }
        let first = self.number + 1;
        self.nodes.push(Node::Barrier(first));
        let writes = self.journal(body, 0);
        self.nodes.push(Node::Io(writes));
        let last = vec![meta::commit_page(self.sequence, sum)];
        self.flush();
        let last = self.journal(last, flags::FUA);
        self.nodes.push(Node::Io(last));
        self.committing = (first, self.number);
        self.sequence += 1;
        self.commits += 1;
        if !freed.is_empty() {
            self.discard(freed);
        }
        if self.used > self.layout.journal / 2 {
            self.checkpoint();
        }
        Ok(true)
    }

    /// Make everything noted so far durable before anything noted later. If nothing has changed since the last commit,
    /// wait for that commit and return false.
    pub(crate) fn commit_durably(&mut self) -> io::Result<bool> {
        let commits = self.commit()?;
        if !commits {
            self.after(self.committing);
        }
        Ok(commits)
    }

    fn discard(&mut self, freed: Vec<Extent>) {
        if self.settings.discard {
            let mut trims = Vec::new();
            for &extent in &freed {
                let (number, op) = (self.next_number(), Op::Trim);
                self.writing.insert(number);
                self.discarded += u64::from(extent.pages);
                trims.push(NotedRequest::without_data(number, op, extent, Vec::new()));
            }
            self.nodes.push(Node::Io(trims));
        }
        self.nodes.push(Node::Free(freed));
    }

    /// Write pages at the head of the journal.
    fn journal(&mut self, pages: Vec<Vec<u8>>, flags: u8) -> Vec<NotedRequest> {
        let (mut writes, mut pages) = (Vec::new(), pages.into_iter().peekable());
        while pages.peek().is_some() {
            let (start, mut data, mut count) = (self.head, Vec::new(), 0);
            while let Some(page) = pages.next_if(|_| start + count <= self.layout.journal) {
                data.extend(page);
                count += 1;
            }
            self.used += count;
            self.head = if start + count > self.layout.journal { 1 } else { start + count };
            let extent = Extent { start, pages: count };
            writes.push(self.write(extent, flags, Cause::Journal, || data));
        }
        writes
    }

    /// Write committed pages to their home, so that the journal is empty.
    fn checkpoint(&mut self) {
        self.nodes.push(Node::Barrier(self.number + 1));
        let mut writes: Vec<(u32, Vec<u8>)> = Vec::new();
        for (page, image) in std::mem::take(&mut self.homeless) {
            match writes.last_mut() {
                Some((start, data)) if *start + (data.len() / PAGE) as u32 == page => {
                    data.extend(image);
                }
                _ => writes.push((page, image)),
            }
        }
        let writes = writes.into_iter().map(|(start, data)| {
            let extent = Extent { start, pages: (data.len() / PAGE) as u32 };
            self.write(extent, 0, Cause::Home, || data)
        });
        let writes = writes.collect();
        self.nodes.push(Node::Io(writes));
        let page = meta::superblock(self.layout, self.head, self.sequence);
        self.flush();
        let first = self.write(Extent { start: 0, pages: 1 }, flags::FUA, Cause::Home, || page);
        self.nodes.push(Node::Io(vec![first]));
        if !self.limbo.is_empty() {
            let limbo = std::mem::take(&mut self.limbo);
            self.nodes.push(Node::Free(limbo));
        }
        self.used = 0;
    }
}
