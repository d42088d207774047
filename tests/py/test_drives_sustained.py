"""Sustained writes to consumer drives: their rows, their fits, their runs and their pictures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from running import ROOT
from ssdlab.config.drives import Errors, MachineErrors, named_errors
from ssdlab.drives.measurements import parse
from ssdlab.drives.sustained import RATE, UNTIL, Figure, phases_of, value_of
from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce.drives import choices, errors, page, study, sustained
from ssdlab_lab.reproduce.drives.known import Drive, drives
from ssdlab_lab.reproduce.drives.study import Drives
from ssdlab_lab.reproduce.folders import FolderProperties
from sustained_runs import filled

ATOM, SAMSUNG = "drive:adata-atom-50-1t", "drive:samsung-980-1t"
CONSUMER = [one for one in drives().values() if one.measured.sustained]
BEGUN = FolderProperties("drives", False, {}, "0" * 64, None)
HEAD = "phase,until_gb,mb_per_s,use\n"


def done_with(slower: float) -> Drives:
    """Every drive with its published phases, slower than published."""
    of = {one.name: one for one in CONSUMER}
    reports = {(one.name, sustained.NAME, 1.0): filled(one, slower=slower) for one in CONSUMER}
    return Drives(reports, False, {}, False, Path(), BEGUN, of)


def test_rows_are_figures() -> None:
    text = f"{HEAD}1,280,4500,fit\n2,,2000,fit\n2,500,,test\n3,,500,fit\n,,800,test\n"
    figures = parse("a.csv", text).sustained
    assert figures == (
        Figure(RATE, 1, 4500, fitted=True),
        Figure(UNTIL, 1, 280, fitted=True),
        Figure(RATE, 2, 2000, fitted=True),
        Figure(UNTIL, 2, 500, fitted=False),
        Figure(RATE, 3, 500, fitted=True),
        Figure(RATE, 0, 800, fitted=False),
    )
    assert phases_of(figures) == 3
    assert value_of(figures, UNTIL, 2) == 500
    assert value_of(figures, UNTIL, 3) is None
    expected = [(0.0, 280.0, 4500.0), (280.0, 500.0, 2000.0), (500.0, 1000.0, 500.0)]
    assert sustained.steps(figures, 1000.0) == expected


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,,,fit", "mb_per_s: missing; expected the rate of the phase, until_gb, or both"),
        (",280,4500,fit", "phase: missing; expected the phase that ends"),
        (",,800,test", "phase: no phase; expected at least the rate of phase 1"),
        ("1,280,4500,fit", "until_gb: the last phase ends with the drive; leave it empty"),
        ("1,,4500,fit\n2,,500,fit", "until_gb: missing for phase 1 of 2"),
        ("1,280,4500,fit\n3,,500,fit", "mb_per_s: missing for phase 2 of 3"),
        ("1,280,4500,fit\n1,,500,fit", "mb_per_s: again for phase 1, MB/s; expected once"),
        ("1,3,9,\n2,2,8,\n3,,7,", "until_gb: 2 after 3; expected ascending order"),
        ("1.5,,4500,fit", "phase: found '1.5'; expected a whole number from 1 to 9"),
        ("1,0,4500,fit", "until_gb: found '0'; expected gigabytes, above 0"),
        ("1,,0.5,fit", "mb_per_s: found '0.5'; expected megabytes per second, at least 1"),
    ],
)
def test_bad_rows_are_refused(rows: str, words: str) -> None:
    with pytest.raises(ConfigError, match=r"a\.csv:[1-9]: ") as raised:
        parse("a.csv", f"{HEAD}{rows}\n")
    assert words in str(raised.value)


def test_a_sustained_write_stands_on_rows_of_its_own() -> None:
    for row in ("0.5,,1,,100", ",1.2,1,,100"):
        with pytest.raises(ConfigError, match="not of a sustained write, whose rows have phase"):
            parse("a.csv", f"fill,waf,phase,until_gb,mb_per_s\n{row}\n")
    with pytest.raises(ConfigError, match="workload: a sustained write is sequential"):
        parse("a.csv", "workload,phase,mb_per_s\nzones 4,1,100\n")
    both = parse("a.csv", "fill,waf,phase,mb_per_s\n1,2.0,,\n,,1,100\n")
    assert len(both.wafs) == len(both.sustained) == 1


@pytest.mark.parametrize("drive", CONSUMER, ids=lambda one: one.name)
def test_keys_are_fitted_to_the_published_figures(drive: Drive) -> None:
    """All planes program at the published rates; the fitted share ends the cache as published."""
    config, figures = drive.config, drive.measured.sustained
    device, timing = config.values["device"], config.values["timing"]
    planes = device["channels"] * device["chips_per_channel"] * device["planes_per_chip"]
    others = 2 * timing["sram_ns"] + timing["transfer_ns"]

    def rate(program_ns: float) -> float:
        return float(planes * device["page_bytes"] / (program_ns + others) * 1000)

    assert rate(config["slc.program_ns"]) == pytest.approx(value_of(figures, RATE, 1), rel=5e-3)
    raw = planes * device["blocks_per_plane"] * device["pages_per_block"] * device["page_bytes"]
    cache = raw * config["slc.share"] / device["bits"] / 1e9
    assert cache == pytest.approx(value_of(figures, UNTIL, 1), rel=5e-3)
    is_direct = phases_of(figures) == 3
    assert config["slc.full"] == ("direct" if is_direct else "wait")
    if is_direct:
        assert rate(timing["program_ns"]) == pytest.approx(value_of(figures, RATE, 2), rel=5e-3)
    # The mean rate is held out, as is the start of folding after direct writes.
    held_out = {(figure.column, figure.phase) for figure in figures if not figure.fitted}
    assert held_out == {(RATE, 0), *([(UNTIL, 2)] if is_direct else [])}


def test_phases_are_where_the_rate_changes() -> None:
    rates = np.repeat([4000.0, 2000.0, 500.0], (30, 50, 20))
    rates *= 1 + 0.2 * np.sin(np.arange(100))
    written = np.arange(1.0, 101.0)
    seconds = np.cumsum(1 / rates)
    assert sustained.phase_ends(written, seconds, 3) == (29, 79, 99)
    assert sustained.phase_ends(written, seconds, 2) == (79, 99)
    assert sustained.phase_ends(written, seconds, 1) == (99,)
    # A rate that rises again.
    assert sustained.phase_ends(written, np.cumsum(1 / rates[::-1]), 3) == (19, 69, 99)


@pytest.mark.parametrize("drive", CONSUMER, ids=lambda one: one.name)
def test_a_run_as_published_has_no_error(drive: Drive) -> None:
    """Whatever the size of the run is: volumes are those of the drive."""
    for smaller in (1, 64):
        course = sustained.course(drive, filled(drive, smaller))
        for line in sustained.figure_lines(drive, course):
            assert line.error is not None
            if line.figure.phase:
                assert line.error == pytest.approx(0, abs=0.02), line.figure.name
        seconds = sustained.published_seconds(drive)
        mean = sustained.capacity_gb(drive) * 1000 / seconds
        assert course.whole == pytest.approx(mean, rel=1e-6)
        assert course.rates.mean() >= course.whole


def test_errors_are_those_of_what_is_predicted() -> None:
    done = done_with(2.0)
    atom, samsung = (errors.errors_of(done, drives()[name]) for name in (ATOM, SAMSUNG))
    mean = done.course(drives()[ATOM])
    assert mean is not None
    assert atom.sustained == pytest.approx(mean.whole / 800 - 1)
    # Half as fast, and as large: only rates are off.
    assert atom.folding == pytest.approx(0, abs=5e-3)
    assert samsung.folding is None
    assert (samsung.knee, samsung.uniform, samsung.residual) == (None, None, None)
    said = Errors(sustained=0.117, folding=0.061).text()
    assert said == "rate of filling it +12 %, start of folding +6 %"
    values = MachineErrors(Errors(sustained=0.1), "0").json()
    assert MachineErrors.of(values).errors == Errors(sustained=0.1)
    del values["sustained"], values["folding"]
    assert MachineErrors.of(values).errors == Errors()


def test_missing_runs_have_no_picture() -> None:
    done = replace(done_with(1.0), reports={})
    assert page.drawn(done) == {}
    assert errors.errors_of(done, drives()[ATOM]) == Errors()
    assert "| phase 1, MB/s | 4,500 | – | – (fitted) |" in page.markdown(done)


def test_the_page_has_figures_and_pictures() -> None:
    done = done_with(1.0)
    text, html, files = page.markdown(done), page.page(done), page.drawn(done)
    assert "| phase 2, until GB | 500 | 500 | 0.0 % |" in text.replace("+0.0", "0.0")
    assert "4,500 until 280 GB, 2,000 until 500 GB, 500" in text
    assert "| drive | fitted |" not in text, "no drive has other measurements"
    for drive in CONSUMER:
        file = f"pictures/drives-{drive.name.partition(':')[2]}.svg"
        assert f"]({file})" in text
        assert files[file].startswith("<svg ")
        assert files[file].count("<polyline ") == 2
        assert files[file] in html.replace("&#x27;", "'")
        assert (ROOT / "docs" / file).is_file()
    runs = json.loads(page.to_json(done))["runs"]
    atom = next(run for run in runs if run["drive"] == ATOM)
    assert atom["figures"]["phase 1, MB/s"] == pytest.approx(4500, rel=0.01)


def test_the_documented_errors_are_small_where_nothing_is_fitted() -> None:
    """What the five drives show: the mean rate within 13 %, the start of folding within 15 %."""
    for drive in CONSUMER:
        of = named_errors()[drive.name].errors
        assert of.sustained is not None
        assert abs(of.sustained) < 0.13
        assert of.folding is None or abs(of.folding) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", [ATOM, SAMSUNG])
def test_a_simulated_drive_has_its_fitted_figures(name: str, tmp_path: Path) -> None:
    drive = drives()[name]
    cell = study.cell_of(drive, (name, sustained.NAME, 1.0), False, tmp_path)
    config = cell.config
    full = drive.config["device.pages_per_block"]
    assert config["device.pages_per_block"] == full // choices.SUSTAINED_SCALE
    assert config["timing.erase_ns"] == drive.config["timing.erase_ns"] // choices.SUSTAINED_SCALE
    keys = {**cell.scheme.keys, **cell.workload.keys}
    report = ssdlab.run(preset=name, set=keys, seed=1, progress=False)
    for line in sustained.figure_lines(drive, sustained.course(drive, report)):
        assert line.error is not None
        assert abs(line.error) < (0.04 if line.figure.fitted else 0.13), line.figure.name
