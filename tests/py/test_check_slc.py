"""The external checker tells SLC blocks from others, and what must hold of them: logs by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import checking  # noqa: F401 - it makes the tools importable
from run_check.inputs import OP_COLUMNS, OPS, Findings, Geometry, Op, Report, numbers, rows
from run_check.page_types import PageTypes
from run_check.slc import SlcBlocks
from test_check_run import OP_HEADER, Run, parse

CONFIG = {
    "device": {"bits": 2, "word_line": 2},
    "timing": {"read_ns": 60, "program_ns": 700, "program_types_ns": [500, 900]},
    "slc": {"mode": "dynamic", "read_ns": 20, "program_ns": 100},
}
GEOMETRY = Geometry(1, 1, 1, 3, 4, "plane")


def line(kind: str, cause: str, block: int, page: int | str, start: int, took: int) -> str:
    """A line of one plane: `page` is empty for an erase."""
    end = start + took
    return f"{kind},{cause},0,0,0,{block},{page},5,1,0,{start},{start},{end},,,{start},{end}"


def programs(cause: str, block: int, times: list[int], start: int) -> list[str]:
    """Programs of the pages of a block, one after the other."""
    return [
        line("program", cause, block, page, start + 1000 * page, took)
        for page, took in enumerate(times)
    ]


def erase(cause: str, block: int, start: int) -> str:
    """An erase."""
    return f"erase,{cause},0,0,0,{block},,,,,{start},{start},{start + 50},,,{start},{start + 50}"


def checked(folder: Path, lines: list[str]) -> tuple[list[bool], list[int], dict[str, int]]:
    """Whether each operation is on an SLC block, its time by the rules, and the findings."""
    report = Report({"config": CONFIG})
    Run(report.values, parse(OP_HEADER, "\n".join(lines)), []).write(folder)
    findings = Findings(5)
    slc, types = SlcBlocks(report, GEOMETRY, findings), PageTypes(report)
    slc.scan(folder)
    types.slc = slc
    kinds, times = [], []
    for number, fields in rows(folder / OPS, OP_COLUMNS, "outcome"):
        op = Op._make((number, *fields[:2], *numbers(OPS, number, fields[2:-1]), False))
        kinds.append(slc.is_slc(op))
        times.append(0 if op.kind == "erase" else types.array_ns(op))
        slc.take(op, op.start, 0)
    return kinds, times, dict(findings.counts)


def test_blocks_are_told_by_their_pages_between_two_erases(tmp_path: Path) -> None:
    log = [
        *programs("host", 0, [100, 100], 0),
        erase("fold", 0, 10_000),
        *programs("host", 0, [500, 900, 500, 900], 20_000),
        erase("gc", 0, 30_000),
    ]
    kinds, times, found = checked(tmp_path, log)
    assert kinds == [True] * 3 + [False] * 5
    assert times == [100, 100, 0, 500, 900, 500, 900, 0]
    assert not found


def test_blocks_that_stay_are_told_by_their_copies_or_their_fastest_program(
    tmp_path: Path,
) -> None:
    log = [
        *programs("host", 0, [130, 100], 0),
        *programs("host", 1, [500, 900], 10_000),
        *programs("fold", 2, [500, 900], 20_000),
    ]
    kinds, times, found = checked(tmp_path, log)
    assert kinds == [True, True, False, False, False, False]
    assert times == [100, 100, 500, 900, 500, 900]
    assert not found


@pytest.mark.parametrize(
    ("times", "cause", "rule"),
    [
        ([100], "fold", "slc-pages"),
        ([500, 900, 500], "gc", "slc-pages"),
        ([100, 100], "gc", "slc-cause"),
        ([500, 900, 500, 900], "fold", "slc-cause"),
    ],
)
def test_a_block_of_another_length_or_cause_is_found(
    times: list[int], cause: str, rule: str, tmp_path: Path
) -> None:
    log = [*programs("host", 0, times, 0), erase(cause, 0, 10_000)]
    assert checked(tmp_path, log)[2] == {rule: 1}


def test_an_slc_block_with_too_many_pages_has_the_times_of_others(tmp_path: Path) -> None:
    """So every page of it is found by its time."""
    log = programs("host", 0, [100, 100, 100], 0)
    assert checked(tmp_path, log)[1] == [500, 900, 500]
