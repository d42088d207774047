"""Single clauses of rules that docstrings, options and pages of the documentation state.

Each test types an example from the words of one rule, of its second clause as a rule: what the
tests of whole runs pass over.
"""

import errno
import json
import math
from collections import Counter
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ssdlab
from ssdlab import _core, policy
from ssdlab.cli import ending, options, terminal
from ssdlab.config import memory, resolve, space, vary
from ssdlab.display.argument import argument, on_the_command_line
from ssdlab.display.form import columns
from ssdlab.display.numbers import on_page
from ssdlab.display.progress import warn_before_run
from ssdlab.errors import ConfigError, OutputError
from ssdlab.kv import plyvel
from ssdlab.kv import store as kv_store
from ssdlab.results import comparison, folder, points, search, search_answer, sweep, text
from ssdlab.results.intervals import Ratio
from ssdlab.results.report import Report
from ssdlab.running import caching, compare_runs, design, device, job, sources, sweep_runs
from ssdlab.running.outcomes import FORM, Outcomes
from ssdlab.running.runner import PlannedRun, RunEnd
from ssdlab.store import collect, rows, verify
from ssdlab.store.files import Entry, now
from ssdlab.store.keys import key_of
from ssdlab.store.rows import ExecutedRun
from ssdlab.traces import table as trace_table
from ssdlab.traces import trace as traces
from ssdlab_lab.kv import reuse
from ssdlab_lab.validation import check
from stored import in_process, seeded


def stub(**values: object) -> Any:  # noqa: ANN401 - stands in for what has these attributes
    return SimpleNamespace(**values)


# ---------------------------------------------------------------- display


def test_a_switch_is_told_without_a_value() -> None:
    assert argument(force=True) == "force=True"
    with on_the_command_line():
        assert argument(force=True, jobs=4) == "--force --jobs 4"


def test_what_is_absent_is_a_dash_on_a_page() -> None:
    assert [on_page("-"), on_page("-5 us")] == ["–", "-5 µs"]


def test_a_note_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    warn_before_run(["a", "b", "a"])
    assert capsys.readouterr().err == "ssdlab: warning: a\nssdlab: warning: b\n"


def test_latencies_and_work_of_the_flash_are_marked_where_they_are_lowest() -> None:
    marked = {one.key for one in columns() if one.lower_is_better and not one.ranked}
    assert {"gc.pages_moved", "flash.erases"} <= marked
    assert all(key.startswith("latency.") for key in marked - {"gc.pages_moved", "flash.erases"})


# ---------------------------------------------------------------- config


@pytest.mark.parametrize(
    ("range_", "values"),
    [
        ("1:3:0.5", (1.0, 1.5, 2.0, 2.5, 3.0)),
        ("1:3:1", (1, 2, 3)),
        ("0:1:0.33333334", (0.0, 0.33333334, 0.66666668, 1.00000002)),
    ],
)
def test_a_step_decides_about_whole_numbers_and_the_end(
    range_: str, values: tuple[object, ...]
) -> None:
    found = vary.range_of(range_).values
    assert found == values
    assert [*map(type, found)] == [*map(type, values)]


@pytest.mark.parametrize("draw", space.DRAWS)
def test_what_is_drawn_for_a_key_depends_on_no_other(draw: space.Draw) -> None:
    letters = ["a", "b", "c", "d"]
    alone = space.draw_points({"y": letters}, draw, 40, 7)
    after = space.draw_points({"x": letters, "y": letters}, draw, 40, 7)
    assert alone.columns["y"] == after.columns["y"] != after.columns["x"]


def test_larger_blocks_take_as_much_time_to_erase_for_a_page() -> None:
    keys = {"device.pages_per_block": 64, "timing.erase": "4 ms"}
    assert resolve.with_blocks_of(16, ssdlab.load_config(set=keys)) == {
        "device.pages_per_block": 16,
        "timing.erase": "1000000 ns",
    }


