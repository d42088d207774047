"""The separation policy that knows the future: what it is for, and who cannot use it."""

import os
from pathlib import Path

import pytest

import ssdlab
from running import refused, ssdlab_command

SMALL = {
    "device.channels": 1,
    "device.chips_per_channel": 1,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 64,
    "device.user_capacity": "26 MiB",
    "gc.victim": "greedy",
    "workload.kind": "zipf",
    "workload.theta": 0.9,
    "workload.read": 0.0,
    "workload.size": "4 KiB",
    "workload.requests": 40_000,
    "workload.warmup_requests": 20_000,
}


def _waf(separation: object, mode: str) -> float:
    keys = {**SMALL, "run.mode": mode, "alloc.separation": separation}
    waf = ssdlab.run(preset="greedy-8ch", set=keys, progress=False).waf.total
    assert waf is not None
    return waf


@pytest.mark.parametrize("mode", ["functional", "timed"])
def test_nobody_is_better(mode: str) -> None:
    best = min(_waf(name, mode) for name in ("sepbit", "fadac", "dac"))
    six, many = _waf("future", mode), _waf({"policy": "future", "classes": 12}, mode)
    assert 1 <= many < six < best


def test_a_trace_is_read_twice(tmp_path: Path) -> None:
    """A file is; a pipe is refused before anything is read."""
    made = ("--size", "16 MiB", "--requests", "5000", "--set", "workload.read=0.0")
    done = ssdlab_command("trace", "generate", "zipf", "t.ssdtrace", *made, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    keys = [f"--set={key}={value}" for key, value in SMALL.items() if key.startswith("device")]
    keys = [key.replace("=26 MiB", '="26 MiB"') for key in keys]
    run = ("run", "greedy-8ch", *keys, "--set=alloc.separation=future", "--out", "r")
    done = ssdlab_command(*run, "--trace", "t.ssdtrace", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r" / "report.json").exists()
    os.mkfifo(tmp_path / "pipe")
    done = ssdlab_command(*run, "--force", "--trace", "pipe", cwd=tmp_path)
    refused(done, 2, "reads the workload twice: expected a file, not a pipe")


def test_who_does_not_know_the_workload(tmp_path: Path) -> None:
    config = ssdlab.load_config(preset="greedy-8ch", set={"alloc.separation": "future"})
    with pytest.raises(ssdlab.ConfigError, match="looks at all writes before the first one"):
        ssdlab.Device(config)
    keys = ("--set", "alloc.separation=future")
    done = ssdlab_command("kv", "simulate", "greedy-8ch", *keys, cwd=tmp_path)
    refused(done, 2, "looks at all writes before the first one")
