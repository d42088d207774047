"""Statistics of a trace: `ssdlab.Trace(path).info()`.

Every statistic is defined in the text below its field; docs/trace-info.md is generated from these
texts. Shares are from 0 to 1; unknown values are None.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ssdlab.results.decoding import field_types, from_json


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution, in the unit of its field.

    Percentiles are within 0.4 %, and None with fewer than 10 values beyond them; the rest is exact.
    """

    count: int
    """Number of values."""
    min: int | None
    """Smallest."""
    mean: float | None
    """Mean."""
    max: int | None
    """Largest."""
    p10: int | None
    """10 % lie at or below."""
    p50: int | None
    """Median."""
    p90: int | None
    """90 % lie at or below."""
    p99: int | None
    """99 % lie at or below."""
    p99_9: int | None
    """99.9 % lie at or below."""
    bucket_low: npt.NDArray[np.uint64]
    """Smallest value of each bucket: 0 or a power of two; a bucket ends before the next power."""
    bucket_count: npt.NDArray[np.uint64]
    """Values in each bucket, from the first to the last that is not empty."""


@dataclass(frozen=True)
class FrequentSize:
    """A size that many requests have."""

    bytes: int
    """The size, bytes."""
    requests: int
    """Requests of the operation with this size."""
    share: float
    """Of the requests of the operation."""


@dataclass(frozen=True)
class OpInfo:
    """The requests of one operation."""

    requests: int
    """Requests."""
    bytes: int
    """Sum of their sizes, bytes; nominal sizes of discards."""
    request_share: float | None
    """Requests over all reads, writes and discards: the papers' operation ratio."""
    byte_share: float | None
    """Bytes over those of reads and writes; None for discards, whose bytes are not transferred."""
    aligned_share: float | None
    """Requests whose first sector and whose length are multiples of 4 KiB, over all of them."""
    size: Distribution
    """Sizes, bytes; the mean is the papers' mean size."""
    frequent: tuple[FrequentSize, ...]
    """The five most frequent sizes up to 4 MiB; if equally frequent, the smaller size first."""
    sequential_share: float | None
    """Requests that start at the sector where the previous request of the operation (on the same
    volume, however long ago) ended, over all of them: the papers' sequential share by type."""
    sequential_mean_bytes: float | None
    """Mean size of these requests, bytes."""
    run_requests: Distribution
    """Lengths of sequential runs, requests: a run is a request that is not sequential in that sense
    and all sequential requests that directly follow it; a single request is a run of 1."""
    run_bytes: Distribution
    """Lengths of the same runs, bytes."""


@dataclass(frozen=True)
class Ops:
    """By operation."""

    read: OpInfo
    """Reads."""
    write: OpInfo
    """Writes."""
    trim: OpInfo
    """Discards."""


@dataclass(frozen=True)
class Addresses:
    """Where reads and writes lie, on all volumes together."""

    lowest_bytes: int | None
    """Address of the lowest, bytes."""
    end_bytes: int | None
    """End of the highest, bytes: the least size of a device that holds them."""
    span_bytes: int | None
    """From the lowest address to the highest end."""
    alignment_bytes: int | None
    """Largest power of two that divides all of their addresses and lengths."""


@dataclass(frozen=True)
class Footprint:
    """Distinct pages: 4 KiB each, aligned, counted per volume."""

    pages_touched: int
    """Pages that are read or written, in whole or in part."""
    pages_read: int
    """Pages that are read, in whole or in part."""
    pages_written: int
    """Pages that are written, in whole or in part."""
    pages_both: int
    """Pages that are read and written, in either order."""
    pages_trimmed: int
    """Pages that lie completely inside a discard, mapped or not."""
    distinct_bytes_written: int
    """Distinct 512-byte sectors written, in bytes."""
    overwrite_factor: float | None
    """Bytes written over distinct bytes written."""
    page_reads: int
    """Pages that reads touch, counted each time."""
    read_after_write_share: float | None
    """Page reads whose page was written earlier in the trace and not discarded since, over all."""
    read_recent_share: float | None
    """Reads whose first page is among the last 64 page writes and not discarded since, over all
    reads: `workload.read_recent`."""


@dataclass(frozen=True)
class Updates:
    """Writes to pages (4 KiB) that had been written before."""

    page_writes: int
    """Pages that writes touch, counted each time; a partly written page counts as one."""
    rewrites: int
    """Page writes whose page had been written earlier in the trace."""
    rewrite_share: float | None
    """Rewrites over page writes."""
    interval_pages: Distribution
    """Update intervals, host pages written: page writes from one write of a page to the next write
    of it, the latter included (1: written twice in a row). A discard between does not count."""
    interval_ns: Distribution
    """The same intervals in time, nanoseconds."""


@dataclass(frozen=True, eq=False)
class Hot:
    """Skew of the writes over the written pages."""

    hottest: npt.NDArray[np.float64]
    """Shares of the written pages, hottest first, rounded up to whole pages."""
    write_share: npt.NDArray[np.float64]
    """Page writes that go to them, over all page writes; nan without writes."""


