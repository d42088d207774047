"""Checks the types of arguments, and explains wrong ones in a sentence."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import ParamSpec, TypeVar

from ssdlab.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")


def _is_text_or_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_whole(value: object) -> bool:
    try:
        index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool)


def _has_keys(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


EXPECTED: dict[str, tuple[Callable[[object], bool], str]] = {
    "trace": (_is_text_or_path, "the path of a trace"),
    "path": (_is_text_or_path, "the path of a trace"),
    "out": (_is_text_or_path, "the path of a folder"),
    "folder": (_is_text_or_path, "the path of a folder"),
    "store": (lambda value: _is_text_or_path(value) or hasattr(value, "find"), "a folder"),
    "preset": (lambda value: isinstance(value, str), "the name of a preset"),
    "set": (_has_keys, 'a mapping of keys to values, such as {"gc.victim": "fifo"}'),
    "vary": (
        _has_keys,
        'a mapping of keys to lists of values, such as {"gc.victim": ["greedy", "fifo"]}',
    ),
    "traces": (_is_list, "a list of paths"),
    "test_traces": (_is_list, "a list of paths"),
    "space": (
        lambda value: isinstance(value, str) or _has_keys(value),
        'a mapping of keys to lists of values, such as {"gc.victim": ["greedy", "fifo"]}, or "all"',
    ),
    **dict.fromkeys(
        ("minimize", "maximize", "subject_to"),
        (lambda value: isinstance(value, str) or _is_list(value), "a text, or a list of texts"),
    ),
    **dict.fromkeys(
        ("test_seeds", "rungs", "trials", "parallel", "sampler_seed"),
        (_is_whole, "a whole number"),
    ),
    "seed": (_is_whole, "a whole number"),
    "seeds": (_is_whole, "a whole number"),
    "jobs": (_is_whole, "a whole number"),
    "points": (_is_whole, "a whole number"),
}
"""By argument name, which means the same in all functions: whether a value is valid, and what is.
"""


def type_errors(name: str, value: object) -> list[str]:
    """Why `value` cannot be the argument `name`; None if it can."""
    if value is None or name not in EXPECTED or EXPECTED[name][0](value):
        return []
    return [f"{name}: found {value!r}; expected {EXPECTED[name][1]}"]


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which then raises `ConfigError` for arguments that do not match `EXPECTED`."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        # The call itself reports arguments that do not bind.
        bound = signature.bind_partial(*args, **kwargs).arguments
        errors = [text for name, value in bound.items() for text in type_errors(name, value)]
        if errors:
            raise ConfigError(errors)
        return function(*args, **kwargs)

    return wrapper
