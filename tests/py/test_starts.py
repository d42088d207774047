"""Runs of a comparison share their preconditioned device, with the results of runs that make it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import ssdlab
from ssdlab import _core
from ssdlab.config.resolve import Config
from ssdlab.errors import Interrupted
from ssdlab.running import starts
from ssdlab.running.simulate import run_loaded
from ssdlab.running.starts import StartStates, run_from

DEVICE = {
    "device.channels": 2,
    "device.blocks_per_plane": 64,
    "device.pages_per_block": 32,
    "workload.requests": 400,
    "precondition.fill": 1,
    "precondition.overwrite": 0.5,
    "device.user_capacity": "12 MiB",
}
LATER = {
    "workload.requests": 300,
    "workload.read": 0.5,
    "host.queue_depth": 3,
    "host.write_buffer_pages": 16,
    "timing.program": "700 us",
    "sched.order": "fifo",
}
"""Keys on which the preconditioned device does not depend."""
OTHERS = {
    "run.seed": 7,
    "gc.victim": "cost-benefit",
    "alloc.separation": "sepbit",
    "device.channels": 4,
    "precondition.overwrite": 0.25,
    "timing.busy_unit": "plane",
    "wear.dynamic": False,
}
"""Keys on which it depends."""


def configured(**keys: object) -> Config:
    return ssdlab.load_config(set={**DEVICE, **keys})


def shown(_: str, __: int, ___: int | None) -> None:
    """Progress that nobody sees."""


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> StartStates:
    """Of devices of any size."""
    if not hasattr(os, "fork"):
        pytest.skip("the system cannot fork a process")
    monkeypatch.setattr(starts, "LEAST_BYTES", 0)
    return StartStates()


def test_a_key_has_what_the_device_depends_on() -> None:
    key = _core.Start.key(configured().text)
    assert key
    for name, value in LATER.items():
        assert _core.Start.key(configured(**{name: value}).text) == key, name
    for name, value in OTHERS.items():
        assert _core.Start.key(configured(**{name: value}).text) != key, name
    assert _core.Start.key(configured(**{"run.data": "digest"}).text) is None
    assert _core.Start.key(configured(**{"alloc.separation": "future"}).text) is None


@pytest.mark.parametrize("mode", ["timed", "functional"])
def test_runs_from_a_state_are_those_that_precondition(states: StartStates, mode: str) -> None:
    runs = [configured(**{"run.mode": mode})]
    usable = {k: v for k, v in LATER.items() if mode == "timed" or k.startswith("workload.")}
    runs += [configured(**{"run.mode": mode, name: value}) for name, value in usable.items()]
    try:
        assert states.state_for(runs[0]) is None
        for config in runs:
            state = states.state_for(config)
            assert state
            connection = state.connect(shown, threading.Event())
            assert connection
            report = run_from(connection, config, shown, threading.Event(), out=None, html=False)
            alone = run_loaded(config, None)
            ours, other = report.json, alone.json
            for values in (ours, other):
                del values["speed"], values["time"]["wall"], values["time"]["cpu"]
            assert ours == other
            assert report.series_csv == alone.series_csv
        assert len(states.states) == 1
    finally:
        states.close()


def test_a_state_that_nobody_needs_is_closed(
    states: StartStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "MOST_STATES", 2)
    configs = [configured(**{"run.seed": seed}) for seed in range(3)]
    try:
        for _ in range(3):  # In turn: the third has no room.
            made = [states.state_for(config, is_shared=True) for config in configs]
            assert made[0]
            assert made[1]
            assert made[2] is None
        first = made[0]
        assert states.state_for(configs[2])
        assert first
        assert first.process.poll() is not None
        assert first.connect(shown, threading.Event()) is None, "the run makes its own device"
        assert states.state_for(configs[1]) is made[1]
    finally:
        states.close()


def test_a_state_that_cannot_be_made_is_left_to_its_run(states: StartStates) -> None:
    config = configured(**{"precondition.overwrite": 50.0})
    try:
        states.state_for(config)
        state = states.state_for(config)
        assert state
        state.process.kill()
        assert state.connect(shown, threading.Event()) is None
    finally:
        states.close()


def test_a_run_from_a_state_can_be_stopped(states: StartStates, tmp_path: Path) -> None:
    config = configured(**{"workload.requests": 30_000_000})
    stop = threading.Event()

    def progress(stage: str, done: int, _: int | None) -> None:
        if stage == "workload" and done:
            stop.set()

    try:
        states.state_for(config)
        state = states.state_for(config)
        assert state
        connection = state.connect(shown, stop)
        assert connection
        with pytest.raises(Interrupted) as ended:
            run_from(connection, config, progress, stop, out=tmp_path / "run", html=False)
        assert ended.value.report
        assert (tmp_path / "run" / "report.json").is_file()
    finally:
        states.close()


def test_a_comparison_uses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "LEAST_BYTES", 0)
    grid: dict[str, list[object]] = {"host.queue_depth": [1, 2, 4], "workload.read": [0.2, 0.6]}
    made: list[str] = []
    start = starts._State

    def counted(config: Config) -> starts._State:
        made.append(_core.Start.key(config.text) or "")
        return start(config)

    monkeypatch.setattr(starts, "_State", counted)
    shared = ssdlab.sweep("greedy-8ch", set=DEVICE, vary=grid, jobs=2, progress=False)
    assert len(made) == 1
    monkeypatch.setattr(starts, "LEAST_BYTES", 1 << 60)
    alone = ssdlab.sweep("greedy-8ch", set=DEVICE, vary=grid, jobs=2, progress=False)
    assert len(made) == 1
    assert shared.rows == alone.rows
