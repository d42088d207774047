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


class Suggester(Protocol):
    """The source of values: a trial of Optuna, or chance."""

    def integer(self, name: str, low: int, high: int, log: bool, /) -> int:
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
        quantities = [
            quantity(value) for value in self.values if isinstance(value, int | float | str)
        ]
        numbers = [pair[0] for pair in quantities if pair is not None]
        return 1 < len(numbers) == len(self.values) and all(a < b for a, b in pairwise(numbers))

    def draw(self, stream: random.Random) -> object:
        """A value by chance."""
        return self.of(_Chance(stream))

    def of(self, suggestions: Suggester) -> object:
        """The value that is suggested."""
        if isinstance(self.values, Range):
            low, high = float(self.values.low), float(self.values.high)
            if self.values.is_whole:
                number = suggestions.integer(self.key, int(low), int(high), self.values.log)
                return self.values.value(number)
            return self.values.value(suggestions.number(self.key, low, high, self.values.log))
        if self.ordered:
            return self.values[suggestions.integer(self.key, 0, len(self.values) - 1, False)]
        return self.values[self.labels.index(suggestions.word(self.key, self.labels))]


@dataclass(frozen=True)
class SearchSpace:
    """Keys with their values; a key follows those that its conditions name."""

    dimensions: tuple[Dimension, ...]
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def of(self, suggestions: Suggester) -> Point:
        """The point that is suggested."""
        point: Point = {}
        for dimension in self.dimensions:
            if all(condition.holds(point) for condition in dimension.when):
                point[dimension.key] = dimension.of(suggestions)
        return point

    def draw(self, stream: random.Random) -> Point:
        """A point by chance."""
        return self.of(_Chance(stream))

    def points(self) -> Iterator[Point]:
        """All points of a space that has no range without a step."""
        return self._points(0, {})

    def _points(self, index: int, point: Point) -> Iterator[Point]:
        if index == len(self.dimensions):
            yield point
            return
        dimension = self.dimensions[index]
        if not all(condition.holds(point) for condition in dimension.when):
            yield from self._points(index + 1, point)
            return
        assert not isinstance(dimension.values, Range)
        for value in dimension.values:
            yield from self._points(index + 1, {**point, dimension.key: value})

    @property
    def finite(self) -> bool:
        """Every key has a list of values."""
        return not any(isinstance(dimension.values, Range) for dimension in self.dimensions)

    @property
    def size(self) -> int | None:
        """The number of points; None if infinite, or more than `MOST_COUNTED`."""
        if not self.finite:
            return None
        if not any(dimension.when for dimension in self.dimensions):
            return math.prod(len(dimension.labels) for dimension in self.dimensions)
        count = sum(1 for _ in islice(self.points(), MOST_COUNTED + 1))
        return count if count <= MOST_COUNTED else None

    def shown(self, point: Point) -> dict[str, Value]:
        """A point with its values as shown: numbers, or names."""
        return {key: _display_value(value) for key, value in point.items()}

    def point_of(self, shown: Mapping[str, Value]) -> Point:
        """The point whose values are shown like this."""
        point: Point = {}
        for dimension in self.dimensions:
            if dimension.key in shown:
                value = shown[dimension.key]
                if not isinstance(dimension.values, Range):
                    point[dimension.key] = next(
                        v for v in dimension.values if _display_value(v) == value
                    )
                else:
                    point[dimension.key] = value
        return point

    @property
    def json(self) -> dict[str, object]:
        """As it stands in search.json."""
        return {
            key_text(dimension.key, dimension.when): dimension.values.text
            if isinstance(dimension.values, Range)
            else [_display_value(value) for value in dimension.values]
            for dimension in self.dimensions
        }


@dataclass(frozen=True)
class _Chance:
    """Values by chance."""

    stream: random.Random

    def integer(self, _name: str, low: int, high: int, log: bool) -> int:
        if log:
            return min(high, int(math.exp(self.stream.uniform(math.log(low), math.log(high + 1)))))
        return self.stream.randint(low, high)

    def number(self, _name: str, low: float, high: float, log: bool) -> float:
        if log:
            return math.exp(self.stream.uniform(math.log(low), math.log(high)))
        return self.stream.uniform(low, high)

    def word(self, _name: str, words: Sequence[str]) -> str:
        return self.stream.choice(words)


def key_text(key: str, when: Iterable[Condition]) -> str:
    """A key with its conditions, as specified."""
    texts = [f"{condition.key}={','.join(condition.labels)}" for condition in when]
    return f"{key}{IF}{' and '.join(texts)}" if texts else key


def word_of(value: object) -> str:
    """The word of an answer: `d-choices` of `{ policy = "d-choices", d = 3 }`."""
    if isinstance(value, Mapping) and "policy" in value:
        return str(value["policy"])
    return policy.label_of(value).split(" ")[0]


def _display_value(value: object) -> Value:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return policy.label_of(value)


