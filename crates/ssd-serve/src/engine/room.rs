//! The room on the disk for the data of pages and for the log.

use super::{Engine, Flash, Refusal};
use crate::log::Log;
use ssd_core::host::request::Request;
use std::io;

/// So many slots are given back to a full disk at a time, for the log.
const ROOM_FOR_LOG: usize = 64;

impl Engine {
    /// Store data as [`Engine::store`] does, on a full disk in the room of older data that no cut brings back.
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

    /// Log a request. A full disk gets the room of some free slots back, if the log needs it.
    pub(super) fn log(&mut self, at: u64, request: &Request, slots: &[u32]) -> io::Result<()> {
        let log = self.log.as_mut().expect("a drive with a state");
        if log.append(at, request, slots).is_ok() {
            return Ok(());
        }
        self.sweep()?;
        self.slots.punch_free(ROOM_FOR_LOG)?;
        let appended = self.log.as_mut().expect("a drive with a state").append(at, request, slots);
        self.wants_room |= appended.is_err();
        appended
    }

    /// Let go older data that no cut brings back. What is used again was free at a time that the log knows.
    pub(super) fn sweep(&mut self) -> io::Result<()> {
        self.mark()?;
        let freed = self.versions.sweep(&Flash(&self.ssd));
        freed.iter().for_each(|&slot| self.slots.free(slot));
        Ok(())
    }

    /// Let the log hold the room that it needs ahead, of which it has none.
    pub fn hold_room(&mut self) {
        self.log.iter_mut().for_each(Log::hold_again);
    }

    /// Whether the log is to be folded, since the disk is full.
    #[must_use]
    pub fn is_log_short(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| log.is_short() || (self.wants_room && log.is_large()))
    }
}
