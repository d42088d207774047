"""The points of a sweep: all combinations of the values of its keys, or random points."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from ssdlab.config.vary import Range
from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError

Draw: TypeAlias = Literal["random", "latin-hypercube"]
"""How points are drawn: independently, or so that each of N equal parts of every key has one."""
DRAWS: tuple[Draw, ...] = get_args(Draw)
MOST_POINTS = 10_000_000
"""The most points in a grid."""


class Space:
    """Points by number, from 0; each has a value for every key.

    In a grid the last key varies fastest. In a drawn space each column has one value per point.
    """

    def __init__(self, columns: Mapping[str, Sequence[object]], *, drawn: bool) -> None:
        self.columns = columns
        self.drawn = drawn

    def __len__(self) -> int:
        sizes = map(len, self.columns.values())
        return next(iter(sizes), 1) if self.drawn else math.prod(sizes)

    def indices(self, point: int) -> list[int]:
        """The indices of the values of a point in the columns."""
        if self.drawn:
            return [point] * len(self.columns)
        places = []
        for column in reversed([*self.columns.values()]):
            point, at = divmod(point, len(column))
            places.append(at)
        return places[::-1]

    def __getitem__(self, point: int) -> dict[str, object]:
        places = zip(self.columns.items(), self.indices(point), strict=True)
        return {key: column[at] for (key, column), at in places}

    def scattered(self, seed: int) -> Sequence[int]:
        """All points in an order in which the first ones, however many, cover the space."""
        if self.drawn:
            return range(len(self))
        return random.Random(f"order {seed}").sample(range(len(self)), len(self))


def grid(values: Mapping[str, Sequence[object]]) -> Space:
    """All combinations. Raises `ConfigError` if there are too many."""
    space = Space(values, drawn=False)
    if len(space) > MOST_POINTS:
        sizes = " x ".join(f"{len(one):,}" for one in values.values())
        message = (
            f"{argument('vary')}: {sizes} values are {len(space):,} points; a grid has at most"
            f" {MOST_POINTS:,}: draw some of them ({argument(draw='random', points=1000)})"
        )
        raise ConfigError([message])
    return space


def drawn(
    values: Mapping[str, Sequence[object] | Range], draw: Draw, points: int, seed: int
) -> Space:
    """This many points, which depend only on `seed`.

    Each value of a list is equally likely; the draws for different keys are independent.
    """
    columns: dict[str, list[object]] = {}
    for key, one in values.items():
        stream = random.Random(f"{seed} {key}")
        if draw == "random":
            shares = [stream.random() for _ in range(points)]
        else:
            parts = stream.sample(range(points), points)
            shares = [(part + stream.random()) / points for part in parts]
        if isinstance(one, Range):
            columns[key] = [one.drawn(share) for share in shares]
        else:
            columns[key] = [one[int(share * len(one))] for share in shares]
    return Space(columns, drawn=True)


def checked_draw(draw: str | None, points: int | None) -> tuple[Draw, int] | None:
    """How many points are drawn, and how; None for a grid. Raises `ConfigError`."""
    if draw is None:
        if points is not None:
            given, how = argument(points=points), argument(draw="random")
            raise ConfigError([f"{given}: a grid has all its points; draw some with {how}"])
        return None
    known = next((one for one in DRAWS if one == draw), None)
    if known is None:
        raise ConfigError([f"{argument(draw=draw)}: expected one of: {', '.join(DRAWS)}"])
    if points is None:
        raise ConfigError([f"{argument(draw=draw)}: how many points? ({argument(points=100)})"])
    if points < 1:
        raise ConfigError([f"{argument(points=points)}: expected at least 1"])
    if points > MOST_POINTS:
        raise ConfigError([f"{argument(points=points)}: at most {MOST_POINTS:,} are possible"])
    return known, points
