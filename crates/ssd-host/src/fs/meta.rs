//! The pages of metadata: superblock, allocation bitmap, groups, inodes, directory, journal.
//!
//! Page 0 is the superblock; then come journal, bitmap, groups, inodes, directory and data. A directory entry has the
//! number of its inode, which saves an index.

use super::PAGE;
use super::note::Extent;

/// Bytes of an inode, and of a directory entry.
const INODE: usize = 256;
const ENTRY: usize = 64;
/// Longest name.
pub(crate) const MAX_NAME: usize = ENTRY - 1;
/// Extents in an inode, and in its leaf page.
const INLINE: usize = (INODE - 24) / 8;
const LEAF: usize = (PAGE - 8) / 8;
/// The most extents of a file.
pub(crate) const MAX_EXTENTS: usize = INLINE + LEAF;
/// Pages that one page of the bitmap describes.
const BITS: u32 = PAGE as u32 * 8;
const MAGIC: u64 = 0x5353_4446_5300_0001;
/// The most pages of one transaction.
pub(crate) const MAX_LISTED: usize = (PAGE - 32) / 4;

/// Where everything is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Pages of the drive.
    pub(crate) pages: u32,
    pub(crate) journal: u32,
    pub(crate) files: u32,
}

impl Layout {
    /// For a drive of `pages`; `None` if it is too small.
    pub(crate) fn new(pages: u32) -> Option<Layout> {
        let files = (pages / 32).clamp(128, 1 << 16).next_multiple_of(64);
        let layout = Layout { pages, journal: (pages / 64).clamp(64, 1 << 14), files };
        (layout.data() + 64 <= pages).then_some(layout)
    }

    pub(crate) fn bitmap(self) -> u32 {
        1 + self.journal
    }

    /// The pages that record what is free in each page of the bitmap.
    pub(crate) fn groups(self) -> u32 {
        self.bitmap() + self.pages.div_ceil(BITS)
    }

    pub(crate) fn inodes(self) -> u32 {
        self.groups() + (self.groups() - self.bitmap()).div_ceil((PAGE / ENTRY) as u32)
    }

    /// Pages that page `group` of the bitmap describes.
    pub(crate) fn pages_in(self, group: u32) -> u32 {
        (self.pages - group * BITS).min(BITS)
    }

    /// The page that records what is free in a page of the bitmap.
    pub(crate) fn group_page(self, bitmap_page: u32) -> u32 {
        self.groups() + (bitmap_page - self.bitmap()) / (PAGE / ENTRY) as u32
    }

    /// The pages of the bitmap, counted from 0, that a page describes.
    pub(crate) fn groups_on(self, page: u32) -> std::ops::Range<u32> {
        let first = (page - self.groups()) * (PAGE / ENTRY) as u32;
        first..(first + (PAGE / ENTRY) as u32).min(self.groups() - self.bitmap())
    }

    pub(crate) fn directory(self) -> u32 {
        self.inodes() + self.files / (PAGE / INODE) as u32
    }

    /// The first page of data.
    pub(crate) fn data(self) -> u32 {
        self.directory() + self.files / (PAGE / ENTRY) as u32
    }

    /// The page with the inode of a file.
    pub(crate) fn inode_page(self, file: u32) -> u32 {
        self.inodes() + file / (PAGE / INODE) as u32
    }

    /// The page with the entry of a file.
    pub(crate) fn entry_page(self, file: u32) -> u32 {
        self.directory() + file / (PAGE / ENTRY) as u32
    }

    /// The page of the bitmap that describes a page.
    pub(crate) fn bitmap_page(self, page: u32) -> u32 {
        self.bitmap() + page / BITS
    }

    /// The files whose inodes are on a page, or whose entries are.
    pub(crate) fn files_on(self, page: u32) -> Option<(bool, std::ops::Range<u32>)> {
        let (inodes, entries) = ((PAGE / INODE) as u32, (PAGE / ENTRY) as u32);
        if (self.inodes()..self.directory()).contains(&page) {
            let first = (page - self.inodes()) * inodes;
            return Some((true, first..first + inodes));
        }
        (self.directory()..self.data()).contains(&page).then(|| {
            let first = (page - self.directory()) * entries;
            (false, first..first + entries)
        })
    }
}

/// What an inode holds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Inode {
    pub(crate) size: u64,
    pub(crate) extents: Vec<Extent>,
    pub(crate) leaf: Option<u32>,
}

