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
        seeds_text = "one seed" if self.seeds == 1 else f"{self.seeds} seeds"
        listing = effects_text(self.effects[:MOST_NAMED])
        finding = (
            f"{listing} of the {title}" if listing else f"no key has a clear effect on the {title}"
        )
        text = f"{finding}, over {points} with {seeds_text}"
        if self.limit is None:
            return text
        if self.limit >= ALL:
            return f"{text}; too few points to tell what other keys decide"
        scope = "any other key" if self.effects else "any key"
        return f"{text}; {scope} decides at most {100 * self.limit:.0f} %"


def analyse(points: Sequence[Mapping[str, Value]], values: Sequence[Sequence[float]]) -> Decided:
    """The keys that decide a number, whose `values` are given for each point and seed.

    A point need not have every key. A key is judged among the points that have it.
    """
    import numpy as np  # slow to import

    seeds = len(values[0]) if values else 1
    if len(points) < LEAST_POINTS:
        return Decided((), None, len(points), seeds)
    numbers = np.array(values, dtype=float)
    is_positive = numbers.min() > 0

    def scale(samples: Numbers) -> Numbers:
        means: Numbers = samples.mean(axis=1)
        return np.log(means, out=means) if is_positive else means

    y = scale(numbers)
    seed_replicates = [
        scale(np.delete(numbers, seed, axis=1)) for seed in range(seeds) if seeds > 1
    ]
    names = dict.fromkeys(key for point in points for key in point)
    designs = {name: _groups([point.get(name) for point in points]) for name in names}
    designs = {name: design for name, design in designs.items() if design.shape[1] > 1}
    order = [*_forward(designs, y)]
    shares = _intervals([designs[name] for name in order], y, seed_replicates)
    effects = [Effect(name, *interval) for name, interval in zip(order, shares, strict=True)]
    selected = [designs.pop(name) for name in order]
    ends = [
        _intervals([*selected, design], y, seed_replicates)[-1][2] for design in designs.values()
    ]
    ends += [effect.high for effect in effects if effect.low == 0]
    significant = sorted(
        (effect for effect in effects if effect.low > 0), key=lambda effect: -effect.share
    )
    return Decided(tuple(significant), max(ends, default=None), len(points), seeds)


def _intervals(
    designs: Sequence[Numbers], y: Numbers, seed_replicates: Sequence[Numbers]
) -> list[tuple[float, float, float]]:
    """The share of each key, after those before it, and its interval.

    `seed_replicates`: the values without each of the seeds.
    """
    import numpy as np

    blocks = min(len(y), BLOCKS)
    block_of = np.arange(len(y)) % blocks
    masks = [block_of != block for block in range(blocks)]
    replicates = [[_shares([design[mask] for design in designs], y[mask]) for mask in masks]]
    replicates += (
        [[_shares(designs, values) for values in seed_replicates]] if seed_replicates else []
    )
    intervals = []
    for index, share in enumerate(_shares(designs, y)):
        half_width = _half([[_angle(shares[index]) for shares in group] for group in replicates])
        middle = _angle(share)
        ends = max(middle - half_width, 0.0), min(middle + half_width, math.pi / 2)
        low, high = (math.sin(end) ** 2 for end in ends)
        intervals.append((min(max(share, 0.0), 1.0), low, high))
    return intervals


def _angle(share: float) -> float:
    """The arc sine of the root of a share."""
    return math.asin(math.sqrt(min(max(share, 0.0), 1.0)))


def _half(replicates: Sequence[Sequence[float]]) -> float:
    """Half of the 95 % interval of a number, by the jackknife over each of several causes.

    `replicates`: for each cause the number without each of its parts in turn. The variances add up,
    with the degrees of freedom of Satterthwaite.
    """
    variances = [(len(group) - 1) / len(group) * _squares(group) for group in replicates]
    total = math.fsum(variances)
    if total == 0:
        return 0.0
    shares = (v * v / (len(group) - 1) for v, group in zip(variances, replicates, strict=True))
    freedom = max(1, int(total * total / math.fsum(shares)))
    return float(_core.student_t_95(freedom)) * math.sqrt(total)


