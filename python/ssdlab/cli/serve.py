"""`ssdlab serve`: a simulated drive as a network block device."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer
from typer.core import TyperGroup

import ssdlab
from ssdlab import _core
from ssdlab.cli.arguments import set_values, size_bytes
from ssdlab.cli.options import ConfigArgument, Json, Quiet, Seed, Sets
from ssdlab.cli.terminal import put_result, say
from ssdlab.display.numbers import duration, size
from ssdlab.display.progress import show_progress
from ssdlab.errors import ConfigError
from ssdlab.results.served import smart_log, smart_text, status_text, why_text
from ssdlab.results.text import PARTS, counted
from ssdlab.running.served import Address, Pacing, serve_drive
from ssdlab.running.served_past import explain, status


class _Serve(TyperGroup):
    """`serve` itself, and its subcommands for a served drive."""

    allow_extra_args = False
    allow_interspersed_args = True

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: Any = None,  # noqa: ANN401 - of Click, without types
        **extra: Any,  # noqa: ANN401 - of Click, without types
    ) -> Any:  # noqa: ANN401 - of Click, without types
        """The context of the subcommand that the first word names, or else that of `serve`."""
        verb = self.commands.get(args[0]) if args else None
        if verb is None:
            return super().make_context(info_name, args, parent, **extra)
        return verb.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 - of Click, without types
        """The usage without subcommands, which cannot follow a configuration."""
        return super().collect_usage_pieces(ctx)[:-1]


app = typer.Typer(name="serve", cls=_Serve, invoke_without_command=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of --state or --record.")]

Scale = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="auto|N",
        help="Seconds of wall time per second of the drive's time. With 20, the drive runs 20"
        " times slower, so that the server keeps up with it. auto: start at 1 and slow the drive"
        " down until replies are on time.",
    ),
]
BehindOption = Annotated[
    Literal["stop", "late"],
    typer.Option(
        "--behind",
        help="When the server is more than 1 ms behind the drive, stop the drive's clock until the"
        " server has caught up, or send replies late.",
    ),
]
Poll = Annotated[
    bool,
    typer.Option(
        "--poll",
        help="Poll instead of sleeping during the last 200 us before an event of the drive."
        " Replies are less late, but polling takes up to one core.",
    ),
]
LogLimit = Annotated[
    str,
    typer.Option(
        "--log-limit",
        metavar="SIZE",
        help="Size of the log in the folder of --state at which the server saves the drive and"
        " begins a new log. The log is replayed after a kill.",
    ),
]

Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="DIR",
        help="New folder for a recording. `ssdlab run DIR/run.toml` repeats the session to the"
        " nanosecond.",
    ),
]
Page = Annotated[
    bool,
    typer.Option(
        "--page",
        help="Show the drive on a web page on the loopback interface, and print its address.",
    ),
]


@app.callback()
def serve(
    config: ConfigArgument,
    nbd: Annotated[
        str,
        typer.Option(
            "--nbd",
            metavar="unix:PATH|HOST:PORT",
            help="Address to listen on: a Unix socket, or a port on the loopback interface.",
        ),
    ],
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="DIR",
            help="Folder that keeps the drive between servers. Flushed data survive even kill -9."
            "  [default: the drive is lost when the server stops]",
        ),
    ] = None,
    scale: Scale = "1",
    behind: BehindOption = "stop",
    poll: Poll = False,
    log_limit: LogLimit = "256 MiB",
    record: Record = None,
    page: Page = False,
    sets: Sets = None,
    seed: Seed = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Serve a simulated drive as a network block device (NBD) until Ctrl-C."""
    if poll and len(os.sched_getaffinity(0)) == 1:
        raise ConfigError(["--poll: it needs a second CPU, but this process may use only one"])
    pacing = Pacing(_factor(scale), clock_continues=behind == "late", polls=poll)
    log_bytes = size_bytes("--log-limit", log_limit)
    address = _address(nbd)
    if record is not None and record.exists():
        raise ConfigError([f"--record {record}: the folder exists: give a new name"])
    values = set_values(sets)
    load = partial(ssdlab.load_config, config, seed=seed)
    resolved = load(set=values) if state is None else _load_with_cuts(load, values)

    def ready(info: dict[str, Any]) -> None:
        if not quiet:
            _say_ready(resolved.name, address, info)
        if info["page"]:
            say(f"the page of the drive: {info['page']}")

    summary = serve_drive(
        resolved,
        address,
        state=state,
        record=record,
        pacing=pacing,
        most_log=log_bytes,
        ready=ready,
        status=lambda summary: say(_text(summary)),
        stops=lambda: None if quiet else _say_stops(),
        progress=not quiet,
        page=page,
    )
    put_result(json_, quiet, lambda: _json(summary), lambda: _text(summary))
    if record is not None and not quiet:
        say(f"recorded; to repeat the session: ssdlab run {record / 'run.toml'}")


