"""The answer of a search in sentences: only claims that the intervals of its test support."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ssdlab.results.intervals import Ratio
from ssdlab.results.text import counted, folded_points

if TYPE_CHECKING:
    from ssdlab.results.search import Search


def against(ratio: Ratio, other: str) -> str:
    """A ratio in words, with its interval, which decides whether it counts as lower or higher."""
    low, high = ratio.low, ratio.high
    if ratio.order == "equal":
        return f"equal to {other}"
    interval = "" if low is None or high is None else f", 95 %: {low:.4g} to {high:.4g}"
    spread = "" if interval else ", the same with every seed"
    if ratio.order == "not distinguishable":
        return f"not distinguishable from {other} (ratio {ratio.ratio:.4g}{interval})"
    if ratio.ratio >= 2:
        return (
            f"{ratio.ratio:.3g} times that of {other} (ratio {ratio.ratio:.4g}{interval}{spread})"
        )
    apart = 100 * abs(ratio.ratio - 1)
    return f"{apart:.2g} % {ratio.order} than {other} (ratio {ratio.ratio:.4g}{interval}{spread})"


def answer(done: Search) -> Iterator[str]:
    """The result, then what is left out because a warning invalidates it."""
    yield from _found(done)
    yield from done.left_out
    if done.best is not None:
        yield from (f"Not compared with {one}." for one in folded_points(done.invalid.items()))


def _found(done: Search) -> Iterator[str]:
    """The best point and its test, or by how much the nearest misses the constraints."""
    best = done.best
    if best is None:
        if done.misses:
            yield f"{done.misses[0].upper()}{done.misses[1:]}."
        return
    assert best.values is not None
    if len(done.goals) == 1:
        goal, value = done.goals[0], best.values[0]
        # Keys and names of numbers in reports begin in lower case.
        what = goal.title if "." in goal.title else goal.title[0].upper() + goal.title[1:]
        base = done.baseline[0]
        beside = (
            "" if base is None or done.in_ratios else f"; {done.value_text(0, base)} in baseline"
        )
        yield f"{what} is {goal.best} at {done.called(best)} ({done.value_text(0, value)}{beside})."
    else:
        names = " and ".join(goal.title for goal in done.goals)
        count = counted(len(done.front), "point")
        verb = "is" if len(done.front) == 1 else "are"
        yield f"{count} of {len(done.trials):,} {verb} on the front of {names}."
    tested = next((one for one in done.tested if one.number == best.number), None)
    if tested is None:
        return
    if tested.why:
        yield f"The test could not be made: {tested.why}."
        return
    which = "" if len(done.goals) == 1 else f" {done.called(best)}:"
    for i, goal in enumerate(done.goals):
        found = tested.find(goal.name)
        text = "has no ratio to baseline"
        if found is not None and found.ratio is not None:
            text = f"is {against(found.ratio, 'baseline')}"
        yield f"{f'Tested with {done.test}:{which} ' if i == 0 else ''}{goal.title} {text}."
    for text in done.constraints:
        found = tested.find(text)
        if found is not None and found.ratio is not None:
            yield f"{text}: {_held(text, found.ratio)} there."


def _held(text: str, ratio: Ratio) -> str:
    """Whether the ratio of the number to its bound is on the right side of 1."""
    wanted = "lower" if "<" in text else "higher"
    if ratio.order == wanted or (ratio.order == "equal" and "=" in text):
        return "met"
    return "undecided" if ratio.order == "not distinguishable" else "missed"


def gains(done: Search) -> Iterator[str]:
    """Where the gains in training do not hold in the test."""
    trials = {one.number: one for one in done.trials}
    for tested in done.tested:
        point = trials[tested.number]
        assert point.values is not None
        for goal, value, base in zip(done.goals, point.values, done.baseline, strict=True):
            found = tested.find(goal.name)
            if found is None or found.ratio is None or not base:
                continue
            train = value if done.in_ratios else value / base
            if not goal.better(train, 1.0):
                continue
            test, wanted = found.ratio, "higher" if goal.maximize else "lower"
            low, high = test.low or test.ratio, test.high or test.ratio
            told = f"{goal.title} of {done.called(point)}: {train:.4g} of baseline in training"
            if test.order != wanted:
                yield f"The gain does not hold on the test. {told}, {low:.4g} to {high:.4g} there."
            elif goal.better(train, high if goal.maximize else low):
                yield f"The gain is smaller on the test. {told}, {low:.4g} to {high:.4g} there."
        for text in done.constraints:
            compared = tested.find(text)
            if compared is not None and compared.ratio is not None:
                how = _held(text, compared.ratio)
                if how != "met":
                    what = "is missed" if how == "missed" else "may be missed"
                    r = compared.ratio
                    low, high = r.low or r.ratio, r.high or r.ratio
                    yield (
                        f"{text} {what} on the test by {done.called(point)}:"
                        f" {low:.4g} to {high:.4g} times the bound."
                    )
