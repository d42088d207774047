"""Rows for stores without runs: reports of one run, with other seeds; `ssdlab results`."""

import copy
import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path

import ssdlab
from running import SMALL
from ssdlab.results.report import Report
from ssdlab.running.job import Job
from ssdlab.store.files import Files, now
from ssdlab.store.keys import key_of
from ssdlab.store.rows import GROUP, ExecutedRun, leaves, table_of, write_table
from ssdlab.store.store import FLUSH_ROWS, Store


@cache
def _made() -> Report:
    return ssdlab.run("greedy-8ch", set={**SMALL, "workload.requests": 300}, progress=False)


def seeded(seed: int, **settings: object) -> tuple[Job, Report]:
    """The job with a seed, and a report as its run may have given it."""
    values = copy.deepcopy(_made().json)
    values["config"]["run"]["seed"] = values["provenance"]["seed"] = seed
    for key, value in settings.items():
        part, name = key.split("__")
        values["config"][part][name] = value
    values["provenance"]["event_digest"] = f"{seed:016x}"
    values["waf"]["total"] = 1 + seed % 100 / 10
    report = Report.of_values(values, _made().series_csv, _made().distributions_csv)
    return Job.of(report.config), report


def fill(store: Store, seeds: range) -> list[str]:
    """Add such runs to a store, and return their keys."""
    keys = []
    for seed in seeds:
        job, report = seeded(seed)
        store.add(job.key, report, job=job.text)
        keys.append(job.key)
    return keys


def parts(folder: Path, sizes: list[int], begin: int = 0) -> list[str]:
    """A store with parts of so many rows each; the keys of all."""
    keys = []
    for size in sizes:
        with Store(folder) as store:
            keys += fill(store, range(begin, begin + size))
        begin += size
    return keys


def fill_at_once(folder: Path, count: int) -> list[str]:
    """The same rows, quickly: texts of one run, in which the seeds are replaced."""
    files = Files(folder, ssdlab.__results_version__, write=True)
    job, report = seeded(0)
    row_of_job = ExecutedRun(job.key, job.text, report, {}, "", now()).row()
    config = leaves(report.json["config"])
    keys = []
    for begin in range(0, count, FLUSH_ROWS):
        rows = []
        for seed in range(begin, min(begin + FLUSH_ROWS, count)):
            row = dict(row_of_job, seed=seed, waf=1 + seed % 100 / 10)
            for name in ("job", "report", "config"):
                row[name] = row_of_job[name].replace('"seed":0', f'"seed":{seed}')
            row["key"] = key_of(row["job"])
            rows.append(row)
        keys += [row["key"] for row in rows]
        table = table_of(rows)
        heads = [(row["key"], round(row["created"].timestamp() * 1e6)) for row in rows]
        files.add(heads, config, GROUP, partial(write_table, table))
    return keys


def files_of(folder: Path) -> Files:
    """The files of the results of this version in a store."""
    return Files(folder, ssdlab.__results_version__, write=False)


def in_process(*words: str) -> subprocess.CompletedProcess[str]:
    """`ssdlab` with these words, in this process."""
    from ssdlab import cli
    from ssdlab.cli.ending import explain
    from ssdlab.display.argument import on_the_command_line

    stdout, stderr = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(stdout), redirect_stderr(stderr), on_the_command_line():
        try:
            code = cli.app([*words], standalone_mode=False) or 0
        except Exception as error:
            code, message = explain(error)
            print(message, file=sys.stderr)
    assert isinstance(code, int)
    return subprocess.CompletedProcess(words, code, stdout.getvalue(), stderr.getvalue())


def command(*words: str, store: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`ssdlab results` with these words, in this process."""
    return in_process("results", *words, *([] if store is None else ["--store", str(store)]))


def numbers() -> Iterator[int]:
    """Whole numbers that this process was started with."""
    yield from map(int, sys.argv[2:])


if __name__ == "__main__":
    # A writer: says which rows are in the folder for good, and may be killed at any time.
    first, last = numbers()
    with Store(sys.argv[1]) as store:
        for start in range(first, last, 5):
            keys = fill(store, range(start, min(start + 5, last)))
            store.flush()
            print(*keys, sep="\n", flush=True)
