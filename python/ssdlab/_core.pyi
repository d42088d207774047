"""The compiled simulator: conversions only, wrapped by the rest of the package."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "SERVED_REQUESTS",
    "SERVED_START",
    "ClassView",
    "ConcurrencyView",
    "ConfigError",
    "Device",
    "DeviceInfo",
    "Finished",
    "KeyStream",
    "KvAppliedError",
    "KvBatch",
    "KvBench",
    "KvClosedError",
    "KvCorruptionError",
    "KvError",
    "KvIoError",
    "KvIter",
    "KvLockedError",
    "KvSnapshot",
    "KvUncertainError",
    "LogReader",
    "Start",
    "Store",
    "StuckError",
    "Traces",
    "TriggerView",
    "VictimView",
    "WorkloadError",
    "__commit__",
    "__results_version__",
    "__version__",
    "application",
    "config_digest",
    "config_notes",
    "config_reference",
    "config_schema",
    "config_toml",
    "fitted",
    "footprint_pages",
    "kv_defaults",
    "kv_destroy",
    "kv_dump",
    "kv_ranges",
    "kv_repair",
    "kv_simulate",
    "kv_simulate_defaults",
    "last_panic",
    "last_time_ns",
    "load",
    "number_text",
    "op_log_excerpt",
    "published",
    "registry",
    "report_form",
    "report_schema",
    "run",
    "serve",
    "served_why",
    "snapshot_info",
    "student_t_95",
    "summary",
    "toml_json",
    "trace_convert",
    "trace_generate",
    "trace_info",
    "trace_memory_bytes",
    "trace_merge",
    "trace_requests",
    "trace_split",
    "trace_totals",
    "zone_statuses",
]

_Progress: TypeAlias = Callable[[str, int, int | None], object]
_Bytes: TypeAlias = bytes | bytearray | memoryview
_Part = TypeVar("_Part", covariant=True)

__version__: Final[str]
__results_version__: Final[int]
__commit__: Final[str | None]
"""Commit it was built from, where known."""
SERVED_START: Final[str]
"""The state of the drive in a recording of `serve`."""
SERVED_REQUESTS: Final[str]
"""The requests in a recording of `serve`."""

class ConfigError(ValueError):
    """Errors of a configuration; the first argument is the list of all messages."""

class WorkloadError(ValueError):
    """A trace or workload that cannot be run."""

class StuckError(RuntimeError):
    """A simulation that cannot go on."""

@final
class KeyStream:
    """A stream of operations on keys."""

    def __new__(
        cls,
        name: str,
        *,
        records: int,
        operations: int,
        value_bytes: int | None = None,
        keys: str | None = None,
        seed: int = 1,
    ) -> KeyStream: ...
    def next_batch(
        self, most: int
    ) -> tuple[
        npt.NDArray[np.uint8],
        npt.NDArray[np.uint64],
        npt.NDArray[np.uint32],
        npt.NDArray[np.uint32],
    ]:
        """The next operations, at most `most`; empty arrays at the end."""

@final
class LogReader:
    """The text of a compressed log, a piece at a time."""

    def __new__(cls, path: Path | str) -> LogReader:
        """The log at `path`. Raises `OSError` when it cannot be opened."""

    def read(self, most: int) -> bytes:
        """The next bytes, at most `most`; empty at the end. Raises `OSError` for a damaged log."""

@final
class Finished:
    """A finished run."""

    @property
    def ending(self) -> str:
        """One of "completed", "interrupted", "failed", "unwritable"."""
    @property
    def message(self) -> str:
        """Why it failed or what could not be written; empty otherwise."""
    @property
    def report(self) -> str:
        """The report as JSON."""
    @property
    def series(self) -> str:
        """The time series as CSV."""
    @property
    def distributions(self) -> str:
        """The distributions behind means and percentiles, as CSV."""
    @property
    def trace(self) -> str | None:
        """What was found in the trace, as JSON; None for a synthetic workload."""
    @property
    def error(self) -> BaseException | None:
        """The exception of a policy in Python that ended the run; None: none did."""

@final
class Device:
    """A simulated device; `ssdlab.Device` is the way to it."""

    def __new__(cls, config: str, *, policies: list[tuple[str, object, str]] = ...) -> Device: ...
    def precondition(self, *, progress: _Progress | None = None) -> None:
        """Write it as the configuration says, in functional mode, or load the snapshot it names."""
    def load(self, path: Path | str, *, progress: _Progress | None = None) -> None:
        """Take over the state in a snapshot."""
    def save(
        self, path: Path | str, *, replace: bool = False, progress: _Progress | None = None
    ) -> str:
        """Save its state at rest; the digest."""
    def submit(
        self,
        ops: npt.NDArray[np.int64],
        lpns: npt.NDArray[np.int64],
        pages: npt.NDArray[np.int64],
        sources: npt.NDArray[np.int64] | None,
        arrivals_ns: npt.NDArray[np.int64] | None,
        stream: int,
        flags: int,
    ) -> int:
        """Submit requests, all or none: operations by number; the number of the first."""
    def copy(self, lpn: int, sources: list[tuple[int, int]], arrival_ns: int | None) -> int:
        """Submit a copy of page ranges to the pages from `lpn` on; its number."""
    def zone_append(self, zone: int, pages: int, arrival_ns: int | None) -> tuple[int, int, int]:
        """Append pages to a zone; status (0: success), number of the request, first page."""
    def zone_manage(self, zone: int, action: str) -> tuple[int, int | None]:
        """Let a zone management command take effect; status (0: success), number of its request."""
    @property
    def zones(self) -> list[tuple[str, int]]:
        """State of each zone, and its pages before the write pointer."""
    def run_until_idle(self) -> dict[str, npt.NDArray[np.int64]]:
        """Run until nothing is left to do; the requests completed since the last call."""
    def run_until(self, time_ns: int) -> dict[str, npt.NDArray[np.int64]]:
        """Run up to and including a time; the requests completed since the last call."""
    def run_until_completion(self, limit_ns: int | None = None) -> dict[str, npt.NDArray[np.int64]]:
        """Run to the first instant with completions; the requests completed since the last call."""
    def next_event(self) -> int | None:
        """The time of the next event, ns; None if nothing happens without a submission."""
    def power_cut(self, at_ns: int | None = None) -> npt.NDArray[np.int64]:
        """Cut the power at a time, or now; the numbers of the requests that are lost."""
    def mount(self) -> str:
        """Mount the device after a power cut; what that took, as JSON."""
    def report(self, *, commit: str | None = None) -> Finished:
        """What has happened so far, as a finished run."""
    def audit(self) -> str | None:
        """The first invariant that does not hold; None: all do."""
    @property
    def now_ns(self) -> int:
        """Simulated time, ns."""
    @property
    def outstanding(self) -> int:
        """Requests submitted and not completed."""
    def digest(self, lpn: int) -> int | None:
        """Digest of the data of a page that a read returns; None: it has no data."""
    @property
    def buffered_pages(self) -> int:
        """Pages in the write buffer, those on their way to flash included."""
    @property
    def shape(self) -> tuple[int, int]:
        """Pools, and blocks of each."""
    @property
    def valid_pages(self) -> npt.NDArray[np.int64]:
        """Valid pages of each block."""
    @property
    def erases(self) -> npt.NDArray[np.int64]:
        """Erases of each block."""
    @property
    def free_blocks(self) -> npt.NDArray[np.int64]:
        """Erased blocks of each pool."""
    @property
    def mapping(self) -> npt.NDArray[np.int64]:
        """Flash page of each user page; -1 where it has none."""

@final
class DeviceInfo:
    """The device of a run, as policies see it when they start."""

    @property
    def channels(self) -> int:
        """Channels."""
    @property
    def chips_per_channel(self) -> int:
        """Chips on each channel."""
    @property
    def planes_per_chip(self) -> int:
        """Planes in each chip."""
    @property
    def planes(self) -> int:
        """Planes of the device."""
    @property
    def pools(self) -> int:
        """Pools: each collects by itself."""
    @property
    def blocks_per_pool(self) -> int:
        """Blocks (erase units) of each pool."""
    @property
    def pages_per_block(self) -> int:
        """Pages of each block (erase unit)."""
    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
    @property
    def user_pages(self) -> int:
        """Pages that the host sees."""
    @property
    def logical_pages(self) -> int:
        """Logical pages: these and, after them, the parity of each group."""
    @property
    def striping(self) -> list[int]:
        """Every plane once, in striping order: channels vary fastest, then chips, then planes."""
    @property
    def seed(self) -> int:
        """Seed of the run."""

@final
class VictimView:
    """The sealed blocks of one pool: arrays are copies, in ascending order of block ids."""

    @property
    def blocks(self) -> npt.NDArray[np.int64]:
        """Ids of the candidates."""
    @property
    def valid(self) -> npt.NDArray[np.int64]:
        """Valid pages of each."""
    @property
    def invalid(self) -> npt.NDArray[np.int64]:
        """Invalid pages of each."""
    @property
    def erases(self) -> npt.NDArray[np.int64]:
        """Erases of each so far."""
    @property
    def since_seal(self) -> npt.NDArray[np.int64]:
        """Age of each: host pages written since its seal."""
    @property
    def since_invalidation(self) -> npt.NDArray[np.int64]:
        """Host pages written since the last invalidation in it, or its seal if there was none."""
    @property
    def seal_order(self) -> npt.NDArray[np.int64]:
        """Place of each in the order in which blocks were sealed."""
    @property
    def first_invalid_ns(self) -> npt.NDArray[np.int64]:
        """When the first page of each became invalid since its last erase; -1: none has."""
    @property
    def newest_invalid_ns(self) -> npt.NDArray[np.int64]:
        """When the newest did; -1: none has."""
    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
    @property
    def pool(self) -> int:
        """The pool."""
    @property
    def clock(self) -> int:
        """Host pages written so far."""
    @property
    def now_ns(self) -> int:
        """Time; in functional mode, and while preconditioning, 1 for each host page written."""
    @property
    def free_blocks(self) -> int:
        """Erased blocks of the pool."""
    @property
    def rng(self) -> np.random.Generator:
        """The policy's own random numbers, from the seed of the run."""

