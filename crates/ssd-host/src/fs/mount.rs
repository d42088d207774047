//! Mount: reads the files from pages of the drive alone.

use super::file::File;
use super::meta::{self, Layout};
use super::note::Extent;
use super::state::State;
use super::{Fs, FsSettings, PAGE};
use std::collections::BTreeMap;

/// Reads a page of the drive; zeros if nothing has been written there.
type ReadPage<'a> = dyn FnMut(u32) -> Result<Vec<u8>, String> + 'a;

/// Pages by their home.
type Images = BTreeMap<u32, Vec<u8>>;

/// The pages of committed transactions, by home; the sequence number after the last one, and where the next would
/// begin.
fn replayed(
    layout: Layout,
    (mut at, mut sequence): (u32, u64),
    read: &mut ReadPage<'_>,
) -> Result<(Images, u64, u32), String> {
    let mut pages = BTreeMap::new();
    let next = |at: u32| if at == layout.journal { 1 } else { at + 1 };
    loop {
        let descriptor = read(at)?;
        let Some(homes) = meta::read_descriptor(&descriptor, sequence) else { break };
        let mut sum = meta::checksum(sequence, &descriptor);
        let (mut images, mut place) = (Vec::new(), next(at));
        for _ in &homes {
            let image = read(place)?;
            sum = meta::checksum(sum, &image);
            images.push(image);
            place = next(place);
        }
        if !meta::commits(&read(place)?, sequence, sum) {
            break;
        }
        pages.extend(homes.into_iter().zip(images));
        (at, sequence) = (next(place), sequence + 1);
    }
    Ok((pages, sequence, at))
}

impl Fs {
    /// The file system on a drive, from its pages alone; `read` returns zeros for a page without data. Files that were
    /// removed, or never committed, are gone, and their pages are free.
    ///
    /// # Errors
    /// `read` fails, there is no file system, or its metadata contradict each other.
    pub fn mount(
        settings: FsSettings,
        read: &mut dyn FnMut(u32) -> Result<Vec<u8>, String>,
    ) -> Result<Fs, String> {
        let (layout, tail, sequence) = meta::read_superblock(&read(0)?)?;
        let (journal, sequence, head) = replayed(layout, (tail, sequence), read)?;
        let mut state = State::new(layout, settings);
        let mut page = |at: u32| match journal.get(&at) {
            Some(image) => Ok(image.clone()),
            None => read(at),
        };
        let mut bitmap = Vec::new();
        for at in layout.bitmap()..layout.groups() {
            bitmap.extend(page(at)?);
        }
        for number in 0..layout.files {
            let name = meta::get_entry(&page(layout.entry_page(number))?, number);
            let inode = meta::get_inode(&page(layout.inode_page(number))?, number, &mut page)?;
            let (name, inode) = match (name, inode) {
                (None, None) => continue,
                (Some(name), Some(inode)) => (name, inode),
                (name, _) => {
                    return Err(format!("file {number} ({name:?}): half of it is missing"));
                }
            };
            let mut data = Vec::new();
            let leaf = inode.leaf.map(|start| Extent { start, pages: 1 });
            for &extent in inode.extents.iter().chain(&leaf) {
                if !state.free.claim(extent) {
                    return Err(format!("{name}: pages {extent:?} belong to two files"));
                }
                let mut pages = extent.start..extent.start + extent.pages;
                if pages.any(|p| bitmap[p as usize / 8] & 1 << (p % 8) == 0) {
                    return Err(format!("{name}: pages {extent:?} are free in the bitmap"));
                }
                state.set_bits(extent, true);
            }
            for extent in &inode.extents {
                for at in extent.start..extent.start + extent.pages {
                    data.extend(page(at)?);
                }
            }
            if inode.size > data.len() as u64 {
                return Err(format!("{name}: {} bytes in {} pages", inode.size, data.len() / PAGE));
            }
            data.truncate(usize::try_from(inode.size).unwrap_or(usize::MAX));
            state.put(number, File::from_inode(name, data, inode));
        }
        state.continue_journal(journal, (tail, head), sequence);
        Ok(Fs::of(state))
    }
}
