"""The page of `kv simulate`: its plots and tables, recomputed from the rows of the report."""

from __future__ import annotations

import copy
import random
import re
from html import unescape
from typing import Any

import pytest

import checking  # noqa: F401 - makes run_check importable
from run_check.pages import UNITS, figures_of
from ssdlab import kv
from ssdlab.display.numbers import duration, on_page
from ssdlab.kv.simulation import Simulated
from ssdlab.kv.simulation_page import page
from test_kv_simulate import CONFIG, SMALL

CHANNELS, CHIPS = 4, 2


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("page") / "drive.toml"
    path.write_text(CONFIG)
    few = {"records": 400, "operations": 400, "store.reuse": "base", "store.pages_per_block": 1}
    done = kv.simulate(path, "ycsb-a", settings={**SMALL, **few})
    assert done.completed
    return done.report


def drawn(draw: random.Random, report: dict[str, Any]) -> dict[str, Any]:
    """A report with other rows."""
    made = copy.deepcopy(report)
    width = draw.choice((10_000, 3_000_000))
    made["course"]["rows"] = [
        [
            at * width,
            operations := draw.choice((0, draw.randint(1, 5000))),
            operations * draw.randint(900, 90_000),
            operations and draw.randint(900_000, 90_000_000),
            draw.choice((0, draw.randint(1, 1 << 30))),
            operations and draw.randint(1000, 9000),
            draw.choice((0, draw.randint(10_000, 90_000))),
        ]
        for at in range(draw.randint(2, 30))
    ]
    made["background"]["rows"] = [
        [draw.randint(0, 4), start := draw.randint(0, 1 << 30), start + draw.randint(1, 1 << 20)]
        for _ in range(draw.choice((0, 12)))
    ]
    rows, at, moved, busy = [], 0, 0, [0] * CHANNELS
    for _ in range(draw.randint(3, 20)):
        rows.append([at, moved, list(busy)])
        lasted = draw.choice((0, draw.randint(1000, 1 << 24)))
        at += lasted
        moved += draw.randint(0, 500) if lasted else 0
        busy = [one + draw.randint(0, CHIPS * lasted) for one in busy]
    made["channels"]["rows"] = rows
    return made


def near(found: list[Any], expected: list[Any]) -> bool:
    """To the five digits of a page."""
    return len(found) == len(expected) and all(
        a is b if None in (a, b) else a == pytest.approx(b, rel=6e-5, abs=1e-9)
        for a, b in zip(found, expected, strict=True)
    )


def test_plots_have_what_the_rows_of_the_report_say(report: dict[str, Any]) -> None:
    draw, spans = random.Random(9), 0
    for _ in range(15):
        made = drawn(draw, report)
        plots = dict(figures_of(page(Simulated(made))))
        rows = made["course"]["rows"]
        width = rows[1][0] - rows[0][0]
        starts = [row[0] for row in rows]
        (rate,) = plots["throughput"]
        assert near(rate["x"], starts)
        assert near(rate["y"], [row[1] * 1e9 / width for row in rows])
        mean, tail, longest = plots["latency"]
        assert [one["name"] for one in plots["latency"]] == ["mean", "p99", "longest"]
        assert near(mean["y"], [row[2] / row[1] if row[1] else None for row in rows])
        assert near(tail["y"], [row[6] or None for row in rows])
        assert near(longest["y"], [row[3] or None for row in rows])
        (stopped,) = plots["stalls"]
        assert near(stopped["y"], [row[4] for row in rows])
        work = made["background"]["rows"]
        names = {level: f"into level {level}" if level else "flush" for level, *_ in work}
        bars = {one["name"]: one for one in plots.get("background", [])}
        assert {*bars} == {*names.values()}
        for level, name in names.items():
            mine = [row for row in work if row[0] == level]
            assert bars[name]["x"] == pytest.approx([(a + b) / 2 for _, a, b in mine], rel=1e-8)
            assert near(bars[name]["y"], [level + 1] * len(mine))
            spans += len(mine)
        pairs = [*zip(made["channels"]["rows"], made["channels"]["rows"][1:], strict=False)]
        shares = [
            [
                (b - a) / (CHIPS * max(then[0] - since[0], 1))
                for a, b in zip(since[2], then[2], strict=True)
            ]
            for since, then in pairs
        ]
        (busy,) = plots["channels"]
        assert near(busy["x"], [since[0] for since, _ in pairs])
        assert near(busy["y"], [sum(share) / CHANNELS for share in shares])
        assert near(busy["low"], [min(share) for share in shares])
        assert near(busy["high"], [max(share) for share in shares])
        (moved,) = plots["collection"]
        rates = [(b[1] - a[1]) * 1e9 / max(b[0] - a[0], 1) for a, b in pairs]
        assert near(moved["y"], rates)
    assert spans > 30


def tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of every table, by its caption."""
    found = {}
    for caption, body in re.findall(
        r"<table[^>]*><caption>(.*?)</caption>(.*?)</table>", text, re.DOTALL
    ):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
        found[unescape(caption)] = [
            [
                unescape(re.sub("<[^>]+>", "", cell)).replace("\u00a0", " ")
                for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            ]
            for row in rows
        ]
    return found


def value_of(cell: str) -> float | None:
    """The number in a cell, in the units of the report."""
    if cell in ("–", "-"):
        return None
    number, _, unit = cell.partition(" ")
    return float(number.replace(",", "")) * UNITS.get(unit.removesuffix("/s"), 1)


def same(cells: list[str], values: list[Any]) -> bool:
    """To three digits, or three decimals."""
    found = [value_of(cell) for cell in cells]
    return len(found) == len(values) and all(
        a is b if None in (a, b) else a == pytest.approx(b, rel=0.006, abs=6e-4)
        for a, b in zip(found, values, strict=True)
    )


def test_a_short_simulation_has_no_plots(report: dict[str, Any]) -> None:
    made = copy.deepcopy(report)
    made["course"]["rows"] = made["course"]["rows"][:1]
    shown = page(Simulated(made))
    assert "Over time" not in shown
    assert "Operations over time" not in shown
    assert "Over time" in page(Simulated(report))


def test_tables_have_what_the_report_says(report: dict[str, Any]) -> None:
    report, draw = copy.deepcopy(report), random.Random(11)
    phases, total = report["phases"], report["total"]
    # What a small run has none of.
    for phase in phases:
        phase["slowed"]["ns"], phase["stopped"]["ns"] = draw.sample(range(1000, 1 << 30), 2)
    for level in report["store"]["levels"]:
        level |= {
            key: draw.randrange(1 << 20) for key, one in level.items() if isinstance(one, int)
        }
        level["udb_share"] = draw.random()
    total["pages_copied"] = {"flush": 1234, "compaction": 56_789}
    phases[1]["pages_copied"] = {"compaction": 43_210}
    found = tables(page(Simulated(report)))
    body = found["Phases of the workload"][1:]
    for row, phase in zip(body, phases, strict=True):
        waits = [phase["slowed"]["ns"], phase["stopped"]["ns"]]
        seconds = (phase["end_ns"] - phase["start_ns"]) / 1e9
        assert row[0] == phase["name"]
        assert same(row[1:], [phase["operations"], phase["operations"] / seconds, *waits])
    for phase in phases:
        head, *rows = found[f"Latencies of {phase['name']}"]
        assert head == ["operation", "count", "mean", "p50", "p90", "p99", "p99.9", "max"]
        for row in rows:
            of = phase["latency"][row[0]]
            keys = ("count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
            assert same(row[1:], [of[key] for key in keys])
    every = [one["write_amplification"] for one in (*phases, total)]
    rows = found["Bytes programmed into flash for each byte of keys and values"][1:]
    assert {row[0] for row in rows} == {cause for one in every for cause in one}
    assert rows[-1][0] == "total"
    for row in rows:
        assert same(row[1:], [one.get(row[0]) for one in every])
    rows = found["Pages that the drive copied instead of the host writing them"][1:]
    for row in rows:
        counts = [phase["pages_copied"].get(row[0]) for phase in phases]
        assert same(row[1:], [*counts, total["pages_copied"][row[0]]])
    title = "Levels of the store: tables at the end, and the compactions that wrote to it"
    names = ("tables", "compactions", "bytes_read", "bytes_written", "output_blocks")
    for row, level in zip(found[title][1:], report["store"]["levels"], strict=True):
        taken = [level[name] for name in ("reused_blocks", "udb_share", "bytes_shared")]
        assert same(row[1:], [*(level[name] for name in names), *taken])
    # The part of the drive itself is what no page of the host was programmed for.
    parts = dict(total["write_amplification"])
    whole = parts.pop("total")
    own = sum(share for cause, share in parts.items() if cause not in total["pages_written"])
    amplification = r"amplification is ([\d.]+) .* accounts for ([\d.]+) of it"
    report["drive"]["invalidating"] = 0
    answer = re.search(amplification, Simulated(report).answer)
    assert answer
    assert [float(number) for number in answer.groups()] == pytest.approx([whole, own], abs=0.006)


def test_one_interval_of_the_channels_is_no_plot(report: dict[str, Any]) -> None:
    made = copy.deepcopy(report)
    made["channels"]["rows"] = [[0, 0, [0] * CHANNELS], [1000, 5, [500] * CHANNELS]]
    text = page(Simulated(made))
    plots = dict(figures_of(text))
    assert "throughput" in plots
    assert not {"channels", "collection"} & {*plots}
    assert "used for less than two intervals" in text


def test_where_the_time_went_is_in_the_tables(report: dict[str, Any]) -> None:
    _, *rows = tables(page(Simulated(report)))["Where the time of ycsb:a went"]
    assert [row[0] for row in rows] == ["clients", "background work", "write-back"]
    time = report["phases"][1]["time"]
    assert rows[0][-1] == on_page(duration(time["clients"].get("idle_ns", 0)))
    assert rows[1][1] == on_page(duration(time["background"]["processor_ns"]))
