"""Runs from a store are the runs as they would be made: their keys, rows, folders and failures."""

import json
import os
import subprocess
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import ssdlab
from policies import Fifo, GreedyByScore
from running import SMALL, signalled_at, ssdlab_command
from ssdlab.config.resolve import Config
from ssdlab.policy import Policies, Victim, VictimView
from ssdlab.results.report import Report
from ssdlab.results.sweep import Sweep
from ssdlab.running import caching, runner
from ssdlab.running.design import design_sweep
from ssdlab.running.execution import Execution
from ssdlab.running.job import Job
from ssdlab.running.runner import PlannedRun, RunEnd, Threads
from ssdlab.running.simulate import Plugs
from ssdlab.running.sources import sources_digest
from ssdlab.running.sweep_runs import run_sweep
from ssdlab.store import rows
from ssdlab.store.store import Store

FEW = {**SMALL, "workload.requests": 500}
TRACE = "".join(f"{i / 1000:.6f} 0 {(i * 37 % 500) * 8} 8 0\n" for i in range(600))
"""In DiskSim's format: time in ms, device, sector, sectors, flags (0: a write)."""
FIO = "[global]\nrw=randwrite\nbs=4k\nsize=4m\nnumber_ios=400\niodepth=4\n[a]\n"
TRIGGER = {"policy": "free-blocks", "soft": 3}
CROWDED: dict[str, object] = {
    **SMALL,
    "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.07,
    "alloc.placement": "round-robin",
    "gc.reserve": 1,
    "gc.trigger": TRIGGER,
    "precondition.overwrite": 0,
    "workload.read": 0,
    "workload.requests": 200_000,
}
"""A device that cannot finish this work."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "kept"


class Runs:
    """How many runs came from the store, and how many were made."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def told(self) -> str:
        said = [
            x for x in self.capsys.readouterr().err.splitlines() if x.startswith("ssdlab: store")
        ]
        return said[-1].partition(": ")[2].partition(": ")[2]


@pytest.fixture
def runs(capsys: pytest.CaptureFixture[str]) -> Runs:
    return Runs(capsys)


def swept(store: Path | None, sets: dict[str, Any], seeds: Iterable[int] = (1, 2)) -> Sweep:
    how: dict[str, Any] = {"jobs": 2, "store": store, "progress": store is not None}
    return ssdlab.sweep("greedy-8ch", vary={"run.seed": seeds}, set={**FEW, **sets}, **how)


def of_a_kind(kind: str, folder: Path) -> dict[str, Any]:
    """Settings of a workload, with its file in `folder`."""
    if kind == "trace":
        (folder / "a.trace").write_text(TRACE)
        return {"workload.trace": folder / "a.trace", "workload.format": "disksim"}
    if kind == "fitted":
        fit = {"device.fit": "trace", "workload.fit": "compact", "gc.trigger": TRIGGER}
        return {**of_a_kind("trace", folder), **fit}
    if kind == "fio":
        (folder / "a.fio").write_text(FIO)
        return {"workload.job": folder / "a.fio"}
    if kind == "snapshot":
        device = ssdlab.Device("greedy-8ch", set=FEW)
        device.precondition(progress=False)
        device.save(folder / "a.snap", progress=False)
        return {"precondition.snapshot": folder / "a.snap"}
    if kind == "policy":
        return {"gc.victim": GreedyByScore()}
    return {}


@pytest.mark.parametrize("kind", ["synthetic", "trace", "fitted", "fio", "snapshot", "policy"])
def test_rows_are_those_of_runs_made_anew(
    kind: str, store: Path, tmp_path: Path, runs: Runs
) -> None:
    sets = of_a_kind(kind, tmp_path)
    plain = swept(None, sets)
    first = swept(store, sets)
    assert runs.told() == "0 runs from it, 2 added"
    again = swept(store, sets)
    assert runs.told() == "2 runs from it, 0 added"
    assert plain.completed
    assert plain.rows == first.rows == again.rows
    assert [one.warnings for one in plain.outcomes] == [one.warnings for one in again.outcomes]
    assert len(ssdlab.results(store)) == 2


