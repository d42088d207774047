"""The parts of a report as frozen dataclasses, with the names of `report.json`.

Integers are bytes, pages, blocks or nanoseconds; means and ratios are floating point; missing
values are None. Written by `make docs` from crates/ssd-core/src/metrics/report: change that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, repr=False)
class Parts:
    """The fields of report.json."""

    version: int
    """Version of the report format."""
    provenance: Provenance
    """Everything needed to repeat the run."""
    completed: bool
    """All submitted requests were completed."""
    requests: Requests
    """Requests."""
    trace_lines: TraceLines | None
    """Lines of the trace; None for a synthetic workload."""
    host: Host
    """Host pages."""
    write_buffer: WriteBuffer | None
    """The write buffer; None without one."""
    controller: Controller | None
    """Pages between flash controllers and host side; None without an interconnect or buffers."""
    latency: Latency
    """Latencies."""
    flash: Flash
    """Flash operations."""
    waf: Waf
    """Write amplification."""
    energy: Energy | None
    """Energy; None where no power is given."""
    raid: Raid | None
    """Parity groups; None without parity."""
    remap: Remap | None
    """Copies; None where the device refuses them."""
    slc: Slc | None
    """SLC blocks; None on a device without any."""
    zones: Zones | None
    """The host that writes zones; None where the interface is another."""
    separation: Separation | None
    """Classes of pages; None where no policy separates them."""
    tenants: Tenants | None
    """Volumes and streams; None without `metrics.tenants`."""
    power: Power | None
    """Power cuts; None if power is never cut."""
    gc: Gc
    """Garbage collection."""
    verdict: Verdict
    """Whether the victim policy is what the run measures."""
    wear: Wear
    """Wear levelling and lifetime."""
    lifetime: Lifetime | None
    """How long the device lasts; None where blocks do not wear out, and with SLC blocks, whose
    erases wear less."""
    latency_parts: LatencyParts
    """Where the time went."""
    device: Device
    """The device at the end of the run."""
    steady_state: SteadyState
    """Whether write amplification has settled."""
    warmup: Warmup
    """Whether the measurement starts with a transient."""
    little: Little
    """Little's law."""
    time: Time
    """Time."""
    speed: Speed
    """Speed of the simulator."""
    warnings: tuple[str, ...]
    """What to check before using the numbers."""
    invalidating: int
    """How many of the warnings invalidate numbers: the first ones. The others are notes."""


@dataclass(frozen=True)
class Provenance:
    """Everything needed to repeat the run."""

    ssdlab: str
    """Version of ssdlab."""
    results: int | None
    """Version of its results: equal inputs of equal versions have equal results; None if the run is
    older than this number."""
    commit: str | None
    """Commit it was built from, if known."""
    seed: int
    """Seed of every random stream."""
    config_digest: str
    """Digest of the resolved configuration."""
    trace_digest: str | None
    """Digest of the trace; None for a synthetic workload."""
    snapshot_digest: str | None
    """Digest of the snapshot that the run started from; None if it was preconditioned."""
    event_digest: str | None
    """Digest of all events of the run in order; None in functional mode."""
    external_policies: dict[str, str]
    """Policies in Python by the key that they replace; repeating the run requires them."""


@dataclass(frozen=True)
class Requests:
    """Requests by outcome and by operation."""

    warmup: int
    """Initial requests that were simulated but left out of all statistics."""
    submitted: int
    """Submitted."""
    completed: int
    """Completed: the sum of the next four fields and of `remap.commands`."""
    read: int
    """Reads completed."""
    write: int
    """Writes completed."""
    trim: int
    """TRIMs completed."""
    flush: int
    """Flushes completed."""


@dataclass(frozen=True)
class TraceLines:
    """What became of the lines of a trace."""

    lines: int
    """Lines of the file; records of a binary one."""
    skipped: int
    """Lines that could not be used and were skipped (`workload.skip_bad`)."""
    late: int
    """Requests that are earlier than one above them: sorted, or among the lines skipped."""
    sorted: bool
    """Whether the requests were sorted by time (`workload.sort`)."""
    loss: str | None
    """A message to show before all results: more than 1 % of the lines were skipped."""


