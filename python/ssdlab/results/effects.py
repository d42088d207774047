"""The keys that decide a number, over the points of a grid or random points.

This is an analysis of variance with the keys taken one after the other, the key that explains most
first. A key is named only if its share exceeds the largest share that chance gives any remaining
key (a permutation test), and if the interval of its share excludes 0, so keys that do not matter
are left out; a limit says how much they may decide at most. Intervals come from the jackknife, over
points and over seeds, of the arc sine of the root of the share: its spread hardly depends on the
share, while that of a share is not symmetric near 0 and 1. Callers must leave out points that a
sampler chose for their results: such points do not show what decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssdlab import _core
from ssdlab.display.numbers import Value
from ssdlab.results.points import Points, key_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

LEAST_POINTS = 8
"""Fewer points name no keys."""
GROUPS = 4
"""Groups of equal size for the numbers of a key with more than `WORDS` different ones."""
WORDS = 6
"""Up to this many different numbers, each is a group of its own."""
PERMUTATIONS = 199
ALL = 0.995
"""A limit that says nothing."""
MOST_NAMED = 5
"""Keys that a sentence names."""
CHANCE = 0.05
"""The probability that a key is named although none decides anything."""
BLOCKS = 50
"""The most parts of the points that the jackknife leaves out in turn."""


@dataclass(frozen=True)
class Effect:
    """The effect of a key on a number."""

    key: str
    share: float
    """Share of the variance of the number, or of its logarithm if all values are positive."""
    low: float
    """Lower end of the 95 % interval of the share."""
    high: float
    """Upper end of the interval."""


@dataclass(frozen=True)
class Decided:
    """What decides a number."""

    effects: tuple[Effect, ...] = ()
    """The keys that decide it, by descending share."""
    limit: float | None = None
    """The most that any other key may decide, at 95 %; None: there is none, or too few points."""
    points: int = 0
    seeds: int = 1

    def text(self, title: str, points: str) -> str:
        """The effects on the number `title` in words; empty if there are too few `points`."""
        if self.points < LEAST_POINTS:
            return ""
        by = "one seed" if self.seeds == 1 else f"{self.seeds} seeds"
        named = effects_text(self.effects[:MOST_NAMED])
        which = f"{named} of the {title}" if named else f"no key has a clear effect on the {title}"
        text = f"{which}, over {points} with {by}"
        if self.limit is None:
            return text
        if self.limit >= ALL:
            return f"{text}; too few points to tell what other keys decide"
        other = "any other key" if self.effects else "any key"
        return f"{text}; {other} decides at most {100 * self.limit:.0f} %"


def decided(points: Sequence[Mapping[str, Value]], values: Sequence[Sequence[float]]) -> Decided:
    """The keys that decide a number, whose `values` are given for each point and seed.

    A point need not have every key. A key is judged among the points that have it.
    """
    import numpy as np  # slow to import

    seeds = len(values[0]) if values else 1
    if len(points) < LEAST_POINTS:
        return Decided((), None, len(points), seeds)
    numbers = np.array(values, dtype=float)
    is_positive = numbers.min() > 0

    def scaled(of_seeds: Numbers) -> Numbers:
        means: Numbers = of_seeds.mean(axis=1)
        return np.log(means, out=means) if is_positive else means

    y = scaled(numbers)
    without = [scaled(np.delete(numbers, seed, axis=1)) for seed in range(seeds) if seeds > 1]
    names = dict.fromkeys(key for point in points for key in point)
    designs = {name: _groups([point.get(name) for point in points]) for name in names}
    designs = {name: one for name, one in designs.items() if one.shape[1] > 1}
    order = [*_forward(designs, y)]
    shares = _intervals([designs[name] for name in order], y, without)
    found = [Effect(name, *one) for name, one in zip(order, shares, strict=True)]
    first = [designs.pop(name) for name in order]
    ends = [_intervals([*first, one], y, without)[-1][2] for one in designs.values()]
    ends += [one.high for one in found if one.low == 0]
    named = sorted((one for one in found if one.low > 0), key=lambda one: -one.share)
    return Decided(tuple(named), max(ends, default=None), len(points), seeds)


def _intervals(
    designs: Sequence[Numbers], y: Numbers, without: Sequence[Numbers]
) -> list[tuple[float, float, float]]:
    """The share of each key, after those before it, and its interval.

    `without`: the values without each of the seeds.
    """
    import numpy as np

    blocks = min(len(y), BLOCKS)
    place = np.arange(len(y)) % blocks
    parts = [place != block for block in range(blocks)]
    left_out = [[_shares([one[rows] for one in designs], y[rows]) for rows in parts]]
    left_out += [[_shares(designs, one) for one in without]] if without else []
    found = []
    for at, share in enumerate(_shares(designs, y)):
        half = _half([[_angle(one[at]) for one in several] for several in left_out])
        middle = _angle(share)
        ends = max(middle - half, 0.0), min(middle + half, math.pi / 2)
        low, high = (math.sin(end) ** 2 for end in ends)
        found.append((min(max(share, 0.0), 1.0), low, high))
    return found


def _angle(share: float) -> float:
    """The arc sine of the root of a share."""
    return math.asin(math.sqrt(min(max(share, 0.0), 1.0)))


def _half(left_out: Sequence[Sequence[float]]) -> float:
    """Half of the 95 % interval of a number, by the jackknife over each of several causes.

    `left_out`: for each cause the number without each of its parts in turn. The variances add up,
    with the degrees of freedom of Satterthwaite.
    """
    variances = [(len(one) - 1) / len(one) * _squares(one) for one in left_out]
    total = math.fsum(variances)
    if total == 0:
        return 0.0
    shares = (v * v / (len(one) - 1) for v, one in zip(variances, left_out, strict=True))
    freedom = max(1, int(total * total / math.fsum(shares)))
    return float(_core.student_t_95(freedom)) * math.sqrt(total)


def _squares(values: Sequence[float]) -> float:
    """The sum of the squared distances to the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((one - mean) ** 2 for one in values)


