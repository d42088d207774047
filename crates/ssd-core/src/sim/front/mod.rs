//! The front: requests from their arrival to their completion, the link to the host and the write buffer.
//!
//! It knows no flash: the code that knows map and array decides which operations a request needs and where its pages
//! go.

pub(crate) mod request;

use crate::config::Config;
use crate::ftl::place::{Layout, Placement};
use crate::ftl::plugs::Plugs;
use crate::host::device::DeviceError;
use crate::host::firmware::Firmware;
use crate::host::link::Link;
use crate::host::request::{Completion, Op as HostOp, Request, RequestId};
use crate::host::write_buffer::WriteBuffer;
use crate::nand::geometry::Geometry;
use crate::units::{Lpn, Nanos, RequestSlot};
use request::{Epochs, InFlightRequest, Requests};
use std::collections::VecDeque;

/// Largest read or write, in sectors (1 GiB).
pub const MAX_SECTORS: u32 = (1 << 30) / 512;

/// A request on its way in.
pub(crate) struct Arrival {
    pub(crate) at: Nanos,
    pub(crate) id: u64,
    pub(crate) request: Request,
    pub(crate) data: Option<Box<[u8]>>,
}

/// Requests, link and write buffer.
pub(crate) struct Front {
    pub(crate) requests: Requests,
    pub(crate) epochs: Epochs,
    pub(crate) arrivals: VecDeque<Arrival>,
    pub(crate) layout: Layout,
    pub(crate) placement: Placement,
    /// Admission number of the page admitted last.
    pub(crate) sequence: u64,
    /// Completions of this instant that the driver has not seen.
    pub(crate) done: Vec<Completion>,
    pub(crate) link: Option<Link>,
    pub(crate) buffer: Option<WriteBuffer>,
    /// Firmware, which takes its time after the last other part of a request.
    pub(crate) firmware: Option<Box<Firmware>>,
    /// Whether there is neither link nor buffer between the admission of a write and its queue.
    pub(crate) writes_go_straight: bool,
    pub(crate) submitted: u64,
    last_arrival: Nanos,
}

impl Front {
    /// A front without requests; `sequence` pages have been admitted before.
    pub(crate) fn new(config: &Config, plugs: &Plugs, sequence: u64) -> Front {
        let host = &config.host;
        let (link, buffer) = (host.link_bytes_per_s, host.write_buffer_pages);
        let layout = Layout::new(config.device.shape());
        Front {
            requests: Requests::default(),
            epochs: Epochs::default(),
            arrivals: VecDeque::new(),
            placement: plugs.placement(&config.alloc.placement, &layout),
            layout,
            sequence,
            done: Vec::new(),
            link: link.map(|rate| Link::new(rate, host.link_duplex)),
            buffer: (buffer > 0).then(|| WriteBuffer::new(buffer, host.write_buffer_threshold)),
            firmware: Firmware::new(config).map(Box::new),
            writes_go_straight: link.is_none() && buffer == 0,
            submitted: 0,
            last_arrival: Nanos::ZERO,
        }
    }

    /// Parts of every request besides its pages: the firmware's, if it takes time.
    pub(crate) fn own_parts(&self) -> u32 {
        u32::from(self.firmware.is_some())
    }

    /// Requests submitted and not completed.
    pub(crate) fn outstanding(&self) -> u64 {
        let under_way = self.requests.len() as u64 + self.arrivals.len() as u64;
        debug_assert!(under_way <= self.submitted, "{under_way} of {} requests", self.submitted);
        under_way
    }

    /// Give `request`, which is to arrive at `at`, its number.
    ///
    /// # Errors
    /// As [`Front::accepts`].
    #[inline]
    pub(crate) fn number(
        &mut self,
        geo: &Geometry,
        (at, now): (Nanos, Nanos),
        request: &Request,
    ) -> Result<u64, DeviceError> {
        let id = self.accepts(geo, (at, now), request)?;
        self.submitted += 1;
        self.last_arrival = at;
        Ok(id)
    }

