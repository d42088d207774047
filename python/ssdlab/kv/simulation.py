"""The store on the simulated drive: clients, compaction, file system and drive on one clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ssdlab import _core
from ssdlab.config.resolve import Config, ConfigLike, changed_keys, flatten, load_config, set_text
from ssdlab.display.argument import argument
from ssdlab.display.numbers import duration, percent
from ssdlab.errors import ConfigError, OutputError, WorkloadError, translate_errors
from ssdlab.results import warned
from ssdlab.results.text import wrapped

Remap = Literal["off", "aligned", "base", "full"]
REMAPS: dict[Remap, dict[str, object]] = {
    "off": {},
    "aligned": {"store.pages_per_block": 1},
    "base": {"store.pages_per_block": 1, "store.reuse": "base"},
    "full": {"store.pages_per_block": 1, "store.reuse": "retention"},
}
"""Settings of the store; those of the user override them."""
REPORT, PAGE, DATABASE = "report.json", "report.html", "database"


@dataclass(frozen=True)
class Simulated:
    """The results of a simulation of the store."""

    report: dict[str, Any]
    """The whole report; docs/simulate.md describes its parts."""
    remap: Remap = "off"
    """As it was asked for."""

    @property
    def completed(self) -> bool:
        """Whether all operations were done."""
        return bool(self.report["completed"])

    @property
    def error(self) -> str | None:
        """Why it could not finish, or None."""
        error = self.report["error"]
        return None if error is None else str(error)

    @property
    def digest(self) -> str:
        """A digest of all events in order."""
        return str(self.report["digest"])

    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed into flash for each byte of keys and values, all causes together."""
        value: float | None = self.report["total"]["write_amplification"]["total"]
        return value

    @property
    def head(self) -> str:
        """What was run: the drive, the workload, and the settings.

        Those of the drive that differ from its preset, those of the store from the defaults.
        """
        config = self.report["drive"]["config"]
        phases = ", ".join(
            f"{phase['name']}, {phase['operations']:,} operations" for phase in self.phases
        )
        default_settings = flatten(defaults())
        store = {
            name: set_text(value)
            for name, value in flatten(self.report["settings"]).items()
            if default_settings.get(name) != value
        }
        remap = [] if self.remap == "off" else [f"remap {self.remap}"]
        settings = [
            f"{name} = {value}" for name, value in {**changed_keys(config), **store}.items()
        ]
        return "; ".join(
            [
                f"{phases or 'nothing'} on {config.get('preset') or config['run']['name']}",
                ", ".join([*remap, *settings]) or "settings: all defaults",
            ]
        )

    @property
    def answer(self) -> str:
        """The results in sentences."""
        sentences: list[str] = []
        drive = self.report["drive"]
        if drive["invalidating"]:
            sentences.append(f"Write amplification is not known: {drive['warnings'][0]}.")
        elif self.write_amplification is not None:
            parts = self.report["total"]["write_amplification"]
            host = self.report["total"]["pages_written"]
            drive_share = sum(
                share for name, share in parts.items() if name not in host and name != "total"
            )
            sentences.append(
                f"Write amplification is {self.write_amplification:.2f} (bytes programmed into"
                " flash for each byte of keys and values);"
                f" the drive's own work accounts for {drive_share:.2f} of it."
            )
        if cut := self.report.get("cut"):
            sentences.append(_recovered(cut))
        for phase in self.phases:
            latencies = ", ".join(
                f"{op} takes {duration(latency['mean_ns'])} on average and"
                f" {duration(latency['p99_ns'])} at the 99th percentile"
                for op, latency in phase["latency"].items()
                if latency["p99_ns"] is not None
            )
            rate = phase["operations_per_s"]
            speed = [] if rate is None else [f"{rate:,.0f} operations a second"]
            clauses = [*speed, *([latencies] if latencies else [])]
            if clauses:
                sentences.append(f"{phase['name']}: {'; '.join(clauses)}.")
        return " ".join(sentences)

    @property
    def phases(self) -> list[dict[str, Any]]:
        """The phases of the workload, in order; docs/simulate.md describes them."""
        phases: list[dict[str, Any]] = self.report["phases"]
        return phases

    def warning_groups(self) -> Iterator[warned.Group]:
        """The warnings of the drive: those that invalidate its numbers, then notes."""
        drive = self.report["drive"]
        texts, severe = drive["warnings"], drive["invalidating"]
        return warned.groups("the numbers of the drive", texts[:severe], texts[severe:])

    def summary(self) -> str:
        """What was run, the answer, what invalidates it, and the main results as text."""
        lines = [*wrapped("", self.head)]
        if self.error:
            lines += ["", *wrapped("NOT COMPLETED  ", self.error)]
        lines += ["", *wrapped("", self.answer)] if self.answer else []
        groups = {title: (mark, texts) for title, mark, texts in self.warning_groups()}
        notes = groups.pop("notes", None)
        for title, (mark, texts) in groups.items():
            lines += ["", title, *(line for text in texts for line in wrapped(mark, text))]
        for phase in self.phases:
            lines += ["", *self._phase(phase)]
        parts = self.report["total"]["write_amplification"]
        shares = [
            f"{name} {share:.2f}"
            for name, share in parts.items()
            if share is not None and name != "total"
        ]
        if shares:
            lines += ["", *wrapped("written by cause: ", ", ".join(shares))]
        lines += self._reuse_lines()
        space = self.report["space"]["amplification"]
        if space is not None:
            lines.append(f"space amplification: {space:.2f}")
        if notes:
            lines += ["", "notes", *(line for note in notes[1] for line in wrapped(notes[0], note))]
        return "\n".join(lines) + "\n"

    def _phase(self, phase: Mapping[str, Any]) -> Iterator[str]:
        yield phase["name"]
        for op, latency in phase["latency"].items():
            statistics = [
                f"{name} {duration(latency[key])}"
                for name, key in (("mean", "mean_ns"), ("p50", "p50_ns"), ("p99", "p99_ns"))
                if latency[key] is not None
            ]
            yield f"  {op}: {', '.join(statistics)}"
        waited = phase["slowed"]["ns"] + phase["stopped"]["ns"]
        yield f"  writers waited for background work: {duration(waited)}"

    def _reuse_lines(self) -> Iterator[str]:
        levels = enumerate(self.report["store"]["levels"])
        shares = {level: values["udb_share"] for level, values in levels if values["udb_share"]}
        if shares:
            level_texts = ", ".join(
                f"level {level} {percent(share)}" for level, share in shares.items()
            )
            pages = sum(self.report["total"]["pages_copied"].values())
            copied = f"{pages:,} pages copied by the drive"
            yield from wrapped("data blocks taken over: ", f"{level_texts}; {copied}")


