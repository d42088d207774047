"""Traces out of order, with bad lines, or in another unit: the messages and the results."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from running import COMMAND, HANG_S, SMALL, nothing_left, refused, sets, ssdlab_command

MANY = (1 << 20) + 50_000
"""More requests than are sorted in memory."""


def lines(times: list[int]) -> str:
    """MQSim text: request i writes sector 8 i."""
    return "".join(f"{time} 0 {8 * i} 8 0\n" for i, time in enumerate(times))


def jitter(count: int) -> list[int]:
    """Times nearly in order, many of them equal."""
    draw = random.Random(5)
    return [1000 * (i // 2 + draw.randrange(40)) for i in range(count)]


MQSIM = ("--set", "workload.format=mqsim")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a trace out of order; nothing hidden is left in it."""
    (tmp_path / "late.txt").write_text(lines(jitter(2000)))
    yield tmp_path
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def in_order(path: Path) -> bool:
    """Whether the requests in `path` are those of `late.txt`, stably sorted."""
    times = jitter(2000)
    expected = sorted(range(2000), key=lambda i: times[i])
    found = ssdlab.Trace(path).requests()
    return list(found.sector // 8) == expected and bool(np.all(np.diff(found.at_ns) >= 0))


def test_every_verb_sorts(folder: Path) -> None:
    for verb in (["info", "late.txt"], ["convert", "late.txt", "o.ssdtrace"]):
        done = ssdlab_command("trace", *verb, *MQSIM, cwd=folder)
        refused(done, 2, "line ", "of 2,000 requests are earlier", "(--sort)")
        nothing_left(folder, "late.txt")
    done = ssdlab_command(
        "trace", "convert", "late.txt", "o.ssdtrace", "--sort", *MQSIM, cwd=folder
    )
    assert done.returncode == 0
    assert "o.ssdtrace: 2,000 requests" in done.stdout
    assert "warning: late.txt: sorted: " in done.stderr
    assert in_order(folder / "o.ssdtrace")
    done = ssdlab_command(
        "trace", "split", "late.txt", "--out", "parts", "--sort", *MQSIM, cwd=folder
    )
    assert done.returncode == 0
    assert in_order(folder / "parts" / "volume-0.ssdtrace")
    done = ssdlab_command("trace", "info", "late.txt", "--sort", *MQSIM, "--json", cwd=folder)
    source = json.loads(done.stdout)["source"]
    assert (source["sorted"], source["skipped_lines"], source["loss"]) == (True, 0, None)
    assert source["late_requests"] > 100


def test_runs_sort(folder: Path) -> None:
    small = sets({**SMALL, "workload.format": "mqsim", "workload.fit": "wrap"})
    args = ("greedy-8ch", "--trace", "late.txt", *small)
    refused(ssdlab_command("run", *args, "--out", "o", cwd=folder), 2, "(--sort)")
    done = ssdlab_command("run", *args, "--sort", "--out", "run", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = ssdlab.Report.read(folder / "run")
    assert report.trace_lines is not None
    assert (report.trace_lines.lines, report.trace_lines.sorted) == (2000, True)
    assert report.trace_lines.late > 100
    assert report.loss is None
    done = ssdlab_command("compare", *args, "--sort", "--out", "both", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_loss_comes_first(folder: Path) -> None:
    small = sets({**SMALL, "workload.format": "mqsim", "workload.fit": "wrap"})
    args = ("greedy-8ch", "--trace", "late.txt", *small, "--set", "workload.skip_bad=true")
    done = ssdlab_command("run", *args, "--out", "o", cwd=folder)
    refused(done, 2, "of 2,000 lines", "were skipped", "(--sort)", "workload.max_bad = 0.01 allows")
    nothing_left(folder, "late.txt")
    allowed = (*args, "--set", "workload.max_bad=1")
    for verb in ("run", "compare"):
        done = ssdlab_command(verb, *allowed, "--out", verb, cwd=folder)
        assert done.returncode == 0, done.stderr
        first = done.stdout.splitlines()[0]
        assert first.startswith("LOST  late.txt: "), first
        assert "of 2,000 lines" in first
        page = (folder / verb / "report.html").read_text()
        assert page.index("Lost: late.txt: ") < page.index('<p class="lead">')
    values = json.loads((folder / "run" / "report.json").read_text())["trace_lines"]
    assert values["skipped"] == values["late"] > 100
    assert values["loss"].startswith("late.txt: ")
    read = ("--set", "workload.skip_bad=true", *MQSIM)
    refused(ssdlab_command("trace", "info", "late.txt", *read, cwd=folder), 2, "max_bad")
    done = ssdlab_command(
        "trace", "info", "late.txt", *read, "--set", "workload.max_bad=1", cwd=folder
    )
    assert done.stdout.startswith("LOST  late.txt: ")


def test_units_are_asked_for(tmp_path: Path) -> None:
    draw = random.Random(9)
    sizes = [1, 8, 8, 8, 16, 24, 40, 2048]
    places = [(8 * draw.randrange(1 << 20), draw.choice(sizes)) for _ in range(400)]
    for name, start, size in (("sectors", 1, 1), ("bytes", 512, 512), ("pages", 0.125, 0.125)):
        text = "".join(
            f"{i}.5 0 {int(start * place)} {max(1, int(size * length))} 0\n"
            for i, (place, length) in enumerate(places)
        )
        (tmp_path / name).write_text(text)
    info = ["trace", "info"]
    written = {}
    for name in ("sectors", "bytes", "pages"):
        done = ssdlab_command(*info, name, "--json", cwd=tmp_path)
        if name != "sectors":
            both = [f"--unit {unit}" for unit in ("sectors  # requests of", name)]
            refused(done, 2, *both)
            done = ssdlab_command(*info, name, "--json", "--unit", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        values = json.loads(done.stdout)
        written[name] = values["ops"]["write"]["bytes"]
    assert written["bytes"] == written["sectors"] == 512 * sum(length for _, length in places)
    assert written["pages"] == 4096 * sum(max(1, length // 8) for _, length in places)
    page = ("--unit", "pages", "--page-size", "8 KiB")
    done = ssdlab_command(*info, "pages", *page, cwd=tmp_path)
    assert done.stdout.splitlines()[1] == (
        "time in ms with up to six decimals, address and length in pages of 8 KiB"
    )
    done = ssdlab_command(*info, "pages", "--page-size", "8 KiB", cwd=tmp_path)
    refused(done, 2, "workload.page_size", 'it needs workload.unit = "pages"')
    same = {"workload.unit": "bytes"}
    assert ssdlab.Trace(tmp_path / "bytes").info(set=same).requests == 400


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace out of order that is sorted on disk."""
    path = tmp_path_factory.mktemp("many") / "many.txt"
    path.write_text(lines(jitter(MANY)))
    return path


@pytest.mark.slow
def test_many_requests_are_sorted_on_disk(many: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.ssdtrace"
    values = {"workload.format": "mqsim", "workload.sort": True}
    ssdlab.Trace(many).convert(out, set=values)
    found = ssdlab.Trace(out).requests()
    times = np.array(jitter(MANY), np.uint64)
    expected = np.argsort(times, kind="stable")
    assert np.array_equal(found.at_ns, times[expected])
    assert np.array_equal(found.sector, 8 * expected.astype(np.uint64))


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["no folder", "full disk"])
def test_a_disk_that_takes_nothing_is_told(many: Path, tmp_path: Path, trouble: str) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    full = trouble == "full disk"
    place = tmp_path if full else tmp_path / "none"
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run(
        [*COMMAND, "trace", "info", str(many), "--sort", *MQSIM],
        cwd=tmp_path,
        env=environment,
        preexec_fn=small_files if full else None,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    why = "File too large" if full else "No such file or directory"
    refused(done, 2, "cannot sort it: temporary file in", str(place), why, "TMPDIR", "40 bytes")
    nothing_left(tmp_path)


INTERRUPTED = """
import os, signal, sys
import ssdlab
from ssdlab import _core
values = {"workload.format": "mqsim", "workload.sort": True}
config = ssdlab.load_config(trace=sys.argv[1], set=values)
def stop(done, total):
    if total is not None and done > 0:
        os.kill(os.getpid(), signal.SIGINT)
try:
    _core.trace_convert(config.text, "o.ssdtrace", to="ssdtrace", progress=stop)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.slow
def test_an_interrupt_leaves_no_temporary_file(many: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(many)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
        timeout=HANG_S,
    )
    assert done.returncode in (130, -signal.SIGINT)
    nothing_left(tmp_path)
