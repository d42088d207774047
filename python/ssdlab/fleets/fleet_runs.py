"""Runs a drive for each volume: `ssdlab.fleet`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ssdlab.config import memory
from ssdlab.config.files import plain_name, title_of_file
from ssdlab.config.given import typed
from ssdlab.config.resolve import Config, ConfigLike, Source, set_text
from ssdlab.display.argument import argument, key_argument
from ssdlab.display.numbers import Value
from ssdlab.display.progress import display
from ssdlab.errors import ConfigError, Interrupted
from ssdlab.fleets.fleet import Fleet
from ssdlab.fleets.stand_ins import StandIn, volume_of
from ssdlab.fleets.volumes import FIT_KEYS, READ_ONCE, Volume, drive_keys, volumes_of
from ssdlab.results import frames, outputs
from ssdlab.results.names import FLEET, OUTCOMES, PAGE, SUMMARY
from ssdlab.results.report import Report
from ssdlab.results.sweep import COLUMNS, VERSION, Outcome, ordered
from ssdlab.running.execution import Execution
from ssdlab.running.job import file_digest
from ssdlab.running.outcomes import Key, Outcomes
from ssdlab.running.runner import PlannedRun, RunEnd, Runner, cores
from ssdlab.running.table import Form
from ssdlab.store.store import Store
from ssdlab.versions import described

FORM = Form("fleet", "running a fleet", FLEET["json"], OUTCOMES, VERSION)
Size = Literal["volume", "drive"]
"""The size of a drive: that of its volume, or of its configuration."""


@typed
def fleet(
    traces: Sequence[str | Path] = (),
    *,
    drives: Sequence[ConfigLike] | ConfigLike,
    stand_in: str | None = None,
    size: Size | None = None,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    store: str | Path | Store | None = None,
    cache: str | Path | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
) -> Fleet:
    """Run a drive for each volume of `traces`, and tell how the outcomes are distributed.

    `drives` are presets, files or loaded configurations: the fleet runs on each of them. A trace
    with several volumes is split in one pass into `cache` (default: `ssdlab/volumes` in the user's
    cache folder), where a second fleet finds it. With `stand_in` ("alibaba:1000": a fleet and a
    number of volumes) volumes are made to published statistics instead.

    `size`: a drive is as large as its "volume" (`device.fit`; the default for traces), or as its
    configuration says ("drive"; always so for stand-ins).

    `out` is the folder of the fleet. The same fleet into the same folder resumes where it stopped;
    another one is refused unless `force` replaces it. A volume that cannot be run is listed in
    `failures`; the others continue. Ctrl-C raises `Interrupted` with the `fleet` so far. `set`,
    `seed`, `jobs`, `on`, `store`, `progress` and `html` are those of `ssdlab.compare`. Raises
    `ConfigError`, `WorkloadError` and `OutputError`.
    """
    configs = [drives] if isinstance(drives, str | Path | Config) else drives
    request = FleetRequest(traces, configs, stand_in, size, set or {}, seed, cache)
    options = Execution(on, jobs, store, out, force, progress, html)
    with options.runner() as runner:
        result = run_fleet(request, runner, options)
    if result.interrupted:
        raise Interrupted(None, result.folder, fleet=result)
    return result


@dataclass(frozen=True)
class FleetRequest:
    """The arguments of `fleet` that define what is run."""

    traces: Sequence[str | Path]
    drives: Sequence[ConfigLike]
    stand_in: str | None = None
    size: Size | None = None
    sets: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None
    cache: str | Path | None = None

    @property
    def name(self) -> str:
        """The name of the folder of the fleet: that of its first trace, or of its stand-in."""
        return f"{plain_name(self._source)}-fleet"

    @property
    def title(self) -> str:
        """The name of the fleet in titles."""
        return f"{title_of_file(self._source)}-fleet"

    @property
    def _source(self) -> str | Path:
        """The first trace, or the stand-in."""
        return self.traces[0] if self.traces else str(self.stand_in).partition(":")[0]

    @property
    def base(self) -> Mapping[str, object]:
        """The keys that are set, except those that were used up when traces were split."""
        consumed = READ_ONCE if self.traces else ()
        return {key: value for key, value in self.sets.items() if key not in consumed}

    @property
    def size_keys(self) -> dict[str, object]:
        """Keys that give a drive the requested size, overridden by those that are set."""
        if self.stand_in or any(key in self.sets for key in FIT_KEYS):
            return {}
        return {"workload.fit": "compact"} if self.size == "drive" else {"device.fit": "trace"}

    def identity(self, drives: Sequence[Drive], stand_in: StandIn | None) -> dict[str, Any]:
        """What the outcomes depend on: a fleet with the same is resumed."""
        return {
            "ssdlab": described(),
            "columns": [*COLUMNS],
            "drives": [drive.identity for drive in drives],
            "set": {key: set_text(value) for key, value in self.sets.items()},
            "size": self.size,
            "seed": self.seed,
            "traces": [[str(trace), file_digest(Path(trace))[0]] for trace in self.traces],
            "stand_in": stand_in.identity if stand_in else None,
        }


@dataclass(frozen=True)
class Drive:
    """A configuration on which the fleet is run."""

    name: str
    source: Source
    config: Config
    """The configuration without a volume."""

    @property
    def identity(self) -> list[object]:
        """Its source: its name, its preset, its file with the text."""
        file = self.source.file
        return [self.name, self.source.preset, file and [*file]]

    @property
    def capacity_bytes(self) -> int:
        """What it holds as configured."""
        return int(self.config["device.user_pages"] * self.config["device.page_bytes"])

    def span_of(self, volume: Volume) -> dict[str, object]:
        """The part of the drive that a stand-in fills and uses: the same bytes on all drives.

        Raises `ConfigError` if the drive is too small.
        """
        if volume.trace is not None:
            return {}
        footprint, capacity = int(str(volume.statistics["footprint_bytes"])), self.capacity_bytes
        if footprint > capacity:
            message = (
                f"volume {volume.name} uses {footprint:,} bytes, {self.name} holds {capacity:,}:"
                " give a larger drive"
            )
            raise ConfigError([message])
        span = round(footprint / capacity, 6)
        fill = round(span * float(self.config["precondition.fill"]), 6)
        return {"workload.span": span, "precondition.fill": fill}


def run_fleet(request: FleetRequest, runner: Runner, options: Execution) -> Fleet:
    """As `fleet`; Ctrl-C ends it early."""
    stand_in = _stand_in(request)
    drives = _drives(request.drives, request.base, request.seed)
    if stand_in:
        # Volumes are drawn for the first drive, and are the same on all.
        volumes = [
            volume_of(stand_in, number, drives[0].config) for number in range(stand_in.count)
        ]
        drawn_keys = [key for key in request.sets if key in {*volumes[0].sets, "workload.span"}]
        if drawn_keys:
            raise ConfigError(
                [f"{key_argument('set', drawn_keys[0])}: is drawn for each volume of a stand-in"]
            )
    else:
        with display() if options.progress else nullcontext() as progress_display:
            cache = None if request.cache is None else Path(request.cache)
            threads, show = (
                runner.local_jobs or cores(),
                progress_display.run if progress_display else None,
            )
            volumes = volumes_of(request.traces, request.sets, cache=cache, jobs=threads, show=show)
    identity = request.identity(drives, stand_in)
    read_files = tuple(drive.config.file for drive in drives if drive.config.file)
    with _Outcomes(options.folder, identity, FORM, force=options.force, reads=read_files) as stored:
        stored.request, stored.volumes, stored.drives = request, volumes, drives
        missing = [key for key in stored.every() if key not in stored.rows]
        if stand_in or request.size == "drive":
            memory.check(
                [drive.config for drive in drives for _ in range(runner.local_jobs)],
                runner.local_jobs,
            )
        total, progress = len(missing), options.progress
        stored.make(
            missing, stored.planned, runner, name=request.name, remaining=total, progress=progress
        )
        outcomes = ordered(stored.ended())
        names = tuple(drive.name for drive in drives)
        result = Fleet(
            request.title, names, tuple(volumes), outcomes, identity, folder=options.folder
        )
        result = replace(result, interrupted=stored.interrupted and result.not_run > 0)
        if result.folder is not None:
            _write(result, result.folder, options.html)
    return result


def _stand_in(request: FleetRequest) -> StandIn | None:
    """The statistics from which volumes are drawn; None for traces. Raises `ConfigError`."""
    if bool(request.traces) == bool(request.stand_in):
        no_volumes = f"no volumes: expected traces, or {argument(stand_in='alibaba:1000')}"
        raise ConfigError(
            [f"{argument('stand_in')}: excludes traces" if request.traces else no_volumes]
        )
    stand_in = StandIn.of(request.stand_in, request.seed) if request.stand_in else None
    if stand_in and request.size == "volume":
        size = argument(size=request.size)
        raise ConfigError([f"{size}: a stand-in is as large as its drive says; leave it out"])
    return stand_in


def _drives(
    configs: Sequence[ConfigLike], sets: Mapping[str, object], seed: int | None
) -> list[Drive]:
    """The drives, each once. Raises `ConfigError`."""
    if not configs:
        examples = "a TOML file, a preset or a named drive"
        raise ConfigError([f"no drive: expected {argument('drives')} with {examples}"])
    drives: list[Drive] = []
    for config_like in configs:
        source = Source(config_like)
        config = source.load(drive_keys(sets), seed=seed)
        for drive in drives:
            if drive.name == config.name or drive.config == config:
                message = f"{argument(drives=config.name)}: given twice; drives of a fleet differ"
                hint = " (run.name tells files apart)" if drive.config != config else ""
                raise ConfigError([message + hint])
        drives.append(Drive(config.name, source, config))
    return drives


class _Outcomes(Outcomes):
    """The outcomes of a fleet. `point` is as in `Fleet.outcomes`."""

    request: FleetRequest
    volumes: Sequence[Volume]
    drives: Sequence[Drive]

    def every(self) -> Iterator[Key]:
        """The runs."""
        for i, volume in enumerate(self.volumes):
            if not volume.reason:
                yield from ((i * len(self.drives) + j, None) for j in range(len(self.drives)))

    def planned(self, point: int, _: int | None) -> PlannedRun:
        """A run. Raises `ConfigError` if the drive is too small."""
        volume, drive = self._volume_and_drive(point)
        sets = {
            **volume.sets,
            **drive.span_of(volume),
            **self.request.size_keys,
            **self.request.base,
        }
        config = drive.source.load(sets, trace=volume.trace, seed=self.request.seed)
        suffix = f" on {drive.name}" if len(self.drives) > 1 else ""
        return PlannedRun(f"{volume.name}{suffix}", config, key=(point, None))

    def _volume_and_drive(self, point: int) -> tuple[Volume, Drive]:
        volume, drive = divmod(point, len(self.drives))
        return self.volumes[volume], self.drives[drive]

    def row(self, key: Key, ended: RunEnd) -> Outcome:
        """With the additional columns of a fleet; traces by the names of volumes."""
        row, (volume, _) = super().row(key, ended), self._volume_and_drive(key[0])
        if row.error:
            trace = str(volume.trace or volume.name)
            return replace(row, error=row.error.replace(trace, f"volume {volume.name}"))
        return row if ended.report is None else replace(row, more=_extra_columns(ended.report))


def _extra_columns(report: Report) -> dict[str, Value]:
    """The columns of a fleet in addition to those of a sweep."""
    waf, device = report.waf, report.config["device"]
    return {
        "gc_share": waf.gc / waf.total if waf.total and waf.gc is not None else None,
        "capacity_bytes": device["user_pages"] * device["page_bytes"],
        "host_bytes_written": report.host.pages_written * device["page_bytes"],
        "steady": report.steady_state.reached,
        "why_not_steady": None if report.steady_state.reached else report.steady_state.reason,
    }


def _write(fleet: Fleet, folder: Path, html: bool) -> None:
    """Write the tables, the summary and the page. Raises `OutputError`."""
    texts: dict[str, Any] = {FLEET["csv"]: fleet.to_csv(), SUMMARY: fleet.summary()}
    files = {name: outputs.text(text) for name, text in texts.items()}
    if frames.has_parquet():
        files[FLEET["parquet"]] = partial(frames.write_parquet, fleet.rows, texts=Fleet.TEXTS)
    if html:
        from ssdlab.fleets.page import fleet_page  # needs numpy, which is slow to import

        files[PAGE] = outputs.text(fleet_page(fleet))
    files[FLEET["json"]] = outputs.text(fleet.head_json())
    outputs.write_all({folder / name: write for name, write in files.items()}, force=True)
