"""Golden runs: small configurations whose results may not change unnoticed, and determinism.

`make golden` accepts what the simulator says now. Left out are the clock, the speed and the commit
(they differ from run to run) and the configuration, of which the digest stays. Integers must be
equal; floating point must agree to nine digits.
"""

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import COMMAND, ROOT, report_of

GOLDEN = ROOT / "tests/golden"
CASES = sorted(folder.name for folder in GOLDEN.iterdir())
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


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    found = kept(ssdlab.run(config_of(case), progress=False).json)
    file = GOLDEN / case / "report.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))
    found_differences = differences("", expected, found)
    assert not found_differences, "\n".join(["`make golden` accepts:", *found_differences])


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