@dataclass(frozen=True)
class Discards:
    """What discards free.

    A page is mapped if the trace wrote it and has not discarded it since: data from before the
    trace are unknown.
    """

    nominal_bytes: int
    """Sum of the sizes of the discards, bytes."""
    effective_bytes: int
    """4 KiB for each page that lies completely inside a discard and is mapped at that moment."""
    effective_share: float | None
    """Effective bytes over nominal bytes."""
    effective_mean_bytes: float | None
    """Effective bytes over the number of discards."""
    without_effect: int
    """Discards that hit no mapped page."""


@dataclass(frozen=True, eq=False)
class Rate:
    """Arrivals over time: requests in at most 512 bins of equal length, from the first arrival on.

    Bins are 1, 5, 25, ... ns, 1.953125 ms (5^9 ns) or 2, 4, 8, ... times that long, which includes
    1 s: the shortest of which 512 are enough. Empty bins count. The last bin contains the last
    arrival and may reach beyond it. The sum of all counts is the number of requests.
    """

    bin_ns: int
    """Length of a bin, nanoseconds."""
    reads: npt.NDArray[np.uint64]
    """Reads in each bin."""
    writes: npt.NDArray[np.uint64]
    """Writes in each bin."""
    trims: npt.NDArray[np.uint64]
    """Discards in each bin."""
    others: npt.NDArray[np.uint64]
    """Flushes and copies in each bin."""


@dataclass(frozen=True, eq=False)
class AddressMap:
    """Page reads and page writes over time and address, in at most 128 x 64 bins.

    Pages are counted in every bin of addresses that a request touches, so the counts add up to
    `footprint.page_reads` and `updates.page_writes`. Bins of time are as those of the rate. Bins of
    addresses are 1, 2, 4, ... pages wide and begin at multiples of their width. Addresses of all
    volumes are counted together.
    """

    bin_ns: int
    """Length of a bin of time, nanoseconds."""
    bin_pages: int
    """Width of a bin of addresses, pages of 4 KiB."""
    first_page: int
    """First page of the first bin of addresses."""
    reads: tuple[npt.NDArray[np.uint64], ...]
    """Pages read: by bin of addresses, from the lowest, and in it by bin of time."""
    writes: tuple[npt.NDArray[np.uint64], ...]
    """Pages written, likewise."""


@dataclass(frozen=True)
class Burst:
    """Arrivals in windows of one length, from the first arrival to the last.

    Empty windows count, and so does the last window, even if the trace ends within it. Flushes are
    arrivals, too.
    """

    window_ns: int
    """Length of a window, nanoseconds."""
    windows: int
    """Number of windows."""
    mean: float
    """Mean number of arrivals in a window."""
    peak: int
    """Largest number of arrivals in a window."""
    peak_to_mean: float | None
    """Peak over mean; None with a single window."""
    dispersion: float | None
    """Index of dispersion: variance (of the population) over mean of the numbers of arrivals; 1 for
    a Poisson process; None with a single window."""


@dataclass(frozen=True, eq=False)
class Idle:
    """Idle periods: gaps of at least 1 ms between two arrivals.

    Arrivals, because a trace has no completion times.
    """

    periods: Distribution
    """Their lengths, nanoseconds."""
    share: float | None
    """Sum of their lengths over the duration."""
    threshold_ns: npt.NDArray[np.uint64]
    """Thresholds for the two below, nanoseconds."""
    count: npt.NDArray[np.uint64]
    """Gaps of at least the threshold."""
    time_share: npt.NDArray[np.float64]
    """Sum of the lengths of these gaps over the duration; nan if the duration is 0."""


@dataclass(frozen=True)
class Trains:
    """Trains: longest series of requests with gaps below 1 ms; a single request is a train of 1.

    Keys of stand-ins (`workload.kind = "msr:..."`) can be set from them.
    """

    gap_cv: float | None
    """Coefficient of variation of all gaps: standard deviation (of the population) over mean, 1 for
    a Poisson process: `workload.gap_cv`."""
    short_gap_share: float | None
    """Gaps below 1 ms over all gaps: `workload.short_gaps`."""
    short_gap_mean_ns: float | None
    """Mean of these gaps, nanoseconds: `workload.train_gap`."""
    requests: Distribution
    """Lengths of the trains, requests."""
    requests_cv: float | None
    """Coefficient of variation of these lengths: `workload.train_cv`."""
    same_size_share: float | None
    """Requests of the same size as the previous one of their operation in the same train, over all
    that have such a previous one: `workload.same_size`."""


@dataclass(frozen=True)
class Journal:
    """Requests whose first sector is in a given range (`--journal START:END`, END excluded)."""

    requests: int
    """Reads, writes and discards in the range."""
    request_share: float | None
    """Of all reads, writes and discards: the papers' journal share."""
    write_share: float | None
    """Writes in the range over all writes."""
    write_byte_share: float | None
    """Bytes of writes in the range over bytes of all writes."""


