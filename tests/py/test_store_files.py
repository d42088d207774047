"""A store is whole whoever is killed when; collection, checks and queries see every row once."""

import json
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
import pytest
from pyarrow import parquet

import ssdlab
import stored
from running import SMALL_TOML, ssdlab_command
from ssdlab.store import collect as collecting
from ssdlab.store import files as filing
from ssdlab.store import rows, store
from ssdlab.store.collect import collect
from ssdlab.store.files import Files
from ssdlab.store.store import Store
from ssdlab.store.verify import verify
from stored import command, files_of, fill, fill_at_once, in_process, parts, seeded

T = TypeVar("T")

RESULTS = ssdlab.__results_version__
WRITER = [sys.executable, stored.__file__]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def whole(folder: Path, keys: list[str]) -> None:
    """The store has exactly these rows, and nothing in it is damaged."""
    found = verify(files_of(folder))
    assert not found.problems
    assert sorted(ssdlab.results(folder).keys) == sorted({*keys})
    answer = ssdlab.results(folder).query("select key from results")
    assert sorted(row[0] for row in answer.values) == sorted({*keys})


# ---------------------------------------------------------------- writers


@pytest.mark.parametrize(
    ("count", "each", "ends"),
    [
        (4, 40, (7, 22, 1000)),
        pytest.param(8, 200, (7, 33, 90, 150, 1000), marks=pytest.mark.slow),
    ],
)
def test_writers_that_are_killed_lose_nothing_that_was_flushed(
    count: int, each: int, ends: tuple[int, ...], folder: Path
) -> None:
    """Rows are told of after they were flushed; collection runs in between."""
    draw = random.Random(1)
    writers = []
    for number in range(count):
        words = [str(folder), str(number * each), str((number + 1) * each)]
        writers.append(subprocess.Popen([*WRITER, *words], stdout=subprocess.PIPE, text=True))
    told: list[list[str]] = [[] for _ in writers]
    killed_at = [*ends, *(draw.choice(ends) for _ in writers[len(ends) :])]

    def listen(at: int) -> None:
        out = writers[at].stdout
        assert out is not None
        with out:
            for line in out:
                told[at].append(line.strip())
                if len(told[at]) == killed_at[at]:
                    writers[at].kill()

    threads = [threading.Thread(target=listen, args=(at,)) for at in range(count)]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        if folder.exists() and (folder / filing.MARK).exists():
            with suppress(ssdlab.OutputError):  # nothing is there yet
                collect(files_of(folder), leftover_s=60)
        time.sleep(0.05)
    for thread, writer in zip(threads, writers, strict=True):
        thread.join()
        writer.wait()
    codes = [writer.returncode for writer in writers]
    assert set(codes) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in codes
    found = {*ssdlab.results(folder).keys}
    missing = [key for keys in told for key in keys if key not in found]
    assert not missing
    for code, keys in zip(codes, told, strict=True):
        assert code or len(keys) == each
    whole(folder, [*found])
    done = collect(files_of(folder), leftover_s=0)
    assert (done.parts, done.rows) == (1, len(found))
    whole(folder, [*found])
    assert not verify(files_of(folder)).leftovers


def test_rows_are_written_within_seconds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FLUSH_S", 0.01)
    opened = Store(folder)
    keys = fill(opened, range(3))
    waited = threading.Event()
    while opened.flushed < 3:
        waited.wait(0.01)
    whole(folder, keys)
    monkeypatch.setattr(store, "FLUSH_S", 1e6)
    monkeypatch.setattr(store, "FLUSH_ROWS", 5)
    keys += fill(opened, range(3, 9))
    while opened.flushed < 8:
        waited.wait(0.01)
    assert opened.find(keys).keys() == {*keys}  # those that wait, too
    assert opened.find(keys)[keys[8]].report.provenance.seed == 8
    opened.close()
    opened.close()
    whole(folder, keys)