@dataclass(frozen=True)
class Host:
    """Host pages."""

    pages_read: int
    """Pages read, from flash or not."""
    pages_written: int
    """Pages written; a page written in part counts as one."""
    pages_trimmed: int
    """Pages unmapped by TRIM."""
    unmapped_pages_read: int
    """Pages read that held no data."""
    controller_pages_read: int
    """Pages read while their data were still in the controller."""
    rmw: int
    """Pages written in part."""
    read_bytes_per_s: float | None
    """Bytes read per second of simulated time, in whole pages."""
    write_bytes_per_s: float | None
    """Bytes written per second of simulated time, in whole pages."""


@dataclass(frozen=True)
class WriteBuffer:
    """The write buffer: what happened to the pages of writes.

    In a completed run without warm-up `host.pages_written = pages_coalesced + pages_trimmed +
    pages_evicted`.
    """

    pages_read: int
    """Pages of reads answered by it; pages buffered in part are read from flash (cause `rmw`)."""
    pages_coalesced: int
    """Pages of writes that newer writes replaced before eviction."""
    pages_trimmed: int
    """Pages of writes that a TRIM dropped before eviction."""
    pages_evicted: int
    """Pages of writes sent to flash."""
    pages_waited: int
    """Pages of writes that waited for room."""
    pages_left: int
    """Pages left in it or on their way to flash at the end: 0 in a completed run."""


@dataclass(frozen=True)
class Controller:
    """Pages between the flash controllers and the host side of the controller."""

    traversals: Counts
    """Traversals of the interconnect, by the cause of their operation."""
    traversal_wait_mean: float | None
    """Mean time a traversal waited for others in the slices, ns; None without traversals."""
    pages_from_buffer: int
    """Copies programmed from the buffer of the flash controller that read the page."""
    pages_in_error: int
    """Pages read by GC in which the ECC engine found an error."""


@dataclass(frozen=True)
class Latency:
    """Latencies by operation and, where recorded separately, by volume and stream."""

    read: LatencyStats
    """Reads."""
    write: LatencyStats
    """Writes."""
    trim: LatencyStats
    """TRIMs."""
    flush: LatencyStats
    """Flushes."""
    by_volume: dict[str, LatencyByOp] | None = None
    """By volume."""
    by_stream: dict[str, LatencyByOp] | None = None
    """By stream."""


@dataclass(frozen=True)
class Flash:
    """Flash operations."""

    reads: Counts
    """Pages read, by cause."""
    programs: Counts
    """Pages programmed, by cause."""
    erases: int
    """Blocks erased."""
    erases_by_cause: Counts
    """Blocks erased, by cause."""
    retries: Counts
    """Retries of reads, by the cause of the read."""
    suspensions: Counts
    """How often programs and erases were suspended, by their cause."""


@dataclass(frozen=True)
class Waf:
    """Write amplification: pages programmed over pages written by the host.

    None without host writes. The parts sum to the total. `host` is 1, unless the run ended with
    writes in flight or a buffer absorbed overwrites.
    """

    total: float | None
    """All causes together."""
    host: float | None
    """A host request."""
    gc: float | None
    """Garbage collection."""
    rmw: float | None
    """The rest of a page (or stripe) of which the host writes only a part."""
    wear: float | None
    """Static wear levelling."""
    parity: float | None
    """Parity of a RAID group."""
    metadata: float | None
    """The device's own metadata."""
    remap: float | None
    """Remapping of pages by their owner."""
    reconstruct: float | None
    """A page of a parity group that is computed from the others, for a read of the host."""
    rebuild: float | None
    """A page that a failed chip held, for the spare."""
    fold: float | None
    """Folding of SLC blocks."""


@dataclass(frozen=True)
class Energy:
    """Energy in picojoules, of operations that start in the measurement and of the drive.

    Each is its power (`[energy]`) times its time, to the nearest picojoule, and at most 2^64 - 1.
    """

    read_time: int
    """Array time of all pages that are read, with retries."""
    program_time: int
    """Array time of all pages that are programmed."""
    erase_time: int
    """Array time of all blocks that are erased."""
    bus_time: int
    """Time of all pages, or parts of pages, on the buses of the channels, without commands and
    SRAM."""
    read: int
    """Of reads."""
    program: int
    """Of programs."""
    erase: int
    """Of erases."""
    bus: int
    """Of pages on the buses."""
    idle: int
    """Of the drive, at all times."""
    total: int
    """All of them."""
    per_host_byte: float | None
    """All of them over the bytes that the host reads and writes, in whole pages."""


