"""Selective copy-back in a network-on-chip controller. Electronics 2024, 13(23), 4838.

The baseline is the unconditional copy-back over the ECC engine. `decisions` lists what the paper
leaves open, and `calibration.json` what was fixed by published numbers of the baseline.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ssdlab.html.plot import Axis, Figure
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.calibration import AS_RUN, calibration_of
from ssdlab_lab.reproduce.claims import (
    Claim,
    Finding,
    Judge,
    LargestGain,
    finding,
    half_of,
    listed,
    most,
    rank_correlation,
    short,
)
from ssdlab_lab.reproduce.curves import gauge, over_time, peak_to_mean, rise, rise_of, series_of
from ssdlab_lab.reproduce.matrix import Cell, Results, Scheme, Source, Workload
from ssdlab_lab.reproduce.paper import (
    LIVE,
    MOST_BUSY,
    Flash,
    Paper,
    Recording,
    Scale,
    calibrated,
    load_of,
    published,
    recorded,
)
from ssdlab_lab.reproduce.papers.noc_copyback.decisions import DECIDED
from ssdlab_lab.reproduce.requests import table_3
from ssdlab_lab.reproduce.tables import (
    HALF_WIDTH,
    KINDS,
    Measure,
    MeasuredValues,
    Measures,
    Number,
    Row,
    Table,
    improvements,
    max_ms,
    mean_ms,
)

NAME = "noc-copyback"
WORKLOADS = ("Cassandra", "Dbench", "MySQL", "SQLite", "MongoDB", "RocksDB")
FLASH = Flash(planes=32, blocks=512, pages=64, units=8, read_us=763, write_us=938)
CONVENTIONAL, PROPOSED = "Conventional", "Proposed"
PRESETS = {CONVENTIONAL: "noc-copyback-conventional", PROPOSED: "noc-copyback"}
CHOSEN: dict[str, object] = {
    "sched.order": "round-robin",
    "gc.amount": "all-candidates",
    "gc.window": 8,
    "controller.buffers": 8,
}
"""Keys that override those of the presets; see `noc_copyback.decisions`."""
SEEDS = 5
"""Each draws different requests and page errors."""
Trials: TypeAlias = "Callable[[Sequence[float]], float]"
"""Statistic over several seeds."""
BIN_S = 10.0
"""Seconds of a bin in which writes are counted; their peak-to-mean ratio shows how irregular
requests are.
"""
OPS = ("read", "write")
MEAN, MAX = "table4_mean_latency_ms", "table5_max_latency_ms"
CHANNELS = (4, 16)
BLOCK_PAGES = (128, 256)
VARIED = ("Dbench", "MySQL")
"""Workloads on which geometries are varied."""


def schemes(scale: Scale, note: str = "", keys: Mapping[str, object] | None = None) -> list[Scheme]:
    """Both schemes, with `note` appended to their names and `keys` overriding theirs."""
    return [
        Scheme(name + note, preset, {**FLASH.keys(scale), **CHOSEN, **(keys or {})})
        for name, preset in PRESETS.items()
    ]


def variations(scale: Scale) -> dict[str, dict[str, object]]:
    """Geometries of the same capacity, by name."""
    blocks = FLASH.blocks // scale.divisor
    geometries: dict[str, dict[str, object]] = {
        f", {channels} channels": {
            "device.channels": channels,
            "device.blocks_per_plane": blocks * 8 // channels,
        }
        for channels in CHANNELS
    }
    long_blocks: dict[str, dict[str, object]] = {
        f", {pages} pages": {
            "device.pages_per_block": pages,
            "device.blocks_per_plane": blocks * FLASH.pages // pages,
        }
        for pages in BLOCK_PAGES
    }
    return {**geometries, **long_blocks}


def requested(name: str, scale: Scale) -> Workload:
    """The calibrated requests of a workload."""
    base = next(scheme for scheme in schemes(scale) if scheme.name == CONVENTIONAL)
    entry = calibration_of(NAME).keys(base, scale.divisor, AS_RUN, name)
    return calibrated(name, PAPER, scale, *entry)


def seeds(scale: Scale) -> range:
    """Seeds of the main runs."""
    return range(1, (2 if scale.quick else SEEDS) + 1)


def _cells(scale: Scale, names: Sequence[str], traces: Mapping[str, Recording]) -> list[Cell]:
    cells = []
    for name in names:
        workload = requested(name, scale)
        cells += [
            Cell(workload, scheme, seed) for scheme in schemes(scale) for seed in seeds(scale)
        ]
        if name in VARIED:
            for note, keys in variations(scale).items():
                cells += [Cell(workload, scheme) for scheme in schemes(scale, note, keys)]
    for name, trace in traces.items():
        workload = recorded(name, trace, FLASH, scale)
        cells += [Cell(workload, scheme) for scheme in schemes(scale)]
    return cells


def compared(results: Results, names: Sequence[str]) -> list[Table]:
    """Tables 4 and 5."""
    measured, columns = MeasuredValues(results, names), tuple(names)
    return [
        *_latencies(measured, columns, MEAN, "Table 4: mean latency", mean_ms),
        *_latencies(measured, columns, MAX, "Table 5: longest latency", max_ms),
    ]


def _latencies(
    measured: MeasuredValues, columns: tuple[str, ...], table: str, title: str, measure_of: Measures
) -> list[Table]:
    tables = []
    for op in OPS:
        measure, key = measure_of(op), f"{table}.{op}"
        rows = [
            measured.row(scheme, scheme, measure, published(NAME).row(key, scheme.lower(), columns))
            for scheme in PRESETS
        ]
        numbers = published(NAME).row(key, "improvement_percent", columns)
        rows.append(measured.better("improvement, %", PROPOSED, [CONVENTIONAL], measure, numbers))
        rows.append(measured.half_width(HALF_WIDTH, PROPOSED, [CONVENTIONAL], measure))
        name, kind = f"{title}, {op}s", KINDS[measure_of]
        tables.append(Table(f"{table[:6]}-{op}", name, "ms", columns, tuple(rows), kind=kind))
    return tables


def _over_trials(
    statistic: Trials,
    results: Results,
    name: str,
    source: Source,
    measure: Measure,
) -> Number:
    values = [measure(report) for report in results.seeds(name, source, PROPOSED)]
    available = [value for value in values if value is not None]
    return statistic(available) if len(available) > 1 else None


def _table_6(results: Results, names: Sequence[str]) -> Table:
    table = "table6_standard_deviation_over_5_trials_ms"

    def row(label: str, numbers: Sequence[Number], kind: Trials, measure: Measure) -> Row:
        ours = {
            source: tuple(
                _times_1000(_over_trials(kind, results, name, source, measure)) for name in names
            )
            for source in results.sources
        }
        return Row(label, tuple(map(_times_1000, numbers)), ours)

    rows = []
    for op in OPS:
        for name, measure_of in (("mean", mean_ms), ("max", max_ms)):
            part = f"{table}.read" if op == "read" else table
            numbers = published(NAME).row(part, f"{name}_{op}", names)
            rows.append(row(f"{name} {op}", numbers, statistics.stdev, measure_of(op)))
    for op in OPS:
        for name, measure_of in (("mean", mean_ms), ("max", max_ms)):
            blanks = (None,) * len(names)
            rows.append(
                row(f"{name} {op}, mean over seeds", blanks, statistics.mean, measure_of(op))
            )
    title = "Table 6: standard deviation over trials"
    return Table("table6", title, "us", tuple(names), tuple(rows))


def _times_1000(value: Number) -> Number:
    return None if value is None else 1000 * value


def _moved(report: Report) -> Number:
    return float(report.gc.pages_moved)


def _tables(results: Results, names: Sequence[str]) -> list[Table]:
    measured, columns = MeasuredValues(results, names), tuple(names)
    copies = tuple(measured.row(scheme, scheme, _moved) for scheme in PRESETS)
    note = "The paper shows bars without values."
    return [
        *table_3(measured, NAME, CONVENTIONAL),
        *compared(results, names),
        _table_6(results, names),
        Table("figure8", "Figure 8: copy-backs", "pages", columns, copies, note),
        _geometries(results, names),
    ]


def _geometries(results: Results, names: Sequence[str]) -> Table:
    """The outlook of section 5, which the paper does not measure."""
    swept = tuple(name for name in VARIED if name in names)
    measured = MeasuredValues(results.only(1), swept)  # the others have one seed
    notes = ["", *variations(Scale(quick=False))]
    rows = tuple(
        measured.better(
            note.removeprefix(", ") or "8 channels, 64 pages",
            PROPOSED + note,
            [CONVENTIONAL + note],
            mean_ms("write"),
        )
        for note in notes
    )
    title = "Section 5: improvement of the mean write in other geometries"
    return Table(
        "geometries", title, "%", swept, rows, ("The paper states an expectation, without values.")
    )


def _figures(results: Results, names: Sequence[str]) -> list[Figure]:
    figures: list[Figure] = []
    accesses = [
        ("reads", PROPOSED, rise("host_reads_completed")),
        ("writes", PROPOSED, rise("host_writes_completed")),
    ]
    load = [
        ("host requests", PROPOSED, rise_of("host_reads_completed", "host_writes_completed")),
        ("pages copied", PROPOSED, rise("gc_programs")),
        ("pending, conventional", CONVENTIONAL, gauge("pending_requests")),
        ("pending, proposed", PROPOSED, gauge("pending_requests")),
    ]
    count = Axis("per sample period", "count")
    for name in names:
        figures.append(
            over_time(
                results, "figure6", "Figures 6 and 9: host requests",
                "Requests completed per sample period.", count, name, "synthetic", accesses,
            )
        )  # fmt: skip
        figures.append(
            over_time(
                results, "figure7", "Figure 7: host, GC and pending",
                "Requests and copies per sample period; requests pending at its end.",
                count, name, "synthetic", load,
            )
        )  # fmt: skip
    return figures


def _gains(
    results: Results, source: Source, names: Sequence[str], measure: Measure, note: str = ""
) -> list[Number]:
    bases = [CONVENTIONAL + note]
    return improvements(results, source, names, PROPOSED + note, bases, measure)


def _largest(table: str, ops: Sequence[str], names: Sequence[str]) -> list[LargestGain]:
    """The largest published gain of each operation."""
    percents = {
        op: published(NAME).row(f"{table}.{op}", "improvement_percent", names) for op in ops
    }
    return [claim for op in ops for claim in most(f"{op}s", percents[op], names)]


def _up_to(measure_of: Measures, claims: Sequence[LargestGain]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        gains = [
            _gains(results, source, [claim.workload], measure_of(claim.kind.removesuffix("s")))[0]
            for claim in claims
        ]
        return half_of(claims, gains)

    return judge


def _everywhere(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        gains = {op: _gains(results, source, names, mean_ms(op)) for op in OPS}
        available = [
            gain for gains_of_op in gains.values() for gain in gains_of_op if gain is not None
        ]
        numbers = "; ".join(f"{op}s: {listed(names, values)}" for op, values in gains.items())
        return finding(min(available) > 0 if available else None, numbers)

    return judge


def _irregular(measure_of: Measures, names: Sequence[str]) -> Judge:
    """Rank correlation of gain with peak-to-mean of the requests, without RocksDB."""

    def judge(results: Results, source: Source) -> Finding:
        names_left = [name for name in names if name != "RocksDB"]
        gains, peaks, rated = [], [], []
        for name, gain in zip(
            names_left, _gains(results, source, names_left, measure_of("write")), strict=True
        ):
            series = series_of(results.get(name, source, PROPOSED))
            peak = None if series is None else peak_to_mean(series, "host_writes_completed", BIN_S)
            if gain is not None and peak is not None:
                rated.append(name)
                gains.append(gain)
                peaks.append(peak)
        rho = rank_correlation(peaks, gains)
        if rho is None:
            return finding(None, "fewer than three workloads")
        verdict = True if rho >= 0.5 else False if rho <= 0 else None
        numbers = (
            f"rho {rho:.2f}; peak to mean: {listed(rated, peaks)}; gain %: {listed(rated, gains)}"
        )
        return finding(verdict, numbers)

    return judge


def _rocksdb_copies(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        row = MeasuredValues(results, names).row("", CONVENTIONAL, _copies_per_page)
        values = row.ours.get(source, ())
        by_name = dict(zip(names, values, strict=False))
        rocksdb = by_name.pop("RocksDB", None)
        remaining = [value for value in by_name.values() if value is not None]
        holds = None if rocksdb is None or not remaining else rocksdb <= min(remaining) / 2
        return finding(holds, listed(names, values) if values else "")

    return judge


def _copies_per_page(report: Report) -> Number:
    pages_written = report.host.pages_written
    return report.gc.pages_moved / pages_written if pages_written else None


def _sqlite_mysql(results: Results, source: Source) -> Finding:
    names = ("SQLite", "MySQL")
    copies = (
        MeasuredValues(results, names).row("", CONVENTIONAL, _moved).ours.get(source, (None, None))
    )
    gains = _gains(results, source, names, mean_ms("write"))
    if None in (*copies, *gains):
        return finding(None, "one of them is missing")
    has_more_copies = (copies[0] or 0) > (copies[1] or 0)
    numbers = f"copies: {listed(names, copies)}; gain %: {listed(names, gains)}"
    return finding(has_more_copies and (gains[0] or 0) <= (gains[1] or 0), numbers)


def _cassandra(results: Results, source: Source) -> Finding:
    gains = [_gains(results, source, ["Cassandra"], mean_ms(op))[0] for op in OPS]
    read, write = gains
    holds = None if read is None or write is None else write > read
    return finding(holds, listed(OPS, gains))


def _deviations(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        numbers, holds = [], []
        for name in names:
            report = results.get(name, source, PROPOSED)
            mean = None if report is None else mean_ms("write")(report)
            of_mean = _over_trials(statistics.stdev, results, name, source, mean_ms("write"))
            of_longest = _over_trials(statistics.stdev, results, name, source, max_ms("write"))
            if mean and of_mean is not None and of_longest is not None:
                numbers.append(f"{name} {short(1000 * of_mean)} and {short(1000 * of_longest)}")
                holds.append(of_mean <= min(0.05 * mean, of_longest))
        return finding(all(holds) if holds else None, ", ".join(numbers))

    return judge


def _geometry(notes: Sequence[str], names: Sequence[str], grows: bool) -> Judge:
    """Whether the gain in mean writes rises (or falls) along the geometries `notes`."""

    def judge(results: Results, source: Source) -> Finding:
        numbers, verdicts = [], []
        first_results = results.only(1)  # as the other geometries
        for name in names:
            write = mean_ms("write")
            gains = [
                gain
                for note in notes
                for gain in _gains(first_results, source, [name], write, note)
            ]
            available = [gain for gain in gains if gain is not None]
            if len(available) == len(notes):
                steps = itertools.pairwise(available)
                verdicts.append(all((b > a) == grows for a, b in steps))
                numbers.append(f"{name}: {' → '.join(map(short, available))}")
        return finding(all(verdicts) if verdicts else None, "; ".join(numbers) or "not run")

    return judge


def _outlook(names: Sequence[str]) -> list[Claim]:
    """What section 5 expects of other geometries."""
    gain = "improvement of mean writes over the conventional scheme in percent"
    swept = [name for name in VARIED if name in names]
    return [
        Claim(
            "With more channels the gain grows.",
            "section 5",
            f"{gain} with 4, 8 and 16 channels at the same capacity; holds if it rises",
            _geometry([", 4 channels", "", ", 16 channels"], swept, grows=True),
        ),
        Claim(
            "With more pages in a block the gain shrinks.",
            "section 5",
            f"{gain} with 64, 128 and 256 pages per block; holds if it falls",
            _geometry(["", ", 128 pages", ", 256 pages"], swept, grows=False),
        ),
    ]


def _claims_up_to(names: Sequence[str]) -> list[Claim]:
    """The largest gains of tables 4 and 5, each of its own workload."""
    half = "over the conventional scheme in percent; holds if at least half of the published one"
    mean, longest = _largest(MEAN, ["write"], names), _largest(MAX, OPS, names)
    return [
        *(
            Claim(
                f"Mean latency improves by up to {claim}.",
                "section 4.3, table 4",
                f"improvement of that mean {half}",
                _up_to(mean_ms, [claim]),
            )
            for claim in mean
        ),
        Claim(
            f"Peak latency improves by up to {' and '.join(map(str, longest))}.",
            "section 4.3, table 5",
            f"improvement of the longest of these requests {half}, for each",
            _up_to(max_ms, longest),
        ),
    ]


def _claims(names: Sequence[str]) -> list[Claim]:
    return [
        Claim(
            "Mean latency improves in every workload.",
            "table 4",
            "improvement of mean reads and writes over the conventional scheme in percent; holds"
            " if above 0 in every workload",
            _everywhere(names),
        ),
        *_claims_up_to(names),
        Claim(
            "The more irregular the requests, the larger the gain in mean latency.",
            "section 4.3, figures 6 and 7",
            "Spearman's rank correlation of the gain with the peak-to-mean ratio of the writes"
            f" completed per {BIN_S:g} s, without RocksDB; holds from 0.5, does not hold at 0 or"
            " below",
            _irregular(mean_ms, names),
        ),
        Claim(
            "The more irregular the requests, the larger the gain in peak latency.",
            "section 4.3, table 5",
            "the same with the gain in the longest write",
            _irregular(max_ms, names),
        ),
        Claim(
            "RocksDB copies far less than the others.",
            "figure 8",
            "pages copied per page written by the host; holds if RocksDB has at most half of the"
            " next lowest",
            _rocksdb_copies(names),
        ),
        Claim(
            "More copies do not mean more gain: SQLite copies more than MySQL and gains no more.",
            "section 4.3, figure 8",
            "pages copied and gain in mean writes of both; holds if SQLite has more copies and no"
            " more gain",
            _sqlite_mysql,
        ),
        Claim(
            "In Cassandra writes gain more than reads.",
            "section 4.3, figure 9",
            "improvement of both means in percent; holds if larger for writes",
            _cassandra,
        ),
        Claim(
            "Mean latencies hardly vary over trials; peaks vary more.",
            "table 6",
            "standard deviations over the seeds of the mean write and of the longest write, us;"
            " holds if the former is at most 5 % of the mean and not above the latter in every"
            " workload",
            _deviations(names),
        ),
        *_outlook(names),
    ]


NOTES = """\
Table 6: here seeds draw requests and page errors anew; in the paper trials differ in page errors
alone. Deviations here are therefore those of other requests with the same statistics.

