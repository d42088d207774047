"""`ssdlab trace info`: against a twin that computes the definitions naively, and its edges."""

import json
import signal
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import ssdlab
from running import COMMAND, HANG_S, ROOT, refused, ssdlab_command
from ssdlab.display.numbers import duration
from ssdlab.traces.info import Distribution, Info, Trains
from ssdlab.traces.table import grids, to_text

Request = tuple[int, str, int, int]
"""Nanoseconds, operation letter, first sector, sectors."""
PAGE = 8
JOURNAL = (40, 80)


def text(requests: list[Request]) -> str:
    lines = (
        f"8,0 0 0 {at // 10**9}.{at % 10**9:09d} 0 Q {op} {sector} + {sectors} [x]\n"
        for at, op, sector, sectors in requests
    )
    return "".join(lines)


def info_of(folder: Path, requests: list[Request]) -> Info:
    file = folder / "some.trace"
    file.write_text(text(requests))
    return ssdlab.Trace(file).info(journal=[JOURNAL])


# ---------------------------------------------------------------- the twin


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def naive_order(requests: list[Request]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    addressed = [r for r in requests if r[1] != "F"]
    pairs = pairwise(addressed)
    found["any"] = share(sum(b[2] == a[2] + a[3] for a, b in pairs), len(addressed))
    followers = 0
    for op in "RWD":
        own = [r for r in addressed if r[1] == op]
        follows = [b[2] == a[2] + a[3] for a, b in pairwise(own)]
        followers += sum(follows)
        runs: list[int] = []
        for one in [False, *follows] if own else []:
            if one:
                runs[-1] += 1
            else:
                runs.append(1)
        found[op] = (len(own), sum(r[3] * 512 for r in own), share(sum(follows), len(own)), runs)
    found["same"] = share(followers, len(addressed))
    found["doubled"] = sum(
        any(b[1:] == a[1:] and b[0] - a[0] < 10**6 for a in addressed[max(0, i - 64) : i])
        for i, b in enumerate(addressed)
    )
    inside = [r for r in addressed if JOURNAL[0] <= r[2] < JOURNAL[1]]
    found["journal"] = share(len(inside), len(addressed))
    return found


def check_trains(found: Trains, requests: list[Request]) -> None:
    gaps = [b[0] - a[0] for a, b in pairwise(requests)]
    trains = [[requests[0]]]
    for gap, request in zip(gaps, requests[1:], strict=True):
        if gap < 10**6:
            trains[-1].append(request)
        else:
            trains.append([request])
    short = [gap for gap in gaps if gap < 10**6]
    assert found.short_gap_share == share(len(short), len(gaps))
    assert found.short_gap_mean_ns == (pytest.approx(np.mean(short)) if short else None)
    assert found.gap_cv == (pytest.approx(np.std(gaps) / np.mean(gaps)) if sum(gaps) else None)
    lengths = [len(train) for train in trains]
    same(found.requests, lengths)
    assert found.requests_cv == pytest.approx(np.std(lengths) / np.mean(lengths))
    pairs = [
        (a[3], b[3])
        for train in trains
        for op in "RWD"
        for a, b in pairwise([r for r in train if r[1] == op])
    ]
    assert found.same_size_share == share(sum(a == b for a, b in pairs), len(pairs))


def naive_pages(requests: list[Request]) -> dict[str, Any]:
    reads: set[int] = set()
    sectors_written: set[int] = set()
    trimmed: set[int] = set()
    mapped: set[int] = set()
    writes: list[tuple[int, int]] = []
    last: dict[int, tuple[int, int]] = {}
    intervals: list[tuple[int, int]] = []
    page_reads = after_write = freed = recent = 0
    for at, op, sector, sectors in requests:
        touched = sorted({s // PAGE for s in range(sector, sector + sectors)})
        if op == "R":
            reads |= set(touched)
            page_reads += len(touched)
            recent += touched[0] in mapped & {page for page, _ in writes[-64:]}
            after_write += len(mapped & set(touched))
        elif op == "W":
            sectors_written |= set(range(sector, sector + sectors))
            for page in touched:
                if page in last:
                    intervals.append((len(writes) - last[page][0], at - last[page][1]))
                last[page] = (len(writes), at)
                writes.append((page, at))
            mapped |= set(touched)
        elif op == "D":
            inside = range(sector, sector + sectors)
            whole = {p for p in touched if p * PAGE in inside and p * PAGE + PAGE - 1 in inside}
            trimmed |= whole
            freed += len(whole & mapped)
            mapped -= whole
    counts = sorted(Counter(page for page, _ in writes).values(), reverse=True)
    hot = [
        share(sum(counts[: -(-len(counts) * percent // 100)]), sum(counts))
        for percent in (1, 5, 10, 20)
    ]
    return {
        "read": len(reads),
        "written": len(last),
        "both": len(reads & set(last)),
        "touched": len(reads | set(last)),
        "trimmed": len(trimmed),
        "distinct": len(sectors_written) * 512,
        "after_write": share(after_write, page_reads),
        "recent": share(recent, sum(op == "R" for _, op, _, _ in requests)),
        "intervals": intervals,
        "freed": freed * 4096,
        "hot": hot,
    }


def same(shape: Distribution, values: list[int]) -> None:
    """A distribution is that of these values."""
    assert shape.count == len(values)
    assert shape.bucket_count.sum() == len(values)
    if not values:
        assert (shape.min, shape.mean, shape.max, shape.p50) == (None,) * 4
        return
    assert (shape.min, shape.max) == (min(values), max(values))
    assert shape.mean == pytest.approx(np.mean(values))
    if shape.p50 is not None:
        assert shape.p50 == pytest.approx(sorted(values)[(len(values) - 1) // 2], rel=0.004)
    edges = [*shape.bucket_low.tolist(), max(values) + 1]
    counted = [sum(a <= v < b for v in values) for a, b in pairwise(edges)]
    assert shape.bucket_count.tolist() == counted


ONE = st.tuples(
    st.integers(0, 3_000_000) | st.sampled_from([0, 0, 10**6, 10**9]),
    st.sampled_from("RWWDF"),
    st.integers(0, 120) | st.sampled_from([0, 8, 16, 24]),
    st.sampled_from([1, 3, 8, 8, 16, 40]),
)


@given(steps=st.lists(ONE, min_size=1, max_size=120))
def test_equals_a_naive_twin(
    steps: list[Request], tmp_path_factory: pytest.TempPathFactory
) -> None:
    requests: list[Request] = []
    now = 5
    for gap, op, sector, sectors in steps:
        now += gap
        requests.append((now, op, *((0, 0) if op == "F" else (sector, sectors))))
    found = info_of(tmp_path_factory.mktemp("twin"), requests)
    order, pages = naive_order(requests), naive_pages(requests)
    assert found.requests == len(requests)
    assert found.sequential_any_share == order["any"]
    assert found.sequential_share == order["same"]
    assert found.doubled == order["doubled"]
    assert found.journal is not None
    assert found.journal.request_share == order["journal"]
    for letter, one in (("R", found.ops.read), ("W", found.ops.write), ("D", found.ops.trim)):
        count, size, sequential, runs = order[letter]
        assert (one.requests, one.bytes, one.sequential_share) == (count, size, sequential)
        same(one.run_requests, runs)
        sizes = [sectors * 512 for _, o, _, sectors in requests if o == letter]
        same(one.size, sizes)
        assert [(f.requests, -f.bytes) for f in one.frequent] == sorted(
            ((n, -b) for b, n in Counter(sizes).items()), reverse=True
        )[:5]
    place = found.footprint
    assert (place.pages_read, place.pages_written) == (pages["read"], pages["written"])
    assert (place.pages_both, place.pages_touched) == (pages["both"], pages["touched"])
    assert (place.pages_trimmed, place.distinct_bytes_written) == (
        pages["trimmed"],
        pages["distinct"],
    )
    assert place.read_after_write_share == pages["after_write"]
    assert place.read_recent_share == pages["recent"]
    same(found.updates.interval_pages, [pair[0] for pair in pages["intervals"]])
    same(found.updates.interval_ns, [pair[1] for pair in pages["intervals"]])
    assert found.discards.effective_bytes == pages["freed"]
    assert [None if np.isnan(s) else s for s in found.hot.write_share] == pages["hot"]
    arrivals = np.array([r[0] for r in requests])
    same(found.gaps, np.diff(arrivals).tolist())
    check_trains(found.trains, requests)
    for burst in found.bursts:
        counts = np.bincount((arrivals - arrivals[0]) // burst.window_ns)
        assert (burst.windows, burst.peak) == (len(counts), counts.max())
        if len(counts) > 1:
            assert burst.dispersion == pytest.approx(counts.var() / counts.mean())


# ---------------------------------------------------------------- the command

TRACE = ROOT / "traces/dbench.trace.zst"


def test_text_and_json(tmp_path: Path) -> None:
    done = ssdlab_command("trace", "info", TRACE, "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["version"] == 1
    assert values["requests"] == values["source"]["lines"] == 364_876
    assert values == ssdlab.Trace(TRACE).info().json
    shown = ssdlab_command("trace", "info", TRACE, cwd=tmp_path)
    for words in ("overwrite factor", "discards, effective", "dispersion", "frequent sizes"):
        assert words in shown.stdout
    assert " inf" not in shown.stdout


def test_addresses(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text([(0, "W", 24, 8), (5, "R", 80, 16), (9, "D", 0, 4096)]))
    done = ssdlab_command("trace", "info", "a", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["addresses"] == {
        "lowest_bytes": 24 * 512,
        "end_bytes": 96 * 512,
        "span_bytes": 72 * 512,
        "alignment_bytes": 4096,
    }
    shown = ssdlab_command("trace", "info", "a", cwd=tmp_path).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for line in ("lowest address 12 KiB", "end of the highest 48 KiB", "span of addresses 36 KiB"):
        assert line in lines
    (tmp_path / "b").write_text(text([(0, "F", 0, 0), (1, "D", 8, 8)]))
    assert ssdlab.Trace(tmp_path / "b").info().addresses.span_bytes is None


def test_two_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text([(0, "W", 0, 8), (10, "W", 0, 8)]))
    (tmp_path / "b").write_text(text([(0, "R", 0, 8), (10, "R", 0, 8), (20, "F", 0, 0)]))
    done = ssdlab_command("trace", "info", "a", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1.50x" in done.stdout
    both = json.loads(ssdlab_command("trace", "info", "a", "b", "--json", cwd=tmp_path).stdout)
    assert [one["requests"] for one in both["traces"]] == [2, 3]


@pytest.mark.parametrize(
    "requests",
    [
        [(7, "R", 3, 1)],
        [(7, "W", 3, 1)],
        [(7, "D", 0, 2**31), (8, "D", 5, 8)],
        [(7, "F", 0, 0)],
        [(7, "W", 0, 8), (7, "W", 8, 8)],
    ],
    ids=["read", "write", "discards", "flush", "no time"],
)
def test_corner_cases_can_be_shown(requests: list[Request], tmp_path: Path) -> None:
    (tmp_path / "corner").write_text(text(requests))
    for arguments in (["corner"], ["corner", "corner"], ["corner", "--journal", "0:9"]):
        done = ssdlab_command("trace", "info", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "nan" not in done.stdout


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "far").write_text(text([(7, "R", 2**63, 8)]))
    packed = zstandard.compress(text([(n, "W", 8 * n, 8) for n in range(9999)]).encode())
    (tmp_path / "cut.zst").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "other").write_text(text([(0, "W", 0, 8)]).replace(" Q ", " C "))
    for file, words in {
        "empty": "is empty",
        "binary": "binary data of no known format",
        "cut.zst": "cut short",
        "far": "addresses up to 4,294,967,296 TiB, more than any device has",
        "other": "found C: 1",
        "missing": "cannot open",
    }.items():
        refused(ssdlab_command("trace", "info", file, cwd=tmp_path), 2, file, words)


def test_bad_options_are_refused(tmp_path: Path) -> None:
    (tmp_path / "good").write_text(text([(n, "W", n * 10**7, 8) for n in range(5000)]))
    for option, value, word in (
        ("--journal", "9", "START:END"),
        ("--journal", "9:9", "START below END"),
        ("--memory", "1", "1 MiB of memory"),
        ("--set", "workload.action=X", "action"),
    ):
        refused(ssdlab_command("trace", "info", "good", option, value, cwd=tmp_path), 2, word)


def test_interrupt_stops_at_once(tmp_path: Path) -> None:
    command = [*COMMAND, "trace", "info", "-"]
    lines = text([(n, "W", 8 * (n % 999), 8) for n in range(40_000)]).encode()
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=-1, stderr=-1
    ) as running:
        assert running.stdin is not None
        running.stdin.write(lines)
        running.stdin.flush()
        running.send_signal(signal.SIGINT)
        # More of the same, so that it looks whether it was interrupted.
        late = text([(n, "W", 8, 8) for n in range(40_000, 80_000)]).encode()
        _, errors = running.communicate(late, timeout=HANG_S)
        assert running.returncode == 130
        assert b"Traceback" not in errors


def test_progress_and_its_exceptions() -> None:
    seen: list[int] = []
    ssdlab.Trace(TRACE).info(progress=seen.append)
    assert seen == sorted(seen)
    # Every 256 KiB, so that less than that is left after the last time.
    assert set(np.diff(seen).tolist()) == {262_144}
    assert 0 <= TRACE.stat().st_size - seen[-1] < 262_144

    def stops(_: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ssdlab.Trace(TRACE).info(progress=stops)


def test_every_window_of_arrivals_is_a_column() -> None:
    info = ssdlab.Trace(TRACE).info()
    (grid,) = [grid for grid in grids([info]) if grid.title == "arrivals in windows of"]
    assert grid.columns == tuple(duration(float(one.window_ns)) for one in info.bursts)
    lines = dict(grid.lines)
    assert list(lines) == ["mean", "peak", "peak to mean", "dispersion"]
    assert lines["peak"] == tuple(f"{one.peak:,}" for one in info.bursts)
    assert all(len(cells) == len(info.bursts) for cells in lines.values())


def test_what_one_trace_lacks_has_no_ratio(tmp_path: Path) -> None:
    one, two = tmp_path / "one.trace", tmp_path / "two.trace"
    head = "8,0 1 1 {}.000000000 7 Q {} {} + 8 [a]\n"
    one.write_text("".join(head.format(i, "W", 8 * (i % 2)) for i in range(4)))
    two.write_text("".join(head.format(i, "W", 8 * i) for i in range(6)))
    lines = {
        (grid.title, label): cells
        for grid in grids([ssdlab.Trace(file).info() for file in (one, two)])
        for label, cells in grid.lines
    }
    assert lines["trace", "requests"] == ("4", "6", "1.50x")
    lacking = [cells for cells in lines.values() if "-" in cells[:2]]
    assert lacking
    assert all(cells[2] == "-" for cells in lacking)
    zero = [cells for cells in lines.values() if cells[0] == "0" and cells[1] not in ("0", "-")]
    assert all(cells[2] == "-" for cells in zero)


def test_the_name_of_a_file_stays_in_a_line(tmp_path: Path) -> None:
    trace = tmp_path / ("a" * 90) / ("b" * 90 + ".trace")
    trace.parent.mkdir()
    trace.write_text("8,0 1 1 0.5 7 Q W 0 + 8 [a]\n")
    first = to_text([ssdlab.Trace(trace).info()]).splitlines()[0]
    assert first == f"{trace}: block-event, 1 line, action Q"


def test_arrays_are_typed() -> None:
    found = ssdlab.Trace(TRACE).info()
    assert found.ops.write.size.bucket_low.dtype == np.uint64
    assert found.hot.write_share.dtype == np.float64
    assert found.idle.count.dtype == np.uint64
    assert found.hot.hottest.tolist() == [0.01, 0.05, 0.1, 0.2]
    shares = [0.283902, 0.472817, 0.627959, 0.828110]
    assert found.hot.write_share.tolist() == pytest.approx(shares, abs=1e-6)