@dataclass(frozen=True)
class Raid:
    """Parity groups: how their parity was updated.

    Every write and TRIM of a group is one update, or a part of one (`merged`);
    `flash.programs.parity = rmw + rcw + full` in a completed run without warm-up in which no chip
    fails.
    """

    rmw: int
    """Updates that read old data and old parity (read-modify-write)."""
    rcw: int
    """Updates that read the pages that stay (reconstruct-write)."""
    full: int
    """Updates that left no page as it was: none is read for the parity."""
    redirected: int
    """Pages written to a chip of another parity group."""
    dropped: int
    """Groups that TRIMs left without data, and so without parity."""
    groups: int
    """Groups of the device."""
    reads_saved: int
    """Pages that were not read because the controller kept them."""
    merged: int
    """Updates that became a part of the one before them in their group (`raid.merge`), and do not
    count above."""
    waited_for_room: int
    """Updates that waited for room in one of their pools."""
    deferred_gcs: int
    """Blocks whose collection began while no request waited for their chip."""
    reconstructed_pages: int
    """Pages that the host read and that were computed from the others of their group, because their
    chip collected (`raid.reads`) or had failed. Reads of one page at a time share a
    reconstruction."""
    reconstructions: int
    """Reconstructions, those for a rebuild included."""
    failure: Failure | None
    """The failure of chips; None before the first."""


@dataclass(frozen=True)
class Remap:
    """Copies (as with NVMe Copy), and the pages that several logical pages share.

    Pages of all admitted copies are shared, copied or unmapped when they have completed, except
    those that newer data or a TRIM replaced while they waited for their source or to be read. What
    a power cut ends counts when it is submitted again.
    """

    shared: int
    """Pages of the destination that share the page of their source."""
    copied: int
    """Pages that the device has read and programmed: with `remap.mode = "copy"`, and those of
    parity groups that may not share."""
    copied_chip: int
    """Pages copied although `remap.mode = "share"`, because their parity group has, or may have,
    another page on the chip of the source."""
    copied_lost: int
    """Pages copied although `remap.mode = "share"`, because their source was lost with its chip."""
    unmapped: int
    """Pages whose source held no data: they hold none, either."""
    waited: int
    """Pages that waited until their source was on flash."""
    refused_alignment: int
    """Copies refused because an address or a length is not of whole pages."""
    refused_range: int
    """Copies refused because a range is empty, reaches beyond the device or differs in length, or
    because the NVRAM cannot hold their records."""
    refused_overlap: int
    """Copies refused because a source overlaps the destination."""
    commands: int
    """Copies completed."""
    refused: int
    """Copies refused."""
    latency: LatencyStats
    """Latency of copies."""
    extra_owners: int
    """Owners beyond the first of all pages, at the end of the run."""
    extra_owner_bytes: int
    """Bytes of memory that they take in the simulator."""
    pages_by_owners: tuple[int, ...]
    """Valid pages by their number of owners, from 1 on, at the end of the run."""


@dataclass(frozen=True)
class Slc:
    """SLC blocks, and folding: the collection of such blocks, which `gc` does not count."""

    host_pages: int
    """Pages that the host, or a copy for it, has programmed in SLC blocks."""
    folds: int
    """SLC blocks whose folding started."""
    foreground: int
    """Of these, ahead of the host: a pool was at its reserve, or its trigger was urgent."""
    host_share: float | None
    """Pages programmed for the host in SLC blocks, over all that were programmed for it."""
    pages_moved: int
    """Copies that were committed."""
    pages_dropped: int
    """Pages overwritten or trimmed between their read and the program of the copy."""
    pages_stale: int
    """Copies programmed after their page had been overwritten or trimmed."""
    pages_in_flight: int
    """Pages read but neither programmed nor dropped by the end of the run."""
    blocks: int
    """SLC blocks that are not erased at the end of the run."""


@dataclass(frozen=True)
class Zones:
    """The host that stores its pages in zones; the other sections are of its drive."""

    host_pages: int
    """Pages that requests of the workload, or of a client, have written."""
    copied_pages: int
    """Pages that the host has copied to collect its zones."""
    resets: int
    """Zones that it has reset."""
    zones: int
    """Zones of the drive."""
    latency: LatencyByOp | None
    """Latencies of the requests of the workload; None without time, and for a client."""
    host_waf: float | None
    """Write amplification of the host: pages that it has written and copied over those that it has
    written."""