Recorded traces keep their own arrival times, and are run with one seed: nothing in them is drawn.

An earlier evaluation had other lifetimes, fitted to the statistics of this paper alone. With them
60 % of the flash were live under RocksDB, so that its baseline copied third most, where figure 8
has it last. It had 12 of 18 directions, 6 near, and a rank correlation of 0.14. Before that, a
trial in an eighth of the device with one seed and 40 % live had all directions.
"""

CONTRADICTIONS = (
    "Table 5 and tables 1 and 2: the longest read of Cassandra falls by 50 %. In a backlog a read"
    " waits for one task of each other queue, and such a round is at most 21 % shorter on the"
    " selective path (763 + 938 + 963 us instead of 763 + 938 + 751 + 926 us).",
    "Table 4 and figure 8: RocksDB copies least, and gains 0.4 % of its mean write, but its mean"
    " write is longer (1.47 ms) than that of SQLite (1.15 ms), which copies much. Surges would"
    " explain it; the paper shows none.",
)

SETTING = (
    "The volume of each workload has the live share of its calibration and is written before the"
    " measurement, so used space starts there; the host then writes the flash as many times as the"
    " calibration says (synthetic requests), or three times (recorded traces, whose volume is"
    f" {100 * LIVE:.0f} % of the flash, more if they touch more). The recorded traces of Cassandra,"
    " RocksDB and WiredTiger (the engine of MongoDB) have a different mix from the paper's traces,"
    " most of whose writes go to a journal: they are different workloads, not replicas. They keep"
    " the arrival times of the busy machine they were recorded on, stretched if their pages alone"
    f" would keep the device busy for more than {100 * MOST_BUSY:.0f} % of the time."
)

PAPER = Paper(
    name=NAME,
    title="Selective copy-back in a network-on-chip SSD controller, Electronics 2024, 13(23), 4838",
    flash=FLASH,
    workloads=WORKLOADS,
    proposed=PROPOSED,
    load=load_of(NAME, CONVENTIONAL, f"{MEAN}.write", "conventional", WORKLOADS),
    notes=NOTES,
    cells=_cells,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    contradictions=CONTRADICTIONS,
    decided=DECIDED,
    setting=SETTING,
)
