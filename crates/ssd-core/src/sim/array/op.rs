//! Operations and their queues.
//!
//! An operation is in a slab; its slot is also the in-flight slot of the map. Queues are singly linked through the
//! slab: four for each busy unit.

use super::event::Lane;
use crate::metrics::counters::{Cause, Parts};
use crate::nand::geometry::Geometry;
use crate::units::{
    BlockId, Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn, RecoverySlot, RequestSlot, UpdateSlot,
};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    /// Read a page for the host.
    HostRead,
    /// Read the page that the host writes in part; becomes a `HostWrite`.
    RmwRead,
    /// Program a page of the host.
    HostWrite,
    /// Read a valid page of a victim; becomes a `GcWrite`.
    GcRead,
    /// Program the copy of a page.
    GcWrite,
    /// Copy a page inside its plane.
    GcCopyback,
    /// Erase the flash block of a victim on one plane.
    Erase,
    /// Read a page for the update of a parity group.
    GroupRead,
    /// Program a page of a parity group: of the host, or the parity.
    GroupWrite,
    /// A page of a parity group is trimmed: this holds the place of the newest data until the parity is on flash.
    GroupTrim,
    /// Read a page of a parity group to compute another page of it.
    RecoveryRead,
    /// Program a page that a failed chip held.
    RebuildWrite,
    /// A page of a copy waits until its source is on flash.
    HostCopy,
    /// Program a page of a checkpoint.
    MetadataProgram,
    /// Erase a flash block for a checkpoint.
    MetadataErase,
    /// Read the source of a page that a copy writes or shares in a parity group.
    SourceRead,
}

impl OpKind {
    /// Whether the host waits for it.
    #[inline(always)]
    pub(crate) fn is_host(self) -> bool {
        !matches!(
            self,
            OpKind::GcRead
                | OpKind::GcWrite
                | OpKind::GcCopyback
                | OpKind::Erase
                | OpKind::MetadataProgram
                | OpKind::MetadataErase
        )
    }
    /// The lane of the event at which its array phase ends.
    #[inline(always)]
    pub(super) fn lane(self) -> Lane {
        match self {
            OpKind::HostRead
            | OpKind::RmwRead
            | OpKind::GcRead
            | OpKind::GroupRead
            | OpKind::SourceRead
            | OpKind::RecoveryRead => Lane::Read,
            OpKind::HostWrite
            | OpKind::GcWrite
            | OpKind::GcCopyback
            | OpKind::GroupWrite
            | OpKind::GroupTrim
            | OpKind::RebuildWrite
            | OpKind::HostCopy
            | OpKind::MetadataProgram => Lane::Program,
            OpKind::Erase | OpKind::MetadataErase => Lane::Long,
        }
    }

    /// Whether it reads one page and programs none.
    #[inline(always)]
    pub(crate) fn is_read(self) -> bool {
        let of_host = matches!(self, OpKind::HostRead | OpKind::RmwRead);
        let of_group =
            matches!(self, OpKind::GroupRead | OpKind::RecoveryRead | OpKind::SourceRead);
        of_host || of_group || self == OpKind::GcRead
    }

    /// Whether it erases.
    pub(crate) fn is_erase(self) -> bool {
        matches!(self, OpKind::Erase | OpKind::MetadataErase)
    }
}

/// Times of the phases of an operation on its unit and channel (zero where it has none).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    /// First nanosecond on the bus.
    pub(crate) bus_start: Nanos,
    /// End of the (last) bus phase.
    pub(crate) bus_end: Nanos,
    /// Start of the array phase.
    pub(crate) array_start: Nanos,
    /// End of the array phase.
    pub(crate) array_end: Nanos,
}

/// The page of a request that an operation serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) request: RequestSlot,
    /// Counted from 0.
    pub(crate) number: u32,
}

/// The page of a victim that an operation moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedPage {
    pub(crate) pool: PoolId,
    /// The page copied.
    pub(crate) source: Ppn,
    /// Why its job runs: collection, static wear levelling, or folding.
    pub(crate) cause: Cause,
    /// Whether the flash controller that has read the page holds it (otherwise the host side does).
    pub(crate) in_buffer: bool,
    /// Its class, on a device that separates pages.
    pub(crate) class: u8,
}

