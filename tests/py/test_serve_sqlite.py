"""A served drive is killed again and again under an SQLite database; no commit is lost.

SQLite writes to the drive through its file layer in this process. `SSDLAB_KILLS` says how often the
long test kills the drive.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

apsw = pytest.importorskip("apsw", reason="ssdlab[sqlite] is not installed")

from ledger import Ledger  # noqa: E402 - they need apsw
from recorder import Line, RecordedClient, check_drive  # noqa: E402
from running import sets  # noqa: E402
from served_drive import DRIVE, PAGE  # noqa: E402
from sqlite_files import Layer  # noqa: E402
from test_serve_kills import WORN_IN, ForkServer, kill, wait_for  # noqa: E402

KILLS = int(os.environ.get("SSDLAB_KILLS", "200"))
KILLS_OF_DATABASE = 10
"""So often a drive is killed before there is another one with another journal."""
JOURNALS = [("wal", "full"), ("delete", "full"), ("truncate", "full"), ("persist", "full")]


def contents(row: int) -> bytes:
    """What a row has."""
    draw = random.Random(row)
    return draw.randbytes(draw.choice((20, 500, 3_000, 9_000)))


@dataclass
class Rows:
    """The rows of the database: a commit adds one and removes the oldest of many."""

    journal: tuple[str, str]
    draw: random.Random
    most: int = 100
    committed: int = 0
    commits: int = 0

    def open(self, database: Any) -> None:  # noqa: ANN401 - of apsw, if there is one
        """Open the database, which recovers it after a cut."""
        mode, synchronous = self.journal
        assert database.execute(f"pragma journal_mode={mode}").get == mode
        database.execute(f"pragma synchronous={synchronous}")
        database.execute("pragma wal_autocheckpoint=50")
        database.execute("create table if not exists t (k integer primary key, v blob)")

    def commit(self, database: Any) -> None:  # noqa: ANN401 - of apsw, if there is one
        """Commit a row."""
        row = self.committed + 1
        database.execute("begin immediate")
        database.execute("insert into t values (?, ?)", (row, contents(row)))
        database.execute("delete from t where k <= ?", (row - self.most,))
        database.execute("commit")
        self.committed = row
        self.commits += 1

    def check(self, database: Any) -> None:  # noqa: ANN401 - of apsw, if there is one
        """Whether the database is whole and has every row that was committed."""
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        found = database.execute("select k, v from t order by k").fetchall()
        last = found[-1][0] if found else 0
        # The last one may be there although nobody has heard of it.
        assert last - self.committed in (0, 1), f"row {last} of {self.committed}"
        first = max(last - self.most, 0) + 1
        assert found == [(row, contents(row)) for row in range(first, last + 1)]
        self.committed = last


def work(rows: Rows, client: RecordedClient, *, is_last: bool) -> None:
    """Recover the database, check it, and commit rows until the drive is gone."""
    database = Layer(client, rows.draw).connection()
    try:
        rows.open(database)
        rows.check(database)
        while not is_last:
            rows.commit(database)
    finally:
        database.close()


def kill_under_sqlite(forks: ForkServer, folder: Path, seed: int, kills: int) -> Rows:
    """Kill a drive so many times under a database, and check both after each."""
    draw = random.Random(seed)
    (folder / "tiny.toml").write_text(DRIVE)
    words = ["--state", "drive", *sets({**WORN_IN, "host.write_buffer_pages": 64})]
    ledger, server = Ledger(PAGE, is_volatile=True), folder / "server.sock"
    rows = Rows(JOURNALS[seed % len(JOURNALS)], draw)
    for life in range(kills + 1):
        process = forks.serve(folder, *words)
        try:
            wait_for(process, folder)
            check_drive(ledger, server)
            client = RecordedClient(server, Line(life, ledger))
            # Also while SQLite recovers the database.
            killer = threading.Timer(0.3 * draw.random(), kill, [process])
            if life < kills:
                killer.start()
                with suppress(apsw.IOError, OSError, EOFError):
                    work(rows, client, is_last=False)
                killer.join()
            else:
                work(rows, client, is_last=True)
        finally:
            with suppress(ProcessLookupError):
                kill(process)
        client.end()
    return rows


def test_sqlite_loses_no_commit_when_its_drive_is_killed(tmp_path: Path) -> None:
    assert kill_drives(tmp_path, len(JOURNALS), 1) > 0


@pytest.mark.slow  # As many kills as are asked for.
def test_sqlite_loses_no_commit_in_many_kills(tmp_path: Path) -> None:
    commits = kill_drives(tmp_path, KILLS, KILLS_OF_DATABASE)
    print(f"{KILLS} kills in {commits:,} commits")


def kill_drives(folder: Path, kills: int, most: int) -> int:
    """Kill drives, each at most so many times; the commits that were made."""
    forks, commits = ForkServer(), 0
    try:
        for seed, done in enumerate(range(0, kills, most)):
            place = folder / str(seed)
            place.mkdir()
            commits += kill_under_sqlite(forks, place, seed, min(most, kills - done)).commits
            shutil.rmtree(place)
    finally:
        forks.end()
    return commits