@final
class ClassView:
    """The sealed blocks of a class in a pool, as a separation policy sees them."""

    @property
    def sealed(self) -> int:
        """How many there are."""
    @property
    def invalid(self) -> int:
        """Their invalid pages."""
    @property
    def least_valid(self) -> int:
        """The fewest valid pages of one of them; 0 without any."""

@final
class TriggerView:
    """One pool and the device, as a trigger sees them."""

    @property
    def pool(self) -> int:
        """The pool."""
    @property
    def clock(self) -> int:
        """Host pages written so far."""
    @property
    def free_blocks(self) -> int:
        """Erased blocks of the pool."""
    @property
    def blocks(self) -> int:
        """Blocks of the pool."""
    @property
    def pool_used_pages(self) -> int:
        """Pages of the pool that are not erased."""
    @property
    def pool_pages(self) -> int:
        """Pages of the pool."""
    @property
    def used_pages(self) -> int:
        """Pages of the device that are not erased."""
    @property
    def pages(self) -> int:
        """Pages of the device."""
    @property
    def idle_ns(self) -> int | None:
        """Time without host operations, ns; None during one and without `idle_after_ns`."""
    @property
    def read_waits(self) -> bool:
        """A read of the host waits for the pool; without `watches_requests` always True."""
    @property
    def write_waits(self) -> bool:
        """A write of the host waits for the pool; without `watches_requests` always True."""
    @property
    def rng(self) -> np.random.Generator:
        """The policy's own random numbers, from the seed of the run."""