fn put32(page: &mut [u8], at: usize, value: u32) {
    page[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put64(page: &mut [u8], at: usize, value: u64) {
    page[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get32(page: &[u8], at: usize) -> u32 {
    page[at..at + 4].iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn get64(page: &[u8], at: usize) -> u64 {
    u64::from(get32(page, at)) | u64::from(get32(page, at + 4)) << 32
}

/// FNV-1a.
pub(crate) fn checksum(mut hash: u64, bytes: &[u8]) -> u64 {
    for word in bytes.chunks(8) {
        let value = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }
    hash
}

/// Put the inode of `file` onto its page.
pub(crate) fn put_inode(page: &mut [u8], file: u32, inode: &Inode) {
    let at = file as usize % (PAGE / INODE) * INODE;
    assert!(inode.extents.len() <= MAX_EXTENTS, "{} extents", inode.extents.len());
    page[at] = 1;
    put32(page, at + 4, inode.leaf.unwrap_or(0));
    put64(page, at + 8, inode.size);
    put32(page, at + 16, inode.extents.len() as u32);
    for (i, extent) in inode.extents.iter().take(INLINE).enumerate() {
        put32(page, at + 24 + i * 8, extent.start);
        put32(page, at + 28 + i * 8, extent.pages);
    }
}

/// The extents that do not fit into the inode, as a page.
pub(crate) fn leaf_page(extents: &[Extent]) -> Option<Vec<u8>> {
    let beyond = extents.get(INLINE..).filter(|rest| !rest.is_empty())?;
    let mut page = vec![0; PAGE];
    for (i, extent) in beyond.iter().enumerate() {
        put32(&mut page, 8 + i * 8, extent.start);
        put32(&mut page, 12 + i * 8, extent.pages);
    }
    Some(page)
}

/// The inode of `file` on its page; `leaf` reads a page. `None` if there is none.
pub(crate) fn get_inode(
    page: &[u8],
    file: u32,
    leaf: impl FnOnce(u32) -> Result<Vec<u8>, String>,
) -> Result<Option<Inode>, String> {
    let at = file as usize % (PAGE / INODE) * INODE;
    if page[at] == 0 {
        return Ok(None);
    }
    let count = get32(page, at + 16) as usize;
    let leaf_at = get32(page, at + 4);
    let read =
        |page: &[u8], at: usize| Extent { start: get32(page, at), pages: get32(page, at + 4) };
    let inline = (0..count.min(INLINE)).map(|i| read(page, at + 24 + i * 8));
    let mut extents: Vec<Extent> = inline.collect();
    if count > INLINE {
        if leaf_at == 0 || count > MAX_EXTENTS {
            return Err(format!("inode {file} has {count} extents and no place for them"));
        }
        let page = leaf(leaf_at)?;
        extents.extend((0..count - INLINE).map(|i| read(&page, 8 + i * 8)));
    }
    let leaf = (leaf_at != 0).then_some(leaf_at);
    Ok(Some(Inode { size: get64(page, at + 8), extents, leaf }))
}

/// Put the name of `file` onto its page.
pub(crate) fn put_entry(page: &mut [u8], file: u32, name: &str) {
    let at = file as usize % (PAGE / ENTRY) * ENTRY;
    assert!(!name.is_empty() && name.len() <= MAX_NAME, "{name:?} is not the name of a file");
    page[at] = name.len() as u8;
    page[at + 1..at + 1 + name.len()].copy_from_slice(name.as_bytes());
}

/// The name of `file` on its page.
pub(crate) fn get_entry(page: &[u8], file: u32) -> Option<String> {
    let at = file as usize % (PAGE / ENTRY) * ENTRY;
    let length = page[at] as usize;
    (length > 0 && length <= MAX_NAME)
        .then(|| String::from_utf8_lossy(&page[at + 1..at + 1 + length]).into_owned())
}

/// Put the free count of a page of the bitmap onto the page of groups.
pub(crate) fn put_group(page: &mut [u8], group: u32, free: u32) {
    put32(page, group as usize % (PAGE / ENTRY) * ENTRY, free);
}

/// The superblock: the oldest transaction of the journal that counts, and where it begins.
pub(crate) fn superblock(layout: Layout, tail: u32, sequence: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put64(&mut page, 0, MAGIC);
    put32(&mut page, 8, layout.pages);
    put32(&mut page, 12, tail);
    put64(&mut page, 16, sequence);
    let sum = checksum(0, &page[..24]);
    put64(&mut page, 24, sum);
    page
}

/// Layout, tail and sequence number in a superblock.
pub(crate) fn read_superblock(page: &[u8]) -> Result<(Layout, u32, u64), String> {
    if get64(page, 0) != MAGIC || get64(page, 24) != checksum(0, &page[..24]) {
        return Err("there is no file system on the drive".to_owned());
    }
    let layout = Layout::new(get32(page, 8)).ok_or("a file system of a smaller drive")?;
    Ok((layout, get32(page, 12), get64(page, 16)))
}

/// The first page of a transaction: where its pages belong.
pub(crate) fn descriptor(sequence: u64, homes: &[u32]) -> Vec<u8> {
    assert!(homes.len() <= MAX_LISTED, "a transaction of {} pages", homes.len());
    let mut page = vec![0; PAGE];
    put64(&mut page, 0, MAGIC ^ 1);
    put64(&mut page, 8, sequence);
    put32(&mut page, 16, homes.len() as u32);
    for (i, &home) in homes.iter().enumerate() {
        put32(&mut page, 32 + i * 4, home);
    }
    page
}

/// The homes of the transaction `sequence` that begins with this page; `None` if it does not.
pub(crate) fn read_descriptor(page: &[u8], sequence: u64) -> Option<Vec<u32>> {
    let count = get32(page, 16) as usize;
    let is_one = get64(page, 0) == MAGIC ^ 1 && get64(page, 8) == sequence && count <= MAX_LISTED;
    is_one.then(|| (0..count).map(|i| get32(page, 32 + i * 4)).collect())
}

/// The last page of a transaction, with the checksum of all pages before it.
pub(crate) fn commit_page(sequence: u64, sum: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put64(&mut page, 0, MAGIC ^ 2);
    put64(&mut page, 8, sequence);
    put64(&mut page, 16, sum);
    page
}

/// Whether this page completes the transaction.
pub(crate) fn commits(page: &[u8], sequence: u64, sum: u64) -> bool {
    get64(page, 0) == MAGIC ^ 2 && get64(page, 8) == sequence && get64(page, 16) == sum
}
