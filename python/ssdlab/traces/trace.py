"""A trace from Python: `ssdlab.Trace`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from glob import escape
from os.path import samestat
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab import _core
from ssdlab.config import memory
from ssdlab.config.given import type_errors, typed
from ssdlab.config.resolve import Config, Source, load_config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import size
from ssdlab.display.progress import display
from ssdlab.errors import ConfigError, OutputError, WorkloadError, restore_names, translate_errors
from ssdlab.results import outputs
from ssdlab.results.folder import draft
from ssdlab.results.text import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ssdlab.traces.info import Info

MEMORY_SHARE = 0.5
"""Share of the available memory that the table of pages may take by default."""
MOST_PAGES = 2**32 - 1
"""Most pages of a volume on which a workload is generated."""
EXTENSION = ".ssdtrace"
"""Files with this ending are ssdlab trace files unless another format is specified."""
OWN = "ssdtrace"

Progress: TypeAlias = "bool | Callable[[int], object]"
"""A bar on stderr, or a callback with the bytes read of the file."""


@dataclass(frozen=True)
class Written:
    """A trace file that was written."""

    path: Path
    """Where it is."""
    requests: int
    """Requests in it."""
    bytes: int
    """Length of the file, bytes."""
    dropped: dict[str, int]
    """Requests left out because the format cannot represent them, by operation."""
    times_rounded: int
    """Requests whose time was rounded down to the format's unit."""
    fields_forgotten: int
    """Requests without the flags or stream that the format cannot represent."""
    format: str
    """Its format."""
    volume: int
    """Number of the volume in the trace that was read."""
    name: str
    """Name of that volume, such as "8,0"."""
    warnings: tuple[str, ...]
    """What a reader of the results should know of the trace that was read."""

    def summary(self) -> str:
        """A sentence that includes every loss."""
        text = f"{self.path}: {self.requests:,} requests, {self.bytes:,} bytes ({self.format})"
        omissions = [f"{count:,} {op}" for op, count in self.dropped.items() if count]
        losses = [f"left out: {', '.join(omissions)}"] if omissions else []
        if self.times_rounded:
            losses.append(f"times rounded down: {self.times_rounded:,}")
        if self.fields_forgotten:
            losses.append(f"without their flags or stream: {self.fields_forgotten:,}")
        return "; ".join([text, *losses])


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of a trace in order of arrival: arrays of equal length."""

    at_ns: npt.NDArray[np.uint64]
    """Arrivals, nanoseconds after `workload.from`."""
    sector: npt.NDArray[np.uint64]
    """First sectors, 512 bytes each; 0 for a flush."""
    sectors: npt.NDArray[np.uint32]
    """Lengths, sectors; 0 for a flush."""
    op: npt.NDArray[np.uint8]
    """The operation, an index into `OPS`."""
    flags: npt.NDArray[np.uint8]
    """Sums of 1 (FUA), 2 (sync), 4 (metadata), 8 (preflush), 16 (read-ahead), 32 (part of a copy: a
    read is a source range, and the write after them the destination)."""

    OPS = ("read", "write", "trim", "flush")

    def __len__(self) -> int:
        return len(self.at_ns)


@dataclass(frozen=True)
class Trace:
    """A trace file in any format of docs/formats.md, plain, compressed or alone in an archive.

    A Parquet file is read by pyarrow as a table with named columns, through a copy in the cache.

    `set` of the methods maps keys of `[workload]` that describe how the file is read (format,
    columns, unit, time_unit, page_size, action, volume, from, until, sort, skip_bad, max_bad,
    dedup) to values. `progress` shows a bar on stderr, or is called with the bytes read. All raise
    `ConfigError` and `WorkloadError`; those that write also `OutputError`.
    """

    path: str | Path
    """Where it is; "-" is standard input."""

    def __post_init__(self) -> None:
        if errors := type_errors("path", self.path):
            raise ConfigError(errors)

    @typed
    def info(
        self,
        *,
        journal: Sequence[tuple[int, int]] = (),
        memory_limit: int | None = None,
        set: Mapping[str, object] | None = None,
        progress: Progress = False,
    ) -> Info:
        """Statistics of the trace.

        `journal` holds ranges of sectors, ends excluded. `memory_limit` is what the table of pages
        may take, bytes (default: half of what is available).
        """
        for start, end in journal:
            if not 0 <= start < end < 2**64:
                option = argument(journal=f"{start}:{end}")
                raise ConfigError([f"{option}: expected START:END, START below END"])
        if memory_limit is not None and not 0 < memory_limit < 2**64:
            option = argument(memory_limit=memory_limit)
            raise ConfigError([f"{option}: expected a positive number of bytes"])
        with self._read(set, progress) as (config, callback):
            return _info(config, journal, memory_limit, callback)

    def convert(
        self,
        out: str | Path,
        *,
        to: str | None = None,
        allow: Sequence[str] = (),
        force: bool = False,
        set: Mapping[str, object] | None = None,
        progress: Progress = False,
    ) -> Written:
        """Write the trace to the file `out` in the format `to`, in constant memory.

        `to` is one of the formats that docs/formats.md lists as written; a name that ends in
        .ssdtrace or .ssdtrace.zst implies its own. The file is compressed if the name ends in .zst.
        `allow` names losses that the format may cause: "drop-requests", "round-times",
        "forget-fields"; each is counted, and others are refused. `force` replaces a file of that
        name. The file appears when it is complete. Its times count from `workload.from`, and it has
        one volume, number 0.
        """
        target = _target(Path(out), to)
        outputs.check([Path(out)], force)
        _check_distinct(Path(out), [self.path])
        with self._read(set, progress, allow) as (config, callback):
            text = _core.trace_convert(
                config.text,
                str(out),
                to=target,
                replace=force,
                allow=list(allow),
                progress=callback,
            )
        result = json.loads(text)
        source = result["source"]
        volume = {"volume": source["volume"], "name": source["device"]}
        return _result_of(result["written"] | volume, target, source["warnings"])

    def split(
        self,
        out: str | Path,
        *,
        to: str = OWN,
        allow: Sequence[str] = (),
        set: Mapping[str, object] | None = None,
        progress: Progress = False,
    ) -> tuple[Written, ...]:
        """Write each volume of the trace to a separate file in the new folder `out`.

        A file is called volume-NUMBER, with the extension of the format, and is what `convert`
        writes of that volume. The folder appears when it is complete. The rest as in `convert`.
        """
        target, folder = _target(Path(out), to), Path(out)
        with (
            self._read(set, progress, allow) as (config, callback),
            draft(folder, False) as staging,
        ):
            text = _core.trace_split(
                config.text, str(staging.path), to=target, allow=list(allow), progress=callback
            )
            staging.keep()
        result = json.loads(text)
        warnings = result["source"]["warnings"]
        files = (
            volume | {"path": folder / Path(volume["path"]).name} for volume in result["volumes"]
        )
        return tuple(_result_of(volume, target, warnings) for volume in files)

    def requests(
        self,
        *,
        limit: int = 10_000_000,
        set: Mapping[str, object] | None = None,
        progress: Progress = False,
    ) -> Requests:
        """The requests as numpy arrays, 22 bytes each; refused if there are more than `limit`."""
        if not 0 < limit < 2**63:
            raise ConfigError([f"{argument(limit=limit)}: expected a positive number of requests"])
        with self._read(set, progress) as (config, callback):
            return Requests(*_core.trace_requests(config.text, limit=limit, progress=callback))

    @contextmanager
    def _read(
        self,
        set: Mapping[str, object] | None,
        progress: Progress,
        allow: Sequence[str] = (),
    ) -> Iterator[tuple[Config, Callable[[int, int | None], object] | None]]:
        """The configuration that reads the trace, and the callback for the progress."""
        for loss in allow:
            _check_name("allow", loss, json.loads(_core.registry())["losses"])
        config = load_config(trace=self.path, set=set)
        total = _bytes(self.path) if progress is True else None
        with (
            translate_errors(),
            _progress_callback(Path(self.path).name, "reading", total, progress) as callback,
        ):
            yield config, callback


def info_with(config: Config) -> Info:
    """Statistics of the trace of a resolved configuration, read accordingly."""
    with translate_errors():
        return _info(config)


def _info(
    config: Config,
    journal: Sequence[tuple[int, int]] = (),
    memory_limit: int | None = None,
    callback: Callable[[int, int | None], object] | None = None,
) -> Info:
    from ssdlab.traces.info import info_of  # needs numpy, which is slow to import

    limit = memory_limit or int((memory.available() or 8 << 30) * MEMORY_SHARE)
    text = _core.trace_info(config.text, journal=list(journal), memory=limit, progress=callback)
    values = json.loads(text)
    source = values["source"]
    source["file"] = restore_names(source["file"])
    source["warnings"] = [restore_names(warning) for warning in source["warnings"]]
    return info_of(values)


def merge(
    traces: Sequence[str | Path],
    out: str | Path,
    *,
    to: str | None = None,
    allow: Sequence[str] = (),
    force: bool = False,
    set: Mapping[str, object] | None = None,
    progress: Progress = False,
) -> Written:
    """Write several traces to the file `out` as one, in order of time, each as a volume.

    The first is volume 0, the next volume 1 and so on, with its own addresses; all begin at time 0.
    `workload.volume = "all"` then runs them as tenants that share a drive. `set` says how all of
    them are read; the other arguments are those of `Trace.convert`.
    """
    target = _target(Path(out), to)
    outputs.check([Path(out)], force)
    _check_distinct(Path(out), traces)
    if len(traces) < 2:
        raise ConfigError([f"{counted(len(traces), 'trace')} to merge; expected at least two"])
    for loss in allow:
        _check_name("allow", loss, json.loads(_core.registry())["losses"])
    configs = [load_config(trace=trace, set=set) for trace in traces]
    with (
        translate_errors(),
        _progress_callback(Path(out).name, "reading", None, progress) as callback,
    ):
        text = _core.trace_merge(
            [config.text for config in configs],
            str(out),
            to=target,
            replace=force,
            allow=list(allow),
            progress=callback,
        )
    result = json.loads(text)
    warnings = [warning for source in result["sources"] for warning in source["warnings"]]
    names = ", ".join(f"{i}: {source['file']}" for i, source in enumerate(result["sources"]))
    return _result_of(result["written"] | {"volume": 0, "name": names}, target, warnings)


def generate(
    kind: str,
    out: str | Path,
    *,
    bytes: int,
    requests: int | None = None,
    seed: int | None = None,
    to: str | None = None,
    allow: Sequence[str] = (),
    force: bool = False,
    set: Mapping[str, object] | None = None,
    progress: Progress = False,
) -> Written:
    """Write the requests of a synthetic workload, on a volume of `bytes`, to the file `out`.

    `kind` is a value of `workload.kind` other than a trace ("app:mysql", "msr:hm_0", "zipf"), or
    the path of a fio job file (NAME.fio). `set` maps keys of `[workload]` to values. The rest is as
    in `Trace.convert`. The same arguments write the same file.
    """
    target = _target(Path(out), to)
    outputs.check([Path(out)], force)
    for loss in allow:
        _check_name("allow", loss, json.loads(_core.registry())["losses"])
    key = "workload.job" if kind.endswith(".fio") else "workload.kind"
    # First the kind, because what follows has to suit it.
    values: dict[str, object] = {key: kind, **(set or {})}
    if requests is not None:
        values["workload.requests"] = requests
    names = {key: "kind", "workload.requests": "requests"}
    config = Source(None).load(values, seed=seed, names=names)
    if config["workload.kind"] == "trace":
        raise ConfigError(["workload.kind: a trace is not made; convert it (trace convert)"])
    limit = MOST_PAGES * int(config["device.page_bytes"])
    if not 0 < bytes <= limit:
        expected = f"a size above 0, and at most {size(limit)}"
        raise ConfigError([f"{argument('bytes')}: found {bytes:,} bytes; expected {expected}"])
    total = config["workload.requests"]
    with (
        translate_errors(),
        _progress_callback(Path(out).name, "workload", total, progress) as callback,
    ):
        try:
            text = _core.trace_generate(
                config.text,
                str(out),
                bytes=bytes,
                to=target,
                replace=force,
                allow=list(allow),
                progress=callback,
            )
        except _core.WorkloadError as error:
            # What a run has on a device is here on a volume of that size.
            message = str(error).replace("enlarge the device", f"raise {argument('bytes')}")
            raise WorkloadError(message) from None
    result = json.loads(text)
    return _result_of(result["written"] | {"volume": 0, "name": ""}, target, result["warnings"])


def targets() -> list[dict[str, str]]:
    """The formats that can be written: `name`, `extension` and what each `carries`."""
    formats: list[dict[str, str]] = json.loads(_core.registry())["targets"]
    return formats


def _check_distinct(out: Path, traces: Iterable[str | Path]) -> None:
    """Raise `OutputError` if the file to write is one of those to read."""
    statuses = (status for trace in traces for status in _files(trace))
    if out.exists() and any(samestat(out.stat(), status) for status in statuses):
        raise OutputError(f"{out} is the trace that is read; name another file")


def _files(trace: str | Path) -> Iterator[os.stat_result]:
    """The files that are read for a trace: those of all CPUs for one of blktrace."""
    if str(trace) == "-":
        with suppress(OSError):
            yield os.fstat(0)
        return
    path = Path(trace)
    name = re.sub(r"[.]blktrace[.][0-9]+([.]\w+)?$", "", path.name)
    companions = [] if path.exists() and name == path.name else _cpu_files(path.with_name(name))
    for file in (path, *companions):
        with suppress(OSError):
            yield file.stat()


def _cpu_files(name: Path) -> list[Path]:
    """The files that blktrace calls NAME.blktrace.N."""
    return list(name.parent.glob(f"{escape(name.name)}.blktrace.[0-9]*"))


def _target(out: Path, name: str | None) -> str:
    """The format in which `out` is written."""
    names = [target["name"] for target in targets()]
    if name is not None:
        return _check_name("to", name, names)
    if out.name.endswith((EXTENSION, f"{EXTENSION}.zst")):
        return OWN
    message = f"{out}: its name does not say a format; give {argument('to')}: {', '.join(names)}"
    raise ConfigError([message])


def _check_name(option: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    matches = get_close_matches(name, names, 1)
    hint = f"; did you mean {matches[0]}?" if matches else ""
    raise ConfigError([f"{argument(**{option: name})}: expected one of {', '.join(names)}{hint}"])


def _result_of(values: Mapping[str, Any], target: str, warnings: Sequence[str]) -> Written:
    values = {**values, "path": Path(values["path"])}
    return Written(**values, format=target, warnings=tuple(warnings))


@contextmanager
def _progress_callback(
    name: str, stage: str, total: int | None, progress: Progress
) -> Iterator[Callable[[int, int | None], object] | None]:
    """The callback for the progress of a stage, or for the number of sorted requests."""
    if not isinstance(progress, bool):
        yield lambda done, to_sort: progress(done) if to_sort is None else None
    elif not progress:
        yield None
    else:
        with display() as bars:
            show = bars.run(name)

            def report(done: int, to_sort: int | None) -> None:
                if to_sort is not None:
                    show("sorting", done, to_sort)
                elif done or total:
                    show(stage, done, total)
                else:
                    # A pipe to which nobody writes yet.
                    show("waiting for data", 0, None)

            yield report


def _bytes(path: str | Path) -> int | None:
    """Length of a file, if it has one."""
    with suppress(OSError):
        return Path(path).stat().st_size or None
    return None
