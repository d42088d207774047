"""Deferred GC in an SSD with chip-level RAID-5. IEICE Electronics Express, 2018.

The baseline is the same device, which collects a chip at its threshold when a request waits for it.
The paper prints reductions of the response time, of the best and the worst trace and on average; it
prints no response times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ssdlab.html.plot import Figure
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.claims import (
    Claim,
    Finding,
    Judge,
    finding,
    listed,
    rank_correlation,
    short,
)
from ssdlab_lab.reproduce.matrix import Cell, Results, Scheme, Source, Workload
from ssdlab_lab.reproduce.paper import (
    REQUESTS_SEED,
    Flash,
    Paper,
    Recording,
    Scale,
    published,
)
from ssdlab_lab.reproduce.papers.deferred_gc_raid import exact, figures
from ssdlab_lab.reproduce.papers.deferred_gc_raid.decisions import DECIDED
from ssdlab_lab.reproduce.papers.deferred_gc_raid.measures import (
    MEASURES,
    NAME,
    PARTS,
    WAITING,
    copies_per_call,
    gc_programs,
    host_programs,
    mean_ms,
    part,
    raid,
    reduction,
    value,
)
from ssdlab_lab.reproduce.requests import Volume, volume_of
from ssdlab_lab.reproduce.tables import Measure, MeasuredValues, Number, Row, Table, improvements

WORKLOADS = ("hm_0", "stg_0", "src2_0", "rsrch_0", "wdev_0")
FLASH = Flash(planes=64, blocks=8192, pages=32, units=64, read_us=25, write_us=200)
RAID, DGC = "RAID-5", "RAID-5 + DGC"
PRESETS = {RAID: "deferred-gc-raid-conventional", DGC: "deferred-gc-raid"}
GROUPS = (4, 8, 16)
GROUP = 8
"""Chips of a parity group in the main runs."""
THRESHOLD = 0.05
"""Share of the blocks of a chip that are erased when it is to be collected."""
WEEK_US = 7 * 86_400e6
SAMPLES = 5_000
"""Samples of the time series of a run."""
OPS = ("all", "write", "read")
KINDS: tuple[tuple[str, str, int], ...] = (("mean", "mean response", 8), ("p99", "p99 response", 9))
"""Key of the published reductions, words, number of the figure."""
CHOSEN: dict[str, object] = {"gc.trigger.by": "write"}
"""Keys that override those of the presets; see `deferred_gc_raid.decisions`."""
PATTERN: dict[str, object] = {"workload.pattern": "msr-sample"}
WHOLE: dict[str, object] = {"workload.whole_pages": True}


def of_groups(scheme: str, group: int) -> str:
    """Name of a scheme with parity groups of this many chips."""
    return scheme if group == GROUP else f"{scheme}, groups of {group}"


def device_keys(scale: Scale, share: float = THRESHOLD) -> dict[str, object]:
    """Keys of the device of this scale, on which `share` of the blocks is the threshold."""
    blocks = FLASH.blocks // scale.divisor
    return {"device.blocks_per_plane": blocks, "gc.trigger.soft": int(share * blocks)}


def schemes(scale: Scale, group: int = GROUP) -> list[Scheme]:
    """Baseline and proposed scheme."""
    keys = {**device_keys(scale), **CHOSEN, "raid.group": group}
    return [Scheme(of_groups(name, group), preset, keys) for name, preset in PRESETS.items()]


def stand_in(name: str, scale: Scale) -> Workload:
    """The synthetic trace of a volume, shrunk as the device is."""
    count = published_requests(name)
    keys = {
        **PATTERN,
        **WHOLE,
        "workload.kind": f"msr:{name}",
        # Each of its two phases is rounded down.
        "workload.requests": count // scale.divisor - 1 if scale.divisor > 1 else count,
        "workload.seed": REQUESTS_SEED,
        **_interval(scale),
    }
    if scale.divisor > 1:
        keys["workload.shrink"] = scale.divisor
    return Workload(name, "synthetic", keys)


def published_requests(name: str) -> int:
    """Requests of a volume in the whole week."""
    (number,) = published(NAME).row("table2_traces", "requests", [name])
    assert number is not None, "table II has all traces"
    return int(number)


def _interval(scale: Scale) -> dict[str, object]:
    return {"metrics.interval": f"{round(WEEK_US / scale.divisor / SAMPLES / 1e6)} s"}


def recorded(name: str, trace: Recording, scale: Scale) -> Workload:
    """The original files, from the folder in which one of them was found."""
    keys = {
        **WHOLE,
        "workload.kind": f"msr:{name}",
        "workload.msr": str(trace.file.parent),
        "workload.sort": True,
        **_interval(scale),
    }
    return Workload(name, "recorded", keys)


def _cells(scale: Scale, names: Sequence[str], traces: Mapping[str, Recording]) -> list[Cell]:
    workloads = [stand_in(name, scale) for name in names]
    if not scale.quick:
        workloads += [recorded(name, trace, scale) for name, trace in traces.items()]
    cells = []
    for workload in workloads:
        for group in GROUPS:
            cells += [Cell(workload, scheme) for scheme in schemes(scale, group)]
    return cells


# Tables.

Filled: TypeAlias = "tuple[Number, ...]"


def compared(results: Results, names: Sequence[str]) -> list[Table]:
    """Figures 8 and 9, and the averages that the text gives."""
    measured, columns = MeasuredValues(results, names), tuple(names)
    tables = []
    for kind, words, figure in KINDS:
        for op in OPS:
            measure = MEASURES[kind](op)
            rows = [measured.row(scheme, scheme, measure) for scheme in PRESETS]
            numbers = reduction(kind, op).row(columns)
            rows.append(measured.better("reduction, %", DGC, [RAID], measure, numbers))
            title = f"Figure {figure}: {words}, {'all' if op == 'all' else f'{op}s'}"
            key = f"figure{figure}-{op}"
            tables.append(Table(key, title, "ms", columns, tuple(rows)))
    return [*tables, _averages(results, names)]


def _averages(results: Results, names: Sequence[str]) -> Table:
    columns, numbers = [], []
    ours: dict[Source, list[Number]] = {source: [] for source in results.sources}
    for kind, _, _ in KINDS:
        for op in OPS:
            columns.append(f"{kind} {op}")
            numbers.append(reduction(kind, op).average if set(names) == set(WORKLOADS) else None)
            for source, values in ours.items():
                values.append(average(gains(results, source, names, MEASURES[kind](op))))
    row = Row("reduction, %", tuple(numbers), {s: tuple(v) for s, v in ours.items()}, 0.0)
    note = (
        "Mean of the reductions of the traces; published numbers are those of all five. In the"
        " score its columns count as workloads."
    )
    title = "Figures 8 and 9: averages over the traces"
    return Table("averages", title, "%", tuple(columns), (row,), note)


def gains(
    results: Results, source: Source, names: Sequence[str], measure: Measure, group: int = GROUP
) -> list[Number]:
    """Reductions by the proposed scheme, percent."""
    base, scheme = of_groups(RAID, group), of_groups(DGC, group)
    return improvements(results, source, names, scheme, [base], measure)


def average(values: Sequence[Number]) -> Number:
    """Mean of the values; None if one is missing."""
    available = [value for value in values if value is not None]
    return sum(available) / len(available) if available and len(available) == len(values) else None


def _tables(results: Results, names: Sequence[str]) -> list[Table]:
    measured, columns = MeasuredValues(results, names), tuple(names)
    parts = tuple(
        measured.row(label, RAID, part(*parts_of_latency)) for label, parts_of_latency in PARTS
    )
    counts = (
        measured.row("deferred GCs", DGC, raid("deferred_gcs")),
        measured.row("writes redirected, pages", DGC, raid("redirected")),
        *(measured.row(f"GC calls, {scheme}", scheme, _calls) for scheme in PRESETS),
        *(
            measured.row(f"pages moved per call, {preset}", preset, copies_per_call)
            for preset in PRESETS
        ),
    )
    programs = tuple(
        measured.row(f"{label}, {scheme}", scheme, measure)
        for label, measure in (("host and parity", host_programs), ("GC", gc_programs))
        for scheme in PRESETS
    )
    bars = "The paper shows bars without values."
    return [
        _traces(measured, columns),
        Table("figure4", "Figure 4: response time by part, RAID-5", "%", columns, parts, bars),
        *compared(results, names),
        Table("deferred", "Figure 8: deferred GCs", "count", columns, counts, bars),
        Table("programs", "Section 4.5: page programs", "pages", columns, programs),
        *_by_group(measured, names),
        *exact.tables([*PRESETS.values()], _first_run(results)),
    ]


def _calls(report: Report) -> Number:
    return float(report.gc.calls)


def _traces(measured: MeasuredValues, columns: tuple[str, ...]) -> Table:
    def row(label: str, key: str, quantity: Callable[[Volume], float]) -> Row:
        numbers = published(NAME).row("table2_traces", key, columns)
        return measured.row(label, RAID, lambda report: quantity(volume_of(report)), numbers)

    rows = (
        row("requests", "requests", lambda volume: volume.requests),
        row("write ratio", "write_ratio", lambda volume: volume.write_share),
        row("working set, GB", "working_set_gb", lambda volume: volume.range_bytes / 1e9),
        row(
            "unique write space, GB",
            "unique_write_space_gb",
            lambda volume: volume.unique_bytes / 1e9,
        ),
    )
    note = (
        "The working set is read as the range of addresses. Counts and bytes of traces that were"
        " shrunk with the device are multiplied by as much."
    )
    return Table("table2", "Table 2: traces", "", columns, rows, note)


def _by_group(measured: MeasuredValues, names: Sequence[str]) -> list[Table]:
    """Figures 10 and 11."""
    results, mean = measured.results, mean_ms("all")
    columns = (*names, "average")
    rows, ratios = [], []
    for group in GROUPS:
        scheme = of_groups(DGC, group)
        values = {s: (*v, average(v)) for s, v in measured.of(scheme, mean).items()}
        rows.append(Row(f"groups of {group}", (None,) * len(columns), values))
        group_gains = {s: gains(results, s, names, mean, group) for s in results.sources}
        by_trace = {s: (*v, average(v)) for s, v in group_gains.items()}
        ratios.append(Row(f"groups of {group}, %", (None,) * len(columns), by_trace))
    ends = {source: fall(results, source, names) for source in results.sources}
    lost = {source: loss(results, source, names) for source in results.sources}
    blanks: Filled = (None,) * len(names)
    is_complete = set(names) == set(WORKLOADS)
    numbers = [
        value("sensitivity", key) if is_complete else None
        for key in (
            "mean_response_decrease_percent_4_to_16",
            "dgc_improvement_loss_percent_4_to_16",
        )
    ]
    decreases = {source: (*v, average(_known(v))) for source, v in ends.items()}
    losses_by_source = {source: (*v, average(_known(v))) for source, v in lost.items()}
    rows.append(Row("decrease from 4 to 16, %", (*blanks, numbers[0]), decreases))
    ratios.append(Row("loss from 4 to 16, points", (*blanks, numbers[1]), losses_by_source))
    title = "Figure 10: mean response of RAID-5 + DGC by chips of a group"
    second = "Figure 11: reduction of the mean response by chips of a group"
    note = (
        "Averages of decrease and loss are over the traces that were run with all groups; the paper"
        " does not say whether its 3.5 % are points."
    )
    return [
        Table("figure10", title, "ms", columns, tuple(rows)),
        Table("figure11", second, "%", columns, tuple(ratios), note),
    ]


def _known(values: Sequence[Number]) -> list[Number]:
    return [value for value in values if value is not None]


def fall(results: Results, source: Source, names: Sequence[str]) -> list[Number]:
    """Decrease of the mean response with deferred GC from the smallest to the largest groups, %."""
    small, large = (of_groups(DGC, group) for group in (GROUPS[0], GROUPS[-1]))
    return improvements(results, source, names, large, [small], mean_ms("all"))


def loss(results: Results, source: Source, names: Sequence[str]) -> list[Number]:
    """By how many points the reduction is smaller with the largest groups than the smallest."""
    small, large = (
        gains(results, source, names, mean_ms("all"), group) for group in (GROUPS[0], GROUPS[-1])
    )
    return [None if a is None or b is None else a - b for a, b in zip(small, large, strict=True)]


def _first_run(results: Results) -> Source | None:
    """The first source with a result; without any there is nothing to compare with the figures."""
    for source in results.sources:
        if any(results.get(name, source, RAID) for name in results.workloads):
            return source
    return None


def _figures(results: Results, names: Sequence[str]) -> list[Figure]:
    plots: list[Figure] = []
    for name in names:
        for source in results.sources:
            if results.get(name, source, RAID) is not None:
                text = "Chips reach their threshold where RAID-5 becomes slower."
                plots.append(figures.response(results, name, source, [*PRESETS], text))
                plots.append(figures.tail(results, name, source, [*PRESETS]))
    return plots


# The claims of the paper.


def _everywhere(kind: str, names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        numbers, available = [], []
        for op in OPS:
            values = gains(results, source, names, MEASURES[kind](op))
            numbers.append(f"{op}: {listed(names, values)}")
            available += [value for value in values if value is not None]
        return finding(min(available) > 0 if available else None, "; ".join(numbers))

    return judge


def _amount(kind: str, names: Sequence[str]) -> Judge:
    """At least half of the published best and average, of all requests."""

    def judge(results: Results, source: Source) -> Finding:
        claimed = reduction(kind, "all")
        values = gains(results, source, names, MEASURES[kind]("all"))
        by_name, mean = dict(zip(names, values, strict=True)), average(values)
        best = by_name.get(claimed.best_trace)
        if best is None or mean is None or {*names} != {*WORKLOADS}:
            return finding(None, listed(names, values))
        holds = best >= claimed.best / 2 and mean >= claimed.average / 2
        return finding(holds, f"{claimed.best_trace} {best:.1f}, average {mean:.1f}")

    return judge


def _ends(kind: str, names: Sequence[str]) -> Judge:
    """The best and the worst trace are those published."""

    def judge(results: Results, source: Source) -> Finding:
        claimed = reduction(kind, "all")
        values = gains(results, source, names, MEASURES[kind]("all"))
        ranked = sorted(
            (value, name) for name, value in zip(names, values, strict=True) if value is not None
        )
        if len(ranked) < len(WORKLOADS):
            return finding(None, listed(names, values))
        ends = (ranked[-1][1], ranked[0][1])
        order = " > ".join(f"{name} {value:.1f}" for value, name in reversed(ranked))
        return finding(ends == (claimed.best_trace, claimed.worst_trace), order)

    return judge


def _dominates(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        shares = MeasuredValues(results, names).of(RAID, WAITING).get(source, ())
        share_of_workload = {
            name: share for name, share in zip(names, shares, strict=False) if share is not None
        }
        verdicts = [(share > 50) == (name != "wdev_0") for name, share in share_of_workload.items()]
        return finding(all(verdicts) if verdicts else None, listed(names, shares))

    return judge


def _correlated(
    names: Sequence[str], xs: Callable[[Results, Source], Sequence[Number]], ys: Measure | None
) -> Judge:
    """Rank correlation over the traces of `xs` with a measure of the baseline, or with the gain."""

    def judge(results: Results, source: Source) -> Finding:
        if ys is None:
            measured = gains(results, source, names, mean_ms("all"))
        else:
            measured = list(MeasuredValues(results, names).of(RAID, ys).get(source, ()))
        pairs = [
            (name, x, y)
            for name, x, y in zip(names, xs(results, source), measured, strict=True)
            if x is not None and y is not None
        ]
        rho = rank_correlation([x for _, x, _ in pairs], [y for _, _, y in pairs])
        if rho is None:
            return finding(None, "fewer than three traces")
        verdict = True if rho >= 0.5 else False if rho <= 0 else None
        numbers = ", ".join(f"{name} {short(x)} and {short(y)}" for name, x, y in pairs)
        return finding(verdict, f"rho {rho:.2f}; {numbers}")

    return judge


def _deferred_of(names: Sequence[str]) -> Callable[[Results, Source], Sequence[Number]]:
    return lambda results, source: MeasuredValues(results, names).of(DGC, raid("deferred_gcs"))[
        source
    ]


def _unique_of(names: Sequence[str]) -> Callable[[Results, Source], Sequence[Number]]:
    return lambda *_: published(NAME).row("table2_traces", "unique_write_space_gb", names)


def _larger_groups(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        decreases, losses = fall(results, source, names), loss(results, source, names)
        pairs = [
            (a, b)
            for a, b in zip(decreases, losses, strict=True)
            if a is not None and b is not None
        ]
        if not pairs:
            return finding(None, "not run")
        decrease = sum(a for a, _ in pairs) / len(pairs)
        mean_loss = sum(b for _, b in pairs) / len(pairs)
        numbers = f"decrease {decrease:.1f} %, loss {mean_loss:.1f} points"
        return finding(decrease > 0 and mean_loss > 0, numbers)

    return judge


def _same_programs(names: Sequence[str]) -> Judge:
    def judge(results: Results, source: Source) -> Finding:
        base, programs = (
            MeasuredValues(results, names).of(scheme, host_programs)[source] for scheme in PRESETS
        )
        pairs = [
            (a, b) for a, b in zip(base, programs, strict=True) if a is not None and b is not None
        ]
        increases = [100 * (b / a - 1) for a, b in pairs if a]
        text = f"largest difference {max(map(abs, increases)):.3g} %" if increases else ""
        return finding(all(a == b for a, b in pairs) if pairs else None, text)

    return judge


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def compared_claims(names: Sequence[str]) -> list[Claim]:
    """The claims of figures 8 and 9, which other readings can change."""
    label = "reduction by deferred GC, percent"
    claims = []
    for kind, words, figure in KINDS:
        claimed, best = reduction(kind, "all"), reduction(kind, "all")
        claims += [
            Claim(
                f"The {words} improves in every trace.",
                f"figure {figure}",
                f"{label}, of all requests, writes and reads; holds if all are above 0",
                _everywhere(kind, names),
            ),
            Claim(
                f"The {words} falls by up to {best.best} % ({best.best_trace}), by"
                f" {claimed.average} % on average.",
                f"figure {figure}",
                f"{label}, of all requests; holds if at least half of both",
                _amount(kind, names),
            ),
            Claim(
                f"The {words} improves most in {best.best_trace}, least in {best.worst_trace}.",
                f"figure {figure}",
                f"{label}, of all requests, in order; holds if both ends are these",
                _ends(kind, names),
            ),
        ]
    return claims


def _claims(names: Sequence[str]) -> list[Claim]:
    texts = published(NAME).values["claims"]
    return [
        *compared_claims(names),
        Claim(
            _sentence(texts["components"]),
            "section 3.3, figure 4",
            "percentage of T_GC and T_wait in the mean response of RAID-5; holds if above 50"
            " everywhere but in wdev_0, and not there",
            _dominates(names),
        ),
        Claim(
            _sentence(texts["deferred"]),
            "section 5.2, figure 8",
            "Spearman's rank correlation of deferred GCs with the reduction of the mean response;"
            " holds from 0.5, does not hold at 0 or below",
            _correlated(names, _deferred_of(names), None),
        ),
        Claim(
            _sentence(texts["unique_space"]),
            "section 5.2",
            "rank correlation of the published unique write space with the pages moved per GC call"
            " of RAID-5; holds from 0.5, does not hold at 0 or below",
            _correlated(names, _unique_of(names), copies_per_call),
        ),
        Claim(
            _sentence(texts["group_size"]),
            "section 5.4, figures 10 and 11",
            "average decrease of the mean response with deferred GC from groups of 4 to 16, and"
            " loss of its reduction; holds if both are above 0",
            _larger_groups(names),
        ),
        Claim(
            "Deferred GC writes no more pages.",
            "section 4.5",
            "programs of host pages and parity under both schemes; holds if equal in every trace",
            _same_programs(names),
        ),
    ]


NOTES = """\
Original MSR Cambridge files (`hm_0.csv.gz` and so on) must not be redistributed. If the folder of
recorded traces has them, they are run, too (*recorded*). Otherwise stand-ins are run, which match
what is published of the volumes (`msr:NAME`, docs/workloads.md): their requests, shares of writes,
addresses and unique write space, not the order of the requests. Their sizes are whole pages with
the means published for the traces before these were aligned, so they are somewhat too small. For
wdev_0 no sizes are published: it has the means of the other four.

