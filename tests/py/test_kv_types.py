"""What type checkers know of the store: the documentation's own programs are strictly typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from documents import blocks
from running import ROOT

PARTS = """\
from typing_extensions import assert_type
from typing import Any
from ssdlab import kv
from ssdlab.kv import plyvel

def parts(db: kv.DB | kv.PrefixedDB | kv.Snapshot | plyvel.DB, both: bool) -> None:
    for pair in db:
        assert_type(pair, tuple[bytes, bytes])
    for pair in db.iterator(prefix=b"k", reverse=True, fill_cache=False):
        assert_type(pair, tuple[bytes, bytes])
    for key in db.iterator(include_value=False, start=bytearray(b"k")):
        assert_type(key, bytes)
    for value in db.iterator(include_key=False, stop=b"k", include_stop=True):
        assert_type(value, bytes)
    assert_type(db.iterator(include_key=both, include_value=both), kv.Iterator[Any])
    assert_type(db.iterator().prev(), tuple[bytes, bytes])
    with db.iterator(include_value=False) as walk:
        assert_type(next(walk), bytes)
    assert_type(db.get(b"k"), bytes | None)
    assert_type(b"k" in db, bool)
"""


@pytest.mark.slow
def test_the_documentation_is_strictly_typed(tmp_path: Path) -> None:
    """Each program of the pages of the store, and what iterators give."""
    programs = {"parts.py": PARTS}
    for page in ("store", "plyvel"):
        shown = blocks((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
        for block in shown:
            if block.kind == "python":
                programs[f"{page}_{block.line}.py"] = block.text
    assert len(programs) >= 4
    for name, text in programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir"]
    done = subprocess.run(
        [*command, str(ROOT / ".mypy_cache" / "documents"), *programs],
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
