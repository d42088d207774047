"""Invalidation-rate GC. Electronics 2023, 12(9), 2142.

Baselines: the conventional scheme (every block that is 70 % invalid is collected when the used
space reaches 70 %, in list order) on the plane-blocking framework (PBGC) and on the block-blocking
one (BBGC). The paper compares its scheme with BBGC and does not say on which framework it runs:
here on BBGC. Results on PBGC are withdrawn: see the notes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ssdlab.html.plot import Axis, Figure
from ssdlab.reproduce.claims import (
    Claim,
    Finding,
    Judge,
    Most,
    found,
    half_of,
    improved,
    listed,
    most,
)
from ssdlab.reproduce.curves import gauge, largest_drop, over_time, rise, series_of
from ssdlab.reproduce.matrix import Cell, Results, Scheme, Source
from ssdlab.reproduce.paper import (
    GC_FIRST,
    Flash,
    Paper,
    Recording,
    Scale,
    load_of,
    published,
    workloads_of,
)
from ssdlab.reproduce.requests import requests_of, shares_invalid, table_3
from ssdlab.reproduce.tables import (
    KINDS,
    Measure,
    Measured,
    Measures,
    Number,
    Row,
    Table,
    improvements,
    max_ms,
    mean_ms,
)
from ssdlab.results.report import Report

NAME = "invalidation-rate"
WORKLOADS = ("Cassandra", "MongoDB", "MySQL", "RocksDB", "Dbench", "SQLite")
FLASH = Flash(planes=16, blocks=512, pages=128, units=16, read_us=25, write_us=230)
PBGC, BBGC, PROPOSED = "PBGC", "BBGC", "Proposed"
IN_TURN, PROPOSED_IN_TURN = "BBGC in turn", "Proposed in turn"
SCHEMES: dict[str, tuple[str, dict[str, object]]] = {
    BBGC: ("invalidation-rate-conventional-bbgc", GC_FIRST),
    PROPOSED: ("invalidation-rate-bbgc", GC_FIRST),
    IN_TURN: ("invalidation-rate-conventional-bbgc", {}),
    PROPOSED_IN_TURN: ("invalidation-rate-bbgc", {}),
}
"""Presets and keys. The published latencies of BBGC are nearly those of PBGC: collection does not
give way to the host there; "in turn" it does: first come, first served."""
INTERVALS_US = {
    "Cassandra": 483.0,
    "MongoDB": 140.0,
    "MySQL": 256.0,
    "RocksDB": 312.0,
    "Dbench": 116.0,
    "SQLite": 37.4,
}
"""Mean times between synthetic requests, which the paper does not give; with these the mean write
latency of BBGC is the published one (`python -m ssdlab.reproduce.calibrate`)."""
MEAN, MAX = "table4_mean_latency_ms", "table5_max_latency_ms"
OPS = ("read", "write")
HELD = 72.0
"""Used space in percent up to which it is held just below 70."""
LITTLE = 5.0
"""Percent of change that "no significant impact" allows."""


def schemes(scale: Scale, names: Sequence[str]) -> list[Scheme]:
    """Those called `names`, at this scale."""
    return [
        Scheme(name, preset, {**FLASH.keys(scale), **keys})
        for name, (preset, keys) in SCHEMES.items()
        if name in names
    ]


def _cells(scale: Scale, names: Sequence[str], traces: Mapping[str, Recording]) -> list[Cell]:
    several = workloads_of(NAME, FLASH, scale, names, traces, INTERVALS_US)
    return [Cell(workload, scheme) for workload in several for scheme in schemes(scale, [*SCHEMES])]


def _calls(report: Report) -> Number:
    return float(report.gc.calls)


def _waf(report: Report) -> Number:
    return report.waf.total


def _tables(results: Results, names: Sequence[str]) -> list[Table]:
    made, columns = Measured(results, names), tuple(names)

    def bars(key: str, title: str, unit: str, measure: Measure) -> Table:
        rows = tuple(made.row(scheme, scheme, measure) for scheme in SCHEMES)
        return Table(key, title, unit, columns, rows, "The paper shows bars without values.")

    return [
        _table_1(results, names),
        *table_3(made, NAME, BBGC),
        *compared(results, names),
        bars("figure7", "Figure 7: GC calls", "calls", _calls),
        bars("figure8", "Figure 8: write amplification", "WAF", _waf),
    ]


def compared(results: Results, names: Sequence[str]) -> list[Table]:
    """Tables 4 and 5."""
    made, columns = Measured(results, names), tuple(names)
    return [
        *_latencies(made, columns, MEAN, "Table 4: mean latency", mean_ms),
        *_latencies(made, columns, MAX, "Table 5: longest latency", max_ms),
    ]


def _latencies(
    made: Measured, columns: tuple[str, ...], table: str, title: str, how: Measures
) -> list[Table]:
    tables = []
    for op in OPS:
        measure, of = how(op), f"{table}.{op}"
        rows = [
            made.row(scheme, scheme, measure, published(NAME).row(of, scheme.lower(), columns))
            for scheme in (BBGC, PROPOSED)
        ]
        withdrawn = published(NAME).row(of, PBGC.lower(), columns)
        rows.insert(0, Row(f"{PBGC} (results withdrawn)", withdrawn, {}))
        rows += [made.row(other, other, measure) for other in (IN_TURN, PROPOSED_IN_TURN)]
        numbers = published(NAME).row(of, "improvement_over_bbgc_percent", columns)
        label = "improvement over BBGC, %"
        rows.append(made.better(label, PROPOSED, [BBGC], measure, numbers))
        name, kind = f"{title}, {op}s", KINDS[how]
        tables.append(Table(f"{table[:6]}-{op}", name, "ms", columns, tuple(rows), kind=kind))
    return tables


def _table_1(results: Results, names: Sequence[str]) -> Table:
    """Shares of the blocks written that become invalid when none is collected."""
    ours: dict[Source, list[list[Number]]] = {source: [] for source in results.sources}
    for source, lists in ours.items():
        for name in names:
            report = results.get(name, source, BBGC)
            lists.append([None, None] if report is None else _invalid(report))
    rows = [
        Row(
            f"{percent} % invalid",
            published(NAME).row("table1_percent_of_blocks", f"invalid_{percent}", names),
            {source: tuple(one[i] for one in lists) for source, lists in ours.items()},
        )
        for i, percent in enumerate((70, 90))
    ]
    note = (
        "Share of all blocks written, if none is ever collected, that are at least this invalid"
        " after the last request (of a recorded trace: after one pass)."
    )
    return Table(
        "table1", "Table 1: invalid blocks", "% of blocks", tuple(names), tuple(rows), note
    )


@lru_cache
def _invalid(report: Report) -> list[Number]:
    pages = report.config["device.pages_per_block"]
    return shares_invalid(requests_of(report), FLASH.planes, pages, (0.7, 0.9))


def _figures(results: Results, names: Sequence[str]) -> list[Figure]:
    schemes = (BBGC, PROPOSED)
    used = [(scheme, scheme, gauge("used_pages")) for scheme in schemes]
    text = "Pages that are not erased, at the end of each sample period."
    axis = Axis("used pages", "count")
    drawn = [
        over_time(results, "figure5", "Figure 5: used space", text, axis, name, source, used)
        for name in names
        for source in results.sources
        if results.get(name, source, BBGC) is not None
    ]
    if "RocksDB" in names:
        parts = [
            ("pages read", BBGC, rise("host_pages_read")),
            ("pages written", BBGC, rise("host_pages_written")),
            ("pages moved by BBGC", BBGC, rise("gc_programs")),
            ("pages moved by the proposed scheme", PROPOSED, rise("gc_programs")),
        ]
        drawn.append(
            over_time(
                results,
                "figure6",
                "Figure 6: accesses and collection",
                "Pages in each sample period.",
                Axis("pages", "count"),
                "RocksDB",
                "synthetic",
                parts,
            )
        )
    return drawn


def _better(
    results: Results, source: Source, names: Sequence[str], measure: Measure
) -> list[Number]:
    return improvements(results, source, names, PROPOSED, [BBGC], measure)


def _largest(table: str, op: str, names: Sequence[str]) -> list[Most]:
    """The largest published gain of an operation."""
    return most(
        f"{op}s",
        published(NAME).row(f"{table}.{op}", "improvement_over_bbgc_percent", names),
        names,
    )


def _up_to(how: Measures, several: Sequence[Most]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        gains = [
            _better(results, source, [one.workload], how(one.kind.removesuffix("s")))[0]
            for one in several
        ]
        return half_of(several, gains)

    return judge


def _fewer(measure: Measure, names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        values = _better(results, source, names, measure)
        return improved(values, names, lambda known: min(known) > 0)

    return judge


def _rocksdb(results: Results, source: Source) -> Finding:
    values = [value for op in OPS for value in _better(results, source, ["RocksDB"], mean_ms(op))]
    return improved(values, OPS, lambda known: max(map(abs, known)) <= LITTLE)


def _cassandra(results: Results, source: Source) -> Finding:
    (value,) = _better(results, source, ["Cassandra"], mean_ms("write"))
    return found(None if value is None else value < 0, listed(["Cassandra"], [value]))


def used_percent(report: Report) -> Number:
    """Largest used space in the run, percent of all pages."""
    series = series_of(report)
    pages = report.device.physical_pages
    return None if series is None else 100 * float(series["used_pages"].max()) / pages


def _held(names: Sequence[str]) -> Judge:
    """Largest fall of the used space in an interval against that of BBGC, and its largest value."""

    def judge(results: Results, source: Source) -> Finding:
        ratios: list[Number] = []
        most: list[Number] = []
        for name in names:
            both = []
            for scheme in (PROPOSED, BBGC):
                series = series_of(results.get(name, source, scheme))
                both.append(None if series is None else largest_drop(series["used_pages"]))
            mine, theirs = both
            ratios.append(None if mine is None or not theirs else mine / theirs)
            report = results.get(name, source, PROPOSED)
            most.append(None if report is None else used_percent(report))
        falls = [value for value in ratios if value is not None]
        used = [value for value in most if value is not None]
        holds = max(falls) <= 0.5 and max(used) <= HELD if falls and used else None
        return found(holds, f"falls: {listed(names, ratios)}; used: {listed(names, most)} %")

    return judge


def _table_1_claim(results: Results, source: Source) -> Finding:
    table = _table_1(results, results.workloads)
    values = [row.ours.get(source, ()) for row in table.rows]
    shares = [
        100 * further / first if first and further is not None else None
        for first, further in zip(*values, strict=True)
    ]
    return improved(shares, table.columns, lambda known: min(known) >= 50.0)


def _claims_up_to(names: Sequence[str]) -> list[Claim]:
    """The largest gains of tables 4 and 5, each of its own workload."""
    half = "over BBGC in percent; holds if at least half of the published one"
    longest = [one for op in OPS for one in _largest(MAX, op, names)]
    return [
        *(
            Claim(
                f"Mean {op} latency improves by up to {one}.",
                "section 5.3, table 4",
                f"improvement of that mean {half}",
                _up_to(mean_ms, [one]),
            )
            for op in OPS
            for one in _largest(MEAN, op, names)
        ),
        Claim(
            "The longest read and write latencies improve: by at least 99.3 and 99.8 % in the"
            f" text, by up to {' and '.join(map(str, longest))} in table 5.",
            "section 5.3, table 5",
            f"improvement of the longest of these requests {half}, for each",
            _up_to(max_ms, longest),
        ),
    ]


def _claims(names: Sequence[str]) -> list[Claim]:
    improvement = "improvement of the proposed scheme over BBGC in percent"
    claims = [
        Claim(
            "Most victim blocks would become far more invalid if they were left alone.",
            "section 3, table 1",
            "percentage of the blocks at least 70 % invalid that reach 90 %; holds if at least 50"
            " in every workload",
            _table_1_claim,
        ),
        Claim(
            "The proposed scheme holds the used space just below 70 %; conventional GC makes it"
            " drop.",
            "figure 5",
            "largest fall of used pages within one sample period, proposed divided by BBGC, and"
            " largest used space; holds if the former is at most one half and the latter at most"
            f" {HELD:g} % in every workload",
            _held(names),
        ),
        *_claims_up_to(names),
        Claim(
            "The number of GC calls decreases.",
            "figure 7",
            f"{improvement}, GC calls; holds if above 0 in every workload",
            _fewer(_calls, names),
        ),
        Claim(
            "Write amplification decreases.",
            "figure 8",
            f"{improvement}, WAF; holds if above 0 in every workload",
            _fewer(_waf, names),
        ),
    ]
    if "RocksDB" in names:
        claims.append(
            Claim(
                "RocksDB, with idle periods between accesses: no significant impact.",
                "section 5.3",
                f"{improvement}, mean latencies; holds if within ±{LITTLE:g}",
                _rocksdb,
            )
        )
    if "Cassandra" in names:
        claims.append(
            Claim(
                "Cassandra, largely sequential: mean writes are slower than with BBGC.",
                "section 5.3, table 4",
                f"{improvement}; holds if below 0",
                _cassandra,
            )
        )
    return claims


NOTES = """\
Synthetic requests match the statistics of table 3 (`app:NAME`, set invalidation-rate). The paper
gives no arrival rates; they are chosen so that the mean write latency of conventional GC on BBGC
is close to the published one.

