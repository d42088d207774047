//! Requests in the device, and the epochs between flushes.

use crate::host::request::{Op, Request};
use crate::sim::join::Join;
use crate::units::{Nanos, RequestSlot};
use std::collections::VecDeque;

/// A request that has arrived and not completed.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    pub(crate) id: u64,
    pub(crate) arrival: Nanos,
    pub(crate) request: Request,
    /// Its page operations, plus a preceding flush, that have not ended.
    pub(crate) parts: Join,
    /// Sum over its pages of the digests read, each mixed with its position.
    pub(crate) digest: u64,
    /// Epoch of a write (see [`Epochs`]).
    pub(crate) epoch: u64,
    live: bool,
}

/// Slab of requests.
#[derive(Default)]
pub(crate) struct Requests {
    slots: Vec<InFlightRequest>,
    free: Vec<RequestSlot>,
}

impl Requests {
    /// Add a request of that many `parts`; `epoch`: of a write.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        (id, arrival, request): (u64, Nanos, &Request),
        (parts, epoch): (Join, u64),
    ) -> RequestSlot {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        debug_assert!(!self.slots[slot.at()].live, "{slot:?} holds a request");
        // Written in place: nothing may branch between its values and the slot.
        let request = *request;
        self.slots[slot.at()] =
            InFlightRequest { id, arrival, request, parts, digest: 0, epoch, live: true };
        slot
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> RequestSlot {
        assert!(self.slots.len() < u32::MAX as usize, "too many requests in the device");
        let (parts, request) = (Join::default(), Request::new(Op::Flush, 0, 0));
        let arrival = Nanos::ZERO;
        self.slots.push(InFlightRequest {
            id: 0,
            arrival,
            request,
            parts,
            digest: 0,
            epoch: 0,
            live: false,
        });
        RequestSlot((self.slots.len() - 1) as u32)
    }

    /// End a part of the request in `slot`. If it was the last one, the request is removed and returned; its slot keeps
    /// it until the next [`Requests::insert`].
    #[inline(always)]
    pub(crate) fn part_ends(&mut self, slot: RequestSlot) -> Option<&InFlightRequest> {
        let request = &mut self.slots[slot.at()];
        if !request.parts.part_ends() {
            return None;
        }
        assert!(request.live, "request {} completes twice", request.id);
        debug_assert_ne!(self.free.last(), Some(&slot), "{slot:?} is free already");
        request.live = false;
        self.free.push(slot);
        Some(request)
    }

    #[inline(always)]
    pub(crate) fn get(&mut self, slot: RequestSlot) -> &mut InFlightRequest {
        debug_assert!(self.slots[slot.at()].live, "{slot:?} holds no request");
        &mut self.slots[slot.at()]
    }

    #[inline(always)]
    pub(crate) fn at(&self, slot: RequestSlot) -> &InFlightRequest {
        debug_assert!(self.slots[slot.at()].live, "{slot:?} holds no request");
        &self.slots[slot.at()]
    }

    pub(crate) fn len(&self) -> usize {
        debug_assert!(self.free.len() <= self.slots.len(), "a slot is free twice");
        self.slots.len() - self.free.len()
    }

    /// The requests that have not completed.
    pub(crate) fn live(&self) -> impl Iterator<Item = &InFlightRequest> {
        self.slots.iter().filter(|r| r.live)
    }

    /// The slots of the copies that have not completed.
    pub(crate) fn copies(&self) -> Vec<RequestSlot> {
        let copies = |&(_, r): &(u32, &InFlightRequest)| r.live && r.request.op == Op::Copy;
        let slots = (0..).zip(&self.slots).filter(copies);
        slots.map(|(number, _)| RequestSlot(number)).collect()
    }

    /// The lowest number of a request that has not completed.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.live().map(|r| r.id).min()
    }
}

/// Writes outstanding between one flush and the next: a flush completes when its epoch and all
/// earlier ones have no write left.
#[derive(Default)]
pub(crate) struct Epochs {
    /// The first epoch that a waiting flush has ended, and the writes of all such epochs.
    first: u64,
    ended: VecDeque<u32>,
    /// The last epoch, which no flush has ended, and its writes.
    last: u64,
    writes: u32,
    /// Flushes by the epoch they end, with their request's slot.
    flushes: VecDeque<(u64, RequestSlot)>,
}

impl Epochs {
    /// A write arrives: its epoch.
    #[inline]
    pub(crate) fn write_arrives(&mut self) -> u64 {
        self.writes += 1;
        self.last
    }

    /// A write of `epoch` completes.
    #[inline]
    pub(crate) fn write_completes(&mut self, epoch: u64) {
        debug_assert!(epoch <= self.last, "epoch {epoch} has not begun");
        debug_assert!(epoch == self.last || epoch >= self.first, "epoch {epoch} is over");
        let writes = if epoch == self.last {
            &mut self.writes
        } else {
            &mut self.ended[(epoch - self.first) as usize]
        };
        assert!(*writes > 0, "epoch {} has no write left", { epoch });
        *writes -= 1;
    }

    /// Add a flush in request slot `slot`: it ends the current epoch.
    pub(crate) fn flush_arrives(&mut self, slot: RequestSlot) {
        self.flushes.push_back((self.last, slot));
        self.ended.push_back(std::mem::take(&mut self.writes));
        self.last += 1;
        debug_assert_eq!(self.ended.len() as u64, self.last - self.first, "an epoch is lost");
    }

    /// Whether a flush has arrived after the writes of `epoch`.
    pub(crate) fn ended(&self, epoch: u64) -> bool {
        epoch < self.last
    }

    /// Whether a flush has arrived and not completed.
    #[inline(always)]
    pub(crate) fn flush_waits(&self) -> bool {
        debug_assert_eq!(self.flushes.len(), self.ended.len(), "a flush ends an epoch");
        !self.flushes.is_empty()
    }

    /// The next flush that may complete now.
    #[inline]
    pub(crate) fn next_flush(&mut self) -> Option<RequestSlot> {
        let &(epoch, slot) = self.flushes.front()?;
        debug_assert_eq!(epoch, self.first, "flushes complete in the order of arrival");
        while self.first <= epoch {
            if self.ended.front() != Some(&0) {
                return None;
            }
            self.ended.pop_front();
            self.first += 1;
        }
        self.flushes.pop_front();
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_earlier_writes_only() {
        let mut e = Epochs::default();
        let (a, b) = (e.write_arrives(), e.write_arrives());
        e.flush_arrives(RequestSlot(7));
        let c = e.write_arrives();
        e.flush_arrives(RequestSlot(8));
        assert_eq!(e.next_flush(), None);
        e.write_completes(c);
        e.write_completes(a);
        assert_eq!(e.next_flush(), None);
        e.write_completes(b);
        assert_eq!(
            (e.next_flush(), e.next_flush(), e.next_flush()),
            (Some(RequestSlot(7)), Some(RequestSlot(8)), None)
        );
        e.flush_arrives(RequestSlot(9));
        assert_eq!(e.next_flush(), Some(RequestSlot(9)));
    }
}
