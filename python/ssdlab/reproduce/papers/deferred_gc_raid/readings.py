"""Other readings of the paper on deferred GC in chip-level RAID-5: bursts, threshold, parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ssdlab.reproduce.claims import Finding, found, improved, listed
from ssdlab.reproduce.matrix import Results
from ssdlab.reproduce.paper import REQUESTS_SEED, Scale
from ssdlab.reproduce.papers.deferred_gc_raid.measures import MEASURES
from ssdlab.reproduce.papers.deferred_gc_raid.paper import (
    DGC,
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
from ssdlab.reproduce.readings import (
    AS_RUN,
    SYNTHETIC,
    Evidence,
    Explanation,
    Reading,
    Readings,
)
from ssdlab.reproduce.tables import Measure, Measured, Number, Row, Table
from ssdlab.results.report import Report

NEVER = "a device so large that nothing is collected"
OTHER_REQUESTS = ("other requests", "further requests")


def _threshold(share: float) -> Callable[[Scale], Mapping[str, object]]:
    return lambda scale: device_keys(scale, share)


def _arrivals(
    short_gaps: float, gap_cv: float, train_cv: float | None = None
) -> Mapping[str, object]:
    """Other gaps between requests, the rest as in the sample."""
    keys = {"workload.short_gaps": short_gaps, "workload.gap_cv": gap_cv}
    return keys if train_cv is None else {**keys, "workload.train_cv": train_cv}


SEVERAL = (
    # How bursty the requests are; the sample has 79.7 % short gaps, variation 3.38 and 1.23.
    Reading("independent requests", requests={"workload.pattern": "independent"}),
    Reading("40 % short gaps", requests=_arrivals(0.4, 3.38)),
    Reading("60 % short gaps", requests=_arrivals(0.6, 3.38)),
    Reading("90 % short gaps", requests=_arrivals(0.9, 3.38)),
    Reading("95 % short gaps", requests=_arrivals(0.95, 4.5)),
    Reading("gaps vary twice as much", requests=_arrivals(0.797, 6.76)),
    Reading("trains vary three times as much", requests=_arrivals(0.797, 3.38, 3.7)),
    Reading("sizes independent", requests={"workload.same_size": 0.0}),
    Reading("30 % sequential writes", requests={"workload.sequential_writes": 0.3}),
    Reading("no reads of new pages", requests={"workload.read_recent": 0.0}),
    # What the paper leaves open.
    Reading("reads do not collect", {"gc.trigger.by": "write"}),
    Reading("2.5 % threshold", device=_threshold(0.025)),
    Reading("10 % threshold", device=_threshold(0.10)),
    Reading("overwritten once first", requests={"precondition.overwrite": 1.0}),
    Reading("102.4 us of transfer a page", {"timing.transfer": "102400 ns"}),
    Reading("no read buffer", {"raid.read_buffer_pages": 0}),
    Reading("one block per trigger", {"gc.amount": "one"}),
    Reading(NEVER, {"device.over_provisioning": 2.3}),
    # Parts of the scheme alone.
    Reading("redirection alone", of={DGC: {"gc.trigger.idle": False}}),
    Reading("idle collection alone", of={DGC: {"raid.redirect": "none"}}),
    *(
        Reading(name, requests={"workload.seed": seed})
        for seed, name in enumerate(OTHER_REQUESTS, REQUESTS_SEED + 1)
    ),
)


def _by_reading(results: Mapping[str, Results], names: Sequence[str]) -> list[Table]:
    """Reductions of each reading, by trace."""
    several = []
    for kind, words, _ in KINDS:
        rows = []
        for reading, ran in results.items():
            values = gains(ran, SYNTHETIC, names, MEASURES[kind]("all"))
            ours = {SYNTHETIC: (*values, average(values))}
            rows.append(Row(reading, (None,) * (len(names) + 1), ours))
        title = f"Reduction of the {words} under each reading"
        table = Table(f"readings-{kind}", title, "%", (*names, "average"), tuple(rows))
        several.append(table)
    return several


def _floor(evidence: Evidence) -> Finding:
    """Percentile with deferred GC over that of the baseline where nothing is ever collected."""
    p99 = MEASURES["p99"]("all")
    ratios: list[Number] = []
    for name in evidence.names:
        least = evidence.at(NEVER, name, RAID, p99)
        mine = evidence.at(AS_RUN, name, DGC, p99)
        ratios.append(None if mine is None or not least else mine / least)
    return improved(ratios, evidence.names, lambda known: max(known) <= 1.1)


def _operations(evidence: Evidence, group: int, of: Measure) -> list[Number]:
    return list(
        Measured(evidence.main, evidence.names).of(of_groups(DGC, group), of).get(SYNTHETIC, ())
    )


def _per_page(of: Callable[[Report], int]) -> Measure:
    """For each page that the host writes."""
    return lambda report: of(report) / report.host.pages_written


def _reads_grow(evidence: Evidence) -> Finding:
    numbers, holds = [], []
    parity = _per_page(lambda report: report.flash.programs.parity)
    reads = _per_page(lambda report: report.flash.reads.rmw)
    for what, of, grows in (("parity programs", parity, False), ("reads", reads, True)):
        small, large = (_operations(evidence, group, of) for group in (GROUPS[0], GROUPS[-1]))
        ratios = [b / a if a and b is not None else None for a, b in zip(small, large, strict=True)]
        known = [ratio for ratio in ratios if ratio is not None]
        numbers.append(f"{what}: {listed(evidence.names, ratios)}")
        holds += [(ratio > 1) == grows for ratio in known]
    return found(all(holds) if holds else None, "; ".join(numbers) if holds else "")


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
)

READINGS = Readings(
    paper=PAPER,
    intervals_us={},
    schemes=schemes,
    compared=compared,
    mean_write="figure8-write",
    claims=compared_claims,
    several=SEVERAL,
    explanations=EXPLANATIONS,
    requests=stand_in,
    tables=_by_reading,
)
