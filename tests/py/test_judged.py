"""How papers are judged: tables, claims, readings and explanations of reports made by hand.

The reports hold numbers drawn from a seed, so that what is judged of them depends on the judging
alone. `make golden` accepts what it says now; read the diff.
"""

import json
import os
import random
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import ROOT
from ssdlab_lab.reproduce import PAPERS, reproduce
from ssdlab_lab.reproduce.command import MARKDOWN
from ssdlab_lab.reproduce.matrix import Cell, Results
from ssdlab_lab.reproduce.papers.adaptive_channel import paper as adaptive_channel
from ssdlab_lab.reproduce.rescore import rescored
from ssdlab_lab.reproduce.tables import geometric_mean
from test_figures import SERIES, values
from test_golden import differences

JUDGED = ROOT / "tests/judged"
VARIED = ("requests", "host", "latency", "flash", "waf", "gc", "device", "little")
STEPS = 40
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
SECOND = 10**9


@cache
def base() -> dict[str, Any]:
    """The report that the numbers are drawn around."""
    found: dict[str, Any] = json.loads(values())
    found["time"] |= {"measured_from": 0, "simulated": STEPS * 5 * SECOND}
    return found


def drawn(value: Any, draw: random.Random) -> Any:  # noqa: ANN401 - parsed JSON
    """Every number in `value` between half of it and twice as much."""
    if isinstance(value, dict):
        return {key: drawn(one, draw) for key, one in value.items()}
    if isinstance(value, list):
        return [drawn(one, draw) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    changed = value * draw.uniform(0.5, 2.0)
    return round(changed) if isinstance(value, int) else changed


def report(cell: Cell) -> ssdlab.Report:
    """A report of a run that was never made."""
    draw = random.Random(f"{cell.workload.name} {cell.scheme.name} {cell.seed} {cell.reading}")
    found = {**base(), "config": json.loads(json.dumps(cell.config.values))}
    found |= {name: drawn(found[name], draw) for name in VARIED}
    found["device"]["used_ratio"] = draw.uniform(0.5, 0.75)
    rows: dict[str, list[int]] = {}
    for name in SERIES:
        steps = [draw.randrange(1000) for _ in range(STEPS)]
        rises = name.startswith("host_") or name in ("gc_programs", "all_programs", "erases")
        rows[name] = [sum(steps[: i + 1]) for i in range(STEPS)] if rises else steps
    rows["time_ns"] = [5 * SECOND * (i + 1) for i in range(STEPS)]
    lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    return ssdlab.Report.of(json.dumps(found), "\n".join([",".join(rows), *lines]) + "\n")


def kept(told: dict[str, Any], text: str) -> dict[str, Any]:
    """What depends on the judging, without the words of the claims; how much the page holds."""
    readings = told["other_readings"]
    return {
        "tables": {table["key"]: [table["columns"], table["rows"]] for table in told["tables"]},
        "figures": {
            figure["key"]: [
                [curve["name"], len(curve["x"]), curve["x"][-1], sum(v or 0 for v in curve["y"])]
                for curve in figure["curves"]
            ]
            for figure in told["figures"]
        },
        "claims": [claim["findings"] for claim in told["claims"]],
        "scores": told["scores"],
        "fill": told["fill"],
        "readings": [
            {**one, "score": one["score"]["ours"], "verdicts": list(one["verdicts"].values())}
            for one in readings["readings"]
        ],
        "explanations": [one["finding"] for one in readings["explanations"]],
        "page": {mark: text.count(f"\n{mark}") for mark in ("## ", "### ", "| ", "- ")},
    }


def by_hand(
    cells: Sequence[Cell], *_: object
) -> tuple[dict[Cell, ssdlab.Report], dict[str, str], bool]:
    """In place of runs: the report of every cell."""
    return {cell: report(cell) for cell in cells}, {}, False


@pytest.mark.parametrize("name", PAPERS)
def test_reports_by_hand_are_judged_as_before(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # without recorded traces
    monkeypatch.setattr("ssdlab_lab.reproduce.command.run_cells", by_hand)
    done = reproduce(name, quick=True, out="out", progress=False, readings=True)
    told = kept(json.loads(done.to_json()), (tmp_path / "out" / MARKDOWN).read_text())
    file = JUDGED / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    found = differences("", json.loads(file.read_text(encoding="utf-8")), told)
    assert not found, "\n".join(["`make golden` accepts:", *found])


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_is_scored_anew_from_its_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is as written from the results themselves but for the last digits of the errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ssdlab_lab.reproduce.command.run_cells", by_hand)
    reproduce(name, quick=True, out="out", progress=False)
    page = (tmp_path / "out" / MARKDOWN).read_text()
    made = rescored(PAPERS[name], page.replace(" (near)", "").replace("| loss |", "| lost |"))
    assert len(made.splitlines()) == len(page.splitlines())
    for before, after in zip(page.splitlines(), made.splitlines(), strict=True):
        if before != after:
            assert NUMBER.sub("", before) == NUMBER.sub("", after)
            both = [[float(n.replace(",", "")) for n in NUMBER.findall(t)] for t in (before, after)]
            assert both[0] == pytest.approx(both[1], rel=0.005, abs=0.02)
    assert rescored(PAPERS[name], made) == made
    with pytest.raises(ValueError, match="no table 'Table "):
        rescored(PAPERS[name], page.replace("### Table", "### Tabelle"))
    with pytest.raises(ValueError, match="Decisions and findings"):
        rescored(PAPERS[name], page.replace("## Decisions", "## Decision"))


def test_half_of_the_logarithm_of_the_published_gain_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The geometric mean of the gammas of table 6 is 1.4425, its root 1.2010."""
    one, real = PAPERS["adaptive-channel"], geometric_mean
    claim, none = one.claims(one.workloads)[0], Results([], {})
    assert "holds from 1.201," in claim.metric
    for mean, verdict in ((1.2011, "holds"), (1.2009, "does not hold"), (None, "undecided")):

        def fixed(values: Sequence[float | None], mean: float | None = mean) -> float | None:
            return real(values) if any(values) else mean

        monkeypatch.setattr(adaptive_channel, "geometric_mean", fixed)
        assert claim.judge(none, "synthetic").verdict == verdict