@final
class ConcurrencyView:
    """The device, as a concurrency rule sees it."""

    @property
    def pools(self) -> int:
        """Pools of the device."""
    @property
    def channels(self) -> int:
        """Channels of the device."""
    @property
    def used_pages(self) -> int:
        """Pages that are not erased."""
    @property
    def pages(self) -> int:
        """All pages."""
    @property
    def rng(self) -> np.random.Generator:
        """The policy's own random numbers, from the seed of the run."""

def load(
    preset: str | None = None,
    file: tuple[str, str] | None = None,
    sets: list[tuple[str, str]] = ...,
) -> str:
    """Resolve a configuration (JSON) from a preset, a file (name, text) and single keys."""

def config_toml(config: str) -> str:
    """A resolved configuration (JSON) as TOML that resolves to itself."""

def config_notes(config: str) -> list[str]:
    """What is worth saying of a resolved configuration (JSON) before a run begins."""

def config_digest(config: str) -> str:
    """The digest of a resolved configuration (JSON), as reports have it."""

def config_schema() -> str:
    """JSON Schema of configurations."""

def report_form() -> str:
    """Sections of report.json and columns of comparisons, with definitions and units, as JSON."""

def report_schema() -> str:
    """JSON Schema of report.json."""

def config_reference() -> str:
    """Every configuration key and policy as a Markdown page."""

