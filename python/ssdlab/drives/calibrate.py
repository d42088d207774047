"""`ssdlab drives calibrate`: a user's drive from its measurements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from ssdlab.config.drives import Errors, MachineErrors, errors_file, is_title, machine_digest
from ssdlab.config.resolve import Config, drive_preset, load_config, preset_names
from ssdlab.display.argument import argument
from ssdlab.display.numbers import difference
from ssdlab.drives import fit, unknowns
from ssdlab.drives.measurements import UNIFORM, Measurements, read
from ssdlab.drives.unknowns import ACCURACY, Firmware, Program, Unknown, capacity_span
from ssdlab.errors import ConfigError
from ssdlab.results import outputs
from ssdlab.results.text import table, wrapped
from ssdlab.running.spare_plan import capacity_bytes, sized
from ssdlab.versions import described

RESIDUAL = 0.05
"""A residual above this is not explained by raw capacity."""
SPREAD = 0.2
"""Fills closer than this do not test the shape of the curve."""


@dataclass(frozen=True)
class Row:
    """A measured write amplification of uniform writes beside the fitted value."""

    fill: float
    measured: float
    fitted: float
    held_out: bool
    """Whether the fit did not use it."""
    predicted: float | None
    """The prediction of a fit without this point; None if there is no such fit."""

    @property
    def residual(self) -> float:
        """Relative residual of the fit."""
        return self.fitted / self.measured - 1

    @property
    def error(self) -> float | None:
        """Relative error of the prediction."""
        return None if self.predicted is None else self.predicted / self.measured - 1

    def cells(self) -> list[str]:
        """As a line of a table."""
        error = "-" if self.error is None else difference(self.error)
        cells = [f"{self.fill:.4g}", f"{self.measured:.3f}", f"{self.fitted:.3f}"]
        return [*cells, difference(self.residual), error, "held out" if self.held_out else ""]


@dataclass(frozen=True)
class Calibration:
    """A drive fitted to measurements."""

    title: str
    measured: Measurements
    like: str
    shape: fit.Shape
    spare: float
    """Over-provisioning, the number that is fitted."""
    spares: tuple[float, float]
    """The over-provisionings between which the fit is about as good: see `ACCURACY`."""
    program: Program | None
    firmware: Firmware | None
    unknowns: tuple[Unknown, ...]
    """The unknowns of the drive, and whether the measurements decide them."""
    config: Config
    """The fitted drive."""
    warnings: tuple[str, ...]
    file: Path

    @cached_property
    def rows(self) -> list[Row]:
        """Every write amplification of uniform writes."""
        points = self.measured.of(UNIFORM)
        fitted = self.shape.wafs(
            fit.effective_spare(self.spare, np.array([point.fill for point in points]))
        )
        predictions = iter(fit.cross_validate(self.shape, self.measured.points).tolist())
        rows = []
        for point, fit_waf in zip(points, fitted.tolist(), strict=True):
            prediction = next(predictions) if point.fitted else fit_waf
            predicted = prediction if math.isfinite(prediction) else None
            rows.append(Row(point.fill, point.waf, fit_waf, not point.fitted, predicted))
        return rows

    @property
    def errors(self) -> Errors:
        """Errors of predictions: of rows held out or, without such rows, of each point left out."""
        rows = self.rows
        held_out = [row for row in rows if row.held_out]
        tested = held_out or rows
        errors_ = [abs(row.error) for row in tested if row.error is not None]
        base_ns, firmware, loads = (
            unknowns.base_ns(self.config),
            self.firmware,
            self.measured.below_knee,
        )
        latency = None if firmware is None else unknowns.latency_errors(loads, base_ns, firmware)
        p50, p99 = latency or (None, None)
        return Errors(
            uniform=fmean(errors_) if len(errors_) == len(tested) else None,
            p50=p50,
            p99=p99,
            residual=None if held_out else fmean(abs(row.residual) for row in rows),
        )

    def summary(self) -> str:
        """In words."""
        rows = [row.cells() for row in self.rows]
        text = table(["fill", "measured", "fitted", "residual", "left out", ""], rows)
        lines = [
            [unknown.name, unknown.value, unknown.between, unknown.verdict]
            for unknown in self.unknowns
        ]
        text += ["", *table(["", "fitted", "fits as well", "verdict"], lines), ""]
        accuracy = f" if the measurements are off by {100 * ACCURACY:g} %"
        text.append(
            f"raw capacity {1 + self.spare:.4f} times the user capacity (over-provisioning"
            f" {self.spare:.4f});\n{self._capacities}{accuracy * self._is_explained}"
        )
        if self.program is not None:
            text.append(
                f"program time {self.program.nanoseconds / 1000:,.1f} us, from a knee at"
                f" {unknowns.rate(self.program.knee)} writes/s (± "
                f"{unknowns.rate(self.program.half)});\n{self.program.span} at the loads around it"
            )
        text += wrapped("", f"{self.title}, predicted: {self.errors.text()}")
        return "\n".join(text) + "\n"

    @property
    def _is_explained(self) -> bool:
        """Whether some raw capacity explains the measurements."""
        return _largest_misfit(self.shape, self.spare, self.measured.points) is None

    @property
    def _capacities(self) -> str:
        """The raw capacities that fit about as well, in words."""
        if self._is_explained:
            return f"{capacity_span(self.spares)} times the user capacity"
        return "no raw capacity explains the measurements"

    def to_json(self) -> str:
        """The same as JSON."""
        rows = [
            {
                "fill": row.fill,
                "measured": row.measured,
                "fitted": row.fitted,
                "residual": row.residual,
                "held_out": row.held_out,
                "predicted": row.predicted,
            }
            for row in self.rows
        ]
        values = {
            "file": str(self.file),
            "title": self.title,
            "like": self.like,
            "over_provisioning": self.spare,
            "over_provisioning_range": list(self.spares),
            "points": rows,
            "knee_per_s": None if self.program is None else self.program.knee,
            "knee_per_s_range": None if self.program is None else list(self.program.loads),
            "program_ns": None if self.program is None else self.program.nanoseconds,
            "program_ns_range": None if self.program is None else list(self.program.between),
            "firmware_p50_ns": None if self.firmware is None else self.firmware.p50,
            "firmware_p99_ns": None if self.firmware is None else self.firmware.p99,
            "unknowns": [unknown.json() for unknown in self.unknowns],
            "errors": MachineErrors(self.errors, machine_digest(self.config.values)).json(),
            "warnings": list(self.warnings),
        }
        return json.dumps(values, indent=2) + "\n"

    def toml(self) -> str:
        """The TOML file of the drive."""
        device = self.config.values["device"]
        fitted = f"raw capacity {self._capacities}" if self._is_explained else self._capacities
        undecided = [unknown.name for unknown in self.unknowns if not unknown.decided]
        lines = [
            f"# {self.title}: fitted by `ssdlab drives calibrate`, ssdlab {described()}.",
            f"# Everything else is as in {self.like}. The data cannot decide: "
            f"{', '.join(undecided) or 'nothing'}.",
            *(f"# Warning: {text}" for text in self.warnings),
            f"preset = {json.dumps(self.like)}",
            "",
            "[device]",
            f"chips_per_channel = {device['chips_per_channel']}",
            f"blocks_per_plane = {device['blocks_per_plane']}  # fitted, with over_provisioning",
            f"over_provisioning = {self.spare:.6f}  # fitted: {fitted}",
        ]
        if self.program is not None:
            low, high = map(unknowns.rate, self.program.loads)
            lines += [
                "",
                "[timing]",
                f"# {self.program.span}: the knee is between {low} and {high} writes/s.",
                f'program = "{self.program.nanoseconds} ns"  # fitted',
            ]
        times = [0, 0] if self.firmware is None else [self.firmware.p50, self.firmware.p99]
        note = "not fitted" if self.firmware is None else "fitted"
        lines += ["", "[controller]", f'firmware_p50 = "{times[0]} ns"  # {note}']
        lines += [f'firmware_p99 = "{times[1]} ns"  # {note}']
        lines += ["", "[published]", f"title = {json.dumps(self.title, ensure_ascii=False)}"]
        lines += ["# rated = { dwpd = 1, years = 5, waf = 4.2 }  # the maker's rating"]
        return "\n".join(lines) + "\n"


def calibrate(
    measurements: str | Path,
    *,
    out: str | Path | None = None,
    name: str | None = None,
    like: str = "drive:samsung-pm9a3",
    capacity: str | int | None = None,
    force: bool = False,
) -> Calibration:
    """Fit a drive and write its file to `out`, with the measurements and its errors beside it.

    The drive is called `name`, by default like its file. Everything that is not fitted comes from
    the preset `like`, whose `drive:` may be left out. So does the capacity, unless `capacity` is
    given. Raises `ConfigError` and `OutputError`; then nothing is written.
    """
    if not str(measurements):
        raise ConfigError(["measurements: the name is empty; expected a CSV file"])
    like = _preset(like)
    source = Path(measurements)
    measured = read(source)
    if len(measured.points) == 0:
        raise ConfigError([f"{source}: use: no uniform writes are marked `fit`; mark at least one"])
    file = source.with_suffix(".toml") if out is None else Path(out)
    if file.resolve() == source.resolve():
        raise ConfigError([f"{argument(out=str(file))}: that is the file of the measurements"])
    title = file.stem if name is None else name
    if not is_title(title):
        message = f"{argument(name=title)}: expected the name of the drive, without parentheses"
        raise ConfigError([message])
    measurements_copy = file.with_suffix(".csv")
    copies = (
        {}
        if measurements_copy.resolve() == source.resolve()
        else {measurements_copy: source.read_bytes()}
    )
    outputs.check([file, errors_file(file), *copies], force)
    calibration = _fit_drive(title, measured, like, capacity, file)
    errors = MachineErrors(calibration.errors, machine_digest(calibration.config.values)).json()
    texts = {file: calibration.toml(), errors_file(file): json.dumps(errors, indent=2) + "\n"}
    contents = {path: text.encode() for path, text in texts.items()} | copies
    outputs.write_all({path: _writer(data) for path, data in contents.items()}, force=force)
    return calibration


def _writer(data: bytes) -> outputs.Write:
    return lambda out: out.write(data)


def _fit_drive(
    title: str, measured: Measurements, like: str, capacity: str | int | None, file: Path
) -> Calibration:
    """The drive fitted to the measurements."""
    base = load_config(None, preset=like)
    shape, points = fit.Shape.of(base), measured.points
    spare = fit.fit_spare(shape, points)
    if math.isinf(shape.waf(spare)):
        message = (
            f"{file.with_suffix('.csv')}: waf: too high for the fills: the raw capacity that fits"
            " best leaves no room to collect when the drive is full"
        )
        raise ConfigError([message])
    device = base.values["device"]
    page = device["page_bytes"]
    pages = device["user_pages"] if capacity is None else capacity_bytes(capacity) // page
    config = _resize(base, sized(base, pages, spare), spare, {})
    shape = fit.Shape.of(config)
    spare = fit.fit_spare(shape, points)
    spares = fit.plausible_range(shape, spare, points, ACCURACY)
    program, doubts = unknowns.program(measured, config, shape, spare)
    firmware, firmware_doubts = unknowns.firmware(measured, config)
    keys: dict[str, object] = {"controller.firmware_p50": "0 s", "controller.firmware_p99": "0 s"}
    if program is not None:
        keys["timing.program"] = f"{program.nanoseconds} ns"
    if firmware is not None:
        keys["controller.firmware_p50"] = f"{firmware.p50} ns"
        keys["controller.firmware_p99"] = f"{firmware.p99} ns"
    config = _resize(base, config, round(spare, 6), keys)
    explained = _largest_misfit(shape, spare, points) is None
    unknown_list = [unknowns.capacity(spare, spares, explained=explained)]
    unknown_list += unknowns.pool_unknowns(config, shape, spare, points)
    buffer = f"{config['host.write_buffer_pages']:,} pages"
    unknown_list.append(Unknown("write buffer", buffer, "any", False))
    unknown_list += [] if program is None else [program.unknown]
    unknown_list += [] if firmware is None else [*firmware.unknowns]
    warnings = (
        *measured.warnings,
        *(["the sustained write is not fitted"] if measured.sustained else []),
        *_doubts(measured, shape, spare, spares),
        *doubts,
        *firmware_doubts,
    )
    return Calibration(
        title=title,
        measured=measured,
        like=like,
        shape=shape,
        spare=spare,
        spares=spares,
        program=program,
        firmware=firmware,
        unknowns=tuple(unknown_list),
        config=config,
        warnings=warnings,
        file=file,
    )


def _resize(base: Config, size: Config, spare: float, keys: Mapping[str, object]) -> Config:
    """The preset with the dies and blocks of `size`, at an over-provisioning."""
    device = size.values["device"]
    size_keys = {
        "device.chips_per_channel": device["chips_per_channel"],
        "device.blocks_per_plane": device["blocks_per_plane"],
        "device.over_provisioning": spare,
    }
    return load_config(base, set={**size_keys, **keys})


def _preset(like: str) -> str:
    """The preset that `like` names."""
    if like in preset_names():
        return like
    spelling = argument(like=like)
    if Path(like).suffix == ".toml":
        raise ConfigError([f"{spelling}: found a file; expected a preset (ssdlab list drives)"])
    return drive_preset(like, spelling)


def _doubts(
    measured: Measurements, shape: fit.Shape, spare: float, spares: tuple[float, float]
) -> list[str]:
    """Reasons why the fit may be weaker than it seems."""
    doubts = []
    fills = [fill for fill, _ in measured.points]
    worst = _largest_misfit(shape, spare, measured.points)
    if worst is None and not unknowns.capacity(spare, spares, explained=True).decided:
        doubts.append(
            f"raw capacity is hardly decided: {capacity_span(spares)} times the user capacity fit"
            " about as well; measure at higher fills"
        )
    if max(fills) - min(fills) < SPREAD:
        doubts.append(
            f"all fills lie between {min(fills):g} and {max(fills):g}: how write amplification"
            " rises with the fill is not tested"
        )
    if worst is not None:
        fill, residual = worst
        doubts.append(
            f"no raw capacity explains the measurements: {100 * math.expm1(residual):+.1f}"
            f" % at fill {fill:g}; the drive may not be greedy, or not have been in its"
            " steady state"
        )
    return doubts


def _largest_misfit(
    shape: fit.Shape, spare: float, points: fit.Points
) -> tuple[float, float] | None:
    """The fill with the largest residual, and the residual, if it is too large for the fit."""
    residuals = fit.residuals(shape, spare, points)
    worst = int(np.argmax(np.abs(residuals)))
    fill, _ = points[worst]
    return (fill, float(residuals[worst])) if abs(residuals[worst]) > RESIDUAL else None