@dataclass(frozen=True)
class Separation:
    """Classes of pages (`alloc.separation`), and what they take of the spare."""

    classes: int
    """Classes: open blocks on each plane, that of wear levelling apart."""
    host_classes: int
    """Classes that the host alone fills."""
    diverted_copies: int
    """Copies programmed in another class, because their own had no page left."""
    open_pages: int
    """Pages of open blocks that are not written yet, at the end of the run."""
    open_share_of_spare: float
    """`open_pages` over the pages beside those of the host."""
    fdp: Fdp | None = None
    """Reclaim unit handles; left out without them."""


@dataclass(frozen=True)
class Tenants:
    """What is written for each volume and stream, which add up to the whole.

    A program counts for the request that has written, or copied to, its logical page last.
    """

    by_volume: dict[str, TenantStats]
    """By volume."""
    by_stream: dict[str, TenantStats]
    """By stream."""
    others: TenantStats
    """Pages that no request has written since the run began, parity and checkpoints."""


@dataclass(frozen=True)
class Power:
    """Power cuts and what the device does to survive them."""

    cuts: int
    """Power cuts."""
    requests_repeated: int
    """Requests that were in the device at a cut and were submitted again."""
    pages_repeated: int
    """Pages that these read and write; `host` counts the pages of a request once."""
    trim_records: int
    """TRIM records written."""
    owner_records: int
    """Records of owners written: of pages whose data a copy shares, or that collection has
    moved."""
    trims_waited: int
    """TRIMs that waited for room in the NVRAM."""
    erases_waited: int
    """Erases that waited for records."""
    checkpoints: int
    """Checkpoints completed."""
    copies_lost: int
    """Pages that collection or wear levelling had read, and not programmed, at a cut."""
    nvram_peak: int
    """Most bytes of the NVRAM used at a time, since the start of the run."""
    live_records: int
    """Records at the end of the run that a mount needs: of TRIMs of which a page has no newer data
    on flash, of owners that still have their data there. Those that wait for room in the NVRAM
    count, too."""
    live_record_bytes: int
    """Their bytes."""
    stale_records: int
    """Records at the end of the run that newer data, TRIMs or moves of the page have made
    unnecessary."""
    stale_record_bytes: int
    """Their bytes."""
    recoveries: tuple[Recovery, ...]
    """Every recovery, in order."""


@dataclass(frozen=True)
class Gc:
    """Garbage collection. A call is the collection of one victim."""

    calls: int
    """Victims whose collection started."""
    foreground: int
    """Calls ahead of the host: a pool was at its reserve, or its trigger was urgent."""
    background: int
    """Calls because the trigger held."""
    deferred: int
    """Times the trigger held but the concurrency rule did not allow collection."""
    reserve_promotions: int
    """Times a pool's collection was promoted to foreground."""
    pages_moved: int
    """Copies that were committed."""
    pages_dropped: int
    """Pages overwritten or trimmed between their read and the program of the copy."""
    pages_stale: int
    """Copies programmed after their page had been overwritten or trimmed."""
    pages_in_flight: int
    """Pages read but neither programmed nor dropped by the end of the run."""
    mean_victim_invalid_ratio: float | None
    """Invalid pages over all pages of the victims at the time of the choice."""
    victims_by_policy: dict[str, int]
    """Victims by the policy that chose them: the configured one, or `reserve-greedy`."""
    job_time_mean: float | None
    """Mean time from the choice of a victim to the end of its erase, nanoseconds."""
    job_time_max: int | None
    """Longest such time, nanoseconds."""


@dataclass(frozen=True)
class Verdict:
    """Who decided which blocks were collected: whether the run measures its victim policy."""

    decided_by: str
    """`policy`, `reserve` where less than half of the victims were the policy's choice, or `nobody`
    where no block was collected. Runs that the reserve decided say nothing about their policies."""
    policy_share: float | None
    """Victims that the policy named for a demand that collection could meet, over all victims; None
    without victims. The others were named by the greedy rule of the reserve, or collected because
    the triggers would hold even with every invalid page reclaimed."""
    unmet_share: float | None
    """Victims for a demand that collection could not meet, whoever named them, over all victims."""
    reason: str
    """What was found and, where the policy has not decided, what to change."""


