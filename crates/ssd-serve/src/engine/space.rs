//! Space on the disk for the data of pages and for the log.

use super::{Engine, Flash, Refusal};
use crate::log::Log;
use crate::table::NONE;
use ssd_core::host::request::Request;
use std::io;

/// Free slots whose space is released at a time when a full disk has none for the log.
const SLOTS_FOR_LOG: usize = 64;

impl Engine {
    /// Store data as [`Engine::store`] does. On a full disk, use the space of older data that no power cut brings back.
    pub(super) fn store_or_sweep(
        &mut self,
        range: (u64, u64),
        data: Option<&[u8]>,
    ) -> Result<Vec<u32>, Refusal> {
        match self.store(range, data) {
            Err(Refusal::NoSpace(_)) => {
                self.sweep()?;
                let stored = self.store(range, data);
                self.lacks_space |= stored.is_err();
                stored
            }
            stored => stored,
        }
    }

    /// Store the bytes `from..to`, which are `data` or zeros, in new slots, together with the rest of their pages. If
    /// this fails, nothing is stored.
    fn store(&mut self, (from, to): (u64, u64), data: Option<&[u8]>) -> Result<Vec<u32>, Refusal> {
        let page = self.page_bytes();
        let mut slots = Vec::with_capacity(((to - from) / page + 2) as usize);
        let mut buffer = vec![0; page as usize];
        for lpn in from / page..=(to - 1) / page {
            let (start, end) = (from.max(lpn * page), to.min((lpn + 1) * page));
            let bytes = data.map(|data| &data[(start - from) as usize..(end - from) as usize]);
            let is_whole = end - start == page;
            let added = match (is_whole, bytes) {
                (true, None) => Ok(NONE),
                (true, Some(bytes)) => self.slots.add(bytes, &mut self.disk),
                (false, _) => {
                    let old = self.slots.read(self.versions.newest(lpn as u32), 0, &mut buffer);
                    let part = (start - lpn * page) as usize..(end - lpn * page) as usize;
                    match bytes {
                        Some(bytes) => buffer[part].copy_from_slice(bytes),
                        None => buffer[part].fill(0),
                    }
                    old.and_then(|()| self.slots.add(&buffer, &mut self.disk))
                }
            };
            match added {
                Ok(slot) => slots.push(slot),
                Err(error) => {
                    self.give_back(&slots);
                    return Err(error.into());
                }
            }
        }
        Ok(slots)
    }

    /// Drop the data in `slots`, and release their space on the disk, which the log may need.
    pub(super) fn give_back(&mut self, slots: &[u32]) {
        let stored = slots.iter().copied().filter(|&slot| slot != NONE).collect();
        self.slots.give_back(stored, &mut self.disk);
    }

    /// Log a request. If a full disk has no space for the log, release that of some free slots.
    pub(super) fn log(&mut self, at: u64, request: &Request, slots: &[u32]) -> io::Result<()> {
        let log = self.log.as_mut().expect("a drive with a state");
        if log.append(at, request, slots).is_ok() {
            return Ok(());
        }
        self.sweep()?;
        self.slots.give_back_ready(SLOTS_FOR_LOG, &mut self.disk)?;
        let appended = self.log.as_mut().expect("a drive with a state").append(at, request, slots);
        self.lacks_space |= appended.is_err();
        appended
    }

    pub(super) fn sweep_if_due(&mut self) -> Result<(), Refusal> {
        if self.versions.is_sweep_due() { Ok(self.sweep()?) } else { Ok(()) }
    }

    /// Free the slots of older data that no power cut brings back. Slots are reused only after a mark, so that a replay
    /// also finds them free. Without such data there is no mark: on a full disk every refused request sweeps, and must
    /// not make the log longer.
    pub(super) fn sweep(&mut self) -> io::Result<()> {
        let freed = self.versions.sweep(&Flash(&self.ssd));
        if !freed.is_empty() {
            self.mark()?;
        }
        freed.into_iter().for_each(|slot| self.slots.free(slot));
        Ok(())
    }

    /// Release the space of some free slots, if the disk has nothing else to do.
    pub fn release_space(&mut self) {
        self.slots.release_some(&mut self.disk);
    }

    /// Let the log reserve space again: a new one has none.
    pub fn reserve_log_space(&mut self) {
        self.log.iter_mut().for_each(Log::hold_again);
    }

    /// Whether the log has space for the marks of outstanding requests.
    #[must_use]
    pub fn has_log_space(&self) -> bool {
        self.log.as_ref().is_none_or(Log::has_space)
    }

    /// Whether the log is to be folded because the disk is full.
    #[must_use]
    pub fn is_log_short(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| log.is_short() || (self.lacks_space && log.is_large()))
    }
}
