"""Which policy writes least on a drive, in words: the answer of `ssdlab try`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from ssdlab.display.words import join_names
from ssdlab.results.prediction import ORDERS, Ranking, Verdict

SHOWN = 2
"""Most policies of a tie that are named, if at least two more follow."""


def answer(verdict: Verdict, rankings: Mapping[str, Ranking], baseline: str) -> str:
    """The verdict of the rankings for each order of updates, and no more than that."""
    best = list(verdict.winners.values())
    first = best[0][0]
    if verdict.decided:
        text = (
            f"{first} writes least" if first != baseline else f"no policy writes less than {first}"
        )
        return f"{text}, {_orders()}{_gain([first], rankings.values(), baseline)}"
    if all(len(tie) == 1 for tie in best):
        winners = (f"{ORDERS[order]}: {tie[0]}" for order, tie in verdict.winners.items())
        return "; ".join(winners) + ": no policy wins under both orders of updates"
    if all({*tie} == {*best[0]} for tie in best):
        text = _tie(best[0], rankings.values())
        return f"{text}, {_orders()}{_gain(best[0], rankings.values(), baseline)}"
    return "; ".join(
        f"as {ORDERS[order]}, {_best(tie, rankings[order], baseline)}"
        for order, tie in verdict.winners.items()
    )


def _orders() -> str:
    return " and ".join(f"as {title}" for title in ORDERS.values())


def _best(tie: Sequence[str], ranking: Ranking, baseline: str) -> str:
    """The best policy under an order of updates."""
    if len(tie) > 1:
        return _tie(tie, [ranking])
    return f"{tie[0]} writes least{_gain(tie, [ranking], baseline)}"


def _tie(tie: Sequence[str], rankings: Iterable[Ranking]) -> str:
    """The policies that may write least."""
    if all({*tie} == {*ranking.predicted} for ranking in rankings):
        return "the policies cannot be distinguished"
    remaining = len(tie) - SHOWN
    names = [*tie[:SHOWN], f"{remaining} others"] if remaining > 1 else [*tie]
    return f"{join_names(names)} cannot be distinguished"


def _gain(labels: Sequence[str], rankings: Iterable[Ranking], baseline: str) -> str:
    """How much less than the baseline policies write; empty unless each certainly writes less."""
    lows, highs = [], []
    for ranking, label in product(rankings, labels):
        ratio = ranking.predicted[label].against(ranking.predicted[baseline])
        if ratio is None or label == baseline or {label, baseline} & {*ranking.unclear}:
            return ""
        lows.append(ratio.ratio if ratio.low is None else ratio.low)
        highs.append(ratio.ratio if ratio.high is None else ratio.high)
    if max(highs) >= 1:
        return ""
    least, most = round(100 * (1 - max(highs))), round(100 * (1 - min(lows)))
    if not most:
        return ""
    span = f"up to {most}" if not least else f"{most}" if least == most else f"{least} to {most}"
    return f" ({span} % less than {baseline})"
