"""`--set KEY=VALUE`, `--vary KEY=A,B,...` and times of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ssdlab.config.quantity import KeyUnit, quantity
from ssdlab.config.vary import IF, has_range, split
from ssdlab.display.argument import register_option
from ssdlab.errors import ConfigError


def _pairs(option: str, texts: Sequence[str] | None, syntax: str) -> Iterator[tuple[str, str]]:
    malformed = [
        text for text in texts or () if "=" not in text or not text.partition("=")[0].strip()
    ]
    if malformed:
        raise ConfigError([f"{option} {text}: expected {syntax}" for text in malformed])
    for text in texts or ():
        key, _, value = text.partition("=")
        yield key.strip(), value.strip()


def set_values(texts: Sequence[str] | None) -> dict[str, object]:
    """`--set` as a mapping; for a key set twice the last value counts."""
    values: dict[str, object] = {}
    for key, value in _pairs("--set", texts, "KEY=VALUE, such as gc.victim=fifo"):
        values.pop(key, None)
        values[key] = value
    return values


def with_seed(values: dict[str, object], seed: int | None) -> dict[str, object]:
    """`--set` as a mapping, overridden by `--seed`."""
    if seed is not None:
        register_option("run.seed", "--seed")
        values["run.seed"] = seed
    return values


def with_pace(values: dict[str, object], pace: str) -> dict[str, object]:
    """`--set` as a mapping, overridden by `--pace`."""
    if pace != "recorded":
        register_option("host.mode", "--pace")
        values["host.mode"] = pace
    return values


def vary_values(texts: Sequence[str] | None) -> dict[str, Iterable[object]]:
    """`--vary` as a mapping of keys to their values: lists, or texts with ranges."""
    values: dict[str, Iterable[object]] = {}
    for key, value_text in _pairs("--vary", texts, "KEY=A,B,..., such as gc.victim=greedy,fifo"):
        if key in values:
            raise ConfigError([f"--vary {key}: given twice; give all values at once"])
        values[key] = value_text if has_range(value_text) else [*split(value_text)]
    return values


def space_values(texts: Sequence[str] | None) -> dict[str, object]:
    """`--space` as a mapping of keys, with conditions, to values; None: all words of a key."""
    values: dict[str, object] = {}
    for text in texts or ():
        assignment, condition = text, ""
        if IF in text:
            assignment, _, condition = text.rpartition(IF)
        key, equal, value = (part.strip() for part in assignment.partition("="))
        if not key or (equal and not value):
            syntax = "KEY=VALUES, such as gc.victim=greedy,fifo or gc.window=1:16, or KEY, or all"
            raise ConfigError([f"--space {text}: expected {syntax}"])
        name = f"{key}{IF}{condition.strip()}" if condition else key
        if name in values:
            raise ConfigError([f"--space {key}: given twice; give all values at once"])
        if not equal:
            values[name] = None
        else:
            values[name] = value if has_range(value) else [*split(value)]
    return values


def sector_ranges(texts: Sequence[str] | None) -> list[tuple[int, int]]:
    """`--journal START:END` as ranges of sectors."""
    ranges = []
    for text in texts or ():
        start, colon, end = text.partition(":")
        if not (colon and start.strip().isdecimal() and end.strip().isdecimal()):
            syntax = "START:END in sectors of 512 bytes, such as 8650752:8781824"
            raise ConfigError([f"--journal {text}: expected {syntax}"])
        ranges.append((int(start), int(end)))
    return ranges


def size_bytes(option: str, text: str) -> int:
    """A size such as `8 GiB` as bytes."""
    value = quantity(text)
    match_ = re.fullmatch(r"\s*([\d.]+)\s*([kKmMgGtT])[bB]?\s*", text)
    if match_ and (value is None or not text.rstrip().endswith("B")):
        number, unit = match_[1], match_[2].upper()
        decimal = f"{option} {number}{'k' if unit == 'K' else unit}B"
        choices = f"{decimal} or {option} {number}{unit}iB"
        raise ConfigError([f"{option} {text}: a power of 1000 or of 1024? Write {choices}"])
    return _parse_quantity(option, text, "bytes", "a size with its unit, such as 8 GiB")


def nanoseconds(option: str, text: str) -> int:
    """A time such as `1.5s` or `20 ms` as nanoseconds."""
    return _parse_quantity(option, text, "ns", "a time with its unit, such as 1.5s")


def _parse_quantity(option: str, text: str, unit: KeyUnit, expected: str) -> int:
    value = quantity(text)
    if value is None or value[1] != unit or value[0] < 0:
        raise ConfigError([f"{option} {text}: expected {expected}"])
    return round(value[0])
