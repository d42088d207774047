"""Fleets: a drive for each volume, and what is said of all of them."""

import csv
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from checking import findings_in
from ssdlab.fleets import answer, findings, published, stand_ins, volumes
from ssdlab.fleets.fleet import INVALID, MEASURED, PARTS, TITLES, UNSTEADY, Fleet
from ssdlab.fleets.fleet_runs import FleetRequest, _drives, run_fleet
from ssdlab.fleets.volumes import statistics_of
from ssdlab.results.report import Report
from ssdlab.running.simulate import run_loaded
from stored import in_process

DRIVE = """
[device]
channels = 2
chips_per_channel = 1
blocks_per_plane = 64
pages_per_block = 32
over_provisioning = 0.5
[gc]
reserve = 1
trigger = { policy = "free-blocks", soft = 2 }
[precondition]
fill = 1.0
overwrite = 4.0
"""
READ_ONLY, TINY = 5, 8
"""Volumes of the trace of the tests: one that is only read, and one with few pages."""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drive") / "small.toml"
    place.write_text(DRIVE)
    return place


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Requests of ten volumes in turn, as in the block traces of Alibaba."""
    stream, at, lines = random.Random(3), 1_577_808_000_000_000, []
    for number in range(60_000):
        volume = number % 10
        at += stream.randrange(1, 400)
        op = "R" if volume == READ_ONLY or stream.random() < volume / 20 else "W"
        pages = 16 if volume == TINY else 1200 + 100 * volume
        hot = stream.random() < volume / 10
        page = stream.randrange(pages // 10 if hot else pages)
        lines.append(f"{volume},{op},{page * 4096},4096,{at}\n")
    place = tmp_path_factory.mktemp("trace") / "all.csv"
    place.write_text("".join(lines))
    return place


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def done(trace: Path, drive: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    out = tmp_path_factory.mktemp("out") / "fleet"
    return ssdlab.fleet([trace], drives=[drive], cache=cache, out=out, progress=False)


def command(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "ssdlab", "fleet", *map(str, words)]
    held = {**os.environ, **(env or {})}
    return subprocess.run(line, capture_output=True, text=True, check=False, env=held)


def test_every_volume_is_told(done: Fleet, trace: Path) -> None:
    assert [one.name for one in done.volumes] == [str(i) for i in range(10)]
    requests = sum(int(str(one.statistics["volume_requests"])) for one in done.volumes)
    assert requests == len(trace.read_text().splitlines())
    groups = {row["volume"]: row["group"] for row in done.rows}
    assert groups[str(READ_ONLY)] == "no writes"
    assert groups[str(TINY)] == "failed"
    assert set(groups.values()) <= {"no writes", "failed", MEASURED, UNSTEADY, INVALID}
    assert [*groups.values()].count(MEASURED) >= 3
    # The numbers of the file are those of the read requests, whatever became of the run.
    assert done.planned == 9
    assert list(done.failures) == [f"volume {TINY}"]
    why = done.failures[f"volume {TINY}"]
    assert f"volume {TINY} touches 16 pages" in why, why
    assert not done.completed


def test_rows_and_counts_are_those_of_the_runs(done: Fleet, tmp_path: Path) -> None:
    assert done.folder is not None
    findings, text = findings_in(done.folder)
    assert not findings.counts, text
    folder = Path(shutil.copytree(done.folder, tmp_path / "a"))
    file = folder / "fleet.csv"
    file.write_text(file.read_text().replace(f",{MEASURED},", f",{UNSTEADY},", 1))
    assert findings_in(folder)[0].counts == {"fleet.csv": 1}


def test_a_fleet_of_invalid_runs_has_no_answer(
    trace: Path, drive: Path, cache: Path, tmp_path: Path
) -> None:
    # A tenth of the pages is not mapped before the run: what reads them takes no time.
    sets = {"precondition.fill": 0.9}
    out = tmp_path / "out"
    half = ssdlab.fleet([trace], drives=[drive], set=sets, cache=cache, out=out, progress=False)
    runs = {
        str(one.point): ssdlab.run(
            drive,
            trace=trace,
            set={**sets, "workload.volume": one.point, "device.fit": "trace"},
            progress=False,
        )
        for one in half.outcomes
        if not one.error
    }
    wrong = {name for name, one in runs.items() if one.steady_state.reached and one.invalidating}
    assert {str(row["volume"]) for row in half.of("small", INVALID)} == wrong
    assert len(wrong) > 1
    valid = {name for name, one in runs.items() if not one.invalidating}
    assert {str(row["volume"]) for row in half.of("small")} == valid
    assert len(valid) < len(wrong)
    short = len(runs) - len(valid) - len(wrong)
    text = " ".join(half.summary().split())
    few = f"only {len(valid)} of {len(valid) + len(wrong)} volumes"
    assert f"There is no answer for small: {few}" in text
    assert (f"beside {short} not steady" in text) == (short > 0)
    assert f"Invalid, and left out, {len(wrong)} volumes, such as" in text
    assert "pages read were unmapped" in text
    assert "has a median of" not in text
    findings, told = findings_in(out)
    assert not findings.counts, told


def test_volumes_that_write_too_little_are_no_error(
    trace: Path, drive: Path, cache: Path, tmp_path: Path
) -> None:
    short = tmp_path / "short.csv"
    short.write_text("".join(trace.read_text().splitlines(keepends=True)[:6000]))
    some = ssdlab.fleet([short], drives=[drive], cache=cache, progress=False)
    unsteady, measured = some.of("small", UNSTEADY), some.of("small")
    ran = [row for group in (MEASURED, UNSTEADY, INVALID) for row in some.of("small", group)]
    assert len(unsteady) >= len(measured) > 0
    # What is not steady since the reserve decided is invalid.
    first = {str(row["reason"]).partition(":")[0] for row in some.of("small", INVALID)}
    assert first == {"the reserve decided, not your policy"}
    part, whole = (
        sum(int(str(row["volume_bytes_written"])) for row in rows) for rows in (unsteady, ran)
    )
    share = f"{100 * part / whole:.0f} % of the bytes written"
    text = answer.text_of(some)
    assert f"{len(unsteady)} of {len(ran)} volumes, with {share}, did not" in text
    assert text.startswith(f"Over {len(measured)} volumes: ")
    assert text in " ".join(some.summary().split())


def test_a_drive_is_as_large_as_its_volume(done: Fleet) -> None:
    for row in done.of("small"):
        assert int(str(row["capacity_bytes"])) >= int(str(row["footprint_bytes"]))
        assert int(str(row["capacity_bytes"])) < 1.2 * int(str(row["footprint_bytes"]))


@pytest.mark.parametrize("volume", [0, 7])
def test_a_volume_is_the_run_of_that_volume(
    done: Fleet, trace: Path, drive: Path, volume: int
) -> None:
    sets = {"workload.volume": volume, "device.fit": "trace"}
    report = ssdlab.run(drive, trace=trace, set=sets, progress=False)
    row = done.rows[volume]
    assert row["event_digest"] == report.provenance.event_digest
    assert row["waf"] == report.waf.total
    assert report.latency.write is not None
    assert row["write_p99_9_ns"] == report.latency.write.p99_9
    info = ssdlab.Trace(trace).info(set={"workload.volume": volume})
    assert dict(done.volumes[volume].statistics) == statistics_of(info)


def test_a_file_with_one_volume_is_taken_as_it_is(
    trace: Path, drive: Path, cache: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.csv"
    lines = [one for one in trace.read_text().splitlines(keepends=True) if one.startswith("3,")]
    alone.write_text("".join(lines))
    one = ssdlab.fleet([alone], drives=drive, cache=cache, progress=False)
    assert one.volumes[0].trace == alone
    assert one.volumes[0].name == "alone"
    report = ssdlab.run(drive, trace=alone, set={"device.fit": "trace"}, progress=False)
    assert one.rows[0]["event_digest"] == report.provenance.event_digest


def test_a_trace_is_split_once(
    trace: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, done: Fleet
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("split again")

    monkeypatch.setattr(ssdlab.Trace, "split", never)
    monkeypatch.setattr(ssdlab.Trace, "info", never)
    again = volumes.volumes_of([trace], {}, cache=cache, jobs=1, show=None)
    assert [one.statistics for one in again] == [one.statistics for one in done.volumes]


SPLIT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
import ssdlab
found = ssdlab.Trace(sys.argv[1]).split(sys.argv[2], progress=False)
print(len(found), sum(one.requests for one in found))
"""


