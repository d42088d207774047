"""Verdicts of `try`, `plan`, `fleet`, searches and comparisons against rules written down again.

The rules are those of docstrings and docs. The inputs are random, and coarse enough that ties,
bounds that are met exactly and missing numbers are frequent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

import pytest

import checking  # noqa: F401 - makes run_check importable
from run_check.comparisons import interval, order_of, paired
from ssdlab.config.endurance import DAYS, Endurance
from ssdlab.fleets import findings
from ssdlab.results.intervals import Ratio, estimate, paired_ratio
from ssdlab.results.lifetime import Interval, Lifetime
from ssdlab.results.points import Points, Row, key_of
from ssdlab.results.prediction import Predicted, Ranking, verdict
from ssdlab.results.spare_plan import Bound, Outcome, SparePlan, Step
from ssdlab.searching.constraint import constraint_of

CASES = 300


def near(found: object, expected: object) -> bool:
    """To the digits of the checker's quantiles of Student's distribution."""
    return found == pytest.approx(expected, rel=1e-6, abs=1e-12)


# ---------------------------------------------------------------- intervals


def values_of(draw: random.Random, n: int) -> list[float]:
    """Some of them equal, some 0."""
    pool = [draw.choice((0.0, 1.0, 1.5, 2.0)) if draw.random() < 0.2 else draw.uniform(0.5, 3)]
    pool += [draw.uniform(0.9, 1.1) for _ in range(2)]
    return [draw.choice(pool) for _ in range(n)]


def test_intervals_are_students() -> None:
    draw = random.Random(1)
    for _ in range(CASES):
        n = draw.randint(2, 6)
        a, b = values_of(draw, n), values_of(draw, n)
        one, (mean, spread, width) = estimate(a), interval(a)
        assert one.n == n
        assert near((one.mean, one.stddev), (mean, spread))
        assert one.ci95 is None if width is None else near(one.ci95, width)
        ratio, expected = paired_ratio(a, b), paired(a, b)
        if ratio is None or expected is None:
            assert ratio is None
            assert expected is None
            continue
        assert near(ratio.ratio, expected["ratio"])
        if expected["low"] != expected["high"]:
            assert near((ratio.low, ratio.high), (expected["low"], expected["high"]))
        assert ratio.order == order_of(vars(ratio))


@pytest.mark.parametrize(
    ("ratio", "order"),
    [
        (Ratio(3, 1.0, None, None), "equal"),
        (Ratio(3, 1.1, None, None), "higher"),
        (Ratio(3, 0.9, None, None), "lower"),
        (Ratio(3, 0.9, 0.8, 1.0), "not distinguishable"),
        (Ratio(3, 1.1, 1.0, 1.2), "not distinguishable"),
        (Ratio(3, 1.0, 0.9, 1.1), "not distinguishable"),
        (Ratio(3, 1.1, 1.05, 1.2), "higher"),
        (Ratio(3, 0.9, 0.8, 0.95), "lower"),
    ],
)
def test_an_interval_that_holds_1_decides_nothing(ratio: Ratio, order: str) -> None:
    """docs/statistics.md; an end is part of the interval."""
    assert ratio.order == order == order_of(vars(ratio))


# ---------------------------------------------------------------- try


def predicted(draw: random.Random, n: int) -> Predicted:
    base = draw.choice((1.0, 2.0, 3.0, 4.0, draw.uniform(1, 4)))
    values = [base + draw.choice((0.0, 0.0, 0.01, 0.3, -0.02)) for _ in range(n)]
    halved = None if draw.random() < 0.1 else base - draw.choice((0.0, 0.01, 0.1, 0.4, -0.05))
    beyond = draw.choice((*[0.0] * 9, 0.1))
    return Predicted(tuple(max(1.0, one) for one in values), halved, beyond)


def ratio_of(a: Predicted, b: Predicted) -> tuple[float, float, float] | None:
    """The ratio on the drive, and the ends of those of trial, drive and half the pages."""
    n = min(len(a.values), len(b.values))
    if n < 2 or a.halved is None or b.halved is None:
        return None
    shifts = [sum(one.values) / len(one.values) - float(one.halved or 0) for one in (a, b)]
    trial = paired(a.values, b.values)
    drive = paired(
        [max(1.0, v + shifts[0]) for v in a.values], [max(1.0, v + shifts[1]) for v in b.values]
    )
    if trial is None or drive is None:
        return None
    ends = [one[name] for one in (trial, drive) for name in ("ratio", "low", "high") if one[name]]
    halved = a.halved / b.halved
    if halved < 1 < drive["ratio"] or drive["ratio"] < 1 < halved:
        ends.append(halved)
    return drive["ratio"], min(ends) / (1 + b.beyond), max(ends) * (1 + a.beyond)


def middle_of(one: Predicted) -> float:
    mean = sum(one.values) / len(one.values)
    return mean if one.halved is None else 2 * mean - one.halved


def mean_of(one: Predicted) -> float:
    """No drive writes less than the host."""
    return max(1.0, middle_of(one))


def least_of(policies: dict[str, Predicted]) -> str:
    """The lowest mean; of equal ones, as those of 1 are, the one that is extrapolated least."""

    def place(label: str) -> tuple[float, float]:
        mean = mean_of(policies[label])
        values = policies[label].values
        return mean, abs(middle_of(policies[label]) - sum(values) / len(values)) / mean

    return min(policies, key=place)


def undecided(policies: dict[str, Predicted]) -> list[str]:
    """ADR 0026: unreliable, and not clearly above the best one."""
    first = policies[least_of(policies)]
    found = []
    for label, one in policies.items():
        shift = abs(middle_of(one) - sum(one.values) / len(one.values))
        if shift / mean_of(one) <= 0.05 or one.interval is None:
            continue
        low = max(1.0, one.interval[0] - shift)
        if first.interval is None or low < first.interval[1]:
            found.append(label)
    return found


def winners(policies: dict[str, Predicted]) -> list[str]:
    """The lowest mean, then every policy that is not clearly higher than any other."""
    first = least_of(policies)
    found = [first]
    for label, one in policies.items():
        ratios = [ratio_of(one, other) for name, other in policies.items() if name != label]
        if label != first and all(ratio is None or ratio[1] <= 1 for ratio in ratios):
            found.append(label)
    return found


def baseline_first(labels: list[str]) -> list[str]:
    """The same labels; the baseline, which is "a", comes before those that it equals."""
    return [label for label in labels if label == "a"] + [label for label in labels if label != "a"]


def test_predictions_and_winners_of_try() -> None:
    """ADR 0026: twice the mean of n seeds less one run, each with the spread of a seed."""
    draw, decided, losers = random.Random(2), 0, 0
    for _ in range(CASES):
        n, rankings = draw.choice((1, 2, 3, 5)), {}
        for order in ("recorded", "independent"):
            policies = {label: predicted(draw, n) for label in "abc"}
            rankings[order] = ranking = Ranking(policies)
            for one in policies.values():
                mean = mean_of(one)
                assert near(one.mean, mean)
                if one.halved is None:
                    assert one.interval is None
                    continue
                shift = abs(sum(one.values) / n - one.halved)
                half = (interval(one.values)[2] or 0.0) if n > 1 else 0.0
                width = shift + math.sqrt((4 / n + 1) * n) * half
                middle = middle_of(one)
                high = max(1.0, middle + width) * (1 + one.beyond)
                assert near(one.interval, (max(1.0, middle - width), high))
            for a in policies.values():
                for b in policies.values():
                    found, expected = a.against(b), ratio_of(a, b)
                    if found is None or expected is None:
                        assert found is None
                        assert expected is None
                        continue
                    low, high = (
                        found.ratio if one is None else one for one in (found.low, found.high)
                    )
                    assert near((found.ratio, low, high), expected)
            assert [*ranking.best] == winners(policies)
            shares = {
                label: abs(middle_of(one) - sum(one.values) / n) / mean_of(one)
                for label, one in policies.items()
            }
            assert [*ranking.unclear] == [label for label, share in shares.items() if share > 0.05]
            assert [*ranking.undecided] == undecided(policies)
            losers += len(ranking.unclear) - len(ranking.undecided)
        both = verdict(rankings)
        lists = [baseline_first(winners(dict(one.predicted))) for one in rankings.values()]
        assert [*both.common] == [label for label in lists[0] if label in lists[1]]
        alone = lists[0] == lists[1] and len(lists[0]) == 1
        assert both.decided == alone
        decided += alone
    assert 10 < decided < CASES - 10
    assert losers > 10


# ---------------------------------------------------------------- plan


def any_interval(draw: random.Random, low: float, high: float) -> Interval:
    ends = sorted(round(draw.uniform(low, high), 1) for _ in range(2))
    return Interval(*ends)


def any_plan(draw: random.Random) -> SparePlan:
    bounds = [Bound("waf", 2.5), Bound("years", 5.0), Bound("p99_9", 4.0)]
    bounds = [one for one in bounds if draw.random() < 0.7] or bounds[:1]
    steps = []
    for at in range(draw.randint(0, 4)):
        outcomes = []
        for policy in draw.sample(["a", "b", "c"], draw.randint(0, 3)):
            shift = 0.4 * at
            values = {
                "waf": any_interval(draw, 1.5, 3.6 - shift),
                "years": any_interval(draw, 3.0 + shift, 7.0),
                "p99_9": any_interval(draw, 2.0, 6.0),
            }
            if draw.random() < 0.2:
                del values["p99_9"]
            outcomes.append(Outcome(policy, values))
        doubts = ("it overloads",) if draw.random() < 0.2 else ()
        steps.append(Step(0.1 + 0.1 * at, 10**12, tuple(outcomes), doubts))
    life = Lifetime(Endurance(3000.0, "rated", 5.0), 2e12, 1.9e12, 1e12)
    return SparePlan("t", "t.csv", "d", 0.1, life, tuple(bounds), tuple(steps))


def verdict_of(bound: Bound, values: Sequence[float] | None) -> str:
    if values is None:
        return "unknown"
    good = [v >= bound.limit if bound.name == "years" else v <= bound.limit for v in values]
    return "met" if all(good) else "missed" if not any(good) else "open"


def test_the_answer_of_plan_is_the_least_step_that_meets_all_bounds() -> None:
    draw, answers, clear = random.Random(3), 0, 0
    for _ in range(CASES):
        plan = any_plan(draw)
        verdicts: list[list[str]] = []
        for step in plan.steps:
            of_step: list[str] = []
            for one in step.outcomes:
                each = [verdict_of(bound, one.values.get(bound.name)) for bound in plan.bounds]
                assert plan.verdicts(one) == tuple(each)
                whole = [name for name in ("missed", "open", "unknown") if name in each]
                of_step.append(whole[0] if whole else "met")
                assert str(plan.verdict(one)) == of_step[-1]
            verdicts.append(of_step)
        # All policies could be judged, and each clearly misses a bound.
        missed = [
            bool(of) and not step.doubts and {*of} == {"missed"}
            for of, step in zip(verdicts, plan.steps, strict=True)
        ]
        assert [plan.misses(step) for step in plan.steps] == missed
        # More spare is no worse: a policy that may miss a bound at a larger step meets none here.
        for i, of in enumerate(verdicts):
            for p, one in enumerate(plan.steps[i].outcomes):
                above = [
                    of_other
                    for j in range(i + 1, len(plan.steps))
                    for other, of_other in zip(plan.steps[j].outcomes, verdicts[j], strict=True)
                    if other.policy == one.policy
                ]
                if of[p] == "met" and {"missed", "open"} & {*above}:
                    of[p] = "by chance"
        at = next((i for i, of in enumerate(verdicts) if "met" in of), None)
        if at is None:
            assert plan.answer is None
            below = len(plan.steps) - 1
            first = "low: some bounds stay open"
            expected = "high: bounds are clearly missed" if all(missed) else first
            expected = expected if plan.steps else "none"
        else:
            answers += 1
            step = plan.steps[at]
            assert plan.answer == (step, step.outcomes[verdicts[at].index("met")])
            below = at - 1
            sure = below < 0 or missed[below]
            clear += sure
            expected = "high" if sure else "medium"
        assert plan.below == (plan.steps[below] if below >= 0 else None)
        assert plan.confidence.startswith(expected)
        for bound in plan.bounds:
            worst = 0 if bound.name == "years" else 1
            ends = [
                (one.values[bound.name][worst], s, p)
                for s, step in enumerate(plan.steps)
                for p, one in enumerate(step.outcomes)
                if bound.name in one.values
            ]
            found = plan.nearest(bound)
            if not ends:
                assert found is None
                continue
            best = (max if worst == 0 else min)(value for value, *_ in ends)
            _, s, p = next(one for one in ends if one[0] == best)
            assert found == (plan.steps[s], plan.steps[s].outcomes[p])
    assert 20 < clear < answers < CASES


def test_a_lifetime_divides_what_the_flash_takes_by_what_is_written() -> None:
    draw = random.Random(4)
    for _ in range(CASES):
        cycles, raw, daily = (
            draw.uniform(100, 5000),
            draw.uniform(1e11, 1e13),
            draw.uniform(1e9, 1e13),
        )
        life = Lifetime(Endurance(cycles, "rated", 5.0), raw, raw / 1.2, daily)
        waf = Interval(*sorted(draw.uniform(1, 6) for _ in range(2)))
        shortest = raw * cycles / (daily * waf.high * DAYS)
        longest = raw * cycles / (daily * waf.low * DAYS)
        assert near(life.years(waf), (shortest, longest))
        assert near(life.largest_waf(5.0), raw * cycles / (daily * DAYS) / 5)
        assert near(life.drive_writes, daily * 1.2 / raw)


# ---------------------------------------------------------------- fleet


def test_findings_of_a_fleet() -> None:
    """docs/fleet.md, "Method"."""
    draw = random.Random(5)
    for _ in range(CASES):
        n = draw.randint(1, 30)
        values = [round(draw.uniform(1, 4), 1) for _ in range(n)]
        weights = [float(draw.choice((0, 0, 1, 2, 5))) for _ in range(n)]
        total = sum(weights)
        shares = [w / total for w in weights] if total else [1 / n] * n
        for part in (0.1, 0.25, 0.5, 0.9, 1.0):
            at_or_below = {
                v: sum(s for x, s in zip(values, shares, strict=True) if x <= v) for v in values
            }
            expected = min(v for v, share in at_or_below.items() if share >= part - 1e-9)
            assert findings.quantiles(values, weights, [part])[0] == expected
        pairs = [(v, round(draw.uniform(1, 4), 1)) for v in values]
        pairs += [(0.0, 1.0)] * draw.randint(0, 2)
        found = findings.difference("waf", "a", "b", pairs)
        ratios = sorted(a / b for a, b in pairs if a > 0)
        assert found is not None
        assert found.volumes == n
        middle = (ratios[(n - 1) // 2] + ratios[n // 2]) / 2
        assert near(found.ratio, middle)
        counts = [sum(a < b for a, b in pairs if a > 0), sum(a > b for a, b in pairs)]
        assert [found.lower, found.higher] == counts
        # The sign test: the most values left out at each end with at most 2.5 % below them.
        left = [sum(math.comb(n, i) for i in range(k + 1)) / 2**n for k in range(n)]
        cut = sum(share <= 0.025 for share in left)
        if n < 6:
            assert found.low is None
            assert not found.is_clear
        else:
            assert near((found.low, found.high), (ratios[cut - 1], ratios[n - cut]))
            assert found.is_clear == (ratios[cut - 1] > 1 or ratios[n - cut] < 1)
        other = [round(draw.uniform(0, 2), 1) for _ in range(n)]
        of = draw.randint(1, 5)
        rank = findings.rank("x", values, other, of)
        if n < 10 or min(values) == max(values) or min(other) == max(other):
            assert rank is None
            continue
        assert rank is not None
        rho = spearman(values, other)
        assert near(rank.rho, rho)
        z = NormalDist().inv_cdf(1 - 0.025 / of) * math.sqrt((1 + rho * rho / 2) / (n - 3))
        ends = [math.tanh(math.atanh(rho) + sign * z) for sign in (-1, 1)]
        assert near((rank.low, rank.high), tuple(ends))
        assert rank.is_clear == (ends[0] > 0 or ends[1] < 0)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Pearson's correlation of the ranks; equal values have the mean of their ranks."""
    ranks = [
        [sum(x < v for x in values) + (sum(x == v for x in values) + 1) / 2 for v in values]
        for values in (a, b)
    ]
    middle = (len(a) + 1) / 2
    x, y = ([rank - middle for rank in one] for one in ranks)
    product = sum(p * q for p, q in zip(x, y, strict=True))
    return product / math.sqrt(sum(p * p for p in x) * sum(q * q for q in y))


