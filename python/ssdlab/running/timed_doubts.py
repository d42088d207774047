"""Where the latency of a timed trial, a device with small blocks, is not that of the drive.

`by_seed` has the timed runs of a policy: those whose latency is stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ssdlab.config.resolve import Config
from ssdlab.display.numbers import duration, ratio, size
from ssdlab.results.comparison import Comparison
from ssdlab.results.report import Report

APART = 0.1
"""Share by which the write amplification of the timed trial may differ from the prediction."""
SHORTENED = 2
"""Factor by which erases of the timed trial may be shorter than those of the drive, whatever the
share of the time that they take."""
MOST_ERASING = 1e-4
"""Largest share of the time that flash may spend on erases that are shorter still and leave a
p99.9 as it is: a tenth of the requests that it leaves out."""
MOST_BOUNDED = 4e-4
"""Largest share that leaves the p99.9 below the p99.99 of the trial if the drive is busy for at
most `HALF` of the time: full erases delay at most twice this share of the requests then, so the
drive's p99.9 is at most the trial's 99.98th percentile."""
HALF = 0.5


def mismatch(policy: str, by_seed: Mapping[int, Report], predicted: float) -> str:
    """How write amplification differs from what is predicted of the drive; empty if it does not."""
    for report in by_seed.values():
        waf = report.waf.total
        if waf is not None and report.completed and abs(waf / predicted - 1) > APART:
            return (
                f"write amplification of the timed trial is {ratio(waf)} with {policy}, where the"
                f" drive has {ratio(predicted)}: use a trace that touches more"
            )
    return ""


UNEQUAL = "not in steady state"
"""How the warning about unequal thirds of a run begins."""


def in_whole_loops(timed: Comparison) -> Comparison:
    """The same without warnings about unequal thirds.

    Where whole loops of a trace are measured, after as many as write amplification takes to repeat
    itself, the thirds of a loop are the trace's own.
    """
    return replace(
        timed,
        reports={label: _in_whole_loops(report) for label, report in timed.reports.items()},
        repetitions={
            label: {seed: _in_whole_loops(report) for seed, report in by_seed.items()}
            for label, by_seed in timed.repetitions.items()
        },
    )


def _in_whole_loops(report: Report) -> Report:
    remaining = tuple(text for text in report.warnings if not text.startswith(UNEQUAL))
    dropped = len(report.warnings) - len(remaining)
    return replace(report, warnings=remaining, invalidating=report.invalidating - dropped)


def invalid(by_seed: Mapping[int, Report]) -> str:
    """What invalidates a timed run, in short; empty if nothing does."""
    for report in by_seed.values():
        if report.invalid:
            return f"a timed run is invalid ({report.invalid.partition(':')[0]})"
    return ""


def short_erases(drive: Config, pages: int, by_seed: Mapping[int, Report]) -> str:
    """Why erases that are shorter than the drive's decide a p99.9; empty if they do not.

    Small blocks are erased more often, and so have shorter erases in proportion. `pages` is what
    the trace touches.
    """
    drive_erase_ns: int = drive["timing.erase_ns"]
    for report in by_seed.values():
        is_idle = max(report.device.utilisation.chip) <= HALF
        if _short_erase_share(drive, report) > (MOST_BOUNDED if is_idle else MOST_ERASING):
            erase: int = report.config["timing.erase_ns"]
            shrink_factor = (
                drive["device.pages_per_block"] / report.config["device.pages_per_block"]
            )
            needed_bytes = pages * drive["device.page_bytes"] * shrink_factor / SHORTENED
            return (
                f"the blocks of the trial are so small that erases ({duration(erase)} instead of"
                f" {duration(drive_erase_ns)}) would decide it: use a trace that"
                f" touches {size(needed_bytes)} or more"
            )
    return ""


def is_bounded(drive: Config, by_seed: Mapping[int, Report]) -> bool:
    """Whether the drive's p99.9 is between the p99.9 and the p99.99 of the runs.

    Shortened erases then delay too few requests to push it further.
    """
    return any(_short_erase_share(drive, report) > MOST_ERASING for report in by_seed.values())


def _short_erase_share(drive: Config, report: Report) -> float:
    """Share of the time on erases that are much shorter than the drive's; 0 if they are not."""
    is_short = report.config["timing.erase_ns"] * SHORTENED < drive["timing.erase_ns"]
    return erase_share(report) if is_short else 0.0


def erase_share(report: Report) -> float:
    """Share of the time in which the planes, or the chips where these are the units, erase."""
    config = report.config
    device: Mapping[str, int] = config["device"]
    units = device["channels"] * device["chips_per_channel"]
    if config["timing.busy_unit"] == "plane":
        units *= device["planes_per_chip"]
    erase: int = config["timing.erase_ns"]
    return report.flash.erases * erase / report.time.simulated / units
