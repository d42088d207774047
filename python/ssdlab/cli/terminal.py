"""What the command says: data to stdout, messages to stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def put(text: str) -> None:
    """Write to stdout; whoever stopped reading has seen enough."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def say(text: str) -> None:
    """Write a line to stderr, which may have gone the same way."""
    try:
        sys.stderr.write(text + "\n")
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let what is buffered vanish instead of failing again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
