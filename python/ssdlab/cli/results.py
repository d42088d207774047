"""`ssdlab results`: the contents of a store of results, and its maintenance."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from ssdlab import versions
from ssdlab.cli.arguments import size_bytes
from ssdlab.cli.ending import UNFINISHED
from ssdlab.cli.options import ForceFiles, Json, NoHtml, StoreOption
from ssdlab.cli.terminal import put, put_result, say
from ssdlab.config.quantity import DAY_S
from ssdlab.display.argument import register_option
from ssdlab.display.numbers import size
from ssdlab.errors import ConfigError
from ssdlab.results import frames, outputs
from ssdlab.results.text import counted
from ssdlab.running.simulate import store_files
from ssdlab.store.collect import CollectResult, collect
from ssdlab.store.files import Files
from ssdlab.store.query import MOST_SHOWN, Answer
from ssdlab.store.results import Results, store_folder
from ssdlab.store.verify import VerifyResult, verify

app = typer.Typer(
    name="results", no_args_is_help=True, help="Query, check and clear up a store of results."
)
LISTED = 20

Version = Annotated[
    int | None,
    typer.Option(
        "--results",
        metavar="N",
        help="Version of the results.  [default: that of this ssdlab]",
    ),
]
KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", help="Key of a run, or its first letters.")
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
AllowFiles = Annotated[
    bool,
    typer.Option(
        "--allow-files", help="Let the query read and write other files and use all of DuckDB."
    ),
]


def _location(store: Path | None, version: int | None) -> tuple[Path, int]:
    """The folder and the version of results."""
    register_option("folder", "--store")
    register_option("version", "--results")
    return store_folder(store), versions.RESULTS if version is None else version


def _results(store: Path | None, version: int | None) -> Results:
    return Results(*_location(store, version))


def _files(store: Path | None, version: int | None) -> Files:
    return Files(*_location(store, version), write=False)


def _put(answer: Answer, json_: bool | None, csv: bool) -> None:
    if csv and json_ is not None:
        raise ConfigError(["--csv: give either it or --json or --terse"])
    if csv:
        put(answer.to_csv())
    else:
        put_result(json_, False, answer.to_json, answer.summary)
        if json_ is None and len(answer) > MOST_SHOWN:
            say("--csv and --json print all rows")


@app.command("query")
def query_command(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="A query of DuckDB over the view `results`.")
    ],
    store: StoreOption = None,
    version: Version = None,
    allow_files: AllowFiles = False,
    json_: Json = None,
    csv: Csv = False,
) -> None:
    """Ask a question in SQL: a row for each run, columns as in `compare`, and keys of the config.

    Dots in keys are underscores: `select gc_victim, avg(waf) from results group by 1`.
    """
    _put(_results(store, version).query(sql, allow_files=allow_files), json_, csv)


@app.command("list")
def list_command(
    store: StoreOption = None,
    version: Version = None,
    most: Annotated[
        int, typer.Option("--most", min=1, metavar="N", help="How many runs are listed.")
    ] = LISTED,
    json_: Json = None,
    csv: Csv = False,
) -> None:
    """List the last runs that were stored, and say how many there are."""
    results = _results(store, version)
    _put(results.listed(most), json_, csv)
    say(repr(results)[1:-1])


@app.command("show")
def show_command(
    key: KeyArgument, store: StoreOption = None, version: Version = None, json_: Json = None
) -> None:
    """Print the report of a run."""
    report = _results(store, version).report(key)
    put_result(json_, False, report.to_json, report.summary)


@app.command("export")
def export_command(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File that ends in .csv, .json or .parquet; with --run a folder."
        ),
    ],
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="KEY", help="Write the folder of this run, as `run` would have."
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option("--query", metavar="SQL", help="What is written.  [default: all runs]"),
    ] = None,
    store: StoreOption = None,
    version: Version = None,
    allow_files: AllowFiles = False,
    force: ForceFiles = False,
    no_html: NoHtml = False,
) -> None:
    """Write runs as a table for other tools, or the folder of one run."""
    results = _results(store, version)
    if run is not None:
        if sql is not None:
            raise ConfigError(["--run: takes no --query"])
        folder = store_files(results.report(run), out, html=not no_html, force=force).folder
        put(f"{folder}\n")
        return
    if out.suffix not in (".csv", ".json", ".parquet"):
        raise ConfigError([f"{out}: expected a name that ends in .csv, .json or .parquet"])
    outputs.check([out], force)
    answer = results.table() if sql is None else results.query(sql, allow_files=allow_files)
    outputs.write_all({out: _table_writer(answer, out.suffix)}, force=force)
    put(f"{out}\n")


def _table_writer(answer: Answer, suffix: str) -> Callable[[BinaryIO], object]:
    """Writes an answer in the form of a suffix."""
    if suffix == ".parquet":
        return partial(frames.write_parquet, answer.flat)
    return outputs.text(answer.to_csv() if suffix == ".csv" else answer.to_json())


@app.command("gc")
def gc_command(
    store: StoreOption = None,
    version: Version = None,
    unused: Annotated[
        float | None,
        typer.Option("--unused", min=0, metavar="DAYS", help="Remove runs not used for so long."),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option("--max-size", metavar="SIZE", help="Remove the least used runs above it."),
    ] = None,
    json_: Json = None,
) -> None:
    """Join small parts, remove what killed writers left and, if asked, runs that nobody uses."""
    collection = collect(
        _files(store, version),
        unused_s=None if unused is None else unused * DAY_S,
        most_bytes=None if most is None else size_bytes("--max-size", most),
    )
    put_result(
        json_, False, lambda: _collection_json(collection), lambda: _collection_text(collection)
    )
    for part in collection.damaged:
        say(f"error: {part}: is damaged, and was left alone")
    if collection.damaged:
        raise typer.Exit(UNFINISHED)


def _collection_text(collection: CollectResult) -> str:
    lines = [
        f"{counted(collection.parts_before, 'part')} -> {collection.parts:,},"
        f" {counted(collection.rows, 'run')}",
        f"{size(collection.bytes_before)} -> {size(collection.bytes)}",
    ]
    for number, description in (
        (collection.dropped, "removed: unused, or above the size"),
        (collection.repeated, "removed: stored twice"),
        (collection.leftovers, "files of killed writers removed"),
    ):
        lines += [f"{number:,} {description}"] if number else []
    return "\n".join([*lines, ""])


def _collection_json(collection: CollectResult) -> str:
    values = {**vars(collection), "damaged": [*map(str, collection.damaged)]}
    return json.dumps(values, indent=2) + "\n"


@app.command("verify")
def verify_command(store: StoreOption = None, version: Version = None, json_: Json = None) -> None:
    """Check every part against its digest and every key against its configuration."""
    verification = verify(_files(store, version))
    put_result(
        json_,
        False,
        lambda: _verification_json(verification),
        lambda: _verification_text(verification),
    )
    for file, texts in verification.problems.items():
        for text in texts:
            say(f"error: {file}: {text}")
    if verification.problems:
        raise typer.Exit(UNFINISHED)


def _verification_text(verification: VerifyResult) -> str:
    state = (
        counted(len(verification.problems), "file") + " damaged"
        if verification.problems
        else "all whole"
    )
    lines = [f"{counted(verification.parts, 'part')}, {counted(verification.rows, 'run')}: {state}"]
    if verification.repeated:
        lines.append(f"{verification.repeated:,} stored twice, with equal results; `gc` joins them")
    if verification.leftovers:
        lines.append(
            f"{counted(len(verification.leftovers), 'file')} of killed writers, or of ones at work"
        )
    return "\n".join([*lines, ""])


def _verification_json(verification: VerifyResult) -> str:
    values = {**vars(verification), "leftovers": [*map(str, verification.leftovers)]}
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
