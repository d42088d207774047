"""`ssdlab kv`: inspect, repair and benchmark stores."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab import kv
from ssdlab.bench import history
from ssdlab.cli.ending import INTERRUPTED
from ssdlab.cli.options import ConfigArgument, Json, Seed, Sets
from ssdlab.cli.terminal import put, put_result, say
from ssdlab.errors import ConfigError, OutputError

SOMETHING_LOST = 1

app = typer.Typer(name="kv", no_args_is_help=True, help="Inspect, repair and benchmark stores.")

Store = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the store.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]
Build = Annotated[
    Path | None,
    typer.Option(
        "--leveldb",
        metavar="DIR",
        help="A LevelDB built by tools/leveldb_release.sh.  [default: the installed one]",
    ),
]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Say that Ctrl-C ended it."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted")
        raise


@contextmanager
def _examined(folder: Path) -> Iterator[kv.DB]:
    """The store in a folder, opened read-only without warnings: its statistics contain them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = kv.open(folder, read_only=True, paranoid_checks=True)
    with store:
        yield store


@app.command("dump")
@_interruptible()
def kv_dump(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Log, manifest or table.")],
) -> None:
    """Print the records of a file of a store."""
    kv.dump(file, lambda line: put(line + "\n"))


@app.command("stats")
@_interruptible()
def kv_stats(folder: Store, json_: Json = None) -> None:
    """Describe a store: tables and bytes by level, and every table."""
    with _examined(folder) as store:
        found = store.stats()
        parts = [store.get_property(name) or "" for name in ("leveldb.stats", "leveldb.sstables")]
        tails = [f"{tail}\n" for tail in found.tails]
        text = "".join([*parts, f"changes in logs, in no table yet: {found.logged}\n", *tails])
        put_result(json_, False, lambda: json.dumps(asdict(found), indent=2) + "\n", lambda: text)


@app.command("verify")
@_interruptible()
def kv_verify(folder: Store) -> None:
    """Read all that a store holds and check it: checksums, order, ranges, filters."""
    with _examined(folder) as store:
        found, logged = store.verify(), store.stats().logged
    tables = f"{found.tables} tables, {found.entries} entries, {found.bytes} bytes"
    put(f"{folder}: {tables}, {logged} changes in logs: whole\n")


@app.command("repair")
@_interruptible()
def kv_repair(folder: Store) -> None:
    """Rebuild a store from what can still be read; old files are renamed.

    Exit code 0 if all was kept, 1 if something was lost: it is listed, all else is in the store.
    """
    found = kv.repair(folder)
    put(f"{folder}: {found.pairs} pairs in {found.tables} tables\n")
    if found.kept:
        put(f"old files are kept: {', '.join(found.kept)}\n")
    for what in found.lost:
        say(f"lost: {what}")
    if found.lost:
        raise typer.Exit(SOMETHING_LOST)


