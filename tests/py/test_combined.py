"""The answers of the papers recombined: what is chosen, by what, and what is said of it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from running import refused, ssdlab_command
from ssdlab.reproduce import combined as matrix
from ssdlab.reproduce import paper
from ssdlab.reproduce.combined import (
    NO_COLLECTION,
    OWN,
    PAPERS,
    Combination,
    Combined,
    combined,
    markdown,
    page,
    to_json,
    verdict,
)
from ssdlab.reproduce.command import JSON, MARKDOWN, PAGE
from ssdlab.reproduce.matrix import Workload
from ssdlab.reproduce.result import VERSION

CHOOSER = Workload("MySQL, 25 % live", "synthetic", {})
HELD_OUT = Workload("RocksDB, 25 % live", "synthetic", {})
RECORDED = Workload("MySQL", "recorded", {})
BETTER: Combination = ("slowest first", "G(t)", "selective", "nothing", "oldest")
WASTEFUL: Combination = ("slowest first", "G(t)", "selective", "nothing", "host")


def of(times: Mapping[Combination, float], wasted: Mapping[Combination, float]) -> Combined:
    """Combinations with one time each on every workload, and their write amplification."""
    workloads = (CHOOSER, HELD_OUT, RECORDED)
    values = {
        one: {workload: (time, wasted.get(one, 1.2)) for workload in workloads}
        for one, time in times.items()
    }
    return matrix._chosen(Combined(values, None, None, False, [], {}, {}, False, Path()))


@pytest.fixture
def own() -> dict[Combination, float]:
    """Times of the papers' proposals, of the other reading, and of flash without collection."""
    times = dict(zip(PAPERS.values(), (9e6, 8e6, 7e6), strict=True))
    return {**times, OWN[matrix.OTHER_READING]: 5e6, NO_COLLECTION: 1e6}


def test_the_best_paper_and_the_best_combination_that_wastes_no_more(
    own: dict[Combination, float],
) -> None:
    done = of({**own, BETTER: 3e6, WASTEFUL: 2e6}, {WASTEFUL: 1.21, NO_COLLECTION: 1.0})
    assert done.best == "adaptive-channel"
    assert done.chosen == BETTER
    text = "\n".join(verdict(done))
    assert (
        "Relative to adaptive-channel over the 1 selection workloads: p99.9 write latency 0.429"
        in text
    )
    assert "over the 2 evaluation workloads: " in text
    assert "is reached: a device that never collects has 0.143." in text
    assert "Relative to noc-copyback, oldest first over the same workloads: p99.9 write" in text
    assert (
        "latency 0.600, write amplification 1.000; a device that never collects has 0.200." in text
    )


def test_an_aim_that_is_missed_is_missed(own: dict[Combination, float]) -> None:
    done = of({**own, NO_COLLECTION: 4e6, BETTER: 4.5e6}, {})
    text = "\n".join(verdict(done))
    assert "is not reached: a device that never collects has 0.571, so no policy" in text
    assert "has 0.800, so no policy can be expected to halve it." in text


def test_flash_without_collection_is_not_chosen(own: dict[Combination, float]) -> None:
    done = of(own, {NO_COLLECTION: 1.0})
    assert done.chosen == OWN[matrix.OTHER_READING]


def test_nothing_is_chosen_while_runs_are_missing() -> None:
    done = of({BETTER: 1.0}, {})
    assert done.chosen is None
    assert verdict(done) == ["No combination is selected while runs are missing."]
    assert json.loads(to_json(done))["chosen"] is None


def test_what_is_written_of_it(own: dict[Combination, float]) -> None:
    done = of({**own, BETTER: 3e6}, {})
    values = json.loads(to_json(done))
    answers = {"victims": "slowest first", "at once": "G(t)", "path": "selective"}
    assert values["chosen"] == {**answers, "blocked": "nothing", "first": "oldest"}
    without = [run for run in values["runs"] if run["answers"] is None]
    assert [run["write_p99_9_ns"] for run in without] == [1e6, 1e6, 1e6]
    text, html = markdown(done), page(done)
    for name in ("no collection", *OWN):
        assert name in text
        assert name in html


def test_runs_of_a_small_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two combinations on three workloads and no recorded one."""
    monkeypatch.setattr(matrix, "QUICK_DIVISOR", 32)
    monkeypatch.setattr(paper, "OVERWRITE", 1.0)
    monkeypatch.setattr(matrix, "RECORDED", ())
    monkeypatch.setattr(matrix, "CHOOSE", ("SQLite",))
    monkeypatch.setattr(matrix, "OTHERS", ("RocksDB",))
    rows = PAPERS.values()
    axes = [
        {answer: axis[answer] for answer in dict.fromkeys(row[at] for row in rows)}
        for at, axis in enumerate(matrix.AXES)
    ]
    axes[1].pop("G(t)")
    monkeypatch.setattr(matrix, "AXES", tuple(axes))
    done = combined(quick=True, out=tmp_path / "m", progress=False)
    assert not done.failures
    assert done.best in ("invalidation-rate", "noc-copyback")
    waf = [waf for _, waf in done.values[NO_COLLECTION].values()]
    assert waf == [1.0, 1.0]
    for name in (JSON, MARKDOWN, PAGE):
        assert (tmp_path / "m" / name).read_text(encoding="utf-8")


def test_bad_input(tmp_path: Path) -> None:
    held = tmp_path / JSON
    text = json.dumps({"version": VERSION, "paper": "noc-copyback"})
    held.write_text(text, encoding="utf-8")
    asked = ("compare", "--preset-matrix", "--quick", "--out", str(tmp_path))
    done = ssdlab_command(*asked, cwd=tmp_path)
    refused(done, 2, "of noc-copyback, not of combined")
    refused(ssdlab_command(*asked, "--seed", "0", cwd=tmp_path), 2, "--preset-matrix accepts")
    assert held.read_text(encoding="utf-8") == text
