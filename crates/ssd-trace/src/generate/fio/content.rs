//! The requests of an instance of a job, without their times.

use super::JobFileError;
use super::job::Job;
use super::kinds::Mix;
use super::places::{Places, length};
use super::value::Amount;
use ssd_core::host::request::{Op, Request, flags};
use ssd_core::rng::Stream;
use ssd_core::units::SECTOR_BYTES;

/// What an instance needs next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextRequest {
    Data(Op),
    Flush,
    /// All requests have been made.
    End,
}

/// Result of an attempt to make a request.
pub(super) enum RequestAttempt {
    Request(Request),
    /// All blocks have been visited, and another round follows.
    Round,
    End,
}

pub(super) const FLUSH: Request =
    Request { op: Op::Flush, sector: 0, sectors: 0, flags: 0, stream: 0, volume: 0 };

/// The requests of an instance.
pub(super) struct Content {
    job: Job,
    random: Stream,
    fresh: Stream,
    /// First byte of the region of the instance.
    base: u64,
    places: Places,
    /// Bytes and requests in total.
    limit: (u64, u64),
    done: (u64, u64),
    /// Remaining rounds, each of which begins when all blocks have been visited.
    rounds: u64,
    /// Bytes of `io_size`, which may need more rounds, and the largest request.
    io_bytes: Option<u64>,
    largest: u64,
    /// The write that follows its trim, and due flushes; the next one is last.
    follow: Vec<Request>,
    writes: u64,
    end_flush: bool,
}

impl Content {
    /// Creates instance `number` of `job` on its file at `base`, of `file_bytes`; `name` seeds its random numbers.
    pub(super) fn new(
        job: &Job,
        number: u64,
        (base, file_bytes): (u64, u64),
        (seed, name): (u64, &str),
    ) -> Result<Content, JobFileError> {
        let fail = |text: String| JobFileError::at(job.line, &format!("job {}: {text}", job.name));
        let (offset, bytes) = region(job, number, file_bytes).map_err(fail)?;
        let largest = job.extremes().1;
        let has = "its file has";
        let room = if job.strides.on {
            let Some(zone) = Some(job.strides.size).filter(|&size| size > 0) else {
                return Err(fail("zonemode=strided needs a zonesize".to_owned()));
            };
            bytes.min(if job.strides.range == 0 { zone } else { job.strides.range })
        } else {
            bytes
        };
        if room < largest {
            let subject = if room < bytes { "its zones have" } else { has };
            let text =
                format!("{subject} {room} bytes from its offset on, its largest request {largest}");
            return Err(fail(text));
        }
        if job.step.unsigned_abs() >= bytes {
            return Err(fail(format!("{has} {bytes} bytes, and rw steps beyond them")));
        }
        let io_bytes = job.io_size.map(|size| size.of(file_bytes));
        let pass = io_bytes.or(job.size.map(|size| size.of(file_bytes))).unwrap_or(bytes);
        let beyond = || fail("its bytes times loops are beyond 2^64".to_owned());
        let total = pass.checked_mul(job.loops).ok_or_else(beyond)?;
        let ios = job.number_ios.unwrap_or(u64::MAX).saturating_mul(job.loops);
        let fresh = Stream::new(seed, name);
        Ok(Content {
            places: Places::new(job, bytes, seed, name).map_err(fail)?,
            random: fresh.clone(),
            fresh,
            base: base + offset,
            limit: (total, ios),
            done: (0, 0),
            rounds: job.loops - 1,
            io_bytes,
            largest,
            follow: Vec::new(),
            writes: 0,
            end_flush: job.end_flush,
            job: job.clone(),
        })
    }

    /// Returns what comes next.
    pub(super) fn wish(&mut self) -> NextRequest {
        let next = self.follow.last().map(|request| request.op);
        if next == Some(Op::Write) {
            return NextRequest::Data(Op::Write);
        }
        let is_over = self.done.0 >= self.limit.0 || self.done.1 >= self.limit.1;
        if is_over && self.job.time_based {
            self.done = (0, 0);
        } else if is_over {
            return NextRequest::End;
        }
        if next == Some(Op::Flush) {
            return NextRequest::Flush;
        }
        NextRequest::Data(match self.job.mix {
            Mix::Read => Op::Read,
            Mix::Write => Op::Write,
            Mix::Trim | Mix::TrimWrite => Op::Trim,
            Mix::ReadWrite if self.random.chance(self.job.read) => Op::Read,
            Mix::ReadWrite => Op::Write,
        })
    }

