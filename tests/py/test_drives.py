"""Named drives: their files, their errors, and the comparison with what was published."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import ssdlab
from running import ROOT, refused, ssdlab_command
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.run_page import run_page
from ssdlab.reproduce.command import JSON, MARKDOWN, PAGE
from ssdlab.reproduce.drives import choices, errors, page, study, writes
from ssdlab.reproduce.drives.known import Drive, Load, drives, knee_of
from ssdlab.reproduce.drives.study import LOAD, RANKS, UNIFORM, ZONES, Drives, Place
from ssdlab.results.drive_errors import KEPT, drive_of, kept
from ssdlab.results.report import Report

MICRON = "drive:micron-7450-max-800"
SAMSUNG = "drive:samsung-pm9a3"


def done_with(waf: float, knee: int) -> Drives:
    """Every run with one write amplification; loads from `knee` on take 2 ms."""

    def report(place: Place) -> Report:
        slow = place[1] == LOAD and place[2] >= knee
        latency = SimpleNamespace(p50=10_000, p99=2_000_000 if slow else 20_000)
        return cast(
            "Report",
            SimpleNamespace(
                waf=SimpleNamespace(total=waf),
                latency=SimpleNamespace(write=latency),
                config={"run.mode": "timed" if place[1] == LOAD else "functional"},
            ),
        )

    return Drives({p: report(p) for p in study.places(False)}, False, {}, False, Path())


@pytest.mark.parametrize("drive", drives().values(), ids=lambda one: one.name)
def test_a_drive_is_its_file(drive: Drive) -> None:
    assert drive.name in ssdlab.preset_names()
    capacity = drive.config["device.user_pages"] * 4096
    assert capacity == pytest.approx(drive.published["user_gb"] * 1e9, rel=1e-3)
    assert drive.title in drive.summary
    assert drive.config.name == drive.name.replace(":", "-")
    predicted = len(drive.uniform) - (drive.fitted is not None) + len(drive.zones)
    assert predicted + len(drive.zipf) + len(drive.loads) > 0, "nothing is left to predict"
    assert drive.published["source"]
    assert drive.unknown
    if drive.fitted is None:
        assert drive.published["raw"]
    else:
        # The file has the result of the fit, of the figure that is closest to the full drive.
        assert drive.fitted == max(drive.uniform)
        spare = drive.shape.spare(drive.uniform[drive.fitted])
        assert drive.over_provisioning == pytest.approx(spare, abs=2e-5)


@pytest.mark.parametrize("drive", drives().values(), ids=lambda one: one.name)
def test_planes_program_as_fast_as_the_drive_writes(drive: Drive) -> None:
    text = next(line for line in drive_text(drive).splitlines() if line.startswith("program"))
    stated = text.partition("# ")[2].split()
    rate = float(stated[0].replace(",", "")) * {"GB/s": 1e9, "MB/s": 1e6}[stated[1].strip(",")]
    device, timing = drive.config.values["device"], drive.config.values["timing"]
    planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
    whole = timing["program_ns"] + 2 * timing["sram_ns"] + timing["transfer_ns"]
    assert planes * 4096 / whole * 1e9 == pytest.approx(rate, rel=1e-3)


def drive_text(drive: Drive) -> str:
    name = drive.name.removeprefix("drive:")
    return (ROOT / "presets/drives" / f"{name}.toml").read_text(encoding="utf-8")


def test_every_file_is_a_drive() -> None:
    files = {f"drive:{file.stem}" for file in (ROOT / "presets/drives").glob("*.toml")}
    assert files == set(drives())


def test_the_knee_lies_between_two_loads() -> None:
    below, above = Load(70_000, 1e4, 9e5), Load(80_000, 1e4, 2e6)
    assert knee_of([above, below]) == (75_000, 5_000)
    assert knee_of([below]) is None
    assert knee_of([above]) is None
    assert knee_of([]) is None
    assert drives()[SAMSUNG].knee == (75_000, 5_000)


def test_less_of_a_drive_used_is_more_spare() -> None:
    drive = drives()[MICRON]
    assert drive.spare_at(745) == drive.over_provisioning
    assert 1 + drive.spare_at(372) == pytest.approx(
        (1 + drive.over_provisioning) * drive.user_gib / 372
    )


def test_errors_are_those_of_predictions() -> None:
    done, micron = done_with(2.0, 75_000), drives()[MICRON]
    lines = errors.lines(done, micron)
    assert [line.fitted for line in lines].count(True) == 1
    off = [2.0 / waf - 1 for at, waf in micron.uniform.items() if at != micron.fitted]
    off += [2.0 / waf - 1 for waf in micron.zones.values()]
    of = errors.errors_of(done, micron)
    assert of.waf_mean == pytest.approx(np.mean(np.abs(off)))
    assert of.waf_largest == pytest.approx(np.max(np.abs(off)))
    assert of.knee is None
    of = errors.errors_of(done, drives()[SAMSUNG])
    assert of.waf_mean is None
    assert of.knee == pytest.approx(73_750 / 75_000 - 1)
    assert of.text() == "knee -2 %"


def test_the_page_has_every_line() -> None:
    done = done_with(2.0, 75_000)
    text, html = page.markdown(done), page.page(done)
    for drive in drives().values():
        assert f"## {drive.title}" in text
        assert drive.title in html
    assert "| uniform, 745 GiB used | 1.887 | 2.000 | +6.0 % (fitted) |" in text
    assert "| 70,000 to 80,000 | 72,500 to 75,000 | -1.7 % |" in text
    assert "| 70,000 | 23.0 us | 335 us | 10.0 us | 20.0 us | -57 % | -94 % |" in text
    assert "beyond" in text
    runs = json.loads(page.to_json(done))["runs"]
    assert len(runs) == len(list(study.places(False)))


def test_loads_are_shown_near_the_knee() -> None:
    ours = [Load(rate, 1e4, 2e6 if rate >= 90_000 else 1e4) for rate in choices.LOADS]
    rates = page.shown([Load(70_000, 1e4, 1e4)], ours)
    assert rates == [60_000, 70_000, 80_000, 85_000, 87_500, 90_000, 92_500]
    assert page.shown([], []) == []


def test_missing_runs_state_no_error() -> None:
    done = Drives({}, False, {}, True, Path())
    assert all(text.endswith("not compared.") for text in page.verdict(done))
    assert "Interrupted" in page.markdown(done)
    nearly = done_with(2.0, 75_000)
    some = {place: one for place, one in nearly.reports.items() if place[1:] != (ZONES, 4)}
    assert (
        errors.errors_of(Drives(some, False, {}, False, Path()), drives()[MICRON]).waf_mean is None
    )


def test_what_is_documented_is_what_is_listed(tmp_path: Path) -> None:
    known = kept()
    assert set(known) == set(drives())
    documented = (ROOT / "docs/drives.md").read_text(encoding="utf-8")
    for name, of in known.items():
        row = next(
            line
            for line in documented.splitlines()
            if line.startswith(f"| {drives()[name].title} |")
        )
        if of.waf_mean is not None:
            assert f"| {100 * of.waf_mean:.1f} % |" in row
        if of.knee is not None:
            assert f"| {100 * of.knee:+.1f} % |" in row
    # The page takes half an hour of runs; its words are those of the program.
    for text in (*page.ABOUT, page.NOT_MODELLED, page.MEMORY, page.OWN):
        assert text in documented
    listed = ssdlab_command("list", "drives", cwd=tmp_path).stdout
    words = " ".join(listed.split())
    assert all(name in listed and known[name].text() in words for name in known)
    as_json = json.loads(ssdlab_command("list", "drives", "--json", cwd=tmp_path).stdout)
    assert [one["name"] for one in as_json] == list(drives())


def test_zones_are_written_in_order() -> None:
    which = writes.parts(3, zones=8, length=5, count=400, seed=1)
    assert (which.min(), which.max()) == (0, 39)
    open_zones: dict[int, int] = {}
    for one in which.tolist():
        zone, at = divmod(one, 5)
        assert at == open_zones.get(zone, 0)
        open_zones[zone] = at + 1
        if at == 4:
            del open_zones[zone]
        assert len(open_zones) <= 3
    assert np.array_equal(which, writes.parts(3, zones=8, length=5, count=400, seed=1))


def test_zipf_by_rank_has_its_skew() -> None:
    which = writes.by_rank(0.8, 1000, 200_000, 1)
    counts = np.bincount(which, minlength=1000)
    weights = np.arange(1, 1001) ** -0.8
    assert counts[0] / len(which) == pytest.approx(weights[0] / weights.sum(), rel=0.05)
    assert counts[:100].sum() / len(which) == pytest.approx(
        weights[:100].sum() / weights.sum(), rel=0.02
    )


def test_a_trace_of_writes_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "w.spc.gz"
    writes.write(file, np.array([3, 0, 3], dtype=np.int64), choices.PART_BYTES)
    info = ssdlab.Trace(file).info()
    assert info.requests == 3


@pytest.mark.parametrize("kind", [UNIFORM, RANKS, LOAD])
def test_runs_resolve_at_their_size(kind: str, tmp_path: Path) -> None:
    for place in study.places(True):
        if place[1] == kind:
            config = study.cell_of(place, True, tmp_path).config
            drive = drives()[place[0]]
            spare = drive.spare_at(place[2]) if kind == UNIFORM else drive.over_provisioning
            device: dict[str, Any] = config.values["device"]
            raw = drive.shape.units * device["pages_per_block"] * device["planes_per_chip"]
            raw *= device["channels"] * device["chips_per_channel"]
            assert raw / device["user_pages"] - 1 == pytest.approx(spare, abs=1e-4)


def test_one_drive_meets_its_fit() -> None:
    """The mean field that fits raw capacity is what a run gives."""
    place = (MICRON, UNIFORM, 745)
    cell = study.cell_of(place, True, Path())
    keys = {**cell.scheme.keys, **cell.workload.keys, "device.pages_per_block": 62}
    pages = study.small_pages(drives()[MICRON], False, drives()[MICRON].over_provisioning)
    keys |= study.lengths(pages * 62 // 1984, None)
    report = ssdlab.run(preset=MICRON, set=keys, seed=1, progress=False)
    assert report.waf.total == pytest.approx(1.887, rel=0.02)


def test_bad_names_name_the_nearest(tmp_path: Path) -> None:
    done = ssdlab_command("run", "drive:micron-7450-max", cwd=tmp_path)
    refused(done, 2, "did you mean drive:micron-7450-max-800?")
    (tmp_path / "a.toml").write_text('preset = "drive:samsung-pm9a33"\n')
    done = ssdlab_command("config", "check", "a.toml", cwd=tmp_path)
    refused(done, 2, "a.toml:1", 'did you mean "drive:samsung-pm9a3"?')


@pytest.mark.slow
def test_the_quick_page(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    done = ssdlab_command("drives", "compare", "--quick", "--out", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Micron 7450 MAX 800 GB: write amplification off by" in done.stdout
    for name in (JSON, MARKDOWN, PAGE, KEPT):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    off = {run["at"]: run["waf"] for run in values["runs"] if run["drive"] == MICRON}
    for used, waf in drives()[MICRON].uniform.items():
        assert off[used] == pytest.approx(waf, rel=0.05)


def test_a_comparison_on_a_named_drive_states_its_errors() -> None:
    keys = {"device.channels": 1, "device.chips_per_channel": 1, "device.pages_per_block": 8}
    small = {**keys, "precondition.steady_state": "none", "workload.requests": 2000}
    done = ssdlab.compare([SAMSUNG], set=small, progress=False)
    assert done.drives == [drive_of(SAMSUNG)]
    told = " ".join(done.summary().split())
    assert f"drive: Samsung PM9A3 960 GB ({SAMSUNG}; against published figures: knee" in told
    pages = (comparison_page(done), run_page(next(iter(done.reports.values()))))
    assert all(drive_of(SAMSUNG) in html for html in pages)
    assert drive_of("greedy-8ch") == drive_of(None) == ""
