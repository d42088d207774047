"""Speed of the store compared with LevelDB's: `ssdlab kv bench`.

Both sides execute the same operations, each in separate processes, on the same file system. LevelDB
runs unchanged (its compaction on a thread) and inline (its background work right after the write
that requests it, as in ours): then both write the same bytes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ssdlab import _core
from ssdlab.kv import store

Background: TypeAlias = Literal["eager", "steps"]
FILL_FIRST = (("fillseq",), tuple(name for name in _core.KvBench.names() if name != "fillseq"))
INTERRUPTED = 130
SOURCE = Path(__file__).with_name("leveldb_bench.cc")


@dataclass(frozen=True)
class Side:
    """What one engine needed for one workload."""

    wall_s: float
    """Time by the wall."""
    cpu_s: float
    """Processor time of all threads, in user and system mode."""
    found: int
    """Operations that found or wrote a pair."""


@dataclass(frozen=True)
class Runs:
    """What one engine needed for a list of workloads, and what it wrote."""

    sides: dict[str, Side]
    """By workload."""
    table_bytes: int
    """Bytes of tables written in all of them."""


@dataclass(frozen=True)
class WriteAmplification:
    """Bytes of tables written per byte of keys and values, by a list of workloads."""

    names: tuple[str, ...]
    """The workloads."""
    value_size: int
    """Bytes of a value."""
    ours: float
    """Our engine."""
    leveldb: float | None
    """LevelDB as it comes."""
    inline: float | None
    """LevelDB with its background work inline."""


@dataclass(frozen=True)
class Cell:
    """One workload with one size of values."""

    name: str
    """The workload."""
    value_size: int
    """Bytes of a value."""
    n: int
    """Operations."""
    ours: Side
    """Our engine."""
    leveldb: Side | None
    """LevelDB as it comes."""
    inline: Side | None
    """LevelDB with its background work inline."""

    def cpu_us(self, side: Side) -> float:
        """Microseconds of processor time per operation; for `readseq`, per pair."""
        count = side.found if self.name == "readseq" else self.n
        return side.cpu_s / count * 1e6


def own(
    folder: str,
    names: Sequence[str],
    n: int,
    value_size: int,
    bloom: int,
    background: Background = "eager",
) -> Iterator[str]:
    """Run workloads on our engine. Yields lines like those of `leveldb_bench.cc`."""
    bench = _core.KvBench(n, value_size)
    with store.open(
        folder,
        create_if_missing=True,
        compression=None,
        bloom_filter_bits=bloom,
        background=background,
    ) as db:
        for seed, name in enumerate(names, 1):
            wall, cpu = time.perf_counter(), time.process_time()
            digest = bench.run(db._store, name, seed)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            yield f"{name} {wall:.6f} {cpu:.6f} {digest}"
        yield f"tables {sum(level.bytes_written for level in db.stats().levels)}"


def compiled(folder: Path, leveldb: Path | None = None) -> Path | None:
    """Compile the program for LevelDB; None without a compiler or LevelDB's headers.

    `leveldb` is a folder created by `tools/leveldb_release.sh`. Without it, the installed LevelDB
    is used.
    """
    program = folder / "leveldb_bench"
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    flags: list[str] = []
    if leveldb is not None:
        lib = leveldb.absolute() / "lib"
        if not (lib / "libleveldb.a").exists():
            raise _core.KvError(f"{leveldb}: expected a folder made by tools/leveldb_release.sh")
        flags = [f"-I{leveldb.absolute() / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}"]
    libraries = ["-lleveldb", *(["-lcrc32c", "-lsnappy"] if flags else []), "-lpthread", "-ldl"]
    # `dladdr` finds the program's own functions only if they are exported.
    command = [compiler, "-O2", "-DNDEBUG", "-std=c++17", "-rdynamic", *flags]
    command += ["-o", str(program), str(SOURCE), *libraries]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    if process.returncode != 0 and leveldb is not None:
        raise _core.KvError(f"{leveldb}: cannot compile with it: {process.stderr.strip()}")
    return program if process.returncode == 0 else None


def build(program: Path) -> str:
    """How the LevelDB in a compiled program was built, by the symbols that its code refers to."""
    process = subprocess.run([program], check=True, capture_output=True, text=True)
    version, code = process.stdout.strip().split(" ", 1)
    library = Path(code) if Path(code).is_absolute() else program
    data = library.read_bytes()
    kind = "built with assertions" if b"__assert_fail" in data else "a release build"
    crc = "crc32c, in hardware" if b"crc32c6Extend" in data else "LevelDB itself, in software"
    return f"LevelDB {version}, {kind}, checksums by {crc}"


def _run(command: Sequence[object], folder: Path) -> Runs:
    words = [str(c) for c in command]
    process = subprocess.run(words, check=False, capture_output=True, text=True)
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0:
        message = process.stderr.strip() or f"ended with {process.returncode}"
        raise _core.KvError(f"{' '.join(words)}: {message}")
    sides, tables = {}, 0
    for line in process.stdout.splitlines():
        name, *numbers = line.split()
        if name == "tables":
            tables = int(numbers[0])
        else:
            sides[name] = Side(float(numbers[0]), float(numbers[1]), int(numbers[2]))
    shutil.rmtree(folder)
    return Runs(sides, tables)


def _share(runs: Runs | None, user_bytes: int) -> float | None:
    return None if runs is None else runs.table_bytes / user_bytes


def _side(runs: Runs | None, name: str) -> Side | None:
    return None if runs is None else runs.sides[name]


def measure(
    sizes: Sequence[int],
    mebibytes: int,
    bloom: int,
    background: Background,
    places: tuple[Path | None, Path | None],
    tell: Callable[[str], None],
) -> tuple[list[Cell], list[WriteAmplification], str | None]:
    """All cells, what was written for them, and how LevelDB was built if it is measured.

    `places` are the folder for the files, and that of a LevelDB that is not the installed one.

    Each size of values gets as many operations as give `mebibytes` MiB of values.
    """
    cells: list[Cell] = []
    write_ratios: list[WriteAmplification] = []
    folder, leveldb = places
    with tempfile.TemporaryDirectory(prefix="ssdlab-kv-", dir=folder) as place:
        program = compiled(Path(place), leveldb)
        label = build(program) if program else None
        if program is None:
            tell("LevelDB is left out: no C++ compiler, or no headers (Debian: libleveldb-dev)")
        for size in sizes:
            n = max((mebibytes << 20) // size, 1)
            for names in FILL_FIRST:
                tell(f"{size} B: {', '.join(names)}")
                store, operations = Path(place, "store"), ",".join(names)
                command: list[object] = [
                    sys.executable,
                    "-m",
                    "ssdlab_lab.kv.bench",
                    store,
                    size,
                    n,
                    bloom,
                    operations,
                ]
                command.append(background)
                result = _run(command, store)
                modes = ("threads", "inline") if program else ()
                leveldb_results = [
                    _run([program, store, mode, size, n, bloom, operations], store)
                    for mode in modes
                ]
                user = n * (size + 16) * sum("fill" in x or "over" in x for x in names)
                threads, inline = leveldb_results if leveldb_results else (None, None)
                mine_share = result.table_bytes / user
                shares = (_share(threads, user), _share(inline, user))
                write_ratios.append(WriteAmplification(names, size, mine_share, *shares))
                for name, side in result.sides.items():
                    leveldb_sides = (_side(threads, name), _side(inline, name))
                    cells.append(Cell(name, size, n, side, *leveldb_sides))
    return cells, write_ratios, label


def table(
    cells: Sequence[Cell], write_ratios: Sequence[WriteAmplification], label: str | None
) -> str:
    """As text: microseconds of processor time per operation, ratios, and bytes written."""
    head = ("workload", "value", "ours", "LevelDB", "ratio", "inline", "ratio")
    lines = [f"{head[0]:<14}{head[1]:>6}" + "".join(f"{h:>9}" for h in head[2:])]
    for cell in cells:
        line = f"{cell.name:<14}{cell.value_size:>6}{cell.cpu_us(cell.ours):>9.3f}"
        for side in (cell.leveldb, cell.inline):
            if side is not None:
                ratio = cell.ours.cpu_s / side.cpu_s if side.cpu_s else float("nan")
                line += f"{cell.cpu_us(side):>9.3f}{ratio:>9.2f}"
        lines.append(line)
    if label is not None:
        lines.append(label)
    lines.append("\nbytes of tables for a byte of keys and values")
    for row in write_ratios:
        line = f"{', '.join(row.names)[:40]:<42}{row.value_size:>6}{row.ours:>9.3f}"
        shares = (row.leveldb, row.inline)
        lines.append(line + "".join(f"{share:>9.3f}" for share in shares if share is not None))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    place, size, count, bits, names, background = sys.argv[1:]
    mode: Background = "steps" if background == "steps" else "eager"
    try:
        for text in own(place, names.split(","), int(count), int(size), int(bits), mode):
            sys.stdout.write(text + "\n")
    except KeyboardInterrupt:  # Whoever measures was interrupted too, and says so.
        sys.exit(INTERRUPTED)
    except _core.KvError as error:
        sys.exit(str(error))
