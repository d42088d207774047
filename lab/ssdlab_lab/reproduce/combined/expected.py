"""What was expected of the study, written before its first run, and whether it came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ssdlab_lab.reproduce.combined.choices import (
    CHANGES,
    FLOOR,
    LIVE,
    NEAR,
    ORDERS,
    TOGETHER,
)
from ssdlab_lab.reproduce.combined.outcome import READS, WRITES, Combined, Setting

PATIENT = ("oldest first", "host first")


@dataclass(frozen=True)
class Expected:
    """An expectation and its test; the test returns what was found, or None without the runs."""

    text: str
    judge: Callable[[Combined], tuple[bool, str] | None]


def _of(
    done: Combined, line: str, measure: str, orders: tuple[str, ...], lives: tuple[float, ...]
) -> Iterator[tuple[str, float]]:
    """Ratios to the conventional line by setting, if they exist."""
    for order in orders:
        for live in lives:
            ratio = done.ratio(Setting(order, live), line, measure)
            if ratio is not None:
                yield f"{order} {100 * live:.0f} %", ratio.ratio


def _floor_is_near(done: Combined) -> tuple[bool, str] | None:
    found = dict(_of(done, FLOOR, WRITES, PATIENT, LIVE[:1]))
    said = ", ".join(f"{where} {ratio:.2f}" for where, ratio in found.items())
    return (min(found.values()) >= NEAR, said) if found else None


def _amount_helps_most(done: Combined) -> tuple[bool, str] | None:
    order = next(iter(ORDERS))
    verdicts, said = [], []
    for live in LIVE[:3]:
        by = {
            line: ratio.ratio
            for line in CHANGES
            if (ratio := done.ratio(Setting(order, live), line, WRITES)) is not None
        }
        if by:
            best = min(by, key=by.__getitem__)
            verdicts.append(best == "as needed")
            said.append(f"{100 * live:.0f} %: {best} {by[best]:.2f}")
    return (all(verdicts), ", ".join(said)) if verdicts else None


def _path_in_turns(done: Combined) -> tuple[bool, str] | None:
    by = {
        order: sum(ratios) / len(ratios)
        for order in ORDERS
        if (ratios := [ratio for _, ratio in _of(done, "selective", WRITES, (order,), LIVE[:3])])
    }
    said = ", ".join(f"{order} {ratio:.3f}" for order, ratio in by.items())
    return (min(by, key=by.__getitem__) == "round robin", said) if len(by) > 1 else None


def _blocking_never_helps(done: Combined) -> tuple[bool, str] | None:
    found = {
        f"{line}, {where}": ratio
        for line, question in CHANGES.items()
        if question == "blocked"
        for where, ratio in _of(done, line, READS, (*ORDERS,), LIVE)
    }
    if not found:
        return None
    least = min(found, key=found.__getitem__)
    return found[least] >= 1 / 1.03, f"lowest: {least} {found[least]:.2f}"


def _together_reaches_the_floor(done: Combined) -> tuple[bool, str] | None:
    order = next(iter(ORDERS))
    pairs = [
        (live, one.ratio, floor.ratio)
        for live in LIVE[:3]
        if (one := done.ratio(Setting(order, live), TOGETHER, WRITES)) is not None
        and (floor := done.ratio(Setting(order, live), FLOOR, WRITES)) is not None
    ]
    said = ", ".join(
        f"{100 * live:.0f} %: {one:.2f}, floor {floor:.2f}" for live, one, floor in pairs
    )
    return (all(one <= 2 * floor for _, one, floor in pairs), said) if pairs else None


EXPECTED = (
    Expected(
        "Oldest first and host first, 25 % live: the floor is near, so no answer can lower the"
        f" p99.9 of writes by more than {100 - 100 * NEAR:.0f} %.",
        _floor_is_near,
    ),
    Expected(
        "Collection first, up to 60 % live: of all changes, collecting only as much as needed"
        " lowers the p99.9 of writes most, since the length of a burst decides it.",
        _amount_helps_most,
    ),
    Expected(
        "The selective path lowers the p99.9 of writes most under round robin, where a request"
        " waits for one task of each queue (mean over 25 to 60 % live).",
        _path_in_turns,
    ),
    Expected(
        "Closing a block or a channel to the host never lowers the p99.9 of reads by more than"
        " 3 %.",
        _blocking_never_helps,
    ),
    Expected(
        "Collection first, up to 60 % live: the best answers together come within a factor of two"
        " of the floor.",
        _together_reaches_the_floor,
    ),
)
