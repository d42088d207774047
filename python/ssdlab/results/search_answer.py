"""The answer of a search in sentences: only claims that the intervals of its test support."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ssdlab.results.intervals import Ratio
from ssdlab.results.text import counted, folded_points

if TYPE_CHECKING:
    from ssdlab.results.search import Search


def ratio_text(ratio: Ratio, reference: str) -> str:
    """A ratio in words, with its interval, which decides whether it counts as lower or higher."""
    low, high = ratio.low, ratio.high
    if ratio.order == "equal":
        return f"equal to {reference}"
    interval = "" if low is None or high is None else f", 95 %: {low:.4g} to {high:.4g}"
    spread = "" if interval else ", the same with every seed"
    if ratio.order == "not distinguishable":
        return f"not distinguishable from {reference} (ratio {ratio.ratio:.4g}{interval})"
    if ratio.ratio >= 2:
        return (
            f"{ratio.ratio:.3g} times that of {reference}"
            f" (ratio {ratio.ratio:.4g}{interval}{spread})"
        )
    difference = 100 * abs(ratio.ratio - 1)
    return (
        f"{difference:.2g} % {ratio.order} than {reference}"
        f" (ratio {ratio.ratio:.4g}{interval}{spread})"
    )


def answer(search: Search) -> Iterator[str]:
    """The result, then what is left out because a warning invalidates it."""
    yield from _result(search)
    yield from search.left_out
    if search.best is not None:
        yield from (f"Not compared with {text}." for text in folded_points(search.invalid.items()))


def _result(search: Search) -> Iterator[str]:
    """The best point and its test, or by how much the nearest misses the constraints."""
    best = search.best
    if best is None:
        if search.misses:
            yield f"{search.misses[0].upper()}{search.misses[1:]}."
        return
    assert best.values is not None
    if len(search.goals) == 1:
        goal, value = search.goals[0], best.values[0]
        # Keys and names of numbers in reports begin in lower case.
        subject = goal.title if "." in goal.title else goal.title[0].upper() + goal.title[1:]
        base = search.baseline[0]
        baseline_text = (
            ""
            if base is None or search.in_ratios
            else f"; {search.value_text(0, base)} in baseline"
        )
        yield (
            f"{subject} is {goal.best} at {search.called(best)}"
            f" ({search.value_text(0, value)}{baseline_text})."
        )
    else:
        names = " and ".join(goal.title for goal in search.goals)
        count = counted(len(search.front), "point")
        verb = "is" if len(search.front) == 1 else "are"
        yield f"{count} of {len(search.trials):,} {verb} on the front of {names}."
    result = next(
        (candidate for candidate in search.tested if candidate.number == best.number), None
    )
    if result is None:
        return
    if result.why:
        yield f"The test could not be made: {result.why}."
        return
    label = "" if len(search.goals) == 1 else f" {search.called(best)}:"
    for i, goal in enumerate(search.goals):
        comparison = result.find(goal.name)
        text = "has no ratio to baseline"
        if comparison is not None and comparison.ratio is not None:
            text = f"is {ratio_text(comparison.ratio, 'baseline')}"
        yield f"{f'Tested with {search.test}:{label} ' if i == 0 else ''}{goal.title} {text}."
    for text in search.constraints:
        comparison = result.find(text)
        if comparison is not None and comparison.ratio is not None:
            yield f"{text}: {_verdict(text, comparison.ratio)} there."


def _verdict(text: str, ratio: Ratio) -> str:
    """Whether the ratio of the number to its bound is on the right side of 1."""
    expected = "lower" if "<" in text else "higher"
    if ratio.order == expected or (ratio.order == "equal" and "=" in text):
        return "met"
    return "undecided" if ratio.order == "not distinguishable" else "missed"


def gains(search: Search) -> Iterator[str]:
    """Where the gains in training do not hold in the test."""
    trials = {trial.number: trial for trial in search.trials}
    for result in search.tested:
        point = trials[result.number]
        assert point.values is not None
        for goal, value, base in zip(search.goals, point.values, search.baseline, strict=True):
            comparison = result.find(goal.name)
            if comparison is None or comparison.ratio is None or not base:
                continue
            train = value if search.in_ratios else value / base
            if not goal.better(train, 1.0):
                continue
            test, expected = comparison.ratio, "higher" if goal.maximize else "lower"
            low, high = test.low or test.ratio, test.high or test.ratio
            gain = f"{goal.title} of {search.called(point)}: {train:.4g} of baseline in training"
            if test.order != expected:
                yield f"The gain does not hold on the test. {gain}, {low:.4g} to {high:.4g} there."
            elif goal.better(train, high if goal.maximize else low):
                yield f"The gain is smaller on the test. {gain}, {low:.4g} to {high:.4g} there."
        for text in search.constraints:
            comparison = result.find(text)
            if comparison is not None and comparison.ratio is not None:
                verdict = _verdict(text, comparison.ratio)
                if verdict != "met":
                    phrase = "is missed" if verdict == "missed" else "may be missed"
                    ratio = comparison.ratio
                    low, high = ratio.low or ratio.ratio, ratio.high or ratio.ratio
                    yield (
                        f"{text} {phrase} on the test by {search.called(point)}:"
                        f" {low:.4g} to {high:.4g} times the bound."
                    )
