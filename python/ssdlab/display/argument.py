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
    previous, _options = _options, {}
    try:
        yield
    finally:
        _options = previous


def register_option(name: str, option_text: str) -> None:
    """On the command line: what has set a key or an argument, as `--unit` sets `workload.unit`."""
    if _options is not None:
        _options[name] = option_text


def argument(*names: str, **values: object) -> str:
    """Arguments by their names, or with values.

    `--draw random --points 100` on the command line, `draw="random", points=100` in Python.
    """
    if _options is None:
        return ", ".join([*names, *(f"{name}={_literal(value)}" for name, value in values.items())])
    options = (
        _option(name) + ("" if value is True else f" {value}") for name, value in values.items()
    )
    return " ".join([*map(_option, names), *options])


def key_argument(name: str, key: str, value: object = None) -> str:
    """A key of the argument `name`, which is a mapping: `--vary KEY`, or `vary: KEY` in Python.

    With its value `--vary KEY=VALUE`, or `vary={"KEY": "VALUE"}`.
    """
    if _options is not None:
        return f"{_option(name)} {key}" + ("" if value is None else f"={value}")
    return f"{name}: {key}" if value is None else f"{name}={{{json.dumps(key)}: {_literal(value)}}}"


def option(key: str, value: str) -> str:
    """The option of the command that sets a key to a text: the one that has set it, or `--set`."""
    option_text = (_options or {}).get(key)
    if option_text is None:
        return f"--set {shlex.quote(f'{key}={value}')}"
    return option_text if value == "true" else f"{option_text} {shlex.quote(value)}"


def name_argument(message: str, names: Mapping[str, str]) -> str:
    """Turn a message of the simulator about a key into one about the argument that set it.

    `names` are arguments by the keys that they set; the others came by `set`.
    """
    complaint = message.removeprefix(SET)
    if complaint == message:
        return message
    key = complaint.partition(":")[0]
    if _options is None:
        # Also what is to be pasted.
        complaint = re.sub(
            r"--set ([\w.]+)=([^\s;)]+)",
            lambda match_: key_argument("set", *match_.groups()),
            complaint,
        )
    return f"{(_options or {}).get(key) or argument(names.get(key, 'set'))}: {complaint}"


SET = "--set: "
"""How the simulator begins a message about a single key."""


def _option(name: str) -> str:
    return (_options or {}).get(name) or f"--{name.replace('_', '-')}"


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else str(value)
