"""The `ssdlab` command.

Data go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 a run could not finish,
2 bad input, 130 interrupted.
"""

from __future__ import annotations

import json
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import ssdlab
from ssdlab import _core, kv, versions
from ssdlab.cli.arguments import (
    nanoseconds,
    read_as,
    sector_ranges,
    set_values,
    size_bytes,
    vary_values,
)
from ssdlab.cli.doctor import facts
from ssdlab.cli.kv import kv_app
from ssdlab.cli.terminal import discard, put, say
from ssdlab.errors import ConfigError, InternalError, Interrupted, OutputError, RunError
from ssdlab.export import FORMATS, export_run
from ssdlab.results import outputs
from ssdlab.results.comparison import table
from ssdlab.results.report import Report
from ssdlab.running.compare_runs import Planned, plan, run_all
from ssdlab.traces.table import to_json, to_text
from ssdlab.traces.trace import Written

if TYPE_CHECKING:
    from ssdlab.traces.info import Info

UNFINISHED, BAD_INPUT, INTERRUPTED = 1, 2, 130
KEPT = "interrupted: the completed part is kept"

app = typer.Typer(
    name="ssdlab",
    help="A laboratory for the garbage collection of SSDs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
config_app = typer.Typer(no_args_is_help=True, help="Inspect configurations.")
app.add_typer(config_app, name="config")
trace_app = typer.Typer(no_args_is_help=True, help="Inspect, convert and generate traces.")
app.add_typer(trace_app, name="trace")
app.add_typer(kv_app, name="kv")
snapshot_app = typer.Typer(no_args_is_help=True, help="Create and inspect snapshots of devices.")
app.add_typer(snapshot_app, name="snapshot")

ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG|PRESET", help="TOML file, or name of a preset.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one key; repeatable."),
]
Trace = Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Trace to replay.")]
Unit = Annotated[
    Literal["bytes", "sectors", "pages"] | None,
    typer.Option("--unit", help="Unit of the trace's addresses and lengths (workload.unit)."),
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
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the run.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", min=2, metavar="N", help="Repeat with N seeds and show confidence intervals."
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
Force = Annotated[
    bool, typer.Option("--force", help="Replace existing results in the output folder.")
]
ForceFiles = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Plots = Annotated[
    Path | None,
    typer.Option("--plots", metavar="DIR", help="Write the plots to this folder instead."),
]
PictureOption = Annotated[
    Literal["svg", "png"] | None,
    typer.Option("--picture", help="File type for --plots.  [default: svg]"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
NoHtml = Annotated[bool, typer.Option("--no-html", help="Do not write report.html.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print neither progress nor summary.")]


def _picture(plots: Path | None, kind: Literal["svg", "png"] | None) -> Literal["svg", "png"]:
    """The kind of picture asked for."""
    if kind is not None and plots is None:
        raise ConfigError([f"--picture {kind}: needs --plots DIR, the folder for the plots"])
    return kind or "svg"


def _print_version(wanted: bool) -> None:
    if wanted:
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


@app.command("run")
def run_command(
    config: ConfigArgument,
    trace: Trace = None,
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
    quiet: Quiet = False,
    seed: Seed = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    no_html: NoHtml = False,
) -> None:
    """Simulate one run."""
    values = read_as(sets, unit, page_size, sort)
    if seeds is not None:
        traces = [] if trace is None else [trace]
        planned = plan([config], traces=traces, set=values, seed=seed, seeds=seeds)
        target = out or Path("runs") / planned[0].config.name
        _compared(planned, jobs, target, force, json_, quiet, no_html)
        return
    if jobs is not None:
        message = "a single run uses one core; --jobs needs --seeds"
        raise typer.BadParameter(message, param_hint="--jobs")
    loaded = ssdlab.load_config(config, trace=trace, set=values, seed=seed)
    target = out or Path("runs") / loaded.name

    def shown(report: Report | None) -> None:
        if report is not None and (json_ or not quiet):
            put(report.to_json() if json_ else report.summary())
        if report is not None and report.folder is not None and not quiet:
            say(_results(report.folder, target))

    try:
        shown(ssdlab.run(loaded, out=target, force=force, progress=not quiet, html=not no_html))
    except (RunError, OutputError) as error:
        shown(error.report)
        raise
    except Interrupted as stopped:
        shown(stopped.report)
        say(KEPT if stopped.report else "interrupted")
        raise typer.Exit(INTERRUPTED) from None


@app.command("compare")
def compare_command(
    configs: Annotated[
        list[str] | None,
        typer.Argument(metavar="CONFIG|PRESET...", help="TOML files or presets."),
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option("--trace", metavar="FILE", help="Trace to replay; repeatable."),
    ] = None,
    preset_matrix: Annotated[
        bool,
        typer.Option(
            "--preset-matrix",
            help="Combine the papers' policies on one device, over all workloads.",
        ),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With --preset-matrix: use a smaller device.")
    ] = (False),
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=A,B,...",
            help="Run every configuration with each of these values; repeatable.",
        ),
    ] = None,
    jobs: Jobs = None,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
    quiet: Quiet = False,
    seed: Seed = None,
    seeds: Seeds = None,
    no_html: NoHtml = False,
) -> None:
    """Simulate the same work under several configurations, side by side."""
    values = read_as(sets, unit, page_size, sort)
    if preset_matrix:
        said_seeds = seed is not None or seeds is not None
        if configs or traces or values or vary or force or no_html or said_seeds:
            raise ConfigError(
                ["--preset-matrix accepts only --quick, --jobs, --out, --json and --quiet"]
            )
        _matrix(quick, jobs, out, json_, quiet)
        return
    if quick:
        raise ConfigError(["--quick: only with --preset-matrix"])
    planned = plan(
        configs or [],
        traces=traces or [],
        set=values,
        vary=vary_values(vary),
        seed=seed,
        seeds=seeds,
    )
    target = out or Path("runs") / f"{planned[0].config.name}-compared"
    _compared(planned, jobs, target, force, json_, quiet, no_html)


def _matrix(quick: bool, jobs: int | None, out: Path | None, json_: bool, quiet: bool) -> None:
    """Run the preset matrix and print its verdict."""
    from ssdlab.reproduce import combined  # needs numpy, which is slow to import

    done = combined.combined(quick=quick, jobs=jobs, out=out, progress=not quiet)
    if json_ or not quiet:
        put(combined.to_json(done) if json_ else "\n".join([*combined.verdict(done), ""]))
    _ended(done.folder, done.failures, done.interrupted, quiet)


def _ended(folder: Path, failures: Mapping[str, str], interrupted: bool, quiet: bool) -> None:
    """Print where the results are; exit with an error if something is missing."""
    if not quiet:
        say(f"results in {folder}")
    if interrupted:
        say(f"{KEPT}; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)
    for title, reason in failures.items():
        say(f"error: {title}: {reason}")
    if failures:
        raise typer.Exit(UNFINISHED)


def _results(folder: Path, wanted: Path) -> str:
    """Where results are."""
    kept = "" if folder == wanted else f"; the complete results in {wanted} are unchanged"
    return f"results in {folder}{kept}"


def _compared(
    planned: Sequence[Planned],
    jobs: int | None,
    target: Path,
    force: bool,
    json_: bool,
    quiet: bool,
    no_html: bool,
) -> None:
    """Run everything and print the results; exit with an error if they are incomplete."""
    done = run_all(
        planned, jobs=jobs, out=target, force=force, progress=not quiet, html=not no_html
    )
    if json_ or not quiet:
        put(done.to_json() if json_ else done.summary())
    if not quiet:
        say(_results(done.folder or target, target))
    if done.interrupted:
        say(KEPT)
        raise typer.Exit(INTERRUPTED)
    for label, reason in done.failures.items():
        say(f"error: {label}: {reason}")
    if done.failures:
        raise typer.Exit(UNFINISHED)


@app.command("reproduce")
def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="One of `ssdlab list papers`.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a quarter of the device and of the requests.")
    ] = False,
    workloads: Annotated[
        str | None,
        typer.Option("--workloads", metavar="A,B,...", help="Only these workloads."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", metavar="DIR", help="Folder of recorded traces.  [default: traces]"
        ),
    ] = None,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings", help="Also run the alternative readings of what the paper leaves open."
        ),
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Output folder; an interrupted reproduction in it is resumed."
            "  [default: runs/reproduce-PAPER]",
        ),
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's evaluation: published tables, figures and claims next to simulated ones."""
    from ssdlab.reproduce import reproduce  # needs numpy, which is slow to import

    done = reproduce(
        paper,
        quick=quick,
        workloads=None if workloads is None else workloads.split(","),
        traces=traces,
        jobs=jobs,
        out=out,
        progress=not quiet,
        readings=readings,
    )
    if json_ or not quiet:
        put(done.to_json() if json_ else done.summary())
    _ended(done.folder, done.failures, done.interrupted, quiet)