@dataclass(frozen=True)
class Wear:
    """Static wear levelling within the measurement, and wear over the life of the device.

    The life of the device includes preconditioning and warm-up.
    """

    calls: int
    """Cold blocks whose collection started."""
    pages_moved: int
    """Copies that were committed."""
    pages_dropped: int
    """Pages overwritten or trimmed between their read and the program of the copy."""
    pages_stale: int
    """Copies programmed after their page had been overwritten or trimmed."""
    pages_in_flight: int
    """Pages read but neither programmed nor dropped by the end of the run."""
    factory_bad_blocks: int
    """Blocks (erase units) that were bad from the start."""
    worn_out_blocks: int
    """Blocks that reached their endurance."""
    erase_min: int
    """Fewest erases of a block; this and the next three exclude factory-bad blocks."""
    erase_max: int
    """Most erases of a block."""
    erase_mean: float
    """Mean erases of a block."""
    erase_stddev: float
    """Standard deviation of the erases."""
    host_bytes_written: int
    """Bytes that the host wrote over the life of the device, in whole pages: its TBW if it is worn
    out at the end of the run."""
    host_bytes_at_even_wear: float | None
    """Bytes that the host could write in total if every block reached its endurance, at the write
    amplification of the measurement; None without an endurance, and with SLC blocks."""


@dataclass(frozen=True)
class Lifetime:
    """How long the device lasts, extrapolated from the measurement (`wear.endurance`).

    From now on the host writes as in the measurement, at its write amplification, and every block
    is erased at the mean rate of its pool. Bytes and days count from when the device was new, a day
    as `wear.daily_writes` says. Write amplification grows while blocks are lost, which is left out:
    see docs/lifetime.md.
    """

    daily_writes: float | None
    """Bytes that the host writes in a day: `wear.daily_writes`, or the rate of the measurement."""
    first_block_bytes: float | None
    """Bytes that the host has written when the first block is worn out."""
    first_block_days: float | None
    """Days until then."""
    bytes_written: float | None
    """Bytes that the host has written when a pool has lost its spare (TBW)."""
    days: float | None
    """Days until then."""
    drive_writes_per_day: float | None
    """Times the capacity that the host may write each day to reach the end of the warranty
    (DWPD)."""
    left: float | None
    """Erases of a block left on average, over those that it survives."""


@dataclass(frozen=True)
class LatencyParts:
    """Where the time went."""

    read: PartMeans | None
    """Of reads; None without reads."""
    write: PartMeans | None
    """Of writes; None without writes."""


@dataclass(frozen=True)
class Device:
    """The device at the end of the run."""

    page_bytes: int
    """Bytes per page."""
    user_pages: int
    """Pages the host can address."""
    physical_pages: int
    """Pages of the flash."""
    used_pages: int
    """Pages that are not erased."""
    valid_pages: int
    """Pages that hold current data."""
    used_ratio: float
    """`used_pages` over `physical_pages`."""
    blocks: int
    """Blocks (erase units)."""
    free_blocks: int
    """Erased blocks."""
    lowest_free_blocks: int
    """Fewest erased blocks at any time."""
    bad_blocks: int
    """Blocks that can no longer be used: bad from the factory, or worn out."""
    erase_min: int
    """Fewest erases of a block; this and the next three count the measurement only, `wear` the life
    of the device."""
    erase_max: int
    """Most erases of a block."""
    erase_mean: float
    """Mean erases of a block."""
    erase_stddev: float
    """Standard deviation of the erases over all blocks."""
    utilisation: Utilisation
    """Shares of the simulated time in which something was busy."""


@dataclass(frozen=True)
class SteadyState:
    """Whether write amplification has settled, and why."""

    reached: bool
    """All conditions hold."""
    reason: str
    """The first condition that does not hold, or the values compared."""
    wa_first: float | None
    """Write amplification over the third quarter of the host's writes."""
    wa_second: float | None
    """Write amplification over the fourth quarter."""