/// Which page of a parity group an update programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupPage {
    /// Data of the host.
    Data,
    /// Data that a copy has read, or a page that shares that of its source, and is not programmed.
    Copied,
    Parity,
}

/// What an operation is for, in the order of [`OpKind`], which explains the kinds, so that getting the kind costs
/// nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    HostRead {
        part: Part,
        /// The page read for the rest of what the write buffer holds, if any.
        rest: Ppn,
    },
    RmwRead {
        part: Part,
        stream: u8,
        /// For a copy: the page is that of its source. The same applies below.
        copies: bool,
    },
    HostWrite {
        part: Part,
        stream: u8,
        copies: bool,
    },
    GcRead(MovedPage),
    GcWrite(MovedPage),
    GcCopyback(MovedPage),
    Erase {
        pool: PoolId,
        /// First page of the flash block.
        first: Ppn,
        /// Why its job runs.
        cause: Cause,
    },
    GroupRead {
        update: UpdateSlot,
    },
    GroupWrite {
        update: UpdateSlot,
        stream: u8,
        page: GroupPage,
    },
    GroupTrim {
        update: UpdateSlot,
    },
    RecoveryRead {
        recovery: RecoverySlot,
        /// Whether the page is computed for the spare rather than for a read of the host.
        rebuilds: bool,
    },
    RebuildWrite {
        recovery: RecoverySlot,
        stream: u8,
    },
    HostCopy {
        part: Part,
        stream: u8,
        /// The write of the source.
        root: OpSlot,
    },
    /// A page of a checkpoint, by its number on the plane.
    MetadataProgram {
        step: u32,
    },
    /// A flash block of its area, likewise.
    MetadataErase {
        step: u32,
    },
    SourceRead {
        update: UpdateSlot,
        /// The page of the destination.
        page: OpSlot,
    },
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) next: OpSlot,
    pub(crate) work: Work,
    pub(crate) plane: PlaneId,
    pub(crate) lpn: Lpn,
    /// The page read or programmed, once started.
    pub(crate) ppn: Ppn,
    /// Order of queueing over the device.
    pub(crate) age: u64,
    /// Admission number of the data.
    pub(crate) sequence: u64,
    /// When it was queued, and how long its unit had worked for the host by then.
    pub(crate) queued: Nanos,
    pub(crate) host_busy_ns: u64,
    /// Where the time of a host operation went so far.
    pub(crate) parts: Parts,
}

// Every operation in flight has this size; a larger one costs cache lines.
const _: () = assert!(size_of::<Op>() == 104);

impl MovedPage {
    /// Whether it belongs to a job of static wear levelling.
    #[inline(always)]
    pub(crate) fn levels(self) -> bool {
        self.cause == Cause::Wear
    }
}

