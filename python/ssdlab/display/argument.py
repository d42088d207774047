"""Arguments in the words of the user: `--jobs 4` on the command line, `jobs=4` in Python.

Messages that name an argument are built far from the front end. This module spells the argument.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_options: dict[str, str] | None = None
"""None if the caller is Python. Otherwise what has set keys, and arguments without an option."""


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Until it ends, arguments are options of the command."""
    global _options
    before, _options = _options, {}
    try:
        yield
    finally:
        _options = before


def came_as(what: str, spelled: str) -> None:
    """On the command line: what has set a key or an argument, as `--unit` sets `workload.unit`."""
    if _options is not None:
        _options[what] = spelled


def argument(*names: str, **values: object) -> str:
    """Arguments by their names, or with values.

    `--draw random --points 100` on the command line, `draw="random", points=100` in Python.
    """
    if _options is None:
        return ", ".join([*names, *(f"{name}={_literal(one)}" for name, one in values.items())])
    shown = (_option(name) + ("" if one is True else f" {one}") for name, one in values.items())
    return " ".join([*map(_option, names), *shown])


def keyed(name: str, key: str, value: object = None) -> str:
    """A key of the argument `name`, which is a mapping: `--vary KEY`, or `vary: KEY` in Python.

    With its value `--vary KEY=VALUE`, or `vary={"KEY": "VALUE"}`.
    """
    if _options is not None:
        return f"{_option(name)} {key}" + ("" if value is None else f"={value}")
    return f"{name}: {key}" if value is None else f"{name}={{{json.dumps(key)}: {_literal(value)}}}"


def option(key: str, value: str) -> str:
    """The option of the command that sets a key to a text: the one that has set it, or `--set`."""
    own = (_options or {}).get(key)
    if own is None:
        return f"--set {shlex.quote(f'{key}={value}')}"
    return own if value == "true" else f"{own} {shlex.quote(value)}"


def renamed(message: str, names: Mapping[str, str]) -> str:
    """Turn a message of the simulator about a key into one about the argument that set it.

    `names` are arguments by the keys that they set; the others came by `set`.
    """
    rest = message.removeprefix(SET)
    if rest == message:
        return message
    key = rest.partition(":")[0]
    if _options is None:
        # Also what is to be pasted.
        rest = re.sub(r"--set ([\w.]+)=([^\s;)]+)", lambda said: keyed("set", *said.groups()), rest)
    return f"{(_options or {}).get(key) or argument(names.get(key, 'set'))}: {rest}"


SET = "--set: "
"""How the simulator begins a message about a single key."""


def _option(name: str) -> str:
    return (_options or {}).get(name) or f"--{name.replace('_', '-')}"


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)
