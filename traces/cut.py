#!/usr/bin/env python3
"""Cut the run phase out of recorded block-event traces.

usage: cut.py --source DIR [--out DIR] [NAME ...]

DIR holds NAME.trace.zst and manifest.json as the recorder leaves them. Of every trace the queued
events (action Q) between its marks `run` and `run_end` are kept, in order and unchanged in
operation, flags, address and length. Times are counted from the mark `run`, in microseconds (the
recording's own resolution). Device, CPU, sequence and PID become constants and the process name is
dropped: the simulator reads none of them. Needs the `zstd` command; the same input and the same
zstd release give the same bytes.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

NAMES = ["sqlite", "varmail", "dbench"]
LICENCE = "Apache-2.0 OR MIT; recorded by the authors of ssdlab"
ZSTD = ["zstd", "-19", "--long=27", "-q", "-T1"]
CUT = (
    "run phase (from mark `run` to mark `run_end`), action Q only; times from the start of the run"
    " phase, microseconds; MAJ,MIN = 7,0 and CPU, SEQ, PID = 0; process name dropped"
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


def kept_lines(source: pathlib.Path, start: int, end: int) -> Iterator[tuple[bytes, str, int]]:
    """Normalised lines of the queued events in [start, end], with their rwbs and length."""
    unpack = subprocess.Popen(["zstd", "-dcq", "--long=27", source], stdout=subprocess.PIPE)
    assert unpack.stdout is not None
    for line in unpack.stdout:
        _, _, _, time, _, action, rwbs, sector, _, count, _ = line.split(b" ", 10)
        if action != b"Q":
            continue
        at = micros(time.decode())
        if start <= at <= end:
            seconds, rest = divmod(at - start, 1_000_000)
            where = b"%s %s + %s" % (rwbs, sector, count)
            yield b"7,0 0 0 %d.%06d 0 Q %s\n" % (seconds, rest, where), rwbs.decode(), int(count)
    if unpack.wait() != 0:
        raise RuntimeError(f"{source}: zstd could not read it")


def operation(rwbs: str, count: int) -> str:
    """Name of the operation: a leading F is a preflush, an empty event is a flush."""
    if count == 0:
        return "flush"
    letter = rwbs[1] if rwbs[0] == "F" else rwbs[0]
    return {"R": "read", "W": "write", "D": "discard"}[letter]


def cut(entry: dict[str, Any], source: pathlib.Path, out: pathlib.Path) -> dict[str, Any]:
    """Cut one trace; return its manifest entry."""
    name = entry["name"]
    target = out / f"{name}.trace.zst"
    start, end = run_phase(entry)
    requests: collections.Counter[str] = collections.Counter()
    letters: collections.Counter[str] = collections.Counter()
    digest, text_bytes, lines = hashlib.sha256(), 0, 0
    pack = subprocess.Popen([*ZSTD, "-f", "-o", target], stdin=subprocess.PIPE)
    assert pack.stdin is not None
    for line, rwbs, count in kept_lines(source / f"{name}.trace.zst", start, end):
        pack.stdin.write(line)
        digest.update(line)
        requests[operation(rwbs, count)] += 1
        letters[rwbs] += 1
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
    phase = {"run_starts_at_us": start, "run_ends_at_us": end, "complete": True}
    recording = {key: value for key, value in entry.items() if key != "file"}
    return {"name": name, "licence": LICENCE, "file": file, "cut": phase, "recording": recording}


def main() -> None:
    """Cut the traces named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("names", nargs="*", default=NAMES)
    args = parser.parse_args()
    recorded = json.loads((args.source / "manifest.json").read_text())
    entries = {entry["name"]: entry for entry in recorded["traces"]}
    manifest = {
        "format": "MAJ,MIN CPU SEQ SECONDS PID ACTION RWBS SECTOR + NSECTORS; sectors of 512 bytes",
        "compression": "zstd -19 --long=27",
        "licence": LICENCE,
        "cut": CUT,
        "source": recorded["source"],
        "traces": [cut(entries[name], args.source, args.out) for name in args.names],
    }
    (args.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
