"""Stores that are only read: nothing in their folder changes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from running import as_a_user, refused, ssdlab_command, ssdlab_process
from ssdlab import kv


def _listing(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything of a folder that a write changes."""
    states = {path.name: path.stat() for path in [folder, *folder.iterdir()]}
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {
        name: (state.st_mode, state.st_size, state.st_mtime_ns, contents.get(name, b""))
        for name, state in states.items()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A store with tables and a log, of which nobody may write anything."""
    folder = tmp_path / "s"
    with kv.open(folder, create_if_missing=True) as db:
        for i in range(500):
            db.put(b"%d" % i, b"v" * 100)
        db.compact_range()
        db.put(b"new", b"1")
        db.delete(b"7")
    (folder / "LOCK").unlink()
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def test_commands_only_read(folder: Path) -> None:
    before = _listing(folder)
    for command in ("verify", "stats"):
        done = ssdlab_command("kv", command, folder, cwd=folder.parent)
        assert done.returncode == 0, done.stderr
    for path in folder.iterdir():
        if path.name != "CURRENT":
            done = ssdlab_command("kv", "dump", path, cwd=folder.parent)
            assert done.returncode == 0, done.stderr
    assert _listing(folder) == before


def test_reading_only(folder: Path) -> None:
    before = _listing(folder)
    with kv.open(folder, read_only=True) as db:
        assert (db.get(b"new"), db.get(b"7"), db.get(b"8")) == (b"1", None, b"v" * 100)
        assert len(list(db.iterator(reverse=True, verify_checksums=True))) == 500
        with db.snapshot() as held:
            assert b"new" in held
        assert (db.verify().entries, db.stats().logged, db.step()) == (500, 2, False)
        batch = db.write_batch()
        batch.put(b"k", b"v")
        for write in (
            batch.write,
            lambda: db.put(b"k", b"v"),
            lambda: db.delete(b"k", sync=True),
            lambda: db.prefixed_db(b"p").put(b"k", b"v"),
            db.compact_range,
        ):
            with pytest.raises(kv.Error, match=f"^{folder}: the store is open for reading only$"):
                write()
        assert len(batch) == 1, "what could not be written is kept"
    assert _listing(folder) == before
    with pytest.raises(kv.Error, match="there is no store here"):
        kv.open(folder.parent / "none", read_only=True)
    with pytest.raises(kv.Error, match="read_only: such a store cannot be created if missing"):
        kv.open(folder.parent / "none", read_only=True, create_if_missing=True)
    assert not (folder.parent / "none").exists()


def test_a_damaged_log_stays_where_it_is(tmp_path: Path) -> None:
    with kv.open(tmp_path / "s", create_if_missing=True) as db:
        for i in range(100):
            db.put(b"%03d" % i, b"v" * 100)
    log = next((tmp_path / "s").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[20] ^= 1
    log.write_bytes(data)
    before = _listing(tmp_path / "s")
    with pytest.warns(UserWarning, match=rf"{log}: kept, because"):
        db = kv.open(tmp_path / "s", read_only=True)
    with db:
        assert db.stats().damaged_logs == (str(log),)
    with pytest.raises(kv.CorruptionError):
        kv.open(tmp_path / "s", read_only=True, paranoid_checks=True)
    assert _listing(tmp_path / "s") == before
    refused(ssdlab_command("kv", "verify", "s", cwd=tmp_path), 2, "damaged at offset")
    assert _listing(tmp_path / "s") == before


OPEN = "import sys; from ssdlab import kv; kv.open('s', read_only=sys.argv[1] == 'read').close()"


def test_readers_share_a_store_and_writers_do_not(tmp_path: Path) -> None:
    """Within a process and between two."""
    kv.open(tmp_path / "s", create_if_missing=True).close()

    def opens_elsewhere(how: str) -> bool:
        command = [sys.executable, "-c", OPEN, how]
        done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 or "LockedError" in done.stderr, done.stderr
        return done.returncode == 0

    first = kv.open(tmp_path / "s", read_only=True)
    second = kv.open(tmp_path / "s", read_only=True)
    assert [opens_elsewhere(how) for how in ("read", "write")] == [True, False]
    second.close()
    assert [opens_elsewhere(how) for how in ("read", "write")] == [True, False]
    with pytest.raises(kv.LockedError):
        kv.open(tmp_path / "s")
    first.close()
    with kv.open(tmp_path / "s"):
        assert [opens_elsewhere(how) for how in ("read", "write")] == [False, False]
        with pytest.raises(kv.LockedError):
            kv.open(tmp_path / "s", read_only=True)
    assert opens_elsewhere("write")


OPEN_FOR_WRITING = """
import sys
from ssdlab import kv
try:
    kv.open(sys.argv[1])
except kv.IoError as error:
    print(error)
"""


def test_writing_to_such_a_folder_fails(folder: Path) -> None:
    before = _listing(folder)
    command = [sys.executable, "-c", OPEN_FOR_WRITING, str(folder)]
    done = subprocess.run(command, preexec_fn=as_a_user, check=True, capture_output=True, text=True)
    assert done.stdout == f"{folder}/LOCK: cannot lock: Permission denied (os error 13)\n"
    refused(
        ssdlab_process("kv", "repair", folder, cwd=folder.parent, limit=as_a_user),
        2,
        f"{folder}/LOCK: cannot lock: Permission denied",
    )
    assert _listing(folder) == before


HOLD = """
import sys
from ssdlab import kv
db = kv.open("s")
print("open", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_process_holds_is_left_alone(tmp_path: Path) -> None:
    with kv.open(tmp_path / "s", create_if_missing=True) as db:
        db.put(b"k", b"v")
    command = [sys.executable, "-c", HOLD]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout
        assert holder.stdin
        assert holder.stdout.readline() == "open\n"
        before = _listing(tmp_path / "s")
        said = "s: in use: another open store holds its lock"
        for words in (["verify"], ["stats"], ["repair"]):
            refused(ssdlab_command("kv", *words, "s", cwd=tmp_path), 2, said)
        with pytest.raises(kv.LockedError, match=f"^{tmp_path}/{said}$"):
            kv.destroy(tmp_path / "s")
        assert _listing(tmp_path / "s") == before
        holder.stdin.close()
    with kv.open(tmp_path / "s") as db:
        assert db.get(b"k") == b"v"


@pytest.mark.parametrize("pattern", ["CURRENT", "MANIFEST-*", "*.ldb", "*.log"])
def test_a_pipe_in_place_of_a_file_is_refused(pattern: str, folder: Path) -> None:
    """Its reader would wait for a writer for ever."""
    folder.chmod(0o755)
    (place,) = folder.glob(pattern)
    place.unlink()
    os.mkfifo(place)
    before = [path.name for path in folder.iterdir()]
    done = ssdlab_process("kv", "verify", folder, cwd=folder.parent)
    refused(done, 2, f"{place}: cannot ", ": expected a regular file")
    assert [path.name for path in folder.iterdir()] == before


def test_a_message_is_a_line_whatever_a_folder_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "a\nb"
    with kv.open(folder, create_if_missing=True) as db:
        db.put(b"k", b"v")
    (folder / "CURRENT").write_text("nonsense")
    with pytest.raises(kv.Error) as error:
        kv.open(folder)
    assert "\n" not in str(error.value)
    assert f"{tmp_path}/a\\nb/CURRENT: " in str(error.value)
