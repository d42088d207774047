"""`ssdlab kv`: inspect, repair and benchmark stores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab import kv
from ssdlab.cli.ending import INTERRUPTED
from ssdlab.cli.options import ConfigArgument, Jobs, Json, Seed, Seeds, Sets
from ssdlab.cli.terminal import put, put_result, say
from ssdlab.errors import ConfigError

SOMETHING_LOST = 1

app = typer.Typer(name="kv", no_args_is_help=True, help="Inspect, repair and simulate stores.")

Store = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the store.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]


@contextmanager
def interruptible() -> Iterator[None]:
    """Say that Ctrl-C ended it."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise


@contextmanager
def _open_read_only(folder: Path) -> Iterator[kv.DB]:
    """The store in a folder, opened read-only without warnings: its statistics contain them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = kv.open(folder, read_only=True, paranoid_checks=True)
    with store:
        yield store


@app.command("dump")
@interruptible()
def kv_dump(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Log, manifest or table.")],
) -> None:
    """Print the records of a file of a store."""
    kv.dump(file, lambda line: put(line + "\n"))


@app.command("stats")
@interruptible()
def kv_stats(folder: Store, json_: Json = None) -> None:
    """Describe a store: tables and bytes by level, and every table."""
    with _open_read_only(folder) as store:
        stats = store.stats()
        parts = [store.get_property(name) or "" for name in ("leveldb.stats", "leveldb.sstables")]
        tails = [f"{tail}\n" for tail in stats.tails]
        text = "".join([*parts, f"changes in logs, in no table yet: {stats.logged}\n", *tails])
        put_result(json_, False, lambda: json.dumps(asdict(stats), indent=2) + "\n", lambda: text)


@app.command("verify")
@interruptible()
def kv_verify(folder: Store) -> None:
    """Read all that a store holds and check it: checksums, order, ranges, filters."""
    with _open_read_only(folder) as store:
        verification, logged = store.verify(), store.stats().logged
    tables = (
        f"{verification.tables} tables, {verification.entries} entries, {verification.bytes} bytes"
    )
    put(f"{folder}: {tables}, {logged} changes in logs: whole\n")


@app.command("repair")
@interruptible()
def kv_repair(folder: Store) -> None:
    """Rebuild a store from what can still be read; old files are renamed.

    Exit code 0 if all was kept, 1 if something was lost: it is listed, all else is in the store.
    """
    repair = kv.repair(folder)
    put(f"{folder}: {repair.pairs} pairs in {repair.tables} tables\n")
    if repair.kept:
        put(f"old files are kept: {', '.join(repair.kept)}\n")
    for loss in repair.lost:
        say(f"lost: {loss}")
    if repair.lost:
        raise typer.Exit(SOMETHING_LOST)


def _host_settings(texts: list[str]) -> dict[str, object]:
    """Settings given as NAME=VALUE."""
    values: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError([f"--host {text}: expected NAME=VALUE"])
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value  # a word
    return values


Workload = Annotated[
    str, typer.Option("--workload", metavar="NAME|FILE", help="Operations of the clients.")
]
Host = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="NAME=VALUE", help="Set one host setting; repeatable."),
]


@app.command("simulate")
@interruptible()
def kv_simulate(
    config: ConfigArgument,
    workload: Workload = "fillrandom",
    remap: Annotated[
        Literal["off", "aligned", "base", "full"],
        typer.Option(
            "--remap",
            help="Whether compaction remaps unchanged blocks on the drive; aligned: only lays "
            "tables out for it.",
        ),
    ] = "off",
    host: Host = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New folder for report and page."),
    ] = None,
    database: Annotated[
        bool, typer.Option("--database", help="Keep the files of the store in DIR/database.")
    ] = False,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run the store on the simulated drive: clients, compaction, file system on one clock."""
    from ssdlab.cli.arguments import set_values

    simulation = kv.simulate(
        config,
        workload,
        settings=_host_settings(host or []),
        remap=remap,
        set=set_values(sets),
        seed=seed,
        out=out,
        database=database,
    )
    put_result(
        json_, quiet, lambda: json.dumps(simulation.report, indent=1) + "\n", simulation.summary
    )
    if out is not None and not quiet:
        say(f"results in {out}")
    if simulation.error is not None:
        say(f"error: the simulation could not finish: {simulation.error}")
        raise typer.Exit(SOMETHING_LOST)
    if not simulation.completed:
        say("interrupted: the report is of what was done until then")
        raise typer.Exit(INTERRUPTED)


def _whole_numbers(text: str | None, name: str) -> list[int]:
    """Whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise ConfigError([f"{name} {text}: expected whole numbers such as 256,1024"]) from None


@app.command("compare")
@interruptible()
def kv_compare(
    config: ConfigArgument,
    workload: Workload = "fillrandom",
    remaps: Annotated[
        str,
        typer.Option(
            "--remaps",
            metavar="NAME,...",
            help="Variants to compare, as in `kv simulate --remap`; the first is the baseline.",
        ),
    ] = "off,aligned,base,full",
    value_bytes: Annotated[
        str | None,
        typer.Option(
            "--value-bytes",
            metavar="N,...",
            help="Value sizes in bytes; records and operations are scaled to those of the first."
            "  [default: the host setting]",
        ),
    ] = None,
    seeds: Seeds = None,
    host: Host = None,
    sets: Sets = None,
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="New folder for tables, page and runs."),
    ] = None,
    jobs: Jobs = None,
    json_: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compare remapping variants of the store across value sizes and seeds."""
    from ssdlab.cli.arguments import set_values
    from ssdlab.config.resolve import load_config
    from ssdlab.kv.comparison import ComparisonPlan
    from ssdlab.running.runner import cores

    plan = ComparisonPlan.of(
        load_config(config, set=set_values(sets), seed=seed),
        workload,
        remaps=[name.strip() for name in remaps.split(",")],
        value_bytes=_whole_numbers(value_bytes, "--value-bytes"),
        seeds=seeds,
        settings=_host_settings(host or []),
    )
    compared = plan.run(out, jobs or cores(), progress=not quiet)
    put_result(json_, quiet, compared.to_json, compared.summary)
    if out is not None and not quiet:
        say(f"results in {out}")
    if compared.interrupted:
        say("interrupted: the results are of the runs that had ended")
        raise typer.Exit(INTERRUPTED)
    for title, why in compared.failures.items():
        say(f"error: {title}: {why}")
    if compared.failures:
        raise typer.Exit(SOMETHING_LOST)
