"""The Python interface: what it returns and raises, and that its types are those of reports."""

import dataclasses
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import typing
from functools import reduce
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import ssdlab
from running import SMALL, SMALL_TOML
from ssdlab import _core, versions
from ssdlab.cli import arguments
from ssdlab.config import memory, vary
from ssdlab.display import form
from ssdlab.display.numbers import rate
from ssdlab.results import comparison
from ssdlab.results.report import Report
from ssdlab.running import simulate

CROWDED: dict[str, object] = {
    **SMALL,
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.07,
    "alloc.placement": "round-robin",
    "gc.reserve": 1,
    "gc.trigger": {"policy": "free-blocks", "soft": 3},
    "precondition.overwrite": 0,
    "workload.read": 0,
    "workload.requests": 200_000,
}


def small(**more: object) -> ssdlab.Report:
    settings = {key.replace("__", "."): value for key, value in more.items()}
    return ssdlab.run(set={**SMALL, **settings}, progress=False)


# ---------------------------------------------------------------- reports


def test_report_has_typed_parts() -> None:
    report = small()
    assert report.completed
    assert report.requests.completed == report.requests.submitted == 4000
    flash, host = report.flash, report.host.pages_written
    programs = dataclasses.asdict(flash.programs)
    assert report.requests.write == host == programs["host"]
    assert programs.keys() - {cause for cause, count in programs.items() if not count} == {
        "host",
        "gc",
    }
    assert report.waf.total == pytest.approx((host + programs["gc"]) / host)
    assert report.waf.gc == pytest.approx(programs["gc"] / host)
    assert report.gc.calls == report.gc.foreground + report.gc.background
    # A victim has sixteen pages: those that were not invalid were moved.
    valid = 1 - (report.gc.mean_victim_invalid_ratio or 0)
    assert report.gc.pages_moved == pytest.approx(16 * report.gc.calls * valid, rel=0.02)
    assert report.latency.read.p99 == report.json["latency"]["read"]["p99"]
    assert report.flash.programs.gc == report.json["flash"]["programs"]["gc"]
    assert len(report.device.utilisation.chip) == 4
    assert report.config["gc.victim.policy"] == "greedy"
    assert "write amplification" in report.summary()
    assert json.loads(report.to_json()) == report.json
    assert report.json["version"] == report.version == 1
    assert report.folder is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.waf.total = 1.0  # type: ignore[misc]


def test_report_shows_itself() -> None:
    report = small()
    assert repr(report).startswith("<Report run: requests 4,000, WAF ")
    html = report._repr_html_()
    assert "<table>" in html
    assert len(html) < 3000


def test_series_is_arrays() -> None:
    report = small(metrics__interval="1 ms")
    series = report.series
    assert {column.dtype for column in series.values()} == {np.dtype(np.int64)}
    assert len({len(column) for column in series.values()}) == 1
    rows = report.time.simulated // 1_000_000
    assert series["time_ns"].tolist() == [1_000_000 * (i + 1) for i in range(rows)]
    completed = np.cumsum(series["interval_writes"])
    assert (series["host_writes_completed"] == completed).all()
    assert report.latency.write.count - 64 <= completed[-1] <= report.latency.write.count
    none = small(metrics__interval="0 s").series
    assert all(len(column) == 0 for column in none.values())
    assert {column.dtype for column in none.values()} == {np.dtype(np.int64)}


def covered(kind: Any, schema: dict[str, Any], path: str, left_out: bool = False) -> None:  # noqa: ANN401
    """The fields of a dataclass are those of the schema, with types that fit.

    What may be None in Python is null in JSON or, if it is `left_out`, not there.
    """
    if get_origin(kind) is types.UnionType:
        assert left_out or "null" in np.atleast_1d(schema.get("type", [])), path
        kind = get_args(kind)[0]
    if dataclasses.is_dataclass(kind):
        names = {field.name for field in dataclasses.fields(kind)}
        if kind is Report:
            names -= {"series_csv", "distributions_csv", "trace", "folder", "json"}
            names |= {"config", "series"}
        assert names == set(schema["properties"]), path
        hints = typing.get_type_hints(kind)
        for name in names - {"series"}:
            if not (kind is Report and name == "config"):
                field, left_out = schema["properties"][name], name not in schema["required"]
                covered(hints[name], field, f"{path}.{name}", left_out)
        return
    of_json = {int: "integer", float: "number", str: "string", bool: "boolean"}
    expected = {tuple: "array", dict: "object"}.get(get_origin(kind)) or of_json[kind]
    assert expected in np.atleast_1d(schema["type"]), path


