"""How far a drive is off: of each line, of its knee, and as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.config.drives import Errors, MachineErrors, machine_digest
from ssdlab.drives.measurements import RANKS, UNIFORM, ZIPF, ZONES, Load
from ssdlab_lab.reproduce.drives import sustained
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


def lines(study: Drives, drive: Drive) -> list[Line]:
    """All measured write amplifications of a drive."""
    return [
        Line(
            _NAMES[point.workload].format(point.at * (100 if point.workload == UNIFORM else 1)),
            point.waf,
            study.waf((drive.name, point.workload, point.at)),
            point.fitted,
        )
        for point in drive.measured.wafs
    ]


def full_size(study: Drives, drive: Drive) -> float | None:
    """Write amplification of the run at full size."""
    return study.waf((drive.name, FULL, 1.0))


def errors_of(study: Drives, drive: Drive) -> Errors:
    """Errors of the predictions for a drive; fitted figures are left out."""
    published, ours = drive.knee, study.knee(drive)
    simulated = {load.rate: load for load in study.loads(drive)}
    loads = [load for load in drive.measured.below_knee if not load.fitted]
    return Errors(
        uniform=_mean(study, drive, [UNIFORM]),
        skewed=_mean(study, drive, [ZIPF, RANKS, ZONES]),
        knee=None if published is None or ours is None else ours[0] / published[0] - 1,
        p50=_largest("p50", loads, simulated),
        p99=_largest("p99", loads, simulated),
        residual=_residual(study, drive),
        **sustained.prediction_errors(sustained.figure_lines(drive, study.course(drive))),
    )


def _residual(study: Drives, drive: Drive) -> float | None:
    """Mean absolute relative error under uniform writes if all were fitted; otherwise None."""
    if not all(point.fitted for point in drive.measured.of(UNIFORM)):
        return None
    return _mean(study, drive, [UNIFORM], fitted=True)


def _mean(
    study: Drives, drive: Drive, workloads: Sequence[str], *, fitted: bool = False
) -> float | None:
    """Mean absolute relative error of write amplifications that were fitted, or that were not.

    None if one is missing.
    """
    wafs = drive.measured.wafs
    points = [point for point in wafs if point.workload in workloads and point.fitted == fitted]
    ours = [study.waf((drive.name, point.workload, point.at)) for point in points]
    deviations = [
        abs(waf / point.waf - 1) for point, waf in zip(points, ours, strict=True) if waf is not None
    ]
    return fmean(deviations) if len(deviations) == len(points) > 0 else None


def _largest(name: str, measured: Sequence[Load], simulated: Mapping[float, Load]) -> float | None:
    """Largest relative error of a percentile at several loads; None if one is missing."""
    pairs = [(load, simulated[load.rate]) for load in measured if load.rate in simulated]
    deviations = [getattr(ours, name) / getattr(load, name) - 1 for load, ours in pairs]
    return max(deviations, key=abs) if len(deviations) == len(measured) > 0 else None


def machine_errors(study: Drives, drive: Drive) -> MachineErrors:
    """The errors of a drive, with the machine to which they belong."""
    return MachineErrors(errors_of(study, drive), machine_digest(drive.config.values))


def named_json(study: Drives) -> str:
    """The text of the file with the errors of all drives in the package."""
    values = {drive.name: machine_errors(study, drive).json() for drive in study.of.values()}
    return json.dumps(values, indent=2) + "\n"
