"""Rows of a sweep as data frames, where pandas or Polars is installed."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import SMALL

OP = "device.over_provisioning"


@pytest.fixture(scope="module")
def swept() -> ssdlab.Sweep:
    """Four points, of which one fails: it has a reason instead of numbers."""
    vary: dict[str, list[object]] = {OP: [0.2, 0.3], "gc.reserve": [2, 6]}
    few = {**SMALL, "workload.requests": 500}
    return ssdlab.sweep("greedy-8ch", vary=vary, set=few, progress=False)


def _same(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert [[*row] for row in rows] == [[*row] for row in expected]
    for row, wanted in zip(rows, expected, strict=True):
        for key, value in wanted.items():
            found = row[key]
            is_missing = found is None or (isinstance(found, float) and math.isnan(found))
            assert is_missing if value is None else found == value, key


def test_pandas_has_the_rows(swept: ssdlab.Sweep) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = swept.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    _same(frame.to_dict("records"), [*swept.rows])
    assert frame.groupby(OP)["waf"].mean().index.tolist() == [0.2, 0.3]


def test_polars_has_the_rows(swept: ssdlab.Sweep, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = swept.to_polars()
    assert isinstance(frame, polars.DataFrame)
    _same(frame.to_dicts(), [*swept.rows])
    frame.write_csv(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().startswith(f"{','.join(swept.rows[0])}\n")


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(
    name: str, swept: ssdlab.Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ssdlab.OutputError, match=f"pip install {name}"):
        getattr(swept, f"to_{name}")()
