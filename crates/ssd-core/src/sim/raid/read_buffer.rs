//! The buffer of the read module: the pages read last for updates of parity.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 4.2: this buffer limits the reads induced by
//! duplicates. Where the paper is silent, decided: the buffer has room for a fixed number of pages, keeps those that
//! were read last until they are overwritten, and does not take pages that are written.
//!
//! Pages are looked up by number in a hash table with chains. Three quarters of the lookups find nothing, and search
//! trees took a tenth of a run. No result depends on the order of the chains.

use crate::nand::flash::Payload;
use crate::units::Lpn;

/// The number of no place.
const NONE: u32 = u32::MAX;

/// A page in the buffer, or the slot of one that has left it.
#[derive(Debug)]
struct Page {
    lpn: Lpn,
    payload: Payload,
    /// The next in its chain.
    beside: u32,
    /// The pages read before and after it.
    older: u32,
    newer: u32,
}

/// The pages with their contents.
pub(super) struct ReadBuffer {
    most: usize,
    /// Slots of pages, by the hash of their numbers.
    chains: Vec<u32>,
    places: Vec<Page>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl ReadBuffer {
    pub(super) fn new(most: usize) -> ReadBuffer {
        assert!(most < NONE as usize / 4, "{most} pages have no places");
        let chains = vec![NONE; (2 * most).next_power_of_two().max(2)];
        let (places, free) = (Vec::new(), Vec::new());
        ReadBuffer { most, chains, places, free, oldest: NONE, newest: NONE }
    }

    /// Whether it has room for any page.
    #[inline]
    pub(super) fn is_enabled(&self) -> bool {
        debug_assert!(self.most > 0 || self.places.is_empty(), "pages without room");
        self.most > 0
    }

    #[inline]
    fn chain_of(&self, lpn: Lpn) -> usize {
        debug_assert!(self.chains.len().is_power_of_two(), "{} chains", self.chains.len());
        let mixed = lpn.0.wrapping_mul(0x9E37_79B1);
        (mixed >> (32 - self.chains.len().trailing_zeros())) as usize
    }

    #[inline]
    fn place_of(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.chains[self.chain_of(lpn)];
        while at != NONE && self.places[at as usize].lpn != lpn {
            at = self.places[at as usize].beside;
        }
        debug_assert!(at == NONE || at < self.places.len() as u32, "{at} is no place");
        (at != NONE).then_some(at)
    }

    /// Note that `lpn` has been read and holds `payload`.
    #[inline]
    pub(super) fn insert(&mut self, lpn: Lpn, payload: &Payload) {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is inserted");
        if self.is_enabled() {
            self.insert_newest(lpn, payload);
        }
    }

    #[inline(never)]
    fn insert_newest(&mut self, lpn: Lpn, payload: &Payload) {
        self.remove(lpn);
        if self.count() == self.most {
            assert_ne!(self.oldest, NONE, "it is full of nothing");
            self.unlink(self.oldest);
        }
        let chain = self.chain_of(lpn);
        let (beside, older) = (self.chains[chain], self.newest);
        let page = Page { lpn, payload: payload.clone(), beside, older, newer: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = page;
                at
            }
            None => {
                self.places.push(page);
                self.places.len() as u32 - 1
            }
        };
        self.chains[chain] = at;
        self.newest = at;
        match older {
            NONE => self.oldest = at,
            older => self.places[older as usize].newer = at,
        }
        debug_assert!(self.count() <= self.most, "it holds more pages than fit");
    }