def same_files(one: Path, other: Path) -> None:
    """Two folders of runs are the same but for wall-clock times and pages, which have them."""
    names = sorted(file.relative_to(one) for file in one.rglob("*"))
    assert names == sorted(file.relative_to(other) for file in other.rglob("*"))
    for name in names:
        if name.suffix in (".csv", ".toml") and name.name != "compare.csv":
            assert (one / name).read_bytes() == (other / name).read_bytes(), name
        elif name.name == "report.json":
            assert plain(one / name) == plain(other / name), name


def plain(file: Path) -> dict[str, Any]:
    """A report without what depends on the machine."""
    values: dict[str, Any] = json.loads(file.read_text())
    del values["speed"]
    values["time"] |= {"wall": None, "cpu": None}
    return values


@pytest.mark.parametrize("kind", ["synthetic", "trace", "policy"])
def test_a_comparison_has_the_same_folder(
    kind: str, store: Path, tmp_path: Path, runs: Runs
) -> None:
    sets = FEW | of_a_kind(kind, tmp_path)
    vary = {"gc.reserve": [2, 3]}
    for name, where in (("new", None), ("first", store), ("again", store)):
        how = {"out": tmp_path / name, "store": where, "seeds": 2, "progress": where is not None}
        done = ssdlab.compare("greedy-8ch", set=sets, vary=vary, **how)  # type: ignore[arg-type]
        assert done.completed
        assert all((report.folder or Path()).is_dir() for report in done.reports.values())
    assert runs.told() == "4 runs from it, 0 added"
    same_files(tmp_path / "new", tmp_path / "first")
    same_files(tmp_path / "new", tmp_path / "again")
    folder = next((tmp_path / "again").rglob("report.json")).parent
    assert ssdlab_command("report", folder, cwd=tmp_path).returncode == 0


def test_logs_are_made_anew(store: Path, tmp_path: Path, runs: Runs) -> None:
    cut = FEW | {"power.cut": {"every": "20 ms"}}
    for name in "ab":
        for log in (False, True):
            out = tmp_path / f"{name}-{log}"
            sets = cut | {"metrics.op_log": log}
            ssdlab.compare("greedy-8ch", set=sets, out=out, store=store, html=False)
            assert len([*out.rglob("power.csv.zst")]) == log
    assert runs.told() == "0 runs from it, 0 added, 1 not stored (logs are not stored)"
    same_files(tmp_path / "a-False", tmp_path / "b-False")


def test_a_pipe_is_not_stored(store: Path, tmp_path: Path, runs: Runs) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(TRACE,))
    writer.start()
    sets = FEW | {"workload.trace": pipe, "workload.format": "disksim"}
    ssdlab.compare("greedy-8ch", set=sets, store=store, html=False)
    writer.join()
    assert runs.told() == "0 runs from it, 0 added, 1 not stored (the trace is a pipe)"
    done = ssdlab_command(
        *("compare", "greedy-8ch", "--store", "kept", "--trace", "-", "--no-html"),
        *("--set", "workload.format=disksim"),
        cwd=tmp_path,
        stdin=TRACE.encode(),
    )
    assert "1 not stored (the trace is a pipe)" in done.stderr


def test_the_environment_names_a_store(
    store: Path, monkeypatch: pytest.MonkeyPatch, runs: Runs
) -> None:
    monkeypatch.setenv("SSDLAB_STORE", str(store))
    for told in ("0 runs from it, 1 added", "1 run from it, 0 added"):
        ssdlab.compare("greedy-8ch", set=FEW)
        assert runs.told() == told
    assert len(ssdlab.results()) == 1


# ---------------------------------------------------------------- failures


def test_a_run_that_cannot_finish_is_stored_with_its_reason(store: Path, runs: Runs) -> None:
    config, vary = ssdlab.load_config(set=CROWDED), {"run.seed": [1]}
    failed = [ssdlab.sweep(config, vary=vary, store=where) for where in (None, store, store)]
    assert runs.told() == "1 run from it, 0 added"
    assert failed[0].failures == failed[2].failures != {}
    answer = ssdlab.results(store).query("select completed, why from results")
    assert answer.values == ((False, failed[0].outcomes[0].error),)


