"""The space of a search: keys with their values, some of them under conditions.

    gc.victim=greedy,fifo,d-choices               one of these
    gc.victim.d=log:1:64                          only where gc.victim has it: with d-choices
    gc.window=1:16 if gc.path=selective,copyback  only with these
    all                                           the words of all answers
    gc.victim                                     all of its words, with their parameters

Values are those of `--vary`, and ranges without a step: everything in between.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import Protocol, TypeAlias

from ssdlab import policy
from ssdlab.config.quantity import quantity
from ssdlab.config.vary import IF, Range, values_of
from ssdlab.display.argument import argument, key_argument
from ssdlab.display.numbers import Value
from ssdlab.errors import ConfigError
from ssdlab.searching import everything

MOST_COUNTED = 100_000
"""The number of points up to which a space is counted."""
Point: TypeAlias = "dict[str, object]"
"""A value for each key that the point has."""


class Suggests(Protocol):
    """The source of values: a trial of Optuna, or chance."""

    def whole(self, name: str, low: int, high: int, log: bool, /) -> int:
        """A whole number between the two, both included."""

    def number(self, name: str, low: float, high: float, log: bool, /) -> float:
        """A number between the two."""

    def word(self, name: str, words: Sequence[str], /) -> str:
        """One of the words."""


@dataclass(frozen=True)
class Condition:
    """A key has a value only if another one has one of some values."""

    key: str
    labels: tuple[str, ...]

    def holds(self, point: Mapping[str, object]) -> bool:
        """Whether it holds at a point."""
        return self.key in point and word_of(point[self.key]) in self.labels


@dataclass(frozen=True)
class Dimension:
    """A key of the space."""

    key: str
    values: tuple[object, ...] | Range
    when: tuple[Condition, ...] = ()
    """All of these have to hold."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the values; none for a range."""
        return () if isinstance(self.values, Range) else tuple(map(policy.label_of, self.values))

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers in ascending order, which a sampler may use."""
        if isinstance(self.values, Range):
            return True
        known = [quantity(one) for one in self.values if isinstance(one, int | float | str)]
        numbers = [one[0] for one in known if one is not None]
        return 1 < len(numbers) == len(self.values) and all(a < b for a, b in pairwise(numbers))

    def drawn(self, stream: random.Random) -> object:
        """A value by chance."""
        return self.of(_Chance(stream))

    def of(self, given: Suggests) -> object:
        """The value that is suggested."""
        if isinstance(self.values, Range):
            low, high = float(self.values.low), float(self.values.high)
            if self.values.is_whole:
                whole = given.whole(self.key, int(low), int(high), self.values.log)
                return self.values.value(whole)
            return self.values.value(given.number(self.key, low, high, self.values.log))
        if self.ordered:
            return self.values[given.whole(self.key, 0, len(self.values) - 1, False)]
        return self.values[self.labels.index(given.word(self.key, self.labels))]


@dataclass(frozen=True)
class SearchSpace:
    """Keys with their values; a key follows those that its conditions name."""

    dimensions: tuple[Dimension, ...]
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def of(self, given: Suggests) -> Point:
        """The point that is suggested."""
        point: Point = {}
        for one in self.dimensions:
            if all(condition.holds(point) for condition in one.when):
                point[one.key] = one.of(given)
        return point

    def drawn(self, stream: random.Random) -> Point:
        """A point by chance."""
        return self.of(_Chance(stream))

    def points(self) -> Iterator[Point]:
        """All points of a space that has no range without a step."""
        return self._points(0, {})

    def _points(self, at: int, point: Point) -> Iterator[Point]:
        if at == len(self.dimensions):
            yield point
            return
        one = self.dimensions[at]
        if not all(condition.holds(point) for condition in one.when):
            yield from self._points(at + 1, point)
            return
        assert not isinstance(one.values, Range)
        for value in one.values:
            yield from self._points(at + 1, {**point, one.key: value})

    @property
    def finite(self) -> bool:
        """Every key has a list of values."""
        return not any(isinstance(one.values, Range) for one in self.dimensions)

    @property
    def size(self) -> int | None:
        """The number of points; None if infinite, or more than `MOST_COUNTED`."""
        if not self.finite:
            return None
        if not any(one.when for one in self.dimensions):
            return math.prod(len(one.labels) for one in self.dimensions)
        count = sum(1 for _ in islice(self.points(), MOST_COUNTED + 1))
        return count if count <= MOST_COUNTED else None

    def shown(self, point: Point) -> dict[str, Value]:
        """A point with its values as shown: numbers, or names."""
        return {key: _shown(value) for key, value in point.items()}

    def point_of(self, shown: Mapping[str, Value]) -> Point:
        """The point whose values are shown like this."""
        point: Point = {}
        for one in self.dimensions:
            if one.key in shown:
                value = shown[one.key]
                if not isinstance(one.values, Range):
                    point[one.key] = next(v for v in one.values if _shown(v) == value)
                else:
                    point[one.key] = value
        return point

    @property
    def json(self) -> dict[str, object]:
        """As it stands in search.json."""
        return {
            named(one.key, one.when): one.values.text
            if isinstance(one.values, Range)
            else [_shown(value) for value in one.values]
            for one in self.dimensions
        }


@dataclass(frozen=True)
class _Chance:
    """Values by chance."""

    stream: random.Random

    def whole(self, _name: str, low: int, high: int, log: bool) -> int:
        if log:
            return min(high, int(math.exp(self.stream.uniform(math.log(low), math.log(high + 1)))))
        return self.stream.randint(low, high)

    def number(self, _name: str, low: float, high: float, log: bool) -> float:
        if log:
            return math.exp(self.stream.uniform(math.log(low), math.log(high)))
        return self.stream.uniform(low, high)

    def word(self, _name: str, words: Sequence[str]) -> str:
        return self.stream.choice(words)


def named(key: str, when: Iterable[Condition]) -> str:
    """A key with its conditions, as specified."""
    texts = [f"{one.key}={','.join(one.labels)}" for one in when]
    return f"{key}{IF}{' and '.join(texts)}" if texts else key


def word_of(value: object) -> str:
    """The word of an answer: `d-choices` of `{ policy = "d-choices", d = 3 }`."""
    if isinstance(value, Mapping) and "policy" in value:
        return str(value["policy"])
    return policy.label_of(value).split(" ")[0]


def _shown(value: object) -> Value:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return policy.label_of(value)


def spaced(given: Mapping[str, object]) -> SearchSpace:
    """The specified space: values by key, where a key may have conditions after `if`.

    The value None stands for all words of a key, and the key `all` for those of every answer.
    Raises `ConfigError` with all errors.
    """
    if not given:
        some = key_argument("space", "gc.victim", "greedy,fifo,d-choices")
        form = f"such as {some}, or {argument(space='all')}"
        raise ConfigError([f"nothing to search: give at least one key and its values, {form}"])
    wanted: dict[str, object] = {key: one for key, one in given.items() if one is not None}
    heads = {text: text.split(IF)[0].strip() for text in wanted}
    # Specified keys override those that "all" has.
    own = {*heads.values()}
    for key in (key for key, values in given.items() if values is None):
        for text, values in everything.words_of(key).items():
            heads[text] = text.split(IF)[0].strip()
            if heads[text] not in own:
                wanted[text] = values
    texts = {heads[k]: k for k in wanted}
    if len(texts) < len(wanted):
        twice = [k for k in wanted if texts[heads[k]] != k]
        raise ConfigError(
            [
                f"{key_argument('space', heads[k])}: given twice; give all values at once"
                for k in twice
            ]
        )
    try:
        values = values_of({heads[k]: v for k, v in wanted.items()}, allows_draws=True)  # type: ignore[misc]
    except ConfigError as error:
        raise ConfigError(of_space(error.messages)) from None
    made = [_dimension(key, values[key], texts[key]) for key in texts]
    kept = {one.key: one for one in fitting(made)}
    made = [one if one.key in own else kept[one.key] for one in made if one.key in {*own, *kept}]
    return SearchSpace(tuple(_ordered([_with_owner(one, made) for one in made])))


def of_space(messages: Iterable[str]) -> Iterator[str]:
    """Turn messages about `--vary` and `--set` into messages about `--space`."""
    for message in messages:
        rest = message.removeprefix(argument("vary"))
        head = argument("space") if rest != message else ""
        yield (head + rest).replace("nothing to vary", "no values")


def _dimension(key: str, values: list[object] | Range, text: str) -> Dimension:
    when = tuple(_conditions(key, text.split(IF, 1)[1])) if IF in text else ()
    if isinstance(values, Range):
        return Dimension(key, values, when)
    labels = [policy.label_of(one) for one in values]
    twice = next((one for one in labels if labels.count(one) > 1), None)
    if twice is not None:
        message = (
            f"{key_argument('space', key)}: two values are called {twice}; give policies a `name`"
        )
        raise ConfigError([message])
    return Dimension(key, tuple(values), when)


def _conditions(key: str, text: str) -> Iterator[Condition]:
    for part in text.split(" and "):
        of, equal, labels = part.partition("=")
        found = tuple(one.strip() for one in labels.split(",") if one.strip())
        if not equal or not of.strip() or not found:
            form = f"{key}=VALUES if KEY=VALUE,..., such as {key}=1:8 if gc.victim=d-choices"
            raise ConfigError([f'{key_argument("space", key)}: found "if {text}"; expected {form}'])
        yield Condition(of.strip(), found)


def _with_owner(one: Dimension, others: Sequence[Dimension]) -> Dimension:
    """A parameter of a policy exists only where the space has chosen that policy."""
    head, _, name = one.key.rpartition(".")
    owner = next((other for other in others if other.key == head), None)
    if owner is None or isinstance(owner.values, Range) or any(w.key == head for w in one.when):
        return one
    having = everything.having(head, name)
    if having is None:
        return one
    labels = [word_of(v) for v in owner.values if not isinstance(v, Mapping) or name not in v]
    with_it = tuple(label for label in labels if label in having)
    if not with_it:
        key_text = key_argument("space", one.key)
        message = f"{key_text}: none of the values of {head} in the space has {name}"
        raise ConfigError([message])
    if len(with_it) == len(owner.values):
        return one
    return replace(one, when=(*one.when, Condition(head, with_it)))


def _ordered(dimensions: Sequence[Dimension]) -> Iterator[Dimension]:
    """Every key after those of its conditions. Raises `ConfigError` if that is impossible."""
    left, placed = [*dimensions], set[str]()
    keys = [one.key for one in dimensions]
    for one in dimensions:
        for condition in one.when:
            _check_condition(one, condition, {d.key: d for d in dimensions})
    while left:
        ready = [one for one in left if {w.key for w in one.when} <= placed]
        # The parameter of a policy is set over the policy.
        ready = [
            o for o in ready if (head := o.key.rpartition(".")[0]) not in keys or head in placed
        ]
        if not ready:
            names = ", ".join(one.key for one in left)
            raise ConfigError(
                [f"{key_argument('space', names)}: their conditions depend on each other"]
            )
        placed.add(ready[0].key)
        left.remove(ready[0])
        yield ready[0]


def _check_condition(one: Dimension, condition: Condition, known: Mapping[str, Dimension]) -> None:
    of = known.get(condition.key)
    place = f"{key_argument('space', one.key)}: if {condition.key}={','.join(condition.labels)}"
    if of is None:
        near = get_close_matches(condition.key, [key for key in known if key != one.key], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError([f"{place}: {condition.key} is no key of the space{hint}"])
    if isinstance(of.values, Range):
        raise ConfigError([f"{place}: a condition names values of a list, not of a range"])
    words = {word_of(value) for value in of.values}
    bad = [label for label in condition.labels if label not in words]
    if bad:
        near = get_close_matches(bad[0], words, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError([f"{place}: {condition.key} is never {bad[0]} in the space{hint}"])


def fitting(dimensions: Sequence[Dimension]) -> Iterator[Dimension]:
    """The keys whose conditions can hold, and the words of the keys that these require."""
    words: dict[str, set[str]] = {}
    for one in dimensions:
        when = []
        for condition in one.when:
            left = tuple(
                label for label in condition.labels if label in words.get(condition.key, set())
            )
            when.append(replace(condition, labels=left))
        if all(condition.labels for condition in when):
            if not isinstance(one.values, Range):
                words[one.key] = {word_of(value) for value in one.values}
            yield replace(one, when=tuple(when))
