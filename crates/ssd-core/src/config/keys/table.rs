//! The table of keys: path, kind, range, description and the field with the value. Parsing, printing,
//! schema and reference are derived from it; a new key is one entry here and one field in `resolved`.

use super::policy::{CONCURRENCIES, ORDERS, PLACEMENTS, VICTIMS};
use super::special;
use super::{Key, Num, Slot, WordSlot};
use crate::config::resolved::*;
use crate::config::text::read::Span;

/// The tables, in the order in which they are shown.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("run", "The run as a whole."),
    ("device", "Geometry and capacity."),
    ("timing", "Flash and bus times."),
    ("interconnect", "The network between the flash controllers and the host side (serial model)."),
    ("host", "How requests reach the device."),
    ("alloc", "Where writes go and what space is shared."),
    ("sched", "The order of operations on a busy unit."),
    ("controller", "The controller, which every page passes."),
    ("gc", "Garbage collection: the seven decisions."),
    ("wear", "Wear levelling, endurance and bad blocks."),
    ("precondition", "State of the device before the workload, prepared in functional mode."),
    ("workload", "The requests: recorded in a trace, or synthetic."),
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
        pub(crate) const KEYS: &[Key<Config>] = &[$(Key {
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
    run.mode: word(mode, Mode) "Timed or functional simulation.";
    run.data: word(data, DataMode) "What pages contain. Contents are checked at every read.";
    run.name: special(special::NAME)
        "Name of the run and of its folder; by default that of the config file or of the preset.";

    device.channels: int32(channels, 1, 4096) "Channels.";
    device.chips_per_channel: int32(chips_per_channel, 1, 4096) "Chips (dies) on each channel.";
    device.planes_per_chip: int32(planes_per_chip, 1, 64) "Planes in each chip.";
    device.blocks_per_plane: int32(blocks_per_plane, 4, 1 << 24) "Blocks in each plane.";
    device.pages_per_block: int32(pages_per_block, 1, 4096) "Pages in each block.";
    device.page_size: special(special::PAGE_SIZE) "Page size: a power of two.";
    device.over_provisioning: special(special::OVER_PROVISIONING)
        "(physical - user) / user pages. Alternative to `user_capacity`. User pages are rounded \
        down.";
    device.user_capacity: special(special::USER_CAPACITY)
        "Capacity visible to the host, rounded down to whole pages. Alternative to \
        `over_provisioning`.";

    timing.model: word(model, TimingModel) "Timing model.";
    timing.busy_unit: word(busy_unit, BusyUnit) "What one operation occupies.";
    timing.read: time(read_ns, MINUTE) "Array read (tR).";
    timing.program: time(program_ns, MINUTE) "Array program (tPROG).";
    timing.erase: time(erase_ns, MINUTE) "Block erase (tBERS).";
    timing.transfer: special(special::TRANSFER)
        "Time of one page on the bus or interconnect. Alternative to `bus_rate`.";
    timing.bus_rate: special(special::BUS_RATE)
        "Rate at which pages cross the bus; in \"333 MT/s\" a transfer is 8 bit. Alternative to \
        `transfer`.";
    timing.command: time(command_ns, MINUTE)
        "Command and address cycles on the bus before each operation (pipelined model).";
    timing.sram: time(sram_ns, MINUTE) "Time of one page into or out of the controller's SRAM.";
    timing.multi_plane: flag(multi_plane)
        "Program one page on every plane of a chip at once (pipelined model, busy unit chip).";

    interconnect.model: word(model, InterconnectModel)
        "How long a page takes to cross the interconnect.";
    interconnect.flit_bits: int32(flit_bits, 1, 65_536)
        "Bits that move between slices at once. A page is a whole number of flits, rounded up.";
    interconnect.slice_time: time(slice_ns, MILLISECOND)
        "Time of one flit from one slice to the next.";
    interconnect.columns: int32(columns, 1, 256)
        "Columns of the slice grid (`slices`). The flash controllers are spaced evenly along one \
        edge, and the ports of the task queues (R_host, W_host, R_gc and W_gc of every channel) \
        along the opposite one.";
    interconnect.rows: int32(rows, 1, 256)
        "Rows of the slice grid, from that edge to the opposite one (`slices`).";
    interconnect.mean_path: real(mean_path, Span::closed(1.0, 1000.0))
        "Mean number of slices that a page crosses (`formula`): a traversal takes (flits + \
        mean_path - 1) * slice_time.";
    interconnect.rounding: time(rounding_ns, MILLISECOND)
        "The traversal time is rounded to the nearest multiple of this, halves up (`formula`).";

    host.mode: special(special::HOST_MODE)
        "Open loop: requests arrive at the times of the workload. Closed loop: `queue_depth` \
        requests are kept outstanding.";
    host.queue_depth: int32(queue_depth, 1, 65_536) "Outstanding requests in the closed loop.";
    host.think_time: time(think_time_ns, YEAR)
        "Pause between a completion and the next request of its slot (closed loop).";
    host.think_every: int32(think_every, 1, 1 << 24)
        "Requests between two pauses of `think_time`. If above 1, all outstanding requests \
        complete before a pause.";
    host.stop_after: time(stop_after_ns, YEAR)
        "Time after the first request at which submission ends (closed loop); \"0 s\": never.";
    host.max_outstanding: int32(max_outstanding, 0, 1 << 24)
        "Limit of outstanding requests in the open loop; 0: no limit. Requests beyond it wait in \
        the host; their latency counts from the intended arrival.";
    host.link_rate: special(special::LINK_RATE)
        "Rate of the serial link to the host, net of line coding and protocol. Write data cross it \
        page by page before anything else happens, read data last, first come first served; \
        commands take no time. \"unlimited\": data take no time either.";
    host.link_duplex: word(link_duplex, LinkDuplex) "Whether reads and writes share `link_rate`.";
    host.write_buffer_pages: int32(write_buffer_pages, 0, 1 << 24)
        "Pages of the write-back buffer; 0: no buffer. A write completes when its pages are in the \
        buffer. A later write of a buffered page replaces it, the least recently written pages \
        are evicted (LRU), and a full buffer makes writes wait. FUA writes and flushes complete \
        when the data are on flash. Pages left at the end of the run are written to flash. Timed \
        mode only.";
    host.write_buffer_threshold: real(write_buffer_threshold, SHARE)
        "Share of the write buffer that keeps pages for later writes to replace. Pages beyond it \
        are evicted, so that the rest is room for new writes. 0: every page is evicted at once; \
        1: pages are evicted only when a write waits for room.";

    alloc.placement: policy(placement, PLACEMENTS) "Plane of an admitted write.";
    alloc.frontiers: special(special::FRONTIERS)
        "Open blocks: one shared by host and GC; one each; or N for the host by request stream and \
        one for GC.";
    alloc.pool: word(pool, PoolScope) "Which planes share free blocks and are collected together.";
    alloc.erase_unit: word(erase_unit, EraseUnit) "What is erased together.";

    sched.order: policy(order, ORDERS) "Which queue of a busy unit goes first.";

    controller.ecc_time: time(ecc_ns, MINUTE)
        "ECC decoding of a GC page between its read and its program. On the selective path the \
        task waits for it.";
    controller.host_ecc_time: time(host_ecc_ns, MINUTE)
        "ECC decoding of a page read for the host, before it is sent on (to the host, or to \
        complete a page written in part).";
    controller.retry_probability: real(retry_probability, SHARE)
        "Probability that a page read has to be retried, on a block without erases. Each retry \
        fails with the same probability. 0 together with `retry_growth` 0: no retries.";
    controller.retry_growth: real(retry_growth, SHARE)
        "Increase of `retry_probability` with every erase of the block, up to 1 in total.";
    controller.retry_limit: int32(retry_limit, 1, 100)
        "Maximum number of retries of one read; the last one always returns the data.";
    controller.retry_factor: real(retry_factor, Span::above(0.0, 10.0))
        "Array time of a retry in multiples of `timing.read`, rounded to nanoseconds; more than 1 \
        to include the transfer and decoding of the failed attempt.";
    controller.buffers: special(special::BUFFERS)
        "Page slots of each flash controller for GC pages. A GC read starts only when a slot is \
        free, and holds it until the page has been programmed or dropped. Copy-back inside a \
        plane needs no slot.";
    controller.page_error_probability: real(page_error_probability, SHARE)
        "Probability that the ECC engine finds an error in a GC page, drawn for every page it \
        decodes.";
    controller.traversals_host: int32(traversals_host, 0, 1)
        "1: host pages cross the interconnect as GC pages do. 0: they do not.";

    gc.reserve: int32(reserve, 1, 1 << 24)
        "Number of erased blocks of a pool at which its collection becomes foreground.";
    gc.trigger: special(special::TRIGGER)
        "When collection of a pool starts and stops. In a list, all triggers must hold.";
    gc.victim: policy(victim, VICTIMS) "Which block is collected.";
    gc.amount: answer(amount, Amount) "How many blocks are collected per trigger.";
    gc.concurrency: policy(concurrency, CONCURRENCIES)
        "How many pools or channels are collected at once.";
    gc.path: answer(path, GcPath) "Path of the copies.";
    gc.blocking: special(special::BLOCKING)
        "What is closed to the host during collection: { scope, granularity }, or the scope alone.";
    gc.window: int32(window, 1, 4096) "Copies of one job in flight.";

    wear.dynamic: flag(dynamic)
        "Open the erased block with the fewest erases next (otherwise the one erased first).";
    wear.static_threshold: int32(static_threshold, 0, 1 << 31)
        "Static wear levelling: cold data of a block are copied to an erased block of its pool \
        that has more than this many more erases; 0: never.";
    wear.endurance: int32(endurance, 0, 1 << 31)
        "Erases that a block survives; it is bad after the last one. 0: unlimited.";
    wear.endurance_spread: real(endurance_spread, Span::closed(0.0, 1.0))
        "The endurance of blocks is uniform within plus or minus this share of `endurance`.";
    wear.factory_bad_blocks: real(factory_bad_blocks, SHARE)
        "Share of blocks that are bad from the start, at random positions.";

    precondition.fill: real(fill, SHARE) "Share of the user pages that are written once.";
    precondition.order: word(order, FillOrder) "Order of the fill.";
    precondition.overwrite: real(overwrite, Span::closed(0.0, 1000.0))
        "Uniformly random overwrites of the filled pages, in multiples of their number.";
    precondition.steady_state: word(steady_state, SteadyStart)
        "Build the steady state directly, instead of the fill; overwrites come after it.";
    precondition.snapshot: special(special::SNAPSHOT)
        "Snapshot to start from, written by `ssdlab snapshot make`; replaces all other keys of \
        this table.";

    workload.trace: special(special::TRACE)
        "Path of a trace; \"-\" reads standard input. Implies `kind = \"trace\"`.";
    workload.kind: word(kind, WorkloadKind) "A trace, or a kind of synthetic requests.";
    workload.format: word(format, TraceFormat) "Format of the trace.";
    workload.volume: special(special::VOLUME)
        "Number of the volume (disk, LUN, ASU) to use, if the trace has several.";
    workload.action: special(special::ACTION)
        "Which action of block-event text is used: queued, dispatched or completed.";
    workload.from: time(from_ns, 100 * YEAR) "Start of the part of the trace that is used.";
    workload.until: special(special::UNTIL) "End of the part of the trace that is used, exclusive.";
    workload.fit: word(fit, Fit) "How the trace's addresses are fitted to the device.";
    workload.loops: int32(loops, 1, 1 << 24) "Number of times the trace is run.";
    workload.time_scale: real(time_scale, Span::above(0.0, 1e9))
        "All arrival times of the trace are multiplied by this.";
    workload.unit: word(unit, TraceUnit)
        "Unit of addresses and lengths, in the formats whose files differ in it: disksim, mqsim, \
        ssdsim, tencent.";
    workload.page_size: special(special::UNIT_PAGE) "Size of a page where `unit = \"pages\"`.";
    workload.sort: flag(sort)
        "Sort the requests of the trace by time (equal times stay in the order of the lines). Large \
        traces are sorted on disk, below TMPDIR: 40 bytes a request, and at most 64 MiB of memory. \
        Otherwise a line with an earlier time than the line above is a bad line.";
    workload.skip_bad: flag(skip_bad)
        "Count and skip lines that cannot be used, instead of ending the run.";
    workload.max_bad: real(max_bad, SHARE)
        "Largest share of the lines that `skip_bad` may skip; a trace that loses more is refused.";
    workload.dedup: flag(dedup)
        "Drop records that repeat an identical one less than 1 ms earlier (logs of stacked devices \
        contain each request twice).";
    workload.set: word(set, ParameterSet)
        "Published statistics that an application (`app:...`) matches.";
    workload.like: special(special::LIKE)
        "Trace whose statistics an application matches, instead of `set`. Arrivals are as recorded \
        unless `arrival.interval` is set.";
    workload.msr: special(special::MSR)
        "Folder of the original MSR Cambridge files (`hm_0.csv.gz` and so on), which replace the \
        synthetic volumes (`msr:...`).";
    workload.job: special(special::JOB)
        "Path of a fio job file. Implies `kind = \"fio\"`. The job file sets the number of \
        requests and how they reach the device: `host.mode`, `queue_depth`, `think_time`, \
        `think_every` and `stop_after`.";
    workload.requests: int64(requests, 1, 1 << 40) "Number of requests of a synthetic workload.";
    workload.seed: special(special::WORKLOAD_SEED)
        "Seed of the synthetic requests. If it is set, runs with different `run.seed` have the \
        same requests and differ only in the other random streams.";
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
        "Number of initial requests that are simulated but left out of all statistics.";

    metrics.interval: time(interval_ns, YEAR)
        "Sample period of the time series; \"0 s\": no time series.";
    metrics.op_log: flag(op_log) "Write a log of all flash operations.";
    metrics.request_log: flag(request_log) "Write a log of all requests.";
}

impl Key<Config> {
    /// The key called `path`.
    pub(crate) fn find(path: &str) -> Option<&'static Key<Config>> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Keys of one table.
    pub(crate) fn of_section(section: &str) -> impl Iterator<Item = &'static Key<Config>> + Clone {
        KEYS.iter().filter(move |key| key.parts().0 == section)
    }
}
