"""Runs in the forms of other tools: nothing lost, nothing half written, their rules kept."""

import gzip
import json
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import ssdlab
from running import SMALL, nothing_left, refused, ssdlab_command
from ssdlab.export import FORMATS, export_run

LOGGED = {
    **SMALL,
    "device.planes_per_chip": 2,
    "timing.model": "pipelined",
    "metrics.op_log": True,
    "metrics.request_log": True,
    "metrics.interval": "2 ms",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "r"
    ssdlab.run("greedy-8ch", set=LOGGED, out=folder, progress=False)
    return folder


def _log(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open("rb") as packed:
        text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
    head, *rows = (line.split(",") for line in text.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def _events(folder: Path, out: Path) -> list[dict[str, Any]]:
    (file,) = export_run(folder, "perfetto", out=out)
    events: list[dict[str, Any]] = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    return events


def test_perfetto_holds_every_operation_and_request(folder: Path, tmp_path: Path) -> None:
    events, ops = _events(folder, tmp_path), _log(folder, "ops.csv.zst")
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    planes = [e for e in slices if "args" in e]
    assert all((e["pid"], e["tid"]) in tracks for e in slices)
    wanted = Counter((f"{o['cause']} {o['op']}", int(o["start"]), int(o["end"])) for o in ops)
    found = [(e["name"], round(1000 * e["ts"]), round(1000 * e["dur"])) for e in planes]
    assert Counter((name, start, start + took) for name, start, took in found) == wanted
    requests = _log(folder, "requests.csv.zst")
    begins = {e["id"]: e["ts"] for e in events if e["ph"] == "b"}
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "e"}
    assert len(begins) == len(ends) == len(requests)
    for request in requests:
        assert round(1000 * begins[int(request["id"])]) == int(request["arrival"])
        assert round(1000 * ends[int(request["id"])]) == int(request["completion"])
    assert {e["args"]["request"] for e in planes if "request" in e["args"]} <= set(begins)


def test_perfetto_orders_processes_and_tracks(folder: Path, tmp_path: Path) -> None:
    """Two channels of two chips of two planes: requests, the device, then channel by channel."""
    named = [e for e in _events(folder, tmp_path) if e["ph"] == "M"]
    ranks = [e for e in named if e["name"].endswith("_sort_index")]
    names = [e for e in named if e["name"].endswith("_name")]
    found = [
        (
            e["name"].partition("_")[0],
            e["pid"],
            e["tid"],
            e["args"]["name"],
            r["args"]["sort_index"],
        )
        for e, r in zip(names, ranks, strict=True)
        if (e["pid"], e["tid"]) == (r["pid"], r["tid"])
    ]
    channels = [
        [
            ("process", 3 + channel, 0, f"channel {channel}", 3 + channel),
            ("thread", 3 + channel, 5 + channel, "bus", 0),
            *(
                ("thread", 3 + channel, tid, f"chip {chip} plane {plane}", tid)
                for chip in range(2)
                for plane in range(2)
                for tid in [7 + 4 * channel + 2 * chip + plane]
            ),
        ]
        for channel in range(2)
    ]
    first = [("process", 1, 0, "requests", 0), ("process", 2, 0, "device", 1)]
    assert found == [*first, *channels[0], *channels[1]]


def test_slices_of_a_track_do_not_overlap(folder: Path, tmp_path: Path) -> None:
    """Perfetto nests slices of a track: those that overlap in part would be dropped."""
    tracks = defaultdict(list)
    for event in _events(folder, tmp_path):
        if event["ph"] == "X":
            span = round(1000 * event["ts"]), round(1000 * (event["ts"] + event["dur"]))
            tracks[event["pid"], event["tid"]].append(span)
    assert len(tracks) == 2 * (1 + 2 * 2)
    for spans in tracks.values():
        spans.sort()
        assert all(one[1] <= two[0] for one, two in pairwise(spans))


def test_fio_tells_what_the_report_tells(folder: Path, tmp_path: Path) -> None:
    report = ssdlab.Report.read(folder)
    (file,) = export_run(folder, "fio", out=tmp_path)
    (job,) = json.loads(file.read_text())["jobs"]
    assert {"rw", "bs", "iodepth", "numjobs"} <= set(job["job options"])
    assert job["job options"]["rw"] == "randrw"
    assert job["job options"]["bs"] == "4096"
    seconds = report.time.simulated / 1e9
    for op in ("read", "write"):
        stats, part = getattr(report.latency, op), job[op]
        assert part["total_ios"] == part["lat_ns"]["N"] == stats.count
        assert part["lat_ns"]["mean"] == stats.mean
        assert part["lat_ns"]["max"] == stats.max
        assert part["iops"] == pytest.approx(stats.count / seconds)
        assert part["io_bytes"] == stats.count * 4096
        assert part["bw"] == pytest.approx(stats.count * 4 / seconds, rel=1e-3)
        assert part["clat_ns"]["percentile"]["50.000000"] == pytest.approx(stats.p50, rel=0.01)
        assert part["clat_ns"]["percentile"]["99.000000"] == pytest.approx(stats.p99, rel=0.01)
        each = report.series[f"interval_{op}s"] / np.diff(report.series["time_ns"], prepend=0) * 1e9
        assert part["iops_min"] == round(each.min())
        assert part["iops_mean"] == pytest.approx(each.mean())
        assert part["iops_max"] == round(each.max())
        assert part["iops_samples"] == len(each)
    classes = [share for unit in ("ns", "us", "ms") for share in job[f"latency_{unit}"].values()]
    assert sum(classes) == pytest.approx(100)
    rows = np.concatenate([report.distributions[f"latency_{op}"] for op in ("read", "write")])
    fast = rows[rows[:, 1] < 10**6, 2].sum() / rows[:, 2].sum()
    below = sum(job["latency_ns"].values()) + sum(job["latency_us"].values())
    assert below == pytest.approx(100 * fast, abs=1)


def _series(report: ssdlab.Report, rows: list[dict[str, int]]) -> str:
    """A series with the columns of that of `report`; 0 where a row says nothing."""
    names = list(report.series)
    lines = [",".join(str(row.get(name, 0)) for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"


def test_fio_takes_the_intervals_from_the_start_of_the_measurement(tmp_path: Path) -> None:
    """By hand: 1, 2 and 4 ms after a warm-up of 5 ms; a row that takes no time counts nothing."""
    report = ssdlab.run("greedy-8ch", set=SMALL, out=tmp_path / "r", progress=False)
    values = json.loads(report.to_json())
    values["time"]["measured_from"] = 5_000_000
    rows = [
        {"time_ns": 6_000_000, "host_pages_written": 10, "interval_writes": 5},
        {"time_ns": 8_000_000, "host_pages_written": 16, "interval_writes": 2},
        {"time_ns": 8_000_000, "host_pages_written": 16, "interval_writes": 9},
        {"time_ns": 12_000_000, "host_pages_written": 16, "interval_writes": 2},
    ]
    (tmp_path / "r/report.json").write_text(json.dumps(values))
    (tmp_path / "r/series.csv").write_text(_series(report, rows))
    (file,) = export_run(tmp_path / "r", "fio")
    (job,) = json.loads(file.read_text())["jobs"]
    part = job["write"]
    # 10, 6 and 0 pages of 4 KiB in 1, 2 and 4 ms; 5, 2 and 2 requests.
    bandwidths, rates = [40_000, 12_000, 0], [5000, 1000, 500]
    for name, spread, each in (("bw", "bw_dev", bandwidths), ("iops", "iops_stddev", rates)):
        mean = sum(each) / 3
        assert part[f"{name}_min"] == min(each)
        assert part[f"{name}_max"] == max(each)
        assert part[f"{name}_mean"] == pytest.approx(mean)
        assert part[spread] == pytest.approx((sum((x - mean) ** 2 for x in each) / 3) ** 0.5)
        assert part[f"{name}_samples"] == 3
    assert part["bw_agg"] == 100
    assert {job["trim"][name] for name in ("bw_min", "bw_mean", "bw_samples", "bw_agg")} == {0}


def test_tables_are_whole(folder: Path, tmp_path: Path) -> None:
    report = ssdlab.Report.read(folder)
    written = {file.name for file in export_run(folder, "csv", out=tmp_path / "csv")}
    tables = {"series", "distributions", "ops", "requests", "state"}
    assert written == {f"{name}.csv" for name in tables}
    assert (tmp_path / "csv/series.csv").read_bytes() == (folder / "series.csv").read_bytes()
    with (folder / "ops.csv.zst").open("rb") as packed:
        text = zstandard.ZstdDecompressor().stream_reader(packed).read()
    assert (tmp_path / "csv/ops.csv").read_bytes() == text
    export_run(folder, "npz", out=tmp_path)
    with np.load(tmp_path / "series.npz") as arrays:
        assert set(arrays) == set(report.series)
        assert all((arrays[name] == report.series[name]).all() for name in arrays)
    with np.load(tmp_path / "distributions.npz") as arrays:
        assert all((arrays[name] == report.distributions[name]).all() for name in arrays)


def test_parquet_holds_the_same(folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export_run(folder, "parquet", out=tmp_path)
    for name, log in (("ops", "ops.csv.zst"), ("requests", "requests.csv.zst")):
        table, rows = parquet.read_table(tmp_path / f"{name}.parquet"), _log(folder, log)
        assert table.num_rows == len(rows)
        for column in table.column_names:
            values = table[column].to_pylist()
            told = ["" if value is None else str(value) for value in values]
            assert told == [row[column] for row in rows], column


def test_a_run_without_a_request_has_tables_without_a_row(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    none = {"workload.requests": 1, "workload.trim": 1, "workload.read": 0}
    ssdlab.run(set={**LOGGED, **none}, out=tmp_path / "r", progress=False)
    export_run(tmp_path / "r", "parquet", out=tmp_path)
    table = parquet.read_table(tmp_path / "ops.parquet")
    assert table.num_rows == 0
    assert [str(table.schema.field(name).type) for name in ("op", "lpn")] == ["string", "int64"]


def test_parquet_holds_logs_of_copies_and_power_cuts(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    logs = {"metrics.op_log": True, "metrics.request_log": True, "metrics.interval": "1 ms"}
    keys = {"remap.mode": "share", "workload.copy": 0.5, "power.cut": {"at": ["5 ms", "300 ms"]}}
    ssdlab.run(set={**SMALL, **logs, **keys}, out=tmp_path / "r", progress=False)
    export_run(tmp_path / "r", "parquet", out=tmp_path)
    table = parquet.read_table(tmp_path / "power.parquet")
    events = [row["event"] for row in _log(tmp_path / "r", "power.csv.zst")]
    assert table["event"].to_pylist() == events
    assert "cut" in parquet.read_table(tmp_path / "ops.parquet")["outcome"].to_pylist()
    assert any(parquet.read_table(tmp_path / "requests.parquet")["sources"].to_pylist())


def test_what_exists_is_kept(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "distributions.npz").write_text("mine")
    done = ssdlab_command("export", folder, "--to", "npz", "--out", tmp_path, cwd=tmp_path)
    refused(done, 2, "distributions.npz: exists", "--force")
    nothing_left(tmp_path, "distributions.npz")
    options = ("--to", "npz", "--out", tmp_path, "--force")
    done = ssdlab_command("export", folder, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    nothing_left(tmp_path, "distributions.npz", "series.npz")


def test_bad_input_is_named(folder: Path, tmp_path: Path) -> None:
    def told(where: str | Path, to: str, *words: str) -> None:
        done = ssdlab_command("export", where, "--to", to, "--out", "out", cwd=tmp_path)
        refused(done, 2, *words)
        assert not (tmp_path / "out").exists()

    told(folder, "perfeto", "--to perfeto", "did you mean perfetto?", *FORMATS)
    told("absent", "fio", "absent: no such folder")
    told(tmp_path, "fio", "neither report.json nor")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "report.json").write_text('{"version": 1')
    (broken / "series.csv").touch()
    told(broken, "fio", "report.json", "not JSON", "line 1")
    shutil.copytree(folder, tmp_path / "cut")
    log = tmp_path / "cut/ops.csv.zst"
    log.write_bytes(log.read_bytes()[:5000])
    for to in ("csv", "perfetto"):
        done = ssdlab_command("export", "cut", "--to", to, "--out", "out", cwd=tmp_path)
        refused(done, 2, "ops.csv.zst", "damaged")
        nothing_left(tmp_path / "out")
    refused(ssdlab_command("report", "cut", cwd=tmp_path), 2, "ops.csv.zst", "damaged")
    log.write_bytes(zstandard.ZstdCompressor().compress(b"op,start\nread\n"))
    done = ssdlab_command("export", "cut", "--to", "perfetto", "--out", "out", cwd=tmp_path)
    refused(done, 2, "ops.csv.zst: line 2", "expected 2 values, found 1")
    (tmp_path / "cut/distributions.csv").unlink()
    refused(ssdlab_command("export", "cut", "--to", "fio", cwd=tmp_path), 2, "distributions.csv")
    (tmp_path / "cut/series.csv").write_text("time_ns,used_pages\n1,x\n")
    done = ssdlab_command("export", "cut", "--to", "npz", cwd=tmp_path)
    refused(done, 2, "series.csv", "cannot be read")


@pytest.mark.parametrize(
    ("to", "changes", "words"),
    [
        ("fio", {"run.mode": "functional"}, ("functional", "run.mode=timed")),
        ("perfetto", {}, ("kept no log", "metrics.op_log=true")),
    ],
)
def test_what_a_run_does_not_hold_is_said(
    to: str, changes: dict[str, object], words: tuple[str, ...], tmp_path: Path
) -> None:
    ssdlab.run("greedy-8ch", set={**SMALL, **changes}, out=tmp_path / "r", progress=False)
    with pytest.raises(ssdlab.OutputError) as raised:
        export_run(tmp_path / "r", to)
    assert all(word in str(raised.value) for word in words)


def test_a_comparison_names_its_runs(tmp_path: Path) -> None:
    vary = {"gc.victim": ["greedy", "fifo"]}
    ssdlab.compare("greedy-8ch", set=SMALL, vary=vary, out=tmp_path / "c", progress=False)
    done = ssdlab_command("export", "c", "--to", "fio", cwd=tmp_path)
    refused(done, 2, "a comparison", "c/greedy", "c/fifo")
    for run in ("greedy", "fifo"):
        assert ssdlab_command("export", f"c/{run}", "--to", "fio", cwd=tmp_path).returncode == 0