class Breaks(Victim):
    """Fails, as code does that misses a file."""

    def score(self, view: VictimView) -> Any:  # noqa: ANN401, ARG002
        message = "no such file"
        raise OSError(message)


def test_other_failures_are_not_stored(store: Path, tmp_path: Path) -> None:
    swept(store, {"gc.victim": Breaks()})
    words = ["--set", "workload.requests=1000000000", "--store", "kept", "--no-html"]
    done = signalled_at("workload", ["compare", "greedy-8ch", *words], tmp_path)
    assert done.returncode == 130
    assert not store.exists()
    for wrong in (3, ["kept"]):
        with pytest.raises(ssdlab.ConfigError, match=r"store: found .*; expected a folder"):
            swept(wrong, {})  # type: ignore[arg-type]


# ---------------------------------------------------------------- keys


def key(sets: dict[str, Any] | None = None, policies: dict[str, Any] | None = None) -> str:
    config = ssdlab.load_config("greedy-8ch", set={**FEW, **(sets or {})})
    return Job.of(config, Policies(policies or {}).pack()).key


def test_a_key_has_the_contents_of_files_and_not_their_names(tmp_path: Path) -> None:
    sets = of_a_kind("trace", tmp_path)
    first = key(sets)
    moved = (tmp_path / "a.trace").rename(tmp_path / "b.log")
    assert key(sets | {"workload.trace": moved, "run.name": "another"}) == first
    # Of the same size, and at once.
    moved.write_bytes(bytes([moved.read_bytes()[0] ^ 1]) + moved.read_bytes()[1:])
    assert key(sets | {"workload.trace": moved}) != first
    assert len({key(), key({"run.seed": 2}), key({"workload.requests": 501})}) == 3
    (tmp_path / "a.fio").write_text(FIO)
    job = key({"workload.job": tmp_path / "a.fio"})
    (tmp_path / "a.fio").write_text(FIO.replace("iodepth=4", "iodepth=8"))
    assert key({"workload.job": tmp_path / "a.fio"}) != job


def test_the_file_of_a_volume_is_the_one_that_is_read(tmp_path: Path) -> None:
    volume = {"workload.kind": "msr:hm_0", "workload.msr": tmp_path}
    (tmp_path / "hm_0.csv").write_text("a")
    (tmp_path / "hm_01.csv").write_text("b")
    first = key(volume)
    (tmp_path / "hm_0.csv.gz").write_text("not read: .csv comes first")
    (tmp_path / "hm_01.csv").write_text("c")
    assert key(volume) == first
    (tmp_path / "hm_0.csv").write_text("d")
    assert key(volume) != first
    assert key({"workload.kind": "msr:hm_0"}) != first


def test_all_files_of_blktrace_are_in_the_key(tmp_path: Path) -> None:
    files = [tmp_path / f"sda.blktrace.{cpu}" for cpu in range(3)]
    for file in files[:2]:
        file.write_text(file.name)
    first = key({"workload.trace": files[0]})
    assert key({"workload.trace": files[1]}) == first  # the same set
    files[1].write_text("other")
    second = key({"workload.trace": files[0]})
    files[2].write_text("one more")
    assert len({first, second, key({"workload.trace": files[0]})}) == 3


class Holds(Victim):
    def __init__(self, value: object) -> None:
        self.value = value

    def score(self, view: VictimView) -> Any:  # noqa: ANN401
        return view.valid


def test_a_key_has_the_values_of_policies() -> None:
    keys = [key(None, {"gc.victim": Holds(value)}) for value in (1, 2, [1], "1")]
    assert len({*keys, key(), key(None, {"gc.victim": Fifo()})}) == 6
    # What a policy stands in for has no effect.
    assert key({"gc.victim": "fifo"}, {"gc.victim": Holds(1)}) == keys[0]


