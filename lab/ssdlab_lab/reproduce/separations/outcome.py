"""The results, and the best lines."""

from __future__ import annotations

from functools import cached_property

from ssdlab.results.intervals import Estimate, estimate
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

    def _waf(self, place: Place) -> Estimate | None:
        found = (self.reports.get((place, seed)) for seed in seeds(self.quick))
        values = [report.waf.total for report in found if report is not None]
        known = [value for value in values if value is not None]
        return estimate(known) if len(known) > 1 else None

    def ends(self, place: Place) -> tuple[float, float] | None:
        """Its interval."""
        of = self.waf(place)
        width = 0.0 if of is None or of.ci95 is None else of.ci95
        return None if of is None else (of.mean - width, of.mean + width)

    def best(self, workload: str, victims: str, spare: float) -> str | None:
        """The line that wins, if any."""
        ends = {}
        for line in REAL:
            found = self.ends(Place(workload, victims, spare, line))
            if found is None:
                return None
            ends[line] = found
        first = min(ends, key=lambda line: sum(ends[line]))
        apart = all(ends[first][1] < low for line, (low, _) in ends.items() if line != first)
        return first if apart else None

    def distance(self, place: Place) -> float | None:
        """Its write amplification divided by that of the mark."""
        of, least = self.waf(place), self.waf(place._replace(line=mark(self.quick)))
        return None if of is None or least is None else of.mean / least.mean

    def beyond_the_mark(self) -> list[Place]:
        """Where a line lies below the mark, beyond the intervals."""
        found = []
        for workload in workloads(self.quick):
            for victims in VICTIMS:
                for spare in SPARES:
                    least = self.ends(Place(workload, victims, spare, mark(self.quick)))
                    every = (Place(workload, victims, spare, line) for line in REAL)
                    of = ((place, self.ends(place)) for place in every)
                    found += [p for p, ends in of if ends and least and ends[1] < least[0]]
        return found
