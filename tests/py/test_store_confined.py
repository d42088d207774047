"""Nothing outside of a store is read, written or removed: names, links and queries."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

import ssdlab
from running import SMALL_TOML, as_a_user
from ssdlab.store.collect import collect
from ssdlab.store.files import Files
from ssdlab.store.store import Store
from ssdlab.store.verify import verify
from stored import command, files_of, fill, parts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[Path, bytes]]:
    """Files beside the store, which are the same at the end of the test."""
    (tmp_path / "x").mkdir()
    held = {}
    for name in ("x.json", "x.parquet", "x/y.json", "x/y.parquet"):
        (tmp_path / name).write_bytes(name.encode())
        held[tmp_path / name] = name.encode()
    yield held
    assert {file: file.read_bytes() for file in held} == held


def state(folder: Path) -> dict[str, bytes]:
    """All files of a store."""
    found = (one for one in folder.rglob("*") if one.is_file())
    return {str(one.relative_to(folder)): one.read_bytes() for one in found}


# ---------------------------------------------------------------- manifests


@pytest.mark.parametrize(
    "name", ["../../x", "../../../x", "../../x/y", "/etc/passwd", "", ".", "a/../../../x", "é", 3]
)
@pytest.mark.usefixtures("outside")
def test_a_foreign_name_in_a_manifest_is_damage(name: object, folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [2, 1])
    files = files_of(folder)
    file = files.entry(max(files.entries()))
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, "replaces": [str(tmp_path / "x"), name]}))
    before = state(folder)
    told = f"{file}: is damaged: {str(tmp_path / 'x')!r} is not a name that ssdlab writes"
    for words in (["gc"], ["gc", "--unused", "0"], ["list"], ["query", "select 1"]):
        done = command(*words, store=folder)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    done = command("verify", store=folder)
    assert (done.returncode, told in done.stderr) == (1, True), done.stderr
    file.write_text(json.dumps({**held, "replaces": [name]}))
    for call in (lambda: collect(files_of(folder), leftover_s=0), lambda: Store(folder).keys()):
        with pytest.raises(ssdlab.OutputError, match="is not a name that ssdlab writes"):
            call()
    assert state(folder).keys() == before.keys()
    file.write_text(json.dumps(held))
    assert sorted(ssdlab.results(folder).keys) == sorted(keys)


def test_a_manifest_under_a_foreign_name_is_damage(folder: Path) -> None:
    parts(folder, [1])
    files = files_of(folder)
    (file,) = files.manifest.iterdir()
    file.with_name("copy.json").write_bytes(file.read_bytes())
    with pytest.raises(ssdlab.OutputError, match=r"copy\.json: is damaged: 'copy' is not a name"):
        files.entries()
    (found,) = verify(files).problems.items()
    assert found[0].endswith("copy.json")


def test_types_in_a_manifest_are_no_sql(folder: Path, tmp_path: Path) -> None:
    parts(folder, [1])
    files = files_of(folder)
    (file,) = files.manifest.iterdir()
    held = json.loads(file.read_text())
    # Without the check this is SQL as a whole, and writes the file before anything is confined.
    row = "(select 1 as filename, 1 as file_row_number, '{}' as config, '{}' as report)"
    evil = f"int) as x from {row}; copy (select 1) to '{tmp_path / 'evil.csv'}'; --"
    file.write_text(json.dumps({**held, "config": {**held["config"], "gc.more": evil}}))
    done = command("query", "select 1 from results", store=folder)
    assert (done.returncode, "is not a name that ssdlab writes" in done.stderr) == (2, True)
    assert not (tmp_path / "evil.csv").exists()
    evil = f"a') from x; copy (select 1) to '{tmp_path / 'evil.csv'}'; --"
    file.write_text(json.dumps({**held, "config": {**held["config"], evil: "VARCHAR"}}))
    assert command("query", "select gc_victim from results", store=folder).returncode == 0
    assert not (tmp_path / "evil.csv").exists()


# ---------------------------------------------------------------- links


@pytest.mark.parametrize("what", ["parts", "manifest", "used", "", "store.json"])
def test_a_folder_of_a_store_is_no_link(what: str, folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [1, 1])
    with Store(folder) as opened:
        assert opened.find(keys)[keys[0]].report.completed
    place = folder / what if what == "store.json" else files_of(folder).root / what
    away = tmp_path / "away"
    place.rename(away)
    place.symlink_to(away)
    before = state(tmp_path)
    for call in (lambda: files_of(folder), lambda: Store(folder)):
        with pytest.raises(ssdlab.OutputError, match="is a link, which a store never contains"):
            call()
    done = command("gc", "--unused", "0", store=folder)
    assert (done.returncode, f"{place}: is a link" in done.stderr) == (2, True)
    assert state(tmp_path) == before


@pytest.mark.parametrize("what", ["parts", "manifest", "used"])
def test_a_file_of_a_store_is_no_link(what: str, folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [1, 1])
    with Store(folder) as opened:
        assert opened.find(keys)[keys[0]].report.completed
    files = files_of(folder)
    place = min((files.root / what).iterdir())
    place.rename(tmp_path / "away")
    place.symlink_to(tmp_path / "away")
    held = (tmp_path / "away").read_bytes()
    if what == "used":  # as if it were not there
        assert collect(files_of(folder), unused_s=1e6).rows == 2
    else:
        with pytest.raises(ssdlab.OutputError, match=f"{place.name}: is a link"):
            ssdlab.results(folder).query("select count(*) from results")
        (problem,) = verify(files_of(folder)).problems.items()
        assert problem[0] == str(place)
        assert "is a link" in problem[1][0]
        damaged = []
        if what == "parts":
            damaged = collect(files_of(folder), most_bytes=0).damaged
            assert ([*damaged], place.is_symlink()) == ([place], True)
    assert (tmp_path / "away").read_bytes() == held


def test_a_link_in_place_of_a_leftover_is_removed_alone(folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [1])
    files, away = files_of(folder), tmp_path / "away"
    away.write_text("")
    os.utime(away, (0, 0))
    (files.parts / "orphan.parquet").symlink_to(away)
    (files.parts / ".x.unfinished").symlink_to(away)
    (tmp_path / ".other.unfinished").write_text("")
    (folder / "linked").symlink_to(tmp_path)
    assert collect(files).leftovers == 0, "what counts is the age of the link"
    assert collect(files, leftover_s=0).leftovers == 2
    assert away.exists()
    assert (tmp_path / ".other.unfinished").exists()
    assert ssdlab.results(folder).keys == keys


# ---------------------------------------------------------------- pipes, names, permissions


@pytest.fixture
def _no_wait() -> Iterator[None]:
    """What waits for the writer of a pipe fails, instead of hanging."""

    def over(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 120, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def told(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a command says when it refuses."""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("what", ["parts", "manifest", "store.json"])