# ---------------------------------------------------------------- search, sweep


def test_a_bound_is_missed_by_a_share_of_it_and_held_by_what_is_at_most_0() -> None:
    draw = random.Random(6)
    for _ in range(CASES):
        sign = draw.choice(("<", "<=", ">", ">="))
        bound = draw.choice((2.0, 0.5, 0.0, -1.0))
        value = draw.choice((bound, bound, draw.uniform(-2, 3)))
        one = constraint_of(f"waf {sign} 2")
        holds = {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}
        excess = one.excess(value, bound)
        assert (excess <= 0) == holds[sign]
        if value != bound:
            share = abs(value - bound) / (bound if bound > 0 else 1)
            assert near(abs(excess), share)
        else:
            assert abs(excess) < 1e-9


def test_points_have_means_where_every_seed_has_a_number() -> None:
    draw = random.Random(7)
    for _ in range(CASES // 3):
        count, n = draw.randint(1, 4), draw.randint(1, 4)
        runs: list[list[Row]] = [
            [{"waf": draw.choice((None, draw.uniform(1, 3), 2.0))} for _ in range(n)]
            for _ in range(count)
        ]
        points = Points.of([str(i) for i in range(count)], {"k": [*range(count)]}, runs)
        for at, rows in enumerate(runs):
            numbers = [row["waf"] for row in rows]
            found = points.summary(at, "waf")
            if None in numbers:
                assert found is None
                continue
            known = [float(str(one)) for one in numbers]
            mean, _, width = (known[0], 0.0, None) if n == 1 else interval(known)
            assert found is not None
            ends = (mean - (width or 0.0), mean, mean + (width or 0.0))
            assert near((found.low, found.mean, found.high), ends)


@pytest.mark.parametrize(
    ("values", "log"),
    [
        (("1", "2", "4"), True),
        (("1", "2", "3"), False),  # less than four times
        (("1", "10", "100"), True),
        (("1", "2", "3", "4", "5"), False),
        (("0", "1", "10"), False),
        (("1", "100"), False),
        (("2 us", "8 us", "32 us"), True),
    ],
)
def test_a_key_whose_values_are_factors_apart_is_drawn_by_factors(
    values: tuple[str, ...], log: bool
) -> None:
    assert key_of("k", values)[0].log == log
