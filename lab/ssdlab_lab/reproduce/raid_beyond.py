"""`ssdlab reproduce raid-beyond`: reads of a drive with parity while it collects.

Two rules together: chips of a parity group take turns to collect (`rotating`), and a read whose
chip collects is computed from the others of its group (`raid.reads`). Aim: p99.9 of reads at most
twice that of the same drive without any collection.

Chosen before both rules were run together, from runs of the other lines alone:

- Device: deferred-gc-raid-conventional on 16 chips, with its chip times and groups of 8. A chip
  that collects does nothing else until its block is erased, so a read that meets collection waits
  for all of it. 68 % of the raw flash is live and overwritten twice before the measurement, so
  that all chips collect all the time. The trigger is a threshold of erased blocks.
- Workloads: uniform and skewed (Zipf) pages, 70 % reads, and two stand-ins whose requests are
  mostly of one page, MongoDB and RocksDB. Cassandra was tried and left out: its requests of 70 to
  100 KiB keep reads waiting for 43 ms (p99.9) without any collection, so the aim says little there.
- Load: half of what the drive sustains in a closed loop with 64 requests under `rotating`, the
  slower of the two drives (12,750, 12,000, 6,900 and 9,900 requests per second). Arrival times are
  the same in all lines.
- Without collection: six times the blocks, and no overwrites before, so that the flash is never
  used up.

Added after that: all lines again with `read-first`, reads of the host before everything else on a
chip. It tests an explanation of what was left in the order of the preset, first come, first served:
writes that have waited for collection run when it ends, and reads queue behind them.

Added later, and chosen before its first run: what suspension (`timing.suspend`) leaves to gain. It
needs two changes of the drive, so all lines are run with these alone and then with suspension, all
with reads first. The model is `pipelined`, with the same flash times, since operations of the
serial model cannot be suspended. And collection closes nothing (`gc.blocking = "none"`), since a
read that is closed out suspends nothing: a chip that collects then serves reads between its
operations. Suspension has its default times: 20 us to suspend, 5 us to resume, at most 10 times.
Each ratio is to the drive without collection under the same keys.

Added on 2026-11-30: reads that compare the queues of their group (`shortest-queue`), and turns that
begin on an idle chip and end when it has worked off its queue (`rotating` with `idle`). They test
another explanation of what is left with first come, first served: a second chip of the group is
slow while the first one works off what has waited for its collection. These lines were chosen after
runs of 60,000 requests on a quarter of the device with seeds 1 and 2 had been seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.results.intervals import Estimate, Ratio, estimate, paired_ratio
from ssdlab.results.report import Report
from ssdlab.versions import described
from ssdlab_lab.reproduce.command import write_results
from ssdlab_lab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab_lab.reproduce.study import Study, json_of, made

NAME, TITLE = "raid-beyond", "Reads while a drive with parity collects"
PRESET = "deferred-gc-raid-conventional"
AIM = 2.0
"""The target for the p99.9 of reads divided by that without collection."""
PUBLISHED = "1.0 to 2.6 (TTFlash, FAST '17; IODA, SOSP '21)"
SEEDS, QUICK_SEEDS = (1, 2, 3, 4, 5), (1, 2)
REQUESTS, QUICK_REQUESTS = 200_000, 20_000
BLOCKS, QUICK_BLOCKS = 256, 64
"""Of each chip."""
CHANNELS, CHIPS, PAGES = 8, 2, 64
"""Channels, chips of each, pages of a block."""
USER = 0.85 * 7 / 8
"""Share of the raw flash that the host sees: 15 % are spare, and an eighth of the rest is parity.
"""
FILL = 0.8
"""Share of it that is written: with parity 68 % of the raw flash is live."""
UNCOLLECTED = 6
"""Multiple of the blocks with which a run never reaches the end of its flash."""
QUICK = (
    f"Quick: {QUICK_REQUESTS:,} requests instead of {REQUESTS:,}, {len(QUICK_SEEDS)} seeds instead"
    f" of {len(SEEDS)}, and a quarter of the device."
)

Keys: TypeAlias = dict[str, object]

FLOOR, PLAIN, TOLERANT, ROTATING, BOTH, QUEUES, IDLE, BOTH_IDLE, QUEUES_IDLE = (
    "no collection",
    "plain",
    "tolerant reads",
    "rotating",
    "both",
    "both, queues compared",
    "rotating, idle chips",
    "both, idle chips",
    "both, queues, idle chips",
)
TOLERATES: Keys = {"raid.reads": "reconstruct-if-busy"}
COMPARES: Keys = {"raid.reads": "shortest-queue"}
ROTATES: Keys = {"gc.concurrency": "rotating"}
ROTATES_IDLE: Keys = {"gc.concurrency": {"policy": "rotating", "idle": True}}
LINES: dict[str, Keys] = {
    FLOOR: {"precondition.overwrite": 0.0},
    PLAIN: {},
    TOLERANT: TOLERATES,
    ROTATING: ROTATES,
    BOTH: {**TOLERATES, **ROTATES},
    QUEUES: {**COMPARES, **ROTATES},
    IDLE: ROTATES_IDLE,
    BOTH_IDLE: {**TOLERATES, **ROTATES_IDLE},
    QUEUES_IDLE: {**COMPARES, **ROTATES_IDLE},
}
FIFO, READS_FIRST, OPEN, SUSPENDED = "fifo", "read-first", "open", "suspended"
ORDERS = {
    FIFO: "The drive as chosen: operations of a chip first come, first served",
    READS_FIRST: "Reads first",
    OPEN: "Reads first, collection closes nothing",
    SUSPENDED: "Reads first, collection closes nothing, programs and erases suspended",
}
_FIRST: Keys = {"sched.order": "read-first"}
_OPEN: Keys = {
    **_FIRST,
    "timing.model": "pipelined",
    "gc.blocking": {"scope": "none", "granularity": "step"},
}
ORDER_KEYS: dict[str, Keys] = {
    FIFO: {"sched.order": "fifo"},
    READS_FIRST: _FIRST,
    OPEN: _OPEN,
    SUSPENDED: {**_OPEN, "timing.suspend": "both"},
}
"""What all lines of a part have in common."""
WORKLOADS: dict[str, Keys] = {
    "uniform": {"workload.kind": "uniform", "workload.read": 0.7},
    "Zipf": {"workload.kind": "zipf", "workload.read": 0.7},
    "MongoDB": {"workload.kind": "app:mongodb"},
    "RocksDB": {"workload.kind": "app:rocksdb"},
}
INTERVALS_US = {"uniform": 160, "Zipf": 165, "MongoDB": 290, "RocksDB": 200}
"""Mean time between requests."""


def _us(quantity: Callable[[Report], float | None]) -> Callable[[Report], float | None]:
    """A time of a report in microseconds."""

    def measure(report: Report) -> float | None:
        ns = quantity(report)
        return None if ns is None else ns / 1e3

    return measure


def _computed(report: Report) -> float | None:
    return None if report.raid is None else float(report.raid.reconstructed_pages)


READ_TAIL = "read p99.9, us"
MEASURES: dict[str, Callable[[Report], float | None]] = {
    "read mean, us": _us(lambda report: report.latency.read.mean),
    "read p99, us": _us(lambda report: report.latency.read.p99),
    READ_TAIL: _us(lambda report: report.latency.read.p99_9),
    "write mean, us": _us(lambda report: report.latency.write.mean),
    "write p99, us": _us(lambda report: report.latency.write.p99),
    "write p99.9, us": _us(lambda report: report.latency.write.p99_9),
    "WAF": lambda report: report.waf.total,
    "reads computed": _computed,
}
"""Columns of the tables."""


class RaidBeyond(Study[tuple[str, str, str, int]]):
    """The results, by order, workload, line and seed."""

    name = NAME
    smaller = QUICK

    def values(self, order: str, workload: str, line: str, measure: str) -> dict[int, float]:
        """A measure by seed, for the existing runs."""
        values = {}
        for seed in seeds(self.quick):
            report = self.reports.get((order, workload, line, seed))
            value = None if report is None else MEASURES[measure](report)
            if value is not None:
                values[seed] = value
        return values

    def mean(self, order: str, workload: str, line: str, measure: str) -> Estimate | None:
        """The mean of a measure over seeds."""
        values = list(self.values(order, workload, line, measure).values())
        return estimate(values) if len(values) > 1 else None

    def ratio(self, order: str, workload: str, line: str) -> Ratio | None:
        """p99.9 of reads over that of the same drive without collection, seed by seed."""
        scheme = self.values(order, workload, line, READ_TAIL)
        base = self.values(order, workload, FLOOR, READ_TAIL)
        common_seeds = [seed for seed in scheme if seed in base]
        if len(common_seeds) < 2:
            return None
        return paired_ratio(
            [scheme[seed] for seed in common_seeds], [base[seed] for seed in common_seeds]
        )

    def is_reached(self, order: str, workload: str, line: str = BOTH) -> bool | None:
        """Whether the target is reached; None if the interval is open or runs are missing."""
        ratio = self.ratio(order, workload, line)
        if ratio is None:
            return None
        low = ratio.ratio if ratio.low is None else ratio.low
        high = ratio.ratio if ratio.high is None else ratio.high
        return None if low <= AIM < high else high <= AIM


def seeds(quick: bool) -> tuple[int, ...]:
    """Seeds of the repetitions; requests and initial state differ between them."""
    return QUICK_SEEDS if quick else SEEDS


def scheme_of(order: str, line: str, quick: bool) -> Scheme:
    """The drive under the rules of a line."""
    blocks = QUICK_BLOCKS if quick else BLOCKS
    user_pages = int(CHANNELS * CHIPS * blocks * PAGES * USER)
    keys: Keys = {
        "device.channels": CHANNELS,
        "device.chips_per_channel": CHIPS,
        "device.blocks_per_plane": blocks * (UNCOLLECTED if line == FLOOR else 1),
        "device.pages_per_block": PAGES,
        "device.user_capacity": f"{4 * user_pages} KiB",
        "gc.trigger": {"policy": "free-blocks", "soft": 8, "hard": 0},
        "precondition.fill": FILL,
        "precondition.overwrite": 2.0,
        "metrics.interval": "0 s",
        **ORDER_KEYS[order],
        **LINES[line],
    }
    return Scheme(f"{line}, {order}", PRESET, keys)


def workload_of(name: str, quick: bool) -> Workload:
    """Requests of a workload; their seed is that of the run."""
    keys = {
        **WORKLOADS[name],
        "host.mode": "open",
        "workload.span": FILL,
        "workload.requests": QUICK_REQUESTS if quick else REQUESTS,
        "workload.arrival.interval": f"{INTERVALS_US[name]} us",
    }
    return Workload(name, "synthetic", keys)


def raid_beyond(
    *,
    quick: bool = False,
    jobs: int | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> RaidBeyond:
    """Run every line on all workloads and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """
    cells = {
        Cell(workload_of(name, quick), scheme_of(order, line, quick), seed): (
            order,
            name,
            line,
            seed,
        )
        for order in ORDERS
        for name in WORKLOADS
        for line in LINES
        for seed in seeds(quick)
    }
    study = made(
        RaidBeyond, lambda _: cells, quick=quick, jobs=jobs, on=on, out=out, progress=progress
    )
    write_results(study.folder, to_json(study), page(study), markdown(study))
    return study


def verdict(study: RaidBeyond) -> list[str]:
    """The outcome, in words."""
    lines = []
    parts_of = {}
    for order, title in ORDERS.items():
        parts_of[order, BOTH] = title
        if order in ALSO:
            parts_of[order, QUEUES_IDLE] = f"{title}, with queues compared and turns of idle chips"
    parts_of[SUSPENDED, PLAIN] = f"{ORDERS[SUSPENDED]}, without either rule"
    for (order, line), title in parts_of.items():
        results = {name: study.is_reached(order, name, line) for name in WORKLOADS}
        parts = [
            f"{words} on {_listed([name for name in results if results[name] is answer])}"
            for words, answer in (("reached", True), ("missed", False), ("undecided", None))
            if answer in results.values()
        ]
        lines.append(f"{title}. At most {AIM:g} times is {', '.join(parts)}.")
    return lines


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _number(value: Estimate | None) -> str:
    """A mean and the half width of its interval."""
    if value is None:
        return "–"
    digits = 2 if value.mean < 10 else 0
    width = "" if value.ci95 is None else f" ± {value.ci95:,.{digits}f}"
    return f"{value.mean:,.{digits}f}{width}"


def _ratio(ratio: Ratio | None) -> str:
    """A ratio and its interval."""
    if ratio is None:
        return "–"
    ends = (
        "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    )
    return f"{ratio.ratio:.2f}{ends}"


HEADS = ("", *MEASURES, "p99.9 of reads over that without collection")


def _rows(study: RaidBeyond, order: str, workload: str) -> list[tuple[str, list[str]]]:
    return [
        (
            line,
            [
                *(_number(study.mean(order, workload, line, measure)) for measure in MEASURES),
                _ratio(study.ratio(order, workload, line)),
            ],
        )
        for line in LINES
    ]


SHORT = {
    "read mean/p99/p99.9, us": ("read mean, us", "read p99, us", READ_TAIL),
    "write mean/p99/p99.9, us": ("write mean, us", "write p99, us", "write p99.9, us"),
}
"""Columns of the Markdown page that hold several measures."""
ALSO: dict[str, dict[str, str]] = {
    FIFO: {},
    READS_FIRST: {OPEN: "ratio, nothing closed", SUSPENDED: "ratio, suspension"},
}
"""Tables of the Markdown page, and the other parts whose ratios they have in columns of their own.
"""


def _short(study: RaidBeyond, order: str, workload: str, line: str) -> list[str]:
    """A row of the Markdown page."""

    def mean(measure: str, digits: int = 0) -> str:
        value = study.mean(order, workload, line, measure)
        return "–" if value is None else f"{value.mean:,.{digits}f}"

    times = ["/".join(map(mean, measures)) for measures in SHORT.values()]
    ratios = [
        "1" if line == FLOOR else _ratio(study.ratio(shown, workload, line))
        for shown in (order, *ALSO[order])
    ]
    return [*times, mean("WAF", 2), mean("reads computed"), *ratios]


def page(study: RaidBeyond) -> str:
    """The page as HTML."""
    texts = "".join(f"<p>{prose(text)}</p>" for text in verdict(study))
    sections = [Section("reached", "Outcome", texts + warnings_box(study.remarks()))]
    for order, title in ORDERS.items():
        tables = "".join(
            html_table(list(HEADS), _rows(study, order, name), name) for name in WORKLOADS
        )
        sections.append(Section(order, title, tables))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def to_json(study: RaidBeyond) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {
            "order": order,
            "workload": workload,
            "line": line,
            "seed": seed,
            **{name: measure(report) for name, measure in MEASURES.items()},
        }
        for (order, workload, line, seed), report in study.reports.items()
    ]
    return json_of(study, verdict(study), runs)


_ARRIVALS = ", ".join(f"{us} us ({name})" for name, us in INTERVALS_US.items())
ABOUT = (
    "A read can avoid a chip that collects if chips form parity groups: its page is"
    " computed from the others of its group (`raid.reads`). That works for every read if never more"
    " than one chip of a group collects (`rotating`). The aim: with both, p99.9 of reads is at most"
    f" {AIM:g} times that of the same drive and requests without any collection. Published by"
    f" others: {PUBLISHED}.",
    f"The drive is `{PRESET}` on {CHANNELS * CHIPS} chips in groups of 8: read 25 us, program 200"
    " us, erase 1.5 ms; a chip that collects does nothing else until the block is erased. 68 % of"
    " the flash is live. Without collection the same drive has six times the blocks, which no"
    " run uses up. Synthetic requests arrive at half the rate that the slower drive, `rotating`,"
    f" sustains: on average every {_ARRIVALS}. Uniform and Zipf requests are 70 % reads. Drive,"
    " load and workloads were chosen before both rules were run together, see"
    " `lab/ssdlab_lab/reproduce/raid_beyond.py`.",
    "The ratio is p99.9 of reads over that without collection: the geometric mean over seeds, with"
    " its 95 % interval. The aim is reached if the upper end is within it, and undecided if the"
    f" interval contains {AIM:g}. Other numbers are means over seeds, with intervals in"
    " `report.html`.",
)
AFTERWARDS = (
    "This order was not part of the first choice. In the order of the preset, reads with both"
    " rules still met a queue: writes that have waited for the collection of their chip run when"
    " it ends, and reads that arrive then wait behind them. If that is the reason, the tail must"
    " vanish when reads go before all other operations of their chip. If reads waited for"
    " collection itself, the order would change nothing: a chip that collects is closed to all. So"
    " all lines were run again, that without collection too, with"
    ' `sched.order = "read-first"`.',
    "The last two columns tell what suspension leaves to gain. Operations of the serial model"
    " cannot be suspended, and a read that is closed out suspends nothing. So all lines were run"
    ' once more in the pipelined model with `gc.blocking = "none"` (nothing closed), and then with'
    ' `timing.suspend = "both"` too (suspension). Each ratio is to the drive without collection'
    " under the same keys.",
)
LEFT = (
    "An earlier version of the simulator sent a read to a chip that collects if an update held the"
    " lock of its group. Updates keep the lock while they wait for room, which is long in the"
    " bursts of RocksDB: with reads first the ratio there was 3.1. Now a reconstruction runs beside"
    " an update that has begun, and the update commits after it.",
    "With operations first come, first served, the ratios that are missed come from moments in"
    " which two chips of a group are slow: one collects, and the one before it works off the"
    " operations that have waited. No read avoids both. So comparing queues alone"
    ' (`raid.reads = "shortest-queue"`) hardly helps, and on RocksDB it makes the ratio worse: a'
    " read that leaves a queue may wait where the next collection begins. With `idle` a turn begins"
    " on a chip without operations of the host, and ends when those that came meanwhile have been"
    " served. Together with queues compared, the aim is then reached in every order.",
    "Writes pay: under `rotating` a chip waits for its turn even at its reserve, and p99.9 of"
    " writes rises where the load is even. With `idle` it falls to about a third, since a chip"
    " serves what has waited before it collects another block.",
    "Suspension leaves neither rule anything to gain. In a drive whose collection closes nothing,"
    " the plain line has 5.9 to 6.7 times the p99.9 of reads without collection (1.4 to 1.5 ms,"
    " about an erase), and both rules have 1.00 to 1.14 times. With suspension the plain line is"
    " at 1.00 to 1.07 (52 to 95 us). Both rules are then at 1.02 to 1.30, and above the plain line"
    " on MongoDB and RocksDB; why was not examined.",
)


def markdown(study: RaidBeyond) -> str:
    """The page as Markdown."""
    lines = ["<!-- Written by `ssdlab reproduce raid-beyond`. -->", "", f"# {TITLE}", ""]
    lines += [
        text
        for paragraph in (*ABOUT, *verdict(study), *study.remarks())
        for text in (paragraph, "")
    ]
    for order, also in ALSO.items():
        heads = ("workload, line", *SHORT, "WAF", "reads computed", "ratio", *also.values())
        lines += [f"## {ORDERS[order]}", ""]
        if order == READS_FIRST:
            lines += [text for paragraph in AFTERWARDS for text in (paragraph, "")]
        lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for name in WORKLOADS:
            for line in LINES:
                lines.append(f"| {name}, {line} | {' | '.join(_short(study, order, name, line))} |")
        lines.append("")
    lines += ["## What is left", ""]
    lines += [text for paragraph in LEFT for text in (paragraph, "")]
    lines.append(study.provenance("ssdlab reproduce raid-beyond"))
    return "\n".join(lines).rstrip() + "\n"
