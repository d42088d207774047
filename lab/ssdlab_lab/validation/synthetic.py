"""Sections of the page on workloads: volumes, key streams and job files against their models."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import ssdlab
from ssdlab.config.resolve import load_config
from ssdlab.traces.info import Info
from ssdlab.traces.trace import Requests

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTOR_BYTES = 512
FIRST = 1_000_000
"""Requests covered by the second table."""
PATTERN = 400_000
"""Requests covered by the table of patterns."""
FILE_BYTES = 16 << 20
"""File of the job files."""

VOLUMES_HEAD = """\
## Stand-ins for MSR Cambridge volumes

`workload.kind = "msr:hm_0"` selects a stand-in; `workload.msr` (`trace generate --msr DIR`) uses
the original files instead. *published*: for the whole week, table II of Liang et al., "Boosting
Performance of SSD with Chip-level RAID by Deferring Garbage Collection" (IEICE Electronics Express
2018); for the first million requests, `papers/msr-first-million.toml`. That file has no values for
`wdev_0`, whose sizes are the means of the other four.
"""
PATTERNS_HEAD = """\
### Patterns

By default the requests of a stand-in are independent of one another and arrive as a Poisson
process. Real volumes come in bursts: `workload.pattern = "msr-sample"` sets seven keys to what
`ssdlab trace info` measures of the one recorded sample of an MSR volume at hand (10,000 requests in
243 s, from the artifact of Heimdall, a study of latency prediction; the name of the volume is not
known). The keys can also be set one by one, for example to the statistics of another trace. The
mean gap, the sizes and the shares above remain as published. *stated*: the keys;
*synthetic*: {requests:,} requests of each volume.
"""
KEYS_HEAD = """\
## Key streams

`ssdlab.key_stream("ycsb:a", records=..., operations=...)` yields batches of arrays; here 400,000
operations over 100,000 records. The expected mix is the workload's definition. The expected share
of the hottest key is 1 / zeta(n), with n of 10^10 hashed numbers (zipfian) or of the records
(latest); with uniform keys it is 1/100,000, and chance decides which key is hottest. With inserts,
the hash also reaches keys not yet inserted; a number that falls on one of them is redrawn.
"""
FIO_HEAD = """\
## Job files of fio

Each job of 16 MiB by fio ({version}; recorded with `--write_iolog`) and by ssdlab: requests, share
of reads, mean size, share of sequential requests, distinct 4 KiB blocks where requests start, share
of the 16 most frequent of these blocks, and flushes. The test
`crates/ssd-trace/tests/suite/fio_like.rs` sets bounds for these numbers, in these and further jobs;
it runs if fio is installed. [Job files of fio](fio.md) lists what each option does.
"""
JOBS = (
    "rw=randrw rwmixread=30",
    "rw=randwrite bssplit=4k/60:16k/30:64k/10",
    "rw=randwrite random_distribution=zipf:0.99",
    "rw=randwrite random_distribution=pareto:0.2",
    "rw=randwrite random_distribution=normal:10",
    "rw=randwrite random_distribution=zoned:60/10:30/20:8/30:2/40",
    "rw=randwrite percentage_random=30 norandommap",
    "rw=randwrite loops=3 norandommap",
    "rw=rw rwmixread=70 fsync=16",
)


def _papers() -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Table II by key, and the numbers of the first million."""
    read = [
        tomllib.loads(Path("papers", name).read_text(encoding="utf-8"))
        for name in ("deferred-gc-raid.toml", "msr-first-million.toml")
    ]
    return read[0]["table2_traces"], read[1]["first_million"]


