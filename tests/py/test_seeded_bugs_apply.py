"""Every seeded bug still stands in the sources; that the tests catch it, `make test-all` shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tool() -> ModuleType:
    path = ROOT / "tools" / "seeded_bugs.py"
    spec = importlib.util.spec_from_file_location("seeded_bugs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("patch", sorted((ROOT / "tools" / "seeded_bugs").glob("*.patch")))
def test_the_text_a_bug_replaces_stands_once(patch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    hunks = _tool().hunks(patch.read_text(encoding="utf-8"))
    assert hunks, f"{patch.name} changes nothing"
    for file, old, new in hunks:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{patch.name}: {file} has changed"
        assert old != new
