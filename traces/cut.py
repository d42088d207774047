#!/usr/bin/env python3
"""Cut the run phase out of recorded block-event traces.

usage: cut.py --source DIR [--out DIR] [NAME ...]

DIR holds the recordings (NAME.trace.zst) and manifest.json as the recorder leaves them. Of every
one the queued events (action Q) between its marks `run` and `run_end` are kept, in order and
unchanged in operation, flags, address and length; of one that reads or writes more than
`TOUCHED_PAGES` pages, those before the first event that goes beyond. Times are counted from the
mark `run`, in microseconds (the recording's own resolution). Device, CPU, sequence and PID become
constants and the process name is dropped: the simulator reads none of them. Needs the `zstd`
command; the same input and the same zstd release give the same bytes.
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

RECORDINGS = {
    "sqlite": "sqlite",
    "varmail": "varmail",
    "dbench": "dbench",
    "mysql": "mysqlfit",
    "cassandra": "cassandra_w",
    "rocksdb": "rocksdb_sync",
    "wiredtiger": "wiredtiger",
}
"""The recording that each trace is cut out of."""
PAGE_SECTORS = 8
TOUCHED_PAGES = (1 << 30) // 4096
"""Pages that the requests of a trace read or write at most: a quarter of 4 GiB, the volume that
reproductions write before they measure (`LIVE` in lab/ssdlab_lab/reproduce/paper.py)."""
LICENCE = "Apache-2.0 OR MIT; recorded by the authors of ssdlab"
ZSTD = ["zstd", "-19", "--long=27", "-q", "-T1"]
CUT = (
    "run phase (from mark `run` to mark `run_end`), action Q only; where it reads or writes more"
    f" than {TOUCHED_PAGES} pages of 4 KiB, up to the first request that goes beyond (complete:"
    " false); times from the start of the run phase, microseconds; MAJ,MIN = 7,0 and CPU, SEQ,"
    " PID = 0; process name dropped"
)


def micros(seconds: str) -> int:
    """`seconds.fraction` as whole microseconds; finer digits must be zero."""
    whole, fraction = seconds.split(".")
    if fraction[6:].strip("0"):
        raise ValueError(f"time {seconds} is finer than a microsecond")
    return int(whole) * 1_000_000 + int(fraction[:6].ljust(6, "0"))


def run_phase(entry: dict[str, Any]) -> tuple[int, int]:
    """First and last microsecond of the run phase."""
    marks = {name: round(seconds * 1_000_000) for seconds, name in entry["phases_s"]}
    return marks["run"], marks["run_end"]


@dataclasses.dataclass(frozen=True)
class Event:
    """A queued event of the run phase."""

    at_us: int
    """Since the start of the phase."""
    rwbs: str
    sector: int
    sectors: int

    def line(self) -> bytes:
        """The event as it is carried."""
        seconds, rest = divmod(self.at_us, 1_000_000)
        text = f"7,0 0 0 {seconds}.{rest:06} 0 Q {self.rwbs} {self.sector} + {self.sectors}\n"
        return text.encode()

    def pages(self) -> range:
        """Pages that it reads or writes, in whole or in part."""
        if operation(self.rwbs, self.sectors) not in ("read", "write"):
            return range(0)
        end = -(-(self.sector + self.sectors) // PAGE_SECTORS)
        return range(self.sector // PAGE_SECTORS, end)


def run_events(source: pathlib.Path, start: int, end: int) -> Iterator[Event]:
    """The queued events in [start, end]."""
    unpack = subprocess.Popen(["zstd", "-dcq", "--long=27", source], stdout=subprocess.PIPE)
    assert unpack.stdout is not None
    for line in unpack.stdout:
        _, _, _, time, _, action, rwbs, sector, _, count, _ = line.split(b" ", 10)
        if action != b"Q":
            continue
        at = micros(time.decode())
        if start <= at <= end:
            yield Event(at - start, rwbs.decode(), int(sector), int(count))
    if unpack.wait() != 0:
        raise RuntimeError(f"{source}: zstd could not read it")


def kept(events: Iterator[Event]) -> tuple[list[Event], bool]:
    """The events before the one with which too many pages are touched; whether these are all."""
    touched: set[int] = set()
    first: list[Event] = []
    complete = True
    for event in events:
        touched.update(event.pages())
        complete = complete and len(touched) <= TOUCHED_PAGES
        if complete:
            first.append(event)
    return first, complete


def operation(rwbs: str, count: int) -> str:
    """Name of the operation: a leading F is a preflush, an empty event is a flush."""
    if count == 0:
        return "flush"
    letter = rwbs[1] if rwbs[0] == "F" else rwbs[0]
    return {"R": "read", "W": "write", "D": "discard"}[letter]


def cut(
    name: str, entry: dict[str, Any], source: pathlib.Path, out: pathlib.Path
) -> dict[str, Any]:
    """Cut the trace `name` out of the recording `entry`; return its manifest entry."""
    target = out / f"{name}.trace.zst"
    start, end = run_phase(entry)
    requests: collections.Counter[str] = collections.Counter()
    letters: collections.Counter[str] = collections.Counter()
    digest, text_bytes, lines = hashlib.sha256(), 0, 0
    pack = subprocess.Popen([*ZSTD, "-f", "-o", target], stdin=subprocess.PIPE)
    assert pack.stdin is not None
    events, complete = kept(run_events(source / f"{entry['name']}.trace.zst", start, end))
    for event in events:
        line = event.line()
        pack.stdin.write(line)
        digest.update(line)
        requests[operation(event.rwbs, event.sectors)] += 1
        letters[event.rwbs] += 1
        text_bytes, lines = text_bytes + len(line), lines + 1
    pack.stdin.close()
    if pack.wait() != 0:
        raise RuntimeError(f"{target}: zstd could not write it")
    packed = target.read_bytes()
    file = {
        "name": target.name,
        "bytes": len(packed),
        "sha256": hashlib.sha256(packed).hexdigest(),
        "text_bytes": text_bytes,
        "text_sha256": digest.hexdigest(),
        "lines": lines,
        "requests": dict(sorted(requests.items())),
        "rwbs": dict(letters.most_common()),
    }
    ends = end if complete else start + events[-1].at_us
    phase = {"run_starts_at_us": start, "run_ends_at_us": ends, "complete": complete}
    recording = {key: value for key, value in entry.items() if key != "file"}
    return {"name": name, "licence": LICENCE, "file": file, "cut": phase, "recording": recording}


def main() -> None:
    """Cut the traces named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("names", nargs="*", default=[*RECORDINGS])
    args = parser.parse_args()
    recorded = json.loads((args.source / "manifest.json").read_text())
    entries = {entry["name"]: entry for entry in recorded["traces"]}
    manifest = {
        "format": "MAJ,MIN CPU SEQ SECONDS PID ACTION RWBS SECTOR + NSECTORS; sectors of 512 bytes",
        "compression": "zstd -19 --long=27",
        "licence": LICENCE,
        "cut": CUT,
        "source": recorded["source"],
        "traces": [
            cut(name, entries[RECORDINGS[name]], args.source, args.out) for name in args.names
        ],
    }
    (args.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