@dataclass(frozen=True)
class Warmup:
    """The transient at the start of the measurement, and what to do about it."""

    recommended_requests: int | None
    """Recommended `workload.warmup_requests`, including those already left out; None if there is no
    recommendation."""
    reason: str
    """The result, or why there is no recommendation."""


@dataclass(frozen=True)
class Little:
    """Little's law: `mean_in_system = throughput * mean_response`.

    Exact if the measurement starts and ends with an empty device.
    """

    mean_in_system: float | None
    """Mean number of requests in the device, integrated over its events."""
    peak_in_system: int
    """Largest number of requests in the device."""
    throughput: float | None
    """Requests completed per second of simulated time."""
    mean_response: float | None
    """Mean latency over all operations, nanoseconds."""


@dataclass(frozen=True)
class Time:
    """Time, nanoseconds."""

    measured_from: int
    """Start of the measurement (end of the warm-up), simulated nanoseconds."""
    simulated: int
    """Simulated time since the start of the measurement."""
    wall: int | None
    """Wall-clock time."""
    cpu: int | None
    """CPU time, without that of the threads that write logs."""


@dataclass(frozen=True)
class Speed:
    """Speed of the simulator."""

    requests_per_s: float | None
    """Requests completed per second of wall-clock time."""
    flash_ops_per_s: float | None
    """Flash operations per second of wall-clock time."""
    bytes_per_page: float | None
    """Memory per physical page."""


@dataclass(frozen=True)
class Counts:
    """A count by cause."""

    host: int
    """A host request."""
    gc: int
    """Garbage collection."""
    rmw: int
    """The rest of a page (or stripe) of which the host writes only a part."""
    wear: int
    """Static wear levelling."""
    parity: int
    """Parity of a RAID group."""
    metadata: int
    """The device's own metadata."""
    remap: int
    """Remapping of pages by their owner."""
    reconstruct: int
    """A page of a parity group that is computed from the others, for a read of the host."""
    rebuild: int
    """A page that a failed chip held, for the spare."""
    fold: int
    """Folding of SLC blocks."""


@dataclass(frozen=True)
class LatencyStats:
    """Statistics of one group of latencies, nanoseconds."""

    count: int
    """Requests."""
    mean: float | None
    """Mean, exact."""
    ci95: float | None
    """Half width of the 95 % confidence interval of the mean, by batch means."""
    min: int | None
    """Smallest, exact."""
    max: int | None
    """Largest, exact."""
    stddev: float | None
    """Standard deviation, exact (of the population)."""
    p50: int | None
    """Median; like all percentiles within 0.4 %, and None with fewer than 10 values beyond it."""
    p90: int | None
    """90 % lie at or below."""
    p95: int | None
    """95 % lie at or below."""
    p99: int | None
    """99 % lie at or below."""
    p99_9: int | None
    """99.9 % lie at or below."""
    p99_99: int | None
    """99.99 % lie at or below."""


@dataclass(frozen=True)
class LatencyByOp:
    """Latencies by operation."""

    read: LatencyStats
    """Reads."""
    write: LatencyStats
    """Writes."""
    trim: LatencyStats
    """TRIMs."""
    flush: LatencyStats
    """Flushes."""


@dataclass(frozen=True)
class Failure:
    """Failed chips (`raid.fail`): how long the device was degraded, and what it cost.

    The device is degraded from the failure of a chip until a spare stands in its place and every
    page that it held has been rebuilt, overwritten or trimmed.
    """

    chips: tuple[int, ...]
    """The chips that have failed, counted over the device, in the order of their failures."""
    failed_at: tuple[int, ...]
    """When they failed, simulated nanoseconds."""
    replaced_at: tuple[int | None, ...]
    """When a spare took the place of each, simulated nanoseconds; None: never."""
    group_chips: tuple[tuple[int, ...], ...]
    """The chips that form parity groups with each, itself included."""
    rebuilt_at: int | None
    """When the rebuild ended: a spare stood in the place of every failed chip, and no page was lost
    any more, simulated nanoseconds; None: the run ended degraded."""
    after_requests: int
    """Time that the run went on for the rebuild after its last request (`raid.until_rebuilt`)."""
    degraded: int
    """Time that the device was degraded, in the measurement."""
    pages_lost: int
    """Pages that were lost when their chip failed, parity included, in the whole run."""
    pages_rebuilt: int
    """Pages rebuilt: each read from the others of its group and programmed, both with the cause
    `rebuild`, in the whole run."""
    pages_not_programmed: int
    """Pages of updates, parity included, that were not programmed because their chip was gone, in
    the whole run."""
    pages_left: int
    """Pages that are lost at the end of the run: the others of their groups determine them."""
    gone: tuple[int, ...]
    """The pages of the host that are gone for good, as two of their group were lost: the run has
    ended."""
    read: LatencyStats
    """Latencies of reads that completed while the device was degraded."""
    write: LatencyStats
    """Latencies of writes that completed while the device was degraded."""


