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
    escaped_text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped_text, flags=re.MULTILINE)


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
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    names = [argument.metavar or argument.name.upper() for argument in arguments]
    usage = [
        name if argument.required else f"[{name}]"
        for argument, name in zip(arguments, names, strict=True)
    ]
    yield f".SS ssdlab {escaped(' '.join([words, *usage]))}"
    yield escaped(plain_text(command.help))
    for argument, name in zip(arguments, names, strict=True):
        if getattr(argument, "help", None):
            yield f".TP\n.I {escaped(name)}\n{escaped(plain_text(argument.help))}"
    for option in options:
        if option.hidden:
            continue
        value = "" if option.is_flag else f" \\fI{escaped(metavar(option))}\\fR"
        forms = ", ".join(
            f"\\fB{escaped(opt)}\\fR" for opt in (*option.opts, *option.secondary_opts)
        )
        yield f".TP\n{forms}{value}\n{escaped(plain_text(option.help))}"
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


def plain_text(text: str | None) -> str:
    """A help text on one line, as a terminal shows it."""
    return " ".join(render(text or "", emoji=False).plain.split())