SCRIPT = """
import sys
import ssdlab, helping
from ssdlab.policy import Policies
from ssdlab.running.sources import sources_digest
class Mine(ssdlab.policy.Victim):
    def __init__(self, k): self.k, self.table = k, {"a": 1, "b": (2, "c")}
    def score(self, view):
        from within import more
        return view.valid * self.k + helping.more() + more()
print(sources_digest(Policies({"gc.victim": Mine(3)}).pack()))
print(sources_digest(Policies({"gc.victim": helping.Whole()}).pack()))
"""
HELPING = """
import ssdlab
from deeper import CONSTANT
def more():
    from pack import part
    return CONSTANT + part.more()
class Whole(ssdlab.policy.Victim):
    def score(self, view): return view.valid
"""


def test_digests_of_policies_are_equal_in_all_processes(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text(HELPING)
    used = {
        "deeper.py": "CONSTANT = 0\n",
        "within.py": "def more(): return 0\n",
        "pack/__init__.py": "",
        "pack/part.py": "from . import other\nfrom .other import more\n",
        "pack/other.py": "def more(): return 0\n",
    }
    (tmp_path / "pack").mkdir()
    for name, text in used.items():
        (tmp_path / name).write_text(text)

    def digests(script: str, seeds: str = "1") -> list[str]:
        (tmp_path / "script.py").write_text(script)
        path = os.pathsep.join([str(tmp_path), *sys.path])
        made = [
            subprocess.run(
                [sys.executable, "script.py"],
                cwd=tmp_path,
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            for seed in seeds
        ]
        assert made.count(made[0]) == len(seeds)
        return made[0]

    first = digests(SCRIPT, seeds="12")
    assert first[0] != first[1]
    # Comments and places of code have no effect in a script; what it does has.
    assert digests("# above\n\n" + SCRIPT) == first
    assert digests(SCRIPT.replace("* self.k", "* self.k * 2"))[0] != first[0]
    assert digests(SCRIPT.replace("Mine(3)", "Mine(4)"))[0] != first[0]
    for name in ("deeper.py", "within.py", "pack/other.py"):
        text = used[name]
        (tmp_path / name).write_text(text + "# edited\n")
        edited = digests(SCRIPT)
        assert edited[0] != first[0], name
        assert (edited[1] == first[1]) == (name == "within.py")
        (tmp_path / name).write_text(text)


def test_the_digest_of_a_module_follows_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "helped.py").write_text(HELPING.replace("from deeper import CONSTANT\n", ""))
    helped = __import__("helped")
    packed = Policies({"gc.victim": helped.Whole()}).pack()
    first = sources_digest(packed)
    assert sources_digest(packed) == first
    (tmp_path / "helped.py").write_text(HELPING + "# a run reads the file anew\n")
    assert sources_digest(packed) != first


def test_a_trace_that_changes_under_a_run_is_not_stored(
    store: Path, tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = FEW | of_a_kind("trace", tmp_path)
    made = runner.execute_run

    def changed(*given: Any) -> RunEnd:  # noqa: ANN401
        ended = made(*given)
        (tmp_path / "a.trace").write_text(TRACE + TRACE[-20:])
        return ended

    monkeypatch.setattr(runner, "execute_run", changed)
    ssdlab.compare("greedy-8ch", set=sets, store=store)
    told = "0 runs from it, 0 added, 1 not stored (a file was changed meanwhile)"
    assert runs.told() == told


def test_a_restored_report_has_the_names_that_are_asked_for(store: Path, tmp_path: Path) -> None:
    sets = FEW | of_a_kind("trace", tmp_path) | {"workload.skip_bad": True, "workload.max_bad": 1}
    with (tmp_path / "a.trace").open("a") as file:
        file.write("bad\n" * 20)
    ssdlab.compare("greedy-8ch", set=sets, store=store, progress=False)
    moved = (tmp_path / "a.trace").rename(tmp_path / "moved.trace")
    sets |= {"workload.trace": moved, "run.name": "later"}
    (new,) = ssdlab.compare("greedy-8ch", set=sets, progress=False).reports.values()
    (old,) = ssdlab.compare("greedy-8ch", set=sets, store=store, progress=False).reports.values()
    assert len(ssdlab.results(store)) == 1
    for one in (new, old):
        del one.json["speed"]
        one.json["time"] |= {"wall": 0, "cpu": 0}
    assert any("moved.trace" in text for text in new.warnings)
    assert old.json == new.json
    assert old.trace == new.trace
    assert (old.series_csv, old.distributions_csv) == (new.series_csv, new.distributions_csv)
    assert old.name == "later"


# ---------------------------------------------------------------- which run comes when


class SlowRunner:
    """A runner that makes its runs one after another, each a report of nothing."""

    local_jobs = 1

    def __init__(self, report: Report) -> None:
        self.report = report
        self.order: list[str] = []

    def run(self, work: runner.Work) -> None:
        while (one := work.next()) is not None:
            self.order.append(one.label)
            work.end(one, RunEnd("completed", self.report))


class Work:
    """Counts what is taken."""

    folder: Path | None = None
    html = False
    point_errors: tuple[type[Exception], ...] = ()

    def __init__(self, planned: Iterator[PlannedRun], *, ahead: bool) -> None:
        self.planned, self.ahead, self.stop = planned, ahead, threading.Event()
        self.ended: list[str] = []

    def next(self) -> PlannedRun | None:
        return next(self.planned, None)

    def callback(self, one: PlannedRun) -> Any:  # noqa: ANN401, ARG002
        return lambda *_: None

    def interrupt(self) -> None:
        self.stop.set()

    def note(self, text: str) -> None:
        raise AssertionError(text)

    def end(self, one: PlannedRun, ended: RunEnd) -> None:
        assert ended.how == "completed"
        self.ended.append(one.label)


def test_runs_are_taken_ahead_only_where_that_has_no_effect(store: Path) -> None:
    config = ssdlab.load_config("greedy-8ch", set=FEW)
    report = ssdlab.run(config, progress=False)
    taken: list[int] = []

    def planned(seeds: range) -> Iterator[PlannedRun]:
        for seed in seeds:
            taken.append(seed)
            yield PlannedRun(str(seed), Config(config.text.replace('"seed":1', f'"seed":{seed}')))

    with Store(store) as opened:
        inner = SlowRunner(report)
        work = Work(planned(range(5)), ahead=False)
        caching.CachingRunner(inner, opened).run(work)
        assert work.ended == inner.order == [*"01234"]
        inner = SlowRunner(report)
        work = Work(planned(range(3, 100)), ahead=False)
        looked = caching._FilteredWork(work, made := caching.CachingRunner(inner, opened))
        first = looked.next()
        assert first is not None
        assert (first.label, made.hits, taken[-1]) == ("5", 2, 5)
        work = Work(planned(range(3, 100)), ahead=True)
        assert caching._FilteredWork(work, made).next() is not None
        assert taken[-1] == 3 + caching.AHEAD[0] - 1


def test_what_another_process_stores_meanwhile_is_taken(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdlab.store.read.LOOK_S", 0)
    vary = {"run.seed": [1, 2, 3, 4]}
    with Store(store) as mine, Store(store) as theirs:
        made = caching.CachingRunner(Threads(1), mine)

        class RacingRunner:
            local_jobs = 1

            def run(self, work: runner.Work) -> None:
                one = work.next()
                assert one is not None
                ssdlab.sweep("greedy-8ch", vary=vary, set=FEW, store=theirs, progress=False)
                theirs.flush()
                work.end(one, runner.execute_run(one, work))
                assert work.next() is None

        made.inner = RacingRunner()
        design = design_sweep("greedy-8ch", vary, sets=FEW, plugs=Plugs())
        done = run_sweep(design, made, Execution(progress=False))
    assert done.completed
    assert made.hits == 3


def test_each_row_group_is_read_once_for_many_keys(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []

    class CountingFile(parquet.ParquetFile):  # type: ignore[misc]
        def read_row_group(self, *given: Any) -> Any:  # noqa: ANN401
            read.append(given)
            return super().read_row_group(*given)

    counting = types.SimpleNamespace(ParquetFile=CountingFile)
    swept(store, {}, range(1, 141))
    with Store(store) as opened:
        monkeypatch.setattr(rows, "parquet", lambda: counting)
        found = opened.find(sorted(opened.keys()))
        assert {one.report.requests.completed for one in found.values()} == {500}
        monkeypatch.undo()
    assert len(found) == 140
    assert len(read) <= 140 // rows.GROUP + len(ssdlab.results(store).parts)
