"""Other readings of the papers: what is run, how it is judged, and where it is shown."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from running import one_workload, ssdlab_command, with_any_calibration
from ssdlab_lab.reproduce import Reproduction, paper, reproduce
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.folders import JSON
from ssdlab_lab.reproduce.matrix import Results
from ssdlab_lab.reproduce.paper import Scale
from ssdlab_lab.reproduce.papers import PAPERS, READINGS
from ssdlab_lab.reproduce.readings import AS_RUN, Evidence, PaperReadings, cells_by_reading
from ssdlab_lab.reproduce.scoring import score

QUICK, FULL = Scale(quick=True), Scale(quick=False)
PATTERN = (
    *("gap_cv", "read_recent", "same_size", "sequential_writes"),
    *("short_gaps", "train_cv", "train_gap"),
)
"""Keys that `workload.pattern` sets."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of a sixteenth of the size, and few readings."""
    monkeypatch.setattr(paper, "QUICK", 16)
    monkeypatch.setattr(paper, "OVERWRITE", 1.0)
    with_any_calibration(monkeypatch)


def few(monkeypatch: pytest.MonkeyPatch, name: str, *kept: str) -> None:
    """Only these readings, and no explanation."""
    readings = READINGS[name]
    several = tuple(one for one in readings.several if one.name in kept)
    assert len(several) == len(kept)
    monkeypatch.setitem(READINGS, name, replace(readings, several=several, explanations=()))


def of(name: str, out: Path, *, readings: bool = True) -> Reproduction:
    return reproduce(
        name,
        quick=True,
        workloads=[one_workload(name)],
        out=out,
        progress=False,
        readings=readings,
    )


def test_every_paper_has_other_readings() -> None:
    assert list(READINGS) == list(PAPERS)


@pytest.mark.parametrize("name", READINGS)
@pytest.mark.parametrize("scale", [QUICK, FULL])
def test_every_run_has_a_place_and_a_title_of_its_own(name: str, scale: Scale) -> None:
    how = READINGS[name]
    plan = cells_by_reading(how, scale, how.paper.workloads)
    assert list(plan) == [AS_RUN, *(one.name for one in how.several)]
    main = how.paper.cells(scale, how.paper.workloads, {})
    cells = [*dict.fromkeys([*main, *(cell for cells in plan.values() for cell in cells)])]
    assert len({cell.folder for cell in cells}) == len(cells)
    assert len({cell.title for cell in cells}) == len(cells)


@pytest.mark.parametrize("name", READINGS)
def test_main_runs_are_not_run_again_at_the_same_scale(name: str) -> None:
    how = READINGS[name]
    names = [one_workload(name)]
    main = how.paper.cells(QUICK, names, {})
    assert {*cells_by_reading(how, QUICK, names)[AS_RUN]} <= {*main}
    full = cells_by_reading(how, FULL, names)[AS_RUN]
    assert {cell.reading for cell in full} == {AS_RUN}


@pytest.mark.parametrize("name", READINGS)
def test_a_reading_changes_what_it_says_and_nothing_else(name: str) -> None:
    how = READINGS[name]
    plan = cells_by_reading(how, QUICK, [one_workload(name)])
    before = {cell.scheme.name: cell.config.values for cell in plan[AS_RUN]}
    for reading in how.several:
        changed = set()
        for cell in plan[reading.name]:
            if cell.scheme.name not in before or cell.seed != 1:
                continue
            after = cell.config.values
            changed |= {
                (table, key.removesuffix("_ns"))
                for table, values in after.items()
                if isinstance(values, dict)
                # Keys at some defaults are left out.
                for key in {*values, *before[cell.scheme.name][table]}
                if values.get(key) != before[cell.scheme.name][table].get(key)
            }
        assert changed, reading.name
        said = {
            *reading.keys,
            *reading.requests,
            *(reading.device(QUICK) if reading.device else ()),
        }
        said |= {key for keys in reading.of.values() for key in keys}
        said |= {"workload.arrival"} if reading.load != 1.0 else set()
        lives = reading.live is not None
        said |= {"precondition.fill", "workload.span"} if lives else set()
        said |= {"workload.cycle"} if reading.phases is not None else set()
        said |= {"precondition.fill"} if reading.filled else set()
        if how.longest and reading.arrivals_of != AS_RUN:
            # Calibrated on its own baseline; what depends on the load with it.
            said |= {"workload.arrival", "metrics.interval"}
        allowed = {tuple(key.split(".")[:2]) for key in said}
        derived = {("interconnect", key) for key in ("mean_path", "rounding", "columns", "rows")}
        sizes = {"device.over_provisioning", "device.user_capacity"}
        derived |= {("device", "user_pages")} if said & sizes else set()
        derived |= {("workload", key) for key in PATTERN if "workload.pattern" in said}
        assert changed - derived <= allowed, reading.name


