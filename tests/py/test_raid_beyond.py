"""Reads of a drive with parity while it collects: the page, its verdict, and who decides it."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from running import refused, ssdlab_command
from ssdlab import run
from ssdlab.results.report import Report
from ssdlab_lab.reproduce import raid_beyond as module
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from ssdlab_lab.reproduce.raid_beyond import (
    BOTH,
    FIFO,
    FLOOR,
    LINES,
    MEASURES,
    OPEN,
    ORDERS,
    READS_FIRST,
    SUSPENDED,
    WORKLOADS,
    RaidBeyond,
    markdown,
    page,
    scheme_of,
    to_json,
    verdict,
    workload_of,
)

BEGUN = FolderProperties("raid-beyond", False, {}, "0" * 64, None)
"""Runs of no commit."""


@dataclass
class Times:
    """What a report says of an operation."""

    mean: float = 1e3
    p99: int = 2_000
    p99_9: int = 3_000


def report(tail_ns: int) -> Report:
    """A report with this p99.9 of reads."""
    latency = SimpleNamespace(read=Times(p99_9=tail_ns), write=Times())
    raid = SimpleNamespace(reconstructed_pages=7)
    waf = SimpleNamespace(total=2.5)
    return cast("Report", SimpleNamespace(latency=latency, raid=raid, waf=waf))


def of(tails: dict[str, list[int]]) -> RaidBeyond:
    """Reports in which `both` has these tails, by workload, and every other line has 1 us."""
    reports = {}
    for order in ORDERS:
        for name in WORKLOADS:
            for line in LINES:
                for seed in (1, 2, 3):
                    tail = tails[name][seed - 1] if line == BOTH else 1_000 + seed
                    reports[order, name, line, seed] = report(tail)
    return RaidBeyond(reports, False, {}, False, Path(), BEGUN)


def test_the_verdict_follows_the_interval() -> None:
    done = of(
        {
            "uniform": [1_001, 1_002, 1_003],
            "Zipf": [5_000, 5_001, 5_002],
            "MongoDB": [1_500, 2_000, 2_500],
            "RocksDB": [2_002, 2_004, 2_006],
        }
    )
    reached = {name: done.is_reached(FIFO, name) for name in WORKLOADS}
    assert reached == {"uniform": True, "Zipf": False, "MongoDB": None, "RocksDB": True}
    words = "At most 2 times is reached on uniform and RocksDB, missed on Zipf, undecided on"
    *with_rules, of_plain = verdict(done)
    of_both = [text for text in with_rules if "with queues compared" not in text]
    assert len(of_both) == len(ORDERS)
    assert all(words in text for text in of_both)
    for text in (of_plain, *(text for text in with_rules if text not in of_both)):
        assert "At most 2 times is reached on uniform, Zipf, MongoDB and RocksDB." in text
    text, html = markdown(done), page(done)
    assert "| uniform, both | 1/2/1 | 1/2/3 | 2.50 | 7 | 1.00 |" in text
    assert "| uniform, both | 1/2/1 | 1/2/3 | 2.50 | 7 | 1.00 | 1.00 | 1.00 |" in text
    assert "4.99 (4.98 to 5.00)" in text
    for name in WORKLOADS:
        assert name in html
    runs = json.loads(to_json(done))["runs"]
    assert len(runs) == 3 * len(ORDERS) * len(WORKLOADS) * len(LINES)
    assert set(runs[0]) == {"order", "workload", "line", "seed", *MEASURES}


def test_missing_runs_leave_it_open() -> None:
    done = RaidBeyond({}, False, {}, True, Path(), BEGUN)
    assert done.is_reached(FIFO, "uniform") is None
    assert "interrupted" in done.remarks()[0]
    assert "| uniform, both | –/–/– |" in markdown(done)


def test_lines_differ_only_in_their_rules() -> None:
    """The drive without collection has more blocks, and nothing else that its requests meet."""
    for order in ORDERS:
        keys: dict[str, Any] = {line: dict(scheme_of(order, line, False).keys) for line in LINES}
        floor = keys.pop(FLOOR)
        for key in ("device.blocks_per_plane", "precondition.overwrite"):
            del floor[key]
            for of_line in keys.values():
                del of_line[key]
        plain = keys["plain"]
        assert floor == plain
        for line, of_line in keys.items():
            assert {k for k in of_line if of_line[k] != plain.get(k)} == set(LINES[line])
    assert scheme_of(FIFO, BOTH, False).keys["sched.order"] == "fifo"
    opened, suspended = (dict(scheme_of(order, BOTH, False).keys) for order in (OPEN, SUSPENDED))
    assert suspended.pop("timing.suspend") == "both"
    assert suspended == opened
    assert workload_of("Zipf", False).keys["workload.arrival.interval"] == "165 us"


def test_the_quick_page(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    asked = ("reproduce", "raid-beyond", "--quick", "--out", str(folder))
    done = ssdlab_command(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "At most 2 times is" in done.stdout
    for name in (JSON, MARKDOWN, PAGE):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    tails = {
        (run["order"], run["workload"], run["line"], run["seed"]): run[module.READ_TAIL]
        for run in values["runs"]
    }
    assert len(tails) == 2 * len(ORDERS) * len(WORKLOADS) * len(LINES)
    # What the rules and suspension are for: with reads first, even a short run shows it.
    for seed in (1, 2):
        both, plain = (tails[READS_FIRST, "uniform", line, seed] for line in (BOTH, "plain"))
        assert 10 * both < plain
        opened, suspended = (tails[order, "uniform", "plain", seed] for order in (OPEN, SUSPENDED))
        assert 2 * suspended < opened < plain
    collected = [run["WAF"] for run in values["runs"] if run["line"] == FLOOR]
    assert max(collected) <= 2.01, "the floor collects"


@pytest.mark.parametrize("also", [("--workloads", "Zipf"), ("--readings",)])
def test_bad_input(also: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command("reproduce", "raid-beyond", *also, cwd=tmp_path)
    refused(done, 2, "accepts only --quick, --jobs")


def test_a_failed_chip_is_on_the_page_and_in_the_summary(tmp_path: Path) -> None:
    keys: dict[str, object] = {
        "device.chips_per_channel": 1,
        "device.blocks_per_plane": 32,
        "device.user_capacity": "20 MiB",
        "gc.trigger.soft": 4,
        "workload.requests": 2_000,
        "workload.read": 0.5,
    }
    preset = module.PRESET
    whole = run(preset, set=keys, out=tmp_path / "whole", progress=False)
    assert "failed chip" not in whole.summary()
    assert 'id="failure"' not in (tmp_path / "whole" / PAGE).read_text(encoding="utf-8")
    keys |= {"raid.fail": [{"chip": 2, "at": "20 ms"}], "raid.spares": 1}
    found = run(preset, set=keys, out=tmp_path / "failed", progress=False)
    failure = found.raid.failure if found.raid else None
    assert failure is not None
    text, html = found.summary(), (tmp_path / "failed" / PAGE).read_text(encoding="utf-8")
    told = " ".join(text.split())
    assert "failed chip chip 2, of the group of chips" in told
    assert "at 20.0 ms; a spare took its place at" in told
    assert f"{failure.pages_lost:,} lost with their chip, {failure.pages_rebuilt:,} rebuilt" in text
    assert f"{failure.read.count:,} while degraded" in text.replace("read          ", "")
    assert 'id="failure"' in html
    for key in ("degraded", "pages_rebuilt", "pages_left", "read.p99", "write.mean"):
        assert f'data-key="raid.failure.{key}"' in html