def test_a_split_has_few_files_open(tmp_path: Path) -> None:
    count = 1100
    lines = (
        f"{i % count},W,{i * 4096},4096,{2_000_000_000_000_000 + i}\n" for i in range(3 * count)
    )
    (tmp_path / "all.csv").write_text("".join(lines))
    words = [sys.executable, "-c", SPLIT, "all.csv", "volumes"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == f"{count} {3 * count}\n", done.stderr
    assert len([*(tmp_path / "volumes").iterdir()]) == count


def test_a_folder_is_read_and_resumed(
    done: Fleet, trace: Path, drive: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert done.folder is not None
    read = Fleet.read(done.folder)
    assert read.rows == done.rows
    assert read.summary() == done.summary()
    with (done.folder / "fleet.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 10
    assert {*rows[0]} == {*done.rows[0]}
    pandas = pytest.importorskip("pandas")
    assert len(done.to_pandas()) == 10
    assert len(pandas.read_parquet(done.folder / "fleet.parquet")) == 10
    lines = (done.folder / "outcomes.jsonl").read_text().splitlines(keepends=True)
    (done.folder / "outcomes.jsonl").write_text("".join(lines[:4]) + lines[4][:20])
    ran = []

    def counted(*args: Any, **how: Any) -> Report:  # noqa: ANN401 - as `run_loaded`
        ran.append(args)
        return run_loaded(*args, **how)

    monkeypatch.setattr("ssdlab.running.runner.run_loaded", counted)
    again = ssdlab.fleet([trace], drives=[drive], cache=cache, out=done.folder, progress=False)
    assert again.rows == done.rows
    assert len(ran) == 5
    with pytest.raises(ssdlab.OutputError, match=r"another fleet \(with other set\)"):
        ssdlab.fleet(
            [trace], drives=[drive], cache=cache, out=done.folder, set={"run.seed": 9},
            progress=False,
        )  # fmt: skip


def test_ctrl_c_keeps_what_is_done(drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--stand-in", "alibaba:40", "--drive", str(drive), "--out", str(out), "-j", "1"]
    line = [sys.executable, "-m", "ssdlab", "fleet", *words, "--no-html"]
    held = out / "outcomes.jsonl"
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not (held.exists() and held.stat().st_size):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    if process.returncode == 0:
        pytest.skip("all of it was done before the signal came")
    assert process.returncode == 130, told
    assert b"the completed part is kept; run the same command again to resume" in told
    part = held.read_text().count("\n")
    assert 0 < part < 40
    done = command(*words, "--quiet", "--no-html")
    assert done.returncode == 0, done.stderr
    assert held.read_text().count("\n") == 40
    whole = ssdlab.fleet(stand_in="alibaba:40", drives=drive, progress=False)
    assert Fleet.read(out).rows == whole.rows


def test_the_page_and_the_plots_of_a_fleet_are_written_again(done: Fleet, tmp_path: Path) -> None:
    assert done.folder is not None
    before = (done.folder / "report.html").read_text()
    made = in_process("report", str(done.folder))
    assert (made.returncode, made.stdout) == (0, f"{done.folder / 'report.html'}\n"), made.stderr
    assert (done.folder / "report.html").read_text() == before
    page, plots = tmp_path / "page.html", tmp_path / "plots"
    made = in_process("report", str(done.folder), "--out", str(page), "--plots", str(plots))
    assert made.returncode == 0, made.stderr
    assert page.read_text() == before
    drawn = {one.stem for one in plots.iterdir()}
    assert {f"cdf-{metric}" for metric in ("waf", "write_p99_ns")} <= drawn
    for option in (["--from", "1s"], ["--baseline", "small"]):
        made = in_process("report", str(done.folder), *option)
        told = f"error: {option[0]}: {done.folder} contains a fleet, which takes no such option\n"
        assert (made.returncode, made.stderr) == (2, told)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/fleet.json").write_text("{}")
    (tmp_path / "broken/outcomes.jsonl").write_text("")
    made = in_process("report", str(tmp_path / "broken"))
    assert made.returncode == 2
    assert "fleet.json: its results cannot be read: " in made.stderr


def test_drives_are_paired_by_volume(trace: Path, drive: Path, cache: Path, tmp_path: Path) -> None:
    roomy = tmp_path / "roomy.toml"
    roomy.write_text(DRIVE.replace("0.5", "1.0"))
    both = ssdlab.fleet([trace], drives=[drive, roomy], cache=cache, progress=False)
    assert both.drives == ("small", "roomy")
    assert len(both.rows) == 20
    rows = {(row["drive"], row["volume"]): row for row in both.rows}
    ratios = sorted(
        float(str(rows["roomy", volume]["waf"])) / float(str(rows["small", volume]["waf"]))
        for drive, volume in rows
        if drive == "small" and {rows[d, volume]["group"] for d in both.drives} == {MEASURED}
    )
    assert len(ratios) > 5
    (waf,) = [one for one in answer.differences(both) if one.metric == "waf"]
    assert waf.volumes == len(ratios)
    assert waf.lower == sum(one < 1 for one in ratios) > len(ratios) / 2
    assert waf.higher == sum(one > 1 for one in ratios)
    assert waf.ratio == statistics.median(ratios) < 1
    # Of six to eight pairs the sign test takes all: at most 2 / 2^6 of their chance is outside.
    assert len(ratios) <= 8
    assert (waf.low, waf.high) == (ratios[0], ratios[-1])
    text = both.summary()
    assert "drives, paired by volume" in text
    span = f"median ratio {waf.ratio:.3g}, {ratios[0]:.3g} to {ratios[-1]:.3g}"
    counts = f"lower for {waf.lower} volumes, higher for {waf.higher}"
    apart = not ratios[0] <= 1 <= ratios[-1]
    says = " is lower on roomy than on small"
    says = says if apart else ": no significant difference between roomy and small"
    assert f"Write amplification{says} ({span}; {counts})." in " ".join(text.split())


def test_a_fleet_without_time(trace: Path, drive: Path, cache: Path) -> None:
    sets = {"run.mode": "functional"}
    done = ssdlab.fleet([trace], drives=drive, cache=cache, set=sets, progress=False)
    assert "waf" in done.metrics
    assert "write_p99_ns" not in done.metrics


def test_a_drive_too_small_for_a_volume(trace: Path, drive: Path, cache: Path) -> None:
    sets = {"device.user_capacity": "5 MiB", "device.blocks_per_plane": 40}
    done = ssdlab.fleet([trace], drives=drive, size="drive", cache=cache, set=sets, progress=False)
    pages = {
        one.name: int(str(one.statistics["footprint_bytes"])) // 4096
        for one in done.volumes
        if one.name != str(READ_ONLY)
    }
    large = {name for name, used in pages.items() if used > (5 << 20) // 4096}
    assert 0 < len(large) < len(pages)
    assert done.failures.keys() == {f"volume {name}" for name in large}
    for name in large:
        assert f"{pages[name]:,}" in done.failures[f"volume {name}"].replace(
            str(pages[name]), f"{pages[name]:,}"
        )
    ran = {row["volume"] for group in (MEASURED, UNSTEADY) for row in done.of("small", group)}
    assert ran == pages.keys() - large


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--drive", "greedy-8ch"], "no volumes: expected traces, or --stand-in"),
        (["--stand-in", "alibaba:4"], "no drive: expected --drive with"),
        (["--stand-in", "alibabba:4", "--drive", "greedy-8ch"], "did you mean alibaba?"),
        (["--stand-in", "alibaba", "--drive", "greedy-8ch"], "expected alibaba:COUNT"),
        (["--stand-in", "alibaba:0", "--drive", "greedy-8ch"], "expected alibaba:COUNT"),
        (
            ["--stand-in", "alibaba:4", "--size", "volume", "--drive", "greedy-8ch"],
            "as large as its drive says",
        ),
        (
            ["--stand-in", "alibaba:4", "--drive", "greedy-8ch", "--drive", "greedy-8ch"],
            "--drive greedy-8ch: given twice",
        ),
        (["no.csv", "--drive", "greedy-8ch"], "no.csv: cannot open the trace"),
        (["--stand-in", "alibaba:4", "--drive", "gredy-8ch"], "did you mean greedy-8ch?"),
        (
            ["--stand-in", "alibaba:4", "--drive", "greedy-8ch", "--set", "gc.victim=no"],
            "gc.victim",
        ),
        (
            ["--stand-in", "alibaba:4", "--drive", "greedy-8ch", "--set", "workload.read=0.5"],
            "--set workload.read: is drawn for each volume",
        ),
    ],
)
def test_bad_input(words: list[str], told: str, tmp_path: Path) -> None:
    done = command(*words, "--out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert told in done.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_files_that_may_continue_one_another(trace: Path, cache: Path, tmp_path: Path) -> None:
    later = tmp_path / "later.csv"
    later.write_text(trace.read_text().replace(",4096,157", ",4096,158"))
    with pytest.raises(ssdlab.WorkloadError, match=r"volume 0 is in .*join them first"):
        volumes.volumes_of([trace, later], {}, cache=cache, jobs=1, show=None)
    with pytest.raises(ssdlab.ConfigError, match="given twice"):
        volumes.volumes_of([trace, trace], {}, cache=cache, jobs=1, show=None)


# ---------------------------------------------------------------- stand-ins


def test_stand_ins_have_the_published_quantiles() -> None:
    fleet, count = published.ALIBABA, 4000
    several = [stand_ins.draw(fleet, 1, i) for i in range(count)]
    for name in ("write_share", "requests_per_s", "burstiness", "update_coverage", "size_bytes"):
        known: published.Quantiles = getattr(fleet, name)
        values = np.array([getattr(one, name) for one in several])
        assert known.published
        for part, value in known.points:
            if part in known.published:
                # Four standard deviations of a share of so many.
                width = 4 * (part * (1 - part) / count) ** 0.5
                assert abs(float(np.mean(values <= value)) - part) < width, (name, part)
    assert [stand_ins.draw(fleet, 1, i) for i in range(9)] == several[:9]
    assert stand_ins.draw(fleet, 2, 0) != several[0]


def test_a_stand_in_is_what_was_drawn(drive: Path, tmp_path: Path) -> None:
    """The statistics of a stand-in are those of its requests, as `trace info` measures them."""
    made = stand_ins.StandIn.of("alibaba:30", 3)
    config = ssdlab.load_config(drive, set={"device.blocks_per_plane": 2048})
    capacity = config["device.user_pages"] * config["device.page_bytes"]
    tried = 0
    for number in range(30):
        volume = stand_ins.volume_of(made, number, config)
        stated = volume.statistics
        if int(str(stated["volume_requests"])) < 3000 or float(str(stated["write_share"])) < 0.2:
            continue
        tried += 1
        kind = str(volume.sets["workload.kind"])
        sets = {k: v for k, v in volume.sets.items() if k.startswith("workload.")}
        sets.pop("workload.kind")
        sets["workload.span"] = float(str(stated["footprint_bytes"])) / capacity
        place = tmp_path / f"{number}.ssdtrace"
        ssdlab.generate(kind, place, bytes=capacity, set=sets)
        found = statistics_of(ssdlab.Trace(place).info())
        assert found["volume_requests"] == stated["volume_requests"]
        for name, within in (("write_share", 0.03), ("mean_write_bytes", 0.01)):
            assert found[name] == pytest.approx(stated[name], rel=within, abs=0.01), name
        assert found["volume_requests_per_s"] == pytest.approx(
            stated["volume_requests_per_s"], rel=0.25
        )
        assert float(str(found["footprint_bytes"])) <= 1.01 * float(str(stated["footprint_bytes"]))
    assert tried >= 3


def test_a_stand_in_fills_its_footprint_and_writes_it_a_few_times(drive: Path) -> None:
    made = stand_ins.StandIn.of("alibaba:300", 1)
    (config,) = _drives([drive], {}, None)
    seen = []
    for number in range(made.count):
        volume = stand_ins.volume_of(made, number, config.config)
        sets = config.span_of(volume)
        assert sets["precondition.fill"] == sets["workload.span"]
        footprint = float(str(volume.statistics["footprint_bytes"]))
        assert sets["workload.span"] == pytest.approx(footprint / config.capacity_bytes, abs=1e-6)
        rounds = float(str(volume.statistics["overwrite_factor"]))
        requests = int(str(volume.statistics["volume_requests"]))
        assert rounds <= published.MOST_ROUNDS * (1 + 1 / requests)
        seen.append(rounds)
    assert max(seen) == pytest.approx(published.MOST_ROUNDS, rel=0.01)


def test_stand_ins_do_not_depend_on_how_many_there_are(drive: Path) -> None:
    few = ssdlab.fleet(stand_in="alibaba:3", drives=drive, progress=False)
    more = ssdlab.fleet(stand_in="alibaba:5", drives=drive, progress=False, jobs=1)
    assert few.rows == more.rows[:3]


def test_a_stand_in_is_the_same_on_drives_of_any_size(drive: Path, tmp_path: Path) -> None:
    smaller = tmp_path / "smaller.toml"
    smaller.write_text(DRIVE.replace("blocks_per_plane = 64", "blocks_per_plane = 32"))
    done = ssdlab.fleet(stand_in="alibaba:8", drives=[drive, smaller], progress=False)
    uses = {one.name: int(str(one.statistics["footprint_bytes"])) for one in done.volumes}
    (holds,) = {
        int(holds.replace(",", ""))
        for why in done.failures.values()
        for holds in re.findall(r"smaller holds ([\d,]+): give", why)
    }
    large = {name: used for name, used in uses.items() if used > holds}
    assert 0 < len(large) < 8
    assert done.failures.keys() == {f"volume {name} on smaller" for name in large}
    for name, used in large.items():
        why = done.failures[f"volume {name} on smaller"]
        assert f"volume {name} uses {used:,} bytes, smaller holds" in why
    written = {(row["volume"], row["drive"]): row["host_bytes_written"] for row in done.rows}
    for row in done.rows:
        if row["drive"] == "smaller" and row["group"] != "failed":
            assert written[row["volume"], "small"] == written[row["volume"], "smaller"]


# ---------------------------------------------------------------- findings


def test_quantiles_are_weighted() -> None:
    values, even = [3.0, 1.0, 2.0, 4.0], [1.0] * 4
    assert [*findings.quantiles(values, even, (0.25, 0.5, 1.0))] == [1.0, 2.0, 4.0]
    assert [*findings.quantiles(values, [0.0, 1.0, 0.0, 3.0], (0.25, 0.5))] == [1.0, 4.0]
    assert [*findings.quantiles(values, [0.0] * 4, (0.5,))] == [2.0]


def test_quantiles_by_bytes_written_weigh_a_volume_by_its_bytes() -> None:
    """Volumes whose bytes written, requests and write amplification are in unlike orders."""
    from ssdlab.results.sweep import COLUMNS, Outcome

    stream, many, ended = random.Random(8), [], []
    for i in range(40):
        statistics: dict[str, float] = {name: stream.random() for name in volumes.STATISTICS_OF}
        statistics |= {
            "volume_bytes_written": stream.randrange(1, 1 << 40),
            "volume_requests": stream.randrange(1, 1 << 20),
        }
        many.append(volumes.Volume(f"v{i}", statistics))
        waf = 1 + stream.randrange(1, 900) / 100
        values = tuple(waf if name == "waf" else None for name in COLUMNS)
        ended.append(Outcome(i, None, values, more={"steady": True}))
    fleet = Fleet("planted", ("a",), tuple(many), tuple(ended), {})
    [rows] = [rows for title, _, rows in answer.tables_of(fleet) if "quantiles" in title]
    shown = {row[0]: row[2:] for row in rows}
    for name, weight in (("", None), (", by bytes written", "volume_bytes_written")):
        weighed = sorted(
            (float(str(row["waf"])), int(str(row[weight])) if weight else 1) for row in fleet.rows
        )
        total = sum(amount for _, amount in weighed)
        expected = []
        for part in PARTS:
            below = 0
            for waf, amount in weighed:
                below += amount
                if below >= part * total:
                    expected.append(f"{waf:.3f}")
                    break
        assert shown[f"{TITLES['waf']}{name}"] == expected


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    assert findings.sign_test_cut(5) is None
    # Of the textbooks: n = 10 leaves one value out at each end, n = 100 leaves 39.
    assert findings.sign_test_cut(10) == 1
    assert findings.sign_test_cut(100) == 39
    stream, held = np.random.default_rng(1), 0
    for _ in range(400):
        pairs = [(float(np.exp(v)), 1.0) for v in stream.normal(size=25)]
        one = findings.difference("waf", "a", "b", pairs)
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        held += one.low <= 1 <= one.high
    assert 0.93 <= held / 400 <= 0.99


def test_a_rank_correlation_tells_nothing_of_noise() -> None:
    stream, told = np.random.default_rng(2), 0
    for _ in range(300):
        a, b = stream.normal(size=(2, 50))
        one = findings.rank("write_share", [*a], [*b], total=1)
        assert one is not None
        told += one.is_clear
    assert told / 300 <= 0.09
    one = findings.rank("write_share", [*range(20)], [v**3 for v in range(20)], total=11)
    assert one is not None
    assert one.rho == pytest.approx(1.0)
    assert one.is_clear
    assert findings.rank("write_share", [1.0] * 20, [*range(20)], total=1) is None
    assert findings.rank("write_share", [1.0, 2.0], [1.0, 2.0], total=1) is None


def test_what_suffers_is_found() -> None:
    """A planted cause is told, and nothing else."""
    from ssdlab.results.sweep import COLUMNS, Outcome

    stream, many, ended = random.Random(4), [], []
    for i in range(200):
        statistics = {name: stream.random() for name in volumes.STATISTICS_OF}
        many.append(volumes.Volume(f"v{i}", statistics))
        waf = 1 + 2 * statistics["write_share"] + stream.gauss(0, 0.3)
        values = tuple(waf if name == "waf" else None for name in COLUMNS)
        ended.append(Outcome(i, None, values, more={"steady": True}))
    large = Fleet("planted", ("a",), tuple(many), tuple(ended), {})
    found = answer.ranks(large, "a", "waf")
    assert [one.statistic for one in found if one.is_clear] == ["write_share"]
    assert found[0].low < found[0].rho < found[0].high
    assert "Write amplification rises with the share of writes" in answer.text_of(large)
    worst = answer.worst_rows(large, "a", "waf")
    assert len(worst) == 10
    assert worst[0]["waf"] == max(row["waf"] for row in large.rows)  # type: ignore[type-var]


@pytest.mark.parametrize("wrong", [2, 10, 11])
def test_what_a_warning_invalidates_is_left_out_and_counted(wrong: int) -> None:
    from ssdlab.results.sweep import COLUMNS, Outcome

    many = [volumes.Volume(f"v{i}", dict.fromkeys(volumes.STATISTICS_OF, 1.0)) for i in range(20)]
    ended = []
    for i in range(20):
        values = tuple(1.0 + (99 if i < wrong else i) if n == "waf" else None for n in COLUMNS)
        warned = {"warnings": ("overloaded: slow down",), "invalidating": 1} if i < wrong else {}
        ended.append(Outcome(i, None, values, more={"steady": True}, **warned))  # type: ignore[arg-type]
    fleet = Fleet("planted", ("a",), tuple(many), tuple(ended), {})
    assert fleet.groups == {"a": {INVALID: wrong, MEASURED: 20 - wrong}}
    which = "volumes v0, v1" if wrong == 2 else f"{wrong} volumes, such as v0"
    assert fleet.first_lines() == [f"Invalid, and left out, {which}: overloaded: slow down"]
    text = answer.text_of(fleet)
    if wrong > 10:
        assert text == "There is no answer for a: only 9 of 20 volumes have a valid result."
    else:
        assert text.startswith(f"Over {20 - wrong} volumes: write amplification has a median of")
    cells = [row for _, _, rows in answer.tables_of(fleet) for row in rows]
    assert "100.000" not in " ".join(one for row in cells for one in row)


def test_unsteady_volumes_do_not_count_against_an_answer() -> None:
    from ssdlab.results.sweep import COLUMNS, Outcome

    many = [volumes.Volume(f"v{i}", dict.fromkeys(volumes.STATISTICS_OF, 1.0)) for i in range(20)]
    short = {"warnings": ("not in steady state: ...", "the measurement starts"), "invalidating": 2}
    loaded = {"warnings": ("overloaded", "not in steady state: ..."), "invalidating": 2}
    ended = []
    for i in range(40):
        # On b most of the volumes that settle are invalid; an overload there hides among the short.
        on_b, volume = i % 2, i // 2
        how: dict[str, Any] = {"more": {"steady": volume < 3}}
        if volume >= 3:
            how |= loaded if on_b and volume < 8 else short
        values = tuple(1.0 + volume + on_b if n == "waf" else None for n in COLUMNS)
        ended.append(Outcome(i, None, values, **how))
    fleet = Fleet("planted", ("a", "b"), tuple(many), tuple(ended), {})
    assert fleet.groups == {
        "a": {MEASURED: 3, UNSTEADY: 17},
        "b": {MEASURED: 3, INVALID: 5, UNSTEADY: 12},
    }
    text = answer.text_of(fleet)
    assert text == (
        "On a, over 3 volumes: write amplification has a median of 2.000, a tenth of the volumes"
        " is above 3.000. 17 of 20 volumes, with 85 % of the bytes written, did not reach a"
        " steady state and are apart (fleet.csv has the reasons). There is no answer for b: only 3"
        " of 8 volumes have a valid result, beside 12 not steady."
    )
    fleet = Fleet("planted", ("a",), tuple(many), (Outcome(9, None, **how),), {})
    text = answer.text_of(fleet)
    assert text.startswith("No volume on a has a valid result. 1 of 1 volume, with 100 %")


def test_similar_volumes_have_a_verdict_of_their_own() -> None:
    """A drive may be better for skewed volumes and worse for others: each class has a verdict."""
    from ssdlab.results.sweep import COLUMNS, Outcome

    stream, many, ended = random.Random(6), [], []
    for i in range(120):
        skewed = i % 2 == 0
        statistics = {name: stream.random() for name in volumes.STATISTICS_OF}
        statistics |= {"overwrite_factor": 3.0, "hot_write_share": 0.8 if skewed else 0.15}
        if i % 40 == 1:
            statistics["overwrite_factor"] = 1.5  # three of them: too few for a verdict
        many.append(volumes.Volume(f"v{i}", statistics))
        base = 2 + stream.random()
        for j, factor in enumerate((1.0, (0.8 if skewed else 1.2) + stream.gauss(0, 0.02))):
            waf = base * factor
            values = tuple(waf if name == "waf" else None for name in COLUMNS)
            ended.append(Outcome(2 * i + j, None, values, more={"steady": True}))
    fleet = Fleet("planted", ("a", "b"), tuple(many), tuple(ended), {})
    classes = answer.similar_volumes(fleet)
    assert {name: len(one) for name, one in classes.items()} == {
        "written fewer than 2 times, hottest tenth less than 20 %": 3,
        "written 2 to 8 times, hottest tenth less than 20 %": 57,
        "written 2 to 8 times, hottest tenth 60 % or more": 60,
    }
    text = answer.text_of(fleet)
    often = "volumes written 2 to 8 times, hottest tenth"
    assert f"60 {often} 60 % or more: write amplification is lower on b than on a" in text
    assert f"57 {often} less than 20 %: write amplification is higher on b than on a" in text
    assert "fewer than 2 times" not in text
    [rows] = [rows for title, _, rows in answer.tables_of(fleet) if "similar" in title]
    assert [row[-1] for row in rows] == ["undecided", "higher on b", "lower on b"]
    alike = Fleet("alike", ("a", "b"), tuple(many[::2]), tuple(ended[:120]), {})
    assert len(answer.similar_volumes(alike)) == 1
    assert "hottest tenth" not in answer.text_of(alike)


# ---------------------------------------------------------------- the page


def test_the_page_of_a_large_fleet_stays_small(done: Fleet) -> None:
    from ssdlab.fleets.page import fleet_page
    from ssdlab.results.sweep import COLUMNS, Outcome

    stream = random.Random(1)
    pattern = next(one for one in done.outcomes if not one.error)
    place = {name: i for i, name in enumerate(COLUMNS)}

    def varied(point: int) -> Outcome:
        values = [*pattern.values]
        for name in ("waf", "write_p99_ns", "write_p99_9_ns", "read_p99_ns", "read_p99_9_ns"):
            values[place[name]] = float(values[place[name]] or 1) * stream.lognormvariate(0, 1)
        more = {**pattern.more, "steady": point % 9 > 0, "gc_share": stream.random()}
        return Outcome(point, None, tuple(values), more=more)

    volume = done.volumes[0]
    many = tuple(
        volumes.Volume(f"v{i}", {k: stream.lognormvariate(0, 1) for k in volumes.STATISTICS_OF})
        for i in range(1000)
    )
    assert volume.statistics.keys() == many[0].statistics.keys()
    large = Fleet("large", ("a", "b", "c"), many, tuple(map(varied, range(3000))), done.identity)
    page = fleet_page(large)
    assert len(page.encode()) < 2_000_000
    for word in ("distributions", "scatter", "tables"):
        assert f'<section id="{word}"' in page


def test_json_and_the_code_of_the_command(
    trace: Path, drive: Path, cache: Path, tmp_path: Path
) -> None:
    words = [trace, "--drive", drive, "--cache", cache, "--out", tmp_path / "out", "--no-html"]
    ended = command(*words, "--json")
    assert ended.returncode == 1, ended.stderr
    assert f"error: volume {TINY}: device.fit" in ended.stderr
    values = json.loads(ended.stdout)
    assert values["failed"] == 1
    assert len(values["rows"]) == 10
    again = command(*words)
    assert again.returncode == 1
    assert "write amplification" in again.stdout


def test_a_runner_makes_the_runs(drive: Path) -> None:
    from ssdlab.running.execution import Execution
    from ssdlab.running.runner import Threads

    asked, quiet = FleetRequest([], [drive], "alibaba:3"), Execution(progress=False, html=False)
    here = run_fleet(asked, Threads(2), quiet)
    apart = run_fleet(asked, Threads(2, apart=True), quiet)
    assert here.rows == apart.rows


def test_volumes_that_were_split_are_not_read_by_the_keys_of_the_trace(tmp_path: Path) -> None:
    lines = ["419,W,0,4096,1577808000000046", "7,W,512,512,1577808000000050"]
    (tmp_path / "both.csv").write_text("\n".join([*lines, ""]))
    (tmp_path / "one.csv").write_text(f"{lines[0]}\n")
    keys = {"workload.format": "alibaba", "workload.until": "1 s"}

    def sets_of(name: str) -> list[dict[str, object]]:
        cache = tmp_path / "cache"
        found = volumes.volumes_of([tmp_path / name], keys, cache=cache, jobs=1, show=None)
        return [dict(volume.sets) for volume in found]

    assert sets_of("both.csv") == [{}, {}]
    assert sets_of("one.csv") == [keys]
