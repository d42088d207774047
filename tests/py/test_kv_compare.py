"""`kv compare`: its numbers, recomputed from the reports of its runs; its files; bad input."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from running import ssdlab_command
from ssdlab import kv
from ssdlab.errors import ConfigError, OutputError
from ssdlab.kv.comparison import Compared, ComparisonPlan, StoreRun, rate
from ssdlab.kv.simulation import Simulated
from ssdlab.results.intervals import paired_ratio
from test_kv_simulate import CONFIG, SMALL

SIZES, LINES, SEEDS = (300, 900), ("off", "full"), (7, 8, 9)
WORKLOAD = {**SMALL, "records": 1500, "operations": 4500, "clients": 2}


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
        # As many bytes of values are stored and written with each size.
        assert report["settings"]["records"] == {300: 1500, 900: 500}[size]
        assert report["settings"]["operations"] == {300: 4500, 900: 1500}[size]
        assert report["drive"]["config"]["run"]["seed"] == seed
        assert report["settings"]["store"]["reuse"] == {"off": "off", "full": "retention"}[line]
    settings = {**WORKLOAD, "value_bytes": 900, "records": 500, "operations": 1500}
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
        assert float(row["operations_per_s"]) == pytest.approx(
            {300: 4500, 900: 1500}[key[0]] / seconds
        )
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
        for operation in ("read", "update"):
            tail = phase["latency"][operation]["p99_ns"]
            assert row[f"{operation}_p99_ns"] == ("" if tail is None else str(tail))
    assert json.loads((out / "compare.json").read_text())["rows"] == compared.rows


def test_ratios_are_of_pairs_of_seeds(compared: Compared, out: Path) -> None:
    found = reports(out)

    def rates(line: str) -> list[float]:
        return [found[900, line, seed]["phases"][-1]["operations_per_s"] for seed in SEEDS]

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
    assert "write amplification is not known" in page
    assert "writes" not in compared.answer[0]


def test_the_command_prints_the_same(drive: Path) -> None:
    options = [f"--host={name}={json.dumps(value)}" for name, value in WORKLOAD.items()]
    words = ["kv", "compare", str(drive), "--workload", "ycsb-a", "--remaps", "off,full"]
    done = ssdlab_command(*words, "--value-bytes", "900", *options, "--json", cwd=drive.parent)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert [(row["remap"], row["seed"]) for row in values["rows"]] == [("off", 1), ("full", 1)]
    assert values["completed"]


def made(rates: Mapping[Any, Sequence[float]], seeds: int = 3) -> Compared:
    """A comparison whose variants have these rates with the seeds 1, 2, ...; None: it failed."""
    plan = ComparisonPlan.of(
        "remapcom", "ycsb-a", remaps=[*rates], value_bytes=[900], seeds=seeds, settings={}
    )
    phase = {"latency": {"read": {"count": 5, "p99_ns": 9}}}
    drive = {"invalidating": 1, "warnings": ["no GC happened"]}
    runs = {
        StoreRun(900, remap, seed): Simulated(
            {"phases": [{**phase, "operations_per_s": value}], "drive": drive}
        )
        for remap, values in rates.items()
        for seed, value in zip(plan.seeds, values, strict=False)
    }
    return Compared(plan, runs, {}, False)


def test_a_verdict_needs_an_interval_beside_every_variant() -> None:
    start = "Values of 900 B: "
    far = {"off": (100, 101, 99), "base": (120, 121, 119), "full": (150, 151, 149)}
    assert made(far).answer[0].startswith(f"{start}full is fastest. full has 1.50 (")
    # Better than the baseline, and no better than another variant.
    near = {"off": (100, 101, 99), "base": (120, 121, 119), "full": (121, 119.5, 120.2)}
    text = made(near).answer[0]
    assert text.startswith(
        f"{start}full and base are fastest and cannot be distinguished. full has"
    )
    equal = {"off": (100, 100, 100), "full": (100, 100, 100)}
    assert made(equal).answer == [f"{start}the rates of off and full cannot be distinguished."]
    slower = {"off": (100, 101, 99), "base": (90, 91, 89), "full": (80, 81, 79)}
    text = made(slower).answer[0]
    assert text.startswith(f"{start}off is fastest. base has 0.90 (")
    assert "full has 0.80 (" in text


def test_one_seed_has_no_interval() -> None:
    (text,) = made({"off": (100,), "full": (101,)}).answer
    assert "full has the highest rate (one seed, so no interval). full has 1.01 times" in text
    assert made({"off": (100,), "full": (100,)}).answer == [
        "Values of 900 B: all variants have the same rate."
    ]


def test_only_seeds_with_all_variants_are_compared() -> None:
    early = made({"off": (100, 300), "full": (110,)})
    assert early.seeds(900) == [1]
    assert early.mean(900, "off", rate) == 100
    assert "one seed" in early.answer[0]
    # Without the baseline there are no ratios to it.
    broken = made({"off": (), "base": (100, 101, 99), "full": (120, 121, 119)})
    assert broken.answer == ["Values of 900 B: full is fastest. off did not complete."]
    assert broken.ratio(900, "full", rate) is None
    assert made({"off": (), "full": (1, 2, 3)}).answer == ["Values of 900 B: only full completed."]


def test_a_run_without_operations_is_compared(drive: Path) -> None:
    (drive.parent / "empty").write_text("")
    compared = kv.compare(drive, drive.parent / "empty", remaps=LINES, settings=SMALL)
    assert compared.answer == ["Values of 400 B: no operation ended in the last phase."]
    assert "no operation ended" in compared.summary()


def test_bad_input_that_a_run_finds_leaves_no_folder(drive: Path, tmp_path: Path) -> None:
    for workload, settings in (("nope", {}), ("ycsb-a", {"fs.cache_pages": 1})):
        with pytest.raises(ConfigError):
            kv.compare(drive, workload, settings={**SMALL, **settings}, out=tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_a_full_drive_is_a_failure_with_a_page(drive: Path, tmp_path: Path) -> None:
    words = ["kv", "compare", str(drive), "--remaps", "off,full", "--quiet", "--out", "full"]
    settings = ["--host", "records=200000", "--host", "operations=200000"]
    done = ssdlab_command(*words, *settings, cwd=tmp_path)
    assert done.returncode == 1
    assert "error: 1,024 B off seed 1: " in done.stderr
    assert "failed" in (tmp_path / "full/report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"remaps": ["on"]}, "remaps: found 'on'; expected some of off, aligned, base, full"),
        ({"remaps": []}, "remaps: found []"),
        ({"remaps": "off"}, "remaps: found 'off'"),
        ({"remaps": ["off", "off"]}, "remaps: off is given twice"),
        ({"value_bytes": [5, 5]}, "value_bytes: 5 is given twice"),
        ({"settings": {"records": 0}}, "records: found 0; expected whole numbers from 1"),
        ({"settings": {"store.reuse": "off"}}, "store.reuse: a comparison does not take it"),
        ({"settings": {"cut_ns": 5}}, "cut_ns: a comparison does not take it"),
        ({"settings": {"store.pages_per_block": 0}}, "store.pages_per_block: expected 1 or more"),
        ({"workload": "mixgraph", "value_bytes": [5]}, "mixgraph has value sizes of its own"),
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
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_refused(drive: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(OutputError, match="exists; name a folder that is empty"):
        kv.compare(drive, settings=WORKLOAD, out=tmp_path)
