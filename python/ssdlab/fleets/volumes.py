"""The volumes of traces: each in its own file, with its statistics.

A trace with several volumes is split in one pass. The files, and the statistics of the volumes, are
kept in a folder named by the digest of the trace and of how it is read: a second fleet over the
same trace reads neither again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab import versions
from ssdlab.config.parquet import cache_folder
from ssdlab.config.resolve import load_config, set_text
from ssdlab.display.numbers import Value
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results import outputs
from ssdlab.results.folder import write_error
from ssdlab.running.job import file_digest
from ssdlab.traces.trace import EXTENSION, Trace

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

READING = (
    "format",
    "columns",
    "unit",
    "time_unit",
    "page_size",
    "action",
    "from",
    "until",
    "sort",
    "skip_bad",
    "max_bad",
)
"""Keys of `[workload]` that describe how a file is read: split volumes have been read already."""
READ_ONCE = {f"workload.{key}" for key in (*READING, "dedup", "volume")}
INDEX, STATISTICS = "volumes.json", "statistics.json"
PAGE_BYTES = 4096
"""The page size in statistics of traces."""
HOTTEST = 0.1
"""The share of the written pages whose share of the writes measures the skew."""
WINDOW_NS = 1_000_000_000
"""The window for the peak of arrivals."""
Shown: TypeAlias = "Callable[[str], Callable[[str, int, int | None], object]]"
"""The callback that shows the progress of what has this name."""


@dataclass(frozen=True)
class Volume:
    """A volume, which gets its own drive."""

    name: str
    """Its name in tables."""
    statistics: Mapping[str, Value]
    """Statistics of its requests: the columns `STATISTICS_OF`."""
    sets: Mapping[str, object] = field(default_factory=dict)
    """Keys that define its workload, overriding those of the drive."""
    trace: Path | None = None
    """Its file; None if its requests are synthetic."""
    reason: str = ""
    """Why no drive is run for it; empty if one is."""


STATISTICS_OF = {
    "volume_requests": "requests",
    "write_share": "share of writes",
    "volume_bytes_written": "bytes written",
    "footprint_bytes": "footprint",
    "overwrite_factor": "overwrites",
    "rewrite_share": "share of rewrites",
    "hot_write_share": "writes to the hottest tenth",
    "sequential_share": "sequential share",
    "mean_write_bytes": "mean size of a write",
    "volume_requests_per_s": "requests per second",
    "peak_to_mean": "peak of arrivals to mean",
}
"""The statistics of a volume by column, with their titles; docs/fleet.md defines them."""


def statistics_of(info: Info) -> dict[str, Value]:
    """The statistics of a trace with one volume."""
    written, hot = info.ops.write.bytes, info.hot
    tenth = [
        float(share)
        for part, share in zip(hot.hottest, hot.write_share, strict=True)
        if part == HOTTEST
    ]
    peaks = [one.peak_to_mean for one in info.bursts if one.window_ns == WINDOW_NS]
    known = written > 0 and bool(tenth)
    return {
        "volume_requests": info.requests,
        "write_share": info.write_share,
        "volume_bytes_written": written,
        "footprint_bytes": info.footprint.pages_touched * PAGE_BYTES,
        "overwrite_factor": info.footprint.overwrite_factor,
        "rewrite_share": info.updates.rewrite_share,
        "hot_write_share": tenth[0] if known else None,
        "sequential_share": info.sequential_share,
        "mean_write_bytes": info.ops.write.size.mean,
        "volume_requests_per_s": info.requests_per_s,
        "peak_to_mean": peaks[0] if peaks else None,
    }


def volumes_of(
    traces: Sequence[str | Path],
    sets: Mapping[str, object],
    *,
    cache: Path | None,
    jobs: int,
    show: Shown | None,
) -> list[Volume]:
    """The volumes of all files. Raises `ConfigError`, `WorkloadError` and `OutputError`."""
    places = [Path(one) for one in traces]
    twice = [str(one) for i, one in enumerate(places) if one in places[:i]]
    if twice:
        raise ConfigError([f"{twice[0]}: given twice"])
    missing = [str(one) for one in places if not one.exists()]
    if missing:
        message = f"{', '.join(missing)}: cannot open the trace: no such file"
        raise WorkloadError(message)
    parts = [_Part.of(place, sets, cache or cache_folder("volumes"), show) for place in places]
    _check_apart(parts)
    names = _names(parts)
    found = [one for part in parts for one in part.volumes(names[part.trace], jobs, show)]
    if not found:
        message = f"{', '.join(map(str, places))}: no volumes are left"
        raise WorkloadError(message)
    return found


@dataclass(frozen=True)
class _Part:
    """A file that was given, with the files of its volumes."""

    trace: Path
    folder: Path
    files: tuple[tuple[str, Path], ...]
    """The number of each volume, and its file; one volume without a number stands for the file
    itself.
    """
    read: Mapping[str, object]
    """Keys that say how its files are read."""

    @staticmethod
    def of(trace: Path, sets: Mapping[str, object], cache: Path, show: Shown | None) -> _Part:
        reading = {key: value for key, value in sets.items() if key in READ_ONCE}
        digest = file_digest(trace)[0]
        how = {key: set_text(value) for key, value in sorted(reading.items())}
        which = json.dumps([versions.RESULTS, digest, how])
        folder = cache / hashlib.sha256(which.encode()).hexdigest()[:32]
        numbers = _index(folder)
        if numbers is None:
            numbers = _split(trace, folder, reading, show)
        if not numbers:
            return _Part(trace, folder, (("", trace),), reading)
        files = tuple((one, folder / f"volume-{one}{EXTENSION}") for one in numbers)
        return _Part(trace, folder, files, {})

    def volumes(self, name: str, jobs: int, show: Shown | None) -> Iterator[Volume]:
        """Its volumes; their statistics are read, unless that was done before."""
        known = self._statistics(jobs, show)
        for (number, file), one in zip(self.files, known, strict=True):
            called = "/".join(part for part in (name, number) if part)
            reason = "" if one["volume_bytes_written"] else "no writes"
            yield Volume(called, one, dict(self.read), file, reason)

    def _statistics(self, jobs: int, show: Shown | None) -> list[dict[str, Value]]:
        place = self.folder / STATISTICS
        stored = _json(place)
        if isinstance(stored, list) and len(stored) == len(self.files):
            return stored
        tell = show(self.trace.name) if show else None
        found: list[dict[str, Value]] = []
        pool = ThreadPoolExecutor(jobs)
        try:
            for info in pool.map(lambda one: Trace(one[1]).info(set=self.read), self.files):
                found.append(statistics_of(info))
                if tell:
                    tell("volumes", len(found), len(self.files))
        finally:
            pool.shutdown(cancel_futures=True)
        outputs.write_all({place: outputs.text(json.dumps(found))}, force=True)
        return found


def _json(place: Path) -> Any:  # noqa: ANN401 - anything that JSON has
    try:
        return json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _index(folder: Path) -> list[str] | None:
    """The numbers of the volumes in a folder of the cache; None if there is none, or not all."""
    numbers = _json(folder / INDEX)
    if not isinstance(numbers, list):
        return None
    whole = all((folder / f"volume-{one}{EXTENSION}").is_file() for one in numbers)
    return numbers if whole else None


def _split(
    trace: Path, folder: Path, reading: Mapping[str, object], show: Shown | None
) -> list[str]:
    """Split a trace into `folder`. Returns the numbers of the volumes, none if there is one."""
    alone = trace.name.endswith((EXTENSION, f"{EXTENSION}.zst")) or "workload.volume" in reading
    numbers: list[str] = []
    if not alone:
        load_config(trace=trace, set=reading)  # what is wrong with the keys is told first
        tell = show(trace.name) if show else None
        total = trace.stat().st_size
        if folder.exists():
            shutil.rmtree(folder)  # damaged
        progress = (lambda done: tell("reading", done, total)) if tell else False
        written = Trace(trace).split(folder, set=reading, progress=progress)
        numbers = [str(one.volume) for one in written]
        if len(numbers) == 1:
            written[0].path.unlink()
            numbers = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, folder) from error
    outputs.write_all({folder / INDEX: outputs.text(json.dumps(numbers))}, force=True)
    return numbers


def _check_apart(parts: Sequence[_Part]) -> None:
    """Refuse files whose volumes may continue one another."""
    seen: dict[str, Path] = {}
    for part in parts:
        for number, _ in part.files:
            if number and number in seen:
                message = (
                    f"volume {number} is in {seen[number]} and in {part.trace}: if the files follow"
                    " one another in time, join them first (cat of the files, in their order);"
                    " if they are different fleets, run them one by one"
                )
                raise WorkloadError(message)
            seen |= {number: part.trace} if number else {}


def _names(parts: Sequence[_Part]) -> dict[Path, str]:
    """A short name for each file; empty for the only one, if it has several volumes."""
    if len(parts) == 1 and len(parts[0].files) > 1:
        return {parts[0].trace: ""}
    short = [part.trace.name.partition(".")[0] for part in parts]
    alike = len(set(short)) < len(short)
    return {
        part.trace: str(part.trace) if alike else name
        for part, name in zip(parts, short, strict=True)
    }
