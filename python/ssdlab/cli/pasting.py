"""The commands to paste in a message, as the command that the user has typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

GROUPS = ("trace", "config", "snapshot", "serve", "drives")
"""Words that precede a verb."""
WORD = r"(?:'[^']*'|\\'|[\w\-./:=,@%+])+"
"""A word of a shell, as messages quote it."""
VALUED = ("format", "columns", "unit", "time-unit", "page-size")
"""Options with a value that say how a trace is read; each is a key of `workload`."""
OTHERS = ("set", "journal", "memory", "html", "plots", "picture")
"""The other options of `trace info` that have a value."""
OPTION = rf"(?: --sort(?![\w-])| --(?:set|{'|'.join(VALUED)}) {WORD})"
COMMAND = re.compile(rf"(?P<pipe> \| )?ssdlab trace info (?P<file>{WORD})(?P<options>{OPTION}*)")
"""A command of a message, behind the pipe that a filter precedes."""
WHOLE = {"columns": {"format", "unit", "time_unit"}, "format": {"columns"}}
"""Keys that an option replaces beside its own."""
OF_FILE = {"format", "columns", "unit", "time_unit", "page_size"}
"""Keys that say how a file is read, and not how the output of a filter is."""
PIPED = ("run", "trace info", "trace convert", "trace split")
"""Verbs that read a trace once, so that it may be standard input."""
SETTING = ("serve", "snapshot make", "config check", "config show")
"""Verbs whose only option for a trace is `--set`."""


def pasted(message: str, arguments: Sequence[str]) -> str:
    """`message` with its commands as the one typed, whose `arguments` are those after `ssdlab`.

    They keep its verb and its options, except those that a command sets otherwise.
    """
    before = ["", *arguments]
    words = [
        word
        for option, word in zip(before, arguments, strict=False)
        if not word.startswith("-") and option.removeprefix("--") not in (*VALUED, *OTHERS)
    ]
    verb = " ".join(words[: 2 if words[:1] and words[0] in GROUPS else 1])
    # A merge reads several files with the same options.
    if verb == "trace merge" or (verb == "trace info" and len(words) > 3):
        return message
    own = next((_file_of(word) for word in arguments if _names(message, word)), None)
    is_piped = verb in PIPED and not any(word.startswith("--seeds") for word in arguments)

    def typed(found: re.Match[str]) -> str:
        options, file = shlex.split(found["options"]), shlex.split(found["file"])[0]
        is_behind = found["pipe"] is not None
        if is_behind:
            file = "-" if is_piped else _free(own or "trace")
        is_filtered = is_behind and not message.endswith("...", 0, found.start())
        kept = _without(arguments, _replaced(options, is_filtered))
        at = next((at for at, word in enumerate(kept) if _names(message, word)), None)
        if at is not None:
            kept[at] = kept[at].removesuffix(_file_of(kept[at])) + file
        elif is_behind:
            kept += ["--trace", file]
        if verb in SETTING:
            options = _as_keys(options)
        command = f"ssdlab {shlex.join([*kept, *options])}"
        if not is_behind:
            return command
        return f" | {command}" if is_piped else f" > {shlex.quote(file)} && {command}"

    return COMMAND.sub(typed, message)


def _file_of(word: str) -> str:
    """The file in an argument such as `--trace=FILE`, or the argument."""
    value = word.partition("=")[2] if word.startswith("--") else word
    return value.removeprefix("workload.trace=")


def _names(message: str, word: str) -> bool:
    """Whether an argument names the trace that the message is about."""
    file = _file_of(word)
    name = "standard input" if file == "-" else file
    return bool(file) and message.startswith((f"error: {name}:", f"error: {name},"))


def _free(trace: str) -> str:
    """The name of a file for the output of a filter of `trace`, which does not exist yet."""
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    names = (f"{Path(trace).name}{number}.txt" for number in numbers)
    return next(name for name in names if not Path(name).exists())


def _as_keys(options: Sequence[str]) -> list[str]:
    """Options that say how a trace is read as `--set`, for verbs that have no others."""
    keys = {_key(option, value): value for option, value in _pairs(options) if option != "--set"}
    pairs = [f"workload.{key}={'true' if key == 'sort' else value}" for key, value in keys.items()]
    sets = [value for option, value in _pairs(options) if option == "--set"]
    return [word for pair in (*pairs, *sets) for word in ("--set", pair)]


def _key(option: str, value: str) -> str:
    """The key of `workload` that an option sets."""
    if option == "--set":
        return value.partition("=")[0].removeprefix("workload.")
    return option.removeprefix("--").replace("-", "_")


def _replaced(options: Sequence[str], is_filtered: bool) -> set[str]:
    """The keys of the command typed that `options` replace."""
    keys = {_key(option, value) for option, value in _pairs(options)}
    others: Iterable[set[str]] = (WHOLE.get(key, set()) for key in keys)
    return keys.union(*others, OF_FILE if is_filtered else ())


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Options with the word behind each."""
    return [pair for pair in pairwise([*words, ""]) if pair[0].startswith("--")]


def _without(arguments: Sequence[str], keys: set[str]) -> list[str]:
    """The arguments without the options that set `keys`."""
    kept: list[str] = []
    left = iter(arguments)
    for word in left:
        option, equals, value = word.partition("=")
        is_valued = option == "--set" or option.removeprefix("--") in VALUED
        if not word.startswith("--") or not (is_valued or option == "--sort"):
            kept.append(word)
            continue
        own = [word]
        if is_valued and not equals:
            value = next(left, "")
            own.append(value)
        if _key(option, value) not in keys:
            kept += own
    return kept