@app.command("status")
def serve_status(
    folder: Folder,
    smart: Annotated[
        bool,
        typer.Option(
            "--smart",
            help="Show only the counters since the drive was first served, in the layout of"
            " `nvme smart-log`, and the bytes read and programmed on flash.",
        ),
    ] = False,
    json_: Json = None,
) -> None:
    """Show the status of a served drive, or the last one if its server has stopped."""
    summary = status(folder)
    if smart:
        name = summary["report"]["config"]["run"]["name"]
        put_result(
            json_, False, lambda: _json(smart_log(summary)), lambda: smart_text(name, summary)
        )
        return
    put_result(json_, False, lambda: _json(summary), lambda: status_text(summary) + _text(summary))


@app.command("why")
def serve_why(
    request: Annotated[
        int, typer.Argument(metavar="ID", min=0, help="Number of the request, counted from 0.")
    ],
    folder: Folder,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Show what a request to a served drive waited for."""
    with show_progress(f"request {request}", not quiet) as progress:
        explanation = explain(folder, request, progress)
    put_result(json_, quiet, lambda: _json(explanation), lambda: why_text(explanation))


def _json(summary: dict[str, Any]) -> str:
    return json.dumps(summary, indent=2, ensure_ascii=False) + "\n"


def _factor(scale: str) -> float | None:
    """The value of --scale; `None` for auto."""
    if scale == "auto":
        return None
    try:
        factor = float(scale)
    except ValueError:
        factor = math.nan
    if not 0.001 <= factor <= 1e6:
        raise ConfigError([f"--scale {scale}: expected auto, or 0.001 to 1000000"])
    return factor


def _address(nbd: str) -> Address:
    """The address to listen on, from the value of --nbd."""
    if nbd.startswith("unix:"):
        path = nbd.removeprefix("unix:")
        if not path:
            raise ConfigError(["--nbd unix:: expected the path of a socket, as in unix:drive.sock"])
        return Address(unix=Path(path))
    host, colon, port = nbd.rpartition(":")
    if not colon or not port.isdecimal():
        message = f"--nbd {nbd}: expected unix:PATH, or HOST:PORT such as 127.0.0.1:10809"
        raise ConfigError([message])
    return Address(tcp=f"{'127.0.0.1' if host == 'localhost' else host}:{port}")


def _say_ready(name: str, address: Address, info: dict[str, Any]) -> None:
    """Print the recovery after a kill, if any, and the URI for clients."""
    if recovered := info["recovered"]:
        mount, lost = recovered["mount"], recovered["pages_lost"]
        say(
            f"the last server was killed: {recovered['requests']:,} requests replayed, power cut"
            f" at {duration(mount['cut_at'])}, mounted in {duration(mount['time'])} of the drive's"
            f" time; lost: {counted(mount['requests'], 'outstanding request')} and unflushed data"
            f" of {counted(lost, 'page')}"
        )
    if address.unix is not None:
        uri = f"nbd+unix:///{name}?socket={quote(str(address.unix.absolute()))}"
    else:
        host = str(address.tcp).rpartition(":")[0]
        uri = f"nbd://{host}:{info['port']}/{name}"
    say(f"serving {name}, {size(info['bytes'])}, at {uri}; Ctrl-C stops it")
    if not info["real_time"]:
        say("no real-time priority: other programs may delay replies; see docs/serve.md")


def _say_stops() -> None:
    say("stopping: bringing the drive to rest; a second Ctrl-C cuts its power")


def _verdict(summary: dict[str, Any]) -> list[str]:
    """Whether the latencies that clients measured are those of the drive."""
    late, scale = summary["late"], summary["scale"]
    bound = duration(late["valid_within_ns"])
    at_scale = "" if scale == 1 else f" at --scale {scale:.4g}"
    if late["is_valid"] is None:
        return [f"too few replies{at_scale} to say whether clients measured valid latencies"]
    p99 = duration(late["p99_ns"] / scale)
    lateness = f"p99 of lateness {p99} of the drive's time, limit {bound}"
    if late["is_valid"]:
        return [f"the latencies that clients measured{at_scale} are valid: {lateness}"]
    return [
        f"the latencies that clients measured{at_scale} are not valid: {lateness}",
        "for valid latencies, slow the drive down: --scale auto",
    ]


def _text(summary: dict[str, Any]) -> str:
    """The summary as text."""
    late = summary["late"]
    percentiles = [("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p999_ns"), ("max", "max_ns")]
    times = [f"{name} {duration(late[key])}" for name, key in percentiles if late[key] is not None]
    lines = [
        f"{counted(summary['requests'], 'request')} of"
        f" {counted(summary['clients'], 'client')} answered",
        f"replies late by {', '.join(times)}" if times else "no replies",
    ]
    lines += _verdict(summary)
    stops, folds = summary["stops"], summary["folds"]
    if stops["count"]:
        lines.append(
            "the server fell behind and stopped the drive's clock"
            f" {counted(stops['count'], 'time')}, for {duration(stops['ns'])} in all"
        )
    # Summaries of earlier versions have no lags.
    if (lags := summary.get("lags")) and lags["count"]:
        lines.append(
            "the server was more than 1 ms behind"
            f" {counted(lags['count'], 'time')}, for {duration(lags['ns'])} in all, while the"
            " drive's clock continued"
        )
    if folds["count"]:
        lines.append(
            f"the log was folded {counted(folds['count'], 'time')}, the longest pause was"
            f" {duration(folds['longest_ns'])}; the report covers the time since the last fold"
        )
    if fold_failure := folds["fold_failure"]:
        lines.append(f"the log grew beyond --log-limit: {fold_failure}")
    if summary["clients_refused"]:
        reason = summary["refused_because"]
        refused = counted(summary["clients_refused"], "client")
        lines.append(f"{refused} disconnected; reason for the last one: {reason}")
    lines += _slowest(summary["slowest"])
    return "\n".join(lines) + "\n\n" + _core.summary(json.dumps(summary["report"]))


def _load_with_cuts(load: Callable[..., ssdlab.Config], values: Mapping[str, Any]) -> ssdlab.Config:
    """The configuration of a drive whose power is cut by a kill.

    The model has no power cuts for some drives. They are left as they are: the server refuses them.
    """
    try:
        return load(set={"power.cut": "on-request", **values})
    except ConfigError:
        with suppress(ConfigError):
            config = load(set=values)
            if config.values.get("wear", {}).get("endurance"):
                return config
        raise


def _slowest(slowest: list[dict[str, Any]]) -> list[str]:
    """The slowest requests and the parts of their latencies."""
    lines = []
    for request in slowest[:3]:
        parts = [f"{duration(request[key])} {name}" for key, name in PARTS if request[key]]
        description = (
            f"{request['op']} of {size(512 * request['sectors'])}, request {request['id']:,}"
        )
        latency = f"slow: {duration(request['latency_ns'])}, {description}"
        lines.append(f"{latency}: {', '.join(parts)}" if parts else latency)
    return lines
