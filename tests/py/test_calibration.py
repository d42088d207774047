"""What is fixed before results: found by search, kept in a file, refused for anything else."""

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce import calibrate, calibration, lifetimes
from ssdlab_lab.reproduce.calibrate import MeasuredShares, search
from ssdlab_lab.reproduce.calibration import (
    AS_RUN,
    Arrivals,
    Calibration,
    Lifetimes,
    calibration_of,
    device_of,
    entry_name,
    file_of,
    parsed,
)
from ssdlab_lab.reproduce.lifetimes import CommonParameters, Shares
from ssdlab_lab.reproduce.matrix import Scheme, Source
from ssdlab_lab.reproduce.paper import Scale
from ssdlab_lab.reproduce.papers import READINGS
from ssdlab_lab.reproduce.pictures import Log, pictures
from ssdlab_lab.reproduce.readings import Reading, baseline_of, cells_by_reading
from ssdlab_lab.reproduce.scoring import BAND
from ssdlab_lab.reproduce.tables import Row, Table, half_width, mean_of

CALIBRATED = [name for name, how in READINGS.items() if how.longest]
LIVES = Lifetimes(0.4, 1.5, 0, 0.99, (60.0, 61.0), (50.0, 49.0))


@pytest.mark.parametrize("name", CALIBRATED)
def test_the_file_of_the_project_is_for_this_version_and_every_baseline(name: str) -> None:
    """If not: `python -m ssdlab_lab.reproduce.calibrate NAME` makes it anew."""
    how = READINGS[name]
    found = calibration_of(name)
    text = file_of(name).read_text(encoding="utf-8")
    assert parsed(name, text) == found
    assert found.to_json() == text
    cells_by_reading(how, Scale(quick=False), how.paper.workloads)
    base = baseline_of(how, Reading(AS_RUN), Scale(quick=False))
    for workload in how.paper.workloads:
        lives, at = found.keys(base, 1, AS_RUN, workload)
        assert 0 < lives.live <= 0.6
        assert at.interval_us > 0
        # The mean of the baseline is what was calibrated.
        assert at.mean_ms[0] == how.paper.load[1][workload]


def one() -> Calibration:
    scheme = Scheme("Conventional", "noc-copyback-conventional")
    at = Arrivals(2048, 100.0, (1.5, 1.4), (20.0, 21.0))
    entry = calibration.Entry(device_of(scheme), {"MySQL": at})
    from ssdlab import _core

    return Calibration(
        "noc-copyback",
        _core.__version__,
        "2026-11-22",
        {"MySQL": LIVES},
        {entry_name(4, AS_RUN): entry},
    )


def test_a_calibration_is_refused_for_another_device_version_or_paper() -> None:
    made = one()
    scheme = Scheme("Conventional", "noc-copyback-conventional")
    again = "make it anew: python -m ssdlab_lab.reproduce.calibrate noc-copyback"
    assert made.keys(scheme, 4, AS_RUN, "MySQL")[1].cycle == 2048
    other = replace(scheme, keys={"timing.program": "201 us"})
    with pytest.raises(ConfigError, match=f"was made for another device .*{again}"):
        made.keys(other, 4, AS_RUN, "MySQL")
    # What the host does is not the device.
    same = replace(scheme, keys={"workload.requests": 7, "metrics.interval": "1 s"})
    assert made.keys(same, 4, AS_RUN, "MySQL")
    with pytest.raises(ConfigError, match=f"has nothing for MySQL, 1/1, as run; {again}"):
        made.keys(scheme, 1, AS_RUN, "MySQL")
    values = json.loads(made.to_json())
    assert parsed("noc-copyback", made.to_json()) == made
    for key, value in (("ssdlab", "0.0.1"), ("format", 0), ("paper", "other")):
        with pytest.raises(ConfigError, match=again):
            parsed("noc-copyback", json.dumps({**values, key: value}))
    for text in ("", "{}", "[]", made.to_json().replace('"cycle"', '"cycles"')):
        with pytest.raises(ConfigError, match=again):
            parsed("noc-copyback", text)