def test_what_is_stored_twice_counts_once(folder: Path) -> None:
    one, other = Store(folder), Store(folder)
    keys = fill(one, range(3))
    fill(other, range(2, 5))
    one.close()
    other.close()
    keys = [seeded(seed)[0].key for seed in range(5)]
    assert sum(len(x.rows) for x in files_of(folder).entries().values()) == 6
    whole(folder, keys)
    assert verify(files_of(folder)).repeated == 1
    assert ssdlab.results(folder).query("select count(*) from results").values == ((5,),)
    done = collect(files_of(folder))
    assert (done.parts, done.rows, done.repeated, done.dropped) == (1, 5, 1, 0)
    whole(folder, keys)


def full_disk() -> None:
    """No file may grow beyond a small size, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


def test_a_full_disk_damages_nothing(folder: Path) -> None:
    keys = parts(folder, [2])
    writer = subprocess.run(
        [*WRITER, str(folder), "2", "9"],
        preexec_fn=full_disk,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "parquet: cannot be written: File too large" in writer.stderr
    assert (writer.returncode, writer.stdout) == (1, "")
    whole(folder, keys)
    assert not verify(files_of(folder)).leftovers


STUDIES = {
    "sweep": ["--vary", "gc.reserve=1,2", "--seeds", "2"],
    "compare": ["--vary", "gc.reserve=1,2", "--seeds", "2"],
    "search": ["--space", "gc.reserve=1,2", "--minimize", "waf", "--test-seeds", "2"],
    "fleet": ["--stand-in", "alibaba:3", "--drive"],
}


@pytest.mark.parametrize("verb", STUDIES)
def test_a_store_without_room_costs_no_run(
    verb: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the study has room: all of its runs are there, and the loss is counted."""
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    config = str(tmp_path / "small.toml")
    words = [*STUDIES[verb], config] if verb == "fleet" else [config, *STUDIES[verb]]
    words = [verb, *words, "--no-html", "--out"]
    keys = parts(folder, [2])
    real, full = filing.put, "No space left on device"

    def put(file: Path, _: Callable[[Any], object]) -> None:
        raise ssdlab.OutputError(f"{file}: cannot be written: {full}")

    monkeypatch.setattr(filing, "put", put)
    store_option, lost = ["--store", str(folder)], ""
    for quiet in ([], ["--quiet"]):
        out = str(tmp_path / f"out{len(quiet)}")
        done = in_process(*words, out, *store_option, *quiet)
        assert done.returncode == 1, done.stderr
        assert done.stderr.count(f"{full}; the runs continue") == 1
        (lost,) = re.findall(
            rf"error: store {folder}: (\d+) runs not stored: .*{full}", done.stderr
        )
        assert done.stderr.count(f" from it, 0 added, {lost} not stored (it cannot be") == 1
    whole(folder, keys)
    monkeypatch.setattr(filing, "put", real)
    done = in_process(*words, str(tmp_path / "stored"), *store_option)
    assert f" from it, {lost} added" in done.stderr
    again = in_process(*words, str(tmp_path / "again"), *store_option)
    assert " from it, 0 added" in again.stderr
    for name in ("sweep.csv", "search.csv", "fleet.csv"):  # compare.csv has wall-clock times
        texts = {
            (tmp_path / out / name).read_bytes()
            for out in ("out0", "out1", "stored", "again")
            if (tmp_path / out / name).exists()
        }
        assert len(texts) <= 1, name


def test_uses_that_cannot_be_noted_are_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sweep", "greedy-8ch", "--set", "workload.requests=300", "--vary", "run.seed=1,2"]
    words += ["--store", str(folder), "--no-html", "--out"]
    assert in_process(*words, str(tmp_path / "a")).returncode == 0

    def put_used(files: Files, times: object) -> None:  # noqa: ARG001
        raise ssdlab.OutputError(f"{files.used}: cannot be written: No space left on device")

    monkeypatch.setattr(Files, "put_used", put_used)
    done = in_process(*words, str(tmp_path / "b"))
    assert done.returncode == 1
    assert ": 2 runs from it, 0 added" in done.stderr
    assert "the use of its runs could not be noted: " in done.stderr


