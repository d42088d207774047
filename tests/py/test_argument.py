"""Messages name an argument as the caller knows it: by its name in Python, or as an option."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from running import ROOT, SMALL_TOML, refused, ssdlab_command
from ssdlab.display.argument import (
    argument,
    key_argument,
    name_argument,
    on_the_command_line,
    register_option,
)

Case = tuple[Callable[..., object], dict[str, Any], str, list[str], str]
TOML = "small.toml"
VARY = {"gc.window": [1, 2]}
CASES: dict[str, Case] = {
    "key": (
        *(ssdlab.run, {"config": TOML, "set": {"gc.victim": "gredy"}}, "set: gc.victim: "),
        *(["run", TOML, "--set", "gc.victim=gredy"], "--set: gc.victim: "),
    ),
    "seed": (
        *(ssdlab.run, {"config": TOML, "seed": -1}, "seed: run.seed: found -1"),
        *(["run", TOML, "--seed", "-1"], "--seed: run.seed: found -1"),
    ),
    "trace": (
        *(ssdlab.run, {"config": TOML, "trace": ""}, "trace: workload.trace: found"),
        *(["run", TOML, "--trace", ""], "--trace: workload.trace: found"),
    ),
    "path": (
        *(ssdlab.Trace("").info, {}, "trace: workload.trace: found"),
        *(["trace", "info", ""], "FILE: workload.trace: found"),
    ),
    "unit of time": (
        *(ssdlab.run, {"config": TOML, "set": {"workload.time_unit": "min"}}),
        'set: workload.time_unit: found "min"; expected "auto", "ns"',
        ["run", TOML, "--time-unit", "min"],
        '--time-unit: workload.time_unit: found "min"; expected "auto", "ns"',
    ),
    "unit": (
        *(ssdlab.run, {"config": TOML, "set": {"workload.unit": "pages"}}, "set: workload.unit: "),
        *(["run", TOML, "--unit", "pages"], "--unit: workload.unit: "),
    ),
    "value": (
        *(ssdlab.compare, {"configs": TOML, "vary": {"gc.victim": ["x"]}}, "vary: gc.victim: "),
        *(["compare", TOML, "--vary", "gc.victim=x"], "--vary gc.victim: "),
    ),
    "table": (
        *(ssdlab.sweep, {"config": TOML, "vary": {"device.timing.program": ["1us", "2us"]}}),
        "vary: device.timing: unknown key",
        ["compare", TOML, "--vary", "device.timing.program=1us,2us"],
        "--vary device.timing: unknown key",
    ),
    "range": (
        *(ssdlab.sweep, {"config": TOML, "vary": {"gc.window": "1:4"}}),
        'vary={"gc.window": "1:4"}: how many values? Write 1:4:STEP, or log:1:4:COUNT, or draw'
        ' points (draw="random", points=100)',
        ["sweep", TOML, "--vary", "gc.window=1:4"],
        "--vary gc.window=1:4: how many values? Write 1:4:STEP, or log:1:4:COUNT, or draw"
        " points (--draw random --points 100)",
    ),
    "nothing": (
        *(ssdlab.sweep, {"config": TOML, "vary": {}}, 'vary={"device.over_provisioning": "0.05:'),
        *(["sweep", TOML], "--vary device.over_provisioning=0.05:0.30:0.05"),
    ),
    "points": (
        *(
            ssdlab.sweep,
            {"config": TOML, "vary": VARY, "points": 4},
            "points=4: a grid has all its",
        ),
        *(
            ["sweep", TOML, "--vary", "gc.window=1,2", "--points", "4"],
            "--points 4: a grid has",
        ),
    ),
    "budget": (
        *(
            ssdlab.sweep,
            {"config": TOML, "vary": VARY, "budget": "soon"},
            'budget="soon": exp',
        ),
        *(
            ["sweep", TOML, "--vary", "gc.window=1,2", "--budget", "soon"],
            "--budget soon: exp",
        ),
    ),
    "place": (
        *(ssdlab.run, {"config": TOML, "out": "."}, "choose another folder with out"),
        *(["run", TOML, "--out", "."], "choose another folder with --out"),
    ),
    "size": (
        *(ssdlab.generate, {"kind": "app:cassandra", "out": "x.ssdtrace", "bytes": 64 << 20}),
        "it needs about 172 MiB; raise bytes or workload.span",
        ["trace", "generate", "app:cassandra", "x.ssdtrace", "--size", "64MiB"],
        "it needs about 172 MiB; raise --size or workload.span",
    ),
    "no size": (
        *(ssdlab.generate, {"kind": "zipf", "out": "x.ssdtrace", "bytes": 0}, "bytes: found 0"),
        *(["trace", "generate", "zipf", "x.ssdtrace", "--size", "0 MiB"], "--size: found 0"),
    ),
    "kind": (
        *(ssdlab.generate, {"kind": "app:no", "out": "x.ssdtrace", "bytes": 1 << 30}),
        "kind: workload.kind: found",
        ["trace", "generate", "app:no", "x.ssdtrace", "--size", "1GiB"],
        "KIND: workload.kind: found",
    ),
    "format": (
        *(
            ssdlab.generate,
            {"kind": "zipf", "out": "x.csv", "bytes": 1 << 30},
            "format; give to:",
        ),
        *(["trace", "generate", "zipf", "x.csv", "--size", "1GiB"], "format; give --to:"),
    ),
    "stand-in": (
        *(ssdlab.fleet, {"drives": TOML, "stand_in": "alibabba:4"}, 'stand_in="alibabba:4": no'),
        *(["fleet", "--drive", TOML, "--stand-in", "alibabba:4"], "--stand-in alibabba:4: no"),
    ),
    "both": (
        *(ssdlab.fleet, {"traces": [TOML], "drives": TOML, "stand_in": "alibaba:4"}),
        "stand_in: excludes traces",
        ["fleet", TOML, "--drive", TOML, "--stand-in", "alibaba:4"],
        "--stand-in: excludes traces",
    ),
    "drive": (
        *(ssdlab.fleet, {"drives": [], "stand_in": "alibaba:4"}, "no drive: expected drives"),
        *(["fleet", "--stand-in", "alibaba:4"], "no drive: expected --drive"),
    ),
    "twice": (
        *(ssdlab.fleet, {"drives": [TOML, TOML], "stand_in": "alibaba:4"}),
        'drives="small": given twice',
        ["fleet", "--drive", TOML, "--drive", TOML, "--stand-in", "alibaba:4"],
        "--drive small: given twice",
    ),
    "on": (
        *(ssdlab.sweep, {"config": TOML, "vary": VARY, "on": "local:no"}),
        'on="local:no": expected a number',
        ["sweep", TOML, "--vary", "gc.window=1,2", "--on", "local:no"],
        "--on local:no: expected a number",
    ),
    "jobs": (
        *(ssdlab.sweep, {"config": TOML, "vary": VARY, "on": "threads:2", "jobs": 2}),
        'jobs=2: on="threads:2" says',
        ["sweep", TOML, "--vary", "gc.window=1,2", "--on", "threads:2", "--jobs", "2"],
        "--jobs 2: --on threads:2 says",
    ),
    "slurm": (
        *(ssdlab.sweep, {"config": TOML, "vary": VARY, "on": "slurm:no.toml"}),
        'on="slurm:no.toml": no.toml cannot be read',
        ["sweep", TOML, "--vary", "gc.window=1,2", "--on", "slurm:no.toml"],
        "--on slurm:no.toml: no.toml cannot be read",
    ),
    "store": (
        *(ssdlab.results, {}, 'name its folder (folder="DIR")'),
        *(["results", "list"], "name its folder (--store DIR)"),
    ),
    "file": (
        *(ssdlab.generate, {"kind": "zipf", "out": "a.ssdtrace", "bytes": 1 << 30}),
        "a.ssdtrace: exists; force=True replaces it",
        ["trace", "generate", "zipf", "a.ssdtrace", "--size", "1GiB"],
        "a.ssdtrace: exists; --force replaces it",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_argument_is_named_as_it_was_given(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, words, in_python, command, on_command_line = CASES[case]
    (tmp_path / TOML).write_text(SMALL_TOML)
    (tmp_path / "a.ssdtrace").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ssdlab.ConfigError, ssdlab.WorkloadError, ssdlab.OutputError)) as caught:
        function(**words)
    assert in_python in str(caught.value)
    assert "--" not in str(caught.value)
    refused(ssdlab_command(*command, cwd=tmp_path), 2, on_command_line)


def test_results_in_the_way_are_told_in_both_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / TOML).write_text(SMALL_TOML)
    monkeypatch.chdir(tmp_path)
    ssdlab.run(TOML, out="o", progress=False)
    where = "o: contains a run; {} replaces it, {} names another folder"
    with pytest.raises(ssdlab.OutputError, match=re.escape(where.format("force=True", "out"))):
        ssdlab.run(TOML, out="o", progress=False)
    done = ssdlab_command("run", TOML, "--out", "o", cwd=tmp_path)
    refused(done, 2, where.format("--force", "--out"))


def test_spellings() -> None:
    assert argument("page_size", seeds=3) == "page_size, seeds=3"
    assert name_argument("--set: a.b: no", {"a.b": "seed"}) == "seed: a.b: no"
    assert name_argument("mine.toml:3: a.b: no", {"a.b": "seed"}) == "mine.toml:3: a.b: no"
    with on_the_command_line():
        register_option("a.b", "--mine")
        assert argument("page_size", seeds=3, force=True) == "--page-size --seeds 3 --force"
        assert key_argument("vary", "a.b") == "--vary a.b"
        assert name_argument("--set: a.b: no", {}) == "--mine: a.b: no"
        assert name_argument("--set: a.c: no", {}) == "--set: a.c: no"
    assert name_argument("--set: a.b: no", {}) == "set: a.b: no"


OF_COMMANDS = "cli"
"""The package that is reached by commands alone, as all of the lab is."""
SPELLED = {
    "display/argument.py",  # where options are spelled
    "html/write.py",  # `ssdlab report`
    "html/run_page.py",  # names that command
    "results/answer.py",  # names both
    "results/spare_plan.py",  # the command to paste
    "results/trial.py",  # the same
    "running/scarce.py",  # the same
    "running/trial.py",  # the same
    "running/cluster/runner.py",  # an option of `dask worker`
}


def test_options_are_spelled_in_one_place() -> None:
    package = ROOT / "python/ssdlab"
    found = []
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package)
        if name.as_posix().startswith(OF_COMMANDS) or name.as_posix() in SPELLED:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        # A string that is a statement is documentation.
        told = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        found += [
            f"{name}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in told and re.search(r"(?<![\w-])--[a-z]", node.value)
        ]
    assert found == []
