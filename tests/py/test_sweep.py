"""Sweeps: values of keys, points, resumption, refusals, failures, tables, plots and the page."""

import csv
import html
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import types
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssdlab
from policies import GreedyByScore
from running import COMMAND, HANG_S, SMALL, SMALL_TOML, refused, ssdlab_command, ssdlab_process
from ssdlab.config.quantity import quantity
from ssdlab.config.space import Space, draw_points, grid
from ssdlab.config.vary import Range, has_range, range_of, values_of
from ssdlab.html.plot import Plot
from ssdlab.html.points_plots import over_key
from ssdlab.html.sweep_page import sweep_page
from ssdlab.policy import Victim, VictimView
from ssdlab.results.answer import of_points
from ssdlab.results.names import OUTCOMES, SWEEP_CSV, SWEEP_JSON, SWEEP_PARQUET
from ssdlab.results.points import Points, Row, key_of
from ssdlab.results.sweep import Outcome, Sweep
from ssdlab.running import live, runner
from ssdlab.running.outcomes import Key, Outcomes

OP = "device.over_provisioning"
FEW = {**SMALL, "workload.requests": 1000}
VARY: dict[str, Any] = {OP: "0.2:0.4:0.05", "gc.victim": ["greedy", "fifo"]}


class Tires(Victim):
    """Greedy, but not on a device with little room."""

    name = "tires"

    def score(self, view: VictimView) -> Any:  # noqa: ANN401
        if view.clock > 2500 and int(view.valid.min()) >= 9:
            message = "too full for me"
            raise ValueError(message)
        return view.valid


class Tuned(Victim):
    def __init__(self, age: int) -> None:
        self.age = age

    def __repr__(self) -> str:
        return f"Tuned(age={self.age})"

    def score(self, view: VictimView) -> Any:  # noqa: ANN401
        return view.valid


def swept(**more: Any) -> Sweep:  # noqa: ANN401
    return ssdlab.sweep(
        "greedy-8ch", **{"set": FEW, "vary": VARY, "progress": False, "html": False, **more}
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return swept(seeds=3, out=tmp_path_factory.mktemp("sweeps") / "s", html=True)


# ---------------------------------------------------------------- values of keys


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.05:0.30:0.05", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),
        ("1:10:2", [1, 3, 5, 7, 9]),
        ("-1:1:0.5", [-1.0, -0.5, 0.0, 0.5, 1.0]),
        ("1:64:x4", [1, 4, 16, 64]),
        ("4 KiB:16 KiB:x2", ["4 KiB", "8 KiB", "16 KiB"]),
        ("25us:100us:25us", ["25 us", "50 us", "75 us", "100 us"]),
        ("500us:2ms:500us", ["500 us", "1000 us", "1500 us", "2000 us"]),
        ("lin:0:1:5", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("lin:1:10:4", [1, 4, 7, 10]),
        ("log:1:1000:4", [1, 10, 100, 1000]),
        ("log:0.01:1:3", [0.01, 0.1, 1.0]),
        ("0.1,0.2:0.4:0.1,greedy", ["0.1", 0.2, 0.3, 0.4, "greedy"]),
    ],
)
def test_ranges(text: str, values: list[object]) -> None:
    assert values_of({"k": text}) == {"k": values}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5:1:1", "5 is not below 1"),
        ("1:1:1", "1 is not below 1"),
        ("1:2:0", "the step 0 is not above 0"),
        ("1:2:-1", "the step -1 is not above 0"),
        ("1:x:2", 'found "x"; expected a number'),
        ("1:2:3:4", "expected A,B,C or LO:HI:STEP"),
        ("0:10:x2", "begins above 0"),
        ("log:-1:10:3", "begins above 0"),
        ("1:10:x1", "is not a number above 1"),
        ("1:10:x", "is not a number above 1"),
        ("1:10:xnan", "is not a number above 1"),
        ("log:1:10:1", "at least 2"),
        ("log:1:10:2.5", "expected a whole number"),
        ("1us:10MiB:1us", "no units of the same kind"),
        ("0:1e9:1e-9", "at most 1,000,000 are possible"),
        ("1e400:1e500:1", "is no number that a key can have"),
        ("0.1:0.3", "how many values?"),
        ("0.1:0.3,0.4", "has no step"),
    ],
)
def test_bad_ranges_are_explained(text: str, why: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)) as caught:
        values_of({"gc.window": text})
    assert str(caught.value).startswith(f'vary={{"gc.window": "{text}"}}: ')


