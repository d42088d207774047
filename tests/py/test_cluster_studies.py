"""Searches, fleets, trials, repetitions on a cluster and through a store; the cache of traces."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from clusters import BLIND, Dask, dask
from running import SMALL, STEADY
from ssdlab.display import progress
from ssdlab.errors import OutputError
from ssdlab.results.search import Search
from ssdlab.running.cluster.cache import Cache
from ssdlab.running.job import InputFile

FEW = {**SMALL, "workload.requests": 2000}
QUIET: dict[str, Any] = {"progress": False, "html": False}
TRIGGER = {"policy": "free-blocks", "soft": 3}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """A scheduler with two workers, which see no file of this machine."""
    with dask(tmp_path_factory.mktemp("dask")) as made:
        made.work(BLIND)
        made.work(BLIND)
        made.wait_for(2)
        yield made


def traced(place: Path, seed: int = 1) -> Path:
    """A small trace of one volume."""
    ssdlab.generate("zipf", place, bytes=1 << 20, requests=2000, seed=seed)
    return place


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """How many runs came from the store, and how many were made."""
    said = [one for one in capsys.readouterr().err.splitlines() if one.startswith("ssdlab: store")]
    return said[-1].partition(": ")[2].partition(": ")[2]


# ---------------------------------------------------------------- searches


def searched(**more: Any) -> Search:  # noqa: ANN401
    space = {"gc.victim": ["greedy", "fifo", "d-choices"], "gc.victim.d": "log:1:32"}
    how: dict[str, Any] = {"minimize": "waf", "trials": 12, "set": FEW, **QUIET}
    return ssdlab.search("greedy-8ch", space=space, **{**how, **more})


def outcome(done: Search) -> dict[str, Any]:
    """All that it found."""
    return {**done.json, "folder": None}


def test_a_search_on_a_cluster_is_the_one_on_threads(
    two: Dask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, how = tmp_path / "kept", {"seeds": 2, "subject_to": "erases < 2 * fifo", "set": STEADY}
    here = searched(**how)
    there = searched(on=two.address, store=store, progress=True, **how)
    # A reference may be a point as well.
    found, added = map(int, re.findall(r"\d+", told(capsys)))
    assert found < added
    assert outcome(there) == outcome(here)
    # Another one with the same points makes no run: neither there nor here.
    again = searched(store=store, progress=True, **how)
    assert told(capsys) == f"{found + added} runs from it, 0 added"
    assert outcome(again) == outcome(here)


def test_a_search_shows_what_its_workers_do(
    two: Dask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress._Lines, "every_s", 0)
    searched(on=two.address, progress=True)
    assert "running on 2 workers" in capsys.readouterr().err


# ---------------------------------------------------------------- fleets


def test_a_fleet_on_a_cluster_is_the_one_on_threads(
    two: Dask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        f"{i % 4},W,{(i * 7919 % (300 + 100 * (i % 4))) * 4096},4096,{1_577_808_000_000_000 + i}\n"
        for i in range(12_000)
    ]
    trace = tmp_path / "all.csv"
    trace.write_text("".join(lines))
    sets = {
        "device.blocks_per_plane": 64,
        "device.pages_per_block": 4,
        "device.channels": 1,
        "device.over_provisioning": 0.5,
        "gc.trigger": TRIGGER,
        "gc.reserve": 1,
    }
    how: dict[str, Any] = {"drives": ["greedy-8ch"], "set": sets, "cache": tmp_path / "cache"}
    here = ssdlab.fleet([trace], **how, **QUIET)
    assert [row["group"] for row in here.rows].count("failed") == 0
    store = tmp_path / "kept"
    there = ssdlab.fleet([trace], **how, on=two.address, store=store, progress=True, html=False)
    assert told(capsys) == "0 runs from it, 4 added"
    assert there.rows == here.rows
    again = ssdlab.fleet([trace], **how, store=store, progress=True, html=False)
    assert told(capsys) == "4 runs from it, 0 added"
    assert again.rows == here.rows


def test_stand_ins_on_a_cluster_are_those_on_threads(two: Dask) -> None:
    how: dict[str, Any] = {"stand_in": "alibaba:4", "drives": ["greedy-8ch"], "set": {**SMALL}}
    how["set"] = {k: v for k, v in SMALL.items() if not k.startswith("workload.")}
    assert ssdlab.fleet(**how, on=two.address, **QUIET).rows == ssdlab.fleet(**how, **QUIET).rows


# ---------------------------------------------------------------- one key for one run


def test_a_fitted_device_has_the_same_key_in_every_study(
    two: Dask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, trace = tmp_path / "kept", traced(tmp_path / "a.ssdtrace")
    sets = {
        **SMALL,
        "device.channels": 1,
        "device.chips_per_channel": 1,
        "device.fit": "trace",
        "workload.fit": "compact",
        "gc.trigger": TRIGGER,
    }
    how: dict[str, Any] = {"set": sets, "store": store, "progress": True, "html": False}
    swept = ssdlab.sweep(
        "greedy-8ch", vary={"gc.victim": ["greedy", "fifo"]}, traces=[trace], on=two.address, **how
    )
    assert swept.completed
    assert told(capsys) == "0 runs from it, 2 added"
    found = ssdlab.compare(
        "greedy-8ch", vary={"gc.victim": ["greedy", "fifo"]}, traces=[trace], **how
    )
    assert told(capsys) == "2 runs from it, 0 added"
    assert [one.waf.total for one in found.reports.values()] == [row["waf"] for row in swept.rows]


def test_repetitions_and_trials_have_clusters_and_stores(
    two: Dask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how: dict[str, Any] = {"seeds": 3, "progress": True, "html": False, "store": tmp_path / "kept"}
    there = ssdlab.run("greedy-8ch", set=FEW, on=two.address, **how)
    assert told(capsys) == "0 runs from it, 3 added"
    here = ssdlab.run("greedy-8ch", set=FEW, **how)
    assert told(capsys) == "3 runs from it, 0 added"
    assert here.to_csv() == there.to_csv()
    trace = tmp_path / "t.ssdtrace"
    ssdlab.generate("zipf", trace, bytes=32 << 20, requests=20_000)
    policies = {"greedy": {"gc.victim": "greedy"}, "fifo": {"gc.victim": "fifo"}}
    how = {**how, "seeds": 2, "policies": policies}
    tried = ssdlab.try_trace(trace, on=two.address, **how)
    # Two policies, two orders of updates; the trace touches too little for more.
    assert told(capsys) == "0 runs from it, 4 added"
    again = ssdlab.try_trace(trace, **how)
    assert told(capsys) == "4 runs from it, 0 added"
    assert again.to_json() == tried.to_json()


# ---------------------------------------------------------------- the cache of traces


def entry(cache: Cache, name: str, size: int, at: int) -> InputFile:
    """A file that was brought there, and used last at a time."""
    data = name.encode() * size
    one = InputFile(
        "workload.trace", name, hashlib.sha256(data).hexdigest(), size, f"/{name}", False
    )
    cache.draft(one).write_bytes(data)
    cache.settle(one)
    os.utime(cache.path(one).parent, ns=(at, at))
    return one


def test_the_entries_not_used_for_longest_make_room(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1000)
    old, used, new = (entry(cache, name, 400, at) for name, at in (("a", 1), ("b", 2), ("c", 3)))
    assert not cache.path(old).exists()
    with cache.using(used) as place:  # It is not the oldest one any more, and it is in use.
        assert place is not None
        third = entry(cache, "d", 400, 4)
        assert [cache.path(one).exists() for one in (used, new, third)] == [True, False, True]
        # Nothing else can go: the bound is exceeded rather than a run's file removed.
        fourth = entry(cache, "e", 900, 5)
        assert [cache.path(one).exists() for one in (used, third, fourth)] == [True, False, True]
    with pytest.raises(OutputError, match="SSDLAB_CACHE_SIZE"):
        entry(cache, "f", 1001, 6)
    assert cache.path(fourth).exists()


def test_a_worker_keeps_no_more_than_its_bound(tmp_path: Path) -> None:
    traces = [traced(tmp_path / f"{i}.ssdtrace", seed=i) for i in (1, 2, 3)]
    most = max(trace.stat().st_size for trace in traces)
    how: dict[str, Any] = {"set": {**SMALL, "workload.fit": "wrap"}, **QUIET}
    sweep: dict[str, Any] = {"vary": {"gc.victim": ["greedy", "fifo"]}, "traces": traces, **how}
    here = ssdlab.sweep("greedy-8ch", **sweep)
    with dask(tmp_path) as made:
        made.work(BLIND, environment={"SSDLAB_CACHE_SIZE": str(int(1.5 * most))})
        made.wait_for(1)
        there = ssdlab.sweep("greedy-8ch", **sweep, on=made.address)
        cached = [*tmp_path.glob("worker-*/cache/*/*.ssdtrace")]
        assert len(cached) == 1
        assert there.rows == here.rows
