"""The external checker counts suspensions: logs by hand, against the rules of docs/model.md."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

import checking  # noqa: F401 - it makes the tools importable
from run_check.inputs import Findings, Op, Report
from run_check.requests import Requests
from run_check.suspensions import Suspensions
from test_check_run import REQUEST_HEADER, Run, parse

TIMES = {"suspend": "both", "suspend_ns": 20, "resume_ns": 5, "suspend_limit": 3}
FREE: dict[str, object] = {"suspend_ns": 0, "resume_ns": 0}


def program(end: int, array_end: int, *, cut: bool = False) -> Op:
    """A program of the host: 50 ns on the bus, 200 ns in the array."""
    array = (50, array_end) if array_end > 50 else (-1, -1)
    return Op(2, "program", "host", 0, 0, 0, 0, 0, 5, 1, 0, 0, 0, end, 0, 50, *array, cut)


def read(line: int, queued: int, start: int, end: int, request: int = 1) -> Op:
    """A read of the host on the same chip."""
    place = (0, 0, 0, 1, 0, 7, 1, request)
    return Op(line, "read", "host", *place, queued, start, end, -1, -1, start, end)


REQUESTS = """
    0,0,0,write,5,1,0,250,0,200,50,0,0,
    1,0,0,read,7,1,90,130,20,20,0,0,0,ab
    2,0,0,read,8,1,95,195,60,40,0,0,0,ab
"""
CASES: dict[str, tuple[list[Op], dict[str, object], int, tuple[int, int]]] = {
    "one": ([program(305, 305), read(3, 90, 110, 140)], {}, 0, (1, 1)),
    # The second read follows at once, in the same suspension.
    "two reads": (
        [program(325, 325), read(3, 90, 110, 140), read(4, 120, 140, 160)],
        {},
        0,
        (1, 1),
    ),
    # A read that is gone has suspended it once more: 25 ns without one.
    "a read that is gone": ([program(330, 330), read(3, 90, 110, 140)], {}, 0, (2, 2)),
    # The read of request 1 is gone, and another one came meanwhile.
    "a read in place of one that is gone": (
        [program(305, 305), read(3, 100, 110, 140, 2)],
        {},
        0,
        (1, 1),
    ),
    # The array begins at 50 ns: what suspends it then has no time before the cut.
    "a cut when the array begins": ([program(50, 50, cut=True)], {}, 0, (0, 1)),
    "a cut while a read runs": (
        [program(130, 130, cut=True), read(3, 90, 110, 130)],
        {},
        0,
        (1, 2),
    ),
    # Up to two suspensions without a read have come and gone.
    "a cut after reads that are gone": ([program(100, 100, cut=True)], {}, 0, (0, 3)),
    "a cut in the warm-up": ([program(100, 100, cut=True)], {}, 101, (0, 0)),
    # The first suspension is at the first instant of the measurement.
    "as the measurement begins": (
        [program(305, 305), read(3, 90, 110, 140)],
        {},
        90,
        (0, 1),
    ),
    # One read may have ended the suspension, and the other one begun one more, at 140 ns.
    "in no time": (
        [program(300, 300), read(3, 90, 110, 140), read(4, 140, 140, 160)],
        FREE,
        0,
        (1, 3),
    ),
}


def checked(
    folder: Path, ops: list[Op], timing: dict[str, object], measured_from: int
) -> tuple[dict[str, int], tuple[int, int]]:
    """What the checker finds in a log, and how many suspensions there may be."""
    times = {"program_ns": 200, "erase_ns": 1000, **TIMES, **timing}
    report = Report({"config": {"timing": times}, "requests": {"warmup": 0}})
    Run(report.values, [], parse(REQUEST_HEADER, REQUESTS)).write(folder)
    findings = Findings(5)
    suspensions = Suspensions(report, Requests(folder, report, findings), measured_from, findings)
    for op in ops:
        suspensions.take(op, 0)
    with contextlib.redirect_stdout(io.StringIO()):
        suspensions.finish()
    most = suspensions.counts["host"]
    return dict(findings.counts), (most - suspensions.unsure["host"], most)


@pytest.mark.parametrize("case", CASES)
def test_suspensions_of_a_log_are_counted(case: str, tmp_path: Path) -> None:
    ops, timing, measured_from, counted = CASES[case]
    assert checked(tmp_path, ops, timing, measured_from) == ({}, counted)


WRONG: dict[str, tuple[list[Op], dict[str, object]]] = {
    "longer than its suspension": ([program(306, 306), read(3, 90, 110, 140)], {}),
    "shorter": ([program(304, 304), read(3, 90, 110, 140)], {}),
    "before the array begins": ([program(305, 305), read(3, 40, 60, 90)], {}),
    "before the array works again": (
        [program(360, 360), read(3, 90, 110, 140), read(4, 140, 164, 194)],
        {},
    ),
    "with too little left": ([program(305, 305), read(3, 90, 260, 290)], {}),
    "too often": ([program(305, 305), read(3, 90, 110, 140)], {"suspend_limit": 0}),
    "too often, without reads": ([program(350, 350)], {"suspend_limit": 3}),
    "for nothing that had arrived": ([program(305, 305), read(3, 90, 105, 135, 2)], {}),
    "inside what a cut ended before its array began": (
        [program(50, 50, cut=True), read(3, 0, 20, 45)],
        {},
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_log_that_breaks_a_rule_is_found(case: str, tmp_path: Path) -> None:
    ops, timing = WRONG[case]
    assert checked(tmp_path, ops, timing, 0)[0] == {"suspension": 1}
