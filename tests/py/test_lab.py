"""The verbs that the lab adds to the command line, and what is said where it is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from running import ROOT, refused, ssdlab_command
from ssdlab.cli import verbs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFEST = tomllib.loads((ROOT / "lab/pyproject.toml").read_text(encoding="utf-8"))
POINTS: dict[str, str] = MANIFEST["project"]["entry-points"][verbs.ENTRY_POINTS]


@pytest.fixture
def without_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "_added", dict)


def test_the_lab_has_the_verbs_that_ssdlab_names() -> None:
    assert {*POINTS} == verbs.LAB


@pytest.mark.usefixtures("without_lab")
@pytest.mark.parametrize("name", sorted(verbs.LAB))
def test_what_installs_the_lab_is_said(name: str, tmp_path: Path) -> None:
    words = name.split(".")
    done = ssdlab_command(*words, cwd=tmp_path)
    refused(done, 2, f"`ssdlab {' '.join(words)}` needs the lab: ")
    assert "pip install ssdlab-lab==" in done.stderr
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
    monkeypatch.setattr(verbs, "_added", lambda: {point.name: point for point in points})
    assert ssdlab_command("run", "--help", cwd=tmp_path).returncode == 0
    assert ssdlab_command("config", "show", "greedy-8ch", cwd=tmp_path).returncode == 0
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        verbs.load_added("new")


@pytest.mark.parametrize("words", [["--version"], ["run", "--help"], ["drives", "calibrate", "-h"]])
def test_commands_of_ssdlab_do_not_look_for_others(words: list[str]) -> None:
    program = (
        "import sys; from ssdlab.cli import app, verbs\n"
        "def asked(**_): raise AssertionError('entry points were read')\n"
        f"verbs.entry_points = asked; app({words!r}, standalone_mode=False)\n"
        "assert 'ssdlab_lab' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
