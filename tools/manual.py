"""The manual page of the `ssdlab` command, made of its own help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from rich.markup import render

from ssdlab.cli import app
from ssdlab.cli.examples import EXAMPLES
from ssdlab.cli.verbs import LAB

HEAD = """.\\" Written by `make docs`: change the source, not this page.
.TH SSDLAB 1 "" "ssdlab" "User Commands"
.SH NAME
ssdlab \\- a laboratory for garbage collection in solid-state drives
.SH SYNOPSIS
.B ssdlab
[\\fB\\-\\-version\\fR] [\\fB\\-\\-debug\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]
.SH DESCRIPTION
Simulates a solid-state drive under a trace, a job file of fio or synthetic requests, and reports
latency, write amplification and wear, for one policy of garbage collection or many.
A first answer:
.PP
.RS
.B ssdlab try TRACE
.RE
.PP
Data go to standard output, progress and messages to standard error.
Every command has \\fB\\-\\-help\\fR.
.SH COMMANDS
"""
FOOT = """.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
A run could not finish.
.TP
.B 2
The input is wrong; nothing was run, nothing is lost.
.TP
.B 130
Interrupted; what was complete is kept.
.SH ENVIRONMENT
.TP
.B NO_COLOR
Not empty: no colour, on a terminal either.
.TP
.B SSDLAB_STORE
A store of results: runs that it has are not made again.
.TP
.B TMPDIR
Where large traces are sorted.
.SH SEE ALSO
.BR fio (1),
.BR blktrace (8)
"""


def escaped(text: str) -> str:
    """Text that roff prints as it is."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain, flags=re.MULTILINE)


def manual() -> str:
    """The page, in the format of man(7)."""
    parts: list[str] = []
    for words, command in verbs(typer.main.get_command(app)):
        parts += verb(words, command)
    return HEAD + "\n".join(parts) + "\n" + FOOT


def verbs(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Every verb of ssdlab with its words, those of groups too, and none of its lab."""
    for name, inner in command.commands.items():
        if ".".join((*words, name)) in LAB:
            continue
        # A group may be a verb itself.
        if getattr(inner, "invoke_without_command", True):
            yield " ".join((*words, name)), inner
        if hasattr(inner, "commands"):
            yield from verbs(inner, (*words, name))


def verb(words: str, command: Any) -> Iterator[str]:  # noqa: ANN401 - of Click, without types
    """The lines of one verb."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    names = [one.metavar or one.name.upper() for one in arguments]
    shown = [
        name if one.required else f"[{name}]" for one, name in zip(arguments, names, strict=True)
    ]
    yield f".SS ssdlab {escaped(' '.join([words, *shown]))}"
    yield escaped(told(command.help))
    for one, name in zip(arguments, names, strict=True):
        if getattr(one, "help", None):
            yield f".TP\n.I {escaped(name)}\n{escaped(told(one.help))}"
    for one in options:
        if one.hidden:
            continue
        value = "" if one.is_flag else f" \\fI{escaped(metavar(one))}\\fR"
        every = ", ".join(f"\\fB{escaped(opt)}\\fR" for opt in (*one.opts, *one.secondary_opts))
        yield f".TP\n{every}{value}\n{escaped(told(one.help))}"
    notes = (command.epilog or "").partition("Example")[0].strip()
    if notes:
        yield f".PP\n{escaped(notes)}"
    for line in EXAMPLES.get(words, ()):
        yield f".PP\n.RS\n.B {escaped(line)}\n.RE"


def metavar(option: Any) -> str:  # noqa: ANN401 - of Click, without types
    """What stands for the value of an option: what it may be, if that is said."""
    words = getattr(option.type, "choices", ())
    if option.metavar is None and words:
        return "|".join(words)
    return str(option.metavar or option.name.upper())


def told(text: str | None) -> str:
    """A help text on one line, as a terminal shows it."""
    return " ".join(render(text or "", emoji=False).plain.split())
