"""The external checker: random pairs of features, and the table of what it recomputes."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from checking import LOGGED
from pairs import drawn, run_case
from running import ROOT
from ssdlab import _core

sys.path.insert(0, str(ROOT / "tools"))

import check_run
from run_check.checks import pattern
from run_check.coverage import CHECKED, NOT_DERIVABLE, fields
from run_check.inputs import Findings

CASES = 24
SLOW_CASES = 1000


def found_in(folder: Path) -> tuple[Findings, str]:
    """What the checker finds in a folder, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        findings = check_run.check(folder, 5)
    return findings, out.getvalue()


def checked_case(seed: int, folder: Path) -> None:
    names, settings = drawn(seed)
    if run_case(settings, folder / "a"):
        findings, text = found_in(folder / "a")
        assert not findings.counts, f"{names}: {settings}\n{text}"


@pytest.mark.parametrize("seed", range(CASES))
def test_features_in_pairs(seed: int, tmp_path: Path) -> None:
    checked_case(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CASES, SLOW_CASES))
def test_many_features_in_pairs(seed: int, tmp_path: Path) -> None:
    checked_case(seed, tmp_path)
    shutil.rmtree(tmp_path)


def leaves() -> set[str]:
    """Every field of report.json, as the simulator declares it; `*` for keys and places."""
    sections = {one["name"]: one for one in json.loads(_core.report_form())["sections"]}

    def walk(kind: list[Any], path: str) -> Iterator[str]:
        if kind[0] == "nullable":
            yield from walk(kind[1], path)
        elif kind[0] in ("list", "map"):
            yield from walk(kind[1], f"{path}.*")
        elif kind[0] == "section":
            for field in sections[kind[1]]["fields"]:
                yield from walk(field["kind"], f"{path}.{field['name']}".lstrip("."))
        else:
            yield path

    return set(walk(["section", "Report"], ""))


def test_every_field_is_recomputed_or_it_says_why_not() -> None:
    checked, not_derivable = fields(CHECKED), fields(NOT_DERIVABLE)
    assert not checked.keys() & not_derivable.keys()
    assert checked.keys() | not_derivable.keys() == leaves()