def _bench_iteration(
    values: list[int] | None,
    folder: Path | None,
    record: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Measure iteration beside plyvel's."""
    from ssdlab.kv import iterate

    sizes = [(16, value) for value in values] if values else iterate.SIZES
    ways = list(iterate.measure(sizes, folder, tell))
    put(iterate.table(ways))
    if record is not None:
        for way in ways:
            history.append(record, "kv-iterate", asdict(way))


def _bench_reuse(
    values: list[int] | None,
    mebibytes: int,
    bloom: int,
    mode: Literal["base", "retention", "reflink"],
    pages: int,
    folder: Path | None,
    record: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Measure what reuse of unchanged blocks saves."""
    from ssdlab.kv import reuse

    with tempfile.TemporaryDirectory(prefix="ssdlab-kv-", dir=folder) as place:
        sizes = values or [256, 1024, 4096]
        rows = list(reuse.measure(sizes, mebibytes, bloom, mode, pages, Path(place), tell))
    put(reuse.table(rows))
    if record is not None:
        for row in rows:
            history.append(record, f"kv-reuse-{row.name}-{row.value_size}", asdict(row))


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


@app.command("simulate")
@_interruptible()
def kv_simulate(
    config: ConfigArgument,
    workload: Annotated[
        str,
        typer.Option("--workload", metavar="NAME|FILE", help="Operations of the clients."),
    ] = "fillrandom",
    remap: Annotated[
        Literal["off", "aligned", "base", "full"],
        typer.Option(
            "--remap",
            help="Whether compaction remaps unchanged blocks on the drive; aligned: only lays "
            "tables out for it.",
        ),
    ] = "off",
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NAME=VALUE", help="Set one host setting; repeatable."),
    ] = None,
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

    found = kv.simulate(
        config,
        workload,
        settings=_host_settings(host or []),
        remap=remap,
        set=set_values(sets),
        seed=seed,
        out=out,
        database=database,
    )
    put_result(json_, quiet, lambda: json.dumps(found.report, indent=1) + "\n", found.summary)
    if out is not None and not quiet:
        say(f"results in {out}")
    if found.error is not None:
        say(f"error: the simulation could not finish: {found.error}")
        raise typer.Exit(SOMETHING_LOST)
    if not found.completed:
        say("interrupted: the report is of what was done until then")
        raise typer.Exit(INTERRUPTED)


def _bench_speed(
    values: list[int] | None,
    mebibytes: int,
    bloom: int,
    background: Literal["eager", "steps"],
    places: tuple[Path | None, Path | None],
    record: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Measure the workloads of `db_bench` beside LevelDB."""
    from ssdlab.kv import bench

    sizes = values or [100, 256, 1024, 4096]
    cells, written, label = bench.measure(sizes, mebibytes, bloom, background, places, tell)
    put(bench.table(cells, written, label))
    if record is not None:
        for cell in cells:
            line = {**asdict(cell), "leveldb_build": label}
            history.append(record, f"kv-{cell.name}-{cell.value_size}", line)
        for one in written:
            line = {**asdict(one), "leveldb_build": label}
            history.append(record, f"kv-{one.names[0]}-{one.value_size}-written", line)


@app.command("bench")
@_interruptible()
def kv_bench(
    values: Annotated[
        list[int] | None,
        typer.Option(
            "--value",
            min=1,
            max=(1 << 20) - 1,
            metavar="BYTES",
            help="Size of values.  [default: 100 256 1024 4096]",
        ),
    ] = None,
    mebibytes: Annotated[
        int, typer.Option("--size", min=1, metavar="MIB", help="Values for a workload.")
    ] = 100,
    bloom: Annotated[
        int, typer.Option("--bloom", min=0, max=100, metavar="BITS", help="Bits a key.")
    ] = 10,
    backend: Annotated[
        Literal["posix"], typer.Option("--backend", help="What the files are.")
    ] = "posix",
    background: Annotated[
        Literal["eager", "steps"],
        typer.Option(
            "--background", help="When the store compacts: at once, or when writes must wait."
        ),
    ] = "eager",
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where the files go.")
    ] = None,
    leveldb: Build = None,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            dir_okay=False,
            writable=True,
            help="Append one line per cell to it.",
        ),
    ] = None,
    iterate: Annotated[
        bool,
        typer.Option("--iterate", help="Compare iteration from Python with plyvel's instead."),
    ] = False,
    reuse: Annotated[
        Literal["base", "retention", "reflink"] | None,
        typer.Option(
            "--reuse",
            help="Compare bytes written with and without reuse of unchanged blocks instead.",
        ),
    ] = None,
    pages: Annotated[
        int,
        typer.Option("--pages", min=1, max=1024, metavar="N", help="With --reuse: pages a block."),
    ] = 1,
    quiet: Quiet = False,
) -> None:
    """Compare the store with LevelDB: processor time per operation, in microseconds."""
    del backend  # real files so far; the option leaves room for a simulated SSD
    tell = (lambda _: None) if quiet else say
    if record is not None and record.parent.exists() and not record.parent.is_dir():
        raise OutputError(f"--record: {record.parent}: expected a folder")
    if iterate:
        _bench_iteration(values, folder, record, tell)
        return
    if reuse is not None:
        _bench_reuse(values, mebibytes, bloom, reuse, pages, folder, record, tell)
        return
    places = (folder, leveldb)
    _bench_speed(values, mebibytes, bloom, background, places, record, tell)
