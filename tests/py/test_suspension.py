"""Published gains of suspension: what agrees, what the runs are, and the quick page."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from running import refused, ssdlab_command
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.combined.choices import FLOOR, LOAD
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from ssdlab_lab.reproduce.suspension import Suspensions, to_json, verdict
from ssdlab_lab.reproduce.suspension.choices import (
    ALONE,
    CHIPS,
    EMULATOR,
    FIFO,
    FLASHES,
    LINES,
    LOADS,
    MEAN,
    MORE_WRITE,
    OFF,
    ON,
    OVER_FIFO,
    OVER_PRIORITY,
    P99_99,
    PAPER,
    PRIORITY,
    READS,
    SUSPENDED,
    WRITES,
    Place,
    requests,
    seeds,
)
from ssdlab_lab.reproduce.suspension.outcome import COLLECTIONS, MEASURES, agrees
from ssdlab_lab.reproduce.suspension.page import markdown, page
from ssdlab_lab.reproduce.suspension.schemes import SCHEMES, combinations, named, workloads
from ssdlab_lab.reproduce.suspension.study import JOB_FILE, cells

BEGUN = FolderProperties("suspension", False, {}, "0" * 64, None)
"""Runs of no commit."""


@dataclass
class Times:
    """What a report says of an operation."""

    mean: float
    count: int
    p50: int = 51_000
    p99: int = 150_000
    p99_9: int = 200_000
    p99_99: int | None = None


def report(
    read_us: float, write_us: float, reads: int = 0, writes: int = 0, tail: int = 200_000
) -> Report:
    """A report of 40 s with these means, and this p99.9 of both operations."""
    read, write = Times(read_us * 1e3, reads), Times(write_us * 1e3, writes)
    read.p99_9 = write.p99_9 = tail
    latency = SimpleNamespace(read=read, write=write)
    time, waf = SimpleNamespace(simulated=40_000_000_000), SimpleNamespace(total=2.0)
    gc = SimpleNamespace(calls=626)
    return cast("Report", SimpleNamespace(latency=latency, time=time, waf=waf, gc=gc))


def of() -> Suspensions:
    """Suspension halves the latency of reads and costs 3 % of that of writes."""
    reports = {}
    means = {FIFO: (400, 100), PRIORITY: (200, 100), SUSPENDED: (100, 103), ALONE: (80, 0)}
    for seed in seeds(False):
        for line, writes in ((OFF, 333_160), (ON, 327_800)):
            reports[Place(EMULATOR, "", 0.0, line, seed)] = report(55, 1, 655_120, writes)
        for flash in FLASHES:
            for load in LOADS:
                for line, (read, write) in means.items():
                    reports[Place(PAPER, flash, load, line, seed)] = report(read, write)
        for at, name in enumerate(workloads(False)):
            for order, line in combinations(False):
                for state, tail in ((OFF, 100_000), (ON, 50_000)):
                    share = {("as needed", OFF): 0.5, (FLOOR, ON): 0.9}.get((line, state), 1.0)
                    one = report(1, 1, tail=round((1 + at) * share * tail))
                    reports[Place(SCHEMES, name, LOAD, named(order, line, state), seed)] = one
    return Suspensions(reports, False, {}, False, Path(), BEGUN)


def test_a_number_agrees_within_a_tenth() -> None:
    assert agrees(109.0, 100.0) is True
    assert agrees(89.0, 100.0) is False
    assert agrees(-0.54, -0.505) is True
    assert agrees(None, 1.0) is None
    done = of()
    assert done.average(OVER_PRIORITY) == pytest.approx(-0.5)
    assert done.average(OVER_FIFO) == pytest.approx(-0.75)
    assert done.average(MORE_WRITE) == pytest.approx(0.03)
    assert done.slowdown("SLC", LOADS[0], PRIORITY) == pytest.approx(2.5)
    assert done.change_of_writes() == pytest.approx(8_195 / 8_329 - 1)
    answers = done.agreements()
    assert answers[f"{EMULATOR}, {MEAN}, {ON}"] is True
    assert answers[f"{EMULATOR}, {MEAN}, {OFF}"] is False
    assert answers[f"{EMULATOR}, {READS}, {ON}"] is True
    assert answers[f"{EMULATOR}, {WRITES}, {OFF}"] is True
    assert answers[f"{EMULATOR}, {P99_99}, {ON}"] is None
    assert answers[f"{PAPER}, {MORE_WRITE}"] is True
    within, _, missing = verdict(done)
    assert within.endswith("writes, over read priority.")
    assert missing == "No simulated number: FEMU, read p99.99, us, off; FEMU, read p99.99, us, on."


def test_the_page_has_published_simulated_and_error() -> None:
    text, html = markdown(of()), page(of())
    assert "| writes/s | 8,329 | 8,329 | +0.0 % | 8,195 | 8,195 | +0.0 % |" in text
    assert "| reads, over read priority | -50.5 % | -50.0 % | -1.0 % |" in text
    assert "| MLC, 0.4 | 400 | 200 | 100 | 80.0 | 5.00 | 2.50 | 1.25 | -50.0 % |" in text
    assert "| collections |  | 626 |  |  | 626 |  |" in text
    assert "| as needed | 0.50 | 1.00 | 0.50 | 1.00 |" in text
    assert "| no collection | 1.00 | 0.90 | 1.00 | 0.90 |" in text
    assert "| conventional, on over off |  | 0.50 |  | 0.50 |" in text
    assert all(text in html for text in (OVER_PRIORITY, "50.0", "1.25"))
    runs = json.loads(to_json(of()))["runs"]
    schemes = 2 * len(workloads(False)) * len(list(combinations(False)))
    assert len(runs) == len(seeds(False)) * (2 + len(FLASHES) * len(LOADS) * len(LINES) + schemes)
    assert set(runs[0]) == {*Place._fields, *MEASURES}
    assert runs[0][COLLECTIONS] == 626


def test_missing_runs_are_no_numbers() -> None:
    done = Suspensions({}, False, {}, True, Path(), BEGUN)
    assert set(done.agreements().values()) == {None}
    assert "| reads/s | 766 | – | – | 16,378 | – | – |" in markdown(done)
    assert "| as needed | – | – | – | – |" in markdown(done)


def test_the_runs_differ_only_in_suspension_and_order(tmp_path: Path) -> None:
    plan = cells(tmp_path, False)
    assert len({cell.folder for cell in plan}) == len(plan)
    by_place = {place: cell for cell, place in plan.items()}
    off, on = (dict(by_place[Place(EMULATOR, "", 0.0, line, 1)].scheme.keys) for line in (OFF, ON))
    assert {key.partition("_")[0] for key in on.keys() - off.keys()} == {
        "timing.suspend",
        "timing.resume",
    }
    assert off.items() <= on.items()
    priority, suspended = (
        dict(by_place[Place(PAPER, "MLC", 0.2, line, 1)].scheme.keys)
        for line in (PRIORITY, SUSPENDED)
    )
    assert suspended.pop("timing.suspend") == "both"
    assert suspended == priority
    for order, line in combinations(False):
        off, on = (
            dict(by_place[Place(SCHEMES, "MySQL", LOAD, named(order, line, state), 1)].scheme.keys)
            for state in (OFF, ON)
        )
        assert on.pop("timing.suspend") == "both"
        assert on == off
    assert "numjobs=4" in (tmp_path / JOB_FILE).read_text(encoding="utf-8")


def test_reads_alone_are_the_reads_of_the_load() -> None:
    full, alone = (requests("SLC", 0.1, line, False).keys for line in (PRIORITY, ALONE))
    interval, of_reads = (
        float(str(keys["workload.arrival.interval"]).removesuffix(" us")) for keys in (full, alone)
    )
    # 70 % reads of 25 us and 30 % programs of 200 us take a tenth of the time of 32 chips.
    assert interval == pytest.approx(77.5 / (0.1 * CHIPS), abs=1e-3)
    assert of_reads == pytest.approx(interval / 0.7, abs=2e-3)
    assert (alone["workload.read"], alone["workload.requests"]) == (1.0, 140_000)


def test_the_quick_page(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    asked = ("reproduce", "suspension", "--quick", "--out", str(folder))
    done = ssdlab_command(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Within 10 % or within the published bound: " in done.stdout
    for name in (MARKDOWN, PAGE):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    means = {
        (run["part"], run["case"], run["line"], run["seed"]): run[MEAN] for run in values["runs"]
    }
    for seed in seeds(True):
        assert 10 * means[EMULATOR, "", ON, seed] < means[EMULATOR, "", OFF, seed]
        for flash in FLASHES:
            lines = (ALONE, SUSPENDED, PRIORITY, FIFO)
            ordered = [means[PAPER, flash, line, seed] for line in lines]
            assert ordered == sorted(ordered)


@pytest.mark.parametrize("also", [("--workloads", "Zipf"), ("--readings",)])
def test_bad_input(also: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command("reproduce", "suspension", *also, cwd=tmp_path)
    refused(done, 2, "accepts only --quick, --jobs")
