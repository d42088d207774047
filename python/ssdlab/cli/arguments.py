"""`--set KEY=VALUE`, `--vary KEY=A,B,...` and times of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ssdlab.config.quantity import KeyUnit, quantity
from ssdlab.config.vary import IF, has_range, split
from ssdlab.display.argument import came_as
from ssdlab.errors import ConfigError


def _pairs(option: str, said: Sequence[str] | None, form: str) -> Iterator[tuple[str, str]]:
    bad = [one for one in said or () if "=" not in one or not one.partition("=")[0].strip()]
    if bad:
        raise ConfigError([f"{option} {one}: expected {form}" for one in bad])
    for one in said or ():
        key, _, value = one.partition("=")
        yield key.strip(), value.strip()


def set_values(said: Sequence[str] | None) -> dict[str, object]:
    """`--set` as a mapping; for a key set twice the last value counts."""
    values: dict[str, object] = {}
    for key, value in _pairs("--set", said, "KEY=VALUE, such as gc.victim=fifo"):
        values.pop(key, None)
        values[key] = value
    return values


def seeded(values: dict[str, object], seed: int | None) -> dict[str, object]:
    """`--set` as a mapping, overridden by `--seed`."""
    if seed is not None:
        came_as("run.seed", "--seed")
        values["run.seed"] = seed
    return values


def paced(values: dict[str, object], pace: str) -> dict[str, object]:
    """`--set` as a mapping, overridden by `--pace`."""
    if pace != "recorded":
        came_as("host.mode", "--pace")
        values["host.mode"] = pace
    return values


def vary_values(said: Sequence[str] | None) -> dict[str, Iterable[object]]:
    """`--vary` as a mapping of keys to their values: lists, or texts with ranges."""
    values: dict[str, Iterable[object]] = {}
    for key, text in _pairs("--vary", said, "KEY=A,B,..., such as gc.victim=greedy,fifo"):
        if key in values:
            raise ConfigError([f"--vary {key}: given twice; give all values at once"])
        values[key] = text if has_range(text) else [*split(text)]
    return values


def space_values(said: Sequence[str] | None) -> dict[str, object]:
    """`--space` as a mapping of keys, with conditions, to values; None: all words of a key."""
    values: dict[str, object] = {}
    for one in said or ():
        text, condition = one, ""
        if IF in one:
            text, _, condition = one.rpartition(IF)
        key, equal, given = (part.strip() for part in text.partition("="))
        if not key or (equal and not given):
            form = "KEY=VALUES, such as gc.victim=greedy,fifo or gc.window=1:16, or KEY, or all"
            raise ConfigError([f"--space {one}: expected {form}"])
        name = f"{key}{IF}{condition.strip()}" if condition else key
        if name in values:
            raise ConfigError([f"--space {key}: given twice; give all values at once"])
        if not equal:
            values[name] = None
        else:
            values[name] = given if has_range(given) else [*split(given)]
    return values


def sector_ranges(said: Sequence[str] | None) -> list[tuple[int, int]]:
    """`--journal START:END` as ranges of sectors."""
    ranges = []
    for one in said or ():
        start, colon, end = one.partition(":")
        if not (colon and start.strip().isdecimal() and end.strip().isdecimal()):
            form = "START:END in sectors of 512 bytes, such as 8650752:8781824"
            raise ConfigError([f"--journal {one}: expected {form}"])
        ranges.append((int(start), int(end)))
    return ranges


def size_bytes(option: str, text: str) -> int:
    """A size such as `8 GiB` as bytes."""
    found = quantity(text)
    letter = re.fullmatch(r"\s*([\d.]+)\s*([kKmMgGtT])[bB]?\s*", text)
    if letter and (found is None or not text.rstrip().endswith("B")):
        number, unit = letter[1], letter[2].upper()
        decimal = f"{option} {number}{'k' if unit == 'K' else unit}B"
        both = f"{decimal} or {option} {number}{unit}iB"
        raise ConfigError([f"{option} {text}: a power of 1000 or of 1024? Write {both}"])
    return _in_units(option, text, "bytes", "a size with its unit, such as 8 GiB")


def nanoseconds(option: str, text: str) -> int:
    """A time such as `1.5s` or `20 ms` as nanoseconds."""
    return _in_units(option, text, "ns", "a time with its unit, such as 1.5s")


def _in_units(option: str, text: str, wanted: KeyUnit, expected: str) -> int:
    found = quantity(text)
    if found is None or found[1] != wanted or found[0] < 0:
        raise ConfigError([f"{option} {text}: expected {expected}"])
    return round(found[0])
