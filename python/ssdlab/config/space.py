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

    def __init__(self, columns: Mapping[str, Sequence[object]], *, is_drawn: bool) -> None:
        self.columns = columns
        self.is_drawn = is_drawn

    def __len__(self) -> int:
        sizes = map(len, self.columns.values())
        return next(iter(sizes), 1) if self.is_drawn else math.prod(sizes)

    def indices(self, point: int) -> list[int]:
        """The indices of the values of a point in the columns."""
        if self.is_drawn:
            return [point] * len(self.columns)
        indices_ = []
        for column in reversed([*self.columns.values()]):
            point, index = divmod(point, len(column))
            indices_.append(index)
        return indices_[::-1]

    def __getitem__(self, point: int) -> dict[str, object]:
        columns = zip(self.columns.items(), self.indices(point), strict=True)
        return {key: column[index] for (key, column), index in columns}

    def scattered_order(self, seed: int) -> Sequence[int]:
        """All points in an order in which the first ones, however many, cover the space."""
        if self.is_drawn:
            return range(len(self))
        return random.Random(f"order {seed}").sample(range(len(self)), len(self))


def grid(values: Mapping[str, Sequence[object]]) -> Space:
    """All combinations. Raises `ConfigError` if there are too many."""
    space = Space(values, is_drawn=False)
    if len(space) > MOST_POINTS:
        sizes = " x ".join(f"{len(column):,}" for column in values.values())
        message = (
            f"{argument('vary')}: {sizes} values are {len(space):,} points; a grid has at most"
            f" {MOST_POINTS:,}: draw some of them ({argument(draw='random', points=1000)})"
        )
        raise ConfigError([message])
    return space


def draw_points(
    values: Mapping[str, Sequence[object] | Range], draw: Draw, points: int, seed: int
) -> Space:
    """This many points, which depend only on `seed`.

    Each value of a list is equally likely; the draws for different keys are independent.
    """
    columns: dict[str, list[object]] = {}
    for key, column in values.items():
        stream = random.Random(f"{seed} {key}")
        if draw == "random":
            shares = [stream.random() for _ in range(points)]
        else:
            parts = stream.sample(range(points), points)
            shares = [(part + stream.random()) / points for part in parts]
        if isinstance(column, Range):
            columns[key] = [column.draw(share) for share in shares]
        else:
            columns[key] = [column[int(share * len(column))] for share in shares]
    return Space(columns, is_drawn=True)


def check_draw(draw: str | None, points: int | None) -> tuple[Draw, int] | None:
    """How many points are drawn, and how; None for a grid. Raises `ConfigError`."""
    if draw is None:
        if points is not None:
            points_argument, draw_argument = argument(points=points), argument(draw="random")
            raise ConfigError(
                [f"{points_argument}: a grid has all its points; draw some with {draw_argument}"]
            )
        return None
    method = next((name for name in DRAWS if name == draw), None)
    if method is None:
        raise ConfigError([f"{argument(draw=draw)}: expected one of: {', '.join(DRAWS)}"])
    if points is None:
        raise ConfigError([f"{argument(draw=draw)}: how many points? ({argument(points=100)})"])
    if points < 1:
        raise ConfigError([f"{argument(points=points)}: expected at least 1"])
    if points > MOST_POINTS:
        raise ConfigError([f"{argument(points=points)}: at most {MOST_POINTS:,} are possible"])
    return method, points
