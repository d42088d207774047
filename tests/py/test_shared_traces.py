"""Runs of a process share the traces that they read: workers of a cluster, and threads here."""

import os
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from clusters import BLIND, dask
from running import HANG_S, SMALL
from ssdlab import _core
from ssdlab.config import memory
from ssdlab.errors import ConfigError, WorkloadError
from ssdlab.policy import Policies
from ssdlab.running.cluster import task
from ssdlab.running.job import BASE_BYTES, Job

QUIET: dict[str, Any] = {"progress": False, "html": False}
REQUESTS = 5000
BYTES = 24
"""Of a request in memory."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A request each 10 us, in a file that has not changed for long."""
    lines = [
        f"{128_166_372_003_061_629 + 100 * i},usr,0,{'Read' if i % 3 == 0 else 'Write'}"
        f",{i * 7919 % 1000 * 4096},4096,100\n"
        for i in range(REQUESTS)
    ]
    place = tmp_path / "usr.csv"
    place.write_text("".join(lines))
    old(place)
    return place


def old(place: Path) -> None:
    os.utime(place, (10**9, 10**9))


def swept(trace: Path, **more: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Points that differ in the part of the trace that they replay, and in its fit."""
    vary = {
        "workload.until": [f"{ms} ms" for ms in range(1, 21)],
        "workload.fit": ["none", "wrap", "compact"],
    }
    done = ssdlab.sweep("greedy-8ch", set=SMALL, vary=vary, traces=[trace], **QUIET, **more)
    assert done.completed
    return done.rows


def readings() -> int:
    return task.traces_here().readings


@pytest.mark.parametrize("as_", ["", BLIND], ids=["in place", "sent"])
def test_a_worker_reads_a_trace_once_for_all_its_runs(
    trace: Path, tmp_path: Path, as_: str
) -> None:
    from distributed import Client

    here = swept(trace)
    with dask(tmp_path) as made:
        made.work(as_)
        made.work(as_)
        made.wait_for(2)
        there = swept(trace, on=made.address)
        with Client(made.address, timeout=HANG_S, set_as_default=False) as client:
            assert [*client.run(readings).values()] == [1, 1]
    assert there == here


def test_threads_here_share_a_trace(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[_core.Traces] = []
    kind = _core.Traces

    def noted(bound_bytes: int) -> _core.Traces:
        made.append(kind(bound_bytes))
        return made[-1]

    monkeypatch.setattr(_core, "Traces", noted)
    shared = swept(trace, jobs=4)
    assert [(one.readings, one.bytes) for one in made] == [(1, BYTES * REQUESTS)]
    monkeypatch.setenv(memory.TRACES, "0")
    assert swept(trace, jobs=4) == shared
    assert (made[1].readings, made[1].bytes) == (1, 0)


def test_every_run_tells_what_is_wrong_with_its_trace(trace: Path) -> None:
    with trace.open("a") as file:
        file.write("not a request\n")
    old(trace)
    with pytest.raises(WorkloadError) as alone:
        ssdlab.run("greedy-8ch", set={**SMALL, "workload.trace": str(trace)}, **QUIET)
    with pytest.raises(WorkloadError) as swept:
        ssdlab.sweep("greedy-8ch", set=SMALL, vary={"run.seed": [1, 2]}, traces=[trace], **QUIET)
    assert str(swept.value) == str(alone.value)
    assert f"line {REQUESTS + 1}" in str(alone.value)


def test_a_shared_trace_is_counted_once(trace: Path) -> None:
    def job(policies: bytes = b"", fit: str = "none") -> Job:
        values = {**SMALL, "workload.trace": str(trace), "workload.fit": fit}
        return Job.of(ssdlab.load_config("greedy-8ch", set=values), policies)

    traced = _core.trace_memory_bytes(trace)
    assert BYTES * REQUESTS <= traced <= BYTES * (REQUESTS + 1)
    alone = memory.device_bytes(ssdlab.load_config("greedy-8ch", set=SMALL)) + BASE_BYTES
    assert job().memory_bytes(traced) == alone
    assert job().memory_bytes(traced - 1) == job().memory_bytes() == alone + traced
    # Its fitted requests are its own.
    assert job(fit="wrap").memory_bytes(traced) == alone + traced
    # And so is all that a process of its own reads.
    packed = Policies({"gc.victim": Oldest()}).pack()
    assert job(packed).memory_bytes(traced) == alone + traced


class Oldest:
    """A policy in Python."""

    def select(self, view: Any, count: int) -> int:  # noqa: ANN401
        del count
        return int(view.candidates[0])


def test_a_worker_offers_what_its_traces_leave(tmp_path: Path) -> None:
    from distributed import Client

    from ssdlab.running.cluster.workers import MEMORY, Workers

    size, limit = 1 << 30, 3 << 30
    with dask(tmp_path) as made:
        made.work("", "--memory-limit", str(limit), environment={memory.TRACES: "1GiB"})
        made.work("", "--memory-limit", str(limit))
        made.wait_for(2)
        with Client(made.address, timeout=HANG_S, set_as_default=False) as client:
            workers = Workers(client)
            offered = {one.traces_bytes: one.memory_bytes for one in workers.able.values()}
            assert offered == {size: limit - size, limit // 4: limit - limit // 4}
            found = client.scheduler_info(n_workers=-1)["workers"].values()
            assert sorted(one["resources"][MEMORY] for one in found) == sorted(offered.values())
            assert workers.shared_bytes == limit // 4
            workers.close()


@pytest.mark.parametrize("given", ["much", "3 ms", "-1", "4GiB"])
def test_a_bound_that_is_none(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.TRACES, given)
    with pytest.raises(ConfigError, match=f"{memory.TRACES}: {given}: expected .*"):
        memory.traces_bytes(1 << 30)
