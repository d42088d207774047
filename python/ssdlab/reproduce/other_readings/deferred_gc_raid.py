"""Other readings of the paper on deferred GC in chip-level RAID-5: bursts, threshold, parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ssdlab.reproduce.paper import REQUESTS_SEED, Scale
from ssdlab.reproduce.papers.deferred_gc_raid import (
    DGC,
    PAPER,
    WHOLE,
    compared,
    compared_claims,
    device_keys,
    schemes,
    stand_in,
)
from ssdlab.reproduce.readings import Reading, Readings

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
    Reading("sizes as recorded", requests=dict.fromkeys(WHOLE, False)),
    Reading("no read buffer", {"raid.read_buffer_pages": 0}),
    Reading("one block per trigger", {"gc.amount": "one"}),
    # Parts of the scheme alone.
    Reading("redirection alone", of={DGC: {"gc.trigger.idle": False}}),
    Reading("idle collection alone", of={DGC: {"raid.redirect": "none"}}),
    *(
        Reading(name, requests={"workload.seed": seed})
        for seed, name in enumerate(OTHER_REQUESTS, REQUESTS_SEED + 1)
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
    explanations=(),
    requests=stand_in,
)