@app.command("report")
def report_command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Output folder of `run` or `compare`.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Page to write.  [default: FOLDER/report.html]"),
    ] = None,
    plots: Plots = None,
    picture: PictureOption = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="RUN", help="Baseline of a comparison's ratios."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start of the timeline, such as 1.5s."),
    ] = None,
    force: ForceFiles = False,
) -> None:
    """Rewrite the page of a run or comparison, or write its plots as files.

    With --baseline or --from an existing page is replaced only with --force.
    """
    begin = None if since is None else nanoseconds("--from", since)
    kind = _picture(plots, picture)
    from ssdlab.html.write import report_folder  # needs numpy, which is slow to import

    files = report_folder(
        folder,
        out=out,
        plots=plots,
        picture=kind,
        baseline=baseline,
        since=begin,
        force=force,
    )
    put("".join(f"{file}\n" for file in files))


@app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Output folder of `run`.")],
    to: Annotated[
        str,
        typer.Option("--to", metavar="FORMAT", help=f"{', '.join(sorted(FORMATS))}."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder.  [default: RUN/export]"),
    ] = None,
    force: ForceFiles = False,
) -> None:
    """Convert a run for other tools."""
    files = export_run(folder, to, out=out, force=force)
    put("".join(f"{file}\n" for file in files))


