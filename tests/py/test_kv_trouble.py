"""The store from Python when something goes wrong: damage, signals, several threads."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from running import HANG_S
from ssdlab import kv


def _damage_tables(folder: Path) -> None:
    """Change a byte in the middle of every table, where the values are."""
    for table in folder.glob("*.ldb"):
        data = bytearray(table.read_bytes())
        data[len(data) // 2] ^= 255
        table.write_bytes(data)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_walk_that_failed_goes_nowhere_until_a_seek(tmp_path: Path, reverse: bool) -> None:
    with kv.open(tmp_path, create_if_missing=True, compression=None) as db:
        for i in range(1000):
            db.put(b"a%04d" % i, b"x" * 100)
        db.put(b"secret", b"")
        db.compact_range()
    _damage_tables(tmp_path)
    with kv.open(tmp_path) as db:
        walk = db.prefixed_db(b"a").iterator(
            verify_checksums=True, include_value=False, reverse=reverse
        )

        def rest() -> list[object]:
            found: list[object] = []
            with pytest.raises(kv.CorruptionError, match="checksum mismatch"):
                found.extend(iter(lambda: found.append(next(walk)), object()))
            return [key for key in found if key is not None]

        first = rest()
        assert 300 < len(first) < 700
        for _ in range(3):
            with pytest.raises(kv.CorruptionError, match="checksum mismatch"):
                next(walk)
            with pytest.raises(kv.CorruptionError, match="checksum mismatch"):
                walk.prev()
        walk.seek_to_stop() if reverse else walk.seek_to_start()
        assert rest() == first


def test_a_look_does_not_fail_with_the_compaction_it_makes_due(tmp_path: Path) -> None:
    with kv.open(tmp_path, create_if_missing=True, compression=None, max_file_size=1 << 20) as db:
        for first in range(3):
            for i in range(first, 2500, 3):
                db.put(b"%05d" % i, b"x" * 600)
            db.compact_range(start=b"zz")
        for i in range(1, 2500, 7):
            db.put(b"%05d" % i, b"y" * 700)
        db.compact_range(start=b"zz")
    _damage_tables(tmp_path)
    with kv.open(tmp_path) as db:
        for i in range(20_000):
            assert len(db.get(b"%05d" % (i * 7919 % 2500)) or b"") in (600, 700)
        with pytest.raises(kv.Error, match=r"takes no more writes: .* checksum mismatch"):
            db.put(b"k", b"v")


HANDLER = """
import signal
import sys
from ssdlab import kv

db = kv.open(sys.argv[1], create_if_missing=True, compression=None)
for i in range(20_000):
    db.put(b"%06d" % i, bytes(1000))
db.compact_range()
walk = db.iterator()
said = []

def handler(*_):
    for use in (lambda: db.get(b"000000"), walk.seek_to_start, db.verify):
        try:
            use()
        except kv.Error as error:
            said.append(str(error))
    assert not db.closed

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
while len(said) < 3:
    db.verify()
signal.setitimer(signal.ITIMER_REAL, 0)
assert db.verify().entries == len(list(db)) == 20_000
print(*set(said))
"""


def test_a_signal_handler_does_not_wait_for_what_it_interrupts(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANDLER, tmp_path / "s"],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = "the store is in use by what this signal interrupted: use it after the handler"
    assert done.stdout == said + "\n"


def test_compactions_asked_for_by_several_threads(tmp_path: Path) -> None:
    with kv.open(
        tmp_path,
        create_if_missing=True,
        compression=None,
        background="steps",
        max_file_size=1 << 20,
        write_buffer_size=1 << 20,
    ) as db:
        for i in range(40_000):
            db.put(b"%06d" % (i * 7919 % 20_000), b"x" * 1000)
        workers = [
            threading.Thread(target=db.compact_range),
            *(threading.Thread(target=db.compact_range, kwargs={"start": b"z"}) for _ in range(3)),
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert db.verify().entries == 20_000