def summary(report: str) -> str:
    """The human summary of a report (JSON)."""

def number_text(
    quantity: Literal["duration", "size", "bandwidth", "rate", "percent", "ratio", "number"],
    value: float,
) -> str:
    """A number as text, three significant digits in a unit that suits it; a dash for NaN."""

def student_t_95(freedom: int) -> float:
    """The 97.5 % point of Student's t by degrees of freedom. `ValueError` for 0 of them."""

def registry() -> str:
    """Policies by question, presets, trace formats to read and to write, as JSON."""

def last_panic() -> str | None:
    """Source file, line and column of the last panic, if there was one."""

def op_log_excerpt(path: Path | str, from_ns: int, most: int) -> str:
    """Header of an operation log and its operations from `from_ns` on, at most `most` lines."""

@final
class Traces:
    """Traces that have been read, kept in memory for later runs, up to a bound."""

    def __new__(cls, bound_bytes: int) -> Traces: ...
    @property
    def readings(self) -> int:
        """How often a file was read so as to keep it."""
    @property
    def bytes(self) -> int:
        """What is kept."""

def trace_memory_bytes(path: Path | str) -> int:
    """An upper estimate of the memory that the requests of a trace take. Raises `OSError`."""

def serve(
    config: str,
    name: str,
    *,
    unix: Path | str | None,
    tcp: str | None,
    state: Path | str | None,
    record: Path | str | None,
    scale: float | None,
    clock_continues: bool,
    polls: bool,
    most_log: int,
    temporary: Path | str,
    commit: str | None,
    ready: Callable[[str], object],
    asks: Callable[[], bool],
    hear: Callable[[str], object],
    progress: _Progress | None,
) -> str:
    """Serve a drive over NBD until Ctrl-C; the summary as JSON.

    `ready` is called with what was recovered, `hear` with the summary so far when `asks` is true.
    """

def served_why(
    config: str, folder: Path | str, generation: int | None, id: int, progress: _Progress | None
) -> str:
    """Why a request took as long as it did, as JSON; `folder`: state or recording."""

def run(
    config: str,
    *,
    progress: _Progress | None = None,
    folder: Path | str | None = None,
    commit: str | None = None,
    audit_every: int = 0,
    policies: list[tuple[str, object, str]] = ...,
    device: Device | None = None,
    start: Start | None = None,
    traces: Traces | None = None,
) -> Finished:
    """Run a resolved configuration (JSON); logs go into `folder`, which must exist.

    `policies`: key of the configuration, the object that stands in for its policy, its name. The
    run starts from the state of `device`, which stays as it is, or from that of `start`, which is
    used up. Its trace is taken from `traces`, or kept there.
    """

@final
class Start:
    """A preconditioned device for one run, or for one in each process forked from this one."""

    def __new__(cls, config: str, *, progress: _Progress | None = None) -> Start:
        """Precondition the device of a resolved configuration (JSON)."""

    @staticmethod
    def key(config: str) -> str | None:
        """What determines the preconditioned device of a configuration; None: no run shares it."""

def snapshot_info(path: Path | str, *, progress: _Progress | None = None) -> str:
    """What the snapshot in a file is of, as JSON."""

def zone_statuses() -> list[tuple[int, str]]:
    """The statuses with which zone commands are refused: code and name of each."""

