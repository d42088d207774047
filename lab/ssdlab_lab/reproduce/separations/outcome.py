"""The results, and the best lines."""

from __future__ import annotations

from functools import cached_property

from ssdlab.results.intervals import Estimate, estimate, paired_ratio
from ssdlab_lab.reproduce.separations.choices import (
    QUICK,
    REAL,
    SPARES,
    VICTIMS,
    Place,
    mark,
    seeds,
    workloads,
)
from ssdlab_lab.reproduce.study import Study

NAME = "separations"


class Separations(Study[tuple[Place, int]]):
    """The results, by place and seed."""

    name = NAME
    smaller = QUICK

    @cached_property
    def _wafs(self) -> dict[Place, Estimate | None]:
        """Known values, because each table requests all places again."""
        return {place: self._waf(place) for place in {place for place, _ in self.reports}}

    def waf(self, place: Place) -> Estimate | None:
        """Write amplification over seeds."""
        return self._wafs.get(place)

    def _values(self, place: Place) -> list[float]:
        reports = (self.reports.get((place, seed)) for seed in seeds(self.quick))
        values = [report.waf.total for report in reports if report is not None]
        return [value for value in values if value is not None]

    def _waf(self, place: Place) -> Estimate | None:
        values = self._values(place)
        return estimate(values) if len(values) > 1 else None

    def ends(self, place: Place) -> tuple[float, float] | None:
        """The 95 % interval of its mean: Student's, unless that reaches below 1.

        Write amplification is at least 1. Then the interval is that of the logarithm of what
        exceeds 1; if nothing does in some seed, Student's interval without what is below 1.
        """
        waf = self.waf(place)
        if waf is None:
            return None
        width = waf.ci95 or 0.0
        if waf.mean - width >= 1 or not width:
            return waf.mean - width, waf.mean + width
        excess = [value - 1 for value in self._values(place)]
        ratio = paired_ratio(excess, [1.0] * len(excess))
        if ratio is None or ratio.low is None or ratio.high is None:
            return 1.0, waf.mean + width
        return 1 + ratio.low, 1 + ratio.high

    def best(self, workload: str, victims: str, spare: float) -> str | None:
        """The line that wins, if any."""
        ends = {}
        for line in REAL:
            interval = self.ends(Place(workload, victims, spare, line))
            if interval is None:
                return None
            ends[line] = interval
        first = min(ends, key=lambda line: sum(ends[line]))
        is_separate = all(ends[first][1] < low for line, (low, _) in ends.items() if line != first)
        return first if is_separate else None

    def distance(self, place: Place) -> float | None:
        """Its write amplification divided by that of the mark."""
        waf, mark_waf = self.waf(place), self.waf(place._replace(line=mark(self.quick)))
        return None if waf is None or mark_waf is None else waf.mean / mark_waf.mean

    def beyond_the_mark(self) -> list[Place]:
        """Where a line lies below the mark, beyond the intervals."""
        places = []
        for workload in workloads(self.quick):
            for victims in VICTIMS:
                for spare in SPARES:
                    mark_ends = self.ends(Place(workload, victims, spare, mark(self.quick)))
                    candidates = (Place(workload, victims, spare, line) for line in REAL)
                    ends_by_place = ((place, self.ends(place)) for place in candidates)
                    places += [
                        p
                        for p, ends in ends_by_place
                        if ends and mark_ends and ends[1] < mark_ends[0]
                    ]
        return places