def test_traces_take_less_than_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.TRACES, "1 GiB")
    assert memory.traces_bytes((1 << 30) + 1) == 1 << 30
    with pytest.raises(ConfigError, match=r"expected less than the 1(\.00)? GiB of memory"):
        memory.traces_bytes(1 << 30)


# ---------------------------------------------------------------- results


def repeated(
    monkeypatch: pytest.MonkeyPatch, numbers: dict[str, list[float | None]]
) -> comparison.Comparison:
    """A comparison whose runs have these values of `waf`, by seed; None: not completed."""
    monkeypatch.setattr(comparison, "_row", lambda label, run: {"label": label, "waf": run.waf})
    repetitions: Any = {
        label: {seed: stub(completed=True, waf=one) for seed, one in enumerate(several)}
        for label, several in numbers.items()
    }
    reports = {label: by_seed[0] for label, by_seed in repetitions.items()}
    return comparison.Comparison(reports, repetitions=repetitions)


def test_a_number_that_a_repetition_lacks_is_none_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    done = repeated(monkeypatch, {"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]})
    assert done.values("a", "waf") == {}
    assert done.values("b", "waf") == {0: 1.0, 1: 2.0, 2: 3.0}


def test_the_interval_against_the_lowest_decides_who_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers: dict[str, list[float | None]] = {
        "base": [2.0, 2.1, 1.9],
        "lowest": [1.0, 1.01, 0.99],
        "close": [0.98, 1.06, 0.99],
        "lower": [1.4, 1.41, 1.42],
    }
    assert repeated(monkeypatch, numbers).lowest("waf") == ["lowest", "close"]


@pytest.mark.parametrize("shares", [(0.2, 0.7, 0.1), (0.7, 0.2, 0.1), (0.1, 0.2, 0.7)])
def test_the_reserve_is_told_with_the_largest_share(shares: tuple[float, ...]) -> None:
    by_seed: Any = {
        seed: stub(verdict=stub(decided_by="reserve", policy_share=share))
        for seed, share in enumerate(shares)
    }
    done = comparison.Comparison({"a": by_seed[0]}, repetitions={"a": by_seed})
    assert done.reserve_decided == {"a": 0.7}


def test_points_have_the_numbers_of_completed_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_row", lambda label, run: {"label": label, "waf": run.waf})
    reports: Any = {"a": stub(completed=True, waf=2.0), "b": stub(completed=False, waf=9.0)}
    varied: Any = {"a": {"k": 1}, "b": {"k": 2}}
    found = comparison.Comparison(reports, varied=varied).points
    assert found.labels == ("a",)
    assert found.runs == (({"label": "a", "waf": 2.0},),)


def test_a_point_with_a_run_without_the_number_has_none() -> None:
    rows: Any = [[{"waf": 1.0}, {"waf": None}], [{"waf": 1.0}, {"waf": 3.0}]]
    found = points.Points.of(["a", "b"], {"k": [1, 2]}, rows)
    assert found.summary(0, "waf") is None
    summary = found.summary(1, "waf")
    assert summary is not None
    assert summary.high - summary.mean == pytest.approx(12.7062, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "log"),
    [([1, 2, 4, 8], True), ([10, 30, 100], True), ([1, 2, 3, 4, 5, 6, 7, 8], False)],
)
def test_values_spread_by_factors_have_a_logarithmic_axis(values: list[int], log: bool) -> None:
    assert points.key_of("k", values)[0].log is log


def test_a_number_and_its_percent_sign_stay_together() -> None:
    for width in range(60, 82):
        lines = [*text.wrapped("", f"{'x' * width} 50 % of it")]
        assert any("50 %" in line for line in lines), lines


def test_room_under_one_bound_makes_up_for_no_other() -> None:
    tries: Any = [
        search.Tried(0, {"k": 1}, "completed", (1.0,), {"a < 1": 0.3, "b < 1": -0.9}),
        search.Tried(1, {"k": 2}, "completed", (2.0,), {"a < 1": 0.1, "b < 1": 0.0}),
    ]
    goal = search.Goal("waf", columns()[0], maximize=False)
    found = search.Search("s", (goal,), ("a < 1", "b < 1"), tuple(tries), (None,))
    assert found.nearest is tries[1]
    assert [one.number for one in found.ranked] == [1, 0]


def test_an_equal_number_meets_a_bound_that_may_be_equal() -> None:
    equal, lower = Ratio(3, 1.0, None, None), Ratio(3, 0.9, 0.8, 0.95)
    verdict = search_answer._verdict
    told = {one: verdict(f"waf {one} greedy", equal) for one in ("<", "<=", ">", ">=")}
    assert told == {"<": "missed", "<=": "met", ">": "missed", ">=": "met"}
    assert [verdict(f"waf {one} 2", lower) for one in ("<", ">")] == ["met", "missed"]


def test_a_folder_taken_away_by_a_process_that_ended_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "run"
    away = tmp_path / f"{folder._prefix(target)}4194304-x{folder.REPLACED}"
    away.mkdir()
    (away / "report.json").write_text("mine")
    folder.remove_stale(target)
    assert (target / "report.json").read_text() == "mine"


def test_values_of_another_version_are_in_columns_of_their_names() -> None:
    names = ["of the past", *reversed(sweep.COLUMNS[1:])]
    line = json.dumps({"point": 0, "seed": None, "values": [*range(len(names))]})
    found = dict(zip(sweep.COLUMNS, sweep.Outcome.of_line(line, names).values, strict=True))
    assert found == {sweep.COLUMNS[0]: None} | {
        name: len(names) - at for at, name in enumerate(sweep.COLUMNS[1:], 1)
    }


# ---------------------------------------------------------------- policies


class Named:
    """A policy with a name and a `repr`."""

    def __init__(self, name: object) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "by repr"

    def select(self, view: object) -> int | None:
        raise NotImplementedError


def test_a_policy_is_called_by_its_name_then_by_its_repr() -> None:
    assert [policy.label_of(Named(one)) for one in ("by name", "", 5)] == [
        "by name",
        "by repr",
        "by repr",
    ]


def test_all_candidates_take_a_policy_that_scores() -> None:
    config = ssdlab.load_config(set={"gc.amount": "all-candidates"})
    with pytest.raises(ConfigError, match=r"has select\(\), which names one block"):
        policy.Policies({"gc.victim": Named("x")}).name_in(config)


def test_each_trigger_of_a_configuration_has_to_be_there() -> None:
    config = ssdlab.load_config()
    values = json.loads(config.text)
    values["gc"]["trigger"] += [{"policy": "mine.Trigger"}]
    with pytest.raises(ConfigError, match=r"gc\.trigger: mine\.Trigger is a policy in Python"):
        policy.check_policies(resolve.Config(json.dumps(values)), policy.Policies({}))


class Both(policy.Victim, policy.Trigger):
    """Stands in for two keys."""

    def select(self, view: object) -> int | None:
        raise NotImplementedError


def test_a_policy_for_two_keys_stays_one() -> None:
    both = Both()
    packed = policy.Policies({"gc.victim": both, "gc.trigger": both}).pack()
    given = policy.Policies.unpack(packed).by_key
    assert given["gc.victim"] is given["gc.trigger"]


# ---------------------------------------------------------------- traces


def test_a_written_trace_tells_every_loss() -> None:
    losses = ({"trim": 3, "flush": 0}, 1200, 7)
    one = traces.Written(Path("t.csv"), 10, 99, *losses, "msr", 0, "", ())
    assert one.summary() == (
        "t.csv: 10 requests, 99 bytes (msr); left out: 3 trim; times rounded down: 1,200;"
        " without their flags or stream: 7"
    )


def test_a_journal_is_not_empty(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="START below END"):
        ssdlab.Trace(tmp_path / "t.csv").info(journal=[(5, 5)])


def test_a_name_says_our_format_compressed_or_not() -> None:
    for name in ("a.ssdtrace", "a.ssdtrace.zst"):
        assert traces._target(Path(name), None) == "ssdtrace"
    with pytest.raises(ConfigError, match="its name does not say a format"):
        traces._target(Path("a.zst"), None)


def distribution(of: float) -> Any:  # noqa: ANN401 - stands in for a distribution
    names = ("count", "min", "mean", "max", "p10", "p50", "p90", "p99", "p99_9")
    return stub(**{name: of + at for at, name in enumerate(names)})


def test_each_statistic_of_a_trace_stands_under_its_name() -> None:
    op = stub(
        requests=1, request_share=0.02, bytes=3, byte_share=0.04, aligned_share=0.05,
        sequential_share=0.06, sequential_mean_bytes=7, run_requests=distribution(100),
        run_bytes=distribution(200), size=distribution(300),
    )  # fmt: skip
    found = {(one.section, one.label): one.value for one in trace_table._operation("read", op)}
    assert [value for (section, _), value in found.items() if section == "operations"] == [
        1, 0.02, 3, 0.04, 0.05, 0.06, 7, 102, 103, 202,
    ]  # fmt: skip
    assert found["sizes", "mean"] == 302


def test_idle_periods_stand_beside_all_gaps() -> None:
    idle = stub(periods=distribution(400), threshold_ns=(), count=(), time_share=())
    trains = stub(
        requests=distribution(500), short_gap_share=0.1, short_gap_mean_ns=2, gap_cv=3.0,
        requests_cv=4.0, same_size_share=0.5,
    )  # fmt: skip
    info = stub(bursts=(), gaps=distribution(600), idle=idle, trains=trains)
    arrivals = {(r.section, r.column, r.label): r.value for r in trace_table._arrivals(info)}
    means = {key[:2]: value for key, value in arrivals.items() if key[2] == "mean"}
    assert means == {
        ("gaps", "all"): 602,
        ("gaps", "idle (1 ms up)"): 402,
        ("train lengths", "requests"): 502,
    }


# ---------------------------------------------------------------- running


def test_a_value_drawn_once_is_not_called_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ssdlab.load_config()

    def of_point(_: object, point: int) -> object:
        return ("no",) if point == 0 else config

    monkeypatch.setattr(design.Design, "load_or_errors", of_point)
    values = {"k": [3000, 4000, 4000]}
    source = resolve.Source(config)
    design.check(design.Design(source, space.Space(values, is_drawn=True)), 1)
    with pytest.raises(ConfigError, match="no point with 3000 is possible: no"):
        design.check(design.Design(source, space.Space({"k": [3000, 4000]}, is_drawn=False)), 1)


def test_traces_with_one_short_name_are_called_by_their_paths() -> None:
    assert design.trace_names(["a/x.csv", "b/y.csv.gz"]) == ["x", "y"]
    assert design.trace_names(["a/x.csv", "b/x.csv"]) == ["a/x.csv", "b/x.csv"]


def test_a_sweep_knows_its_traces_by_their_size(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("12345")
    made = design.Design(
        resolve.Source("greedy-8ch"), space.Space({"k": [1]}, is_drawn=False), trace=trace
    )
    assert made.identity(made.shown())["traces"] == [[str(trace), 5]]


def test_a_part_of_a_line_that_could_not_be_written_goes_again(tmp_path: Path) -> None:
    place = tmp_path / "sweep"

    class FullFile:
        """A file on a disk with room for three more bytes."""

        def __init__(self, file: Any) -> None:  # noqa: ANN401 - a file
            self.file, self.room = file, 3

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            done, self.room = int(self.file.write(data[: self.room])), 0
            return done

    with Outcomes(place, {"ssdlab": "x"}, FORM) as lines:
        lines.write("first\n")
        lines.file = FullFile(lines.file)  # type: ignore[assignment]
        with pytest.raises(OutputError, match="No space left on device; what is done is kept"):
            lines.write("second\n")
    assert (place / FORM.lines).read_text() == "first\n"


@pytest.mark.parametrize("budget", [sweep_runs.Budget(runs=60), sweep_runs.Budget(seconds=1e9)])
def test_a_budget_of_any_kind_scatters_the_points(budget: sweep_runs.Budget) -> None:
    points_ = space.Space({"k": [*range(60)]}, is_drawn=False)
    made = stub(space=points_, seed=None, seeds=(None,))
    order = [point for point, _ in sweep_runs._missing(made, stub(rows={}), budget)]
    assert sorted(order) == [*range(60)]
    assert order != sorted(order)


@pytest.mark.parametrize("given", ["1.5", "2.5 runs", "0", "-3", "2 weeks"])
def test_a_budget_is_a_time_or_a_whole_number(given: str) -> None:
    with pytest.raises(ConfigError):
        sweep_runs.Budget.of(given)
    assert sweep_runs.Budget.of("1.5 h") == sweep_runs.Budget(seconds=5400)
    assert sweep_runs.Budget.of("2d") == sweep_runs.Budget(seconds=172_800)
    assert sweep_runs.Budget.of("3 runs") == sweep_runs.Budget(runs=3)


def test_a_trace_is_shared_unless_its_addresses_are_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job, "_traced_bytes", lambda *_: 1000)
    config = json.loads(ssdlab.load_config().text)
    trace = job.InputFile("workload.trace", "t", "d", 1, "/t", False)
    need = {}
    for fit in ("none", "compact"):
        config["workload"]["fit"] = fit
        made = job.Job(json.dumps(config), inputs=(trace,))
        need[fit] = made.memory_bytes(5000) - made.memory_bytes() + 1000
    assert need == {"none": 0, "compact": 1000}


def test_files_of_all_cpus_are_compressed_alike(tmp_path: Path) -> None:
    names = ["t.blktrace.0", "t.blktrace.1", "t.blktrace.2.gz", "u.blktrace.3"]
    for name in names:
        (tmp_path / name).write_text(name)
    found = job._of_all_cpus(tmp_path / names[0])
    assert found == [(0, tmp_path / names[0]), (1, tmp_path / names[1])]


@pytest.mark.parametrize(
    ("fua", "preflush", "flags"),
    [(False, False, 0), (True, False, 1), (False, True, 8), (True, True, 9)],
)
def test_a_write_may_flush_before_and_be_on_flash_after(
    fua: bool, preflush: bool, flags: int
) -> None:
    given: list[object] = []

    def submit(*what: object) -> int:
        given.append(what[-1])
        return 0

    made: Any = object.__new__(device.Device)
    made.core = stub(submit=submit)
    made.write(0, fua=fua, preflush=preflush)
    assert given == [flags]


def test_relative_imports_are_followed() -> None:
    spec = ModuleSpec("p.q.a", None)
    code = b"from .b import c\nfrom .. import d\nimport e"
    assert {*sources._imports(code, spec)} == {"p.q.b", "p.q.b.c", "p", "p.d", "e"}
    package = ModuleSpec("p.q", None, is_package=True)
    assert {*sources._imports(b"from .b import c", package)} == {"p.q.b", "p.q.b.c"}


@pytest.mark.parametrize("log", ["op_log", "request_log"])
def test_a_run_with_either_log_is_not_stored(log: str) -> None:
    looked: Any = object.__new__(caching._FilteredWork)
    looked.keeper = stub(skipped=Counter())
    one = PlannedRun("a", ssdlab.load_config(set={f"metrics.{log}": True}))
    assert not looked._is_stored(one)
    assert looked.keeper.skipped == {caching.LOGS: 1}
    assert looked._is_stored(PlannedRun("b", ssdlab.load_config()))


def test_runs_that_are_done_are_not_lost_with_a_cluster() -> None:
    config = ssdlab.load_config()
    one, two = (PlannedRun(label, config) for label in ("one", "two"))
    done = compare_runs.FinishedRuns([one, two])
    done.take(one, RunEnd("completed", stub()))
    done.fail_remaining("gone")
    assert done.failures == {"two": "gone"}


# ---------------------------------------------------------------- stores


@pytest.mark.parametrize("order", [(1, 3), (3, 1)])
def test_the_last_use_of_a_run_counts(order: tuple[int, int]) -> None:
    used = {Path(str(at)): {"k": time} for at, time in enumerate(order)}
    assert collect._latest(used) == {"k": 3}


def test_a_run_takes_its_share_of_its_part() -> None:
    created = iter(range(1, 9))
    parts = {
        name: Entry(
            name, tuple((f"{name}{i}", next(created)) for i in range(count)), size, "", 64, {}
        )
        for name, count, size in (("a", 4, 400), ("b", 1, 50))
    }
    wanted = collect._retained(parts, {}, None, 250)
    # 50 bytes of the newest, then 100 of each of the next two.
    assert wanted == {"a": frozenset({2, 3}), "b": frozenset({0})}


def test_a_report_names_the_files_of_who_asks() -> None:
    made, report = seeded(1)
    values = json.loads(json.dumps(report.json))
    values["config"]["workload"]["trace"] = "/old/t.csv"
    values["trace_lines"] = {"loss": "/old/t.csv: 7 lines were skipped"}
    values["warnings"] = ["/old/t.csv has no flushes"]
    row = ExecutedRun(made.key, made.text, report, {}, "/old/t.csv ended", now()).row()
    row["report"] = json.dumps(values)
    theirs = json.loads(json.dumps(values["config"]))
    theirs["workload"]["trace"] = "/new/t.csv"
    given: list[Any] = []
    config: Any = stub(values=theirs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Report, "of_values", lambda values, *_, **__: given.append(values))
        rows.report_of(row, config)
    assert given[0]["trace_lines"]["loss"] == "/new/t.csv: 7 lines were skipped"
    assert given[0]["warnings"] == ["/new/t.csv has no flushes"]
    assert rows.why_of(row, config) == "/new/t.csv ended"


@pytest.mark.parametrize("where", ["job", "report"])
def test_results_of_another_version_are_found(where: str) -> None:
    made, report = seeded(2)
    row = ExecutedRun(made.key, made.text, report, {}, "", now()).row()
    results = ssdlab.__results_version__
    assert verify._of_row(row, results) == ""
    if where == "report":
        values = json.loads(row["report"])
        values["provenance"]["results"] = results - 1
        row["report"] = json.dumps(values)
    else:
        version, *rest = json.loads(row["job"])
        row["job"] = json.dumps([version - 1, *rest])
        row["key"] = key_of(row["job"])
    assert verify._of_row(row, results) == f"its results are not of version {results}"


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("BIGINT", "DOUBLE", "DOUBLE"),
        ("DOUBLE", "BIGINT", "DOUBLE"),
        ("BIGINT", "VARCHAR", "VARCHAR"),
        ("BOOLEAN", "BIGINT", "VARCHAR"),
        (None, "JSON", "JSON"),
    ],
)
def test_a_column_has_room_for_both_types(one: str | None, other: str, both: str) -> None:
    assert rows.wider(one, other) == both


