"""`ssdlab trace`: inspect, convert and generate traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import ssdlab
from ssdlab.cli.arguments import sector_ranges, size_bytes
from ssdlab.cli.options import (
    ForceFiles,
    Json,
    PictureOption,
    Plots,
    Quiet,
    ReadOptions,
    Seed,
    group_options,
    picture_kind,
)
from ssdlab.cli.terminal import Form, put, put_result, say, warn
from ssdlab.display.argument import register_option
from ssdlab.errors import ConfigError
from ssdlab.results import outputs
from ssdlab.traces.trace import Written

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

app = typer.Typer(name="trace", no_args_is_help=True, help="Inspect, convert and generate traces.")


@app.command("info")
@group_options
def trace_info(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    second_file: Annotated[
        str | None, typer.Argument(metavar="FILE2", help="Second trace, to compare.")
    ] = None,
    journal: Annotated[
        list[str] | None,
        typer.Option(
            "--journal",
            metavar="START:END",
            help="Sector range of a journal, END exclusive; repeatable.",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory",
            min=1,
            metavar="MIB",
            help="Memory limit.  [default: half of the free memory]",
        ),
    ] = None,
    json_: Json = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots instead."),
    ] = None,
    plots: Plots = None,
    picture: PictureOption = None,
    force: ForceFiles = False,
    quiet: Quiet = False,
    *,
    read_options: ReadOptions,
) -> None:
    """Print statistics of a trace: mix, sizes, order, footprint, updates, bursts, discards."""
    register_option("trace", "FILE")
    ranges, kind = sector_ranges(journal), picture_kind(plots, picture)
    values = read_options.values()
    if json_ is not None and (html or plots):
        raise ConfigError(["--json and --terse cannot be combined with --html or --plots"])
    limit = None if memory is None else memory << 20

    def infos() -> list[Info]:
        return [
            ssdlab.Trace(path).info(
                journal=ranges, memory_limit=limit, set=values, progress=not quiet
            )
            for path in (file, second_file)
            if path is not None
        ]

    if html is None and plots is None:
        from ssdlab.traces.table import to_json, to_text  # for this verb only

        put_result(json_, False, lambda: to_json(infos()), lambda: to_text(infos()))
        return
    from ssdlab.html.write import is_page, trace_files  # needs numpy, which is slow to import

    if html is not None:
        outputs.check([html], force, is_page)  # Before a trace is read that may be long.
    files = trace_files(infos(), out=html, plots=plots, picture=kind, force=force)
    put("".join(f"{file}\n" for file in files))


ToOption = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="FORMAT", help="Format to write.  [default: ssdtrace, if so named]"
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="LOSS",
        help="Accept a loss that the format requires: drop-requests, round-times, forget-fields;"
        " repeatable.",
    ),
]


@dataclass(frozen=True)
class WriteOptions(ReadOptions):
    """How a trace is read, and how a file is written."""

    to: ToOption = None
    allow: Allow = None
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False
    json_: Json = None
    quiet: Quiet = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as arguments of functions that write traces."""
        arguments = {"to": self.to, "allow": self.allow or (), "force": self.force}
        return {**arguments, "set": self.values(), "progress": not self.quiet}


def _file(out: Path) -> Path:
    """Return OUT, unless it means standard output elsewhere."""
    if str(out) == "-":
        raise ConfigError(['"-": traces are not written to standard output; name a file'])
    return out


def _put_results(written: Sequence[Written], json_: Form, quiet: bool) -> None:
    """Print what was written."""
    put_result(
        json_,
        quiet,
        lambda: json.dumps([asdict(trace) for trace in written], indent=2, default=str) + "\n",
        lambda: "".join(f"{trace.summary()}\n" for trace in written),
    )
    warn(text for trace in written for text in trace.warnings)


@app.command("convert")
@group_options
def trace_convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; .zst compresses.")],
    *,
    write_options: WriteOptions,
) -> None:
    """Convert a trace to another format."""
    register_option("trace", "FILE")
    result = ssdlab.Trace(file).convert(_file(out), **write_options.arguments)
    _put_results([result], write_options.json_, write_options.quiet)


@app.command("merge")
@group_options
def trace_merge(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Traces, two or more.")],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="File; .zst compresses.")],
    *,
    write_options: WriteOptions,
) -> None:
    """Merge traces into one, each as a volume: --set workload.volume=all runs all on one drive."""
    register_option("trace", "FILE")
    result = ssdlab.merge(files, _file(out), **write_options.arguments)
    _put_results([result], write_options.json_, write_options.quiet)
    if not write_options.quiet:
        say(
            f"volumes: {result.name}; every volume begins at time 0, whatever the times in its"
            " file; run them together with --set workload.volume=all"
        )


@app.command("generate")
@group_options
def trace_generate(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="app:mysql, msr:hm_0, zipf, ..., or a fio job file NAME.fio."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; .zst compresses.")],
    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="Size of the volume, such as 8GiB.")
    ],
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            min=1,
            metavar="N",
            help="Number of requests.  [default: 100000; of a stand-in: those of its trace]",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="FILE", help="Trace whose statistics app:... matches."),
    ] = None,
    msr: Annotated[
        str | None,
        typer.Option(
            "--msr",
            metavar="DIR",
            help="Folder of original MSR files, used instead of synthetic ones.",
        ),
    ] = None,
    seed: Seed = None,
    *,
    write_options: WriteOptions,
) -> None:
    """Generate a synthetic trace: an application, an MSR volume, a fio job file, or by shares."""
    values: dict[str, object] = {}
    for key, value in {"like": like, "msr": msr}.items():
        if value is not None:
            values[f"workload.{key}"] = value
            register_option(f"workload.{key}", f"--{key}")
    arguments = write_options.arguments
    arguments["set"] = values | arguments["set"]
    register_option("workload.kind", "KIND")
    register_option("workload.requests", "--requests")
    register_option("bytes", "--size")
    result = ssdlab.generate(
        kind,
        _file(out),
        bytes=size_bytes("--size", size),
        requests=requests,
        seed=seed,
        **arguments,
    )
    _put_results([result], write_options.json_, write_options.quiet)


@app.command("split")
@group_options
def trace_split(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for the files.")],
    by: Annotated[Literal["volume"], typer.Option("--by", help="What to split by.")] = "volume",
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="Format to write.")
    ] = "ssdtrace",
    allow: Allow = None,
    json_: Json = None,
    quiet: Quiet = False,
    *,
    read_options: ReadOptions,
) -> None:
    """Write each volume of a trace to its own file."""
    del by  # there is one way to split so far; the option leaves room for others
    register_option("trace", "FILE")
    values = read_options.values()
    result = ssdlab.Trace(file).split(out, to=to, allow=allow or (), set=values, progress=not quiet)
    _put_results(result, json_, quiet)
