"""The study of predictions beside drives at full size."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import ssdlab
from running import ROOT, refused, signalled_at, ssdlab_command
from ssdlab.errors import ConfigError
from ssdlab.results.names import REPORT
from ssdlab.results.report import Report
from ssdlab_lab.reproduce.folders import FolderProperties
from ssdlab_lab.reproduce.scales import choices, loads, page, study, table
from ssdlab_lab.reproduce.scales.choices import FULL, LOADS, POLICIES, SEEDS, Load, Place
from ssdlab_lab.reproduce.scales.outcome import Scales

BEGUN = FolderProperties("scale", False, {}, "0" * 64, None)
"""Runs of no commit."""

DRIVE = "tlc-960gb"
UNIFORM = Load("uniform", "")


def outcome(
    full: dict[str, float], trial: dict[str, float], halved: float = 0.0, size: str = "8 GiB"
) -> Scales:
    """Runs under uniform writes: at full size, and trials whose halved one has so much less."""

    def report(waf: float) -> Report:
        return cast("Report", SimpleNamespace(waf=SimpleNamespace(total=waf)))

    reports = {
        Place(DRIVE, UNIFORM, FULL, policy, 1, SEEDS[0]): report(waf)
        for policy, waf in full.items()
    }
    for policy, waf in trial.items():
        for seed in SEEDS:
            place = Place(DRIVE, UNIFORM, size, policy, 1, seed)
            reports[place] = report(waf)
        reports[place._replace(pools=2, seed=SEEDS[0])] = report(waf - halved)
    return Scales(reports, False, {}, False, Path(), BEGUN)


def test_a_prediction_holds_if_it_is_close_or_its_interval_contains_full_size() -> None:
    def holds(trial: float, halved: float) -> bool:
        (compared,) = outcome({"greedy": 4.0}, {"greedy": trial}, halved).every()
        return compared.holds

    assert holds(4.07, 0.0)
    assert not holds(4.09, 0.0)
    # 4.1 + 0.1, with an interval of 0.1 on either side.
    assert not holds(4.1, 0.05)
    assert holds(4.1, -0.1)
    assert not holds(4.3, 0.1)
    assert holds(3.8, 0.2)
    # Cost-benefit may write 40 % more in blocks as large as the drive's.
    for full, expected in ((5.5, True), (5.7, False)):
        (aged,) = outcome({"cost-benefit": full}, {"cost-benefit": 4.0}).every()
        assert aged.holds is expected


def test_predictions_of_small_blocks_hold_with_and_without_their_residual() -> None:
    for trial, holds in ((4.07, (True, True)), (4.16, (True, False)), (4.17, (False, False))):
        (compared,) = outcome({"greedy": 4.0}, {"greedy": trial}, size="512 MiB").every()
        assert (compared.holds, compared.without_residual.holds) == holds


def test_the_winner_is_judged_among_the_policies_of_full_size() -> None:
    full = {"greedy": 4.0, "fifo": 4.5}
    trial = {"greedy": 4.0, "fifo": 4.5, "greedy + sepbit": 3.0}
    done = outcome(full, trial)
    assert done.winner(DRIVE, UNIFORM, "8 GiB") == "same"
    assert outcome({"greedy": 4.6, "fifo": 4.5}, trial).winner(DRIVE, UNIFORM, "8 GiB") == (
        "another"
    )
    tied = dict.fromkeys(full, 4.0)
    assert outcome(full, tied).winner(DRIVE, UNIFORM, "8 GiB") == "none"
    # The best one at full size has no prediction: the winner is that of the others.
    assert outcome({**full, "d-choices": 3.0}, trial).winner(DRIVE, UNIFORM, "8 GiB") == "same"
    # An extrapolation of more than 5 %: no verdict.
    assert outcome(full, trial, 0.3).winner(DRIVE, UNIFORM, "8 GiB") == "none"
    # Nor where it is that of a policy which may still win.
    shifted = outcome(full, trial)
    place = Place(DRIVE, UNIFORM, "8 GiB", "fifo", 2, SEEDS[0])
    for halved, winner in ((3.9, "none"), (4.2, "same")):
        shifted.reports[place].waf.total = halved  # type: ignore[misc]
        fresh = Scales(shifted.reports, False, {}, False, Path(), BEGUN)
        assert fresh.predicted(DRIVE, UNIFORM, "8 GiB", "fifo").share > 0.05  # type: ignore[union-attr]
        assert fresh.winner(DRIVE, UNIFORM, "8 GiB") == winner
    assert done.winner(DRIVE, UNIFORM, "512 MiB") is None
    assert outcome({"greedy": 4.0}, trial).winner(DRIVE, UNIFORM, "8 GiB") is None


def test_what_was_not_run_is_shown_as_that() -> None:
    done = outcome({"greedy": 4.0}, {"greedy": 4.3, "fifo": 4.5})
    text = page.markdown(done)
    assert "| uniform | greedy | 4.000 | – | – | – | – | 4.300 ± 0.000 | +7.5% |" in text
    assert "| uniform | fifo |" not in text, "there is nothing to compare with"
    assert "0 of 1 predictions hold." in text
    assert "## drive:samsung-pm9a3\n\nNo run at full size was made.\n" in text
    assert "## Predictions that do not hold" in text
    assert "4.300" in page.page(done)
    assert len(json.loads(page.to_json(done))["runs"]) == 9


def test_zipf_on_fewer_pages_lumps_successive_ranks() -> None:
    ranks, pages, count = 1000, 50, 200_000
    drawn = np.bincount(loads.zipf(0.99, ranks, pages, count, 3), minlength=pages)
    weights = np.arange(1, ranks + 1) ** -0.99
    expected = weights.reshape(pages, ranks // pages).sum(axis=1) / weights.sum() * count
    assert np.sort(drawn)[::-1] == pytest.approx(np.sort(expected)[::-1], rel=0.1)
    # They are shuffled.
    assert np.argmax(drawn) != 0


def test_every_place_has_a_run_of_its_own() -> None:
    places = choices.places(quick=False)
    assert len(places) == len(set(places))
    drives, policies, loads_ = len(choices.drives()), len(POLICIES), len(LOADS)
    assert len(places) == drives * policies * loads_ * (3 * (len(SEEDS) + 1) + 1)


def case_of(place: Place) -> tuple[str, Load, str]:
    """What is compared: a policy under a load on a drive."""
    return place.drive, place.load, place.policy


def test_every_run_at_full_size_is_followed_by_its_predictions() -> None:
    places = choices.places(quick=False)
    runs = 1 + len(choices.FOOTPRINTS) * (len(SEEDS) + 1)
    for at in range(0, len(places), runs):
        full, *trials = places[at : at + runs]
        assert full.size == FULL
        assert {case_of(place) for place in trials} == {case_of(full)}
        assert FULL not in {place.size for place in trials}


def test_the_first_cells_are_run_on_all_drives_before_the_others() -> None:
    cases = [*dict.fromkeys(map(case_of, choices.places(quick=False)))]
    loads_, policies = choices.FIRST_LOADS, choices.FIRST_POLICIES
    first = cases[: len(choices.drives()) * len(loads_) * len(policies)]
    assert {drive for drive, _, _ in first} == {*choices.drives()}
    assert {load.title for _, load, _ in first} == {*loads_}
    assert {policy for _, _, policy in first} == {*policies}
    assert tuple(dict.fromkeys(drive for drive, _, _ in first))[: len(choices.KINDS)] == (
        choices.KINDS
    )


def test_the_cells_are_those_of_the_drive(tmp_path: Path) -> None:
    files = study.Files(tmp_path)
    whole = ssdlab.load_config(DRIVE)
    full = study.cell_of(Place(DRIVE, UNIFORM, FULL, "greedy + sepbit", 1, 1), False, files).config
    for key in ("planes_per_chip", "blocks_per_plane", "pages_per_block"):
        assert full["device"][key] == whole["device"][key]
    assert full["alloc.erase_unit"] == "superblock"
    assert full["device.user_pages"] == whole["device.user_pages"] // 16
    trial = study.cell_of(Place(DRIVE, UNIFORM, "512 MiB", "greedy", 2, 1), False, files).config
    assert trial["device.user_pages"] == 1 << 17
    assert trial["device.chips_per_channel"] == 2
    assert trial["device.blocks_per_plane"] == pytest.approx(683, rel=0.06)
    assert trial["workload.requests"] == 3 << 17


FULL_GREEDY = Place(DRIVE, UNIFORM, FULL, "greedy", 1, 1)
HALVED = Place("drive:samsung-pm9a3", LOADS[-1], "8 GiB", "fifo", 2, 1)


def test_the_numbers_of_earlier_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    measured = {FULL_GREEDY: 4.25, HALVED: 1.000001}
    file = tmp_path / table.FILE
    file.write_text(table.text(measured, quick=False))
    assert len(file.read_text().splitlines()) == 3
    assert table.read(file, quick=False).measured == measured
    # As a spreadsheet writes it.
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert table.read(file, quick=False).measured == measured
    # The same places of a quick study have other pools.
    assert table.read(file, quick=True).measured == {}


def test_numbers_of_other_results_or_configurations_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / table.FILE
    file.write_text(table.text({FULL_GREEDY: 4.25, HALVED: 1.5}, quick=False))
    before = file.read_text()
    header, greedy, fifo = before.splitlines()
    cells = greedy.split(",")
    assert cells[header.split(",").index("results")] == str(ssdlab.__results_version__)
    file.write_text("\n".join([header, greedy.replace(cells[4], "0123456789ab"), fifo]))
    assert table.read(file, quick=False).measured == {HALVED: 1.5}
    file.write_text(before.replace("greedy", "gredy"))
    assert table.read(file, quick=False).measured == {HALVED: 1.5}
    file.write_text(before)
    monkeypatch.setattr(table, "RESULTS", ssdlab.__results_version__ + 1)
    assert table.read(file, quick=False).measured == {}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace("4.250000", "four"), f"{table.FILE}:2: not a line"),
        (lambda text: text.replace("4.250000", "nan"), "nan is no write amplification"),
        (lambda text: text.replace("4.250000", "0"), "0 is no write amplification"),
        (lambda text: text + text.splitlines()[1], f"{table.FILE}:3: .*the same drive, load"),
        (lambda text: text.replace("policy", "rule"), f"{table.FILE}:1: .*'policy' is missing"),
        (lambda _: "", f"{table.FILE}:1: not the header"),
        (lambda text: text[: text.index("4.25")].rstrip(","), f"{table.FILE}:2: not a line"),
        (lambda text: text.replace("uniform", '"uni"form'), "cannot be read"),
        (lambda text: "\udcff" + text, "cannot be read"),
    ],
)
def test_a_damaged_file_of_numbers_is_refused(
    damage: Callable[[str], str], said: str, tmp_path: Path
) -> None:
    file = tmp_path / table.FILE
    text = table.text({FULL_GREEDY: 4.25}, quick=False)
    file.write_bytes(damage(text).encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=said):
        table.read(file, quick=False)


def test_runs_whose_numbers_are_given_are_not_repeated(tmp_path: Path) -> None:
    command = ("drives", "scale", "--quick", "--drive", DRIVE, "--load", "uniform", "--quiet")
    first = ssdlab_command(*command, "--policy", "greedy", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    measured = tmp_path / "runs/scale-quick" / table.FILE
    again = ("--policy", "greedy", "--policy", "fifo", "--measured", str(measured), "--out", "out")
    second = ssdlab_command(*command, *again, cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    made = {file.parent.name for file in (tmp_path / "out/runs").glob("*/report.json")}
    assert len(made) == len(SEEDS) + 2
    assert all("fifo" in name for name in made)
    before, after = (
        file.read_text().splitlines() for file in (measured, tmp_path / "out" / table.FILE)
    )
    assert before[1] in after
    assert len(after) == len(before) + 1
    page_before, page_after = (
        (tmp_path / folder / "reproduction.md").read_text()
        for folder in ("runs/scale-quick", "out")
    )
    (line,) = (line for line in page_before.splitlines() if line.startswith("| uniform | greedy |"))
    assert line in page_after
    # The page says what was compared, and the console how it was made.
    assert f"Compared are 2 of them on {DRIVE}; none of them on " in page_after
    assert "1 of them on" in page_before
    assert "earlier runs" not in page_after
    assert "nterrupted" not in page_after
    loud = ssdlab_command(*command[:-1], *again, cwd=tmp_path)
    remark = f"{len(SEEDS) + 2} numbers of earlier runs are those of {table.FILE}."
    assert remark in loud.stderr
    missing = ssdlab_command(*command, "--measured", "none.csv", cwd=tmp_path)
    assert missing.returncode == 2
    assert "none.csv: cannot be read: No such file or directory" in missing.stderr


def test_the_command_resumes_and_shows_what_earlier_runs_made(tmp_path: Path) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    command = ("drives", "scale", "--quick", "--drive", DRIVE, "--policy", "greedy", "--quiet")
    first = ssdlab_command(*command, "--load", "uniform", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    second = ssdlab_command(*command, "--load", "sqlite, recorded", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    runs = json.loads((tmp_path / "runs/scale-quick/reproduction.json").read_text())["runs"]
    assert {(run["load"], run["size"]) for run in runs} == {
        (load, size) for load in ("uniform", "sqlite, recorded") for size in ("64 MiB", FULL)
    }
    assert len(runs) == 2 * (len(SEEDS) + 1 + 1)
    wrong = ssdlab_command(*command, "--load", "unifrom", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "--load unifrom: no such load" in wrong.stderr
    assert "did you mean uniform?" in wrong.stderr


def test_an_ended_study_is_kept_and_only_what_is_asked_for_goes_on(tmp_path: Path) -> None:
    words = ["drives", "scale", "--drive", DRIVE, "--policy", "greedy", "--load", "uniform"]
    trials = ["--size", "64 MiB", "--out", "out"]
    first = ssdlab_command(*words, *trials, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    # As after `kill`: the run at full size is half made.
    whole = [*words, "--size", FULL, "--out", "out"]
    ended = signalled_at("precondition", whole, tmp_path, signal.SIGTERM)
    refused(ended, 130, "interrupted: the completed part is kept", out_is_empty=False)
    (cut_off,) = (tmp_path / "out/runs").glob("*full_size*/report.json")
    half_made = cut_off.read_bytes()
    assert json.loads(half_made)["completed"] is False
    results = json.loads((tmp_path / "out/reproduction.json").read_text())
    assert (results["completed"], len(results["runs"])) == (False, len(SEEDS) + 1)

    second = ssdlab_command(*words, *trials, cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert cut_off.read_bytes() == half_made


def test_runs_of_another_commit_are_resumed_and_those_of_other_results_are_not(
    tmp_path: Path,
) -> None:
    cell = study.cell_of(
        Place(DRIVE, UNIFORM, "64 MiB", "greedy", 1, 1), False, study.Files(tmp_path)
    )
    ssdlab.run(cell.config, out=tmp_path / cell.folder, progress=False)
    file = tmp_path / cell.folder / REPORT
    report = json.loads(file.read_text())

    def is_stored(**provenance: object) -> bool:
        file.write_text(
            json.dumps({**report, "provenance": {**report["provenance"], **provenance}})
        )
        return cell.stored(tmp_path) is not None

    assert is_stored(commit="0123456789ab")
    assert not is_stored(results=ssdlab.__results_version__ - 1)
    assert not is_stored(results=None)
