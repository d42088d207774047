"""The external checker compares phases: logs by hand, against the rules of docs/model.md."""

from __future__ import annotations

from pathlib import Path

import pytest

import checking  # noqa: F401 - it makes the tools importable
from run_check.inputs import Findings, Geometry, Op, Report
from run_check.phases import Phases
from run_check.requests import Requests
from test_check_run import REQUEST_HEADER, Run, parse

TIMING: dict[str, object] = {
    "model": "pipelined",
    "read_types_ns": [50, 60, 71],
    "program_types_ns": [500, 700, 900],
    "read_ns": 60,
    "program_ns": 700,
    "erase_ns": 2000,
    "transfer_ns": 21,
    "sram_ns": 3,
}
REQUESTS = """
    0,0,0,read,5,3,0,900,0,200,700,0,0,ab
    1,0,0,write,9,1,0,900,0,200,700,0,0,
    2,0,0,read,20,2,0,900,0,200,700,0,0,ab
"""
SECTORS = ("", "", "82,3")
"""First sector and sectors of each; older logs have none. A page has four."""


def op(
    kind: str,
    page: int,
    bus: int,
    array: int,
    *,
    cause: str = "host",
    lpn: int = 5,
    request: int = 0,
    plane: int = 0,
) -> Op:
    """An operation with phases of these lengths."""
    on_bus = (10, 10 + bus) if bus else (-1, -1)
    place = (0, 0, plane, 0, page)
    times = (0, 0, 4000, *on_bus, 1000, 1000 + array)
    return Op(2, kind, cause, *place, lpn, 1, request, *times)


def violations(folder: Path, ops: list[Op], timing: dict[str, object]) -> int:
    """How many phases the checker finds wrong."""
    device = {"bits": 3, "word_line": 6, "page_bytes": 2048}
    config = {"timing": {**TIMING, **timing}, "device": device, "gc": {"path": "controller"}}
    report = Report({"config": config, "requests": {"warmup": 0}})
    lines = zip(REQUESTS.split(), SECTORS, strict=True)
    text = "\n".join(f"{line},,,{sectors or ','}" for line, sectors in lines)
    header = f"{REQUEST_HEADER},sources,durability,sector,sectors"
    Run(report.values, [], parse(header, text), request_header=header).write(folder)
    findings = Findings(5)
    geometry = Geometry(1, 1, 4, 8, 12, "chip")
    phases = Phases(geometry, report, Requests(folder, report, findings), findings)
    for next_op in ops:
        phases.take(next_op)
    phases.finish()
    return findings.counts["phase"]


CASES: dict[str, tuple[list[Op], bool]] = {
    "a read": ([op("read", 0, 27, 50)], False),
    "of the second type": ([op("read", 2, 27, 60)], False),
    "of the third": ([op("read", 11, 27, 71)], False),
    "a program": ([op("program", 3, 27, 700)], False),
    "two pages": ([op("program", 1, 54, 700), op("program", 2, 54, 700, plane=1)], False),
    "a copy": ([op("read", 4, 24, 71, cause="gc")], False),
    "an erase": ([op("erase", -1, 0, 2000)], False),
    # A sector of four takes 5.25 ns.
    "one sector": ([op("read", 0, 6 + 5, 50)], True),
    "two sectors": ([op("read", 0, 6 + 11, 50, lpn=7)], True),
    "the page between": ([op("read", 0, 27, 50, lpn=6)], True),
    "a sector of the last page": ([op("read", 0, 6 + 5, 50, lpn=21, request=2)], True),
    "two of the first": ([op("read", 0, 6 + 11, 50, lpn=20, request=2)], True),
    "the rest of a written page": ([op("read", 0, 27, 50, cause="rmw", lpn=9, request=1)], True),
}
WRONG: dict[str, tuple[list[Op], bool]] = {
    "the time of another type": ([op("read", 2, 27, 50)], False),
    "the mean": ([op("read", 0, 27, 60)], False),
    "the time of the faster page": (
        [op("program", 1, 54, 500), op("program", 2, 54, 500, plane=1)],
        False,
    ),
    "a page of two on the bus": (
        [op("program", 1, 27, 700), op("program", 2, 27, 700, plane=1)],
        False,
    ),
    "a part where pages cross whole": ([op("read", 0, 11, 50)], False),
    "half a sector": ([op("read", 0, 6 + 3, 50)], True),
    "more than the last page is asked for": ([op("read", 0, 27, 50, lpn=21, request=2)], True),
    "less than the first": ([op("read", 0, 6 + 5, 50, lpn=20, request=2)], True),
    "a part of the page between": ([op("read", 0, 11, 50, lpn=6)], True),
    "a part of a copy": ([op("read", 0, 3 + 5, 50, cause="gc")], True),
    "a part of the rest": ([op("read", 0, 11, 50, cause="rmw", lpn=9, request=1)], True),
    "a program in part": ([op("program", 0, 11, 500)], True),
}


@pytest.mark.parametrize("case", CASES)
def test_phases_of_a_log_are_those_of_the_configuration(case: str, tmp_path: Path) -> None:
    ops, partial = CASES[case]
    assert violations(tmp_path, ops, {"partial": partial}) == 0


@pytest.mark.parametrize("case", WRONG)
def test_a_phase_of_another_length_is_found(case: str, tmp_path: Path) -> None:
    ops, partial = WRONG[case]
    assert violations(tmp_path, ops, {"partial": partial}) == 1


def test_the_serial_model_has_no_phases(tmp_path: Path) -> None:
    assert violations(tmp_path, [op("read", 0, 1, 1)], {"model": "serial"}) == 0
