"""The `ssdlab` command.

Data go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 a run could not finish, or
be stored, 2 bad input, 130 interrupted.

Every verb is in the module of its name or group, which has its own `app`. `verbs` lists the modules
and imports the one that a command needs. `ending`, `pasting`, `options`, `arguments` and `terminal`
are shared.
"""

from __future__ import annotations

import signal
import sys
import traceback
from typing import Annotated

import typer

from ssdlab import versions
from ssdlab.cli.ending import explain
from ssdlab.cli.pasting import adapt_commands
from ssdlab.cli.terminal import discard, put, say
from ssdlab.cli.verbs import Verbs
from ssdlab.display.argument import on_the_command_line
from ssdlab.running.signals import Repeats

app = typer.Typer(
    name="ssdlab",
    cls=Verbs,
    help="A laboratory for the garbage collection of SSDs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        put(f"ssdlab {versions.described()}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback for errors.")] = False,
) -> None:
    """Options that precede the command."""


class StopHandler:
    """The handler of SIGINT and SIGTERM: raises `KeyboardInterrupt`, except for repeats."""

    def __init__(self) -> None:
        self.repeats = Repeats()

    def __call__(self, number: int, _: object) -> None:
        """A signal has come."""
        if not self.repeats.has(number):
            raise KeyboardInterrupt


def main() -> None:
    """Run the command line of this process; `ssdlab_command` starts it."""
    stop = StopHandler()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored
        signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    code: object = 0
    try:
        with on_the_command_line():
            app()
    except SystemExit as end:
        code = end.code
        # Typer ends without a word where an interrupt reaches it.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            say(explain(KeyboardInterrupt())[1])
    except BaseException as error:
        code, message = explain(error)
        if "--debug" in sys.argv:
            traceback.print_exception(error)
        say(adapt_commands(message, sys.argv[1:]))
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
    sys.exit(code if isinstance(code, int) else 0)
