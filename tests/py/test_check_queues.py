"""The external checker replays the host's queues, and notices a request taken in no turn."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

import ssdlab
from checking import LOGGED, Rows, change_log, checked, violates

TENANTS = 3


def tenants(folder: Path, seed: int) -> Path:
    """Bursts of requests of three volumes, which often wait for one another."""
    chance, lines, at = random.Random(seed), list[str](), 1_577_808_000_000_000
    for _ in range(900):
        at += chance.choice((0, 1, 5, 40, 2000))
        volume, op = chance.choice((7, 7, 3, 12)), chance.choice("WWR")
        pages = chance.choice((1, 1, 4))
        lines.append(f"{volume},{op},{chance.randrange(100) * 4096},{pages * 4096},{at}\n")
    path = folder / "tenants.csv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def run(folder: Path, seed: int, queues: int, room: int) -> Path:
    """A run of these tenants with logs; its folder."""
    apart = ("workload.", "precondition.")
    settings = {key: value for key, value in LOGGED.items() if not key.startswith(apart)}
    settings |= {
        "workload.trace": str(tenants(folder, seed)),
        "workload.volume": "all",
        "workload.fit": "compact",
        "host.mode": "open",
        "host.queues": queues,
        "host.max_outstanding": room,
        "run.seed": seed,
    }
    ssdlab.run(set=settings, out=folder / "run", progress=False)
    return folder / "run"


@pytest.mark.parametrize(
    ("seed", "queues", "room"), [(1, 2, 1), (2, 3, 1), (3, 3, 4), (4, 5, 2), (5, 2, 30)]
)
def test_the_device_takes_requests_by_turns(
    seed: int, queues: int, room: int, tmp_path: Path
) -> None:
    checked(run(tmp_path, seed, queues, room))


def test_a_request_that_is_taken_in_no_turn_is_noticed(tmp_path: Path) -> None:
    folder = run(tmp_path, 2, 3, 1)

    def exchange(rows: Rows) -> None:
        """Exchange the numbers of two requests that waited together in different queues."""
        rows.sort(key=lambda row: int(row["id"]))
        for one, other in itertools.pairwise(rows):
            waits = int(other["arrival"]) < int(one["completion"]) - int(one["chip"])
            if waits and one["stream"] != other["stream"] and int(one["queue"]) > 0:
                one["id"], other["id"] = other["id"], one["id"]
                return
        pytest.fail("no two requests waited together")

    change_log(folder, "requests.csv.zst", exchange)
    violates(folder, "queue-turns")