def test_types_are_those_of_the_schema() -> None:
    covered(Report, json.loads(_core.report_schema()), "report")


def test_report_is_read_back(tmp_path: Path) -> None:
    made = ssdlab.run(set=SMALL, out=tmp_path / "a", progress=False)
    again = Report.read(tmp_path / "a")
    assert again.json == made.json
    assert again.series["time_ns"].tolist() == made.series["time_ns"].tolist()
    assert again.folder == tmp_path / "a"
    held = {file.name for file in (tmp_path / "a").iterdir()}
    assert held == {
        *("report.json", "config.toml", "series.csv", "distributions.csv", "summary.txt"),
        "report.html",
    }
    assert ssdlab.load_config(tmp_path / "a/config.toml").values["gc"] == made.json["config"]["gc"]


# ---------------------------------------------------------------- configurations


def test_configurations(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL_TOML)
    config = ssdlab.load_config(file, set={"timing.read": "60 us", "gc.victim": {"policy": "fifo"}})
    assert config["timing.read_ns"] == 60_000
    assert config["gc.trigger.0.policy"] == "free-blocks"
    assert config.name == "small"
    assert "small" in repr(config)
    assert ssdlab.load_config(config) is config
    assert ssdlab.load_config(config, seed=9)["run.seed"] == 9
    below = ssdlab.load_config(file, preset="adaptive-channel")
    assert below["device.channels"] == 2
    assert below["timing.model"] == "serial"
    with pytest.raises(KeyError, match="no such key: 'reed_ns'"):
        config["timing.reed_ns"]
    for name in ssdlab.preset_names():
        assert ssdlab.load_config(name)["preset"] == name


def test_values_are_said_as_toml() -> None:
    config = ssdlab.load_config(
        set={
            "gc.trigger": [{"policy": "free-blocks", "soft": 6}, "idle"],
            "wear.dynamic": False,
            "workload.size": [{"size": "4 KiB", "weight": 1}, {"size": 8192, "weight": 2.5}],
        }
    )
    assert [trigger["policy"] for trigger in config["gc.trigger"]] == ["free-blocks", "idle"]
    assert config["wear.dynamic"] is False
    assert config["workload.sizes.1.weight"] == 2.5


def test_config_errors_come_at_once() -> None:
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.run(set={"device.chanels": 1, "timing.read": 5}, progress=False)
    assert len(caught.value.messages) == 2
    assert str(caught.value).count("\n") == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.messages == caught.value.messages
    with pytest.raises(ssdlab.ConfigError, match="a log needs a folder"):
        small(metrics__op_log=True)


# ---------------------------------------------------------------- how runs end


def test_workload_error() -> None:
    with pytest.raises(ssdlab.WorkloadError, match="cannot open the trace"):
        ssdlab.run("greedy-8ch", trace="no-such-trace", progress=False)


def test_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ssdlab.OutputError, match="not a folder"):
        ssdlab.run(set=SMALL, out=tmp_path / "file", progress=False)


def test_run_error_carries_the_report(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.RunError, match="cannot free a block") as caught:
        ssdlab.run(set=CROWDED, out=tmp_path / "a", progress=False)
    report = caught.value.report
    assert not report.completed
    assert report.requests.completed < report.requests.submitted
    assert "NOT COMPLETED" in repr(report)
    assert Report.read(tmp_path / "a").json == report.json


def test_a_stopped_comparison_is_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    done = ssdlab.Comparison({}, interrupted=True, folder=Path("here"))
    monkeypatch.setattr("ssdlab.running.compare_runs.run_all", lambda *_, **__: done)
    with pytest.raises(ssdlab.Interrupted) as caught:
        ssdlab.compare("greedy-8ch", progress=False)
    assert caught.value.comparison is done
    assert caught.value.folder == Path("here")
    assert caught.value.report is None


