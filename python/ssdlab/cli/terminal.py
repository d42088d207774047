"""The output of the command: data to stdout, messages to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeAlias

Form: TypeAlias = bool | None
"""How a result is printed: as JSON (True), as terse lines (False), or as text (None)."""


def put(text: str) -> None:
    """Write to stdout; a reader that has stopped has seen enough."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def put_summary(text: str) -> None:
    """Write a summary to stdout, in colour on a terminal unless NO_COLOR is set."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    put(text if is_plain or not sys.stdout.isatty() else colour(text))


def put_result(
    json_: Form, quiet: bool, to_json: Callable[[], str], to_text: Callable[[], str]
) -> None:
    """Write a result to stdout: as --json or --terse says, or its summary unless `quiet`."""
    if json_:
        put(to_json())
    elif json_ is not None:
        put("".join(terse(json.loads(to_json()))))
    elif not quiet:
        put_summary(to_text())


def terse(value: object, key: str = "") -> Iterator[str]:
    """A line for each value: its dotted key, tab, and the value as in JSON (text as it is).

    Elements of lists are called by their label or name, with their seed if several have that name;
    by their number from 0 if this does not distinguish them.
    """
    if isinstance(value, dict):
        for name, element in value.items():
            yield from terse(element, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        names = _names(value)
        for name, element in zip(names, value, strict=True):
            yield from terse(element, f"{key}.{name}" if key else name)
    else:
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{key}\t{' '.join(text.split())}\n"


def _names(values: list[object]) -> list[str]:
    """The names of the elements of a list."""
    numbers = [str(index) for index in range(len(values))]
    for keys in (("label",), ("label", "seed"), ("name",)):
        parts = [
            [element.get(key) for key in keys] for element in values if isinstance(element, dict)
        ]
        names = [
            ".".join(map(str, part_values)) for part_values in parts if None not in part_values
        ]
        if len(set(names)) == len(values):
            return names
    return numbers


def colour(text: str) -> str:
    """A summary with what invalidates it in red, and the lowest of each number in green."""
    text = re.sub(r"^(  ! |LOST|invalidates )", "\x1b[1;31m\\1\x1b[0m", text, flags=re.MULTILINE)
    return re.sub(r"^(  \S.*? \*)(?=  )", "\x1b[32m\\1\x1b[0m", text, flags=re.MULTILINE)


def say(text: str) -> None:
    """Write a line to stderr, which may have been closed as well."""
    try:
        sys.stderr.write(text + "\n")
    except OSError:
        discard(sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Write each warning to stderr."""
    for text in dict.fromkeys(warnings):
        say(f"warning: {text}")


def discard(stream: TextIO) -> None:
    """Let buffered output vanish instead of failing again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