T_GC of figure 4 is the time that the parts of a request wait for collection of their chip or for
room, T_wait the time that they wait for other operations or for their group; both along the part
that ends last.

In wdev_0 the paper gains next to nothing, for reads nothing at all. Here its chips reach the
threshold after the first part of the trace as those of the others do, and the reduction of the mean
is close to the share of T_GC. 10 % of the flash is spare above the threshold, and wdev_0 programs
23 %, so its chips collect for more than half of the trace. With 25 % to spare they begin later,
which is one of the readings.

An update locks its group, and updates that wait for the same group are not merged, so that one lock
covers 15 pages in groups of 16 instead of 3 in groups of 4. In one of the readings they are merged;
before it was registered, it had been run on an eighth of the device, where a fifth of the rise from
groups of 4 to 16 went away. Groups of all sizes share the spare; in the reading with equal user
capacity larger groups have more of it.

In an earlier evaluation a read triggered collection, too: 16 of 18 directions, 12 near, and a rank
correlation of 0.48.
"""

SETTING = (
    "Every page of the host and of parity is written once before the measurement, which fills 85 %"
    " of the flash; the traces then use up the spare pages down to the threshold. Time series have"
    f" {SAMPLES:,} sample periods; schemes are compared over the same periods."
)


def _files(name: str) -> tuple[str, ...]:
    return tuple(f"{name}.{end}" for end in ("csv", "csv.gz", "csv.zst"))


PAPER = Paper(
    name=NAME,
    title="Boosting performance of SSD with chip-level RAID by deferring garbage collection, IEICE"
    " Electronics Express, 2018",
    flash=FLASH,
    workloads=WORKLOADS,
    proposed=DGC,
    load=(RAID, {}),
    notes=NOTES,
    cells=_cells,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    decided=DECIDED,
    setting=SETTING,
    trace_files=_files,
)
