"""The unknowns of a drive, the values that fit the measurements, and whether these decide.

A value fits about as well as the best if the root mean square of the residuals, with everything
else refitted, is at most `ACCURACY` larger: the error that all measurements may have together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ssdlab.config.resolve import Config
from ssdlab.display.numbers import duration
from ssdlab.drives import fit
from ssdlab.drives.measurements import KNEE_NS, Load, Measurements, knee_of

ACCURACY = 0.02
"""Relative error that measured write amplifications may have."""
LATENCY_ACCURACY = 0.05
"""Relative error that a measured latency may have."""
RANGE = 0.05
"""If raw capacities that fit about as well differ by more, raw capacity is undecided."""
PROGRAM_RANGE = 0.2
"""If the program times at the two loads around the knee differ by more, the time is undecided."""
FIRMWARE_RANGE = 0.5
"""If the firmware times that fit differ by more, the firmware time is undecided."""
LONGEST_NS = 50 * 10**6
"""No flash takes as long for a program, even in a drive with a few of the dies of its preset."""
MOST_TAIL = 1000
"""The largest ratio of the firmware's 99th percentile to its median that a preset accepts."""
MOST_RESERVED = 0.16
"""The largest watermark that is tried, as a share of the blocks."""
SIZES = tuple(2.0**power for power in range(-4, 5))
"""Sizes of superblocks that are tried, in units of the preset's."""


NONE_FITS = "none fits"
"""What is in place of the values that fit about as well, where no value fits."""