def volumes(folder: Path) -> Iterator[str]:
    """Lines of the section on volumes."""
    week, first = _papers()
    yield VOLUMES_HEAD
    heads: tuple[str, ...] = ("requests", "write share %", "unique written GB", "range GB")
    yield "| volume | " + " | ".join(f"{head} published | synthetic" for head in heads) + " |"
    yield "|---" * 9 + "|"
    for i, name in enumerate(map(str, week["trace"])):
        info, end = _volume(name, int(week["requests"][i]), folder)
        cells: tuple[tuple[str, str], ...] = (
            (f"{week['requests'][i]:,}", f"{info.requests:,}"),
            (f"{week['write_ratio'][i] * 100:.2f}", f"{(info.write_share or 0.0) * 100:.2f}"),
            (
                f"{week['unique_write_space_gb'][i]:.2f}",
                f"{info.footprint.distinct_bytes_written / 1e9:.2f}",
            ),
            (f"{week['working_set_gb'][i]:.1f}", f"{end / 1e9:.1f}"),
        )
        yield (
            f"| {name} | "
            + " | ".join(
                f"{published_cell} | {measured_cell}" for published_cell, measured_cell in cells
            )
            + " |"
        )
    heads = ("write share %", "mean write sectors", "mean read sectors", "updates %", "gap ms")
    yield ""
    yield "First million requests:"
    yield ""
    yield "| volume | " + " | ".join(f"{head} published | synthetic" for head in heads) + " |"
    yield "|---" * 11 + "|"
    for i, name in enumerate(map(str, first["volumes"])):
        info, _ = _volume(name, FIRST, folder)
        write, read = info.ops.write, info.ops.read
        update = 1.0 - info.footprint.distinct_bytes_written / write.bytes
        measured: tuple[float, ...] = (
            (info.write_share or 0.0) * 100,
            (write.size.mean or 0.0) / SECTOR_BYTES,
            (read.size.mean or 0.0) / SECTOR_BYTES,
            update * 100,
            info.duration_ns / info.requests / 1e6,
        )
        total = first["writes"][i] + first["reads"][i]
        published: tuple[float, ...] = (
            first["writes"][i] / total * 100,
            first["mean_write"][i],
            first["mean_read"][i],
            first["update"][i] * 100,
            first["mean_gap_ms"][i],
        )
        rows = [
            f"{published_value:.1f} | {measured_value:.1f}"
            for published_value, measured_value in zip(published, measured, strict=True)
        ]
        yield f"| {name} | " + " | ".join(rows) + " |"
    yield ""


def patterns(folder: Path) -> Iterator[str]:
    """Lines of the section on patterns."""
    week, _ = _papers()
    names = [str(name) for name in week["trace"]]
    pattern = {"workload.pattern": "msr-sample"}
    keys = load_config(set={"workload.kind": "msr:hm_0", **pattern})
    infos = [_volume(name, PATTERN, folder, pattern)[0] for name in names]
    rows: tuple[tuple[str, Callable[[Info], float | None]], ...] = (
        ("short_gaps", lambda info: info.trains.short_gap_share),
        ("gap_cv", lambda info: info.trains.gap_cv),
        ("train_gap_ns", lambda info: info.trains.short_gap_mean_ns),
        ("train_cv", lambda info: info.trains.requests_cv),
        ("same_size", lambda info: info.trains.same_size_share),
        ("sequential_writes", lambda info: info.ops.write.sequential_share),
        ("read_recent", lambda info: info.footprint.read_recent_share),
    )
    yield PATTERNS_HEAD.format(requests=PATTERN)
    yield f"| key | stated | {' | '.join(names)} |"
    yield "|---" * (2 + len(names)) + "|"
    for key, measured in rows:
        setting, in_time = keys[f"workload.{key}"], key.endswith("_ns")
        unit = 1e3 if in_time else 1.0
        label = f"`workload.{key.removesuffix('_ns')}`" + (", us" if in_time else "")
        cells = [f"{(value or 0.0) / unit:.3g}" for value in map(measured, infos)]
        yield f"| {label} | {setting / unit:.3g} | {' | '.join(cells)} |"
    yield ""


def _volume(
    name: str, requests: int, folder: Path, values: Mapping[str, object] | None = None
) -> tuple[Info, int]:
    """Statistics of a stand-in, and the end of its addresses."""
    file = folder / f"{name}-{requests}.ssdtrace"
    ssdlab.generate(f"msr:{name}", file, bytes=20 << 30, requests=requests, set=values)
    trace = ssdlab.Trace(file)
    rows = trace.requests()
    end = int(np.max(rows.sector + rows.sectors)) * SECTOR_BYTES
    info = trace.info()
    file.unlink()
    return info, end