def _recovered(cut: Mapping[str, int]) -> str:
    """What a power cut took, as a sentence."""
    lost = f"{cut['lost']:,} of {cut['acknowledged']:,} acknowledged writes are lost"
    if cut["lost"]:
        lost += f", the oldest {duration(cut['lost_ns'])} before the cut"
    if cut["lost_synced"]:
        lost += f"; {cut['lost_synced']:,} of them had been promised to be durable"
    return (
        f"Power was cut at {duration(cut['at_ns'])}: the drive took {duration(cut['drive_ns'])} to"
        f" mount and the store {duration(cut['store_ns'])} to open; {lost}."
    )


def defaults() -> dict[str, Any]:
    """The default of every setting."""
    values: dict[str, Any] = json.loads(_core.kv_simulate_defaults())
    return values


def _nest(settings: Mapping[str, object]) -> dict[str, Any]:
    """Settings with dotted names as tables."""
    tables: dict[str, Any] = {}
    for name, value in settings.items():
        table = tables
        *outer, key = name.split(".")
        for part in outer:
            table = table.setdefault(part, {})
        table[key] = value
    return tables


def _with_defaults(
    config: Config, keys: Mapping[str, object], given: Collection[str], why: str
) -> Config:
    """`config` with those of these keys that the user has not set; `why` names what needs them."""
    values = flatten(config.values)
    # Every configuration has `run.data`.
    unset = {
        key: value
        for key, value in keys.items()
        if key not in given and (key not in values or values[key] == "none")
    }
    try:
        return load_config(config, set=unset)
    except ConfigError as error:
        option = f"{argument('set')}:"
        raise ConfigError([text.replace(option, f"{why}:") for text in error.messages]) from None


def new_folder(out: Path) -> Path:
    """The folder, created if it does not exist; it must be empty."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            message = f"{out}: exists; name a folder that is empty or not there"
            raise OutputError(message)
        out.mkdir(parents=True, exist_ok=True)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{out}: cannot be created: {error.strerror or error}") from error
    return out


def simulate(
    config: ConfigLike,
    workload: str | Path = "fillrandom",
    *,
    settings: Mapping[str, object] | None = None,
    remap: Remap = "off",
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    out: Path | None = None,
    database: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Simulated:
    """Run the store on the drive of `config`.

    `workload` is the name of a stream of operations ("ycsb-a", "fillrandom"), or a file with one
    operation per line. `settings` maps names of `defaults()`, dotted, to values; `set` overrides
    keys of the configuration. `out` is a new folder for the report and, with `database`, the files
    of the store. If a simulation cannot finish, `error` says why.

    `remap`: "off" is LevelDB's table layout; "aligned" begins blocks at pages and reuses none;
    "base" reuses unchanged blocks where the table ends a block there anyway, "full" all of them.
    Both remap on the drive: `remap.mode` is "share" unless the user has set it. With the setting
    `cut_ns`, `power.cut` is "on-request" and `run.data` "bytes", unless the user has set them.
    """
    if remap not in REMAPS:
        raise ConfigError([f"remap: found {remap!r}; expected one of {', '.join(REMAPS)}"])
    settings = {**REMAPS[remap], **flatten(settings or {})}
    if remap != "off" and settings["store.pages_per_block"] == 0:
        message = f"store.pages_per_block: {remap!r} needs blocks that begin at pages: 1 or more"
        raise ConfigError([message])
    if database and out is None:
        raise ConfigError(["database: there is no folder to keep it in; set out"])
    resolved = load_config(config, set=set, seed=seed)
    if remap in ("base", "full"):
        resolved = _with_defaults(resolved, {"remap.mode": "share"}, set or {}, f"remap {remap!r}")
    if settings.get("cut_ns") is not None:
        # The file system is read back from the pages of the drive.
        cut = {"power.cut": "on-request", "run.data": "bytes"}
        resolved = _with_defaults(resolved, cut, set or {}, "cut_ns")
    path, text = Path(workload), None
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise WorkloadError(f"{path}: cannot be read: {error}") from error
    folder = None if out is None else new_folder(out)
    with translate_errors():
        report = _core.kv_simulate(
            resolved.text,
            json.dumps(_nest(settings)),
            str(workload),
            trace=text,
            progress=progress,
            keep=folder / DATABASE if folder is not None and database else None,
        )
    simulated = Simulated(json.loads(report), remap)
    if folder is not None:
        from ssdlab.kv.simulation_page import page

        try:
            (folder / REPORT).write_text(json.dumps(simulated.report, indent=1) + "\n", "utf-8")
            (folder / PAGE).write_text(page(simulated), "utf-8")
        except OSError as error:
            raise OutputError(f"{folder}: {error.strerror or error}") from error
    return simulated