@dataclass(frozen=True)
class Unknown:
    """An unknown number of a drive: its fitted value, and the values that fit about as well."""

    name: str
    value: str
    between: str
    decided: bool
    """Whether the measurements decide it."""

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "decided" if self.decided else "the data cannot decide"

    def json(self) -> dict[str, object]:
        """The unknown as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Program:
    """The program time that follows from the measured knee."""

    knee: float
    """Writes a second: the middle between two measured loads."""
    half: float
    """Half the distance between the two loads."""
    nanoseconds: int
    between: tuple[int, int]
    """Nanoseconds if the knee were at the higher of the two loads, and at the lower."""

    @property
    def loads(self) -> tuple[float, float]:
        """The two loads."""
        return self.knee - self.half, self.knee + self.half

    @property
    def span(self) -> str:
        """The program times that the two loads allow."""
        low, high = self.between
        return f"{low / 1000:,.1f} to {high / 1000:,.1f} us"

    @property
    def decided(self) -> bool:
        """Whether the two loads are close enough."""
        low, high = self.between
        return high <= (1 + PROGRAM_RANGE) * low

    @property
    def unknown(self) -> Unknown:
        """As a line of the table."""
        value = f"{self.nanoseconds / 1000:,.1f} us"
        return Unknown("program time", value, self.span, self.decided)


@dataclass(frozen=True)
class Firmware:
    """The firmware time: its median and its 99th percentile, in nanoseconds."""

    p50: int
    p99: int
    between_p50: tuple[float, float]
    between_p99: tuple[float, float]

    @property
    def unknowns(self) -> Iterator[Unknown]:
        """As lines of the table."""
        for name, value, (low, high) in (
            ("firmware, median", self.p50, self.between_p50),
            ("firmware, 99th percentile", self.p99, self.between_p99),
        ):
            span = f"{duration(max(0, round(low)))} to {duration(round(high))}"
            decided = 0 < high <= (1 + FIRMWARE_RANGE) * low
            yield Unknown(name, duration(value), span, decided)


def capacity_span(spares: tuple[float, float]) -> str:
    """The raw capacities between two over-provisionings, in units of the user capacity."""
    low, high = spares
    return f"{1 + low:.4f} or more" if high >= fit.MOST else f"{1 + low:.4f} to {1 + high:.4f}"


def capacity(spare: float, spares: tuple[float, float], *, explained: bool) -> Unknown:
    """The raw capacity as an unknown, with everything else as in the preset.

    `explained`: some raw capacity explains the measurements.
    """
    low, high = spares
    decided = explained and (1 + high) / (1 + low) - 1 <= RANGE
    between = capacity_span(spares) if explained else NONE_FITS
    return Unknown("raw capacity", f"{1 + spare:.4f} x user", between, decided)


def pool_unknowns(
    config: Config, shape: fit.Shape, spare: float, points: fit.Points
) -> list[Unknown]:
    """The watermark and the superblock. Raw capacity is refitted for each value that is tried."""
    best = fit.miss(shape, spare, points)
    soft = config["gc.trigger"][0]["soft"]
    softs = sorted({1, soft, *(round(shape.units * MOST_RESERVED * 2.0**-i) for i in range(7))})
    block = shape.pages * config["device.page_bytes"] / (1 << 20)

    def of_size(factor: float) -> fit.Shape:
        units, pages = max(1, round(shape.units / factor)), max(1, round(shape.pages * factor))
        return fit.Shape.with_watermark(units, pages, soft)

    return [
        _profile(
            ("erased blocks kept", f"{soft} a die", lambda value: f"{value:,.0f}"),
            [watermark for watermark in softs if watermark >= 1],
            lambda value: fit.Shape.with_watermark(shape.units, shape.pages, int(value)),
            points,
            best,
        ),
        _profile(
            ("superblock", f"{block:,.4g} MiB", lambda value: f"{block * value:,.4g}"),
            SIZES,
            of_size,
            points,
            best,
        ),
    ]


def _profile(
    labels: tuple[str, str, Callable[[float], str]],
    values: Sequence[float],
    shape_at: Callable[[float], fit.Shape],
    points: fit.Points,
    best: float,
) -> Unknown:
    """The values with which the residual of the fit is at most `ACCURACY` larger than `best`."""
    name, value, text = labels
    bound, plausible = math.hypot(best, ACCURACY), []
    for candidate in values:
        shape = shape_at(candidate)
        if (
            shape.units > shape.reserved
            and fit.miss(shape, fit.fit_spare(shape, points), points) <= bound
        ):
            plausible.append(candidate)
    if not plausible:
        return Unknown(name, value, NONE_FITS, False)
    span = f"{text(plausible[0])} to {text(plausible[-1])}"
    return Unknown(
        name, value, span, len(plausible) < len(values) and plausible[-1] <= 2 * plausible[0]
    )


def program(
    measured: Measurements, config: Config, shape: fit.Shape, spare: float
) -> tuple[Program | None, list[str]]:
    """The program time that follows from the knee, or None if it is kept, and warnings."""
    if measured.load_fill is None:
        return None, []
    knee_or_reason = _knee(measured)
    if isinstance(knee_or_reason, str):
        return None, [f"{knee_or_reason}: program time is kept"]
    if not _is_serial(config):
        text = "timing.model, timing.busy_unit: program time is fitted for serial planes only; kept"
        return None, [text]
    knee, half = knee_or_reason
    waf = shape.waf(fit.effective_spare(spare, measured.load_fill))
    time = _program_ns(config, waf, knee)
    if time <= 0:
        text = f"a knee at {rate(knee)} writes/s leaves no time for programs: program time is kept"
        return None, [text]
    if time > LONGEST_NS:
        text = (
            f"a knee at {rate(knee)} writes/s implies programs of {duration(round(time))}, longer"
            " than any flash takes: program time is kept; load is in writes a second, not in"
            " thousands"
        )
        return None, [text]
    low, high = (max(0, round(_program_ns(config, waf, knee + offset))) for offset in (half, -half))
    fitted = Program(knee, half, round(time), (low, high))
    if fitted.decided:
        return fitted, []
    low_load, high_load = map(rate, fitted.loads)
    text = (
        f"program time is hardly decided: {fitted.span} fit a knee between {low_load} and"
        f" {high_load} writes/s; measure at loads between them"
    )
    return fitted, [text]


def rate(load: float) -> str:
    """Writes a second."""
    return f"{load:,.9g}"


def _is_serial(config: Config) -> bool:
    return (config["timing.model"], config["timing.busy_unit"]) == ("serial", "plane")


def _knee(measured: Measurements) -> tuple[float, float] | str:
    """The knee as in `knee_of`, or the reason why there is none."""
    limit = f"{KNEE_NS // 10**6} ms"
    load_beyond = None
    for load, line in zip(measured.loads, measured.load_lines, strict=True):
        location = f"load {rate(load.rate)} (line {line})"
        if load.p99 > KNEE_NS:
            load_beyond = load_beyond or location
        elif load_beyond is not None:
            reason = f"p99 is above {limit} at {load_beyond}, but not at {location}"
            return f"the knee is not clear: {reason}"
    side = "beyond" if load_beyond is None else "below"
    return knee_of(measured.loads) or f"no load is {side} the knee (p99 of {limit})"


def _program_ns(config: Config, waf: float, knee: float) -> float:
    """The program time with which all planes are always busy at `knee` writes a second."""
    return (_planes(config) * 1e9 / knee - _overhead_ns(config, waf)) / waf


def busy_rate(config: Config, waf: float) -> float | None:
    """Writes a second at which all planes are always busy, close to the knee.

    None if they are not serial.
    """
    if not _is_serial(config):
        return None
    write = _overhead_ns(config, waf) + waf * float(config["timing.program_ns"])
    return _planes(config) * 1e9 / write


def _planes(config: Config) -> int:
    device = config.values["device"]
    return int(device["channels"] * device["chips_per_channel"] * device["planes_per_chip"])


def _overhead_ns(config: Config, waf: float) -> float:
    """The time of planes that a host write takes besides its programs.

    It costs W programs and W - 1 reads of copies, where W is write amplification, with the
    transfers of the serial model, and its share of an erase.
    """
    timing = config.values["timing"]
    move = timing["transfer_ns"] + timing["sram_ns"]
    copies = (waf - 1) * (timing["read_ns"] + 2 * move)
    erases = waf / config["device.pages_per_block"] * timing["erase_ns"]
    return float(move + timing["sram_ns"] + copies + erases)


def base_ns(config: Config) -> int:
    """The latency of a write of a page to an idle drive without firmware."""
    device, timing, host = (config.values[table] for table in ("device", "timing", "host"))
    link = host["link_bytes_per_s"]
    crossing = 0 if link is None else math.ceil(device["page_bytes"] * 10**9 / link)
    if host["write_buffer_pages"]:
        return int(crossing + timing["sram_ns"])
    write = timing["program_ns"] + timing["transfer_ns"] + 2 * timing["sram_ns"]
    return int(crossing + write)


def firmware(measured: Measurements, config: Config) -> tuple[Firmware | None, list[str]]:
    """The firmware time that follows from latencies below the knee, and warnings.

    The time that the firmware adds to the latency of an idle drive (`base_ns`) does not depend on
    the load.
    """
    loads = [load for load in measured.below_knee if load.fitted]
    if not loads:
        return None, []
    if not _is_serial(config):
        return None, ["firmware time is fitted for serial planes only: it is not fitted"]
    base = base_ns(config)
    for load in loads:
        if load.p50 <= base:
            text = (
                f"the median of {duration(round(load.p50))} at {rate(load.rate)} writes/s leaves no"
                f" time for firmware, as link and SRAM take {duration(base)}: it is not fitted; if"
                " p50_us really is in microseconds, lower timing.sram of the preset"
            )
            return None, [text]
    p50, p99 = (
        round(math.exp(sum(math.log(value - base) for value in values) / len(values)))
        for values in ([load.p50 for load in loads], [load.p99 for load in loads])
    )
    if p99 > MOST_TAIL * p50:
        text = (
            f"the firmware would have a median of {duration(p50)} and a 99th percentile of"
            f" {duration(p99)}, more than {MOST_TAIL} times as much: it is not fitted"
        )
        return None, [text]
    fitted = Firmware(
        p50,
        p99,
        _firmware_range([load.p50 for load in loads], base),
        _firmware_range([load.p99 for load in loads], base),
    )
    undecided = [unknown for unknown in fitted.unknowns if not unknown.decided]
    return fitted, [
        f"{unknown.name} is hardly decided: {unknown.between} fit as well" for unknown in undecided
    ]


def _firmware_range(values: Sequence[float], base: int) -> tuple[float, float]:
    """The firmware times that the lowest and the highest measured latency imply."""
    low, high = min(values), max(values)
    return low * (1 - LATENCY_ACCURACY) - base, high * (1 + LATENCY_ACCURACY) - base


def latency_errors(
    loads: Sequence[Load], base: int, fitted: Firmware
) -> tuple[float, float] | None:
    """The largest errors of median and 99th percentile at loads that are held out.

    Without such loads, they are those at loads left out of the fit in turn; None if there is one.
    """
    held_out = [load for load in loads if not load.fitted]
    if not held_out and len(loads) < 2:
        return None
    errors = []
    for name, fitted_ns in (("p50", fitted.p50), ("p99", fitted.p99)):
        latencies = [getattr(load, name) for load in held_out or loads]
        times = (
            [float(fitted_ns)] * len(latencies)
            if held_out
            else _leave_one_out_means([latency - base for latency in latencies])
        )
        deviations = (
            (base + time) / latency - 1 for time, latency in zip(times, latencies, strict=True)
        )
        errors.append(max(deviations, key=abs))
    return errors[0], errors[1]


def _leave_one_out_means(times: Sequence[float]) -> list[float]:
    """For each time the geometric mean of the others."""
    logs = [math.log(time) for time in times]
    return [math.exp((sum(logs) - log) / (len(logs) - 1)) for log in logs]