    /// Returns the flush that [`Content::wish`] announced.
    pub(super) fn flush(&mut self) -> Request {
        self.follow.pop().expect("a flush follows")
    }

    /// Makes a request of `op`.
    pub(super) fn data(&mut self, op: Op) -> RequestAttempt {
        if self.job.mix == Mix::TrimWrite && op == Op::Write {
            let write = self.follow.pop().expect("a write follows its trim");
            return RequestAttempt::Request(self.followed(write));
        }
        let Some(spot) = self.places.next(op as usize, &mut self.random) else {
            return if self.goes_round() { RequestAttempt::Round } else { RequestAttempt::End };
        };
        let sizes = self.job.sizes(op as usize);
        let requested = length(&sizes, spot.limit - spot.start, &mut self.random);
        let bytes = self.places.take(op as usize, spot, requested);
        self.done = (self.done.0.saturating_add(bytes), self.done.1 + 1);
        let sector = (self.base + spot.start) / SECTOR_BYTES;
        let request = Request::new(op, sector, (bytes / SECTOR_BYTES) as u32);
        if self.job.mix == Mix::TrimWrite {
            self.follow.push(Request { op: Op::Write, ..request });
        }
        RequestAttempt::Request(self.followed(request))
    }

    /// Returns whether another round begins when all blocks have been visited.
    fn goes_round(&mut self) -> bool {
        if self.rounds > 0 {
            self.rounds -= 1;
            return true;
        }
        // Like fio, stops when less than the largest request is left.
        self.done.0 > 0
            && self.io_bytes.is_some_and(|total| total.saturating_sub(self.done.0) >= self.largest)
    }

    /// Begins another round, equal to the first unless `randrepeat=0`.
    pub(super) fn begin_round(&mut self) {
        self.places.reset();
        self.follow.clear();
        if self.job.repeats {
            self.random.clone_from(&self.fresh);
        }
    }

    /// Returns whether a final flush is due; it is due once.
    pub(super) fn must_flush(&mut self) -> bool {
        std::mem::take(&mut self.end_flush) && self.writes > 0
    }

    /// Returns `request`, and queues the flushes that are due after it.
    fn followed(&mut self, mut request: Request) -> Request {
        if request.op == Op::Write {
            self.writes += 1;
            request.flags |= if self.job.sync { flags::FUA } else { 0 };
        }
        // Like fio, in a mix, reads before the next write are followed by flushes, too.
        if self.writes > 0 {
            let due = |&&every: &&u64| every > 0 && self.writes.is_multiple_of(every);
            let flushes = self.job.flush_every.iter().filter(due).count();
            self.follow.extend(std::iter::repeat_n(FLUSH, flushes));
        }
        request
    }
}

/// Returns offset and bytes of the region of instance `number` of `job` in a file of `file_bytes`.
fn region(job: &Job, number: u64, file_bytes: u64) -> Result<(u64, u64), String> {
    let aligned = |amount: Amount| {
        let bytes = amount.of(file_bytes);
        let unit = if job.offset_align > 0 { job.offset_align } else { job.extremes().0 };
        match amount {
            Amount::Bytes(_) => bytes,
            Amount::Percent(_) => bytes.next_multiple_of(unit),
        }
    };
    let steps = aligned(job.offset_increment).saturating_mul(number);
    let offset = aligned(job.offset).saturating_add(steps);
    if !offset.is_multiple_of(SECTOR_BYTES) {
        return Err(format!("its offset of {offset} bytes is no multiple of 512"));
    }
    let rest = file_bytes.saturating_sub(offset);
    let size = match (job.file_size, job.size) {
        (None, Some(size)) => size.of(file_bytes),
        _ => rest,
    };
    Ok((offset, size.min(rest) / SECTOR_BYTES * SECTOR_BYTES))
}
