"""Where the latency of a timed trial, a device with small blocks, is not that of the drive.

`by_seed` has the timed runs of a policy: those whose latency is told.
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
"""Largest share of the time that flash may spend on erases that are shorter still: a tenth of the
requests that a p99.9 leaves out."""


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
        reports={label: _in_whole_loops(one) for label, one in timed.reports.items()},
        repetitions={
            label: {seed: _in_whole_loops(one) for seed, one in by_seed.items()}
            for label, by_seed in timed.repetitions.items()
        },
    )


def _in_whole_loops(report: Report) -> Report:
    other = tuple(text for text in report.warnings if not text.startswith(UNEQUAL))
    left_out = len(report.warnings) - len(other)
    return replace(report, warnings=other, invalidating=report.invalidating - left_out)


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
    own: int = drive["timing.erase_ns"]
    for report in by_seed.values():
        erase: int = report.config["timing.erase_ns"]
        if erase * SHORTENED < own and erasing(report) > MOST_ERASING:
            shrunk = drive["device.pages_per_block"] / report.config["device.pages_per_block"]
            needed = pages * drive["device.page_bytes"] * shrunk / SHORTENED
            return (
                f"the blocks of the trial are so small that erases ({duration(erase)} instead of"
                f" {duration(own)}) would decide it: use a trace that touches {size(needed)} or"
                " more"
            )
    return ""


def erasing(report: Report) -> float:
    """Share of the time in which the planes, or the chips where these are the units, erase."""
    config = report.config
    device: Mapping[str, int] = config["device"]
    units = device["channels"] * device["chips_per_channel"]
    if config["timing.busy_unit"] == "plane":
        units *= device["planes_per_chip"]
    erase: int = config["timing.erase_ns"]
    return report.flash.erases * erase / report.time.simulated / units