@app.command("list")
def list_command(
    what: Annotated[
        Literal["policies", "presets", "formats", "papers"], typer.Argument(show_default=False)
    ],
    json_: Json = False,
) -> None:
    """List policies, presets, trace formats or papers."""
    if what == "papers":
        from ssdlab.reproduce import PAPERS  # needs numpy, which is slow to import

        known: Any = [{"name": one.name, "summary": one.title} for one in PAPERS.values()]
    else:
        known = json.loads(_core.registry())[what]
    if json_:
        put(json.dumps(known, indent=2, ensure_ascii=False) + "\n")
        return
    groups = known if isinstance(known, dict) else {"": known}
    for i, (title, entries) in enumerate(groups.items()):
        if title:
            put(("\n" if i else "") + f"{title}\n")
        width = max(len(entry["name"]) for entry in entries)
        for entry in entries:
            params = ", ".join(
                p["name"] + ("" if p["default"] is None else f" = {p['default']}")
                for p in entry.get("params", ())
            )
            line = f"{'  ' * bool(title)}{entry['name']:<{width}}  {entry['summary'].rstrip('.')}"
            put(line + (f"  ({params})" if params else "") + "\n")


@config_app.command("show")
def config_show(
    config: ConfigArgument, trace: Trace = None, sets: Sets = None, json_: Json = False
) -> None:
    """Print the resolved configuration: every key and its value."""
    loaded = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put(json.dumps(loaded.values, indent=2) + "\n" if json_ else loaded.toml())


@config_app.command("check")
def config_check(config: ConfigArgument, trace: Trace = None, sets: Sets = None) -> None:
    """Report all errors in a configuration."""
    loaded = ssdlab.load_config(config, trace=trace, set=set_values(sets))
    put(f"{config}: no errors\n{loaded!r}\n")


@config_app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of configurations, for editors."""
    put(json.dumps(json.loads(_core.config_schema()), indent=2) + "\n")


@config_app.command("reference")
def config_reference() -> None:
    """Print every key and policy as a Markdown page."""
    put(_core.config_reference())


@trace_app.command("info")
def trace_info(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    other: Annotated[
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
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    json_: Json = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots instead."),
    ] = None,
    plots: Plots = None,
    picture: PictureOption = None,
    force: ForceFiles = False,
    quiet: Quiet = False,
) -> None:
    """Print statistics of a trace: mix, sizes, order, footprint, updates, bursts, discards."""
    ranges, kind = sector_ranges(journal), _picture(plots, picture)
    values = read_as(sets, unit, page_size, sort)
    if json_ and (html or plots):
        raise ConfigError(["--json cannot be combined with --html or --plots"])
    limit = None if memory is None else memory << 20

    def infos() -> list[Info]:
        return [
            ssdlab.Trace(path).info(
                journal=ranges, memory_limit=limit, set=values, progress=not quiet
            )
            for path in (file, other)
            if path is not None
        ]

    if html is None and plots is None:
        put(to_json(infos()) if json_ else to_text(infos()))
        return
    from ssdlab.html.write import is_page, trace_files  # needs numpy, which is slow to import

    if html is not None:
        outputs.check([html], force, is_page)  # Before a trace is read that may be long.
    files = trace_files(infos(), out=html, plots=plots, picture=kind, force=force)
    put("".join(f"{file}\n" for file in files))


To = Annotated[
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


def _tell(written: Sequence[Written], json_: bool, quiet: bool) -> None:
    """Print what was written."""
    if json_:
        put(json.dumps([asdict(one) for one in written], indent=2, default=str) + "\n")
    elif not quiet:
        put("".join(f"{one.summary()}\n" for one in written))
    for warning in dict.fromkeys(text for one in written for text in one.warnings):
        say(f"warning: {warning}")


@trace_app.command("convert")
def trace_convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; .zst compresses.")],
    to: To = None,
    allow: Allow = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a trace to another format."""
    values = read_as(sets, unit, page_size, sort)
    done = ssdlab.Trace(file).convert(
        out, to=to, allow=allow or (), force=force, set=values, progress=not quiet
    )
    _tell([done], json_, quiet)


