"""Pages, exports, comparisons, sweeps and searches against the external checker."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, findings_in
from run_check.inputs import Findings, Report
from run_check.pages import Page
from running import SMALL, STEADY
from ssdlab.export import export_run
from ssdlab.html.write import report_folder

FORMATS = ("csv", "fio", "npz", "parquet", "perfetto")
SHORT = {**SMALL, "workload.requests": 1500}
VARIED = {"gc.victim": ["greedy", "fifo", "random"]}
RUN = {
    **LOGGED,
    "wear.static_threshold": 1,
    "workload.warmup_requests": 300,
    "metrics.interval": "30 ms",
    "timing.multi_plane": True,
    "alloc.placement": "round-robin",
    "alloc.pool": "chip",
}


def clean(folder: Path) -> None:
    findings, text = findings_in(folder)
    assert not findings.counts, text


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its page and every export."""
    folder = tmp_path_factory.mktemp("run") / "a"
    ssdlab.run(set=RUN, out=folder, progress=False)
    report_folder(folder)
    for name in FORMATS:
        export_run(folder, name)
    clean(folder)
    return folder


def test_a_warm_up_may_be_a_share(tmp_path: Path) -> None:
    keys = {**RUN, "workload.warmup_requests": 0, "workload.warmup_share": 0.3}
    report = ssdlab.run(set=keys, out=tmp_path / "a", progress=False)
    assert report.requests.warmup > 0
    clean(tmp_path / "a")


def copied(whole: Path, folder: Path) -> Path:
    return Path(shutil.copytree(whole, folder / "a"))


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def _a_number_of_the_page(folder: Path) -> None:
    erases = ssdlab.Report.read(folder).flash.erases
    replaced(folder / "report.html", f'value="{erases}"', f'value="{erases + 1}"')


def _a_text_of_the_page(folder: Path) -> None:
    moved = ssdlab.Report.read(folder).gc.pages_moved
    replaced(folder / "report.html", f">{moved:,}<", f">{2 * moved:,}<")


def _a_curve_of_the_page(folder: Path) -> None:
    file = folder / "report.html"
    head, mark, rest = file.read_text().partition('<figure id="free"')
    name, curve, values = rest.partition('"y":[')
    first, comma, others = values.partition(",")
    text = head + mark + name + curve + str(int(first) + 1) + comma + others
    file.write_text(text, encoding="utf-8")


def _an_operation_of_the_timeline(folder: Path) -> None:
    file = folder / "report.html"
    head, mark, rest = file.read_text().partition('"ops":[')
    chip, comma, others = rest.partition(",")
    file.write_text(head + mark + str(int(chip) + 1) + comma + others, encoding="utf-8")


def _a_percentile_of_fio(folder: Path) -> None:
    file = folder / "export" / "fio.json"
    values = json.loads(file.read_text())
    found = values["jobs"][0]["write"]["clat_ns"]["percentile"]
    found["90.000000"] = found["80.000000"]
    file.write_text(json.dumps(values))


def _an_export_of_the_log(folder: Path) -> None:
    lines = (folder / "export" / "ops.csv").read_text().splitlines()
    (folder / "export" / "ops.csv").write_text("\n".join(lines[:-1]) + "\n")


def _a_slice_of_perfetto(folder: Path) -> None:
    file = folder / "export" / "perfetto.json.gz"
    values = json.loads(gzip.decompress(file.read_bytes()))
    next(one for one in values["traceEvents"] if one["ph"] == "X")["tid"] += 1
    file.write_bytes(gzip.compress(json.dumps(values).encode()))


