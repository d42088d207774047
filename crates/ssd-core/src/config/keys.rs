//! The one table of keys: path, kind, range, meaning and where the value lives. Reading, printing,
//! schema and reference follow from it; a new key is one entry here and one field in the structs.

use super::policy::{CONCURRENCIES, ORDERS, PLACEMENTS, Registry, VICTIMS};
use super::read::Span;
use super::special::{self, Special};
use super::words::*;
use super::{Config, PolicySpec};

/// One key.
pub(crate) struct Key {
    /// "device.channels".
    pub(crate) path: &'static str,
    /// What may be said and where it lives.
    pub(crate) slot: Slot,
    /// Meaning.
    pub(crate) doc: &'static str,
}

/// An unsigned field.
pub(crate) enum Num<'c> {
    /// 32 bits.
    U32(&'c mut u32),
    /// 64 bits.
    U64(&'c mut u64),
}

/// What may be said of a key, and the field it sets.
pub(crate) enum Slot {
    /// A whole number.
    Int { at: fn(&mut Config) -> Num<'_>, min: u64, max: u64 },
    /// A number.
    Real { at: fn(&mut Config) -> &mut f64, span: Span },
    /// A time up to `max` nanoseconds.
    Time { at: fn(&mut Config) -> &mut u64, max: u64 },
    /// true or false.
    Flag { at: fn(&mut Config) -> &mut bool },
    /// One of a few words.
    Word(WordSlot),
    /// A policy.
    Policy { registry: Registry, at: fn(&mut Config) -> &mut PolicySpec },
    /// A key with a form of its own.
    Special(&'static Special),
}

/// A [`Slot::Word`] without its type.
pub(crate) struct WordSlot {
    pub(crate) words: &'static [(&'static str, &'static str)],
    pub(crate) set: fn(&mut Config, &str),
    pub(crate) get: fn(&Config) -> &'static str,
    /// `{ policy = "word" }` says the same.
    pub(crate) policy: bool,
}

/// The tables, in the order in which they are shown.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("run", "The run as a whole."),
    ("device", "Geometry and capacity."),
    ("timing", "Flash and bus times."),
    ("interconnect", "The network between the flash controllers and the host side (serial model)."),
    ("host", "How requests reach the device."),
    ("alloc", "Where writes go and what space is shared."),
    ("sched", "Who goes first on a busy unit."),
    ("controller", "The controller on the way of every page."),
    ("gc", "Garbage collection: the seven questions."),
    ("wear", "Wear levelling, endurance and bad blocks."),
    ("precondition", "State of the device before the workload, made in functional mode."),
    ("workload", "The requests: a trace or a synthetic kind."),
    ("metrics", "What is measured and logged."),
];

const MILLISECOND: u64 = 1_000_000;
const MINUTE: u64 = 60_000_000_000;
const YEAR: u64 = 365 * 24 * 60 * MINUTE;
const SHARE: Span = Span::closed(0.0, 1.0);

macro_rules! path {
    ($section:ident . $key:ident) => {
        concat!(stringify!($section), ".", stringify!($key))
    };
}

macro_rules! keys {
    ($($section:ident . $key:ident : $kind:ident ( $($arg:tt)* ) $doc:literal;)+) => {
        /// Every key, by table.
        pub(crate) const KEYS: &[Key] = &[$(Key {
            path: path!($section.$key),
            slot: slot!($kind $section $($arg)*),
            doc: $doc,
        }),+];
    };
}

macro_rules! slot {
    (int32 $s:ident $f:ident, $min:expr, $max:expr) => {
        Slot::Int { at: |c| Num::U32(&mut c.$s.$f), min: $min, max: $max }
    };
    (int64 $s:ident $f:ident, $min:expr, $max:expr) => {
        Slot::Int { at: |c| Num::U64(&mut c.$s.$f), min: $min, max: $max }
    };
    (real $s:ident $f:ident, $span:expr) => {
        Slot::Real { at: |c| &mut c.$s.$f, span: $span }
    };
    (time $s:ident $f:ident, $max:expr) => {
        Slot::Time { at: |c| &mut c.$s.$f, max: $max }
    };
    (flag $s:ident $f:ident) => {
        Slot::Flag { at: |c| &mut c.$s.$f }
    };
    (word $s:ident $f:ident, $t:ty) => {
        slot!(words $s $f, $t, false)
    };
    (answer $s:ident $f:ident, $t:ty) => {
        slot!(words $s $f, $t, true)
    };
    (words $s:ident $f:ident, $t:ty, $policy:expr) => {
        Slot::Word(WordSlot {
            words: <$t as Word>::WORDS,
            set: |c, word| {
                if let Some(value) = <$t>::from_word(word) {
                    c.$s.$f = value;
                }
            },
            get: |c| c.$s.$f.word(),
            policy: $policy,
        })
    };
    (policy $s:ident $f:ident, $registry:expr) => {
        Slot::Policy { registry: $registry, at: |c| &mut c.$s.$f }
    };
    (special $s:ident $special:path) => {
        Slot::Special(&$special)
    };
}

keys! {
    run.seed: int64(seed, 0, u64::MAX >> 1) "Seed of every random stream.";
    run.mode: word(mode, Mode) "With or without time.";
    run.data: word(data, DataMode) "What pages contain; contents are checked at every read.";
    run.name: special(special::NAME)
        "Name of the run and of its folder; without it that of the config file, or of the preset.";

    device.channels: int32(channels, 1, 4096) "Channels.";
    device.chips_per_channel: int32(chips_per_channel, 1, 4096) "Chips (dies) on each channel.";
    device.planes_per_chip: int32(planes_per_chip, 1, 64) "Planes in each chip.";
    device.blocks_per_plane: int32(blocks_per_plane, 4, 1 << 24) "Blocks in each plane.";
    device.pages_per_block: int32(pages_per_block, 1, 4096) "Pages in each block.";
    device.page_size: special(special::PAGE_SIZE) "Size of a page: a power of two.";
    device.over_provisioning: special(special::OVER_PROVISIONING)
        "(physical - user) / user pages. Instead of `user_capacity`. User pages are rounded down.";
    device.user_capacity: special(special::USER_CAPACITY)
        "What the host sees, rounded down to whole pages. Instead of `over_provisioning`.";

    timing.model: word(model, TimingModel) "Which of the two timing models.";
    timing.busy_unit: word(busy_unit, BusyUnit) "What one operation occupies.";
    timing.read: time(read_ns, MINUTE) "Array read (tR).";
    timing.program: time(program_ns, MINUTE) "Array program (tPROG).";
    timing.erase: time(erase_ns, MINUTE) "Block erase (tBERS).";
    timing.transfer: special(special::TRANSFER)
        "One page over the bus or interconnect. Instead of `bus_rate`.";
    timing.bus_rate: special(special::BUS_RATE)
        "Rate at which pages cross the bus; \"333 MT/s\" are 8 bit each. Instead of `transfer`.";
    timing.command: time(command_ns, MINUTE)
        "Command and address cycles on the bus before each operation (pipelined model).";
    timing.sram: time(sram_ns, MINUTE) "One page into or out of the controller's SRAM.";
    timing.multi_plane: flag(multi_plane)
        "Program one page on every plane of a chip at once (pipelined model, busy unit chip).";

    interconnect.model: word(model, InterconnectModel) "How long a page takes to cross it.";
    interconnect.flit_bits: int32(flit_bits, 1, 65_536)
        "Bits that move from slice to slice at once; a page is a whole number of flits, rounded up.";
    interconnect.slice_time: time(slice_ns, MILLISECOND) "A flit from one slice to the next.";
    interconnect.columns: int32(columns, 1, 256)
        "Slices side by side (`slices`): the flash controllers stand evenly along one edge, and along \
        the opposite one the ports of the task queues, R_host, W_host, R_gc and W_gc of every channel.";
    interconnect.rows: int32(rows, 1, 256) "Slices from that edge to the opposite one (`slices`).";
    interconnect.mean_path: real(mean_path, Span::closed(1.0, 1000.0))
        "Slices that a page passes on average (`formula`): a traversal takes (flits + mean_path - 1) \
        * slice_time.";
    interconnect.rounding: time(rounding_ns, MILLISECOND)
        "A traversal takes the nearest multiple of it, halves rounded up (`formula`).";

    host.mode: special(special::HOST_MODE)
        "Open loop: requests arrive when the workload says. Closed loop: `queue_depth` are \
        outstanding.";
    host.queue_depth: int32(queue_depth, 1, 65_536) "Requests outstanding in the closed loop.";
    host.think_time: time(think_time_ns, YEAR)
        "Pause between a completion and the next request of its slot (closed loop).";
    host.think_every: int32(think_every, 1, 1 << 24)
        "Requests between two pauses of `think_time`. Above 1, all outstanding complete before a pause.";
    host.stop_after: time(stop_after_ns, YEAR)
        "Time after the first request from which on no other is submitted (closed loop); \"0 s\": none.";
    host.max_outstanding: int32(max_outstanding, 0, 1 << 24)
        "Most requests outstanding in the open loop, 0: no limit. Later ones wait in the host; \
        their latency counts from the intended arrival.";
    host.link_rate: special(special::LINK_RATE)
        "Rate of the serial link to the host, after coding and protocol: data of writes cross it page \
        by page before anything else, data of reads after everything else, first come first served; \
        commands cross it in no time. \"unlimited\": so do data.";
    host.link_duplex: word(link_duplex, LinkDuplex) "Whether reads and writes share `link_rate`.";
    host.write_buffer_pages: int32(write_buffer_pages, 0, 1 << 24)
        "Pages of a write-back buffer, 0: none. A write completes when its pages are in the buffer; \
        a page there is replaced by later writes of it, least recently written pages are evicted \
        (LRU), a full buffer makes writes wait. FUA writes complete, and flushes are done, on flash. \
        What is left at the end of the run is written to flash. Timed mode only.";
    host.write_buffer_threshold: real(write_buffer_threshold, SHARE)
        "Share of the write buffer that keeps pages for later writes to replace; pages beyond it are \
        evicted, so that the rest is room for writes to come. 0: every page is evicted at once; 1: \
        none before a write waits for room.";

    alloc.placement: policy(placement, PLACEMENTS) "Which plane an admitted write goes to.";
    alloc.frontiers: special(special::FRONTIERS)
        "Open blocks: host and GC share one; one each; or N for the host by request stream and \
        one for GC.";
    alloc.pool: word(pool, PoolScope) "Where free blocks are shared and collected.";
    alloc.erase_unit: word(erase_unit, EraseUnit) "What is erased together.";

    sched.order: policy(order, ORDERS) "Who goes first on a busy unit.";

    controller.ecc_time: time(ecc_ns, MINUTE)
        "ECC decoding of a GC page between its read and its program; on the selective path its task waits \
        for it.";
    controller.host_ecc_time: time(host_ecc_ns, MINUTE)
        "ECC decoding of a page read for the host, before it goes on (to the host, or into the rest \
        of a page written in part).";
    controller.retry_probability: real(retry_probability, SHARE)
        "Probability that a read of a page has to be tried again, on a block without erases; each \
        retry fails with the same probability. 0 with `retry_growth` 0: no retries.";
    controller.retry_growth: real(retry_growth, SHARE)
        "What every erase of the block adds to `retry_probability`, up to 1 in all.";
    controller.retry_limit: int32(retry_limit, 1, 100)
        "Most retries of one read; it returns the data after the last of them.";
    controller.retry_factor: real(retry_factor, Span::above(0.0, 10.0))
        "Array time of a retry in multiples of `timing.read`, to the nearest nanosecond; more than 1 \
        where it stands for the transfer and decoding of the failed attempt as well.";
    controller.buffers: special(special::BUFFERS)
        "Page slots of each flash controller for GC pages. A GC read starts only when one is left, and \
        keeps it until the page has been programmed, or need not be. Copy-back inside a plane needs none.";
    controller.page_error_probability: real(page_error_probability, SHARE)
        "Probability that the ECC engine finds an error in a GC page, drawn for every page it sees.";
    controller.traversals_host: int32(traversals_host, 0, 1)
        "1: pages of the host cross the interconnect as those of GC do. 0: they do not.";

    gc.reserve: int32(reserve, 1, 1 << 24)
        "Erased blocks of a pool at which its collection is promoted to foreground.";
    gc.trigger: special(special::TRIGGER)
        "When collection of a pool starts and stops; of a list, all must hold.";
    gc.victim: policy(victim, VICTIMS) "Which block.";
    gc.amount: answer(amount, Amount) "How many blocks once triggered.";
    gc.concurrency: policy(concurrency, CONCURRENCIES) "How many pools, or channels, at once.";
    gc.path: answer(path, GcPath) "Over which path pages move.";
    gc.blocking: special(special::BLOCKING)
        "What is closed to the host meanwhile: { scope, granularity }, or the scope alone.";
    gc.window: int32(window, 1, 4096) "Page moves of one job in flight.";

    wear.dynamic: flag(dynamic)
        "The erased block with the fewest erases is opened next (else the one erased first).";
    wear.static_threshold: int32(static_threshold, 0, 1 << 31)
        "Static wear levelling: cold data of a block move to an erased block of its pool with more than \
        this many erases more; 0: never.";
    wear.endurance: int32(endurance, 0, 1 << 31)
        "Erases a block survives; it is bad after the last one. 0: any number.";
    wear.endurance_spread: real(endurance_spread, Span::closed(0.0, 1.0))
        "Half the width of the range, in multiples of `endurance`, in which blocks differ (uniform).";
    wear.factory_bad_blocks: real(factory_bad_blocks, SHARE)
        "Share of the blocks that are bad from the start, at random places.";

    precondition.fill: real(fill, SHARE) "Share of the user pages written once.";
    precondition.order: word(order, FillOrder) "Order of the fill.";
    precondition.overwrite: real(overwrite, Span::closed(0.0, 1000.0))
        "Uniformly random overwrites of the filled pages, in multiples of their number.";
    precondition.steady_state: word(steady_state, SteadyStart)
        "Steady state built at once, instead of the fill; overwrites come after it.";
    precondition.snapshot: special(special::SNAPSHOT)
        "Snapshot to start from, made with `ssdlab snapshot make`: instead of all other keys of this \
        table.";

    workload.trace: special(special::TRACE)
        "Path of a trace; \"-\" reads standard input. Implies `kind = \"trace\"`.";
    workload.kind: word(kind, WorkloadKind) "A trace, or one of the synthetic kinds.";
    workload.format: word(format, TraceFormat) "Format of the trace.";
    workload.volume: special(special::VOLUME)
        "The volume (disk, LUN, ASU) of a trace with several that is used, by its number there.";
    workload.action: special(special::ACTION)
        "Which action of block-event text is taken: queued, dispatched or completed.";
    workload.from: time(from_ns, 100 * YEAR) "First time of the trace that is used.";
    workload.until: special(special::UNTIL) "First time of the trace that is no longer used.";
    workload.fit: word(fit, Fit) "How the trace's addresses are fitted to the device.";
    workload.loops: int32(loops, 1, 1 << 24) "Times the trace is run.";
    workload.time_scale: real(time_scale, Span::above(0.0, 1e9))
        "All arrival times of the trace are multiplied by this.";
    workload.skip_bad: flag(skip_bad)
        "Lines that cannot be parsed are counted and skipped instead of ending the run.";
    workload.dedup: flag(dedup)
        "Records that repeat an identical one less than 1 ms earlier are dropped (logs of stacked \
        devices hold each request twice).";
    workload.set: word(set, ParameterSet) "Whose statistics an application (`app:...`) is made to.";
    workload.like: special(special::LIKE)
        "Path of a trace whose requests those of an application are like, instead of `set`. Arrivals \
        are as recorded while `arrival.interval` is not said.";
    workload.msr: special(special::MSR)
        "Folder of real MSR Cambridge files (`hm_0.csv.gz` and so on), which take the place of \
        stand-ins (`msr:...`).";
    workload.job: special(special::JOB)
        "Path of a job file of fio. Implies `kind = \"fio\"`. It says how many requests there are, \
        and how they reach the device: `host.mode`, `queue_depth`, `think_time`, `think_every` and \
        `stop_after` follow it.";
    workload.requests: int64(requests, 1, 1 << 40) "Requests of a synthetic workload.";
    workload.seed: special(special::WORKLOAD_SEED)
        "Seed of the requests that are made. Runs that differ in `run.seed` alone have the same requests \
        if it is said, and differ in what else is random.";
    workload.size: special(special::SIZES)
        "Size of the requests, or a list of { size, weight }: multiples of 512 B up to 1 GiB.";
    workload.read: real(read, SHARE) "Share of reads.";
    workload.trim: real(trim, SHARE) "Share of TRIMs.";
    workload.theta: real(theta, Span::closed(0.0, 10.0))
        "Skew of `zipf`: P(rank k) is proportional to k^-theta.";
    workload.hot_space: real(hot_space, Span::inside(0.0, 1.0))
        "Share of the space that is hot (`hot-cold`).";
    workload.hot_access: real(hot_access, Span::inside(0.0, 1.0))
        "Share of the requests that go to the hot space (`hot-cold`).";
    workload.span: real(span, Span::above(0.0, 1.0))
        "Share of the user space that a synthetic workload addresses, from its start.";
    workload.arrival: special(special::ARRIVAL)
        "Arrivals of a synthetic workload in the open loop: { kind, interval or rate, burst, \
        pause }, or the kind alone.";
    workload.warmup_requests: int64(warmup_requests, 0, 1 << 40)
        "First requests that are simulated and left out of all statistics.";

    metrics.interval: time(interval_ns, YEAR) "Interval of the time series; \"0 s\": none.";
    metrics.op_log: flag(op_log) "Log every flash operation.";
    metrics.request_log: flag(request_log) "Log every request.";
}

impl Key {
    /// The key called `path`.
    pub(crate) fn find(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Table and name.
    pub(crate) fn parts(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').expect("a key stands in a table")
    }

    /// Keys of one table.
    pub(crate) fn of_section(section: &str) -> impl Iterator<Item = &'static Key> + Clone {
        KEYS.iter().filter(move |key| key.parts().0 == section)
    }
}