@pytest.mark.parametrize("name", READINGS)
def test_explanations_are_of_claims_that_there_are(name: str) -> None:
    how = READINGS[name]
    claims = [claim.text for claim in how.paper.claims(how.paper.workloads)]
    for one in how.explanations:
        assert sum(text.startswith(one.claim) for text in claims) == 1, one.claim


@pytest.mark.parametrize("name", READINGS)
def test_without_runs_only_published_numbers_explain_anything(name: str) -> None:
    how = READINGS[name]
    names = how.paper.workloads
    main = Results(how.paper.cells(QUICK, names, {}), {})
    plan = cells_by_reading(how, QUICK, names)
    evidence = Evidence(names, main, {one: Results(cells, {}) for one, cells in plan.items()})
    for one in how.explanations:
        told = one.judge(evidence).verdict
        assert told == ("holds" if "published" in one.metric else "undecided"), one.metric


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("adaptive-channel", ("one victim at a time for all",)),
        ("invalidation-rate", ("in turn", "60 % live")),
        ("noc-copyback", ("oldest first",)),
        ("deferred-gc-raid", ("idle collection alone", "independent requests")),
    ],
)
def test_readings_are_judged_as_the_main_runs(
    name: str, kept: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, name, *kept)
    done = of(name, tmp_path / "out")
    assert not done.failures
    read = done.readings
    assert read is not None
    assert [one.name for one in read.outcomes] == [AS_RUN, *kept]
    how = READINGS[name]
    compared = {table.key for table in how.compared(_results(name, tmp_path), [one_workload(name)])}
    tables = [table for table in done.tables if table.key in compared]
    as_run, main_score = read.outcomes[0].score, score(tables, "synthetic", how.paper.proposed)
    # Readings have one seed.
    main_score = done.by_seed[0] if done.by_seed else main_score
    # A reading need not run all baselines, so that it may have fewer pairs and latencies.
    assert (as_run.ours, as_run.correlation, as_run.met) == (
        main_score.ours,
        main_score.correlation,
        main_score.met,
    )
    assert as_run.measures == main_score.measures
    assert as_run.with_proposed.pairs <= main_score.with_proposed.pairs
    # Without published latencies there are no pairs.
    assert (as_run.with_proposed.pairs > 0) == (name != "deferred-gc-raid")
    main = {one.claim.text: one.findings["synthetic"].verdict for one in done.claims}
    for one in read.outcomes:
        assert one.made == one.runs
        assert len(one.verdicts) == len(read.claims)
    told = zip(read.claims, read.outcomes[0].verdicts, strict=True)
    assert all(verdict in {main[claim.text], "undecided"} for claim, verdict in told)
    failed = {text for text, verdict in main.items() if verdict == "does not hold"}
    assert failed == {*read.explained}
    _shown(done, read, tmp_path / "out")


def _results(name: str, out: Path) -> Results:
    cells = cells_by_reading(READINGS[name], QUICK, [one_workload(name)])[AS_RUN]
    reports = {cell: report for cell in cells if (report := cell.stored(out / "out")) is not None}
    assert len(reports) == len(cells)
    return Results(cells, reports)


def _shown(done: Reproduction, read: PaperReadings, out: Path) -> None:
    values = json.loads((out / JSON).read_text())["other_readings"]
    assert [one["name"] for one in values["readings"]] == [one.name for one in read.outcomes]
    assert values["divided_by"] == 16
    for file in (PAGE, MARKDOWN):
        text = (out / file).read_text()
        assert "Other readings" in text
        assert all(one.name in text for one in read.outcomes)
    assert all(one.name in done.summary() for one in read.outcomes)


@pytest.mark.usefixtures("small")
def test_without_the_flag_nothing_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, "noc-copyback", "oldest first")
    out = tmp_path / "out"
    done = of("noc-copyback", out, readings=False)
    assert done.readings is None
    assert "other_readings" not in json.loads((out / JSON).read_text())
    for file in (PAGE, MARKDOWN):
        assert "Other readings" not in (out / file).read_text()
    before = {one.name: one.stat().st_mtime_ns for one in (out / "runs").iterdir()}
    # With it the same folder is gone on with: what is there stays.
    of("noc-copyback", out)
    after = {one.name: one.stat().st_mtime_ns for one in (out / "runs").iterdir()}
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 2


@pytest.mark.usefixtures("small")
def test_explanations_are_tested_on_the_runs(tmp_path: Path) -> None:
    """All of them, on one workload: they tell what they can."""
    done = of("invalidation-rate", tmp_path / "out")
    assert done.readings is not None
    assert not done.failures
    verdicts = {"holds", "does not hold", "undecided"}
    for several in done.readings.explained.values():
        assert all(one.finding.verdict in verdicts for one in several)


def test_the_command_has_the_flag(tmp_path: Path) -> None:
    assert "--readings" in ssdlab_command("reproduce", "--help", cwd=tmp_path).stdout
