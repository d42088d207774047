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
from ssdlab_lab.reproduce.combined.outcome import READS, WRITES, CombinedOutcome, Setting

PATIENT = ("oldest first", "host first")


@dataclass(frozen=True)
class Expected:
    """An expectation and its test; the test returns what was found, or None without the runs."""

    text: str
    judge: Callable[[CombinedOutcome], tuple[bool, str] | None]


def _of(
    study: CombinedOutcome,
    line: str,
    measure: str,
    orders: tuple[str, ...],
    lives: tuple[float, ...],
) -> Iterator[tuple[str, float]]:
    """Ratios to the conventional line by setting, if they exist."""
    for order in orders:
        for live in lives:
            ratio = study.ratio(Setting(order, live), line, measure)
            if ratio is not None:
                yield f"{order} {100 * live:.0f} %", ratio.ratio


def _floor_is_near(study: CombinedOutcome) -> tuple[bool, str] | None:
    ratios = dict(_of(study, FLOOR, WRITES, PATIENT, LIVE[:1]))
    text = ", ".join(f"{place} {ratio:.2f}" for place, ratio in ratios.items())
    return (min(ratios.values()) >= NEAR, text) if ratios else None


def _amount_helps_most(study: CombinedOutcome) -> tuple[bool, str] | None:
    order = next(iter(ORDERS))
    verdicts, texts = [], []
    for live in LIVE[:3]:
        ratios = {
            line: ratio.ratio
            for line in CHANGES
            if (ratio := study.ratio(Setting(order, live), line, WRITES)) is not None
        }
        if ratios:
            best = min(ratios, key=ratios.__getitem__)
            verdicts.append(best == "as needed")
            texts.append(f"{100 * live:.0f} %: {best} {ratios[best]:.2f}")
    return (all(verdicts), ", ".join(texts)) if verdicts else None


def _path_in_turns(study: CombinedOutcome) -> tuple[bool, str] | None:
    ratio_of_order = {
        order: sum(ratios) / len(ratios)
        for order in ORDERS
        if (ratios := [ratio for _, ratio in _of(study, "selective", WRITES, (order,), LIVE[:3])])
    }
    text = ", ".join(f"{order} {ratio:.3f}" for order, ratio in ratio_of_order.items())
    return (
        (min(ratio_of_order, key=ratio_of_order.__getitem__) == "round robin", text)
        if len(ratio_of_order) > 1
        else None
    )


def _blocking_never_helps(study: CombinedOutcome) -> tuple[bool, str] | None:
    ratios = {
        f"{line}, {place}": ratio
        for line, question in CHANGES.items()
        if question == "blocked"
        for place, ratio in _of(study, line, READS, (*ORDERS,), LIVE)
    }
    if not ratios:
        return None
    lowest = min(ratios, key=ratios.__getitem__)
    return ratios[lowest] >= 1 / 1.03, f"lowest: {lowest} {ratios[lowest]:.2f}"


def _together_reaches_the_floor(study: CombinedOutcome) -> tuple[bool, str] | None:
    order = next(iter(ORDERS))
    pairs = [
        (live, together.ratio, floor.ratio)
        for live in LIVE[:3]
        if (together := study.ratio(Setting(order, live), TOGETHER, WRITES)) is not None
        and (floor := study.ratio(Setting(order, live), FLOOR, WRITES)) is not None
    ]
    text = ", ".join(
        f"{100 * live:.0f} %: {together:.2f}, floor {floor:.2f}" for live, together, floor in pairs
    )
    return (all(together <= 2 * floor for _, together, floor in pairs), text) if pairs else None


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