# ---------------------------------------------------------------- kv


def row_of(digest: int, name: str = "stock") -> reuse.Row:
    return reuse.Row(name, 100, 10, 1.0, 1.0, None, None, 0, 0, 0, (), digest, None)


def test_two_stores_that_differ_are_told() -> None:
    told = "100 B: the stores differ"
    assert told in reuse.table([row_of(1), row_of(2, "base")])
    assert told not in reuse.table([row_of(1), row_of(1, "base")])


def test_bytes_are_told_for_a_byte_of_keys_and_values() -> None:
    # Three times 100 writes of 16 + 84 bytes; 95 of the 100 keys are there at the end.
    row = reuse.Row("stock", 84, 100, 3.0, 1.0, 60_000, 45_000, 15_000, 3_000, 19_004, (), 1, None)
    cells = reuse.table([row]).splitlines()[2].split()
    assert cells == ["84", "stock", "2.00", "1.50", "0.50", "0.10", "2.00", "10000.0"]


def opened_with(monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, object]:  # noqa: ANN401
    """The settings with which `ssdlab.kv.open` opens a store."""
    given: list[dict[str, object]] = []
    monkeypatch.setattr(kv_store, "open_core", lambda _, chosen: given.append(chosen))
    monkeypatch.setattr(kv_store, "DB", lambda *_: None)
    kv_store.open("x", **options)
    return given[0]