def test_interrupted_carries_the_report(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        assert total == 1 << 30 or stage == "precondition"
        if stage == "workload" and done > 20_000:
            raise KeyboardInterrupt

    settings = {**SMALL, "workload.requests": 1 << 30}
    with pytest.raises(ssdlab.Interrupted) as caught:
        ssdlab.run(set=settings, out=tmp_path / "a", progress=stop)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.report is not None
    assert not caught.value.report.completed
    assert caught.value.report.requests.completed > 20_000
    assert not Report.read(tmp_path / "a").completed


def test_errors_of_a_callback_are_its_own(tmp_path: Path) -> None:
    def fail(stage: str, done: int, total: int | None) -> None:
        raise ZeroDivisionError(stage, done, total)

    with pytest.raises(ZeroDivisionError):
        ssdlab.run(set=SMALL, out=tmp_path / "a", progress=fail)
    assert not list(tmp_path.iterdir())


def test_other_threads_run_meanwhile() -> None:
    """Another thread looks at a run and then ends it, which it cannot unless it gets to run."""
    main = threading.get_ident()
    ended = threading.Event()

    def look() -> None:
        seen = 0
        while seen < 20 and not ended.is_set():
            time.sleep(0.001)
            seen += sys._current_frames()[main].f_code is simulate.run_simulator.__code__
        if seen == 20:
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=look)
    thread.start()
    with pytest.raises(ssdlab.Interrupted):
        small(workload__requests=30_000_000)
    ended.set()
    thread.join()


# ---------------------------------------------------------------- comparisons


def test_comparison(tmp_path: Path) -> None:
    victims = ["greedy", "fifo", {"policy": "d-choices", "d": 2}]
    done = ssdlab.compare(
        ssdlab.load_config(set=SMALL),
        vary={"gc.victim": victims},
        out=tmp_path / "c",
        progress=False,
    )
    assert list(done.reports) == ["greedy", "fifo", "d-choices d=2"]
    assert done.completed
    assert done.folder == tmp_path / "c"
    assert {entry.name for entry in (tmp_path / "c").iterdir()} == {
        *("greedy", "fifo", "d-choices-d=2", "compare.json", "compare.csv", "summary.txt"),
        "report.html",
    }
    greedy = Report.read(tmp_path / "c/greedy")
    assert done.rows[0]["waf"] == greedy.waf.total == small().waf.total
    assert done.reports["fifo"].folder == tmp_path / "c/fifo"
    text = done.summary()
    assert text == (tmp_path / "c/summary.txt").read_text()
    words = (
        "WAF",
        "greedy",
        "d-choices d=2",
        "x",
        "write latency",
        "read latency",
        "no run is valid",
    )
    for word in words:
        assert word in text
    assert json.loads((tmp_path / "c/compare.json").read_text()) == json.loads(done.to_json())
    lines = done.to_csv().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("label,completed,requests,waf,")
    shown = done._repr_html_()
    assert shown.count("<tr>") == 4
    assert f"<p>{done.answers[0].text}</p>" in shown


def test_columns_are_those_that_the_report_declares() -> None:
    report = small()
    (row,) = ssdlab.compare([report]).rows

    def at(key: str) -> Any:  # noqa: ANN401
        return reduce(lambda value, name: value and value[name], key.split("."), report.json)

    for column in form.columns():
        whole = at(column.of) if column.of else 1
        assert row[column.name] == (at(column.key) / whole if column.of else at(column.key))
        assert form.unit(column.name) == column.unit
    assert list(row) == ["label", *(column.name for column in form.columns())]
    assert row["gc_foreground_share"] == report.gc.foreground / report.gc.calls


def test_comparison_of_reports_and_presets() -> None:
    made = ssdlab.compare([small(), small(gc__victim="fifo")])
    assert list(made.reports) == ["run", "run (2)"]
    by_config = ssdlab.compare(
        ["greedy-8ch", "adaptive-channel"],
        set={"workload.requests": 500, "workload.kind": "uniform", "precondition.fill": 0},
        progress=False,
        jobs=1,
    )
    assert list(by_config.reports) == ["greedy-8ch", "adaptive-channel"]
    with pytest.raises(ssdlab.ConfigError, match="nothing to compare"):
        ssdlab.compare([])
    with pytest.raises(ssdlab.ConfigError, match=r"gc\.victim"):
        ssdlab.compare(["greedy-8ch"], vary={"gc.victim": ["fifo", "best"]}, progress=False)


