"""Other readings of the paper on deferred GC in chip-level RAID-5: bursts, threshold, parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ssdlab.results.report import Report
from ssdlab_lab.reproduce.claims import Finding, finding, improved, listed
from ssdlab_lab.reproduce.matrix import Results, Scheme
from ssdlab_lab.reproduce.paper import REQUESTS_SEED, SPARE, Scale
from ssdlab_lab.reproduce.papers.deferred_gc_raid.measures import MEASURES, part
from ssdlab_lab.reproduce.papers.deferred_gc_raid.paper import (
    DGC,
    FLASH,
    GROUPS,
    KINDS,
    PAPER,
    RAID,
    average,
    compared,
    compared_claims,
    device_keys,
    gains,
    of_groups,
    schemes,
    stand_in,
)
from ssdlab_lab.reproduce.readings import (
    AS_RUN,
    SYNTHETIC,
    Evidence,
    Explanation,
    Reading,
    Readings,
)
from ssdlab_lab.reproduce.tables import Measure, MeasuredValues, Number, Row, Table

NEVER = "a device so large that nothing is collected"
FREE_READS = "reads take 1 ns"
MERGED = "waiting updates of a group are merged"
OTHER_REQUESTS = ("other requests", "further requests")


def _threshold(share: float) -> Callable[[Scale], Mapping[str, object]]:
    return lambda scale: device_keys(scale, share)


INDEPENDENT: Mapping[str, object] = {"workload.pattern": "independent"}
SHORT = "gaps below 1 ms (79.7 %)"
VARIES = "coefficient of variation of the gaps (3.38)"
WITHIN = "mean gap within a train (48.2 us)"
LENGTHS = "coefficient of variation of the lengths of trains (1.23)"
SIZES = "sizes repeated within a train (65.8 %)"
RUNS = "sequential writes (3.5 %)"
RECENT = "reads of pages just written (28.6 %)"


def _dense(gap: str) -> Mapping[str, object]:
    return {"workload.train_gap": gap}


def _sequential(share: float) -> Mapping[str, object]:
    return {"workload.sequential_writes": share}


def _recent(share: float) -> Mapping[str, object]:
    return {"workload.read_recent": share}


def _redirects(foreign: float = 0.05, planned: bool = True) -> Mapping[str, object]:
    """Another redirection."""
    return {"raid.redirect": {"policy": "deferred-gc", "foreign": foreign, "planned": planned}}


SPARE_25: Mapping[str, object] = {"device.over_provisioning": 0.3334}
ANY: Mapping[str, object] = {"gc.trigger.by": "any"}
UNPLANNED_KEYS = {DGC: _redirects(planned=False)}
"""C_w without the programs that the reads of an update will still cause; figure 5 counts them."""
MORE, READS_TOO = "25 % of the flash to spare", "a read triggers too"
UNPLANNED = "C_w counts queued programs alone"
EQUAL = "equal user capacity for all groups"


def _equal_capacity(scale: Scale) -> Mapping[str, object]:
    """The capacity that groups of four leave to the host, for all groups."""
    raw = FLASH.raw_bytes / scale.divisor
    pages = int(raw * (1 - SPARE) * (GROUPS[0] - 1) / GROUPS[0]) // FLASH.page_bytes
    return {"device.user_capacity": f"{pages * FLASH.page_bytes} B"}


def _other_groups(scale: Scale) -> Sequence[Scheme]:
    """The proposed scheme with the smallest and the largest groups."""
    ends = (GROUPS[0], GROUPS[-1])
    return [scheme for group in ends for scheme in schemes(scale, group) if DGC in scheme.name]


def _arrivals(
    short_gaps: float, gap_cv: float, train_cv: float | None = None
) -> Mapping[str, object]:
    """Other gaps between requests, the rest as in the sample."""
    keys = {"workload.short_gaps": short_gaps, "workload.gap_cv": gap_cv}
    return keys if train_cv is None else {**keys, "workload.train_cv": train_cv}


TRAINS = _arrivals(0.797, 3.38, 3.7)
PATTERNS: tuple[tuple[str, str, Reading], ...] = (
    # Parameter, with its value in the sample; another value; the reading.
    ("all", "independent", Reading("independent requests", requests=INDEPENDENT)),
    (SHORT, "40 %", Reading("40 % short gaps", requests=_arrivals(0.4, 3.38))),
    (SHORT, "60 %", Reading("60 % short gaps", requests=_arrivals(0.6, 3.38))),
    (SHORT, "90 %", Reading("90 % short gaps", requests=_arrivals(0.9, 3.38))),
    (SHORT, "95 %, variation 4.5", Reading("95 % short gaps", requests=_arrivals(0.95, 4.5))),
    (VARIES, "2.1", Reading("gaps vary less", requests=_arrivals(0.797, 2.1))),
    (VARIES, "6.76", Reading("gaps vary twice as much", requests=_arrivals(0.797, 6.76))),
    (WITHIN, "12 us", Reading("trains four times as dense", requests=_dense("12 us"))),
    (WITHIN, "193 us", Reading("trains a quarter as dense", requests=_dense("193 us"))),
    (LENGTHS, "0.6", Reading("trains vary half as much", requests=_arrivals(0.797, 3.38, 0.6))),
    (LENGTHS, "3.7", Reading("trains vary three times as much", requests=TRAINS)),
    (SIZES, "as by chance", Reading("sizes independent", requests={"workload.same_size": 0.0})),
    (SIZES, "95 %", Reading("95 % repeated sizes", requests={"workload.same_size": 0.95})),
    (RUNS, "30 %", Reading("30 % sequential writes", requests=_sequential(0.3))),
    (RUNS, "60 %", Reading("60 % sequential writes", requests=_sequential(0.6))),
    (RECENT, "as by chance", Reading("no reads of new pages", requests=_recent(0.0))),
    (RECENT, "60 %", Reading("60 % reads of new pages", requests=_recent(0.6))),
)
"""Variations of the burstiness: each parameter of the pattern separately."""

SEVERAL = (
    # What the paper leaves open.
    Reading(MORE, SPARE_25),
    Reading(f"{MORE}, {UNPLANNED}", SPARE_25, of=UNPLANNED_KEYS),
    Reading(f"{MORE}, {READS_TOO}", {**SPARE_25, **ANY}),
    Reading(f"{MORE}, {READS_TOO}, {UNPLANNED}", {**SPARE_25, **ANY}, of=UNPLANNED_KEYS),
    Reading(READS_TOO, ANY),
    Reading(f"{READS_TOO}, {UNPLANNED}", ANY, of=UNPLANNED_KEYS),
    Reading(UNPLANNED, of=UNPLANNED_KEYS),
    Reading("20 % of the flash to spare", {"device.over_provisioning": 0.25}),
    Reading(EQUAL, device=_equal_capacity, further=_other_groups),
    Reading(FREE_READS, {"timing.read": "1 ns"}, further=_other_groups, detail=True),
    Reading(MERGED, {"raid.merge": True}, further=_other_groups),
    Reading("2.5 % threshold", device=_threshold(0.025), detail=True),
    Reading("10 % threshold", device=_threshold(0.10), detail=True),
    Reading("overwritten once first", requests={"precondition.overwrite": 1.0}, detail=True),
    Reading("102.4 us of transfer a page", {"timing.transfer": "102400 ns"}),
    Reading("no read buffer", {"raid.read_buffer_pages": 0}, detail=True),
    Reading("read buffer of 4,096 pages", {"raid.read_buffer_pages": 4096}, detail=True),
    Reading("AT of the next update only", of={DGC: {"raid.queue": 1}}, detail=True),
    Reading("AT of all updates", of={DGC: {"raid.queue": 1 << 20}}, detail=True),
    Reading("1 % of a chip from elsewhere", of={DGC: _redirects(foreign=0.01)}, detail=True),
    Reading("9 % of a chip from elsewhere", of={DGC: _redirects(foreign=0.09)}, detail=True),
    Reading("one block per trigger", {"gc.amount": "one"}, detail=True),
    Reading(NEVER, {"device.over_provisioning": 2.3}, detail=True),
    # Parts of the scheme alone.
    Reading("redirection alone", of={DGC: {"gc.trigger.idle": False}}),
    Reading("idle collection alone", of={DGC: {"raid.redirect": "none"}}),
    *(replace(reading, detail=True) for _, _, reading in PATTERNS),
    *(
        Reading(name, requests={"workload.seed": seed}, detail=True)
        for seed, name in enumerate(OTHER_REQUESTS, REQUESTS_SEED + 1)
    ),
)


def _sensitivity(results: Mapping[str, Results], names: Sequence[str]) -> Table:
    """The effect of each parameter of the pattern on the gains."""
    lines = [("as in the sample", AS_RUN)]
    lines += [(f"{parameter}: {value}", reading.name) for parameter, value, reading in PATTERNS]
    columns = ("mean", "change", "p99", "change", "T_GC of RAID-5", "T_wait of RAID-5")
    rows, first = [], None
    for label, reading in lines:
        results_of_reading = results.get(reading)
        if results_of_reading is None:
            continue
        mean, p99 = (
            average(gains(results_of_reading, SYNTHETIC, names, MEASURES[k]("all")))
            for k, *_ in KINDS
        )
        first = first or (mean, p99)
        parts = [
            average(
                list(
                    MeasuredValues(results_of_reading, names)
                    .of(RAID, part(part_name))
                    .get(SYNTHETIC, ())
                )
            )
            for part_name in ("gc_wait", "queue")
        ]
        values = (mean, _less(mean, first[0]), p99, _less(p99, first[1]), *parts)
        rows.append(Row(label, (None,) * len(columns), {SYNTHETIC: values}))
    note = (
        "Averages over the traces: reductions of the mean and the p99 response by deferred GC with"
        " their change against the sample, in points, and the parts of the baseline's response"
        " time. One parameter is changed at a time."
    )
    title = "Sensitivity to the pattern of the requests"
    return Table("sensitivity", title, "%", columns, tuple(rows), note)


def _less(value: Number, base: Number) -> Number:
    return None if value is None or base is None else value - base


def _by_reading(results: Mapping[str, Results], names: Sequence[str]) -> list[Table]:
    """Reductions of each reading, by trace."""
    tables = []
    for kind, words, _ in KINDS:
        rows = []
        for reading, results_of_reading in results.items():
            values = gains(results_of_reading, SYNTHETIC, names, MEASURES[kind]("all"))
            ours = {SYNTHETIC: (*values, average(values))}
            rows.append(Row(reading, (None,) * (len(names) + 1), ours))
        title = f"Reduction of the {words} under each reading"
        table = Table(f"readings-{kind}", title, "%", (*names, "average"), tuple(rows))
        tables.append(table)
    return [_sensitivity(results, names), *tables]


def _floor(evidence: Evidence) -> Finding:
    """Percentile with deferred GC over that of the baseline where nothing is ever collected."""
    p99 = MEASURES["p99"]("all")
    ratios: list[Number] = []
    for name in evidence.names:
        lower_bound = evidence.at(NEVER, name, RAID, p99)
        value = evidence.at(AS_RUN, name, DGC, p99)
        ratios.append(None if value is None or not lower_bound else value / lower_bound)
    return improved(ratios, evidence.names, lambda available: max(available) <= 1.1)


def _reads_for_nothing(evidence: Evidence) -> Finding:
    """Decrease of the mean response with larger groups if reads are free."""
    mean = MEASURES["mean"]("all")
    small, large = (of_groups(DGC, group) for group in (GROUPS[0], GROUPS[-1]))
    decreases = [evidence.better(FREE_READS, name, large, small, mean) for name in evidence.names]
    return improved(decreases, evidence.names, lambda available: min(available) > 0)


def _operations(evidence: Evidence, group: int, measure: Measure) -> list[Number]:
    return list(
        MeasuredValues(evidence.main, evidence.names)
        .of(of_groups(DGC, group), measure)
        .get(SYNTHETIC, ())
    )


def _per_page(quantity: Callable[[Report], int]) -> Measure:
    """For each page that the host writes."""
    return lambda report: quantity(report) / report.host.pages_written


def _reads_grow(evidence: Evidence) -> Finding:
    numbers, holds = [], []
    parity = _per_page(lambda report: report.flash.programs.parity)
    reads = _per_page(lambda report: report.flash.reads.rmw)
    for label, measure, grows in (("parity programs", parity, False), ("reads", reads, True)):
        small, large = (_operations(evidence, group, measure) for group in (GROUPS[0], GROUPS[-1]))
        ratios = [b / a if a and b is not None else None for a, b in zip(small, large, strict=True)]
        available = [ratio for ratio in ratios if ratio is not None]
        numbers.append(f"{label}: {listed(evidence.names, ratios)}")
        holds += [(ratio > 1) == grows for ratio in available]
    return finding(all(holds) if holds else None, "; ".join(numbers) if holds else "")


EXPLANATIONS = (
    Explanation(
        "The p99 response improves most",
        "With deferred GC the slowest percent of the requests waits for other requests of its"
        " burst, not for collection: nothing more can be gained, and the order follows how long"
        " the bursts of the stand-ins keep the chips busy, which is alike for all volumes.",
        "p99 of all requests with deferred GC over that of RAID-5 on a device on which nothing is"
        " ever collected; passed if at most 1.1 in every trace",
        _floor,
    ),
    Explanation(
        "Larger groups",
        "Larger groups save programs of parity, but a write of three or four pages covers a group"
        " of 4 whole and reads nothing, while in a group of 16 it reads old data and parity first:"
        " a write then takes a read and a program in turn.",
        "parity programs and reads for updates per page that the host writes, groups of 16 over"
        " groups of 4; passed if programs fall and reads rise in every trace",
        _reads_grow,
    ),
    Explanation(
        "Larger groups",
        "If the reads for updates are the reason, larger groups are faster where a read takes no"
        " time.",
        f"decrease of the mean response from groups of 4 to 16 in the reading *{FREE_READS}*,"
        " percent; passed if positive in every trace",
        _reads_for_nothing,
    ),
)

READINGS = Readings(
    paper=PAPER,
    schemes=schemes,
    compared=compared,
    mean_write="figure8-write",
    claims=compared_claims,
    several=SEVERAL,
    explanations=EXPLANATIONS,
    requests=stand_in,
    tables=_by_reading,
)
