//! A drive under the file layer alone. A request is under way until the test ends it, in any order; a volatile buffer
//! holds what has been written until a flush that began later has ended; a cut leaves a random part of both.

use ssd_core::host::copy::decode;
use ssd_core::host::request::{Op, flags};
use ssd_core::rng::Stream;
use ssd_host::fs::{Fs, FsSettings, Node, NotedRequest, PAGE};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Contents of pages; `None`: discarded.
pub(crate) type Pages = BTreeMap<u32, Contents>;

type Contents = Option<Rc<Vec<u8>>>;

struct PendingRequest {
    noted: NotedRequest,
    actor: usize,
    /// Changes in the buffer when it was submitted, which a flush covers.
    after: u64,
    is_waited_for: bool,
}

#[derive(Default)]
pub(crate) struct Drive {
    is_volatile: bool,
    /// What no cut takes away.
    pub(crate) flash: Pages,
    /// What has ended and is not on flash, in order, numbered.
    buffer: VecDeque<(u64, u32, Contents)>,
    changes: u64,
    under_way: Vec<PendingRequest>,
    /// What each actor has to play, and how many requests it waits for.
    actors: BTreeMap<usize, (VecDeque<Node>, usize)>,
    /// Pages that writes have programmed.
    pub(crate) programs: usize,
}

impl Drive {
    pub(crate) fn with_buffer(is_volatile: bool) -> Drive {
        Drive { is_volatile, ..Drive::default() }
    }

    /// Note that an actor has called the file layer.
    pub(crate) fn note(&mut self, actor: usize, fs: &Fs) {
        self.actors.entry(actor).or_default().0.extend(fs.take_nodes());
    }

    /// Whether the calls of the actor have returned.
    pub(crate) fn is_idle(&self, actor: usize) -> bool {
        self.actors.get(&actor).is_none_or(|(nodes, pending)| nodes.is_empty() && *pending == 0)
    }

    /// Let an actor play its next node, if it may.
    pub(crate) fn go_on(&mut self, actor: usize, fs: &Fs) -> bool {
        let (nodes, pending) = self.actors.entry(actor).or_default();
        let may = *pending == 0
            && match nodes.front() {
                Some(&Node::After(first, last)) => fs.are_done(first, last),
                Some(&Node::Barrier(number)) => fs.is_past(number),
                node => node.is_some(),
            };
        if !may {
            return false;
        }
        let after = self.changes;
        let mut submit = |all: Vec<NotedRequest>, is_waited_for| {
            let all = all.into_iter();
            self.under_way.extend(all.map(|noted| PendingRequest {
                noted,
                actor,
                after,
                is_waited_for,
            }));
        };
        match nodes.pop_front() {
            Some(Node::Io(all)) => {
                *pending = all.len();
                submit(all, true);
            }
            Some(Node::ReadAhead(all)) => submit(all, false),
            Some(Node::Free(extents)) => fs.freed(&extents),
            _ => {}
        }
        true
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// A page as reads find it now.
    fn page(&self, page: u32) -> Contents {
        let newest = self.buffer.iter().rev().find(|change| change.1 == page);
        let newest = newest.map(|change| change.2.clone());
        newest.unwrap_or_else(|| self.flash.get(&page).cloned().flatten())
    }

    /// The pages that a request changes.
    fn changes(&self, noted: &NotedRequest) -> Vec<(u32, Contents)> {
        let pages = noted.extent.start..noted.extent.start + noted.extent.pages;
        let data = noted.data.as_deref().unwrap_or_default();
        let contents: Vec<Contents> = match noted.op {
            Op::Write => data.chunks(PAGE).map(|page| Some(Rc::new(page.to_vec()))).collect(),
            Op::Copy => {
                let ranges = decode(data).expect("whole ranges");
                let sources = ranges.iter().flat_map(|r| r.sector / 8..(r.sector + r.sectors) / 8);
                sources.map(|page| self.page(page as u32)).collect()
            }
            Op::Trim => pages.clone().map(|_| None).collect(),
            Op::Read | Op::Flush => return Vec::new(),
        };
        assert_eq!(contents.len(), pages.len(), "as long as what is written");
        pages.zip(contents).collect()
    }

    /// End one of the requests under way.
    pub(crate) fn end(&mut self, at: usize, fs: &Fs) {
        let PendingRequest { noted, actor, after, is_waited_for } = self.under_way.remove(at);
        let changes = self.changes(&noted);
        self.programs += if noted.op == Op::Write { changes.len() } else { 0 };
        let numbered = changes.into_iter().map(|(page, contents)| {
            self.changes += 1;
            (self.changes, page, contents)
        });
        self.buffer.extend(numbered.collect::<Vec<_>>());
        let covered = match noted.op {
            Op::Flush => after,
            _ if !self.is_volatile => self.changes,
            _ => 0,
        };
        let is_fua = noted.flags & flags::FUA != 0;
        let own = noted.extent.start..noted.extent.start + noted.extent.pages;
        let flash = &mut self.flash;
        self.buffer.retain(|(number, page, contents)| {
            let lands = *number <= covered || is_fua && own.contains(page);
            if lands {
                flash.insert(*page, contents.clone());
            }
            !lands
        });
        if is_waited_for {
            self.actors.get_mut(&actor).expect("it has submitted").1 -= 1;
        }
        fs.done(noted.number);
    }

    /// Play everything noted as one actor; `look` is called after each request that ends.
    pub(crate) fn play(&mut self, fs: &Fs, look: &mut dyn FnMut(&Drive)) {
        self.note(0, fs);
        while !self.is_idle(0) || self.under_way() > 0 {
            if !self.go_on(0, fs) {
                assert!(self.under_way() > 0, "it waits for nothing");
                self.end(0, fs);
                look(self);
            }
        }
    }

    /// The result of a cut: for each page, the version on flash, or any later one in the buffer or under way.
    pub(crate) fn cut(&self, random: &mut Stream) -> Pages {
        let mut left = self.flash.clone();
        let mut versions: BTreeMap<u32, Vec<&Contents>> = BTreeMap::new();
        for (_, page, contents) in &self.buffer {
            versions.entry(*page).or_default().push(contents);
        }
        let under_way: Vec<_> =
            self.under_way.iter().flat_map(|one| self.changes(&one.noted)).collect();
        for (page, contents) in &under_way {
            versions.entry(*page).or_default().push(contents);
        }
        // Sometimes all of it has landed, or nothing.
        let mood = random.below(8);
        for (page, versions) in versions {
            let landed = match mood {
                0 => 0,
                1 => versions.len(),
                _ => random.below(versions.len() as u64 + 1) as usize,
            };
            if landed > 0 {
                left.insert(page, versions[landed - 1].clone());
            }
        }
        left
    }

    /// The drive after a cut that has left these pages.
    pub(crate) fn restarted(&self, left: Pages) -> Drive {
        Drive { flash: left, ..Drive::with_buffer(self.is_volatile) }
    }

    /// Mount what is on the drive at rest.
    pub(crate) fn mount(&self, settings: FsSettings) -> Result<Fs, String> {
        assert!(self.under_way.is_empty(), "the drive is at rest");
        let mut pages = self.flash.clone();
        pages.extend(self.buffer.iter().map(|(_, page, contents)| (*page, contents.clone())));
        mount(&pages, settings)
    }
}

/// The file system on these pages.
pub(crate) fn mount(pages: &Pages, settings: FsSettings) -> Result<Fs, String> {
    Fs::mount(settings, &mut |page| {
        let contents = pages.get(&page).and_then(Option::as_deref);
        Ok(contents.cloned().unwrap_or_else(|| vec![0; PAGE]))
    })
}