def _squares(values: Sequence[float]) -> float:
    """The sum of the squared distances to the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def analyse_column(points: Points, metric: str) -> Decided:
    """What decides a column over the points of a sweep that have it."""
    names = [key.name for key in points.keys]
    settings = [dict(zip(names, values, strict=True)) for values in points.settings]
    samples = [
        (settings[i], [float(str(row[metric])) for row in rows])
        for i, rows in enumerate(points.runs)
        if points.summary(i, metric) is not None
    ]
    seeds = max((len(values) for _, values in samples), default=1)
    complete = [(setting, values) for setting, values in samples if len(values) == seeds]
    return analyse([setting for setting, _ in complete], [values for _, values in complete])


def _groups(column: Sequence[Value]) -> Numbers:
    """A column for each group of values, 1 if a point belongs to it."""
    import numpy as np

    values = [value for value in column if value is not None]
    quantities = iter(key_of("", values)[1])
    column = [None if value is None else next(quantities) for value in column]
    values = [value for value in column if value is not None]
    numbers = sorted(value for value in values if isinstance(value, int | float))
    if len(numbers) == len(values) and len({*numbers}) > WORDS:
        edges = [numbers[len(numbers) * i // GROUPS] for i in range(1, GROUPS)]
        labels = [
            None if value is None else sum(edge <= value for edge in edges)  # type: ignore[operator]
            for value in column
        ]
    else:
        words = {str(word): i for i, word in enumerate(dict.fromkeys(map(str, values)))}
        labels = [None if value is None else words[str(value)] for value in column]
    groups = sorted({label for label in labels if label is not None})
    return np.array([[float(label == group) for group in groups] for label in labels])


def _forward(designs: Mapping[str, Numbers], y: Numbers) -> Iterator[str]:
    """The keys that explain more than chance, each after those before it."""
    import numpy as np

    random = np.random.default_rng(1)
    remaining, residual = dict(designs), y - y.mean()
    while remaining and residual.var() > 0:
        columns = np.stack(
            [residual, *(random.permutation(residual) for _ in range(PERMUTATIONS))], axis=1
        )
        gains = {name: _explained_shares(design, columns) for name, design in remaining.items()}
        best = max(remaining, key=lambda name: gains[name][0])
        chance = np.max([*gains.values()], axis=0)[1:]
        if (1 + int((chance >= gains[best][0]).sum())) / (1 + PERMUTATIONS) > CHANCE:
            return
        yield best
        residual = residual - _fit(remaining.pop(best), residual)


def _fit(design: Numbers, y: Numbers) -> Numbers:
    """The part of `y` (one column or several) that group means explain, for points with the key."""
    sizes = design.sum(axis=0)
    groups = design[:, sizes > 0]
    sizes = sizes[sizes > 0]
    membership = groups.sum(axis=1)
    shape = (-1, *[1] * (y.ndim - 1))
    group_means = groups.T @ y / sizes.reshape(shape)
    mean = membership @ y / membership.sum()
    fit: Numbers = groups @ group_means - membership.reshape(shape) * mean
    return fit


def _explained_shares(design: Numbers, y: Numbers) -> Numbers:
    """The share of the variance of each column that the groups explain beyond chance."""
    fit = _fit(design, y)
    groups, members = int((design.sum(axis=0) > 0).sum()), design.sum()
    within = (((y - fit) ** 2) * design.sum(axis=1)[:, None]).sum(axis=0)
    noise = within / max(members - groups, 1)
    total = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    shares: Numbers = ((fit**2).sum(axis=0) - (groups - 1) * noise) / total
    return shares


def _shares(designs: Sequence[Numbers], y: Numbers) -> list[float]:
    """The share of the variance that each key explains, after those before it."""
    total, residual, shares = y.var() or 1.0, y - y.mean(), []
    for design in designs:
        share = _explained_shares(design, residual[:, None])[0] if residual.var() > 0 else 0.0
        shares.append(float(share * residual.var() / total))
        residual = residual - _fit(design, residual)
    return shares


def effects_text(effects: Sequence[Effect]) -> str:
    """The effects in words."""
    return ", ".join(
        f"{effect.key} {_percent(effect.share)} %"
        f" ({_percent(effect.low)} to {_percent(effect.high)} %)"
        for effect in effects
    )


def _percent(share: float) -> str:
    """A share in percent; one above 0 is not printed as 0."""
    rounded = f"{100 * share:.0f}"
    return f"{100 * share:.1g}" if rounded == "0" else rounded