    /// Note that `lpn` has been overwritten or trimmed.
    #[inline]
    pub(super) fn remove(&mut self, lpn: Lpn) {
        debug_assert!(self.count() <= self.most, "it holds more pages than fit");
        if self.is_enabled()
            && let Some(at) = self.place_of(lpn)
        {
            self.unlink(at);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Page { lpn, beside, older, newer, .. } = self.places[at as usize];
        let chain = self.chain_of(lpn);
        if self.chains[chain] == at {
            self.chains[chain] = beside;
        } else {
            let mut before = self.chains[chain] as usize;
            while self.places[before].beside != at {
                before = self.places[before].beside as usize;
            }
            self.places[before].beside = beside;
        }
        match older {
            NONE => self.oldest = newer,
            older => self.places[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.places[newer as usize].older = older,
        }
        self.free.push(at);
        debug_assert!(self.place_of(lpn).is_none(), "{lpn:?} was in it twice");
    }

    #[inline]
    fn count(&self) -> usize {
        debug_assert!(self.free.len() <= self.places.len(), "places that never were");
        self.places.len() - self.free.len()
    }

    #[inline]
    pub(super) fn contains(&self, lpn: Lpn) -> bool {
        debug_assert!(self.count() <= self.most, "it holds more pages than fit");
        self.is_enabled() && self.place_of(lpn).is_some()
    }

    /// The contents of a page in the buffer.
    pub(super) fn payload(&self, lpn: Lpn) -> Option<&Payload> {
        debug_assert!(self.is_enabled(), "a buffer without room has no {lpn:?}");
        self.place_of(lpn).map(|at| &self.places[at as usize].payload)
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        let follow = |from, next: fn(&Page) -> u32| {
            let to_option = |at| (at != NONE).then_some(at);
            std::iter::successors(to_option(from), move |&at| {
                to_option(next(&self.places[at as usize]))
            })
        };
        let by_read = follow(self.oldest, |page| page.newer);
        let present = by_read.filter(|&at| self.place_of(self.places[at as usize].lpn) == Some(at));
        let back = follow(self.newest, |page| page.older).count();
        let chained: usize =
            self.chains.iter().map(|&first| follow(first, |page| page.beside).count()).sum();
        let counts = [present.count(), back, chained];
        if counts != [self.count(); 3] || self.count() > self.most {
            return Err(format!(
                "{} of {} pages are in the read buffer, {counts:?}",
                self.count(),
                self.most
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_pages_read_last_until_they_are_overwritten() {
        let page = |digest| Payload { digest, bytes: None };
        let mut buffer = ReadBuffer::new(2);
        for (lpn, digest) in [(1, 10), (2, 20), (1, 11), (3, 30)] {
            buffer.insert(Lpn(lpn), &page(digest));
        }
        assert_eq!([1, 2, 3].map(|lpn| buffer.contains(Lpn(lpn))), [true, false, true]);
        assert_eq!(buffer.payload(Lpn(1)), Some(&page(11)));
        buffer.remove(Lpn(1));
        assert!(!buffer.contains(Lpn(1)));
        buffer.audit().unwrap();
        let mut none = ReadBuffer::new(0);
        none.insert(Lpn(1), &page(1));
        assert!(!none.contains(Lpn(1)));
    }

    #[test]
    fn it_holds_what_a_list_would() {
        let mut rng = crate::rng::Stream::new(11, "kept");
        let (mut buffer, mut naive) = (ReadBuffer::new(13), Vec::<(u32, u64)>::new());
        for step in 0..20_000u64 {
            let lpn = rng.below(40) as u32 * 1_000;
            naive.retain(|(of, _)| *of != lpn);
            if rng.below(4) == 0 {
                buffer.remove(Lpn(lpn));
            } else {
                buffer.insert(Lpn(lpn), &Payload { digest: step, bytes: None });
                naive.push((lpn, step));
                naive.drain(..naive.len().saturating_sub(13));
            }
            buffer.audit().unwrap();
            for of in (0..40).map(|of| of * 1_000) {
                let page = naive.iter().find(|(lpn, _)| *lpn == of).map(|(_, digest)| *digest);
                assert_eq!(buffer.contains(Lpn(of)), page.is_some());
                assert_eq!(buffer.payload(Lpn(of)).map(|payload| payload.digest), page);
            }
        }
    }
}
