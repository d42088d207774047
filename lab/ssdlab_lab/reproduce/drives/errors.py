"""How far a drive is off: of each line, of its knee, and as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.config.drives import Errors, MachineErrors, machine_digest
from ssdlab.drives.measurements import RANKS, UNIFORM, ZIPF, ZONES, Load
from ssdlab_lab.reproduce.drives.known import Drive
from ssdlab_lab.reproduce.drives.study import FULL, Drives


@dataclass(frozen=True)
class Line:
    """A measured write amplification beside a simulated one."""

    name: str
    published: float
    simulated: float | None
    fitted: bool

    @property
    def error(self) -> float | None:
        """Relative error."""
        return None if self.simulated is None else self.simulated / self.published - 1


_NAMES = {
    UNIFORM: "uniform, {:.4g} % used",
    ZIPF: "Zipf {:g}, shuffled",
    RANKS: "Zipf {:g}, by rank",
    ZONES: "zones, {:g} active",
}


def lines(done: Drives, drive: Drive) -> list[Line]:
    """All measured write amplifications of a drive."""
    return [
        Line(
            _NAMES[one.workload].format(one.at * (100 if one.workload == UNIFORM else 1)),
            one.waf,
            done.waf((drive.name, one.workload, one.at)),
            one.fitted,
        )
        for one in drive.measured.wafs
    ]


def full_size(done: Drives, drive: Drive) -> float | None:
    """Write amplification of the run at full size."""
    return done.waf((drive.name, FULL, 1.0))


def errors_of(done: Drives, drive: Drive) -> Errors:
    """Errors of the predictions for a drive; fitted figures are left out."""
    published, ours = drive.knee, done.knee(drive)
    simulated = {one.rate: one for one in done.loads(drive)}
    loads = [load for load in drive.measured.below_knee if not load.fitted]
    return Errors(
        uniform=_mean(done, drive, [UNIFORM]),
        skewed=_mean(done, drive, [ZIPF, RANKS, ZONES]),
        knee=None if published is None or ours is None else ours[0] / published[0] - 1,
        p50=_largest("p50", loads, simulated),
        p99=_largest("p99", loads, simulated),
    )


def _mean(done: Drives, drive: Drive, workloads: Sequence[str]) -> float | None:
    """Mean absolute relative error of predicted write amplifications; None if one is missing."""
    points = [one for one in drive.measured.wafs if one.workload in workloads and not one.fitted]
    ours = [done.waf((drive.name, one.workload, one.at)) for one in points]
    off = [abs(waf / one.waf - 1) for one, waf in zip(points, ours, strict=True) if waf is not None]
    return fmean(off) if len(off) == len(points) > 0 else None


def _largest(name: str, measured: Sequence[Load], simulated: Mapping[float, Load]) -> float | None:
    """Largest relative error of a percentile at several loads; None if one is missing."""
    found = [(load, simulated[load.rate]) for load in measured if load.rate in simulated]
    off = [getattr(ours, name) / getattr(load, name) - 1 for load, ours in found]
    return max(off, key=abs) if len(off) == len(measured) > 0 else None


def machine_errors(done: Drives, drive: Drive) -> MachineErrors:
    """The errors of a drive, with the machine to which they belong."""
    return MachineErrors(errors_of(done, drive), machine_digest(drive.config.values))


def named_json(done: Drives) -> str:
    """The text of the file with the errors of all drives in the package."""
    values = {drive.name: machine_errors(done, drive).json() for drive in done.of.values()}
    return json.dumps(values, indent=2) + "\n"
