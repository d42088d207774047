"""Runs of a comparison side by side: equal whatever the number of workers, and stopped cleanly."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import ssdlab
from policies import GreedyByScore
from running import HANG_S, ROOT, SMALL
from ssdlab.policy import Victim, VictimView

SEEN: list[int] = []


class Remembers(Victim):
    """Its answers depend on all that its interpreter has been asked before."""

    def score(self, view: VictimView) -> npt.NDArray[np.float64]:
        SEEN.append(len(view.valid))
        return view.valid + view.rng.random(len(view.valid)) * (len(SEEN) % 7)


class Killed(Victim):
    def score(self, view: VictimView) -> npt.NDArray[np.int64]:
        os.kill(os.getpid(), signal.SIGKILL)
        return view.valid


class Talks(Victim):
    def start(self, device: object) -> None:
        del device
        print("hello from a policy")

    def score(self, view: VictimView) -> npt.NDArray[np.int64]:
        return view.valid


class Raises(Victim):
    def score(self, view: VictimView) -> npt.NDArray[np.int64]:
        del view
        raise ValueError("out of ideas")


def results(jobs: int) -> list[str]:
    done = ssdlab.compare(
        ssdlab.load_config("greedy-8ch", set=SMALL),
        vary={"gc.victim": ["greedy", "random", GreedyByScore(), Remembers()]},
        seeds=2,
        jobs=jobs,
        progress=False,
    )
    told = []
    for label, report in done.runs:
        values = {**report.json, "time": report.time.simulated, "speed": None}
        told.append(f"{label} {json.dumps(values)} {report.series_csv} {report.distributions_csv}")
    assert len(told) == 8
    return told


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    one = results(1)
    assert one == results(2) == results(4)
    assert not SEEN, "each run has an interpreter of its own"


def test_a_worker_that_dies_is_named(tmp_path: Path) -> None:
    done = ssdlab.compare(
        ssdlab.load_config("greedy-8ch", set=SMALL),
        vary={"gc.victim": [Killed(), GreedyByScore()]},
        out=tmp_path / "c",
        progress=False,
    )
    assert list(done.failures) == ["test_processes.Killed"]
    assert "its process was ended by SIGKILL" in done.failures["test_processes.Killed"]
    assert list(done.reports) == ["policies.GreedyByScore"]
    assert done.reports["policies.GreedyByScore"].completed
    assert not [one for one in (tmp_path / "c").iterdir() if one.name.startswith(".")]
    assert ssdlab.Comparison.read(tmp_path / "c").failures == done.failures


def test_the_traceback_of_a_policy_is_shown_once(capfd: pytest.CaptureFixture[str]) -> None:
    done = ssdlab.compare(
        ssdlab.load_config("greedy-8ch", set=SMALL),
        vary={"gc.victim": [Raises(), GreedyByScore()]},
        progress=False,
    )
    assert "ValueError: out of ideas" in done.failures["test_processes.Raises"]
    err = capfd.readouterr().err
    assert err.count("Traceback (most recent call last):") == 1
    assert 'raise ValueError("out of ideas")' in err


def test_what_a_policy_prints_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ssdlab.compare(
        ssdlab.load_config("greedy-8ch", set=SMALL), vary={"gc.victim": [Talks()]}, progress=False
    )
    assert "hello from a policy\n" in capsys.readouterr().out


def test_a_policy_that_cannot_be_copied_is_refused_before_anything_runs() -> None:
    policy = GreedyByScore()
    policy.held = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ssdlab.ConfigError, match="GreedyByScore: each run of a comparison needs"):
        ssdlab.compare("greedy-8ch", victim=policy, progress=False)


SCRIPT = """
import os, sys, time
import ssdlab, ssdlab.running.processes
ssdlab.running.processes.STOP_S = {stop_s}
values = {values!r}

class Mine(ssdlab.policy.Victim):
    def __init__(self, pause):
        self.pause = pause
    def score(self, view):
        time.sleep(self.pause)
        return view.valid

config = ssdlab.load_config("greedy-8ch", set=values)
vary = {{"gc.victim": ["greedy", Mine(0), Mine({pause})]}}
try:
    done = ssdlab.compare(config, vary=vary, jobs=3, out="c", progress=False)
except ssdlab.Interrupted as stopped:
    done = stopped.comparison
    print("stopped", sorted(done.reports), done.failures)
else:
    print("done", {{label: report.waf.total for label, report in done.reports.items()}})
"""


def script(folder: Path, pause: float) -> subprocess.Popen[str]:
    # A policy that answers has all the time it needs to stop; one that does not has a second.
    stop_s = 1.0 if pause >= HANG_S else float(HANG_S)
    (folder / "mine.py").write_text(SCRIPT.format(values=SMALL, pause=pause, stop_s=stop_s))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.Popen(
        [sys.executable, "mine.py"],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_policies_of_a_script_need_no_guard(tmp_path: Path) -> None:
    out, err = script(tmp_path, 0).communicate(timeout=HANG_S)
    assert out.startswith("done {'greedy': "), out + err
    assert len(set(eval(out.removeprefix("done ")).values())) == 1


@pytest.mark.parametrize("pause", [0.02, float(HANG_S)])
def test_interrupt_keeps_what_is_done(pause: float, tmp_path: Path) -> None:
    """Runs that are over are kept; a policy that answers is stopped, one that does not is ended."""
    running = script(tmp_path, pause)
    while len(list(tmp_path.glob(".c.unfinished-*/[!.]*/report.json"))) < 2:
        assert running.poll() is None, running.stderr
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=HANG_S)
    told = "'__main__.Mine', '__main__.Mine (2)', 'greedy'"
    if pause == HANG_S:
        told = "'__main__.Mine', 'greedy'"
        assert "did not stop within 1 s and was ended" in out
    assert out.startswith(f"stopped [{told}]"), out + err
    assert not err
    held = {one.name for one in (tmp_path / "c").iterdir()}
    assert {"greedy", "compare.json"} <= held
    assert not {name for name in held if name.startswith(".")}
