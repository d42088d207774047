"""A device to touch: `ssdlab.Device`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from ssdlab import _core, policy
from ssdlab.config import memory
from ssdlab.config.given import typed
from ssdlab.config.resolve import Config, ConfigLike, load_config
from ssdlab.display.numbers import duration
from ssdlab.display.progress import Callback, show_progress
from ssdlab.errors import ConfigError, InternalError, RunError, WorkloadError, translate_errors
from ssdlab.results import outputs
from ssdlab.results.measures import Recovery
from ssdlab.results.report import Report
from ssdlab.running.fitted import fitted
from ssdlab.running.numbers import integer
from ssdlab.running.simulate import Plugs, merge_plugs
from ssdlab.running.zones import Zones

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]

OPS = ("read", "write", "trim", "flush", "copy")
# Bits of requests, as in `ssd_core::host::request::flags`.
FUA, PREFLUSH = 1, 8


@dataclass(frozen=True, repr=False)
class Completions:
    """Completed requests in the order of completion: arrays of equal length, times in ns.

    The five parts of a request sum to its latency, along the page that finished last.
    """

    id: Integers
    """Number, as `submit` returned it."""
    op: npt.NDArray[np.str_]
    """"read", "write", "trim", "flush" or "copy"."""
    lpn: Integers
    """First page."""
    pages: Integers
    """Pages."""
    arrival_ns: Integers
    """The intended arrival."""
    completion_ns: Integers
    """When it completed."""
    latency_ns: Integers
    """From arrival to completion."""
    queue_ns: Integers
    """Waiting for other host operations."""
    chip_ns: Integers
    """In the flash array."""
    transfer_ns: Integers
    """On buses and in SRAM."""
    gc_wait_ns: Integers
    """Waiting for garbage collection."""
    metadata_ns: Integers
    """Fetching metadata of the device."""

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        if not len(self):
            return "<Completions: none>"
        mean = duration(float(self.latency_ns.mean()))
        return f"<Completions: {len(self)} requests, mean latency {mean}>"


class Device:
    """A simulated device with its own clock: submit requests, let it run, inspect its state.

        device = ssdlab.Device("greedy-8ch", set={"gc.victim": "fifo"})
        device.precondition()
        device.write(0, pages=8)
        device.run_until_completion().latency_ns

    `config` and `set` are as in `ssdlab.run` (`[workload]` is for runs that start from the device;
    `run.mode` is "timed"), as are `victim`, `trigger`, `concurrency`, `placement` and
    `separation`, policies in Python. A new device is erased. Requests are whole pages. Arrays are
    copies of int64. Raises `ConfigError`, `WorkloadError` (an impossible request), `RunError` with
    the report so far (the device cannot continue) and `Interrupted` (Ctrl-C). Only one thread may
    use it at a time.
    """

    @typed
    def __init__(
        self,
        config: ConfigLike | None = None,
        *,
        set: Mapping[str, object] | None = None,
        preset: str | None = None,
        seed: int | None = None,
        victim: policy.VictimLike | None = None,
        trigger: policy.Wants | None = None,
        concurrency: policy.Limits | None = None,
        placement: policy.Places | None = None,
        separation: policy.Separates | None = None,
    ) -> None:
        values, policies = merge_plugs(
            set, Plugs(victim, trigger, concurrency, placement, separation)
        )
        loaded = load_config(config, set=values, preset=preset, seed=seed)
        if loaded["run.mode"] != "timed":
            message = 'run.mode: a Device has time; say "timed", or use ssdlab.run'
            raise ConfigError([message])
        loaded = fitted(loaded)
        memory.check([loaded])
        policy.check_policies(loaded, policies)
        self.config: Config = policies.name_in(loaded)
        """The resolved configuration."""
        with translate_errors():
            self.core = _core.Device(self.config.text, policies=policies.core_arguments())

    @staticmethod
    def load(
        path: str | Path,
        config: ConfigLike | None = None,
        *,
        set: Mapping[str, object] | None = None,
        progress: bool | Callback = False,
    ) -> Device:
        """The device in the snapshot `path`, under the policies of a configuration that fits it.

        Raises `ConfigError` that says what does not fit.
        """
        device = Device(config, set=set)
        with translate_errors(), show_progress(device.config.name, progress) as callback:
            device.core.load(path, progress=callback)
        return device

    def precondition(self, *, progress: bool | Callback = True) -> None:
        """Precondition the erased device as `[precondition]` says, in functional mode.

        Ctrl-C leaves it erased and raises `Interrupted`. `progress` is as in `ssdlab.run`.
        """
        with self._translate_errors(), show_progress(self.config.name, progress) as callback:
            self.core.precondition(progress=callback)

    def save(
        self, path: str | Path, *, force: bool = False, progress: bool | Callback = False
    ) -> str:
        """Write a snapshot of the idle device and return its digest; `force` replaces a file.

        A snapshot holds no time, and no state of policies except that of one that separates pages.
        Raises `OutputError` if it cannot be written.
        """
        outputs.check([Path(path)], force)
        with translate_errors(), show_progress(self.config.name, progress) as callback:
            return self.core.save(path, replace=force, progress=callback)

    def write(
        self,
        lpn: int,
        pages: int = 1,
        at_ns: int | None = None,
        *,
        stream: int = 0,
        fua: bool = False,
        preflush: bool = False,
    ) -> int:
        """Submit a write of `pages` pages from `lpn` on; return its number. See `submit`."""
        numbers = self.submit("write", lpn, pages, at_ns, stream=stream, fua=fua, preflush=preflush)
        return int(numbers[0])

    def read(self, lpn: int, pages: int = 1, at_ns: int | None = None) -> int:
        """Submit a read of `pages` pages from `lpn` on; return its number. See `submit`."""
        return self._submit_one("read", lpn, pages, at_ns)

    def trim(self, lpn: int, pages: int = 1, at_ns: int | None = None) -> int:
        """Submit a TRIM of `pages` pages from `lpn` on; return its number. See `submit`."""
        return self._submit_one("trim", lpn, pages, at_ns)

    def flush(self, at_ns: int | None = None) -> int:
        """Submit a flush, which completes when all earlier writes are on flash; return its number.

        A flush empties the write buffer. See `submit`.
        """
        return self._submit_one("flush", 0, 0, at_ns)

    def copy(
        self,
        lpn: int,
        sources: int | Sequence[tuple[int, int]],
        pages: int | None = None,
        at_ns: int | None = None,
    ) -> int:
        """Submit a copy to the pages from `lpn` on, like NVMe Copy; return its number.

        `sources` is the first of `pages` pages (default 1), or a list of ranges (first page, number
        of pages), which go to the destination one after the other and must not overlap it.
        `remap.mode` decides whether the destination shares their flash pages or gets its own. See
        `submit`.
        """
        ranges = _ranges(sources, pages)
        destination = integer("lpn", lpn)
        arrival = None if at_ns is None else integer("at_ns", at_ns)
        with self._translate_errors():
            return self.core.copy(destination, ranges, arrival)

    def _submit_one(self, op: str, lpn: int, pages: int, at_ns: int | None) -> int:
        return int(self.submit(op, lpn, pages, at_ns)[0])

    def submit(
        self,
        op: npt.ArrayLike,
        lpn: npt.ArrayLike,
        pages: npt.ArrayLike = 1,
        at_ns: npt.ArrayLike | None = None,
        *,
        sources: npt.ArrayLike | None = None,
        stream: int = 0,
        fua: bool = False,
        preflush: bool = False,
    ) -> Integers:
        """Submit requests, all of them or none, and return their numbers.

        `op` ("read", "write", "trim", "flush", "copy"), `lpn`, `pages`, `at_ns` and `sources` are
        arrays, or single values for all requests. `at_ns` are arrival times in ascending order; a
        request with an arrival time in the past is admitted now, and its latency counts from that
        time. Without them requests arrive now, or with the last one submitted. `sources` has the
        first page of the source of each copy and is needed for copies only. `stream` (0 to 255)
        is a hint for placement. With `fua` writes complete when they are on flash, with `preflush`
        the write buffer is flushed before them. Nothing happens before a call that runs the
        device: `run_until_completion`, `run_until`, `run_until_idle`.
        """
        import numpy as np  # a quarter of the time that `import ssdlab` would take

        if not 0 <= stream <= 255:
            message = f"stream {stream}: expected 0 to 255"
            raise WorkloadError(message)
        arguments = [
            op,
            lpn,
            pages,
            0 if at_ns is None else at_ns,
            0 if sources is None else sources,
        ]
        try:
            columns = [np.atleast_1d(column) for column in np.broadcast_arrays(*arguments)]
        except ValueError as error:
            message = f"op, lpn, pages, at_ns and sources are of different lengths: {error}"
            raise WorkloadError(message) from None
        names, *numbers = columns
        if not names.size:
            return np.empty(0, np.int64)  # However an empty list is typed.
        codes = np.select([names == name for name in OPS], range(len(OPS)), default=-1)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            name = names.flat[unknown[0]]
            message = f"request {unknown[0]}: no such operation: {name!s}; expected one of {OPS}"
            raise WorkloadError(message)
        if names.ndim > 1 or any(column.dtype.kind not in "iu" for column in numbers):
            message = "lpn, pages, at_ns and sources: expected whole numbers, or arrays of one "
            message += "dimension"
            raise WorkloadError(message)
        if sources is None and (names == "copy").any():
            message = "a copy without source: give the first page of each as sources"
            raise WorkloadError(message)
        flags = FUA * bool(fua) + PREFLUSH * bool(preflush)
        if flags and (names != "write").any():
            message = "fua and preflush are for writes: submit other requests without them"
            raise WorkloadError(message)
        lpns, counts, arrivals, origins = (
            np.ascontiguousarray(column, dtype=np.int64) for column in numbers
        )
        with self._translate_errors():
            times = None if at_ns is None else arrivals
            first = self.core.submit(
                codes.astype(np.int64), lpns, counts, origins, times, stream, flags
            )
        return np.arange(first, first + len(codes), dtype=np.int64)

    def run_until_completion(self, limit_ns: int | None = None) -> Completions:
        """Run to the first instant in which requests complete; return those of that instant.

        That instant is not over: a request submitted now arrives in it, before the device decides
        what to do next. Use this method for clients that submit a request when another completes:
        the result is that of `host.mode = "closed"`. With `limit_ns`, the device runs through that
        time at most, and returns no request if none has completed by then. Without `limit_ns`, no
        time passes if no request is outstanding. Requests that completed in an earlier call and
        were not returned, as after Ctrl-C, are returned first, at once.
        """
        limit = None if limit_ns is None else integer("limit_ns", limit_ns)
        return self._completions(lambda: self.core.run_until_completion(limit))

    def run_until(self, time_ns: int) -> Completions:
        """Run through `time_ns`, which is then `now_ns`; return the requests completed since.

        Everything up to and including this instant has then happened. Work that is left, such as
        collection, continues in the next call. To let a request arrive at a chosen time, submit it
        before that instant: `run_until(at - 1)`, then `write(lpn, at_ns=at)`. A time in the past is
        refused. `run_until(device.now_ns)` completes the instant in which `run_until_completion`
        has stopped. Only a mount after a power cut of the configuration may last beyond `time_ns`.
        """
        time = integer("time_ns", time_ns)
        return self._completions(lambda: self.core.run_until(time))

    def run_until_idle(self) -> Completions:
        """Run until nothing is left to do; return the requests completed since the last call.

        Use it when all requests are submitted with their arrivals, and before `save`. It also runs
        collection to its end. A client that submits its next request only then gives the device
        idle time that a busy drive does not have; it needs `run_until_completion`.
        A write buffer keeps its pages (`buffered_pages`) until it needs their room; `flush` sends
        them to flash. Ctrl-C stops every call that runs the device between two instants and raises
        `Interrupted`; the next call continues, unless a policy in Python was interrupted.
        """
        return self._completions(self.core.run_until_idle)

    def next_event(self) -> int | None:
        """Time of the next event, ns; None if nothing happens until a request is submitted.

        It is `now_ns` while an instant is not over. If it is None while requests are outstanding,
        these cannot continue by themselves: `run_until_completion` looks further for one that can,
        and raises `RunError` with the reason if there is none.
        """
        with self._translate_errors():
            return self.core.next_event()

    def _completions(self, run: Callable[[], dict[str, Any]]) -> Completions:
        """The completions that `run`, a call of the simulator, returns."""
        import numpy as np

        with self._translate_errors():
            columns = run()
        columns["op"] = np.array(OPS)[columns["op"]]
        return Completions(**columns, latency_ns=columns["completion_ns"] - columns["arrival_ns"])

    def power_cut(self, at_ns: int | None = None) -> Integers:
        """Cut the power at `at_ns`, or now; return the numbers of the requests that are lost.

        The device needs `power.cut`, such as "on-request". It runs until that time. Then programs
        and erases under way are cut off, and what the controller keeps in its own memory is lost.
        Until `mount` only time and erases can be inspected. What has completed before the cut is
        still returned by the next call that runs the device.
        """
        time = None if at_ns is None else integer("at_ns", at_ns)
        with self._translate_errors():
            return self.core.power_cut(time)

    def mount(self) -> Recovery:
        """Mount the device after `power_cut`: time passes, and what was durable is restored."""
        with self._translate_errors():
            return Recovery(**json.loads(self.core.mount()))

    def report(self) -> Report:
        """The report so far, without preconditioning. Not while power is off."""
        with translate_errors():
            result = self.core.report(commit=_core.__commit__)
        return Report.of(result.report, result.series, result.distributions)

    def audit(self) -> None:
        """Recompute every invariant from the maps. Raises `InternalError` if one does not hold."""
        with translate_errors():
            violation = self.core.audit()
        if violation is not None:
            raise InternalError(violation)

    @property
    def now_ns(self) -> int:
        """Simulated time, ns."""
        with translate_errors():
            return self.core.now_ns

    @property
    def outstanding(self) -> int:
        """Requests submitted and not completed."""
        with translate_errors():
            return self.core.outstanding

    @property
    def buffered_pages(self) -> int:
        """Pages in the write buffer, including those on their way to flash; 0 without one."""
        with translate_errors():
            return self.core.buffered_pages

    @property
    def valid_pages(self) -> Integers:
        """Valid pages of each block (erase unit): an array of pools x blocks of a pool."""
        with translate_errors():
            return self.core.valid_pages.reshape(self.core.shape)

    @property
    def erases(self) -> Integers:
        """Erases of each block (erase unit), preconditioning included: pools x blocks per pool."""
        with translate_errors():
            return self.core.erases.reshape(self.core.shape)

    @property
    def free_blocks(self) -> Integers:
        """Erased blocks of each pool."""
        with translate_errors():
            return self.core.free_blocks

    @property
    def mapping(self) -> Integers:
        """Physical page of each user page (LPN), as counted by `valid_pages`; -1: none.

        For a page that is newer in the controller (on its way, or in the write buffer), it is the
        previous one, which stays valid until the newer one is on flash; -1 if there is none. Block
        `mapping // pages of a block`, counted as `valid_pages.ravel()`.
        """
        with translate_errors():
            return self.core.mapping

    @property
    def zones(self) -> Zones:
        """The zones of a device with `host.interface = "zns"`, and the commands to them."""
        return Zones(self.core)

    def digest(self, lpn: int) -> int | None:
        """Digest of the data of page `lpn` that a read would return; None if it has none.

        Equal data have equal digests, before and after a power cut. It needs
        `run.data = "digest"` or "bytes".
        """
        page = integer("lpn", lpn)
        with translate_errors():
            return self.core.digest(page)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of the simulation into ours."""
        try:
            with translate_errors():
                yield
        except _core.StuckError as error:
            raise RunError(str(error), self.report()) from error.__cause__

    def __repr__(self) -> str:
        time = duration(self.now_ns)
        return f"<Device {self.config.name} at {time}, {self.outstanding} requests outstanding>"


def _ranges(sources: object, pages: int | None) -> list[tuple[int, int]]:
    """The source ranges of a copy."""
    if isinstance(sources, SupportsIndex):
        return [(integer("sources", sources), 1 if pages is None else integer("pages", pages))]
    if pages is not None:
        message = "pages: a list of ranges says how many pages are copied; leave it out"
        raise WorkloadError(message)
    try:
        pairs = [(first, count) for first, count in sources]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        message = "sources: expected a first page, or a list of ranges (first page, number of "
        message += f"pages), found {sources!r}"
        raise WorkloadError(message) from None
    return [(integer("sources", first), integer("sources", count)) for first, count in pairs]