def _a_row_of_the_series(folder: Path) -> None:
    with (folder / "series.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    rows[3]["interval_write_max_ns"] = rows[2]["interval_write_max_ns"]
    with (folder / "series.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _a_bucket_of_a_distribution(folder: Path) -> None:
    file = folder / "distributions.csv"
    line = next(one for one in file.read_text().splitlines() if one.startswith("latency_read"))
    replaced(file, line, line[:-1] + str((int(line[-1]) + 1) % 10))


CHANGES: dict[Callable[[Path], None], str] = {
    _a_number_of_the_page: "report.html:flash.erases",
    _a_text_of_the_page: "report.html:gc.pages_moved",
    _a_curve_of_the_page: "report.html:free.free at ",
    _an_operation_of_the_timeline: "report.html:operations: ",
    _a_percentile_of_fio: "export/fio.json: write.percentile.90.000000",
    _an_export_of_the_log: "export/ops.csv: lines",
    _a_slice_of_perfetto: "export/perfetto.json.gz: operations 1.tid",
    _a_row_of_the_series: "series.csv:5",
    _a_bucket_of_a_distribution: "distributions.csv:2",
}
"""Wrong numbers, and where each is noticed: no two in one place, so one check finds them all."""


def test_a_wrong_number_in_a_file_does_not_pass(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    for change in CHANGES:
        change(folder)
    places = findings_in(folder)[0].places
    for change, place in CHANGES.items():
        assert any(one.startswith(place) for one in places), change.__name__


@pytest.mark.parametrize(
    ("value", "text", "is_right"),
    [
        (0.0002, "<0.001", True),
        (2e-6, "<0.001\u00a0%", True),
        (-0.0002, ">-0.001", True),
        (0.002, "<0.001", False),
        (0.0, "<0.001", False),
        (-0.0002, "<0.001", False),
        (0.0002, ">0.001", False),
        (0.02, "<0.1", False),
    ],
)
def test_a_number_that_would_be_rounded_to_0_has_a_bound(
    value: float, text: str, is_right: bool, whole: Path
) -> None:
    findings = Findings(0)
    Page(whole, Report({}), findings)._printed("waf.metadata", value, text)
    assert findings.counts == ({} if is_right else {"page": 1})


def test_rows_and_intervals_of_a_comparison(tmp_path: Path) -> None:
    ssdlab.compare(
        "greedy-8ch", vary=VARIED, seeds=3, set=SHORT, out=tmp_path / "a", progress=False
    )
    clean(tmp_path / "a")
    file = tmp_path / "a" / "compare.json"
    values = json.loads(file.read_text())
    told = values["statistics"][1]["waf"]
    told["ci95"] *= 1.01
    values["ratios"][0]["erases"]["low"] *= 0.99
    file.write_text(json.dumps(values))
    places = findings_in(tmp_path / "a")[0].places
    label = values["statistics"][1]["label"]
    assert places == {
        f"compare.json:statistics.{label}.waf.ci95",
        f"compare.json:ratios.{label}.erases.low",
    }


def test_rows_of_a_sweep(tmp_path: Path) -> None:
    vary: dict[str, list[object]] = {
        "gc.victim": ["greedy", "fifo"],
        "gc.trigger.soft": [3, 5],
    }
    ssdlab.sweep("greedy-8ch", vary=vary, seeds=2, set=SHORT, out=tmp_path / "a", progress=False)
    clean(tmp_path / "a")
    # A row is that of a run by itself, which the logs of the run give.
    with (tmp_path / "a" / "sweep.csv").open(newline="") as file:
        row = [*csv.DictReader(file)][-1]
    logs = {"metrics.op_log": True, "metrics.request_log": True}
    point = {"gc.victim": "fifo", "gc.trigger.soft": 5, "run.seed": 2}
    alone = ssdlab.run(
        "greedy-8ch", set={**SHORT, **point, **logs}, out=tmp_path / "b", progress=False
    )
    clean(tmp_path / "b")
    assert (row["seed"], int(row["write_max_ns"])) == ("2", alone.latency.write.max)
    assert float(row["waf"]) == alone.waf.total
    replaced(tmp_path / "a" / "sweep.csv", row["erases"], "1")
    assert "sweep.csv" in findings_in(tmp_path / "a")[0].counts


def test_intervals_of_a_search(tmp_path: Path) -> None:
    for place, values in (("a", STEADY), ("invalid", SHORT)):
        ssdlab.search(
            "greedy-8ch",
            set=values,
            space={"gc.victim": ["greedy", "fifo"], "gc.trigger.soft": [3, 4]},
            minimize=["waf"],
            trials=4,
            seeds=2,
            test_seeds=3,
            out=tmp_path / place,
            progress=False,
        )
        clean(tmp_path / place)
    file = tmp_path / "a" / "search.json"
    values = json.loads(file.read_text())
    (ratio,) = (one["ratio"] for one in values["tested"][0]["compared"])
    ratio["high"] *= 1.001
    file.write_text(json.dumps(values))
    assert findings_in(tmp_path / "a")[0].counts == {"search.json": 1}
