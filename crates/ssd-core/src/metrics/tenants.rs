//! What is written for whom: the volume and stream that has written each logical page last, and the programs of its
//! data.

use super::cause::{CAUSES, Cause};
use crate::host::request::Request;
use crate::units::Lpn;
use std::collections::BTreeMap;

/// A volume, and a stream in it.
pub type Writer = (u16, u8);

/// Pages that a writer has written, and programs of pages that it has written last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Pages that its requests have written.
    pub pages: u64,
    /// Programs, by cause.
    pub programs: [u64; CAUSES],
}

/// Counts by writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tenants {
    /// Who has written each logical page last, by number; 0: no request has.
    last: Vec<u16>,
    numbers: BTreeMap<Writer, u16>,
    /// By number.
    counts: Vec<Written>,
}

impl Tenants {
    /// A device whose `user_pages` no request has written.
    #[must_use]
    pub fn new(user_pages: u32) -> Tenants {
        let last = vec![0; user_pages as usize];
        Tenants { last, numbers: BTreeMap::new(), counts: vec![Written::default()] }
    }

    /// The number of the writer of `request`; 0 if there are too many.
    fn number(&mut self, request: &Request) -> u16 {
        let next = u16::try_from(self.counts.len());
        let writer = (request.volume, request.stream);
        if let (None, Ok(next)) = (self.numbers.get(&writer), next) {
            self.numbers.insert(writer, next);
            self.counts.push(Written::default());
        }
        self.numbers.get(&writer).copied().unwrap_or(0)
    }

    /// `request` writes so many pages from `first` on, of which `counted` count as written by the host.
    pub fn writes(&mut self, request: &Request, first: Lpn, pages: u32, counted: u64) {
        let number = self.number(request);
        self.counts[usize::from(number)].pages += counted;
        self.last[first.at()..first.at() + pages as usize].fill(number);
    }

    /// So many pages of `request`, which counted as written, do not after all.
    pub fn forget(&mut self, request: &Request, pages: u64) {
        let number = self.number(request);
        self.counts[usize::from(number)].pages -= pages;
    }

    /// A page for `cause` with the data of `lpn` is programmed. Parity and checkpoints are no writer's.
    pub fn programs(&mut self, lpn: Lpn, cause: Cause) {
        let number = self.last.get(lpn.at()).copied().unwrap_or(0);
        self.counts[usize::from(number)].programs[cause.at()] += 1;
    }

    /// Count anew; the pages keep their writers.
    pub fn restart(&mut self) {
        self.counts.fill(Written::default());
    }

    /// The counts of each writer, first of the pages that no request has written.
    pub fn by_writer(&self) -> impl Iterator<Item = (Option<Writer>, &Written)> {
        let others = (None, &self.counts[0]);
        let writers = self.numbers.iter();
        let writers = writers.map(|(&writer, &n)| (Some(writer), &self.counts[usize::from(n)]));
        std::iter::once(others).chain(writers)
    }
}
