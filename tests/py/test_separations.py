"""The study of separation policies: who wins, and that lines differ in their separation alone."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from running import refused, ssdlab_command
from ssdlab.reproduce.command import JSON, MARKDOWN, PAGE
from ssdlab.reproduce.separations import (
    APART,
    CELLS,
    LINES,
    OPEN,
    PUBLIC,
    SPARES,
    USUAL,
    VICTIMS,
    WORKLOADS,
    Place,
    Separations,
    markdown,
    page,
    places,
    scheme_of,
    to_json,
    verdict,
    workload_of,
)
from ssdlab.results.report import Report


def of(best: str, spread: float) -> Separations:
    """Reports in which `best` has the lowest write amplification, by 1."""

    def report(place: Place, seed: int) -> Report:
        waf = 2.0 + (place[3] != best) + spread * seed
        return cast("Report", SimpleNamespace(waf=SimpleNamespace(total=waf)))

    reports = {(place, seed): report(place, seed) for place in places() for seed in (1, 2, 3)}
    return Separations(reports, False, {}, False, Path())


def test_a_line_wins_where_its_interval_lies_below_the_others() -> None:
    clear, wide = of("dac", 0.001), of("dac", 1.0)
    assert clear.best("uniform", "greedy", USUAL) == "dac"
    assert wide.best("uniform", "greedy", USUAL) is None
    assert all("dac on uniform, Zipf 0.6" in text for text in verdict(clear))
    assert all("nobody alone on uniform" in text for text in verdict(wide))
    text, html = markdown(clear), page(clear)
    assert "**2.002 ± 0.002**" in text
    assert "2.002 ± 0.002" in html
    assert "**2.0" not in html
    runs = json.loads(to_json(clear))["runs"]
    assert len(runs) == 3 * (len(WORKLOADS) * len(VICTIMS) * len(SPARES) * len(LINES) + len(CELLS))


def test_lines_differ_in_their_separation_alone() -> None:
    assert set(OPEN) == set(CELLS) <= set(LINES)
    plain: dict[str, Any] = dict(scheme_of(("uniform", "greedy", USUAL, APART), False).keys)
    for line, keys in LINES.items():
        found: dict[str, Any] = dict(scheme_of(("uniform", "greedy", USUAL, line), False).keys)
        assert {key for key in found if found[key] != plain.get(key)} == set(keys)
    more = scheme_of(("Zipf 0.99", "greedy", USUAL, f"dac, {PUBLIC}"), False).keys
    assert more["device.blocks_per_plane"] == 1024 + 1 + 3
    hot = workload_of(("hot/cold 90/10", "greedy", 0.28, "dac"), False).keys
    assert (hot["workload.hot_space"], hot["workload.hot_access"]) == (0.1, 0.9)


def test_missing_runs_decide_nothing() -> None:
    done = Separations({}, False, {}, True, Path())
    assert done.best("uniform", "greedy", USUAL) is None
    assert "Interrupted" in done.remarks()[0]
    assert "| dac | –" in markdown(done)


@pytest.mark.slow
def test_the_quick_page(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    done = ssdlab_command("compare", "--separations", "--quick", "--out", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Lowest with greedy victims" in done.stdout
    for name in (JSON, MARKDOWN, PAGE):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    assert min(run["waf"] for run in values["runs"]) > 1


@pytest.mark.parametrize("also", [("--seed", "0"), ("--preset-matrix",)])
def test_bad_input(also: tuple[str, ...], tmp_path: Path) -> None:
    done = ssdlab_command("compare", "--separations", *also, cwd=tmp_path)
    refused(done, 2, "accepts only --quick, --jobs")
