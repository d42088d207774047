"""The answers of the papers, one at a time and together: ratios, what is chosen, what is said."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from running import refused, ssdlab_command
from ssdlab_lab.reproduce.combined import choices, outcome, study
from ssdlab_lab.reproduce.combined.choices import (
    BASE,
    CHANGES,
    FIXED,
    FLOOR,
    ORDERS,
    QUICK_LIVE,
    QUICK_SEEDS,
    QUICK_WORKLOADS,
    TOGETHER,
)
from ssdlab_lab.reproduce.combined.expected import EXPECTED
from ssdlab_lab.reproduce.combined.outcome import (
    MEASURES,
    READS,
    RECORDED,
    WRITES,
    CombinedOutcome,
    Numbers,
    Point,
    Setting,
    chosen,
    direction,
)
from ssdlab_lab.reproduce.combined.page import drawn, effect, markdown, page, to_json, verdict
from ssdlab_lab.reproduce.combined.study import answers_of, combined, scheme_of
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON, VERSION, FolderProperties
from ssdlab_lab.reproduce.matrix import Cell
from ssdlab_lab.reproduce.paper import Scale

BEGUN = FolderProperties("combined", False, {}, "0" * 64, None)
"""Runs of no commit."""

HERE = Setting("oldest first", QUICK_LIVE[0])


def of(factors: Mapping[str, float], orders: Mapping[str, float] | None = None) -> CombinedOutcome:
    """Lines whose numbers are the conventional ones times a factor, a little apart by seed."""
    values: dict[Point, Numbers] = {}
    for order in ORDERS:
        for live in QUICK_LIVE:
            for at, name in enumerate(QUICK_WORKLOADS):
                for line in (*FIXED, FLOOR, TOGETHER):
                    times = factors.get(line, 1.0) * (orders or {}).get(order, 1.0)
                    for seed in QUICK_SEEDS:
                        wobble = 1.0 if line == BASE else 1.0 + 0.001 * seed
                        number = 8.0 * (1 + at) * (1.0 if line == BASE else times * wobble)
                        point = Point(Setting(order, live), name, line, seed)
                        values[point] = dict.fromkeys(MEASURES, number)
    return CombinedOutcome(values, {}, {}, True, [], BEGUN, {}, False, Path())


def test_a_ratio_is_the_geometric_mean_over_workloads_and_seeds() -> None:
    done = of({"selective": 0.5})
    ratio = done.ratio(HERE, "selective", WRITES)
    assert ratio is not None
    assert ratio.n == len(QUICK_SEEDS)
    assert ratio.ratio == pytest.approx(0.5 * (1.001 * 1.002) ** 0.5)
    assert ratio.order == "lower"
    # One workload twice as far: the geometric mean of 0.5 and 2 is 1.
    values = {
        point: {key: 4.0 * (one or 0.0) for key, one in numbers.items()}
        if point.workload == QUICK_WORKLOADS[1] and point.line == "selective"
        else numbers
        for point, numbers in done.values.items()
    }
    both = replace(done, values=values).ratio(HERE, "selective", WRITES)
    assert both is not None
    assert both.ratio == pytest.approx(1.0015, rel=1e-4)


def test_a_missing_run_leaves_the_ratio_out_and_a_missing_measure_its_workload() -> None:
    done = of({"selective": 0.5})
    point = Point(HERE, QUICK_WORKLOADS[0], "selective", 2)
    fewer = {one: numbers for one, numbers in done.values.items() if one != point}
    assert replace(done, values=fewer).ratio(HERE, "selective", WRITES) is None
    without = {
        one: {**numbers, READS: None} if one.workload == QUICK_WORKLOADS[0] else numbers
        for one, numbers in done.values.items()
    }
    ratio = replace(done, values=without).ratio(HERE, "selective", READS)
    assert ratio is not None
    assert ratio.ratio == pytest.approx(0.50075, rel=1e-4)


def test_the_best_answer_to_each_question_is_chosen_if_it_helps() -> None:
    done = of({"one channel": 0.9, "G(t)": 0.6, "as needed": 0.8, "channel": 2.0, "block": 1.0})
    assert chosen(done) == dict.fromkeys(ORDERS, ("as needed", "G(t)"))
    point = next(point for point in done.values if point.line == "block")
    fewer = {one: numbers for one, numbers in done.values.items() if one != point}
    assert point.setting.order not in chosen(replace(done, values=fewer))


def test_what_is_said_of_a_line_and_where_nothing_can_help() -> None:
    done = of({"selective": 0.5, "channel": 3.0, FLOOR: 0.95})
    done = replace(done, together=chosen(done))
    settings = len(ORDERS) * len(QUICK_LIVE)
    assert effect(done, "selective", WRITES).startswith(
        f"write p99.9 in {settings} settings: lower in {settings} (0.50 at collection first, 25 %"
    )
    assert "higher" in effect(done, "channel", READS)
    text = "\n".join(verdict(done))
    assert "collection first at 25 % and 60 %; round robin at 25 % and 60 %" in text
    assert "chosen by MySQL: selective." in text
    assert not done.has_room(HERE, WRITES)
    assert of({FLOOR: 0.5}).has_room(HERE, WRITES)


def test_a_change_within_three_percent_is_none_whatever_its_interval() -> None:
    done = of({"selective": 0.98, "channel": 1.04})
    close, far = (done.ratio(HERE, line, WRITES) for line in ("selective", "channel"))
    assert close is not None
    assert far is not None
    assert close.order == "lower"
    assert (direction(close), direction(far)) == (0, 1)
    assert "no significant change" in effect(done, "selective", WRITES)


def test_the_order_itself_is_compared_with_the_usual_one() -> None:
    done = of({})
    values = {
        point: {key: 3.0 * (one or 0.0) for key, one in numbers.items()}
        if point.setting.order == "host first"
        else numbers
        for point, numbers in done.values.items()
    }
    ratio = replace(done, values=values).order_itself("host first", QUICK_LIVE[0], WRITES)
    assert ratio is not None
    assert ratio.ratio == pytest.approx(3.0)


def test_every_expectation_can_come_out_and_can_fail() -> None:
    patient = {"oldest first": 1.0, "host first": 1.0}
    good = {
        FLOOR: 0.95, "as needed": 0.4, "selective": 0.7, TOGETHER: 1.0, "block": 1.1, "channel": 2,
    }  # fmt: skip
    turns = {"round robin": 0.5, **patient}
    bad = {FLOOR: 0.1, "as needed": 1.2, "selective": 0.9, TOGETHER: 0.9, "block": 0.5}
    last = {"round robin": 2.0}
    for at, one in enumerate(EXPECTED):
        came = one.judge(of(good, turns if at == 2 else None))
        assert came is not None, one.text
        assert came[0], one.text
        failed = one.judge(of(bad, last))
        assert failed is not None, one.text
        assert not failed[0], one.text
        assert one.judge(replace(of({}), values={})) is None


def test_what_is_written_of_it() -> None:
    done = of({"selective": 0.5, FLOOR: 0.3})
    values = {
        **done.values,
        **{
            Point(Setting(order, RECORDED), "Dbench", line, 1): dict.fromkeys(MEASURES, 2.0)
            for order in ORDERS
            for line in (*FIXED, FLOOR)
        },
    }
    done = replace(done, values=values, together=chosen(done))
    found = json.loads(to_json(done))
    assert found["together"]["host first"] == ["selective"]
    assert len(found["runs"]) == len(values)
    recorded = [run for run in found["runs"] if run["source"] == "recorded"]
    assert {run["workload"] for run in recorded} == {"Dbench"}
    text, html = markdown(done), page(done)
    for name in (FLOOR, *FIXED[1:]):
        assert f"| {name} |" in text
        assert name in html
    assert "nan" not in text
    for name, svg in drawn(done).items():
        assert f"({name})" in text
        assert svg.startswith("<svg")


def test_nothing_is_said_while_runs_are_missing() -> None:
    assert verdict(of({})) == ["Runs are missing: no outcome."]
    assert "Runs are missing" in markdown(of({}))


def test_a_line_differs_from_the_conventional_one_in_its_answer_alone() -> None:
    scale = Scale(quick=True, divide_by=32)

    def values(line: str) -> dict[str, object]:
        scheme = scheme_of("oldest first", line, answers_of(line, {}, "oldest first"), scale)
        work = study.workload_of("MySQL", 0.45, 0.5, 1000.0, scale)
        config = Cell(work, scheme).config
        keys = ("gc.victim", "gc.amount", "gc.trigger", "gc.concurrency", "gc.path", "gc.blocking")
        more = ("sched.order", "device.blocks_per_plane")
        return {key: config[key] for key in (*keys, *more)}

    base = values(BASE)
    of_question = {
        "victims": {"gc.victim"},
        "amount": {"gc.amount"},
        "at once": {"gc.concurrency", "gc.trigger"},
        "path": {"gc.path"},
        "blocked": {"gc.blocking"},
    }
    for line, question in CHANGES.items():
        changed = {key for key, value in values(line).items() if value != base[key]}
        assert changed, line
        assert changed <= of_question[question], line
    floor = values(FLOOR)
    assert {key for key in floor if floor[key] != base[key]} == {"device.blocks_per_plane"}


def test_runs_of_a_small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One workload, one live share, two orders and a few lines, to the end and again."""
    monkeypatch.setattr(study, "QUICK_DIVISOR", 64)
    monkeypatch.setattr(study, "WRITTEN", 1.5)
    orders = {name: ORDERS[name] for name in ("collection first", "oldest first")}
    for module in (study, outcome):
        monkeypatch.setattr(module, "ORDERS", orders)
    monkeypatch.setattr(outcome, "QUICK_WORKLOADS", ("MySQL",))
    monkeypatch.setattr(outcome, "QUICK_LIVE", (choices.SWEPT_LIVE,))
    done = combined(quick=True, out=tmp_path / "m", progress=False)
    assert not done.failures
    assert set(done.together) == set(orders)
    floor = done.ratio(Setting("collection first", choices.SWEPT_LIVE), FLOOR, outcome.WAF)
    assert floor is not None
    assert floor.ratio < 1
    for name in (JSON, MARKDOWN, PAGE):
        assert (tmp_path / "m" / name).read_text(encoding="utf-8")
    first = (tmp_path / "m" / JSON).read_text(encoding="utf-8")
    combined(quick=True, out=tmp_path / "m", progress=False)
    assert (tmp_path / "m" / JSON).read_text(encoding="utf-8") == first


def test_bad_input(tmp_path: Path) -> None:
    held = tmp_path / JSON
    text = json.dumps({"version": VERSION, "paper": "noc-copyback"})
    held.write_text(text, encoding="utf-8")
    asked = ("reproduce", "combined", "--quick", "--out", str(tmp_path))
    done = ssdlab_command(*asked, cwd=tmp_path)
    refused(done, 2, "of noc-copyback, not of combined")
    refused(ssdlab_command(*asked, "--readings", cwd=tmp_path), 2, "combined accepts")
    assert held.read_text(encoding="utf-8") == text