@dataclass(frozen=True)
class Fdp:
    """Reclaim unit handles, with NVMe's statistics of Flexible Data Placement."""

    host_bytes_written: int
    """Bytes that the host has written (NVMe's HBMW), those of copies that it has asked for
    included."""
    media_bytes_written: int
    """Bytes written to flash (NVMe's MBMW): by the host, by collection and by static wear
    levelling."""
    media_bytes_erased: int
    """Bytes erased (NVMe's MBE)."""
    units_opened: int
    """Reclaim units opened for any handle, or for copies."""
    units_collected: int
    """Reclaim units of which collection, or wear levelling, has begun."""
    diverted_copies: int
    """Copies in units of another persistently isolated handle. Only units that static wear
    levelling has filled, and pools whose blocks wear out, can need that."""
    handles: tuple[ReclaimUnits, ...]
    """By handle, from 0 on."""
    shared: ReclaimUnits
    """Of units that hold data of several handles: the copies of handles that are initially
    isolated, and those of static wear levelling."""


@dataclass(frozen=True)
class TenantStats:
    """What is written for one volume or stream."""

    pages_written: int
    """Pages that its requests have written."""
    programs: int
    """Programs of logical pages that it has written last, for any cause."""
    copies: int
    """Those of copies (causes `gc`, `wear` and `fold`)."""
    waf: float | None
    """Programs over pages written."""
    share_of_copies: float | None
    """Of the copies of the device."""


@dataclass(frozen=True)
class Recovery:
    """One recovery from a power cut."""

    cut_at: int
    """When power was cut, ns."""
    interrupted: bool
    """Power was cut again before it ended."""
    time: int
    """Time until the device accepted requests, ns."""
    requests: int
    """Requests that were in the device and had not completed."""
    reads: int
    """Pages whose out-of-band data were read."""
    checkpoint_pages: int
    """Pages of a checkpoint that were read."""
    records: int
    """Records read from the NVRAM."""
    erases: int
    """Flash blocks erased: their erase had been interrupted, or their pool had no other erased
    block."""
    torn_pages: int
    """Torn pages: their programs had not ended."""
    skipped_pages: int
    """Erased pages of open blocks, which are not used before the next erase of their block."""
    saved_pages: int
    """Pages of the write buffer that capacitors have saved."""
    mapped_pages: int
    """Logical pages with data, parity and pages lost with a chip included."""
    updates_undone: int
    """Updates of parity groups that had been programmed in part, and do not count."""
    checkpoint_programs: int
    """Pages of the checkpoint with which it ended, on a device with parity groups."""


@dataclass(frozen=True)
class PartMeans:
    """Means over requests, nanoseconds; they sum to the mean latency."""

    queue: float
    """Waiting for other host operations."""
    chip: float
    """In the flash array."""
    transfer: float
    """On buses, links and in SRAM."""
    gc_wait: float
    """Waiting for garbage collection."""
    metadata: float
    """Fetching the device's own metadata."""


@dataclass(frozen=True)
class Utilisation:
    """Shares of the simulated time in which something was busy, 0 to 1."""

    channel: tuple[float, ...]
    """Each channel."""
    chip: tuple[float, ...]
    """Each chip, channel by channel."""


@dataclass(frozen=True)
class ReclaimUnits:
    """What happened to reclaim units within the measurement."""

    host_bytes: int
    """Bytes that the host has written to them."""
    copied_bytes: int
    """Bytes that have been copied to them."""
    opened: int
    """Units opened: the handle refers to a new one (NVMe's event "implicitly modified reclaim unit
    handle")."""
    collected: int
    """Units of which collection has begun (NVMe's event "media reallocated")."""
    moved_bytes: int
    """Bytes copied out of them."""
