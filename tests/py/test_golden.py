"""Golden runs: small configurations whose results may not change unnoticed, and determinism.

`make golden` accepts what the simulator says now, but changed numbers and defaults only with a
raised version of the results (ADR 0022); `results` of a golden file is the version that wrote it.
Left out are the clock, the speed and the commit (they differ from run to run) and the
configuration, of which the digest stays. Integers must be equal; floating point must agree to nine
digits.
"""

import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import COMMAND, ROOT, report_of
from ssdlab import _core
from ssdlab.config.drives import machine

GOLDEN = ROOT / "tests/golden"
DEFAULTS = GOLDEN / "defaults.json"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())
TIMED = [case for case in CASES if case != "functional"]


def config_of(case: str) -> str:
    return f"tests/golden/{case}/config.toml"


def kept(report: dict[str, Any]) -> dict[str, Any]:
    """What a golden file holds of a report."""
    values: dict[str, Any] = json.loads(json.dumps(report))
    for name in ("config", "speed", "series"):
        del values[name]
    for name in ("commit", "ssdlab"):
        del values["provenance"][name]
    for name in ("wall", "cpu"):
        del values["time"][name]
    return values


def differences(path: str, expected: object, found: object) -> list[str]:
    """Paths at which two reports differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = expected.keys() | found.keys()
        return [
            line
            for key in sorted(keys)
            for line in differences(f"{path}.{key}", expected.get(key), found.get(key))
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (a, b) in pairs for line in differences(f"{path}[{i}]", a, b)]
    if isinstance(expected, float) and isinstance(found, float):
        same = math.isclose(expected, found, rel_tol=1e-9)
    else:
        same = type(expected) is type(found) and expected == found
    return [] if same else [f"{path[1:]}: expected {expected}, found {found}"]


RAISE = "results changed: raise RESULTS_VERSION (metrics/report/provenance.rs), then `make golden`:"
# Texts for people, and what identifies the run. Its digests of events and trace are results.
NO_RESULTS = {"warnings", "invalidating"}
RESULTS_OF_PROVENANCE = {"trace_digest", "event_digest"}


def results_of(report: dict[str, Any]) -> dict[str, Any]:
    """What the version of the results stands for."""
    provenance = report["provenance"]
    values = {name: value for name, value in report.items() if name not in NO_RESULTS}
    return values | {"provenance": {name: provenance[name] for name in RESULTS_OF_PROVENANCE}}


def in_both(old: object, new: object) -> tuple[object, object]:
    """Two reports without the fields that only one of them has."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = {key: in_both(old[key], new[key]) for key in old.keys() & new.keys()}
        return {k: a for k, (a, _) in pairs.items()}, {k: b for k, (_, b) in pairs.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        both = [in_both(a, b) for a, b in zip(old, new, strict=True)]
        return [a for a, _ in both], [b for _, b in both]
    return old, new


def changed_results(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Results that differ although the version of the results does not; new fields may be added."""
    if old["provenance"].get("results") != new["provenance"]["results"]:
        return []
    return differences("", *in_both(results_of(old), results_of(new)))


def changed_defaults(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Defaults that differ although the version of the results does not; keys may be added."""
    if old["results"] != new["results"]:
        return []
    return differences("", *in_both(old["keys"], new["keys"]))


def compare(file: Path, found: dict[str, Any], changed: Callable[[Any, Any], list[str]]) -> None:
    """Check that `found` is what `file` holds, or accept it if nothing is `changed`."""
    if os.environ.get("UPDATE_GOLDEN"):
        old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else found
        changes = changed(old, found)
        assert not changes, "\n".join([RAISE, *changes])
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))
    found_differences = differences("", expected, found)
    assert not found_differences, "\n".join(["`make golden` accepts:", *found_differences])


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    found = kept(ssdlab.run(config_of(case), progress=False).json)
    compare(GOLDEN / case / "report.json", found, changed_results)


def test_defaults() -> None:
    """The digests of drives leave out defaults (`digest_of`): one that changes is noticed here."""
    keys = machine(json.loads(_core.load(None, None, [])))
    compare(DEFAULTS, {"results": ssdlab.__results_version__, "keys": keys}, changed_defaults)


