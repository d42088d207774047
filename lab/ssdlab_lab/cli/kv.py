"""`ssdlab kv bench`: the store compared with LevelDB."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from ssdlab.cli.examples import add_examples
from ssdlab.cli.kv import Quiet, interruptible
from ssdlab.cli.terminal import put, say
from ssdlab.errors import OutputError
from ssdlab_lab.bench import history
from ssdlab_lab.cli.examples import EXAMPLES

app = typer.Typer(name="kv")

Build = Annotated[
    Path | None,
    typer.Option(
        "--leveldb",
        metavar="DIR",
        help="A LevelDB built by tools/leveldb_release.sh.  [default: the installed one]",
    ),
]


def _bench_iteration(
    values: list[int] | None,
    folder: Path | None,
    record: Path | None,
    tell: Callable[[str], None],
) -> None:
    """Measure iteration beside plyvel's."""
    from ssdlab_lab.kv import iterate

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
    from ssdlab_lab.kv import reuse

    with tempfile.TemporaryDirectory(prefix="ssdlab-kv-", dir=folder) as place:
        sizes = values or [256, 1024, 4096]
        rows = list(reuse.measure(sizes, mebibytes, bloom, mode, pages, Path(place), tell))
    put(reuse.table(rows))
    if record is not None:
        for row in rows:
            history.append(record, f"kv-reuse-{row.name}-{row.value_size}", asdict(row))


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
    from ssdlab_lab.kv import bench

    sizes = values or [100, 256, 1024, 4096]
    cells, write_ratios, label = bench.measure(sizes, mebibytes, bloom, background, places, tell)
    put(bench.table(cells, write_ratios, label))
    if record is not None:
        for cell in cells:
            line = {**asdict(cell), "leveldb_build": label}
            history.append(record, f"kv-{cell.name}-{cell.value_size}", line)
        for row in write_ratios:
            line = {**asdict(row), "leveldb_build": label}
            history.append(record, f"kv-{row.names[0]}-{row.value_size}-written", line)


@app.command("bench")
@interruptible()
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


add_examples(app, EXAMPLES)