    /// Check that `request`, to arrive at `at`, may be submitted next, at `now`. Returns the number that it would have.
    ///
    /// # Errors
    /// The device does not accept it, or it comes before the last one and has not waited in the host.
    #[inline(always)]
    pub(crate) fn accepts(
        &self,
        geo: &Geometry,
        (at, now): (Nanos, Nanos),
        request: &Request,
    ) -> Result<u64, DeviceError> {
        let id = self.submitted;
        check(geo, id, request)?;
        if at < self.last_arrival && (at > now || !self.arrivals.is_empty()) {
            let reason = format!("it arrives at {} ns, before {} ns", at.0, self.last_arrival.0);
            return Err(DeviceError::BadRequest { id, reason });
        }
        Ok(id)
    }

    /// The latest arrival of a request so far.
    pub(crate) fn last_arrival(&self) -> Nanos {
        self.last_arrival
    }

    /// Let request `id` wait for its time `at`, with a copy of `data`.
    #[inline(never)]
    pub(crate) fn arrives_later(
        &mut self,
        at: Nanos,
        id: u64,
        request: &Request,
        data: Option<&[u8]>,
    ) {
        debug_assert!(
            self.arrivals.back().is_none_or(|last| last.at <= at && last.id < id),
            "request {id} overtakes another"
        );
        let data = data.map(Into::into);
        self.arrivals.push_back(Arrival { at, id, request: *request, data });
    }

    /// `fresh`, with what the host knows of the requests so far.
    pub(crate) fn after_cut(&mut self, fresh: Front) -> Front {
        debug_assert_eq!(fresh.submitted, 0, "requests have been submitted to it");
        debug_assert!(fresh.done.is_empty(), "requests have completed in it");
        Front {
            done: std::mem::take(&mut self.done),
            firmware: self.firmware.take(),
            submitted: self.submitted,
            last_arrival: self.last_arrival,
            ..fresh
        }
    }

    /// Drop what was to arrive after the cut at `at`; requests may arrive from then on.
    pub(crate) fn arrivals_are_lost(&mut self, at: Nanos) {
        debug_assert!(self.arrivals.is_empty(), "requests are still to arrive");
        self.last_arrival = self.last_arrival.min(at);
    }

    /// Submit request `id` again with the same `data`, as the host does after a power cut; it first arrived at `at`.
    pub(crate) fn arrives_again(
        &mut self,
        at: Nanos,
        id: u64,
        request: &Request,
        data: Option<Box<[u8]>>,
    ) {
        debug_assert!(id < self.submitted, "request {id} has not been submitted");
        debug_assert!(
            request.op != HostOp::Copy || data.is_some(),
            "copy {id} has lost its sources"
        );
        self.arrivals.push_back(Arrival { at, id, request: *request, data });
    }

    /// End a part of the request in `slot` at `now`. If it was the last one, the request completes and is returned: its
    /// slot keeps it until the next request is admitted.
    #[inline(always)]
    pub(crate) fn part_ends(&mut self, slot: RequestSlot, now: Nanos) -> Option<&InFlightRequest> {
        let r = self.requests.part_ends(slot)?;
        debug_assert!(r.arrival <= now, "request {} completes before it arrives", r.id);
        debug_assert!(r.id < self.submitted, "request {} has not been submitted", r.id);
        self.done.push(Completion {
            id: RequestId(r.id),
            arrival: r.arrival,
            at: now,
            op: r.request.op,
            digest: r.digest,
        });
        if r.request.op == HostOp::Write {
            self.epochs.write_completes(r.epoch);
        } else if r.request.op == HostOp::Copy {
            copy_completes(&mut self.epochs, r.epoch);
        }
        Some(r)
    }

    /// Pages of writes in the buffer, including those on their way to flash.
    pub(crate) fn buffered_pages(&self) -> u64 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.len() as u64)
    }

    /// Check that every request in the device has a part left.
    pub(crate) fn audit(&self) -> Result<(), String> {
        if let Some(r) = self.requests.live().find(|r| r.parts.is_done()) {
            return Err(format!("request {} has no part left and has not completed", r.id));
        }
        Ok(())
    }
}

