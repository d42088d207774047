"""The verbs and groups of the command line, and the module of each.

A command is built when it is looked up: a short command would otherwise spend most of its time on
the imports and options of the others. Another package adds verbs by entry points of the group
`ssdlab.verbs` (ADR 0031), which are read only if a verb is not found here, or if verbs are listed.
The name of an entry point is `VERB`, or `GROUP.VERB` for a verb of a group of this package; its
value is the Typer app that has the verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from typer.core import TyperGroup
from typer.main import get_group

from ssdlab.cli.examples import EXAMPLES, add_examples
from ssdlab.errors import ConfigError
from ssdlab.versions import VERSION

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# In the order of `--help`, which lists verbs before groups.
MODULES = {
    "try": "trial",
    "plan": "plan",
    "run": "run",
    "compare": "run",
    "sweep": "sweep",
    "search": "search",
    "fleet": "fleet",
    "serve": "serve",
    "report": "report",
    "export": "report",
    "list": "listing",
    "doctor": "doctor",
    "config": "config",
    "trace": "trace",
    "drives": "drives",
    "kv": "kv",
    "results": "results",
    "snapshot": "snapshot",
}
ENTRY_POINTS = "ssdlab.verbs"
LAB = "ssdlab-lab"
LAB_VERBS = {
    "reproduce",
    "validate",
    "bench",
    "drives.compare",
    "drives.scale",
    "kv.bench",
    "list.papers",
}
"""The entry points of the lab, a separate package whose version is that of ssdlab."""


# Rich takes such a word of a help text for a style, and prints nothing: "[default: 30s]".
_MARKUP = re.compile(r"\[[a-z#/@][^\[]*?\]")


def _escape_markup(command: Any) -> None:  # noqa: ANN401 - of Click, without types
    """Protect the help of a command, of its options and of its commands from Rich."""
    for item in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := getattr(item, name, None):
                setattr(item, name, _MARKUP.sub(r"\\\g<0>", text))
    for subcommand in getattr(command, "commands", {}).values():
        _escape_markup(subcommand)


def _commands_of(app: Any) -> TyperGroup:  # noqa: ANN401 - whatever an entry point names
    """The commands of a Typer app: every command but the root is made here."""
    group = get_group(app)
    _escape_markup(group)
    return group


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    """The entry points that are installed, by name."""
    from importlib.metadata import entry_points  # takes longer than a short command

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def load_entry_point(name: str) -> Any:  # noqa: ANN401 - whatever the other package names
    """What an entry point refers to.

    Raises `ConfigError` if its package cannot be loaded, or if it is the lab and that is missing or
    has another version; `KeyError` if no package has it.
    """
    words = name.replace(".", " ")
    point = _entry_points().get(name)
    if point is None and name in LAB_VERBS:
        message = (
            f"`ssdlab {words}` is in the package {LAB}, which is not installed: install its wheel,"
            f" {LAB.replace('-', '_')}-{VERSION}-py3-none-any.whl, as you installed that of ssdlab"
            " (in a checkout: make build)"
        )
        raise ConfigError([message])
    if point is None:
        raise KeyError(name)
    package, version = (point.dist.name, point.dist.version) if point.dist else (point.module, "")
    if package == LAB and version != VERSION:
        message = f"`ssdlab {words}`: {LAB} {version} is installed, but ssdlab {VERSION} needs"
        raise ConfigError([f"{message} {LAB} {VERSION} (in a checkout: make build)"])
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        message = f"`ssdlab {words}`: the package {package} cannot be loaded: {error}"
        raise ConfigError([message]) from error


@cache
def _group(module: str) -> TyperGroup:
    """The commands of a module: a group, or verbs without one."""
    app = import_module(f"ssdlab.cli.{module}").app
    add_examples(app, EXAMPLES)
    group = _commands_of(app)
    if group.name in MODULES:
        group.commands = cast(Any, _AllCommands(group.commands, f"{group.name}."))
    return group


class _PackageCommands(Mapping[str, Any]):
    """The commands of this package by name."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - of Click, without types
        group = _group(MODULES[name])
        return group if group.name == name else group.commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _AllCommands(Mapping[str, Any]):
    """The commands of this package, followed by those that other packages add."""

    def __init__(self, commands: Mapping[str, Any], prefix: str) -> None:
        self._commands, self._prefix = commands, prefix

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - of Click, without types
        if name in self._commands:
            return self._commands[name]
        if "." in name:
            raise KeyError(name)
        return _commands_of(load_entry_point(self._prefix + name)).commands[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._commands
        for name in _entry_points():
            prefix, dot, verb = name.rpartition(".")
            # The list of verbs must work even if one of them is broken.
            with suppress(ConfigError, KeyError):
                if prefix + dot == self._prefix and verb not in self._commands and self[verb]:
                    yield verb

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Verbs(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - those of Click
        super().__init__(**attributes)
        _escape_markup(self)
        self.commands = cast(Any, _AllCommands(_PackageCommands(), ""))