def test_the_search_finds_interval_and_cycle() -> None:
    """Waiting like that of a queue: it falls with the interval and grows with the cycle."""
    trials = []

    def run(cycle: int, us: float) -> MeasuredShares:
        trials.append((cycle, us))
        wait = 40.0 * (cycle / 1024) ** 0.5 * (300.0 / us) ** 3
        return 0.9 + wait, 100.0 * (cycle / 1024) + wait

    cycle, us, found = search(run, (1024, 200.0), (9.0, 800.0), 0.9, 1 << 17)
    assert found == run(cycle, us)
    assert found[0] == pytest.approx(9.0, rel=0.03)
    assert abs(math.log(found[1] / 800.0)) < math.log(1.25)
    assert len(trials) < 25
    # Without surges, the cycle is left alone.
    cycle, us, found = search(run, (1024, 200.0), (9.0, 800.0), 0.9, None)
    assert cycle == 1024
    assert found[0] == pytest.approx(9.0, rel=0.03)
    # What cannot be reached is come as near to as it was tried.
    assert search(lambda *_: (5.0, 9.0), (1024, 200.0), (9.0, None), 0.9, 4096)[2] == (5.0, 9.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A calibration of two workloads without runs; what was asked for is listed."""
    asked: list[str] = []

    def found(_: object, scheme: Scheme, scale: Scale, name: str, *__: object) -> Arrivals:
        asked.append(f"{name} {scheme.name} {scale.divisor}")
        return Arrivals(1024, 100.0 * len(name) + scale.divisor, (1.0, 1.1), (9.0, 8.0))

    monkeypatch.setattr(calibrate, "arrivals_of", found)
    return asked


def test_an_interrupted_calibration_resumes_to_the_identical_file(
    small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = READINGS["noc-copyback"]
    whole = tmp_path / "whole.json"
    calibrate.calibrate(how, whole, "2026-01-02", 1, readings=True, full=True)
    calls = len(small)
    assert not whole.with_suffix(".part.json").exists()
    small.clear()
    interrupted = calibrate.Progress.once
    file = tmp_path / "resumed.json"
    steps = iter(range(calls - 3))

    def once(progress: calibrate.Progress, key: str, make: object) -> object:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return interrupted(progress, key, make)  # type: ignore[arg-type]

    monkeypatch.setattr(calibrate.Progress, "once", once)
    with pytest.raises(KeyboardInterrupt):
        calibrate.calibrate(how, file, "2026-01-02", 1, readings=True, full=True)
    assert not file.exists()
    monkeypatch.setattr(calibrate.Progress, "once", interrupted)
    # On another day: the date is that of the beginning.
    calibrate.calibrate(how, file, "2026-01-03", 1, readings=True, full=True)
    assert file.read_bytes() == whole.read_bytes()
    assert len(small) == calls, "nothing is made twice"
    assert parsed("noc-copyback", file.read_text(encoding="utf-8")).date == "2026-01-02"


def test_a_reading_that_is_added_leaves_the_others_as_they_are(
    small: list[str], tmp_path: Path
) -> None:
    how, file = READINGS["noc-copyback"], tmp_path / "c.json"
    before = calibrate.calibrate(how, file, "2026-01-02", 1, readings=True, full=True)
    small.clear()
    added = Reading("further", {"gc.window": 2})
    more = replace(how, several=(*how.several, added))
    after = calibrate.calibrate(more, file, "2026-01-03", 1, readings=True, full=True)
    assert len(small) == len(how.paper.workloads)
    assert (after.date, after.lifetimes) == (before.date, before.lifetimes)
    assert {**before.entries, "1/4, further": after.entries["1/4, further"]} == after.entries
    small.clear()
    calibrate.calibrate(how, file, "2026-01-03", 1, readings=False, full=False, anew=True)
    assert len(small) == len(how.paper.workloads)
    # Arrivals belong to lifetimes: with others they are found anew.
    text = file.read_text(encoding="utf-8").replace('"live": 0.25', '"live": 0.4')
    file.write_text(text, encoding="utf-8")
    small.clear()
    calibrate.calibrate(how, file, "2026-01-03", 1, readings=False, full=False)
    assert len(small) == len(how.paper.workloads)


def test_lifetimes_are_the_nearest_to_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = set()

    def invalid(
        name: str, set_: str, __: int, live: float, written: list[float], of: CommonParameters
    ) -> list[Shares]:
        asked.add((name, set_, live, of.journal_run))
        return [(95 - 60 * live - of.journal_run / 1000, 85 - 60 * live) for _ in written]

    monkeypatch.setattr(lifetimes, "invalid", invalid)
    fits = lifetimes.fitted(1)
    # The more of Cassandra's blocks stay valid, the more of it lives.
    assert fits["Cassandra"].live > fits["MySQL"].live
    assert {fit.common.journal_run for fit in fits.values()} == {0}
    assert fits["Cassandra"].shares.keys() == {"noc-copyback", "adaptive-channel"}
    # It is not in table 1.
    assert fits["Varmail"].shares.keys() == {"adaptive-channel"}
    lives = sorted(fit.live for name, fit in fits.items() if name != "Varmail")
    assert fits["Varmail"].live == lives[3]
    points = len(lifetimes.LIVE) * len(lifetimes.JOURNAL_RUNS)
    assert len(asked) == (2 * 6 + 1) * points


def test_an_application_has_the_same_lifetimes_in_every_paper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lives = [calibration_of(name).lifetimes for name in CALIBRATED]
    keys = ("live", "written", "journal_run", "table_skew")
    for name in {name for by_name in lives for name in by_name}:
        having = [by_name[name] for by_name in lives if name in by_name]
        assert len({tuple(getattr(one, key) for key in keys) for one in having}) == 1, name
    for name, by_name in zip(CALIBRATED, lives, strict=True):
        assert lifetimes.lifetimes_of(name) == by_name
    monkeypatch.setattr(lifetimes, "FILE", tmp_path / "none.json")
    with pytest.raises(ConfigError, match=r"needs none.json, which cannot be read"):
        lifetimes.lifetimes_of("noc-copyback")


def test_intervals_over_seeds() -> None:
    assert mean_of([1.0, None, 3.0]) == 2.0
    assert mean_of([None]) is None
    assert half_width([5.0]) is None
    # Student's quantile with 4 degrees of freedom times 1.5811 / root 5.
    assert half_width([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2.776 * 0.70711, rel=1e-4)


def test_pictures_are_svg_and_show_every_gain() -> None:
    names = ("A", "B", "C")
    ours: dict[Source, tuple[float | None, ...]] = {"synthetic": (8.0, 2.0, 30.0)}
    rows = (
        Row("Conventional", (10.0, 2.0, float("nan")), ours),
        Row("Proposed", (5.0, 2.1, None), ours),
        Row("improvement, %", (50.0, -5.0, None), {"synthetic": (20.0, 0.0, 3.0)}, 0.0),
    )
    table = Table("table4-write", "Table 4: <mean>", "ms", names, rows, kind="mean")
    shown = pictures("noc-copyback", [table], ["synthetic"])
    assert list(shown) == ["gains synthetic", "table4-write"]
    gains = ElementTree.fromstring(shown["gains synthetic"].svg)
    marks = [one for one in gains.iter() if one.tag.endswith("circle")]
    # Two gains with a published one, one mark a measure and one a workload in the legend.
    assert len(marks) == 2 + 1 + 2
    latencies = ElementTree.fromstring(shown["table4-write"].svg)
    assert len([one for one in latencies.iter() if one.tag.endswith("circle")]) == 4 + 6 + 2
    assert pictures("x", [], ["synthetic"]) == {}
    axis = Log([1 / BAND, 4.0], 100.0, 200.0)
    assert axis.at(axis.low) == 100.0
    assert axis.at(axis.high) == 200.0
    assert 2 <= len(axis.ticks()) <= 9
    assert 2 <= len(Log([0.08, 31391.0], 0.0, 1.0).ticks()) <= 9