BBGC: the published write latencies of the block-blocking framework are close to those of the
plane-blocking one, so in these runs collection goes first: a host request waits for the whole
burst of collections that the trigger starts. If host and collection are served first come, first
served (rows that end in *in turn*), conventional GC delays writes so little that no scheme can
improve on it by the published amount. With collection first, host reads go before host writes.

PBGC is withdrawn. With collection first, PBGC and BBGC are the same run to the last digit, because
no request comes between the steps of a collection anyway. Under the other orders they differ, but
not as published: there, mean writes are within 30 % of each other in all workloads, and mean reads
are equal in RocksDB (0.122 ms), nearly so in MongoDB (28.1 and 20.4) and 384 times apart in
Cassandra (531 and 1.38). Here, with the oldest operation first, PBGC over BBGC is 2.2 (mean reads
of Cassandra), 37 (MongoDB) and 5.3 (RocksDB), and in the longest writes 4.3, 285 and 57; with
reads first 36, 40 and 12, and 4.2, 286 and 56 (`python -m
ssdlab.reproduce.papers.invalidation_rate.frameworks`, one seed, a quarter of the device). What
lets reads pass a collection of BBGC lets writes pass it, too.

Longest writes are 0.69 to 21.3 s as published and 1.3 to 1.7 s here in all workloads. They cannot
be longer than the burst of one plane: 512 blocks, at most 70 % of them used, at 10.5 ms each, 3.8
s. Two changes could exceed that, neither of them in the text: collection that holds a whole
channel, up to four planes one after the other (15 s, less than SQLite's 21.3), or one victim at a
time in the device for the conventional scheme as well (60 s).

Most of the difference comes from how much is collected. When the trigger fires, many sealed blocks
are at least 70 % invalid, and conventional GC collects them all; how long that takes depends on
the number of blocks per plane more than on the workload. The order of victims matters less.

Two statements about workloads do not hold with synthetic requests. RocksDB: the paper finds no
impact, because accesses are regular with idle periods in between; the synthetic requests come in
bursts that coincide with collections. Cassandra: in the paper large writes suffer from collection
in small steps; here they suffer more from the same collection in one burst. Both depend on arrival
times, which the paper shows only in figures.
"""

PAPER = Paper(
    name=NAME,
    title="Invalidation-rate garbage collection, Electronics 2023, 12(9), 2142",
    flash=FLASH,
    workloads=WORKLOADS,
    proposed=PROPOSED,
    load=load_of(NAME, BBGC, f"{MEAN}.write", "bbgc", WORKLOADS),
    notes=NOTES,
    cells=_cells,
    tables=_tables,
    figures=_figures,
    claims=_claims,
)