def test_comparison_keeps_what_failed() -> None:
    crowded = ssdlab.load_config(set=CROWDED)
    done = ssdlab.compare([crowded], vary={"device.over_provisioning": [0.07, 0.5]}, progress=False)
    assert list(done.failures) == ["0.07"]
    assert not done.completed
    assert done.reports["0.5"].completed
    assert "could not finish" in done.summary()


def test_warnings_are_shown_once() -> None:
    done = ssdlab.compare(
        [ssdlab.load_config(set=SMALL)], vary={"gc.window": [1, 2, 3]}, progress=False
    )
    shared = [t for t, labels in done.json["warnings"].items() if len(labels) == 3]
    assert shared
    words = " ".join(done.summary().split())
    assert [words.count(f"all: {text}") for text in shared] == [1] * len(shared)


def test_labels() -> None:
    labels = comparison.labels_of([{"config": "a", "gc.victim": "x", "gc.window": "1"}] * 2)
    assert labels == ["a", "a (2)"]
    parts = [{"config": "a", "gc.victim": v, "gc.window": w} for v in "xy" for w in "12"]
    assert comparison.labels_of(parts)[1] == "victim=x window=2"
    assert comparison.folder_name("../a b") == "a-b"


def test_arguments_are_split() -> None:
    assert list(vary.split('a,{policy="b",k=1},["c",2],"d,e",,f')) == [
        *("a", '{policy="b",k=1}', '["c",2]', '"d,e"', "f")
    ]
    assert arguments.set_values(["a.b = c=d"]) == {"a.b": "c=d"}


# ---------------------------------------------------------------- the installation


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ssdlab.__version__ == _core.__version__ == versions.check_version()
    assert small().provenance.commit == _core.__commit__
    monkeypatch.setattr(versions, "VERSION", "99.1")
    with pytest.raises(ImportError, match=r"99\.1"):
        versions.check_version()


def test_public_names_are_imported_when_they_are_used() -> None:
    def modules(code: str) -> set[str]:
        """Those in memory after `code`, which may say more."""
        words = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
        return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())

    at_start = modules("import ssdlab.cli")
    assert "ssdlab.cli.verbs" in at_start
    assert at_start.isdisjoint({"numpy", "pydantic", "ssdlab.results.report", "importlib.metadata"})
    assert "ssdlab.running.run" in modules("import ssdlab; ssdlab.run")


def test_public_names_hide_packages_of_the_same_name() -> None:
    code = "import ssdlab.results.report; import ssdlab; print(ssdlab.results.__module__)"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == "ssdlab.store.results\n"
    assert all(getattr(ssdlab, name) is not None for name in ssdlab.__all__)
    with pytest.raises(AttributeError):
        _ = ssdlab.reslts  # type: ignore[attr-defined]


def test_panics_are_internal_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As the bindings raise it."""

    def run(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr(_core, "run", run)
    with pytest.raises(ssdlab.InternalError, match="index out of bounds"):
        small()


def test_memory_estimate_is_not_too_low() -> None:
    for unit in ("block", "superblock"):
        report = small(alloc__erase_unit=unit, alloc__placement="round-robin", alloc__pool="device")
        assert report.speed.bytes_per_page is not None
    big = ssdlab.run(
        set={"device.blocks_per_plane": 2048, "workload.requests": 1000}, progress=False
    )
    assert big.speed.bytes_per_page is not None
    assert big.speed.bytes_per_page < memory.BYTES_A_PAGE


def test_rates() -> None:
    assert [rate(x) for x in (12, 1234, 5.6e6, 7e9)] == ["12", "1.23 k", "5.60 M", "7.00 G"]


def test_the_digest_of_a_configuration_is_that_of_its_report() -> None:
    report = ssdlab.run("greedy-8ch", set=SMALL, progress=False)
    assert _core.config_digest(json.dumps(report.json["config"])) == report.provenance.config_digest
    named = ssdlab.load_config("greedy-8ch", set={**SMALL, "run.name": "another"})
    assert _core.config_digest(named.text) == report.provenance.config_digest