impl Op {
    /// An operation that has not been queued.
    #[inline(always)]
    pub(crate) fn new(work: Work, lpn: Lpn, plane: PlaneId, now: Nanos) -> Op {
        Op {
            next: OpSlot::NONE,
            work,
            plane,
            lpn,
            ppn: Ppn::NONE,
            age: 0,
            sequence: 0,
            queued: now,
            host_busy_ns: 0,
            parts: Parts::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn kind(&self) -> OpKind {
        match self.work {
            Work::HostRead { .. } => OpKind::HostRead,
            Work::RmwRead { .. } => OpKind::RmwRead,
            Work::HostWrite { .. } => OpKind::HostWrite,
            Work::GcRead(_) => OpKind::GcRead,
            Work::GcWrite(_) => OpKind::GcWrite,
            Work::GcCopyback(_) => OpKind::GcCopyback,
            Work::Erase { .. } => OpKind::Erase,
            Work::GroupRead { .. } => OpKind::GroupRead,
            Work::GroupWrite { .. } => OpKind::GroupWrite,
            Work::GroupTrim { .. } => OpKind::GroupTrim,
            Work::RecoveryRead { .. } => OpKind::RecoveryRead,
            Work::RebuildWrite { .. } => OpKind::RebuildWrite,
            Work::HostCopy { .. } => OpKind::HostCopy,
            Work::MetadataProgram { .. } => OpKind::MetadataProgram,
            Work::MetadataErase { .. } => OpKind::MetadataErase,
            Work::SourceRead { .. } => OpKind::SourceRead,
        }
    }

    /// Note that a host operation has waited until `now`: for its unit's work for the host, which is `host_busy_ns` in
    /// total, or for collection.
    #[inline(always)]
    pub(super) fn has_waited(&mut self, now: Nanos, host_busy_ns: u64) {
        debug_assert!(self.kind().is_host(), "nobody waits for {:?}", self.kind());
        debug_assert!(now >= self.queued, "it is queued in the future");
        let waited = (now - self.queued).0;
        debug_assert!(host_busy_ns >= self.host_busy_ns, "its unit has worked backwards");
        let for_host = (host_busy_ns - self.host_busy_ns).min(waited);
        self.parts.queue_ns += for_host;
        self.parts.gc_wait_ns += waited - for_host;
    }

    /// The part of a request that a host operation serves.
    #[inline(always)]
    pub(crate) fn part(&self) -> Part {
        match self.work {
            Work::HostRead { part, .. }
            | Work::RmwRead { part, .. }
            | Work::HostWrite { part, .. }
            | Work::HostCopy { part, .. } => part,
            _ => unreachable!("{:?} serves no request", self.kind()),
        }
    }

    /// The write stream of its request.
    #[inline(always)]
    pub(crate) fn stream(&self) -> u8 {
        match self.work {
            Work::RmwRead { stream, .. }
            | Work::HostWrite { stream, .. }
            | Work::HostCopy { stream, .. }
            | Work::GroupWrite { stream, .. }
            | Work::RebuildWrite { stream, .. } => stream,
            _ => unreachable!("{:?} writes no page of the host", self.kind()),
        }
    }

    /// Whether the device reads and programs it for a copy.
    #[inline(always)]
    pub(crate) fn copies(&self) -> bool {
        matches!(
            self.work,
            Work::RmwRead { copies: true, .. } | Work::HostWrite { copies: true, .. }
        )
    }

    /// Whether its data are a page of the write buffer, if there is one; those of a copy go from page to page.
    #[inline(always)]
    pub(crate) fn passes_buffer(&self) -> bool {
        matches!(self.kind(), OpKind::HostWrite | OpKind::RmwRead) && !self.copies()
    }

    /// The update of a parity group that it belongs to, if it does.
    #[inline(always)]
    pub(crate) fn update(&self) -> Option<UpdateSlot> {
        match self.work {
            Work::GroupRead { update }
            | Work::GroupWrite { update, .. }
            | Work::SourceRead { update, .. }
            | Work::GroupTrim { update } => Some(update),
            _ => None,
        }
    }

    /// The reconstruction that it belongs to, if it does.
    #[inline(always)]
    pub(crate) fn recovery(&self) -> Option<RecoverySlot> {
        match self.work {
            Work::RecoveryRead { recovery, .. } | Work::RebuildWrite { recovery, .. } => {
                Some(recovery)
            }
            _ => None,
        }
    }

    /// The page that a GC read, program or copy-back moves.
    #[inline(always)]
    pub(crate) fn moved(&self) -> &MovedPage {
        match &self.work {
            Work::GcRead(moved) | Work::GcWrite(moved) | Work::GcCopyback(moved) => moved,
            _ => unreachable!("{:?} moves no page", self.kind()),
        }
    }

    /// The pool whose job it belongs to.
    #[inline(always)]
    pub(crate) fn pool(&self) -> PoolId {
        match self.work {
            Work::Erase { pool, .. } => pool,
            _ => self.moved().pool,
        }
    }

    /// The block of which it erases the flash block on its plane.
    pub(crate) fn erased_block(&self, geo: &Geometry) -> BlockId {
        match self.work {
            Work::Erase { first, .. } => geo.block_of(first),
            _ => unreachable!("{:?} erases nothing", self.kind()),
        }
    }

    /// Turn a read-modify-write, whose read has ended or is not needed, into the program of its page.
    pub(crate) fn becomes_host_write(&mut self) {
        debug_assert_eq!(self.kind(), OpKind::RmwRead, "it has read nothing");
        let (part, stream, copies) = (self.part(), self.stream(), self.copies());
        self.work = Work::HostWrite { part, stream, copies };
    }

    /// Turn a host write into one that first needs the rest of its page.
    pub(crate) fn becomes_rmw_read(&mut self) {
        debug_assert_eq!(self.kind(), OpKind::HostWrite, "it writes nothing");
        let (part, stream) = (self.part(), self.stream());
        self.work = Work::RmwRead { part, stream, copies: false };
    }

    /// Let the page that it moves go over the controller.
    pub(crate) fn becomes_gc_read(&mut self) {
        debug_assert_eq!(self.kind(), OpKind::GcCopyback, "it was no copy-back");
        debug_assert_eq!(self.ppn, self.moved().source, "another page is to be read");
        self.work = Work::GcRead(*self.moved());
    }

    /// Let its slot move the next page of the job: `lpn`, on `plane`. Only host operations use the other fields.
    #[inline(always)]
    pub(crate) fn becomes_next_move(&mut self, work: Work, lpn: Lpn, plane: PlaneId) {
        debug_assert!(
            matches!(work, Work::GcRead(_) | Work::GcCopyback(_)),
            "a move begins with a read: {work:?}"
        );
        debug_assert!(!self.kind().is_host());
        (self.work, self.lpn, self.plane, self.ppn) = (work, lpn, plane, Ppn::NONE);
    }

    /// Note that the page that it moves has been read.
    #[inline(always)]
    pub(crate) fn becomes_gc_write(&mut self, in_buffer: bool) {
        debug_assert_eq!(self.kind(), OpKind::GcRead, "no page has been read");
        debug_assert_eq!(self.ppn, self.moved().source, "another page has been read");
        self.work = Work::GcWrite(MovedPage { in_buffer, ..*self.moved() });
    }

    /// A host read that returns what the write buffer holds, and the rest from flash.
    #[inline(always)]
    pub(crate) fn reads_rest(&self) -> bool {
        matches!(self.work, Work::HostRead { rest, .. } if rest != Ppn::NONE)
    }

    /// Why it happens.
    #[inline(always)]
    pub(crate) fn cause(&self) -> Cause {
        match self.work {
            Work::HostRead { .. } if self.reads_rest() => Cause::Rmw,
            _ if self.copies() => Cause::Remap,
            Work::HostCopy { .. } | Work::SourceRead { .. } => Cause::Remap,
            Work::HostRead { .. } | Work::HostWrite { .. } => Cause::Host,
            Work::RmwRead { .. } | Work::GroupRead { .. } => Cause::Rmw,
            Work::GroupWrite { page, .. } => match page {
                GroupPage::Data => Cause::Host,
                GroupPage::Copied => Cause::Remap,
                GroupPage::Parity => Cause::Parity,
            },
            Work::GroupTrim { .. } => Cause::Host,
            Work::RecoveryRead { rebuilds: false, .. } => Cause::Reconstruct,
            Work::RecoveryRead { .. } | Work::RebuildWrite { .. } => Cause::Rebuild,
            Work::GcRead(_) | Work::GcWrite(_) | Work::GcCopyback(_) | Work::Erase { .. } => {
                self.job_cause()
            }
            Work::MetadataProgram { .. } | Work::MetadataErase { .. } => Cause::Metadata,
        }
    }

    /// Why its job runs.
    #[inline(always)]
    pub(crate) fn job_cause(&self) -> Cause {
        match self.work {
            Work::Erase { cause, .. } => cause,
            _ => self.moved().cause,
        }
    }
}