def test_reflink_is_retention_by_reflinks(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = opened_with(monkeypatch, reuse="reflink")
    said = {name: chosen[name] for name in ("reuse", "reflink", "pages_per_block", "snappy")}
    assert said == {"reuse": "retention", "reflink": True, "pages_per_block": 1, "snappy": False}
    chosen = opened_with(monkeypatch, reuse="base", pages_per_block=3)
    said = {name: chosen[name] for name in ("reuse", "reflink", "pages_per_block", "snappy")}
    assert said == {"reuse": "base", "reflink": False, "pages_per_block": 3, "snappy": False}


def test_sizes_are_clipped_at_both_ends() -> None:
    least, most = kv_store.limits("block_size")
    assert [plyvel._clip("block_size", one) for one in (0, least + 1, most + 1, None)] == [
        least,
        least + 1,
        most,
        None,
    ]


@pytest.mark.parametrize(("remap", "mode"), [("off", None), ("aligned", None), ("base", "share"),
                                             ("full", "share")])  # fmt: skip
def test_reuse_in_a_simulation_remaps_on_the_drive(
    remap: Any,  # noqa: ANN401 - one of the words
    mode: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []

    def simulated(config: str, *_: object, **__: object) -> str:
        given.append(config)
        return "{}"

    monkeypatch.setattr(_core, "kv_simulate", simulated)
    ssdlab.kv.simulate("greedy-8ch", remap=remap)
    assert json.loads(given[0]).get("remap", {}).get("mode") == mode


def test_writers_wait_slowed_and_stopped() -> None:
    phase = {
        "name": "fill",
        "operations": 4,
        "operations_per_s": None,
        "latency": {},
        "slowed": {"ns": 1_500_000},
        "stopped": {"ns": 2_000_000},
    }
    parts = {"store": None, "total": None}
    total = {"write_amplification": parts, "pages_written": {}, "pages_copied": {}}
    config = resolve.load_config("greedy-8ch").values
    drive = {"config": config, "warnings": [], "invalidating": 0}
    report: dict[str, Any] = {
        "phases": [phase],
        "total": total,
        "store": {"levels": []},
        "drive": drive,
        "settings": {},
        "space": {"amplification": None},
        "error": None,
    }
    assert "writers waited for background work: 3.50 ms" in ssdlab.kv.Simulated(report).summary()


@pytest.mark.parametrize(("transaction", "found"), [(False, b"v"), (True, None)])
def test_a_batch_is_left_out_by_an_exception_in_a_transaction_alone(
    transaction: bool, found: bytes | None, tmp_path: Path
) -> None:
    with ssdlab.kv.open(tmp_path / "s", create_if_missing=True) as db:

        def fails() -> None:
            with db.write_batch(transaction=transaction) as batch:
                batch.put(b"k", b"v")
                raise LookupError

        with pytest.raises(LookupError):
            fails()
        assert db.get(b"k") == found


# ---------------------------------------------------------------- validation


def test_a_deviation_from_nothing_is_the_difference() -> None:
    assert check.Line("x", 0.0, 0.5, 0.1).deviation == 0.5
    assert not check.Line("x", 0.0, 0.5, 0.1).ok
    assert check.Line("x", 2.0, 1.0, 0.1).deviation == -0.5


def test_the_interval_of_three_values_has_two_degrees_of_freedom() -> None:
    mean, half = check.interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.303 / math.sqrt(3))


def test_checks_of_one_topic_share_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "simulate", lambda _: None)

    def of(topic: str, what: str) -> check.Check:
        return check.Check(topic, (), lambda _: [check.Line(what, 1.0, 1.0, 0.0)])

    several = [of("a", "1"), of("b", "2"), of("a", "3")]
    found = check.carry_out(several, 1, lambda _: None)
    told = {topic: [line.what for line in lines] for topic, lines in found.tables.items()}
    assert told == {"a": ["1", "3"], "b": ["2"]}


