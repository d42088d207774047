"""Named drives: their files, their errors, and the comparison with what was published."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import ssdlab
from running import ROOT, refused, ssdlab_command
from ssdlab.config.drives import (
    ERRORS_FILE,
    FIGURES,
    Errors,
    MachineErrors,
    digest_of,
    errors_file,
    machine_digest,
    named_errors,
)
from ssdlab.config.published import configuration
from ssdlab.drives import unknowns
from ssdlab.drives.measurements import RANKS, UNIFORM, ZONES, Load, knee_of
from ssdlab.errors import ConfigError
from ssdlab.html.compare_page import comparison_page
from ssdlab.html.run_page import run_page
from ssdlab.results.report import Report
from ssdlab.running import spare_plan, trial, trial_plan
from ssdlab_lab.reproduce.command import MARKDOWN, PAGE
from ssdlab_lab.reproduce.drives import (
    choices,
    command,
    errors,
    page,
    study,
    sustained,
    writes,
)
from ssdlab_lab.reproduce.drives.known import Drive, drive_of, drives
from ssdlab_lab.reproduce.drives.study import LOAD, Drives, Place
from ssdlab_lab.reproduce.folders import JSON, FolderProperties
from sustained_runs import filled

BEGUN = FolderProperties("drives", False, {}, "0" * 64, None)
"""Runs of no commit."""

MICRON = "drive:micron-7450-max-800"
SAMSUNG = "drive:samsung-pm9a3"


def done_with(waf: float, knee: int) -> Drives:
    """Every run with one write amplification; loads from `knee` on take 2 ms."""

    def report(place: Place) -> Report:
        if place[1] == sustained.NAME:
            return filled(drives()[place[0]])
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

    return Drives(
        {p: report(p) for p in study.places(drives(), False)}, False, {}, False, Path(), BEGUN
    )


@pytest.mark.parametrize("drive", drives().values(), ids=lambda one: one.name)
def test_a_drive_is_its_file(drive: Drive) -> None:
    assert drive.name in ssdlab.preset_names()
    assert drive.user_gib * 2**30 == pytest.approx(drive.published["user_gb"] * 1e9, rel=1e-3)
    assert drive.title in drive_text(drive).splitlines()[0]
    assert drive.config.name == drive.name.replace(":", "-")
    fitted = [one.fitted for one in drive.measured.wafs]
    fitted += [load.fitted for load in drive.loads]
    fitted += [figure.fitted for figure in drive.measured.sustained]
    assert not all(fitted), "nothing is left to predict"
    assert drive.measured.sources
    assert drive.unknown
    if drive.fitted is None:
        assert drive.published["raw"]
    else:
        # The file has the result of the fit, of the figure that is closest to the full drive.
        assert drive.fitted == max(drive.uniform)
        spare = drive.shape.spare(drive.uniform[drive.fitted])
        assert drive.over_provisioning == pytest.approx(spare, abs=2e-5)
    # Its firmware time follows from the latency of a drive without firmware.
    firmware, more = unknowns.firmware(drive.measured, drive.config)
    times = (0, 0) if firmware is None else (firmware.p50, firmware.p99)
    found = [drive.config[f"controller.firmware_p{part}_ns"] for part in (50, 99)]
    assert found == pytest.approx(times, rel=0.05), more
    if firmware is not None:
        # Of the two loads in the middle it is the lower one.
        below = drive.measured.below_knee
        middle = sorted(load.rate for load in below)[(len(below) - 1) // 2]
        assert [load.rate for load in below if load.fitted] == [middle]


FOR_DATA_CENTRES = [one for one in drives().values() if not one.measured.sustained]


@pytest.mark.parametrize("drive", FOR_DATA_CENTRES, ids=lambda one: one.name)
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
    for ending in ("toml", "csv"):
        files = {f"drive:{file.stem}" for file in (ROOT / "presets/drives").glob(f"*.{ending}")}
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
    assert drive.spare_at(1.0) == drive.over_provisioning
    assert 1 + drive.spare_at(0.5) == pytest.approx((1 + drive.over_provisioning) * 2)


def test_errors_are_those_of_predictions() -> None:
    done, micron = done_with(2.0, 75_000), drives()[MICRON]
    lines = errors.lines(done, micron)
    assert [line.fitted for line in lines].count(True) == 1
    of = errors.errors_of(done, micron)
    off = [2.0 / one.waf - 1 for one in micron.measured.of(UNIFORM) if not one.fitted]
    assert of.uniform == pytest.approx(np.mean(np.abs(off)))
    off = [2.0 / one.waf - 1 for one in micron.measured.of(ZONES)]
    assert of.skewed == pytest.approx(np.mean(np.abs(off)))
    assert of.residual is None, "points are held out"
    without = replace(micron, measured=replace(micron.measured, loads=()))
    assert errors.errors_of(done, without).knee is None
    # All planes are busy far above the measured knee: the simulated one is looked for there.
    beyond = min(rate for rate in study.rates(micron, False) if rate > 75_000)
    assert of.knee == pytest.approx((10_000 + beyond) / 2 / 20_000 - 1)
    samsung = drives()[SAMSUNG]
    of = errors.errors_of(done, samsung)
    assert of.uniform is of.skewed is None
    below = max(rate for rate in study.rates(samsung, False) if rate < 75_000)
    assert of.knee == pytest.approx((below + 75_000) / 2 / 75_000 - 1)
    fit = "write amplification off by 52.4 % in the fit, no point held out"
    assert (of.p50, of.p99) == pytest.approx((10 / 23 - 1, 20 / 335 - 1))
    assert of.text() == f"{fit}, knee -1 %, p50 -57 %, p99 -94 %"
    # The largest errors are next to the knee; if these latencies are fitted, they do not count.
    loads = tuple(replace(load, fitted=load.rate == 70_000) for load in samsung.loads)
    fitted = replace(samsung, measured=replace(samsung.measured, loads=loads))
    of = errors.errors_of(done, fitted)
    assert (of.p50, of.p99) == pytest.approx((10 / 15 - 1, 20 / 82 - 1))
    assert of.text() == f"{fit}, knee -1 %, p50 -33 %, p99 -76 %"
    said = Errors(uniform=0.02, skewed=0.1).text()
    assert said == (
        "write amplification off by 2.0 % under uniform writes and 10.0 % under skewed writes"
    )


def test_the_page_has_every_line() -> None:
    done = done_with(2.0, 75_000)
    text, html = page.markdown(done), page.page(done)
    for drive in drives().values():
        assert f"## {drive.title}" in text
        assert drive.title in html
    assert "| uniform, 100 % used | 1.887 | 2.000 | +6.0 % (fitted) |" in text
    assert "| 70,000 to 80,000 | 72,800 to 75,000 | -1.5 % |" in text
    row = "| 50,000 | 12.0 µs | 43.0 µs | 10.0 µs | 20.0 µs | -17 % (fitted) | -53 % (fitted) |"
    assert row in text
    assert "| 70,000 | 23.0 µs | 335 µs | 10.0 µs | 20.0 µs | -57 % | -94 % |" in text
    assert "beyond" in text
    runs = json.loads(page.to_json(done))["runs"]
    assert len(runs) == len(list(study.places(drives(), False)))


def test_loads_are_shown_near_the_knee() -> None:
    rates = [45_000, 60_000, 70_000, 80_000, 85_000, 87_500, 90_000, 92_500, 95_000]
    ours = [Load(rate, 1e4, 2e6 if rate >= 90_000 else 1e4) for rate in rates]
    shown = page.shown([Load(70_000, 1e4, 1e4)], ours)
    assert shown == [45_000, 70_000, 85_000, 87_500, 90_000, 92_500]
    assert page.shown([], []) == []


def test_loads_lie_around_the_knee() -> None:
    samsung = drives()[SAMSUNG]
    rates = study.rates(samsung, False)
    assert (min(rates), max(rates)) == (20_000, 97_500)
    assert {20_000, 45_000, 50_000, 60_000, 70_000} <= {*rates}
    micron = drives()[MICRON]
    assert micron.knee == (20_000, 10_000)
    assert micron.busy is not None
    assert micron.busy == pytest.approx(173_898, rel=1e-3)
    measured, *rates = study.rates(micron, False)
    assert measured == 10_000
    assert rates[0] < micron.busy < rates[-1]
    without = replace(micron, measured=replace(micron.measured, loads=(), load_fill=None))
    assert study.rates(without, False) == []
    assert study.rates(samsung, True) == [20_000, 50_000, 60_000, 70_000, 80_000]


def test_missing_runs_state_no_error() -> None:
    done = Drives({}, False, {}, True, Path(), BEGUN)
    assert all(text.endswith("not compared.") for text in page.verdict(done))
    assert "interrupted: runs are missing" in page.markdown(done)
    nearly = done_with(2.0, 75_000)
    some = {place: one for place, one in nearly.reports.items() if place[1:] != (ZONES, 4)}
    assert (
        errors.errors_of(Drives(some, False, {}, False, Path(), BEGUN), drives()[MICRON]).skewed
        is None
    )


def test_what_is_documented_is_what_is_listed(tmp_path: Path) -> None:
    known = named_errors()
    assert set(known) == set(drives())
    documented = (ROOT / "docs/drives.md").read_text(encoding="utf-8")
    for name, one in known.items():
        of = one.errors
        row = next(
            line
            for line in documented.splitlines()
            if line.startswith(f"| {drives()[name].title} |")
        )
        for error in (of.sustained, of.folding):
            assert error is None or f"| {100 * error:+.1f} % |" in row
        for error in (of.uniform, of.skewed):
            assert error is None or f"| {100 * error:.1f} % |" in row
        assert of.residual is None or f"| {100 * of.residual:.1f} % (fitted) |" in row
        assert of.knee is None or f"| {100 * of.knee:+.1f} % |" in row
    # The page takes half an hour of runs; its words are those of the program.
    for text in (*page.ABOUT, *page.SUSTAINED, page.NOT_MODELLED, page.MEMORY, *page.OWN):
        assert text in documented
    listed = " ".join(ssdlab_command("list", "drives", cwd=tmp_path).stdout.split())
    assert all(drive.config["run.drive"] in listed for drive in drives().values())
    as_json = json.loads(ssdlab_command("list", "drives", "--json", cwd=tmp_path).stdout)
    assert [one["name"] for one in as_json] == ["tlc-960gb", *drives()]
    assert as_json[0]["errors"] is None


def test_a_drive_without_measurements_is_not_compared() -> None:
    with pytest.raises(ConfigError, match="it has no measurements; there are those of: adata"):
        drive_of("tlc-960gb")
    with pytest.raises(ConfigError, match="no such drive; there are: adata"):
        drive_of("foo")


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
    for place in study.places(drives(), True):
        if place[1] == kind:
            drive = drives()[place[0]]
            config = study.cell_of(drive, place, True, tmp_path).config
            spare = drive.spare_at(place[2]) if kind == UNIFORM else drive.over_provisioning
            device: dict[str, Any] = config.values["device"]
            raw = drive.shape.units * device["pages_per_block"] * device["planes_per_chip"]
            raw *= device["channels"] * device["chips_per_channel"]
            assert raw / device["user_pages"] - 1 == pytest.approx(spare, abs=1e-4)


def test_one_drive_meets_its_fit() -> None:
    """The mean field that fits raw capacity is what a run gives."""
    place = (MICRON, UNIFORM, 1.0)
    cell = study.cell_of(drives()[MICRON], place, True, Path())
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
    for name in (JSON, MARKDOWN, PAGE, ERRORS_FILE):
        assert (folder / name).read_text(encoding="utf-8")
    values = json.loads((folder / JSON).read_text(encoding="utf-8"))
    assert values["completed"] is True
    uniform = [one for one in values["runs"] if (one["drive"], one["kind"]) == (MICRON, UNIFORM)]
    off = {one["at"]: one["waf"] for one in uniform}
    for fill, waf in drives()[MICRON].uniform.items():
        assert off[fill] == pytest.approx(waf, rel=0.05)


SMALL = {
    "device.channels": 1,
    "device.chips_per_channel": 1,
    "device.pages_per_block": 8,
    "precondition.steady_state": "none",
    "workload.requests": 2000,
}


def test_every_report_names_its_drive() -> None:
    done = ssdlab.compare([SAMSUNG], set=SMALL, progress=False)
    (note,) = done.drives
    assert note.startswith(f"Samsung PM9A3 960 GB ({SAMSUNG}; ")
    assert f"drive: {note}" in " ".join(done.summary().split())
    pages = (comparison_page(done), run_page(next(iter(done.reports.values()))))
    assert all(note in html for html in pages)
    assert ssdlab.load_config("greedy-8ch")["run.drive"] == ""


def own_drive(folder: Path, text: str = "") -> Path:
    """A drive in a file, like one that is named."""
    file = folder / "sixth.toml"
    head = f'preset = "{MICRON}"\n{text}[published]\ntitle = "Sixth drive"\n'
    file.write_text(head, encoding="utf-8")
    lines = ("fill,waf", "0.5,1.1", "1,1.9")
    file.with_suffix(".csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def compared(file: Path, errors: Errors) -> None:
    """Write the errors of the drive in a file beside it."""
    measured = MachineErrors(errors, machine_digest(ssdlab.load_config(file).values))
    errors_file(file).write_text(json.dumps(measured.json()), encoding="utf-8")


def test_a_drive_in_a_file_has_its_own_name_and_its_own_errors(tmp_path: Path) -> None:
    file = own_drive(tmp_path)
    assert ssdlab.load_config(file)["run.drive"] == f"Sixth drive ({file}; not compared)"
    compared(file, Errors(uniform=0.031))
    said = f"Sixth drive ({file}; against measurements: write amplification off by 3.1 %"
    config = ssdlab.load_config(file)
    assert config["run.drive"].startswith(said)
    # How the drive is driven, and for how long, is not part of it.
    same = {"workload.requests": 5, "host.queue_depth": 3, "run.seed": 4, "metrics.interval": "1 s"}
    for origin in (file, config):
        assert ssdlab.load_config(origin, set=same)["run.drive"] == config["run.drive"]
    report = ssdlab.run(file, set=SMALL, progress=False)
    note = report.config["run.drive"]
    assert note == (
        f"Sixth drive ({file}; its errors do not apply to other values of device.channels,"
        " device.chips_per_channel, device.pages_per_block and 1 more)"
    )
    assert note in run_page(report)
    # The resolved file of a run says the same, wherever it is read.
    (tmp_path / "again.toml").write_text(report.config.toml(), encoding="utf-8")
    assert ssdlab.load_config(tmp_path / "again.toml")["run.drive"] == note


def test_the_errors_are_those_of_the_machine_that_ran(tmp_path: Path) -> None:
    file = own_drive(tmp_path)
    compared(file, Errors(knee=0.05))
    withdrawn = f"Sixth drive ({file}; its errors do not apply to other values of gc.victim)"
    config = ssdlab.load_config(file, set={"gc.victim": "fifo"})
    assert config["run.drive"] == withdrawn
    # A configuration that is changed in two steps says the same.
    whole = ssdlab.load_config(file)
    assert ssdlab.load_config(whole, set={"gc.victim": "fifo"})["run.drive"] == withdrawn
    # In functional mode timing keys do not matter.
    functional = {"run.mode": "functional", "host.link_rate": "unlimited"}
    functional |= {"host.write_buffer_pages": "0", "timing.read": "1 us"}
    assert "knee +5 %" in ssdlab.load_config(file, set=functional)["run.drive"]
    sweep = ssdlab.sweep(file, vary={"gc.window": [1, 2]}, set=SMALL, progress=False)
    assert "do not apply" in sweep.drive
    # A file that has changed since has no errors.
    own_drive(tmp_path, "[gc]\nwindow = 8\n")
    note = ssdlab.load_config(file)["run.drive"]
    assert note == f"Sixth drive ({file}; its keys have changed since it was compared)"


def test_a_file_on_a_named_drive_is_not_that_drive(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text(f'preset = "{SAMSUNG}"\n[gc]\nwindow = 8\n', encoding="utf-8")
    note = ssdlab.load_config(file)["run.drive"]
    assert note.startswith(f"Samsung PM9A3 960 GB ({SAMSUNG}; ")
    assert "knee" not in note
    file.write_text(f'preset = "{SAMSUNG}"\n[workload]\nrequests = 8\n', encoding="utf-8")
    assert ssdlab.load_config(file)["run.drive"] == drives()[SAMSUNG].config["run.drive"]


def test_bad_files_beside_a_drive_are_refused(tmp_path: Path) -> None:
    file = own_drive(tmp_path)
    errors_file(file).write_text("{}", encoding="utf-8")
    done = ssdlab_command("config", "check", "sixth.toml", cwd=tmp_path)
    refused(done, 2, "sixth.errors.json: not the errors of a drive; delete it")
    errors_file(file).unlink()
    file.with_suffix(".csv").unlink()
    with pytest.raises(ConfigError, match=r"sixth.csv: no such file; expected the measurements"):
        drive_of(str(file))
    file.write_text("[published]\ntitle = 7\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="title: found 7; expected the name of the drive"):
        ssdlab.load_config(file)


def test_a_drive_with_a_name_lacks_no_figure(tmp_path: Path) -> None:
    whole = (ROOT / "presets/drives/samsung-pm9a3.toml").read_text(encoding="utf-8")
    text = configuration(whole)
    named = '\n[published]\ntitle = "Sixth drive"\n'
    file = tmp_path / "sixth.toml"
    file.write_text(text + named, encoding="utf-8")
    assert ssdlab.load_config(file)["device.blocks_per_plane"] == 686
    for table, keys in FIGURES.items():
        for key in keys:
            without = re.sub(rf"(?m)^{key} = .*$", "", text)
            file.write_text(without + named, encoding="utf-8")
            with pytest.raises(ConfigError, match=rf"'Sixth drive' lacks {table}\.{key}: state"):
                ssdlab.load_config(file)
    types = [f'"{time} us"' for time in (50, 60, 70)]
    for key in ("read", "program"):
        # Times of the types of pages stand for the time of a page.
        listed = re.sub(rf"(?m)^{key} = .*$", f"{key}_types = [{', '.join(types)}]", text)
        listed = listed.replace("[device]", "[device]\nbits = 3")
        file.write_text(listed + named, encoding="utf-8")
        config = ssdlab.load_config(file)
        assert config[f"timing.{key}_types_ns"] == [50_000, 60_000, 70_000]
        assert config["run.drive"] == f"Sixth drive ({file}; not compared)"
    file.write_text(re.sub(r"(?m)^over_provisioning = .*$", "", text) + named, encoding="utf-8")
    either = r"lacks device\.over_provisioning or device\.user_capacity: state"
    with pytest.raises(ConfigError, match=either):
        ssdlab.load_config(file)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('titel = "Sixth drive"', "`titel`; did you mean `title`"),
        ("terabytes = 2", "`terabytes`; there are title, user_gb, raw, rated, unknown"),
    ],
)
def test_what_is_published_has_known_keys(line: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / "sixth.toml"
    file.write_text(f'preset = "{SAMSUNG}"\n[published]\n{line}\n', encoding="utf-8")
    message = f"{file}: [published] no such key: {hint}"
    with pytest.raises(ConfigError, match=re.escape(message)):
        ssdlab.load_config(file)


def test_a_drive_in_a_file_is_called_by_its_name(tmp_path: Path) -> None:
    # A fixed trace, of which nothing is run.
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"{i},W,{4096 * (i % 64)},4096\n" for i in range(512)))
    columns = {"workload.columns": "time=1:us,op=2,offset=3:bytes,size=4:bytes"}
    file, other = own_drive(tmp_path, "[gc]\nwindow = 8\n"), tmp_path / "other.toml"
    other.write_text(f'preset = "{SAMSUNG}"\n[gc]\nwindow = 8\n', encoding="utf-8")
    same = tmp_path / "same.toml"
    same.write_text(f'preset = "{SAMSUNG}"\n', encoding="utf-8")
    for drive, name in {
        str(file): "Sixth drive",
        str(other): "other.toml, changed from Samsung PM9A3 960 GB",
        str(same): "Samsung PM9A3 960 GB",
        SAMSUNG: "samsung-pm9a3",
    }.items():
        plan = trial_plan.plan_trial(trace, drive=drive, policies=None, set=columns, progress=False)
        assert trial.display_name(plan) == name
        asked = spare_plan.ask(trace, (), drive=drive, set=columns, progress=False)
        assert trial.display_name(asked.trial) == name


def test_a_drive_without_time_drops_what_has_no_effect(tmp_path: Path) -> None:
    file = own_drive(tmp_path, '[host]\nlink_rate = "4 GB/s"\nwrite_buffer_pages = 64\n')
    functional = {"run.mode": "functional"}
    for drive in (file, SAMSUNG, "tlc-960gb", ssdlab.load_config(file)):
        timed, config = ssdlab.load_config(drive), ssdlab.load_config(drive, set=functional)
        assert timed["host.write_buffer_pages"] > 0
        assert config["host.write_buffer_pages"] == 0
        assert config["host.link_bytes_per_s"] is None
        # The same drive: what is dropped is not called another value.
        assert "other values" not in config["run.drive"]
        with pytest.raises(ConfigError, match=r"host\.write_buffer_pages would have no effect"):
            ssdlab.load_config(drive, set={**functional, "host.write_buffer_pages": 8})
    # Whoever is no drive has stated it.
    plain = tmp_path / "plain.toml"
    plain.write_text('[run]\nmode = "functional"\n[host]\nwrite_buffer_pages = 64\n')
    with pytest.raises(ConfigError, match="would have no effect"):
        ssdlab.load_config(plain)


def test_a_drive_in_a_file_is_compared(tmp_path: Path) -> None:
    file = own_drive(tmp_path, "[device]\nblocks_per_plane = 64\npages_per_block = 64\n")
    done = command.compare(drive=[str(file)], out=tmp_path / "out", jobs=1, progress=False)
    found = MachineErrors.of(json.loads(errors_file(file).read_text(encoding="utf-8")))
    # All of its rows are fitted, so nothing is predicted, and the residual is what is known.
    lines = errors.lines(done, done.of[str(file)])
    residual = np.mean([abs(line.error) for line in lines if line.error is not None])
    assert found.errors.residual == pytest.approx(residual)
    assert replace(found.errors, residual=None) == Errors()
    assert [line.name for line in lines] == ["uniform, 50 % used", "uniform, 100 % used"]
    text = f"write amplification off by {100 * residual:.1f} % in the fit, no point held out"
    assert page.verdict(done) == [f"Sixth drive: {text}."]
    assert page.overview(done)[0][1][0] == "raw capacity"
    assert "## Sixth drive" in page.markdown(done)
    note = ssdlab.load_config(file)["run.drive"]
    assert note == f"Sixth drive ({file}; against measurements: {text})"
    # Errors that an earlier version wrote have no residual.
    old = {key: value for key, value in found.json().items() if key != "residual"}
    assert MachineErrors.of(old) == MachineErrors(Errors(), found.machine)


def test_a_key_that_has_its_default_changes_no_digest() -> None:
    read = {"timing.read_ns": 40_000}
    off = {"timing.suspend": "none", "timing.suspend_ns": 20_000}
    assert digest_of(read | off) == digest_of(read) != digest_of({})
    assert digest_of(read | {"timing.suspend": "both"}) != digest_of(read)