def test_words_with_colons_and_texts_are_no_ranges() -> None:
    assert not has_range("streams:4")
    assert not has_range("host+gc,streams:4")
    with pytest.raises(ssdlab.ConfigError, match="expected a list of values"):
        values_of({"gc.victim": "greedy"})
    with pytest.raises(ssdlab.ConfigError, match="the list of values is empty"):
        values_of({"gc.victim": []})
    with pytest.raises(ssdlab.ConfigError, match="expected a list of values"):
        values_of({"gc.window": 3})  # type: ignore[dict-item]


@given(st.text(alphabet="0123456789.:xloginseuKMB -+,e", max_size=16))
def test_any_text_is_a_range_a_list_or_an_error(text: str) -> None:
    with suppress(ssdlab.ConfigError):
        values = values_of({"k": text})["k"]
        assert isinstance(values, list)
        assert 0 < len(values) <= 2_000_000


@given(st.integers(-50, 50), st.integers(1, 60), st.integers(1, 7), st.sampled_from([1, 10, 100]))
def test_steps_stay_between_the_ends(low: int, span: int, step: int, tenth: int) -> None:
    made = range_of(f"{low / tenth}:{(low + span) / tenth}:{step / tenth}")
    numbers = [float(str(value)) for value in made.values]
    expected = [(low + i * step) / tenth for i in range(span // step + 1)]
    assert numbers == pytest.approx(expected, abs=1e-12)


def test_values_as_numbers() -> None:
    assert quantity("25 us") == (25_000, "ns")
    assert quantity("4KiB") == (4096, "bytes")
    assert quantity("0.5") == (0.5, "")
    assert quantity("greedy") is quantity("5 apples") is quantity(True) is None
    key, column = key_of("timing.read", ["25 us", "1 ms", "25 us"])
    assert (key.column, key.values, column) == (
        "timing.read_ns",
        (25_000, 1_000_000),
        [25_000, 1_000_000, 25_000],
    )
    assert key_of("k", ["1", "2", "4", "8"])[0].log
    assert not key_of("k", ["1", "2", "3", "4"])[0].log
    assert not key_of("k", ["1", "x"])[0].numeric


# ---------------------------------------------------------------- points


def test_a_grid_has_all_combinations_and_the_last_key_is_fastest() -> None:
    space = grid({"a": [1, 2], "b": ["x", "y", "z"]})
    assert [tuple(space[i].values()) for i in range(len(space))] == [
        (1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z"),
    ]  # fmt: skip
    assert sorted(space.scattered_order(1)) == [*range(6)]
    with pytest.raises(ssdlab.ConfigError, match="a grid has at most"):
        grid({key: range(1000) for key in "abc"})


def test_a_latin_hypercube_has_a_point_in_each_part_of_every_key() -> None:
    values: dict[str, Any] = {"a": range_of("0.0:1.0"), "b": range_of("1:10"), "c": ["x", "y"]}
    space = draw_points(values, "latin-hypercube", 100, 7)
    a, b, c = (space.columns[key] for key in "abc")
    assert sorted(int(float(str(one)) * 100) for one in a) == [*range(100)]
    assert {b.count(one) for one in range(1, 11)} == {10}
    assert (c.count("x"), c.count("y")) == (50, 50)
    assert all(isinstance(one, int) for one in b)


def test_draws_depend_on_the_seed_and_their_own_key_alone() -> None:
    values: dict[str, Any] = {"a": range_of("log:1:1000")}
    one = draw_points(values, "random", 50, 1).columns["a"]
    assert one == draw_points({"b": [1, 2], **values}, "random", 50, 1).columns["a"]
    assert one != draw_points(values, "random", 50, 2).columns["a"]
    assert 15 < sum(float(str(x)) < 31.6 for x in one) < 35, "uniform by the logarithm"
    made = values["a"]
    assert isinstance(made, Range)
    assert made.draw(0.0) == 1
    assert made.draw(1 - 1e-12) == 1000


# ---------------------------------------------------------------- runs


def test_rows_are_those_of_single_runs(done: Sweep) -> None:
    assert len(done.rows) == 5 * 2 * 3
    row = done.rows[-1]
    assert (row[OP], row["gc.victim"], row["seed"]) == (0.4, "fifo", 3)
    alone = ssdlab.run(
        "greedy-8ch", set={**FEW, OP: 0.4, "gc.victim": "fifo"}, seed=3, progress=False
    )
    assert row["event_digest"] == alone.provenance.event_digest
    assert row["waf"] == alone.waf.total
    assert row["write_mean_ns"] == alone.latency.write.mean
    assert done.completed
    assert not done.failures


def test_jobs_do_not_change_results(done: Sweep) -> None:
    assert swept(seeds=3, jobs=1).to_csv() == done.to_csv()


def test_a_sweep_is_read_back(done: Sweep) -> None:
    assert done.folder
    again = Sweep.read(done.folder)
    assert again.rows == done.rows
    assert again.summary() == done.summary() == (done.folder / "summary.txt").read_text()
    assert again.to_csv() == (done.folder / SWEEP_CSV).read_text()
    assert sweep_page(again) == (done.folder / "report.html").read_text()


def test_a_grid_is_resumed_byte_for_byte(done: Sweep, tmp_path: Path) -> None:
    part = swept(seeds=3, out=tmp_path / "s", budget=7)
    assert (len(part.outcomes), part.not_run, part.completed) == (7, 23, False)
    assert "Budget spent: 23 of 30 runs are missing" in part.summary()
    assert len({one.point for one in part.outcomes}) == 3, "points scattered over the grid"
    # As if a process had been killed while it wrote.
    with (tmp_path / "s" / OUTCOMES).open("ab") as file:
        file.write(b'{"point":9,"seed":1,"val')
    whole = swept(seeds=3, out=tmp_path / "s")
    assert done.folder
    for name in (SWEEP_CSV, SWEEP_PARQUET):
        assert (tmp_path / "s" / name).read_bytes() == (done.folder / name).read_bytes()
    assert whole.completed


@pytest.mark.parametrize("torn", [1, 20, -1])
def test_a_torn_line_is_cut_off_before_the_next_is_added(torn: int, tmp_path: Path) -> None:
    """After every resumption each line of the file is one of the lines of an undisturbed sweep."""
    vary = {OP: "lin:0.2:0.9:4"}
    whole = swept(vary=vary, out=tmp_path / "whole", jobs=1)
    lines = (tmp_path / "whole" / OUTCOMES).read_bytes().splitlines(keepends=True)
    assert len(lines) == 4

    swept(vary=vary, out=tmp_path / "s", budget=2, jobs=1)
    file = tmp_path / "s" / OUTCOMES
    for known in (2, 3):
        part = file.read_bytes().splitlines(keepends=True)
        assert len(part) == known
        missing = next(one for one in lines if one not in part)
        with file.open("ab") as out:
            out.write(missing[:torn])
        swept(vary=vary, out=tmp_path / "s", budget=1, jobs=1)
        assert file.read_bytes().startswith(b"".join(part))
    held = file.read_bytes()
    assert sorted(held.splitlines(keepends=True)) == sorted(lines)
    assert Sweep.read(tmp_path / "s").rows == whole.rows
    assert swept(vary=vary, out=tmp_path / "s").rows == whole.rows
    assert file.read_bytes() == held, "nothing is left to run"


def test_a_damaged_line_is_run_again(tmp_path: Path, done: Sweep) -> None:
    swept(out=tmp_path / "s")
    file = tmp_path / "s" / OUTCOMES
    lines = file.read_text().splitlines(keepends=True)
    lines[3] = lines[3][:40] + "\n"
    file.write_text("".join(lines))
    again = swept(out=tmp_path / "s")
    assert again.completed
    assert [row["waf"] for row in again.rows] == [row["waf"] for row in done.rows[::3]]


def test_a_sweep_of_a_version_with_other_columns_is_read(tmp_path: Path) -> None:
    made = swept(out=tmp_path / "s")
    text = (tmp_path / "s" / SWEEP_JSON).read_text()
    (tmp_path / "s" / SWEEP_JSON).write_text(text.replace('"waf"', '"wav"'))
    again = Sweep.read(tmp_path / "s")
    assert [row["waf"] for row in again.rows] == [None] * 10
    assert [row["erases"] for row in again.rows] == [row["erases"] for row in made.rows]
    with pytest.raises(ssdlab.OutputError, match="with other version of ssdlab"):
        swept(out=tmp_path / "s")


def test_the_page_and_the_plots_are_written_again(done: Sweep, tmp_path: Path) -> None:
    assert done.folder
    page = (done.folder / "report.html").read_text()
    words = ["report", str(done.folder)]
    told = ssdlab_command(*words, "--plots", "plots", "--out", "page.html", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "page.html").read_text() == page
    figures = {one.name for one in (tmp_path / "plots").iterdir()}
    assert "waf-device-over_provisioning.svg" in figures
    refused(ssdlab_command(*words, "--from", "1s", cwd=tmp_path), 2, "--from", "a sweep")
    refused(ssdlab_command("export", *words[1:], "--to", "csv", cwd=tmp_path), 2, "a sweep")


def test_a_killed_sweep_goes_on(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    words = ["sweep", "small.toml", "--vary", f"{OP}=lin:0.2:0.9:1000", "--out", "s", "--no-html"]
    process = subprocess.Popen([*COMMAND, *words, "--quiet"], cwd=tmp_path)
    file = tmp_path / "s" / OUTCOMES
    until = time.monotonic() + HANG_S
    while not file.exists() or file.stat().st_size < 4000:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert json.loads((tmp_path / "s" / SWEEP_JSON).read_text())["completed"] is False
    kept = file.read_bytes().count(b"\n")
    assert 0 < kept < 1000
    again = ssdlab_command(*words, "--budget", "5", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert f"budget spent: {995 - kept} runs are left" in again.stderr
    assert len(Sweep.read(tmp_path / "s").outcomes) == kept + 5


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Outcomes.add

    def stops(stored: Outcomes, key: Key, one: Outcome) -> None:
        real(stored, key, one)
        if len(stored.rows) == 4:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            time.sleep(1)

    monkeypatch.setattr(Outcomes, "add", stops)
    with pytest.raises(ssdlab.Interrupted) as caught:
        swept(vary={OP: "lin:0.2:0.9:100"}, out=tmp_path / "s", jobs=1)
    part = caught.value.sweep
    assert part
    assert part.interrupted
    assert 4 <= len(part.outcomes) < 100
    assert "Interrupted: " in part.summary()
    assert Sweep.read(tmp_path / "s").interrupted
    monkeypatch.undo()
    assert swept(vary={OP: "lin:0.2:0.9:100"}, out=tmp_path / "s").completed


def test_a_policy_that_fails_at_one_point(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    vary = {OP: [0.3, 0.9], "gc.victim": [Tires(), "greedy", Tuned(2), GreedyByScore()]}
    found = swept(vary=vary, out=tmp_path / "s", html=True)
    assert capfd.readouterr().err.count("Traceback") == 1
    assert [*found.failures] == ["over_provisioning=0.3 victim=tires"]
    assert "too full for me" in found.failures["over_provisioning=0.3 victim=tires"]
    rows = {(row[OP], row["gc.victim"]): row for row in found.rows}
    assert [key[1] for key in rows if key[0] == 0.9] == [
        "tires", "greedy", "Tuned(age=2)", "policies.GreedyByScore",
    ]  # fmt: skip
    failed = rows[0.3, "tires"]
    assert (failed["completed"], failed["waf"]) == (False, None)
    assert "too full" in str(failed["error"])
    assert rows[0.9, "Tuned(age=2)"]["waf"] == rows[0.9, "greedy"]["waf"]
    assert "too full for me" in (tmp_path / "s" / "report.html").read_text()


def test_points_that_are_not_possible_fail_alone(tmp_path: Path) -> None:
    # 0.12 leaves too little room for a reserve of 4, but not for one of 1.
    vary = {OP: [0.12, 0.5], "gc.reserve": [1, 4]}
    found = swept(vary=vary, out=tmp_path / "s")
    assert [*found.failures] == ["over_provisioning=0.12 reserve=4"]
    assert "gc.reserve" in found.failures["over_provisioning=0.12 reserve=4"]
    assert [row["completed"] for row in found.rows] == [True, False, True, True]


def test_traces_are_a_key(tmp_path: Path) -> None:
    files = [tmp_path / "a.ssdtrace", tmp_path / "b.ssdtrace"]
    for file, count in zip(files, (300, 500), strict=True):
        ssdlab.generate("uniform", file, bytes=4 << 20, requests=count)
    device = {key: value for key, value in SMALL.items() if not key.startswith("workload.")}
    found = swept(traces=files, vary={OP: [0.3, 0.5]}, set={**device, "workload.fit": "wrap"})
    assert [(row["trace"], row[OP]) for row in found.rows] == [
        ("a", 0.3), ("a", 0.5), ("b", 0.3), ("b", 0.5),
    ]  # fmt: skip
    assert [row["requests"] for row in found.rows] == [300, 300, 500, 500]


# ---------------------------------------------------------------- refusals

BAD: dict[str, tuple[list[str], list[str]]] = {
    "nothing": ([], ["nothing to sweep", "--vary"]),
    "unknown key": (["--vary", "gc.victm=greedy,fifo"], ["--vary gc.victm", "did you mean"]),
    "one bad value": (["--vary", "gc.victim=greedy,fif"], ["--vary gc.victim", "fif", "fifo"]),
    "excluding": (
        ["--vary", f"{OP}=0.2,0.3", "--vary", "device.user_capacity=1 MiB,2 MiB"],
        ["keep one of them"],
    ),
    "never possible": (["--vary", f"{OP}=0.0001,0.3"], ["could never collect"]),
    "a million": (["--vary", "workload.requests=1:1000000:1"], ["1,000,000 runs", "--budget 2h"]),
    "bad budget": (["--vary", "gc.window=1,2", "--budget", "soon"], ["--budget soon", "2h"]),
    "no budget": (["--vary", "gc.window=1,2", "--budget", "0"], ["--budget 0"]),
    "no points": (["--vary", "gc.window=1:9", "--draw", "random"], ["how many points?"]),
    "points of a grid": (["--vary", "gc.window=1,2", "--points", "9"], ["--points 9", "--draw"]),
    "zero points": (
        ["--vary", "gc.window=1:9", "--draw", "random", "--points", "0"],
        ["--points 0", "at least 1"],
    ),
    "seeds varied": (["--vary", "run.seed=1,2", "--seeds", "2"], ["--vary run.seed"]),
    "twice": (["--vary", "gc.window=1", "--vary", "gc.window=2"], ["given twice"]),
    "no trace": (["--vary", "gc.window=1,2", "--trace", "no.csv"], ["no.csv", "no such file"]),
    "logs": (["--vary", "gc.window=1,2", "--set", "metrics.op_log=true"], ["writes no logs"]),
    "drive and config": (["--vary", "gc.window=1,2", "--drive", "samsung-pm9a3"], ["one of them"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_found_before_the_first_run(case: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    words, said = BAD[case]
    refused(ssdlab_command("sweep", "small.toml", *words, cwd=tmp_path), 2, *said)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["small.toml"]


def test_drives(tmp_path: Path) -> None:
    words = ["sweep", "--drive", "samsung-pm9", "--vary", "gc.window=1,2"]
    refused(ssdlab_command(*words, cwd=tmp_path), 2, "did you mean samsung-pm9a3?")
    refused(ssdlab_command("sweep", "--vary", "gc.window=1,2", cwd=tmp_path), 2, "--drive NAME")
    for part, hint in [("pm9a3", "samsung-pm9a3?"), ("7450", "micron-7450-max-800 or micron-")]:
        of_part = [*words[:2], part, *words[3:]]
        refused(ssdlab_command(*of_part, cwd=tmp_path), 2, f"did you mean {hint}")
    keys = {"device.channels": 1, "device.chips_per_channel": 1, "device.pages_per_block": 8}
    small = {**keys, "precondition.steady_state": "none", "workload.requests": 2000}
    drive = "drive:samsung-pm9a3"
    done = ssdlab.sweep(drive, vary={"gc.window": [1, 2]}, set=small, progress=False)
    assert done.drive.startswith(f"Samsung PM9A3 960 GB ({drive}; ")
    assert f"drive: {done.drive}" in " ".join(done.summary().split())
    assert done.drive in sweep_page(done)


def test_a_drive_of_ones_own_is_swept_under_its_name(tmp_path: Path) -> None:
    drive = tmp_path / "mine.toml"
    drive.write_text(
        'preset = "greedy-8ch"\n[workload]\nrequests = 500\n'
        '[published]\ntitle = "Acme Six 960 GB"\n',
        encoding="utf-8",
    )
    words = ["--vary", "gc.window=1,2", "--out", "out"]
    done = ssdlab_command("sweep", "--drive", "mine.toml", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "drive: Acme Six 960 GB (mine.toml" in done.stdout


def test_another_sweep_is_refused_and_replaced_by_force(tmp_path: Path) -> None:
    out = tmp_path / "s"
    first = swept(out=out, vary={OP: [0.3, 0.4]})
    with pytest.raises(ssdlab.OutputError, match=r"another sweep \(with other vary\); force"):
        swept(out=out, vary={OP: [0.3, 0.5]})
    with pytest.raises(ssdlab.OutputError, match="with other set"):
        swept(out=out, vary={OP: [0.3, 0.4]}, set={**FEW, "gc.window": 2})
    assert Sweep.read(out).rows == first.rows
    assert swept(out=out, vary={OP: [0.3, 0.5]}, force=True).rows[1][OP] == 0.5
    with pytest.raises(ssdlab.OutputError, match="force=True replaces it"):
        ssdlab.run("greedy-8ch", set=FEW, out=out, progress=False)
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("precious")
    with pytest.raises(ssdlab.OutputError, match="not from a run"):
        swept(out=other, force=True)
    assert (other / "thesis.txt").read_text() == "precious"


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    import fcntl

    swept(out=tmp_path / "s")
    with (tmp_path / "s" / OUTCOMES).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ssdlab.OutputError, match="another process is sweeping"):
            swept(out=tmp_path / "s")


def test_a_full_disk_keeps_what_is_done(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    words = ["sweep", "small.toml", "--vary", f"{OP}=lin:0.2:0.9:60", "--out", "s", "--no-html"]

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))

    refused(ssdlab_process(*words, cwd=tmp_path, limit=limit), 2, OUTCOMES, "what is done is kept")
    data = (tmp_path / "s" / OUTCOMES).read_bytes()
    assert data.endswith(b"\n")
    assert 3 < data.count(b"\n") < 60
    assert ssdlab_command(*words, "--quiet", cwd=tmp_path).returncode == 0
    assert Sweep.read(tmp_path / "s").completed
    # The runs fit, their page does not.
    words = ["sweep", "small.toml", "--vary", f"{OP}=0.2,0.3", "--out", "p"]
    refused(
        ssdlab_process(*words, cwd=tmp_path, limit=limit), 2, "error: p/", "what is done is kept"
    )
    assert (tmp_path / "p" / OUTCOMES).read_bytes().count(b"\n") == 2
    assert ssdlab_command(*words, "--quiet", cwd=tmp_path).returncode == 0


def test_exit_codes_and_json(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    words = ["--vary", f"{OP}=0.12,0.5", "--vary", "gc.reserve=1,4", "--json", "--quiet"]
    ended = ssdlab_command("sweep", "small.toml", *words, cwd=tmp_path)
    assert ended.returncode == 1
    assert "error: over_provisioning=0.12 reserve=4: " in ended.stderr
    told = json.loads(ended.stdout)
    assert (told["runs"], told["ended"], told["failed"], told["completed"]) == (4, 4, 1, False)
    assert told["points"][0][OP] == 0.12
    assert (tmp_path / "runs" / "small-sweep" / SWEEP_CSV).exists()


# ---------------------------------------------------------------- tables


def test_csv_and_parquet_have_the_keys_as_columns(done: Sweep) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    assert done.folder
    rows = [*csv.DictReader(io.StringIO((done.folder / SWEEP_CSV).read_text()))]
    assert [*rows[0]][:6] == ["point", OP, "gc.victim", "seed", "completed", "error"]
    table = pyarrow.parquet.read_table(done.folder / SWEEP_PARQUET)
    assert [float(row[OP]) for row in rows] == table[OP].to_pylist()
    assert [float(row["waf"]) for row in rows] == table["waf"].to_pylist()
    assert str(table.schema.field("write_p99_9_ns").type) == "double", "no value, and a number"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_real_libraries(done: Sweep, library: str) -> None:
    pytest.importorskip(library)
    frame = getattr(done, f"to_{library}")()
    assert [*frame.columns] == [*done.rows[0]]
    assert [float(one) for one in frame[OP]] == [row[OP] for row in done.rows]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(done: Sweep, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ssdlab.OutputError, match=f"pip install {library}"):
        getattr(done, f"to_{library}")()
    made: dict[str, Any] = {}
    fake = types.ModuleType(library)
    vars(fake).update(
        DataFrame=lambda columns, **kinds: made.update(columns=columns, kinds=kinds),
        Float64=float,
        String=str,
    )
    monkeypatch.setitem(sys.modules, library, fake)
    getattr(done, f"to_{library}")()
    assert made["columns"][OP] == [row[OP] for row in done.rows]
    assert made["columns"]["waf"] == [row["waf"] for row in done.rows]


# ---------------------------------------------------------------- plots


def test_a_plot_has_the_points(done: Sweep) -> None:
    points = done.points
    plot = over_key(points, points.metrics["waf"], points.numeric[0])
    assert isinstance(plot, Plot)
    assert [curve.name for curve in plot.curves] == ["greedy", "fifo"]
    for curve in plot.curves:
        rows = [row for row in done.rows if row["gc.victim"] == curve.name]
        assert curve.x.tolist() == sorted({float(str(row[OP])) for row in rows})
        for i, x in enumerate(curve.x.tolist()):
            each = [float(str(row["waf"])) for row in rows if row[OP] == x]
            assert curve.y[i] == pytest.approx(sum(each) / 3)
            assert curve.low is not None
            assert curve.high is not None
            assert curve.low[i] < curve.y[i] < curve.high[i]
    assert "95 % confidence intervals" in plot.caption
    # The reserve decided where there is little room.
    hollow = {
        row[OP]
        for row in done.rows
        if row["decided_by"] == "reserve" or done.label(cast("int", row["point"])) in points.invalid
    }
    assert plot.curves[0].dots is not None
    assert set(plot.curves[0].x[plot.curves[0].dots].tolist()) <= hollow
    assert ("Hollow" in plot.caption) == bool(hollow)


class _Numbers:
    """The numbers of a page, by point and column."""

    def __init__(self, page: str) -> None:
        found = re.findall(r'<data data-key="points\.(\d+)\.(\w+)" value="([^"]*)">', page)
        self.values = {(int(point), name): json.loads(text) for point, name, text in found}


def test_numbers_of_the_page_are_those_of_the_csv(tmp_path: Path) -> None:
    single = swept(out=tmp_path / "s", html=True)
    page = (tmp_path / "s" / "report.html").read_text()
    numbers = _Numbers(page).values
    text = (tmp_path / "s" / SWEEP_CSV).read_text()
    rows = {int(row["point"]): row for row in csv.DictReader(io.StringIO(text))}
    assert {point for point, _ in numbers} == set(rows)
    for (point, name), value in numbers.items():
        assert value == float(rows[point][name])
    assert {name for _, name in numbers} >= {"waf", "write_mean_ns", "erases"}
    assert '<select id="metric">' in page
    assert single.completed


def test_means_of_the_page_are_those_over_the_seeds(done: Sweep) -> None:
    assert done.folder
    numbers = _Numbers((done.folder / "report.html").read_text()).values
    for point in range(10):
        each = [float(str(row["waf"])) for row in done.rows if row["point"] == point]
        assert numbers[point, "waf"] == pytest.approx(sum(each) / 3)


# ---------------------------------------------------------------- notebooks


def test_plots_show_and_save_themselves(done: Sweep, tmp_path: Path) -> None:
    drawing = done.plot("waf", x=OP)
    text = drawing._repr_svg_()
    assert text is not None
    assert text.count('class="dot"') + text.count('class="hollow"') == 10
    assert text in drawing._repr_html_().replace(' style="width:100%;height:auto"', "")
    assert drawing.save(tmp_path / "waf.svg") == tmp_path / "waf.svg"
    assert "<svg" in (tmp_path / "waf.svg").read_text()
    assert "<!DOCTYPE html>" in drawing.save(tmp_path / "waf.html").read_text()
    with pytest.raises(ssdlab.OutputError, match="exists"):
        drawing.save(tmp_path / "waf.svg")
    with pytest.raises(ssdlab.OutputError, match=r"ends with \.svg"):
        drawing.save(tmp_path / "waf.pdf")
    with pytest.raises(ssdlab.OutputError, match="expected the name of a file"):
        drawing.save(3)  # type: ignore[arg-type]


def test_reports_and_comparisons_plot_themselves(tmp_path: Path) -> None:
    config = ssdlab.load_config("greedy-8ch", set=SMALL)
    report = ssdlab.run(config, progress=False)
    several = report.plot()
    assert several._repr_svg_() is None
    assert several._repr_html_().count("<svg") > 1
    with pytest.raises(ssdlab.OutputError, match="name one of them"):
        several.save(tmp_path / "all.svg")
    assert str(report.plot("ccdf")._repr_svg_()).startswith("<svg")
    vary: dict[str, Any] = {OP: "0.3:0.5:0.1", "gc.victim": ["greedy", "fifo"]}
    done = ssdlab.compare([config], vary=vary, out=tmp_path / "c", progress=False)
    assert done.plot("waf", x=OP)._repr_svg_()
    again = ssdlab.Comparison.read(tmp_path / "c")
    assert again.plot()._repr_svg_() == done.plot()._repr_svg_()
    page = (tmp_path / "c" / "report.html").read_text()
    assert f'id="waf-{OP.replace(".", "-")}"' in page
    assert "Over the keys" in page


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("waff",), "no waff; did you mean waf?"),
        ((3,), "metric: found 3; expected one of: waf"),
        (("waf", "gc.victim"), "the values of gc.victim are no numbers"),
        (("waf", "gc.windw"), f"x: no gc.windw; there are: {OP}"),
        (("waf", OP, 5), "y: found 5"),
        (("read_p99_9_ns",), "no run has a number for read_p99_9_ns"),
    ],
)
def test_wrong_arguments_get_a_sentence(done: Sweep, arguments: Any, why: str) -> None:  # noqa: ANN401
    with pytest.raises(ssdlab.ConfigError, match=re.escape(why)):
        done.plot(*arguments)


def test_an_empty_space_has_one_point() -> None:
    assert len(Space({}, is_drawn=False)) == 1
    assert os.fspath(Path(SWEEP_CSV)) == SWEEP_CSV


def test_the_answer_says_what_intervals_tell() -> None:
    def told(*waf: tuple[float, ...]) -> str:
        rows: list[list[Row]] = [[{"waf": value} for value in seeds] for seeds in waf]
        column = {"gc.victim": [*"abcd"[: len(rows)]]}
        return " ".join(of_points(Points.of([*"abcd"[: len(rows)]], column, rows)))

    assert told((2.0,), (3.0,), (4.0,)) == (
        "Write amplification is lowest at a (2.000); highest at c (4.000). One seed: no interval."
    )
    apart = told((2.0, 2.01, 1.99), (3.0, 3.01, 2.99), (4.0, 4.01, 3.99))
    assert apart == "Write amplification is lowest at a (2.000); highest at c (4.000)."
    close = told((2.0, 2.1, 1.9), (2.05, 2.1, 2.0), (4.0, 4.01, 3.99))
    assert "lowest at a (2.000), from which b cannot be distinguished; highest at c" in close
    assert told((2.0, 2.0), (2.0, 2.0), (2.0, 2.0)) == "Write amplification: equal at all points."
    wide = told((2.0, 2.1, 1.9), (3.0, 3.01, 2.99), (4.0, 9.0, 1.0))
    assert "lowest at a (2.000), from which c cannot be distinguished." in wide
    assert told((2.0, 2.5), (2.1, 2.6)) == "Write amplification: no significant difference."
    three = told((2.0, 2.5, 2.2), (2.4, 2.6, 2.5), (2.1, 2.6, 2.3), (9.0, 9.1, 9.2))
    assert "from which c and b cannot be distinguished; highest at d" in three
    assert told((), (), ()) == ""


def test_a_notebook_shows_answer_plot_and_table() -> None:
    vary = {"device.over_provisioning": [0.2, 0.3]}
    done = ssdlab.sweep("greedy-8ch", set=SMALL, vary=vary, progress=False)
    text = done._repr_html_()
    assert done.answer
    assert html.escape(done.answer) in text
    assert "<svg" in text
    assert text.count("<tr>") == 3


# ---------------------------------------------------------------- watched while it runs


def test_the_page_of_a_long_sweep_is_written_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY_S", 0.01)
    page = tmp_path / "s" / "report.html"
    seen: list[str] = []
    made = runner.execute_run

    def waits(one: runner.PlannedRun, *rest: Any) -> runner.RunEnd:  # noqa: ANN401
        """The second run ends when the page of the first one is there."""
        end = time.monotonic() + HANG_S
        while one.config["run.seed"] == 2 and not seen:
            assert time.monotonic() < end
            with suppress(OSError):
                text = page.read_text(encoding="utf-8")
                seen.extend([text] if "Running: 1 of 3 runs have ended." in text else [])
        return made(one, *rest)

    monkeypatch.setattr(runner, "execute_run", waits)
    done = swept(vary={"run.seed": [1, 2, 3]}, out=tmp_path / "s", html=True, jobs=1)
    assert done.completed
    assert 'http-equiv="refresh"' in seen[0]
    text = page.read_text(encoding="utf-8")
    assert "Running: " not in text
    assert 'http-equiv="refresh"' not in text


def test_seeds_are_named_and_functional_runs_have_no_time() -> None:
    tight: dict[str, Any] = {**SMALL, "run.mode": "functional", "device.over_provisioning": 0.08}
    done = ssdlab.sweep(
        "greedy-8ch", set=tight, vary={"run.seed": [1, 2, 3, 4]}, progress=False, html=False
    )
    assert done.points.labels == ("seed 1", "seed 2", "seed 3", "seed 4")
    assert done.points.reserve_decided(0)
    text = " ".join(done.summary().split())
    assert "The reserve decided, not the victim policy, at all points." in text
    assert "4 points, such as seed 1: the reserve decided" in text
    assert "simulated time" not in done.summary()
    assert "simulated_ns" not in done.points.metrics
    assert "simulated time" not in sweep_page(done)
    few = replace(done, outcomes=done.outcomes[:2])
    policy = replace(
        few.outcomes[1],
        values=tuple("policy" if one == "reserve" else one for one in few.outcomes[1].values),
    )
    some = replace(few, outcomes=(few.outcomes[0], policy))
    assert "in 1 of 2 points (seed 1)." in " ".join(some.summary().split())