@pytest.mark.parametrize("case", CASES)
def test_golden_runs_collect(case: str) -> None:
    report = json.loads((GOLDEN / case / "report.json").read_text(encoding="utf-8"))
    assert report["completed"]
    assert report["gc"]["calls"] > 0
    assert report["gc"]["pages_moved"] > 0


def test_differences_are_seen() -> None:
    assert not differences("", {"a": [1, 2.0, None]}, {"a": [1, 2.0 + 1e-12, None]})
    assert differences("", {"a": 1}, {"a": 2}) == ["a: expected 1, found 2"]
    assert differences("", {"a": 1}, {}) == ["a: expected 1, found None"]
    assert differences("", {"a": [2.0]}, {"a": [2.1]}) == ["a[0]: expected 2.0, found 2.1"]
    assert differences("", {"a": 1}, {"a": 1.0})
    assert differences("", [1], [1, 2])


def test_changed_results_need_another_version() -> None:
    old = json.loads((GOLDEN / "copyback/report.json").read_text(encoding="utf-8"))
    assert old["provenance"]["results"] == ssdlab.__results_version__
    assert not changed_results(old, old | {"novel": {"field": 1}, "warnings": ["in other words"]})
    waf = old["waf"] | {"total": old["waf"]["total"] * 1.001}
    assert changed_results(old, old | {"waf": waf})
    events = old["provenance"] | {"event_digest": "0"}
    assert changed_results(old, old | {"provenance": events})
    raised = old["provenance"] | {"results": ssdlab.__results_version__ + 1}
    assert not changed_results(old, old | {"waf": waf, "provenance": raised})
    assert not changed_results(old, old | {"provenance": old["provenance"] | {"config_digest": ""}})
    assert in_both([{"a": 1, "b": 2}], [{"a": 3}]) == ([{"a": 1}], [{"a": 3}])
    defaults = json.loads(DEFAULTS.read_text(encoding="utf-8"))
    faster = defaults | {"keys": defaults["keys"] | {"timing.read_ns": 1, "timing.novel": 2}}
    assert len(changed_defaults(defaults, faster)) == 1
    assert not changed_defaults(defaults, faster | {"results": defaults["results"] + 1})


# ---------------------------------------------------------------- determinism


@pytest.mark.parametrize("case", TIMED)
def test_same_run_same_events(case: str) -> None:
    first, second = (ssdlab.run(config_of(case), progress=False) for _ in range(2))
    assert first.provenance.event_digest
    assert kept(first.json) == kept(second.json)
    assert first.series_csv == second.series_csv


def test_same_events_in_other_processes(tmp_path: Path) -> None:
    here = {
        case: ssdlab.run(config_of(case), progress=False).provenance.event_digest for case in TIMED
    }
    configs = [config_of(case) for case in TIMED]
    for jobs in ("1", "3"):
        out = tmp_path / jobs
        environment = os.environ | {"PYTHONHASHSEED": jobs, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
        words = [*COMMAND, "compare", *configs, "--jobs", jobs, "--out", str(out), "--quiet"]
        subprocess.run(words, check=True, env=environment)
        rows = json.loads((out / "compare.json").read_text(encoding="utf-8"))["runs"]
        assert [row["event_digest"] for row in rows] == [here[case] for case in TIMED]


def test_progress_and_logs_change_nothing(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    plain = ssdlab.run(config_of("copyback"), progress=False)
    logged = ssdlab.run(
        config_of("copyback"),
        set={"metrics.op_log": True, "metrics.request_log": True},
        progress=lambda *call: calls.append(call),
        out=tmp_path / "run",
    )
    assert calls
    assert logged.provenance.event_digest == plain.provenance.event_digest
    assert report_of(tmp_path / "run")["requests"] == plain.json["requests"]


def test_seed_matters() -> None:
    one, other = (
        ssdlab.run(config_of("copyback"), seed=seed, progress=False).provenance for seed in (1, 2)
    )
    assert one.seed == 1
    assert other.seed == 2
    assert one.event_digest != other.event_digest


def test_resolved_configuration_runs_the_same(tmp_path: Path) -> None:
    for case in TIMED:
        report = ssdlab.run(config_of(case), out=tmp_path / case, progress=False)
        again = ssdlab.run(tmp_path / case / "config.toml", progress=False)
        assert again.provenance.event_digest == report.provenance.event_digest
