"""The commands to paste in a message, as the command that the user has typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

GROUP = "trace"
"""The word that precedes some of the verbs that read traces."""
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


def adapt_commands(message: str, arguments: Sequence[str]) -> str:
    """`message` with its commands as the one typed, whose `arguments` are those after `ssdlab`.

    They keep its verb and its options, except those that a command sets otherwise.
    """
    start, end = _verb_and_end(arguments)
    verb = " ".join(word for word in arguments[:start] if not word.startswith("-"))
    words, trailing = list(arguments[start:end]), list(arguments[end:])
    # A merge reads several files with the same options.
    if verb == "trace merge" or (verb == "trace info" and _count(words) + len(trailing[1:]) > 1):
        return message
    files = [*map(_file_of, words), *trailing]
    index = next((index for index, file in enumerate(files) if _names(message, file)), None)
    is_piped = verb in PIPED and not any(word.startswith("--seeds") for word in words)

    def adapt(match_: re.Match[str]) -> str:
        options, file = shlex.split(match_["options"]), shlex.split(match_["file"])[0]
        is_after_pipe = match_["pipe"] is not None
        if is_after_pipe:
            file = "-" if is_piped else _free_name("trace" if index is None else files[index])
        is_filtered = is_after_pipe and not message.endswith("...", 0, match_.start())
        file_words = [*words, *trailing]
        if index is not None:
            file_words[index] = file_words[index].removesuffix(files[index]) + file
        kept_options = _drop_options(file_words[: len(words)], _replaced_keys(options, is_filtered))
        if index is None and is_after_pipe:
            kept_options += ["--trace", file]
        all_words = [*arguments[:start], *kept_options, *options, *file_words[len(words) :]]
        command = f"ssdlab {shlex.join(all_words)}"
        if not is_after_pipe:
            return command
        return f" | {command}" if is_piped else f" > {shlex.quote(file)} && {command}"

    return COMMAND.sub(adapt, message)


def _verb_and_end(arguments: Sequence[str]) -> tuple[int, int]:
    """The place behind the verb, and that where no further options follow."""
    words = (position for position, word in enumerate(arguments) if not word.startswith("-"))
    verb = next(words, len(arguments))
    if arguments[verb : verb + 1] == [GROUP]:
        verb = next(words, verb)
    start = min(verb + 1, len(arguments))
    ends = (
        position for position, word in enumerate(arguments) if position >= start and word == "--"
    )
    return start, next(ends, len(arguments))


def _count(words: Sequence[str]) -> int:
    """How many of the words behind `trace info` are files."""
    return sum(
        (word == "-" or not word.startswith("-"))
        and option.removeprefix("--") not in (*VALUED, *OTHERS)
        for option, word in pairwise(["", *words])
    )


def _file_of(word: str) -> str:
    """The file in an argument such as `--trace=FILE`, or the argument."""
    value = word.partition("=")[2] if word.startswith("--") else word
    return value.removeprefix("workload.trace=")


def _names(message: str, file: str) -> bool:
    """Whether the message is about this file."""
    name = "standard input" if file == "-" else file
    return bool(file) and message.startswith((f"error: {name}:", f"error: {name},"))


def _free_name(trace: str) -> str:
    """The name of a file for the output of a filter of `trace`, which does not exist yet."""
    name = Path(trace).name
    # It must not look like an option.
    start = f"./{name}" if name.startswith("-") else name
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    names = (f"{start}{number}.txt" for number in numbers)
    return next(name for name in names if not Path(name).exists())


def _key(option: str, value: str) -> str:
    """The key of `workload` that an option sets."""
    if option == "--set":
        return value.partition("=")[0].removeprefix("workload.")
    return option.removeprefix("--").replace("-", "_")


def _replaced_keys(options: Sequence[str], is_filtered: bool) -> set[str]:
    """The keys of the command typed that `options` replace."""
    keys = {_key(option, value) for option, value in _pairs(options)}
    related: Iterable[set[str]] = (WHOLE.get(key, set()) for key in keys)
    return keys.union(*related, OF_FILE if is_filtered else ())


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Options with the word behind each."""
    return [pair for pair in pairwise([*words, ""]) if pair[0].startswith("--")]


def _drop_options(arguments: Sequence[str], keys: set[str]) -> list[str]:
    """The arguments without the options that set `keys`."""
    remaining: list[str] = []
    rest = iter(arguments)
    for word in rest:
        option, equals, value = word.partition("=")
        is_valued = option == "--set" or option.removeprefix("--") in VALUED
        if not word.startswith("--") or not (is_valued or option == "--sort"):
            remaining.append(word)
            continue
        option_words = [word]
        if is_valued and not equals:
            value = next(rest, "")
            option_words.append(value)
        if _key(option, value) not in keys:
            remaining += option_words
    return remaining