def decided_of(points: Points, metric: str) -> Decided:
    """What decides a column over the points of a sweep that have it."""
    named = [key.name for key in points.keys]
    settings = [dict(zip(named, values, strict=True)) for values in points.settings]
    known = [
        (settings[i], [float(str(row[metric])) for row in rows])
        for i, rows in enumerate(points.runs)
        if points.summary(i, metric) is not None
    ]
    most = max((len(values) for _, values in known), default=1)
    whole = [(setting, values) for setting, values in known if len(values) == most]
    return decided([setting for setting, _ in whole], [values for _, values in whole])


def _groups(column: Sequence[Value]) -> Numbers:
    """A column for each group of values, 1 if a point belongs to it."""
    import numpy as np

    known = [one for one in column if one is not None]
    parsed = iter(key_of("", known)[1])
    column = [None if one is None else next(parsed) for one in column]
    known = [one for one in column if one is not None]
    numbers = sorted(one for one in known if isinstance(one, int | float))
    if len(numbers) == len(known) and len({*numbers}) > WORDS:
        edges = [numbers[len(numbers) * part // GROUPS] for part in range(1, GROUPS)]
        labels = [None if one is None else sum(e <= one for e in edges) for one in column]  # type: ignore[operator]
    else:
        words = {str(one): i for i, one in enumerate(dict.fromkeys(map(str, known)))}
        labels = [None if one is None else words[str(one)] for one in column]
    groups = sorted({one for one in labels if one is not None})
    return np.array([[float(one == group) for group in groups] for one in labels])


def _forward(designs: Mapping[str, Numbers], y: Numbers) -> Iterator[str]:
    """The keys that explain more than chance, each after those before it."""
    import numpy as np

    random = np.random.default_rng(1)
    left, rest = dict(designs), y - y.mean()
    while left and rest.var() > 0:
        columns = np.stack([rest, *(random.permutation(rest) for _ in range(PERMUTATIONS))], axis=1)
        gains = {name: _explained(one, columns) for name, one in left.items()}
        best = max(left, key=lambda name: gains[name][0])
        chance = np.max([*gains.values()], axis=0)[1:]
        if (1 + int((chance >= gains[best][0]).sum())) / (1 + PERMUTATIONS) > CHANCE:
            return
        yield best
        rest = rest - _fitted(left.pop(best), rest)


def _fitted(design: Numbers, y: Numbers) -> Numbers:
    """The part of `y` (one column or several) that group means explain, for points with the key."""
    sizes = design.sum(axis=0)
    within = design[:, sizes > 0]
    sizes = sizes[sizes > 0]
    has = within.sum(axis=1)
    shape = (-1, *[1] * (y.ndim - 1))
    of_groups = within.T @ y / sizes.reshape(shape)
    of_all = has @ y / has.sum()
    fitted: Numbers = within @ of_groups - has.reshape(shape) * of_all
    return fitted


def _explained(design: Numbers, y: Numbers) -> Numbers:
    """The share of the variance of each column that the groups explain beyond chance."""
    fitted = _fitted(design, y)
    groups, have = int((design.sum(axis=0) > 0).sum()), design.sum()
    within = (((y - fitted) ** 2) * design.sum(axis=1)[:, None]).sum(axis=0)
    noise = within / max(have - groups, 1)
    total = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    shares: Numbers = ((fitted**2).sum(axis=0) - (groups - 1) * noise) / total
    return shares


def _shares(designs: Sequence[Numbers], y: Numbers) -> list[float]:
    """The share of the variance that each key explains, after those before it."""
    total, rest, found = y.var() or 1.0, y - y.mean(), []
    for design in designs:
        of_rest = _explained(design, rest[:, None])[0] if rest.var() > 0 else 0.0
        found.append(float(of_rest * rest.var() / total))
        rest = rest - _fitted(design, rest)
    return found


def effects_text(found: Sequence[Effect]) -> str:
    """The effects in words."""
    return ", ".join(
        f"{one.key} {_percent(one.share)} % ({_percent(one.low)} to {_percent(one.high)} %)"
        for one in found
    )


def _percent(share: float) -> str:
    """A share in percent; one above 0 is not printed as 0."""
    rounded = f"{100 * share:.0f}"
    return f"{100 * share:.1g}" if rounded == "0" else rounded