def space_of(specification: Mapping[str, object]) -> SearchSpace:
    """The specified space: values by key, where a key may have conditions after `if`.

    The value None stands for all words of a key, and the key `all` for those of every answer.
    Raises `ConfigError` with all errors.
    """
    if not specification:
        example = key_argument("space", "gc.victim", "greedy,fifo,d-choices")
        form = f"such as {example}, or {argument(space='all')}"
        raise ConfigError([f"nothing to search: give at least one key and its values, {form}"])
    values_by_text: dict[str, object] = {
        key: value for key, value in specification.items() if value is not None
    }
    heads = {text: text.split(IF)[0].strip() for text in values_by_text}
    # Specified keys override those that "all" has.
    explicit_keys = {*heads.values()}
    for key in (key for key, values in specification.items() if values is None):
        for text, values in everything.words_of(key).items():
            heads[text] = text.split(IF)[0].strip()
            if heads[text] not in explicit_keys:
                values_by_text[text] = values
    texts = {heads[k]: k for k in values_by_text}
    if len(texts) < len(values_by_text):
        duplicates = [k for k in values_by_text if texts[heads[k]] != k]
        raise ConfigError(
            [
                f"{key_argument('space', heads[k])}: given twice; give all values at once"
                for k in duplicates
            ]
        )
    try:
        values = values_of({heads[k]: v for k, v in values_by_text.items()}, allows_draws=True)  # type: ignore[misc]
    except ConfigError as error:
        raise ConfigError(of_space(error.messages)) from None
    dimensions = [_dimension(key, values[key], texts[key]) for key in texts]
    possible = {dimension.key: dimension for dimension in possible_dimensions(dimensions)}
    dimensions = [
        dimension if dimension.key in explicit_keys else possible[dimension.key]
        for dimension in dimensions
        if dimension.key in {*explicit_keys, *possible}
    ]
    return SearchSpace(
        tuple(_order([_with_owner(dimension, dimensions) for dimension in dimensions]))
    )


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
    labels = [policy.label_of(value) for value in values]
    duplicate = next((label for label in labels if labels.count(label) > 1), None)
    if duplicate is not None:
        key_text = key_argument("space", key)
        message = f"{key_text}: two values are called {duplicate}; give policies a `name`"
        raise ConfigError([message])
    return Dimension(key, tuple(values), when)


def _conditions(key: str, text: str) -> Iterator[Condition]:
    for clause in text.split(" and "):
        owner, equal, labels = clause.partition("=")
        words = tuple(word.strip() for word in labels.split(",") if word.strip())
        if not equal or not owner.strip() or not words:
            form = f"{key}=VALUES if KEY=VALUE,..., such as {key}=1:8 if gc.victim=d-choices"
            raise ConfigError([f'{key_argument("space", key)}: found "if {text}"; expected {form}'])
        yield Condition(owner.strip(), words)


def _with_owner(dimension: Dimension, dimensions: Sequence[Dimension]) -> Dimension:
    """A parameter of a policy exists only where the space has chosen that policy."""
    head, _, name = dimension.key.rpartition(".")
    owner = next((candidate for candidate in dimensions if candidate.key == head), None)
    if (
        owner is None
        or isinstance(owner.values, Range)
        or any(condition.key == head for condition in dimension.when)
    ):
        return dimension
    words = everything.words_with(head, name)
    if words is None:
        return dimension
    labels = [word_of(v) for v in owner.values if not isinstance(v, Mapping) or name not in v]
    matching = tuple(label for label in labels if label in words)
    if not matching:
        key_text = key_argument("space", dimension.key)
        message = f"{key_text}: none of the values of {head} in the space has {name}"
        raise ConfigError([message])
    if len(matching) == len(owner.values):
        return dimension
    return replace(dimension, when=(*dimension.when, Condition(head, matching)))


def _order(dimensions: Sequence[Dimension]) -> Iterator[Dimension]:
    """Every key after those of its conditions. Raises `ConfigError` if that is impossible."""
    remaining, placed = [*dimensions], set[str]()
    keys = [dimension.key for dimension in dimensions]
    for dimension in dimensions:
        for condition in dimension.when:
            _check_condition(dimension, condition, {d.key: d for d in dimensions})
    while remaining:
        ready = [dimension for dimension in remaining if {w.key for w in dimension.when} <= placed]
        # The parameter of a policy is set over the policy.
        ready = [
            o for o in ready if (head := o.key.rpartition(".")[0]) not in keys or head in placed
        ]
        if not ready:
            names = ", ".join(dimension.key for dimension in remaining)
            raise ConfigError(
                [f"{key_argument('space', names)}: their conditions depend on each other"]
            )
        placed.add(ready[0].key)
        remaining.remove(ready[0])
        yield ready[0]


def _check_condition(
    dimension: Dimension, condition: Condition, known: Mapping[str, Dimension]
) -> None:
    owner = known.get(condition.key)
    prefix = (
        f"{key_argument('space', dimension.key)}: if {condition.key}={','.join(condition.labels)}"
    )
    if owner is None:
        matches = get_close_matches(
            condition.key, [key for key in known if key != dimension.key], 1
        )
        hint = f"; did you mean {matches[0]}?" if matches else ""
        raise ConfigError([f"{prefix}: {condition.key} is no key of the space{hint}"])
    if isinstance(owner.values, Range):
        raise ConfigError([f"{prefix}: a condition names values of a list, not of a range"])
    words = {word_of(value) for value in owner.values}
    bad = [label for label in condition.labels if label not in words]
    if bad:
        matches = get_close_matches(bad[0], words, 1)
        hint = f"; did you mean {matches[0]}?" if matches else ""
        raise ConfigError([f"{prefix}: {condition.key} is never {bad[0]} in the space{hint}"])


def possible_dimensions(dimensions: Sequence[Dimension]) -> Iterator[Dimension]:
    """The keys whose conditions can hold, and the words of the keys that these require."""
    words: dict[str, set[str]] = {}
    for dimension in dimensions:
        when = []
        for condition in dimension.when:
            labels = tuple(
                label for label in condition.labels if label in words.get(condition.key, set())
            )
            when.append(replace(condition, labels=labels))
        if all(condition.labels for condition in when):
            if not isinstance(dimension.values, Range):
                words[dimension.key] = {word_of(value) for value in dimension.values}
            yield replace(dimension, when=tuple(when))
