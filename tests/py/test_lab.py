"""The verbs that the lab adds to the command line, and what is said where it is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import ssdlab
from running import ROOT, refused, ssdlab_command
from ssdlab.cli import verbs
from ssdlab_lab.kv import bench

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFEST = tomllib.loads((ROOT / "lab/pyproject.toml").read_text(encoding="utf-8"))
POINTS: dict[str, str] = MANIFEST["project"]["entry-points"][verbs.ENTRY_POINTS]


@pytest.fixture
def without_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "_entry_points", dict)


def test_the_lab_has_the_verbs_that_ssdlab_names() -> None:
    assert {*POINTS} == verbs.LAB_VERBS


@pytest.mark.usefixtures("without_lab")
@pytest.mark.parametrize("name", sorted(verbs.LAB_VERBS))
def test_what_installs_the_lab_is_said(name: str, tmp_path: Path) -> None:
    words = name.split(".")
    done = ssdlab_command(*words, cwd=tmp_path)
    refused(done, 2, f"`ssdlab {' '.join(words)}` is in the package ssdlab-lab, which is not")
    assert f"ssdlab_lab-{ssdlab.__version__}-py3-none-any.whl" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("without_lab")
def test_help_lists_what_is_installed(tmp_path: Path) -> None:
    for words in ((), ("drives",)):
        done = ssdlab_command(*words, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert "calibrate" in done.stdout or "snapshot" in done.stdout
        assert not any(verb in done.stdout for verb in ("reproduce", "compare  Sim", "scale"))


def test_a_verb_of_ssdlab_cannot_be_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group = verbs.ENTRY_POINTS
    points = [EntryPoint(name, "nothing:app", group) for name in ("run", "config.show", "new")]
    monkeypatch.setattr(verbs, "_entry_points", lambda: {point.name: point for point in points})
    assert ssdlab_command("run", "--help", cwd=tmp_path).returncode == 0
    assert ssdlab_command("config", "show", "greedy-8ch", cwd=tmp_path).returncode == 0


def test_a_package_that_cannot_be_loaded_breaks_its_verbs_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    points = [
        EntryPoint("absent", "nothing:app", verbs.ENTRY_POINTS),
        EntryPoint("trace.more", "ssdlab:nothing", verbs.ENTRY_POINTS),
    ]
    monkeypatch.setattr(verbs, "_entry_points", lambda: {point.name: point for point in points})
    for words in ([], ["trace"]):
        done = ssdlab_command(*words, "--help", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not {"absent", "more"} & {*done.stdout.split()}
    for words, package in ((["absent"], "nothing"), (["trace", "more"], "ssdlab")):
        done = ssdlab_command(*words, cwd=tmp_path)
        message = f"`ssdlab {' '.join(words)}`: the package {package} cannot be loaded: "
        refused(done, 2, message)
    assert ssdlab_command("trace.more", cwd=tmp_path).returncode == 2


def test_a_lab_of_another_version_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(verbs, "VERSION", "99.1")
    done = ssdlab_command("reproduce", "noc-copyback", cwd=tmp_path)
    message = f"ssdlab-lab {ssdlab.__version__} is installed, but ssdlab 99.1 needs ssdlab-lab 99.1"
    refused(done, 2, message)


def test_the_benchmark_of_leveldb_is_in_the_lab() -> None:
    assert bench.SOURCE.exists()


@pytest.mark.parametrize("words", [["--version"], ["run", "--help"], ["drives", "calibrate", "-h"]])
def test_commands_of_ssdlab_do_not_look_for_others(words: list[str]) -> None:
    program = (
        "import importlib.metadata, sys; from ssdlab.cli import app\n"
        "def asked(**_): raise AssertionError('entry points were read')\n"
        f"importlib.metadata.entry_points = asked; app({words!r}, standalone_mode=False)\n"
        "assert 'ssdlab_lab' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
