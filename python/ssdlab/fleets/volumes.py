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
FIT_KEYS = ("device.fit", "workload.fit")
"""Keys that say how a volume fits its drive; without them, the `size` of a fleet says so."""
INDEX, STATISTICS = "volumes.json", "statistics.json"
PAGE_BYTES = 4096
"""The page size in statistics of traces."""
HOTTEST = 0.1
"""The share of the written pages whose share of the writes measures the skew."""
WINDOW_NS = 1_000_000_000
"""The window for the peak of arrivals."""
ShowProgress: TypeAlias = "Callable[[str], Callable[[str, int, int | None], object]]"
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


def drive_keys(sets: Mapping[str, object]) -> dict[str, object]:
    """The keys of a fleet that change its drives; the others need a volume."""
    return {
        key: value
        for key, value in sets.items()
        if key.partition(".")[0] != "workload" and key not in FIT_KEYS
    }


def statistics_of(info: Info) -> dict[str, Value]:
    """The statistics of a trace with one volume."""
    written, hot = info.ops.write.bytes, info.hot
    tenth = [
        float(share)
        for pages, share in zip(hot.hottest, hot.write_share, strict=True)
        if pages == HOTTEST
    ]
    peaks = [window.peak_to_mean for window in info.bursts if window.window_ns == WINDOW_NS]
    has_hottest = written > 0 and bool(tenth)
    return {
        "volume_requests": info.requests,
        "write_share": info.write_share,
        "volume_bytes_written": written,
        "footprint_bytes": info.footprint.pages_touched * PAGE_BYTES,
        "overwrite_factor": info.footprint.overwrite_factor,
        "rewrite_share": info.updates.rewrite_share,
        "hot_write_share": tenth[0] if has_hottest else None,
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
    show: ShowProgress | None,
) -> list[Volume]:
    """The volumes of all files. Raises `ConfigError`, `WorkloadError` and `OutputError`."""
    paths = [Path(trace) for trace in traces]
    duplicates = [str(path) for i, path in enumerate(paths) if path in paths[:i]]
    if duplicates:
        raise ConfigError([f"{duplicates[0]}: given twice"])
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        message = f"{', '.join(missing)}: cannot open the trace: no such file"
        raise WorkloadError(message)
    files = [_SplitTrace.of(path, sets, cache or cache_folder("volumes"), show) for path in paths]
    _check_overlap(files)
    names = _names(files)
    volumes = [volume for file in files for volume in file.volumes(names[file.trace], jobs, show)]
    if not volumes:
        message = f"{', '.join(map(str, paths))}: no volumes are left"
        raise WorkloadError(message)
    return volumes


@dataclass(frozen=True)
class _SplitTrace:
    """A file that was given, with the files of its volumes."""

    trace: Path
    folder: Path
    files: tuple[tuple[str, Path], ...]
    """The number of each volume, and its file; one volume without a number stands for the file
    itself.
    """
    read_keys: Mapping[str, object]
    """Keys that say how its files are read."""

    @staticmethod
    def of(
        trace: Path, sets: Mapping[str, object], cache: Path, show: ShowProgress | None
    ) -> _SplitTrace:
        keys = {key: value for key, value in sets.items() if key in READ_ONCE}
        digest = file_digest(trace)[0]
        key_texts = {key: set_text(value) for key, value in sorted(keys.items())}
        identity = json.dumps([versions.RESULTS, digest, key_texts])
        folder = cache / hashlib.sha256(identity.encode()).hexdigest()[:32]
        numbers = _index(folder)
        if numbers is None:
            numbers = _split(trace, folder, keys, show)
        if not numbers:
            return _SplitTrace(trace, folder, (("", trace),), keys)
        files = tuple((number, folder / f"volume-{number}{EXTENSION}") for number in numbers)
        return _SplitTrace(trace, folder, files, {})

    def volumes(self, name: str, jobs: int, show: ShowProgress | None) -> Iterator[Volume]:
        """Its volumes; their statistics are read, unless that was done before."""
        statistics = self._statistics(jobs, show)
        for (number, file), values in zip(self.files, statistics, strict=True):
            volume_name = "/".join(part for part in (name, number) if part)
            reason = "" if values["volume_bytes_written"] else "no writes"
            yield Volume(volume_name, values, dict(self.read_keys), file, reason)

    def _statistics(self, jobs: int, show: ShowProgress | None) -> list[dict[str, Value]]:
        path = self.folder / STATISTICS
        stored = _json(path)
        if isinstance(stored, list) and len(stored) == len(self.files):
            return stored
        report = show(self.trace.name) if show else None
        statistics: list[dict[str, Value]] = []
        pool = ThreadPoolExecutor(jobs)
        try:
            for info in pool.map(lambda file: Trace(file[1]).info(set=self.read_keys), self.files):
                statistics.append(statistics_of(info))
                if report:
                    report("volumes", len(statistics), len(self.files))
        finally:
            pool.shutdown(cancel_futures=True)
        outputs.write_all({path: outputs.text(json.dumps(statistics))}, force=True)
        return statistics


def _json(path: Path) -> Any:  # noqa: ANN401 - anything that JSON has
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _index(folder: Path) -> list[str] | None:
    """The numbers of the volumes in a folder of the cache; None if there is none, or not all."""
    numbers = _json(folder / INDEX)
    if not isinstance(numbers, list):
        return None
    is_complete = all((folder / f"volume-{number}{EXTENSION}").is_file() for number in numbers)
    return numbers if is_complete else None


def _split(
    trace: Path, folder: Path, keys: Mapping[str, object], show: ShowProgress | None
) -> list[str]:
    """Split a trace into `folder`. Returns the numbers of the volumes, none if there is one."""
    is_single = trace.name.endswith((EXTENSION, f"{EXTENSION}.zst")) or "workload.volume" in keys
    numbers: list[str] = []
    if not is_single:
        load_config(trace=trace, set=keys)  # errors in the keys come first
        report = show(trace.name) if show else None
        total = trace.stat().st_size
        if folder.exists():
            shutil.rmtree(folder)  # damaged
        progress = (lambda read_bytes: report("reading", read_bytes, total)) if report else False
        volumes = Trace(trace).split(folder, set=keys, progress=progress)
        numbers = [str(volume.volume) for volume in volumes]
        if len(numbers) == 1:
            volumes[0].path.unlink()
            numbers = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, folder) from error
    outputs.write_all({folder / INDEX: outputs.text(json.dumps(numbers))}, force=True)
    return numbers


def _check_overlap(files: Sequence[_SplitTrace]) -> None:
    """Refuse files whose volumes may continue one another."""
    traces: dict[str, Path] = {}
    for file in files:
        for number, _ in file.files:
            if number and number in traces:
                message = (
                    f"volume {number} is in {traces[number]} and in {file.trace}: if the files"
                    " follow one another in time, join them first (cat of the files, in their"
                    " order); if they are different fleets, run them one by one"
                )
                raise WorkloadError(message)
            traces |= {number: file.trace} if number else {}


def _names(files: Sequence[_SplitTrace]) -> dict[Path, str]:
    """A short name for each file; empty for the only one, if it has several volumes."""
    if len(files) == 1 and len(files[0].files) > 1:
        return {files[0].trace: ""}
    stems = [file.trace.name.partition(".")[0] for file in files]
    has_duplicates = len(set(stems)) < len(stems)
    return {
        file.trace: str(file.trace) if has_duplicates else name
        for file, name in zip(files, stems, strict=True)
    }
