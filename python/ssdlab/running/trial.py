"""From a trace to an answer without any configuration: `ssdlab.try_trace`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab.config.given import typed
from ssdlab.config.resolve import Config, ConfigLike, load_config, with_blocks_of
from ssdlab.display.numbers import percent, size
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.results.answer import AMOUNT, TITLES
from ssdlab.results.comparison import Comparison
from ssdlab.running.compare_runs import Enough, repeated, run_all, unless_interrupted
from ssdlab.running.fitted import fitted, footprint_pages
from ssdlab.running.kept import maker_of
from ssdlab.running.runner import Planned, Runner
from ssdlab.store.store import Store
from ssdlab.traces.trace import Trace

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

POLICIES: dict[str, dict[str, object]] = {
    "greedy": {"gc.victim": "greedy"},
    "cost-benefit": {"gc.victim": "cost-benefit"},
    "d-choices": {"gc.victim": "d-choices"},
    "fifo": {"gc.victim": "fifo"},
    "greedy + sepbit": {"gc.victim": "greedy", "alloc.separation": "sepbit"},
    "cost-benefit + fadac": {"gc.victim": "cost-benefit", "alloc.separation": "fadac"},
}
"""What is tried: the usual victims, and two that separate pages; on `DRIVE` also `IDLE`."""
IDLE = "greedy in idle time"
"""Collects when no request waits, as long as not many blocks are free."""
DRIVE = "greedy-8ch"
"""The drive, unless another one is named."""
SPARE = 0.07
"""Its over-provisioning: that of client drives."""
BLOCKS, FEWEST_BLOCKS = 128, 48
"""Blocks of a plane that are wanted, and without which there is no drive: a few of them are
spare, open or reserved."""
FEWEST_PAGES = 32
"""Pages of a block, or superblock."""
LOW_BLOCKS, IDLE_BLOCKS = 0.03, 0.045
"""Share of the blocks of a pool at which collection begins on `DRIVE`, at once or in idle time."""
MEASURED, MOST_WRITTEN, MOST_REQUESTS = 4, 3_000_000, 3_000_000
"""Loops that are measured, where they write at most so many pages with so many requests."""
SEEDS = range(3, 11)
"""Fewest and most seeds."""
NARROW = {AMOUNT: 0.01}
"""Half width of the interval of a ratio that is narrow enough."""
NARROW_TIME = 0.05
"""The same for times."""
BUDGET_S = 30.0


@dataclass(frozen=True)
class Trial:
    """What is going to be run of a trace."""

    planned: tuple[Planned, ...]
    lines: tuple[tuple[str, str], ...]
    """The trace, the drive and the runs: which of them, and it in words."""
    left_out: Mapping[str, str]
    """Policies that this drive does not take, and why."""


@typed
def try_trace(
    trace: str | Path,
    *,
    drive: ConfigLike = DRIVE,
    policies: Mapping[str, Mapping[str, object]] | None = None,
    set: Mapping[str, object] | None = None,
    seeds: int | None = None,
    budget_s: float = BUDGET_S,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool = True,
    html: bool = True,
    store: str | Path | Store | None = None,
) -> Comparison:
    """Compare the usual policies on a trace, on a drive of its size.

    `drive` is a preset, such as a named drive, or a configuration; its blocks get as small and its
    chips as few as the trace demands. `policies` maps labels to keys, instead of the usual ones;
    `set` maps further keys to values, for all runs. Every policy is repeated with further seeds
    until the intervals of ratios are narrow, or one more would not end within `budget_s` seconds
    (at least two seeds), or with `seeds` of them. The rest, and what it raises, is as in
    `ssdlab.compare`.
    """
    trial = prepared(trace, drive=drive, policies=policies, set=set, seeds=seeds, progress=progress)
    with maker_of(on, jobs, store, progress, len(trial.planned)) as runner:
        done = tried(trial, runner, seeds, budget_s, out, force, progress, html)
    return unless_interrupted(done)


def tried(
    trial: Trial,
    runner: Runner,
    seeds: int | None,
    budget_s: float,
    out: str | Path | None,
    force: bool,
    progress: bool,
    html: bool,
) -> Comparison:
    """Run what has been prepared, up to Ctrl-C."""
    return run_all(
        trial.planned,
        runner,
        out=out,
        force=force,
        progress=progress,
        html=html,
        enough=narrow_or_late(budget_s) if seeds is None else None,
    )


def narrow_or_late(budget_s: float) -> Enough:
    """Whether the ratios to the first configuration are known well enough, or the time is over.

    It looks at the widths of intervals, never at what they say.
    """
    begun = time.monotonic()

    def enough(done: Comparison) -> bool:
        counts = [len(by_seed) for by_seed in done.repetitions.values()]
        # The last runs of a seed may be under way.
        if len(counts) < 2 or min(counts) < 2:
            return False
        # One more seed takes as long as those before it took on average.
        late = (time.monotonic() - begun) * (1 + 1 / min(counts)) >= budget_s
        return late or (min(counts) >= SEEDS.start and _narrow(done))

    return enough


def _narrow(done: Comparison) -> bool:
    base, *others = done.repetitions
    for key in TITLES:
        for label in others:
            ratio = done.ratio(label, base, key)
            if ratio is None or ratio.low is None or ratio.high is None:
                continue
            width = (ratio.high - ratio.low) / 2 / ratio.ratio
            if width > NARROW.get(key, NARROW_TIME):
                return False
    return True


def prepared(
    trace: str | Path,
    *,
    drive: ConfigLike = DRIVE,
    policies: Mapping[str, Mapping[str, object]] | None = None,
    set: Mapping[str, object] | None = None,
    seeds: int | None = None,
    progress: bool = True,
) -> Trial:
    """What `try_trace` runs: the trace is read, nothing is simulated."""
    given = dict(set or {})
    info = Trace(trace).info(set=_of_reading(given), progress=progress)
    name = Path(trace).name.partition(".")[0]
    if not info.updates.page_writes:
        raise WorkloadError(f"{trace}: the trace writes nothing: there is nothing to collect")
    common: dict[str, object] = {
        "run.name": name,
        "device.fit": "trace",
        "precondition.fill": 1.0,
        "precondition.overwrite": 1.0,
        "precondition.steady_state": "none",
    }
    if drive == DRIVE:
        common["device.over_provisioning"] = SPARE
    base = load_config(drive, trace=trace, set={**common, **given})
    pages = footprint_pages(base)
    form, count = _form(base, pages, trace)
    if "device.pages_per_block" in given:
        # These blocks stay, and so does the time that erases of them take.
        form.pop("timing.erase", None)
    common |= form | _amount(info, pages, base)
    usual: Mapping[str, Mapping[str, object]] = POLICIES
    if drive == DRIVE:
        common["gc.trigger"] = _free_blocks(LOW_BLOCKS, count)
        idle = [{"policy": "idle"}, _free_blocks(IDLE_BLOCKS, count)]
        usual = {**POLICIES, IDLE: {"gc.trigger": idle}}
    planned, left_out = _planned(policies or usual, drive, trace, {**common, **given})
    every = repeated(planned, SEEDS.stop - 1 if seeds is None else seeds)
    lines = (*_told(info, pages, planned[0].config, base),)
    return Trial(tuple(every), lines, left_out)


_NOT_READING = ("fit", "loops", "time_scale", "warmup_requests", "whole_pages", "copy")


def _of_reading(keys: Mapping[str, object]) -> dict[str, object]:
    """Those that say how the file is read."""
    parts = {key: key.partition(".") for key in keys}
    return {
        key: keys[key]
        for key, (table, _, name) in parts.items()
        if table == "workload" and name not in _NOT_READING
    }


def _spare(config: Config) -> float:
    """Over-provisioning: (physical - user) / user pages."""
    device: Mapping[str, int] = config.values["device"]
    blocks = device["blocks_per_plane"] * _planes(device)
    return float(blocks * device["pages_per_block"] / device["user_pages"] - 1)


def _planes(device: Mapping[str, int]) -> int:
    return device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]


def _form(base: Config, pages: int, trace: str | Path) -> tuple[dict[str, object], float]:
    """Keys of a drive like `base` whose planes have enough blocks for `pages` pages; how many."""
    device: Mapping[str, int] = base.values["device"]
    channels, chips = device["channels"], device["chips_per_channel"]
    needed = pages * (1 + _spare(base))

    def of_plane() -> float:
        return needed / (channels * chips * device["planes_per_chip"])

    superblock = base["alloc.erase_unit"] == "superblock"
    least = -(-FEWEST_PAGES // (device["planes_per_chip"] if superblock else 1))
    wanted = least * BLOCKS
    while of_plane() < wanted and channels * chips > 1:
        if chips > 1:
            chips = -(-chips // 2)
        else:
            channels = -(-channels // 2)
    block = device["pages_per_block"]
    while of_plane() / block < BLOCKS and block > least:
        block = max(least, -(-block // 2))
    count = of_plane() / block
    if count < FEWEST_BLOCKS:
        message = (
            f"{trace}: touches {pages:,} pages, which make {count:.0f} blocks of {block} pages"
            f" on each plane of the smallest drive of this form: expected at least {FEWEST_BLOCKS};"
            " use a longer trace"
        )
        raise WorkloadError(message)
    return {
        "device.channels": channels,
        "device.chips_per_channel": chips,
        **(with_blocks_of(block, base) if block < device["pages_per_block"] else {}),
    }, count


def _free_blocks(share: float, count: float) -> dict[str, object]:
    """The trigger that holds while at most this share of the `count` blocks is free."""
    return {"policy": "free-blocks", "soft": max(4, round(share * count))}


def _amount(info: Info, pages: int, base: Config) -> dict[str, object]:
    """How often the trace is run, and what of it is left out of the measurement."""
    writes = info.updates.page_writes
    # A quarter of what is measured writes the spare once: the rule of the steady state.
    wanted = max(4 * pages * _spare(base), pages)
    most = min(MOST_WRITTEN // writes, MOST_REQUESTS // info.requests)
    if writes >= 2 * wanted and most < 1:
        return {"workload.loops": 1, "workload.warmup_requests": info.requests // 5}
    measured = max(-(-int(wanted) // writes), min(MEASURED, most), 1)
    # A trace that hardly writes would be run for hours; the report says that nothing has settled.
    measured = min(measured, max(1, 4 * MOST_REQUESTS // info.requests))
    # What the preconditioning left is written once before.
    before = max(1, min(-(-pages // writes), most))
    return {
        "workload.loops": measured + before,
        "workload.warmup_requests": before * info.requests,
    }


def _planned(
    policies: Mapping[str, Mapping[str, object]],
    drive: ConfigLike,
    trace: str | Path,
    common: Mapping[str, object],
) -> tuple[list[Planned], dict[str, str]]:
    """A run for each policy, and why others cannot run on this drive."""
    planned, left_out = [], {}
    errors: list[str] = []
    for label, keys in policies.items():
        try:
            config = fitted(load_config(drive, trace=trace, set={**common, **keys}))
        except ConfigError as error:
            left_out[label] = "; ".join(error.messages)
            errors += error.messages
            continue
        planned.append(Planned(label, config))
    if not planned:
        raise ConfigError(dict.fromkeys(errors))
    return planned, left_out


def _told(info: Info, pages: int, config: Config, base: Config) -> Sequence[tuple[str, str]]:
    """The trace, the drive made of `base`, and the runs, each with its name."""
    device, workload = config.values["device"], config.values["workload"]
    page = device["page_bytes"]
    source = info.source
    share = workload["warmup_requests"] / info.requests
    rounds = f"{workload['loops']} times, of which the first"
    rounds = f"{rounds} {share:.0f} are not measured" if share > 1 else f"{rounds} is not measured"
    if workload["loops"] == 1:
        rounds = f"once, of which the first {percent(share)} are not measured"
    planes = device["planes_per_chip"]
    form = f"{device['channels']} channels x {device['chips_per_channel']} chips"
    form += f" x {planes} planes" if planes > 1 else ""
    trace = f"{source.file}: {source.format}, {info.requests:,} requests, which touch"
    blocks = f"{form}, blocks of {device['pages_per_block']} pages"
    in_base = base["device.pages_per_block"]
    of = "" if device["pages_per_block"] == in_base else f" (of {in_base:,}, erased as much faster)"
    spare = f"{percent(_spare(config))} over-provisioning"
    return [
        ("trace", f"{trace} {size(pages * page)} and write {size(info.ops.write.bytes)}"),
        ("drive", f"{blocks}{of}, {spare}, sized to the trace, full and overwritten once"),
        ("runs", f"the trace {rounds}, for each policy and seed"),
    ]