def test_a_store_that_has_room_again_takes_what_waits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "FLUSH_S", 0.01)
    monkeypatch.setattr(store, "FLUSH_ROWS", 4)
    real, full = Files.add, threading.Event()

    def add(files: Files, *given: Any, **named: Any) -> filing.Entry:  # noqa: ANN401
        if full.is_set():
            raise ssdlab.OutputError(f"{files.parts}: cannot be written: No space left on device")
        return real(files, *given, **named)

    monkeypatch.setattr(Files, "add", add)
    full.set()
    opened, waited = Store(folder), threading.Event()
    keys = fill(opened, range(4))
    while opened.trouble is None:
        waited.wait(0.01)
    keys += fill(opened, range(4, 9))
    assert opened.dropped == 5
    assert opened.unwritten == 9
    assert opened.find(keys).keys() == {*keys[:4]}, "those that wait are found"
    with pytest.raises(ssdlab.OutputError, match="No space left"):
        opened.flush()
    full.clear()
    while opened.flushed < 4:
        waited.wait(0.01)
    keys += fill(opened, range(9, 11))
    opened.close()
    assert opened.unwritten == opened.dropped == 5
    whole(folder, [*keys[:4], *keys[9:]])


# ---------------------------------------------------------------- collection


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(11))
def test_collection_may_be_killed_anywhere(
    step: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = parts(folder, [70, 3, 1])
    left = step

    def counted(method: Any) -> Any:  # noqa: ANN401
        def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return method(*given, **named)

        return call

    for name in ("unlink", "replace"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    with suppress(Killed):
        collect(files_of(folder))
    monkeypatch.undo()
    whole(folder, keys)
    keys += parts(folder, [1], begin=74)
    done = collect(files_of(folder), leftover_s=0)
    assert (done.parts, done.rows, done.repeated) == (1, 75, 0)
    assert not verify(files_of(folder)).leftovers
    whole(folder, keys)


def test_a_reader_in_the_middle_of_a_collection_finds_everything(folder: Path) -> None:
    keys = parts(folder, [3, 70, 2])
    reader = Store(folder)
    found = reader.find(keys)
    before = files_of(folder).entries()
    collect(files_of(folder))
    assert len(files_of(folder).entries()) == 1
    assert not any(files_of(folder).part(name).exists() for name in before)
    assert [found[key].report.provenance.seed for key in keys] == [*range(75)]


def test_a_query_in_the_middle_of_a_collection_is_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts(folder, [3, 2])
    old = files_of(folder).entries()
    collect(files_of(folder))
    lists = iter([old, old])
    real = Files.entries
    monkeypatch.setattr(Files, "entries", lambda self: next(lists, None) or real(self))
    assert ssdlab.results(folder).query("select count(*) from results").values == ((5,),)


def test_runs_that_nobody_uses_are_removed(folder: Path) -> None:
    keys = parts(folder, [40, 40])
    day = 86_400
    entries = files_of(folder).entries()
    for entry in entries.values():  # as if it were a year ago
        aged = [(key, created - 365 * day * 10**6) for key, created in entry.rows]
        old = filing.Entry(**{**vars(entry), "rows": tuple(aged)})
        files_of(folder).entry(entry.name).write_text(old.text())
    with Store(folder) as opened:
        used = opened.find(keys[38:42])
        assert len([one.report for one in used.values()]) == 4
    done = collect(files_of(folder), unused_s=90 * day)
    assert (done.rows, done.dropped) == (4, 76)
    whole(folder, keys[38:42])
    size = done.bytes
    assert collect(files_of(folder), most_bytes=size).dropped == 0
    assert collect(files_of(folder), most_bytes=size // 2 + 1).dropped == 2
    assert collect(files_of(folder), most_bytes=0).rows == 0
    whole(folder, [])
    with Store(folder) as opened:
        assert not opened.find(keys)
        fill(opened, range(2))
    whole(folder, keys[:2])


def test_rows_of_damaged_parts_are_not_counted_as_dropped(folder: Path) -> None:
    parts(folder, [3, 2])
    files = files_of(folder)
    (part,) = (files.part(name) for name, one in files.entries().items() if len(one.rows) == 3)
    part.write_bytes(part.read_bytes()[:-100])
    done = collect(files, unused_s=0)
    assert done.damaged == [part]
    assert (done.rows, done.dropped, done.repeated) == (3, 2, 0)


def test_the_runs_used_last_stay_however_old_they_are(folder: Path) -> None:
    keys = parts(folder, [1] * 8)
    created = {key: at for one in files_of(folder).entries().values() for key, at in one.rows}
    assert [*sorted(keys, key=created.__getitem__)] == keys, "the first are the oldest"
    used = [keys[1], keys[4], keys[0]]
    for n, key in enumerate(used):
        files_of(folder).put_used({key: round(time.time()) + 1000 * (n + 1)})
    size = sum(one.bytes for one in files_of(folder).entries().values())
    done = collect(files_of(folder), most_bytes=size * 11 // 16)
    assert (done.rows, done.dropped) == (5, 3)
    whole(folder, [*used, *keys[6:]])
    left = sum(one.bytes for one in files_of(folder).entries().values())
    collect(files_of(folder), most_bytes=left // 2)
    whole(folder, [keys[0], keys[4]])


def test_uses_are_kept_in_one_file(folder: Path) -> None:
    keys = parts(folder, [2])
    for _ in range(3):
        with Store(folder) as opened:
            assert opened.find(keys)[keys[0]].report.completed
    assert len([*files_of(folder).used.iterdir()]) == 3
    collect(files_of(folder))
    (file,) = files_of(folder).used.iterdir()
    assert json.loads(file.read_text()).keys() == {keys[0]}


def test_leftovers_are_removed_when_they_are_old(folder: Path) -> None:
    keys = parts(folder, [1])
    files = files_of(folder)
    (part,) = files.parts.iterdir()
    (files.parts / f".x{filing.DRAFT}").write_text("")
    (files.parts / "orphan.parquet").write_bytes(part.read_bytes())
    assert len(verify(files).leftovers) == 2
    whole(folder, keys)
    assert collect(files).leftovers == 0
    assert collect(files, leftover_s=0).leftovers == 2
    assert [*files.parts.iterdir()] == [part]


def test_large_parts_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MOST_ROWS", 10)
    keys = parts(folder, [8, 1, 1, 1, 7, 4, 4, 4])
    large = next(iter(sorted(files_of(folder).entries())))
    collect(files_of(folder))
    entries = files_of(folder).entries()
    assert large in entries
    assert max(len(one.rows) for one in entries.values()) <= 10
    assert len(entries) == 4
    whole(folder, keys)


def test_columns_of_a_later_ssdlab_are_kept(folder: Path) -> None:
    keys = parts(folder, [2, 2])
    files = files_of(folder)
    name = max(files.entries())
    table = parquet.read_table(files.part(name))
    more = table.append_column("energy", pyarrow.array([1.5, 2.5]))
    entry = files.entries()[name]
    files.entry(name).unlink()
    files.part(name).unlink()
    files.add(entry.rows, entry.config, entry.group, lambda out: rows.write_table(more, out))
    for _ in range(2):
        answer = ssdlab.results(folder).query("select sum(energy), count(energy) from results")
        assert answer.values == ((4.0, 2),)
        whole(folder, keys)
        collect(files)
    assert len(files.entries()) == 1


# ---------------------------------------------------------------- checks


def damaged(folder: Path, *words: str) -> None:
    """`verify` names what is wrong, and ends with 1."""
    done = command("verify", store=folder)
    assert done.returncode == 1
    for word in words:
        assert word in done.stderr


def test_damage_is_found(folder: Path) -> None:
    keys = parts(folder, [2, 1, 1, 1])
    files = files_of(folder)
    names = sorted(files.entries())
    data = bytearray(files.part(names[0]).read_bytes())
    data[len(data) // 2] ^= 1
    files.part(names[0]).write_bytes(data)
    files.part(names[1]).write_bytes(files.part(names[1]).read_bytes()[:-100])
    files.part(names[2]).unlink()
    damaged(folder, *(f"{name}.parquet: is " for name in names[:3]), "SHA-256", "missing")
    done = collect(files)
    assert {file.stem for file in done.damaged} == {*names[:2]}
    files.entry(names[3]).write_text("{")
    damaged(folder, f"{names[3]}.json: is damaged: Expecting property name")
    with pytest.raises(ssdlab.OutputError, match="is damaged"):
        Store(folder).find(keys)


@pytest.mark.parametrize("what", ["key", "config", "results", "rows"])
def test_rows_that_are_made_up_are_found(what: str, folder: Path) -> None:
    (job, report), (other, _) = seeded(1), seeded(2)
    if what == "config":  # the key of another run
        job = other
    with Store(folder) as opened:
        opened.add(job.key, report, job=job.text)
    files = files_of(folder)
    ((name, entry),) = files.entries().items()
    if what in ("key", "rows"):
        table = parquet.read_table(files.part(name)).to_pylist()
        table[0]["key"] = other.key
        table *= 1 + (what == "rows")
        files.entry(name).unlink()
        keys = [(other.key, entry.rows[0][1])]
        made = rows.table_of(table)
        files.add(keys, entry.config, entry.group, lambda out: rows.write_table(made, out))
    if what == "results":
        wrong = Files(folder, RESULTS + 1, write=True)
        made = parquet.read_table(files.part(name))
        wrong.add(entry.rows, entry.config, entry.group, lambda out: rows.write_table(made, out))
        files = wrong
    (problem,) = verify(files).problems.values()
    words = {
        "key": "is not the digest of its job",
        "config": "of another configuration than its report (run)",
        "results": f"not of version {RESULTS + 1}",
        "rows": "has 2 rows; its manifest has 1",
    }
    assert words[what] in problem[0]


def test_equal_keys_with_other_results_are_found(folder: Path) -> None:
    job, report = seeded(1)
    _, other = seeded(1)
    other.json["waf"]["total"] += 1e-9
    for one in (report, other):
        opened = Store(folder)
        opened._last_check = 1e18  # it does not see what the other one has stored
        opened.add(job.key, one, job=job.text)
        opened.close()
    damaged(folder, "differ from those of the same key", job.key[:12])


def test_equal_runs_may_differ_in_time_and_maker(folder: Path) -> None:
    job, report = seeded(1)
    _, other = seeded(1)
    other.json["speed"]["requests_per_s"] = 1.0
    other.json["time"]["wall"] = 7
    other.json["provenance"]["commit"] = "another"
    other.json["config"]["run"]["name"] = "another"
    for one in (report, other):
        opened = Store(folder)
        opened._last_check = 1e18
        opened.add(job.key, one, job=job.text)
        opened.close()
    found = verify(files_of(folder))
    assert (found.problems, found.repeated) == ({}, 1)


# ---------------------------------------------------------------- folders


def test_folders_that_are_no_store_are_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    words = ["sweep", "greedy-8ch", "--vary", "run.seed=1", "--store", "."]
    done = ssdlab_command(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "is no store of results: store.json is missing" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(ssdlab.OutputError, match="no such folder"):
        ssdlab.results(folder)
    with pytest.raises(ssdlab.OutputError, match="is not a folder"):
        Store(tmp_path / "a.txt")
    with pytest.raises(ssdlab.ConfigError, match="SSDLAB_STORE"):
        ssdlab.results()
    with Store(folder):
        pass  # nothing is added
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(ssdlab.OutputError, match="is no store of results"):
        ssdlab.results(folder)
    (folder / filing.MARK).write_text('{"format": 99}')
    for read in (ssdlab.results, Store):
        with pytest.raises(ssdlab.OutputError, match=r"version 99 .* use a later ssdlab"):
            read(folder)
    (folder / filing.MARK).write_text("nonsense")
    with pytest.raises(ssdlab.OutputError, match="is not that of a store"):
        Store(folder)


def test_versions_of_results_stay_apart(folder: Path) -> None:
    keys = parts(folder, [2])
    (folder / f"results-{RESULTS}").rename(folder / "results-0")
    with pytest.raises(ssdlab.OutputError, match="of version 0: version=0 reads those"):
        ssdlab.results(folder)
    assert "of version 0: --results 0 reads those" in command("list", store=folder).stderr
    with Store(folder) as opened:
        assert not opened.find(keys)
        fill(opened, range(1))
    assert len(ssdlab.results(folder)) == 1
    assert len(ssdlab.results(folder, version=0)) == 2
    done = command("list", "--results", "0", store=folder)
    assert (done.returncode, "2 runs" in done.stderr) == (0, True)


def test_a_damaged_part_is_named_where_it_is_read(folder: Path) -> None:
    keys = parts(folder, [1])
    files = files_of(folder)
    (part,) = files.parts.iterdir()
    part.write_bytes(b"nothing")
    with pytest.raises(ssdlab.OutputError, match=f"{part.name}: is damaged"):
        Store(folder).find(keys)[keys[0]].report.name  # noqa: B018
    done = command("query", "select 1 from results", store=folder)
    assert done.returncode == 2
    assert part.name in done.stderr
    assert "results verify" in done.stderr


# ---------------------------------------------------------------- queries


def test_queries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = parts(folder, [3])
    found = ssdlab.results(folder)
    sql = (
        "select gc_victim, count(*) as n, sum(seed) as seeds, min(run_seed) from results group by 1"
    )
    assert found.query(sql).rows == [
        {"gc_victim": "greedy", "n": 3, "seeds": 3, "min(run_seed)": 0}
    ]
    values = found.query("select config.gc.victim.ties, device_channels from results").values
    assert values[0] == ('"lowest-id"', 2)
    (calls,) = found.query("select report.gc.calls::int from results limit 1").values[0]
    report = found.report(keys[2])
    assert (calls, report.provenance.seed, report.folder) == (report.gc.calls, 2, None)
    assert found.report(keys[2][:9]).json == report.json
    for wrong in ("", "zz", "-"):
        with pytest.raises(ssdlab.ConfigError, match=r"no run with the key|begin so"):
            found.report(wrong)
    frame, table = found.to_pandas(), found.to_polars()
    assert [*frame.seed] == [*table["seed"]] == [0, 1, 2]
    assert str(frame.created.dtype).startswith("datetime64")
    assert "report" not in frame.columns
    assert "3 runs" in repr(found)
    assert keys[0][:12] in found._repr_html_()
    assert repr(found.query("select 1 as one")).split() == ["one", "1"]
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ssdlab.OutputError, match=r" -m pip install 'duckdb>=1\.4'"):
        found.query(sql)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (ssdlab.results, Store):
        with pytest.raises(ssdlab.OutputError, match=r" -m pip install 'pyarrow>=21'"):
            call(folder)


def test_keys_of_several_types(folder: Path) -> None:
    with Store(folder) as opened:
        for more in ({"gc__reserve": 2}, {"gc__reserve": 2.5}, {"wear__dynamic": "often"}):
            _, report = seeded(1)
            for key, value in more.items():
                part, name = key.split("__")
                report.json["config"][part][name] = value
            text = json.dumps([RESULTS, report.json["config"], ""])
            opened.add(ssdlab.store.keys.key_of(text), report, job=text)
    found = ssdlab.results(folder)
    assert found.query("select sum(gc_reserve) from results").values == ((6.5,),)
    assert {*found.query("select wear_dynamic from results").values} == {("true",), ("often",)}


def test_wrong_queries_say_what_there_is(folder: Path) -> None:
    parts(folder, [1])
    for sql in ("select gc_victm from results", "selec", "select * from other", "select key +"):
        done = command("query", sql, store=folder)
        assert done.returncode == 2
        assert "Error: " in done.stderr
        assert "columns of results: key, created" in done.stderr
        assert "gc_victim" in done.stderr
    done = command("query", "select 1")
    assert (done.returncode, "--store DIR" in done.stderr) == (2, True)


def test_exports(folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [2])
    for name in ("a.csv", "a.json", "a.parquet"):
        file = tmp_path / name
        assert command("export", str(file), store=folder).stdout == f"{file}\n"
        assert "exists" in command("export", str(file), store=folder).stderr
    assert parquet.read_table(tmp_path / "a.parquet")["seed"].to_pylist() == [0, 1]
    assert [one["seed"] for one in json.loads((tmp_path / "a.json").read_text())] == [0, 1]
    assert (tmp_path / "a.csv").read_text().count("\n") == 3
    words = ["--query", "select seed from results where false"]
    assert command("export", str(tmp_path / "b.csv"), *words, store=folder).returncode == 0
    assert (tmp_path / "b.csv").read_text() == "seed\n"
    assert "ends in .csv" in command("export", "c.xls", store=folder).stderr
    run = tmp_path / "run"
    done = command("export", str(run), "--run", keys[1][:8], "--no-html", store=folder)
    assert done.stdout == f"{run}\n"
    assert ssdlab_command("report", "run", cwd=tmp_path).returncode == 0
    report = ssdlab.Report.read(run)
    assert report.provenance.seed == 1
    shown = json.loads(command("show", keys[1][:8], "--json", store=folder).stdout)
    assert shown == report.json | {"series": {}}
    sql = "select seed from results order by 1"
    assert command("query", sql, "--csv", store=folder).stdout == "seed\n0\n1\n"
    told = json.loads(command("gc", "--json", store=folder).stdout)
    assert (told["rows"], told["damaged"]) == (2, [])
    assert json.loads(command("verify", "--json", store=folder).stdout)["problems"] == {}


# ---------------------------------------------------------------- size


@pytest.mark.slow
def test_a_hundred_thousand_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints how long it takes; the numbers of one machine are in docs/results-store.md."""
    count, draw = 100_000, random.Random(1)
    keys = fill_at_once(folder, count)
    files, took = files_of(folder), {}

    def timed(what: str, call: Callable[[], T]) -> T:
        begin = time.monotonic()
        found = call()
        took[what] = time.monotonic() - begin
        return found

    asked = draw.sample(keys, 10_000)
    opened = Store(folder)
    assert len(timed("10,000 lookups, of 391 parts", lambda: opened.find(asked))) == 10_000
    done = timed("gc", lambda: collect(files))
    assert (done.rows, done.parts) == (count, -(-count // collecting.MOST_ROWS))
    opened = Store(folder)
    found = timed("10,000 lookups", lambda: opened.find(asked))
    reports = timed("10,000 reports", lambda: [one.report for one in found.values()])
    assert {report.requests.completed for report in reports} == {300}
    begun = timed("the first 10,000", lambda: Store(folder).find(keys[:10_000]))
    timed("their reports", lambda: [one.report.name for one in begun.values()])
    sql = "select gc_victim, avg(waf), count(*) from results group by 1"
    ((_, waf, n),) = timed("query", lambda: ssdlab.results(folder).query(sql)).values
    assert (round(waf, 6), n) == (5.95, count)
    sql = "select sum((report->>'$.gc.calls')::bigint) from results"
    assert timed("query of reports", lambda: ssdlab.results(folder).query(sql)).values[0][0] > 0
    assert len(timed("to_pandas", ssdlab.results(folder).to_pandas)) == count
    assert not timed("verify", lambda: verify(files)).problems
    with capsys.disabled():
        print(f"\n{done.bytes_before:,} bytes, after gc {done.bytes:,}")
        print("\n".join(f"{what}: {seconds:.2f} s" for what, seconds in took.items()))