@pytest.mark.usefixtures("_no_wait")
def test_a_pipe_in_place_of_a_file_is_refused(what: str, folder: Path) -> None:
    keys = parts(folder, [1, 1])
    files = files_of(folder)
    place = folder / what if what == "store.json" else min((files.root / what).iterdir())
    place.unlink()
    os.mkfifo(place)
    before = state(folder)
    for words in (["list"], ["query", "select 1 from results"], ["show", keys[0]]):
        done = command(*words, store=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert told(done).startswith(f"error: {place}: is not a regular file")
    done = command("verify", store=folder)
    assert (done.returncode, told(done)) == (
        2 if what == "store.json" else 1,
        f"error: {place}: is not a regular file",
    )
    if what == "store.json":
        with pytest.raises(ssdlab.OutputError, match=r"store\.json: is not a regular file"):
            Store(folder)
    assert state(folder) == before
    done = command("gc", store=folder)
    if what == "parts":
        assert (done.returncode, told(done)) == (
            1,
            f"error: {place}: is damaged, and was left alone",
        )
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert state(folder) == before
    assert place.is_fifo()


@pytest.mark.usefixtures("_no_wait")
def test_pipes_where_nothing_is_read_harm_nobody(folder: Path) -> None:
    keys = parts(folder, [1])
    files = files_of(folder)
    with Store(folder) as opened:
        assert opened.find(keys)[keys[0]].report.completed
    pipes = [files.used / "x.json", files.parts / ".x.unfinished", files.manifest / "x.txt"]
    for pipe in pipes:
        os.mkfifo(pipe)
    for words in (
        ["list"],
        ["query", "select 1 from results"],
        ["verify"],
        ["gc", "--unused", "9"],
    ):
        done = command(*words, store=folder)
        assert done.returncode == 0, done.stderr
    assert ssdlab.results(folder).keys == keys


@pytest.mark.parametrize("name", ["a\nb", "a[1]*?{x,y}", 'it\'s "here"', "%41 $HOME;", "-x", "é"])
def test_a_store_may_be_called_anything(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    keys = parts(folder, [2, 1])
    for words in (["verify"], ["gc"], ["query", "select key from results", "--csv"]):
        done = command(*words, store=folder)
        assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()[1:]) == sorted(keys)
    (part,) = ssdlab.results(folder).parts
    part.write_bytes(b"")
    done = command("query", "select key from results", store=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in told(done) or "\n" in name, "one line, whatever it is called"
    assert "is damaged: its contents are not those that were written" in done.stderr
    repair = done.stderr.split("`")[1]
    subprocess.run(["bash", "-c", repair], cwd=tmp_path, check=True)
    assert command("verify", store=folder).returncode == 0
    assert not ssdlab.results(folder).keys


IN_TURN = """
import json, sys
from stored import in_process
done = [in_process(*words) for words in json.loads(sys.argv[1])]
print(json.dumps([[one.returncode, one.stdout, one.stderr] for one in done]))
"""


def done_by_a_user(folder: Path, *commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
    """Commands with a store, in a process that the permissions of files bind."""
    words = json.dumps([[*one, "--store", str(folder)] for one in commands])
    run = subprocess.run(
        [sys.executable, "-c", IN_TURN, words],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
        preexec_fn=as_a_user,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [subprocess.CompletedProcess(words, *one) for one in json.loads(run.stdout)]


def test_a_store_that_may_only_be_read_is_read(folder: Path, tmp_path: Path) -> None:
    keys = parts(folder, [1, 1])
    (tmp_path / "small.toml").write_text(SMALL_TOML)
    for place in [*folder.rglob("*"), folder]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    before = state(folder)
    reading = (
        ["list"],
        ["verify"],
        ["show", keys[0]],
        ["query", "select key from results", "--csv"],
    )
    study = [
        "sweep",
        "small.toml",
        "--vary",
        "run.seed=1,2",
        "--no-html",
        "--quiet",
        "--out",
        "out",
    ]
    *read, collected, swept = done_by_a_user(
        folder, *(["results", *one] for one in reading), ["results", "gc"], study
    )
    assert [one.returncode for one in read] == [0, 0, 0, 0]
    assert sorted(read[-1].stdout.split()[1:]) == sorted(keys)
    assert (collected.returncode, collected.stdout) == (2, "")
    assert told(collected).startswith(f"error: {folder}/results-")
    assert told(collected).endswith(": cannot be written: Permission denied")
    assert swept.returncode == 1
    assert swept.stderr.count("; the runs continue") == 1
    assert f"error: store {folder}: 2 runs not stored: " in swept.stderr
    assert len((tmp_path / "out" / "sweep.csv").read_text().splitlines()) == 3
    assert state(folder) == before


@pytest.mark.parametrize("what", ["store.json", "manifest", "entry", "part"])
def test_a_store_that_may_not_be_read_is_named(what: str, folder: Path) -> None:
    parts(folder, [1])
    files = files_of(folder)
    (entry,), (part,) = files.manifest.iterdir(), files.parts.iterdir()
    places = {"manifest": files.manifest, "entry": entry, "part": part}
    place = places.get(what, folder / what)
    mode = place.stat().st_mode
    place.chmod(0)
    commands = (["list"], ["query", "select 1 from results"], ["gc", "--unused", "0"], ["verify"])
    every = done_by_a_user(folder, *(["results", *one] for one in commands))
    place.chmod(mode)
    # Of damage a command goes on; that is then its result.
    goes_on = {"entry": ["verify"], "part": ["verify", "gc"]}.get(what, [])
    for words, done in zip(commands, every, strict=True):
        assert done.returncode == (1 if words[0] in goes_on else 2), (words, done.stderr)
        assert told(done).startswith(f"error: {place}: "), words
    assert len(files_of(folder).entries()) == 1, "nothing is removed"


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.9])
def test_a_flipped_bit_is_an_error_wherever_a_part_is_read(share: float, folder: Path) -> None:
    keys = parts(folder, [3, 1])
    files = files_of(folder)
    name = min(files.entries())
    part = files.part(name)
    data = bytearray(part.read_bytes())
    data[int(share * len(data))] ^= 1
    part.write_bytes(data)
    for words in (
        ["query", "select count(*) from results"],
        ["query", "select avg(waf) from results", "--json"],
        ["export", str(folder.parent / "all.csv")],
        ["show", keys[0]],
    ):
        done = command(*words, store=folder)
        assert done.returncode == 2
        assert done.stdout == ""
        assert f"error: {part}: is damaged: its contents are not those that were" in done.stderr
    with pytest.raises(ssdlab.OutputError, match="is damaged"):
        Store(folder).find(keys)[keys[0]].report.name  # noqa: B018
    assert Store(folder).find(keys)[keys[3]].report.completed, "of another part"
    repair = done.stderr.split("`")[1]
    assert shlex.split(repair) == ["rm", "-f", str(part), str(files.entry(name))]
    subprocess.run(repair, shell=True, check=True)
    assert ssdlab.results(folder).query("select key from results").values == ((keys[3],),)
    assert not verify(files_of(folder)).problems


def test_a_missing_part_is_named_with_its_repair(folder: Path) -> None:
    parts(folder, [1, 1])
    files = files_of(folder)
    part = files.part(min(files.entries()))
    part.unlink()
    done = command("query", "select count(*) from results", store=folder)
    assert done.returncode == 2
    assert f"{part}: is missing: the manifest names it; `rm -f " in done.stderr


def test_a_part_that_was_checked_is_read_again_when_it_has_changed(folder: Path) -> None:
    parts(folder, [1])
    found = ssdlab.results(folder)
    (part,) = found.parts
    assert found.query("select count(*) from results").values == ((1,),)
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    with pytest.raises(ssdlab.OutputError, match="is damaged"):
        found.query("select count(*) from results")


# ---------------------------------------------------------------- queries

WRITES = [
    "copy (select 1) to '{away}/evil.csv'",
    "copy results to '{away}/evil.parquet'",
    "copy (select 1) to '{part}' (format parquet, use_tmp_file false)",
    "copy (pivot results on gc_victim using avg(waf)) to '{part}' (use_tmp_file false)",
    "/* /* */ pivot */ copy (pivot results on name using avg(waf)) to '{part}'",
    "explain analyze copy (select 1) to '{part}' (format parquet, use_tmp_file false)",
    "select 1; copy (select 1) to '{part}' (use_tmp_file false)",
    "attach '{away}/evil.db' as other",
    "attach '{part}' as other",
    "export database '{away}/evil'",
    "create table evil as select 1",
    "insert into needless values ('', 0)",
    "drop view results",
    "install httpfs",
    "load '{away}/evil.so'",
    "set enable_external_access = true",
    "set allowed_directories = ['/']",
    "reset lock_configuration",
    "pragma enable_profiling",
    "pragma profiling_output = '{away}/evil.json'",
    "call enable_logging(storage = 'file', storage_path = '{away}/evil')",
    "create secret evil (type s3)",
    "prepare evil as select 1",
    "use memory",
]
READS = [
    "select * from '{away}/secret.csv'",
    "select * from read_csv('{away}/secret.csv')",
    "select * from read_text('{away}/secret.csv')",
    "select * from read_blob('{away}/*')",
    "select * from sniff_csv('{away}/secret.csv')",
    "select * from query_table('{away}/secret.csv')",
    "select * from query('select * from read_csv(''{away}/secret.csv'')')",
    "select * from glob('{away}/*')",
    "select * from read_parquet('{away}/*.parquet')",
    "select * from read_csv('https://localhost:1/secret.csv')",
    "pivot read_csv('{away}/secret.csv') on secret",
]


@pytest.mark.parametrize("sql", [*WRITES, *READS])
def test_a_query_reaches_the_store_alone_and_changes_nothing(
    sql: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = parts(folder, [2])
    away = tmp_path / "away"
    away.mkdir()
    (away / "secret.csv").write_text("secret\n42\n")
    monkeypatch.chdir(away)
    (part,) = ssdlab.results(folder).parts
    before = state(tmp_path)
    done = command("query", sql.format(away=away, part=part), store=folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert done.stderr.startswith("error: query: ")
    assert "--allow-files" in done.stderr, done.stderr
    with pytest.raises(ssdlab.ConfigError, match="allow_files=True"):
        ssdlab.results(folder).query(sql.format(away=away, part=part))
    assert state(tmp_path) == before
    assert sorted(ssdlab.results(folder).keys) == sorted(keys)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("select count(*) from results", [[2]]),
        ("from results select count(*)", [[2]]),
        ("with a as (select seed from results) select sum(seed) from a", [[1]]),
        ("pivot (select gc_victim from results) on gc_victim using count(*)", [[2]]),
        ("from (pivot results on seed using count(*)) select *", None),
        ("select * from (pivot results on seed in (0, 1) using count(*) group by name)", None),
        ("describe results", None),
        ("summarize select waf from results", None),
        ("select json_extract(config, '$.gc.reserve') is not null from results", [[True], [True]]),
        ("select 1; select 2", [[2]]),
        ("values (1)", [[1]]),
        ("select 1.5::decimal(4, 2)", [[1.5]]),
    ],
)
def test_questions_are_answered(sql: str, values: list[list[object]] | None, folder: Path) -> None:
    parts(folder, [2])
    done = command("query", sql, "--json", store=folder)
    assert done.returncode == 0, done.stderr
    told = [[*row.values()] for row in json.loads(done.stdout)]
    assert told == values if values else told


def test_a_question_does_not_reach_objects_of_the_process(folder: Path) -> None:
    parts(folder, [1])
    frame = pyarrow.table({"secret": [42]})
    with pytest.raises(ssdlab.ConfigError, match="frame does not exist"):
        ssdlab.results(folder).query("select * from frame")
    asked = "set python_scan_all_frames = true; select * from frame"
    with pytest.raises(ssdlab.ConfigError, match="frame does not exist"):
        ssdlab.results(folder).query(asked, allow_files=True)
    assert frame.num_rows == 1


def test_files_are_reached_by_those_who_ask_for_it(folder: Path, tmp_path: Path) -> None:
    parts(folder, [2])
    (tmp_path / "names.csv").write_text("seed,word\n0,zero\n1,one\n")
    sql = f"select word from results join '{tmp_path / 'names.csv'}' using (seed) order by seed"
    words = ["query", sql, "--csv"]
    assert command(*words, store=folder).returncode == 2
    assert command(*words, "--allow-files", store=folder).stdout == "word\nzero\none\n"
    answer = ssdlab.results(folder).query(sql, allow_files=True)
    assert answer.values == (("zero",), ("one",))
    sql = f"copy (select seed from results) to '{tmp_path / 'seeds.csv'}'"
    assert command("query", sql, "--allow-files", store=folder).returncode == 0
    assert (tmp_path / "seeds.csv").read_text() == "seed\n0\n1\n"
    words = ["export", str(tmp_path / "a.csv"), "--query", f"from '{tmp_path / 'names.csv'}'"]
    assert command(*words, store=folder).returncode == 2
    assert command(*words, "--allow-files", store=folder).returncode == 0
    assert (tmp_path / "a.csv").read_text() == "seed,word\n0,zero\n1,one\n"


def test_a_question_larger_than_memory_leaves_nothing_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ssdlab.store import query

    parts(folder, [2])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setitem(query.SETTINGS, "memory_limit", "60MB")
    monkeypatch.setitem(query.SETTINGS, "threads", "1")
    before = {*tmp_path.rglob("*")}
    sql = "select count(*) from (select * from range(6000000) t(i) order by hash(i))"
    assert ssdlab.results(folder).query(sql).values == ((6_000_000,),)
    assert {*tmp_path.rglob("*")} == before


def test_a_writer_beside_a_query_is_no_damage(folder: Path) -> None:
    """Parts that are replaced while a query begins are looked for again."""
    parts(folder, [1] * 4)
    ended = threading.Event()

    def clear_up() -> None:
        for at in range(4, 20):
            with Store(folder) as opened:
                fill(opened, range(at, at + 1))
            collect(Files(folder, ssdlab.__results_version__, write=False))
        ended.set()

    thread = threading.Thread(target=clear_up)
    thread.start()
    counts = []
    while not ended.is_set():
        counts.append(ssdlab.results(folder).query("select count(*) from results").values[0][0])
    thread.join()
    assert counts == sorted(counts)
    assert ssdlab.results(folder).query("select count(*) from results").values == ((20,),)
