"""The verbs and groups of the command line, and the module of each.

A command is built when it is looked up: a short command would otherwise spend most of its time on
the imports and options of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

from typer.core import TyperGroup
from typer.main import get_group

from ssdlab.cli.examples import add_examples

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
    "reproduce": "reproduce",
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


@cache
def _group(module: str) -> TyperGroup:
    """The commands of a module: a group, or verbs without one."""
    app = import_module(f"ssdlab.cli.{module}").app
    add_examples(app)
    return get_group(app)


class _Commands(Mapping[str, Any]):
    """Every command by its name."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - of Click, without types
        group = _group(MODULES[name])
        return group if group.name == name else group.commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class Verbs(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - those of Click
        super().__init__(**attributes)
        self.commands = cast(Any, _Commands())
