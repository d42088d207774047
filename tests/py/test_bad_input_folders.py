"""Bad input ends with code 2 and leaves no folder, whichever command meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ssdlab
from ssdlab import ConfigError, WorkloadError

DESCENDING = """128166372003061629,hm,0,Read,4096,4096,1
128166372013061629,hm,0,Write,8192,8192,1
128166372003061629,hm,0,Write,8192,8192,1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose trace has times that descend."""
    trace = tmp_path / "descending.csv"
    trace.write_text(DESCENDING)
    file = tmp_path / "drive.toml"
    file.write_text(f'[workload]\nkind = "trace"\ntrace = "{trace}"\nfit = "compact"\n')
    return file


def test_sweep_whose_trace_is_bad_leaves_nothing(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "sweep"
    with pytest.raises(WorkloadError, match="a time not before that of an event above it"):
        ssdlab.sweep(config, vary={"gc.victim": ["greedy", "fifo"]}, out=out, progress=False)
    assert not out.parent.exists()


def test_search_whose_trace_is_bad_leaves_nothing(config: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    out = tmp_path / "new" / "search"
    space = {"gc.victim": ["greedy", "fifo"]}
    with pytest.raises((ConfigError, WorkloadError), match="a time not before"):
        ssdlab.search(config, space=space, minimize="waf", trials=2, out=out, progress=False)
    assert not out.parent.exists()


def test_sweep_keeps_what_completed_beside_a_bad_trace(config: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("".join(DESCENDING.splitlines(keepends=True)[:2]))
    bad = tmp_path / "descending.csv"
    out = tmp_path / "sweep"
    done = ssdlab.sweep(
        config, vary={"gc.victim": ["greedy"]}, traces=[good, bad], out=out, progress=False
    )
    assert len(done.failures) == 1
    assert (out / "sweep.json").exists()
