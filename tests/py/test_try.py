"""From a trace to an answer: `ssdlab try` and `ssdlab.try_trace`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import ssdlab
from running import ssdlab_command
from ssdlab.results.answer import AMOUNT
from ssdlab.running import trial

FEW = {name: trial.POLICIES[name] for name in ("greedy", "fifo")}


def written(path: Path, lines: list[tuple[int, str, int]]) -> Path:
    """A trace in MSR's format: time in units of 100 ns, operation, page of 4 KiB."""
    path.write_text(
        "".join(
            f"{128166372003061629 + at},host,0,{op},{4096 * page},4096,0\n"
            for at, op, page in lines
        )
    )
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skewed writes to 9,000 of a million pages, twice as many as pages."""
    draw = random.Random(3)
    pages = [draw.randrange(1 << 20) for _ in range(9000)]
    lines = [(2000 * at, "Write", page) for at, page in enumerate(pages)]
    for at in range(9000, 18000):
        hot = int(9000 * draw.random() ** 3)
        lines.append((2000 * at, "Write" if at % 5 else "Read", pages[hot]))
    return written(tmp_path_factory.mktemp("try") / "skewed.csv", lines)


def test_the_usual_policies_are_tried_on_a_drive_of_the_trace(trace: Path) -> None:
    trial_ = trial.prepared(trace, progress=False)
    assert trial_.left_out == {}
    labels = [one.label for one in trial_.planned if one.first]
    assert labels == [*trial.POLICIES, trial.IDLE]
    assert len(trial_.planned) == len(labels) * (trial.SEEDS.stop - 1)
    done = ssdlab.try_trace(trace, seeds=2, progress=False)
    assert done.completed
    (answer,) = done.answers
    assert "than greedy" in answer.text
    touched = len({line.split(",")[4] for line in trace.read_text().splitlines()})
    for report in done.reports.values():
        device = report.config.values["device"]
        blocks = device["blocks_per_plane"]
        assert touched <= device["user_pages"] < 1.03 * touched
        assert blocks >= trial.FEWEST_BLOCKS
        assert device["channels"] * device["chips_per_channel"] < 32
        assert report.warmup.recommended_requests is None
        assert report.requests.warmup > 0
    assert len(done.repetitions["greedy"]) == 2


def test_seeds_end_with_the_budget_or_when_the_intervals_are_narrow(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = ssdlab.try_trace(trace, policies=FEW, budget_s=0, jobs=1, progress=False)
    assert [len(by_seed) for by_seed in late.repetitions.values()] == [2, 2]
    assert (late.completed, late.not_run) == (True, ())
    monkeypatch.setattr(trial, "NARROW_TIME", 1e9)
    monkeypatch.setattr(trial, "NARROW", {AMOUNT: 1e9})
    wide = ssdlab.try_trace(trace, policies=FEW, budget_s=1e9, jobs=1, progress=False)
    assert [len(by_seed) for by_seed in wide.repetitions.values()] == [3, 3]
    monkeypatch.setattr(trial, "NARROW_TIME", 0.0)
    none = ssdlab.try_trace(trace, policies=FEW, budget_s=1e9, jobs=2, progress=False)
    assert [len(by_seed) for by_seed in none.repetitions.values()] == [10, 10]


def test_a_trace_that_hardly_writes_is_not_run_for_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [(at, "Read", at) for at in range(9000)]
    file = written(tmp_path / "t.csv", [*lines, (9000, "Write", 5)])
    monkeypatch.setattr(trial, "MOST_REQUESTS", 20_000)
    loops = {one.config["workload.loops"] for one in trial.prepared(file, progress=False).planned}
    assert loops == {8 + 2}


def test_the_command_says_what_it_does_and_answers(trace: Path, tmp_path: Path) -> None:
    done = ssdlab_command("try", trace, "--seeds", "2", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = [line.split(" ", 1)[0] for line in done.stderr.splitlines() if line[:1] != " "]
    assert told[:3] == ["trace", "drive", "runs"]
    assert "skewed: 7 configurations, seeds 1 to 2" in done.stdout
    numbers = json.loads((tmp_path / "out" / "compare.json").read_text())
    answer = " ".join(numbers["answer"][0]["sentences"])
    assert answer in " ".join(done.stdout.split())
    unbroken = answer.replace(" %", "\u00a0%")
    assert f'<p class="answer">{unbroken}</p>' in (tmp_path / "out" / "report.html").read_text()
    again = ssdlab_command("try", trace, "--seeds", "2", "--out", "out", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_a_named_drive_gets_as_small_as_the_trace(trace: Path) -> None:
    made = trial.prepared(trace, drive="drive:micron-7450-max-800", progress=False)
    assert made.left_out == {}
    whole = ssdlab.load_config("drive:micron-7450-max-800")
    assert trial.IDLE not in {one.label for one in made.planned}
    for one in made.planned:
        assert one.config["device.user_pages"] < whole["device.user_pages"] / 1000
        assert one.config["gc.trigger"] == whole["gc.trigger"]
        pages = [config["device.pages_per_block"] for config in (one.config, whole)]
        assert pages[0] < pages[1]
        # Erases take the share of a plane's time that they take in the whole drive.
        erase = whole["timing.erase_ns"] * pages[0] / pages[1]
        assert one.config["timing"] == {**whole["timing"], "erase_ns": round(erase)}
    given = {"timing.erase": "2 ms"}
    made = trial.prepared(trace, drive="drive:micron-7450-max-800", set=given, progress=False)
    assert {one.config["timing.erase_ns"] for one in made.planned} == {2_000_000}
    # Blocks of a size that is given stay, and so do their erases.
    given = {"device.pages_per_block": "4"}
    made = trial.prepared(trace, drive="drive:micron-7450-max-800", set=given, progress=False)
    for one in made.planned:
        assert one.config["device.pages_per_block"] == 4
        assert one.config["timing.erase_ns"] == whole["timing.erase_ns"]


def test_a_policy_that_the_drive_refuses_is_left_out(trace: Path) -> None:
    made = trial.prepared(trace, set={"alloc.frontiers": "single"}, progress=False)
    assert set(made.left_out) == {"greedy + sepbit", "cost-benefit + fadac"}
    assert all("frontiers" in why for why in made.left_out.values())
    with pytest.raises(ssdlab.ConfigError, match="frontiers"):
        trial.prepared(
            trace,
            policies={"sepbit": {"alloc.separation": "sepbit"}},
            set={"alloc.frontiers": "single"},
            progress=False,
        )


WRONG = [
    ([(0, "Read", 1), (1, "Read", 2)], [], "writes nothing"),
    ([(at, "Write", at) for at in range(50)], [], "use a longer trace"),
    ([(5, "Write", 1), (1, "Write", 2)], [], "--sort"),
    ([(at, "Write", at) for at in range(50)], ["--drive", "micron"], "no such drive"),
    (
        [(at, "Write", at) for at in range(50)],
        ["--budget", "soon"],
        "--budget soon: expected a time",
    ),
    ([(at, "Write", at) for at in range(50)], ["--set", "gc.victum=fifo"], 'did you mean "victim"'),
    ([], [], "empty"),
]


@pytest.mark.parametrize(("lines", "arguments", "words"), WRONG)
def test_bad_input_is_told_before_anything_runs(
    lines: list[tuple[int, str, int]], arguments: list[str], words: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "t.csv", lines)
    done = ssdlab_command("try", file, *arguments, "--out", "out", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (tmp_path / "out").exists()
