//! Space on the disk for the data of pages and for the log.

use super::{Engine, Flash, Refusal};
use crate::log::Log;
use crate::slots::NONE;
use ssd_core::host::request::Request;
use std::io;

/// Number of slots that are given back to a full disk at a time, for the log.
const ROOM_FOR_LOG: usize = 64;

impl Engine {
    /// Store data as [`Engine::store`] does; on a full disk, in the space of older data that no cut brings back.
    pub(super) fn store_or_sweep(
        &mut self,
        range: (u64, u64),
        data: Option<&[u8]>,
    ) -> Result<Vec<u32>, Refusal> {
        match self.store(range, data) {
            Err(Refusal::NoRoom(_)) => {
                self.sweep()?;
                let stored = self.store(range, data);
                self.wants_room |= stored.is_err();
                stored
            }
            stored => stored,
        }
    }

    /// Store the bytes from `from` to `to`, which are `data` or zeros, together with the rest of their pages, in new
    /// slots: all of them or none.
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

    /// Drop what was stored in `slots`: on a full disk its space is needed for the log.
    pub(super) fn give_back(&mut self, slots: &[u32]) {
        let stored = slots.iter().copied().filter(|&slot| slot != NONE).collect();
        self.slots.give_back(stored, &mut self.disk);
    }

    /// Log a request. If the log needs space, a full disk gets that of some free slots back.
    pub(super) fn log(&mut self, at: u64, request: &Request, slots: &[u32]) -> io::Result<()> {
        let log = self.log.as_mut().expect("a drive with a state");
        if log.append(at, request, slots).is_ok() {
            return Ok(());
        }
        self.sweep()?;
        self.slots.give_back_ready(ROOM_FOR_LOG, &mut self.disk)?;
        let appended = self.log.as_mut().expect("a drive with a state").append(at, request, slots);
        self.wants_room |= appended.is_err();
        appended
    }

    /// Let go older data that no cut brings back. What is used again was free at a time that the log knows. If nothing
    /// is, the log does not grow: on a full disk every refused request sweeps.
    pub(super) fn sweep(&mut self) -> io::Result<()> {
        let freed = self.versions.sweep(&Flash(&self.ssd));
        if !freed.is_empty() {
            self.mark()?;
        }
        freed.into_iter().for_each(|slot| self.slots.free(slot));
        Ok(())
    }

    /// Let the log reserve the space that it needs ahead, of which it has none.
    pub fn hold_room(&mut self) {
        self.log.iter_mut().for_each(Log::hold_again);
    }

    /// Whether the log can note what the drive does.
    #[must_use]
    pub fn has_log_room(&self) -> bool {
        self.log.as_ref().is_none_or(Log::has_room)
    }

    /// Whether the log is to be folded because the disk is full.
    #[must_use]
    pub fn is_log_short(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| log.is_short() || (self.wants_room && log.is_large()))
    }
}
