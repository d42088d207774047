"""How far a drive is off: of each line, of its knee, and as a whole."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ssdlab.reproduce.drives.known import Drive, drives
from ssdlab.reproduce.drives.study import FULL, ORDERS, UNIFORM, ZONES, Drives
from ssdlab.results.drive_errors import Errors, kept


@dataclass(frozen=True)
class Line:
    """A published write amplification beside a simulated one."""

    name: str
    published: float
    simulated: float | None
    fitted: bool

    @property
    def error(self) -> float | None:
        """Relative."""
        return None if self.simulated is None else self.simulated / self.published - 1


def lines(done: Drives, drive: Drive) -> list[Line]:
    """Everything published of its write amplification."""
    found = []
    for at, waf in drive.uniform.items():
        ours = done.waf((drive.name, UNIFORM, at))
        found.append(Line(f"uniform, {at:g} GiB used", waf, ours, at == drive.fitted))
    for theta, order, waf in drive.zipf:
        name = f"Zipf {theta:g}, {order}"
        found.append(Line(name, waf, done.waf((drive.name, ORDERS[order], theta)), False))
    for active, waf in drive.zones.items():
        name = f"zones, {active} active"
        found.append(Line(name, waf, done.waf((drive.name, ZONES, active)), False))
    return found


def full_size(done: Drives, drive: Drive) -> float | None:
    """Write amplification of the run at full size."""
    return done.waf((drive.name, FULL, int(drive.user_gib)))


def errors_of(done: Drives, drive: Drive) -> Errors:
    """Of the drive as a whole."""
    predicted = [line for line in lines(done, drive) if not line.fitted]
    off = [abs(line.error) for line in predicted if line.error is not None]
    whole = len(off) == len(predicted) > 0
    published, ours = drive.knee, done.knee(drive.name)
    return Errors(
        sum(off) / len(off) if whole else None,
        max(off) if whole else None,
        None if published is None or ours is None else ours[0] / published[0] - 1,
    )


def to_keep(done: Drives) -> str:
    """The text of the file that the package keeps of them."""
    values = {name: asdict(errors_of(done, drive)) for name, drive in drives().items()}
    return json.dumps(values, indent=2) + "\n"


def listed() -> list[dict[str, object]]:
    """Every drive with its errors."""
    known = kept()
    of = {name: known.get(name, Errors(None, None, None)) for name in drives()}
    return [
        {
            "name": name,
            "summary": f"{drive.title}: {of[name].text()}",
            "errors": asdict(of[name]),
        }
        for name, drive in drives().items()
    ]