@trace_app.command("generate")
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
            "--requests", min=1, metavar="N", help="Number of requests.  [default: 100000]"
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
    to: To = None,
    allow: Allow = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    sets: Sets = None,
    seed: Seed = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate a synthetic trace: an application, an MSR volume, a fio job file, or by shares."""
    values = set_values(sets)
    if like is not None:
        values["workload.like"] = like
    if msr is not None:
        values["workload.msr"] = msr
    done = ssdlab.generate(
        kind,
        out,
        bytes=size_bytes("--size", size),
        requests=requests,
        seed=seed,
        to=to,
        allow=allow or (),
        force=force,
        set=values,
        progress=not quiet,
    )
    _tell([done], json_, quiet)


@trace_app.command("split")
def trace_split(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Trace; "-" is standard input.')],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for the files.")],
    by: Annotated[Literal["volume"], typer.Option("--by", help="What to split by.")] = "volume",
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="Format to write.")
    ] = "ssdtrace",
    allow: Allow = None,
    sets: Sets = None,
    unit: Unit = None,
    page_size: PageSize = None,
    sort: Sort = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write each volume of a trace to its own file."""
    del by  # there is one way to split so far; the option leaves room for others
    values = read_as(sets, unit, page_size, sort)
    done = ssdlab.Trace(file).split(out, to=to, allow=allow or (), set=values, progress=not quiet)
    _tell(done, json_, quiet)


@snapshot_app.command("make")
def snapshot_make(
    config: ConfigArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Snapshot to write.")],
    sets: Sets = None,
    seed: Seed = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Precondition a device and save its state for runs with precondition.snapshot = "FILE"."""
    loaded = ssdlab.load_config(config, set=set_values(sets), seed=seed)
    if loaded["precondition.snapshot"] is not None:
        raise ConfigError(
            ["precondition.snapshot: the result would be a plain copy; leave the key out"]
        )
    # The state does not depend on the mode of the runs that start from it.
    device = ssdlab.Device(ssdlab.load_config(loaded, set={"run.mode": "timed"}))
    if out.exists() and not force:
        raise OutputError(f"{out}: exists; --force replaces it, --out names another file")
    try:
        device.precondition(progress=not quiet)
        out.parent.mkdir(parents=True, exist_ok=True)
        device.save(out, force=force, progress=not quiet)
    except Interrupted:
        say("interrupted: no snapshot was written")
        raise typer.Exit(INTERRUPTED) from None
    if json_ or not quiet:
        _put_info(out, json_)
    if not quiet:
        say(f"snapshot in {out}")


@snapshot_app.command("info")
def snapshot_info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Snapshot.")], json_: Json = False
) -> None:
    """Check a snapshot and print its contents and which devices can start from it."""
    _put_info(file, json_)


def _put_info(file: Path, as_json: bool) -> None:
    info = asdict(ssdlab.snapshot_info(file))
    if as_json:
        put(json.dumps(info, indent=2, ensure_ascii=False) + "\n")
        return
    keys = info.pop("config")
    values = {name: json.dumps(value, ensure_ascii=False) for name, value in keys.items()}
    numbers = {
        name.replace("_", " "): f"{value:,}" for name, value in info.items() if name != "digest"
    }
    for name, value in ({"digest": info["digest"]} | numbers | values).items():
        put(f"{name:<26}{value}\n")


@app.command()
def doctor() -> None:
    """Describe the installation and the machine, and do a test run."""
    for name, value in facts():
        put(table([name.ljust(10), value], [])[0] + "\n")


def _explained(error: BaseException) -> tuple[int, str]:
    """Exit code and message of an exception."""
    if isinstance(error, ConfigError):
        many = len(error.messages)
        if many == 1:
            return BAD_INPUT, f"error: {error.messages[0]}"
        lines = "".join(f"\n  {message}" for message in error.messages)
        return BAD_INPUT, f"error: {many} errors in the configuration:{lines}"
    if isinstance(error, RunError):
        kept = f" (partial results in {error.folder})" if error.folder else ""
        return UNFINISHED, f"error: the run could not finish: {error}{kept}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, MemoryError):
        return BAD_INPUT, "error: out of memory: use a smaller device or fewer --jobs"
    if isinstance(error, ssdlab.WorkloadError | OutputError | kv.Error):
        return BAD_INPUT, f"error: {error}"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else "standard output: "
        return BAD_INPUT, f"error: {place}{error.strerror or error}"
    what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    hint = "Please report it with the output of `ssdlab doctor`; --debug shows where."
    return UNFINISHED, f"internal error, a bug in ssdlab: {what}\n{hint}"


def main() -> None:
    """Run the command line of this process; `ssdlab_command` is how it is started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code: object = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        code, message = _explained(error)
        if "--debug" in sys.argv:
            traceback.print_exception(error)
        say(message)
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)
    sys.exit(code if isinstance(code, int) else 0)
