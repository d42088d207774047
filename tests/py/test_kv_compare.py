"""`kv compare`: its numbers, recomputed from the reports of its runs; its files; bad input."""

from __future__ import annotations

import csv
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from running import ssdlab_command
from ssdlab import kv
from ssdlab.errors import ConfigError, OutputError
from ssdlab.kv.comparison import Compared
from ssdlab.results.intervals import paired_ratio
from test_kv_simulate import CONFIG, SMALL

SIZES, LINES, SEEDS = (300, 900), ("off", "full"), (7, 8, 9)
WORKLOAD = {**SMALL, "records": 1500, "operations": 4000, "clients": 2}


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drive") / "drive.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared") / "out"


@pytest.fixture(scope="module")
def compared(drive: Path, out: Path) -> Compared:
    return kv.compare(
        drive,
        "ycsb-a",
        remaps=LINES,
        value_bytes=SIZES,
        seeds=3,
        settings=WORKLOAD,
        set={"run.seed": SEEDS[0]},
        out=out,
    )


def reports(out: Path) -> dict[tuple[int, str, int], dict[str, Any]]:
    return {
        (size, line, seed): json.loads((out / f"{size}-{line}-{seed}/report.json").read_text())
        for size in SIZES
        for line in LINES
        for seed in SEEDS
    }


def test_every_run_is_what_simulate_makes_of_its_arguments(
    compared: Compared, drive: Path, out: Path
) -> None:
    assert not compared.failures
    assert not compared.interrupted
    for (size, line, seed), report in reports(out).items():
        assert report["settings"]["value_bytes"] == size
        # The same bytes of values under each size.
        assert report["settings"]["records"] == {300: 1500, 900: 500}[size]
        assert report["drive"]["config"]["run"]["seed"] == seed
        assert report["settings"]["store"]["reuse"] == {"off": "off", "full": "retention"}[line]
    settings = {**WORKLOAD, "value_bytes": 900, "records": 500}
    alone = kv.simulate(drive, "ycsb-a", settings=settings, remap="full", seed=8)
    assert reports(out)[900, "full", 8]["digest"] == alone.digest


def test_rows_are_those_of_the_reports(compared: Compared, out: Path) -> None:
    with (out / "compare.csv").open() as file:
        rows = {
            (int(row["value_bytes"]), row["remap"], int(row["seed"])): row
            for row in csv.DictReader(file)
        }
    found = reports(out)
    assert rows.keys() == found.keys()
    for key, report in found.items():
        phase, row = report["phases"][-1], rows[key]
        assert phase["name"] == "ycsb:a"
        seconds = (phase["end_ns"] - phase["start_ns"]) / 1e9
        assert float(row["operations_per_s"]) == pytest.approx(4000 / seconds)
        time = phase["time"]["clients"]
        busy = sum(time.values()) - time.get("idle_ns", 0)
        stalls = sum(time.get(f"{name}_ns", 0) for name in ("group", "slowed", "stopped"))
        assert float(row["stalls_share"]) == pytest.approx(stalls / busy)
        assert float(row["reads_share"]) == pytest.approx(time.get("read_ns", 0) / busy)
        assert float(row["writes_share"]) == pytest.approx(time.get("write_ns", 0) / busy)
        processor = time["processor_ns"] + time.get("core_ns", 0)
        assert float(row["processor_share"]) == pytest.approx(processor / busy)
        background = phase["time"]["background"]
        share = background["write_ns"] / sum(background.values())
        assert float(row["background_writes_share"]) == pytest.approx(share)
        hits, misses = phase["cache"]["hits"], phase["cache"]["misses"]
        assert float(row["cache_hit_share"]) == pytest.approx(hits / (hits + misses))
        assert phase["latency"].keys() == {"read", "update"}
        frequent = max(phase["latency"].values(), key=lambda latency: latency["count"])
        assert row["p99_ns"] == str(frequent["p99_ns"])
    assert json.loads((out / "compare.json").read_text())["rows"] == compared.rows


def test_ratios_are_of_pairs_of_seeds(compared: Compared, out: Path) -> None:
    found = reports(out)

    def rates(line: str) -> list[float]:
        return [found[900, line, seed]["phases"][-1]["operations_per_s"] for seed in SEEDS]

    from ssdlab.kv.comparison import rate

    ratio = compared.ratio(900, "full", rate)
    assert ratio == paired_ratio(rates("full"), rates("off"))
    logs = [math.log(a / b) for a, b in zip(rates("full"), rates("off"), strict=True)]
    assert ratio is not None
    assert ratio.ratio == pytest.approx(math.exp(statistics.fmean(logs)))
    assert compared.mean(900, "off", rate) == pytest.approx(statistics.fmean(rates("off")))
    assert f"{ratio.ratio:.2f}x" in compared.summary()


def test_the_page_has_every_size_line_and_run(compared: Compared, out: Path) -> None:
    page = (out / "report.html").read_text()
    for size in SIZES:
        assert f"Values of {size:,} B" in page
        for line in LINES:
            assert f">{size:,} B, {line}</text>" in page
    assert page.count('<a href="') >= len(SIZES) * len(LINES) * len(SEEDS)
    for run in compared.runs:
        assert (out / run.folder / "report.html").exists()
    # What an invalid drive says is told before any number.
    assert compared.warnings
    assert "write amplification is not known" in compared.answer[0]


def test_the_command_prints_the_same(drive: Path) -> None:
    options = [f"--host={name}={json.dumps(value)}" for name, value in WORKLOAD.items()]
    words = ["kv", "compare", str(drive), "--workload", "ycsb-a", "--remaps", "off,full"]
    done = ssdlab_command(*words, "--value-bytes", "900", *options, "--json", cwd=drive.parent)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert [(row["remap"], row["seed"]) for row in values["rows"]] == [("off", 1), ("full", 1)]
    assert values["completed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"remaps": ["on"]}, "remaps: found 'on'; expected some of off, aligned, base, full"),
        ({"remaps": []}, "remaps: found nothing"),
        ({"remaps": ["off", "off"]}, "remaps: ['off', 'off'] names one twice"),
        ({"value_bytes": [0]}, "value_bytes: found 0; expected whole numbers from 1"),
        ({"value_bytes": [1.5]}, "value_bytes: found 1.5; expected whole numbers from 1"),
        ({"seeds": 1}, "seeds"),
        ({"settings": {"recrods": 5}}, "recrods"),
    ],
)
def test_bad_arguments_are_refused(
    drive: Path, arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as error:
        kv.compare(drive, out=tmp_path / "new", **arguments)
    assert message in str(error.value)
    assert not (tmp_path / "new/report.html").exists()


def test_a_folder_with_files_is_refused(drive: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(OutputError, match="exists; name a folder that is empty"):
        kv.compare(drive, settings=WORKLOAD, out=tmp_path)