@dataclass(frozen=True)
class VolumeInfo:
    """One volume (disk, LUN) of the trace."""

    volume: int
    """Number of the volume."""
    reads: int
    """Reads."""
    writes: int
    """Writes."""
    trims: int
    """Discards."""
    flushes: int
    """Flushes."""
    bytes_read: int
    """Bytes read."""
    bytes_written: int
    """Bytes written."""
    bytes_trimmed: int
    """Nominal bytes discarded."""
    write_share: float | None
    """Writes over reads and writes."""
    sequential_share: float | None
    """As for the whole trace."""
    pages_touched: int
    """Distinct pages read or written."""
    pages_written: int
    """Distinct pages written."""


@dataclass(frozen=True)
class Source:
    """The input."""

    file: str
    """Name of the file, as given."""
    format: str
    """Its format, as in `workload.format`."""
    volume: int
    """Number of the volume, as in `workload.volume`."""
    device: str
    """Name of the volume, such as "8,0"."""
    units: str
    """Units in which times, addresses and lengths were read (`workload.unit`)."""
    lines: int
    """Lines of a text file, records of a binary file, requests of an ssdlab trace file."""
    skipped_lines: int
    """Lines that could not be used and were skipped (`workload.skip_bad`)."""
    first_skipped: str | None
    """The error in the first of them."""
    late_requests: int
    """Requests with a time before that of an earlier line: sorted, or among the skipped lines."""
    sorted: bool
    """Whether the requests were sorted by time (`workload.sort`)."""
    loss: str | None
    """A note to show before all statistics: more than 1 % of the lines were skipped."""
    warnings: tuple[str, ...]
    """Warnings about the file."""
    events: dict[str, int]
    """Number of events in the file by action letter."""
    action: str
    """The action whose events are the requests (`workload.action`)."""
    dataless_events: int
    """Events of that action that are not requests: packet commands, ends of flush sequences."""
    events_outside_range: int
    """Events of that action outside `workload.from` and `workload.until`."""


@dataclass(frozen=True, eq=False)
class Info:
    """Statistics of a trace as in the file: not fitted to a device, not scaled."""

    source: Source
    """The input."""
    requests: int
    """Requests: reads, writes, discards, flushes and copies."""
    flushes: int
    """Flushes among them; they have no address and are excluded from all shares below."""
    copies: int
    """Copies among them, of one or several source ranges; otherwise only arrivals count them."""
    bytes_copied: int
    """Sum of their sizes, bytes."""
    first_ns: int
    """Arrival of the first request, nanoseconds."""
    duration_ns: int
    """From the first arrival to the last, nanoseconds."""
    requests_per_s: float | None
    """Requests over duration."""
    write_share: float | None
    """Writes over reads and writes: the papers' write ratio."""
    sequential_share: float | None
    """Sequential requests by operation (see OpInfo), summed, over all reads, writes and discards:
    the papers' sequential share; their random share is 1 minus this."""
    sequential_any_share: float | None
    """Requests that start where the previous request (on the same volume) ended, whatever the two
    operations, over all reads, writes and discards."""
    doubled: int
    """Requests equal to an earlier one (operation, sector, length, volume) less than 1 ms
    and at most 64 requests before: logs of stacked devices contain each request twice."""
    doubled_share: float | None
    """Doubled requests over all reads, writes and discards."""
    ops: Ops
    """By operation."""
    addresses: Addresses
    """Where reads and writes lie."""
    footprint: Footprint
    """Distinct pages."""
    updates: Updates
    """Overwrites."""
    hot: Hot
    """Hot and cold pages."""
    discards: Discards
    """Discards, nominal and effective."""
    rate: Rate
    """Arrivals over time."""
    map: AddressMap
    """Pages over time and address."""
    bursts: tuple[Burst, ...]
    """Burstiness, in windows of 10 ms, 100 ms and 1 s."""
    gaps: Distribution
    """Times between one arrival and the next, nanoseconds."""
    idle: Idle
    """Idle periods."""
    trains: Trains
    """Trains of requests."""
    journal: Journal | None
    """Journal share; None without a range."""
    volumes: tuple[VolumeInfo, ...]
    """By volume."""
    table_bytes: int
    """Memory of the page table, bytes: 16 per page in areas of 64 KiB, and their index."""
    json: dict[str, Any] = field(repr=False)
    """Everything as JSON."""

    def to_json(self) -> str:
        """The text of `--json`."""
        return json_text(self.json)

    def __repr__(self) -> str:
        return f"<Info {self.source.file}: {self.requests:,} requests>"


def json_text(values: Any, indent: int = 2) -> str:  # noqa: ANN401 - anything that JSON has
    """`values` as indented JSON, with the numbers of an array in one line."""
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    # No string contains a line break, so these brackets are those of arrays.
    rows = re.sub(r'\[\n\s+([^][{}"]+?)\n\s+\]', lambda match: f"[{match[1]}]", text)
    return re.sub(r"(?<=[\dl]),\n\s+(?=[\dn-])", ", ", rows) + "\n"


def info_of(values: dict[str, Any]) -> Info:
    """The statistics in parsed JSON."""
    kinds = field_types(Info)
    parts = {
        f.name: from_json(kinds[f.name], values[f.name]) for f in fields(Info) if f.name != "json"
    }
    return Info(**parts, json=values)
