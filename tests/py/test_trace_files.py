"""`ssdlab trace convert`, `trace split`, and requests as arrays: what a user sees of them."""

import hashlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zstandard

import ssdlab
from running import COMMAND, ROOT, SMALL, nothing_left, refused, sets, ssdlab_command
from ssdlab.display import progress

TRACE = (
    "8,0 1 1 0.000000150 7 Q WS 16 + 8 [a]\n"
    "8,0 1 2 0.500000000 7 Q R 1 + 2 [a]\n"
    "8,0 1 3 0.500000000 7 Q FF 0 + 0 [a]\n"
    "8,0 1 4 0.750000000 7 Q D 8 + 16 [a]\n"
)
TWO_VOLUMES = (
    "419,W,0,4096,1577808000000046\n7,R,512,512,1577808000000050\n419,R,0,4096,1577808000000059\n"
)
ALL = ("drop-requests", "round-times", "forget-fields")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with two traces; nothing hidden is left in it."""
    (tmp_path / "t.trace").write_text(TRACE)
    (tmp_path / "two.csv").write_text(TWO_VOLUMES)
    yield tmp_path
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_there_and_back(folder: Path) -> None:
    done = ssdlab_command("trace", "convert", "t.trace", "t.ssdtrace", cwd=folder)
    assert done.returncode == 0
    assert "t.ssdtrace: 4 requests" in done.stdout
    back = ssdlab.Trace(folder / "t.ssdtrace").convert(folder / "b.trace.zst", to="block-event")
    assert (back.requests, back.dropped["trim"], back.times_rounded) == (4, 0, 0)
    packed = back.path.read_bytes()
    text = zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode()
    assert [line.split()[3:10] for line in text.splitlines()] == [
        [*line.split()[3:4], "0", *line.split()[5:10]] for line in TRACE.splitlines()
    ]
    for name in ("t.ssdtrace", "b.trace.zst"):
        info = ssdlab.Trace(folder / name).info()
        assert (info.requests, info.first_ns, info.flushes) == (4, 150, 1)


def test_times_that_are_rounded_and_fields_that_are_left_out_are_counted(folder: Path) -> None:
    """Two times between microseconds, and one flag."""
    lines = TRACE.replace("0.750000000", "0.750000001")
    (folder / "t.trace").write_text(lines)
    trace = ssdlab.Trace(folder / "t.trace")
    written = trace.convert(folder / "t.log", to="fio-v3", allow=ALL)
    assert (written.times_rounded, written.fields_forgotten) == (2, 1)


def test_standard_output_is_no_file(folder: Path) -> None:
    done = ssdlab_command("trace", "convert", "t.trace", "-", "--to", "block-event", cwd=folder)
    refused(done, 2, "not written to standard output; name a file")
    nothing_left(folder, "t.trace", "two.csv")


def test_losses_are_refused_or_counted(folder: Path) -> None:
    done = ssdlab_command("trace", "convert", "t.trace", "t.csv", "--to", "msr", cwd=folder)
    refused(done, 2, "t.csv: request 1 (write of 8 sectors", "forget-fields")
    nothing_left(folder, "t.trace", "two.csv")
    allow = [word for loss in ALL for word in ("--allow", loss)]
    done = ssdlab_command("trace", "convert", "t.trace", "t.csv", "--to", "msr", *allow, cwd=folder)
    assert done.returncode == 0
    for part in (
        "2 requests",
        "left out: 1 flush, 1 trim",
        "rounded down: 1",
        "flags or stream: 1",
    ):
        assert part in done.stdout
    done = ssdlab_command(
        "trace",
        "convert",
        "t.trace",
        "t.csv",
        "--to",
        "msr",
        "--force",
        "--json",
        *allow,
        cwd=folder,
    )
    (written,) = json.loads(done.stdout)
    assert written["dropped"] == {"read": 0, "write": 0, "trim": 1, "flush": 1}


BAD = [
    (["t.trace", "two.csv", "--to", "msr"], ["two.csv: exists", "--force"]),
    (["t.trace", "t.trace", "--to", "msr", "--force"], ["t.trace is the trace that is read"]),
    (["t.trace", "x.csv"], ["x.csv: its name does not say a format", "--to"]),
    (["t.trace", "x.csv", "--to", "mrs"], ["did you mean msr?", "fio-v3"]),
    (["t.trace", "x.csv", "--to", "alibaba"], ["expected one of block-event"]),
    (["t.trace", "x.ssdtrace", "--allow", "rounding"], ["round-times"]),
    (["t.trace", "no/x.ssdtrace"], ["no/x.ssdtrace: cannot be written"]),
    (["t.trace", "x.csv.gz", "--to", "mqsim"], [".zst"]),
    (["none", "x.ssdtrace"], ["none: cannot open the trace"]),
    (
        ["two.csv", "x.ssdtrace"],
        ["2 volumes", "--set workload.volume=7  #", "--set workload.volume=419  #"],
    ),
    (["t.trace", "x.ssdtrace", "--set", "workload.until=1ns"], ["no Q events in the time range"]),
    (
        ["two.csv", "x.ssdtrace", "--set", "workload.action=D"],
        ["only traces of blktrace have actions"],
    ),
]


@pytest.mark.parametrize(("words", "said"), BAD)
def test_refusals(words: list[str], said: list[str], folder: Path) -> None:
    refused(ssdlab_command("trace", "convert", *words, cwd=folder), 2, *said)
    nothing_left(folder, "t.trace", "two.csv")


@pytest.mark.parametrize("cpu", [0, 1])
@pytest.mark.parametrize("trace", ["t", "t.blktrace.0"])
def test_no_file_of_a_set_of_blktrace_is_overwritten(cpu: int, trace: str, tmp_path: Path) -> None:
    files = [tmp_path / f"t.blktrace.{number}" for number in range(2)]
    for file in files:
        file.write_bytes(b"recorded")
    words = ["trace", "convert", trace, files[cpu].name, "--to", "msr", "--force"]
    refused(ssdlab_command(*words, cwd=tmp_path), 2, f"{files[cpu].name} is the trace that is read")
    assert [file.read_bytes() for file in files] == [b"recorded"] * 2


def test_the_file_behind_standard_input_is_not_overwritten(folder: Path) -> None:
    words = [*COMMAND, "trace", "convert", "-", "two.csv", "--to", "msr", "--force"]
    with (folder / "two.csv").open("rb") as stdin:
        done = subprocess.run(words, cwd=folder, stdin=stdin, capture_output=True, text=True)
    refused(done, 2, "two.csv is the trace that is read")
    assert (folder / "two.csv").read_text() == TWO_VOLUMES


def test_damaged_files_are_located(folder: Path) -> None:
    ssdlab.Trace(folder / "t.trace").convert(folder / "t.ssdtrace")
    bytes_ = (folder / "t.ssdtrace").read_bytes()
    changed = bytes_[:200] + bytes([bytes_[200] ^ 1]) + bytes_[201:]
    for number, damaged in enumerate((bytes_[:-1], bytes_ + b"x", changed)):
        bad = folder / f"{number}.ssdtrace"
        bad.write_bytes(damaged)
        for verb in (["trace", "info", bad.name], ["trace", "convert", bad.name, "x.ssdtrace"]):
            refused(ssdlab_command(*verb, cwd=folder), 2, bad.name, "not a whole trace file")
    (folder / "cut.zst").write_bytes(zstandard.compress(bytes_ * 9)[:-9])
    done = ssdlab_command("trace", "convert", "cut.zst", "x.ssdtrace", cwd=folder)
    refused(done, 2, "cut.zst: the compressed data are cut short")
    assert not (folder / "x.ssdtrace").exists()


def test_split(folder: Path) -> None:
    done = ssdlab_command("trace", "split", "two.csv", "--out", "parts", "--json", cwd=folder)
    volumes = [(one["volume"], one["requests"]) for one in json.loads(done.stdout)]
    assert volumes == [(7, 1), (419, 2)]
    nothing_left(folder / "parts", "volume-7.ssdtrace", "volume-419.ssdtrace")
    part = ssdlab.Trace(folder / "parts/volume-419.ssdtrace").requests()
    assert part.at_ns.tolist() == [0, 13_000]
    refused(ssdlab_command("trace", "split", "two.csv", "--out", "parts", cwd=folder), 2, "parts")
    (folder / "two.csv").write_text(TWO_VOLUMES + "419,R,1,4096,1577808000000070\n")
    done = ssdlab_command("trace", "split", "two.csv", "--out", "other", cwd=folder)
    refused(done, 2, "two.csv, line 4", "a multiple of 512")
    nothing_left(folder, "parts", "t.trace", "two.csv")


def test_a_trace_file_runs_like_its_text(tmp_path: Path) -> None:
    text = ROOT / "traces/varmail.trace.zst"
    ssdlab.Trace(text).convert(tmp_path / "v.ssdtrace", set={"workload.until": "2s"})
    keys = {k: v for k, v in SMALL.items() if not k.startswith("workload")}
    keys |= {"workload.fit": "wrap", "host.mode": "closed"}
    ran = ssdlab.run("greedy-8ch", set={**keys, "workload.trace": str(tmp_path / "v.ssdtrace")})
    same = ssdlab.run(
        "greedy-8ch", set={**keys, "workload.trace": str(text), "workload.until": "2s"}
    )
    assert ran.flash == same.flash
    assert ran.provenance.trace_digest == same.provenance.trace_digest
    done = ssdlab_command(
        "run", "greedy-8ch", "--trace", "v.ssdtrace", *sets(keys), "--quiet", cwd=tmp_path
    )
    assert done.returncode == 0


def test_requests_are_arrays(folder: Path) -> None:
    trace = ssdlab.Trace(folder / "t.trace")
    found = trace.requests(set={"workload.from": "100ns"})
    assert len(found) == 4
    assert found.at_ns.tolist() == [50, 499_999_900, 499_999_900, 749_999_900]
    assert [found.OPS[op] for op in found.op] == ["write", "read", "flush", "trim"]
    assert (found.sector.tolist(), found.sectors.tolist()) == ([16, 1, 0, 8], [8, 2, 0, 16])
    assert found.flags.tolist() == [2, 0, 0, 0]
    assert found.at_ns.dtype == np.dtype(np.uint64)
    assert found.op.dtype == np.dtype(np.uint8)
    with pytest.raises(ssdlab.WorkloadError, match="more than limit = 3 requests"):
        trace.requests(limit=3)
    with pytest.raises(ssdlab.ConfigError, match="limit=0"):
        trace.requests(limit=0)


def test_doubled_records_are_warned_of(folder: Path) -> None:
    (folder / "d.csv").write_text(TWO_VOLUMES.replace("7,R,512,512", "419,W,0,4096"))
    written = ssdlab.Trace(folder / "d.csv").convert(folder / "d.ssdtrace")
    assert written.requests == 3
    assert "an identical one less than 1 ms earlier" in written.warnings[0]
    written = ssdlab.Trace(folder / "d.csv").convert(
        folder / "d.ssdtrace", set={"workload.dedup": True}, force=True
    )
    assert (written.requests, written.warnings) == (2, ())


def test_interrupt_while_nothing_comes(folder: Path) -> None:
    command = [*COMMAND, "trace", "convert", "-", "x.ssdtrace"]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdin
        running.stdin.write(TRACE.encode())
        running.stdin.flush()
        while not list(folder.glob(".x.ssdtrace*")):
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    nothing_left(folder, "t.trace", "two.csv")


def test_carried_traces_are_those_of_the_manifest() -> None:
    folder = ROOT / "traces"
    traces = json.loads((folder / "manifest.json").read_text())["traces"]
    files = {trace["file"]["name"]: trace for trace in traces}
    assert sorted(files) == sorted(file.name for file in folder.glob("*.zst"))
    for name, trace in files.items():
        packed = (folder / name).read_bytes()
        assert len(packed) == trace["file"]["bytes"]
        assert hashlib.sha256(packed).hexdigest() == trace["file"]["sha256"]
        info = ssdlab.Trace(folder / name).info()
        assert info.source.lines == trace["file"]["lines"]
        assert info.footprint.pages_touched <= (1 << 30) // 4096
        assert name in (folder / "README.md").read_text()


def test_a_pipe_without_a_writer_is_said_to_be_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress._Lines, "every_s", 0.0)
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        time.sleep(0.5)
        (tmp_path / "pipe").write_text("128166372003061629,host,0,Write,4096,4096,100\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert ssdlab.Trace(tmp_path / "pipe").info(progress=True).requests == 1
    writer.join()
    assert capsys.readouterr().err.startswith("pipe: waiting for data\n")