def keys() -> Iterator[str]:
    """Lines of the section on key streams."""
    records, operations = 100_000, 400_000
    zeta = float(np.sum(np.arange(1, records + 1, dtype=float) ** -0.99))
    hottest = {"zipfian": 1 / 26.46902820178302, "latest": 1 / zeta, "uniform": 1 / records}
    mixes = {
        "a": "50 read, 50 update",
        "b": "95 read, 5 update",
        "c": "100 read",
        "d": "95 read, 5 insert",
        "e": "95 scan, 5 insert",
        "f": "50 read, 50 read-modify-write",
    }
    yield KEYS_HEAD
    yield "| workload | keys | mix % | synthetic | hottest key % | synthetic |"
    yield "|---|---|---|---|---|---|"
    cases = [(name, "latest" if name == "d" else "zipfian") for name in mixes]
    for name, choice in [*cases, ("c", "uniform")]:
        batches = list(
            ssdlab.key_stream(f"ycsb:{name}", records=records, operations=operations, keys=choice)
        )
        op = np.concatenate([batch.op for batch in batches])
        key = np.concatenate([batch.key for batch in batches])
        shares = np.bincount(op, minlength=6) / len(op) * 100
        mix = ", ".join(
            f"{share:.1f} {word}"
            for share, word in zip(shares, ssdlab.KeyBatch.OPS, strict=True)
            if share > 0
        )
        keys_chosen = key[op != ssdlab.KeyBatch.OPS.index("insert")]
        if choice == "latest":  # the newest is another one after each insert
            inserts = np.cumsum(op == ssdlab.KeyBatch.OPS.index("insert"))
            keys_chosen = (records + inserts - 1 - key.astype(np.int64))[op == 0]
        hot = np.bincount(keys_chosen).max() / len(keys_chosen)
        yield (
            f"| ycsb:{name} | {choice} | {mixes[name]} | {mix} |"
            f" {hottest[choice] * 100:.3f} | {hot * 100:.3f} |"
        )
    yield ""


@dataclass(frozen=True)
class JobRequests:
    """Requests of a job."""

    op: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]

    def shown(self) -> list[str]:
        """Cells of the table."""
        data = self.op != Requests.OPS.index("flush")
        op, start, length = self.op[data], self.start[data], self.length[data]
        counts = np.sort(np.unique(start // 4096, return_counts=True)[1])[::-1]
        sequential = 0
        for kind in (0, 1):
            is_kind = op == kind
            sequential += int(np.sum(start[is_kind][1:] == (start[is_kind] + length[is_kind])[:-1]))
        n = len(op)
        return [
            f"{n:,}",
            f"{np.mean(op == 0) * 100:.1f}",
            f"{np.mean(length) / 1024:.2f}",
            f"{sequential / n * 100:.1f}",
            f"{len(counts):,}",
            f"{np.sum(counts[:16]) / n * 100:.2f}",
            f"{len(self.op) - n}",
        ]


def jobs(folder: Path) -> Iterator[str]:
    """Lines of the section on job files; without fio, one that reports that."""
    fio = shutil.which("fio")
    version = "not installed: only ssdlab's own are shown"
    if fio:
        version = subprocess.run([fio, "--version"], capture_output=True, text=True).stdout.strip()
    yield FIO_HEAD.format(version=version)
    heads = ("requests", "reads %", "KiB", "sequential %", "blocks", "16 blocks %", "flushes")
    yield "| job | by | " + " | ".join(heads) + " |"
    yield "|---" * 9 + "|"
    for job in JOBS:
        job_folder = folder / "fio"
        job_folder.mkdir(exist_ok=True)
        options = job.replace(" ", "\n")
        text = f"[a]\nioengine=psync\nfilename=file\nsize=16m\n{options}\n"
        (job_folder / "a.fio").write_text(text, encoding="utf-8")
        if fio:
            yield _row(job, "fio", _by_fio(fio, job_folder))
        yield _row(job, "ssdlab", _by_ssdlab(job_folder))
        shutil.rmtree(job_folder)
    yield ""


def _row(job: str, generator: str, requests: JobRequests) -> str:
    return f"| `{job}` | {generator} | " + " | ".join(requests.shown()) + " |"


def _by_fio(fio: str, folder: Path) -> JobRequests:
    words = [fio, "a.fio", "--write_iolog=log", "--output-format=terse"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    numbers = {"read": 0, "write": 1, "trim": 2, "sync": 3, "datasync": 3}
    rows = [line.split() for line in (folder / "log").read_text(encoding="utf-8").splitlines()]
    requests = [
        (numbers[r[2]], int(r[3]), int(r[4])) for r in rows if len(r) == 5 and r[2] in numbers
    ]
    return JobRequests(
        *(np.array(column, dtype=np.int64) for column in zip(*requests, strict=True))
    )


def _by_ssdlab(folder: Path) -> JobRequests:
    file = folder / "job.ssdtrace"
    ssdlab.generate(str(folder / "a.fio"), file, bytes=FILE_BYTES)
    rows = ssdlab.Trace(file).requests()
    bytes_ = [column.astype(np.int64) * SECTOR_BYTES for column in (rows.sector, rows.sectors)]
    return JobRequests(rows.op.astype(np.int64), *bytes_)
