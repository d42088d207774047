"""`ssdlab drives calibrate`: what is fitted, what is warned of, and what is refused."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from running import nothing_left, refused, ssdlab_command
from ssdlab.config.drives import MachineErrors, errors_file, machine_digest
from ssdlab.drives import fit, unknowns
from ssdlab.drives.calibrate import calibrate
from ssdlab.drives.measurements import read
from ssdlab.drives.unknowns import ACCURACY
from ssdlab.errors import ConfigError, OutputError
from ssdlab.running.spare_plan import sized
from ssdlab_lab.oracles.amplification import greedy
from ssdlab_lab.reproduce.drives.known import drive_of

LIKE = "drive:samsung-pm9a3"
SHAPE = fit.Shape.of(ssdlab.load_config(LIKE))
FILLS = (0.6, 0.8, 0.9, 1.0)


def written(folder: Path, *lines: str, name: str = "m.csv") -> Path:
    file = folder / name
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


@cache
def shape_of(spare: float) -> fit.Shape:
    """A pool of a drive of that over-provisioning, with the capacity of `LIKE`."""
    like = ssdlab.load_config(LIKE)
    return fit.Shape.of(sized(like, like["device.user_pages"], spare))


def of(spare: float, fills: tuple[float, ...] = FILLS, off: float = 1.0) -> list[str]:
    """The lines of a drive that is greedy."""
    shape = shape_of(spare)
    return [
        "fill,waf",
        *(f"{f:g},{off * shape.waf(fit.effective_spare(spare, f)):.6f}" for f in fills),
    ]


@pytest.mark.parametrize("spare", [0.1, 0.28, 0.6])
def test_a_greedy_drive_is_found_again(spare: float, tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *of(spare)))
    assert done.spare == pytest.approx(spare, rel=1e-3)
    assert done.spares[0] < spare < done.spares[1]
    assert done.warnings == ()
    assert all(abs(row.residual) < 1e-3 for row in done.rows)
    assert all(abs(row.error) < 1e-3 for row in done.rows if row.error is not None)
    config = ssdlab.load_config(done.file)
    device = config.values["device"]
    raw = fit.Shape.of(config).raw_pages(device)
    assert raw / device["user_pages"] - 1 == pytest.approx(spare, rel=1e-3)
    like = ssdlab.load_config(LIKE)["device.user_pages"]
    assert device["user_pages"] == pytest.approx(like, rel=2e-3)


def test_the_preset_runs(tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *of(0.2)))
    small = {"device.channels": 1, "device.chips_per_channel": 1, "device.pages_per_block": 8}
    report = ssdlab.run(done.file, set={**small, "workload.requests": 1000}, progress=False)
    assert report.completed


def test_raw_capacity_that_explains_nothing_is_not_decided(tmp_path: Path) -> None:
    lines = ("0.5,1.2", "0.7,1.6", "0.9,2.6", "1,3.6")
    done = calibrate(written(tmp_path, "fill,waf", *lines))
    (warning,) = done.warnings
    assert warning.startswith("no raw capacity explains the measurements: ")
    capacity = done.unknowns[0]
    assert (capacity.name, capacity.between, capacity.decided) == (
        "raw capacity",
        "none fits",
        False,
    )
    assert capacity.verdict == "the data cannot decide"
    assert "no raw capacity explains the measurements" in done.summary()
    assert "  # fitted: no raw capacity explains the measurements\n" in done.file.read_text()
    assert "if the measurements are off" not in done.summary()
    assert "cannot decide: raw capacity, " in done.file.read_text()


def test_raw_capacity_that_is_not_decided_is_warned_of(tmp_path: Path) -> None:
    low = calibrate(written(tmp_path, "fill,waf", "0.1,1", "0.4,1.0"))
    assert "hardly decided" in low.warnings[0]
    assert "or more" in low.summary()
    narrow = calibrate(written(tmp_path, *of(0.2, (0.95, 1.0))), force=True)
    assert [text.split(":")[0] for text in narrow.warnings] == ["all fills lie between 0.95 and 1"]
    bent = written(tmp_path, "fill,waf", "0.5,1.8", "1,3")
    assert any("no raw capacity" in text for text in calibrate(bent, force=True).warnings)
    wild = written(tmp_path, "fill,waf", "0.5,1.1", "0.6,1.1", "0.9,1.15")
    (warning,) = calibrate(wild, force=True).warnings
    assert warning.startswith("no raw capacity explains"), "then none fits about as well"
    assert "# Warning: no raw capacity" in bent.with_suffix(".toml").read_text(encoding="utf-8")


def test_the_range_follows_the_accuracy() -> None:
    points = [(f, SHAPE.waf(fit.effective_spare(0.2, f))) for f in FILLS]
    low, high = fit.plausible_range(SHAPE, 0.2, points, ACCURACY)
    for end in (low, high):
        assert fit.miss(SHAPE, end, points) == pytest.approx(ACCURACY, rel=0.05)


@pytest.mark.parametrize("pages", [1, 2, 17, SHAPE.pages])
def test_many_fills_at_once_are_the_closed_form(pages: int) -> None:
    shape = fit.Shape(SHAPE.units, pages, SHAPE.reserved)
    spares = np.geomspace(1e-3, 1e12, 300)
    for spare, waf in zip(spares.tolist(), shape.wafs(spares).tolist(), strict=True):
        rho = shape.units / (1 + spare) / (shape.units - shape.reserved)
        assert waf == pytest.approx(greedy(rho, pages) if rho < 1 else math.inf, rel=1e-9)


def test_many_rows_are_fitted_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, wafs = [], fit.Shape.wafs

    def counted(shape: fit.Shape, spares: fit.Numbers) -> fit.Numbers:
        calls.append(len(spares))
        return wafs(shape, spares)

    fills = tuple(0.5 + i / 4000 for i in range(2001))
    file = written(tmp_path, *of(0.2, fills))
    monkeypatch.setattr(fit.Shape, "wafs", counted)
    done = calibrate(file)
    assert done.spare == pytest.approx(0.2, rel=1e-3)
    # Fits ask as often as for two rows, and for all of their rows at once.
    assert calls.count(1) < 10
    assert min(count for count in calls if count > 1) > 0.19 * len(fills)
    assert len(calls) < 2500


@pytest.mark.parametrize("like", ["micron-7450-max-800", "drive:micron-7450-max-800"])
def test_a_named_drive_needs_no_prefix(like: str, tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *of(0.2)), like=like)
    assert done.like == "drive:micron-7450-max-800"
    assert 'preset = "drive:micron-7450-max-800"' in done.file.read_text(encoding="utf-8")


def test_write_amplification_that_falls_a_little_is_warned_of(tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, "fill,waf", "0.2,1.04", "0.4,1.0", "0.6,1.01", "1,2.3"))
    assert done.warnings[0] == (
        "write amplification falls with the fill, by up to 3.8 % (line 3, below line 2): taken as"
        " noise"
    )


def latencies(spare: float, *rows: str) -> list[str]:
    return [
        "fill,waf,load,p50_us,p99_us",
        *(f"{line},,," for line in of(spare)[1:]),
        *(f"1,,{row}" for row in rows),
    ]


def test_the_program_time_follows_the_knee(tmp_path: Path) -> None:
    drive = ssdlab.load_config(LIKE)
    device, timing = drive.values["device"], drive.values["timing"]
    waf = shape_of(0.15).waf(0.15)
    move = timing["transfer_ns"] + timing["sram_ns"]
    each = waf * (timing["program_ns"] + timing["erase_ns"] / device["pages_per_block"])
    each += move + timing["sram_ns"] + (waf - 1) * (timing["read_ns"] + 2 * move)
    knee = 256e9 / each
    rows = (f"{knee - 500:.0f},10,20", f"{knee + 500:.0f},10,2000")
    done = calibrate(written(tmp_path, *latencies(0.15, *rows)))
    assert done.program is not None
    assert done.program.nanoseconds == pytest.approx(timing["program_ns"], rel=2e-3)
    assert done.firmware is not None
    assert f'program = "{done.program.nanoseconds} ns"' in done.file.read_text(encoding="utf-8")
    config = ssdlab.load_config(done.file)
    assert config["timing.program_ns"] == done.program.nanoseconds
    assert "program time" in done.summary()
    assert [text.split(" is hardly")[0] for text in done.warnings] == ["firmware, median"]


def test_the_program_time_has_the_range_of_the_loads(tmp_path: Path) -> None:
    ends = [70_000.0, 75_000.0, 80_000.0]
    times = []
    for low, high in [*((end - 1, end + 1) for end in ends), (70_000, 80_000), (1_000, 80_000)]:
        rows = (f"{low},10,20", f"{high},10,2000")
        done = calibrate(written(tmp_path, *latencies(0.15, *rows)), force=True)
        assert done.program is not None
        times.append(done.program.nanoseconds)
        if high - low == 10_000:
            narrow = done
    assert narrow.program is not None
    assert times[3] == times[1]
    assert narrow.program.between == (times[2], times[0])
    assert all("firmware" in text for text in narrow.warnings)
    values = json.loads(narrow.to_json())
    assert values["program_ns_range"] == [times[2], times[0]]
    assert values["knee_per_s_range"] == [70_000, 80_000]
    assert narrow.program.span in narrow.summary()
    assert done.warnings[0].startswith("program time is hardly decided: ")
    assert "between 1,000 and 80,000 writes/s" in done.warnings[0]
    text = done.file.read_text(encoding="utf-8")
    assert done.program is not None
    assert f"# {done.program.span}: the knee is between 1,000 and 80,000 writes/s." in text


def test_loads_are_not_rounded(tmp_path: Path) -> None:
    rows = ("1,10,20", "1.4,10,20", "70000.25,10,20", "70000.5,10,2000")
    measured = read(written(tmp_path, *latencies(0.15, *rows)))
    assert [load.rate for load in measured.loads] == [1, 1.4, 70000.25, 70000.5]
    done = calibrate(tmp_path / "m.csv")
    assert done.program is not None
    assert done.program.knee == 70000.375


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["70000,10,20"], "no load is beyond the knee"),
        (["70000,10,2000"], "no load is below the knee"),
        (["70000000,10,20", "80000000,10,2000"], "leaves no time for programs"),
        (["1,10,20", "1.001,10,2000"], "a knee at 1.0005 writes/s implies programs of"),
        # Thousands of writes a second, as if they were single ones; then nanoseconds.
        (
            ["70,23,335", "80,3400,4000"],
            "longer than any flash takes: program time is kept; load is",
        ),
        (
            ["70000,23000,335000", "80000,3400000,4000000"],
            "p50_us: 23000 (line 6) is 23 ms at the lowest load, beyond the knee; if it is in"
            " nanoseconds, write 23;",
        ),
        (
            ["50000,9,2000", "60000,9,20", "70000,9,3000"],
            "p99 is above 1 ms at load 50,000 (line 6), but not at load 60,000 (line 7)",
        ),
        (
            ["50000,9,20", "60000,9,2000", "70000,9,20", "80000,9,3000"],
            "p99 is above 1 ms at load 60,000 (line 7), but not at load 70,000 (line 8)",
        ),
    ],
)
def test_a_knee_that_is_not_there_is_warned_of(rows: list[str], said: str, tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *latencies(0.15, *rows)))
    assert done.program is None
    assert any(said in text for text in done.warnings)
    assert ssdlab.load_config(done.file)["timing.program_ns"] == 678_500


def test_the_time_of_the_firmware_is_found_again(tmp_path: Path) -> None:
    base = unknowns.base_ns(ssdlab.load_config(LIKE)) / 1000
    rows = [f"{load},{base + 30:.3f},{base + 400:.3f}" for load in (20_000, 40_000)]
    done = calibrate(written(tmp_path, *latencies(0.15, *rows, "60000,4000,5000")))
    assert done.firmware is not None
    assert (done.firmware.p50, done.firmware.p99) == pytest.approx((30_000, 400_000), rel=1e-3)
    assert all(one.decided for one in done.firmware.unknowns)
    assert (done.errors.p50, done.errors.p99) == pytest.approx((0, 0), abs=1e-3)
    config = ssdlab.load_config(done.file)
    assert config["controller.firmware_p50_ns"] == done.firmware.p50
    assert config["controller.firmware_p99_ns"] == done.firmware.p99
    # An idle drive takes as long as before, plus the firmware time.
    small = {"device.channels": 1, "device.chips_per_channel": 1, "device.pages_per_block": 8}
    alone = {**small, "workload.requests": 4000, "host.queue_depth": 1, "host.think_time": "1 ms"}
    alone |= {"host.mode": "closed", "workload.read": 0.0, "precondition.steady_state": "none"}
    report = ssdlab.run(done.file, set=alone, progress=False)
    assert report.latency.write.p50 == pytest.approx(1000 * base + 30_000, rel=0.05)
    assert report.latency.write.p99 == pytest.approx(1000 * base + 400_000, rel=0.15)


def test_latencies_that_leave_no_time_to_the_firmware(tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *latencies(0.15, "100,9,20")))
    assert done.firmware is None
    assert any("leaves no time for firmware, as link and SRAM" in text for text in done.warnings)
    far = calibrate(written(tmp_path, *latencies(0.15, "100,9.6,900")), force=True)
    assert any("1000 times as much" in text for text in far.warnings)
    for one in (done, far):
        assert ssdlab.load_config(one.file)["controller.firmware_p99_ns"] == 0


def test_what_the_data_cannot_decide_is_said(tmp_path: Path) -> None:
    done = calibrate(written(tmp_path, *of(0.2)))
    decided = {one.name: one.decided for one in done.unknowns}
    assert decided == {
        "raw capacity": True,
        "erased blocks kept": False,
        "superblock": False,
        "write buffer": False,
    }
    # Raw capacity makes up exactly for the blocks that are kept erased.
    points = done.measured.points
    for soft in (1, 60):
        shape = fit.Shape.with_watermark(SHAPE.units, SHAPE.pages, soft)
        assert fit.miss(shape, fit.fit_spare(shape, points), points) < 1e-4
    text = done.file.read_text(encoding="utf-8")
    assert "cannot decide: erased blocks kept, superblock, write buffer" in " ".join(text.split())
    assert "the data cannot decide" in done.summary()


def test_points_are_held_out(tmp_path: Path) -> None:
    lines = of(0.2)
    bent = [f"{line},{'fit' if i < 3 else ''}" for i, line in enumerate(lines[1:])]
    bent[3] = f"1,{1.1 * shape_of(0.2).waf(0.2):.6f},"
    done = calibrate(written(tmp_path, "fill,waf,use", *bent))
    assert done.spare == pytest.approx(0.2, rel=1e-3)
    assert [row.held_out for row in done.rows] == [False] * 3 + [True]
    assert done.errors.uniform == pytest.approx(1 - 1 / 1.1, rel=1e-2)
    assert done.errors.residual is None
    assert "held out" not in done.errors.text()
    stored = MachineErrors.of(json.loads(errors_file(done.file).read_text(encoding="utf-8")))
    config = ssdlab.load_config(done.file)
    assert stored == MachineErrors(done.errors, machine_digest(config.values))
    assert f"m ({done.file}; against measurements: write" in config["run.drive"]


def test_without_points_held_out_the_residual_is_stated(tmp_path: Path) -> None:
    lines = of(0.2)
    lines[-1] = f"1,{1.1 * shape_of(0.2).waf(0.2):.6f}"
    done = calibrate(written(tmp_path, *lines))
    residuals = [abs(row.residual) for row in done.rows]
    assert done.errors.residual == pytest.approx(np.mean(residuals))
    off = [abs(row.error) for row in done.rows if row.error is not None]
    assert done.errors.uniform == pytest.approx(np.mean(off))
    text = (
        f"write amplification off by {100 * np.mean(residuals):.1f} % in the fit and"
        f" {100 * np.mean(off):.1f} % with each point left out, no point held out"
    )
    assert text in ssdlab.load_config(done.file)["run.drive"]
    assert text in " ".join(done.summary().split())


def test_latencies_are_held_out(tmp_path: Path) -> None:
    base = unknowns.base_ns(ssdlab.load_config(LIKE)) / 1000
    head, *rows = latencies(0.15, f"20000,{base + 10:.3f},{base + 60:.3f}")
    rows = [f"{row},fit" for row in rows]
    rows += [f"1,,40000,{base + 20:.3f},{base + 60:.3f},", "1,,60000,4000,5000,"]
    done = calibrate(written(tmp_path, f"{head},use", *rows))
    assert done.errors.p50 == pytest.approx((base + 10) / (base + 20) - 1, abs=1e-3)
    assert done.errors.p99 == pytest.approx(0, abs=1e-3)


def test_what_is_left_out_is_not_fitted() -> None:
    points = [(f, SHAPE.waf(fit.effective_spare(0.2, f))) for f in FILLS]
    points[-1] = (1.0, 1.3 * points[-1][1])
    without = fit.cross_validate(SHAPE, points)
    assert without[-1] == pytest.approx(SHAPE.waf(0.2), rel=1e-3)
    assert np.isnan(fit.cross_validate(SHAPE, points[:1])).all()


def test_a_calibrated_drive_has_its_name_and_capacity(tmp_path: Path) -> None:
    source = written(tmp_path, *of(0.2), name="other.csv")
    file = tmp_path / "mine.toml"
    done = calibrate(source, out=file, name="Mine", capacity="1.92TB")
    assert file.with_suffix(".csv").read_bytes() == source.read_bytes()
    drive = drive_of(str(file))
    assert (drive.title, done.title) == ("Mine", "Mine")
    assert drive.user_gib * 2**30 == pytest.approx(1.92e12, rel=2e-3)
    assert drive.config["device.chips_per_channel"] == 4
    assert drive.config["run.drive"].startswith(f"Mine ({file}; against measurements: ")
    with pytest.raises(ConfigError, match="expected a size with its unit"):
        calibrate(source, out=tmp_path / "b.toml", capacity="big")
    with pytest.raises(ConfigError, match="expected the name of the drive"):
        calibrate(source, out=tmp_path / "b.toml", name=" ")
    assert not (tmp_path / "b.toml").exists()


BAD = {
    "one point": (["fill,waf", "1,2"], "waf: 1 of them; expected at least 2"),
    "no point": (["fill,waf"], "waf: 0 of them"),
    "out of order": (["fill,waf", "1,2", "0.5,1.2"], "m.csv:3: fill: 0.5 after 1"),
    "twice": (["fill,waf", "1,2", "1,2"], "m.csv:3: fill: 1 again"),
    "impossible": (["fill,waf", "0.5,0.9", "1,2"], "m.csv:2: waf: found '0.9'; expected a write"),
    "beyond": (["fill,waf", "0.5,1.1", "1.01,2"], "m.csv:3: fill: found '1.01'; expected a share"),
    "zero": (["fill,waf", "0,1.1", "1,2"], "m.csv:2: fill: found '0'"),
    "tiny": (["fill,waf", "1e-320,1", "1,2"], "m.csv:2: fill: found '1e-320'"),
    "falls": (["fill,waf", "0.5,2", "1,1.5"], "m.csv:3: waf: 1.5 after 2 in"),
    "falls in steps": (
        ["fill,waf", "0.5,2", "0.6,1.93", "0.7,1.87", "1,3"],
        "m.csv:4: waf: 1.87 after 2 in",
    ),
    "underscore": (
        ["fill,waf", "0.5,1_0e-1", "1,2"],
        "m.csv:2: waf: found '1_0e-1'; expected a number: a write amplification",
    ),
    "no number": (["fill,waf", "0.5,x", "1,2"], "m.csv:2: waf: found 'x'"),
    "nan": (["fill,waf", "nan,1", "1,2"], "m.csv:2: fill: found 'nan'"),
    "infinite": (["fill,waf", "0.5,1", "1,inf"], "m.csv:3: waf: found 'inf'"),
    "no fill": (["fill,waf", ",1.1", "1,2"], "m.csv:2: fill: missing"),
    "no waf": (["fill,waf", "0.5,", "1,2"], "m.csv:2: waf: missing"),
    "short": (["fill,waf", "0.5", "1,2"], "m.csv:2: expected 2 cells"),
    "unknown column": (["fill,wafs", "1,2"], "unknown column 'wafs'; expected fill, waf, load"),
    "column twice": (["fill,waf,waf"], "column 'waf' is there 2 times"),
    "no column": (["fill", "1"], "m.csv:1: no column 'waf'"),
    "no room": (["fill,waf", "0.1,1", "0.3,5"], "m.csv: waf: too high for the fills"),
    "loads below 1": (latencies(0.1, "0.2,9,20"), "m.csv:6: load: found '0.2'; expected writes"),
    "half a load": (["fill,waf,load", "1,,5"], "p50_us, p99_us: missing"),
    "milliseconds": (
        latencies(0.1, "70000,0.08,0.335", "80000,3.4,4"),
        "m.csv:6: p50_us: found '0.08'; expected a latency in microseconds, at least 1: no drive"
        " is faster; if it is in milliseconds, write 80",
    ),
    "seconds": (latencies(0.1, "70000,0.00008,1"), "if it is in seconds, write 80"),
    "below 0": (latencies(0.1, "70000,-3,1"), "found '-3'; expected a latency in"),
    "quantiles": (latencies(0.1, "5,9,3"), "m.csv:6: p99_us: below p50_us"),
    "loads down": (latencies(0.1, "5,1,1", "4,1,1"), "m.csv:7: load: 4 after 5"),
    "two fills": ([*latencies(0.1, "5,1,1"), "0.5,,6,1,1"], "m.csv:7: fill: 0.5; expected 1 as"),
    "no such workload": (["fill,waf,workload", "0.5,1.1,", "1,2,skewed"], "expected uniform, zipf"),
    "no such skew": (["fill,waf,workload", "0.5,1.1,", "1,2,zipf x shuffled"], "m.csv:3: workload"),
    "no such use": (["fill,waf,use", "0.5,1.1,", "1,2,held"], "m.csv:3: use: found 'held'"),
    "a load of zones": (["workload,fill,waf,load,p50_us,p99_us", "zones 2,1,,5,1,1"], "leave it"),
    "nothing to fit": (
        ["workload,fill,waf,use", ",0.5,1.1,", ",1,2,", "zones 2,1,1.2,fit"],
        "m.csv: use: no uniform writes are marked `fit`",
    ),
    "empty": ([], "m.csv: empty"),
    "blank": (["", " , "], "m.csv: empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_measurements_are_refused(case: str, tmp_path: Path) -> None:
    lines, said = BAD[case]
    file = written(tmp_path, *lines)
    with pytest.raises(ConfigError) as error:
        calibrate(file)
    assert any(said in text for text in error.value.messages), error.value.messages
    nothing_left(tmp_path, "m.csv")


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, "fill,waf", "2,x", "0.5,0")
    with pytest.raises(ConfigError) as error:
        read(file)
    assert len(error.value.messages) == 3


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    good = written(tmp_path, *of(0.2))
    with pytest.raises(ConfigError, match="no such file"):
        calibrate(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        calibrate(tmp_path / "bytes.csv")
    for folder in (tmp_path, ".", "/"):
        with pytest.raises(ConfigError, match="is a folder; expected a CSV file"):
            calibrate(folder)
    with pytest.raises(ConfigError, match="the name is empty"):
        calibrate("")
    with pytest.raises(ConfigError, match="file of the measurements"):
        calibrate(good, out=good, force=True)
    for like in ("drive:samsung-pm9a33", "samsung-pm9a33"):
        with pytest.raises(ConfigError, match=f'"{like}": no such .*; did you mean samsung-pm9a3?'):
            calibrate(good, like=like)
    with pytest.raises(ConfigError, match="found a file; expected a preset"):
        calibrate(good, like="mine.toml")
    with pytest.raises(ConfigError, match="a fit needs greedy"):
        calibrate(good, like="greedy-8ch")
    calibrate(good)
    with pytest.raises(OutputError, match="force=True replaces it"):
        calibrate(good)
    calibrate(good, force=True)


def test_the_command(tmp_path: Path) -> None:
    written(tmp_path, *of(0.2))
    done = ssdlab_command("drives", "calibrate", "m.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "raw capacity 1.2000 times" in done.stdout
    assert "ssdlab try TRACE --drive m.toml" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    again = ssdlab_command("drives", "calibrate", "m.csv", "--json", "--force", cwd=tmp_path)
    values = json.loads(again.stdout)
    assert values["over_provisioning"] == pytest.approx(0.2, rel=1e-3)
    assert len(values["points"]) == len(FILLS)
    written(tmp_path, "fill,waf", "1,2")
    refused(ssdlab_command("drives", "calibrate", "m.csv", cwd=tmp_path), 2, "m.csv", "waf")
    refused(ssdlab_command("drives", "calibrate", "", cwd=tmp_path), 2, "empty")
    refused(ssdlab_command("drives", "calibrate", ".", cwd=tmp_path), 2, "is a folder")
