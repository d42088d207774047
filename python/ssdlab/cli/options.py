"""Options that several verbs have, declared once."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from ssdlab import _core
from ssdlab.cli.arguments import set_values
from ssdlab.cli.terminal import Form
from ssdlab.config.resolve import drive_preset, preset_names
from ssdlab.display.argument import register_option
from ssdlab.errors import ConfigError

if TYPE_CHECKING:
    from ssdlab.running.execution import Execution


def presets(incomplete: str) -> list[str]:
    """Presets that begin like this, for the shell; it completes file names if there are none."""
    return [name for name in preset_names() if name.startswith(incomplete)]


def settings(incomplete: str) -> list[tuple[str, str]]:
    """Completions for the shell: keys, and words of other tools with their keys."""
    tables = json.loads(_core.config_schema())["properties"]
    keys = [
        (f"{table}.{key}=", key_schema["description"])
        for table, schema in tables.items()
        for key, key_schema in schema.get("properties", {}).items()
    ]
    terms = chain.from_iterable(json.loads(_core.registry())["words"].values())
    words = [(word, term["summary"]) for term in terms for word in term["spellings"]]
    return [completion for completion in (*keys, *words) if completion[0].startswith(incomplete)]


A_CONFIG = typer.Argument(
    metavar="CONFIG|PRESET", help="TOML file, or name of a preset.", autocompletion=presets
)
ConfigArgument = Annotated[str, A_CONFIG]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one key; repeatable.",
        autocompletion=settings,
    ),
]
Trace = Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Trace to replay.")]
Traces = Annotated[
    list[str] | None,
    typer.Option("--trace", metavar="FILE", help="Trace to replay; repeatable."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the trace, as `ssdlab list formats` names it (workload.format).",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="FIELD=COLUMN,...",
        help="Columns of a trace that is a table, such as time=2:us,op=3,offset=5:512B,size=4"
        " (workload.columns).",
    ),
]
TimeUnit = Annotated[
    str | None,
    typer.Option(
        "--time-unit",
        metavar="ns|100ns|us|ms|s",
        help="Unit of the trace's times (workload.time_unit).",
    ),
]
Drive = Annotated[
    str | None,
    typer.Option(
        "--drive",
        metavar="NAME|CONFIG",
        help="Named drive, or TOML file of one, to try it on (`ssdlab list drives`).",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="bytes|sectors|pages",
        help="Unit of the trace's addresses and lengths (workload.unit).",
    ),
]
PageSize = Annotated[
    str | None,
    typer.Option(
        "--page-size", metavar="SIZE", help="Size of a page of --unit pages.  [default: 4 KiB]"
    ),
]
Sort = Annotated[
    bool,
    typer.Option("--sort", help="Sort the requests of the trace by time (workload.sort)."),
]
Pace = Annotated[
    Literal["recorded", "closed"],
    typer.Option(
        "--pace",
        help="When requests of the timed trial arrive: at the recorded times, or as soon as the"
        " queue has room (host.mode=closed).",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the run.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=2, metavar="N", help="Repeat with N seeds and show confidence intervals."
    ),
]
Spend = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME|RUNS", help="Stop after a time (2h) or so many runs (500)."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Output folder.  [default: runs/NAME]"),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="Number of concurrent runs.  [default: cores]"
    ),
]
OnOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where runs execute: threads[:N], processes[:N], local[:N] (Dask workers here),"
        " tcp://HOST:PORT (a Dask scheduler) or slurm:FILE.  [default: threads]",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace existing results in the output folder.")
]
ForceFiles = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        envvar="SSDLAB_STORE",
        help="Store of results: runs that it has are not made again.",
    ),
]
Plots = Annotated[
    Path | None,
    typer.Option("--plots", metavar="DIR", help="Write the plots to this folder instead."),
]
PictureOption = Annotated[
    Literal["svg", "png"] | None,
    typer.Option("--picture", help="File type for --plots.  [default: svg]"),
]
Json = Annotated[
    Form,
    typer.Option(
        "--json/--terse",
        help="Print JSON, or lines of key, tab and value, instead of text.",
    ),
]
NoHtml = Annotated[bool, typer.Option("--no-html", help="Do not write report.html.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print neither progress nor summary.")]


@dataclass(frozen=True)
class ReadOptions:
    """`--set`, and the options for how a trace is read."""

    sets: Sets = None
    format_: Format = None
    columns: Columns = None
    unit: Unit = None
    time_unit: TimeUnit = None
    page_size: PageSize = None
    sort: Sort = False

    def values(self) -> dict[str, object]:
        """The options as keys with their values; those of the trace override `--set`."""
        values = set_values(self.sets)
        for field_ in fields(ReadOptions)[1:]:
            key, value = field_.name.rstrip("_"), getattr(self, field_.name)
            if value is not None and value is not False:
                values[f"workload.{key}"] = value
                register_option(f"workload.{key}", f"--{key.replace('_', '-')}")
        return values


@dataclass(frozen=True)
class RunOptions:
    """Options of all verbs with several runs: where these are executed, and where they go."""

    jobs: Jobs = None
    on: OnOption = None
    store: StoreOption = None
    out: Out = None
    force: Force = False
    json_: Json = None
    quiet: Quiet = False
    no_html: NoHtml = False
    seed: Seed = None

    def execution(self, name: str) -> Execution:
        """How the runs are executed; by default into the folder of this name in `runs`."""
        from ssdlab.running.execution import (
            Execution,  # slow to import, and other verbs have options
        )

        out, show = self.out or Path("runs") / name, not self.quiet
        return Execution(self.on, self.jobs, self.store, out, self.force, show, not self.no_html)


def group_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command` as Typer takes it: with the fields of data classes in place of such parameters."""
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in signature(command, eval_str=True).parameters.values():
        kind: Any = parameter.annotation
        options = [parameter]
        if is_dataclass(kind):
            groups[parameter.name], types = kind, get_type_hints(kind, include_extras=True)
            options = [
                option.replace(annotation=types[option.name])
                for option in signature(groups[parameter.name]).parameters.values()
            ]
        parameters += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]

    @wraps(command)
    def wrapper(**arguments: Any) -> None:  # noqa: ANN401 - of Typer
        for name, group in groups.items():
            arguments[name] = group(
                **{field_.name: arguments.pop(field_.name) for field_ in fields(group)}
            )
        command(**arguments)

    wrapper.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return wrapper


def picture_kind(plots: Path | None, kind: Literal["svg", "png"] | None) -> Literal["svg", "png"]:
    """The kind of picture requested."""
    if kind is not None and plots is None:
        raise ConfigError([f"--picture {kind}: needs --plots DIR, the folder for the plots"])
    return kind or "svg"


def resolve_drive(drive: str | None, otherwise: str) -> str:
    """The preset or file that `--drive` names."""
    if drive is None:
        return otherwise
    if Path(drive).suffix == ".toml" or drive in preset_names():
        return drive
    return drive_preset(drive, f"--drive {shlex.quote(drive)}")
