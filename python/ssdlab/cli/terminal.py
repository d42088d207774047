"""What the command says: data to stdout, messages to stderr."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO


def put(text: str) -> None:
    """Write to stdout; whoever stopped reading has seen enough."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def put_summary(text: str) -> None:
    """Write a summary to stdout, in colour on a terminal unless NO_COLOR is set."""
    dull = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    put(text if dull or not sys.stdout.isatty() else coloured(text))


def coloured(text: str) -> str:
    """A summary with what invalidates it in red, and the lowest of each number in green."""
    text = re.sub(r"^(  ! |LOST|invalidates )", "\x1b[1;31m\\1\x1b[0m", text, flags=re.MULTILINE)
    return re.sub(r"^(  \S.*? \*)(?=  )", "\x1b[32m\\1\x1b[0m", text, flags=re.MULTILINE)


def say(text: str) -> None:
    """Write a line to stderr, which may have gone the same way."""
    try:
        sys.stderr.write(text + "\n")
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let what is buffered vanish instead of failing again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