def test_requests_are_read_in_order_of_arrival(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    lines = ["id,op,arrival,completion", "2,read,20,30", "0,read,0,90", "1,write,10,40", ""]
    log = tmp_path / "requests.csv.zst"
    log.write_bytes(zstandard.compress("\n".join(lines).encode()))
    found = check._requests(log)
    assert [(one.number, one.arrival, one.completion) for one in found] == [
        (0, 0, 90),
        (1, 10, 40),
        (2, 20, 30),
    ]


# ---------------------------------------------------------------- the command


def test_options_of_a_trace_come_over_set() -> None:
    sets = ["workload.unit=bytes", "run.seed=3"]
    found = options.ReadOptions(sets, unit="sectors", sort=True).values()
    assert found == {"workload.unit": "sectors", "run.seed": "3", "workload.sort": True}


@pytest.mark.parametrize(("count", "more"), [(10, None), (11, "1 other reasons, in t.csv"),
                                             (13, "3 other reasons, in t.csv")])  # fmt: skip
def test_reasons_that_are_left_out_are_counted(count: int, more: str | None) -> None:
    failed = {f"why {i}": [f"run {i}", "another"] for i in range(count)}
    found = ending.few_reasons(failed, "t.csv")
    assert found.get("more") == more
    assert found["run 0 and 1 more"] == "why 0"
    assert len(found) == min(count, 10) + (more is not None)


def test_terse_lines_name_seeds_where_labels_are_alike() -> None:
    runs = [{"label": "a", "seed": 0, "waf": 1}, {"label": "a", "seed": 1, "waf": 2}]
    lines = [*terminal.terse({"runs": runs})]
    assert "runs.a.0.waf\t1\n" in lines
    assert "runs.a.1.waf\t2\n" in lines


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False)],
)
def test_colours_are_for_terminals_that_have_them(
    environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    written: list[str] = []
    monkeypatch.setattr(terminal, "put", written.append)
    monkeypatch.setattr("sys.stdout", stub(isatty=lambda: True))
    terminal.put_summary("LOST  much\n")
    assert ("\x1b[" in written[0]) is coloured


def test_unused_is_a_number_of_days(monkeypatch: pytest.MonkeyPatch) -> None:
    from ssdlab.cli import results as of_store

    given: list[object] = []

    def collected(_: object, **how: object) -> collect.CollectResult:
        given.append(how["unused_s"])
        return collect.CollectResult()

    monkeypatch.setattr(of_store, "collect", collected)
    monkeypatch.setattr(of_store, "_files", lambda *_: None)
    for words in (["--unused", "2"], ["--unused", "0.5"], ["--unused", "0"], []):
        done = in_process("results", "gc", *words)
        assert done.returncode == 0, done.stderr
    assert given == [172_800.0, 43_200.0, 0.0, None]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["trace", "info", "t.csv", "--json", "--plots", "p"], "--json and --terse cannot be"),
        (["trace", "info", "t.csv", "--terse", "--html", "p"], "--json and --terse cannot be"),
        (["trace", "info", "t.csv", "--picture", "svg"], "--picture svg: needs --plots DIR"),
        (["trace", "info", "t.csv", "--picture", "png"], "--picture png: needs --plots DIR"),
    ],
)
def test_options_that_exclude_one_another(words: list[str], why: str) -> None:
    done = in_process(*words)
    assert done.returncode == 2
    assert why in done.stderr


def test_a_run_is_exported_without_a_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ssdlab.cli import results as of_store

    monkeypatch.setattr(of_store, "_results", lambda *_: None)
    done = in_process(
        "results", "export", str(tmp_path / "o"), "--run", "ab", "--query", "select 1"
    )
    assert (done.returncode, done.stderr) == (2, "error: --run: takes no --query\n")
