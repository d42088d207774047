"""`ssdlab drives calibrate`: a preset from the measurements of a drive."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ssdlab.config.resolve import (
    Config,
    drive_preset,
    load_config,
    preset_names,
    with_blocks_of,
)
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError
from ssdlab.reproduce.drives import fit
from ssdlab.reproduce.drives.choices import KNEE_NS
from ssdlab.reproduce.drives.known import knee_of
from ssdlab.reproduce.drives.measurements import Measurements, read
from ssdlab.results import outputs
from ssdlab.versions import described

SMALLER = 8
"""The preset that is written has so many times fewer pages a block than the one that it is like.

Erases take so many times less, so that they take the same share of a plane's time.
"""
ACCURACY = 0.02
"""What a measurement of write amplification may be off by."""
RANGE = 0.05
"""Raw capacities that fit about as well and differ by more than this leave it undecided."""
PROGRAM_RANGE = 0.2
"""Program times at the two loads around the knee that differ by more leave it undecided."""
LONGEST_NS = 60 * 10**9
"""What a preset takes as a time."""
RESIDUAL = 0.05
"""A residual above this is not explained by raw capacity."""
SPREAD = 0.2
"""Fills closer than this do not test the shape of the curve."""


@dataclass(frozen=True)
class Program:
    """The program time that the measured knee asks for."""

    knee: float
    """Writes a second: the middle between two measured loads."""
    half: float
    """Half of their distance."""
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


@dataclass(frozen=True)
class Calibration:
    """A drive fitted to measurements."""

    measured: Measurements
    like: str
    shape: fit.Shape
    spare: float
    """Over-provisioning, the number that is fitted."""
    spares: tuple[float, float]
    """Between these it misses at most `ACCURACY` more than at its best."""
    program: Program | None
    warnings: tuple[str, ...]
    file: Path

    def rows(self) -> list[tuple[float, float, float, float]]:
        """Fill, measured, fitted, relative residual."""
        fills = np.array([fill for fill, _ in self.measured.points])
        fitted = self.shape.wafs(fit.used(self.spare, fills)).tolist()
        found = zip(self.measured.points, fitted, strict=True)
        return [(fill, waf, ours, ours / waf - 1) for (fill, waf), ours in found]

    def summary(self) -> str:
        """In words."""
        text = ["  fill  measured    fitted  residual"]
        text += [f"{a:6.3f}  {b:8.3f}  {c:8.3f}  {100 * d:+7.1f} %" for a, b, c, d in self.rows()]
        text.append(
            f"raw capacity {1 + self.spare:.4f} times the user capacity (over-provisioning"
            f" {self.spare:.4f});\n{_span(self.spares)} if the measurements are off by"
            f" {100 * ACCURACY:g} %"
        )
        if self.program is not None:
            text.append(
                f"program time {self.program.nanoseconds / 1000:,.1f} us, from a knee at"
                f" {_rate(self.program.knee)} writes/s (± {_rate(self.program.half)});\n"
                f"{self.program.span} at the loads around it"
            )
        return "\n".join(text) + "\n"

    def to_json(self) -> str:
        """The same as JSON."""
        keys = ("fill", "measured", "fitted", "residual")
        values = {
            "file": str(self.file),
            "like": self.like,
            "over_provisioning": self.spare,
            "over_provisioning_range": list(self.spares),
            "points": [dict(zip(keys, row, strict=True)) for row in self.rows()],
            "knee_per_s": None if self.program is None else self.program.knee,
            "knee_per_s_range": None if self.program is None else list(self.program.loads),
            "program_ns": None if self.program is None else self.program.nanoseconds,
            "program_ns_range": None if self.program is None else list(self.program.between),
            "warnings": list(self.warnings),
        }
        return json.dumps(values, indent=2) + "\n"

    def toml(self, config: Config) -> str:
        """The preset."""
        worst = max(abs(residual) for *_, residual in self.rows())
        lines = [
            f"# A drive fitted by `ssdlab drives calibrate`, ssdlab {described()}.",
            f"# Largest residual {100 * worst:.1f} %. What is not here is that of the preset.",
            *(f"# Warning: {text}" for text in self.warnings),
            *(f"# Fill {a:g}: measured {b:g}, fitted {c:.3f}." for a, b, c, _ in self.rows()),
            f"preset = {json.dumps(self.like)}",
            "",
            "[device]",
            f"pages_per_block = {config['device.pages_per_block']}"
            f"  # 1/{SMALLER} of the preset's, to take less memory",
            f"over_provisioning = {self.spare:.6f}  # fitted",
            "",
            "[timing]",
            f'erase = "{config["timing.erase_ns"]} ns"'
            f"  # 1/{SMALLER} of the preset's, as pages_per_block",
        ]
        if self.program is not None:
            low, high = map(_rate, self.program.loads)
            lines += [
                f"# {self.program.span}: the knee is between {low} and {high} writes/s.",
                f'program = "{self.program.nanoseconds} ns"  # fitted',
            ]
        return "\n".join(lines) + "\n"


def calibrate(
    measurements: str | Path,
    *,
    out: str | Path | None = None,
    like: str = "drive:samsung-pm9a3",
    force: bool = False,
) -> Calibration:
    """Fit raw capacity, and program time if there are latencies, and write a preset to `out`.

    Everything else is that of the preset `like`; `drive:` may be left out. Raises `ConfigError` and
    `OutputError`; then nothing is written.
    """
    if not str(measurements):
        raise ConfigError(["measurements: the name is empty; expected a CSV file"])
    like = _preset(like)
    source = Path(measurements)
    measured = read(source)
    file = source.with_suffix(".toml") if out is None else Path(out)
    if file.resolve() == source.resolve():
        raise ConfigError([f"{argument(out=str(file))}: that is the file of the measurements"])
    outputs.check([file], force)
    config = smaller(like)
    shape = fit.Shape.of(config)
    spare = fit.fitted(shape, measured.points)
    if math.isinf(shape.waf(spare)):
        message = (
            f"{source}: waf: too high for the fills: the raw capacity that fits best leaves no room"
            " to collect when the drive is full"
        )
        raise ConfigError([message])
    spares = fit.plausible(shape, spare, measured.points, ACCURACY)
    program, warnings = _program(measured, config, shape, spare)
    said = (*measured.warnings, *_doubts(measured, shape, spare, spares), *warnings)
    done = Calibration(measured, like, shape, spare, spares, program, said, file)
    text = done.toml(config)
    outputs.write_all({file: outputs.text(text)}, force=force)
    return done


def _preset(like: str) -> str:
    """The preset that `like` names."""
    if like in preset_names():
        return like
    given = argument(like=like)
    if Path(like).suffix == ".toml":
        raise ConfigError([f"{given}: found a file; expected a preset (ssdlab list drives)"])
    return drive_preset(like, given)


def smaller(like: str) -> Config:
    """The preset with fewer pages a block, as it is written: it takes less memory."""
    whole = load_config(None, preset=like)
    shape = fit.Shape.of(whole)
    device = whole.values["device"]
    pages = max(1, device["pages_per_block"] // SMALLER)
    keys = {
        **with_blocks_of(pages, whole),
        "device.over_provisioning": shape.raw_pages(device) / device["user_pages"] - 1,
    }
    return load_config(None, preset=like, set=keys)


def _doubts(
    measured: Measurements, shape: fit.Shape, spare: float, spares: tuple[float, float]
) -> list[str]:
    """Why the fit may say less than it seems to."""
    said = []
    low, high = spares
    fills = [fill for fill, _ in measured.points]
    if (1 + high) / (1 + low) - 1 > RANGE:
        said.append(
            f"raw capacity is hardly decided: {_span(spares)} times the user capacity fit about as"
            " well; measure at higher fills"
        )
    if max(fills) - min(fills) < SPREAD:
        said.append(
            f"all fills lie between {min(fills):g} and {max(fills):g}: how write amplification"
            " rises with the fill is not tested"
        )
    residuals = fit.residuals(shape, spare, measured.points)
    worst = int(np.argmax(np.abs(residuals)))
    if abs(residuals[worst]) > RESIDUAL:
        said.append(
            f"no raw capacity explains the measurements: {100 * math.expm1(residuals[worst]):+.1f}"
            f" % at fill {fills[worst]:g}; the drive may not be greedy, or not have been in its"
            " steady state"
        )
    return said


def _span(spares: tuple[float, float]) -> str:
    """The raw capacities between two over-provisionings, in units of the user capacity."""
    low, high = spares
    return f"{1 + low:.4f} or more" if high >= fit.MOST else f"{1 + low:.4f} to {1 + high:.4f}"


def _rate(rate: float) -> str:
    """Writes a second."""
    return f"{rate:,.9g}"


def _program(
    measured: Measurements, config: Config, shape: fit.Shape, spare: float
) -> tuple[Program | None, list[str]]:
    """The program time that the knee asks for, and what is to be warned of; none if it is kept."""
    if measured.load_fill is None:
        return None, []
    found = _knee(measured)
    if isinstance(found, str):
        return None, [f"{found}: program time is kept"]
    if config["timing.model"] != "serial" or config["timing.busy_unit"] != "plane":
        text = "timing.model, timing.busy_unit: program time is fitted for serial planes only; kept"
        return None, [text]
    knee, half = found
    waf = shape.waf(fit.used(spare, measured.load_fill))
    time = _program_ns(config, waf, knee)
    if time <= 0:
        text = f"a knee at {_rate(knee)} writes/s leaves no time for programs: program time is kept"
        return None, [text]
    if time > LONGEST_NS:
        text = (
            f"a knee at {_rate(knee)} writes/s asks for programs of {time / 1e9:,.0f} s, more than"
            f" {LONGEST_NS // 10**9} s: program time is kept"
        )
        return None, [text]
    low, high = (max(0, round(_program_ns(config, waf, knee + by))) for by in (half, -half))
    program = Program(knee, half, round(time), (low, high))
    if high <= (1 + PROGRAM_RANGE) * low:
        return program, []
    below, above = map(_rate, program.loads)
    text = (
        f"program time is hardly decided: {program.span} fit a knee between {below} and {above}"
        " writes/s; measure at loads between them"
    )
    return program, [text]


def _knee(measured: Measurements) -> tuple[float, float] | str:
    """The knee as `knee_of` says, or why there is none."""
    limit = f"{KNEE_NS // 10**6} ms"
    over = None
    for load, line in zip(measured.loads, measured.load_lines, strict=True):
        at = f"load {_rate(load.rate)} (line {line})"
        if load.p99 > KNEE_NS:
            over = over or at
        elif over is not None:
            return f"the knee is not clear: p99 is above {limit} at {over}, but not at {at}"
    side = "beyond" if over is None else "below"
    return knee_of(list(measured.loads)) or f"no load is {side} the knee (p99 of {limit})"


def _program_ns(config: Config, waf: float, rate: float) -> float:
    """The program time with which planes are busy all the time at so many writes a second.

    A write of the host costs W programs and W - 1 copies read, W its write amplification, with the
    transfers of the serial model, and its share of an erase.
    """
    device, timing = config.values["device"], config.values["timing"]
    planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
    move = timing["transfer_ns"] + timing["sram_ns"]
    copies = (waf - 1) * (timing["read_ns"] + 2 * move)
    erases = waf / device["pages_per_block"] * timing["erase_ns"]
    host = move + timing["sram_ns"]
    return float((planes * 1e9 / rate - host - copies - erases) / waf)