/// The pages that a request touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages {
    /// First page.
    pub(crate) first: u32,
    /// Number of pages.
    pub(crate) count: u32,
}

/// Pages touched by a request; those wholly inside it for a TRIM.
#[inline]
pub(crate) fn pages_of(geo: &Geometry, r: &Request) -> Pages {
    let shift = geo.sector_shift;
    let end = r.sector + u64::from(r.sectors);
    if r.op == HostOp::Trim {
        let first = (r.sector + (1 << shift) - 1) >> shift;
        let last = end >> shift;
        return Pages { first: first as u32, count: last.saturating_sub(first) as u32 };
    }
    let first = r.sector >> shift;
    let last = (end + (1 << shift) - 1) >> shift;
    debug_assert!(last > first || r.sectors == 0, "{r:?} touches no page");
    Pages { first: first as u32, count: (last - first) as u32 }
}

/// Whether `r` begins and ends with a page.
#[inline(always)]
pub(crate) fn is_of_whole_pages(geo: &Geometry, r: &Request) -> bool {
    (r.sector | u64::from(r.sectors)) & ((1 << geo.sector_shift) - 1) == 0
}

/// Whether `r`, which touches page `lpn`, covers only a part of it.
pub(crate) fn is_in_part(geo: &Geometry, r: &Request, lpn: Lpn) -> bool {
    byte_range(geo, r, lpn).0 != (0, 512 << geo.sector_shift)
}

/// Bytes `from..to` of page `lpn` that `r` covers, and their position in the request's data.
pub(crate) fn byte_range(geo: &Geometry, r: &Request, lpn: Lpn) -> ((usize, usize), usize) {
    let page_sectors = 1u64 << geo.sector_shift;
    let page_start = u64::from(lpn.0) * page_sectors;
    let from = r.sector.max(page_start);
    let to = (r.sector + u64::from(r.sectors)).min(page_start + page_sectors);
    debug_assert!(from < to, "{lpn:?} is outside {r:?}");
    debug_assert!(to - from <= page_sectors, "{lpn:?} has fewer sectors than {r:?} has in it");
    let bytes = |sectors: u64| (sectors * 512) as usize;
    ((bytes(from - page_start), bytes(to - page_start)), bytes(from - r.sector))
}

/// Check that the device accepts request `r` with number `id`.
#[inline]
pub(crate) fn check(geo: &Geometry, id: u64, r: &Request) -> Result<(), DeviceError> {
    let capacity = geo.user_sectors();
    let inside = r.sector < capacity && u64::from(r.sectors) <= capacity - r.sector;
    let sized = r.sectors > 0 && (r.sectors <= MAX_SECTORS || r.op == HostOp::Trim);
    if (inside && sized) || r.op == HostOp::Flush { Ok(()) } else { refuse(capacity, id, r) }
}

#[cold]
fn refuse(capacity: u64, id: u64, r: &Request) -> Result<(), DeviceError> {
    debug_assert_ne!(r.op, HostOp::Flush, "a flush has no sectors");
    let bad = |reason: String| Err(DeviceError::BadRequest { id, reason });
    if r.sectors == 0 {
        return bad(format!("a {} of zero length", r.op.name()));
    }
    if r.op != HostOp::Trim && r.sectors > MAX_SECTORS {
        return bad(format!(
            "a {} of {} bytes; the largest is {} bytes",
            r.op.name(),
            u64::from(r.sectors) * 512,
            u64::from(MAX_SECTORS) * 512
        ));
    }
    bad(format!("sectors {} + {} lie beyond the device of {capacity} sectors", r.sector, r.sectors))
}

/// Complete a copy, for which a flush waits as for a write.
#[cold]
fn copy_completes(epochs: &mut Epochs, epoch: u64) {
    epochs.write_completes(epoch);
}