def trace_info(
    config: str,
    *,
    journal: list[tuple[int, int]] = ...,
    memory: int,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """Statistics of the trace that a resolved configuration (JSON) names, as JSON."""

def footprint_pages(
    config: str, *, progress: Callable[[int, int | None], object] | None = None
) -> int:
    """Pages of the device that the trace of a resolved configuration (JSON) touches."""

def trace_totals(
    config: str,
    most_page_writes: int,
    *,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """The sums of a trace, or of its beginning if it writes more than the most pages, as JSON."""

def last_time_ns(config: str) -> int:
    """The largest simulated time of the device of a resolved configuration (JSON), in ns."""

def fitted(config: str, pages: int) -> str:
    """A resolved configuration (JSON) whose device holds `pages` pages of the host, as JSON."""

def trace_convert(
    config: str,
    out: Path | str,
    *,
    to: str,
    replace: bool = False,
    allow: list[str] = ...,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """Write the trace that a configuration (JSON) names to a file; JSON of what was done."""

def trace_merge(
    configs: list[str],
    out: Path | str,
    *,
    to: str,
    replace: bool = False,
    allow: list[str] = ...,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """Write the traces that configurations (JSON) name to a file, each as a volume."""

def published(paper: str) -> str:
    """Published numbers of a paper, as JSON; null where it has none."""

def toml_json(text: str) -> str:
    """A text of TOML as JSON. `ConfigError` says where it is none, and why."""

def application(name: str, set: str) -> str:
    """Published numbers of an application in a parameter set, as JSON."""

def trace_generate(
    config: str,
    out: str,
    *,
    bytes: int,
    to: str,
    replace: bool = False,
    allow: list[str] = ...,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """Write the requests of a workload on a volume of `bytes` to a file; JSON of what was done."""

def trace_split(
    config: str,
    folder: Path | str,
    *,
    to: str,
    allow: list[str] = ...,
    progress: Callable[[int, int | None], object] | None = None,
) -> str:
    """Write every volume of a trace to a file in `folder`; JSON of what was done."""

def trace_requests(
    config: str, *, limit: int, progress: Callable[[int, int | None], object] | None = None
) -> tuple[
    npt.NDArray[np.uint64],
    npt.NDArray[np.uint64],
    npt.NDArray[np.uint32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.uint8],
]:
    """Arrivals (ns), first sectors, sectors, operations and flags of at most `limit` requests."""

class KvError(Exception):
    """A store that cannot do what was asked."""

class KvCorruptionError(KvError):
    """A damaged file of a store."""

class KvIoError(KvError, OSError):
    """A file of a store that cannot be used."""

class KvLockedError(KvIoError):
    """A store that is open elsewhere."""

class KvUncertainError(KvIoError):
    """A write that may be found when the store is opened again, or not at all."""

class KvAppliedError(KvError):
    """A write that is made, though background work after it failed."""

class KvClosedError(KvError, RuntimeError):
    """A store, or something of one, that is used after it was closed."""

@final
class Store:
    """An open store, or the part of it whose keys begin with `under`, which callers leave out."""

    def __new__(cls, path: str | Path, settings: dict[str, object], defers: bool) -> Store:
        """Open it; with `defers`, a write succeeds though background work after it failed."""

    def part(self, prefix: _Bytes) -> Store:
        """The part of it whose keys begin with `prefix`."""

    def under(self) -> bytes:
        """What the keys of this part begin with."""

    def close(self) -> None:
        """Close it. Closing it twice does nothing, nor does closing it in a fork."""

    def closed(self) -> bool:
        """Whether it is closed, as it is in a fork."""

    def get(
        self,
        key: _Bytes,
        default: bytes | None = None,
        *,
        verify_checksums: bool | None = None,
        fill_cache: bool | None = True,
        snapshot: KvSnapshot | None = None,
    ) -> bytes | None: ...
    def put(self, key: _Bytes, value: _Bytes, sync: bool) -> None: ...
    def delete(self, key: _Bytes, sync: bool) -> None: ...
    def snapshot(self) -> KvSnapshot: ...
    def property(self, name: str) -> str | None: ...
    def compact_range(self, start: _Bytes | None = None, stop: _Bytes | None = None) -> None: ...
    def approximate_size(self, start: _Bytes, stop: _Bytes) -> int: ...
    def step(self) -> bool:
        """One piece of background work; false if nothing is due."""

    def verify(self) -> tuple[int, int, int]:
        """Tables, entries and bytes, all found right."""

    def stats(self) -> str:
        """Work done since it was opened, as JSON."""

@final
class KvBatch:
    """Changes that are made together in a store."""

    def __new__(cls, store: Store) -> KvBatch: ...
    def put(self, key: _Bytes, value: _Bytes) -> None: ...
    def delete(self, key: _Bytes) -> None: ...
    def clear(self) -> None: ...
    def append(self, other: KvBatch) -> None:
        """Add the changes of another batch, or its own once more."""

    def write(self, sync: bool) -> None:
        """Make the changes, and begin anew."""

    def size(self) -> int:
        """Bytes that it takes in the log."""

    def __len__(self) -> int: ...

@final
class KvSnapshot:
    """The state of a store at one time."""

@final
class KvIter(Generic[_Part]):
    """A place between the pairs of a range: `next` gives the pair behind it, `prev` that before.

    It shows the store as it was when the iterator was made. With `reverse`, `next` and `prev`
    change places. Of a pair, it gives what was asked for: key and value, or one of them. Keys are
    shown without what all of them begin with in a `PrefixedDB`, and sought so. At the end of a
    `with` block, it is closed.
    """

    def __new__(
        cls,
        store: Store,
        reading: tuple[bool, bool],
        snapshot: KvSnapshot | None,
        span: tuple[_Bytes | None, _Bytes | None, bool, bool, _Bytes | None],
        show: tuple[bool, bool, bool],
    ) -> KvIter[Any]: ...
    def __class_getitem__(cls, _gives: object) -> type[KvIter[Any]]: ...
    def __iter__(self) -> KvIter[_Part]: ...
    def __next__(self) -> _Part: ...
    def __enter__(self) -> KvIter[_Part]: ...
    def __exit__(self, *_raised: object) -> None: ...
    def prev(self) -> _Part:
        """Go back: what the last `next` gave. Raises `StopIteration` at the begin."""

    def seek_to_start(self) -> None:
        """Go before the first pair of the range."""

    def seek_to_stop(self) -> None:
        """Go behind the last pair of the range."""

    def seek(self, target: _Bytes) -> None:
        """Go before the first pair whose key is not below `target`, but not out of the range."""

    def check_open(self) -> None:
        """Raise `ClosedError` if it, or its store, is closed."""

    def close(self) -> None:
        """Let go of the state that it shows. Closing it twice does nothing."""

@final
class KvBench:
    """Workloads to be measured."""

    def __new__(cls, n: int, value_size: int) -> KvBench: ...
    @staticmethod
    def names() -> list[str]:
        """The names of the workloads."""

    def run(self, store: Store, name: str, seed: int) -> int:
        """Run one on a store: how many operations found or wrote a pair."""

def kv_defaults() -> str:
    """The defaults of all settings, as JSON."""

def kv_ranges() -> str:
    """The ranges of the settings that have one, as JSON: from, to."""

def kv_destroy(path: str | Path) -> None:
    """Remove the store in a folder."""

def kv_repair(
    path: str | Path, settings: dict[str, object]
) -> tuple[int, int, list[str], list[str]]:
    """Rebuild the store in a folder: pairs, tables, what was lost, what old files are called."""

def kv_simulate(
    config: str,
    settings: str,
    workload: str,
    *,
    trace: str | None = None,
    progress: Callable[[int], object] | None = None,
    keep: str | Path | None = None,
) -> str:
    """Run the store on the drive of a configuration, both JSON: the report, as JSON."""

def kv_simulate_defaults() -> str:
    """The defaults of the settings of a simulation, as JSON."""

def kv_dump(path: str | Path, name: str, line: Callable[[str], object]) -> None:
    """Give the lines of a file of a store as text to `line`."""
